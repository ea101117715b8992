//! What a faulted volume follows from: engine and replicas run in instance managers, and end with them; a replica on a disk
//! that is not Schedulable is not salvaged (longhorn-manager v1.3.3 to v1.12.1 controller/volume_controller.go ReconcileVolumeState).

use crate::check::{Follows, Same};

/// Relations to other causes.
pub const FOLLOWS: &[Follows] = &[
    Follows::caused_by(
        &["never_up"],
        &["volume_attachment_stuck/engine_cannot_start"],
        Same::Volume,
        "volume faulted",
    ),
    Follows::caused_by(&["replicas_unreachable"], &["disk_unavailable/*"], Same::Disk, "volume faulted"),
    Follows::caused_by(
        &["engine_died", "salvage_pending"],
        &["volume_attachment_stuck/attach_loop"],
        Same::Volume,
        "volume faulted",
    ),
    Follows::caused_by(
        &["replicas_unreachable", "engine_died", "salvage_pending"],
        &["instance_manager_down/*"],
        Same::Volume,
        "volume faulted",
    ),
];
