//! The PodDisruptionBudgets of instance managers: what keeps them, and what kubectl drain makes of that.

use std::collections::BTreeSet;

use super::super::{Found, held, reuse};
use super::data::{Moves, moves};
use super::{Draining, REUSED};
use crate::check::counted;
use crate::facts::drain::Blocker;
use crate::facts::nodes::manager_not_ready;
use crate::facts::text::listed;
use crate::longhorn::{InstanceManager, InstanceManagerState, Pod, Replica, Volume, VolumeState};

pub fn stays(draining: &Draining<'_>, out: &mut Found) {
    // what leaves holds no budget any more
    if moves(draining) == Moves::All {
        return;
    }
    let cluster = draining.cluster;
    // what keeps them is the same for all of a node
    let mut budgets = Vec::new();
    let mut replicas: Vec<&Replica> = Vec::new();
    for manager in draining.budgets.managers_of(draining.node).filter(|manager| kept(draining, manager)) {
        if let Blocker::Unprotected(alone) = draining.budgets.blocker_once_detached(manager) {
            budgets.push(manager.metadata.name.as_str());
            replicas = alone;
        }
    }
    if budgets.is_empty() {
        return;
    }
    let mut names: Vec<&str> = replicas.iter().map(|replica| replica.spec.volume_name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let volumes: Vec<&Volume> = names.iter().filter_map(|name| cluster.objects.volumes.get(name)).collect();
    let text = format!(
        "{} the drain of {} to protect {} (node-drain-policy {})",
        held(budgets.len(), "PodDisruptionBudget", "blocks|block"),
        draining.node,
        counted(replicas.len(), "replica"),
        draining.budgets.policy
    );
    let replicas: Vec<&str> = replicas.iter().map(|replica| replica.metadata.name.as_str()).collect();
    let reason = match moves(draining) {
        Moves::Last => out.note(text).fix(
            "Drain the node: once it is cordoned, Longhorn copies these replicas to other nodes, and the drain waits for that.",
        ),
        _ if draining.are_all() => out.say(text).fix(
            "Set node-drain-policy to allow-if-replica-is-stopped: no other node can take these replicas. The drain then only waits until the \
             volumes are detached.",
        ),
        _ => out.say(text),
    };
    reason
        .fact(format!("blocked by {}", listed(&budgets)))
        .fact(format!("no other node with a PodDisruptionBudget has a healthy copy of {}", listed(&replicas)))
        .volumes(cluster, &volumes);
}

/// Detached volumes of which a copy is on a node that is no more: no budget of the nodes with their other copies goes.
pub fn unknown_node(draining: &Draining<'_>, out: &mut Found) {
    if moves(draining) == Moves::All {
        return;
    }
    let cluster = draining.cluster;
    let mut lost = Vec::new();
    for manager in draining.budgets.managers_of(draining.node).filter(|manager| kept(draining, manager)) {
        if let Blocker::OnUnknownNode(replicas) = draining.budgets.blocker_once_detached(manager) {
            lost = replicas;
        }
    }
    let nodes: BTreeSet<&str> = lost.iter().map(|replica| replica.spec.node_id.as_str()).collect();
    let names: BTreeSet<&str> = lost.iter().map(|replica| replica.spec.volume_name.as_str()).collect();
    let volumes: Vec<&Volume> = names.iter().filter_map(|name| cluster.objects.volumes.get(name)).collect();
    let nodes = listed(&nodes.into_iter().collect::<Vec<_>>());
    let holds = format!("has|have a copy on {nodes}, which is missing from Kubernetes");
    if let Some(reason) = out.volumes(cluster, &volumes, &holds) {
        let replicas: BTreeSet<&str> = lost.iter().map(|replica| replica.metadata.name.as_str()).collect();
        let replicas = listed(&replicas.into_iter().collect::<Vec<_>>());
        reason.fact(format!(
            "Longhorn cannot check {replicas}, so it keeps every PodDisruptionBudget on {}",
            draining.node
        ));
    }
}

pub fn engine_left_over(draining: &Draining<'_>, out: &mut Found) {
    let left = draining.budgets.left_over_engines(draining.node);
    let Some((manager, _)) = left.first() else { return };
    let names: Vec<&str> = left.iter().map(|(_, name)| *name).collect();
    let text =
        held(left.len(), "leftover engine process", &format!("is|are still running on {}", draining.node));
    out.say(text)
        .fact(format!("no Engine on {} owns process {} in {}", draining.node, listed(&names), manager.metadata.name))
        .fact("Longhorn counts the process as an attached volume, so it keeps every PodDisruptionBudget on the node");
}

/// While a volume is attached anywhere, one pod of each of these Deployments must stay, and with one replica no other takes its place.
pub fn csi(draining: &Draining<'_>, out: &mut Found) {
    let cluster = draining.cluster;
    let in_use = cluster.objects.volumes.iter().any(|volume| volume.status.state != VolumeState::Detached);
    for name in ["csi-attacher", "csi-provisioner"] {
        let its = |pod: &&Pod| pod.metadata.label("app") == Some(name) && pod.is_ready();
        let mut ready = cluster.objects.pods.iter().filter(its);
        let (Some(pod), None) = (ready.next(), ready.next()) else { continue };
        let here = pod.spec.node_name == *draining.node;
        if here && in_use && cluster.objects.pod_disruption_budgets.get(name).is_some() {
            out.say(format!(
                "PodDisruptionBudget {name} blocks the drain of {}: no other pod of {name} is Ready",
                draining.node
            ))
            .fact(format!("the only Ready pod is {}", pod.metadata.name));
        }
    }
}

/// Only running instance managers: of others Longhorn leaves the budget alone, and their pods are gone.
fn kept(draining: &Draining<'_>, manager: &InstanceManager) -> bool {
    let runs = manager.status.current_state == InstanceManagerState::Running;
    runs && draining.cluster.objects.pod_disruption_budgets.get(&manager.metadata.name).is_some()
}

/// The manager of the node owns its instance managers, and with them their budgets.
pub fn manager_away(draining: &Draining<'_>, out: &mut Found) {
    if manager_not_ready(draining.cluster, draining.node).is_none() {
        return;
    }
    match draining.cluster.manager_pod_on(draining.node) {
        Some(pod) => out
            .say(format!("longhorn-manager on {} is not Ready", draining.node))
            .fact(format!("the manager pod is {}", pod.metadata.name)),
        None => out.say(format!("node {} has no longhorn-manager pod", draining.node)),
    };
}

pub fn unwell(draining: &Draining<'_>, out: &mut Found) {
    let about = |finding: &&crate::check::Finding| finding.node.as_deref() == Some(draining.node);
    // an eviction of a node that is down cannot advance, and needs no other word
    let checks = if draining.is_down() { &["attachment_on_dead_node"] } else { REUSED };
    draining.looked.found(checks).filter(about).for_each(|finding| reuse(out, finding));
    if out.reasons.is_empty() {
        draining.looked.untold(checks, out);
    }
}

pub fn how(draining: &Draining<'_>, out: &mut Found) {
    let attached = |volume: &&Volume| volume.status.current_node_id == draining.node;
    let attached = draining.cluster.objects.volumes.iter().filter(attached).count();
    let policy = draining.budgets.policy.as_str();
    let does = match policy {
        "always-allow" => "never blocks a drain, even if the node holds a volume's last healthy copy",
        "allow-if-replica-is-stopped" => {
            "does not block a drain for replicas of detached volumes, even if one is a volume's last healthy copy"
        }
        "block-for-eviction" => "blocks the drain until it has copied every replica to other nodes",
        "block-for-eviction-if-contains-last-replica" => {
            "blocks the drain until it has copied each replica that is its volume's last healthy copy to another node"
        }
        _ => "blocks a drain while the node holds a volume's last healthy copy",
    };
    let pods = match attached {
        0 => "no pod on the node uses a Longhorn volume".to_owned(),
        _ => format!("the drain evicts the pods that use {} attached here", counted(attached, "volume")),
    };
    out.say(format!("{pods}. With node-drain-policy {policy}, Longhorn {does}"));
}
