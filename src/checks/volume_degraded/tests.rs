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
const HEALTHY: &str = ", healthyAt: '2026-01-01T00:00:00Z'";
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

fn two() -> String {
    replica("r-1", "node-1", HEALTHY) + &replica("r-2", "node-2", HEALTHY)
}

fn causes(cluster: &Cluster) -> Vec<String> {
    found(&CHECK, cluster)
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
    assert!(evidence.contains("of the engine: \\\"Failed rebuilding"), "{evidence}");
    assert!(evidence.contains("…") && evidence.contains("rpc error: : invalid argument"), "{evidence}");
}
