//! Where Longhorn would put replicas one after the other, each counted before the next.
//!
//! Facts (longhorn-manager v1.8.2 and v1.12.1 scheduler/replica_scheduler.go getDiskCandidates): of the nodes of the best
//! rank that have a disk for the replica, disks without a replica of the volume come first. Among what is left the disk
//! with the most usable bytes is chosen; since v1.11.0 that which leaves the nodes, and then the disks of the node, most alike
//! (getDiskWithMostBalanceScore), by what was usable before the volume's first replica.

use std::collections::{BTreeMap, BTreeSet};

use crate::cluster::Cluster;
use crate::facts::placement::{
    Answer, Obstacle, PlacementRefusal, Rank, Rules, Taken, answers, counts_twice, most_of_a_disk, nearest,
};
use crate::facts::volumes::is_healthy;
use crate::longhorn::{Int, LonghornNode, SharedText, Volume};

/// A disk that may take a replica.
#[derive(Debug, Clone, Copy)]
pub struct Spot<'a> {
    /// The Longhorn node.
    pub node: &'a LonghornNode,
    /// Name of the disk there.
    pub disk: &'a SharedText,
    uuid: &'a str,
    usable: i64,
    /// The same less what is allocated.
    left: i64,
}

/// What Longhorn's scheduler would do next, with what it has done in mind.
pub struct Scheduler<'a> {
    cluster: &'a Cluster,
    lost: BTreeSet<&'a str>,
    /// Nodes that take nothing now, with why.
    closed: BTreeMap<&'a str, String>,
    /// The nodes that stay, as they are and with what was placed.
    nodes: Vec<(&'a LonghornNode, LonghornNode)>,
}

fn spot<'a>(node: &'a LonghornNode, then: &LonghornNode, disk: &str) -> Option<Spot<'a>> {
    let (disk, now) = node.status.disk_status.get_key_value(disk)?;
    let (spec, then) = (node.spec.disks.get(disk)?, then.status.disk_status.get(disk)?);
    let usable = then.storage_available.0.saturating_sub(spec.storage_reserved.0);
    let left = usable.saturating_sub(then.storage_scheduled.0).max(0);
    Some(Spot { node, disk, uuid: &now.disk_uuid, usable, left })
}

impl<'a> Scheduler<'a> {
    /// Of the cluster as it is.
    pub fn of(cluster: &'a Cluster) -> Self {
        Self::without(cluster, BTreeSet::new())
    }

    /// Where these nodes are lost, with what is on them.
    pub fn without(cluster: &'a Cluster, lost: BTreeSet<&'a str>) -> Self {
        let nodes = cluster.objects.longhorn_nodes.iter();
        let staying = nodes.filter(|node| !lost.contains(node.metadata.name.as_str()));
        Scheduler {
            cluster,
            nodes: staying.map(|node| (node, node.clone())).collect(),
            lost,
            closed: BTreeMap::new(),
        }
    }

    /// With nodes that take nothing now.
    pub fn closing(mut self, closed: &BTreeMap<&'a str, String>) -> Self {
        self.closed.clone_from(closed);
        self
    }

    /// Places so many more replicas of the volume, and says on which disks. Where they are fewer, what refuses the next.
    pub fn place(&mut self, volume: &Volume, count: usize) -> (Vec<Spot<'a>>, Vec<PlacementRefusal>) {
        self.put(volume, count, &Rules::of(self.cluster, volume))
    }

    /// Places one more replica of each volume, the largest first: so many bytes of them find a disk.
    pub fn room_for(&mut self, mut volumes: Vec<&Volume>) -> i64 {
        volumes.sort_by_key(|volume| std::cmp::Reverse(volume.spec.size.0));
        let found = volumes.into_iter().filter(|volume| {
            let rules = Rules::in_figures(self.cluster, volume);
            !self.put(volume, 1, &rules).0.is_empty()
        });
        found.map(|volume| volume.spec.size.0).fold(0, i64::saturating_add)
    }

    fn put(
        &mut self,
        volume: &Volume,
        count: usize,
        rules: &Rules,
    ) -> (Vec<Spot<'a>>, Vec<PlacementRefusal>) {
        let mut taken = Taken::of(self.cluster, volume, |node| self.lost.contains(node));
        let mut placed = Vec::new();
        let balances = self.cluster.release().is_some_and(|release| release.at_least(1, 11, 0));
        let before = if balances { self.left() } else { BTreeMap::new() };
        while placed.len() < count {
            let spots = match self.look(volume, rules, &taken) {
                Ok(spots) => spots,
                Err(refusals) => return (placed, refusals),
            };
            let balanced = || most_balanced(&spots, &before, volume.spec.size.0);
            let roomiest = || spots.iter().rev().max_by_key(|spot| spot.usable);
            let Some(spot) = balanced().or_else(roomiest).copied() else { break };
            self.fill(&spot, volume);
            taken.add(spot.node, false);
            taken.disks.insert(spot.uuid);
            if counts_twice(self.cluster) {
                taken.count_beside(spot.node, spot.uuid, volume);
            }
            placed.push(spot);
        }
        (placed, Vec::new())
    }

