//! What takes the NFS server of a volume away or keeps it from coming back: its node, the volume that it exports, and the
//! manager that owns the share manager and makes its pod (longhorn-manager v1.3.3 to v1.12.1
//! controller/share_manager_controller.go syncShareManagerVolume, syncShareManagerPod).

use crate::check::{Follows, Same};

/// Relations to other causes.
pub const FOLLOWS: &[Follows] = &[
    Follows::caused_by(
        &["node_down"],
        &["disk_unavailable/node_not_ready"],
        Same::Node,
        "RWX volume not served on",
    ),
    Follows::caused_by(
        &["volume_not_attached"],
        &["volume_attachment_stuck/*"],
        Same::Volume,
        "RWX volume not served",
    ),
    Follows::caused_by(&["pod_missing"], &["manager_crash_loop/*"], Same::Node, "RWX volume not served on"),
];
