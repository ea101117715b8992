//! Whether Longhorn is being taken away: by its uninstaller, or by deleting what was applied.
//!
//! The uninstaller deletes engine images, then nodes, then instance managers, and waits for each kind to be gone, while the managers go on
//! (longhorn-manager v1.4.4 to v1.12.1 controller/uninstall_controller.go deleteCRs; in 1.3.3 the same). Managers register their nodes in
//! their start only, so that they run without any for as long as an instance manager does not go (#10744). The Job of the published
//! manifest and chart ends after 15 minutes, and takes its pod with it. `kubectl delete -f` deletes the definitions before the managers,
//! and with each definition its objects: nodes go beneath managers that are Ready (seen with 1.12.1).

use super::patience::DEFINITE;
use crate::cluster::{Cluster, Readability};
use crate::longhorn::setting::boolean;
use crate::longhorn::{
    Container, InstanceManager, InstanceManagerState, Pod, PodPhase, Resource, Volume, VolumeState,
};

const JOB: &str = "longhorn-uninstall";
/// Without it the uninstaller refuses to begin; it may have been set long ago.
const FLAG: &str = "deleting-confirmation-flag";

/// What shows that Longhorn is being taken away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removal {
    pub evidence: String,
    /// True for its uninstaller, which deletes the volumes before all else.
    pub by_uninstaller: bool,
}

/// The removal that is under way while no volume is in use: then what stops working is not missed. With a volume in use it is an accident.
pub fn unmissed(cluster: &Cluster) -> Option<Removal> {
    let served = cluster.readability(Resource::Volumes) != Readability::NotInstalled;
    let unknown = served && !cluster.knows_all(Resource::Volumes);
    if unknown || cluster.objects.volumes.iter().any(is_in_use) { None } else { under_way(cluster) }
}

/// Volumes that wait to be deleted and were in use when Longhorn was taken away beneath them, with what shows it.
pub fn missed(cluster: &Cluster) -> Option<(String, Vec<&Volume>)> {
    let volumes = cluster.objects.volumes.iter();
    let lost: Vec<&Volume> =
        volumes.filter(|volume| volume.metadata.is_deleting() && is_in_use(volume)).collect();
    if lost.is_empty() {
        return None;
    }
    let evidence = by_hand(cluster).or_else(|| {
        let read = |kind| cluster.readability(kind) == Readability::Readable && cluster.decoded_all(kind);
        let none = cluster.manager_daemon_set().is_none() && cluster.manager_pods().next().is_none();
        (none && read(Resource::DaemonSets) && read(Resource::Pods))
            .then(|| "DaemonSet longhorn-manager and its pods have been deleted".to_owned())
    });
    Some((evidence?, lost))
}

/// Volumes in use which no manager looks after, because DaemonSet and pods of the managers are gone, and nothing is being deleted.
pub fn unmanaged(cluster: &Cluster) -> Option<Vec<&Volume>> {
    let read = |kind| cluster.readability(kind) == Readability::Readable && cluster.decoded_all(kind);
    let none = cluster.manager_daemon_set().is_none() && cluster.manager_pods().next().is_none();
    let runs = |manager: &InstanceManager| manager.status.current_state == InstanceManagerState::Running;
    let data_path = cluster.objects.instance_managers.iter().any(runs);
    if !none
        || !data_path
        || !read(Resource::DaemonSets)
        || !read(Resource::Pods)
        || under_way(cluster).is_some()
    {
        return None;
    }
    let volumes = cluster.objects.volumes.iter();
    let used: Vec<&Volume> =
        volumes.filter(|volume| !volume.metadata.is_deleting() && is_in_use(volume)).collect();
    (!used.is_empty()).then_some(used)
}

/// A manager that deletes a volume leaves in it the node that it was attached to (longhorn-manager v1.3.3 to v1.12.1
/// controller/volume_controller.go syncVolume).
fn is_in_use(volume: &Volume) -> bool {
    match volume.status.state {
        VolumeState::Attached | VolumeState::Attaching | VolumeState::Detaching => true,
        VolumeState::Deleting => !volume.status.current_node_id.is_empty(),
        _ => false,
    }
}

