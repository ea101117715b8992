//! How fast disks fill: what they had free in an earlier recording, and have now.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::super::{Found, held};
use super::disks::{DiskRoom, all};
use super::{Capacity, Room};
use crate::check::bytes;
use crate::cluster::Cluster;
use crate::facts::text::{age, listed};

/// Two recordings that are closer together give no rate.
pub const LEAST_APART: SignedDuration = SignedDuration::from_hours(1);
/// A disk that is full within it needs space now.
const SOON: SignedDuration = SignedDuration::from_hours(7 * 24);
/// A rate says nothing about what is further away.
const HORIZON: SignedDuration = SignedDuration::from_hours(5 * 365 * 24);
/// How many disks are named in a sentence.
const NAMED: usize = 3;

/// UUID, size and free bytes of each disk, by node and name.
fn disks(cluster: &Cluster) -> BTreeMap<(&str, &str), (&str, i64, i64)> {
    let measured = all(cluster).filter_map(|(node, name, _, now)| {
        let now = now?;
        let figures = (now.disk_uuid.as_str(), now.storage_maximum.0, now.storage_available.0);
        Some(((node.metadata.name.as_str(), name.as_str()), figures))
    });
    measured.collect()
}

/// When each disk is full if its free bytes go on to shrink as they did. Those that grow, and disks that were exchanged or resized, have
/// no time.
pub fn add_to(rooms: &mut [DiskRoom], cluster: &Cluster, earlier: &Cluster) {
    let passed = cluster.now.duration_since(earlier.now).as_secs_f64();
    let (present, past) = (disks(cluster), disks(earlier));
    for room in rooms {
        let of = (room.node.as_str(), room.disk.as_str());
        let (Some((uuid, size, free)), Some(before)) = (present.get(&of), past.get(&of)) else { continue };
        let used = before.2.saturating_sub(*free) as f64;
        if (uuid, size) != (&before.0, &before.1) || used <= 0.0 || passed <= 0.0 {
            continue;
        }
        room.a_day = Some((used / passed * 86_400.0) as i64);
        let left = SignedDuration::try_from_secs_f64(*free as f64 / used * passed);
        let left = left.ok().filter(|left| *left <= HORIZON);
        room.full_at = left.and_then(|left| cluster.now.checked_add(left).ok());
    }
}

/// The disks that will be full, the next one first.
fn filling(disks: &[DiskRoom]) -> Vec<(Timestamp, &DiskRoom)> {
    let mut filling: Vec<_> = disks.iter().filter_map(|disk| Some((disk.full_at?, disk))).collect();
    filling.sort_by_key(|(at, _)| *at);
    filling
}

impl DiskRoom {
    fn fills(&self, at: Timestamp, now: Timestamp) -> String {
        let left = age(at.duration_since(now));
        format!("{}/{} in {left} ({} a day)", self.node, self.disk, bytes(self.a_day.unwrap_or(0)))
    }
}

impl Capacity {
    /// Which disks are full first, if an earlier recording was given.
    pub(super) fn pace(&self) -> Option<String> {
        let (since, now) = (self.since?, self.now);
        let filling = filling(&self.disks);
        let named: Vec<String> = filling.iter().take(NAMED).map(|(at, disk)| disk.fills(*at, now)).collect();
        Some(match named.is_empty() {
            true => format!("At the rate since {since}, no disk is expected to fill up within 5 years"),
            false => format!("At the rate since {since}, these disks fill up first: {}", listed(&named)),
        })
    }
}

/// Says which disks are full soon.
pub fn full_soon(room: &Room<'_>, out: &mut Found) {
    let soon = |(at, _): &(Timestamp, &DiskRoom)| at.duration_since(room.cluster.now) < SOON;
    let soon: Vec<_> = filling(&room.disks).into_iter().filter(soon).collect();
    let Some((first, _)) = soon.first() else { return };
    let text = held(soon.len(), "disk", "will be full within 7 days at the current rate");
    let text = format!("{text}, the first in {}", age(first.duration_since(room.cluster.now)));
    out.say(text).evidence = soon.iter().map(|(at, disk)| disk.fills(*at, room.cluster.now)).collect();
}
