//! An uninstallation that is under way, or that gave up half-way.
//!
//! The uninstaller deletes engine images, then nodes, then instance managers, and waits for each kind to be gone, while the managers go on
//! (longhorn-manager v1.4.4 to v1.12.1 controller/uninstall_controller.go deleteCRs; in 1.3.3 the same). Managers register their nodes in
//! their start only, so that they run without any for as long as an instance manager does not go (#10744). The Job of the published
//! manifest and chart ends after 15 minutes, and takes its pod with it.

use super::causes;
use crate::check::*;
use crate::longhorn::{Container, DaemonSet, Pod};

const JOB: &str = "longhorn-uninstall";
/// Without it the uninstaller refuses to begin; it may have been set long ago.
const FLAG: &str = "deleting-confirmation-flag";

/// What shows that nodes were deleted by an uninstaller, and not never registered.
pub fn evidence(cluster: &Cluster) -> Option<String> {
    let objects = &cluster.objects;
    let deleting = cluster.manager_daemon_set().is_some_and(|set| set.metadata.is_deleting());
    if deleting {
        return Some("DaemonSet longhorn-manager is being deleted".to_owned());
    }
    // one node that is left was not reached by the uninstaller, or registered after it
    if !objects.longhorn_nodes.is_empty() {
        return None;
    }
    let begun =
        objects.pods.iter().filter(|pod| is_uninstaller(pod)).max_by_key(|pod| pod.metadata.created());
    let newest = || cluster.manager_pods().filter_map(|pod| pod.metadata.created()).max();
    if let Some(pod) = begun.filter(|pod| pod.metadata.created() > newest()) {
        return Some(format!("pod {} uninstalls Longhorn", pod.metadata.name));
    }
    let confirmed = cluster.setting(FLAG).is_some_and(|flag| flag.value == "true");
    let known = cluster.knows_all(Resource::EngineImages) && cluster.knows_all(Resource::InstanceManagers);
    let im = objects.instance_managers.iter().find(|im| im.metadata.is_deleting());
    im.filter(|_| confirmed && known && objects.engine_images.is_empty()).map(|im| {
        format!(
            "setting {FLAG} is true, there is neither node nor engine image, and instance manager {} is being deleted",
            im.metadata.name
        )
    })
}

fn is_uninstaller(pod: &Pod) -> bool {
    let job = pod.metadata.label("job-name").or(pod.metadata.label("batch.kubernetes.io/job-name"));
    let runs = |container: &Container| container.command.iter().any(|word| word == "uninstall");
    job == Some(JOB) || pod.spec.containers.iter().any(runs)
}

/// Says so once, for all nodes that are gone already.
pub fn finding(cluster: &Cluster, nodes: usize, evidence: String) -> Finding {
    Finding::about(
        &causes::UNINSTALLING,
        cluster.object::<DaemonSet>("longhorn-manager"),
        format!(
            "Longhorn is being uninstalled: {} left, and no node is registered",
            counted(nodes, "manager")
        ),
    )
    .impact("none: the uninstaller deleted the volumes before the nodes")
    .fact(evidence)
}
