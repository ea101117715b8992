mod copies;

use super::CHECK;
use crate::check::Finding;
use crate::testing::release as version;
use crate::testing::*;

const NOW: &str = "2026-01-01T12:00:00Z";
const OLD: &str = "2025-12-01T00:00:00Z";

/// Node `n1` with the ready disk `d1` (uuid-1) and a replica on it. `{node}` and `{disk}` are more fields of the
/// specs.
fn node(spec: &str, disk: &str) -> String {
    node_status(spec, disk, "conditions: [{type: Ready, status: 'True'}]", "True", "r1: 10")
}

fn node_status(spec: &str, disk: &str, status: &str, ready: &str, scheduled: &str) -> String {
    object(
        "Node",
        "n1",
        &format!(
            "spec: {{disks: {{d1: {{{disk}}}}}, {spec}}}\n\
             status:\n  {status}\n  diskStatus:\n    d1: {{diskUUID: uuid-1, scheduledReplica: {{{scheduled}}}, \
             conditions: [{{type: Ready, status: '{ready}', reason: X, lastTransitionTime: '{OLD}'}}]}}"
        ),
    )
}

fn replica(name: &str, spec: &str) -> String {
    object("Replica", name, &format!("spec: {{volumeName: vol, nodeID: n1, diskID: uuid-1, {spec}}}"))
}

fn image(spec: &str, status: &str) -> String {
    object(
        "BackingImage",
        "img",
        &format!("spec: {{diskFileSpecMap: {{{spec}}}}}\nstatus: {{diskFileStatusMap: {{{status}}}}}"),
    )
}

fn recorded(yaml: &str) -> Vec<String> {
    found(&CHECK, &cluster_at(NOW, yaml))
}

fn only(yaml: &str) -> Finding {
    let mut findings = run(&CHECK, &cluster_at(NOW, yaml)).report.findings;
    assert_eq!(findings.len(), 1, "{findings:?}");
    findings.remove(0)
}

const NOTHING: [&str; 0] = [];

#[test]
fn every_contradiction_names_what_to_do() {
    let yaml = version("v1.8.2")
        + &node("evictionRequested: true, allowScheduling: true", "")
        + &replica("r1", "backingImage: img")
        + &image("uuid-1: {evictionRequested: true}, uuid-x: {}", "uuid-1: {state: unknown}")
        + &object("BackingImageManager", "bim-1", "spec: {diskUUID: uuid-x}");
    let report = run(&CHECK, &cluster_at(NOW, &yaml)).report;
    assert_eq!(report.findings.len(), 5, "{:?}", recorded(&yaml));
    for finding in &report.findings {
        assert!(CHECK.cause(finding.cause.id).is_some(), "{}", finding.cause);
        assert!(
            !finding.impact.is_empty() && !finding.remedy.fix.is_empty() && !finding.evidence().is_empty()
        );
        assert!(finding.remedy.commands.first().is_some_and(|command| !command.changes), "{}", finding.cause);
        assert_eq!(finding.runbook, Some("LonghornEvictionInconsistent"));
    }
}

#[test]
fn a_disk_that_moved_belongs_to_the_node_where_it_is_ready() {
    let left = |name: &str, ready: &str, evicting: bool| {
        object(
            "Node",
            name,
            &format!(
                "spec: {{disks: {{d1: {{evictionRequested: {evicting}}}}}}}\nstatus: {{diskStatus: {{d1: {{diskUUID: uuid-1, \
                 conditions: [{{type: Ready, status: '{ready}'}}]}}}}}}"
            ),
        )
    };
    for (moved, remains) in [("a", "z"), ("z", "a")] {
        let cluster = cluster_at(NOW, &(left(moved, "True", false) + &left(remains, "False", false)));
        assert_eq!(cluster.disk("uuid-1").unwrap().node.metadata.name, moved);
    }
}
