//! `engines`, `replicas` and `enginefrontends` of `longhorn.io`: the instances of a volume.

use super::instance_manager::{DataEngine, InstanceState};
use super::lenient::{Count, Int, StringMap, Time, manifests, narrow, open_enum};
use super::map::{Map, Task, Tasks};
use super::meta::Condition;
use super::shared_text::SharedText;

manifests! {
    /// The engine of a volume. Its status carries the whole snapshot chain, of which only the length is kept.
    Engine { spec: EngineSpec, status: EngineStatus }
    /// A replica of a volume.
    Replica { spec: ReplicaSpec, status: ReplicaStatus }
    /// The initiator of a v2 volume (since 1.12.0).
    EngineFrontend { spec: EngineFrontendSpec, status: EngineFrontendStatus }
}

narrow! {
    pub struct EngineSpec {
        pub volume_name: SharedText as name,
        pub node_id: SharedText as name = "nodeID",
        pub desire_state: InstanceState,
        pub data_engine: DataEngine,
        pub active: bool,
        /// Not empty while a live upgrade runs.
        pub upgraded_replica_address_map: StringMap,
    }

    /// How an engine is. `instance_manager_name` is cleared on a clean stop and kept on error
    /// (longhorn-manager v1.12.1 controller/instance_handler.go syncStatusWithInstanceManager).
    pub struct EngineStatus {
        pub owner_id: SharedText as name = "ownerID",
        pub instance_manager_name: SharedText as name,
        pub current_state: InstanceState,
        pub current_image: SharedText as name,
        pub replica_mode_map: Map<ReplicaMode> as keys,
        /// By address of the replica.
        pub rebuild_status: Tasks<RebuildStatus>,
        pub conditions: Vec<Condition>,
        pub is_expanding: bool,
        /// In bytes, of the device.
        pub current_size: Int,
        /// Why the last expansion failed; emptied once the size is as wanted.
        pub last_expansion_error: SharedText,
        pub last_expansion_failed_at: Time,
        /// How many snapshots there are, the volume's head among them.
        pub snapshots: Count,
        /// By address of the replica, as the following.
        pub restore_status: Tasks<RestoreStatus>,
        pub purge_status: Tasks<PurgeStatus>,
        pub clone_status: Tasks<CopyProgress>,
    }

    /// How far the restore into one replica is.
    pub struct RestoreStatus {
        pub is_restoring: bool,
        /// In percent.
        pub progress: Int,
        pub error: SharedText,
    }

    /// How far the purge of removed snapshots from one replica is.
    pub struct PurgeStatus {
        pub is_purging: bool,
        /// In percent.
        pub progress: Int,
        pub error: SharedText,
    }

    /// How far the clone into one replica is.
    pub struct CopyProgress {
        /// In percent.
        pub progress: Int,
        pub error: SharedText,
    }

    /// How far the rebuild of one replica is.
    pub struct RebuildStatus {
        pub is_rebuilding: bool,
        /// In percent.
        pub progress: Int,
        pub error: SharedText,
    }

    pub struct ReplicaSpec {
        pub volume_name: SharedText as name,
        pub node_id: SharedText as name = "nodeID",
        /// UUID of the disk, not its name.
        pub disk_id: SharedText as name = "diskID",
        pub desire_state: InstanceState,
        pub data_engine: DataEngine,
        pub backing_image: SharedText as name,
        /// Engine image since 1.6.
        pub image: SharedText as name,
        /// Engine image up to 1.5; a leftover until 1.8.
        pub engine_image: SharedText as name,
        /// False for one of a live upgrade that has not taken over yet.
        pub active: bool,
        /// When it was first in step with its engine; emptied when it is rebuilt.
        pub healthy_at: Time,
        pub failed_at: Time,
        /// Set with `failed_at` and never emptied; 1.5.4, 1.6.1 and later.
        pub last_failed_at: Time,
        /// 1.5.4, 1.6.1 and later.
        pub last_healthy_at: Time,
        /// How often the rebuild of this replica was tried again.
        pub rebuild_retry_count: Int,
        /// The node on which data locality wants it.
        pub hard_node_affinity: SharedText as name,
        /// 1.5.4, 1.6.0 and later.
        pub eviction_requested: bool,
    }

    pub struct ReplicaStatus {
        pub owner_id: SharedText as name = "ownerID",
        pub instance_manager_name: SharedText as name,
        pub current_state: InstanceState,
        /// Where its engine reaches it: the address of its instance manager, in the storage network if there is one.
        pub storage_ip: SharedText as name = "storageIP",
        pub conditions: Vec<Condition>,
        /// Up to 1.9; deprecated from 1.5.4 on.
        pub eviction_requested: bool,
    }

    pub struct EngineFrontendSpec {
        pub volume_name: SharedText as name,
        pub node_id: SharedText as name = "nodeID",
        pub desire_state: InstanceState,
        pub data_engine: DataEngine,
    }

    pub struct EngineFrontendStatus {
        pub owner_id: SharedText as name = "ownerID",
        pub instance_manager_name: SharedText as name,
        pub current_state: InstanceState,
    }
}

