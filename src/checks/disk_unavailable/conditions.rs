//! What the conditions of a node say of the node itself.

use std::cell::OnceCell;

use super::{causes, environment};
use crate::check::*;
use crate::facts::age::{Begun, Unknown, observe};
use crate::facts::nodes::Addresses;
use crate::facts::patience::NODE_AWAY;
use crate::facts::placement::{self, Obstacle};
use crate::facts::{api, nodes, text, volumes};
use crate::longhorn::{
    Condition, ConditionStatus, KubeNode, LonghornNode, Owner, Replica, Volume, VolumeRobustness, condition,
    status,
};

/// What is counted once for all nodes, and only where a node is in trouble.
#[derive(Default)]
pub(super) struct DiskCounts<'c> {
    shared: OnceCell<bool>,
    encrypted: OnceCell<Vec<VolumeRef>>,
    addresses: OnceCell<Addresses<'c>>,
}

impl<'c> DiskCounts<'c> {
    /// The Ready node that is the machine of this one, with the address that both have. A new machine may get the address of an old one,
    /// and clones have one id at several addresses.
    fn successor(&self, cluster: &'c Cluster, node: &str) -> Option<(&'c str, &'c str)> {
        let machine = |node: &str| Some(&cluster.objects.kube_nodes.get(node)?.status.node_info.machine_id);
        let this = machine(node).filter(|id| !id.is_empty())?;
        let shared = self.addresses.get_or_init(|| Addresses::of(cluster)).shared(cluster, node);
        shared.filter(|(_, other)| machine(other) == Some(this))
    }

    /// Whether there are volumes that are mounted by NFS.
    pub fn shared(&self, cluster: &Cluster) -> bool {
        let mut volumes = cluster.objects.volumes.iter();
        *self.shared.get_or_init(|| volumes.any(|volume| volume.is_shared()))
    }

    /// The volumes that are encrypted.
    pub fn encrypted(&self, cluster: &Cluster) -> &[VolumeRef] {
        self.encrypted.get_or_init(|| {
            let volumes = cluster.objects.volumes.iter().filter(|volume| volume.spec.encrypted);
            volumes.map(|volume| cluster.volume_ref(&volume.metadata.name)).collect()
        })
    }
}

/// Returns the condition of a node that has not been Ready for long enough.
pub(super) fn run<'c>(
    cluster: &'c Cluster,
    out: &mut Outcome,
    counts: &DiskCounts<'c>,
    node: &'c LonghornNode,
) -> Option<&'c Condition> {
    let away = away(cluster, out, node);
    let found = [
        (away.map(|ready| not_ready(cluster, counts, node, ready)), "unavailable, so redundancy is lower"),
        (pressure(cluster, out, node), "at risk: the kubelet may evict the instance manager"),
        (network_down(cluster, out, node), "unreachable for engines on other nodes"),
    ];
    for (finding, how) in found.into_iter().filter_map(|(finding, how)| Some((finding?, how))) {
        let impact = match cluster.objects.replicas.of(Owner::Node, &node.metadata.name).count() {
            0 => "none yet: the node holds no replica".to_owned(),
            1 => format!("1 replica on the node is {how}"),
            count => format!("{count} replicas on the node are {how}"),
        };
        out.report(finding.impact(impact));
    }
    environment::run(cluster, out, counts, node);
    away
}

fn about(cluster: &Cluster, node: &LonghornNode, cause: &'static Cause, message: String) -> Finding {
    let name = &node.metadata.name;
    Finding::about(cause, cluster.object::<KubeNode>(name), message).node(name)
}

/// The Kubernetes node itself is not Ready; Longhorn's condition repeats that, unless no manager is left to.
fn away<'c>(cluster: &'c Cluster, out: &mut Outcome, node: &'c LonghornNode) -> Option<&'c Condition> {
    let name = &node.metadata.name;
    let written =
        condition(&node.status.conditions, "Ready").filter(|ready| ready.reason == "KubernetesNodeNotReady");
    let kube =
        cluster.objects.kube_nodes.get(name).and_then(|kube| condition(&kube.status.conditions, "Ready"));
    let ready = match nodes::kube_ready(cluster, name) {
        Some(true) => return None,
        Some(false) => kube,
        None => written.filter(|ready| ready.status == ConditionStatus::False),
    };
    ready.filter(|ready| is_lasting(cluster, out, "away", name, ready))
}

