use super::CHECK;
use crate::testing::*;

const NOW: &str = "2026-03-01T12:00:00Z";

fn volume(state: &str, current: &str, condition: &str, at: &str) -> String {
    format!(
        "apiVersion: longhorn.io/v1beta2\nkind: Volume\nmetadata: {{name: vol, namespace: {NAMESPACE}}}\n\
         status: {{robustness: healthy, state: {state}, kubernetesStatus: {{pvName: pv, pvcName: data, namespace: db, \
         workloadsStatus: [{{podName: db-0, workloadName: db, workloadType: StatefulSet}}]}}}}\n---\n\
         apiVersion: longhorn.io/v1beta2\nkind: Engine\nmetadata: {{name: vol-e-0, namespace: {NAMESPACE}}}\n\
         spec: {{volumeName: vol, nodeID: node-1}}\nstatus: {{currentState: {current}, \
         conditions: [{{type: FilesystemReadOnly, status: '{condition}', lastTransitionTime: '{at}'}}]}}\n---\n"
    )
}

#[test]
fn a_file_system_that_stays_read_only_is_found() {
    let yaml = volume("attached", "running", "True", "2026-03-01T11:57:00Z");
    let evaluation = run(&CHECK, &cluster_at(NOW, &yaml));
    let finding = &evaluation.report.findings[0];
    assert_eq!(finding.message, "the file system of claim db/data is mounted read-only on node-1");
    assert_eq!(finding.remedy.commands.last().unwrap().run, "kubectl -n db delete pod db-0");
    assert_eq!(sample(&evaluation, "longhorn_health_volume_read_only", &["vol", "db", "data"]), Some(1.0));
}

#[test]
fn what_is_remounted_detached_or_writable_is_not() {
    for yaml in [
        volume("attached", "running", "True", "2026-03-01T11:57:01Z"),
        volume("attached", "running", "False", "2026-03-01T11:00:00Z"),
        volume("attached", "running", "Unknown", "2026-03-01T11:00:00Z"),
        volume("detaching", "running", "True", "2026-03-01T11:00:00Z"),
        volume("attached", "stopped", "True", "2026-03-01T11:00:00Z"),
        volume("attached", "error", "True", "2026-03-01T11:00:00Z"),
    ] {
        assert!(found(&CHECK, &cluster_at(NOW, &yaml)).is_empty(), "{yaml}");
    }
}

#[test]
fn without_a_time_the_exporter_watches_first() {
    let yaml = volume("attached", "running", "True", "");
    let cluster = live_at(NOW, &yaml);
    assert!(found(&CHECK, &cluster).is_empty());
    let cluster = later(cluster, 179);
    assert!(found(&CHECK, &cluster).is_empty());
    assert_eq!(found(&CHECK, &later(cluster, 1)), ["critical file_system_read_only Volume vol"]);
}
