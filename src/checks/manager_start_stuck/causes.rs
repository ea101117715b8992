//! What keeps a manager in its start.

use crate::check::Cause;

/// The API server does not answer.
pub const API_UNREACHABLE: Cause =
    Cause::critical("api_unreachable", "the manager gets no answer from the Kubernetes API server");
/// A right is missing.
pub const ACCESS_DENIED: Cause =
    Cause::critical("access_denied", "the manager's service account lacks a right that a start needs");
/// A kind is missing.
pub const CRD_MISSING: Cause =
    Cause::critical("crd_missing", "the API server does not serve a kind that the manager wants to list");
/// The manifest does not fit the image.
pub const MANIFEST_STALE: Cause = Cause::critical(
    "manifest_stale",
    "the readiness probe asks a port that the release of the image does not serve: the pod cannot become Ready",
);
/// Neither DNS nor the network answers.
pub const SERVICE_UNREACHABLE: Cause = Cause::warning(
    "service_unreachable",
    "the manager waits for the Service of a webhook, and DNS or the network does not answer: it gives up after the wait of its \
     release, and loops",
);
/// Another node has its turn.
pub const QUEUEING: Cause =
    Cause::info("queueing", "managers wait for their turn: managers start their webhooks one node at a time");
/// Nothing says why.
pub const UNKNOWN: Cause = Cause::warning(
    "unknown",
    "the manager neither finishes its start nor gives up, and its log does not say why or cannot be read",
);

/// Those for which a manager does nothing.
pub const STUCK: &[&Cause] =
    &[&API_UNREACHABLE, &ACCESS_DENIED, &CRD_MISSING, &MANIFEST_STALE, &SERVICE_UNREACHABLE, &UNKNOWN];
/// Every cause.
pub const ALL: &[&Cause] = &[
    &API_UNREACHABLE,
    &ACCESS_DENIED,
    &CRD_MISSING,
    &MANIFEST_STALE,
    &SERVICE_UNREACHABLE,
    &QUEUEING,
    &UNKNOWN,
];
