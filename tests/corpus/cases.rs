//! The cases, by class.

#[path = "cluster.rs"]
pub mod cluster;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Deserialize;

/// One report.
#[derive(Debug, Clone, Deserialize)]
pub struct Case {
    /// Number of the report in longhorn/longhorn, or `repository#number`, and what it is about.
    pub report: String,
    /// The release of the manager image; what the report ends with, if it is not said.
    #[serde(default)]
    pub release: String,
    #[serde(flatten)]
    pub cluster: cluster::Facts,
    /// `check/cause`; nothing is wrong without it.
    #[serde(default = "nothing")]
    pub expect: String,
    /// The same where the log cannot be read, if that is another.
    #[serde(default)]
    pub without_log: Option<String>,
    /// Further findings at warning or critical that are true, too.
    #[serde(default)]
    pub also: BTreeSet<String>,
    /// Words of the finding's message, impact, evidence or remedy when the log can be read.
    #[serde(default)]
    pub says: Vec<String>,
}

fn nothing() -> String {
    "nothing".to_owned()
}

/// Every case, by class.
pub fn cases() -> BTreeMap<String, Vec<Case>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let mut classes = BTreeMap::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "yaml") {
            let text = std::fs::read_to_string(&path).unwrap();
            let mut cases: Vec<Case> =
                serde_yaml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            for case in cases.iter_mut().filter(|case| case.release.is_empty()) {
                case.release = format!("v{}", case.report.rsplit(", ").next().unwrap());
            }
            classes.insert(path.file_stem().unwrap().to_string_lossy().into_owned(), cases);
        }
    }
    classes
}
