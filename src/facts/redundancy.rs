//! Where the healthy copies of a volume are, and with what they are all lost.

use std::collections::BTreeSet;

use super::volumes::is_healthy;
use crate::cluster::Cluster;
use crate::longhorn::{Replica, Volume};

/// What all healthy copies of a volume share, the narrowest of it.
#[derive(Debug, Clone, Copy)]
pub enum Shared<'a> {
    /// There is one copy.
    Copy(&'a Replica),
    /// Several on one disk.
    Disk(&'a Replica),
    /// Several on disks of one node.
    Node(&'a Replica),
    /// Several on nodes of one zone, where others are.
    Zone(&'a str),
}

/// What all healthy copies of the volume share. `None` where nothing is: they are apart, or there is none, which is a
/// matter of its own.
pub fn shared<'a>(cluster: &'a Cluster, zones: &BTreeSet<&'a str>, volume: &Volume) -> Option<Shared<'a>> {
    let copies: Vec<&Replica> =
        cluster.replicas_of(&volume.metadata.name).filter(|replica| is_healthy(replica)).collect();
    let first = copies.first().copied()?;
    let same = |of: fn(&Replica) -> &str| copies.iter().all(|copy| of(copy) == of(first));
    if copies.len() == 1 {
        return Some(Shared::Copy(first));
    }
    if same(|copy| &copy.spec.disk_id) {
        return Some(Shared::Disk(first));
    }
    if same(|copy| &copy.spec.node_id) {
        return Some(Shared::Node(first));
    }
    let zone = zone_of(cluster, first)?;
    let one = copies.iter().all(|copy| zone_of(cluster, copy) == Some(zone));
    (one && zones.len() > 1).then_some(Shared::Zone(zone))
}

/// Zones that nodes have a name for.
pub fn zones(cluster: &Cluster) -> BTreeSet<&str> {
    let zones = cluster.objects.longhorn_nodes.iter().map(|node| node.status.zone.as_str());
    zones.filter(|zone| !zone.is_empty()).collect()
}

fn zone_of<'a>(cluster: &'a Cluster, replica: &Replica) -> Option<&'a str> {
    let node = cluster.objects.longhorn_nodes.get(&replica.spec.node_id)?;
    Some(node.status.zone.as_str()).filter(|zone| !zone.is_empty())
}