    /// What is left on each disk, by its UUID.
    fn left(&self) -> BTreeMap<&'a str, i64> {
        let disks = self.nodes.iter().flat_map(|(node, then)| {
            node.status.disk_status.keys().filter_map(move |disk| spot(node, then, disk))
        });
        disks.map(|spot| (spot.uuid, spot.left)).collect()
    }

    /// The disk has one more replica, with all its data.
    fn fill(&mut self, spot: &Spot<'_>, volume: &Volume) {
        let name = &spot.node.metadata.name;
        let node = self.nodes.iter_mut().find(|(node, _)| node.metadata.name == *name);
        if let Some(disk) = node.and_then(|(_, then)| then.status.disk_status.get_mut(spot.disk)) {
            disk.storage_scheduled.0 = disk.storage_scheduled.0.saturating_add(volume.spec.size.0);
            disk.storage_available.0 = disk.storage_available.0.saturating_sub(volume.status.actual_size.0);
        }
    }

    fn look(
        &self,
        volume: &Volume,
        rules: &Rules,
        taken: &Taken<'a>,
    ) -> Result<Vec<Spot<'a>>, Vec<PlacementRefusal>> {
        let mut ranks: BTreeMap<Rank, Vec<Spot<'a>>> = BTreeMap::new();
        let mut refusals = Vec::new();
        for (node, then) in &self.nodes {
            if let Some(why) = self.closed.get(node.metadata.name.as_str()) {
                refusals.push((then, None, (Obstacle::Node, why.clone())));
                continue;
            }
            for Answer { disk, rank, refusal } in answers(then, volume, rules, taken) {
                if let Some(refusal) = refusal {
                    refusals.push((then, disk, refusal));
                } else if let Some((spot, rank)) = disk.and_then(|disk| spot(node, then, disk)).zip(rank) {
                    ranks.entry(rank).or_default().push(spot);
                }
            }
        }
        let Some((_, spots)) = ranks.pop_first() else {
            let said = |(node, disk, refusal)| PlacementRefusal::of(node, disk, refusal);
            return Err(refusals.into_iter().map(said).collect());
        };
        let empty: Vec<Spot<'a>> =
            spots.iter().copied().filter(|spot| !taken.disks.contains(spot.uuid)).collect();
        Ok(if empty.is_empty() { spots } else { empty })
    }

    /// The largest new volume like this one of which so many replicas find a disk, in whole GiB; 0 where none does.
    pub fn largest(
        cluster: &'a Cluster,
        like: &Volume,
        count: usize,
        closed: &BTreeMap<&'a str, String>,
    ) -> i64 {
        const GIB: i64 = 1 << 30;
        let nodes = cluster.objects.longhorn_nodes.iter();
        let most = nodes.flat_map(|node| node.status.disk_status.values()).map(|disk| disk.storage_maximum.0);
        let settings = most_of_a_disk(cluster).max(most.max().unwrap_or_default());
        let (mut fits, mut too_large) = (0, settings / GIB + 1);
        while too_large - fits > 1 {
            let middle = fits + (too_large - fits) / 2;
            let mut volume = like.clone();
            volume.spec.size = Int(middle.saturating_mul(GIB));
            let rules = Rules::in_figures(cluster, &volume);
            match Scheduler::of(cluster).closing(closed).put(&volume, count, &rules).0.len() == count {
                true => fits = middle,
                false => too_large = middle,
            }
        }
        fits * GIB
    }
}

/// The disk whose choice leaves the nodes most alike, and then the disks of its node; none where no node has room for that, or its
/// release does not look at it.
fn most_balanced<'b, 'a>(
    spots: &'b [Spot<'a>],
    before: &BTreeMap<&str, i64>,
    size: i64,
) -> Option<&'b Spot<'a>> {
    let left = |spot: &Spot<'_>| before.get(spot.uuid).copied();
    let mut nodes: BTreeMap<&str, i64> = BTreeMap::new();
    for spot in spots {
        *nodes.entry(spot.node.metadata.name.as_str()).or_default() += left(spot)?;
    }
    let node = most_alike(&nodes, size)?;
    let here = || spots.iter().filter(|spot| spot.node.metadata.name == node);
    let disks = here().filter_map(|spot| Some((spot.uuid, left(spot)?))).collect();
    let disk = most_alike(&disks, size)?;
    here().find(|spot| spot.uuid == disk)
}

