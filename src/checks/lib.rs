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

use crate::check::{Catalogue, Cause, Check};

#[cfg(test)]
pub(crate) use ::{report, testing};
pub(crate) use ::facts;
pub(crate) use model::{check, cluster, history, longhorn, word_enum};

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
mod instance_manager_old;
mod instance_manager_pressure;
mod instance_manager_replaced;
mod known_bad_release;
mod left_behind;
mod manager_crash_loop;
mod manager_half_alive;
mod manager_probes;
mod manager_start_stuck;
mod node_iscsi_errors;
mod node_unregistered;
mod operation_stalled;
mod relations;
mod replica_unschedulable;
mod share_manager_down;
mod signature_matched;
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

/// All that is looked for. The program hands it to the rooms, none of which names it.
pub static CATALOGUE: Catalogue = Catalogue { checks: ALL, relations: relations::ALL };

/// Every check. The order is the order of everything generated.
const ALL: &[&Check] = &[
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
    &instance_manager_old::CHECK,
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
    &signature_matched::CHECK,
];

const _: () = {
    let mut checks = ALL;
    while let [check, rest @ ..] = checks {
        check.assert_alerts_name_own_causes();
        check.assert_tables_have_columns();
        checks = rest;
    }
};
