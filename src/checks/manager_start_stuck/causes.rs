//! What keeps a manager in its start.

use crate::check::{Cause, causes};

causes! {
    API_UNREACHABLE = critical "api_unreachable" "the manager gets no answer from the Kubernetes API server";
    ACCESS_DENIED = critical "access_denied" "the manager's service account lacks a right that a start needs";
    CRD_MISSING = critical "crd_missing"
        "the API server does not serve a kind that the manager wants to list";
    MANIFEST_STALE = critical "manifest_stale"
        "the readiness probe asks a port that the release of the image does not serve: the pod cannot become Ready";
    SERVICE_UNREACHABLE = warning "service_unreachable"
        "the manager waits for the Service of a webhook, and DNS or the network does not answer: it gives up after the wait of its release, and loops";
    QUEUEING = info "queueing"
        "managers wait for their turn: managers start their webhooks one node at a time";
    UNKNOWN = warning "unknown"
        "the manager neither finishes its start nor gives up, and its log does not say why or cannot be read";
}

/// Those for which a manager does nothing.
pub const STUCK: &[&Cause] =
    &[&API_UNREACHABLE, &ACCESS_DENIED, &CRD_MISSING, &MANIFEST_STALE, &SERVICE_UNREACHABLE, &UNKNOWN];
