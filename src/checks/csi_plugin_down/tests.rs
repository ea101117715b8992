//! Longhorn is deleted while volumes are in use.

use crate::cluster::{Cluster, Readability};
use crate::csi_plugin_down::CHECK;
use crate::longhorn::Resource;
use crate::testing::{found, live_at, longhorn_manager, object, object_with, run};

const NOW: &str = "2025-11-25T23:47:29Z";
const GOING: &str = "deletionTimestamp: '2025-11-25T23:46:59Z', finalizers: [longhorn.io]";

/// As played with `kubectl delete -f` of the manifest of 1.12.1 while volumes are attached: what was left when the managers had ended.
fn volume(name: &str, metadata: &str, status: &str) -> String {
    let claim = format!("kubernetesStatus: {{namespace: default, pvcName: {name}, pvName: {name}}}");
    object_with("Volume", name, metadata, &format!("status: {{{status}, robustness: healthy, {claim}}}"))
}

fn replica(volume: &str, node: &str, rest: &str) -> String {
    let spec = format!("spec: {{volumeName: {volume}, nodeID: {node}, active: true{rest}}}");
    object_with("Replica", &format!("{volume}-r-{node}"), GOING, &spec)
}

const HEALTHY: &str = ", healthyAt: '2025-11-25T23:39:18Z'";
const ATTACHED: &str = "state: attached, currentNodeID: node-1";

fn left() -> String {
    volume("vol-1", GOING, ATTACHED)
        + &volume("vol-2", &GOING.replace("46:59", "47:00"), ATTACHED)
        + &replica("vol-1", "node-1", HEALTHY)
        + &replica("vol-1", "node-2", HEALTHY)
        + &replica("vol-2", "node-2", &format!("{HEALTHY}, failedAt: '2025-11-25T23:40:00Z'"))
}

const IN_USE: &str = "critical deleted_in_use DaemonSet longhorn-manager";

#[test]
fn volumes_that_were_in_use_when_longhorn_was_deleted_are_told_once() {
    let cluster = live_at(NOW, &left());
    let report = run(&CHECK, &cluster).report;
    let [finding] = report.findings.as_slice() else { panic!("{:?}", report.findings) };
    assert_eq!(finding.message, "Longhorn was deleted, but 2 volumes are in use");
    assert_eq!(finding.since.unwrap().to_string(), "2025-11-25T23:46:59Z");
    assert_eq!(
        finding.impact,
        "I/O of claims default/vol-1 and default/vol-2 fails once the instance managers stop. \
         The data stays in 2 healthy replicas on node-1, node-2 until a manager deletes it"
    );
    assert!(finding.remedy.fix.starts_with("Pause all tools"), "{}", finding.remedy.fix);
    assert!(finding.remedy.commands.iter().all(|command| !command.changes), "{:?}", finding.remedy.commands);
    assert_eq!(report.incidents.len(), 1, "an alert carries it");
    assert_eq!(report.unknown[0].reason, "Longhorn's objects are outdated: no longhorn-manager is running");
}

#[test]
fn managers_that_still_run_are_to_be_ended_first() {
    let set = object("DaemonSet", "longhorn-manager", "status: {desiredNumberScheduled: 2}");
    let mut cluster = live_at(NOW, &(left() + &set + &longhorn_manager("longhorn-manager-a", "", "")));
    assert_eq!(found(&CHECK, &cluster), [""; 0], "someone deletes two volumes");
    for kind in [Resource::LonghornNodes, Resource::Settings] {
        cluster.resources.entry(kind).or_default().readability = Readability::NotInstalled;
    }
    let report = run(&CHECK, &cluster).report;
    let remedy = &report.findings[0].remedy;
    assert!(remedy.fix.starts_with("Delete DaemonSet longhorn-manager immediately"), "{}", remedy.fix);
    assert_eq!(remedy.commands[0].run, "kubectl -n longhorn-system delete daemonset longhorn-manager");
    assert_eq!(report.findings[0].evidence()[0].text.split(',').next(), Some("Longhorn's CRDs are deleted"));
}

#[test]
fn what_was_not_in_use_or_is_not_deleted_is_left_alone() {
    let deleting = "state: deleting, currentNodeID";
    for (what, yaml, expected) in [
        ("a manager had begun to delete it", volume("v", GOING, &format!("{deleting}: node-1")), 1),
        ("it was detached", volume("v", GOING, &format!("{deleting}: ''")), 0),
        ("it was detached, and no manager came", volume("v", GOING, "state: detached"), 0),
        ("only the managers are gone: engines run on", volume("v", "", ATTACHED), 0),
        (
            "managers that end, and none comes again",
            left() + &longhorn_manager("longhorn-manager-a", GOING, ""),
            1,
        ),
        (
            "managers that run, whatever became of their DaemonSet",
            left() + &longhorn_manager("longhorn-manager-a", "", ""),
            0,
        ),
    ] {
        assert_eq!(found(&CHECK, &live_at(NOW, &yaml)), vec![IN_USE; expected], "{what}");
    }
    let mut blind = live_at(NOW, &left());
    blind.resources.entry(Resource::Pods).or_default().readability = Readability::Forbidden;
    assert_eq!(found(&CHECK, &blind), [""; 0], "managers may run");
}

#[test]
fn what_is_known_of_replicas_is_said() {
    let said = |cluster: &Cluster| {
        let report = run(&CHECK, cluster).report;
        let finding = &report.findings[0];
        (finding.impact.rsplit(". ").next().unwrap().to_owned(), finding.evidence().len())
    };
    let none = live_at(NOW, &volume("v", GOING, ATTACHED));
    assert_eq!(said(&none), ("No healthy replica is left".to_owned(), 3));
    let mut blind = none;
    blind.resources.entry(Resource::Replicas).or_default().readability = Readability::Forbidden;
    assert_eq!(said(&blind), ("Their data stays on the disks until a manager deletes it".to_owned(), 2));
}
