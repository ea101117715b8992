//! `plan loss`: what dies with each node, disk and zone, or with some nodes together, what could not be rebuilt, and what no one backs up.

mod copies;
mod places;
mod rest;

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::*;
use crate::longhorn::Volume;
use crate::report::redundancy::{Shared, shared, zones};

/// The cluster with what its volumes share.
#[derive(Debug)]
pub struct Audit<'a> {
    /// The cluster and what the checks say.
    pub looked: Looked<'a>,
    pub cluster: &'a Cluster,
    /// Nodes that are lost together; each alone without one.
    pub nodes: &'a [String],
    /// Volumes whose healthy copies share something.
    pub shared: Vec<(&'a Volume, Shared<'a>)>,
    /// Zones that have a name.
    pub zones: BTreeSet<&'a str>,
    /// When a backup of each volume was last restored, and into which volume.
    pub restores: BTreeMap<&'a str, (Timestamp, &'a str)>,
}

conditions! {
    FAULTED = NotYet "faulted_already" "volumes are already faulted"
        fix "Recover these volumes first: `check` gives the fix for each faulted volume."
        read "longhorn-health-exporter check --only volume_faulted"
        source "longhorn-manager v1.12.1 k8s/pkg/apis/longhorn/v1beta2/volume.go (robustness)"
        needs [Volumes] Loss(copies::faulted);
    ONE_COPY = NotYet "one_copy" "volumes with several replicas have only one healthy copy left"
        fix "Get these volumes rebuilt first: `check` shows what blocks each rebuild."
        read "kubectl -n <namespace> get volumes.longhorn.io"
        source "longhorn-manager v1.12.1 controller/volume_controller.go (isHealthyAndActiveReplica)"
        needs [Volumes, Replicas, LonghornNodes] Loss(copies::one_copy);
    BY_CHOICE = NotYet "one_copy_by_choice" "volumes have numberOfReplicas 1"
        fix "Raise numberOfReplicas of these volumes. If one copy is intended, use --accept one_copy_by_choice."
        source "longhorn-manager v1.12.1 k8s/pkg/apis/longhorn/v1beta2/volume.go"
        needs [Volumes, Replicas, LonghornNodes] Loss(copies::by_choice);
    ONE_DISK = NotYet "one_disk" "volumes have all their copies on one disk"
        fix "Set replica-disk-soft-anti-affinity to false. Once another disk has room, delete one replica of each listed volume, one healthy \
             volume at a time: Longhorn recreates it there."
        source "longhorn-manager v1.6.0 to v1.12.1 scheduler/replica_scheduler.go"
        needs [Volumes, Replicas, LonghornNodes] Loss(copies::one_disk);
    ONE_NODE = NotYet "one_node" "volumes have all their copies on one node"
        fix "Set replica-soft-anti-affinity to false. Once another node has room, delete one replica of each listed volume, one healthy volume at a \
             time: Longhorn recreates it there."
        source "longhorn-manager v1.3.3 to v1.12.1 scheduler/replica_scheduler.go"
        needs [Volumes, Replicas, LonghornNodes] Loss(copies::one_node);
    ONE_ZONE = NotYet "one_zone" "volumes have all their copies in one zone, although other zones exist"
        fix "Set replica-zone-soft-anti-affinity to false to survive a zone's loss. Then delete one replica of each listed volume, one healthy \
             volume at a time: Longhorn recreates it in another zone."
        source "longhorn-manager v1.3.3 to v1.12.1 scheduler/replica_scheduler.go"
        needs [Volumes, Replicas, LonghornNodes] Loss(copies::one_zone);
    TOGETHER = NotYet "lost_together" "volumes have all their copies on the named nodes"
        fix "Give each of these volumes a copy on another node first. Raise numberOfReplicas, or evict one node's replicas (steps: plan drain <node> \
             --evict)."
        source "longhorn-manager v1.12.1 controller/volume_controller.go (isHealthyAndActiveReplica)"
        needs [Volumes, Replicas, LonghornNodes] Loss(copies::together);
    DEGRADED = Note "would_be_degraded" "volumes have a healthy copy on the named nodes and another elsewhere"
        fix "Find out which disks have room: run `longhorn-health-exporter plan capacity`. Until the rebuilds are done, do not drain or \
             reboot other nodes."
        source "longhorn-manager v1.12.1 controller/volume_controller.go (ReconcileVolumeState)"
        needs [Volumes, Replicas, LonghornNodes, Settings] Loss(rest::degraded);
    ATTACHED = Note "would_move" "volumes are attached to the named nodes, so their pods must start elsewhere"
        fix "Check that these volumes' pods have a controller and can run on another node. If the node stays down, force-delete its pods: \
             their volumes stay attached there until then."
        source "longhorn-manager v1.12.1 controller/volume_attachment_controller.go"
        needs [Volumes, Replicas, LonghornNodes, Settings] Loss(rest::attached);
    NO_ROOM = NotYet "no_room_to_rebuild" "the other disks lack room to rebuild a lost node's replicas"
        fix "Add disks, or delete unneeded snapshots and volumes, before a node fails."
        read "kubectl -n <namespace> get nodes.longhorn.io -o yaml"
        source "longhorn-manager v1.3.3 to v1.12.1 scheduler/replica_scheduler.go (IsSchedulableToDisk)"
        needs [Volumes, Replicas, LonghornNodes, Settings] Loss(no_room);
    ONE_IMAGE = NotYet "one_image_copy" "backing images that cannot be downloaded again have all their copies on one node"
        fix "Copy each image to another node: raise minNumberOfCopies (from 1.7 on), or create a 2-replica volume from it. Until then, keep the source \
             file."
        read "kubectl -n <namespace> get backingimages.longhorn.io -o yaml"
        source "longhorn-manager v1.3.3 to v1.12.1 controller/backing_image_data_source_controller.go (downloads again only what was downloaded)"
        needs [BackingImages, BackingImageDataSources, LonghornNodes] Loss(copies::one_image);
    NOT_BACKED_UP = Note "not_backed_up" "volumes have never been backed up"
        fix "Add a recurring job with task backup if these volumes need backups."
        source "longhorn-manager v1.12.1 k8s/pkg/apis/longhorn/v1beta2/volume.go (lastBackupAt)"
        needs [Volumes] Loss(rest::not_backed_up);
    SNAPSHOTS = Note "many_snapshots" "Longhorn reports that volumes have too many snapshots"
        fix "Delete snapshots, or add a recurring job with task snapshot-cleanup. At 250 snapshots, or at snapshot-max-count, backups and rebuilds \
             fail."
        read "kubectl -n <namespace> get snapshots.longhorn.io"
        source "longhorn-manager v1.12.1 controller/volume_controller.go (TooManySnapshots), types/setting.go (snapshot-max-count)"
        needs [Volumes] Loss(rest::many_snapshots);
    ORPHANS = Note "orphans_by_node" "orphaned replicas take up disk space"
        fix "Delete the orphans whose data no one needs."
        read "kubectl -n <namespace> get orphans.longhorn.io"
        source "longhorn-manager v1.12.1 controller/orphan_controller.go"
        needs [Orphans] Loss(rest::orphans);
}

