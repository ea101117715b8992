//! `orphans.longhorn.io`.

use super::lenient::{StringMap, manifests, narrow, open_enum};
use super::meta::Condition;
use super::shared_text::SharedText;

manifests! {
    /// Something Longhorn found that no object owns.
    Orphan { spec: OrphanSpec, status: OrphanStatus }
}

narrow! {
    /// What was found. Instance orphans (1.9.0 and later) name InstanceName and InstanceManager.
    pub struct OrphanSpec {
        pub node_id: SharedText as name = "nodeID",
        pub orphan_type: OrphanType,
        pub parameters: StringMap as labels,
    }

    /// Whether it can be deleted.
    pub struct OrphanStatus {
        /// Types Error and, of data, DataCleanable.
        pub conditions: Vec<Condition>,
    }
}

open_enum! {
    /// What kind of thing an orphan is.
    pub enum OrphanType {
        Replica = "replica",
        ReplicaData = "replica-data",
        EngineInstance = "engine-instance",
        ReplicaInstance = "replica-instance",
        ShardInstance = "shard-instance",
        ShardGroupInstance = "shardgroup-instance",
    }
}
