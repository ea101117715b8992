//! Why volumes do not reach pods by CSI.

use crate::check::Cause;

pub const PLUGIN_CRASHING: Cause =
    Cause::warning("plugin_crashing", "a container of the CSI plugin on the node keeps crashing");
pub const PLUGIN_NOT_RUNNING: Cause = Cause::warning(
    "plugin_not_running",
    "the pod of the CSI plugin on the node does not start or is not Ready",
);
pub const PLUGIN_MISSING: Cause = Cause::warning(
    "plugin_missing",
    "no CSI plugin is on a node that Longhorn uses; info where no volume is attached there",
);
pub const NOT_REGISTERED: Cause = Cause::warning(
    "not_registered",
    "the CSI plugin runs, but the kubelet of the node does not know the driver: its CSINode lacks driver.longhorn.io",
);
pub const CONTROLLER_DOWN: Cause = Cause::critical(
    "controller_down",
    "no pod of csi-attacher or csi-provisioner works: no volume is attached, or none is created, in the whole cluster",
);
pub const SIDECAR_DOWN: Cause = Cause::warning(
    "sidecar_down",
    "no pod of csi-resizer or csi-snapshotter works: no volume is expanded, or no snapshot taken, by Kubernetes",
);

/// Of one node.
pub const OF_NODES: &[&Cause] = &[&PLUGIN_CRASHING, &PLUGIN_NOT_RUNNING, &PLUGIN_MISSING, &NOT_REGISTERED];

pub const ALL: &[&Cause] = &[
    &PLUGIN_CRASHING,
    &PLUGIN_NOT_RUNNING,
    &PLUGIN_MISSING,
    &NOT_REGISTERED,
    &CONTROLLER_DOWN,
    &SIDECAR_DOWN,
];
