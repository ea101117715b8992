//! What takes an instance manager away, and what keeps it from coming back: only the manager of its node makes a new pod.

use crate::check::{Follows, Same};

/// Relations to other causes.
pub const FOLLOWS: &[Follows] = &[
    Follows::caused_by(
        &["node_down"],
        &["disk_unavailable/node_not_ready"],
        Same::Node,
        "instance manager unreachable on",
    ),
    Follows::held_up_by(
        &["pod_failed", "pod_missing", "oom_killed", "starting_stuck"],
        &["manager_crash_loop/*"],
        Same::Node,
    ),
];
