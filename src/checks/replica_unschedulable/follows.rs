//! What takes the last place for a replica away: the scheduler leaves out disks that are not Ready or full, and every disk of a
//! node that is not Ready (longhorn-manager v1.3.3 to v1.12.1 scheduler/replica_scheduler.go getNodeCandidates,
//! filterNodeDisksForReplica). The finding names a node and a disk only where it is the one that comes into question.

use crate::check::{Follows, Same};

/// Relations to other causes.
pub const FOLLOWS: &[Follows] = &[
    Follows::caused_by(
        &["space_short", "over_provisioned", "nodes_unavailable"],
        &["disk_unavailable/*"],
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
