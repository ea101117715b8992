//! A cluster that was read once: a recording.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::Source;
use crate::cluster::Cluster;
use crate::history::Observation;
use crate::longhorn::Resource;

/// Objects that do not change any more. The moment is that of the recording, so the verdict never
/// changes.
#[derive(Debug)]
pub struct Fixed {
    cluster: Cluster,
}

impl Fixed {
    /// A recording.
    pub fn new(cluster: Cluster) -> Self {
        Fixed { cluster }
    }
}

impl Source for Fixed {
    fn moment(&self, _wall: Timestamp) -> Timestamp {
        self.cluster.now
    }

    fn snapshot(&self, now: Timestamp) -> Cluster {
        let Cluster { namespace, objects, history, resources, .. } = &self.cluster;
        Cluster::new(namespace, now, objects.clone(), history.clone(), resources.clone())
    }

    fn generation(&self) -> u64 {
        0
    }

    fn keep_observed(&self, _holding: Vec<Observation>, _blind: &BTreeSet<&'static str>, _now: Timestamp) {}

    fn waiting_for(&self) -> Vec<Resource> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::time;

    #[test]
    fn a_recording_keeps_its_moment() {
        let source = Fixed::new(crate::demo::cluster(time("2026-03-01T00:00:00Z")).unwrap());
        assert_eq!(source.moment(time("2026-04-01T00:00:00Z")), time("2026-03-01T00:00:00Z"));
    }
}
