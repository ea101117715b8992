use super::CHECK;
use crate::testing::*;

const NOW: &str = "2026-03-01T12:00:00Z";

fn volume(status: &str) -> String {
    format!(
        "apiVersion: longhorn.io/v1beta2\nkind: Volume\nmetadata: {{name: vol, namespace: {NAMESPACE}}}\n\
         status: {{robustness: faulted, state: detached, kubernetesStatus: {{pvcName: data, namespace: db}}{status}}}\n---\n"
    )
}

fn replica(name: &str, node: &str, times: &str) -> String {
    format!(
        "apiVersion: longhorn.io/v1beta2\nkind: Replica\nmetadata: {{name: {name}, namespace: {NAMESPACE}}}\n\
         spec: {{volumeName: vol, nodeID: {node}, diskID: u-{node}, active: true{times}}}\n---\n"
    )
}

fn node(name: &str, ready: &str, schedulable: &str) -> String {
    format!(
        "apiVersion: longhorn.io/v1beta2\nkind: Node\nmetadata: {{name: {name}, namespace: {NAMESPACE}}}\n\
         status: {{conditions: [{{type: Ready, {ready}}}], diskStatus: {{d: {{diskUUID: u-{name}, conditions: [{{type: Schedulable, {schedulable}}}]}}}}}}\n---\n"
    )
}

const UP: &str = "status: 'True'";
const DOWN: &str = "status: 'False', reason: KubernetesNodeNotReady";
const FULL: &str = "status: 'False', reason: DiskPressure";

fn failed(at: &str) -> String {
    format!(", healthyAt: '2026-01-01T00:00:00Z', failedAt: '2026-03-01T{at}Z'")
}

fn auto_salvage(value: &str) -> String {
    setting("auto-salvage", value)
}

fn one(yaml: &str) -> crate::check::Finding {
    let findings = run(&CHECK, &cluster_at(NOW, yaml)).report.findings;
    assert_eq!(findings.len(), 1, "{yaml}");
    findings.into_iter().next().unwrap()
}

fn judged(yaml: &str) -> (String, String) {
    let finding = one(yaml);
    (finding.cause.to_string(), finding.message)
}

#[test]
fn a_restore_never_loses_data() {
    let built =
        replica("r-1", "n1", ", healthyAt: '', failedAt: '2026-03-01T11:00:00Z'") + &node("n1", UP, UP);
    assert_eq!(judged(&(volume(", lastDegradedAt: '2026-03-01T10:00:00Z'") + &built)).0, "no_data");
    let restored = volume(", restoreRequired: true, restoreInitiated: true") + &built;
    assert_eq!(judged(&restored).0, "restore_failed");
}

#[test]
fn each_reason_for_which_no_replica_is_taken() {
    let nodes = node("node-1", UP, UP) + &node("node-2", DOWN, UP) + &node("node-3", UP, FULL);
    let early = failed("10:00:00");
    let late = failed("11:00:00");
    let usable = replica("r-1", "node-1", &late);
    for (yaml, cause) in [
        (volume("") + &usable, "salvage_pending"),
        (volume("") + &usable + &auto_salvage("true"), "salvage_pending"),
        (volume("") + &usable + &auto_salvage("false"), "auto_salvage_off"),
        (volume("") + &replica("r-1", "node-2", &late), "replicas_unreachable"),
        (volume("") + &replica("r-1", "node-3", &late), "replicas_unreachable"),
        (volume("") + &replica("r-1", "node-9", &late), "replicas_unreachable"),
        (volume("") + &replica("r-1", "node-1", ""), "never_up"),
        (volume("") + &replica("r-1", "node-1", ", failedAt: '2026-03-01T11:00:00Z'"), "never_up"),
        (volume(""), "no_data"),
        (volume(", actualSize: '4096'") + &replica("r-1", "node-1", ""), "no_data"),
        (volume(", lastBackup: b, lastBackupAt: '2026-01-01T00:00:00Z'"), "no_data"),
        (
            volume("")
                + &replica(
                    "r-1",
                    "node-1",
                    ", lastHealthyAt: '2026-01-01T00:00:00Z', failedAt: '2026-03-01T11:00:00Z'",
                ),
            "no_data",
        ),
        (volume(", isStandby: true") + &usable, "auto_salvage_off"),
        (volume(", restoreRequired: true") + &usable, "restore_failed"),
        (volume("") + &replica("r-1", "node-1", ", healthyAt: '2026-01-01T00:00:00Z'"), "engine_died"),
        // a usable replica that missed writes comes before one that cannot be used at all
        (
            volume("") + &replica("r-1", "node-1", &early) + &replica("r-2", "node-2", &late),
            "salvage_pending",
        ),
    ] {
        assert_eq!(judged(&(nodes.clone() + &yaml)).0, cause, "{yaml}");
    }
}

