//! What the node holds that is nowhere else, and where its replicas could go.

use std::collections::{BTreeMap, BTreeSet};

use super::super::scheduler::Scheduler;
use super::super::{Found, Weight, held};
use super::{Draining, Intent};
use crate::check::{bytes, counted};
use crate::facts::backing_images::irreplaceable_on;
use crate::facts::nodes::{down, is_gone};
use crate::facts::placement::{Obstacle, nearest, refusals_without};
use crate::facts::text::listed;
use crate::facts::volumes::{attached_on, is_healthy, rebuild};
use crate::longhorn::{
    Backup, DataEngine, DataLocality, Owner, Release, Replica, Volume, VolumeHealth, VolumeState,
};

/// Policies that evict on their own came with these releases (longhorn-manager v1.5.4 controller/node_controller.go).
const EVICTS: &[Release] = &[Release::new(1, 5, 4)];

/// What Longhorn moves away on its own once the node is cordoned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moves {
    /// Every replica.
    All,
    /// Those that are the last healthy one.
    Last,
    /// Nothing.
    Nothing,
}

/// What leaves the node: because that is asked for, or by the policy.
pub fn moves(draining: &Draining<'_>) -> Moves {
    let evicts = draining.release.is_some_and(|release| release.has_fix(EVICTS));
    match draining.budgets.policy.as_str() {
        _ if draining.intent.empties() => Moves::All,
        "block-for-eviction" if evicts => Moves::All,
        "block-for-eviction-if-contains-last-replica" if evicts => Moves::Last,
        _ => Moves::Nothing,
    }
}

pub fn another_away(draining: &Draining<'_>, out: &mut Found) {
    for node in draining.cluster.objects.longhorn_nodes.iter() {
        let name = node.metadata.name.as_str();
        if draining.together.contains(name) {
            continue;
        }
        if let Some(why) = down(draining.cluster, name) {
            let (text, fix) = match is_gone(draining.cluster, name) {
                true => (
                    "was removed from Kubernetes but not from Longhorn",
                    format!(
                        "Finish the removal of {name} first: run longhorn-health-exporter plan drain {name} --remove."
                    ),
                ),
                false => {
                    ("is already down", format!("Bring {name} back and wait until its volumes are rebuilt."))
                }
            };
            let fix = format!("{fix} Then drain {}.", draining.node);
            out.say(format!("{name} {text}")).fact(why.text).fix(fix);
        }
    }
}

/// The replicas of the node, by volume.
fn here<'a>(draining: &Draining<'a>) -> BTreeMap<&'a str, Vec<&'a Replica>> {
    let mut by_volume: BTreeMap<&str, Vec<&Replica>> = BTreeMap::new();
    for replica in draining.cluster.objects.replicas.of(Owner::Node, draining.node) {
        by_volume.entry(&replica.spec.volume_name).or_default().push(replica);
    }
    by_volume
}

pub fn volumes_here<'a>(draining: &Draining<'a>, wanted: impl Fn(&Volume) -> bool) -> Vec<&'a Volume> {
    let volumes = here(draining).into_keys().filter_map(|name| draining.cluster.objects.volumes.get(name));
    volumes.filter(|volume| wanted(volume)).collect()
}

pub fn faulted(draining: &Draining<'_>, out: &mut Found) {
    let faulted = volumes_here(draining, |volume| volume.status.health() == VolumeHealth::Faulted);
    out.volumes(draining.cluster, &faulted, &format!("with a replica on {} is|are faulted", draining.node));
}

pub fn rebuilding(draining: &Draining<'_>, out: &mut Found) {
    let rebuilt = volumes_here(draining, |volume| {
        let attached = volume.status.state == VolumeState::Attached;
        attached && draining.cluster.engines_of(&volume.metadata.name).any(|engine| rebuild(engine).is_some())
    });
    let holds = format!("with a replica on {} is|are being rebuilt", draining.node);
    out.volumes(draining.cluster, &rebuilt, &holds);
}

/// A ticket of the backup controller keeps a volume attached until its backup ends.
pub fn backing_up(draining: &Draining<'_>, out: &mut Found) {
    let cluster = draining.cluster;
    let runs = |backup: &&Backup| backup.status.state.is_under_way();
    let running: BTreeSet<&str> =
        cluster.objects.backups.iter().filter(runs).map(|backup| backup.volume()).collect();
    let here = |volume: &&Volume| {
        attached_on(volume) == Some(draining.node) && running.contains(volume.metadata.name.as_str())
    };
    let volumes: Vec<&Volume> = cluster.objects.volumes.iter().filter(here).collect();
    out.volumes(cluster, &volumes, &format!("is|are being backed up while attached to {}", draining.node));
}

