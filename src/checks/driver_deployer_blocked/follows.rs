//! What a blocked deployer follows from: it waits for the API of any manager.

use crate::check::{Follows, Same};

/// Relations to other causes.
pub const FOLLOWS: &[Follows] = &[Follows::caused_by(
    &["managers_down"],
    &["webhook_unavailable/deadlock", "webhook_unavailable/no_ready_endpoint", "manager_crash_loop/*"],
    Same::Cluster,
    "driver deployer waits",
)];
