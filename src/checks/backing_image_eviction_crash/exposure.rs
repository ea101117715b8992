//! On what the manager of which release panics.

use crate::checks::eviction::{is_disk_requested, is_requested};
use crate::cluster::{Cluster, DiskOfNode};
use crate::longhorn::{BackingImage, CopyStatus, Release};

/// The function came with 1.7.0 (absent in longhorn-manager v1.6.4 controller/node_controller.go).
const INTRODUCED: Release = Release::new(1, 7, 0);
/// The guard in the branch that cancels a request: v1.8.1 and v1.9.0; in the 1.7 line it came with
/// the whole fix.
const CANCEL_GUARDED: &[Release] = &[Release::new(1, 7, 4), Release::new(1, 8, 1), Release::new(1, 9, 0)];
/// Guarded both ways (longhorn-manager v1.7.4, v1.8.2 and v1.9.1 controller/node_controller.go
/// syncBackingImageEvictionRequested; not in v1.8.1, v1.9.0 or v1.9.0-hotfix-1).
const FIXED: &[Release] = &[Release::new(1, 7, 4), Release::new(1, 8, 2), Release::new(1, 9, 1)];

/// When the manager panics on a copy that is in the status only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exposure {
    /// Never: the function does not exist yet, or is guarded.
    Never,
    /// When the disk of the copy, or its whole node, is asked to be emptied.
    EvictedDisk,
    /// When the node or any disk of it is asked to be emptied.
    AnyDisk,
}

/// A copy that is in the status only, on a disk that the manager goes through.
#[derive(Debug, Clone, Copy)]
pub struct Pair<'a> {
    /// The backing image.
    pub image: &'a BackingImage,
    /// UUID of the disk.
    pub uuid: &'a str,
    /// The copy as the status has it.
    pub copy: &'a CopyStatus,
    /// The disk.
    pub place: DiskOfNode<'a>,
}

impl Exposure {
    /// The exposure of a release.
    pub fn of(release: Release) -> Self {
        if release < INTRODUCED || release.has_fix(FIXED) {
            Exposure::Never
        } else if release.has_fix(CANCEL_GUARDED) {
            Exposure::EvictedDisk
        } else {
            Exposure::AnyDisk
        }
    }

    /// True when the manager of the pair's node panics on it with the requests as they are.
    pub fn hits(self, pair: &Pair) -> bool {
        match self {
            Exposure::Never => false,
            Exposure::EvictedDisk => is_disk_requested(pair.place.node, pair.place.spec),
            Exposure::AnyDisk => is_requested(pair.place.node),
        }
    }
}

impl<'a> Pair<'a> {
    /// Name of the node.
    pub fn node_name(&self) -> &'a str {
        &self.place.node.metadata.name
    }
}

/// The copies in status only. Copies on a disk that no node lists in spec and status are left out:
/// the manager does not come across them.
pub fn pairs(cluster: &Cluster, release: Option<Release>) -> Vec<Pair<'_>> {
    if release.is_some_and(|release| release < INTRODUCED) {
        return Vec::new();
    }
    let mut pairs = Vec::new();
    for image in cluster.objects.backing_images.iter() {
        for (uuid, copy) in &image.status.disk_file_status_map {
            // a release before 1.7 that does not say so keeps its copies in the older field
            let wanted = image.spec.disk_file_spec_map.contains_key(uuid)
                || (release.is_none() && image.spec.disks.contains_key(uuid));
            if wanted {
                continue;
            }
            if let Some(place) = cluster.disk(uuid).filter(|place| place.spec.is_some()) {
                pairs.push(Pair { image, uuid, copy, place });
            }
        }
    }
    pairs
}
