//! The checks: one folder per way in which Longhorn fails.

// no panic on data from outside
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]
#![allow(
    clippy::needless_update,
    reason = "a field that is added needs no change in the checks that say all others"
)]

use std::collections::BTreeSet;
use std::sync::LazyLock;

use crate::check::{Cause, Check};
use crate::longhorn::Resource;

#[cfg(test)]
pub(crate) use ::{report, testing};
pub(crate) use ::facts;
pub(crate) use model::{check, cluster, did_you_mean, history, longhorn, word_enum};

mod attachment_on_dead_node;
mod backing_image_eviction_crash;
mod backup_failing;
mod csi_plugin_down;
mod danger_zone_pending;
mod disk_unavailable;
mod driver_deployer_blocked;
mod engine_image_unavailable;
mod eviction_inconsistent;
mod eviction_stalled;
mod instance_manager_down;
mod instance_manager_pressure;
mod instance_manager_replaced;
mod instance_manager_stale;
mod known_bad_release;
mod left_behind;
mod manager_crash_loop;
mod manager_half_alive;
mod manager_probes;
mod manager_start_stuck;
mod node_iscsi_errors;
mod node_unregistered;
mod operation_stalled;
pub mod relations;
mod replica_unschedulable;
mod share_manager_down;
mod snapshot_chain_long;
#[cfg(test)]
mod tests;
mod version_skew;
mod volume_attachment_stuck;
mod volume_degraded;
mod volume_faulted;
mod volume_read_only;
mod webhook_unavailable;

#[doc(hidden)]
pub use backup_failing::schedule;

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
    &operation_stalled::CHECK,
    &snapshot_chain_long::CHECK,
    &version_skew::CHECK,
    &left_behind::CHECK,
];

const _: () = {
    let mut checks = ALL;
    while let [check, rest @ ..] = checks {
        check.assert_alerts_name_own_causes();
        check.assert_tables_have_columns();
        checks = rest;
    }
};

/// A check, and the cause of it that is meant, by the ids that a user wrote.
pub fn named(id: &str, cause: Option<&str>) -> Result<(&'static Check, Option<&'static Cause>), String> {
    let ids: Vec<&str> = ALL.iter().map(|check| check.id).collect();
    let check = by_id(id).ok_or_else(|| format!("no such check; {}", did_you_mean::hint(id, &ids)))?;
    let Some(cause) = cause else { return Ok((check, None)) };
    let causes: Vec<&str> = check.causes.iter().map(|cause| cause.id).collect();
    let found = check.cause(cause).map(|cause| (check, Some(cause)));
    found.ok_or_else(|| format!("no such cause; {}", did_you_mean::hint(cause, &causes)))
}

/// The kinds that checks read. What only plans ask for is not among them, so that nothing else pays for it.
pub fn kinds() -> &'static BTreeSet<Resource> {
    static KINDS: LazyLock<BTreeSet<Resource>> = LazyLock::new(|| {
        ALL.iter().flat_map(|check| check.needs.iter().chain(check.uses)).copied().collect()
    });
    &KINDS
}

/// A check by its id.
pub fn by_id(id: &str) -> Option<&'static Check> {
    ALL.iter().copied().find(|check| check.id == id)
}

/// The same id, of a check that exists: ids that were saved or typed are text.
pub fn id_of(id: &str) -> Option<&'static str> {
    by_id(id).map(|check| check.id)
}
