//! The danger zone by name.

use std::collections::BTreeMap;

use crate::check::Cause;
use crate::longhorn::Toleration;

/// A setting of the danger zone as a cause.
const fn setting(id: &'static str) -> Cause {
    Cause::info(id, "the setting of this name is not in force")
}

/// Every setting that any release from 1.3 to 1.12 puts in the category danger-zone
/// (longhorn-manager types/setting.go at the tags v1.3.3 to v1.12.1), with `_` for `-`.
pub const CAUSES: &[&Cause] = &[
    &setting("concurrent_backing_image_replenish_per_node_limit"),
    &setting("concurrent_replica_rebuild_per_node_limit"),
    &setting("data_engine_cpu_isolation_enabled"),
    &setting("data_engine_cpu_mask"),
    &setting("data_engine_hugepage_enabled"),
    &setting("data_engine_interrupt_mode_enabled"),
    &setting("data_engine_iobuf_large_pool_size"),
    &setting("data_engine_iobuf_small_pool_size"),
    &setting("data_engine_memory_size"),
    &setting("data_engine_number_of_cpu_cores"),
    &setting("disable_replica_rebuild"),
    &setting("disable_snapshot_purge"),
    &setting("endpoint_network_for_rwx_volume"),
    &setting("engine_image_pod_liveness_probe_failure_threshold"),
    &setting("engine_image_pod_liveness_probe_period"),
    &setting("engine_image_pod_liveness_probe_timeout"),
    &setting("guaranteed_engine_cpu"),
    &setting("guaranteed_engine_manager_cpu"),
    &setting("guaranteed_instance_manager_cpu"),
    &setting("guaranteed_replica_manager_cpu"),
    &setting("instance_manager_pod_liveness_probe_timeout"),
    &setting("log_path"),
    &setting("priority_class"),
    &setting("storage_network"),
    &setting("storage_network_for_rwx_volume_enabled"),
    &setting("system_managed_components_node_selector"),
    &setting("system_managed_csi_components_resource_limits"),
    &setting("taint_toleration"),
    &setting("v1_data_engine"),
    &setting("v2_data_engine"),
    &setting("v2_data_engine_cpu_mask"),
    &setting("v2_data_engine_guaranteed_instance_manager_cpu"),
    &setting("v2_data_engine_hugepage_limit"),
];

/// The cause for a setting; `None` if it is not in the danger zone.
pub fn cause_of(name: &str) -> Option<&'static Cause> {
    let id = name.replace('-', "_");
    CAUSES.iter().copied().find(|known| known.id == id)
}

/// What the alert says of each kind of setting: that of RWX volumes, those of [`OTHERS`], the rest.
pub const DESCRIPTION: &str = "Setting {{ $labels.setting }} is not in force: it was changed, or an upgrade brought a new value. \
    {{ if match \"-for-rwx-volume\" $labels.setting }}Longhorn applies it when all RWX volumes are detached; plan that \
    moment.{{ else if match \"^(concurrent-|disable-|engine-image-pod-|system-managed-csi-components-)\" $labels.setting }}\
    No instance manager restarts for it; the log of longhorn-manager says why it is not applied.{{ else }}Instance \
    managers restart when their volumes are detached; plan that moment.{{ end }}";

/// What to do about a setting that waits for nothing any more. Longhorn looks at a setting when it changes and once an
/// hour; after some failures it does not try again before that (longhorn-manager v1.7.3 to v1.12.1
/// controller/setting_controller.go settingControllerResyncPeriod, handleErr).
pub const LOOKED_AT: &str = "Wait: Longhorn looks at its settings once an hour and notes then that this one is in force. If the \
    volumes stay detached and it does not, see in the log of the longhorn-managers why; a component other than an instance \
    manager may keep the old value.";

/// In the names of settings that wait for RWX volumes only (longhorn-manager v1.12.1
/// controller/setting_controller.go syncDangerZoneSettingsForManagedComponents).
pub const RWX: &str = "-for-rwx-volume";
/// What begins the names of settings that wait for no volume and restart no instance manager: those about
/// replica rebuilding, snapshots, backing images, pods of engine images and CSI (same function).
const OTHERS: [&str; 4] = ["concurrent-", "disable-", "engine-image-pod-", "system-managed-csi-components-"];

/// False for the settings of the danger zone that other components take over.
pub fn restarts_instance_managers(name: &str) -> bool {
    !name.contains(RWX) && !OTHERS.iter().any(|start| name.starts_with(start))
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

    #[test]
    fn the_alert_speaks_of_the_same_settings() {
        assert!(DESCRIPTION.contains(&format!("match \"{RWX}\" ")));
        assert!(DESCRIPTION.contains(&format!("match \"^({})\" ", OTHERS.join("|"))));
        let restart = |name: &str| restarts_instance_managers(name);
        assert!(restart("priority-class") && restart("storage-network") && restart("log-path"));
        for name in ["storage-network-for-rwx-volume-enabled", "endpoint-network-for-rwx-volume"] {
            assert!(!restart(name) && cause_of(name).is_some(), "{name}");
        }
        for start in OTHERS {
            assert!(CAUSES.iter().any(|known| known.id.replace('_', "-").starts_with(start)), "{start}");
        }
    }
}
