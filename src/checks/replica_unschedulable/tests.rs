use super::CHECK;
use crate::testing::*;

const NOW: &str = "2026-03-01T12:00:00Z";
const GIB: i64 = 1 << 30;

fn volume(spec: &str, status: &str) -> String {
    let size = 10 * GIB;
    format!(
        "apiVersion: longhorn.io/v1beta2\nkind: Volume\nmetadata: {{name: vol, namespace: {NAMESPACE}}}\n\
         spec: {{numberOfReplicas: 2, size: '{size}'{spec}}}\nstatus: {{robustness: healthy, state: attached, \
         conditions: [{{type: Scheduled, status: 'False', reason: ReplicaSchedulingFailure, message: insufficient storage, \
         lastTransitionTime: '2026-03-01T11:50:00Z'}}]{status}}}\n---\n\
         apiVersion: longhorn.io/v1beta2\nkind: Replica\nmetadata: {{name: vol-r-1, namespace: {NAMESPACE}}}\n\
         spec: {{volumeName: vol, nodeID: node-1, diskID: u-node-1, active: true, healthyAt: '2026-01-01T00:00:00Z'}}\n---\n"
    )
}

fn unplaced(more: &str) -> String {
    object("Replica", "vol-r-2", &format!("spec: {{volumeName: vol, nodeID: '', active: true{more}}}"))
}

fn node(name: &str, schedulable: &str, available: i64, scheduled: i64) -> String {
    let [maximum, available, scheduled] = [100, available, scheduled].map(|gib| gib * GIB);
    format!(
        "apiVersion: longhorn.io/v1beta2\nkind: Node\nmetadata: {{name: {name}, namespace: {NAMESPACE}}}\n\
         spec: {{allowScheduling: true, disks: {{disk: {{allowScheduling: true, diskType: filesystem}}}}}}\n\
         status: {{conditions: [{{type: Ready, status: 'True'}}, {{type: Schedulable, {schedulable}}}], diskStatus: {{disk: {{diskUUID: u-{name}, \
         storageMaximum: {maximum}, storageAvailable: {available}, storageScheduled: {scheduled}, conditions: [{{type: Schedulable, status: 'True'}}]}}}}}}\n---\n"
    )
}

#[test]
fn a_condition_that_an_eviction_left_behind_is_nothing() {
    let nodes = node("node-1", OPEN, 90, 0) + &node("node-2", OPEN, 90, 0);
    let second = unplaced(", healthyAt: '2026-01-01T00:00:00Z'").replace("nodeID: ''", "nodeID: node-2");
    let found_with = |more: &str| found(&CHECK, &cluster_at(NOW, &(nodes.clone() + &volume("", "") + more)));
    assert_eq!(found_with(&second), Vec::<String>::new());
    let failed = second.replace("active: true", "active: true, failedAt: '2026-03-01T11:00:00Z'");
    assert_eq!(found_with(&failed), ["warning unexplained Volume vol"]);
    let third = second.replace("vol-r-2", "vol-r-3");
    assert_eq!(found_with(&(unplaced("") + &third)), ["warning anti_affinity Volume vol"]);
}

const OPEN: &str = "status: 'True'";
const CORDONED: &str = "status: 'False', reason: KubernetesNodeCordoned";

#[test]
fn the_obstacle_of_the_nearest_disk_is_the_cause() {
    let first = node("node-1", OPEN, 90, 0);
    let long_ago = |volume: String| volume.replace("2026-03-01T11:50:00Z", "2026-03-01T10:00:00Z");
    for (nodes, volume, expected) in [
        (first.clone() + &node("node-2", OPEN, 20, 0), volume("", ""), "space_short"),
        (first.clone() + &node("node-2", OPEN, 90, 95), volume("", ""), "over_provisioned"),
        (first.clone(), volume("", ""), "anti_affinity"),
        (first.clone() + &node("node-2", OPEN, 90, 0), volume(", diskSelector: [ssd]", ""), "tags_unmet"),
        (first.clone() + &node("node-2", CORDONED, 90, 0), long_ago(volume("", "")), "nodes_unavailable"),
        (first.clone() + &node("node-2", OPEN, 90, 0), volume("", ""), "unexplained"),
        // the disk that is nearest to taking it tells, not the node that is closed
        (
            first.clone() + &node("node-2", CORDONED, 90, 0) + &node("node-3", OPEN, 90, 95),
            volume("", ""),
            "over_provisioned",
        ),
    ] {
        let cluster = cluster_at(NOW, &(nodes.clone() + &volume + &unplaced("")));
        assert_eq!(found(&CHECK, &cluster), [format!("warning {expected} Volume vol")], "{nodes}");
    }
    let local = unplaced(", hardNodeAffinity: node-2");
    let one = volume("", "").replace("numberOfReplicas: 2", "numberOfReplicas: 1, dataLocality: best-effort");
    for (volume, severity) in [
        (volume("", ""), "warning"),
        // it has what it needs, and would like one more beside its workload
        (one.clone(), "info"),
        (one.replace("best-effort", "strict-local"), "warning"),
        (
            one.replace(
                "active: true, healthyAt",
                "active: true, failedAt: '2026-03-01T11:00:00Z', healthyAt",
            ),
            "warning",
        ),
    ] {
        let yaml = first.clone() + &node("node-2", OPEN, 20, 0) + &volume + &local;
        assert_eq!(
            found(&CHECK, &cluster_at(NOW, &yaml)),
            [format!("{severity} local_only Volume vol")],
            "{volume}"
        );
    }
}

