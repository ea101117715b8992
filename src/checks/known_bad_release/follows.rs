//! Bugs of a release whose effect another check already sees.

use crate::check::{Follows, Same};

/// Relations to other causes.
pub const FOLLOWS: &[Follows] = &[Follows::caused_by(
    &["issue_10464", "issue_11034"],
    &["backing_image_eviction_crash/at_risk"],
    Same::Cluster,
    "known bug of this release",
)];
