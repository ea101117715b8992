//! What keeps a manager in its start.

use crate::check::Cause;

pub use own::*;

pub use crate::facts::start_causes::{
    API_UNREACHABLE, CRD_MISMATCH, MANIFEST_STALE, WEBHOOK_SERVICE_UNREACHABLE,
};

#[expect(dead_code, reason = "the list of this check has the shared causes, too")]
mod own {
    use crate::check::causes;

    causes! {
        ACCESS_DENIED = critical "access_denied" "the manager's service account lacks a right that a start needs";
        QUEUEING = info "queueing"
            "managers wait for their turn: managers start their webhooks one node at a time";
        UNKNOWN = warning "unknown"
            "the manager neither finishes its start nor gives up, and its log does not say why or cannot be read";
    }
}

/// Every cause, in the order of the reference.
pub const ALL: &[&Cause] = &[
    &API_UNREACHABLE,
    &ACCESS_DENIED,
    &CRD_MISMATCH,
    &MANIFEST_STALE,
    &WEBHOOK_SERVICE_UNREACHABLE,
    &QUEUEING,
    &UNKNOWN,
];

/// Those for which a manager does nothing.
pub const STUCK: &[&Cause] = &[
    &API_UNREACHABLE,
    &ACCESS_DENIED,
    &CRD_MISMATCH,
    &MANIFEST_STALE,
    &WEBHOOK_SERVICE_UNREACHABLE,
    &UNKNOWN,
];
