//! How much room a ready disk has for more replicas, by Longhorn's own arithmetic.

use super::causes;
use super::disks::Disk;
use crate::check::*;
use crate::facts::patience::NODE_AWAY;
use crate::facts::placement::DiskSpace;
use crate::facts::{api, text};
use crate::longhorn::{Condition, ConditionStatus, condition};

/// From this share of what may be promised on, a disk is nearly full.
const FULL_SHARE: f64 = 0.9;
/// So much of the disk above its least free space is close to it.
const LOW_MARGIN: f64 = 0.05;

/// True when Longhorn places no more replicas on the disk for lack of room.
pub(super) fn is_full(disk: &Disk) -> bool {
    pressure(disk).is_some()
}

fn pressure<'a>(disk: &Disk<'a>) -> Option<&'a Condition> {
    condition(&disk.status.conditions, "Schedulable").filter(|schedulable| {
        schedulable.status == ConditionStatus::False && schedulable.reason == "DiskPressure"
    })
}

pub(super) fn run(cluster: &Cluster, out: &mut Outcome, disk: &Disk) {
    let (node, spec) = (&disk.node.spec, disk.spec);
    // someone keeps replicas away from it anyway
    if !node.allow_scheduling || !spec.allow_scheduling || node.eviction_requested || spec.eviction_requested
    {
        return;
    }
    let space = DiskSpace::of(cluster, spec, disk.status);
    let of = format!("disk {} of node {}", disk.name, disk.node_name());
    let finding = match pressure(disk) {
        Some(full) => {
            let since = full.last_transition_time.get();
            if since.is_some_and(|since| cluster.age(since) < NODE_AWAY) {
                return;
            }
            let why = match space.as_ref().map(DiskSpace::is_short) {
                Some(true) => ": too little is free",
                Some(false) => ": too much is allocated to volumes",
                None => "",
            };
            let said = text::shortened(full.message.trim(), 400);
            disk.finding(cluster, &causes::DISK_FULL, format!("{of} cannot take more replicas{why}"))
                .since(since)
                .impact(
                    "no replica can be placed or rebuilt there, so volumes without another disk stay degraded; volumes already on it may fill it",
                )
                .fact(format!("condition Schedulable is False, reason DiskPressure: {said}"))
        }
        None if space.as_ref().is_some_and(|space| space.is_nearly_full(FULL_SHARE, LOW_MARGIN)) => disk
            .finding(cluster, &causes::DISK_NEARLY_FULL, format!("{of} has little room left for replicas"))
            .impact("none yet; larger new volumes and rebuilds may find no room"),
        None => return,
    };
    out.report(finding.facts(space.map(|space| api(space.to_string()))));
}
