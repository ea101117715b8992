//! Why the pod of an instance manager ended.

use crate::check::Cause;

/// Every cause, in the order of the reference.
pub const ALL: &[&Cause] = &[
    &LIVENESS_PROBE,
    &OOM_KILLED,
    &EVICTED,
    &NODE_LOST,
    &PANIC,
    &SETTINGS_SYNC,
    &STALE_CLEANUP,
    &DELETED,
    &UNKNOWN,
];

pub const LIVENESS_PROBE: Cause =
    Cause::warning("liveness_probe", "the kubelet killed it because its liveness probe failed");
pub const OOM_KILLED: Cause = Cause::warning("oom_killed", "it was OOM-killed");
pub const EVICTED: Cause = Cause::warning(
    "evicted",
    "it was evicted; severity info when a drain evicted it and no volume was affected",
);
pub const NODE_LOST: Cause = Cause::warning("node_lost", "its node went down, rebooted or was removed");
pub const PANIC: Cause = Cause::warning("panic", "its process exited with code 2, as after a Go panic");
pub const SETTINGS_SYNC: Cause =
    Cause::info("settings_sync", "Longhorn replaced it while it was idle, to apply settings");
pub const STALE_CLEANUP: Cause =
    Cause::info("stale_cleanup", "Longhorn removed it because it was old or no longer needed");
pub const DELETED: Cause = Cause::warning(
    "deleted",
    "its pod was deleted while volumes ran in it; severity info when nothing ran in it, by whom is not known",
);
pub const UNKNOWN: Cause =
    Cause::warning("unknown", "it ended for an unknown reason; severity info without any trace of harm");
