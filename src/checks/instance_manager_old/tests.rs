mod remedies;

use super::CHECK;
use crate::longhorn::Resource;
use crate::testing::instance_managers::*;

const NOW: &str = "2026-01-02T00:00:00Z";

fn causes(yaml: &str) -> Vec<String> {
    found(&CHECK, &live_at(NOW, yaml))
}

/// An old v1 instance manager `im-old` in state running with these maps.
fn old(status: &str) -> String {
    im("im-old", OLD, "type: aio, dataEngine: v1", "running", status)
}

fn one(cause: &str) -> Vec<String> {
    let warnings = ["orphan_held", "cleanup_stuck", "deletion_stuck"];
    let severity = if warnings.contains(&cause) { "warning" } else { "info" };
    vec![format!("{severity} {cause} InstanceManager im-old")]
}

#[test]
fn objects_that_were_not_read_make_no_orphans() {
    let held = old(&map("instanceReplicas", "v-r-1", "running"));
    let yaml = release("v1.9.2") + &node() + &held;
    let report = run(&CHECK, &cluster(&yaml)).report;
    assert_eq!(report.findings[0].cause, "replica_held");
    assert!(report.unknown.iter().any(|unknown| unknown.reason.contains("v-r-1")));
    let mut live = live_at(NOW, &yaml);
    live.resources.entry(Resource::Replicas).or_default().undecodable = 1;
    assert_eq!(found(&CHECK, &live), one("replica_held"));
    live.resources.entry(Resource::Replicas).or_default().readability =
        crate::cluster::Readability::Forbidden;
    assert!(found(&CHECK, &live).is_empty());
    assert_eq!(run(&CHECK, &live).report.status, crate::report::Status::Unknown);
}

#[test]
fn odd_objects_and_missing_settings_are_unknown_and_no_panic() {
    let bare = "apiVersion: longhorn.io/v1beta2\nkind: InstanceManager\n\
                metadata: {name: im-old, namespace: longhorn-system}\n---\n";
    let report = run(&CHECK, &live_at(NOW, &(MANAGER.to_owned() + bare))).report;
    assert!(report.findings.is_empty());
    assert!(report.unknown[0].reason.contains("default-instance-manager-image"));
    let odd = im("im-old", OLD, "type: aio", "melting", "");
    let report = run(&CHECK, &live_at(NOW, &(release("v1.9.2") + MANAGER + &odd))).report;
    assert_eq!(report.unknown.len(), 1);
    assert_eq!(
        causes(&(release("v1.9.2") + bare)),
        one("cleanup_pending"),
        "an empty object is old and idle"
    );
}
