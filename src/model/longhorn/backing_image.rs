//! `backingimages`, `backingimagemanagers` and `backingimagedatasources` of `longhorn.io`.

use super::instance_manager::DataEngine;
use super::lenient::{Int, StringMap, Time, manifests, narrow, open_enum};
use super::map::Map;
use super::shared_text::SharedText;

manifests! {
    /// A backing image: a file that volumes are layered on, with a copy on each disk that needs it.
    BackingImage { spec: BackingImageSpec, status: BackingImageStatus }
    /// The pod that keeps the copies on one disk.
    BackingImageManager { spec: BackingImageManagerSpec, status: BackingImageManagerStatus }
    /// Where the first copy of a backing image comes from; named as the image.
    BackingImageDataSource { spec: BackingImageDataSourceSpec, status: BackingImageDataSourceStatus }
}

narrow! {
    /// Which copies are wanted.
    pub struct BackingImageSpec {
        /// 1.8 and later.
        pub data_engine: DataEngine,
        /// Disk UUID to nothing; used up to 1.6.
        pub disks: StringMap as labels,
        /// Disk UUID to copy; 1.7.0 and later.
        pub disk_file_spec_map: Map<CopySpec> as keys,
    }

    pub struct CopySpec {
        pub eviction_requested: bool,
    }

    /// Which copies there are.
    pub struct BackingImageStatus {
        pub owner_id: SharedText as name = "ownerID",
        pub uuid: SharedText,
        /// Disk UUID to copy.
        pub disk_file_status_map: Map<CopyStatus> as keys,
    }

    pub struct CopyStatus {
        pub state: CopyState,
        pub progress: Int,
        pub message: SharedText,
        pub last_state_transition_time: Time,
    }

    pub struct BackingImageManagerSpec {
        pub image: SharedText as name,
        pub node_id: SharedText as name = "nodeID",
        pub disk_uuid: SharedText as name = "diskUUID",
        /// Backing image name to UUID.
        pub backing_images: StringMap as labels,
    }

    pub struct BackingImageManagerStatus {
        pub owner_id: SharedText as name = "ownerID",
        pub current_state: BackingImageManagerState,
    }

    pub struct BackingImageDataSourceSpec {
        pub node_id: SharedText as name = "nodeID",
        pub disk_uuid: SharedText as name = "diskUUID",
        pub file_transferred: bool,
        /// `download`, `upload`, `export-from-volume`, `restore` or `clone`.
        pub source_type: SharedText,
    }

    pub struct BackingImageDataSourceStatus {
        pub current_state: CopyState,
        pub progress: Int,
        pub message: SharedText,
    }
}

open_enum! {
    /// State of a copy of a backing image.
    pub enum CopyState {
        Pending = "pending",
        Starting = "starting",
        ReadyForTransfer = "ready-for-transfer",
        Ready = "ready",
        InProgress = "in-progress",
        Failed = "failed",
        FailedAndCleanup = "failed-and-cleanup",
        Unknown = "unknown",
    }
}

impl CopyState {
    pub fn has_failed(self) -> bool {
        matches!(self, CopyState::Failed | CopyState::FailedAndCleanup)
    }
}

open_enum! {
    /// `status.currentState` of a backing image manager.
    pub enum BackingImageManagerState {
        Error = "error",
        Running = "running",
        Stopped = "stopped",
        Starting = "starting",
        Unknown = "unknown",
    }
}

impl BackingImageSpec {
    /// UUIDs of the disks that should hold a copy, whichever field the release uses.
    pub fn disk_uuids(&self) -> impl Iterator<Item = &str> {
        let old = self.disk_file_spec_map.is_empty().then_some(&self.disks);
        self.disk_file_spec_map
            .keys()
            .chain(old.into_iter().flat_map(StringMap::keys))
            .map(SharedText::as_str)
    }
}
