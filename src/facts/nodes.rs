//! How a node and its longhorn-manager are, as Longhorn and Kubernetes see them.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::{api, text, ways};
use crate::check::{Evidence, EvidenceSource, Way};
use crate::cluster::Cluster;
use crate::longhorn::{
    Condition, ConditionStatus, KubeNode, LonghornNode, Owner, Pod, Resource, Volume, VolumeRobustness,
    condition, status,
};

/// What a longhorn-manager may take to come back when it is restarted.
const RESTART: SignedDuration = SignedDuration::from_mins(3);
/// Managers write a node's condition within seconds; busy ones within this time.
pub const OUTDATED: SignedDuration = SignedDuration::from_mins(5);

/// True when Longhorn itself calls the node down, whereupon it suspends eviction and fails instances over: a
/// missing or not Ready Kubernetes node, and nothing else (longhorn-manager v1.12.1 datastore/longhorn.go
/// IsNodeDownOrDeleted).
pub fn is_down(node: &LonghornNode) -> bool {
    down_reason(node).is_some()
}

fn down_reason(node: &LonghornNode) -> Option<&str> {
    let ready = condition(&node.status.conditions, "Ready")?;
    let down = ready.status == ConditionStatus::False
        && matches!(ready.reason.as_str(), "KubernetesNodeGone" | "KubernetesNodeNotReady");
    down.then_some(ready.reason.as_str())
}

/// What the kubelet of a node says it is short of, whereupon it evicts pods.
pub fn pressure<'c>(cluster: &'c Cluster, node: &str) -> Option<&'c Condition> {
    let conditions = &cluster.objects.kube_nodes.get(node)?.status.conditions;
    let kinds = ["DiskPressure", "MemoryPressure", "PIDPressure"].into_iter();
    let mut said = kinds.filter_map(|kind| condition(conditions, kind));
    said.find(|condition| condition.status == ConditionStatus::True)
}

/// The kernel of a node, and that of all others where they have one and it has another.
pub fn other_kernel<'c>(cluster: &'c Cluster, node: &str) -> Option<(&'c str, &'c str)> {
    let of = |node: &'c KubeNode| node.status.node_info.kernel_version.as_str();
    let its = of(cluster.objects.kube_nodes.get(node)?);
    let mut others = cluster.objects.kube_nodes.iter().filter(|other| other.metadata.name != *node).map(of);
    let first = others.next()?;
    // two nodes tell nothing of which is the odd one
    let second = others.next()?;
    (its != first && second == first && others.all(|other| other == first) && !its.is_empty())
        .then_some((its, first))
}

/// What the node problem detector says of a file system of the node (kubernetes/node-problem-detector config/kernel-monitor.json, and its
/// rule for XFS). Which one it is stands in the message alone.
pub fn file_system_trouble<'c>(cluster: &'c Cluster, node: &str) -> Option<&'c Condition> {
    let conditions = &cluster.objects.kube_nodes.get(node)?.status.conditions;
    let mut said =
        ["XfsShutdown", "ReadonlyFilesystem"].into_iter().filter_map(|kind| condition(conditions, kind));
    said.find(|condition| condition.status == ConditionStatus::True)
}

/// Longhorn's word about a node against what Kubernetes has.
pub struct Contradiction {
    /// Since when both hold; any manager that works writes the condition again within seconds (longhorn-manager v1.12.1
    /// controller/node_controller.go syncNode, setReadyAndSchedulableConditions; every manager does so for every node).
    pub since: Option<Timestamp>,
    pub evidence: [Evidence; 2],
}

/// Longhorn's condition Ready that Kubernetes contradicts: the node is Ready that it calls gone or not Ready, or the manager pod that it
/// calls down or missing.
pub fn contradiction(cluster: &Cluster, node: &LonghornNode) -> Option<Contradiction> {
    let name = node.metadata.name.as_str();
    let said = condition(&node.status.conditions, "Ready")?;
    let kube = cluster.objects.kube_nodes.get(name)?;
    if said.status != ConditionStatus::False || !kube.is_ready() || node.metadata.is_deleting() {
        return None;
    }
    let kube_since =
        condition(&kube.status.conditions, "Ready")?.last_transition_time.get().max(kube.metadata.created());
    let (since, is) = match said.reason.as_str() {
        "KubernetesNodeGone" | "KubernetesNodeNotReady" => {
            (kube_since, format!("node {name}: Ready is True"))
        }
        "ManagerPodDown" | "ManagerPodMissing" => {
            let pod =
                cluster.manager_pod_on(name).filter(|pod| pod.is_ready() && !pod.metadata.is_deleting())?;
            let ready = condition(&pod.status.conditions, "Ready")?;
            let since = ready.last_transition_time.get().max(pod.metadata.created()).max(kube_since);
            (since, format!("pod {} on {name}: Ready is True", pod.metadata.name))
        }
        _ => return None,
    };
    let since = said.last_transition_time.get().zip(since).map(|(said, is)| said.max(is));
    let said = format!("nodes.longhorn.io {name}: Ready is False, reason {}", said.reason);
    Some(Contradiction { since, evidence: [api(said), api(is)] })
}

