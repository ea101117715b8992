//! Backing image managers and data sources that are not where they should be.

use jiff::Timestamp;

use super::causes;
use super::{Candidate, Reporter};
use crate::check::*;
use crate::facts::age::Unknown;
use crate::facts::eviction::gives_up_missing_disks;
use crate::facts::patience::ROLLOUT;
use crate::facts::releases::manager_release;
use crate::longhorn::{BackingImageDataSource, BackingImageManager, DataEngine, Release, Resource};

/// The data source follows its pod from these releases on (issue of the Longhorn knowledge base article
/// on downloads that are stuck after a node outage; affected up to 1.9.2 and 1.10.0).
const FOLLOWS_POD: &[Release] = &[Release::new(1, 9, 3), Release::new(1, 10, 1)];

pub fn look(cluster: &Cluster, found: &mut Reporter) {
    for source in cluster.objects.backing_image_data_sources.iter() {
        found.extend(moved(cluster, source));
    }
    for manager in cluster.objects.backing_image_managers.iter() {
        found.extend(stale(cluster, manager));
    }
}

fn moved(cluster: &Cluster, source: &BackingImageDataSource) -> Option<Candidate> {
    let name = source.metadata.name.as_str();
    let pod_name = format!("backing-image-ds-{name}");
    let pod = cluster.objects.pods.get(&pod_name)?;
    let (wanted, actual) = (source.spec.node_id.as_str(), pod.spec.node_name.as_str());
    let fixed = manager_release(cluster).is_some_and(|release| release.has_fix(FOLLOWS_POD));
    if wanted.is_empty() || actual.is_empty() || wanted == actual || fixed || source.spec.file_transferred {
        return None;
    }
    Some(
        Candidate::new(
            &causes::DATA_SOURCE_MOVED,
            cluster.object::<BackingImageDataSource>(name),
            format!("backing image {name} should be prepared on {wanted}, but its pod is on {actual}"),
        )
        .at(wanted, "")
        .fact(format!("BackingImageDataSource {name} is not transferring its file: spec.nodeID is {wanted}, but pod {pod_name} has spec.nodeName {actual}"))
        .impact("the download or upload cannot finish, so volumes that need the image cannot start")
        .with(Name::Pod, pod_name.as_str())
        .not_before(pod.metadata.created()),
    )
}

fn stale(cluster: &Cluster, manager: &BackingImageManager) -> Option<Candidate> {
    let (name, uuid) = (manager.metadata.name.as_str(), manager.spec.disk_uuid.as_str());
    let current = cluster.setting_value("default-backing-image-manager-image", DataEngine::V1);
    let old_image = !current.is_empty() && !manager.spec.image.is_empty() && manager.spec.image != current;
    let nodes_known =
        !cluster.objects.longhorn_nodes.is_empty() && cluster.decoded_all(Resource::LonghornNodes);
    let no_disk = !uuid.is_empty() && cluster.disk(uuid).is_none() && nodes_known;
    if (!old_image && !no_disk) || rolling_out(cluster) {
        return None;
    }
    let mut images: Vec<_> = manager.spec.backing_images.keys().map(|text| text.as_str()).collect();
    images.sort_unstable();
    let why = match (old_image, no_disk) {
        (true, true) => "has an old image and serves a disk that no node lists",
        (true, false) => "has an old image",
        (false, _) => "serves a disk that no node lists",
    };
    let mut suspicion = Candidate::new(
        &causes::MANAGER_STALE,
        cluster.object::<BackingImageManager>(name),
        format!("backing image manager {name} {why}"),
    )
    .at(&manager.spec.node_id, cluster.disk(uuid).map_or(uuid, |disk| disk.name))
    .fact(format!("spec.image is {} (default: {current}), spec.diskUUID is {uuid}", manager.spec.image))
    .fact(format!(
        "backing images that it serves: {}",
        if images.is_empty() { "none".to_owned() } else { images.join(", ") }
    ))
    .impact("the backing image manager's copies are not maintained, and eviction of the disk may stall")
    .after(ROLLOUT)
    .not_before(manager.metadata.created().max(managers_made(cluster).filter(|_| old_image)));
    if no_disk && !old_image && gives_up_missing_disks(manager_release(cluster)) {
        suspicion.unknown = Unknown::Waits;
    }
    Some(suspicion)
}

/// When the youngest longhorn-manager was made: after an upgrade they replace what is of the release before.
pub fn managers_made(cluster: &Cluster) -> Option<Timestamp> {
    cluster.manager_pods().filter_map(|pod| pod.metadata.created()).max()
}

/// True while the DaemonSet of the managers is being updated, during which old ones are normal.
fn rolling_out(cluster: &Cluster) -> bool {
    cluster.can_read(Resource::DaemonSets)
        && cluster
            .manager_daemon_set()
            .is_some_and(|set| set.status.updated_number_scheduled.0 < set.status.desired_number_scheduled.0)
}
