//! How volumes and their replicas are, as Longhorn itself counts them.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::releases::manager_release;
use crate::check::ObjectRef;
use crate::cluster::{Cluster, Readability};
use crate::longhorn::{
    ConditionStatus, CsiAttachment, Engine, InstanceState, LonghornNode, Orphan, Owner, Pod, Replica,
    ReplicaMode, Resource, ShareManagerState, Volume, VolumeRobustness, VolumeState, condition, status,
};

/// The volume as the object of a finding.
pub fn object(cluster: &Cluster, volume: &Volume) -> ObjectRef {
    cluster.object::<Volume>(&volume.metadata.name)
}

/// Namespace and name of the claim as label values, both empty where none is bound.
pub fn claim(volume: &Volume) -> [&str; 2] {
    volume.claim().unwrap_or_default()
}

/// When a backup of a volume was last restored into a volume that still exists, and that volume, by the volume that was backed up. Longhorn
/// sets condition Restore to False when it detaches the volume after the restore, with a reason only where that failed, and never to
/// True again (longhorn-manager v1.4.4 to v1.12.1 controller/volume_controller.go closeVolumeDependentResources). A standby volume is
/// still being restored. Where the restored volume was deleted, nothing shows the restore.
pub fn restores(cluster: &Cluster) -> BTreeMap<&str, (Timestamp, &str)> {
    let mut restores: BTreeMap<&str, (Timestamp, &str)> = BTreeMap::new();
    for volume in cluster.objects.volumes.iter() {
        let status = &volume.status;
        let mut parts = volume.spec.from_backup.split(['?', '&']);
        let Some(source) = parts.find_map(|part| part.strip_prefix("volume=")) else { continue };
        let done = condition(&status.conditions, "Restore")
            .filter(|one| one.status == ConditionStatus::False && one.reason.is_empty());
        let at = done.and_then(|one| one.last_transition_time.get());
        if let Some(at) = at.filter(|_| !status.restore_required && !status.is_standby) {
            let newest = restores.entry(source).or_insert((at, &volume.metadata.name));
            *newest = (*newest).max((at, &volume.metadata.name));
        }
    }
    restores
}

/// Labels of a series about a volume: its name and its claim.
pub fn labels(volume: &Volume) -> [&str; 3] {
    let [namespace, name] = claim(volume);
    [&volume.metadata.name, namespace, name]
}

/// Whether Longhorn has anything of a volume: itself, an engine or a replica.
pub fn exists(cluster: &Cluster, volume: &str) -> bool {
    cluster.objects.volumes.get(volume).is_some()
        || cluster.engines_of(volume).next().is_some()
        || cluster.replicas_of(volume).next().is_some()
}

/// Volumes that Kubernetes wants attached and of which Longhorn says that there are none, nor has an engine or replica: with what wants
/// them (longhorn-manager v1.3.3 to v1.12.1 csi/controller_server.go ControllerPublishVolume).
pub fn lost(cluster: &Cluster) -> BTreeMap<&str, Vec<&CsiAttachment>> {
    let mut lost: BTreeMap<&str, Vec<&CsiAttachment>> = BTreeMap::new();
    let complete = cluster.readability(Resource::Volumes) == Readability::Readable;
    if !complete || !cluster.knows_all(Resource::Volumes) {
        return lost;
    }
    let waiting = |csi: &&CsiAttachment| !csi.status.attached && !csi.metadata.is_deleting();
    for csi in cluster.objects.csi_attachments.iter().filter(waiting) {
        let said = csi.status.attach_error.message.split_once("code = NotFound desc = volume ");
        let Some((name, _)) = said.and_then(|(_, rest)| rest.split_once(" not found")) else { continue };
        if !exists(cluster, name) {
            lost.entry(name).or_default().push(csi);
        }
    }
    lost
}

