//! What leaves attachments behind: the node that went.

use crate::check::{Follows, Same};

/// Relations to other causes.
pub const FOLLOWS: &[Follows] = &[Follows::caused_by(
    &["node_down"],
    &["disk_unavailable/node_not_ready"],
    Same::Node,
    "volumes held on",
)];
