//! Registered nodes on which no longhorn-manager runs, without a crash loop that would tell: its pod is
//! missing, waits for its image or a place, or does not end. Longhorn then has `Ready` False with reason
//! ManagerPodMissing or ManagerPodDown on the node, and does nothing about it (longhorn-manager v1.12.1
//! controller/node_controller.go setReadyConditionForManagerPod).

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::{causes, is_gone, knows_kube_nodes};
use crate::check::*;
use crate::facts::nodes;
use crate::longhorn::{ConditionStatus, LonghornNode, Meta, Pod, PodPhase, condition};

/// A rollout that pulls an image, or a node that starts, takes some minutes.
const PATIENCE: SignedDuration = SignedDuration::from_mins(10);

/// Finds them, and says how many there are.
pub fn find(cluster: &Cluster, out: &mut Outcome) -> usize {
    let mut pods: BTreeMap<&str, Vec<&Pod>> = BTreeMap::new();
    for pod in cluster.manager_pods() {
        pods.entry(pod.spec.node_name.as_str()).or_default().push(pod);
    }
    let uninstalled = cluster.manager_daemon_set().is_some_and(|set| set.metadata.is_deleting());
    // without any manager nothing at all is known of Longhorn, which the report itself says
    if pods.is_empty() || uninstalled {
        return 0;
    }
    let mut count = 0;
    for node in cluster.objects.longhorn_nodes.iter().filter(|node| is_up(cluster, node)) {
        let name = node.metadata.name.as_str();
        let on_node = pods.get(name).map(Vec::as_slice).unwrap_or_default();
        if on_node.iter().any(|pod| may_run(pod)) {
            continue;
        }
        // the pod that could not be decoded may be the one of this node
        if on_node.is_empty() && !cluster.decoded_all(Resource::Pods) {
            continue;
        }
        let pod =
            on_node.iter().copied().max_by_key(|pod| (!pod.metadata.is_deleting(), pod.metadata.created()));
        let since =
            since(node, pod).into_iter().chain(out.first_seen(causes::MANAGER_MISSING.id, name)).min();
        if !since.map_or(!cluster.is_watched(), |since| cluster.age(since) >= PATIENCE) {
            continue;
        }
        count += 1;
        out.find(finding(cluster, name, pod, since));
    }
    count
}

/// A node that does not answer has no manager that runs, which is the smaller trouble. One under pressure
/// evicts its manager, and does answer.
fn is_up(cluster: &Cluster, node: &LonghornNode) -> bool {
    let answers = || nodes::kube_ready(cluster, &node.metadata.name) == Some(true);
    !node.metadata.is_deleting()
        && !nodes::is_down(node)
        && !is_gone(cluster, node)
        && (!knows_kube_nodes(cluster) || answers())
}

/// False where the pod itself shows that its manager neither runs nor has just ended: those that end and
/// start again are the matter of manager_crash_loop.
fn may_run(pod: &Pod) -> bool {
    if pod.metadata.is_deleting() {
        return false;
    }
    let Some(status) = pod.container_status("longhorn-manager") else {
        return !matches!(pod.status.phase, PodPhase::Pending | PodPhase::Failed | PodPhase::Succeeded);
    };
    status.state.waiting.as_ref().is_none_or(|waiting| waiting.reason == "CrashLoopBackOff")
}

/// Since when there is none: the pod that waits took the place of one that ran.
fn since(node: &LonghornNode, pod: Option<&Pod>) -> Option<Timestamp> {
    let told = || {
        let ready = condition(&node.status.conditions, "Ready")?;
        let by_manager = ready.status == ConditionStatus::False && ready.reason.starts_with("ManagerPod");
        ready.last_transition_time.get().filter(|_| by_manager)
    };
    let deleted = |meta: &Meta| meta.deletion_timestamp.get();
    pod.and_then(|pod| deleted(&pod.metadata).or(pod.metadata.created())).or_else(told)
}

fn finding(cluster: &Cluster, node: &str, pod: Option<&Pod>, since: Option<Timestamp>) -> Finding {
    let namespace = &cluster.namespace;
    let (what, remedy) = match pod {
        None => (
            "there is no pod of longhorn-manager on the node".to_owned(),
            "See why the DaemonSet creates no pod there: a taint, its nodeSelector, a quota. If the node should no longer run Longhorn, let the manager run once more until its replicas are evicted, which only the manager of a node does.",
        ),
        Some(pod) if pod.metadata.is_deleting() => (
            format!("pod {} is being deleted and does not end", pod.metadata.name),
            "See whether the kubelet and the container runtime of the node work; the DaemonSet creates a new pod when this \
             one is gone.",
        ),
        Some(pod) => (
            format!("pod {} has not started: {}", pod.metadata.name, waits_for(pod)),
            "The events of the pod say what it waits for: an image that cannot be pulled, a volume, a place on the node.",
        ),
    };
    let mut remedy = Remedy::new(remedy)
        .read(format!("kubectl -n {namespace} get pods -l app=longhorn-manager -o wide"))
        .read(format!("kubectl -n {namespace} describe daemonset longhorn-manager"));
    if let Some(pod) = pod {
        remedy = remedy.read(format!("kubectl -n {namespace} describe pod {}", pod.metadata.name));
    }
    let finding = Finding::new(
        &causes::MANAGER_MISSING,
        ObjectRef::new("nodes.longhorn.io", namespace, node),
        format!("node {node} is registered with Longhorn, but no longhorn-manager runs there"),
    )
    .node(node)
    .since(since)
    .impact("nothing attaches, detaches, rebuilds or evicts on the node; running I/O continues")
    .fact(what)
    .remedy(remedy);
    let finding = match nodes::taints(cluster, node).filter(|_| pod.is_none()) {
        Some(taints) => finding.fact(taints),
        None => finding,
    };
    match since {
        Some(_) => finding,
        None => finding.because(EvidenceSource::History, "the recording does not show since when"),
    }
}

fn waits_for(pod: &Pod) -> String {
    let init = pod.status.init_container_statuses.iter().find_map(|status| {
        let since = status.running_since()?;
        Some(format!("init container {} has been running since {since}", status.name))
    });
    if let Some(init) = init {
        return init;
    }
    let waiting = pod.container_status("longhorn-manager").and_then(|status| status.state.waiting.as_ref());
    match waiting.filter(|waiting| !waiting.reason.is_empty()) {
        Some(waiting) => waiting.reason.to_string(),
        None => match condition(&pod.status.conditions, "PodScheduled") {
            Some(placed) if placed.status == ConditionStatus::False => placed.reason.to_string(),
            _ => format!("phase {}", pod.status.phase.as_str()),
        },
    }
}
