//! Whether what was on a node finds room on the others.

use std::collections::BTreeSet;

use super::super::{Found, Weight};
use super::Audit;
use crate::check::counted;
use crate::facts::nodes::down;
use crate::facts::placement::{Obstacle, bytes, nearest, refusals_without, room_without};
use crate::facts::text::listed;
use crate::facts::volumes::is_healthy;
use crate::longhorn::{Owner, Volume};

/// For each node by itself: replicas that no disk would take, and all of them together. That a volume wants as many
/// nodes as there are is no want of space; it is a note.
pub fn no_room(audit: &Audit<'_>, out: &mut Found) {
    let mut as_many_nodes: BTreeSet<&str> = BTreeSet::new();
    for node in audit.cluster.objects.longhorn_nodes.iter() {
        let name = node.metadata.name.as_str();
        if down(audit.cluster, name).is_some() {
            continue;
        }
        let mut homeless: Vec<&Volume> = Vec::new();
        let mut needed: i64 = 0;
        for replica in audit.cluster.objects.replicas.of(Owner::Node, name).filter(|one| is_healthy(one)) {
            let Some(volume) = audit.cluster.objects.volumes.get(&replica.spec.volume_name) else { continue };
            let refused = refusals_without(audit.cluster, volume, |other| other == name);
            let Some(mut refusals) = refused else {
                needed = needed.saturating_add(volume.spec.size.0);
                continue;
            };
            refusals.retain(|refusal| refusal.node != name);
            match nearest(&refusals) {
                Some(Obstacle::Space | Obstacle::Provisioning) => homeless.push(volume),
                _ => {
                    as_many_nodes.insert(&volume.metadata.name);
                }
            }
        }
        if !homeless.is_empty() {
            let text =
                format!("no disk would take {} if node {name} were lost", counted(homeless.len(), "replica"));
            out.say(text).volumes(audit.cluster, &homeless);
        }
        let room = room_without(audit.cluster, |other| other == name);
        if homeless.is_empty() && needed > room {
            let text = format!(
                "if node {name} were lost, replicas of {} would look for room, and all other disks take {} more",
                bytes(needed),
                bytes(room)
            );
            out.say(text);
        }
    }
    if !as_many_nodes.is_empty() {
        let names: Vec<&str> = as_many_nodes.into_iter().collect();
        let text = format!(
            "{} would stay degraded until a lost node is back: no other node, zone or disk may take the copy",
            counted(names.len(), "volume")
        );
        out.say(text).weight(Weight::Note).fact(listed(&names)).fix("");
    }
}
