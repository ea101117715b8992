//! `nodes.longhorn.io` and their disks.

use super::lenient::{Int, manifests, narrow};
use super::map::Map;
use super::meta::Condition;
use super::shared_text::SharedText;

manifests! {
    /// A node as Longhorn knows it, named as the Kubernetes node.
    LonghornNode { spec: LonghornNodeSpec, status: LonghornNodeStatus }
}

narrow! {
    pub struct LonghornNodeSpec {
        pub allow_scheduling: bool,
        pub eviction_requested: bool,
        /// CPU of instance manager pods in thousandths, 0 for the setting; since 1.5.
        pub instance_manager_cpu_request: Int = "instanceManagerCPURequest",
        pub disks: Map<DiskSpec>,
        pub tags: Vec<SharedText>,
    }

    pub struct DiskSpec {
        pub path: SharedText,
        pub disk_type: SharedText,
        pub allow_scheduling: bool,
        pub eviction_requested: bool,
        /// In bytes.
        pub storage_reserved: Int,
        pub tags: Vec<SharedText>,
    }

    pub struct LonghornNodeStatus {
        pub conditions: Vec<Condition>,
        pub disk_status: Map<DiskStatus>,
        /// 1.5.4, 1.6.0 and later.
        pub auto_evicting: bool,
        pub zone: SharedText,
    }

    /// What SMART or SPDK tells of a device.
    pub struct DeviceHealth {
        pub source: SharedText,
        pub model_name: SharedText,
        pub serial_number: SharedText,
        /// `PASSED`, `WARNING`, `FAILED` or `UNKNOWN`.
        pub health_status: SharedText,
    }

    /// How a disk is. `scheduled_replica` is emptied while the disk is not Ready, so it does not
    /// say that the disk is empty
    /// (longhorn-manager v1.12.1 controller/node_controller.go updateDiskStatusSchedulableCondition).
    pub struct DiskStatus {
        pub disk_uuid: SharedText as name = "diskUUID",
        pub conditions: Vec<Condition>,
        pub scheduled_replica: Map<Int> as keys,
        /// Free bytes of the file system.
        pub storage_available: Int,
        /// Sum of the sizes of the volumes whose replicas it holds, in bytes; 0 while it is not Ready.
        pub storage_scheduled: Int,
        /// Bytes of the file system.
        pub storage_maximum: Int,
        /// `ext2/ext3`, `xfs`, …; 1.4 and later.
        pub filesystem_type: SharedText,
        /// What the devices under it say of themselves, by device; 1.11 and later, with node-disk-health-monitoring.
        pub health_data: Map<DeviceHealth>,
    }
}
