use super::CHECK;
use crate::cluster::Cluster;
use crate::testing::*;

const NOW: &str = "2026-03-01T12:00:00Z";

/// A degraded volume since `at`, with more of its status.
fn volume(at: &str, status: &str) -> String {
    format!(
        "apiVersion: longhorn.io/v1beta2\nkind: Volume\nmetadata: {{name: vol, namespace: {NAMESPACE}}}\n\
         spec: {{numberOfReplicas: 3, nodeID: node-1}}\nstatus: {{robustness: degraded, state: attached, lastDegradedAt: '{at}', \
         currentNodeID: node-1, kubernetesStatus: {{pvcName: data, namespace: db}}{status}}}\n---\n"
    )
}

const OLD: &str = "2026-03-01T11:30:00Z";
const YOUNG: &str = "2026-03-01T11:46:00Z";
const HEALTHY: &str = ", healthyAt: '2026-01-01T00:00:00Z'";
const FAILED: &str = ", healthyAt: '2026-01-01T00:00:00Z', failedAt: '2026-03-01T11:29:00Z'";

fn replica(name: &str, node: &str, more: &str) -> String {
    format!(
        "apiVersion: longhorn.io/v1beta2\nkind: Replica\nmetadata: {{name: {name}, namespace: {NAMESPACE}}}\n\
         spec: {{volumeName: vol, nodeID: '{node}', diskID: u-{node}, active: true{more}}}\n---\n"
    )
}

fn engine(name: &str, of: &str, modes: &str, rebuild: &str) -> String {
    format!(
        "apiVersion: longhorn.io/v1beta2\nkind: Engine\nmetadata: {{name: {name}, namespace: {NAMESPACE}}}\n\
         spec: {{volumeName: {of}, nodeID: node-1, active: true}}\n\
         status: {{currentState: running, replicaModeMap: {{{modes}}}, rebuildStatus: {{{rebuild}}}}}\n---\n"
    )
}

fn rebuilding(progress: u32) -> String {
    let status =
        format!("'tcp://10.0.0.1:10000': {{isRebuilding: true, progress: {progress}, state: in_progress}}");
    engine("vol-e-0", "vol", "r-1: RW, r-2: RW, r-3: WO", &status)
}

fn idle() -> String {
    engine("vol-e-0", "vol", "r-1: RW, r-2: RW", "")
}

fn node(name: &str, kube: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Node\nmetadata: {{name: {name}}}\nspec: {{{kube}}}\nstatus: {{conditions: [{{type: Ready, status: 'True'}}]}}\n---\n\
         apiVersion: longhorn.io/v1beta2\nkind: Node\nmetadata: {{name: {name}, namespace: {NAMESPACE}}}\nspec: {{allowScheduling: true}}\n---\n"
    )
}

fn two() -> String {
    replica("r-1", "node-1", HEALTHY) + &replica("r-2", "node-2", HEALTHY)
}

fn causes(cluster: &Cluster) -> Vec<String> {
    found(&CHECK, cluster)
}

#[test]
fn each_obstacle_is_named_after_a_quarter_of_an_hour_and_not_before() {
    let limit_off = setting("concurrent-replica-rebuild-per-node-limit", "0");
    let unscheduled = ", conditions: [{type: Scheduled, status: 'False', reason: ReplicaSchedulingFailure}]";
    let nodes: String = ["node-1", "node-2", "node-3"].map(|name| node(name, "")).concat();
    let cordoned = nodes.replace("name: node-3}\nspec: {}", "name: node-3}\nspec: {unschedulable: true}");
    let failed = two() + &replica("r-3", "node-3", FAILED);
    for (yaml, status, expected) in [
        (two() + &idle() + &limit_off, "", "warning rebuild_disabled Volume vol"),
        (two() + &idle(), unscheduled, "warning unschedulable Volume vol"),
        (failed.clone() + &idle() + &nodes, "", "warning not_rebuilding Volume vol"),
        (failed.clone() + &idle() + &cordoned, "", "info waits_for_node Volume vol"),
        (failed.clone() + &idle() + &cordoned, unscheduled, "info unschedulable Volume vol"),
        (
            failed + &idle() + &node("node-1", "") + &node("node-2", ""),
            "",
            "warning waits_for_node Volume vol",
        ),
        (two() + &idle(), ", currentMigrationNodeID: node-2", "warning rebuild_blocked Volume vol"),
        (
            two() + &idle().replace("currentState: running", "currentState: running, isExpanding: true"),
            "",
            "warning rebuild_blocked Volume vol",
        ),
        (
            two() + &replica("r-3", "node-3", ", rebuildRetryCount: 3") + &rebuilding(7),
            "",
            "warning rebuild_looping Volume vol",
        ),
    ] {
        assert_eq!(causes(&cluster_at(NOW, &(volume(OLD, status) + &yaml))), [expected], "{yaml}");
        let young = cluster_at(NOW, &(volume(YOUNG, status) + &yaml));
        assert!(causes(&young).is_empty(), "{yaml}");
    }
}

