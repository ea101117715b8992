//! Backing images that cannot be had, and what Longhorn says of it.

use std::collections::BTreeSet;

use jiff::Timestamp;

use crate::api;
use crate::check::{Cluster, Evidence};
use crate::cluster::DiskOfNode;
use crate::longhorn::{BackingImage, ConditionStatus, CopyState, Volume, VolumeState, condition};

/// A file that is not what was asked for, or is not to be had: the next try ends the same way (longhorn/backing-image-manager v1.12.1
/// pkg/sync/sync_file.go and pkg/datasource).
const DEFINITE: &[&str] = &[
    "doesn't match", "expected status code", " 404", " 403", " 401", "multiple of 512", "permission denied",
    "unsupported protocol", "read-only file system",
];

/// Why no copy of a backing image can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failure<'a> {
    /// In Longhorn's own words; may be empty.
    pub message: &'a str,
    /// Whether Longhorn tries again on its own: it does so at most every five minutes where the file is downloaded or exported
    /// from a volume, and never else (longhorn-manager v1.3.3 to v1.12.1 controller/backing_image_data_source_controller.go).
    pub is_retried: bool,
}

impl<'a> Failure<'a> {
    /// Every copy failed, or the first one could not be prepared. Copies that are unknown may come back with their node.
    pub fn of(cluster: &'a Cluster, image: &'a BackingImage) -> Option<Self> {
        let copies = || image.status.disk_file_status_map.values();
        let source = cluster.objects.backing_image_data_sources.get(&image.metadata.name);
        let preparing = source.filter(|source| !source.spec.file_transferred);
        let source_failed = preparing.is_some_and(|source| source.status.current_state.has_failed());
        let is_over = |state: CopyState| state == CopyState::Ready || state == CopyState::Unknown;
        let is_failed = match source_failed {
            true => copies().all(|copy| !is_over(copy.state)),
            false => copies().next().is_some() && copies().all(|copy| copy.state.has_failed()),
        };
        let said = copies().map(|copy| copy.message.trim());
        let said = said.chain(preparing.map(|source| source.status.message.trim()));
        let is_retried = source.is_none_or(|source| {
            matches!(source.spec.source_type.as_str(), "" | "download" | "export-from-volume")
        });
        is_failed
            .then(|| Failure { message: said.max_by_key(|said| said.len()).unwrap_or_default(), is_retried })
    }

    /// True where the message names what time does not change.
    pub fn is_definite(self) -> bool {
        !self.is_retried || DEFINITE.iter().any(|words| self.message.contains(words))
    }

    /// For a headline, where it takes few words.
    pub fn short(self) -> Option<&'static str> {
        is_of_checksum(self.message).then_some("its checksum is wrong")
    }
}

fn is_of_checksum(said: &str) -> bool {
    said.contains("checksum") && said.contains("doesn't match")
}

/// The nodes with a ready copy; none for an image that is downloaded, which Longhorn does again where all of its copies are lost, as with no
/// other (longhorn-manager v1.3.3 to v1.12.1 controller/backing_image_data_source_controller.go).
pub fn irreplaceable_on<'a>(cluster: &'a Cluster, image: &BackingImage) -> BTreeSet<&'a str> {
    let source = cluster.objects.backing_image_data_sources.get(&image.metadata.name);
    if source.is_some_and(|source| source.spec.source_type == "download") {
        return BTreeSet::new();
    }
    let copies = image.status.disk_file_status_map.iter();
    let ready = copies.filter(|(_, copy)| copy.state == CopyState::Ready);
    ready.filter_map(|(disk, _)| Some(cluster.disk(disk)?.node.metadata.name.as_str())).collect()
}

/// A volume whose replicas do not start because the copy of its backing image on their disks is not ready. The condition is of 1.4.4, 1.5.2
/// and later; before it only the copies tell (longhorn-manager v1.3.3 to v1.12.1 controller/replica_controller.go
/// GetBackingImagePathForReplicaStarting).
pub struct Wait<'a> {
    pub image: &'a str,
    /// Why, in a few words.
    why: Option<&'static str>,
    /// The same in Longhorn's own words; empty where it says nothing.
    said: &'a str,
    pub since: Option<Timestamp>,
    /// The disk whose copy alone has another checksum than it should, while others are ready.
    pub corrupt: Option<DiskOfNode<'a>>,
}

