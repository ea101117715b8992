//! What a degraded volume follows from: its replicas run in instance managers, and end with them.

use crate::check::{Follows, Same};

/// Relations to other causes.
pub const FOLLOWS: &[Follows] = &[Follows::caused_by(
    &["not_rebuilding", "waits_for_node"],
    &["instance_manager_down/*"],
    Same::Volume,
    "volume degraded",
)];