open_enum! {
    /// Mode of a replica as its engine sees it.
    pub enum ReplicaMode {
        ReadWrite = "RW",
        WriteOnly = "WO",
        Error = "ERR",
    }
}

impl Task for RestoreStatus {
    fn tells(&self) -> bool {
        self.is_restoring || !self.error.is_empty()
    }
}

impl Task for PurgeStatus {
    fn tells(&self) -> bool {
        self.is_purging || !self.error.is_empty()
    }
}

impl Task for CopyProgress {
    fn tells(&self) -> bool {
        self.progress.0 != 0 || !self.error.is_empty()
    }
}

impl Task for RebuildStatus {
    fn tells(&self) -> bool {
        self.is_rebuilding || !self.error.is_empty()
    }
}

impl Replica {
    /// The engine image that it runs, whichever field the release uses.
    pub fn engine_image(&self) -> &str {
        if self.spec.image.is_empty() { &self.spec.engine_image } else { &self.spec.image }
    }

    /// True when the replica is asked to leave its disk, whichever field the release uses.
    pub fn eviction_requested(&self) -> bool {
        self.spec.eviction_requested || self.status.eviction_requested
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runs_or_failed_is_held_and_nothing_else_is() {
        let idle = r#"{"status": {"purgeStatus": {"tcp://1": {"state": ""}, "tcp://2": {"isPurging": false, "progress": 100, "state": "complete"}},
            "restoreStatus": {"tcp://1": {}, "tcp://2": {"isRestoring": false, "progress": 100, "lastRestored": "backup-1"}},
            "cloneStatus": {"tcp://1": {"isCloning": false, "progress": 0}}, "rebuildStatus": {"tcp://1": {"isRebuilding": false, "progress": 100}}}}"#;
        let idle: Engine = serde_json::from_str(idle).unwrap();
        assert_eq!(idle, Engine::default());

        let busy = r#"{"status": {"purgeStatus": {"tcp://1": {"isPurging": true}, "tcp://2": {"error": "no space"}, "tcp://3": {}},
            "restoreStatus": {"tcp://1": {"isRestoring": true}, "tcp://2": {"error": "timeout"}, "tcp://3": {}},
            "cloneStatus": {"tcp://1": {"progress": 30}, "tcp://2": {"error": "gone"}, "tcp://3": {}},
            "rebuildStatus": {"tcp://1": {"isRebuilding": true}, "tcp://2": {"error": "EOF"}, "tcp://3": {}}}}"#;
        let EngineStatus { purge_status, restore_status, clone_status, rebuild_status, .. } =
            serde_json::from_str::<Engine>(busy).unwrap().status;
        assert_eq!(
            [purge_status.len(), restore_status.len(), clone_status.len(), rebuild_status.len()],
            [2; 4]
        );
    }
}
