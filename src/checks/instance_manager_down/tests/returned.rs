//! Nodes that have just come back, or were just uncordoned.

use super::*;

/// The condition and the pod are of the time when the node was drained or went.
#[test]
fn a_node_that_is_back_or_uncordoned_has_the_time_for_its_next_pod() {
    let node = |ready: &str, schedulable: &str| {
        format!(
            "apiVersion: v1\nkind: Node\nmetadata: {{name: node-1}}\nstatus: {{conditions: [{{type: Ready, status: 'True', \
             lastTransitionTime: '{ready}'}}]}}\n---\n\
             apiVersion: longhorn.io/v1beta2\nkind: Node\nmetadata: {{name: node-1, namespace: longhorn-system}}\n\
             status: {{conditions: [{{type: Ready, status: 'True', lastTransitionTime: '{ready}'}}, \
             {{type: Schedulable, status: 'True', lastTransitionTime: '{schedulable}'}}]}}\n---\n"
        )
    };
    let missing = default(
        "error",
        "conditions: [{type: PodReady, status: 'False', reason: NotFound, lastTransitionTime: '2026-01-02T11:00:00Z'}]",
    );
    let ending = im_pod(
        "im-1",
        "uid-1",
        "2026-01-01T00:00:00Z', deletionTimestamp: '2026-01-02T11:00:00Z",
        "Running",
        "",
        "",
    );
    let judged = |node: String, rest: &str| {
        let yaml = release("v1.9.2") + &node + &manager_pod(true, NEW) + rest;
        found(&CHECK, &cluster_at(NOW, &yaml))
    };
    let (old, now) = ("2026-01-01T00:00:00Z", "2026-01-02T11:59:30Z");
    for young in [node(old, now), node(now, old)] {
        let found = judged(young.clone(), &missing);
        assert_eq!(found, ["info pod_missing InstanceManager im-1"], "its manager has two minutes");
        assert_eq!(judged(young, &(default("error", "") + &ending)), Vec::<String>::new());
    }
    assert_eq!(judged(node(old, old), &missing), ["critical pod_missing InstanceManager im-1"]);
    let cordoned = node(old, old).replace(
        "Schedulable, status: 'True'",
        "Schedulable, status: 'False', reason: KubernetesNodeCordoned",
    );
    assert_eq!(
        judged(cordoned, &missing),
        ["info pod_missing InstanceManager im-1"],
        "seen with 1.9.2 when it was uncordoned"
    );
    let stuck = judged(node(old, old), &(default("error", "") + &ending));
    assert_eq!(stuck, ["critical pod_terminating InstanceManager im-1"]);
}

/// Nothing writes the Ready condition of its manager pod again, which has been False since the node went.
#[test]
fn the_manager_of_a_node_that_is_back_is_starting() {
    let node = |back: &str| {
        format!(
            "apiVersion: v1\nkind: Node\nmetadata: {{name: node-1}}\nstatus: {{conditions: [{{type: Ready, status: 'True', \
             lastTransitionTime: '{back}'}}]}}\n---\n\
             apiVersion: longhorn.io/v1beta2\nkind: Node\nmetadata: {{name: node-1, namespace: longhorn-system}}\n\
             status: {{conditions: [{{type: Ready, status: 'False', reason: ManagerPodDown, lastTransitionTime: '2026-01-02T09:00:00Z'}}]}}\n---\n"
        )
    };
    let manager = longhorn_manager(
        "manager-1",
        "creationTimestamp: '2026-01-01T00:00:00Z'",
        "spec: {nodeName: node-1, containers: [{name: longhorn-manager, image: 'longhornio/longhorn-manager:v1.9.2'}]}\n\
         status: {phase: Running, conditions: [{type: Ready, status: 'False', lastTransitionTime: '2026-01-02T09:00:00Z'}]}",
    );
    let lost = |back: &str| {
        let yaml = release("v1.9.2") + &node(back) + &manager + &default("unknown", "");
        found(&CHECK, &cluster_at(NOW, &yaml))
    };
    assert_eq!(lost("2026-01-02T11:58:30Z"), ["info node_down InstanceManager im-1"]);
    assert_eq!(lost("2026-01-02T11:56:00Z"), ["warning node_down InstanceManager im-1"]);
}
