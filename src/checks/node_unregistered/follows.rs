//! What an unregistered node follows from: its manager registers it, after it has started.

use crate::check::{Follows, Same};

/// Relations to other causes.
pub const FOLLOWS: &[Follows] =
    &[Follows::caused_by(&["never_started"], &["manager_crash_loop/*"], Same::Node, "node not registered")];
