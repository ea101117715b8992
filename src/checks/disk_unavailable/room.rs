//! How much room a ready disk has for more replicas, by Longhorn's own arithmetic.

use super::causes;
use super::disks::{self, Disk};
use crate::check::bytes;
use crate::check::*;
use crate::facts::age::{Begun, Unknown, observe};
use crate::facts::patience::{DEFINITE, NODE_AWAY};
use crate::facts::placement::DiskSpace;
use crate::facts::{api, text, ways};
use crate::longhorn::{Condition, ConditionStatus, condition, status};

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
    if is_exhausted(cluster, out, disk) {
        return;
    }
    let (node, spec) = (&disk.node.spec, disk.spec);
    // someone keeps replicas away from it anyway
    if !node.allow_scheduling || !spec.allow_scheduling || node.eviction_requested || spec.eviction_requested
    {
        return;
    }
    let space = DiskSpace::of(cluster, spec, disk.status);
    let finding = match pressure(disk) {
        Some(full) => {
            let since = full.last_transition_time.get();
            if since.is_some_and(|since| cluster.age(since) < NODE_AWAY) {
                return;
            }
            full_disk(cluster, disk, full, space.as_ref()).since(since)
        }
        None if space.as_ref().is_some_and(|space| space.is_nearly_full(FULL_SHARE, LOW_MARGIN)) => {
            let left = bytes(space.as_ref().map_or(0, DiskSpace::room));
            let message = format!("{} has {left} left for replicas", called(disk));
            disk.finding(cluster, &causes::DISK_NEARLY_FULL, message)
                .impact("none yet. Larger new volumes and rebuilds may soon find no space")
        }
        None => return,
    };
    out.report(finding.facts(space.map(|space| api(space.to_string()))));
}

fn called(disk: &Disk) -> String {
    format!("disk {} on {}", disk.name, disk.node_name())
}

fn full_disk(cluster: &Cluster, disk: &Disk, full: &Condition, space: Option<&DiskSpace>) -> Finding {
    let short = space.map(DiskSpace::is_short);
    let why = space.map_or(String::new(), |space| format!(": {}", space.limit_reached()));
    let said = text::shortened(full.message.trim(), 400);
    let (free, all) = (disk.status.storage_available.0, disk.status.storage_maximum.0);
    let is = if short == Some(true) && free < all / 50 { "is full" } else { "cannot take more replicas" };
    let message = format!("{} {is}{why}", called(disk));
    let found = disk
        .finding(cluster, &causes::DISK_FULL, message)
        .impact(
            "no replica can be placed or rebuilt on this disk. Volumes that fit on no other disk stay degraded",
        )
        .fact(format!("the disk's condition Schedulable is False, reason DiskPressure: \"{said}\""));
    let Some((volume, by)) = hog(cluster, disk).filter(|_| short == Some(true)) else {
        let spare = spare(disk).filter(|_| short == Some(true));
        let found = found.named(spare.map(|(name, _)| (Name::Reason, name.to_owned())));
        let found = found.facts(spare.map(|(name, free)| {
            api(format!("disk {name} of the node is ready, has {} free and scheduling disabled", bytes(free)))
        }));
        let allocated = (short == Some(false)).then_some(&ways::ALLOCATED);
        return found
            .way(space.and_then(DiskSpace::withheld).or(spare.map(|_| &causes::SPARE_DISK)).or(allocated));
    };
    let user = cluster.volume_ref(volume);
    found
        .fact(format!("snapshots of {} hold {} on this disk", user.called(), bytes(by)))
        .with(Name::Claim, user.called())
        .with(Name::Volume, volume)
        .way(&causes::SNAPSHOTS)
}

/// Another disk of the node, which someone has switched off and which has more free than this one has in all; with how much.
fn spare<'a>(disk: &Disk<'a>) -> Option<(&'a str, i64)> {
    let disks =
        disk.node.spec.disks.iter().filter(|(_, spec)| !spec.allow_scheduling && !spec.eviction_requested);
    let usable = disks.filter_map(|(name, _)| {
        let other = disk.node.status.disk_status.get(name)?;
        let ready = status(&other.conditions, "Ready") == ConditionStatus::True;
        (ready && other.disk_uuid != disk.status.disk_uuid)
            .then_some((name.as_str(), other.storage_available.0))
    });
    usable.max_by_key(|(_, free)| *free).filter(|(_, free)| *free > disk.status.storage_maximum.0 / 2)
}

/// The volume whose snapshots hold more of the disk than anything else is free of it, with how much: what a replica stores beyond the size of
/// its volume is in snapshots (longhorn-manager v1.12.1 status.actualSize is the sum of all files of a replica).
fn hog<'c>(cluster: &'c Cluster, disk: &Disk) -> Option<(&'c str, i64)> {
    let on_disk = cluster.replicas_on_disk(&disk.status.disk_uuid);
    let held = on_disk.filter_map(|replica| {
        let volume = cluster.objects.volumes.get(&replica.spec.volume_name)?;
        let beyond = volume.status.actual_size.0.saturating_sub(volume.spec.size.0);
        (beyond > volume.spec.size.0).then_some((volume.metadata.name.as_str(), beyond))
    });
    held.max_by_key(|(_, beyond)| *beyond).filter(|(_, beyond)| *beyond > disk.status.storage_maximum.0 / 5)
}

/// A disk on which nothing is free: what is written there fails, whatever Longhorn says of the volumes until then (seen on 1.12.1: ENOSPC at
/// once, and robustness healthy).
fn is_exhausted(cluster: &Cluster, out: &mut Outcome, disk: &Disk) -> bool {
    let (free, all) = (disk.status.storage_available.0, disk.status.storage_maximum.0);
    // what a file system keeps for itself is never quite nothing; one that was not measured yet has no size
    if all <= 0 || free > all / 10_000 {
        return false;
    }
    let object = format!("{}/{}", disk.node_name(), disk.name);
    let pressed = pressure(disk).and_then(|pressure| pressure.last_transition_time.get());
    let age = observe(cluster, out, "exhausted", &object, Begun::NotBefore(pressed));
    if !age.at_least(DEFINITE, Unknown::Counts) {
        return false;
    }
    let volumes = disk.volumes(cluster);
    let alone = disks::alone(cluster, disk);
    let stuck = cluster.volume_refs(alone.iter().map(String::as_str));
    let of = || called(disk);
    let (severity, impact) = match (volumes.len(), alone.len()) {
        (0, _) => (Severity::Warning, "none yet: no volume has a replica on this disk".to_owned()),
        (all, 0) => (
            Severity::Warning,
            format!(
                "replicas of {} fail at their next write. {} has a healthy copy elsewhere",
                counted(all, "volume"),
                if all == 1 { "The volume" } else { "Each volume" }
            ),
        ),
        (_, some) => (
            Severity::Critical,
            format!(
                "writes to {} fail, because {} no healthy copy elsewhere",
                text::claims_of(&stuck),
                if some == 1 { "it has" } else { "they have" }
            ),
        ),
    };
    let message = match alone.len() {
        0 => format!("{} has no space left: replicas fail at their next write", of()),
        1 => format!("{} has no space left: {} cannot be written to", of(), text::claims_of(&stuck)),
        some => format!("{} has no space left: {} cannot be written to", of(), counted(some, "volume")),
    };
    let finding = disk.finding(cluster, &causes::DISK_EXHAUSTED, message).severity(severity).impact(impact);
    out.report(
        finding
            .volumes(volumes)
            .since(age.since_or_later())
            .fact(format!("{} of the disk's {} is free", bytes(free), bytes(all)))
            .fact(age.evidence()),
    );
    true
}
