//! Why a manager crash-loops.

use crate::check::causes;

causes! {
    OPEN_ISCSI_MISSING = critical "open_iscsi_missing" "open-iscsi is missing";
    CONTAINER_CANNOT_START = critical "container_cannot_start"
        "the container cannot be created or started, or its postStart hook fails: nothing of Longhorn runs";
    WEBHOOK_SERVICE_UNREACHABLE = critical "webhook_service_unreachable"
        "the manager cannot reach the Service of the admission or conversion webhook";
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
    CRD_MISMATCH = critical "crd_mismatch" "the custom resource definitions do not belong to this release";
    CACHE_SYNC_FAILED = critical "cache_sync_failed"
        "the manager was ended while it waited for its caches: it hung in its start";
    PORT_IN_USE = critical "port_in_use"
        "one of the manager's listeners died, for example because its port is in use";
    MANIFEST_STALE = critical "manifest_stale"
        "the DaemonSet and the image of the manager are of two releases: a flag, a variable or the port of the readiness probe";
    KNOWN_PANIC = critical "known_panic" "a known bug of this release";
    OOM_KILLED = critical "oom_killed" "OOM-killed, by its limit or because the node ran out of memory";
    PROBE_KILLED = critical "probe_killed"
        "the kubelet kills the manager because a liveness or startup probe fails, which no release of Longhorn has";
    API_UNREACHABLE = critical "api_unreachable"
        "a request that the manager makes once at start got no answer of the Kubernetes API server";
    UNKNOWN = critical "unknown" "not known; the evidence lists the candidates";
}
