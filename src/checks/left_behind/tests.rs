use super::CHECK;
use crate::testing::*;

const OLD: &str = "creationTimestamp: '2026-01-01T00:00:00Z'";
const NOW: &str = "2026-01-02T00:00:00Z";

fn replicas(volume: &str, count: usize, metadata: &str) -> String {
    let one = |at| {
        let metadata = format!("labels: {{longhornvolume: {volume}}}, {metadata}");
        object_with(
            "Replica",
            &format!("{volume}-r-{at}"),
            &metadata,
            &format!("spec: {{volumeName: {volume}}}"),
        )
    };
    (0..count).map(one).collect()
}

fn volume(wanted: usize) -> String {
    object("Volume", "v", &format!("spec: {{numberOfReplicas: {wanted}}}\nstatus: {{state: attached}}"))
}

fn orphan(name: &str, node: &str, orphan_type: &str) -> String {
    let spec =
        format!("spec: {{nodeID: {node}, orphanType: {orphan_type}, parameters: {{DataName: {name}}}}}");
    object_with("Orphan", name, OLD, &spec)
}

#[test]
fn replicas_pile_up_only_far_beyond_what_is_wanted() {
    for (wanted, there, expected) in
        [(3, 25, 1), (3, 24, 0), (1, 15, 1), (1, 14, 0), (3, 2_000, 1), (3, 4, 0)]
    {
        let cluster = cluster_at(NOW, &(volume(wanted) + &replicas("v", there, OLD)));
        let found = found(&CHECK, &cluster);
        assert_eq!(found.len(), expected, "{wanted} {there} {found:?}");
        assert!(found.iter().all(|line| line == "warning replicas_piled_up Volume v"), "{found:?}");
    }
}

#[test]
fn replicas_without_volume_are_found_once_they_are_not_on_their_way() {
    let left = cluster_at(NOW, &(volume(1) + &replicas("gone", 2, OLD)));
    assert_eq!(found(&CHECK, &left), ["warning without_volume Volume gone"]);
    let remedy = &run(&CHECK, &left).report.findings[0].remedy;
    assert!(remedy.commands.iter().all(|command| !command.changes), "nothing is deleted on our word");
    for (what, metadata) in [
        ("just created", "creationTimestamp: '2026-01-01T23:55:00Z'"),
        (
            "just being deleted",
            "creationTimestamp: '2026-01-01T00:00:00Z', deletionTimestamp: '2026-01-02T00:00:00Z'",
        ),
    ] {
        let cluster = cluster_at(NOW, &(volume(1) + &replicas("gone", 2, metadata)));
        assert!(found(&CHECK, &cluster).is_empty(), "{what}");
    }
    assert!(found(&CHECK, &cluster_at(NOW, &(volume(1) + &replicas("v", 1, OLD)))).is_empty());
}

#[test]
fn orphans_are_context_by_node_until_there_are_a_hundred() {
    let few = orphan("o-1", "n1", "replica")
        + &orphan("o-2", "n1", "engine-instance")
        + &orphan("o-3", "n2", "replica-data");
    let cluster = cluster_at(NOW, &(volume(1) + &few));
    assert_eq!(
        found(&CHECK, &cluster),
        ["info orphans nodes.longhorn.io n1", "info orphans nodes.longhorn.io n2"]
    );
    assert_eq!(sample(&run(&CHECK, &cluster), "longhorn_health_orphans", &["n1", "replica"]), Some(1.0));
    let many: String = (0..100).map(|at| orphan(&format!("o-{at}"), "n1", "replica")).collect();
    assert_eq!(found(&CHECK, &cluster_at(NOW, &many)), ["warning orphans nodes.longhorn.io n1"]);
}

#[test]
fn a_deleted_volume_that_stays_is_found_after_an_hour() {
    const READY: &str = "apiVersion: v1\nkind: Pod\nmetadata: {name: longhorn-manager-1, namespace: longhorn-system, labels: {app: longhorn-manager}}\n\
        spec: {nodeName: n1}\nstatus: {phase: Running, conditions: [{type: Ready, status: 'True'}], containerStatuses: [{name: longhorn-manager, \
        ready: true, state: {running: {startedAt: '2026-01-01T00:00:00Z'}}}]}\n---\n";
    let deleted = |at: &str| {
        let metadata = format!("deletionTimestamp: '{at}', finalizers: [longhorn.io]");
        object_with(
            "Volume",
            "v",
            &metadata,
            "spec: {numberOfReplicas: 1}\nstatus: {state: deleting, ownerID: n1}",
        )
    };
    let left = |objects: &str| found(&CHECK, &cluster_at(NOW, &(READY.to_owned() + objects)));
    assert_eq!(left(&deleted("2026-01-01T23:00:00Z")), ["warning deletion_stuck Volume v"]);
    assert!(left(&deleted("2026-01-01T23:00:01Z")).is_empty());
    assert!(left(&volume(1)).is_empty());
    let none_works =
        found(&CHECK, &cluster_at(NOW, &(MANAGER.to_owned() + &deleted("2026-01-01T00:00:00Z"))));
    assert!(none_works.is_empty(), "nothing goes while no manager works: {none_works:?}");
    // a replica on a node that is away goes when that is back
    let replica =
        object_with("Replica", "v-r", "labels: {longhornvolume: v}", "spec: {volumeName: v, nodeID: n2}");
    let away = "apiVersion: longhorn.io/v1beta2\nkind: Node\nmetadata: {name: n2, namespace: longhorn-system}\n\
        status: {conditions: [{type: Ready, status: 'False', reason: KubernetesNodeNotReady}]}\n---\n";
    let old = deleted("2026-01-01T00:00:00Z");
    assert_eq!(left(&(old.clone() + &replica)), ["warning deletion_stuck Volume v"]);
    assert_eq!(left(&(old.clone() + &replica + away)), ["info deletion_stuck Volume v"]);
    let remedy = &run(&CHECK, &cluster_at(NOW, &(READY.to_owned() + &old))).report.findings[0].remedy;
    assert!(remedy.commands.iter().all(|command| !command.changes), "no finalizer is taken away on our word");
}

#[test]
fn orphans_of_a_volume_that_a_pod_needs_are_to_be_kept() {
    let attachment = "apiVersion: storage.k8s.io/v1\nkind: VolumeAttachment\nmetadata: {name: csi-1}\nspec: {attacher: driver.longhorn.io, nodeName: n1}\n\
                      status: {attached: false, attachError: {message: 'rpc error: code = NotFound desc = volume gone not found'}}\n---\n";
    let yaml = volume(1) + &orphan("gone-20194b66", "n1", "replica") + attachment;
    let fix = |yaml: &str| run(&CHECK, &cluster_at(NOW, yaml)).report.findings[0].remedy.fix.clone();
    assert!(fix(&yaml).starts_with("Keep the Orphans"), "{}", fix(&yaml));
    assert!(fix(&yaml.replace("volume gone not", "volume other not")).starts_with("Check whether you need"));
}
