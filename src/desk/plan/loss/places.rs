//! What is lost with each node, disk and zone.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::super::Loss;
use super::Audit;
use crate::facts::text::listed;
use crate::facts::volumes::is_healthy;
use crate::longhorn::{Replica, Volume};
use crate::report::redundancy::Shared;

/// A place, in the order of the table: its kind, its name, and the node of a disk.
type Place = (&'static str, String, Option<String>);

/// The places with which data is lost, nodes first and the worst of a kind first. A disk that is lost with just what its node is lost
/// with is left out.
pub fn losses(audit: &Audit<'_>) -> Vec<Loss> {
    if !audit.nodes.is_empty() {
        return together(audit)
            .map(|volumes| loss(audit, node_or_nodes(audit.nodes), listed(audit.nodes), None, &volumes))
            .into_iter()
            .collect();
    }
    let mut lost: BTreeMap<Place, Vec<&Volume>> = BTreeMap::new();
    for (volume, shared) in &audit.shared {
        for place in places(audit, *shared) {
            lost.entry(place).or_default().push(volume);
        }
    }
    let of_node = |node: &str| lost.get(&("node", node.to_owned(), None)).map_or(0, Vec::len);
    let repeats = |((_, _, node), volumes): &(&Place, &Vec<&Volume>)| {
        node.as_deref().is_some_and(|node| of_node(node) == volumes.len())
    };
    let told = lost.iter().filter(|entry| !repeats(entry));
    let mut losses: Vec<Loss> = told
        .map(|((place, name, node), volumes)| loss(audit, place, name.clone(), node.clone(), volumes))
        .collect();
    let order = |place: &str| ["node", "disk", "zone"].iter().position(|known| *known == place);
    losses.sort_by_key(|loss| (order(loss.place), std::cmp::Reverse(loss.volumes.len())));
    losses
}

fn loss(
    audit: &Audit<'_>,
    place: &'static str,
    name: String,
    node: Option<String>,
    volumes: &[&Volume],
) -> Loss {
    Loss {
        place,
        name,
        node,
        volumes: volumes.iter().map(|volume| audit.cluster.volume_ref(&volume.metadata.name)).collect(),
        backups: volumes.iter().filter_map(|volume| backup(volume)).collect(),
        restores: volumes.iter().filter_map(|volume| restore(audit, volume)).collect(),
    }
}

/// Volumes with healthy copies, all of them on the named nodes. `None` if there is none.
pub fn together<'a>(audit: &Audit<'a>) -> Option<Vec<&'a Volume>> {
    let is_named = |replica: &Replica| audit.nodes.iter().any(|node| *node == *replica.spec.node_id);
    let is_lost = |volume: &&Volume| {
        let copies = audit.cluster.replicas_of(&volume.metadata.name).filter(|replica| is_healthy(replica));
        let (there, elsewhere): (Vec<_>, Vec<_>) = copies.partition(|replica| is_named(replica));
        !there.is_empty() && elsewhere.is_empty()
    };
    let lost: Vec<&Volume> = audit.cluster.objects.volumes.iter().filter(is_lost).collect();
    (!lost.is_empty()).then_some(lost)
}

fn node_or_nodes(nodes: &[String]) -> &'static str {
    if nodes.len() == 1 { "node" } else { "nodes" }
}

/// `node n1`, `nodes n1, n2 together`.
pub fn called(nodes: &[String]) -> String {
    let together = if nodes.len() > 1 { " together" } else { "" };
    format!("{} {}{together}", node_or_nodes(nodes), nodes.join(", "))
}

/// `node n1 failed`, `nodes n1, n2 failed together`.
pub fn failed(nodes: &[String]) -> String {
    let together = if nodes.len() > 1 { " together" } else { "" };
    format!("{} {} failed{together}", node_or_nodes(nodes), nodes.join(", "))
}

fn backup(volume: &Volume) -> Option<(String, Timestamp)> {
    Some((volume.metadata.name.to_string(), volume.status.last_backup_at.get()?))
}

fn restore(audit: &Audit<'_>, volume: &Volume) -> Option<(String, Timestamp)> {
    let name = volume.metadata.name.as_str();
    audit.restores.get(name).map(|(at, _)| (name.to_owned(), *at))
}

/// Every place with which all copies are lost.
fn places(audit: &Audit<'_>, shared: Shared<'_>) -> Vec<Place> {
    let node = |replica: &Replica| ("node", replica.spec.node_id.to_string(), None);
    let disk = |replica: &Replica| {
        let named = audit.cluster.disk(&replica.spec.disk_id).map(|disk| disk.name);
        let name = named.unwrap_or(&replica.spec.disk_id).to_owned();
        ("disk", name, Some(replica.spec.node_id.to_string()))
    };
    let zone = |replica: &Replica| {
        let zone = audit.cluster.objects.longhorn_nodes.get(&replica.spec.node_id)?.status.zone.to_string();
        (audit.zones.len() > 1 && !zone.is_empty()).then_some(("zone", zone, None))
    };
    match shared {
        Shared::Copy(replica) | Shared::Disk(replica) => {
            [node(replica), disk(replica)].into_iter().chain(zone(replica)).collect()
        }
        Shared::Node(replica) => [node(replica)].into_iter().chain(zone(replica)).collect(),
        Shared::Zone(name) => vec![("zone", name.to_owned(), None)],
    }
}
