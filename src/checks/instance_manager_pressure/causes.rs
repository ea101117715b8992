//! Why an instance manager is likely to be killed or replaced.

use crate::check::Cause;

/// Every cause, in the order of the reference.
pub const ALL: &[&Cause] = &[&PROBE_WINDOW_SHORT, &CPU_REQUEST_LOW, &PRIORITY_CLASS_MISMATCH];

pub const PROBE_WINDOW_SHORT: Cause = Cause::info(
    "probe_window_short",
    "the liveness probe gives up in less than 30 seconds, and sooner than in the stock release",
);
pub const CPU_REQUEST_LOW: Cause = Cause::info(
    "cpu_request_low",
    "the pod requests less CPU than the settings ask for, or none is asked for",
);
pub const PRIORITY_CLASS_MISMATCH: Cause = Cause::warning(
    "priority_class_mismatch",
    "the pod's PriorityClass never matches the setting, so Longhorn replaces idle pods again and again",
);