fn not_ready<'c>(
    cluster: &'c Cluster,
    counts: &DiskCounts<'c>,
    node: &LonghornNode,
    ready: &Condition,
) -> Finding {
    let name = &node.metadata.name;
    let kubelet = nodes::said_by_kubelet(cluster, name);
    let trouble = kubelet.and_then(|said| nodes::way_of_kubelet(cluster, name, said));
    // an Event that says why is quoted instead
    let quote = kubelet.filter(|_| !matches!(trouble, Some((_, Some(_)))));
    let successor = counts.successor(cluster, name);
    let signs = nodes::signs_of_life(cluster, name, ready.last_transition_time.get());
    let why = match (successor, &signs) {
        (Some((_, other)), _) => format!(": its machine is now node {other}"),
        (None, Some(_)) => format!(": {}", causes::KUBELET_SILENT.briefly),
        (None, None) => match &trouble {
            Some((way, Some(_))) => format!(": {}", way.briefly),
            _ => String::new(),
        },
    };
    let finding = about(cluster, node, &causes::NODE_NOT_READY, format!("node {name} is not Ready{why}"))
        .since(ready.last_transition_time.get())
        .fact(api(said(&format!("node {name}"), ready)).quoting(quote.unwrap_or_default()));
    if let Some((address, other)) = successor {
        let fact = format!(
            "nodes {name} and {other} have the same machineID and InternalIP {address}, and {other} is Ready"
        );
        // replicas go with the UUID of their disk (longhorn-manager v1.4.4 to v1.12.1 controller/node_controller.go updateDiskStatusSchedulableCondition)
        let moved = cluster.objects.replicas.of(Owner::Node, other).next().is_some();
        let way = if moved { &causes::NODE_MOVED } else { &causes::NODE_RENAMED };
        return finding.way(way).with(Name::Value, other).fact(fact);
    }
    if let Some(signs) = signs {
        return finding.way(&causes::KUBELET_SILENT).fact(signs);
    }
    if let Some((way, event)) = trouble {
        return finding.way(way).facts(event);
    }
    let blocking = blocking(cluster, name);
    // their pods come first
    let used = |volume: &Volume| volume.status.current_node_id == *name;
    match blocking.first() {
        None if cluster.objects.volumes.iter().any(used) => finding,
        None => match nowhere_else(cluster, name) {
            None => finding,
            Some(volume) => {
                finding.way(&causes::NO_OTHER_NODE).with(Name::Volume, volume.metadata.name.as_str())
            }
        },
        Some(first) => finding
            .fact(format!(
                "these replicas on the node never started and block new ones: {}",
                text::listed(&blocking)
            ))
            .way(&causes::REPLICAS_WAIT)
            .with(Name::Replica, *first),
    }
}

/// A volume with a replica on a node that no other node may take, as each has one already.
fn nowhere_else<'c>(cluster: &'c Cluster, node: &str) -> Option<&'c Volume> {
    let there = cluster.objects.replicas.of(Owner::Node, node);
    let mut volumes = there.filter_map(|replica| cluster.objects.volumes.get(&replica.spec.volume_name));
    volumes.find(|volume| {
        placement::nearest_without(cluster, volume, node) == Some(Some(Obstacle::AntiAffinity))
    })
}

/// Replicas on a node that is down which keep degraded volumes from any other.
fn blocking<'c>(cluster: &'c Cluster, node: &str) -> Vec<&'c str> {
    let of_degraded = |replica: &&Replica| {
        let volume = cluster.objects.volumes.get(&replica.spec.volume_name);
        volume.is_some_and(|volume| volume.status.robustness == VolumeRobustness::Degraded)
    };
    let there =
        cluster.objects.replicas.of(Owner::Node, node).filter(|replica| volumes::never_started(replica));
    there.filter(of_degraded).map(|replica| replica.metadata.name.as_str()).collect()
}

/// What a CNI or a cloud writes.
const NETWORK_UNAVAILABLE: &str = "NetworkUnavailable";

fn lacks_network(cluster: &Cluster, node: &str) -> bool {
    let node = cluster.objects.kube_nodes.get(node);
    node.is_some_and(|node| status(&node.status.conditions, NETWORK_UNAVAILABLE) == ConditionStatus::True)
}

/// The volumes with a replica on a node that are not healthy.
fn affected(cluster: &Cluster, node: &str) -> Vec<VolumeRef> {
    let there = cluster.objects.replicas.of(Owner::Node, node).map(|replica| &*replica.spec.volume_name);
    let hurt = |name: &&str| {
        let volume = cluster.objects.volumes.get(name);
        volume.is_some_and(|volume| volume.status.robustness != VolumeRobustness::Healthy)
    };
    cluster.volume_refs(there.filter(hurt))
}

