//! What objects beside the volume say of why it is not attached.

use crate::check::*;
use crate::facts::{api, text};
use crate::longhorn::{ConditionStatus, InstanceManager, InstanceState, Owner, Volume, condition};

/// Kubernetes' own error, the backing image that is waited for, and what an upgrade left behind.
pub(super) fn by_others(cluster: &Cluster, volume: &Volume) -> Vec<Evidence> {
    let objects = &cluster.objects;
    let name = volume.metadata.name.as_str();
    let attachments = objects.csi_attachments.of(Owner::PersistentVolume, volume.persistent_volume());
    let mut said: Vec<Evidence> = attachments
        .filter(|csi| !csi.status.attached && !csi.status.attach_error.message.trim().is_empty())
        .take(3)
        .map(|csi| {
            let error = text::shortened(csi.status.attach_error.message.trim(), 500);
            api(format!("VolumeAttachment {} for node {}: {error}", csi.metadata.name, csi.spec.node_name))
        })
        .collect();
    let waits = condition(&volume.status.conditions, "WaitForBackingImage");
    if let Some(waits) = waits.filter(|waits| waits.status == ConditionStatus::True) {
        let image = &volume.spec.backing_image;
        said.push(api(format!(
            "it waits for backing image {image}: {}",
            text::shortened(&waits.message, 300)
        )));
        let managers = objects.backing_image_managers.iter();
        for manager in managers.filter(|manager| manager.spec.backing_images.contains_key(image)).take(3) {
            said.push(api(format!(
                "backing image manager {} on {} is {}",
                manager.metadata.name,
                manager.spec.node_id,
                manager.status.current_state.as_str()
            )));
        }
    }
    said.extend(imageless(volume));
    said.extend(twins(cluster, volume));
    // a live upgrade sets both, and takes the addresses away when it is done (longhorn-manager v1.12.1
    // controller/volume_controller.go upgradeEngineForVolume)
    let upgraded =
        cluster.engines_of(name).find(|engine| !engine.spec.upgraded_replica_address_map.is_empty());
    if let Some(engine) = upgraded.filter(|_| volume.spec.wanted_image() == volume.status.current_image) {
        said.push(api(format!(
            "engine {} still has spec.upgradedReplicaAddressMap of a live upgrade that is over",
            engine.metadata.name
        )));
    }
    said
}

/// A volume that was up once and names no image: Longhorn looks for one of the empty name (longhorn issue 10452).
pub(super) fn imageless(volume: &Volume) -> Option<Evidence> {
    let is_placed = !volume.status.owner_id.is_empty();
    (volume.spec.wanted_image().is_empty() && is_placed)
        .then(|| api("the volume names no engine image: its spec.image is empty"))
}

/// Instance managers that are one too many: Longhorn starts nothing on a node where it does not find the only one of a type and image
/// (longhorn-manager v1.3.2 datastore/longhorn.go GetInstanceManagerByInstance; longhorn issues 3000 and 3753).
fn twins(cluster: &Cluster, volume: &Volume) -> Option<Evidence> {
    let name = volume.metadata.name.as_str();
    let waiting = cluster.replicas_of(name).filter(|replica| {
        replica.spec.desire_state == InstanceState::Running
            && replica.status.current_state == InstanceState::Stopped
    });
    let nodes = waiting.map(|replica| replica.spec.node_id.as_str());
    nodes.chain([volume.spec.node_id.as_str()]).find_map(|node| {
        let all: Vec<_> = cluster.instance_managers_on(node).filter(|im| !im.metadata.is_deleting()).collect();
        let key = |im: &InstanceManager| (im.spec.kind.clone(), im.spec.image.clone(), im.spec.data_engine.or_v1());
        let (one, other) = all
            .iter()
            .enumerate()
            .find_map(|(at, one)| Some((one, all.iter().skip(at + 1).find(|other| key(other) == key(one))?)))?;
        Some(api(format!(
            "node {node} has two instance managers of one type and image, {} and {}: Longhorn starts nothing there until one is gone; \
             delete the InstanceManager in which nothing runs",
            one.metadata.name, other.metadata.name
        )))
    })
}
