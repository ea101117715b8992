//! Longhorn's and Kubernetes' objects as far as they are read: narrow structs in which every field
//! is optional, so that any object of Longhorn 1.3 to 1.13-dev decodes.

pub mod backing_image;
pub mod backup;
pub mod csi;
pub mod engine;
pub mod engine_image;
mod env;
pub mod event;
pub mod installers;
pub mod instance_manager;
pub mod kubernetes;
pub mod lenient;
pub mod log_line;
pub mod look;
pub mod map;
pub mod meta;
pub mod node;
pub mod objects;
pub mod orphan;
pub mod pod;
pub mod quantity;
pub mod release;
pub mod resource;
pub mod setting;
pub mod shape;
pub mod share_manager;
pub mod shared_text;
pub mod start;
pub mod store;
pub mod volume;
pub mod writes;

pub use backing_image::{
    BackingImage, BackingImageDataSource, BackingImageManager, BackingImageManagerState, CopySpec, CopyState,
    CopyStatus,
};
pub use backup::{
    BACKUP_LABEL, Backup, BackupBackingImage, BackupState, BackupTarget, CronJob, RecurringJob, SystemBackup,
    SystemBackupState, SystemRestore, SystemRestoreState,
};
pub use csi::{CSI_DRIVER, CsiAttachment, CsiNode};
pub use engine::{Engine, EngineFrontend, Replica, ReplicaMode};
pub use engine_image::{EngineImage, EngineImageState};
pub use env::DISTRO_VARIABLE;
pub use event::{Event, NodeEvent, NodeTrouble};
pub use installers::{Application, HelmChart, HelmRelease};
pub use instance_manager::{
    DataEngine, Instance, InstanceManager, InstanceManagerState, InstanceManagerType, InstanceState,
};
pub use kubernetes::{
    CustomResourceDefinition, DaemonSet, Deployment, Endpoint, EndpointSlice, KubeNode, Lease,
    MutatingWebhookConfiguration, NetworkPolicy, PodDisruptionBudget, PriorityClass, Service, StorageClass,
    Taint, ValidatingWebhookConfiguration, Webhook, WebhookService,
};
pub use lenient::{Compact, Int, StringMap, Time};
pub use look::{Look, Step};
pub use map::Map;
pub use meta::{Condition, ConditionStatus, Meta, condition, status};
pub use node::{DiskSpec, DiskStatus, LonghornNode};
pub use objects::{Kind, KindVisitor, Objects, visit_kinds};
pub use orphan::{Orphan, OrphanType};
pub use pod::{Container, ContainerStatus, Pod, PodPhase, Probe, Terminated, Toleration, Waiting};
pub use quantity::Quantity;
pub use release::{Release, Suffix};
pub use resource::{PerKind, Resource, ResourceInfo, Scope};
pub use setting::Setting;
pub use share_manager::{ShareManager, ShareManagerState};
pub use shared_text::SharedText;
pub use start::{ADMISSION_LABEL, ROTATION_LATE, ROTATION_LOCK, UPGRADE_LOCK, WEBHOOK_LOCK};
pub use store::{Owner, Store};
pub use volume::{
    DataLocality, Volume, VolumeAttachment, VolumeHealth, VolumeRobustness, VolumeState, Workload,
};
pub use writes::{Write, Writes, Written};
