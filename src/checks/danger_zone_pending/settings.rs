//! The danger zone by name.

use std::collections::BTreeMap;

use crate::check::{BY_ITS_VALUE, Cause, CommandTemplate};
use crate::longhorn::Toleration;

/// A setting of the danger zone as a cause, with what to do until it is in force.
const fn setting(id: &'static str, fix: &'static str) -> Cause {
    Cause { fix, steps: STEPS, changed_by: BY_ITS_VALUE, ..Cause::info(id, "the setting is not applied yet") }
}

const STEPS: &[CommandTemplate] = &[
    CommandTemplate::read("kubectl -n <namespace> get volumes.longhorn.io"),
    CommandTemplate::read("kubectl -n <namespace> get settings.longhorn.io <object> -o yaml"),
    CommandTemplate::read(
        "kubectl -n <namespace> logs -l app=longhorn-manager -c longhorn-manager --prefix --tail=2000 | grep <object>",
    ),
];

/// For those that instance managers take over.
const RESTARTS: &str = "Detach the volumes in a maintenance window, or set <object> back to its old value. Longhorn restarts each instance manager \
                        once its volumes are detached.";
/// For those that wait for RWX volumes only (longhorn-manager v1.12.1 controller/setting_controller.go
/// syncDangerZoneSettingsForManagedComponents).
const SHARED: &str = "Detach the RWX volumes in a maintenance window, or set <object> back to its old value.";
/// For those that wait for no volume and restart no instance manager: about replica rebuilding, snapshots, backing images, pods of
/// engine images and CSI (same function).
const AT_ONCE: &str = "Read the longhorn-managers' logs: they show why setting <object> is not applied.";

/// Every setting that any release from 1.3 to 1.12 puts in the category danger-zone
/// (longhorn-manager types/setting.go at the tags v1.3.3 to v1.12.1), with `_` for `-`.
pub const CAUSES: &[&Cause] = &[
    &setting("concurrent_backing_image_replenish_per_node_limit", AT_ONCE),
    &setting("concurrent_replica_rebuild_per_node_limit", AT_ONCE),
    &setting("data_engine_cpu_isolation_enabled", RESTARTS),
    &setting("data_engine_cpu_mask", RESTARTS),
    &setting("data_engine_hugepage_enabled", RESTARTS),
    &setting("data_engine_interrupt_mode_enabled", RESTARTS),
    &setting("data_engine_iobuf_large_pool_size", RESTARTS),
    &setting("data_engine_iobuf_small_pool_size", RESTARTS),
    &setting("data_engine_memory_size", RESTARTS),
    &setting("data_engine_number_of_cpu_cores", RESTARTS),
    &setting("disable_replica_rebuild", AT_ONCE),
    &setting("disable_snapshot_purge", AT_ONCE),
    &setting("endpoint_network_for_rwx_volume", SHARED),
    &setting("engine_image_pod_liveness_probe_failure_threshold", AT_ONCE),
    &setting("engine_image_pod_liveness_probe_period", AT_ONCE),
    &setting("engine_image_pod_liveness_probe_timeout", AT_ONCE),
    &setting("guaranteed_engine_cpu", RESTARTS),
    &setting("guaranteed_engine_manager_cpu", RESTARTS),
    &setting("guaranteed_instance_manager_cpu", RESTARTS),
    &setting("guaranteed_replica_manager_cpu", RESTARTS),
    &setting("instance_manager_pod_liveness_probe_timeout", RESTARTS),
    &setting("log_path", RESTARTS),
    &setting("priority_class", RESTARTS),
    &setting("storage_network", RESTARTS),
    &setting("storage_network_for_rwx_volume_enabled", SHARED),
    &setting("system_managed_components_node_selector", RESTARTS),
    &setting("system_managed_csi_components_resource_limits", AT_ONCE),
    &setting("taint_toleration", RESTARTS),
    &setting("v1_data_engine", RESTARTS),
    &setting("v2_data_engine", RESTARTS),
    &setting("v2_data_engine_cpu_mask", RESTARTS),
    &setting("v2_data_engine_guaranteed_instance_manager_cpu", RESTARTS),
    &setting("v2_data_engine_hugepage_limit", RESTARTS),
];

