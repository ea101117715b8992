//! What a contradiction follows from: a disk that is not ready lists none of its replicas (longhorn-manager v1.3.3 to v1.12.1
//! controller/node_controller.go updateDiskStatusSchedulableCondition).

use crate::check::{Follows, Same};

/// Relations to other causes.
pub const FOLLOWS: &[Follows] = &[Follows::caused_by(
    &["disk_not_ready_hides_replicas"],
    &[
        "disk_unavailable/disk_uuid_mismatch",
        "disk_unavailable/file_system_changed",
        "disk_unavailable/file_system_shared",
        "disk_unavailable/file_system_read_only",
        "disk_unavailable/disk_unreadable",
        "disk_unavailable/disk_service_unreachable",
        "disk_unavailable/disk_not_ready",
    ],
    Same::Disk,
    "eviction looks done on",
)];
