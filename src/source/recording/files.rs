//! The files of a recording.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::archive::Archive;
use super::logs;
use super::{RecordedFile, RecordingError, archive, bundle};
use crate::log_text::MAX_LOG_BYTES;

/// How much of the end of a log is read: more than is kept, as heads of lines are taken off.
pub(super) const LOG_BYTES: usize = 4 * MAX_LOG_BYTES;

/// How messages call it.
pub(super) const STANDARD_INPUT: &str = "standard input";

fn unreadable(path: &Path, reason: std::io::Error) -> RecordingError {
    RecordingError::Unreadable { path: path.display().to_string(), reason }
}

/// Reads a file, or standard input for `-`.
pub(super) fn read(path: &Path) -> Result<RecordedFile, RecordingError> {
    if path.as_os_str() == "-" {
        let mut content = Vec::new();
        let read = std::io::stdin().lock().read_to_end(&mut content);
        read.map_err(|reason| unreadable(Path::new(STANDARD_INPUT), reason))?;
        return Ok(RecordedFile { name: STANDARD_INPUT.to_owned(), content });
    }
    let content = std::fs::read(path).map_err(|reason| unreadable(path, reason))?;
    Ok(RecordedFile { name: path.display().to_string(), content })
}

/// Opens a file.
pub(super) fn open(path: &Path) -> Result<File, RecordingError> {
    File::open(path).map_err(|reason| unreadable(path, reason))
}

/// What a file is, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileKind {
    Objects,
    Log,
    /// What a support bundle could not get.
    Errors,
    /// The logs of a node, packed within a support bundle.
    Node,
    Other,
}

impl FileKind {
    pub fn of(path: &Path) -> FileKind {
        let ends = |ending: &std::ffi::OsStr| {
            ["yaml", "yml", "json"].iter().any(|known| ending.eq_ignore_ascii_case(known))
        };
        match path.extension() {
            // macOS packs a second file beside each, of its own attributes
            _ if of_macos(path) => FileKind::Other,
            _ if bundle::is_errors(path) => FileKind::Errors,
            _ if bundle::is_node(path) => FileKind::Node,
            _ if logs::is_log(path) => FileKind::Log,
            Some(ending) if ends(ending) => FileKind::Objects,
            _ => FileKind::Other,
        }
    }
}

fn of_macos(path: &Path) -> bool {
    path.components()
        .any(|part| part.as_os_str().to_string_lossy().starts_with("._") || part.as_os_str() == "__MACOSX")
}

/// The archive that a path is, if it is one.
pub(super) fn archive(path: &Path) -> Result<Option<Archive<BufReader<File>>>, RecordingError> {
    if path.as_os_str() == "-" || path.is_dir() {
        return Ok(None);
    }
    archive::open(path).map_err(|reason| unreadable(path, reason))
}

/// Reads the end of a log.
pub(super) fn read_log(path: &Path) -> Result<RecordedFile, RecordingError> {
    let read = || {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(LOG_BYTES as u64)))?;
        let mut content = Vec::new();
        file.read_to_end(&mut content)?;
        Ok(content)
    };
    let content = read().map_err(|reason| unreadable(path, reason))?;
    Ok(RecordedFile { name: path.display().to_string(), content })
}

/// The files below a directory, by kind in the order of their paths.
pub(super) fn below(directory: &Path) -> Result<Vec<(FileKind, PathBuf)>, RecordingError> {
    let (mut paths, mut seen) = (Vec::new(), BTreeSet::new());
    collect(directory, &mut paths, &mut seen)?;
    paths.sort();
    let mut files: Vec<_> = paths.into_iter().map(|path| (FileKind::of(&path), path)).collect();
    // objects say whose logs are useful, and previous logs win over current ones
    files.sort_by_key(|(kind, path)| {
        let order = (*kind == FileKind::Log).then(|| logs::order(&path.display().to_string()));
        (matches!(kind, FileKind::Log | FileKind::Node), order)
    });
    Ok(files)
}

/// Links are followed, each directory is read once.
fn collect(
    directory: &Path,
    paths: &mut Vec<PathBuf>,
    seen: &mut BTreeSet<PathBuf>,
) -> Result<(), RecordingError> {
    let itself = directory.canonicalize().map_err(|reason| unreadable(directory, reason))?;
    if !seen.insert(itself) {
        return Ok(());
    }
    let entries = std::fs::read_dir(directory).map_err(|reason| unreadable(directory, reason))?;
    for entry in entries {
        let path = entry.map_err(|reason| unreadable(directory, reason))?.path();
        let is_wanted = FileKind::of(&path) != FileKind::Other;
        match path.metadata() {
            Ok(file) if file.is_dir() => collect(&path, paths, seen)?,
            Ok(file) if file.is_file() && is_wanted => paths.push(path),
            // a pipe would keep its reader waiting, forever perhaps
            Ok(_) if is_wanted => return Err(unreadable(&path, std::io::Error::other("not a regular file"))),
            Err(reason) if is_wanted => return Err(unreadable(&path, reason)),
            _ => {}
        }
    }
    Ok(())
}