fn no_room(audit: &Audit<'_>, out: &mut Found) {
    room::without_a_node(audit.cluster, out);
}

/// The audit: of each place by itself, or of the loss of these nodes together.
///
/// # Errors
///
/// When Longhorn has no such node.
pub fn plan<'a>(looked: Looked<'a>, nodes: &'a [String]) -> Result<Plan, String> {
    let cluster = looked.cluster;
    known_nodes(cluster, nodes)?;
    let zones = zones(cluster);
    let of = |volume| Some((volume, shared(cluster, &zones, volume)?));
    let shared: Vec<_> = cluster.objects.volumes.iter().filter_map(of).collect();
    let restores = crate::facts::volumes::restores(cluster);
    let audit = Audit { looked, cluster, nodes, shared, zones, restores };
    let names = [(Name::Namespace, cluster.namespace.clone())];
    let mut reasons = Vec::new();
    let only_of_nodes = [&TOGETHER, &DEGRADED, &ATTACHED].map(|condition| condition.id());
    let applies = |condition: &&Condition| match (condition.id(), nodes.is_empty()) {
        (id, true) => !only_of_nodes.contains(&id),
        (id, false) => id == FAULTED.id() || only_of_nodes.contains(&id),
    };
    for condition in ALL.iter().copied().filter(applies) {
        let Look::Loss(look) = condition.look else { continue };
        reasons.append(&mut looked.judge(condition, &names, |found| look(&audit, found)));
    }
    let (part, with) = match nodes {
        [] => ("every node, disk and zone".to_owned(), "one node, disk or zone failed".to_owned()),
        _ => (places::called(nodes), places::failed(nodes)),
    };
    let part = Part::of(part, reasons, Vec::new());
    let question = format!("What would be lost if {with}?");
    let losses = places::losses(&audit);
    let answer = answer(&part, &losses, &with);
    Ok(Plan { losses, ..looked.plan("loss", question, part.verdict, answer, vec![part]) })
}

/// Conditions by which data is lost, or is already.
const LOST: [&Condition; 7] = [&FAULTED, &ONE_COPY, &BY_CHOICE, &ONE_DISK, &ONE_NODE, &ONE_ZONE, &TOGETHER];

/// What is lost, also where that was accepted; else what else stands against it.
fn answer(part: &Part, losses: &[Loss], with: &str) -> String {
    let is_loss = |reason: &&Reason| LOST.iter().any(|condition| condition.id() == reason.condition);
    let lost: Vec<&Reason> = part.reasons.iter().filter(is_loss).collect();
    let mut heavy = part.reasons.iter().filter(|reason| reason.weight != Weight::Note);
    let faulted = lost.iter().find(|reason| reason.condition == FAULTED.id());
    let volumes: BTreeSet<&str> =
        losses.iter().flat_map(|loss| &loss.volumes).map(|volume| volume.name.as_str()).collect();
    let volumes = counted(volumes.len(), "volume");
    let would = match losses {
        [] => None,
        [only] => Some(format!("{volumes} would be lost if {} failed", only.called())),
        [first, ..] => {
            let (there, place) = (first.volumes.len(), first.called());
            let all = volumes == counted(there, "volume");
            let which = if all { format!("such as {place}") } else { format!("{there} with {place}") };
            Some(format!("{volumes} would be lost if {with} ({which})"))
        }
    };
    let accepted = !lost.is_empty() && lost.iter().all(|reason| reason.accepted);
    let accepted = if accepted { " (accepted)" } else { "" };
    match (would, faulted, heavy.next()) {
        (Some(would), None, _) => format!("{would}{accepted}"),
        (Some(would), Some(faulted), _) => format!("{would}. {}{accepted}", faulted.text),
        (None, Some(faulted), _) => format!("{}{accepted}", faulted.text),
        (None, None, None) => format!("no volume would be lost if {with}"),
        (None, None, Some(reason)) if reason.weight == Weight::Unknown => reason.text.clone(),
        (None, None, Some(reason)) => format!("no volume would be lost, but {}", reason.text),
    }
}
