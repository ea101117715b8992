//! `volumes.longhorn.io` and `volumeattachments.longhorn.io`.

use jiff::{SignedDuration, Timestamp};

use super::backup::BACKUP_LABEL;
use super::instance_manager::DataEngine;
use super::lenient::{Int, Time, manifests, narrow, open_enum};
use super::map::Map;
use super::meta::Condition;
use super::shared_text::SharedText;
use crate::word_enum::word_enum;

manifests! {
    Volume { spec: VolumeSpec, status: VolumeStatus }
    /// Longhorn's own attachment object (since 1.5), named as the volume.
    VolumeAttachment { spec: VolumeAttachmentSpec, status: VolumeAttachmentStatus }
}

narrow! {
    pub struct VolumeSpec {
        pub node_id: SharedText as name = "nodeID",
        /// Wanted engine image since 1.6.
        pub image: SharedText as name,
        /// Wanted engine image up to 1.5; a leftover until 1.8.
        pub engine_image: SharedText as name,
        pub access_mode: SharedText,
        /// 1.8 and later; before there is one target.
        pub backup_target_name: SharedText as name,
        pub migratable: bool,
        pub data_locality: DataLocality,
        pub data_engine: DataEngine,
        pub backing_image: SharedText as name,
        pub number_of_replicas: Int,
        /// In bytes.
        pub size: Int,
        pub node_selector: Vec<SharedText>,
        pub disk_selector: Vec<SharedText>,
        /// `enabled`, `disabled`, or `ignored` and empty for the setting; since 1.5.
        pub replica_soft_anti_affinity: SharedText,
        /// The same for zones; since 1.5.
        pub replica_zone_soft_anti_affinity: SharedText,
        /// The same for disks; since 1.6.
        pub replica_disk_soft_anti_affinity: SharedText,
        /// `disabled`, `least-effort` or `best-effort`; `ignored` and empty for the setting.
        pub replica_auto_balance: SharedText,
        pub migration_node_id: SharedText as name = "migrationNodeID",
        /// The volume or snapshot that it is a clone of.
        pub data_source: SharedText,
        /// The backup that it is restored from.
        pub from_backup: SharedText,
        pub encrypted: bool,
        /// 1.6 and later; 0 for the setting.
        pub snapshot_max_count: Int,
    }

    /// How far the copy of a clone is.
    pub struct CloneStatus {
        /// `completed` and `failed` are final.
        pub state: SharedText,
    }

    pub struct VolumeStatus {
        pub owner_id: SharedText as name = "ownerID",
        pub state: VolumeState,
        pub robustness: VolumeRobustness,
        pub current_image: SharedText as name,
        /// The newest complete backup of the volume, of a standby volume that of its source.
        pub last_backup: SharedText as name,
        /// When it was taken, also of a detached volume.
        pub last_backup_at: Time,
        pub current_node_id: SharedText as name = "currentNodeID",
        pub clone_status: CloneStatus,
        /// Up to 1.8; empty unless 1.4 left it behind.
        pub pending_node_id: SharedText as name = "pendingNodeID",
        pub conditions: Vec<Condition>,
        pub kubernetes_status: KubernetesStatus,
        /// Empty while the volume is not degraded, and at every change to it.
        pub last_degraded_at: Time,
        /// Since 1.12.
        pub last_auto_salvaged_at: Time,
        /// When its engine was last found dead and the volume was let attach again, also after a salvage; of a shared volume also at
        /// each look while its NFS server is in error (longhorn-manager v1.3.3 to v1.12.1 controller/volume_controller.go).
        pub remount_requested_at: Time,
        pub current_migration_node_id: SharedText as name = "currentMigrationNodeID",
        /// In bytes, of the largest replica.
        pub actual_size: Int,
        /// It waits to be expanded, or is being expanded.
        pub expansion_required: bool,
        /// A disaster recovery volume.
        pub is_standby: bool,
        /// Data is still to be restored into it.
        pub restore_required: bool,
    }

    /// Who uses it, as Longhorn writes it down.
    pub struct KubernetesStatus {
        pub pv_name: SharedText as name,
        pub pvc_name: SharedText as name,
        pub namespace: SharedText as name,
        pub workloads_status: Vec<Workload>,
    }

    /// One pod that uses the volume.
    pub struct Workload {
        pub pod_name: SharedText as name,
        /// The phase of the pod.
        pub pod_status: SharedText,
        pub workload_name: SharedText as name,
        pub workload_type: SharedText as name,
    }

    /// Who wants the volume attached where.
    pub struct VolumeAttachmentSpec {
        pub attachment_tickets: Map<AttachmentTicket> as keys,
    }

    /// One wish.
    pub struct AttachmentTicket {
        pub kind: SharedText = "type",
        pub node_id: SharedText as name = "nodeID",
    }

    /// What became of the wishes, by the same keys.
    pub struct VolumeAttachmentStatus {
        pub attachment_ticket_statuses: Map<TicketStatus> as keys,
    }

    /// What became of one wish.
    pub struct TicketStatus {
        pub satisfied: bool,
        pub conditions: Vec<Condition>,
    }
}

