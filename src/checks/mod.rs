//! The checks: one folder per way in which Longhorn fails.

use crate::check::{Check, Follows};

pub mod backing_image_eviction_crash;
pub mod danger_zone_pending;
pub mod driver_deployer_blocked;
pub mod eviction_inconsistent;
pub mod eviction_stalled;
pub mod instance_manager_down;
pub mod instance_manager_pressure;
pub mod instance_manager_replaced;
pub mod instance_manager_stale;
pub mod known_bad_release;
pub mod manager_crash_loop;
pub mod manager_probes;
pub mod node_iscsi_errors;
pub mod node_unregistered;
pub mod webhook_unavailable;

/// Every check. The order is the order of everything generated.
pub const ALL: &[&Check] = &[
    &manager_crash_loop::CHECK,
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
];

/// A check by its id.
pub fn by_id(id: &str) -> Option<&'static Check> {
    ALL.iter().copied().find(|check| check.id == id)
}

/// What the causes of a check follow from.
pub fn follows(id: &str) -> &'static [Follows] {
    match id {
        "driver_deployer_blocked" => driver_deployer_blocked::follows::FOLLOWS,
        "eviction_stalled" => eviction_stalled::follows::FOLLOWS,
        "instance_manager_down" => instance_manager_down::follows::FOLLOWS,
        "known_bad_release" => known_bad_release::follows::FOLLOWS,
        "manager_crash_loop" => manager_crash_loop::follows::FOLLOWS,
        "manager_probes" => manager_probes::follows::FOLLOWS,
        "node_iscsi_errors" => node_iscsi_errors::follows::FOLLOWS,
        "node_unregistered" => node_unregistered::follows::FOLLOWS,
        "webhook_unavailable" => webhook_unavailable::follows::FOLLOWS,
        _ => &[],
    }
}