#[test]
fn a_failed_replica_that_takes_its_own_place_may_be_deleted() {
    let failed = object(
        "Replica",
        "vol-r-3",
        "spec: {volumeName: vol, nodeID: node-2, diskID: u-node-2, failedAt: '2026-03-01T11:00:00Z', active: true}",
    );
    let remedy = |scheduled, robustness: &str| {
        let yaml = node("node-1", OPEN, 90, 0)
            + &node("node-2", OPEN, 90, scheduled)
            + &volume("", "")
            + &unplaced("")
            + &failed;
        let yaml = yaml.replace("robustness: healthy", &format!("robustness: {robustness}"));
        let finding = run(&CHECK, &cluster_at(NOW, &yaml)).report.findings.remove(0);
        assert_eq!(finding.cause, "over_provisioned");
        finding
            .remedy
            .commands
            .iter()
            .any(|command| command.run.ends_with("delete replicas.longhorn.io vol-r-3"))
    };
    assert!(remedy(95, "degraded"));
    assert!(!remedy(105, "degraded"), "without it there is too little room as well");
    assert!(!remedy(95, "unknown"), "no healthy replica is told of");
}

#[test]
fn the_figures_and_the_robustness_are_told() {
    let yaml = node("node-1", OPEN, 90, 0) + &node("node-2", OPEN, 90, 95) + &volume("", "") + &unplaced("");
    let finding = run(&CHECK, &cluster_at(NOW, &yaml)).report.findings.remove(0);
    assert!(
        finding.impact.ends_with("has 1 of 2 replicas; Longhorn reports it as healthy"),
        "{}",
        finding.impact
    );
    let told: Vec<&str> = finding.evidence().iter().map(|fact| fact.text.as_str()).collect();
    assert!(told[0].ends_with("insufficient storage"), "{told:?}");
    assert!(told.iter().any(|text| text.contains("95 GiB scheduled plus 10 GiB")), "{told:?}");
    assert_eq!(finding.since, Some(time("2026-03-01T11:50:00Z")));
    let evaluation = run(&CHECK, &cluster_at(NOW, &yaml));
    assert_eq!(
        sample(&evaluation, "longhorn_health_volume_replicas_without_disk", &["vol", "", ""]),
        Some(1.0)
    );
}

#[test]
fn a_cordon_is_maintenance_for_an_hour() {
    let yaml = |at: &str| {
        let volume = volume("", "").replace("2026-03-01T11:50:00Z", at);
        node("node-1", OPEN, 90, 0) + &node("node-2", CORDONED, 90, 0) + &volume
    };
    let severity = |at| found(&CHECK, &cluster_at(NOW, &yaml(at))).remove(0);
    assert_eq!(severity("2026-03-01T11:00:01Z"), "info nodes_unavailable Volume vol");
    assert_eq!(severity("2026-03-01T11:00:00Z"), "warning nodes_unavailable Volume vol");
}

#[test]
fn what_is_placed_young_faulted_or_evicted_is_not_found() {
    let nodes = node("node-1", OPEN, 90, 0);
    for changed in [
        volume("", "").replace("status: 'False', reason: Repl", "status: 'True', reason: Repl"),
        volume("", "").replace("status: 'False', reason: Repl", "status: Unknown, reason: Repl"),
        volume("", "").replace("11:50:00Z", "11:50:01Z"),
        volume("", "").replace("robustness: healthy", "robustness: faulted"),
        volume("", "").replace("active: true,", "active: true, evictionRequested: true,"),
    ] {
        assert!(found(&CHECK, &cluster_at(NOW, &(nodes.clone() + &changed))).is_empty(), "{changed}");
    }
    // Longhorn 1.3 writes the type in lower case
    let old = volume("", "").replace("type: Scheduled", "type: scheduled");
    assert_eq!(found(&CHECK, &cluster_at(NOW, &(nodes + &old))).len(), 1);
}

/// Longhorn kept the condition of weeks ago beside enough replicas, and one of these was lost a minute ago.
#[test]
fn a_condition_of_old_does_not_date_a_replica_that_was_just_lost() {
    let lost = |at: &str| {
        let status = format!(", lastDegradedAt: '{at}'");
        let old = volume("", &status)
            .replace("robustness: healthy", "robustness: degraded")
            .replace("2026-03-01T11:50:00Z", "2026-02-01T00:00:00Z");
        found(&CHECK, &cluster_at(NOW, &(node("node-1", OPEN, 90, 0) + &old)))
    };
    assert_eq!(lost("2026-03-01T11:59:00Z"), Vec::<String>::new());
    assert_eq!(lost("2026-03-01T11:50:00Z"), ["warning anti_affinity Volume vol"]);
}
