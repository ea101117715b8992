//! Volumes whose copies go together, and backing images.

use std::collections::BTreeMap;

use super::super::{Found, held};
use super::{Audit, places};
use crate::check::counted;
use crate::facts::backing_images::irreplaceable_on;
use crate::facts::text::listed;
use crate::facts::volumes::was_never_up;
use crate::longhorn::{Replica, Volume, VolumeHealth};
use crate::report::redundancy::Shared;

/// How many places are named.
const MAX_PLACES: usize = 20;

/// Says one reason for the volumes that share a place, with these places, the worst first.
fn tell<'a>(
    audit: &Audit<'a>,
    out: &mut Found,
    holds: &str,
    place: impl Fn(&Volume, Shared<'a>) -> Option<String>,
) {
    let found: Vec<(&Volume, String)> =
        audit.shared.iter().filter_map(|(volume, shared)| Some((*volume, place(volume, *shared)?))).collect();
    let volumes: Vec<&Volume> = found.iter().map(|(volume, _)| *volume).collect();
    let mut places: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (volume, place) in &found {
        let called = audit.cluster.volume_ref(&volume.metadata.name);
        places.entry(place).or_default().push(called.called().to_owned());
    }
    let mut places: Vec<_> = places.into_iter().collect();
    places.sort_by_key(|(_, volumes)| std::cmp::Reverse(volumes.len()));
    let never = volumes.iter().filter(|volume| !volume.status.last_backup_at.is_set()).count();
    let Some(reason) = out.volumes(audit.cluster, &volumes, holds) else { return };
    for (place, names) in places.iter().take(MAX_PLACES) {
        let what = if names.len() == 1 { "volume" } else { "volumes" };
        reason.fact(format!("{what} {} would be lost if {place} failed", listed(names)));
    }
    if let Some(more) = places.len().checked_sub(MAX_PLACES).filter(|more| *more > 0) {
        reason.fact(format!("and {}", counted(more, "more place")));
    }
    match never {
        0 => {}
        1 if volumes.len() == 1 => {
            reason.fact("the volume has never been backed up");
        }
        1 => {
            reason.fact("1 of these volumes has never been backed up");
        }
        several if several == volumes.len() => {
            reason.fact("none of these volumes has ever been backed up");
        }
        several => {
            reason.fact(format!("{several} of these volumes have never been backed up"));
        }
    }
}

fn disk(audit: &Audit<'_>, replica: &Replica) -> String {
    let node = &replica.spec.node_id;
    match audit.cluster.disk(&replica.spec.disk_id) {
        Some(disk) => format!("disk {} of node {node}", disk.name),
        None => format!("disk {} of node {node}", replica.spec.disk_id),
    }
}

fn only_copy(audit: &Audit<'_>, out: &mut Found, holds: &str, by_choice: bool) {
    tell(audit, out, holds, |volume, shared| match shared {
        Shared::Copy(replica) if (volume.spec.number_of_replicas.0 <= 1) == by_choice => {
            Some(disk(audit, replica))
        }
        _ => None,
    });
}

pub fn faulted(audit: &Audit<'_>, out: &mut Found) {
    // one that was never up has nothing to lose
    let faulted = |volume: &&Volume| {
        volume.status.health() == VolumeHealth::Faulted && !was_never_up(audit.cluster, volume)
    };
    let volumes: Vec<&Volume> = audit.cluster.objects.volumes.iter().filter(faulted).collect();
    out.volumes(audit.cluster, &volumes, "is|are already faulted");
}

pub fn together(audit: &Audit<'_>, out: &mut Found) {
    let volumes = places::together(audit).unwrap_or_default();
    out.volumes(audit.cluster, &volumes, "has|have all copies on these nodes");
}

pub fn one_copy(audit: &Audit<'_>, out: &mut Found) {
    only_copy(audit, out, "has|have only one healthy copy left", false);
}

pub fn by_choice(audit: &Audit<'_>, out: &mut Found) {
    only_copy(audit, out, "has|have numberOfReplicas 1", true);
}

pub fn one_disk(audit: &Audit<'_>, out: &mut Found) {
    tell(audit, out, "has|have all copies on a single disk", |_, shared| match shared {
        Shared::Disk(replica) => Some(disk(audit, replica)),
        _ => None,
    });
}

pub fn one_node(audit: &Audit<'_>, out: &mut Found) {
    tell(audit, out, "has|have all copies on a single node", |_, shared| match shared {
        Shared::Node(replica) => Some(format!("node {}", replica.spec.node_id)),
        _ => None,
    });
}

pub fn one_zone(audit: &Audit<'_>, out: &mut Found) {
    tell(audit, out, "has|have all copies in a single zone", |_, shared| match shared {
        Shared::Zone(zone) => Some(format!("zone {zone}")),
        _ => None,
    });
}

pub fn one_image(audit: &Audit<'_>, out: &mut Found) {
    let mut images: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for image in audit.cluster.objects.backing_images.iter() {
        let nodes = irreplaceable_on(audit.cluster, image);
        if let (Some(node), 1) = (nodes.first(), nodes.len()) {
            images.entry(*node).or_default().push(image.metadata.name.as_str());
        }
    }
    let names: Vec<&str> = images.values().flatten().copied().collect();
    if names.is_empty() {
        return;
    }
    let text = held(names.len(), "backing image", "has|have all copies on a single node");
    let reason = out.say(format!("{text}: {}", listed(&names)));
    for (node, names) in images.iter().take(MAX_PLACES) {
        let what = if names.len() == 1 { "backing image" } else { "backing images" };
        reason.fact(format!("{what} {} would be lost if node {node} failed", listed(names)));
    }
}
