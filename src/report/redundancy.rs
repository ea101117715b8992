//! Where the healthy copies of a volume are, and with what they are all lost.

use std::collections::BTreeSet;

use crate::cluster::Cluster;
use crate::facts::placement::SoftAntiAffinity;
use crate::facts::volumes::is_healthy;
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
    let mut copies = cluster.replicas_of(&volume.metadata.name).filter(|replica| is_healthy(replica));
    let first = copies.next()?;
    let zone = || zone_of(cluster, first).filter(|_| zones.len() > 1);
    let mut all = Shared::Copy(first);
    // each copy leaves as it was what is shared, or widens it
    for copy in copies {
        let same = |of: fn(&Replica) -> &str| of(copy) == of(first);
        all = match all {
            Shared::Copy(_) | Shared::Disk(_) if same(|copy| &copy.spec.disk_id) => Shared::Disk(first),
            Shared::Copy(_) | Shared::Disk(_) | Shared::Node(_) if same(|copy| &copy.spec.node_id) => {
                Shared::Node(first)
            }
            _ => Shared::Zone(zone().filter(|zone| zone_of(cluster, copy) == Some(zone))?),
        };
    }
    Some(all)
}

/// Whether the volume or the settings promise that its copies do not share that: it asks for more than one copy, or may
/// not have two on one disk or node, or in one zone.
pub fn is_promised_otherwise(cluster: &Cluster, volume: &Volume, shared: Shared<'_>) -> bool {
    let soft = || SoftAntiAffinity::of(cluster, volume);
    match shared {
        Shared::Copy(_) => volume.spec.number_of_replicas.0 > 1,
        Shared::Disk(_) => !soft().disks || !soft().nodes,
        Shared::Node(_) => !soft().nodes,
        Shared::Zone(_) => !soft().zones,
    }
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
