//! The checks: one folder per way in which Longhorn fails.

#![allow(
    clippy::needless_update,
    reason = "a field that is added needs no change in the checks that say all others"
)]

use crate::check::Check;

pub mod attachment_on_dead_node;
pub mod backing_image_eviction_crash;
pub mod backup_failing;
pub mod csi_plugin_down;
pub mod danger_zone_pending;
pub mod disk_unavailable;
pub mod driver_deployer_blocked;
pub mod engine_image_unavailable;
pub mod eviction_inconsistent;
pub mod eviction_stalled;
pub mod instance_manager_down;
pub mod instance_manager_pressure;
pub mod instance_manager_replaced;
pub mod instance_manager_stale;
pub mod known_bad_release;
pub mod manager_crash_loop;
pub mod manager_half_alive;
pub mod manager_probes;
pub mod manager_start_stuck;
pub mod node_iscsi_errors;
pub mod node_unregistered;
pub mod replica_unschedulable;
pub mod share_manager_down;
pub mod volume_attachment_stuck;
pub mod volume_degraded;
pub mod volume_faulted;
pub mod volume_read_only;
pub mod webhook_unavailable;

/// Every check. The order is the order of everything generated.
pub const ALL: &[&Check] = &[
    &volume_faulted::CHECK,
    &volume_degraded::CHECK,
    &volume_attachment_stuck::CHECK,
    &attachment_on_dead_node::CHECK,
    &volume_read_only::CHECK,
    &replica_unschedulable::CHECK,
    &manager_crash_loop::CHECK,
    &manager_start_stuck::CHECK,
    &manager_half_alive::CHECK,
    &webhook_unavailable::CHECK,
    &manager_probes::CHECK,
    &node_unregistered::CHECK,
    &driver_deployer_blocked::CHECK,
    &instance_manager_down::CHECK,
    &instance_manager_replaced::CHECK,
    &instance_manager_stale::CHECK,
    &instance_manager_pressure::CHECK,
    &danger_zone_pending::CHECK,
    &backing_image_eviction_crash::CHECK,
    &eviction_inconsistent::CHECK,
    &eviction_stalled::CHECK,
    &known_bad_release::CHECK,
    &node_iscsi_errors::CHECK,
    &disk_unavailable::CHECK,
    &engine_image_unavailable::CHECK,
    &csi_plugin_down::CHECK,
    &share_manager_down::CHECK,
    &backup_failing::CHECK,
];

const _: () = {
    let mut checks = ALL;
    while let [check, rest @ ..] = checks {
        check.assert_alerts_name_own_causes();
        checks = rest;
    }
};

/// A check by its id.
pub fn by_id(id: &str) -> Option<&'static Check> {
    ALL.iter().copied().find(|check| check.id == id)
}
