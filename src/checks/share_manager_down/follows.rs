//! What keeps the NFS server of a volume from coming back: the manager that owns the share manager makes its pod
//! (longhorn-manager v1.12.1 controller/share_manager_controller.go syncShareManagerPod).

use crate::check::{Follows, Same};

/// Relations to other causes.
pub const FOLLOWS: &[Follows] = &[Follows::caused_by(
    &["pod_missing"],
    &["manager_crash_loop/*"],
    Same::Node,
    "RWX volume not served on",
)];