/// Of what has room for it, that which leaves the least between the most and the least, by their mean.
fn most_alike<'b>(left: &BTreeMap<&'b str, i64>, size: i64) -> Option<&'b str> {
    let apart = |taken: &str| {
        let then = || left.iter().map(|(name, left)| if *name == taken { left - size } else { *left });
        let mean = then().sum::<i64>() as f64 / left.len() as f64;
        (mean > 0.0).then(|| (then().max().unwrap_or(0) - then().min().unwrap_or(0)) as f64 / mean)
    };
    let scored = left.iter().filter(|(_, left)| **left >= size);
    let scored = scored.filter_map(|(name, _)| Some((*name, apart(name)?)));
    scored.min_by(|(_, one), (_, other)| one.total_cmp(other)).map(|(name, _)| name)
}

/// Replicas of a volume that would find no disk.
#[derive(Debug, Clone, Copy)]
pub struct Unplaced<'a> {
    pub volume: &'a Volume,
    /// How many of them.
    pub count: usize,
    /// What comes nearest, if a node stays at all.
    pub nearest: Option<Obstacle>,
}

/// The volumes with healthy replicas on each node, to ask what the loss of nodes leaves to be rebuilt.
pub struct Rebuilds<'a> {
    cluster: &'a Cluster,
    on: BTreeMap<&'a str, Vec<&'a Volume>>,
}

impl<'a> Rebuilds<'a> {
    /// Looks at every volume once.
    pub fn of(cluster: &'a Cluster) -> Self {
        let mut on: BTreeMap<&str, Vec<&Volume>> = BTreeMap::new();
        for volume in cluster.objects.volumes.iter() {
            let healthy = cluster.replicas_of(&volume.metadata.name).filter(|one| is_healthy(one));
            let nodes: BTreeSet<&str> = healthy.map(|replica| replica.spec.node_id.as_str()).collect();
            for node in nodes {
                on.entry(node).or_default().push(volume);
            }
        }
        Rebuilds { cluster, on }
    }

    /// What finds no disk once these nodes are lost, and what was on them is rebuilt from copies elsewhere, the largest
    /// first. A volume without a copy elsewhere is lost, and nothing of it is rebuilt.
    pub fn without(&self, lost: &BTreeSet<&'a str>) -> Vec<Unplaced<'a>> {
        let mut scheduler = Scheduler::without(self.cluster, lost.clone());
        let on = lost.iter().filter_map(|node| self.on.get(node)).flatten();
        let affected: BTreeMap<&str, &'a Volume> =
            on.map(|volume| (volume.metadata.name.as_str(), *volume)).collect();
        let mut affected: Vec<&'a Volume> = affected.into_values().collect();
        affected.sort_by_key(|volume| std::cmp::Reverse(volume.spec.size.0));
        let mut unplaced = Vec::new();
        for volume in affected {
            let healthy = self.cluster.replicas_of(&volume.metadata.name).filter(|one| is_healthy(one));
            let (gone, left): (Vec<_>, Vec<_>) =
                healthy.partition(|one| lost.contains(one.spec.node_id.as_str()));
            if left.is_empty() {
                continue;
            }
            let rules = Rules::in_figures(self.cluster, volume);
            let (placed, refusals) = scheduler.put(volume, gone.len(), &rules);
            if let Some(count @ 1..) = gone.len().checked_sub(placed.len()) {
                unplaced.push(Unplaced { volume, count, nearest: nearest(&refusals) });
            }
        }
        unplaced
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_leaves_the_least_apart_is_chosen_of_what_has_room() {
        for (left, size, chosen) in [
            // longhorn-manager v1.12.1 getDiskWithMostBalanceScore: (most - least) / mean of what is left
            (&[("a", 30), ("b", 88), ("c", 98)][..], 10, Some("c")),
            (&[("a", 100), ("b", 90)], 10, Some("a")),
            (&[("a", 100), ("b", 90)], 95, Some("a")),
            (&[("a", 100), ("b", 90)], 101, None),
            (&[("a", 10), ("b", 0)], 10, None),
            (&[], 10, None),
        ] {
            assert_eq!(most_alike(&left.iter().copied().collect(), size), chosen, "{left:?} {size}");
        }
    }
}
