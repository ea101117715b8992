//! Archives as people and machines pack them, and as somebody does who means harm.

use std::io::{Cursor, Write};
use std::path::Path;

use super::archive::{Archive, Member};
use super::files::FileKind;
use super::*;

const PODS: &str = "apiVersion: v1\nkind: PodList\nitems:\n\
    - metadata: {name: p, namespace: longhorn-system, uid: u}\n  spec: {containers: [{name: c}]}\n";

enum Part<'a> {
    File(&'a str, &'a [u8]),
    Link(&'a str, &'a str),
}
use Part::*;

fn tar(parts: &[Part<'_>]) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    for part in parts {
        let mut header = tar::Header::new_ustar();
        match part {
            File(name, content) => {
                header.set_size(content.len() as u64);
                tar.append_data(&mut header, name, *content).unwrap();
            }
            Link(name, target) => {
                header.set_entry_type(tar::EntryType::Symlink);
                header.set_size(0);
                tar.append_link(&mut header, name, target).unwrap();
            }
        }
    }
    tar.into_inner().unwrap()
}

fn gz(content: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

fn zip(parts: &[Part<'_>]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default();
    for part in parts {
        match part {
            File(name, content) => {
                zip.start_file(*name, options).unwrap();
                zip.write_all(content).unwrap();
            }
            Link(name, target) => zip.add_symlink(*name, *target, options).unwrap(),
        }
    }
    zip.finish().unwrap().into_inner()
}

fn read(archive: Vec<u8>) -> Recording {
    Recording::from_archive(Path::new("a"), Cursor::new(archive), "longhorn-system", Timestamp::MAX).unwrap()
}

#[test]
fn whatever_packed_it_is_read_and_the_second_files_of_a_mac_are_not() {
    let log = b"level=fatal msg=first\n".repeat(20_000);
    let parts = [
        File("__MACOSX/r/._pods.yaml", b"\0\x05\x16\x07\xff"),
        File("r/._pods.yaml", b"\0\x05\x16\x07\xff"),
        File("r/p.c.previous.log", &log),
        File("r/pods.yaml", PODS.as_bytes()),
        File("r/other.c.previous.log", &log),
    ];
    for archive in [tar(&parts), gz(&tar(&parts)), zip(&parts)] {
        let recording = read(archive);
        assert_eq!(recording.warnings, [""; 0]);
        assert_eq!(recording.objects.count(Resource::Pods), 1);
        let kept = recording.history.crash_log("p", "c").unwrap();
        assert!((20_000..=crate::log_text::MAX_LOG_BYTES).contains(&kept.text.len()), "{}", kept.text.len());
    }
}

#[test]
fn a_link_is_told_and_what_it_stood_for_is_unknown() {
    let parts =
        [File("r/pods.yaml", PODS.as_bytes()), Link("r/events.json", "/etc/passwd"), Link("r/x.log", "y")];
    for archive in [tar(&parts), gz(&tar(&parts)), zip(&parts)] {
        let recording = read(archive);
        assert!(recording.warnings.iter().any(|said| said.contains("events.json: is a link to /etc/passwd")));
        assert!(recording.warnings.iter().any(|said| said.contains("x.log: is a link to y")));
        assert_eq!(recording.status(Resource::Events).readability, Readability::Incomplete);
        assert_eq!(recording.status(Resource::Pods).readability, Readability::Readable);
    }
}

#[test]
fn a_small_archive_that_unpacks_to_very_much_is_refused_before_it_does() {
    let blanks = vec![b' '; 4 << 20];
    let parts = [File("r/pods.yaml", PODS.as_bytes()), File("r/x.yaml", &blanks), File("r/p.c.log", &blanks)];
    for packed in [gz(&tar(&parts)), zip(&parts)] {
        let limited = |most: u64, most_of_one: u64, kind: FileKind| {
            let mut archive = Archive::new(Path::new("a"), Cursor::new(packed.clone())).unwrap().unwrap();
            (archive.most, archive.most_of_one) = (most, most_of_one);
            let mut longest = 0;
            let read = archive.each(&[kind], &mut |member| {
                let Member::File(file) = member else { return Ok(()) };
                longest = longest.max(file.content.len());
                Ok(())
            });
            (read.map_err(|error| error.to_string()), longest)
        };
        let (read, longest) = limited(8 << 20, 1 << 20, FileKind::Objects);
        let said = read.unwrap_err();
        assert!(said.contains("a/r/x.yaml: unpacks to more than 1 MiB; unpack it and give"), "{said}");
        assert!(longest < 1 << 20);
        assert!(limited(3 << 20, 1 << 20, FileKind::Log).0.unwrap_err().contains("more than"));
        let (read, longest) = limited(8 << 20, 1 << 20, FileKind::Log);
        read.unwrap();
        assert!(longest <= 2 * files::LOG_BYTES, "of a log the end");
    }
}
