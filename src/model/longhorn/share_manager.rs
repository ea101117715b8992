//! `sharemanagers.longhorn.io`.

use super::lenient::{manifests, narrow, open_enum};
use super::shared_text::SharedText;

manifests! {
    /// The NFS server of an RWX volume, named as the volume; its pod is `share-manager-<volume>`.
    ShareManager { status: ShareManagerStatus }
}

narrow! {
    pub struct ShareManagerStatus {
        pub owner_id: SharedText as name = "ownerID",
        pub state: ShareManagerState,
    }
}

open_enum! {
    /// State of a share manager, the same from 1.3 on (longhorn-manager
    /// k8s/pkg/apis/longhorn/v1beta2/sharemanager.go at v1.3.3 and v1.12.1).
    pub enum ShareManagerState {
        Unknown = "unknown",
        Starting = "starting",
        Running = "running",
        Stopping = "stopping",
        Stopped = "stopped",
        Error = "error",
    }
}
