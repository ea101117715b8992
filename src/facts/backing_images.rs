//! Backing images that cannot be had, and what Longhorn says of it.

use std::collections::BTreeSet;

use jiff::Timestamp;

use crate::api;
use crate::check::{Cluster, Evidence};
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
        let failed = |state: CopyState| matches!(state, CopyState::Failed | CopyState::FailedAndCleanup);
        let copies = || image.status.disk_file_status_map.values();
        let source = cluster.objects.backing_image_data_sources.get(&image.metadata.name);
        let preparing = source.filter(|source| !source.spec.file_transferred);
        let source_failed = preparing.is_some_and(|source| failed(source.status.current_state));
        let is_over = |state: CopyState| state == CopyState::Ready || state == CopyState::Unknown;
        let is_failed = match source_failed {
            true => copies().all(|copy| !is_over(copy.state)),
            false => copies().next().is_some() && copies().all(|copy| failed(copy.state)),
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
        let checksum = self.message.contains("checksum") && self.message.contains("doesn't match");
        checksum.then_some("its checksum is wrong")
    }
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
        let said = failure.map(|failure| failure.message).filter(|said| !said.is_empty());
        let since = waits.and_then(|waits| waits.last_transition_time.get());
        Some(Wait {
            image: &volume.spec.backing_image,
            why: failure.and_then(Failure::short),
            said: said.or(message).unwrap_or_default(),
            since,
        })
    }

    pub fn text(&self) -> String {
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