/// The cause for a setting; `None` if it is not in the danger zone.
pub fn cause_of(name: &str) -> Option<&'static Cause> {
    let id = name.replace('-', "_");
    CAUSES.iter().copied().find(|known| known.id == id)
}

/// What the alert says of each kind of setting: that of RWX volumes, those that wait for nothing, the rest.
pub const DESCRIPTION: &str = "Setting {{ $labels.setting }} was changed, or an upgrade brought a new value, but Longhorn has not applied it yet. {{ if match \
                               \"-for-rwx-volume\" $labels.setting }}Longhorn applies it once all RWX volumes are detached: plan a maintenance window.{{ else \
                               if match \"^(concurrent-|disable-|engine-image-pod-|system-managed-csi-components-)\" $labels.setting }}Read the reason in \
                               longhorn-manager's log: no instance manager restarts for this setting.{{ else }}Instance managers restart once their volumes \
                               are detached: plan a maintenance window.{{ end }}";

/// What to do about a setting that waits for nothing any more. Longhorn looks at a setting when it changes and once an
/// hour; after some failures it does not try again before that (longhorn-manager v1.7.3 to v1.12.1
/// controller/setting_controller.go settingControllerResyncPeriod, handleErr).
pub const LOOKED_AT: &str = "Wait an hour: Longhorn then checks its settings and reports this one as applied. If not, read the longhorn-managers' \
                             logs: components other than instance managers may keep the old value.";

/// When a setting comes into force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waits {
    /// When instance managers restart without their volumes.
    Volumes,
    /// When RWX volumes are detached.
    Shared,
    /// At once; something goes wrong.
    Nothing,
}

/// What this setting waits for.
pub fn waits(cause: &Cause) -> Waits {
    match cause.fix {
        SHARED => Waits::Shared,
        AT_ONCE => Waits::Nothing,
        _ => Waits::Volumes,
    }
}

/// The parts of a value such as `a=b:NoSchedule; c:NoExecute` or `zone:a; disk:fast`.
pub fn listed_in(value: &str) -> impl Iterator<Item = &str> {
    value.split(';').map(str::trim).filter(|part| !part.is_empty())
}

/// Whether this toleration of a pod is the one that a part of the setting asks for: `key=value:effect`, `key:effect`, and either
/// without effect (longhorn-manager v1.12.1 types/types.go UnmarshalTolerations).
pub fn tolerates(has: &Toleration, wanted: &str) -> bool {
    let (taint, effect) = wanted.split_once(':').unwrap_or((wanted, ""));
    let (key, value) = taint.split_once('=').unwrap_or((taint, ""));
    has.key == key && has.value == value && has.effect == effect
}

/// The danger-zone settings that a condition message names, with their causes.
pub fn named_in(message: &str) -> BTreeMap<&str, &'static Cause> {
    let words = message.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    words.filter_map(|word| Some((word, cause_of(word)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the description of the alert tells settings apart.
    const RWX: &str = "-for-rwx-volume";
    const OTHERS: [&str; 4] =
        ["concurrent-", "disable-", "engine-image-pod-", "system-managed-csi-components-"];

    #[test]
    fn the_alert_speaks_of_the_same_settings() {
        assert!(DESCRIPTION.contains(&format!("match \"{RWX}\" ")));
        assert!(DESCRIPTION.contains(&format!("match \"^({})\" ", OTHERS.join("|"))));
        for cause in CAUSES {
            let name = cause.id.replace('_', "-");
            let expected = match () {
                () if name.contains(RWX) => Waits::Shared,
                () if OTHERS.iter().any(|start| name.starts_with(start)) => Waits::Nothing,
                () => Waits::Volumes,
            };
            assert_eq!(waits(cause), expected, "{name}");
        }
    }
}
