//! Copies of backing images whose spec, status and disks contradict each other.

use super::causes;
use std::collections::{HashMap, HashSet};

use super::managers::managers_made;
use super::{Candidate, Reporter};
use crate::check::*;
use crate::cluster::{DiskOfNode, Readability};
use crate::facts::age::Unknown;
use crate::facts::api;
use crate::facts::backing_images::Failure;
use crate::facts::eviction::*;
use crate::facts::nodes::manager_not_ready;
use crate::facts::patience::FIRST_SIGN;
use crate::facts::releases::manager_release;
use crate::longhorn::{
    BackingImage, CopyState, CopyStatus, Release, Replica, Resource, SharedText, VolumeRobustness,
};

/// Names of backing image managers by the whole disk UUID instead of its first four characters
/// (longhorn-manager v1.9.2 types/types.go GetBackingImageManagerName).
const LONG_NAMES: &[Release] = &[Release::new(1, 9, 2)];
/// A copy that a replica needs is not removed (longhorn-manager v1.8.2 and v1.9.1
/// controller/backing_image_controller.go isBIDiskFileUsedByReplicas; not in v1.7.4).
const KEEPS_USED_COPIES: &[Release] = &[Release::new(1, 8, 2), Release::new(1, 9, 1)];

/// What is looked up for every copy.
struct CopyView<'a> {
    cluster: &'a Cluster,
    /// The release that the objects are written for.
    release: Option<Release>,
    /// The release of the managers.
    code: Option<Release>,
    /// Replicas by backing image and disk UUID.
    users: HashMap<(&'a str, &'a str), Vec<&'a Replica>>,
    /// Volumes by backing image.
    volumes: HashMap<&'a str, Vec<&'a str>>,
    /// UUIDs of all disks.
    disks: HashSet<&'a str>,
}

pub fn look(cluster: &Cluster, found: &mut Reporter) {
    let view = CopyView::new(cluster);
    for image in cluster.objects.backing_images.iter() {
        let wanted = image.spec.disk_uuids();
        let present = image.status.disk_file_status_map.keys().map(|text| text.as_str());
        let mut uuids: Vec<_> = wanted.chain(present).collect();
        uuids.sort_unstable();
        uuids.dedup();
        for uuid in uuids {
            match cluster.disk(uuid) {
                // without any node nothing is known about disks
                None if cluster.objects.longhorn_nodes.is_empty() => {}
                None => found.push(view.missing_disk(image, uuid)),
                Some(place) => {
                    found.extend(view.not_starting(image, uuid, place));
                    found.extend(view.sticky_flag(image, uuid, place));
                    found.extend(view.in_use(image, uuid, place));
                }
            }
        }
        found.extend(view.unusable(image));
    }
    view.failed_users(found);
}

impl<'a> CopyView<'a> {
    fn new(cluster: &'a Cluster) -> Self {
        let mut users: HashMap<_, Vec<_>> = HashMap::new();
        for replica in
            cluster.objects.replicas.iter().filter(|replica| !replica.spec.backing_image.is_empty())
        {
            let key = (replica.spec.backing_image.as_str(), replica.spec.disk_id.as_str());
            users.entry(key).or_default().push(replica);
        }
        let mut volumes: HashMap<_, Vec<_>> = HashMap::new();
        for volume in cluster.objects.volumes.iter().filter(|volume| !volume.spec.backing_image.is_empty()) {
            volumes
                .entry(volume.spec.backing_image.as_str())
                .or_default()
                .push(volume.metadata.name.as_str());
        }
        let nodes = cluster.objects.longhorn_nodes.iter();
        let disks =
            nodes.flat_map(|node| node.status.disk_status.values()).map(|disk| disk.disk_uuid.as_str());
        let (release, code) = (cluster.release(), manager_release(cluster));
        CopyView { cluster, release, code, users, volumes, disks: disks.collect() }
    }

