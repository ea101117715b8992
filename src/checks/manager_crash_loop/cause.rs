//! Why a manager crash-loops.

use crate::check::{Cause, Severity};

pub const OPEN_ISCSI_MISSING: &str = "open_iscsi_missing";
pub const WEBHOOK_SERVICE_UNREACHABLE: &str = "webhook_service_unreachable";
pub const WEBHOOK_NOT_READY: &str = "webhook_not_ready";
pub const BACKING_IMAGE_EVICTION_PANIC: &str = "backing_image_eviction_panic";
pub const UPGRADE_PATH: &str = "upgrade_path";
pub const ENGINE_INCOMPATIBLE: &str = "engine_incompatible";
pub const OLD_MANAGERS_LINGERING: &str = "old_managers_lingering";
pub const CRD_MISMATCH: &str = "crd_mismatch";
pub const CACHE_SYNC_FAILED: &str = "cache_sync_failed";
pub const PORT_IN_USE: &str = "port_in_use";
pub const MANIFEST_STALE: &str = "manifest_stale";
pub const KNOWN_PANIC: &str = "known_panic";
pub const OOM_KILLED: &str = "oom_killed";
pub const API_UNREACHABLE: &str = "api_unreachable";
pub const UNKNOWN: &str = "unknown";

const fn cause(id: &'static str, summary: &'static str) -> Cause {
    Cause { id, severity: Severity::Critical, summary }
}

/// Every cause. All are critical: nothing reconciles the volumes of a manager that crash-loops.
pub const CAUSES: &[Cause] = &[
    cause(OPEN_ISCSI_MISSING, "iscsiadm cannot be run on the host: open-iscsi is not installed there"),
    cause(
        WEBHOOK_SERVICE_UNREACHABLE,
        "the manager cannot reach the Service of the admission or conversion webhook",
    ),
    cause(WEBHOOK_NOT_READY, "the manager's own webhook server does not come up in time"),
    cause(
        BACKING_IMAGE_EVICTION_PANIC,
        "eviction meets a backing image copy that is in status but no longer in spec",
    ),
    cause(UPGRADE_PATH, "the installed release cannot be upgraded or downgraded to this one"),
    cause(ENGINE_INCOMPATIBLE, "an engine image in use is too old for this release"),
    cause(OLD_MANAGERS_LINGERING, "manager pods of the old release do not go away"),
    cause(CRD_MISMATCH, "the custom resource definitions do not belong to this release"),
    cause(CACHE_SYNC_FAILED, "the manager cannot list its objects at start"),
    cause(PORT_IN_USE, "one of the manager's listeners died, for example because its port is in use"),
    cause(MANIFEST_STALE, "the DaemonSet lacks a flag or variable that this release requires"),
    cause(KNOWN_PANIC, "a known bug of this release"),
    cause(OOM_KILLED, "the kernel killed it for want of memory, by its limit or on the node"),
    cause(API_UNREACHABLE, "the manager cannot reach the Kubernetes API server"),
    cause(UNKNOWN, "not known; the evidence lists the candidates"),
];
