//! Objects for the tests of the instance manager checks, as `kubectl` prints them.

pub use super::*;

/// Image of the default instance manager in these tests.
pub const NEW: &str = "longhornio/longhorn-instance-manager:new";
/// Image of the instance manager before the upgrade.
pub const OLD: &str = "longhornio/longhorn-instance-manager:old";

/// The settings of a cluster of this release, whose default engine image is `engine:new`.
pub fn release(version: &str) -> String {
    setting("current-longhorn-version", version)
        + &setting("default-instance-manager-image", NEW)
        + &setting("default-engine-image", "engine:new")
}

/// An instance manager on `node-1`; `status` is what follows `currentState` in braces.
pub fn im(name: &str, image: &str, spec: &str, state: &str, status: &str) -> String {
    object_with(
        "InstanceManager",
        name,
        &format!(
            "uid: u-{name}, creationTimestamp: '2026-01-01T00:00:00Z', \
             labels: {{longhorn.io/component: instance-manager, \
             longhorn.io/managed-by: longhorn-manager, longhorn.io/node: node-1, \
             longhorn.io/instance-manager-type: aio, longhorn.io/instance-manager-image: imi-00000000, \
             longhorn.io/data-engine: v1}}"
        ),
        &format!(
            "spec: {{image: '{image}', nodeID: node-1, {spec}}}\n\
             status: {{ownerID: node-1, currentState: '{state}', {status}}}"
        ),
    )
}

/// One of the instance maps with one instance.
pub fn map(field: &str, name: &str, state: &str) -> String {
    format!("{field}: {{{name}: {{spec: {{name: {name}}}, status: {{state: {state}}}}}}}, ")
}

/// A volume in use by a StatefulSet, with its engine image.
pub fn volume(name: &str, image: &str) -> String {
    object(
        "Volume",
        name,
        &format!(
            "spec: {{image: '{image}'}}\n\
             status: {{state: attached, robustness: healthy, currentImage: '{image}', \
             currentNodeID: node-1, kubernetesStatus: {{pvcName: data-{name}, namespace: shop, \
             workloadsStatus: [{{podName: db-0, workloadName: db, workloadType: StatefulSet}}]}}}}"
        ),
    )
}

/// A running engine on `node-1`.
pub fn engine(name: &str, volume: &str, manager: &str) -> String {
    instance("Engine", name, volume, manager, "running", "running", "")
}

/// A running replica on `node-1`.
pub fn replica(name: &str, volume: &str, manager: &str) -> String {
    instance("Replica", name, volume, manager, "running", "running", "")
}

/// An engine, replica or engine frontend on `node-1`; `spec` is added to its spec.
pub fn instance(
    kind: &str,
    name: &str,
    volume: &str,
    manager: &str,
    current: &str,
    desired: &str,
    spec: &str,
) -> String {
    object(
        kind,
        name,
        &format!(
            "spec: {{volumeName: {volume}, nodeID: node-1, desireState: '{desired}', {spec}}}\n\
             status: {{ownerID: node-1, currentState: '{current}', instanceManagerName: '{manager}'}}"
        ),
    )
}

/// The Longhorn and the Kubernetes node `node-1`, both Ready.
pub fn node() -> String {
    object("Node", "node-1", "status: {conditions: [{type: Ready, status: 'True'}]}")
        + &kube_node(
            "node-1",
            "status: {conditions: [{type: Ready, status: 'True', \
             lastTransitionTime: '2025-12-01T00:00:00Z'}], allocatable: {cpu: '8'}}",
        )
}

/// The same two, but the node does not answer.
pub fn node_down() -> String {
    object(
        "Node",
        "node-1",
        "status: {conditions: [{type: Ready, status: 'False', reason: KubernetesNodeNotReady}]}",
    ) + &kube_node("node-1", "status: {conditions: [{type: Ready, status: Unknown}]}")
}

/// A longhorn-manager pod on `node-1`, started with an instance manager image.
pub fn manager_pod(ready: bool, image: &str) -> String {
    let ready = if ready { "True" } else { "False" };
    longhorn_manager(
        "longhorn-manager-1",
        "",
        &format!(
            "spec: {{nodeName: node-1, containers: [{{name: longhorn-manager, \
             command: [longhorn-manager, -d, daemon, --instance-manager-image, '{image}']}}]}}\n\
             status: {{phase: Running, conditions: [{{type: Ready, status: '{ready}'}}]}}"
        ),
    )
}

/// The pod of an instance manager on `node-1`. `container` and `status` are added to the container
/// and to the pod's status.
pub fn im_pod(name: &str, uid: &str, created: &str, phase: &str, container: &str, status: &str) -> String {
    object_with(
        "Pod",
        name,
        &format!(
            "uid: '{uid}', creationTimestamp: '{created}', \
             labels: {{longhorn.io/component: instance-manager, longhorn.io/node: node-1}}"
        ),
        &format!(
            "spec: {{nodeName: node-1, containers: [{{name: instance-manager, image: '{NEW}', \
             {container}}}]}}\n\
             status: {{phase: {phase}, {status}}}"
        ),
    )
}
