//! Tags that a volume selects and no other node or disk has, and where one was lost that replicas lie behind.

use std::collections::BTreeSet;

use crate::cluster::Cluster;
use crate::facts::placement::{Obstacle, PlacementRefusal};
use crate::longhorn::{Replica, SharedText};

/// A node or a disk that holds a replica of a volume which selects a tag that is missing there: Longhorn placed it by that tag, so the tag
/// was taken away, as by a program that rewrites the node's disks (longhorn-manager v1.3.3 to v1.12.1 scheduler/replica_scheduler.go
/// getNodeCandidates, filterNodeDisksForReplica; harvester/harvester#2832).
pub struct Lost<'a> {
    pub refusal: &'a PlacementRefusal,
    tags: &'a str,
    replica: &'a Replica,
}

/// Of several, the first.
pub fn lost<'a>(cluster: &'a Cluster, refusals: &'a [PlacementRefusal]) -> Option<Lost<'a>> {
    refusals.iter().find_map(|refusal| {
        let tags = missing(refusal)?;
        let node = cluster.objects.longhorn_nodes.get(&refusal.node)?;
        let disks = node.status.disk_status.iter();
        let disks = disks.filter(|(name, _)| refusal.disk.is_empty() || **name == *refusal.disk);
        let mut replicas = disks.flat_map(|(_, disk)| cluster.replicas_on_disk(&disk.disk_uuid));
        let replica = replicas.find(|replica| selects(cluster, replica, refusal, tags))?;
        Some(Lost { refusal, tags, replica })
    })
}

impl Lost<'_> {
    /// For a headline.
    pub fn briefly(&self) -> String {
        match self.refusal.disk.as_str() {
            "" => format!("{} lost node tag {}", self.refusal.node, self.tags),
            _ => format!("{}'s disk lost tag {}", self.refusal.node, self.tags),
        }
    }

    /// What to put back.
    pub fn tag(&self) -> String {
        match self.refusal.disk.as_str() {
            "" => format!("node tag {}", self.tags),
            disk => format!("tag {} of disk {disk}", self.tags),
        }
    }

    pub fn evidence(&self) -> String {
        let Lost { refusal, tags, replica } = self;
        let (name, volume, node) = (&replica.metadata.name, &replica.spec.volume_name, &refusal.node);
        format!("replica {name} of volume {volume}, which selects tag {tags}, was placed on {node}")
    }
}

/// Why no disk takes the replica, for a headline, and the tags for the fix.
pub fn why(refusals: &[PlacementRefusal]) -> (String, String) {
    let tags: BTreeSet<&str> = refusals.iter().filter_map(missing).flat_map(|all| all.split(", ")).collect();
    let tags: Vec<&str> = tags.into_iter().collect();
    let others = refusals.iter().any(|one| one.obstacle == Obstacle::AntiAffinity);
    let none = if others { "no other" } else { "none" };
    let why = match tags.len() {
        0 => super::SELECTS_NONE.briefly.to_owned(),
        1 => format!("{none} has tag {}", tags.concat()),
        _ => format!("{none} has tags {}", tags.join("+")),
    };
    (why, tags.join(", "))
}

/// The tags that it lacks, if those are what it is refused for.
fn missing(refusal: &PlacementRefusal) -> Option<&str> {
    let tags = refusal.reason.split_once("lacks the tag ").filter(|_| refusal.obstacle == Obstacle::Tags)?;
    Some(tags.1)
}

fn selects(cluster: &Cluster, replica: &Replica, refusal: &PlacementRefusal, tags: &str) -> bool {
    let Some(volume) = cluster.objects.volumes.get(&replica.spec.volume_name) else { return false };
    let selector: &[SharedText] = match refusal.disk.as_str() {
        "" => &volume.spec.node_selector,
        _ => &volume.spec.disk_selector,
    };
    tags.split(", ").all(|tag| selector.iter().any(|one| one == tag))
}