open_enum! {
    /// `spec.dataLocality` of a volume.
    pub enum DataLocality {
        Disabled = "disabled",
        BestEffort = "best-effort",
        /// The only replica stays on the node where the volume is attached.
        StrictLocal = "strict-local",
    }
}

open_enum! {
    /// `status.state` of a volume.
    pub enum VolumeState {
        Creating = "creating",
        Attached = "attached",
        Detached = "detached",
        Attaching = "attaching",
        Detaching = "detaching",
        Deleting = "deleting",
    }
}

open_enum! {
    /// `status.robustness` of a volume.
    pub enum VolumeRobustness {
        Healthy = "healthy",
        Degraded = "degraded",
        Faulted = "faulted",
        Unknown = "unknown",
    }
}

word_enum! {
    /// How a volume is, in a word for people. Longhorn calls every detached volume `unknown`, because
    /// robustness is that of the replicas behind a running engine (longhorn-manager v1.12.1
    /// controller/volume_controller.go, ReconcileEngineReplicaState); faulted ones stay faulted when they
    /// are detached.
    #[derive(serde::Serialize, schemars::JsonSchema)]
    #[serde(rename_all = "lowercase")]
    pub enum VolumeHealth {
        /// No replica is usable: no I/O, and data at stake.
        Faulted = "faulted",
        /// Fewer replicas than wanted.
        Degraded = "degraded",
        /// Not known, although the volume is not detached.
        Unknown = "unknown",
        /// Not attached, so that its replicas are not looked at.
        Detached = "detached",
        /// As many replicas as wanted.
        Healthy = "healthy",
    }
}

impl VolumeStatus {
    /// How the volume is.
    pub fn health(&self) -> VolumeHealth {
        match self.robustness {
            VolumeRobustness::Faulted => VolumeHealth::Faulted,
            _ if self.state == VolumeState::Detached => VolumeHealth::Detached,
            VolumeRobustness::Degraded => VolumeHealth::Degraded,
            VolumeRobustness::Healthy => VolumeHealth::Healthy,
            VolumeRobustness::Unknown | VolumeRobustness::Unset | VolumeRobustness::Unrecognized => {
                VolumeHealth::Unknown
            }
        }
    }
}

impl Volume {
    /// Namespace and name of its claim. A volume that was restored has those of the backup's volume until a PersistentVolume is made for it (seen on
    /// 1.12.1).
    pub fn claim(&self) -> Option<[&str; 2]> {
        let status = &self.status.kubernetes_status;
        let is_of_backup = !self.spec.from_backup.is_empty() && status.pv_name.is_empty();
        let is_bound = !status.pvc_name.is_empty() && !is_of_backup;
        is_bound.then_some([&status.namespace, &status.pvc_name])
    }

    /// Its pods that are Pending, where none of them runs: another pod may wait for the one that does.
    pub fn waiting_pods(&self) -> Vec<&str> {
        let pods = &self.status.kubernetes_status.workloads_status;
        let runs = pods.iter().any(|pod| pod.pod_status == "Running");
        let waiting = pods.iter().filter(|pod| !runs && pod.pod_status == "Pending");
        waiting.map(|pod| pod.pod_name.as_str()).collect()
    }

    /// Whether it uses 95 % of its size, snapshots included.
    pub fn is_full(&self) -> bool {
        let size = self.spec.size.0;
        size > 0 && self.status.actual_size.0 >= size - size / 20
    }

    /// True for a volume that a share manager serves by NFS (longhorn-manager v1.12.1 controller/volume_controller.go
    /// isRegularRWXVolume).
    pub fn is_shared(&self) -> bool {
        self.spec.access_mode.eq_ignore_ascii_case("rwx") && !self.spec.migratable
    }

    /// Whether its newest good backup is a day old, attached or not, in a job or not. Without any it is where the volume's label requires
    /// one. A standby volume follows the backups of another cluster.
    pub fn has_old_backup(&self, now: Timestamp) -> bool {
        let (status, meta) = (&self.status, &self.metadata);
        let wanted = meta.label(BACKUP_LABEL).unwrap_or_default();
        let counts =
            wanted != "ignored" && !status.is_standby && !status.restore_required && !meta.is_deleting();
        let last = status.last_backup_at.get().or_else(|| meta.created().filter(|_| wanted == "required"));
        counts && last.is_some_and(|last| now.duration_since(last) >= SignedDuration::from_hours(24))
    }

    /// The name of its persistent volume: its own where Longhorn has not noted another.
    pub fn persistent_volume(&self) -> &str {
        match self.status.kubernetes_status.pv_name.as_str() {
            "" => &self.metadata.name,
            pv => pv,
        }
    }
}

impl VolumeSpec {
    /// The wanted engine image, whichever field the release uses.
    pub fn wanted_image(&self) -> &str {
        if self.image.is_empty() { &self.engine_image } else { &self.image }
    }
}
