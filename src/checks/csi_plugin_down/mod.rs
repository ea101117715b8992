//! Longhorn's CSI driver does not work on a node, or its controllers work nowhere.
//!
//! On each node the DaemonSet `longhorn-csi-plugin` runs the containers node-driver-registrar, longhorn-liveness-probe and
//! longhorn-csi-plugin; no release gives them a readiness probe (longhorn-manager csi/deployment.go NewPluginDeployment at v1.3.3
//! and v1.12.1; a startup probe since 1.8.1), so Ready means that all containers run. The registrar makes the kubelet write
//! the driver into the node's CSINode. The Deployments csi-attacher, csi-provisioner, csi-resizer and csi-snapshotter elect
//! a leader each, so one working pod of three is enough. The driver deployer makes all of it
//! (driver_deployer_blocked looks at that), with the tolerations and the node selector of Longhorn's settings.

mod causes;
mod controllers;
mod deleted;
mod plugins;
mod restarts;
mod rules;
#[cfg(test)]
mod tests;

use crate::check::*;
use crate::facts::looping;
use crate::longhorn::Pod;
use crate::longhorn::Resource::*;

pub static CHECK: Check = check! {
    id: "csi_plugin_down",
    title: "CSI driver down",
    summary: "Longhorn's CSI plugin is down or unregistered on a node, or a CSI controller is down everywhere or keeps restarting. Or Longhorn was deleted, \
              or its uninstaller started, while volumes were in use.",
    needs: &[Pods, DaemonSets, Deployments],
    uses: &[
        CsiNodes, CsiAttachments, LonghornNodes, KubeNodes, Engines, Volumes, Replicas, Events, Services,
        Settings, InstanceManagers, Leases,
    ],
    glances: &[NetworkPolicies, NodeEvents],
    causes: causes::ALL,
    ways: &[causes::WAYS],
    gauges: GAUGES,
    alerts: rules::ALERTS,
    panels: rules::PANELS,
};

gauges! {
    PLUGINS = Gauge "longhorn_health_csi_plugins" ["state"]
        "Nodes by CSI plugin state: working (includes down nodes), down, missing, not_registered.",
        absent "pods or DaemonSets are unreadable",
        example "longhorn_health_csi_plugins{state!=\"working\"} > 0";
}

/// The DaemonSet of the plugin, and the label of its pods.
const PLUGIN: &str = "longhorn-csi-plugin";

fn run(cluster: &Cluster, out: &mut Outcome) {
    plugins::run(cluster, out);
    // what went with Longhorn is reported with it
    if !deleted::run(cluster, out) && !controllers::run(cluster, out) {
        restarts::run(cluster, out);
    }
}

/// The first container of a pod that ends again and again. The plugin itself comes before those that end without its socket.
fn crashing<'a>(cluster: &Cluster, pod: &'a Pod) -> Option<(&'a str, looping::Loop<'a>)> {
    let of = |own: bool| {
        let statuses = pod.status.container_statuses.iter();
        statuses.filter(move |status| (status.name == PLUGIN) == own)
    };
    let mut statuses = of(true).chain(of(false));
    statuses.find_map(|status| Some((status.name.as_str(), looping::looping(status, cluster.now)?)))
}
