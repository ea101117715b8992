//! Why no disk takes another replica of a volume: the rules of Longhorn's scheduler, disk by disk.
//!
//! Facts (longhorn-manager v1.3.3, v1.5.5, v1.7.3, v1.9.2 and v1.12.1 scheduler/replica_scheduler.go
//! FindDiskCandidates, getDiskCandidates, filterNodeDisksForReplica, IsSchedulableToDisk; the arithmetic is the same in
//! all of them): a node must be Ready, Schedulable and allow scheduling, a disk the same and not be evicted, tags must
//! hold every selector of the volume, no other replica may be on the node (or in the zone, or on the disk) unless
//! anti-affinity is soft, and then both hold: `available - actual size > maximum * minimal-available%` and
//! `size + scheduled <= (maximum - reserved) * over-provisioning%`. Anti-affinity of a volume overrides the setting
//! since 1.5, that of disks exists since 1.6. Nodes without a zone count as one zone.

mod rules;
mod space;
mod taken;
#[cfg(test)]
mod tests;

use crate::cluster::Cluster;
use crate::longhorn::{DataLocality, DiskSpec, LonghornNode, SharedText, Volume};

pub use rules::{Rank, Rules, SoftAntiAffinity, is_counted_twice};
use rules::{TOO_LARGE_FOR_EXT4, disk_obstacle, node_rank};
pub use space::DiskSpace;
pub use taken::{Taken, counts_twice};

/// What keeps a replica from a disk, from the far to the near.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Obstacle {
    /// Another replica of the volume is there, in the zone, or on the disk.
    AntiAffinity,
    /// The node is down, not Ready, cordoned, or takes no replicas.
    Node,
    /// Node or disk lack a tag that the volume selects.
    Tags,
    /// The disk is not Ready, takes no replicas, or is being emptied.
    Disk,
    /// Too little is free on the file system.
    Space,
    /// Too much is promised already.
    Provisioning,
}

/// A disk, or a node without disks, that cannot take a replica.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacementRefusal {
    /// What keeps the replica from it.
    pub obstacle: Obstacle,
    pub node: String,
    /// The disk; empty where it is the node.
    pub disk: String,
    /// Why, with the figures.
    pub reason: String,
    /// Where and why.
    pub text: String,
}

const NO_DISK: &str = "it has no disk";

impl PlacementRefusal {
    /// True where the node takes replicas and has nothing to put them on.
    pub fn is_for_want_of_disks(&self) -> bool {
        self.reason == NO_DISK
    }

    /// True where the volume is larger than a file can be on the disk.
    pub fn is_of_file_system(&self) -> bool {
        self.reason == TOO_LARGE_FOR_EXT4
    }

    /// Of a node or its disk, with the obstacle and the figures.
    pub fn of(
        node: &LonghornNode,
        disk: Option<&SharedText>,
        (obstacle, reason): (Obstacle, String),
    ) -> Self {
        let node = node.metadata.name.to_string();
        let (disk, text) = match disk {
            Some(disk) => (disk.to_string(), format!("{node}, disk {disk}: {reason}")),
            None => (String::new(), format!("{node}: {reason}")),
        };
        PlacementRefusal { obstacle, node, disk, reason, text }
    }
}

/// What a disk, or a node as a whole, says to one more replica.
pub struct Answer<'a> {
    /// None where it is the node that refuses.
    pub disk: Option<&'a SharedText>,
    pub rank: Option<Rank>,
    pub refusal: Option<(Obstacle, String)>,
}

/// Asks a node and its disks.
pub fn answers<'a>(
    node: &'a LonghornNode,
    volume: &Volume,
    rules: &Rules,
    taken: &Taken<'_>,
) -> impl Iterator<Item = Answer<'a>> {
    let (rank, refusal) = match node_rank(node, volume, rules, taken) {
        Ok(_) if node.spec.disks.is_empty() => (None, Some((Obstacle::Disk, NO_DISK.to_owned()))),
        Ok(rank) => (Some(rank), None),
        Err(refusal) => (None, Some(refusal)),
    };
    let whole = refusal.map(|refusal| Answer { disk: None, rank, refusal: Some(refusal) });
    let ask = move |(disk, spec): (&'a SharedText, &DiskSpec)| {
        let now = node.status.disk_status.get(disk);
        Answer { disk: Some(disk), rank, refusal: disk_obstacle(spec, now, volume, rules, taken) }
    };
    let disks = rank.map(|_| node.spec.disks.iter().map(ask));
    whole.into_iter().chain(disks.into_iter().flatten())
}

/// Why each disk cannot take another replica of the volume. `None` as soon as one can: then nothing stands in
/// the way that objects show.
pub fn refusals(cluster: &Cluster, volume: &Volume) -> Option<Vec<PlacementRefusal>> {
    refusals_without(cluster, volume, |_| false)
}

