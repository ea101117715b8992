//! Why fields contradict each other about eviction.

use crate::check::Cause;

/// Every cause, in the order of the reference.
pub const ALL: &[&Cause] = &[
    &COPY_NOT_STARTING,
    &MISSING_DISK,
    &STICKY_BACKING_IMAGE_FLAG,
    &STALE_REPLICA_FLAG,
    &SUSPENDED_NODE_DOWN,
    &DISK_NOT_READY_HIDES_REPLICAS,
    &NO_CANDIDATE_DISK,
    &LAST_RW_REPLICA,
    &COPY_IN_USE,
    &SCHEDULING_STILL_ALLOWED,
    &DISK_KEYS_DIFFER,
    &AUTO_EVICTING_STALE,
    &DATA_SOURCE_MOVED,
    &MANAGER_STALE,
    &NO_USABLE_COPY,
];

pub const COPY_NOT_STARTING: Cause = Cause::warning(
    "copy_not_starting",
    "a copy of a backing image is wanted on a disk but its status never appears",
);
pub const MISSING_DISK: Cause =
    Cause::warning("missing_disk", "a copy of a backing image is on a disk that no node lists");
pub const STICKY_BACKING_IMAGE_FLAG: Cause = Cause::warning(
    "sticky_backing_image_flag",
    "a copy still has evictionRequested although no one requests eviction any longer",
);
pub const STALE_REPLICA_FLAG: Cause = Cause::warning(
    "stale_replica_flag",
    "a replica is asked to leave although neither its disk, its node nor a drain asks for it",
);
pub const SUSPENDED_NODE_DOWN: Cause = Cause::warning(
    "suspended_node_down",
    "eviction is requested on a node that is down: Longhorn suspends it silently",
);
pub const DISK_NOT_READY_HIDES_REPLICAS: Cause = Cause::warning(
    "disk_not_ready_hides_replicas",
    "an evicted disk is not ready and looks empty although replicas are on it",
);
pub const NO_CANDIDATE_DISK: Cause = Cause::warning(
    "no_candidate_disk",
    "a detached volume has a replica to evict but is not attached for it: no disk can take the replica",
);
pub const LAST_RW_REPLICA: Cause = Cause::warning(
    "last_rw_replica",
    "the replica that is asked to leave is the only good one and no other is being rebuilt",
);
pub const COPY_IN_USE: Cause = Cause::warning(
    "copy_in_use",
    "a copy is asked to leave while a replica on the same disk, which does not leave, needs it",
);
pub const SCHEDULING_STILL_ALLOWED: Cause = Cause::warning(
    "scheduling_still_allowed",
    "eviction is requested where scheduling is allowed, which the webhook refuses",
);
pub const DISK_KEYS_DIFFER: Cause = Cause::warning(
    "disk_keys_differ",
    "spec and status of a node list different disks: changes of the node are refused",
);
pub const AUTO_EVICTING_STALE: Cause = Cause::warning(
    "auto_evicting_stale",
    "a node says that it is evicting automatically although it is not cordoned",
);
pub const DATA_SOURCE_MOVED: Cause = Cause::warning(
    "data_source_moved",
    "the pod that prepares a backing image runs on another node than its data source names",
);
pub const MANAGER_STALE: Cause = Cause::warning(
    "manager_stale",
    "a backing image manager has an old image or serves a disk that no node lists",
);
pub const NO_USABLE_COPY: Cause = Cause::warning(
    "no_usable_copy",
    "every copy of a backing image is failed or unknown: volumes on it cannot start",
);
