//! Nodes on which no longhorn-manager runs, without a crash loop that would tell: its pod is
//! missing, waits for its image or a place, or does not end. Longhorn then has `Ready` False with reason
//! ManagerPodMissing or ManagerPodDown on the node, and does nothing about it (longhorn-manager v1.12.1
//! controller/node_controller.go setReadyConditionForManagerPod).

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::{causes, is_gone, knows_kube_nodes};
use crate::check::*;
use crate::facts::not_started::{self, NotStarted};
use crate::facts::patience::{DEFINITE, FIRST_START};
use crate::facts::{nodes, pods, removal};
use crate::longhorn::{
    ConditionStatus, ContainerStatus, KubeNode, LonghornNode, Pod, PodPhase, Resource, condition,
};

const DAEMON_SET: &str = "longhorn-manager";

/// Finds them, and says how many there are: of those that Longhorn knows, and of new ones.
pub fn run(cluster: &Cluster, out: &mut Outcome) -> (usize, usize) {
    let mut pods: BTreeMap<&str, Vec<&Pod>> = BTreeMap::new();
    for pod in cluster.manager_pods() {
        pods.entry(pod.spec.node_name.as_str()).or_default().push(pod);
    }
    // without any manager nothing at all is known of Longhorn, which the report itself says
    if pods.is_empty() || removal::unmissed(cluster).is_some() {
        return (0, 0);
    }
    let mut count = 0;
    for node in cluster.objects.longhorn_nodes.iter().filter(|node| is_up(cluster, node)) {
        let name = node.metadata.name.as_str();
        let on_node = pods.get(name).map(Vec::as_slice).unwrap_or_default();
        if on_node.iter().any(|pod| may_run(cluster, pod)) {
            continue;
        }
        // the pod that could not be decoded may be the one of this node
        if on_node.is_empty() && !cluster.decoded_all(Resource::Pods) {
            continue;
        }
        let pod =
            on_node.iter().copied().max_by_key(|pod| (!pod.metadata.is_deleting(), pod.metadata.created()));
        // a pod of a node that was away is not Ready since then
        let told = since(node, pod).map(|since| nodes::not_before_return(cluster, name, since));
        let since = told.into_iter().chain(out.first_seen(causes::MANAGER_MISSING.id, name)).min();
        let why = why(cluster, name, pod, since);
        let patience = match why.as_ref().is_some_and(NotStarted::is_definite) {
            true => DEFINITE,
            false => FIRST_START,
        };
        if !since.map_or(!cluster.is_watched(), |since| cluster.age(since) >= patience) {
            continue;
        }
        count += 1;
        out.report(finding(cluster, name, pod, why, since));
    }
    (count, run_new(cluster, &pods, out))
}

