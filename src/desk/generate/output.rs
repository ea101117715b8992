//! Compares what would be made with what is there, and makes the two agree.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use similar::TextDiff;

use super::{Artifact, MARKER, Target};

#[derive(Debug)]
pub struct Change {
    pub path: String,
    present: Option<String>,
    wanted: Option<String>,
}

#[derive(Debug, thiserror::Error)]
#[error("{}: {error}", path.display())]
pub struct OutputError {
    path: PathBuf,
    error: io::Error,
}

/// The files that differ, are missing or are not made any more, and the number of those that are right.
pub fn changes(
    out: &Path,
    target: Target,
    artifacts: &[Artifact],
) -> Result<(Vec<Change>, usize), OutputError> {
    let (mut changes, mut unchanged) = (Vec::new(), 0);
    for Artifact { path, content } in artifacts {
        let present = read(&out.join(path))?;
        if present.as_ref() == Some(content) {
            unchanged += 1;
        } else {
            changes.push(Change { path: path.clone(), present, wanted: Some(content.clone()) });
        }
    }
    let written: BTreeSet<PathBuf> = artifacts.iter().map(|artifact| out.join(&artifact.path)).collect();
    let mut files = BTreeSet::new();
    list(&out.join(target.name()), &mut files)?;
    for file in files.difference(&written) {
        let present = read(file)?;
        if present.as_deref().is_some_and(is_generated) {
            let path = file.strip_prefix(out).unwrap_or(file).to_string_lossy().into_owned();
            changes.push(Change { path, present, wanted: None });
        }
    }
    Ok((changes, unchanged))
}

impl Change {
    pub fn is_removal(&self) -> bool {
        self.wanted.is_none()
    }

    /// Unified diff from what is there to what would be made.
    pub fn diff(&self) -> String {
        let name = |side: &str, content: &Option<String>| match content {
            Some(_) => format!("{side}/{}", self.path),
            None => "/dev/null".to_owned(),
        };
        let (old, new) = (name("a", &self.present), name("b", &self.wanted));
        let text = |content: &Option<String>| content.clone().unwrap_or_default();
        let (present, wanted) = (text(&self.present), text(&self.wanted));
        TextDiff::from_lines(&present, &wanted).unified_diff().header(&old, &new).to_string()
    }

    /// Makes the change. The file is complete at every moment: it is written beside its place and renamed.
    pub fn apply(&self, out: &Path) -> Result<(), OutputError> {
        let path = out.join(&self.path);
        let done = match &self.wanted {
            Some(content) => replace(&path, content),
            None => fs::remove_file(&path),
        };
        done.map_err(|error| OutputError { path, error })
    }
}

fn replace(path: &Path, content: &str) -> io::Result<()> {
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    let mut beside = path.as_os_str().to_owned();
    beside.push(".tmp");
    fs::write(&beside, content)?;
    fs::rename(&beside, path)
}

fn read(path: &Path) -> Result<Option<String>, OutputError> {
    match fs::read(path) {
        // a file that is no text differs from any artifact, and its diff should still be readable
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(OutputError { path: path.to_owned(), error }),
    }
}

fn is_generated(content: &str) -> bool {
    content.lines().take(5).any(|line| line.contains(MARKER))
}

fn list(directory: &Path, files: &mut BTreeSet<PathBuf>) -> Result<(), OutputError> {
    let failed = |error| OutputError { path: directory.to_owned(), error };
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failed(error)),
    };
    for entry in entries {
        let entry = entry.map_err(failed)?;
        match entry.file_type().map_err(failed)? {
            kind if kind.is_dir() => list(&entry.path(), files)?,
            kind if kind.is_file() => drop(files.insert(entry.path())),
            _ => {} // links are someone else's
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(out: &Path, artifacts: &[Artifact]) -> (Vec<String>, usize) {
        let (changes, unchanged) = changes(out, Target::Rules, artifacts).unwrap();
        changes.iter().for_each(|change| change.apply(out).unwrap());
        (changes.into_iter().map(|change| change.path).collect(), unchanged)
    }

    #[test]
    fn what_was_written_is_right_and_what_is_not_made_any_more_goes() {
        let out = tempfile::tempdir().unwrap();
        let old = format!("# {MARKER}rules` from x\n");
        let artifacts = [Artifact::new("rules/a.yaml", "a\n"), Artifact::new("rules/tests/old.yaml", old)];
        let paths = |paths: &[&str]| paths.iter().map(|path| (*path).to_owned()).collect::<Vec<_>>();
        assert_eq!(write(out.path(), &artifacts), (paths(&["rules/a.yaml", "rules/tests/old.yaml"]), 0));
        assert_eq!(write(out.path(), &artifacts), (paths(&[]), 2));
        assert_eq!(fs::read_dir(out.path().join("rules")).unwrap().count(), 2, "nothing half-written");
        assert_eq!(write(out.path(), &[]), (paths(&["rules/tests/old.yaml"]), 0));
        assert!(out.path().join("rules/a.yaml").exists(), "nothing says that it was generated");
    }

    #[test]
    fn a_change_is_shown_as_a_unified_diff() {
        let out = tempfile::tempdir().unwrap();
        write(out.path(), &[Artifact::new("rules/a.yaml", "one\ntwo\n")]);
        let (changes, _) =
            changes(out.path(), Target::Rules, &[Artifact::new("rules/a.yaml", "one\n2\n")]).unwrap();
        let expected = "--- a/rules/a.yaml\n+++ b/rules/a.yaml\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n";
        assert_eq!(changes.iter().map(Change::diff).collect::<String>(), expected);
    }
}