pub fn only_image(draining: &Draining<'_>, out: &mut Found) {
    if draining.intent != Intent::Remove {
        return;
    }
    let cluster = draining.cluster;
    let only = cluster.objects.backing_images.iter().filter(|image| {
        let nodes = irreplaceable_on(cluster, image);
        !nodes.is_empty() && nodes.iter().all(|node| draining.together.contains(*node))
    });
    let names: Vec<&str> = only.map(|image| image.metadata.name.as_str()).collect();
    if !names.is_empty() {
        let text = held(names.len(), "backing image", "has|have no ready copy elsewhere");
        out.say(format!("{text}: {}", listed(&names)));
    }
}

/// Healthy replicas of a volume that stay: on nodes that neither leave nor are down.
pub fn staying(draining: &Draining<'_>, volume: &str) -> usize {
    let stays = |replica: &&Replica| {
        let node = replica.spec.node_id.as_str();
        is_healthy(replica) && !draining.together.contains(node) && down(draining.cluster, node).is_none()
    };
    draining.cluster.replicas_of(volume).filter(stays).count()
}

/// Volumes whose healthy copies are all on nodes that leave, this one among them.
pub fn alone<'a>(draining: &Draining<'a>) -> Vec<&'a Volume> {
    let volumes = &draining.cluster.objects.volumes;
    let last = |(name, replicas): (&'a str, Vec<&'a Replica>)| {
        let healthy_here = replicas.iter().any(|replica| is_healthy(replica));
        (healthy_here && staying(draining, name) == 0).then(|| volumes.get(name)).flatten()
    };
    here(draining).into_iter().filter_map(last).collect()
}

/// The policy is made for that: the copy is stopped, and comes back with the node.
fn is_let_go(draining: &Draining<'_>, volume: &Volume) -> bool {
    let detached = volume.status.state == VolumeState::Detached;
    let policy = draining.budgets.policy == "allow-if-replica-is-stopped";
    detached && policy && !draining.intent.empties()
}

pub fn last_copy(draining: &Draining<'_>, out: &mut Found) {
    let (let_go, alone): (Vec<&Volume>, Vec<&Volume>) =
        alone(draining).into_iter().partition(|volume| is_let_go(draining, volume));
    if !let_go.is_empty() {
        let text = held(
            let_go.len(),
            "detached volume",
            &format!("has|have its|their last healthy copy on {}", draining.node),
        );
        let reason = out.note(text).volumes(draining.cluster, &let_go).fix("");
        reason.fact(
            "node-drain-policy allow-if-replica-is-stopped allows the drain, but the data stays unavailable until the node is back",
        );
    }
    if alone.is_empty() {
        return;
    }
    let moved = moves(draining) != Moves::Nothing;
    let strict = |volume: &&Volume| volume.spec.data_locality == DataLocality::StrictLocal;
    let single = alone.iter().filter(|volume| volume.spec.number_of_replicas.0 == 1).count();
    let strict: Vec<&str> =
        alone.iter().copied().filter(strict).map(|volume| volume.metadata.name.as_str()).collect();
    let holds = format!("has|have its|their last healthy copy on {}", draining.node);
    let text = held(alone.len(), "volume", &holds);
    let reason = if moved { out.note(text) } else { out.say(text) };
    reason.volumes(draining.cluster, &alone);
    if single > 0 {
        reason.fact(held(single, "volume", "has|have numberOfReplicas 1"));
    }
    if moved {
        reason.fix(match draining.intent.empties() {
            true => "Request the node's eviction: Longhorn then copies its replicas to other nodes.",
            false => {
                "Drain the node: Longhorn copies these replicas to other nodes before the drain finishes."
            }
        });
    } else if draining.are_all() {
        reason.fix(
            "Back up these volumes: no other node can take a copy. Then set node-drain-policy to allow-if-replica-is-stopped, \
             and run this plan with --accept last_copy. The data is unavailable until the node is back.",
        );
    } else if draining.intent == Intent::Reboot || draining.budgets.lets_all_go() {
        reason.fact("the volumes keep their data but are unavailable until the node is back");
    }
    if !strict.is_empty() && !moved {
        let names = listed(&strict);
        reason.fact(format!("strict-local volumes have exactly one replica ({names})"));
        reason.fix(
            "Scale these volumes' workloads down, and set node-drain-policy to allow-if-replica-is-stopped: the data is \
             unavailable until the node is back. To avoid that, first set dataLocality to disabled and numberOfReplicas to 2.",
        );
    }
    if !strict.is_empty() && moved {
        reason.weight(Weight::NotYet);
        let names = listed(&strict);
        reason.fact(format!("Longhorn cannot move attached strict-local volumes ({names})"));
        reason.fix("Detach the strict-local volumes. Then set their dataLocality to disabled and give them a second replica.");
    }
}

