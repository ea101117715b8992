//! What a faulted volume follows from: engine and replicas run in instance managers, and end with them.

use crate::check::{Follows, Same};

/// Relations to other causes.
pub const FOLLOWS: &[Follows] = &[Follows::caused_by(
    &["replicas_unreachable", "engine_died", "salvage_pending"],
    &["instance_manager_down/*"],
    Same::Volume,
    "volume faulted",
)];
