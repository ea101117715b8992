//! Why a manager crash-loops.

use crate::check::Cause;

/// Every cause, in the order of the reference.
pub const ALL: &[&Cause] = &[
    &OPEN_ISCSI_MISSING,
    &CONTAINER_CANNOT_START,
    &WEBHOOK_SERVICE_UNREACHABLE,
    &WEBHOOK_NOT_READY,
    &WEBHOOK_CALL_FAILED,
    &WEBHOOK_DENIED,
    &WRITE_CONFLICT,
    &BACKING_IMAGE_EVICTION_PANIC,
    &UPGRADE_PATH,
    &ENGINE_INCOMPATIBLE,
    &OLD_MANAGERS_LINGERING,
    &CRD_MISMATCH,
    &CACHE_SYNC_FAILED,
    &PORT_IN_USE,
    &MANIFEST_STALE,
    &KNOWN_PANIC,
    &OOM_KILLED,
    &API_UNREACHABLE,
    &UNKNOWN,
];

pub const OPEN_ISCSI_MISSING: Cause = Cause::critical("open_iscsi_missing", "open-iscsi is missing");
pub const WEBHOOK_SERVICE_UNREACHABLE: Cause = Cause::critical(
    "webhook_service_unreachable",
    "the manager cannot reach the Service of the admission or conversion webhook",
);
pub const CONTAINER_CANNOT_START: Cause = Cause::critical(
    "container_cannot_start",
    "the container runtime cannot create or start the container: nothing of Longhorn runs",
);
pub const WEBHOOK_CALL_FAILED: Cause = Cause::critical(
    "webhook_call_failed",
    "the API server cannot call Longhorn's webhook and therefore refuses what the manager writes",
);
pub const WEBHOOK_DENIED: Cause = Cause::critical(
    "webhook_denied",
    "Longhorn's own validator refuses a change that the manager makes at start; warning while restarts are few",
);
pub const WRITE_CONFLICT: Cause = Cause::critical(
    "write_conflict",
    "managers that start together overwrite each other's changes; warning while restarts are few",
);
pub const WEBHOOK_NOT_READY: Cause =
    Cause::critical("webhook_not_ready", "the manager's own webhook server does not come up in time");
pub const BACKING_IMAGE_EVICTION_PANIC: Cause = Cause::critical(
    "backing_image_eviction_panic",
    "eviction meets a backing image copy that is in status but no longer in spec",
);
pub const UPGRADE_PATH: Cause =
    Cause::critical("upgrade_path", "the installed release cannot be upgraded or downgraded to this one");
pub const ENGINE_INCOMPATIBLE: Cause =
    Cause::critical("engine_incompatible", "an engine image in use is too old for this release");
pub const OLD_MANAGERS_LINGERING: Cause =
    Cause::critical("old_managers_lingering", "manager pods of the old release do not go away");
pub const CRD_MISMATCH: Cause =
    Cause::critical("crd_mismatch", "the custom resource definitions do not belong to this release");
pub const CACHE_SYNC_FAILED: Cause = Cause::critical(
    "cache_sync_failed",
    "the manager was ended while it waited for its caches: it hung in its start",
);
pub const PORT_IN_USE: Cause = Cause::critical(
    "port_in_use",
    "one of the manager's listeners died, for example because its port is in use",
);
pub const MANIFEST_STALE: Cause = Cause::critical(
    "manifest_stale",
    "the DaemonSet and the image of the manager are of two releases: a flag, a variable or the port of the readiness probe",
);
pub const KNOWN_PANIC: Cause = Cause::critical("known_panic", "a known bug of this release");
pub const OOM_KILLED: Cause =
    Cause::critical("oom_killed", "OOM-killed, by its limit or because the node ran out of memory");
pub const API_UNREACHABLE: Cause = Cause::critical(
    "api_unreachable",
    "a request that the manager makes once at start got no answer of the Kubernetes API server",
);
pub const UNKNOWN: Cause = Cause::critical("unknown", "not known; the evidence lists the candidates");
