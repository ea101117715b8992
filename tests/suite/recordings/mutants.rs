//! Damaged recordings: no panic, no hang, an error that names file and line, and never healthy in silence
//! where something is lost. `LHE_MUTANTS=10000 cargo test --release --test suite recordings:: -- --nocapture` runs
//! as many, and prints what became of them.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use longhorn_health_exporter::check::Severity;
use longhorn_health_exporter::cluster::Cluster;
use longhorn_health_exporter::report::Report;
use longhorn_health_exporter::source::recording::{RecordedFile, Recording, RecordingError};
use testing::evaluate;

use super::written::{file, kubectl, logs};
use crate::numbers::Numbers;
use crate::scenario;
use crate::scenario::files::objects;

const NAMESPACE: &str = "longhorn-system";
/// More than any of them takes, on a busy machine.
const LONG: Duration = Duration::from_secs(60);
/// What reading a single one may take.
const MUCH: u64 = 1 << 30;

type Mutate = fn(&mut Vec<u8>, &mut Numbers);

/// What takes objects away: afterwards something must be unknown, refused or found.
const LOSSES: &[(&str, Mutate)] = &[
    ("cut at a byte", |text, numbers| text.truncate(numbers.below(text.len()))),
    ("cut at a line", |text, numbers| {
        let ends = line_ends(text);
        text.truncate(ends[numbers.below(ends.len())]);
    }),
    ("nothing", |text, _| text.clear()),
    ("zeros at the end", |text, numbers| {
        let from = numbers.below(text.len());
        text[from..].fill(0);
    }),
    ("refused", |text, _| {
        *text =
            b"{\"apiVersion\": \"v1\", \"kind\": \"Status\", \"code\": 403, \"message\": \"no\"}\n".to_vec();
    }),
    ("login page", |text, _| *text = b"<!DOCTYPE html>\n<html><body>Log in</body></html>\n".to_vec()),
    ("table", |text, _| *text = b"NAME     STATUS   AGE\nnode-1   Ready    4d\n".to_vec()),
    ("kubectl's error", |text, _| {
        *text = b"error: You must be logged in to the server (Unauthorized)\n".to_vec()
    }),
    ("without kind", |text, _| replace(text, "\nkind: List\n", "\n")),
    ("another key", |text, _| replace(text, "\nitems:\n", "\nitem:\n")),
    ("items are text", |text, _| replace(text, "\nitems:\n", "\nitems: |\n")),
    ("a page", |text, _| replace(text, "resourceVersion: \"\"", "continue: abc")),
    ("a sequence", |text, _| {
        let from = String::from_utf8_lossy(text).find("items:\n").unwrap() + 7;
        let to = String::from_utf8_lossy(text).find("\nkind: List").unwrap() + 1;
        *text = text[from..to].to_vec();
    }),
];

/// What damages anything: the objects may be other ones afterwards, and sound like sound ones.
const DAMAGES: &[(&str, Mutate)] = &[
    ("bit", |text, numbers| {
        let at = numbers.below(text.len());
        text[at] ^= 1 << numbers.below(8);
    }),
    ("bytes", |text, numbers| {
        for _ in 0..=numbers.below(20) {
            let at = numbers.below(text.len());
            text[at] = numbers.next().to_le_bytes()[0];
        }
    }),
    ("inserted", |text, numbers| {
        const ODD: &[&str] =
            &["\t", "'", "\"", "- ", ": ", "{", "[", "&a ", "*a", "!!x ", "|", "\u{2028}", "\0", "? ", "%"];
        let at = numbers.below(text.len());
        let odd = ODD[numbers.below(ODD.len())];
        text.splice(at..at, odd.bytes());
    }),
    ("line taken out", |text, numbers| {
        let (from, to) = a_line(text, numbers);
        text.drain(from..to);
    }),
    ("line twice", |text, numbers| {
        let (from, to) = a_line(text, numbers);
        let line = text[from..to].to_vec();
        text.splice(from..from, line);
    }),
    ("lines taken out", |text, numbers| {
        let (from, _) = a_line(text, numbers);
        let (_, to) = a_line(text, numbers);
        if from < to {
            text.drain(from..to);
        }
    }),
    ("other indentation", |text, numbers| {
        let (from, _) = a_line(text, numbers);
        text.splice(from..from, b"  ".iter().copied());
    }),
    ("deep", |text, numbers| {
        let (from, _) = a_line(text, numbers);
        let deep = ["[", "{a: ", "- "][numbers.below(3)].repeat(10_000);
        text.splice(from..from, deep.bytes());
    }),
    ("aliases", |text, _| {
        let mut bomb = format!("a0: &a0 {}\n", "x".repeat(10_000));
        for at in 1..12 {
            bomb += &format!("a{at}: &a{at} [{}]\n", vec![format!("*a{}", at - 1); 10].join(", "));
        }
        text.splice(0..0, bomb.bytes());
    }),
    ("long", |text, numbers| {
        let (from, _) = a_line(text, numbers);
        text.splice(from..from, std::iter::repeat_n(b'a', 1_000_000));
    }),
    ("UTF-16", |text, _| {
        let units = format!("\u{feff}{}", String::from_utf8_lossy(text));
        *text = units.encode_utf16().flat_map(u16::to_le_bytes).collect();
        text.pop();
    }),
];

/// What changes nothing.
const HARMLESS: &[(&str, Mutate)] = &[
    ("ends of Windows", |text, _| {
        *text = String::from_utf8_lossy(text).replace('\n', "\r\n").into_bytes();
    }),
    ("byte-order mark", |text, _| {
        text.splice(0..0, "\u{feff}".bytes());
    }),
    ("comment", |text, _| {
        text.splice(0..0, "# recorded at night\n---\n".bytes());
    }),
];

