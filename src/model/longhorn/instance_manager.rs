//! `instancemanagers.longhorn.io` and the instances they run.

use super::lenient::{manifests, narrow, open_enum};
use super::map::Map;
use super::meta::Condition;
use super::shared_text::SharedText;

manifests! {
    /// An instance manager: the process host of engines and replicas on one node.
    InstanceManager { spec: InstanceManagerSpec, status: InstanceManagerStatus }
}

narrow! {
    /// What the manager wants of it.
    pub struct InstanceManagerSpec {
        pub image: SharedText as name,
        pub node_id: SharedText as name = "nodeID",
        pub kind: InstanceManagerType = "type",
        pub data_engine: DataEngine,
    }

    /// What it was last seen to be. The instance maps are emptied whenever it is stopped, error or
    /// starting, so an empty map says something only while it runs
    /// (longhorn-manager v1.12.1 controller/instance_manager_controller.go syncInstanceStatus).
    pub struct InstanceManagerStatus {
        pub owner_id: SharedText as name = "ownerID",
        pub current_state: InstanceManagerState,
        /// Since 1.11: PodReady, NodeReady, SettingSynced.
        pub conditions: Vec<Condition>,
        /// Up to 1.10.
        pub instances: Map<Instance> as keys,
        /// Since 1.5.
        pub instance_engines: Map<Instance> as keys,
        /// Since 1.5.
        pub instance_replicas: Map<Instance> as keys,
        /// Since 1.12.0.
        pub instance_engine_frontends: Map<Instance> as keys,
        /// Since 1.12.1.
        pub instance_shards: Map<Instance> as keys,
        /// Since 1.12.1.
        pub instance_shard_groups: Map<Instance> as keys,
    }

    /// One process in an instance manager.
    pub struct Instance {
        pub spec: InstanceSpec,
        pub status: InstanceStatus,
    }

    /// What the process is.
    pub struct InstanceSpec {
        pub name: SharedText as name,
        pub data_engine: DataEngine,
    }

    pub struct InstanceStatus {
        pub state: InstanceState,
        pub kind: SharedText = "type",
        /// Why the process ended; of an engine little more than its exit status.
        pub error_msg: SharedText,
    }
}

open_enum! {
    /// Since 1.5 only `aio` is made; the others are leftovers of 1.4.
    pub enum InstanceManagerType {
        Aio = "aio",
        Engine = "engine",
        Replica = "replica",
    }
}

open_enum! {
    /// `status.currentState` of an instance manager.
    pub enum InstanceManagerState {
        Error = "error",
        Running = "running",
        Stopped = "stopped",
        Starting = "starting",
        Unknown = "unknown",
    }
}

open_enum! {
    /// State of an engine, replica or other instance.
    pub enum InstanceState {
        Running = "running",
        Suspended = "suspended",
        Stopped = "stopped",
        Error = "error",
        Starting = "starting",
        Stopping = "stopping",
        Unknown = "unknown",
        Terminated = "terminated",
    }
}

open_enum! {
    /// v1 (iSCSI) or v2 (SPDK). Absent before 1.6, when all were v1.
    pub enum DataEngine {
        V1 = "v1",
        V2 = "v2",
    }
}

impl DataEngine {
    /// The engine that an absent value stands for.
    pub fn or_v1(self) -> DataEngine {
        if self == DataEngine::Unset { DataEngine::V1 } else { self }
    }
}

impl InstanceState {
    /// True for the two states that hold an old instance manager
    /// (longhorn-manager v1.12.1 controller/node_controller.go syncInstanceManagers).
    pub fn is_active(self) -> bool {
        matches!(self, InstanceState::Running | InstanceState::Starting)
    }
}

impl InstanceManagerStatus {
    /// Every instance of every map that any release writes, by name.
    pub fn all_instances(&self) -> impl Iterator<Item = (&str, &Instance)> {
        [
            &self.instances, &self.instance_engines, &self.instance_replicas,
            &self.instance_engine_frontends, &self.instance_shards, &self.instance_shard_groups,
        ]
        .into_iter()
        .flatten()
        .map(|(name, instance)| (name.as_str(), instance))
    }
}
