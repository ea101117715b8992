//! Why a manager crash-loops.

use crate::check::Cause;

pub use own::*;

pub use crate::facts::start_causes::{
    API_UNREACHABLE, CRD_MISMATCH, MANIFEST_STALE, WEBHOOK_SERVICE_UNREACHABLE,
};

#[expect(dead_code, reason = "the list of this check has the shared causes, too")]
mod own {
    use crate::check::causes;

    causes! {
        OPEN_ISCSI_MISSING = critical "open_iscsi_missing" "open-iscsi is missing";
        CONTAINER_CANNOT_START = critical "container_cannot_start"
            "the container cannot be created or started, or its postStart hook fails: nothing of Longhorn runs";
        WEBHOOK_UNSERVED = critical "webhook_unserved"
            "the manager gave up waiting for the Service of a webhook: no manager answers behind it, or nothing says why it is not reached";
        WEBHOOK_NOT_READY = critical "webhook_not_ready"
            "the manager's own webhook server does not come up in time";
        WEBHOOK_CALL_FAILED = critical "webhook_call_failed"
            "the API server cannot call Longhorn's webhook and therefore refuses what the manager writes";
        WEBHOOK_DENIED = critical "webhook_denied"
            "Longhorn's own validator refuses a change that the manager makes at start" but "warning while restarts are few";
        WRITE_CONFLICT = critical "write_conflict"
            "managers that start together overwrite each other's changes" but "warning while restarts are few";
        BACKING_IMAGE_EVICTION_PANIC = critical "backing_image_eviction_panic"
            "eviction meets a backing image copy that is in status but no longer in spec";
        UPGRADE_PATH = critical "upgrade_path"
            "the installed release cannot be upgraded or downgraded to this one";
        ENGINE_INCOMPATIBLE = critical "engine_incompatible" "an engine image in use is too old for this release";
        OLD_MANAGERS_LINGERING = critical "old_managers_lingering"
            "manager pods of the old release do not go away";
        CACHE_SYNC_FAILED = critical "cache_sync_failed"
            "the manager was ended while it waited for its caches: it hung in its start";
        PORT_IN_USE = critical "port_in_use"
            "one of the manager's listeners died, for example because its port is in use";
        KNOWN_PANIC = critical "known_panic" "a known bug of this release";
        OOM_KILLED = critical "oom_killed" "OOM-killed, by its limit or because the node ran out of memory";
        PROBE_KILLED = critical "probe_killed"
            "the kubelet kills the manager because a liveness or startup probe fails, which no release of Longhorn has";
        UNKNOWN = critical "unknown" "cause unknown; the evidence lists the candidates";
    }
}

/// Every cause, in the order of the reference.
pub const ALL: &[&Cause] = &[
    &OPEN_ISCSI_MISSING,
    &CONTAINER_CANNOT_START,
    &WEBHOOK_SERVICE_UNREACHABLE,
    &WEBHOOK_UNSERVED,
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
    &PROBE_KILLED,
    &API_UNREACHABLE,
    &UNKNOWN,
];