#[test]
fn a_cordon_is_maintenance_for_an_hour() {
    let yaml = |at: &str| {
        volume(at, "")
            + &two()
            + &replica("r-3", "node-3", FAILED)
            + &idle()
            + &node("node-1", "")
            + &node("node-3", "unschedulable: true")
    };
    assert_eq!(causes(&cluster_at(NOW, &yaml("2026-03-01T11:00:01Z"))), ["info waits_for_node Volume vol"]);
    assert_eq!(
        causes(&cluster_at(NOW, &yaml("2026-03-01T11:00:00Z"))),
        ["warning waits_for_node Volume vol"]
    );
}

#[test]
fn a_longer_wait_for_failed_replicas_is_waited_for() {
    let yaml = volume(OLD, "") + &two() + &idle() + &setting("replica-replenishment-wait-interval", "3600");
    assert!(causes(&cluster_at(NOW, &yaml)).is_empty());
    assert_eq!(causes(&cluster_at("2026-03-01T12:36:00Z", &yaml)), ["warning not_rebuilding Volume vol"]);
}

#[test]
fn a_rebuild_is_silent_while_its_progress_changes() {
    let yaml = |progress| volume(OLD, "") + &two() + &replica("r-3", "node-3", "") + &rebuilding(progress);
    let mut cluster = live_at(NOW, &yaml(10));
    assert!(causes(&cluster).is_empty(), "one look does not tell");
    for minutes in 1..10 {
        cluster = next(cluster, 29 * 60, &yaml(10 + minutes));
        assert!(causes(&cluster).is_empty(), "{minutes}");
    }
    cluster = later(cluster, 29 * 60);
    assert!(causes(&cluster).is_empty());
    cluster = later(cluster, 60);
    assert_eq!(causes(&cluster), ["warning rebuild_stalled Volume vol"]);
    let evaluation = run(&CHECK, &cluster);
    assert_eq!(sample(&evaluation, "longhorn_health_volume_rebuild_progress_ratio", &["vol"]), Some(0.19));
    let stuck = ["vol", "db", "data", "rebuild_stalled"];
    assert_eq!(sample(&evaluation, "longhorn_health_volume_not_recovering", &stuck), Some(1.0));
}

#[test]
fn a_recorded_rebuild_is_doubted_after_a_day_only() {
    let yaml = |at: &str| volume(at, "") + &two() + &replica("r-3", "node-3", "") + &rebuilding(10);
    assert!(causes(&cluster_at(NOW, &yaml("2026-02-28T12:00:01Z"))).is_empty());
    assert_eq!(
        causes(&cluster_at(NOW, &yaml("2026-02-28T12:00:00Z"))),
        ["warning rebuild_stalled Volume vol"]
    );
    assert!(causes(&live_at(NOW, &yaml("2026-02-28T12:00:00Z"))).is_empty(), "a live one is watched");
}

#[test]
fn who_waits_behind_the_rebuild_of_another_volume_is_not_stuck() {
    let waits = volume(OLD, "") + &two() + &replica("r-3", "node-3", "") + &idle();
    assert_eq!(causes(&cluster_at(NOW, &waits)), ["warning not_rebuilding Volume vol"]);
    let other = engine("other-e-0", "other", "a: RW, b: WO", "");
    assert!(causes(&cluster_at(NOW, &(waits + &other))).is_empty());
}