/// True where Longhorn's word has been wrong for so long that managers do not write it any longer.
fn is_outdated(cluster: &Cluster, node: &LonghornNode) -> bool {
    let since = contradiction(cluster, node).and_then(|contradiction| contradiction.since);
    since.is_some_and(|since| cluster.age(since) >= OUTDATED)
}

/// A kubelet writes the status of its node at least every 10 s.
pub const CONTROL_PLANE_RETURNS: SignedDuration = SignedDuration::from_secs(10);

/// Why a node counts as down, if it does: Longhorn says so, or Kubernetes, which is the earlier of the two. Longhorn's word does not
/// count where Kubernetes has contradicted it for minutes.
pub fn down(cluster: &Cluster, node: &str) -> Option<Evidence> {
    let objects = &cluster.objects;
    let by_longhorn = objects.longhorn_nodes.get(node).filter(|node| !is_outdated(cluster, node));
    if let Some(reason) = by_longhorn.and_then(down_reason) {
        return Some(api(format!("nodes.longhorn.io {node}: Ready is False, reason {reason}")));
    }
    match kube_ready(cluster, node) {
        Some(false) => Some(api(format!("node {node}: Ready is not True"))),
        // an empty store may be one that was not recorded
        None if !node.is_empty() && !objects.kube_nodes.is_empty() => {
            Some(api(format!("node {node} does not exist in Kubernetes")))
        }
        _ => None,
    }
}

/// What the kubelet of a node that lives says of why the node is not Ready. One that is silent says nothing: the control plane does.
pub fn said_by_kubelet<'c>(cluster: &'c Cluster, node: &str) -> Option<&'c str> {
    let ready = condition(&cluster.objects.kube_nodes.get(node)?.status.conditions, "Ready")?;
    let said = ready.message.as_str();
    (ready.status == ConditionStatus::False && !said.trim().is_empty()).then_some(said)
}

/// A pod of Longhorn on a node that is silent which renewed its Lease after that: the machine runs, and its kubelet does not.
pub fn signs_of_life(cluster: &Cluster, node: &str, silent: Option<Timestamp>) -> Option<Evidence> {
    const LATELY: SignedDuration = SignedDuration::from_mins(1);
    let (silent, pods) = (silent?, &cluster.objects.pods);
    cluster.objects.leases.iter().find_map(|lease| {
        let renewed = lease.spec.renew_time.get().filter(|at| *at > silent && cluster.age(*at) < LATELY)?;
        let pod = pods.get(&lease.spec.holder_identity).filter(|pod| pod.spec.node_name == node)?;
        let (name, pod) = (&lease.metadata.name, &pod.metadata.name);
        Some(api(format!("pod {pod} on {node} renewed Lease {name} at {renewed}")))
    })
}

/// What that message is about (kubernetes v1.36 pkg/kubelet/nodestatus/setters.go ReadyCondition), and the Event that says why the container
/// runtime is down, if one does.
pub fn way_of_kubelet(cluster: &Cluster, node: &str, said: &str) -> Option<(&'static Way, Option<Evidence>)> {
    let way = kind_of_trouble(said)?;
    let mut events = cluster.events_about_node(node).filter(|_| way == &ways::NODE_WITHOUT_RUNTIME);
    let Some(event) = events.find(|event| event.is_disk_error()) else { return Some((way, None)) };
    let text = format!("event {} of node {node}: {}", event.reason, text::quoted(&event.message));
    let fact = EvidenceSource::Event.says(text);
    Some((&ways::NODE_DISK_FAILS, Some(fact.quoting(&event.message))))
}

