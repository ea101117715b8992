//! What a manager has left undone, by node.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::RECONCILE;
use crate::check::*;
use crate::facts::age::{Begun, Unknown, observe};
use crate::facts::nodes;
use crate::longhorn::{
    DataEngine, InstanceManager, InstanceManagerState, LonghornNode, Pod, Volume, VolumeAttachment,
    VolumeState,
};

/// One thing that only the manager of a node does, and does at once.
#[derive(Debug, Clone)]
pub(super) struct Undone {
    pub text: String,
    pub since: Option<Timestamp>,
    /// True where the manager may try and not get through to its instance manager.
    pub unreached: bool,
}

/// Everything that has been undone for too long.
pub(super) fn by_node<'a>(cluster: &'a Cluster, out: &mut Outcome) -> BTreeMap<&'a str, Vec<Undone>> {
    let mut all: BTreeMap<&str, Vec<Undone>> = BTreeMap::new();
    let mut note = |out: &mut Outcome, node: &'a str, begun: Begun, text: String, unreached: bool| {
        let age = observe(cluster, out, "undone", &text, begun);
        if age.at_least(RECONCILE, Unknown::Counts) {
            all.entry(node).or_default().push(Undone { text, since: age.since_or_later().at, unreached });
        }
    };
    let owned = |volume: &&Volume| !volume.status.owner_id.is_empty();
    for attachment in cluster.objects.volume_attachments.iter() {
        for (begun, text) in tickets(cluster, attachment) {
            if let Some(volume) = cluster.objects.volumes.get(&attachment.metadata.name).filter(owned) {
                note(out, &volume.status.owner_id, begun, text, false);
            }
        }
    }
    for volume in cluster.objects.volumes.iter().filter(owned) {
        if volume.spec.node_id.is_empty()
            && volume.status.state == VolumeState::Attached
            && is_served(cluster, volume)
            && nodes::down(cluster, &volume.status.current_node_id).is_none()
        {
            let text =
                format!("volume {}: spec.nodeID is empty, but the volume is attached", volume.metadata.name);
            note(out, &volume.status.owner_id, Begun::NotBefore(volume.metadata.created()), text, false);
        }
    }
    for manager in cluster.objects.instance_managers.iter() {
        if let Some((begun, text)) = instance_manager(cluster, manager) {
            let unreached = manager.status.current_state != InstanceManagerState::Running;
            note(out, &manager.spec.node_id, begun, text, unreached);
        }
    }
    for node in cluster.objects.longhorn_nodes.iter() {
        for (begun, text) in of_node(cluster, node) {
            note(out, &node.metadata.name, begun, text, false);
        }
    }
    all
}

/// Longhorn 1.5 and later set `spec.nodeID` by tickets; before, an auto-attached volume could be without.
fn is_served(cluster: &Cluster, volume: &Volume) -> bool {
    cluster.objects.volume_attachments.get(&volume.metadata.name).is_some()
}

fn tickets(cluster: &Cluster, attachment: &VolumeAttachment) -> Vec<(Begun, String)> {
    let name = &attachment.metadata.name;
    let (wishes, statuses) =
        (&attachment.spec.attachment_tickets, &attachment.status.attachment_ticket_statuses);
    let new = wishes.keys().filter(|id| !statuses.contains_key(id)).map(|id| {
        let created = cluster.objects.csi_attachments.get(id).and_then(|csi| csi.metadata.created());
        let begun = Begun::NotBefore(created.or(attachment.metadata.created()));
        (begun, format!("volumeattachments.longhorn.io {name}: ticket {id} has no status"))
    });
    let old = statuses.keys().filter(|id| !wishes.contains_key(id)).map(|id| {
        let begun = Begun::NotBefore(attachment.metadata.created());
        (
            begun,
            format!("volumeattachments.longhorn.io {name}: ticket {id} was withdrawn but still has a status"),
        )
    });
    new.chain(old).collect()
}

/// An instance manager that does not follow its pod, though the manager of its node owns it.
fn instance_manager(cluster: &Cluster, manager: &InstanceManager) -> Option<(Begun, String)> {
    let (name, state) = (&manager.metadata.name, manager.status.current_state);
    if manager.status.owner_id != manager.spec.node_id || manager.metadata.is_deleting() {
        return None;
    }
    let pod = cluster.objects.pods.get(name);
    match (pod, state) {
        (Some(pod), InstanceManagerState::Starting | InstanceManagerState::Error) => {
            let since = pod.ready_since().filter(|_| !pod.metadata.is_deleting())?;
            let text = format!("instance manager {name} is {}, but its pod is Ready", state.as_str());
            Some((Begun::At(Some(since)), text))
        }
        (None, InstanceManagerState::Running)
            if cluster.objects.pods.iter().any(Pod::is_instance_manager) =>
        {
            Some((
                Begun::NotBefore(manager.metadata.created()),
                format!("instance manager {name} is running, but has no pod"),
            ))
        }
        _ => None,
    }
}

fn of_node(cluster: &Cluster, node: &LonghornNode) -> Vec<(Begun, String)> {
    let name = &node.metadata.name;
    let begun = Begun::NotBefore(node.metadata.created());
    let known = &node.status.disk_status;
    // one that was just added beside others has none for half a minute, and nothing in a recording tells when that was
    let told = cluster.is_watched() || known.is_empty();
    let unmeasured = node.spec.disks.keys().filter(|disk| told && !known.contains_key(disk));
    let mut undone: Vec<_> = unmeasured
        .map(|disk| (begun, format!("nodes.longhorn.io {name}: disk {disk} has no status")))
        .collect();
    let none = cluster.instance_managers_on(name).next().is_none();
    let wanted = cluster.setting_value("v1-data-engine", DataEngine::V1) != "false";
    let elsewhere = !cluster.objects.instance_managers.is_empty();
    // from 1.13 on a node that the selector leaves out has none
    let selected =
        cluster.setting_value("system-managed-components-node-selector", DataEngine::V1).is_empty();
    // the webhook refuses every change of such a node, its manager's too (Longhorn issue 4134)
    let refused = node.spec.disks.values().any(|disk| disk.eviction_requested && disk.allow_scheduling);
    if none && wanted && elsewhere && selected && !refused && !crate::facts::nodes::is_cordoned(cluster, name)
    {
        undone.push((begun, format!("node {name} has no instance manager")));
    }
    undone
}