#[test]
fn failed_rebuilds_that_events_tell_are_a_loop() {
    let event = |count| {
        format!(
            "apiVersion: v1\nkind: Event\nmetadata: {{name: e, namespace: {NAMESPACE}}}\nreason: FailedRebuilding\ncount: {count}\n\
             involvedObject: {{kind: Engine, name: vol-e-0}}\nlastTimestamp: '2026-03-01T11:59:00Z'\n---\n"
        )
    };
    let yaml = volume(OLD, "") + &two() + &rebuilding(3);
    assert!(causes(&cluster_at(NOW, &(yaml.clone() + &event(2)))).is_empty());
    assert_eq!(causes(&cluster_at(NOW, &(yaml.clone() + &event(3)))), ["warning rebuild_looping Volume vol"]);
    // what went wrong stands at the end of a long message
    let said = format!("Failed rebuilding replica: {}: invalid argument", "rpc error: ".repeat(60));
    let event = event(3).replace("count: 3", &format!("count: 3\nmessage: '{said}'"));
    let report = run(&CHECK, &cluster_at(NOW, &(yaml + &event))).report;
    let evidence = format!("{:?}", report.findings[0].evidence());
    assert!(evidence.contains("on its engine: Failed rebuilding"), "{evidence}");
    assert!(evidence.contains("…") && evidence.contains("rpc error: : invalid argument"), "{evidence}");
}

#[test]
fn what_is_not_degraded_is_not_found_and_missing_replicas_are_counted() {
    for robustness in ["healthy", "faulted", "unknown", "''", "mauve"] {
        let yaml = (volume(OLD, "") + &two() + &idle())
            .replace("robustness: degraded", &format!("robustness: {robustness}"));
        assert!(causes(&cluster_at(NOW, &yaml)).is_empty(), "{robustness}");
    }
    let evaluation = run(&CHECK, &cluster_at(NOW, &(volume(YOUNG, "") + &two() + &idle())));
    assert_eq!(
        sample(&evaluation, "longhorn_health_volume_missing_replicas", &["vol", "db", "data"]),
        Some(1.0)
    );
}

#[test]
fn without_a_time_in_the_object_the_exporter_waits() {
    let yaml = volume("", "") + &two() + &idle();
    let cluster = live_at(NOW, &yaml);
    assert!(causes(&cluster).is_empty());
    let cluster = later(cluster, 899);
    assert!(causes(&cluster).is_empty());
    let cluster = later(later(cluster, 1), 299);
    assert!(causes(&cluster).is_empty(), "an obstacle may have gone just now");
    assert_eq!(causes(&later(cluster, 1)), ["warning not_rebuilding Volume vol"]);
    assert!(causes(&cluster_at(NOW, &yaml)).is_empty(), "a recording does not tell");
}

/// Up to 1.12.1 Longhorn makes no other replica beside one that never started on a node that is down.
#[test]
fn a_replica_that_never_started_on_a_node_that_is_down_keeps_others_away() {
    let nodes = |ready: &str| -> String {
        node("node-1", "")
            + &node("node-2", "")
            + &node("node-3", "").replace(
                "type: Ready, status: 'True'}",
                &format!("type: Ready, status: '{ready}', lastTransitionTime: '2026-03-01T11:00:00Z'}}"),
            )
    };
    let waiting = replica("r-3", "node-3", ", desireState: running")
        .replace("}\n---", "}\nstatus: {currentState: stopped}\n---");
    let held = replica("r-3", "node-3", ", desireState: running, lastHealthyAt: '2026-01-01T00:00:00Z'")
        .replace("}\n---", "}\nstatus: {currentState: stopped}\n---");
    for (ready, third, expected) in [
        ("Unknown", &waiting, "warning waits_for_node Volume vol"),
        ("True", &waiting, "warning not_rebuilding Volume vol"),
        ("Unknown", &held, "warning not_rebuilding Volume vol"),
    ] {
        let cluster = cluster_at(NOW, &(volume(OLD, "") + &two() + &idle() + &nodes(ready) + third));
        assert_eq!(causes(&cluster), [expected], "{ready}");
        let found = run(&CHECK, &cluster).report.findings;
        let deletes = format!("{:?}", found).contains("delete replicas.longhorn.io r-3");
        assert_eq!(deletes, expected.contains("waits_for_node"));
    }
}

#[test]
fn rebuilds_that_failed_before_it_was_healthy_again_are_no_loop() {
    let event = |at: &str| {
        format!(
            "apiVersion: v1\nkind: Event\nmetadata: {{name: e, namespace: {NAMESPACE}}}\nreason: FailedRebuilding\ncount: 4\n\
             involvedObject: {{kind: Engine, name: vol-e-0}}\nlastTimestamp: '{at}'\n---\n"
        )
    };
    let yaml = volume(OLD, "") + &two() + &rebuilding(3);
    assert!(causes(&cluster_at(NOW, &(yaml.clone() + &event("2026-03-01T11:10:00Z")))).is_empty());
    let since = causes(&cluster_at(NOW, &(yaml + &event("2026-03-01T11:30:00Z"))));
    assert_eq!(since, ["warning rebuild_looping Volume vol"]);
}
