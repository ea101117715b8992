//! Why an instance manager does not run.

use crate::check::Cause;

/// Every cause, in the order of the reference.
pub const ALL: &[&Cause] = &[
    &PANIC,
    &OOM_KILLED,
    &POD_FAILED,
    &POD_MISSING,
    &NODE_CORDONED,
    &NODE_DOWN,
    &LABELS_MISSING,
    &STARTING_STUCK,
];

pub const PANIC: Cause = Cause::critical(
    "panic",
    "its process exited with code 2, as after a Go panic, and no new pod was created; warning for the first 3 minutes",
);
pub const OOM_KILLED: Cause =
    Cause::critical("oom_killed", "it was OOM-killed, and no pod followed; warning for the first 3 minutes");
pub const POD_FAILED: Cause =
    Cause::critical("pod_failed", "its pod has ended and is not recreated; warning for the first 3 minutes");
pub const POD_MISSING: Cause =
    Cause::critical("pod_missing", "it has no pod and none is created; warning for the first 3 minutes");
pub const NODE_CORDONED: Cause = Cause::info(
    "node_cordoned",
    "its node is cordoned, so Longhorn creates no pod for it; expected in a drain",
);
pub const NODE_DOWN: Cause =
    Cause::warning("node_down", "its node does not answer; info for the first 5 minutes");
pub const LABELS_MISSING: Cause = Cause::warning(
    "labels_missing",
    "its object lacks labels, so Longhorn removes it or, before the fix of issue 9464, cannot sync its node",
);
pub const STARTING_STUCK: Cause =
    Cause::critical("starting_stuck", "it has been starting for more than 5 minutes");
