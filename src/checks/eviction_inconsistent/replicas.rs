//! Replicas that are asked to leave against the facts.

use super::causes;
use std::collections::{BTreeMap, BTreeSet};

use super::{Candidate, Reporter};
use crate::check::*;
use crate::facts::eviction::*;
use crate::facts::nodes::{is_cordoned, is_down, manager_not_ready};
use crate::facts::{text, volumes as of_volume};
use crate::longhorn::{
    ConditionStatus, DataEngine, InstanceState, Release, Replica, ReplicaMode, Resource, VolumeState, status,
};

/// Attachment tickets, and with them the eviction of detached volumes by ticket, came with 1.5.
const TICKETS: Release = Release::new(1, 5, 0);
const TICKET: &str = "volume-eviction-controller";

pub fn look(cluster: &Cluster, found: &mut Reporter) {
    let release = cluster.release();
    let mut leaving: BTreeMap<&str, Vec<&Replica>> = BTreeMap::new();
    for replica in cluster.objects.replicas.iter().filter(|replica| is_flagged(replica, release)) {
        found.extend(stale_flag(cluster, replica));
        leaving.entry(&replica.spec.volume_name).or_default().push(replica);
    }
    // where another replica of the disk is being copied, this one waits for its turn (concurrent-replica-rebuild-per-node-limit)
    let is_copied =
        |volume: &str| cluster.engines_of(volume).any(|engine| of_volume::rebuild(engine).is_some());
    let advances: BTreeSet<&str> = leaving
        .iter()
        .filter(|(volume, _)| is_copied(volume))
        .flat_map(|(_, replicas)| replicas.iter().map(|replica| replica.spec.disk_id.as_str()))
        .collect();
    for (volume, replicas) in leaving {
        found.extend(not_attached(cluster, release, volume, &replicas));
        if !replicas.iter().any(|replica| advances.contains(replica.spec.disk_id.as_str())) {
            found.extend(last_good(cluster, volume, &replicas));
        }
    }
}

fn object(cluster: &Cluster, replica: &Replica) -> ObjectRef {
    cluster.object::<Replica>(&replica.metadata.name)
}

fn disk_name<'a>(cluster: &'a Cluster, replica: &'a Replica) -> &'a str {
    cluster.disk(&replica.spec.disk_id).map_or(replica.spec.disk_id.as_str(), |disk| disk.name)
}

/// longhorn-manager v1.12.1 controller/node_controller.go syncReplicaEvictionRequested resets the flag
/// only for replicas in `scheduledReplica`, and only while the manager of the node runs.
fn stale_flag(cluster: &Cluster, replica: &Replica) -> Option<Candidate> {
    let name = replica.spec.node_id.as_str();
    if name.is_empty() {
        return None;
    }
    let node = cluster.objects.longhorn_nodes.get(name);
    if node.is_none() && !cluster.decoded_all(Resource::LonghornNodes) {
        return None;
    }
    let disk = cluster.disk(&replica.spec.disk_id);
    let requested = node.is_some_and(|node| match disk {
        Some(disk) => is_disk_requested(node, disk.spec),
        None => is_requested(node), // the disk is unknown: any request may be the one
    });
    let drained = node.is_some_and(|node| node.status.auto_evicting)
        && (!cluster.can_read(Resource::KubeNodes) || is_cordoned(cluster, name));
    if requested || drained || automatic_request(cluster, name).is_some() {
        return None;
    }
    let not_ready =
        disk.is_some_and(|disk| status(&disk.status.conditions, "Ready") != ConditionStatus::True);
    let in_spec = replica.spec.eviction_requested;
    let reset = if in_spec { replica.metadata.name.as_str() } else { "" };
    Some(
        Candidate::new(
            &causes::STALE_REPLICA_FLAG,
            object(cluster, replica),
            format!("a replica on {name} still has evictionRequested, although its eviction was cancelled"),
        )
        .at(name, disk_name(cluster, replica))
        .volumes(volumes(cluster, &[replica]))
        .fact(format!(
            "the replica's {}.evictionRequested is true, although its node, its disk and a drain do not request eviction",
            if in_spec { "spec" } else { "status" }
        ))
        .maybe(node.is_none().then(|| format!("nodes.longhorn.io {name} does not exist")))
        .maybe(not_ready.then(|| "the disk is not ready, so Longhorn does not check the replicas on it".to_owned()))
        .maybe(manager_not_ready(cluster, name))
        .impact("Longhorn keeps moving the replica, so it is rebuilt for no reason")
        .with(Name::Replica, reset),
    )
}

