//! A cluster that was read once: a recording, or the demo with its moving clock.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::Source;
use crate::cluster::Cluster;
use crate::history::FactKey;
use crate::longhorn::Resource;

/// Objects that do not change any more.
#[derive(Debug)]
pub struct Fixed {
    cluster: Cluster,
    moving: bool,
}

impl Fixed {
    /// A recording: the moment is that of the recording, so the verdict never changes.
    pub fn still(cluster: Cluster) -> Self {
        Fixed { cluster, moving: false }
    }

    /// The demo: the objects keep the times they have at the start while the clock moves on, so
    /// their ages grow as in a real cluster.
    pub fn moving(cluster: Cluster) -> Self {
        Fixed { cluster, moving: true }
    }
}

impl Source for Fixed {
    fn moment(&self, wall: Timestamp) -> Timestamp {
        if self.moving { wall.max(self.cluster.now) } else { self.cluster.now }
    }

    fn snapshot(&self, now: Timestamp) -> Cluster {
        let Cluster { namespace, objects, history, resources, .. } = &self.cluster;
        Cluster::new(namespace, now, objects.clone(), history.clone(), resources.clone())
    }

    fn generation(&self) -> u64 {
        0
    }

    fn keep_facts(&self, _holding: Vec<FactKey>, _blind: &BTreeSet<&'static str>, _now: Timestamp) {}

    fn waiting_for(&self) -> Vec<Resource> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::time;

    fn cluster() -> Cluster {
        crate::source::demo::cluster(time("2026-03-01T00:00:00Z")).unwrap()
    }

    #[test]
    fn a_recording_keeps_its_moment() {
        let source = Fixed::still(cluster());
        assert_eq!(source.moment(time("2026-04-01T00:00:00Z")), time("2026-03-01T00:00:00Z"));
    }

    #[test]
    fn the_demo_grows_older_and_never_younger() {
        let source = Fixed::moving(cluster());
        assert_eq!(source.moment(time("2026-04-01T00:00:00Z")), time("2026-04-01T00:00:00Z"));
        assert_eq!(source.moment(time("2026-02-01T00:00:00Z")), time("2026-03-01T00:00:00Z"));
        assert_eq!(source.snapshot(time("2026-04-01T00:00:00Z")).now, time("2026-04-01T00:00:00Z"));
    }
}
