//! Cases of plans, tests/plan/*.yaml: a healthy scenario, what differs there (fixture.rs), what is asked, and what must be answered.

use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::fixture::{Fixture, minor};
use crate::{ROOT, scenario_files};

#[derive(Debug, Clone, Deserialize)]
pub struct Case {
    /// What the case is.
    pub case: String,
    /// Its healthy scenario.
    #[serde(default = "newest")]
    pub on: String,
    /// What differs there: `KIND NAME`, or `null` for what is not there.
    #[serde(flatten)]
    pub change: Map<String, Value>,
    /// Kinds that may not be read.
    #[serde(default)]
    pub forbidden: Vec<String>,
    /// The release of the API server.
    #[serde(default)]
    pub api_server: Option<String>,
    /// The target of an upgrade.
    #[serde(default)]
    pub to: Option<String>,
    /// The nodes of a drain, or `all`.
    #[serde(default)]
    pub drain: Vec<String>,
    /// What is to become of the nodes.
    #[serde(default)]
    pub intent: Option<String>,
    /// The size of a new volume.
    #[serde(default)]
    pub volume: Option<String>,
    /// Its number of replicas.
    #[serde(default)]
    pub replicas: Option<u32>,
    /// What differed a day before.
    #[serde(default)]
    pub a_day_before: Option<Map<String, Value>>,
    /// Tags that it selects.
    #[serde(default)]
    pub node_selector: Vec<String>,
    #[serde(default)]
    pub disk_selector: Vec<String>,
    /// Conditions that are accepted.
    #[serde(default)]
    pub accept: Vec<String>,
    /// The verdict, if it is not that of the worst reason.
    #[serde(default)]
    verdict: Option<String>,
    /// Every reason that is more than a note: `not_yet stored_versions`.
    #[serde(default)]
    pub reasons: Vec<String>,
    /// Notes that must be there; others may be.
    #[serde(default)]
    pub notes: Vec<String>,
    /// Texts that must stand in the table.
    #[serde(default)]
    pub says: Vec<String>,
    /// Texts that must not.
    #[serde(default)]
    pub silent: Vec<String>,
}

fn newest() -> String {
    "healthy-1.12".to_owned()
}

impl Case {
    /// The verdict.
    pub fn verdict(&self) -> &str {
        let weighs =
            |weight: &str| self.reasons.iter().any(|reason| reason.split(' ').next() == Some(weight));
        let worst = ["no", "not_yet", "unknown"].into_iter().find(|weight| weighs(weight));
        self.verdict.as_deref().or(worst).unwrap_or("go")
    }

    /// Its cluster.
    pub fn objects(&self, base: &Fixture) -> Vec<Value> {
        let mut fixture = base.clone();
        fixture.change(self.change.clone());
        fixture.objects()
    }
}

/// The cases of a plan.
pub fn cases(plan: &str) -> Vec<Case> {
    serde_yaml::from_str(&file(plan)).unwrap_or_else(|error| panic!("tests/plan/{plan}.yaml: {error}"))
}

fn file(name: &str) -> String {
    std::fs::read_to_string(format!("{ROOT}/tests/plan/{name}.yaml")).unwrap()
}

/// A healthy scenario with the kinds that plans read beside those of the checks.
pub fn base(on: &str) -> Fixture {
    let mut base = scenario(on);
    // the API versions of its engine: command line and controller
    let (cli, controller) = match minor(&base.release) {
        3 => (6, 3),
        4 => (7, 4),
        5 => (9, 5),
        6..=10 => (10, 5),
        11 => (11, 6),
        _ => (12, 6),
    };
    let engine = base.heads().find(|head| head.starts_with("lh/EngineImage ")).unwrap().to_owned();
    base.with(&engine, json!({"status": {"cliAPIVersion": cli, "controllerAPIVersion": controller}}));
    base.change(serde_yaml::from_str(&file("beside")).unwrap());
    base
}

/// A scenario.
pub fn scenario(name: &str) -> Fixture {
    scenario_files::fixture(&Path::new(ROOT).join("tests/scenarios").join(name))
}