/// New nodes, which Longhorn does not know yet, and whose managers the API server rejects.
fn run_new(cluster: &Cluster, pods: &BTreeMap<&str, Vec<&Pod>>, out: &mut Outcome) -> usize {
    if !cluster.knows_all(Resource::LonghornNodes) || !cluster.decoded_all(Resource::Pods) {
        return 0;
    }
    let is_new = |node: &&KubeNode| {
        let name = node.metadata.name.as_str();
        let is_settled = node.metadata.created().is_none_or(|made| cluster.age(made) >= DEFINITE);
        is_settled
            && !pods.contains_key(name)
            && cluster.objects.longhorn_nodes.get(name).is_none()
            && nodes::kube_ready(cluster, name) == Some(true)
    };
    let mut count = 0;
    for node in cluster.objects.kube_nodes.iter().filter(is_new) {
        if let Some(why) = not_started::refused_on(cluster, DAEMON_SET, &node.metadata.name) {
            count += 1;
            out.report(finding(cluster, &node.metadata.name, None, Some(why), node.metadata.created()));
        }
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
fn may_run(cluster: &Cluster, pod: &Pod) -> bool {
    if pod.metadata.is_deleting() {
        return false;
    }
    // up to 1.4 the webhook is a Deployment of its own, and the manager waits for it: webhook_unavailable says so
    let waits_for_webhook = |status: &ContainerStatus| {
        status.name == "wait-longhorn-admission-webhook" && status.running_since().is_some()
    };
    if pod.status.init_container_statuses.iter().any(waits_for_webhook) {
        return true;
    }
    let Some(status) = pod.container_status("longhorn-manager") else {
        return !matches!(pod.status.phase, PodPhase::Pending | PodPhase::Failed | PodPhase::Succeeded);
    };
    // after a reboot a pod without a sandbox keeps the end of its container from before
    let ended = status.state.terminated.as_ref().and_then(|end| end.finished_at.get());
    status.state.waiting.as_ref().is_none_or(|waiting| waiting.reason == "CrashLoopBackOff")
        && ended.is_none_or(|ended| cluster.age(ended) < FIRST_START)
}

/// Since when there is none: the pod that waits took the place of one that ran.
fn since(node: &LonghornNode, pod: Option<&Pod>) -> Option<Timestamp> {
    let told = || {
        let ready = condition(&node.status.conditions, "Ready")?;
        let by_manager = ready.status == ConditionStatus::False && ready.reason.starts_with("ManagerPod");
        ready.last_transition_time.get().filter(|_| by_manager)
    };
    pod.and_then(|pod| pod.metadata.deletion_timestamp.get().or(pods::since(pod))).or_else(told)
}

/// Why no manager runs, where an object tells: its pod does not start, or cannot be made.
fn why(cluster: &Cluster, node: &str, pod: Option<&Pod>, since: Option<Timestamp>) -> Option<NotStarted> {
    match pod {
        None => not_started::no_pod(cluster, DAEMON_SET, node, since),
        Some(pod) if pod.metadata.is_deleting() => None,
        Some(pod) => Some(not_started::of_pod(cluster, pod, DAEMON_SET)),
    }
}

fn finding(
    cluster: &Cluster,
    node: &str,
    pod: Option<&Pod>,
    why: Option<NotStarted>,
    since: Option<Timestamp>,
) -> Finding {
    let pressure = nodes::pressure(cluster, node).filter(|_| why.is_none() && pod.is_none());
    let reason = match (&why, pod) {
        (Some(why), _) => why.text.clone(),
        (None, Some(_)) => "its pod is being deleted but cannot terminate".to_owned(),
        (None, None) => match pressure {
            Some(short) => format!("the kubelet is evicting pods ({})", short.kind),
            None => "the pod is missing (cause unknown)".to_owned(),
        },
    };
    let way = why.as_ref().map(|why| why.way).or(pressure.map(|_| &causes::PRESSURE));
    let (object, impact) = match cluster.objects.longhorn_nodes.get(node) {
        Some(_) => (
            cluster.object::<LonghornNode>(node),
            format!("volumes on {node} cannot attach, detach, rebuild or be evicted. Running I/O continues."),
        ),
        None => (
            cluster.object::<KubeNode>(node),
            format!("Longhorn cannot use {node}: none of its pods can start there"),
        ),
    };
    let message = format!("longhorn-manager is down on {node}: {reason}");
    let finding = Finding::about(&causes::MANAGER_MISSING, object, message)
        .node(node)
        .since(since)
        .impact(impact)
        .way(way)
        .with(Name::Pod, pod.map(|pod| pod.metadata.name.to_string()).unwrap_or_default())
        .with(Name::Workload, if pod.is_none() { DAEMON_SET } else { "" })
        .facts(pod.map(|pod| format!("pod {} has not started", pod.metadata.name)))
        .facts(why.iter().flat_map(not_started::evidence))
        .facts(nodes::taints(cluster, node).filter(|_| pod.is_none()));
    match since {
        Some(_) => finding,
        None => finding.fact(EvidenceSource::History.says("the recording does not show since when")),
    }
}
