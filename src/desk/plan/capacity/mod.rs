//! `plan capacity`: how much room is left by Longhorn's own rule, whether it lasts without a node or zone, when disks are full,
//! and whether a new volume fits.

mod disks;
mod fits;
mod pace;
pub mod table;
mod unready;
mod wanted;

use super::scheduler::{Scheduler, Spot};
use super::*;
use crate::facts::placement::PlacementRefusal;

pub use disks::{DiskRoom, Largest};
pub use fits::Place;
pub use pace::{Growth, LEAST_APART};
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
    /// The largest new volume that fits, by its number of replicas: with the tags and data engine asked for.
    pub largest: Vec<Largest>,
    /// Since when the rate is known: of the earlier recording, or of the first sample of a Prometheus, if one was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(default)]
    pub since: Option<Timestamp>,
    /// The moment of this look.
    #[serde(skip)]
    pub now: Timestamp,
    /// Every disk, the one with the least room first.
    pub disks: Vec<DiskRoom>,
}

/// The cluster, and what was asked about it.
#[derive(Debug)]
pub struct Room<'a> {
    pub cluster: &'a Cluster,
    pub wanted: Option<&'a Wanted>,
    /// Every disk, with a rate where one is known.
    pub disks: Vec<DiskRoom>,
    /// Where the replicas of the new volume go, and what refuses the next one.
    pub placed: (Vec<Spot<'a>>, Vec<PlacementRefusal>),
}

conditions! {
    DOES_NOT_FIT = NotYet "volume_does_not_fit" "disks cannot take all replicas of the requested volume"
        fix "Fix the causes that the disks report, add a disk, or delete unneeded volumes. Otherwise request a smaller volume or fewer replicas."
        read "kubectl -n <namespace> get nodes.longhorn.io -o yaml"
        source "longhorn-manager v1.3.3 to v1.12.1 scheduler/replica_scheduler.go (FindDiskCandidates)"
        needs [LonghornNodes, Settings, InstanceManagers, EngineImages] Capacity(fits::does_not_fit);
    WITHOUT_NODE = NotYet "no_room_without_node" "the other disks lack room for the replicas of a lost node"
        fix "Add disks, or delete unneeded snapshots and volumes, before a node fails."
        read "kubectl -n <namespace> get nodes.longhorn.io -o yaml"
        source "longhorn-manager v1.3.3 to v1.12.1 scheduler/replica_scheduler.go (IsSchedulableToDisk)"
        needs [Volumes, Replicas, LonghornNodes, Settings] Capacity(without_node);
    WITHOUT_ZONE = NotYet "no_room_without_zone" "the other zones lack room for the replicas of a lost zone"
        fix "Add disks in the other zones. If you can accept degraded volumes while a zone is down, use --accept no_room_without_zone."
        read "kubectl -n <namespace> get nodes.longhorn.io -o yaml"
        source "longhorn-manager v1.3.3 to v1.12.1 scheduler/replica_scheduler.go (IsSchedulableToDisk)"
        needs [Volumes, Replicas, LonghornNodes, Settings] Capacity(without_zone);
    NONE_TAKES = NotYet "no_disk_takes_replicas" "no disk can take a replica now"
        fix "Fix the cause that each disk reports. Until then, Longhorn cannot place any replica."
        read "kubectl -n <namespace> get nodes.longhorn.io -o yaml"
        source "longhorn-manager v1.3.3 to v1.12.1 scheduler/replica_scheduler.go (getNodeInfo, FindDiskCandidates)"
        needs [LonghornNodes, Settings] Capacity(disks::none_takes);
    FULL_SOON = NotYet "disk_full_soon" "a disk will be full within 7 days if it keeps filling at the recorded rate"
        fix "Delete unneeded snapshots and volumes on these disks, or add a disk. Volumes fail once their disk is full."
        read "kubectl -n <namespace> get nodes.longhorn.io -o yaml"
        source "longhorn-manager v1.12.1 k8s/pkg/apis/longhorn/v1beta2/node.go (DiskStatus.StorageAvailable)"
        needs [LonghornNodes] Capacity(pace::full_soon);
    OVERCOMMITTED = Note "overcommitted" "volumes are allocated more space than the disks have"
        fix "Watch the free space of these disks: volumes fail once a disk is full, whatever its allocation limit."
        read "kubectl -n <namespace> get nodes.longhorn.io -o yaml"
        source "longhorn-manager v1.12.1 scheduler/replica_scheduler.go (StorageScheduled, StorageMaximum)"
        needs [LonghornNodes] Capacity(disks::overcommitted);
}

fn without_node(room: &Room<'_>, out: &mut Found) {
    room::without_a_node(room.cluster, out);
}

fn without_zone(room: &Room<'_>, out: &mut Found) {
    room::without_a_zone(room.cluster, out);
}

/// The plan; with a volume it is about that alone.
pub fn plan(looked: Looked<'_>, wanted: Option<Wanted>) -> Plan {
    let cluster = looked.cluster;
    let wanted = wanted.map(|wanted| wanted.completed(cluster));
    let volume = wanted.as_ref().map(Wanted::volume);
    let count = wanted.as_ref().map_or(0, Wanted::replicas);
    let accepted = wanted.as_ref().is_some_and(|wanted| wanted.disabled(cluster).is_none());
    let closed = volume.as_ref().map_or_else(BTreeMap::new, |volume| unready::unready(cluster, volume));
    let placed = volume.as_ref().filter(|_| accepted);
    let placed = placed.map(|volume| Scheduler::of(cluster).closing(&closed).place(volume, count));
    let mut disks = disks::rooms(cluster, volume.as_ref(), &closed);
    if let Some(growth) = looked.growth {
        growth.add_to(&mut disks, cluster.now);
    }
    let room = Room { cluster, wanted: wanted.as_ref(), disks, placed: placed.unwrap_or_default() };
    let names = [(Name::Namespace, cluster.namespace.clone())];
    let mut reasons = Vec::new();
    for condition in ALL.iter().copied() {
        let Look::Capacity(look) = condition.look else { continue };
        if wanted.is_some()
            && [WITHOUT_NODE.id(), WITHOUT_ZONE.id(), FULL_SOON.id()].contains(&condition.id())
        {
            continue; // not asked, so what it needs may be unreadable
        }
        reasons.append(&mut looked.judge(condition, &names, |found| look(&room, found)));
    }
    let part = Part::of("room on the disks".to_owned(), reasons, Vec::new());
    let capacity = Capacity {
        since: looked.growth.map(|growth| growth.since),
        now: cluster.now,
        replicas: room.placed.0.iter().map(Place::of).collect(),
        largest: disks::largest(cluster, volume.as_ref(), &closed),
        disks: room.disks,
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
            format!("a new volume of {} fits", wanted.called())
        }
        (Verdict::Go, None) => match part.reasons.iter().find(|reason| reason.accepted) {
            Some(reason) => format!("{} (accepted)", reason.text),
            None => match part
                .reasons
                .iter()
                .find(|reason| [WITHOUT_NODE.id(), WITHOUT_ZONE.id()].contains(&reason.condition))
            {
                Some(note) => format!("space is enough even if a node or zone is lost. But {}", note.text),
                None => {
                    "if any one node or zone is lost, the other disks have room for its replicas".to_owned()
                }
            },
        },
        _ => part.why(),
    }
}
