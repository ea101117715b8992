//! How fast disks fill: by what they had free in an earlier recording, or by what a Prometheus has seen.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::super::{Found, held};
use super::disks::{DiskRoom, all};
use super::{Capacity, Room};
use crate::check::bytes;
use crate::cluster::Cluster;
use crate::facts::text::{age, listed};

/// What was seen for less time gives no rate.
pub const LEAST_APART: SignedDuration = SignedDuration::from_hours(1);
/// A disk that is full within it needs space now.
const SOON: SignedDuration = SignedDuration::from_hours(7 * 24);
/// A rate says nothing about what is further away.
const HORIZON: SignedDuration = SignedDuration::from_hours(5 * 365 * 24);
/// How many disks are named in a sentence.
const NAMED: usize = 3;

/// How fast disks have filled.
#[derive(Debug, Clone)]
pub struct Growth {
    /// Since when that is known, at most.
    pub since: Timestamp,
    /// Bytes a second, by node and disk.
    pub rates: BTreeMap<(String, String), f64>,
}

impl Growth {
    /// Between an earlier recording and now. Disks that were exchanged or resized meanwhile have no rate.
    pub fn between(earlier: &Cluster, cluster: &Cluster) -> Self {
        let passed = cluster.now.duration_since(earlier.now).as_secs_f64();
        let past = measured(earlier);
        let rates = measured(cluster).into_iter().filter_map(|(disk, (uuid, size, free))| {
            let before = past.get(&disk)?;
            let rate = before.2.saturating_sub(free) as f64 / passed;
            let is_same = (uuid, size) == (before.0, before.1) && passed > 0.0;
            is_same.then(|| ((disk.0.to_owned(), disk.1.to_owned()), rate))
        });
        Growth { since: earlier.now, rates: rates.collect() }
    }

    /// Says when each disk is full if it goes on like this. Those that do not fill have no time.
    pub(super) fn add_to(&self, rooms: &mut [DiskRoom], now: Timestamp) {
        for room in rooms {
            let of = (room.node.clone(), room.disk.clone());
            let Some(rate) = self.rates.get(&of).filter(|rate| **rate > 0.0 && room.size > 0) else {
                continue;
            };
            room.a_day = Some((rate * 86_400.0) as i64);
            let left = SignedDuration::try_from_secs_f64(room.free as f64 / rate);
            let left = left.ok().filter(|left| *left <= HORIZON);
            room.full_at = left.and_then(|left| now.checked_add(left).ok());
        }
    }
}

/// UUID, size and free bytes of each disk, by node and name.
fn measured(cluster: &Cluster) -> BTreeMap<(&str, &str), (&str, i64, i64)> {
    let measured = all(cluster).filter_map(|(node, name, _, now)| {
        let now = now?;
        let figures = (now.disk_uuid.as_str(), now.storage_maximum.0, now.storage_available.0);
        Some(((node.metadata.name.as_str(), name.as_str()), figures))
    });
    measured.collect()
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
    /// Which disks are full first, if a rate is known.
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
