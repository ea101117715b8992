//! What an outage of the webhooks follows from: managers that hang or end for reasons of their own. A deadlock is
//! its own root, because there the managers wait for nothing but each other.

use crate::check::{Follows, Same};

/// Relations to other causes.
pub const FOLLOWS: &[Follows] = &[Follows::caused_by(
    &["no_ready_endpoint"],
    &[
        "manager_start_stuck/api_unreachable",
        "manager_start_stuck/access_denied",
        "manager_start_stuck/crd_mismatch",
        "manager_start_stuck/manifest_stale",
        "manager_start_stuck/webhook_service_unreachable",
        "manager_start_stuck/unknown",
        "manager_crash_loop/webhook_service_unreachable",
        "manager_crash_loop/open_iscsi_missing",
        "manager_crash_loop/upgrade_path",
        "manager_crash_loop/engine_incompatible",
        "manager_crash_loop/old_managers_lingering",
        "manager_crash_loop/crd_mismatch",
        "manager_crash_loop/cache_sync_failed",
        "manager_crash_loop/port_in_use",
        "manager_crash_loop/manifest_stale",
        "manager_crash_loop/known_panic",
        "manager_crash_loop/oom_killed",
        "manager_crash_loop/probe_killed",
        "manager_crash_loop/api_unreachable",
        "manager_crash_loop/webhook_call_failed",
        "manager_crash_loop/webhook_denied",
        "manager_crash_loop/write_conflict",
        "manager_crash_loop/container_cannot_start",
    ],
    Same::Cluster,
    "no webhook",
)];
