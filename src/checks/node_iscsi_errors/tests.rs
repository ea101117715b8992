use super::CHECK;
use crate::cluster::{Cluster, Readability};
use crate::longhorn::Resource;
use crate::report::Status;
use crate::testing::*;

const NOW: &str = "2026-03-01T12:00:00Z";
const ISCSI: &str = "LonghornISCSIConnError";
const SHIM: &str = "LonghornShimDisconnected";
const FOUND: &str = "warning iscsi_conn_error Node node-1";

fn event(reason: &str, node: &str, first: &str, last: &str, count: u32) -> String {
    format!(
        "apiVersion: v1\nkind: Event\nmetadata: {{name: {node}.{reason}.{first}-{last}, namespace: default, \
         creationTimestamp: '2026-03-01T{first}Z'}}\ninvolvedObject: {{kind: Node, name: {node}, uid: {node}}}\n\
         reason: {reason}\ntype: Warning\nmessage: 'connection17:0: detected conn error (1020)'\ncount: {count}\n\
         firstTimestamp: '2026-03-01T{first}Z'\nlastTimestamp: '2026-03-01T{last}Z'\n---\n"
    )
}

fn once(reason: &str, node: &str, at: &str) -> String {
    event(reason, node, at, at, 1)
}

/// An instance manager of a day ago on node-1 whose pod was made at this time of today.
fn manager(name: &str, made: &str, engine: &str) -> String {
    let meta = |made: &str| {
        format!(
            "metadata: {{name: {name}, namespace: longhorn-system, creationTimestamp: '{made}', \
             labels: {{longhorn.io/component: instance-manager}}}}"
        )
    };
    let (im, pod) = (meta("2026-02-28T12:00:00Z"), meta(&format!("2026-03-01T{made}Z")));
    format!(
        "apiVersion: longhorn.io/v1beta2\nkind: InstanceManager\n{im}\nspec: {{nodeID: node-1, dataEngine: {engine}}}\n---\n\
         apiVersion: v1\nkind: Pod\n{pod}\nspec: {{nodeName: node-1}}\n---\n"
    )
}

fn engine(volume: &str, node: &str, data_engine: &str) -> String {
    object(
        "Engine",
        &format!("{volume}-e-0"),
        &format!("spec: {{volumeName: {volume}, nodeID: {node}, dataEngine: {data_engine}}}"),
    )
}

fn look(yaml: &str) -> Cluster {
    live_at(NOW, &(MANAGER.to_owned() + yaml))
}

#[test]
fn incident_000_errors_with_a_replacement_and_a_shim() {
    let yaml = object("Node", "node-1", "")
        + &once(ISCSI, "node-1", "11:48:05")
        + &event(ISCSI, "node-1", "11:48:06", "11:48:07", 23)
        + &once(SHIM, "node-1", "11:48:06")
        + &manager("im-1", "11:48:20", "v1")
        + &engine("pvc-1", "node-1", "v1")
        + &engine("pvc-2", "node-2", "v1")
        + &engine("pvc-3", "node-1", "v2");
    let cluster = look(&yaml);
    assert_eq!(found(&CHECK, &cluster), [FOUND, "warning shim_disconnected Node node-1"]);
    let evaluation = run(&CHECK, &cluster);
    let finding = &evaluation.report.findings[0];
    assert!(
        finding.message.contains("at least 24") && finding.message.ends_with("instance manager was replaced"),
        "{}",
        finding.message
    );
    let volumes: Vec<_> = finding.volumes.iter().map(|volume| volume.name.as_str()).collect();
    assert_eq!(volumes, ["pvc-1"], "those of other nodes and of the v2 data engine have no session there");
    assert_eq!(finding.since, Some(time("2026-03-01T11:48:05Z")));
    assert!(finding.evidence().iter().any(|fact| fact.text.contains("im-1 on this node was replaced")));
    assert!(finding.remedy.commands.iter().all(|command| !command.changes));
    let of = |family: &str, cause| sample(&evaluation, family, &["node-1", cause]);
    assert_eq!(of("longhorn_health_node_iscsi_error_events", "iscsi_conn_error"), Some(24.0));
    assert_eq!(of("longhorn_health_node_iscsi_error_events", "shim_disconnected"), Some(1.0));
    let last = time("2026-03-01T11:48:07Z").as_second() as f64;
    assert_eq!(of("longhorn_health_node_iscsi_error_last_timestamp_seconds", "iscsi_conn_error"), Some(last));
}

#[test]
fn only_the_last_hour_counts() {
    for (at, expected) in [("11:00:00", &[FOUND][..]), ("10:59:59", &[]), ("12:00:05", &[FOUND])] {
        assert_eq!(found(&CHECK, &look(&once(ISCSI, "node-1", at))), expected, "{at}");
    }
    // a joined Event is as old as its last occurrence
    assert_eq!(found(&CHECK, &look(&event(ISCSI, "node-1", "08:00:00", "11:30:00", 40))), [FOUND]);
    let untimed = "apiVersion: v1\nkind: Event\nmetadata: {name: e, namespace: default}\nreason: LonghornISCSIConnError\n\
                   involvedObject: {kind: Node, name: node-1}\n";
    assert!(found(&CHECK, &look(untimed)).is_empty(), "nothing says that it is recent");
}

