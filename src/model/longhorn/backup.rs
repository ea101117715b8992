//! Backups: `backups`, `backuptargets` and `recurringjobs` of `longhorn.io`, and the CronJobs that run the latter.

use super::lenient::{Int, StringMap, Time, manifests, narrow, open_enum};
use super::meta::Condition;
use super::shared_text::SharedText;

manifests! {
    /// A backup that is not complete, or is being deleted. There may be a hundred thousand complete ones, which are not kept: the newest
    /// of each volume stands in the volume's status.
    Backup { spec: BackupSpec, status: BackupStatus }
    /// Where backups go. One, named `default`, up to 1.7.
    BackupTarget { spec: BackupTargetSpec, status: BackupTargetStatus }
    /// A job that Longhorn runs by a CronJob of the same name.
    RecurringJob { spec: RecurringJobSpec }
    /// A backup of what Longhorn's objects say, since 1.4.
    SystemBackup { status: SystemBackupStatus }
    /// What brings the objects of a system backup back, since 1.4.
    SystemRestore { status: SystemRestoreStatus }
    /// A backup of a backing image, since 1.6.
    BackupBackingImage { spec: BackupBackingImageSpec, status: BackupStatus }
    CronJob { spec: CronJobSpec, status: CronJobStatus }
}

narrow! {
    /// What is to be backed up.
    pub struct BackupSpec {
        /// Empty for a backup that was found in the backup store.
        pub snapshot_name: SharedText as name,
    }

    /// How far it is.
    pub struct BackupStatus {
        pub state: BackupState,
        /// In percent.
        pub progress: Int,
        pub error: SharedText,
        /// What it waits for, among harmless notes on locks.
        pub messages: StringMap,
        /// The replica that writes it, as `tcp://IP:PORT`.
        pub replica_address: SharedText,
    }

    /// How far it is.
    pub struct SystemBackupStatus {
        pub state: SystemBackupState,
        /// Type Error, True with what went wrong.
        pub conditions: Vec<Condition>,
    }

    /// How far it is.
    pub struct SystemRestoreStatus {
        pub state: SystemRestoreState,
        /// Type Error, True with what went wrong.
        pub conditions: Vec<Condition>,
    }

    /// Whether this cluster makes it.
    pub struct BackupBackingImageSpec {
        /// False for one that was found in the backup store.
        pub user_created: Option<bool>,
    }

    pub struct BackupTargetSpec {
        /// Empty where backups are not wanted.
        pub backup_target_url: SharedText = "backupTargetURL",
        pub credential_secret: SharedText as name,
        /// How often it is asked, as Go writes it: `5m0s`; 0 is never.
        pub poll_interval: SharedText as name,
        /// When Longhorn was last told to ask.
        pub sync_requested_at: Time,
    }

    /// Whether it answers.
    pub struct BackupTargetStatus {
        pub available: Option<bool>,
        /// Type Unavailable, True with the reason.
        pub conditions: Vec<Condition>,
        pub last_synced_at: Time,
    }

    /// What it does, when and for which volumes.
    pub struct RecurringJobSpec {
        /// `backup`, `backup-force-create`, `snapshot`, `system-backup`, …
        pub task: SharedText,
        pub cron: SharedText,
        pub groups: Vec<SharedText>,
    }

    /// When it runs.
    pub struct CronJobSpec {
        pub schedule: SharedText,
        pub suspend: bool,
    }

    /// When it ran.
    pub struct CronJobStatus {
        pub last_schedule_time: Time,
        /// Kubernetes 1.21 and later.
        pub last_successful_time: Time,
        /// Jobs that run now; Longhorn forbids a second one.
        pub active: Vec<ActiveJob>,
    }

    /// A Job that runs.
    pub struct ActiveJob {
        pub name: SharedText as name,
    }
}

open_enum! {
    /// State of a backup (longhorn-manager k8s/pkg/apis/longhorn/v1beta2/backup.go at v1.3.3 and v1.12.1); empty is new.
    pub enum BackupState {
        Pending = "Pending",
        InProgress = "InProgress",
        Completed = "Completed",
        Error = "Error",
        Unknown = "Unknown",
        /// 1.8 and later.
        Deleting = "Deleting",
    }
}

impl BackupState {
    /// Whether it has begun, or will, and has not ended.
    pub fn is_under_way(self) -> bool {
        matches!(self, BackupState::Unset | BackupState::Pending | BackupState::InProgress)
    }
}

open_enum! {
    /// State of a system backup (longhorn-manager k8s/pkg/apis/longhorn/v1beta2/systembackup.go at v1.4.4 and v1.12.1); empty is new.
    pub enum SystemBackupState {
        Deleting = "Deleting",
        Error = "Error",
        Generating = "Generating",
        Ready = "Ready",
        Syncing = "Syncing",
        Uploading = "Uploading",
        CreatingVolumeBackups = "CreatingVolumeBackups",
        CreatingBackingImageBackups = "CreatingBackingImageBackups",
    }
}

open_enum! {
    /// State of a system restore (longhorn-manager k8s/pkg/apis/longhorn/v1beta2/systemrestore.go at v1.4.4 and v1.12.1); empty is new.
    pub enum SystemRestoreState {
        Completed = "Completed",
        Deleting = "Deleting",
        Downloading = "Downloading",
        Error = "Error",
        Initializing = "Initializing",
        InProgress = "InProgress",
        Pending = "Pending",
        Restoring = "Restoring",
        Unknown = "Unknown",
        Unpacking = "Unpacking",
    }
}

/// A label of volumes: `required` where a volume without a backup is to be told, `ignored` where its backups are never.
pub const BACKUP_LABEL: &str = "longhorn-health.io/backup";

impl Backup {
    /// The volume that is backed up, as Longhorn itself finds it (longhorn-manager v1.12.1
    /// controller/backup_controller.go getBackupVolumeName).
    pub fn volume(&self) -> &str {
        self.metadata.label("backup-volume").unwrap_or_default()
    }

    /// True for a backup that this cluster takes and that is not complete. One without a snapshot was found in
    /// the backup store.
    pub fn is_under_way_or_failed(&self) -> bool {
        let done = matches!(self.status.state, BackupState::Completed | BackupState::Deleting);
        !done && !self.spec.snapshot_name.is_empty() && !self.metadata.is_deleting()
    }
}

impl BackupStatus {
    /// Whether its Snapshot was missing when it was to begin (longhorn-manager v1.7.3 to v1.12.1 controller/backup_controller.go
    /// FailedToGetSnapshotMessage).
    pub fn lacked_snapshot(&self) -> bool {
        self.error.trim().starts_with("Failed to get the Snapshot")
    }
}

impl BackupTargetSpec {
    /// How often it is asked; 0 is never.
    pub fn interval(&self) -> Option<jiff::SignedDuration> {
        self.poll_interval.parse().ok()
    }

    /// SERVICE and NAMESPACE, where the URL names one of this cluster: `nfs://SERVICE.NAMESPACE.svc.cluster.local:/path`.
    pub fn service(&self) -> Option<(&str, &str)> {
        let (_, rest) = self.backup_target_url.split_once("://")?;
        rest.split([':', '/']).next()?.split_once(".svc")?.0.split_once('.')
    }
}

impl RecurringJob {
    /// True where it makes backups of volumes.
    pub fn backs_up(&self) -> bool {
        matches!(self.spec.task.as_str(), "backup" | "backup-force-create")
    }
}
