//! Copies of backing images that a status lists and its spec does not, and on which of them the manager of
//! which release panics. The one place that decides it.
//!
//! The manager goes through the disks of its node's *spec* and, for each, through the copies that the *status*
//! of a backing image lists there (longhorn-manager v1.7.0 to v1.9.0 controller/node_controller.go
//! syncBackingImageEvictionRequested, datastore/longhorn.go GetDiskBackingImageMap). So a disk that is in the
//! node's status only is never come across, even if the whole node is evicted. Objects of a release before 1.7
//! have their copies in `spec.disks`, which the upgrade turns into `spec.diskFileSpecMap` before any controller
//! starts (longhorn-manager v1.7.0 upgrade/v16xto170/upgrade.go); from then on `spec.disks` counts for nothing.

use std::collections::BTreeMap;
use std::fmt;

use super::eviction::{is_disk_requested, is_requested};
use super::releases::release_on;
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
pub struct StaleCopy<'a> {
    pub image: &'a BackingImage,
    /// UUID of the disk.
    pub uuid: &'a str,
    /// The copy as the status has it.
    pub copy: &'a CopyStatus,
    pub place: DiskOfNode<'a>,
    /// The release of the manager that comes across it: that of the node.
    pub release: Option<Release>,
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
}

impl<'a> StaleCopy<'a> {
    /// The exposure of the manager that comes across it, none if its release is unknown.
    pub fn exposure(&self) -> Exposure {
        self.release.map_or(Exposure::Never, Exposure::of)
    }

    /// True when that manager panics on it with the requests as they are.
    pub fn is_hit(&self) -> bool {
        match self.exposure() {
            Exposure::Never => false,
            Exposure::EvictedDisk => is_disk_requested(self.place.node, self.place.spec),
            Exposure::AnyDisk => is_requested(self.place.node),
        }
    }

    /// Name of the node.
    pub fn node_name(&self) -> &'a str {
        &self.place.node.metadata.name
    }
}

impl fmt::Display for StaleCopy<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (image, disk) = (&self.image.metadata.name, self.place.name);
        let (of, requested) =
            if self.is_hit() { ("Eviction of node", "is requested") } else { ("Node", "has its disk") };
        write!(
            f,
            "backing image {image} has a copy on disk {disk} (UUID {}) in its status but not in its spec. {of} {} {requested}",
            self.uuid,
            self.node_name()
        )
    }
}

/// The copies in the status only. Copies on a disk that no node lists in spec and status are left out:
/// the manager does not come across them. So are those whose manager is too old to look.
pub fn all(cluster: &Cluster) -> Vec<StaleCopy<'_>> {
    // objects that are not upgraded to 1.7 yet keep the copies in the older field
    let older_field = cluster.release().is_none_or(|release| release < INTRODUCED);
    let mut releases: BTreeMap<&str, Option<Release>> = BTreeMap::new();
    let mut copies = Vec::new();
    for image in cluster.objects.backing_images.iter() {
        for (uuid, copy) in &image.status.disk_file_status_map {
            let wanted = image.spec.disk_file_spec_map.contains_key(uuid)
                || (older_field && image.spec.disks.contains_key(uuid));
            if wanted {
                continue;
            }
            let Some(place) = cluster.disk(uuid).filter(|place| place.spec.is_some()) else { continue };
            let node = place.node.metadata.name.as_str();
            let release = *releases.entry(node).or_insert_with(|| release_on(cluster, node));
            if release.is_none_or(|release| release >= INTRODUCED) {
                copies.push(StaleCopy { image, uuid, copy, place, release });
            }
        }
    }
    copies
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::cluster;

    /// A node that is to be emptied as a whole, and a backing image with a copy in status only.
    fn hits(version: &str, spec_disks: &str, image_spec: &str) -> usize {
        let head = "apiVersion: longhorn.io/v1beta2\nmetadata: {namespace: longhorn-system, name: ";
        let yaml = format!(
            "{head}current-longhorn-version}}\nkind: Setting\nvalue: {version}\n---\n\
             {head}node-1}}\nkind: Node\nspec: {{evictionRequested: true, disks: {{{spec_disks}}}}}\n\
             status: {{diskStatus: {{d1: {{diskUUID: uuid-1, conditions: [{{type: Ready, status: 'True'}}]}}}}}}\n---\n\
             {head}bi}}\nkind: BackingImage\nspec: {{{image_spec}}}\n\
             status: {{diskFileStatusMap: {{uuid-1: {{state: ready}}}}}}\n---\n"
        );
        all(&cluster(&yaml)).iter().filter(|copy| copy.is_hit()).count()
    }

    #[test]
    fn only_disks_in_the_spec_of_the_node_are_gone_through() {
        assert_eq!(hits("v1.8.0", "d1: {}", ""), 1);
        assert_eq!(hits("v1.8.0", "", ""), 0);
        assert_eq!(hits("v1.8.0", "d2: {evictionRequested: true}", ""), 0);
    }

    #[test]
    fn the_older_field_counts_for_objects_before_the_upgrade_only() {
        assert_eq!(hits("v1.8.0", "d1: {}", "disks: {uuid-1: ''}"), 1);
        assert_eq!(hits("v1.6.4", "d1: {}", "disks: {uuid-1: ''}"), 0);
    }
}
