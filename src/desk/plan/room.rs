//! Whether what was on a node, or in a zone, finds room on the others.

use std::collections::{BTreeMap, BTreeSet};

use super::scheduler::{Rebuilds, Unplaced};
use super::{Found, Weight};
use crate::check::{bytes, counted};
use crate::cluster::Cluster;
use crate::facts::nodes::down;
use crate::facts::placement::Obstacle;
use crate::facts::text::listed;
use crate::longhorn::Volume;
use crate::report::redundancy::zones;

/// For each node on its own: replicas that no disk would take. That a volume wants as many nodes as there are is no want
/// of space; it is a note.
pub fn without_a_node(cluster: &Cluster, out: &mut Found) {
    let nodes = cluster.objects.longhorn_nodes.iter().map(|node| node.metadata.name.as_str());
    let up = nodes.filter(|node| down(cluster, node).is_none());
    let places = up.map(|node| (format!("node {node}"), BTreeSet::from([node]))).collect();
    without_each(cluster, places, "a node were lost: no other node, zone or disk can take the copy", out);
}

/// The same for each zone, where there are several.
pub fn without_a_zone(cluster: &Cluster, out: &mut Found) {
    let mut places: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    if zones(cluster).len() > 1 {
        for node in cluster.objects.longhorn_nodes.iter().filter(|node| !node.status.zone.is_empty()) {
            places.entry(format!("zone {}", node.status.zone)).or_default().insert(&node.metadata.name);
        }
    }
    without_each(cluster, places, "a zone were lost: no node or disk elsewhere can take the copy", out);
}

fn without_each(cluster: &Cluster, places: BTreeMap<String, BTreeSet<&str>>, why_not: &str, out: &mut Found) {
    let rebuilds = Rebuilds::of(cluster);
    let mut stay_degraded: BTreeSet<&str> = BTreeSet::new();
    for (place, nodes) in places {
        let lacks_space =
            |one: &Unplaced<'_>| matches!(one.nearest, Some(Obstacle::Space | Obstacle::Provisioning));
        let (homeless, others): (Vec<_>, Vec<_>) =
            rebuilds.without(&nodes).into_iter().partition(lacks_space);
        stay_degraded.extend(others.iter().map(|one| one.volume.metadata.name.as_str()));
        let count: usize = homeless.iter().map(|one| one.count).sum();
        if count == 0 {
            continue;
        }
        let size = |one: &Unplaced<'_>| one.volume.spec.size.0.saturating_mul(one.count as i64);
        let size = homeless.iter().map(size).fold(0, i64::saturating_add);
        let volumes: Vec<&Volume> = homeless.iter().map(|one| one.volume).collect();
        let text = format!(
            "{} ({}) would find no room if {place} were lost",
            counted(count, "replica"),
            bytes(size)
        );
        out.say(text).volumes(cluster, &volumes);
    }
    if !stay_degraded.is_empty() {
        let volumes: Vec<_> = stay_degraded.into_iter().map(|name| cluster.volume_ref(name)).collect();
        let names: Vec<&str> = volumes.iter().map(|volume| volume.called()).collect();
        let text = format!("{} would stay degraded if {why_not}", counted(names.len(), "volume"));
        out.say(text).weight(Weight::Note).fact(format!("affected: {}", listed(&names))).fix("");
    }
}