type FailedCopy<'a> = (DiskOfNode<'a>, &'a str);

/// The disk whose copy failed, and what Longhorn says, where no other node's failed, another is ready, and the volume has a replica there.
fn failed_here<'a>(cluster: &'a Cluster, volume: &Volume, image: &'a BackingImage) -> Option<FailedCopy<'a>> {
    let copies = || image.status.disk_file_status_map.iter();
    let failed = copies().filter(|(_, copy)| copy.state.has_failed());
    let mut failed = failed.filter_map(|(uuid, copy)| Some((cluster.disk(uuid)?, uuid, copy.message.trim())));
    let (disk, uuid, said) = failed.next()?;
    let holds = cluster.replicas_of(&volume.metadata.name).any(|replica| replica.spec.disk_id == *uuid);
    let elsewhere = failed.any(|(other, ..)| other.node.metadata.name != disk.node.metadata.name);
    let ready = copies().any(|(_, copy)| copy.state == CopyState::Ready);
    (holds && !elsewhere && ready).then_some((disk, said))
}

impl<'a> Wait<'a> {
    pub fn of(cluster: &'a Cluster, volume: &'a Volume) -> Option<Self> {
        let waits = condition(&volume.status.conditions, "WaitForBackingImage");
        let waits = waits.filter(|waits| waits.status == ConditionStatus::True);
        let image = cluster.objects.backing_images.get(&volume.spec.backing_image);
        let none_ready = image.is_some_and(|image| {
            image.status.disk_file_status_map.values().all(|copy| copy.state != CopyState::Ready)
        });
        if waits.is_none() && !(none_ready && volume.status.state == VolumeState::Attaching) {
            return None;
        }
        let message = waits.map(|waits| waits.message.trim());
        let message = message.filter(|said| !said.starts_with("waiting for backing image"));
        let failure = image.and_then(|image| Failure::of(cluster, image));
        let here = image.and_then(|image| failed_here(cluster, volume, image));
        let said = failure.map(|failure| failure.message).or(here.map(|(_, said)| said));
        let said = said.filter(|said| !said.is_empty());
        let since = waits.and_then(|waits| waits.last_transition_time.get());
        Some(Wait {
            image: &volume.spec.backing_image,
            why: failure.and_then(Failure::short),
            said: said.or(message).unwrap_or_default(),
            since,
            corrupt: here.filter(|(_, said)| is_of_checksum(said)).map(|(disk, _)| disk),
        })
    }

    pub fn text(&self) -> String {
        if let Some(disk) = &self.corrupt {
            return format!("backing image checksum mismatch on {}", disk.node.metadata.name);
        }
        let why = self.why.map_or(String::new(), |why| format!(": {why}"));
        format!("it is waiting for backing image {}{why}", self.image)
    }

    pub fn facts(&self, cluster: &Cluster) -> Vec<Evidence> {
        let managers = cluster.objects.backing_image_managers.iter();
        let managers =
            managers.filter(|manager| manager.spec.backing_images.contains_key(self.image)).take(3);
        let managers = managers.map(|manager| {
            let (name, node) = (&manager.metadata.name, &manager.spec.node_id);
            api(format!(
                "backing image manager {name} on {node} is {}",
                manager.status.current_state.as_str()
            ))
        });
        let image = self.image;
        let waits = match (self.said, self.since) {
            ("", _) => {
                format!(
                    "the volume is waiting for backing image {image}: no disk of its replicas has a ready copy"
                )
            }
            (said, since) => {
                let said = crate::text::both_ends(said, 200);
                match since {
                    Some(since) => {
                        format!(
                            "the volume has been waiting for backing image {image} since {since}: \"{said}\""
                        )
                    }
                    None => format!("the volume is waiting for backing image {image}: \"{said}\""),
                }
            }
        };
        [api(waits).quoting(self.said)].into_iter().chain(managers).collect()
    }
}
