//! Who asks which disk to be emptied.
//!
//! A person asks with `spec.evictionRequested` of a node or of one of its disks. Longhorn asks by
//! itself, since 1.5.4, for a cordoned node under a node-drain-policy that blocks for eviction; that
//! moves replicas only, never copies of backing images
//! (longhorn-manager v1.12.1 controller/node_controller.go shouldEvictReplica,
//! syncBackingImageEvictionRequested).

use std::collections::{BTreeMap, BTreeSet};

use super::{kubectl, nodes};
use crate::cluster::{Cluster, VolumeRef};
use crate::longhorn::{
    BackingImage, ConditionStatus, DataEngine, DataLocality, DiskSpec, DiskStatus, LonghornNode, Release,
    Replica, status,
};

/// Automatic eviction came with this release, and with it the flag moved from the status of replicas
/// to their spec
/// (longhorn-manager v1.5.4 controller/node_controller.go syncReplicaEvictionRequested).
const FLAG_IN_SPEC: &[Release] = &[Release::new(1, 5, 4)];
/// Copies on a disk that is gone are given up by Longhorn itself from these releases on
/// (longhorn-manager v1.9.2 controller/backing_image_manager_controller.go
/// evictMissingDiskBackingImageManager; not in v1.9.1 or v1.8.2).
const GIVES_UP_MISSING_DISKS: &[Release] = &[Release::new(1, 9, 2)];

/// Who asks a disk to be emptied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    /// `spec.evictionRequested` of the node.
    Node,
    /// `spec.disks{}.evictionRequested`.
    Disk,
    /// Longhorn, because the node is cordoned: every replica.
    AutomaticAll,
    /// Longhorn, because the node is cordoned: the replicas that have no protected copy elsewhere.
    AutomaticLast,
}

/// A disk that is asked to be emptied.
#[derive(Debug, Clone, Copy)]
pub struct EvictingDisk<'a> {
    pub node: &'a LonghornNode,
    /// Its name on the node.
    pub name: &'a str,
    /// Its status, unless the node's status does not list it.
    pub status: Option<&'a DiskStatus>,
    pub request: Request,
}

impl Request {
    /// True when a person asks, which also moves copies of backing images.
    pub fn is_manual(self) -> bool {
        matches!(self, Request::Node | Request::Disk)
    }
}

impl<'a> EvictingDisk<'a> {
    /// UUID of the disk, empty while it is unknown.
    pub fn uuid(&self) -> &'a str {
        self.status.map_or("", |status| status.disk_uuid.as_str())
    }

    /// Replicas that have to leave, by `spec.diskID`: `scheduledReplica` is empty while the disk is
    /// not Ready.
    pub fn replicas(&self, cluster: &'a Cluster) -> Vec<&'a Replica> {
        let release = cluster.release();
        let wanted =
            |replica: &&Replica| self.request != Request::AutomaticLast || is_flagged(replica, release);
        match self.uuid() {
            "" => Vec::new(),
            uuid => cluster.replicas_on_disk(uuid).filter(wanted).collect(),
        }
    }

    /// True when the disk is not Ready, for which its `scheduledReplica` is emptied: replicas on it
    /// are then not asked to leave, and the disk looks empty although it is not
    /// (longhorn-manager v1.12.1 controller/node_controller.go updateDiskStatusSchedulableCondition).
    pub fn hides_replicas(&self) -> bool {
        self.status.is_some_and(|disk| {
            status(&disk.conditions, "Ready") != ConditionStatus::True && disk.scheduled_replica.is_empty()
        })
    }
}

/// True when a person asks the node or any of its disks to be emptied: the condition under which
/// Longhorn looks at backing images at all (longhorn-manager v1.12.1 controller/node_controller.go
/// isNodeOrDisksEvictionRequested).
pub fn is_requested(node: &LonghornNode) -> bool {
    node.spec.eviction_requested || node.spec.disks.values().any(|disk| disk.eviction_requested)
}

/// True when a person asks this disk to be emptied, on its own or with its node.
pub fn is_disk_requested(node: &LonghornNode, disk: Option<&DiskSpec>) -> bool {
    node.spec.eviction_requested || disk.is_some_and(|disk| disk.eviction_requested)
}

/// What Longhorn asks on its own of a node that is cordoned.
pub fn automatic_request(cluster: &Cluster, node: &str) -> Option<Request> {
    let cordoned = nodes::is_cordoned(cluster, node);
    let policy = cluster.setting_value("node-drain-policy", DataEngine::V1);
    match policy.as_str() {
        "block-for-eviction" if cordoned => Some(Request::AutomaticAll),
        "block-for-eviction-if-contains-last-replica" if cordoned => Some(Request::AutomaticLast),
        _ => None,
    }
}

/// Every disk that is asked to be emptied, by a person or by Longhorn.
pub fn evicting_disks(cluster: &Cluster) -> Vec<EvictingDisk<'_>> {
    let mut disks = Vec::new();
    for node in cluster.objects.longhorn_nodes.iter() {
        let automatic = automatic_request(cluster, &node.metadata.name);
        for (name, spec) in &node.spec.disks {
            let manual = match (spec.eviction_requested, node.spec.eviction_requested) {
                (_, true) => Some(Request::Node),
                (true, false) => Some(Request::Disk),
                (false, false) => None,
            };
            if let Some(request) = manual.or(automatic) {
                let status = node.status.disk_status.get(name);
                disks.push(EvictingDisk { node, name, status, request });
            }
        }
    }
    disks
}

