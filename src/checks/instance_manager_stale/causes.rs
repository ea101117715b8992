//! Why an old instance manager is still there.

use crate::check::Cause;

/// Every cause, in the order of the reference.
pub const ALL: &[&Cause] = &[
    &ORPHAN_HELD,
    &STUCK,
    &DELETION_STUCK,
    &ENGINE_UPGRADE_PENDING,
    &REATTACH_PENDING,
    &REPLICA_HELD,
    &NODE_DOWN,
    &CLEANUP_PENDING,
];

pub const ORPHAN_HELD: Cause = Cause::warning(
    "orphan_held",
    "a running instance that no Engine or Replica owns holds it; that never clears by itself",
);
pub const STUCK: Cause =
    Cause::warning("stuck", "nothing holds it, and yet the longhorn-manager of its node does not remove it");
pub const DELETION_STUCK: Cause =
    Cause::warning("deletion_stuck", "it was deleted minutes ago and is still there");
pub const ENGINE_UPGRADE_PENDING: Cause = Cause::info(
    "engine_upgrade_pending",
    "a volume that still runs an older engine image holds it; expected until that is upgraded",
);
pub const REATTACH_PENDING: Cause = Cause::info(
    "reattach_pending",
    "the engine of a volume stays in it until the volume is detached; expected after a live upgrade",
);
pub const REPLICA_HELD: Cause = Cause::info(
    "replica_held",
    "a replica runs in it; expected until its volume is upgraded, rebuilt or attached again",
);
pub const NODE_DOWN: Cause =
    Cause::info("node_down", "its node does not answer; Longhorn keeps it until the node is back");
pub const CLEANUP_PENDING: Cause = Cause::info(
    "cleanup_pending",
    "nothing holds it, or what holds it is starting or stopping; Longhorn should remove it soon",
);
