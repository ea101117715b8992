//! The recorded clusters under tests/scenarios and what the exporter makes of them.

#![allow(dead_code, reason = "each test uses a part")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use longhorn_health_exporter::check::Name;
use longhorn_health_exporter::cluster::Cluster;
use longhorn_health_exporter::exporter::Evaluator;
use longhorn_health_exporter::metrics::Format;
use longhorn_health_exporter::source::recording::RecordedFile;
use longhorn_health_exporter::source::{Fixed, Recording, demo};
pub use testing::scenario_files as files;

const NAMESPACE: &str = "longhorn-system";

/// Where the scenarios are.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios")
}

/// Every scenario, by name.
pub fn all() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root()).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<_> = entries.filter(|path| path.join("cluster.yaml").exists()).collect();
    found.sort();
    assert!(found.len() >= 20, "only {} scenarios found", found.len());
    found
}

/// Name of a scenario.
pub fn name(scenario: &Path) -> &str {
    scenario.file_name().unwrap().to_str().unwrap()
}

/// The recorded cluster.
pub fn cluster(scenario: &Path) -> Cluster {
    let file = |(name, text): (String, String)| RecordedFile { name, content: text.into() };
    let all = files::files(scenario).into_iter().map(file);
    let recording = Recording::from_files(all, NAMESPACE, Timestamp::MAX).unwrap();
    assert_eq!(recording.warnings, Vec::<String>::new(), "{}", name(scenario));
    recording.into_cluster(NAMESPACE, None)
}

/// The recording as a directory of complete files.
pub fn written(scenario: &Path) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (name, text) in files::files(scenario) {
        std::fs::write(directory.path().join(name), text).unwrap();
    }
    directory
}

/// The demo cluster at a fixed time.
pub fn demo() -> Cluster {
    demo::cluster("2026-01-01T12:00:00Z".parse().unwrap()).unwrap()
}

/// The page of metrics, without what changes from build to build.
pub fn exposition(cluster: Cluster) -> String {
    let source = Arc::new(Fixed::new(cluster));
    let evaluator =
        Evaluator::new(&longhorn_health_exporter::checks::CATALOGUE, source, || Timestamp::UNIX_EPOCH, false);
    let page = evaluator.page(Format::Text, None).unwrap();
    let stable = page.lines().filter(|line| !line.starts_with("longhorn_health_exporter_build_info{"));
    stable.map(|line| format!("{line}\n")).collect()
}

/// Words of a text that stand for a name which no one filled in.
pub fn names_in_capitals(text: &str) -> Vec<&str> {
    let names: Vec<String> =
        Name::ALL.into_iter().map(|name| name.as_str().replace('_', "-").to_ascii_uppercase()).collect();
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '_'));
    words.filter(|word| names.iter().any(|name| name == word)).collect()
}

/// True when golden files are written rather than compared.
pub fn is_update() -> bool {
    std::env::var_os("UPDATE_GOLDEN").is_some()
}

/// Compares with a golden file, or writes it with `UPDATE_GOLDEN=1`. Returns whether it was as expected.
pub fn golden(path: &Path, actual: &str) -> bool {
    let expected = std::fs::read_to_string(path).unwrap_or_default();
    if expected == actual {
        return true;
    }
    if is_update() {
        std::fs::write(path, actual).unwrap();
        return true;
    }
    let diff = similar::TextDiff::from_lines(&expected, actual);
    eprintln!("{}\n{}", path.display(), diff.unified_diff().header("expected", "actual"));
    false
}
