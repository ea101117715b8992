mod fast_loops;

use super::CHECK;
use crate::cluster::Cluster;
use crate::testing::*;

const NOW: &str = "2026-03-01T12:00:00Z";

fn volume(name: &str, state: &str, spec: &str, current: &str) -> String {
    format!(
        "apiVersion: longhorn.io/v1beta2\nkind: Volume\nmetadata: {{name: {name}, namespace: {NAMESPACE}}}\n\
         spec: {{accessMode: rwo, {spec}}}\nstatus: {{robustness: unknown, state: {state}, currentNodeID: '{current}', \
         kubernetesStatus: {{pvcName: data, namespace: db}}}}\n---\n"
    )
}

fn engine(of: &str, node: &str, state: &str, more: &str) -> String {
    format!(
        "apiVersion: longhorn.io/v1beta2\nkind: Engine\nmetadata: {{name: {of}-e-0, namespace: {NAMESPACE}}}\n\
         spec: {{volumeName: {of}, nodeID: {node}, desireState: running, active: true}}\nstatus: {{currentState: {state}{more}}}\n---\n"
    )
}

fn event(kind: &str, name: &str, reason: &str, count: u32, first: &str, last: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Event\nmetadata: {{name: e-{name}-{reason}, namespace: {NAMESPACE}}}\nreason: {reason}\ncount: {count}\n\
         involvedObject: {{kind: {kind}, name: {name}}}\nfirstTimestamp: '2026-03-01T{first}Z'\nlastTimestamp: '2026-03-01T{last}Z'\n---\n"
    )
}

/// Tickets of a volume: id, type, node, whether it is satisfied, since when.
fn tickets(volume: &str, all: &[(&str, &str, &str, bool, &str)]) -> String {
    let spec: Vec<String> = all
        .iter()
        .map(|(id, kind, node, ..)| format!("{id}: {{id: {id}, type: {kind}, nodeID: {node}}}"))
        .collect();
    let status = all.iter().map(|(id, _, _, satisfied, since)| {
        let condition = if *satisfied { "True" } else { "False" };
        format!("{id}: {{satisfied: {satisfied}, conditions: [{{type: Satisfied, status: '{condition}', lastTransitionTime: '{since}'}}]}}")
    });
    let status: Vec<String> = status.collect();
    format!(
        "apiVersion: longhorn.io/v1beta2\nkind: VolumeAttachment\nmetadata: {{name: {volume}, namespace: {NAMESPACE}}}\n\
         spec: {{attachmentTickets: {{{}}}}}\nstatus: {{attachmentTicketStatuses: {{{}}}}}\n---\n",
        spec.join(", "),
        status.join(", ")
    )
}

fn csi(name: &str, node: &str, created: &str) -> String {
    format!(
        "apiVersion: storage.k8s.io/v1\nkind: VolumeAttachment\nmetadata: {{name: {name}, creationTimestamp: '{created}'}}\n\
         spec: {{attacher: driver.longhorn.io, nodeName: {node}, source: {{persistentVolumeName: pv}}}}\n---\n"
    )
}

const OLD: &str = "2026-03-01T11:40:00Z";
fn causes(cluster: &Cluster) -> Vec<String> {
    found(&CHECK, cluster)
}

#[test]
fn an_engine_that_fails_is_named_with_its_error() {
    let failing = |name: &str| {
        volume(name, "attaching", "nodeID: node-1", "")
            + &engine(
                name,
                "node-1",
                "error",
                ", conditions: [{type: InstanceCreation, status: 'False', message: iscsiadm exit status 21}]",
            )
            + &csi(&format!("csi-{name}"), "node-1", OLD)
            + &tickets(name, &[(&format!("csi-{name}"), "csi-attacher", "node-1", false, "")])
    };
    let cluster = cluster_at(NOW, &failing("vol"));
    assert_eq!(causes(&cluster), ["critical engine_cannot_start Volume vol"]);
    let finding = run(&CHECK, &cluster).report.findings.remove(0);
    assert!(
        finding.evidence().iter().any(|fact| fact.text.ends_with("\"iscsiadm exit status 21\"")),
        "{finding:?}"
    );
    // several on one node: it is the node
    let two = failing("vol") + &failing("vol-2") + &engine("other", "node-2", "running", "");
    let cluster = cluster_at(NOW, &two);
    assert_eq!(causes(&cluster), ["critical engine_cannot_start nodes.longhorn.io node-1"]);
    let evaluation = run(&CHECK, &cluster);
    assert_eq!(evaluation.report.findings[0].volumes.len(), 2);
    let cordons = |yaml: &str| {
        let findings = run(&CHECK, &cluster_at(NOW, yaml)).report.findings;
        let of_node = findings.into_iter().find(|finding| finding.object.name == "node-1").unwrap();
        let said = of_node.evidence().iter().any(|fact| fact.text.contains("the node is the cause"));
        let cordon = of_node.remedy.commands.iter().any(|command| command.changes);
        assert_eq!(said, cordon, "{of_node:?}");
        cordon
    };
    assert!(cordons(&two));
    // seen: no engine could be started anywhere, and those of before went on
    assert!(!cordons(&(two.clone() + &engine("here", "node-1", "running", ""))));
    let failing_there = |name: &str| failing(name).replace("node-1", "node-2");
    assert!(!cordons(&(two.clone() + &failing_there("vol-3") + &failing_there("vol-4"))));
    assert!(!cordons(&(failing("vol") + &failing("vol-2"))), "nothing runs anywhere");
    let labels = ["vol-2", "db", "data", "engine_cannot_start", "critical"];
    assert_eq!(sample(&evaluation, "longhorn_health_volume_attachment_stuck", &labels), Some(1.0));
}

