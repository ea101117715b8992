//! What objects beside the volume say of why it is not attached.

use crate::check::*;
use crate::facts::backing_images::Wait;
use crate::facts::{api, text};
use crate::longhorn::{InstanceManager, InstanceState, Owner, Replica, Volume};

/// Kubernetes' own error, the backing image that is waited for, and what an upgrade left behind.
pub(super) fn by_others(cluster: &Cluster, volume: &Volume) -> Vec<Evidence> {
    let objects = &cluster.objects;
    let name = volume.metadata.name.as_str();
    let attachments = objects.csi_attachments.of(Owner::PersistentVolume, volume.persistent_volume());
    let mut said: Vec<Evidence> = attachments
        .filter(|csi| !csi.status.attached && !csi.status.attach_error.message.trim().is_empty())
        .take(3)
        .map(|csi| {
            let said = csi.status.attach_error.message.trim();
            let error = text::quoted(said);
            api(format!("VolumeAttachment {} for {}: {error}", csi.metadata.name, csi.spec.node_name))
                .quoting(beyond_the_attempt(said))
        })
        .collect();
    said.extend(Wait::of(cluster, volume).iter().flat_map(|wait| wait.facts(cluster)));
    said.extend(imageless(volume));
    // a live upgrade sets both, and takes the addresses away when it is done (longhorn-manager v1.12.1
    // controller/volume_controller.go upgradeEngineForVolume)
    let upgraded =
        cluster.engines_of(name).find(|engine| !engine.spec.upgraded_replica_address_map.is_empty());
    if let Some(engine) = upgraded.filter(|_| volume.spec.wanted_image() == volume.status.current_image) {
        said.push(api(format!(
            "engine {} still has spec.upgradedReplicaAddressMap of a finished live upgrade",
            engine.metadata.name
        )));
    }
    said
}

/// What Longhorn's CSI plugin says beyond that the attachment failed, which the finding is about: without a reason that is all it writes
/// (longhorn-manager v1.5.0 to v1.12.1 csi/controller_server.go ControllerPublishVolume).
fn beyond_the_attempt(said: &str) -> &str {
    let attempt = [" failed to attach to node ", " is not ready for workloads"];
    match attempt.iter().find_map(|attempt| said.split_once(attempt)) {
        Some((_, rest)) => rest.split_once(": ").map_or("", |(_, why)| why),
        None => said,
    }
}

/// Whether Longhorn answered the request to attach it, and refused (longhorn-manager v1.5.5 to v1.12.1 manager/volume.go Attach).
pub(super) fn is_refused(cluster: &Cluster, volume: &Volume) -> bool {
    let attachments = &cluster.objects.csi_attachments;
    let mut attachments = attachments.of(Owner::PersistentVolume, volume.persistent_volume());
    attachments
        .any(|csi| !csi.status.attached && csi.status.attach_error.message.contains("cannot attach volume"))
}

/// A volume that was up once and names no image: Longhorn looks for one of the empty name (longhorn issue 10452).
pub(super) fn imageless(volume: &Volume) -> Option<Evidence> {
    let is_placed = !volume.status.owner_id.is_empty();
    (volume.spec.wanted_image().is_empty() && is_placed)
        .then(|| api("the volume's spec.image is empty, so it names no engine image"))
}

/// Two instance managers where one is expected: Longhorn starts nothing on a node where it does not find the only one of a type and
/// image (longhorn-manager v1.3.2 datastore/longhorn.go GetInstanceManagerByInstance; longhorn issues 3000 and 3753).
pub(super) struct Twins<'a> {
    pub node: &'a str,
    pub names: [&'a str; 2],
}

impl<'a> Twins<'a> {
    /// On a node where a replica, or the engine, of the volume waits.
    pub(super) fn of(cluster: &'a Cluster, volume: &'a Volume) -> Option<Self> {
        let waits = |replica: &&Replica| {
            replica.spec.desire_state == InstanceState::Running
                && replica.status.current_state == InstanceState::Stopped
        };
        let replicas = cluster.replicas_of(&volume.metadata.name).filter(waits);
        let nodes = replicas.map(|replica| replica.spec.node_id.as_str());
        nodes.chain([volume.spec.node_id.as_str()]).find_map(|node| {
            let all = cluster.instance_managers_on(node).filter(|im| !im.metadata.is_deleting());
            let all: Vec<&InstanceManager> = all.collect();
            let alike = |one: &InstanceManager, other: &InstanceManager| {
                (&one.spec.kind, &one.spec.image, one.spec.data_engine.or_v1())
                    == (&other.spec.kind, &other.spec.image, other.spec.data_engine.or_v1())
            };
            all.iter().enumerate().find_map(|(at, one)| {
                let other = all.iter().skip(at + 1).find(|other| alike(one, other))?;
                Some(Twins { node, names: [one.metadata.name.as_str(), other.metadata.name.as_str()] })
            })
        })
    }

    pub(super) fn fact(&self) -> Evidence {
        let [one, other] = self.names;
        api(format!(
            "node {} has two instance managers of the same type and image: {one} and {other}",
            self.node
        ))
    }
}
