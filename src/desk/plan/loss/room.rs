//! Whether what was on a node finds room on the others.

use std::collections::{BTreeMap, BTreeSet};

use super::super::{Found, Weight};
use super::Audit;
use crate::check::counted;
use crate::facts::nodes::down;
use crate::facts::placement::{Obstacle, bytes, places, room_without};
use crate::facts::text::listed;
use crate::facts::volumes::is_healthy;
use crate::longhorn::Volume;

/// What goes with a node.
#[derive(Default)]
struct Lost<'a> {
    /// Volumes whose copy no disk would take.
    homeless: Vec<&'a Volume>,
    /// What the others need together, in bytes.
    needed: i64,
}

/// For each node on its own: replicas that no disk would take, and all of them together. That a volume wants as many
/// nodes as there are is no want of space; it is a note.
pub fn no_room(audit: &Audit<'_>, out: &mut Found) {
    let cluster = audit.cluster;
    let mut as_many_nodes: BTreeSet<&str> = BTreeSet::new();
    let mut lost: BTreeMap<&str, Lost<'_>> = BTreeMap::new();
    let nodes = cluster.objects.longhorn_nodes.iter().map(|node| node.metadata.name.as_str());
    for node in nodes.filter(|node| down(cluster, node).is_none()) {
        lost.insert(node, Lost::default());
    }
    for volume in cluster.objects.volumes.iter() {
        let mut healthy = cluster.replicas_of(&volume.metadata.name).filter(|one| is_healthy(one)).peekable();
        if healthy.peek().is_none() {
            continue;
        }
        let places = places(cluster, volume);
        for replica in healthy {
            let node = replica.spec.node_id.as_str();
            let Some(lost) = lost.get_mut(node) else { continue };
            match places.nearest_without(|other| other == node) {
                None => lost.needed = lost.needed.saturating_add(volume.spec.size.0),
                Some(Some(Obstacle::Space | Obstacle::Provisioning)) => lost.homeless.push(volume),
                Some(_) => {
                    as_many_nodes.insert(&volume.metadata.name);
                }
            }
        }
    }
    for (name, Lost { homeless, needed }) in lost {
        if !homeless.is_empty() {
            let text = format!(
                "if node {name} were lost, no disk would have room for {}",
                counted(homeless.len(), "replica")
            );
            out.say(text).volumes(cluster, &homeless);
            continue;
        }
        let room = room_without(cluster, |other| other == name);
        if needed > room {
            let text = format!(
                "if node {name} were lost, its replicas would need {}, but the other disks have room for only {}",
                bytes(needed),
                bytes(room)
            );
            out.say(text);
        }
    }
    if !as_many_nodes.is_empty() {
        let names: Vec<&str> = as_many_nodes.into_iter().collect();
        let text = format!(
            "{} would stay degraded while a node is lost: no other node, zone or disk can take the copy",
            counted(names.len(), "volume")
        );
        out.say(text).weight(Weight::Note).fact(format!("these volumes are {}", listed(&names))).fix("");
    }
}
