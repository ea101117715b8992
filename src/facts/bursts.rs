//! How often something happened of which Events tell: a burst of them is one.

use jiff::{SignedDuration, Timestamp};

use crate::longhorn::Event;

/// What is written within it may be of one: an engine whose node lost its power was written of for 36 s (seen on 1.12.1), and for one
/// death the manager writes at each sync until the engine is stopped, some 20 in a minute (longhorn-manager v1.9.2
/// controller/volume_controller.go reconcileVolumeCondition and ReconcileVolumeState).
const ONE: SignedDuration = SignedDuration::from_secs(60);
/// A volume is not attached and its engine dead again any sooner, nor a replica rebuilt and failed.
pub const SHORTEST_ROUND: SignedDuration = SignedDuration::from_secs(30);

/// How often it can have happened from one moment to another.
pub fn rounds(first: Timestamp, last: Timestamp) -> i64 {
    let spread = last.duration_since(first);
    if spread < ONE { 1 } else { (spread.as_secs() / SHORTEST_ROUND.as_secs()).saturating_add(1) }
}

/// How often it can have happened by these Events: as often as each had the time for, and all of them together.
pub fn times<'a>(events: impl Iterator<Item = &'a Event>) -> i64 {
    let (mut times, mut span, mut bounded) = (0_i64, None::<(Timestamp, Timestamp)>, true);
    for event in events {
        let count = i64::try_from(event.occurrences()).unwrap_or(i64::MAX);
        let Some((first, last)) = event.first_seen().zip(event.last_seen()) else {
            (times, bounded) = (times.saturating_add(count), false);
            continue;
        };
        times = times.saturating_add(count.min(rounds(first, last)));
        span = Some(span.map_or((first, last), |(begin, end)| (begin.min(first), end.max(last))));
    }
    span.filter(|_| bounded).map_or(times, |(first, last)| times.min(rounds(first, last)))
}
