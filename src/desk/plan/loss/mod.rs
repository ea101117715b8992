//! `plan loss`: what dies with each node, disk and zone, what could not be rebuilt, and what no one backs up.

mod copies;
mod places;
mod rest;
mod room;

use std::collections::BTreeSet;

use super::*;
use crate::facts::redundancy::{Shared, shared, zones};
use crate::longhorn::Volume;

/// The cluster with what its volumes share.
#[derive(Debug)]
pub struct Audit<'a> {
    /// The cluster and what the checks say.
    pub looked: Looked<'a>,
    pub cluster: &'a Cluster,
    /// Volumes whose healthy copies share something.
    pub shared: Vec<(&'a Volume, Shared<'a>)>,
    /// Zones that have a name.
    pub zones: BTreeSet<&'a str>,
}

conditions! {
    FAULTED = NotYet "faulted_already" "volumes are faulted already, without a copy that can be used"
        fix "Recover these volumes first: what check says about faulted volumes."
        read "longhorn-health-exporter check --only volume_faulted"
        source "longhorn-manager v1.12.1 k8s/pkg/apis/longhorn/v1beta2/volume.go (robustness)"
        needs [Volumes] Loss(copies::faulted);
    ONE_COPY = NotYet "one_copy" "volumes that want several copies have one healthy one"
        fix "Let these volumes be rebuilt first: what check says about degraded volumes, and room for their replicas."
        read "kubectl -n <namespace> get volumes.longhorn.io"
        source "longhorn-manager v1.12.1 controller/volume_controller.go (isHealthyAndActiveReplica)"
        needs [Volumes, Replicas, LonghornNodes] Loss(copies::one_copy);
    BY_CHOICE = NotYet "one_copy_by_choice" "volumes want one copy only"
        fix "Raise numberOfReplicas where that is not meant. Accept it where it is: --accept one_copy_by_choice."
        source "longhorn-manager v1.12.1 k8s/pkg/apis/longhorn/v1beta2/volume.go"
        needs [Volumes, Replicas, LonghornNodes] Loss(copies::by_choice);
    ONE_DISK = NotYet "one_disk" "all copies of volumes are on one disk"
        fix "Set replica-disk-soft-anti-affinity to false. Delete one of the two replicas once the volume has room elsewhere: Longhorn creates \
             another."
        source "longhorn-manager v1.6.0 to v1.12.1 scheduler/replica_scheduler.go"
        needs [Volumes, Replicas, LonghornNodes] Loss(copies::one_disk);
    ONE_NODE = NotYet "one_node" "all copies of volumes are on one node"
        fix "Set replica-soft-anti-affinity to false. Delete one of the replicas once the volume has room on another node: Longhorn creates \
             another."
        source "longhorn-manager v1.3.3 to v1.12.1 scheduler/replica_scheduler.go"
        needs [Volumes, Replicas, LonghornNodes] Loss(copies::one_node);
    ONE_ZONE = NotYet "one_zone" "all copies of volumes are in one zone, although others exist"
        fix "Set replica-zone-soft-anti-affinity to false if the loss of a zone must be survivable. Then delete one of the replicas: Longhorn \
             creates another in another zone."
        source "longhorn-manager v1.3.3 to v1.12.1 scheduler/replica_scheduler.go"
        needs [Volumes, Replicas, LonghornNodes] Loss(copies::one_zone);
    NO_ROOM = NotYet "no_room_to_rebuild" "a lost node could not be rebuilt for lack of space"
        fix "Add disks, or remove what is not needed, before that node fails."
        read "kubectl -n <namespace> get nodes.longhorn.io -o yaml"
        source "longhorn-manager v1.3.3 to v1.12.1 scheduler/replica_scheduler.go (IsSchedulableToDisk)"
        needs [Volumes, Replicas, LonghornNodes, Settings] Loss(room::no_room);
    NOT_BACKED_UP = Note "not_backed_up" "volumes were never backed up"
        fix "Add a recurring job with task backup, or accept that they have no backup."
        source "longhorn-manager v1.12.1 k8s/pkg/apis/longhorn/v1beta2/volume.go (lastBackupAt)"
        needs [Volumes] Loss(rest::not_backed_up);
    SNAPSHOTS = Note "many_snapshots" "volumes have many snapshots"
        fix "Remove snapshots, or add a recurring job with task snapshot-cleanup: at 250, or at snapshot-max-count, no snapshot can be taken, so \
             backups and rebuilds fail."
        read "kubectl -n <namespace> get snapshots.longhorn.io"
        source "longhorn-manager v1.12.1 controller/volume_controller.go (TooManySnapshots), types/setting.go (snapshot-max-count)"
        needs [Volumes] Loss(rest::many_snapshots);
    ORPHANS = Note "orphans_by_node" "orphans take space"
        fix "Check whether the data is needed. If not, delete them."
        read "kubectl -n <namespace> get orphans.longhorn.io"
        source "longhorn-manager v1.12.1 controller/orphan_controller.go"
        needs [Orphans] Loss(rest::orphans);
}

/// The audit.
pub fn plan(looked: Looked<'_>) -> Plan {
    let cluster = looked.cluster;
    let zones = zones(cluster);
    let of = |volume| Some((volume, shared(cluster, &zones, volume)?));
    let shared: Vec<_> = cluster.objects.volumes.iter().filter_map(of).collect();
    let audit = Audit { looked, cluster, shared, zones };
    let names = [(Name::Namespace, cluster.namespace.clone())];
    let mut reasons = Vec::new();
    for condition in ALL.iter().copied() {
        let Look::Loss(look) = condition.look else { continue };
        reasons.append(&mut looked.judge(condition, &names, |found| look(&audit, found)));
    }
    let part = Part::of("every node, disk and zone".to_owned(), reasons, Vec::new());
    let question = "What is lost with one node, disk or zone?".to_owned();
    let answer = answer(&part);
    let losses = places::losses(&audit);
    Plan { losses, ..looked.plan("loss", question, part.verdict, answer, vec![part]) }
}

/// Conditions by which data is lost, or is already.
const LOST: [&Condition; 6] = [&FAULTED, &ONE_COPY, &BY_CHOICE, &ONE_DISK, &ONE_NODE, &ONE_ZONE];

/// What is lost, also where that was accepted; else what else stands against it.
fn answer(part: &Part) -> String {
    let is_loss = |reason: &&Reason| LOST.iter().any(|condition| condition.id() == reason.condition);
    let said = |reason: &Reason| match reason.accepted {
        true => format!("{} (accepted)", reason.text),
        false => reason.text.clone(),
    };
    let lost: Vec<String> = part.reasons.iter().filter(is_loss).map(said).collect();
    let mut heavy = part.reasons.iter().filter(|reason| reason.weight != Weight::Note);
    match (lost.as_slice(), heavy.next()) {
        ([], None) => "nothing would be lost".to_owned(),
        ([], Some(reason)) if reason.weight == Weight::Unknown => reason.text.clone(),
        ([], Some(reason)) => format!("nothing would be lost, but {}", reason.text),
        (lost, _) => lost.join("; "),
    }
}
