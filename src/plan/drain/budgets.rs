//! The PodDisruptionBudgets of instance managers: what keeps them, and what kubectl drain makes of that.

use super::super::{Found, reuse};
use super::data::{Moves, moves};
use super::{Draining, REUSED};
use crate::check::counted;
use crate::facts::drain::Blocker;
use crate::facts::text::listed;
use crate::longhorn::{InstanceManagerState, Replica, Volume};

/// Only running instance managers: of others Longhorn leaves the budget alone, and their pods are gone.
pub fn stays(draining: &Draining<'_>, out: &mut Found) {
    // what leaves holds no budget any more
    if moves(draining) == Moves::All {
        return;
    }
    let cluster = draining.cluster;
    for manager in draining.budgets.managers_of(draining.node) {
        let name = manager.metadata.name.as_str();
        let runs = manager.status.current_state == InstanceManagerState::Running;
        if !runs || cluster.objects.pod_disruption_budgets.get(name).is_none() {
            continue;
        }
        let Blocker::Unprotected(replicas) = draining.budgets.blocker_once_detached(manager) else {
            continue;
        };
        let mut names: Vec<&str> =
            replicas.iter().map(|replica: &&Replica| replica.spec.volume_name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        let volumes: Vec<&Volume> =
            names.iter().filter_map(|name| cluster.objects.volumes.get(name)).collect();
        let text = format!(
            "PodDisruptionBudget {name} stays, by node-drain-policy {}: {} without a healthy copy that another budget protects",
            draining.budgets.policy,
            counted(replicas.len(), "replica")
        );
        let replicas: Vec<&str> = replicas.iter().map(|replica| replica.metadata.name.as_str()).collect();
        let fact = format!("replicas {}", listed(&replicas));
        match moves(draining) {
            Moves::Last => out.note(text).fact(fact).fix("Longhorn copies them to other nodes when the node is cordoned, and the drain waits for that."),
            _ => out.say(text).fact(fact),
        }
        .volumes(cluster, &volumes);
    }
}

pub fn unwell(draining: &Draining<'_>, out: &mut Found) {
    let about = |finding: &&crate::check::Finding| finding.node.as_deref() == Some(draining.node);
    draining.looked.found(REUSED).filter(about).for_each(|finding| reuse(out, finding));
}

pub fn how(draining: &Draining<'_>, out: &mut Found) {
    let attached = |volume: &&Volume| volume.status.current_node_id == draining.node;
    let attached = draining.cluster.objects.volumes.iter().filter(attached).count();
    let policy = draining.budgets.policy.as_str();
    let does = match policy {
        "always-allow" => "lets the drain through, whatever is on the node",
        "allow-if-replica-is-stopped" => "lets replicas of detached volumes go, the last copy too",
        "block-for-eviction" => {
            "copies every replica elsewhere first, and holds the drain until that is done"
        }
        "block-for-eviction-if-contains-last-replica" => {
            "copies last copies elsewhere first, and holds the drain until that is done"
        }
        _ => "holds the drain while the last healthy copy of a volume is on the node",
    };
    out.say(format!(
        "kubectl drain evicts the pods that use {}; then Longhorn removes the budgets of the node's instance managers. node-drain-policy {policy} {does}",
        counted(attached, "attached volume")
    ));
}