#[test]
fn a_shim_counts_only_beside_an_error_of_its_node() {
    let shim = |first: &str, last: &str| event(SHIM, "node-1", first, last, 3);
    let both = [FOUND, "warning shim_disconnected Node node-1"];
    let error = once(ISCSI, "node-1", "11:30:00");
    for (yaml, expected) in [
        (shim("11:30:00", "11:30:00"), &[][..]),
        (
            shim("11:30:00", "11:30:00") + &once(ISCSI, "node-2", "11:30:00"),
            &["warning iscsi_conn_error Node node-2"],
        ),
        (error.clone() + &shim("11:25:00", "11:25:00"), &both),
        (error.clone() + &shim("11:24:59", "11:24:59"), &[FOUND]),
        (error.clone() + &shim("11:35:00", "11:35:00"), &both),
        (error.clone() + &shim("11:35:01", "11:35:01"), &[FOUND]),
        // joined over an hour: it was near neither when it began nor when it was last seen
        (error.clone() + &shim("11:05:00", "11:55:00"), &[FOUND]),
    ] {
        let cluster = look(&yaml);
        assert_eq!(found(&CHECK, &cluster), expected, "{yaml}");
        let shims = sample(
            &run(&CHECK, &cluster),
            "longhorn_health_node_iscsi_error_events",
            &["node-1", "shim_disconnected"],
        );
        assert_eq!(shims.is_some(), expected.len() == 2, "no series for what is ordinary");
    }
}

#[test]
fn other_events_are_neither_found_nor_kept() {
    let error = once(ISCSI, "node-1", "11:30:00");
    for yaml in [
        error.replace(ISCSI, "NodeReady"),
        error.replace("namespace: default", "namespace: longhorn-system"),
        error.replace("kind: Node", "kind: Pod"),
        error.replace("kind: Node", "kind: Node, apiVersion: longhorn.io/v1beta2"),
        // a storage-less node of the cluster with iSCSI storage of another kind
        error + &object("Node", "node-2", ""),
    ] {
        let cluster = look(&yaml);
        assert!(found(&CHECK, &cluster).is_empty(), "{yaml}");
        assert_eq!(run(&CHECK, &cluster).report.status, Status::Healthy);
    }
    let cluster = look(&once("NodeReady", "node-1", "11:30:00"));
    assert_eq!(cluster.objects.node_events.len() + cluster.objects.events.len(), 0);
}

#[test]
fn a_replacement_belongs_to_it_only_near_in_time_and_on_the_node() {
    let error = once(ISCSI, "node-1", "11:30:00");
    for (manager, related) in [
        (manager("im-1", "11:20:00", "v1"), true),
        (manager("im-1", "11:19:59", "v1"), false),
        (manager("im-1", "11:40:00", "v1"), true),
        (manager("im-1", "11:40:01", "v1"), false),
        (manager("im-1", "11:30:00", "v1").replace("nodeName: node-1", "nodeName: node-2"), false),
        (manager("im-1", "11:30:00", "v1").replace("2026-02-28T12:00:00Z", "2026-03-01T11:29:00Z"), false),
        (
            manager("im-1", "11:30:00", "v1").replace("longhorn.io/component: instance-manager", "app: x"),
            false,
        ),
    ] {
        let report = run(&CHECK, &look(&(error.clone() + &manager))).report;
        assert_eq!(report.findings[0].message.ends_with("was replaced"), related, "{manager}");
    }
    let mut blind = look(&error);
    blind.resources.entry(Resource::Pods).or_default().readability = Readability::Forbidden;
    let report = run(&CHECK, &blind).report;
    assert!(report.findings[0].evidence().iter().any(|fact| fact.text.contains("cannot be read")));
}

#[test]
fn without_the_right_it_is_unknown_and_without_events_healthy() {
    let nothing = look(&object("Node", "node-1", ""));
    assert_eq!(run(&CHECK, &nothing).report.status, Status::Healthy);
    let mut forbidden = look(&object("Node", "node-1", ""));
    forbidden.resources.entry(Resource::NodeEvents).or_default().readability = Readability::Forbidden;
    let report = run(&CHECK, &forbidden).report;
    assert_eq!(report.status, Status::Unknown);
    assert_eq!(report.unknown[0].reason, "node-events are forbidden");
}

#[test]
fn odd_events_cost_nothing() {
    for odd in ["involvedObject: {kind: Node}", "involvedObject: {kind: Node, name: null}"] {
        let event = format!(
            "apiVersion: v1\nkind: Event\nmetadata: {{name: e, namespace: default, creationTimestamp: '{NOW}'}}\n\
             reason: {ISCSI}\ncount: -4\n{odd}\n"
        );
        assert!(found(&CHECK, &look(&event)).is_empty());
        let by_host = look(&(event + "source: {host: node-1}\n"));
        assert_eq!(found(&CHECK, &by_host), [FOUND]);
    }
}

#[test]
fn the_monitors_report_what_is_looked_for() {
    for (monitor, reason) in [
        (include_str!("../../../deploy/node-problem-detector/longhorn-kernel-monitor.json"), ISCSI),
        (include_str!("../../../deploy/node-problem-detector/longhorn-containerd-monitor.json"), SHIM),
        (include_str!("../../../deploy/node-problem-detector/longhorn-containerd-file-monitor.json"), SHIM),
    ] {
        assert!(monitor.contains(&format!("\"reason\": \"{reason}\"")));
    }
}