/// Seen of longhorn-manager v1.12.1: volumes created in the first minute of an installation, before an engine image was ready on a node.
#[test]
fn a_volume_for_which_no_replica_could_be_made_has_lost_nothing() {
    let refused = |status| {
        volume(&format!(
            ", conditions: [{{type: Scheduled, status: '{status}', reason: ReplicaSchedulingFailure, \
             message: 'precheck new replica failed: none of the node candidates contains a ready engine image'}}]"
        ))
    };
    let engine = |size: &str| {
        format!(
            "apiVersion: longhorn.io/v1beta2\nkind: Engine\nmetadata: {{name: vol-e-0, namespace: {NAMESPACE}}}\n\
             spec: {{volumeName: vol}}\nstatus: {{currentState: stopped, currentSize: '{size}'}}\n---\n"
        )
    };
    let all = |yaml: &str| run(&CHECK, &cluster_at(NOW, yaml)).report.findings;
    assert!(all(&(refused("False") + &engine("0"))).is_empty());
    // an engine ran once, there is no engine to tell, or Longhorn has no reason not to make one: the objects are gone
    for yaml in [
        refused("False") + &engine("1073741824"),
        refused("False"),
        refused("True") + &engine("0"),
        refused("False") + &engine("0") + &engine("1073741824").replace("vol-e-0", "vol-e-1"),
        volume("") + &engine("0"),
    ] {
        assert_eq!(judged(&yaml).0, "no_data", "{yaml}");
    }
}

#[test]
fn the_replica_that_failed_last_is_the_one_to_go_on_with() {
    let nodes = node("node-1", DOWN, UP) + &node("node-2", DOWN, UP);
    let yaml = nodes
        + &volume("")
        + &replica("r-1", "node-1", &failed("10:00:00"))
        + &replica("r-2", "node-2", &failed("11:00:00"));
    let finding = one(&yaml);
    assert!(finding.message.contains("r-2 (node node-2 is down)"), "{}", finding.message);
    assert!(finding.message.starts_with("claim db/data is faulted"), "{}", finding.message);
    assert_eq!(finding.since, Some(time("2026-03-01T11:00:00Z")));
    assert_eq!(finding.volumes[0].pvc.as_deref(), Some("db/data"));
    assert!(finding.evidence()[1].text.starts_with("replica r-2 on node-2: failed at 2026-03-01T11:00:00Z"));
}

#[test]
fn those_that_failed_within_a_minute_are_salvaged_together() {
    let nodes: String = (1..=3).map(|n| node(&format!("node-{n}"), UP, UP)).collect();
    let yaml = nodes
        + &auto_salvage("false")
        + &volume("")
        + &replica("r-1", "node-1", &failed("11:00:00"))
        + &replica("r-2", "node-2", &failed("10:59:00"))
        + &replica("r-3", "node-3", &failed("10:58:59"));
    let changes: Vec<String> = one(&yaml)
        .remedy
        .commands
        .into_iter()
        .filter(|command| command.changes)
        .map(|command| command.run)
        .collect();
    assert_eq!(changes.len(), 2, "{changes:?}");
    assert!(changes[0].contains(" r-1 ") && changes[1].contains(" r-2 "), "{changes:?}");
}

#[test]
fn only_faulted_volumes_are_found() {
    for robustness in ["healthy", "degraded", "unknown", "''", "mauve"] {
        let yaml = volume("").replace("faulted", robustness);
        assert!(found(&CHECK, &cluster(&yaml)).is_empty(), "{robustness}");
    }
    let deleted = volume("").replace("name: vol,", "name: vol, deletionTimestamp: '2026-03-01T11:00:00Z',");
    assert!(found(&CHECK, &cluster(&deleted)).is_empty());
    let evaluation = run(&CHECK, &cluster(&volume("")));
    assert_eq!(sample(&evaluation, "longhorn_health_volume_faulted", &["vol", "db", "data"]), Some(1.0));
}
