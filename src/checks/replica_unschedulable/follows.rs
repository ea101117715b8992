//! What takes the last place for a replica away: the scheduler leaves out disks that are not Ready or full, and every disk of a
//! node that is not Ready (longhorn-manager v1.3.3 to v1.12.1 scheduler/replica_scheduler.go getNodeCandidates,
//! filterNodeDisksForReplica). The finding names a node and a disk only where it is the one that comes into question.

use crate::check::{Follows, Same};

/// A disk that is nearly full takes replicas: it is context, not a reason.
const DISK: &[&str] = &[
    "disk_unavailable/disk_uuid_mismatch",
    "disk_unavailable/file_system_changed",
    "disk_unavailable/file_system_shared",
    "disk_unavailable/file_system_read_only",
    "disk_unavailable/disk_unreadable",
    "disk_unavailable/disk_service_unreachable",
    "disk_unavailable/disk_not_ready",
    "disk_unavailable/disk_full",
];

/// Relations to other causes.
pub const FOLLOWS: &[Follows] = &[
    Follows::caused_by(
        &["space_short", "over_provisioned", "nodes_unavailable"],
        DISK,
        Same::Disk,
        "replica without a disk",
    ),
    Follows::caused_by(
        &["nodes_unavailable"],
        &["disk_unavailable/node_not_ready", "disk_unavailable/node_pressure"],
        Same::Node,
        "replica without a disk",
    ),
];
