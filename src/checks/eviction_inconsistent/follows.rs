//! What a contradiction follows from: a disk that is not ready lists none of its replicas (longhorn-manager v1.3.3 to v1.12.1
//! controller/node_controller.go updateDiskStatusSchedulableCondition).

use crate::check::{Follows, Same};

/// Relations to other causes.
pub const FOLLOWS: &[Follows] = &[Follows::caused_by(
    &["disk_not_ready_hides_replicas"],
    &["disk_unavailable/*"],
    Same::Disk,
    "eviction looks done on",
)];