/// longhorn-manager v1.12.1 controller/volume_eviction_controller.go reconcile: no ticket unless
/// every replica of the volume has a candidate disk.
fn not_attached(
    cluster: &Cluster,
    release: Option<Release>,
    volume: &str,
    replicas: &[&Replica],
) -> Option<Candidate> {
    let replica = *replicas.first()?;
    let object_of_volume = cluster.objects.volumes.get(volume)?;
    let attachment = cluster.objects.volume_attachments.get(volume)?;
    let has_ticket = attachment.spec.attachment_tickets.values().any(|ticket| ticket.kind == TICKET)
        || attachment.spec.attachment_tickets.keys().any(|id| id.starts_with(TICKET));
    let down = cluster.objects.longhorn_nodes.get(&replica.spec.node_id).is_some_and(is_down);
    if object_of_volume.status.state != VolumeState::Detached
        || has_ticket
        || down
        || release.is_some_and(|release| release < TICKETS)
    {
        return None;
    }
    Some(
        Candidate::new(
            &causes::NO_CANDIDATE_DISK,
            object(cluster, replica),
            format!("a replica of {} cannot be evicted: no other disk can take it", claim(cluster, volume)),
        )
        .at(&replica.spec.node_id, disk_name(cluster, replica))
        .volumes(volumes(cluster, replicas))
        .fact(format!("volume {volume} is detached, and its VolumeAttachment has no ticket from {TICKET}"))
        .fact(
            "Longhorn creates the ticket, which attaches the volume, only once the scheduler has a disk for every replica",
        )
        .maybe(manager_not_ready(cluster, &object_of_volume.status.owner_id))
        .impact("the replica stays on the disk, so the node or disk never becomes empty"),
    )
}

/// longhorn-manager v1.12.1 controller/volume_controller.go cleanupEvictionRequestedReplicas keeps the
/// last healthy replica.
fn last_good(cluster: &Cluster, volume: &str, replicas: &[&Replica]) -> Option<Candidate> {
    let running = |engine: &&crate::longhorn::Engine| engine.status.current_state == InstanceState::Running;
    let engine = cluster.engines_of(volume).filter(running).find(|engine| engine.spec.active)?;
    let modes = &engine.status.replica_mode_map;
    let mut good = modes.iter().filter(|(_, mode)| **mode == ReplicaMode::ReadWrite);
    let (last, more) = (good.next()?.0, good.next());
    let rebuilding = modes.values().any(|mode| *mode == ReplicaMode::WriteOnly);
    let unplaced = cluster.replicas_of(volume).any(|replica| replica.spec.node_id.is_empty());
    if more.is_some() || rebuilding || unplaced {
        return None; // an unplaced replica is named by eviction_stalled
    }
    let replica = *replicas.iter().find(|replica| replica.metadata.name == *last)?;
    let limit = cluster.setting_value("concurrent-replica-rebuild-per-node-limit", DataEngine::V1);
    let conditions = cluster.objects.volumes.get(volume).map(|volume| volume.status.conditions.as_slice());
    let restoring = status(conditions.unwrap_or_default(), "Restore") == ConditionStatus::True;
    Some(
        Candidate::new(
            &causes::LAST_RW_REPLICA,
            object(cluster, replica),
            format!("eviction is requested for the only healthy replica of {}", claim(cluster, volume)),
        )
        .at(&replica.spec.node_id, disk_name(cluster, replica))
        .volumes(volumes(cluster, replicas))
        .fact(format!(
            "engine {}: replicaModeMap has 1 RW replica ({last}) and no WO replica",
            engine.metadata.name
        ))
        .maybe((limit == "0").then(|| {
            "setting concurrent-replica-rebuild-per-node-limit is 0, which disables rebuilding".to_owned()
        }))
        .maybe(strict_local(cluster, [volume].into_iter()))
        .maybe(restoring.then(|| {
            format!("volume {volume} is being restored, and missing replicas can be rebuilt only afterwards")
        }))
        .impact("eviction cannot end, and losing this node or disk loses the volume's data"),
    )
}

/// A volume in a headline: its claim, where one is bound.
fn claim(cluster: &Cluster, volume: &str) -> String {
    text::claims_of(&[cluster.volume_ref(volume)])
}