/// The uninstaller that someone started, with the volumes that are in use; true where it was refused. Nothing but its start asks for the
/// flag (longhorn-manager v1.4.4 to v1.12.1 controller/uninstall_controller.go checkPreconditions; 1.3 has none), and the chart
/// starts it with --force, which takes volumes in use (longhorn v1.3.3 to v1.12.1 chart/templates/uninstall-job.yaml).
pub fn begun(cluster: &Cluster) -> Option<(&Pod, bool, Vec<&Volume>)> {
    let pods = cluster.objects.pods.iter().filter(|pod| is_uninstaller(pod));
    let pod = pods.max_by_key(|pod| pod.metadata.created())?;
    let works = pod.ready_since().is_some_and(|since| cluster.age(since) >= DEFINITE);
    let refused = !works && cluster.setting(FLAG).is_some_and(|flag| flag.value != "true");
    let known = cluster.can_read(Resource::Settings) && pod.status.phase != PodPhase::Succeeded;
    let used: Vec<&Volume> = cluster.objects.volumes.iter().filter(|volume| is_in_use(volume)).collect();
    (known && (refused || !used.is_empty())).then_some((pod, refused, used))
}

/// The removal that is under way, whatever it takes along.
pub fn under_way(cluster: &Cluster) -> Option<Removal> {
    by_hand(cluster)
        .map(|evidence| Removal { evidence, by_uninstaller: false })
        .or_else(|| Some(Removal { evidence: by_uninstaller(cluster)?, by_uninstaller: true }))
}

fn by_hand(cluster: &Cluster) -> Option<String> {
    let set = cluster.manager_daemon_set();
    if set.is_some_and(|set| set.metadata.is_deleting()) {
        return Some("DaemonSet longhorn-manager is being deleted".to_owned());
    }
    if cluster.managers_leave() {
        return Some("DaemonSet longhorn-manager is deleted, and its pods are being deleted".to_owned());
    }
    // a single definition may be lost otherwise
    let missing = |kind: &Resource| {
        kind.is_longhorn()
            && kind.info().since.is_none()
            && cluster.readability(*kind) == Readability::NotInstalled
    };
    let missing: Vec<Resource> = Resource::all().filter(missing).collect();
    match missing.as_slice() {
        [one, another, ..] => {
            let runs =
                if cluster.manager_pods().next().is_some() { ", but its managers are running" } else { "" };
            Some(format!("Longhorn's CRDs are deleted, including {one} and {another}{runs}"))
        }
        _ => None,
    }
}

fn by_uninstaller(cluster: &Cluster) -> Option<String> {
    let objects = &cluster.objects;
    // one node that is left was not reached by the uninstaller, or registered after it
    if !objects.longhorn_nodes.is_empty() {
        return None;
    }
    let begun =
        objects.pods.iter().filter(|pod| is_uninstaller(pod)).max_by_key(|pod| pod.metadata.created());
    let newest = || cluster.manager_pods().filter_map(|pod| pod.metadata.created()).max();
    if let Some(pod) = begun.filter(|pod| pod.metadata.created() > newest()) {
        return Some(format!("pod {} is uninstalling Longhorn", pod.metadata.name));
    }
    let confirmed = cluster.setting(FLAG).is_some_and(|flag| boolean(&flag.value) == Some(true));
    let known = cluster.knows_all(Resource::EngineImages) && cluster.knows_all(Resource::InstanceManagers);
    let im = objects.instance_managers.iter().find(|im| im.metadata.is_deleting());
    im.filter(|_| confirmed && known && objects.engine_images.is_empty()).map(|im| {
        format!(
            "setting {FLAG} is true, no node or engine image is left, and instance manager {} is being deleted, as in an uninstall",
            im.metadata.name
        )
    })
}

fn is_uninstaller(pod: &Pod) -> bool {
    let job = pod.metadata.label("job-name").or(pod.metadata.label("batch.kubernetes.io/job-name"));
    let runs = |container: &Container| container.command.iter().any(|word| word == "uninstall");
    job == Some(JOB) || pod.spec.containers.iter().any(runs)
}
