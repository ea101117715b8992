//! What a crash loop follows from.
//!
//! A manager of 1.5 and later ends when no manager answers behind the Service of the webhooks (longhorn-manager
//! v1.5.4 to v1.12.1 webhook/webhook.go), so its loop is a consequence of an outage of all of them.

use crate::check::{Follows, Same};

/// Relations to other causes.
pub const FOLLOWS: &[Follows] = &[
    Follows::caused_by(
        &["webhook_unserved", "webhook_not_ready"],
        &["webhook_unavailable/deadlock", "webhook_unavailable/no_ready_endpoint"],
        Same::Cluster,
        "crash loop on",
    ),
    Follows::caused_by(
        &["backing_image_eviction_panic"],
        &["backing_image_eviction_crash/at_risk"],
        Same::Node,
        "crash loop on",
    ),
];
