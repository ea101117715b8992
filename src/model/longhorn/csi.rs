//! `csinodes.storage.k8s.io` and `volumeattachments.storage.k8s.io`: the CSI driver as Kubernetes sees it.

use super::lenient::{Time, manifests, narrow};
use super::shared_text::SharedText;

/// Name of Longhorn's CSI driver (longhorn-manager v1.12.1 types/types.go LonghornDriverName).
pub const CSI_DRIVER: &str = "driver.longhorn.io";

manifests! {
    /// The CSI drivers of a node, named as the node.
    CsiNode { spec: CsiNodeSpec }
    /// A `volumeattachments.storage.k8s.io`: Kubernetes' wish that a volume be attached to a node.
    CsiAttachment { spec: CsiAttachmentSpec, status: CsiAttachmentStatus }
}

narrow! {
    /// What the kubelet has registered.
    pub struct CsiNodeSpec {
        pub drivers: Vec<CsiDriver>,
    }

    pub struct CsiDriver {
        pub name: SharedText as name,
    }

    /// Which volume, where, by whom.
    pub struct CsiAttachmentSpec {
        pub attacher: SharedText as name,
        pub node_name: SharedText as name,
        pub source: CsiAttachmentSource,
    }

    pub struct CsiAttachmentSource {
        pub persistent_volume_name: SharedText as name,
    }

    /// What the attacher made of it.
    pub struct CsiAttachmentStatus {
        pub attached: bool,
        pub attach_error: CsiError,
        pub detach_error: CsiError,
    }
    /// What a call of CSI ended with.
    pub struct CsiError {
        pub time: Time,
        pub message: String,
    }
}
