//! `backingimages`, `backingimagemanagers` and `backingimagedatasources` of `longhorn.io`.

use super::lenient::{Int, StringMap, Time, narrow, open_enum};
use super::map::Map;
use super::meta::Meta;
use super::shared_text::SharedText;

narrow! {
    /// A backing image: a file that volumes are layered on, with a copy on each disk that needs it.
    pub struct BackingImage {
        pub metadata: Meta,
        pub spec: BackingImageSpec,
        pub status: BackingImageStatus,
    }

    /// Which copies are wanted.
    pub struct BackingImageSpec {
        /// Disk UUID to nothing; used up to 1.6.
        pub disks: StringMap,
        /// Disk UUID to copy; 1.7.0 and later.
        pub disk_file_spec_map: Map<CopySpec>,
    }

    /// What is wanted of a copy.
    pub struct CopySpec {
        pub eviction_requested: bool,
    }

    /// Which copies there are.
    pub struct BackingImageStatus {
        #[serde(rename = "ownerID")]
        pub owner_id: SharedText,
        pub uuid: SharedText,
        /// Disk UUID to copy.
        pub disk_file_status_map: Map<CopyStatus>,
    }

    /// How a copy is.
    pub struct CopyStatus {
        pub state: CopyState,
        pub progress: Int,
        pub message: SharedText,
        pub last_state_transition_time: Time,
    }

    /// The pod that keeps the copies on one disk.
    pub struct BackingImageManager {
        pub metadata: Meta,
        pub spec: BackingImageManagerSpec,
        pub status: BackingImageManagerStatus,
    }

    /// What is wanted of a backing image manager.
    pub struct BackingImageManagerSpec {
        pub image: SharedText,
        #[serde(rename = "nodeID")]
        pub node_id: SharedText,
        #[serde(rename = "diskUUID")]
        pub disk_uuid: SharedText,
        /// Backing image name to UUID.
        pub backing_images: StringMap,
    }

    /// How a backing image manager is.
    pub struct BackingImageManagerStatus {
        #[serde(rename = "ownerID")]
        pub owner_id: SharedText,
        pub current_state: BackingImageManagerState,
    }

    /// Where the first copy of a backing image comes from; named as the image.
    pub struct BackingImageDataSource {
        pub metadata: Meta,
        pub spec: BackingImageDataSourceSpec,
        pub status: BackingImageDataSourceStatus,
    }

    /// What is wanted of a data source.
    pub struct BackingImageDataSourceSpec {
        #[serde(rename = "nodeID")]
        pub node_id: SharedText,
        #[serde(rename = "diskUUID")]
        pub disk_uuid: SharedText,
        pub file_transferred: bool,
    }

    /// How a data source is.
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
