//! `plan loss`: what dies with each node, disk and zone, what could not be rebuilt, and what no one backs up.

mod copies;
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
    /// Shorthand.
    pub cluster: &'a Cluster,
    /// Volumes whose healthy copies share something.
    pub shared: Vec<(&'a Volume, Shared<'a>)>,
    /// Zones that have a name.
    pub zones: BTreeSet<&'a str>,
}

conditions! {
    ONE_COPY = NotYet "one_copy" "volumes that want several copies have one healthy one"
        fix "See to the rebuild of these volumes first: what check says about degraded volumes, and room for their replicas."
        read "kubectl -n <namespace> get volumes.longhorn.io"
        source "longhorn-manager v1.12.1 controller/volume_controller.go (isHealthyAndActiveReplica)"
        needs [Volumes, Replicas, LonghornNodes] Loss(copies::one_copy);
    ONE_DISK = NotYet "one_disk" "all copies of volumes are on one disk"
        fix "Set replica-disk-soft-anti-affinity to false, and delete one of the two replicas once the volume has room elsewhere: Longhorn makes another."
        source "longhorn-manager v1.6.0 to v1.12.1 scheduler/replica_scheduler.go"
        needs [Volumes, Replicas, LonghornNodes] Loss(copies::one_disk);
    ONE_NODE = NotYet "one_node" "all copies of volumes are on one node"
        fix "Set replica-soft-anti-affinity to false, and delete one of the replicas once the volume has room on another node: Longhorn makes another."
        source "longhorn-manager v1.3.3 to v1.12.1 scheduler/replica_scheduler.go"
        needs [Volumes, Replicas, LonghornNodes] Loss(copies::one_node);
    ONE_ZONE = NotYet "one_zone" "all copies of volumes are in one zone, and there are others"
        fix "Set replica-zone-soft-anti-affinity to false where a zone may go, and delete one of the replicas: Longhorn makes another in another zone."
        source "longhorn-manager v1.3.3 to v1.12.1 scheduler/replica_scheduler.go"
        needs [Volumes, Replicas, LonghornNodes] Loss(copies::one_zone);
    NO_ROOM = NotYet "no_room_to_rebuild" "the loss of a node could not be rebuilt for lack of space"
        fix "Add disks, or remove what is not needed, before that node fails."
        read "kubectl -n <namespace> get nodes.longhorn.io -o yaml"
        source "longhorn-manager v1.3.3 to v1.12.1 scheduler/replica_scheduler.go (IsSchedulableToDisk)"
        needs [Volumes, Replicas, LonghornNodes, Settings] Loss(room::no_room);
    BY_CHOICE = Note "one_copy_by_choice" "volumes have one copy, as they are asked to"
        fix "Where that is not meant, raise numberOfReplicas."
        source "longhorn-manager v1.12.1 k8s/pkg/apis/longhorn/v1beta2/volume.go"
        needs [Volumes, Replicas, LonghornNodes] Loss(copies::by_choice);
    NOT_BACKED_UP = Note "not_backed_up" "volumes were never backed up"
        fix "Give them a recurring job of the task backup, or say that no one needs it."
        source "longhorn-manager v1.12.1 k8s/pkg/apis/longhorn/v1beta2/volume.go (lastBackupAt)"
        needs [Volumes] Loss(rest::not_backed_up);
    SNAPSHOTS = Note "many_snapshots" "volumes have many snapshots"
        fix "Remove snapshots or let a recurring job of the task snapshot-cleanup do it: at 250, or at snapshot-max-count, no other can be taken, and with that no backup and no rebuild."
        read "kubectl -n <namespace> get snapshots.longhorn.io"
        source "longhorn-manager v1.12.1 controller/volume_controller.go (TooManySnapshots), types/setting.go (snapshot-max-count)"
        needs [Volumes] Loss(rest::many_snapshots);
    ORPHANS = Note "orphans_by_node" "orphans take room"
        fix "Look whether the data is still needed, and delete them."
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
    let mut heavy = part.reasons.iter().filter(|reason| reason.weight != Weight::Note);
    let answer = match (heavy.next(), part.verdict) {
        (Some(reason), _) => reason.text.clone(),
        (None, _) => "no data, as far as more than one copy is wanted".to_owned(),
    };
    looked.plan("loss", question, part.verdict, answer, vec![part])
}
