//! Recordings in one file: `.tar.gz`, and the `.zip` of a support bundle. Nothing is written to disk.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use flate2::read::MultiGzDecoder;

use super::{RecordedFile, files};

/// An archive may unpack to so much: a recording of a large cluster is a tenth of it.
const MOST: u64 = 2 << 30;

/// The files in an archive; `None` when it is none that is known.
pub(super) fn read(path: &Path) -> io::Result<Option<Vec<RecordedFile>>> {
    let file = File::open(path)?;
    // a pipe cannot be read twice
    if !file.metadata()?.is_file() {
        return Ok(None);
    }
    unpack(path, BufReader::new(file))
}

/// The same of what was read already.
pub(crate) fn unpack(path: &Path, mut file: impl Read + Seek) -> io::Result<Option<Vec<RecordedFile>>> {
    let mut magic = [0; 4];
    // a file that is shorter is no archive
    if file.read_exact(&mut magic).is_err() {
        return Ok(None);
    }
    file.seek(SeekFrom::Start(0))?;
    let mut unpacked = Unpacked { path, files: Vec::new(), left: MOST };
    match magic {
        [b'P', b'K', 3, 4] => {
            let mut zip = zip::ZipArchive::new(file).map_err(|_| damaged("zip"))?;
            for at in 0..zip.len() {
                let entry = zip.by_index(at).map_err(|_| damaged("zip"))?;
                let name = entry.name().map_err(|_| damaged("zip"))?.into_owned();
                if entry.is_file() {
                    unpacked.add(&name, entry)?;
                }
            }
        }
        [0x1f, 0x8b, ..] => {
            let mut tar = tar::Archive::new(MultiGzDecoder::new(file));
            for entry in tar.entries()? {
                let entry = entry.map_err(damaged_tar)?;
                let name = entry.path().map_err(damaged_tar)?.display().to_string();
                if entry.header().entry_type().is_file() {
                    unpacked.add(&name, entry)?;
                }
            }
        }
        _ => return Ok(None),
    }
    Ok(Some(unpacked.files))
}

/// The reasons of the crates are for their authors.
fn damaged(kind: &str) -> io::Error {
    io::Error::other(format!(
        "invalid {kind} archive: it is damaged, or made in a way that is not read; unpack it and give the directory"
    ))
}

/// What the operating system or gzip says stays.
fn damaged_tar(error: io::Error) -> io::Error {
    if error.kind() == io::ErrorKind::Other { damaged("tar.gz") } else { error }
}

struct Unpacked<'a> {
    path: &'a Path,
    files: Vec<RecordedFile>,
    left: u64,
}

impl Unpacked<'_> {
    fn add(&mut self, name: &str, entry: impl Read) -> io::Result<()> {
        let kind = files::FileKind::of(Path::new(name));
        if kind == files::FileKind::Other {
            return Ok(());
        }
        let mut content = Vec::new();
        let read = entry.take(self.left.saturating_add(1)).read_to_end(&mut content)? as u64;
        self.left = self.left.checked_sub(read).ok_or_else(|| {
            io::Error::other(format!(
                "unpacks to more than {} GiB; unpack it and give the directory",
                MOST >> 30
            ))
        })?;
        if kind == files::FileKind::Log {
            // of a long log the end is what matters
            content.drain(..content.len().saturating_sub(files::LOG_BYTES));
            content.shrink_to_fit();
        }
        self.files.push(RecordedFile { name: format!("{}/{name}", self.path.display()), content });
        Ok(())
    }
}