/// True when a replica is asked to leave, in the field that its release uses. Status of releases
/// 1.5.4 to 1.9 may hold a leftover.
pub fn is_flagged(replica: &Replica, release: Option<Release>) -> bool {
    match release.map(|release| release.has_fix(FLAG_IN_SPEC)) {
        Some(true) => replica.spec.eviction_requested,
        Some(false) => replica.status.eviction_requested,
        None => replica.eviction_requested(),
    }
}

/// Backing images by the UUIDs of the disks that should hold a copy.
pub fn images_by_disk(cluster: &Cluster) -> BTreeMap<&str, Vec<&BackingImage>> {
    let mut map: BTreeMap<&str, Vec<&BackingImage>> = BTreeMap::new();
    for image in cluster.objects.backing_images.iter() {
        for uuid in image.spec.disk_uuids() {
            map.entry(uuid).or_default().push(image);
        }
    }
    map
}

/// Copies of backing images that have to leave because a person asks for it, by the disk they are on: `image on disk d of node n`.
pub fn leaving_images(cluster: &Cluster) -> Vec<(&LonghornNode, String)> {
    let copies = cluster.objects.backing_images.iter().flat_map(|image| {
        let held = image.status.disk_file_status_map.keys().map(|uuid| uuid.as_str());
        let uuids: BTreeSet<&str> = image.spec.disk_uuids().chain(held).collect();
        uuids.into_iter().filter_map(move |uuid| Some((image, cluster.disk(uuid)?)))
    });
    let asked = copies.filter(|(_, place)| is_disk_requested(place.node, place.spec));
    asked
        .map(|(image, place)| {
            let (image, node) = (&image.metadata.name, &place.node.metadata.name);
            (place.node, format!("backing image {image} on disk {} of {node}", place.name))
        })
        .collect()
}

/// True when this release gives up copies on missing disks on its own.
pub fn gives_up_missing_disks(release: Option<Release>) -> bool {
    release.is_some_and(|release| release.has_fix(GIVES_UP_MISSING_DISKS))
}

/// True when this release can move replicas on its own for a drain.
pub fn evicts_for_drains(release: Option<Release>) -> bool {
    release.is_none_or(|release| release.has_fix(FLAG_IN_SPEC))
}

/// The requests on a node in words: `node n1, disks d1, d2`.
pub fn requests(node: &LonghornNode) -> String {
    let disks = requested_disks(node);
    let noun = if disks.len() == 1 { "disk" } else { "disks" };
    let (disks, own) = (disks.join(", "), format!("node {}", node.metadata.name));
    match (node.spec.eviction_requested, disks.is_empty()) {
        (true, true) => own,
        (true, false) => format!("{own} and its {noun} {disks}"),
        (false, true) => "nothing".to_owned(),
        (false, false) => format!("{noun} {disks} of {own}"),
    }
}

/// Names of the disks that carry a request of their own.
pub fn requested_disks(node: &LonghornNode) -> Vec<&str> {
    let disks = node.spec.disks.iter().filter(|(_, disk)| disk.eviction_requested);
    disks.map(|(name, _)| name.as_str()).collect()
}

/// A command that sets `evictionRequested` on a node, on some of its disks, or on both.
pub fn patch_requests(namespace: &str, node: &str, on_node: bool, disks: &[&str], value: bool) -> String {
    let mut spec = serde_json::Map::new();
    if on_node {
        spec.insert("evictionRequested".to_owned(), value.into());
    }
    if !disks.is_empty() {
        let disks = disks.iter().map(|disk| (*disk, serde_json::json!({ "evictionRequested": value })));
        spec.insert("disks".to_owned(), disks.collect::<serde_json::Value>());
    }
    kubectl::patch(namespace, "nodes.longhorn.io", node, &serde_json::json!({ "spec": spec }))
}

/// Says which of these volumes are strict-local: whatever room there is, Longhorn keeps their one replica
/// on the node where they are attached (longhorn-manager v1.12.1 controller/volume_controller.go
/// reconcileVolumeCondition, EvictReplicas).
pub fn strict_local<'a>(cluster: &Cluster, volumes: impl Iterator<Item = &'a str>) -> Option<String> {
    let is_strict = |name: &&str| {
        cluster.objects.volumes.get(name).is_some_and(|v| v.spec.data_locality == DataLocality::StrictLocal)
    };
    let strict: Vec<&str> = volumes.filter(is_strict).take(5).collect();
    (!strict.is_empty()).then(|| {
        format!(
            "strict-local volumes keep their only replica on the workload's node until dataLocality is changed while they are detached: {}",
            strict.join(", ")
        )
    })
}

/// The volumes of these replicas.
pub fn volumes(cluster: &Cluster, replicas: &[&Replica]) -> Vec<VolumeRef> {
    cluster.volume_refs(replicas.iter().map(|replica| replica.spec.volume_name.as_str()))
}
