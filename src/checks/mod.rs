//! The checks: one folder per way in which Longhorn fails.

use crate::check::Check;

pub mod backing_image_eviction_crash;
pub mod danger_zone_pending;
pub mod driver_deployer_blocked;
pub mod eviction;
pub mod eviction_inconsistent;
pub mod eviction_stalled;
pub mod instance_manager_down;
pub mod instance_manager_pressure;
pub mod instance_manager_replaced;
pub mod instance_manager_stale;
pub mod instance_managers;
pub mod known_bad_release;
pub mod looping;
pub mod manager_crash_loop;
pub mod manager_probes;
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
];

/// A check by its id.
pub fn by_id(id: &str) -> Option<&'static Check> {
    ALL.iter().copied().find(|check| check.id == id)
}

/// What the checks write beside the generated cases of their alerts, in promtool's terms; only
/// those that have something to add.
const CASES: &[(&str, &str)] = &[
    ("manager_crash_loop", include_str!("manager_crash_loop/alerts.test.yaml")),
    ("instance_manager_replaced", include_str!("instance_manager_replaced/alerts.test.yaml")),
    ("instance_manager_pressure", include_str!("instance_manager_pressure/alerts.test.yaml")),
];

/// The content of a check's `alerts.test.yaml`, or nothing.
pub fn cases(id: &str) -> &'static str {
    CASES.iter().find(|(check, _)| *check == id).map_or("", |(_, cases)| cases)
}
