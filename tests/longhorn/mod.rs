//! Moments of a real Longhorn with its data path, judged: `expected.yaml` has what is true in each and what must be said.

use std::collections::BTreeMap;
use std::path::Path;

use jiff::{SignedDuration, Timestamp};
use longhorn_health_exporter::source::Recording;
use serde::Deserialize;
use serde_json::Value;
use testing::evaluate;

/// A moment.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Moment {
    /// What is so.
    truth: String,
    /// Nothing at warning or critical may be said.
    #[serde(default)]
    silent: bool,
    /// Findings, as `severity check/cause object`, and words of them.
    #[serde(default)]
    says: Vec<String>,
    /// Words that may not be said.
    #[serde(default)]
    never: Vec<String>,
    /// What is true and not said yet.
    #[serde(default)]
    unsaid: String,
    /// Seconds after the recording.
    #[serde(default)]
    later: i64,
}

#[test]
fn a_real_longhorn_is_judged_as_it_was() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/longhorn/recordings");
    let moments: BTreeMap<String, Moment> =
        serde_yaml::from_str(&std::fs::read_to_string(here.join("expected.yaml")).unwrap()).unwrap();
    let mut wrong = Vec::new();
    for (name, moment) in &moments {
        let path = here.join(format!("{name}.tar.gz"));
        let recording = Recording::read(&path, "longhorn-system", Timestamp::MAX).unwrap();
        let mut cluster = recording.into_cluster("longhorn-system", None);
        cluster.now += SignedDuration::from_secs(moment.later);
        let report = evaluate(&cluster).report;
        let report = serde_json::to_value(report).unwrap();
        let findings = report["findings"].as_array().unwrap();
        let grave: Vec<&Value> = findings.iter().filter(|finding| finding["severity"] != "info").collect();
        let head = |finding: &&Value| {
            let word = |key: &str| finding[key].as_str().unwrap_or_default();
            let object = finding["object"]["name"].as_str().unwrap_or_default();
            format!("{} {}/{} {object}", word("severity"), word("check"), word("cause"))
        };
        let heads: Vec<String> = grave.iter().map(head).collect();
        let texts: String = grave.iter().map(ToString::to_string).collect();
        let is_said = |what: &&String| {
            heads.iter().any(|head| head.starts_with(what.as_str())) || texts.contains(what.as_str())
        };
        let mut faults: Vec<String> = Vec::new();
        faults.extend(
            moment.says.iter().filter(|what| !is_said(what)).map(|what| format!("does not say {what}")),
        );
        faults.extend(moment.never.iter().filter(is_said).map(|what| format!("says {what}")));
        if moment.silent && !heads.is_empty() {
            faults.push("is not silent".to_owned());
        }
        if !faults.is_empty() {
            let Moment { truth, unsaid, .. } = moment;
            wrong.push(format!(
                "{name} {faults:#?}, but {heads:#?}; true is: {truth} (not said yet: {unsaid})"
            ));
        }
    }
    assert!(moments.len() >= 12 && wrong.is_empty(), "{}", wrong.join("\n"));
}