fn kind_of_trouble(said: &str) -> Option<&'static Way> {
    let runtime = ["PLEG is not healthy", "container runtime is down", "container runtime not ready"];
    let network = ["NetworkPluginNotReady", "cni plugin not initialized", "Network plugin returns error"];
    match () {
        () if network.iter().any(|part| said.contains(part)) => Some(&ways::NODE_WITHOUT_NETWORK),
        () if runtime.iter().any(|part| said.contains(part)) => Some(&ways::NODE_WITHOUT_RUNTIME),
        () => None,
    }
}

/// The nodes that are Ready, by internal address. What is sent to one of two with the same arrives at the other: the kubelet of a node
/// keeps the address that it found at its start. The object of a machine that is gone keeps its own, too, and takes nothing away.
pub struct Addresses<'a>(BTreeMap<&'a str, Vec<&'a str>>);

impl<'a> Addresses<'a> {
    pub fn of(cluster: &'a Cluster) -> Self {
        let mut nodes: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for node in cluster.objects.kube_nodes.iter().filter(|node| node.is_ready()) {
            for address in node.internal_addresses() {
                nodes.entry(address).or_default().push(&node.metadata.name);
            }
        }
        Addresses(nodes)
    }

    /// An address of this node that another has, and that one.
    pub fn shared(&self, cluster: &'a Cluster, node: &str) -> Option<(&'a str, &'a str)> {
        cluster.objects.kube_nodes.get(node)?.internal_addresses().find_map(|address| {
            let other = self.0.get(address)?.iter().find(|other| **other != node)?;
            Some((address, *other))
        })
    }
}

/// True for a node that Kubernetes does not have, where all that it has are known.
pub fn is_gone(cluster: &Cluster, node: &str) -> bool {
    let nodes = &cluster.objects.kube_nodes;
    let known = !nodes.is_empty() && cluster.decoded_all(Resource::KubeNodes);
    known && !node.is_empty() && nodes.get(node).is_none()
}

/// True for one on which nothing is left, as of an autoscaler, while every volume is healthy without it.
pub fn is_left_empty(cluster: &Cluster, node: &str) -> bool {
    let objects = &cluster.objects;
    let holds = |volume: &Volume| {
        let hurt = matches!(volume.status.robustness, VolumeRobustness::Degraded | VolumeRobustness::Faulted);
        hurt || volume.spec.node_id == node || volume.status.current_node_id == node
    };
    let kinds = [Resource::Replicas, Resource::Engines, Resource::Orphans, Resource::Volumes];
    is_gone(cluster, node)
        && kinds.iter().all(|kind| cluster.knows_all(*kind))
        && objects.replicas.of(Owner::Node, node).next().is_none()
        && !objects.engines.iter().any(|engine| engine.spec.node_id == node)
        && !objects.orphans.iter().any(|orphan| orphan.spec.node_id == node)
        && !objects.volumes.iter().any(holds)
}

/// Since when the node has not been Ready, or Longhorn has missed it.
pub fn not_ready_since(cluster: &Cluster, node: &str) -> Option<Timestamp> {
    let conditions = match cluster.objects.kube_nodes.get(node) {
        Some(kube) => &kube.status.conditions,
        None => &cluster.objects.longhorn_nodes.get(node)?.status.conditions,
    };
    condition(conditions, "Ready")?.last_transition_time.get()
}

/// Since when a node that is Ready has been so. What is said of its disks and pods may be from the time before, which neither the
/// kubelet nor Longhorn dates again: a condition keeps its time while only its reason changes (longhorn-manager v1.3.3 to v1.12.1
/// types SetCondition).
pub fn ready_since(cluster: &Cluster, node: &str) -> Option<Timestamp> {
    let kube = cluster.objects.kube_nodes.get(node).filter(|kube| kube.is_ready())?;
    condition(&kube.status.conditions, "Ready")?.last_transition_time.get()
}

/// A time of what is on a node, or that of the node's return where it is older.
pub fn not_before_return(cluster: &Cluster, node: &str, time: Timestamp) -> Timestamp {
    ready_since(cluster, node).map_or(time, |back| back.max(time))
}

/// Since when Longhorn has called a node schedulable: at the latest from when it was uncordoned.
pub fn uncordoned(cluster: &Cluster, node: &str) -> Option<Timestamp> {
    let schedulable = condition(&cluster.objects.longhorn_nodes.get(node)?.status.conditions, "Schedulable")?;
    schedulable.last_transition_time.get().filter(|_| schedulable.status == ConditionStatus::True)
}

