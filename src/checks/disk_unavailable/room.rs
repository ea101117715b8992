//! How much room a ready disk has for more replicas, by Longhorn's own arithmetic.

use super::disks::Disk;
use super::{AWAY, causes};
use crate::check::*;
use crate::facts::text;
use crate::longhorn::{Condition, ConditionStatus, DataEngine, condition};

/// From this share of what may be promised on, a disk is nearly full.
const NEARLY: f64 = 0.9;
/// So much of the disk above its least free space is close to it.
const CLOSE: f64 = 0.05;

/// True when Longhorn places no more replicas on the disk for lack of room.
pub(super) fn is_full(disk: &Disk) -> bool {
    pressure(disk).is_some()
}

fn pressure<'a>(disk: &Disk<'a>) -> Option<&'a Condition> {
    condition(&disk.status.conditions, "Schedulable").filter(|schedulable| {
        schedulable.status == ConditionStatus::False && schedulable.reason == "DiskPressure"
    })
}

pub(super) fn find(cluster: &Cluster, out: &mut Outcome, disk: &Disk) {
    let (node, spec) = (&disk.node.spec, disk.spec);
    // someone keeps replicas away from it anyway
    if !node.allow_scheduling || !spec.allow_scheduling || node.eviction_requested || spec.eviction_requested
    {
        return;
    }
    let room = Room::of(cluster, disk);
    let (cause, since) = match pressure(disk) {
        Some(full) => {
            let since = full.last_transition_time.get();
            if since.is_some_and(|since| cluster.age(since) < AWAY) {
                return;
            }
            (&causes::DISK_FULL, since)
        }
        None if room.as_ref().is_some_and(Room::is_nearly_full) => (&causes::DISK_NEARLY_FULL, None),
        None => return,
    };
    let full = cause == &causes::DISK_FULL;
    let message = format!(
        "disk {} of node {} {}",
        disk.name,
        disk.node_name(),
        if full { "takes no more replicas" } else { "has little room left for replicas" }
    );
    let impact = match full {
        true => {
            "no replica is placed or rebuilt there; a volume that finds no other disk stays degraded or is not created, and \
                 volumes on the disk that grow may fill it"
        }
        false => "nothing is hurt yet; larger new volumes and rebuilds may find no room",
    };
    let mut finding = disk.finding(cluster, cause, message).since(since).impact(impact);
    if let Some(condition) = pressure(disk) {
        let text = format!(
            "condition Schedulable is False, reason DiskPressure: {}",
            text::shortened(condition.message.trim(), 400)
        );
        finding = finding.fact(text);
    }
    if let Some(room) = &room {
        finding = finding.fact(room.to_string());
    }
    out.find(finding.remedy(remedy(cluster, disk)));
}

fn remedy(cluster: &Cluster, disk: &Disk) -> Remedy {
    let (namespace, node) = (&cluster.namespace, disk.node_name());
    Remedy::new(
        "Free space or add a disk or a node. Snapshots and volumes that are no longer needed, and other files on the same file system, are \
         the first candidates. Never delete replicas of degraded or faulted volumes; one of a healthy volume is rebuilt elsewhere. Raising \
         storage-over-provisioning-percentage promises more than there is and only postpones the moment.",
    )
    .read(disk.show(cluster))
    .read(format!("kubectl -n {namespace} get replicas.longhorn.io -l longhornnode={node} -o custom-columns=NAME:.metadata.name,VOLUME:.spec.volumeName,SIZE:.spec.volumeSize,DISK:.spec.diskPath"))
    .read(format!("kubectl -n {namespace} get settings.longhorn.io storage-minimal-available-percentage storage-over-provisioning-percentage"))
}

/// The numbers of scheduler/replica_scheduler.go IsSchedulableToDisk, in bytes.
struct Room {
    available: f64,
    least: f64,
    maximum: f64,
    scheduled: f64,
    limit: f64,
}

impl Room {
    /// `None` where a number is not known.
    fn of(cluster: &Cluster, disk: &Disk) -> Option<Room> {
        let percent = |name: &str| cluster.setting_value(name, DataEngine::V1).trim().parse::<f64>().ok();
        let status = disk.status;
        let (maximum, reserved) = (status.storage_maximum.0 as f64, disk.spec.storage_reserved.0 as f64);
        let room = Room {
            available: status.storage_available.0 as f64,
            least: maximum * percent("storage-minimal-available-percentage")? / 100.0,
            maximum,
            scheduled: status.storage_scheduled.0 as f64,
            limit: (maximum - reserved) * percent("storage-over-provisioning-percentage")? / 100.0,
        };
        (maximum > 0.0 && room.limit > 0.0).then_some(room)
    }

    fn is_nearly_full(&self) -> bool {
        self.scheduled >= NEARLY * self.limit || self.available - self.least < CLOSE * self.maximum
    }
}

impl std::fmt::Display for Room {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let gib = |bytes: f64| bytes / f64::from(1 << 30);
        write!(
            f,
            "{:.1} GiB of {:.1} GiB are free, at least {:.1} GiB must be; {:.1} GiB are promised to volumes of at most {:.1} GiB",
            gib(self.available),
            gib(self.maximum),
            gib(self.least),
            gib(self.scheduled),
            gib(self.limit)
        )
    }
}