pub fn degrades(draining: &Draining<'_>, out: &mut Found) {
    if moves(draining) == Moves::All {
        return;
    }
    let volumes = &draining.cluster.objects.volumes;
    let mut degraded: Vec<&Volume> = Vec::new();
    let mut one_left = 0;
    for (name, replicas) in here(draining) {
        let stay = staying(draining, name);
        let healthy_here = replicas.iter().any(|replica| is_healthy(replica));
        let Some(volume) = volumes.get(name).filter(|_| healthy_here && stay > 0) else { continue };
        if volume.status.health() == VolumeHealth::Healthy {
            degraded.push(volume);
            one_left += usize::from(stay == 1);
        }
    }
    if degraded.is_empty() {
        return;
    }
    let wait = draining.cluster.setting_value("replica-replenishment-wait-interval", DataEngine::V1);
    let wait = if wait.is_empty() { "600".to_owned() } else { wait };
    let text =
        format!("{} will be degraded while {} is down", counted(degraded.len(), "volume"), draining.node);
    let reason = out.say(text);
    reason.fact(format!(
        "after {wait} s (replica-replenishment-wait-interval), Longhorn rebuilds these volumes on other nodes"
    ));
    if one_left > 0 {
        reason.fact(format!(
            "{} only one healthy copy until rebuilt",
            if one_left == 1 {
                "1 of these volumes has".to_owned()
            } else {
                format!("{one_left} of these volumes have")
            }
        ));
    }
    reason.volumes(draining.cluster, &degraded);
}

/// Volumes for a replica of which no disk is left, and why.
#[derive(Debug)]
pub struct Homeless<'a> {
    volumes: Vec<&'a Volume>,
    why: BTreeSet<String>,
    /// Whether every other node already has a replica.
    apart: bool,
}

impl<'a> Homeless<'a> {
    pub fn of(draining: &Draining<'_>, wanted: &[&'a Volume]) -> Self {
        let leaves = |node: &str| draining.together.contains(node);
        let mut homeless = Homeless { volumes: Vec::new(), why: BTreeSet::new(), apart: true };
        for volume in wanted.iter().copied() {
            if let Some(refusals) = refusals_without(draining.cluster, volume, leaves) {
                let near = nearest(&refusals);
                homeless.apart &= near == Some(Obstacle::AntiAffinity);
                let nearest = refusals.into_iter().find(|refusal| Some(refusal.obstacle) == near);
                homeless.why.extend(nearest.map(|refusal| refusal.text));
                homeless.volumes.push(volume);
            }
        }
        homeless
    }

    pub fn has(&self, volume: &Volume) -> bool {
        self.volumes.iter().any(|one| one.metadata.name == volume.metadata.name)
    }

    /// Says it, if there are any, with what to do: as the condition says, unless the other nodes have a replica each.
    pub fn say(&self, draining: &Draining<'_>, out: &mut Found, holds: &str) -> bool {
        let Some(reason) = out.volumes(draining.cluster, &self.volumes, holds) else { return false };
        if self.apart {
            reason.fix("Add a node, or lower these volumes' numberOfReplicas: every other node already has a replica of them.");
        }
        self.why.iter().take(3).for_each(|text| {
            reason.fact(text.as_str());
        });
        true
    }
}

/// Each volume on its own, and all of them by the room that is left.
pub fn no_place(draining: &Draining<'_>, out: &mut Found) {
    let wanted: Vec<&Volume> = match moves(draining) {
        Moves::Nothing => return,
        Moves::Last => alone(draining),
        Moves::All => {
            here(draining).keys().filter_map(|name| draining.cluster.objects.volumes.get(name)).collect()
        }
    };
    let homeless = Homeless::of(draining, &wanted);
    if homeless.say(
        draining,
        out,
        &format!("has|have a replica on {} that no other node or disk can take", draining.node),
    ) {
        return;
    }
    let needed: i64 = wanted.iter().map(|volume| volume.spec.size.0).fold(0, i64::saturating_add);
    let room = Scheduler::without(draining.cluster, draining.together.clone()).room_for(wanted);
    if needed > room {
        let text = format!(
            "{} of replicas must move, but the other disks have room for only {}",
            bytes(needed),
            bytes(room)
        );
        out.say(text);
    }
}