    fn object(&self, image: &BackingImage) -> ObjectRef {
        self.cluster.object::<BackingImage>(&image.metadata.name)
    }

    fn volumes_of(&self, image: &str) -> Vec<VolumeRef> {
        let volumes = self.volumes.get(image).into_iter().flatten();
        volumes.map(|volume| self.cluster.volume_ref(volume)).collect()
    }

    /// In the spec, but the backing image manager of the disk never reports it.
    fn not_starting(&self, image: &BackingImage, uuid: &str, place: DiskOfNode) -> Option<Candidate> {
        let name = image.metadata.name.as_str();
        let cluster = self.cluster;
        // the source, of which there is one for every image, may not have been recorded; then a ready copy tells
        let preparing = match cluster.objects.backing_image_data_sources.get(name) {
            Some(source) => !source.spec.file_transferred,
            None if cluster.readability(Resource::BackingImageDataSources) == Readability::Readable => false,
            None => !image.status.disk_file_status_map.values().any(|copy| copy.state == CopyState::Ready),
        };
        let wanted = image.spec.disk_uuids().any(|wanted| wanted == uuid);
        if !wanted || image.status.disk_file_status_map.contains_key(uuid) || preparing {
            return None; // while the first file is prepared, the others wait
        }
        let node = place.node.metadata.name.as_str();
        let twin = self.twin(uuid);
        let managers = cluster.objects.backing_image_managers.iter();
        let of_disk = managers.filter(|manager| manager.spec.disk_uuid == uuid);
        let served_since = of_disk.filter_map(|manager| manager.metadata.created()).max();
        let suspicion =
            Candidate::new(
                &causes::COPY_NOT_STARTING,
                self.object(image),
                format!("backing image {name} lacks its copy on disk {} of {node}", place.name),
            )
            .at(node, place.name)
            .fact(format!("disk {uuid} is in spec.diskFileSpecMap but not in status.diskFileStatusMap"))
            .maybe(twin.map(|twin| {
                format!(
                    "disks {twin} and {uuid} begin with the same four characters. Up to 1.9.1, such disks share one backing image manager, so one \
                     disk gets no copy"
                )
            }))
            .maybe(manager_not_ready(self.cluster, node))
            .impact("the image has less redundancy, and eviction is waiting for this copy")
            // the manager of the disk may just have been replaced, as all are after an upgrade
            .not_before(image.metadata.created().max(managers_made(cluster)).max(served_since));
        Some(if twin.is_some() { suspicion.way(&causes::ALIKE) } else { suspicion })
    }

