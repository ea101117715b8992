//! Volumes that run, or whose data is left, although Longhorn has no object of them.
//!
//! Longhorn ends the processes of an engine or a replica before it lets go of its object (longhorn-manager v1.3.3 to v1.12.1
//! controller/instance_handler.go, finalizers of engine_controller.go and replica_controller.go). Processes without objects on one node are
//! those of volumes that were deleted while it was cut off. On several nodes at once they show that the objects themselves were lost: etcd
//! was restored from an older backup, or someone removed finalizers. What the volumes wrote is then in the processes' directories alone.

use std::collections::{BTreeMap, BTreeSet};

use super::{ROLLED_BACK, VANISHED};
use jiff::{SignedDuration, Timestamp};

use crate::check::*;
use crate::facts::age::{Begun, Unknown, observe};
use crate::facts::instance_managers::{InstanceManagers, Role};
use crate::facts::patience::APART;
use crate::facts::{text, volumes};
use crate::longhorn::Resource::*;
use crate::longhorn::{CsiAttachment, InstanceManager, InstanceManagerState, Orphan, Volume};

/// Nodes by volume.
pub type StrayVolumes<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

/// The nodes where processes of volumes run that Longhorn does not know, by volume: where both engine and replicas run, and on several nodes.
pub fn volumes(cluster: &Cluster) -> StrayVolumes<'_> {
    let known = [Volumes, Engines, Replicas].into_iter().all(|kind| cluster.knows_all(kind));
    let fleet = InstanceManagers::of(cluster);
    let mut running: BTreeMap<&str, (BTreeSet<&str>, BTreeSet<&str>)> = BTreeMap::new();
    let managers = cluster.objects.instance_managers.iter().filter(|_| known);
    let managers = managers.filter(|im| im.status.current_state == InstanceManagerState::Running);
    let strays =
        |im: &&InstanceManager| im.status.all_instances().any(|(name, _)| stray(cluster, name).is_some());
    for im in managers.filter(strays) {
        for held in fleet.holders(im) {
            let Some(volume) = stray(cluster, held.name) else { continue };
            let (engines, replicas) = running.entry(volume).or_default();
            let on = if held.role == Role::Engine { engines } else { replicas };
            on.insert(&im.spec.node_id);
        }
    }
    running.retain(|_, (engines, replicas)| !engines.is_empty() && !replicas.is_empty());
    let whole = running.into_iter().map(|(volume, (engines, replicas))| (volume, &engines | &replicas));
    let whole: BTreeMap<_, _> = whole.collect();
    let nodes: BTreeSet<&&str> = whole.values().flatten().collect();
    if nodes.len() < 2 { BTreeMap::new() } else { whole }
}

/// The volume of a process, where Longhorn has nothing of it (longhorn-manager v1.3.3 to v1.12.1 types/types.go GenerateEngineNameForVolume,
/// GenerateReplicaNameForVolume).
fn stray<'a>(cluster: &Cluster, process: &'a str) -> Option<&'a str> {
    let (volume, _) = process.rsplit_once("-e-").or_else(|| process.rsplit_once("-r-"))?;
    (!volumes::exists(cluster, volume)).then_some(volume)
}