/// The volume that an attachment of Kubernetes is for; without one, the name of its PersistentVolume, which is mostly the same.
pub fn of_attachment<'a>(cluster: &'a Cluster, attachment: &'a CsiAttachment) -> &'a str {
    let pv = attachment.spec.source.persistent_volume_name.as_str();
    let volume = cluster.objects.volumes.of(Owner::PersistentVolume, pv).last();
    volume.map_or(pv, |volume| volume.metadata.name.as_str())
}

/// True where an orphan is the directory of a replica of this volume: its name, and eight digits.
pub fn is_of(orphan: &Orphan, volume: &str) -> bool {
    let rest = orphan.spec.parameters.get("DataName").and_then(|name| name.strip_prefix(volume));
    rest.and_then(|rest| rest.strip_prefix('-')).is_some_and(|id| !id.contains('-'))
}

/// Words of mount, fsck and the kernel for a damaged file system, in lower case.
pub const DAMAGE: &[&str] = &["fsck", "unexpected inconsistency", "structure needs cleaning", "superblock"];

/// True where a line says that a file system is damaged; mount names the superblock in every refusal.
pub fn names_damage(line: &str) -> bool {
    let line = line.to_ascii_lowercase();
    !line.contains("wrong fs type") && DAMAGE.iter().any(|part| line.contains(part))
}

/// True for the Event of a volume whose engine died. Up to 1.4 its reason was misspelt (longhorn-manager v1.3.3
/// controller/events.go, v1.4.4 and v1.5.5 to v1.12.1 constant/events.go).
pub fn is_unexpected_detach(reason: &str) -> bool {
    matches!(reason, "DetachedUnexpectedly" | "DetachedUnexpectly")
}

/// When a volume that attaches was last let attach again after its engine had died. A shared one is asked to remount for as long
/// as its NFS server is in error, which says nothing (longhorn-manager v1.3.3 to v1.12.1 controller/volume_controller.go
/// ReconcileVolumeState, ReconcileShareManagerState).
pub fn came_back(volume: &Volume) -> Option<Timestamp> {
    let status = &volume.status;
    let attaches = status.state == VolumeState::Attaching;
    remounted(volume).max(status.last_auto_salvaged_at.get()).filter(|_| attaches)
}

/// When the engine of a volume was last found dead and the volume was let attach again.
pub fn remounted(volume: &Volume) -> Option<Timestamp> {
    volume.status.remount_requested_at.get().filter(|_| !volume.is_shared())
}

/// True for a replica that holds all data and is in use: it has been in step with its engine, and has not failed
/// since (longhorn-manager v1.3.3 to v1.12.1 controller/volume_controller.go isHealthyAndActiveReplica).
pub fn is_healthy(replica: &Replica) -> bool {
    replica.spec.healthy_at.is_set() && !replica.spec.failed_at.is_set() && replica.spec.active
}

/// The copies that hold all data where one of several is left: it and how many there should be.
pub fn last_copy(cluster: &Cluster, volume: &Volume) -> Option<(usize, i64)> {
    let wanted = volume.spec.number_of_replicas.0;
    let degraded = volume.status.robustness == VolumeRobustness::Degraded && wanted > 1;
    let known = degraded && cluster.can_read(Resource::Replicas);
    let healthy = || cluster.replicas_of(&volume.metadata.name).filter(|replica| is_healthy(replica)).count();
    (known && healthy() == 1).then_some((1, wanted))
}

/// True for a volume that shows no trace of having been up, so that nothing in it can be lost: no replica was ever in step with its
/// engine, and the volume was not backed up, not degraded, and takes no space. Longhorn writes `healthyAt` when an engine first has a
/// replica in mode RW (longhorn-manager v1.3.3 to v1.12.1 controller/volume_controller.go ReconcileEngineReplicaState), and calls a
/// volume of which no replica has it one that is attached for the first time (isFirstAttachment).
///
/// A volume that no disk or no engine image can take yet has no replica object at all, as each is checked before it is made
/// (precheckCreateReplica), and v1.12.1 calls it faulted, seen in the first minute of an installation. Then its engine tells:
/// `currentSize` is written as soon as it runs, and never taken back (v1.9.2 and v1.12.1 controller/engine_controller.go refresh).
pub fn was_never_up(cluster: &Cluster, volume: &Volume) -> bool {
    let status = &volume.status;
    let traced = status.actual_size.0 > 0
        || status.last_backup_at.is_set()
        || status.last_degraded_at.is_set()
        || status.is_standby
        || status.restore_required;
    let mut replicas = cluster.replicas_of(&volume.metadata.name).peekable();
    let unused = if replicas.peek().is_some() {
        replicas.all(|replica| last_healthy(replica).is_none())
    } else {
        waits_for_first_replica(cluster, volume)
    };
    !traced && unused
}

