//! What objects beside the volume say of why it is not attached.

use crate::check::*;
use crate::facts::{api, text};
use crate::longhorn::{ConditionStatus, Owner, Volume, condition};

/// Kubernetes' own error, the backing image that is waited for, and what an upgrade left behind.
pub(super) fn by_others(cluster: &Cluster, volume: &Volume) -> Vec<Evidence> {
    let objects = &cluster.objects;
    let name = volume.metadata.name.as_str();
    let attachments = objects.csi_attachments.of(Owner::PersistentVolume, volume.persistent_volume());
    let mut said: Vec<Evidence> = attachments
        .filter(|csi| !csi.status.attached && !csi.status.attach_error.message.trim().is_empty())
        .take(3)
        .map(|csi| {
            let error = text::shortened(csi.status.attach_error.message.trim(), 300);
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
    if volume.spec.wanted_image().is_empty() && !volume.status.current_image.is_empty() {
        said.push(api("the volume names no engine image: its spec.image is empty"));
    }
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