    /// Another disk whose backing image manager has the same name on this release.
    fn twin(&self, uuid: &str) -> Option<&'a str> {
        if self.code?.has_fix(LONG_NAMES) {
            return None;
        }
        let start = uuid.get(..4)?;
        self.disks.iter().copied().filter(|disk| *disk != uuid && disk.starts_with(start)).min()
    }

    fn missing_disk(&self, image: &BackingImage, uuid: &str) -> Candidate {
        let name = image.metadata.name.as_str();
        let unknown = self.disks.contains("");
        let heals = gives_up_missing_disks(self.code);
        let mut suspicion = Candidate::new(
            &causes::MISSING_DISK,
            self.object(image),
            format!("backing image {name} has a copy on disk {uuid}, which no node lists"),
        )
        .at("", uuid)
        .fact(format!("no nodes.longhorn.io lists disk {uuid} in status.diskStatus"))
        .maybe(unknown.then(|| {
            format!("disk {uuid} is perhaps one of those that have no UUID in their node's status yet")
        }))
        .fact(if heals {
            "this release removes copies on unlisted disks automatically, but this copy is still there"
        } else {
            "releases before 1.9.2 and 1.10.0 never remove a copy on an unlisted disk"
        })
        .impact("Longhorn still counts the lost copy, so the image may have no usable copy left")
        .not_before(image.metadata.created());
        // Longhorn writes when it lost sight of the copy
        let copy = image.status.disk_file_status_map.get(uuid);
        let lost = copy.filter(|copy| copy.state == CopyState::Unknown);
        let lost = lost.and_then(|copy| copy.last_state_transition_time.get());
        // a copy is asked to leave only where another is known to be good
        let is_good = |(other, copy): (&SharedText, &CopyStatus)| {
            *other != *uuid && copy.state == CopyState::Ready && self.disks.contains(other.as_str())
        };
        if image.spec.disk_file_spec_map.contains_key(uuid)
            && image.status.disk_file_status_map.iter().any(is_good)
        {
            suspicion = suspicion.with(Name::Key, uuid);
        }
        if heals {
            suspicion = suspicion.after(FIRST_SIGN).not_before(lost.max(image.metadata.created()));
            if lost.is_none() {
                suspicion.unknown = Unknown::Waits;
            }
        }
        suspicion
    }

    /// longhorn-manager v1.12.1 controller/node_controller.go syncBackingImageEvictionRequested returns
    /// early when nothing on the node requests eviction, and so never resets the last flag.
    fn sticky_flag(&self, image: &BackingImage, uuid: &str, place: DiskOfNode) -> Option<Candidate> {
        let flagged = image.spec.disk_file_spec_map.get(uuid)?.eviction_requested;
        if !flagged || is_requested(place.node) {
            return None;
        }
        let (name, node) = (image.metadata.name.as_str(), place.node.metadata.name.as_str());
        Some(
            Candidate::new(
                &causes::STALE_BACKING_IMAGE_FLAG,
                self.object(image),
                format!("backing image {name} still has evictionRequested on {node}"),
            )
            .at(node, place.name)
            .fact(format!("spec.diskFileSpecMap of disk {uuid}: evictionRequested is true"))
            .fact(format!("node {node} and its disks no longer request eviction, so Longhorn has stopped checking this flag"))
            .impact("Longhorn removes the copy once another exists. Replicas on that disk must then fetch the image again")
            .with(Name::Key, uuid),
        )
    }

    /// A copy that should leave, and replicas beside it that do not.
    fn in_use(&self, image: &BackingImage, uuid: &str, place: DiskOfNode) -> Option<Candidate> {
        let flagged = image.spec.disk_file_spec_map.get(uuid)?.eviction_requested;
        if !flagged || !is_requested(place.node) {
            return None;
        }
        let name = image.metadata.name.as_str();
        let keeps = self.code.is_none_or(|release| release.has_fix(KEEPS_USED_COPIES));
        let moves = |replica: &Replica| is_flagged(replica, self.release) && !replica.spec.failed_at.is_set();
        let users = self.users.get(&(name, uuid)).into_iter().flatten().copied();
        let users: Vec<_> = users.filter(|replica| !keeps || !moves(replica)).collect();
        if users.is_empty() {
            return None;
        }
        let node = place.node.metadata.name.as_str();
        let names: Vec<_> = users.iter().map(|replica| replica.metadata.name.as_str()).collect();
        let (fact, impact) = if keeps {
            (
                "this release silently keeps a copy that replicas need",
                "the copy stays, so eviction of the disk cannot end",
            )
        } else {
            (
                "this release removes the copy although replicas need it (fixed in 1.8.2 and 1.9.1)",
                "the replicas fail when their copy is removed, and then stay on the evicted disk",
            )
        };
        Some(
            Candidate::new(
                &causes::COPY_IN_USE,
                self.object(image),
                format!("backing image {name} cannot be evicted from {node}: replicas there need it"),
            )
            .at(node, place.name)
            .volumes(volumes(self.cluster, &users))
            .fact(format!("replicas on disk {uuid} with this backing image: {}", names.join(", ")))
            .fact(fact)
            .impact(impact)
            .with(Name::BackingImage, name),
        )
    }

    /// What the removal of a used copy leaves behind on releases that do not keep it.
    fn failed_users(&self, found: &mut Reporter) {
        if self.code.is_none_or(|release| release.has_fix(KEEPS_USED_COPIES)) {
            return;
        }
        for replica in
            self.users.values().flatten().copied().filter(|replica| replica.spec.failed_at.is_set())
        {
            let Some(place) = self.cluster.disk(&replica.spec.disk_id) else { continue };
            let (name, node) = (replica.metadata.name.as_str(), place.node.metadata.name.as_str());
            let image = replica.spec.backing_image.as_str();
            let copy = self.cluster.objects.backing_images.get(image);
            let has_copy = copy.is_some_and(|image| {
                image.spec.disk_file_spec_map.contains_key(place.status.disk_uuid.as_str())
            });
            if !is_disk_requested(place.node, place.spec) || has_copy {
                continue;
            }
            // until the volume is healthy elsewhere it may be what the volume is salvaged from
            let surplus = if self.is_healthy_without(replica) { name } else { "" };
            found.push(
                Candidate::new(
                    &causes::COPY_IN_USE,
                    self.cluster.object::<Replica>(name),
                    format!("a replica on {node} failed: its backing image was evicted too early"),
                )
                .at(node, place.name)
                .volumes(volumes(self.cluster, &[replica]))
                .fact(format!(
                    "the replica's spec.failedAt is set, and backing image {image} no longer has a copy on its disk"
                ))
                .fact("this release removes copies that replicas still need (fixed in 1.8.2 and 1.9.1)")
                .impact("the failed replica stays, so the node or disk never becomes empty")
                .way(&causes::ALREADY_REMOVED)
                .with(Name::BackingImage, image)
                .with(Name::Replica, surplus)
                .not_before(replica.spec.failed_at.get()),
            );
        }
    }

    /// True when the volume of a replica is healthy, and another replica of it is.
    fn is_healthy_without(&self, replica: &Replica) -> bool {
        let volume = replica.spec.volume_name.as_str();
        let healthy = |other: &Replica| {
            other.metadata.name != replica.metadata.name
                && other.spec.healthy_at.is_set()
                && !other.spec.failed_at.is_set()
                && !other.metadata.is_deleting()
        };
        self.cluster
            .objects
            .volumes
            .get(volume)
            .is_some_and(|volume| volume.status.robustness == VolumeRobustness::Healthy)
            && self.cluster.replicas_of(volume).any(healthy)
    }

    fn unusable(&self, image: &BackingImage) -> Option<Candidate> {
        let copies = &image.status.disk_file_status_map;
        let bad =
            |state| matches!(state, CopyState::Failed | CopyState::FailedAndCleanup | CopyState::Unknown);
        // operation_stalled tells of those that failed
        if copies.is_empty()
            || !copies.values().all(|copy| bad(copy.state))
            || Failure::of(self.cluster, image).is_some()
        {
            return None;
        }
        let name = image.metadata.name.as_str();
        let states: Vec<_> = copies
            .iter()
            .map(|(uuid, copy)| match copy.message.trim() {
                "" => format!("{} on disk {uuid}", copy.state.as_str()),
                said => format!("{} on disk {uuid} (\"{said}\")", copy.state.as_str()),
            })
            .collect();
        let changed = copies.values().filter_map(|copy| copy.last_state_transition_time.get()).max();
        let said = copies.values().map(|copy| copy.message.trim()).find(|message| !message.is_empty());
        let suspicion = Candidate::new(
            &causes::NO_USABLE_COPY,
            self.object(image),
            format!("backing image {name} has no usable copy"),
        )
        .fact(
            api(format!("copies of the backing image: {}", states.join(", ")))
                .quoting(said.unwrap_or_default()),
        )
        .not_before(changed);
        let volumes = self.volumes_of(name);
        Some(match volumes.is_empty() && self.cluster.can_read(Resource::Volumes) {
            true => suspicion.impact("none: no volume uses the image").way(&causes::UNUSED),
            false => {
                suspicion.volumes(volumes).impact("volumes that use this image cannot attach or rebuild")
            }
        })
    }
}
