//! A node that is down or that Kubernetes no longer has: nothing is drained there. It may leave once every volume is well without it.

use super::super::{Found, Weight, held};
use super::data::{staying, volumes_here};
use super::{Draining, Intent};
use crate::facts::nodes::down;
use crate::facts::volumes::{is_leaving, was_never_up};
use crate::longhorn::{Owner, Volume, VolumeHealth, VolumeState};

pub fn is_down(draining: &Draining<'_>, out: &mut Found) {
    let Some(why) = down(draining.cluster, draining.node) else { return };
    let reason = out.say(format!("{} is down", draining.node)).fact(why.text);
    match draining.intent {
        Intent::Drain | Intent::Evict => reason,
        Intent::Reboot | Intent::Remove => reason.weight(Weight::Note).fix(""),
    };
}

/// What of the data on the node is nowhere else.
fn only_there(draining: &Draining<'_>, volume: &Volume) -> bool {
    let faulted = volume.status.health() == VolumeHealth::Faulted;
    let unused = was_never_up(draining.cluster, volume);
    !unused && (faulted || staying(draining, &volume.metadata.name) == 0)
}

pub fn needs_it(draining: &Draining<'_>, out: &mut Found) {
    if draining.intent == Intent::Reboot {
        return;
    }
    let volumes = volumes_here(draining, |volume| only_there(draining, volume));
    out.volumes(draining.cluster, &volumes, &format!("has|have no healthy copy except on {}", draining.node));
}

/// A detached volume is rebuilt only once it is attached, and waits for nothing.
pub fn rebuilt_without(draining: &Draining<'_>, out: &mut Found) {
    if draining.intent != Intent::Remove {
        return;
    }
    let waits = |volume: &Volume| {
        let copies = i64::try_from(staying(draining, &volume.metadata.name)).unwrap_or(i64::MAX);
        let fewer = copies < volume.spec.number_of_replicas.0;
        !only_there(draining, volume) && fewer && !is_leaving(draining.cluster, &volume.metadata.name)
    };
    let volumes = volumes_here(draining, waits);
    out.volumes(
        draining.cluster,
        &volumes,
        &format!("has|have too few healthy copies without {}", draining.node),
    );
}

pub fn still_attached(draining: &Draining<'_>, out: &mut Found) {
    if draining.intent != Intent::Remove {
        return;
    }
    let there = |volume: &&Volume| {
        volume.status.current_node_id == *draining.node && volume.status.state != VolumeState::Detached
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
