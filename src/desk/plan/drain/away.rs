//! A node that is down or that Kubernetes no longer has: nothing is drained there. It may leave once every volume is well without it.

use std::collections::{BTreeMap, BTreeSet};

use super::super::{Found, Weight, held};
use super::data::{Homeless, staying, volumes_here};
use super::{Draining, Intent};
use crate::facts::nodes::{down, is_gone};
use crate::facts::text::listed;
use crate::facts::volumes::{is_healthy, is_leaving, was_never_up};
use crate::longhorn::{Owner, Replica, Volume, VolumeHealth, VolumeState};

pub fn is_down(draining: &Draining<'_>, out: &mut Found) {
    let Some(why) = down(draining.cluster, draining.node) else { return };
    let reason = out.say(format!("{} is down", draining.node)).fact(why.text);
    match draining.intent {
        Intent::Drain | Intent::Evict => reason,
        Intent::Reboot | Intent::Remove => reason.weight(Weight::Note).fix(""),
    };
}

/// The nodes that have the data of a volume, where none that stays has a copy to use: of a faulted volume also one that has failed
/// counts, as Longhorn can salvage it.
fn only_there<'a>(draining: &Draining<'a>, volume: &Volume) -> Option<BTreeSet<&'a str>> {
    let cluster = draining.cluster;
    let replicas = || cluster.replicas_of(&volume.metadata.name);
    let complete = |replica: &&Replica| replica.spec.healthy_at.is_set();
    let usable = |replica: &Replica| is_healthy(replica) || is_faulted(volume) && complete(&replica);
    let stays = |node: &str| !draining.together.contains(node) && down(cluster, node).is_none();
    if replicas().any(|replica| usable(replica) && stays(&replica.spec.node_id)) {
        return None;
    }
    let nodes: BTreeSet<&str> =
        replicas().filter(complete).map(|replica| replica.spec.node_id.as_str()).collect();
    Some(if nodes.is_empty() { BTreeSet::from([draining.node]) } else { nodes })
}

fn is_faulted(volume: &Volume) -> bool {
    volume.status.health() == VolumeHealth::Faulted
}

pub fn needs_it(draining: &Draining<'_>, out: &mut Found) {
    if draining.intent == Intent::Reboot {
        return;
    }
    let cluster = draining.cluster;
    let mut by_nodes: BTreeMap<BTreeSet<&str>, Vec<&Volume>> = BTreeMap::new();
    let mut faulted = Vec::new();
    for volume in volumes_here(draining, |volume| !was_never_up(cluster, volume)) {
        match only_there(draining, volume) {
            Some(nodes) => by_nodes.entry(nodes).or_default().push(volume),
            None if is_faulted(volume) => faulted.push(volume),
            None => {}
        }
    }
    let text = format!("is|are faulted, although a copy outside {} may be usable", draining.node);
    if let Some(reason) = out.volumes(cluster, &faulted, &text) {
        reason.fix("Recover these volumes first: `check` gives the fix for each faulted volume.");
    }
    for (nodes, volumes) in by_nodes {
        let nodes = listed(&nodes.into_iter().collect::<Vec<_>>());
        let reason = out.volumes(cluster, &volumes, &format!("has|have no usable copy except on {nodes}"));
        if let Some(reason) = reason.filter(|_| is_gone(cluster, draining.node)) {
            reason.fix(format!(
                "Find the disks of {nodes} and add them to other nodes: only they have the data of these volumes. If the disks are lost, restore the \
                 volumes from a backup first."
            ));
        }
    }
}

/// A detached volume is rebuilt only once it is attached, and waits for nothing.
pub fn rebuilt_without(draining: &Draining<'_>, out: &mut Found) {
    if draining.intent != Intent::Remove {
        return;
    }
    let cluster = draining.cluster;
    let waits = |volume: &Volume| {
        let copies = i64::try_from(staying(draining, &volume.metadata.name)).unwrap_or(i64::MAX);
        let fewer = copies < volume.spec.number_of_replicas.0;
        let lost = was_never_up(cluster, volume) || only_there(draining, volume).is_some();
        !lost && !is_faulted(volume) && fewer && !is_leaving(cluster, &volume.metadata.name)
    };
    let waiting = volumes_here(draining, waits);
    let node = draining.node;
    let homeless = Homeless::of(draining, &waiting);
    let waiting: Vec<&Volume> = waiting.into_iter().filter(|volume| !homeless.has(volume)).collect();
    let few = format!("has|have too few healthy copies without {node}");
    homeless.say(draining, out, &format!("{few}, and no disk can take another"));
    out.volumes(cluster, &waiting, &few);
}

pub fn still_attached(draining: &Draining<'_>, out: &mut Found) {
    if draining.intent != Intent::Remove {
        return;
    }
    // what `check` tells of has its advice there
    let told = draining.looked.found(&["attachment_on_dead_node"]).flat_map(|finding| &finding.volumes);
    let told: BTreeSet<&str> = told.map(|volume| volume.name.as_str()).collect();
    let there = |volume: &&Volume| {
        volume.status.current_node_id == *draining.node
            && volume.status.state != VolumeState::Detached
            && !told.contains(volume.metadata.name.as_str())
    };
    let volumes: Vec<&Volume> = draining.cluster.objects.volumes.iter().filter(there).collect();
    out.volumes(draining.cluster, &volumes, &format!("is|are still attached to {}", draining.node));
}

pub fn left_over(draining: &Draining<'_>, out: &mut Found) {
    let left = draining.cluster.objects.replicas.of(Owner::Node, draining.node).count();
    if left > 0 && draining.intent == Intent::Remove {
        out.say(held(left, "replica", &format!("is|are left on {}", draining.node)));
    }
}
