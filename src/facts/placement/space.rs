//! What a disk has, what of it is allocated, and what the settings still allow.

use super::Obstacle;
use crate::check::{Way, bytes};
use crate::cluster::Cluster;
use crate::longhorn::{DataEngine, DiskSpec, DiskStatus};
use crate::ways;

/// The numbers that IsSchedulableToDisk compares, in bytes and percent.
pub struct DiskSpace {
    maximum: i64,
    reserved: i64,
    available: i64,
    pub(super) scheduled: i64,
    minimal_available: i64,
    over_provisioning: i64,
}

impl DiskSpace {
    /// Of a disk by the settings; `None` where the disk was not measured or a setting is unknown.
    pub fn of(cluster: &Cluster, disk: &DiskSpec, now: &DiskStatus) -> Option<Self> {
        let percent = |name| cluster.setting_value(name, DataEngine::V1).parse().ok();
        let minimal_available = percent("storage-minimal-available-percentage")?;
        Self::with(disk, now, minimal_available, percent("storage-over-provisioning-percentage")?)
    }

    pub(super) fn with(
        disk: &DiskSpec,
        now: &DiskStatus,
        minimal_available: i64,
        over_provisioning: i64,
    ) -> Option<Self> {
        let (maximum, reserved) = (now.storage_maximum.0, disk.storage_reserved.0);
        let (available, scheduled) = (now.storage_available.0, now.storage_scheduled.0);
        let space =
            DiskSpace { maximum, reserved, available, scheduled, minimal_available, over_provisioning };
        (maximum > 0).then_some(space)
    }

    /// So much has to stay free.
    fn least(&self) -> i64 {
        percent(self.maximum, self.minimal_available)
    }

    /// So much may be promised to volumes.
    pub fn most(&self) -> i64 {
        percent(self.maximum.saturating_sub(self.reserved), self.over_provisioning)
    }

    /// True where so little is free that no replica is placed, not even an empty one.
    pub fn is_short(&self) -> bool {
        self.available <= self.least()
    }

    /// The setting that keeps replicas away from room that is there.
    pub fn withheld(&self) -> Option<&'static Way> {
        match self.is_short() {
            true => (self.minimal_available >= 50).then_some(&ways::MINIMUM_HIGH),
            false => (self.over_provisioning == 0).then_some(&ways::PROMISES_NOTHING),
        }
    }

    /// The limit that keeps replicas away, in figures.
    pub fn limit_reached(&self) -> String {
        match self.is_short() {
            _ if self.withheld() == Some(&ways::MINIMUM_HIGH) => {
                format!("storage-minimal-available-percentage is {}", self.minimal_available)
            }
            _ if self.withheld().is_some() => ways::PROMISES_NOTHING.briefly.to_owned(),
            true => format!("{} free, minimum {}", bytes(self.available), bytes(self.least())),
            false => format!("{} allocated, limit {}", bytes(self.scheduled), bytes(self.most())),
        }
    }

    /// What may be promised to replicas before a limit is reached.
    pub fn room(&self) -> i64 {
        self.left().min(self.available.saturating_sub(self.least())).max(0)
    }

    /// True when this share of what may be promised is, or what is free is this share of the disk above the least.
    pub fn is_nearly_full(&self, promised: f64, free: f64) -> bool {
        let (most, above) = (self.most(), self.available.saturating_sub(self.least()));
        most > 0
            && (self.scheduled as f64 >= promised * most as f64
                || (above as f64) < free * self.maximum as f64)
    }

    /// What the scheduler would still promise.
    pub fn left(&self) -> i64 {
        self.most().saturating_sub(self.scheduled).max(0)
    }

    /// The first inequality that keeps a replica of this size, with so much data, from the disk.
    pub(super) fn obstacle(&self, size: i64, actual: i64) -> Option<Obstacle> {
        if self.available <= 0 || self.available.saturating_sub(actual) <= self.least() {
            return Some(Obstacle::Space);
        }
        (size.saturating_add(self.scheduled) > self.most()).then_some(Obstacle::Provisioning)
    }

    /// The same in words; `counted` is what of the scheduled bytes no one expects there.
    pub(super) fn refusal(&self, obstacle: Obstacle, size: i64, actual: i64, counted: &str) -> String {
        let [free, least, maximum, scheduled, most] = self.figures();
        if obstacle == Obstacle::Space {
            let (data, share) = (bytes(actual), self.minimal_available);
            if actual <= 0 {
                return format!(
                    "{free} is free, but more than {least} must be free ({share} % of {maximum}, storage-minimal-available-percentage)"
                );
            }
            return format!(
                "{free} is free: too little for {data} of data and a minimum of {least} ({share} % of {maximum}, storage-minimal-available-percentage)"
            );
        }
        let less = match self.reserved {
            0 => String::new(),
            reserved => format!(" less {} reserved", bytes(reserved)),
        };
        let (size, share) = (bytes(size), self.over_provisioning);
        format!(
            "{scheduled} allocated{counted} plus {size} for this replica exceeds the limit of {most} ({share} % of {maximum}{less}, storage-over-provisioning-percentage)"
        )
    }

    fn figures(&self) -> [String; 5] {
        [self.available, self.least(), self.maximum, self.scheduled, self.most()].map(bytes)
    }
}

impl std::fmt::Display for DiskSpace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [free, least, maximum, scheduled, most] = self.figures();
        write!(
            f,
            "{free} of {maximum} is free (minimum {least}), {scheduled} is allocated to volumes (limit {most})"
        )
    }
}

fn percent(of: i64, percentage: i64) -> i64 {
    (of as f64 * percentage as f64 / 100.0) as i64
}