/// Since when Longhorn may make pods on a node that is Ready: it makes none while the node is cordoned, and its manager needs a moment
/// to see the end of that.
pub fn open_since(cluster: &Cluster, node: &str) -> Option<Timestamp> {
    let unseen = || {
        let still = cordoned_by_longhorn(cluster, node).is_some() && !is_cordoned(cluster, node);
        (still && manager_trouble(cluster, node).is_none()).then_some(cluster.now)
    };
    ready_since(cluster, node).max(uncordoned(cluster, node).or_else(unseen))
}

/// Whether Kubernetes' node is Ready; `None` where there is no such node or nodes cannot be read.
pub fn kube_ready(cluster: &Cluster, node: &str) -> Option<bool> {
    cluster.objects.kube_nodes.get(node).map(|node| node.is_ready())
}

/// The nodes that Longhorn stores data on; all of its nodes where none has a disk.
pub fn storing(cluster: &Cluster) -> Vec<&LonghornNode> {
    let all = &cluster.objects.longhorn_nodes;
    let storing: Vec<_> = all.iter().filter(|node| !node.spec.disks.is_empty()).collect();
    if storing.is_empty() { all.iter().collect() } else { storing }
}

/// True when Longhorn calls the node Ready, with its manager.
pub fn is_ready(cluster: &Cluster, node: &str) -> bool {
    let node = cluster.objects.longhorn_nodes.get(node);
    node.is_some_and(|node| status(&node.status.conditions, "Ready") == ConditionStatus::True)
}

/// A manager that no other has called down although any of them that works does so within a second: it writes to the node's
/// condition Ready that the pod is not Ready (longhorn-manager v1.5.5 to v1.12.1 controller/node_controller.go syncNode).
pub fn unseen_by_managers(cluster: &Cluster) -> Option<Evidence> {
    const SECONDS: SignedDuration = SignedDuration::from_secs(30);
    let not_ready = |pod: &&Pod| {
        let ready = condition(&pod.status.conditions, "Ready");
        let since = ready.and_then(|ready| ready.last_transition_time.get());
        !pod.is_ready()
            && !pod.metadata.is_deleting()
            && since.is_some_and(|since| cluster.age(since) >= SECONDS)
    };
    let others = cluster.manager_pods().filter(|pod| pod.is_ready()).count();
    let pod = cluster.manager_pods().filter(not_ready).find(|pod| is_ready(cluster, &pod.spec.node_name))?;
    let text = format!(
        "nodes.longhorn.io {}: Ready is True although the node's manager pod is not Ready. Ready managers ({others}) should correct that within a \
         second, so probably no manager can write. Check the service account's permissions and the connection to the API server",
        pod.spec.node_name
    );
    (others > 0).then(|| api(text))
}

/// True when Kubernetes' node is cordoned; where nodes cannot be read, when Longhorn says so. Longhorn then
/// creates no instance manager pod there and may evict replicas on its own.
pub fn is_cordoned(cluster: &Cluster, node: &str) -> bool {
    match cluster.objects.kube_nodes.get(node) {
        Some(kube) => kube.spec.unschedulable,
        None => cordoned_by_longhorn(cluster, node).is_some(),
    }
}

/// Taints of a node that its own controller does not put on it, which pods of a DaemonSet do not tolerate on their own.
pub fn taints(cluster: &Cluster, node: &str) -> Option<String> {
    let taints = &cluster.objects.kube_nodes.get(node)?.spec.taints;
    let foreign = taints.iter().filter(|taint| !taint.key.starts_with("node.kubernetes.io/"));
    let own: Vec<String> = foreign.map(|taint| taint.to_string()).collect();
    (!own.is_empty()).then(|| format!("node {node} has the taint {}", own.join(", ")))
}

/// Longhorn's condition that says that a node is cordoned.
fn cordoned_by_longhorn<'a>(cluster: &'a Cluster, node: &str) -> Option<&'a Condition> {
    let schedulable = condition(&cluster.objects.longhorn_nodes.get(node)?.status.conditions, "Schedulable")?;
    let cordoned = schedulable.reason == "KubernetesNodeCordoned";
    (cordoned && schedulable.status == ConditionStatus::False).then_some(schedulable)
}

/// Since when a node is cordoned: the taint that goes with a cordon has its time, else Longhorn's own condition.
pub fn cordoned_since(cluster: &Cluster, node: &str) -> Option<Timestamp> {
    const TAINT: &str = "node.kubernetes.io/unschedulable";
    let by_taint = || {
        let taints = &cluster.objects.kube_nodes.get(node)?.spec.taints;
        taints.iter().find(|taint| taint.key == TAINT)?.time_added.get()
    };
    by_taint().or_else(|| cordoned_by_longhorn(cluster, node)?.last_transition_time.get())
}

