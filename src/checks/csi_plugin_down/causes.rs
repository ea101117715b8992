//! Why volumes do not reach pods by CSI.

use crate::check::{Cause, causes};

causes! {
    PLUGIN_CRASHING = warning "plugin_crashing" "a container of the CSI plugin on the node keeps crashing";
    PLUGIN_NOT_RUNNING = warning "plugin_not_running"
        "the pod of the CSI plugin on the node does not start or is not Ready";
    PLUGIN_MISSING = warning "plugin_missing"
        "no CSI plugin is on a node that Longhorn uses" but "info where no volume is attached there";
    NOT_REGISTERED = warning "not_registered"
        "the CSI plugin runs, but the kubelet of the node does not know the driver: its CSINode lacks driver.longhorn.io";
    CONTROLLER_DOWN = critical "controller_down"
        "no pod of csi-attacher or csi-provisioner works: no volume is attached, or none is created, in the whole cluster";
    SIDECAR_DOWN = warning "sidecar_down"
        "no pod of csi-resizer or csi-snapshotter works: no volume is expanded, or no snapshot taken, by Kubernetes";
}

/// Of one node.
pub const OF_NODES: &[&Cause] = &[&PLUGIN_CRASHING, &PLUGIN_NOT_RUNNING, &PLUGIN_MISSING, &NOT_REGISTERED];
