//! Writing artifacts, or comparing them with what is there.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use similar::TextDiff;

use super::{Artifact, MARKER, Section, Target};

/// How a file differs from what would be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drift {
    /// Path below the output directory.
    pub path: String,
    /// Unified diff from what is there to what would be made.
    pub diff: String,
}

/// What writing changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Written {
    /// New or different files.
    pub changed: Vec<String>,
    /// Files that are not made any more.
    pub removed: Vec<String>,
    /// Files that were as they should be.
    pub unchanged: usize,
}

/// A file that could not be read or written.
#[derive(Debug, thiserror::Error)]
#[error("{}: {error}", path.display())]
pub struct OutputError {
    path: PathBuf,
    error: io::Error,
}

/// Compares without writing anything.
pub fn check(out: &Path, target: Target, artifacts: &[Artifact]) -> Result<Vec<Drift>, OutputError> {
    let mut drifts = Vec::new();
    for artifact in artifacts.iter().chain(&with_sections(out, &target.sections())?) {
        let present = read(&out.join(&artifact.path))?;
        if present.as_deref() != Some(artifact.content.as_str()) {
            drifts.push(drift(&artifact.path, present.as_deref(), Some(&artifact.content)));
        }
    }
    for path in stale(out, target, artifacts)? {
        let present = read(&out.join(&path))?;
        drifts.push(drift(&path, present.as_deref(), None));
    }
    Ok(drifts)
}

/// Makes the directory agree with the artifacts. Each file is complete at every moment: it is
/// written beside its place and renamed.
pub fn write(out: &Path, target: Target, artifacts: &[Artifact]) -> Result<Written, OutputError> {
    let mut written = Written::default();
    for artifact in artifacts.iter().chain(&with_sections(out, &target.sections())?) {
        let path = out.join(&artifact.path);
        if read(&path)?.as_deref() == Some(artifact.content.as_str()) {
            written.unchanged += 1;
            continue;
        }
        replace(&path, &artifact.content).map_err(|error| OutputError { path, error })?;
        written.changed.push(artifact.path.clone());
    }
    for stale in stale(out, target, artifacts)? {
        let path = out.join(&stale);
        fs::remove_file(&path).map_err(|error| OutputError { path, error })?;
        written.removed.push(stale);
    }
    Ok(written)
}

/// The files that have a place for one of the sections, with the sections in it. Others are nobody's
/// business: rules may be made for a directory that has a README of its own.
fn with_sections(out: &Path, sections: &[Section]) -> Result<Vec<Artifact>, OutputError> {
    let mut files: Vec<Artifact> = Vec::new();
    for section in sections {
        if let Some(file) = files.iter_mut().find(|file| file.path == section.path) {
            file.content = with_section(&file.content, section);
        } else if let Some(present) = read(&out.join(section.path))? {
            files.push(Artifact { path: section.path.to_owned(), content: with_section(&present, section) });
        }
    }
    Ok(files)
}