/// What the CNI itself writes into the node: Calico's at its end, clouds' until a route is there. The kubelet stays Ready.
fn network_down(cluster: &Cluster, out: &mut Outcome, node: &LonghornNode) -> Option<Finding> {
    let name = &node.metadata.name;
    let kube =
        cluster.objects.kube_nodes.get(name).filter(|_| nodes::kube_ready(cluster, name) == Some(true))?;
    let down = condition(&kube.status.conditions, NETWORK_UNAVAILABLE)?;
    if down.status != ConditionStatus::True || !is_lasting(cluster, out, "network", name, down) {
        return None;
    }
    let message = format!("the pod network of node {name} is down");
    let finding = about(cluster, node, &causes::NODE_NETWORK_DOWN, message)
        .volumes(affected(cluster, name))
        .since(down.last_transition_time.get());
    Some(finding.fact(api(said(&format!("node {name}"), down)).quoting(&down.message)))
}

fn pressure(cluster: &Cluster, out: &mut Outcome, node: &LonghornNode) -> Option<Finding> {
    let name = &node.metadata.name;
    let ready = condition(&node.status.conditions, "Ready");
    let ready = ready.filter(|ready| ready.status == ConditionStatus::False)?;
    let (object, said_by) = match ready.reason.as_str() {
        // a pod network that is down is pressure, too, for Longhorn, and has its own finding
        "KubernetesNodePressure"
            if nodes::pressure(cluster, name).is_none() && lacks_network(cluster, name) =>
        {
            return None;
        }
        "KubernetesNodePressure" | "UnknownNodeConditionTrue" => ("nodes.longhorn.io", ready),
        // it looks for its manager first, which may have been evicted (longhorn-manager v1.8.0 controller/node_controller.go)
        "ManagerPodDown" | "ManagerPodMissing" => ("node", nodes::pressure(cluster, name)?),
        _ => return None,
    };
    if !is_lasting(cluster, out, "pressure", name, said_by) {
        return None;
    }
    let which = nodes::pressure(cluster, name).map_or("pressure", |one| one.kind.as_str());
    let of_disk = which == "DiskPressure";
    let largest = largest(cluster, node).filter(|_| of_disk);
    let called = largest.map(|volume| cluster.volume_ref(&volume.metadata.name));
    Some(
        about(
            cluster,
            node,
            &causes::NODE_PRESSURE,
            format!("Longhorn cannot use node {name}: the kubelet reports {which}"),
        )
        .volumes(affected(cluster, name))
        .since(said_by.last_transition_time.get())
        .fact(said(&format!("{object} {name}"), said_by))
        .way(largest.map(|_| &causes::DISK_PRESSURE).or(of_disk.then_some(&causes::ROOT_FULL)))
        .with(Name::Value, largest.map(|volume| bytes(volume.status.actual_size.0)).unwrap_or_default())
        .with(Name::Volume, largest.map(|volume| volume.metadata.name.as_str()).unwrap_or_default())
        .with(Name::Claim, called.as_ref().map(|volume| volume.called()).unwrap_or_default()),
    )
}

/// The volume whose replica on the node takes the most, where that is a part of a disk that counts.
fn largest<'c>(cluster: &'c Cluster, node: &LonghornNode) -> Option<&'c Volume> {
    let there = cluster.objects.replicas.of(Owner::Node, &node.metadata.name);
    let volumes = there.filter_map(|replica| cluster.objects.volumes.get(&replica.spec.volume_name));
    let largest = volumes.max_by_key(|volume| volume.status.actual_size.0)?;
    let disk = node.status.disk_status.values().map(|disk| disk.storage_maximum.0).max()?;
    (largest.status.actual_size.0 > disk / 5).then_some(largest)
}

/// Whether a condition has held for longer than a reboot takes.
fn is_lasting(
    cluster: &Cluster,
    out: &mut Outcome,
    fact: &'static str,
    node: &str,
    condition: &Condition,
) -> bool {
    let begun = Begun::At(condition.last_transition_time.get());
    observe(cluster, out, fact, node, begun).at_least(NODE_AWAY, Unknown::Counts)
}

pub(super) fn said(object: &str, condition: &Condition) -> String {
    let status = condition.status.as_str();
    let reason =
        if condition.reason.is_empty() { String::new() } else { format!(", reason {}", condition.reason) };
    let message = match condition.message.trim() {
        "" => String::new(),
        message => format!(": \"{}\"", text::both_ends(message, 300)),
    };
    format!("{object}: condition {} is {status}{reason}{message}", condition.kind)
}