/// The same on the nodes that stay.
pub fn refusals_without(
    cluster: &Cluster,
    volume: &Volume,
    leaves: impl Fn(&str) -> bool,
) -> Option<Vec<PlacementRefusal>> {
    refusals_or_taker(cluster, volume, leaves).ok()
}

/// The same, or the first node that takes the replica.
pub fn refusals_or_taker<'a>(
    cluster: &'a Cluster,
    volume: &Volume,
    leaves: impl Fn(&str) -> bool,
) -> Result<Vec<PlacementRefusal>, &'a str> {
    let (rules, taken) = (Rules::of(cluster, volume), Taken::of(cluster, volume, |_| false));
    let mut refusals = Vec::new();
    for node in cluster.objects.longhorn_nodes.iter().filter(|node| !leaves(&node.metadata.name)) {
        for answer in answers(node, volume, &rules, &taken) {
            let Some(refusal) = answer.refusal else { return Err(&node.metadata.name) };
            refusals.push(PlacementRefusal::of(node, answer.disk, refusal));
        }
    }
    Ok(refusals)
}

/// What comes nearest on the other nodes. `None` where one of them takes the replica.
pub fn nearest_without(cluster: &Cluster, volume: &Volume, leaves: &str) -> Option<Option<Obstacle>> {
    let (rules, taken) = (Rules::in_figures(cluster, volume), Taken::of(cluster, volume, |_| false));
    let staying = cluster.objects.longhorn_nodes.iter().filter(|node| node.metadata.name != *leaves);
    let mut all = staying.flat_map(|node| answers(node, volume, &rules, &taken));
    all.try_fold(None, |nearest, answer| Some(nearest.max(Some(answer.refusal?.0))))
}

/// What the scheduler may promise at most on one disk of the cluster, whatever is there now; 0 where none was measured.
pub fn most_of_a_disk(cluster: &Cluster) -> i64 {
    let rules = Rules::of(cluster, &Volume::default());
    let nodes = cluster.objects.longhorn_nodes.iter();
    let disks = nodes.flat_map(|node| node.spec.disks.iter().map(move |(name, spec)| (node, name, spec)));
    let most = disks
        .filter_map(|(node, name, spec)| Some(rules.space(spec, node.status.disk_status.get(name)?)?.most()));
    most.max().unwrap_or_default()
}

/// The obstacle to remove first: that of the disk which comes nearest. What lies on nodes with a replica
/// counts only where there is nothing else.
pub fn nearest(refusals: &[PlacementRefusal]) -> Option<Obstacle> {
    refusals.iter().map(|refusal| refusal.obstacle).max()
}

/// A failed replica of the volume but for which its disk could take another one: it counts there until it is deleted, as
/// long as it is not used again (longhorn-manager v1.7.2 controller/node_controller.go updateDiskStatusSchedulableCondition).
pub fn in_its_own_way<'a>(cluster: &'a Cluster, volume: &Volume) -> Option<&'a str> {
    let rules = Rules::of(cluster, volume);
    let taken = Taken::of(cluster, volume, |_| false);
    let failed = cluster.replicas_of(&volume.metadata.name).filter(|replica| replica.spec.failed_at.is_set());
    let mut failed = failed.filter(|replica| {
        let Some(disk) = cluster.disk(&replica.spec.disk_id) else { return false };
        let Some(spec) = disk.spec else { return false };
        let mut without = disk.status.clone();
        without.storage_scheduled.0 = without.storage_scheduled.0.saturating_sub(volume.spec.size.0);
        let lacks = |now| disk_obstacle(spec, Some(now), volume, &rules, &taken);
        node_rank(disk.node, volume, &rules, &taken).is_ok()
            && lacks(disk.status).is_some_and(|(what, _)| what == Obstacle::Provisioning)
            && lacks(&without).is_none()
    });
    failed.next().map(|replica| replica.metadata.name.as_str())
}

/// The node on which the volume alone may have its replica, for strict-local and for a local replica of
/// best-effort (longhorn-manager v1.12.1 controller/volume_controller.go reconcileVolumeCondition).
pub fn only_node<'a>(cluster: &'a Cluster, volume: &'a Volume) -> Option<&'a str> {
    let unplaced = |replica: &&crate::longhorn::Replica| replica.spec.node_id.is_empty();
    let wanted = cluster.replicas_of(&volume.metadata.name).filter(unplaced);
    let mut affinities = wanted.map(|replica| replica.spec.hard_node_affinity.as_str());
    let by_replica = affinities.find(|node| !node.is_empty());
    let strict = volume.spec.data_locality == DataLocality::StrictLocal && !volume.spec.node_id.is_empty();
    by_replica.or_else(|| strict.then_some(volume.spec.node_id.as_str()))
}