fn with_section(text: &str, section: &Section) -> String {
    let open = format!("<!-- generated: {} -->\n", section.name);
    let Some((before, rest)) = text.split_once(&open) else { return text.to_owned() };
    let Some(end) = rest.find("<!-- /generated -->") else { return text.to_owned() };
    format!("{before}{open}{}\n{}", section.content, rest.get(end..).unwrap_or_default())
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

fn drift(path: &str, present: Option<&str>, wanted: Option<&str>) -> Drift {
    let name = |side: &str, content: Option<&str>| match content {
        Some(_) => format!("{side}/{path}"),
        None => "/dev/null".to_owned(),
    };
    let (old, new) = (name("a", present), name("b", wanted));
    let diff = TextDiff::from_lines(present.unwrap_or_default(), wanted.unwrap_or_default());
    let diff = diff.unified_diff().header(&old, &new).to_string();
    Drift { path: path.to_owned(), diff }
}

/// Files in the target's directories that say they were generated and are not made any more.
fn stale(out: &Path, target: Target, artifacts: &[Artifact]) -> Result<Vec<String>, OutputError> {
    let made: BTreeSet<PathBuf> = artifacts.iter().map(|artifact| out.join(&artifact.path)).collect();
    let mut stale = Vec::new();
    for directory in target.directories() {
        let mut files = Vec::new();
        list(&out.join(directory), &mut files)?;
        files.sort();
        for file in files.into_iter().filter(|file| !made.contains(file)) {
            if read(&file)?.is_some_and(|content| is_generated(&content)) {
                let path = file.strip_prefix(out).unwrap_or(&file);
                stale.push(path.to_string_lossy().into_owned());
            }
        }
    }
    Ok(stale)
}

fn is_generated(content: &str) -> bool {
    content.lines().take(5).any(|line| line.contains(MARKER))
}

fn list(directory: &Path, files: &mut Vec<PathBuf>) -> Result<(), OutputError> {
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
            kind if kind.is_file() => files.push(entry.path()),
            _ => {} // links are somebody else's
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn artifact(path: &str, content: &str) -> Artifact {
        Artifact { path: path.to_owned(), content: content.to_owned() }
    }

    fn paths(drifts: &[Drift]) -> Vec<&str> {
        drifts.iter().map(|drift| drift.path.as_str()).collect()
    }

    #[test]
    fn write_makes_check_agree_and_repeats_nothing() {
        let out = tempfile::tempdir().unwrap();
        let artifacts = [artifact("rules/a.yaml", "a\n"), artifact("rules/tests/b.yaml", "b\n")];
        let before = check(out.path(), Target::Rules, &artifacts).unwrap();
        assert_eq!(paths(&before), ["rules/a.yaml", "rules/tests/b.yaml"]);
        let written = write(out.path(), Target::Rules, &artifacts).unwrap();
        assert_eq!(written.changed, ["rules/a.yaml", "rules/tests/b.yaml"]);
        assert_eq!(check(out.path(), Target::Rules, &artifacts).unwrap(), []);
        assert_eq!(write(out.path(), Target::Rules, &artifacts).unwrap().unchanged, 2);
        assert_eq!(
            fs::read_dir(out.path().join("rules")).unwrap().count(),
            2,
            "nothing half-written is left"
        );
    }

    #[test]
    fn a_change_is_shown_as_a_unified_diff() {
        let out = tempfile::tempdir().unwrap();
        write(out.path(), Target::Rules, &[artifact("rules/a.yaml", "one\ntwo\n")]).unwrap();
        let drifts = check(out.path(), Target::Rules, &[artifact("rules/a.yaml", "one\n2\n")]).unwrap();
        let expected = "--- a/rules/a.yaml\n+++ b/rules/a.yaml\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n";
        assert_eq!(drifts.iter().map(|drift| drift.diff.as_str()).collect::<String>(), expected);
    }

    #[test]
    fn sections_replace_what_is_between_their_marks_and_nothing_else() {
        let out = tempfile::tempdir().unwrap();
        let section = |name| Section { path: "README.md", name, content: format!("\nnew {name}\n") };
        let sections = [section("a"), section("b"), section("c")];
        assert_eq!(with_sections(out.path(), &sections).unwrap(), [], "no file, no section");
        let text = "x\n<!-- generated: a -->\nold\n<!-- /generated -->\ny\n<!-- generated: b -->\n<!-- /generated -->\nz\n";
        fs::write(out.path().join("README.md"), text).unwrap();
        let [file] = &with_sections(out.path(), &sections).unwrap()[..] else { panic!("one file") };
        let expected = "x\n<!-- generated: a -->\n\nnew a\n\n<!-- /generated -->\ny\n\
                        <!-- generated: b -->\n\nnew b\n\n<!-- /generated -->\nz\n";
        assert_eq!(file.content, expected);
        assert_eq!(sections.iter().fold(expected.to_owned(), |text, s| with_section(&text, s)), expected);
    }

    #[test]
    fn stale_files_are_flagged_and_removed_and_others_are_left_alone() {
        let out = tempfile::tempdir().unwrap();
        let old = format!("# {MARKER}rules` from x\n");
        write(
            out.path(),
            Target::Rules,
            &[artifact("rules/old.yaml", &old), artifact("rules/mine.yaml", "x\n")],
        )
        .unwrap();
        assert_eq!(paths(&check(out.path(), Target::Rules, &[]).unwrap()), ["rules/old.yaml"]);
        let written = write(out.path(), Target::Rules, &[]).unwrap();
        assert_eq!(written.removed, ["rules/old.yaml"]);
        assert!(out.path().join("rules/mine.yaml").exists());
    }
}
