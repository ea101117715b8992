//! A right that is withheld hides findings; then their check says that it is unknown.

use crate::scenario;

use std::collections::BTreeSet;

use jiff::Timestamp;
use longhorn_health_exporter::check::Severity;
use longhorn_health_exporter::cluster::{Cluster, Readability};
use longhorn_health_exporter::longhorn::Resource;
use longhorn_health_exporter::report::Report;
use longhorn_health_exporter::source::recording::{RecordedFile, Recording};
use serde_json::{Value, json};
use testing::evaluate;

const NAMESPACE: &str = "longhorn-system";

fn cluster(objects: &[&Value]) -> Cluster {
    let content = json!({ "apiVersion": "v1", "kind": "List", "items": objects }).to_string().into_bytes();
    let file = RecordedFile { name: "cluster.json".to_owned(), content };
    let recording = Recording::from_files([file], NAMESPACE, Timestamp::MAX).unwrap();
    let mut cluster = recording.into_cluster(NAMESPACE, None);
    for status in cluster.resources.values_mut() {
        status.readability = Readability::Readable;
    }
    cluster
}

fn of(object: &Value) -> Option<Resource> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let about = ["/involvedObject/apiVersion", "/involvedObject/kind"].map(text);
    match Resource::of(text("/apiVersion"), text("/kind"))? {
        Resource::Events => Some(Resource::of_event(text("/metadata/namespace"), about[0], about[1])),
        kind => Some(kind),
    }
}

/// What somebody should do something about.
fn urgent(report: &Report) -> BTreeSet<(&'static str, &'static str, String)> {
    let urgent = report.findings.iter().filter(|finding| finding.severity >= Severity::Warning);
    urgent.map(|finding| (finding.check, finding.cause.id, finding.object.to_string())).collect()
}

#[test]
fn no_finding_vanishes_in_silence_with_a_right() {
    let mut silent = BTreeSet::new();
    for path in scenario::all() {
        let objects = scenario::files::objects(&path);
        let all = cluster(&objects.iter().collect::<Vec<_>>());
        let whole = urgent(&evaluate(&all).report);
        let kinds: BTreeSet<Resource> = objects.iter().filter_map(of).collect();
        for kind in kinds {
            let mut blind =
                cluster(&objects.iter().filter(|object| of(object) != Some(kind)).collect::<Vec<_>>());
            blind.now = all.now;
            blind.resources.get_mut(&kind).unwrap().readability = Readability::Forbidden;
            let report = evaluate(&blind).report;
            let left = urgent(&report);
            for (check, cause, object) in whole.difference(&left) {
                if !report.is_unknown(check)
                    && !report.findings.iter().any(|f| f.check == *check && f.object.to_string() == *object)
                {
                    silent.insert(format!("{kind}: {check}/{cause} {object} of {}", scenario::name(&path)));
                }
            }
        }
    }
    assert_eq!(
        silent,
        BTreeSet::new(),
        "{}",
        silent.iter().map(|one| format!("{one}\n")).collect::<String>()
    );
}