/// True for a volume without a replica object that Longhorn says it could not make one for, and whose engines never ran.
fn waits_for_first_replica(cluster: &Cluster, volume: &Volume) -> bool {
    let mut engines = cluster.engines_of(&volume.metadata.name).peekable();
    is_refused(volume) && engines.peek().is_some() && engines.all(|engine| engine.status.current_size.0 == 0)
}

/// True where Longhorn says that it finds no place for a replica of the volume.
fn is_refused(volume: &Volume) -> bool {
    condition(&volume.status.conditions, "Scheduled")
        .is_some_and(|scheduled| scheduled.status == ConditionStatus::False)
}

/// A volume that was never up because no disk takes its replicas: replica_unschedulable says which and why.
pub fn waits_for_disks(cluster: &Cluster, volume: &Volume) -> bool {
    is_refused(volume) && was_never_up(cluster, volume)
}

/// True for a volume that is detached or is about to be: its last replica may end with an instance manager, and no one uses it. Not for one
/// that is not known.
pub fn is_leaving(cluster: &Cluster, volume: &str) -> bool {
    let leaves = [VolumeState::Detaching, VolumeState::Detached];
    cluster.objects.volumes.get(volume).is_some_and(|volume| leaves.contains(&volume.status.state))
}

/// The node that an attached volume is on.
pub fn attached_on(volume: &Volume) -> Option<&str> {
    (volume.status.state == VolumeState::Attached).then_some(volume.status.current_node_id.as_str())
}

/// The node that workloads use a volume on, or wait for it on. A volume of a node that died is attaching to it until the attachment is
/// taken away: its engine ended, and `spec.nodeID` stays (longhorn-manager v1.12.1 controller/volume_controller.go).
pub fn needed_on(volume: &Volume) -> Option<&str> {
    match volume.status.state {
        VolumeState::Attaching => Some(volume.spec.node_id.as_str()),
        _ => attached_on(volume),
    }
}

/// True for a volume that is attached there through the UI or the API: by its ticket, which came with 1.5; before, by having no workload.
pub fn is_attached_by_hand(cluster: &Cluster, volume: &Volume, node: &str) -> bool {
    if manager_release(cluster).is_some_and(|release| !release.at_least(1, 5, 0)) {
        return volume.status.kubernetes_status.workloads_status.is_empty();
    }
    let attachment = cluster.objects.volume_attachments.get(&volume.metadata.name);
    let mut tickets = attachment.into_iter().flat_map(|one| one.spec.attachment_tickets.values());
    tickets.any(|ticket| ticket.kind == "longhorn-api" && ticket.node_id == *node)
}

/// Since when Kubernetes has wanted the volume somewhere without a break, as far as its attachments tell.
pub fn asked_since(cluster: &Cluster, volume: &Volume) -> Option<Timestamp> {
    let attachments = cluster.objects.csi_attachments.of(Owner::PersistentVolume, volume.persistent_volume());
    let kept = attachments.filter(|csi| !csi.metadata.is_deleting());
    kept.filter_map(|csi| csi.metadata.created()).min()
}

/// The engine that serves the volume: during a migration and a live upgrade there are two.
pub fn current_engine<'a>(cluster: &'a Cluster, volume: &Volume) -> Option<&'a Engine> {
    let node = &volume.status.current_node_id;
    cluster
        .engines_of(&volume.metadata.name)
        .max_by_key(|engine| (engine.spec.active, engine.spec.node_id == *node, engine.metadata.created()))
}

