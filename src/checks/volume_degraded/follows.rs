//! What a degraded volume follows from: a replica that no disk takes is a replica too few, and replicas run in instance managers
//! on nodes, and end with them (longhorn-manager v1.3.3 to v1.12.1 controller/volume_controller.go ReconcileEngineReplicaState).

use crate::check::{Follows, Same};

/// Relations to other causes.
pub const FOLLOWS: &[Follows] = &[
    Follows::caused_by(&["unschedulable"], &["replica_unschedulable/*"], Same::Volume, "volume degraded"),
    Follows::caused_by(
        &["waits_for_node"],
        &["disk_unavailable/node_not_ready"],
        Same::Node,
        "volume degraded",
    ),
    Follows::caused_by(
        &["not_rebuilding", "waits_for_node"],
        &["instance_manager_down/*"],
        Same::Volume,
        "volume degraded",
    ),
];
