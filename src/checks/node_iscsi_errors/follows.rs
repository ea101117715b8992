//! What lost iSCSI connections follow from: targets live in the instance manager, and end with it.

use crate::check::{Follows, Same};

/// Relations to other causes.
pub const FOLLOWS: &[Follows] = &[Follows::caused_by(
    &["iscsi_conn_error", "shim_disconnected"],
    &[
        "instance_manager_replaced/*",
        "instance_manager_down/panic",
        "instance_manager_down/oom_killed",
        "instance_manager_down/pod_failed",
        "instance_manager_down/pod_missing",
        "instance_manager_down/pod_terminating",
        "instance_manager_down/node_down",
    ],
    Same::Node,
    "iSCSI errors on",
)];