/// Played on 1.12.1 with engines that die at once: between two starts a volume is on no node, and the other one is.
#[test]
fn new_volumes_whose_engines_die_at_once_are_told_by_their_node_all_the_time() {
    let new = |name: &str, state: &str, spec: &str| {
        let replica = format!("spec: {{volumeName: {name}, nodeID: node-2, healthyAt: '', failedAt: ''}}");
        volume(name, state, spec, "")
            + &object("Replica", &format!("{name}-r-0"), &replica)
            + &tickets(name, &[("longhorn-ui", "longhorn-api", "node-1", false, "")])
            + &event("Volume", name, "DetachedUnexpectedly", 12, "11:57:00", "11:59:59")
    };
    let yaml = new("n1", "detached", "nodeID: ''") + &new("n2", "attaching", "nodeID: node-1");
    let acute = |at: &str, yaml: &str| {
        let mut found = causes(&cluster_at(at, yaml));
        found.retain(|one| !one.starts_with("info "));
        found
    };
    assert_eq!(acute(NOW, &yaml), ["critical engine_cannot_start nodes.longhorn.io node-1"]);
    // up at last: those were no deaths
    let up = |healthy: &str| {
        let yaml = new("n1", "attached", "nodeID: node-1")
            .replace("healthyAt: ''", &format!("healthyAt: '{healthy}'"))
            + &engine("n1", "node-1", "running", "");
        let found = acute("2026-03-01T12:00:05Z", &yaml);
        // seen: one of its replicas is still being built
        let built = "spec: {volumeName: n1, nodeID: node-1, healthyAt: '', failedAt: ''}";
        assert_eq!(acute("2026-03-01T12:00:05Z", &(yaml + &object("Replica", "n1-r-1", built))), found);
        found
    };
    assert!(up("2026-03-01T12:00:01Z").is_empty());
    // one Event counts failed starts and deaths: which it was, only time tells
    assert!(up("2026-03-01T11:58:00Z").is_empty());
}

/// Played on 1.12.1: the engine binary was missing at first, and five minutes after it was there a taint took the instance manager.
#[test]
fn failed_starts_are_no_deaths_of_an_engine_that_was_up_later() {
    let at = |count: u32, last: &str| {
        volume("n1", "attaching", "nodeID: node-1", "")
            + &object(
                "Replica",
                "n1-r-0",
                "spec: {volumeName: n1, nodeID: node-2, healthyAt: '2026-03-01T11:51:50Z', failedAt: ''}",
            )
            + &engine("n1", "node-1", "error", "")
            + &event("Volume", "n1", "DetachedUnexpectedly", count, "11:50:00", last)
    };
    let loops = |cluster: &Cluster| causes(cluster).iter().any(|one| one.starts_with("critical attach_loop"));
    assert!(!loops(&cluster_at("2026-03-01T11:57:00Z", &at(26, "11:56:40"))));
    let mut cluster = live_at("2026-03-01T11:56:40Z", &at(25, "11:51:45"));
    for (count, last, expected) in [(26, "11:56:40", false), (27, "11:57:40", false), (28, "11:58:40", true)]
    {
        cluster = next(cluster, 30, &at(count, last));
        assert_eq!(loops(&cluster), expected, "{count}");
        cluster = later(cluster, 30);
        assert_eq!(loops(&cluster), expected, "{count}");
    }
}