/// Volumes of which nothing is left but directories that were orphaned at once, on all nodes or three: Longhorn deletes those of a volume
/// that is deleted, but for nodes that were away. A new installation finds those of the one before it.
pub fn vanished<'a>(
    cluster: &'a Cluster,
    lost: &BTreeMap<&str, Vec<&CsiAttachment>>,
) -> BTreeMap<&'a str, Vec<&'a Orphan>> {
    const OLD: SignedDuration = SignedDuration::from_hours(1);
    let known = [Volumes, Engines, Replicas].into_iter().all(|kind| cluster.knows_all(kind));
    let mut gone: BTreeMap<&str, Vec<&Orphan>> = BTreeMap::new();
    for orphan in cluster.objects.orphans.iter().filter(|_| known) {
        let node = cluster.objects.longhorn_nodes.get(&orphan.spec.node_id);
        let ages = node.and_then(|node| node.metadata.created()).zip(orphan.metadata.created());
        let late = ages.is_some_and(|(joined, found)| found.duration_since(joined) >= OLD);
        let data = orphan.spec.parameters.get("DataName").and_then(|name| name.rsplit_once('-'));
        let Some((volume, _)) = data.filter(|_| late) else { continue };
        if !volumes::exists(cluster, volume) && !lost.contains_key(volume) {
            gone.entry(volume).or_default().push(orphan);
        }
    }
    gone.retain(|_, orphans| nodes(orphans).len() > 1);
    let times: Vec<Timestamp> =
        gone.values().flatten().filter_map(|orphan| orphan.metadata.created()).collect();
    let at_once = times.iter().max().zip(times.iter().min());
    let at_once = at_once.is_some_and(|(last, first)| last.duration_since(*first) < APART);
    let all = cluster.objects.longhorn_nodes.len().clamp(2, 3);
    let everywhere: BTreeSet<_> = gone.values().flat_map(|orphans| nodes(orphans)).collect();
    if at_once && gone.len() > 1 && everywhere.len() >= all { gone } else { BTreeMap::new() }
}

/// Where its directories are.
fn nodes<'a>(orphans: &[&'a Orphan]) -> BTreeSet<&'a str> {
    orphans.iter().map(|orphan| orphan.spec.node_id.as_str()).collect()
}

pub fn find_vanished(cluster: &Cluster, out: &mut Outcome, gone: &BTreeMap<&str, Vec<&Orphan>>) {
    for (volume, orphans) in gone {
        let since = orphans.iter().filter_map(|orphan| orphan.metadata.created()).min();
        let age = observe(cluster, out, "vanished", volume, Begun::At(since));
        if !age.at_least(APART, Unknown::Waits) {
            continue;
        }
        let nodes = text::listed(&Vec::from_iter(nodes(orphans)));
        let message = format!("volume {volume} is missing, but its data is left in orphans");
        out.report(
            Finding::about(&ROLLED_BACK, cluster.object::<Volume>(volume), message)
                .way(Some(&VANISHED))
                .since(since)
                .impact("workloads that used the volume cannot start. Its data is intact until someone deletes the Orphans.")
                .fact(format!("the volume's replicas on {nodes} were orphaned at once, with those of other volumes"))
                .fact("etcd was probably restored from an older backup: Longhorn deletes a deleted volume's replicas with their data"),
        );
    }
}

pub fn run(cluster: &Cluster, out: &mut Outcome, running: &StrayVolumes) {
    for (volume, nodes) in running {
        let of_it = |orphan: &&Orphan| {
            let name = orphan.spec.parameters.get("InstanceName").map_or("", |name| name.as_str());
            name.strip_prefix(volume).is_some_and(|rest| rest.starts_with("-e-") || rest.starts_with("-r-"))
        };
        let orphans = cluster.objects.orphans.iter().filter(of_it);
        let since = orphans.filter_map(|orphan| orphan.metadata.created()).min();
        let age = observe(cluster, out, "rolled_back", volume, Begun::At(since));
        if !age.at_least(APART, Unknown::Waits) {
            continue;
        }
        out.report(
            Finding::about(
                &ROLLED_BACK,
                cluster.object::<Volume>(volume),
                format!("volume {volume} runs, but its Longhorn objects are missing"),
            )
            .since(age.since)
            .impact("Longhorn cannot attach, rebuild or back up the volume. Its data is intact, in directories that Longhorn calls orphaned.")
            .fact(format!("the engine and replicas run on {}, but have no Volume, Engine or Replica", text::listed(&Vec::from_iter(nodes))))
            .facts(since.map(|since| format!("Longhorn has reported the volume's processes as orphaned since {since}")))
            .fact("etcd was probably restored from an older backup: Longhorn ends a deleted volume's processes before its objects go"),
        );
    }
}