/// True while the manager of a node starts, or has just begun to work: until then what only it writes is from before. As long as a
/// restart takes, however often it is tried.
pub fn manager_starts(cluster: &Cluster, node: &str) -> bool {
    /// It works its objects off one after the other (played on 1.9.2 and 1.12.1: 4 to 16 s).
    const LOOKS: SignedDuration = SignedDuration::from_secs(30);
    let Some(pod) = cluster.manager_pod_on(node) else { return false };
    let changed =
        condition(&pod.status.conditions, "Ready").and_then(|ready| ready.last_transition_time.get());
    let normal = if pod.is_ready() && !pod.metadata.is_deleting() { LOOKS } else { RESTART };
    let back = ready_since(cluster, node).filter(|_| !pod.is_ready());
    changed.max(pod.metadata.created()).max(back).is_some_and(|changed| cluster.age(changed) < normal)
}

/// What the longhorn-manager of a node is, if it is not ready: most contradictions stay because it does not
/// run. `None` also where pods cannot be read or none is recorded.
pub fn manager_not_ready(cluster: &Cluster, node: &str) -> Option<String> {
    if !cluster.can_read(Resource::Pods) || cluster.objects.pods.is_empty() || node.is_empty() {
        return None;
    }
    match cluster.manager_pod_on(node) {
        None => Some(format!("{node}'s longhorn-manager, which alone can update this object, has no pod")),
        Some(pod) if !pod.is_ready() => Some(format!(
            "longhorn-manager pod {} on {node}, which alone can update this object, is not Ready",
            pod.metadata.name
        )),
        Some(_) => None,
    }
}

/// Why the longhorn-manager of a node cannot tidy up there, if that shows. Only the manager on
/// the node itself removes instance managers of the node; it does so under pressure on the node, too
/// (longhorn-manager v1.12.1 controller/node_controller.go syncNode). One that has been away for
/// moments only is being restarted, as all are at once in an upgrade.
pub fn manager_trouble(cluster: &Cluster, node: &str) -> Option<Evidence> {
    let lasts = |since: Option<Timestamp>| {
        since.is_none_or(|since| cluster.age(not_before_return(cluster, node, since)) >= RESTART)
    };
    let ready = cluster.objects.longhorn_nodes.get(node);
    let ready = ready.and_then(|node| condition(&node.status.conditions, "Ready"));
    if let Some(ready) = ready
        && ready.status == ConditionStatus::False
        && ready.reason != "KubernetesNodePressure"
        && lasts(ready.last_transition_time.get())
    {
        return Some(api(format!("nodes.longhorn.io {node}: Ready is False, reason {}", ready.reason)));
    }
    match cluster.manager_pod_on(node) {
        Some(pod) if !pod.is_ready() => {
            let changed = condition(&pod.status.conditions, "Ready");
            let changed = changed.and_then(|ready| ready.last_transition_time.get());
            let text = || api(format!("longhorn-manager pod {} on {node} is not Ready", pod.metadata.name));
            lasts(changed.max(pod.metadata.created())).then(text)
        }
        // without any manager pod the pods were probably not recorded
        None if cluster.manager_pods().next().is_some() => {
            Some(api(format!("no longhorn-manager pod exists on {node}")))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::cluster_at;

    #[test]
    fn a_manager_whose_node_has_just_come_back_may_start() {
        let trouble = |back: &str| {
            let yaml = format!(
                "apiVersion: v1\nkind: Node\nmetadata: {{name: n1}}\nstatus: {{conditions: [{{type: Ready, status: 'True', \
                 lastTransitionTime: '{back}'}}]}}\n---\n\
                 apiVersion: longhorn.io/v1beta2\nkind: Node\nmetadata: {{name: n1, namespace: longhorn-system}}\nstatus: {{conditions: \
                 [{{type: Ready, status: 'False', reason: ManagerPodDown, lastTransitionTime: '2026-01-01T06:00:00Z'}}]}}\n---\n"
            );
            manager_trouble(&cluster_at("2026-01-01T12:00:00Z", &yaml), "n1").is_some()
        };
        assert!(!trouble("2026-01-01T11:58:00Z"));
        assert!(trouble("2026-01-01T11:57:00Z"));
    }
}
