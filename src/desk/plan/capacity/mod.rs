//! `plan capacity`: how much room is left by Longhorn's own rule, whether it lasts without a node or zone, and whether a
//! new volume fits.

mod disks;
mod fits;
pub mod table;
mod wanted;

use super::scheduler::{Scheduler, Spot};
use super::*;
use crate::facts::placement::PlacementRefusal;

pub use disks::{DiskRoom, Largest};
pub use fits::Place;
pub use wanted::{Wanted, replicas, size};

/// What `plan capacity` says beside its reasons.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Capacity {
    /// The new volume that was asked about.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(default)]
    pub volume: Option<Wanted>,
    /// Where its replicas would go, as far as they find a disk.
    pub replicas: Vec<Place>,
    /// The largest new volume that fits, by its number of replicas: one that selects no tags.
    pub largest: Vec<Largest>,
    /// Every disk, the one with the least room first.
    pub disks: Vec<DiskRoom>,
}

/// The cluster, and what was asked about it.
#[derive(Debug)]
pub struct Room<'a> {
    pub cluster: &'a Cluster,
    pub wanted: Option<&'a Wanted>,
    /// Where the replicas of the new volume go, and what refuses the next one.
    pub placed: (Vec<Spot<'a>>, Vec<PlacementRefusal>),
}

conditions! {
    DOES_NOT_FIT = NotYet "volume_does_not_fit" "replicas of the requested volume find no disk"
        fix "Add a disk, or delete unneeded volumes and snapshots. Otherwise request a smaller volume or fewer replicas."
        read "kubectl -n <namespace> get nodes.longhorn.io -o yaml"
        source "longhorn-manager v1.3.3 to v1.12.1 scheduler/replica_scheduler.go (FindDiskCandidates)"
        needs [LonghornNodes, Settings] Capacity(fits::does_not_fit);
    WITHOUT_NODE = NotYet "no_room_without_node" "the other disks lack room for the replicas of a lost node"
        fix "Add disks, or delete unneeded snapshots and volumes, before that node fails."
        read "kubectl -n <namespace> get nodes.longhorn.io -o yaml"
        source "longhorn-manager v1.3.3 to v1.12.1 scheduler/replica_scheduler.go (IsSchedulableToDisk)"
        needs [Volumes, Replicas, LonghornNodes, Settings] Capacity(without_node);
    WITHOUT_ZONE = NotYet "no_room_without_zone" "the other zones lack room for the replicas of a lost zone"
        fix "Add disks in the other zones. If volumes may stay degraded while a zone is lost, use --accept no_room_without_zone."
        read "kubectl -n <namespace> get nodes.longhorn.io -o yaml"
        source "longhorn-manager v1.3.3 to v1.12.1 scheduler/replica_scheduler.go (IsSchedulableToDisk)"
        needs [Volumes, Replicas, LonghornNodes, Settings] Capacity(without_zone);
    NONE_TAKES = NotYet "no_disk_takes_replicas" "no disk takes a replica now"
        fix "Fix what each disk reports: until then no volume is created or rebuilt."
        read "kubectl -n <namespace> get nodes.longhorn.io -o yaml"
        source "longhorn-manager v1.3.3 to v1.12.1 scheduler/replica_scheduler.go (getNodeInfo, FindDiskCandidates)"
        needs [LonghornNodes, Settings] Capacity(disks::none_takes);
    OVERCOMMITTED = Note "overcommitted" "more is allocated to volumes than the disks hold"
        fix "Watch the free space of these disks: volumes fail once a disk is full, whatever is allocated."
        read "kubectl -n <namespace> get nodes.longhorn.io -o yaml"
        source "longhorn-manager v1.12.1 scheduler/replica_scheduler.go (StorageScheduled, StorageMaximum)"
        needs [LonghornNodes] Capacity(disks::overcommitted);
}

fn without_node(room: &Room<'_>, out: &mut Found) {
    if room.wanted.is_none() {
        room::without_a_node(room.cluster, out);
    }
}

fn without_zone(room: &Room<'_>, out: &mut Found) {
    if room.wanted.is_none() {
        room::without_a_zone(room.cluster, out);
    }
}

/// The plan; with a volume it is about that alone.
pub fn plan(looked: Looked<'_>, wanted: Option<Wanted>) -> Plan {
    let cluster = looked.cluster;
    let wanted = wanted.map(|wanted| wanted.completed(cluster));
    let volume = wanted.as_ref().map(Wanted::volume);
    let count = wanted.as_ref().map_or(0, Wanted::replicas);
    let placed = volume.as_ref().map(|volume| Scheduler::of(cluster).place(volume, count));
    let room = Room { cluster, wanted: wanted.as_ref(), placed: placed.unwrap_or_default() };
    let names = [(Name::Namespace, cluster.namespace.clone())];
    let mut reasons = Vec::new();
    for condition in ALL.iter().copied() {
        let Look::Capacity(look) = condition.look else { continue };
        reasons.append(&mut looked.judge(condition, &names, |found| look(&room, found)));
    }
    let part = Part::of("room on the disks".to_owned(), reasons, Vec::new());
    let capacity = Capacity {
        replicas: room.placed.0.iter().map(Place::of).collect(),
        largest: disks::largest(cluster),
        disks: disks::rooms(cluster, volume.as_ref()),
        volume: wanted,
    };
    let question = match &capacity.volume {
        Some(wanted) => format!("Does a new volume of {} fit?", wanted.called()),
        None => "How much room is left, and is it enough if a node or zone is lost?".to_owned(),
    };
    let answer = answer(&part, &capacity);
    Plan { capacity: Some(capacity), ..looked.plan("capacity", question, part.verdict, answer, vec![part]) }
}

fn answer(part: &Part, capacity: &Capacity) -> String {
    match (part.verdict, &capacity.volume) {
        (Verdict::Go, Some(wanted)) => {
            format!("Longhorn finds a disk for each replica of {}", wanted.called())
        }
        (Verdict::Go, None) => match part.reasons.iter().find(|reason| reason.accepted) {
            Some(reason) => format!("{} (accepted)", reason.text),
            None => "the replicas of any one node or zone find room on the other disks".to_owned(),
        },
        _ => part.why(),
    }
}