fn replace(text: &mut Vec<u8>, from: &str, to: &str) {
    let whole = String::from_utf8(std::mem::take(text)).unwrap();
    assert!(whole.contains(from), "nothing to replace");
    *text = whole.replacen(from, to, 1).into_bytes();
}

fn line_ends(text: &[u8]) -> Vec<usize> {
    text.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1).collect()
}

fn a_line(text: &[u8], numbers: &mut Numbers) -> (usize, usize) {
    let ends = line_ends(text);
    let at = numbers.below(ends.len());
    (if at == 0 { 0 } else { ends[at - 1] }, ends[at])
}

/// A scenario as kubectl writes it, with what is made of it.
struct Base {
    files: Vec<RecordedFile>,
    report: Report,
    objects: String,
}

fn read(files: &[RecordedFile]) -> Result<(Cluster, Vec<String>), RecordingError> {
    let recording = Recording::from_files(files.iter().cloned(), NAMESPACE, Timestamp::MAX)?;
    let warnings = recording.warnings.clone();
    Ok((recording.into_cluster(NAMESPACE, None), warnings))
}

fn bases() -> Vec<Base> {
    let base = |path: &std::path::PathBuf| {
        let mut files = kubectl(&objects(path));
        files.extend(
            logs(path)
                .into_iter()
                .map(|(pod, text)| file(format!("{pod}.longhorn-manager.previous.log"), text)),
        );
        let (cluster, warnings) = read(&files).unwrap();
        assert_eq!(warnings, Vec::<String>::new());
        let objects = format!("{:?}", cluster.objects);
        Base { files, report: evaluate(&cluster).report, objects }
    };
    scenario::all().iter().map(base).collect()
}

/// Reads a damaged recording and says what became of it; `lossy` ones must say so themselves.
fn judge(base: &Base, files: &[RecordedFile], lossy: bool, what: &str) -> &'static str {
    let start = Instant::now();
    let result = read(files);
    let (cluster, warnings) = match result {
        Err(error) => {
            let said = error.to_string();
            assert!(files.iter().any(|file| said.contains(&file.name)), "{what}: {said}");
            if matches!(error, RecordingError::Syntax { .. }) {
                let place = said.split(": ").next().unwrap();
                assert!(
                    place.rsplit_once(':').is_some_and(|(_, line)| line.parse::<u64>().is_ok()),
                    "{what}: {said}"
                );
            }
            assert!(start.elapsed() < LONG, "{what}: {:?}", start.elapsed());
            return "refused";
        }
        Ok(read) => read,
    };
    let report = evaluate(&cluster).report;
    assert!(start.elapsed() < LONG, "{what}: {:?}", start.elapsed());
    if !report.unknown.is_empty() {
        return "unknown";
    }
    let key = |report: &Report| {
        report
            .findings
            .iter()
            .map(|finding| (finding.check, finding.cause, finding.object.to_string()))
            .collect::<Vec<_>>()
    };
    let same = key(&report) == key(&base.report);
    let whole = format!("{:?}", cluster.objects) == base.objects;
    assert!(!lossy || whole, "{what}: healthy or complete in silence, {warnings:?}");
    let harm = |report: &Report| report.worst().filter(|worst| *worst >= Severity::Warning);
    match (same, warnings.is_empty()) {
        (true, _) => "same findings",
        (false, true) if harm(&base.report).is_some() && harm(&report).is_none() => {
            "harmless, without a word"
        }
        (false, false) => "other findings, with a warning",
        (false, true) => "other findings",
    }
}

#[test]
fn damaged_recordings_are_never_healthy_in_silence() {
    let wanted = std::env::var("LHE_MUTANTS").ok().and_then(|text| text.parse().ok()).unwrap_or(400);
    let bases = bases();
    let mut most = 0;
    let mut numbers = Numbers(8);
    let mut became: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let kinds: Vec<_> = LOSSES
        .iter()
        .map(|kind| (kind, true))
        .chain(DAMAGES.iter().map(|kind| (kind, false)))
        .chain(HARMLESS.iter().map(|kind| (kind, false)))
        .collect();
    let mut slowest = Duration::ZERO;
    for at in 0..wanted {
        let (&(name, mutate), lossy) = kinds[at % kinds.len()];
        let base = &bases[numbers.below(bases.len())];
        let mut files = base.files.clone();
        let yamls = files.iter().filter(|file| file.name.ends_with(".yaml")).count();
        let which = numbers.below(yamls);
        mutate(&mut files[which].content, &mut numbers);
        let what = format!("mutant {at}, {name} of {}", files[which].name);
        let start = Instant::now();
        let mut outcome = "";
        // of this thread alone, as other tests run beside
        let held = allocation_counter::measure(|| outcome = judge(base, &files, lossy, &what));
        most = most.max(held.bytes_max);
        slowest = slowest.max(start.elapsed());
        if HARMLESS.iter().any(|(harmless, _)| *harmless == name) {
            assert_eq!(outcome, "same findings", "{what}");
        }
        *became.entry((name, outcome)).or_default() += 1;
    }
    for ((name, outcome), number) in &became {
        println!("{name:20} {outcome:32} {number:6}");
    }
    println!("{wanted} mutants, slowest {slowest:?}, at most {} MiB", most >> 20);
    assert!(most < MUCH, "{most} bytes");
}
