//! Files of signatures over time: a mounted ConfigMap changes without a restart.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::stamp::Stamp;
use crate::check::signatures::Signatures;
use crate::longhorn::Resource;
use crate::report::signatures::{MAX_BYTES, parse};

/// A file of signatures, as it was read last.
#[derive(Debug, Clone)]
pub struct SignatureFile {
    path: PathBuf,
    /// How it looked just before that; `None` where it could not be read.
    seen: Option<Stamp>,
    /// What it held when it was last usable.
    signatures: Arc<Signatures>,
    /// Why that is not what it holds now.
    errors: Vec<String>,
}

/// Several of them, and what is in force.
#[derive(Debug, Default)]
pub struct SignatureFiles {
    kinds: BTreeSet<Resource>,
    files: Vec<SignatureFile>,
    in_force: Arc<Signatures>,
}

impl SignatureFile {
    /// Reads a file for the first time; each error is a line for its author.
    pub fn open(kinds: &BTreeSet<Resource>, path: &Path) -> Result<Self, Vec<String>> {
        let signatures = Arc::default();
        let mut file = SignatureFile { path: path.to_owned(), seen: None, signatures, errors: Vec::new() };
        file.read(kinds);
        if file.errors.is_empty() { Ok(file) } else { Err(file.errors) }
    }

    fn read(&mut self, kinds: &BTreeSet<Resource>) {
        let seen = Stamp::of(&self.path);
        let text = text(&self.path);
        self.seen = seen.filter(|_| text.is_ok());
        let parsed = text
            .map_err(|error| vec![error])
            .and_then(|text| parse(kinds, &self.path.display().to_string(), &text));
        match parsed {
            Ok(signatures) => (self.signatures, self.errors) = (Arc::new(signatures), Vec::new()),
            Err(errors) => self.errors = errors,
        }
    }

    /// Reads it again if it has changed. Returns whether that brought signatures.
    fn refresh(&mut self, kinds: &BTreeSet<Resource>) -> bool {
        if Stamp::of(&self.path) == self.seen && self.seen.is_some() {
            return false;
        }
        self.read(kinds);
        let usable = self.errors.is_empty();
        if usable {
            tracing::info!(file = %self.path.display(), "signatures reloaded");
        }
        usable
    }

    /// What is in it.
    pub fn signatures(&self) -> &Signatures {
        &self.signatures
    }
}

/// What cannot be read as text is told apart from what is wrong in it.
fn text(path: &Path) -> Result<String, String> {
    let name = path.display();
    let mut text = String::new();
    let limit = MAX_BYTES as u64 + 1;
    let read = File::open(path).and_then(|file| file.take(limit).read_to_string(&mut text));
    read.map(|_| text).map_err(|error| format!("cannot read {name}: {error}"))
}

impl SignatureFiles {
    /// These files, which look for changes.
    pub fn new(kinds: BTreeSet<Resource>, files: Vec<SignatureFile>) -> Self {
        let in_force = Arc::new(Signatures::of(files.iter().map(SignatureFile::signatures), 0));
        SignatureFiles { kinds, files, in_force }
    }

    /// What is in force now. Of a file that became unusable that is what it held before, and the report says so.
    pub fn current(&mut self) -> Arc<Signatures> {
        let mut changed = false;
        for file in &mut self.files {
            changed |= file.refresh(&self.kinds);
        }
        let unusable: Vec<&str> =
            self.files.iter().flat_map(|file| &file.errors).map(String::as_str).collect();
        let unusable = (!unusable.is_empty()).then(|| {
            format!(
                "changed signatures cannot be used, and the previous version applies: {}",
                unusable.join("; ")
            )
        });
        if changed || unusable != self.in_force.unusable {
            if let Some(why) = &unusable {
                tracing::error!("{why}");
            }
            let version = self.in_force.version + 1;
            let files = self.files.iter().map(SignatureFile::signatures);
            self.in_force = Arc::new(Signatures::of(files, version).with_unusable(unusable));
        }
        self.in_force.clone()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::{Evaluator, families};
    use super::*;
    use crate::source::Fixed;

    #[test]
    fn a_changed_file_is_read_again_and_a_broken_one_leaves_what_was() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.yaml");
        let write = |name: &str| {
            let yaml =
                format!("signatures: [{{name: {name}, title: T, severity: info, fix: F, releases: 1.6.0}}]");
            // as a mounted ConfigMap changes, and seen however short ago the last write was
            let new = directory.path().join("new.yaml");
            std::fs::write(&new, yaml).unwrap();
            std::fs::rename(&new, &path).unwrap();
        };
        let kinds: BTreeSet<Resource> = Resource::all().collect();
        let state = |signatures: &Signatures| {
            let names: Vec<_> = signatures.iter().map(|one| one.name.clone()).collect();
            (names.join(","), signatures.unusable.is_some(), signatures.version)
        };
        write("a");
        let mut files = SignatureFiles::new(kinds.clone(), vec![SignatureFile::open(&kinds, &path).unwrap()]);
        assert_eq!(state(&files.current()), ("a".to_owned(), false, 0));
        write("b");
        assert_eq!(state(&files.current()), ("b".to_owned(), false, 1));
        write("'B!'");
        assert_eq!(state(&files.current()), ("b".to_owned(), true, 2));
        assert_eq!(state(&files.current()), ("b".to_owned(), true, 2), "said once");
        std::fs::remove_file(&path).unwrap();
        assert!(state(&files.current()).1);
        write("b");
        assert_eq!(state(&files.current()), ("b".to_owned(), false, 4));
        assert!(SignatureFile::open(&kinds, directory.path()).is_err());
    }

    #[test]
    fn signatures_that_match_the_same_object_are_one_series_each() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.yaml");
        let one = |name: &str| {
            format!(
                "- {{name: {name}, title: T, severity: critical, fix: F, where: {{object: {{kind: Volume, \
                 fields: [{{path: metadata.name, exists: true}}]}}}}}}\n"
            )
        };
        std::fs::write(&path, format!("signatures:\n{}{}", one("a"), one("b"))).unwrap();
        let kinds: BTreeSet<Resource> = crate::checks::CATALOGUE.kinds();
        let files = SignatureFiles::new(kinds.clone(), vec![SignatureFile::open(&kinds, &path).unwrap()]);
        let now = || crate::testing::time("2026-01-01T12:00:00Z");
        let source = Arc::new(Fixed::new(crate::source::demo::cluster(now()).unwrap()));
        let evaluator = Evaluator::new(&crate::checks::CATALOGUE, source, now, false).with_signatures(files);
        let families = families(&evaluator.moment(), &BTreeMap::new(), None, None);
        let mut series = BTreeSet::new();
        for family in &families {
            for sample in &family.samples {
                assert!(series.insert((family.gauge.name, sample.labels.clone())), "{sample:?} twice");
            }
        }
        let matches =
            families.iter().find(|one| one.gauge.name == "longhorn_health_signature_matches").unwrap();
        assert_eq!(matches.samples.len(), 2);
    }
}
