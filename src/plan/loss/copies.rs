//! Volumes whose copies go together.

use std::collections::BTreeMap;

use super::super::Found;
use super::Audit;
use crate::check::counted;
use crate::facts::redundancy::Shared;
use crate::facts::text::listed;
use crate::longhorn::{Replica, Volume};

/// How many places are named.
const MAX_PLACES: usize = 20;

/// Says one reason for these volumes, with the places that they die with, the worst first.
fn tell<'a>(audit: &Audit<'a>, out: &mut Found, what: &str, found: &[(&'a Volume, String)]) {
    if found.is_empty() {
        return;
    }
    let volumes: Vec<&Volume> = found.iter().map(|(volume, _)| *volume).collect();
    let mut places: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (volume, place) in found {
        let called = audit.cluster.volume_ref(&volume.metadata.name);
        places.entry(place).or_default().push(called.called().to_owned());
    }
    let mut places: Vec<_> = places.into_iter().collect();
    places.sort_by_key(|(_, volumes)| std::cmp::Reverse(volumes.len()));
    let never = volumes.iter().filter(|volume| !volume.status.last_backup_at.is_set()).count();
    let reason = out.say(format!("{} {what}", counted(volumes.len(), "volume")));
    reason.volumes(audit.cluster, &volumes);
    for (place, names) in places.iter().take(MAX_PLACES) {
        reason.fact(format!("with {place}: {}", listed(names)));
    }
    if let Some(more) = places.len().checked_sub(MAX_PLACES).filter(|more| *more > 0) {
        reason.fact(format!("and with {more} more"));
    }
    if never > 0 {
        reason.fact(format!("{never} of these were never backed up"));
    }
}

fn disk(audit: &Audit<'_>, replica: &Replica) -> String {
    let node = &replica.spec.node_id;
    match audit.cluster.disk(&replica.spec.disk_id) {
        Some(disk) => format!("disk {} of node {node}", disk.name),
        None => format!("disk {} of node {node}", replica.spec.disk_id),
    }
}

fn select<'a>(
    audit: &Audit<'a>,
    place: impl Fn(&Volume, Shared<'a>) -> Option<String>,
) -> Vec<(&'a Volume, String)> {
    audit.shared.iter().filter_map(|(volume, shared)| Some((*volume, place(volume, *shared)?))).collect()
}

fn wants_one(volume: &Volume) -> bool {
    volume.spec.number_of_replicas.0 <= 1
}

pub fn one_copy(audit: &Audit<'_>, out: &mut Found) {
    let found = select(audit, |volume, shared| match shared {
        Shared::Copy(replica) if !wants_one(volume) => Some(disk(audit, replica)),
        _ => None,
    });
    let what = if found.len() == 1 { "has one healthy copy left" } else { "have one healthy copy left each" };
    tell(audit, out, what, &found);
}

pub fn by_choice(audit: &Audit<'_>, out: &mut Found) {
    let found = select(audit, |volume, shared| match shared {
        Shared::Copy(replica) if wants_one(volume) => Some(disk(audit, replica)),
        _ => None,
    });
    let what = if found.len() == 1 {
        "has one copy, as it is asked to"
    } else {
        "have one copy, as they are asked to"
    };
    tell(audit, out, what, &found);
}

pub fn one_disk(audit: &Audit<'_>, out: &mut Found) {
    let found = select(audit, |_, shared| match shared {
        Shared::Disk(replica) => Some(disk(audit, replica)),
        _ => None,
    });
    let what =
        if found.len() == 1 { "has all copies on one disk" } else { "have all copies on one disk each" };
    tell(audit, out, what, &found);
}

pub fn one_node(audit: &Audit<'_>, out: &mut Found) {
    let found = select(audit, |_, shared| match shared {
        Shared::Node(replica) => Some(format!("node {}", replica.spec.node_id)),
        _ => None,
    });
    let what =
        if found.len() == 1 { "has all copies on one node" } else { "have all copies on one node each" };
    tell(audit, out, what, &found);
}

pub fn one_zone(audit: &Audit<'_>, out: &mut Found) {
    let found = select(audit, |_, shared| match shared {
        Shared::Zone(zone) => Some(format!("zone {zone}")),
        _ => None,
    });
    let what =
        if found.len() == 1 { "has all copies in one zone" } else { "have all copies in one zone each" };
    tell(audit, out, what, &found);
}
