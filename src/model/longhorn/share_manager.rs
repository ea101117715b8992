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
        /// Where its clients mount it; empty where it is not running, or has no Service.
        pub endpoint: SharedText,
    }
}

impl ShareManager {
    /// Whether it runs and no client can reach it: a running share without a Service has no endpoint (longhorn-manager v1.3.3 to v1.12.1
    /// controller/share_manager_controller.go syncShareManagerEndpoint).
    pub fn lacks_endpoint(&self) -> bool {
        self.status.state == ShareManagerState::Running && self.status.endpoint.is_empty()
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
