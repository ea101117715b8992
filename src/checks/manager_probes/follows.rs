//! What slow starts and failing probes follow from: a manager is Ready only when its webhook is served, which
//! waits for the others (longhorn-manager v1.5.4 to v1.12.1 webhook/webhook.go).

use crate::check::{Follows, Same};

/// Relations to other causes.
pub const FOLLOWS: &[Follows] = &[Follows::caused_by(
    &["slow_start"],
    &["webhook_unavailable/deadlock", "webhook_unavailable/no_ready_endpoint"],
    Same::Cluster,
    "slow start on",
)];