/// True where a replica was enlarged behind Longhorn's back: its engine is larger than the volume, which an expansion cannot make good and
/// which no new replica fits to (longhorn-manager v1.4.2 and v1.12.0 controller/engine_controller.go IsValidForExpansion, whose error is
/// kept; #6078). The engine of an encrypted volume is larger by its header, and that is no error.
pub fn is_oversized(volume: &Volume, engine: &Engine) -> bool {
    let status = &engine.status;
    let said = status.last_expansion_error.contains("should not be smaller than the current size");
    said && status.current_state == InstanceState::Running && status.current_size.0 > volume.spec.size.0
}

/// True where Longhorn sees the file system on the engine's device mounted read-only. The condition is reset only when the engine
/// is seen to stop.
pub fn is_read_only(engine: &Engine) -> bool {
    engine.status.current_state == InstanceState::Running
        && status(&engine.status.conditions, "FilesystemReadOnly") == ConditionStatus::True
}

/// True where nothing that is seen keeps workloads from the data: an engine runs and its file system is writable, and the NFS
/// server of a shared volume serves. Else another check says what is wrong.
pub fn works(cluster: &Cluster, volume: &Volume) -> bool {
    let name = &volume.metadata.name;
    let runs =
        |engine: &Engine| engine.status.current_state == InstanceState::Running && !is_read_only(engine);
    let served = || {
        let share = cluster.objects.share_managers.get(name);
        let pod = cluster.objects.pods.get(&format!("share-manager-{name}"));
        share.is_none_or(|share| share.status.state == ShareManagerState::Running)
            && pod.is_none_or(Pod::is_ready)
    };
    current_engine(cluster, volume).is_some_and(runs) && (!volume.is_shared() || served())
}

/// How far the rebuilds of a volume are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rebuild<'a> {
    /// The replicas that are being written, not read.
    pub replicas: Vec<&'a str>,
    /// Progress in percent of each rebuild that reports one, in the order of the addresses.
    pub progress: Vec<i64>,
}

/// The rebuild that runs, if any: an engine has a replica in mode WO, or reports one as rebuilding. Longhorn
/// itself waits for these before it adds another replica (longhorn-manager v1.12.1
/// controller/volume_controller.go getRebuildingReplicaCount).
pub fn rebuild(engine: &Engine) -> Option<Rebuild<'_>> {
    let written = engine.status.replica_mode_map.iter().filter(|(_, mode)| **mode == ReplicaMode::WriteOnly);
    let replicas: Vec<&str> = written.map(|(name, _)| name.as_str()).collect();
    let reported = engine.status.rebuild_status.values().filter(|status| status.is_rebuilding);
    let progress: Vec<i64> = reported.map(|status| status.progress.0).collect();
    (!replicas.is_empty() || !progress.is_empty()).then_some(Rebuild { replicas, progress })
}

/// When a replica was last in step with its engine, as far as its release writes that down.
pub fn last_healthy(replica: &Replica) -> Option<Timestamp> {
    replica.spec.last_healthy_at.get().max(replica.spec.healthy_at.get())
}

/// It has a node, and holds nothing yet.
pub fn is_to_come(replica: &Replica) -> bool {
    let spec = &replica.spec;
    !spec.failed_at.is_set() && last_healthy(replica).is_none() && !spec.node_id.is_empty()
}

/// A replica to come whose process does not run: on a node that is down it keeps its volume from any other replica (Longhorn issue 13571).
pub fn never_started(replica: &Replica) -> bool {
    is_to_come(replica)
        && replica.status.current_state == InstanceState::Stopped
        && !replica.metadata.is_deleting()
}

/// The node of a replica, if Longhorn knows it.
pub fn node_of<'a>(cluster: &'a Cluster, replica: &Replica) -> Option<&'a LonghornNode> {
    cluster.objects.longhorn_nodes.get(&replica.spec.node_id)
}
