//! The table, oldest issue first.

use super::triggers::*;
use super::{Harms, KnownIssue, Trigger};
use crate::longhorn::{Release, Suffix};

const fn r(major: u32, minor: u32, patch: u32) -> Release {
    Release::new(major, minor, patch)
}

const fn hotfix(minor: u32, patch: u32, number: u32) -> Release {
    Release { major: 1, minor, patch, suffix: Suffix::Hotfix(number) }
}

/// Every known issue, oldest first.
pub const ALL: &[KnownIssue] = &[
    KnownIssue {
        number: 5209,
        cause: "issue_5209",
        effect: "the manager can crash while a large volume is exported as a backing image",
        harms: Harms::ManagerPanics,
        // the change log of 1.6.0 names the fix, and no release before it has one
        ranges: &[(r(1, 3, 0), r(1, 6, 0))],
        fixed: &[r(1, 6, 0)],
        frames: &["(*BackingImageDataSourceController)"],
        until_then: "Do not export volumes of 100 GiB and more as backing images.",
        trigger: |cluster| match cluster.objects.backing_image_data_sources.is_empty() {
            true => Trigger::Absent,
            false => Trigger::Possible("an export of a large volume can trigger it"),
        },
    },
    KnownIssue {
        number: 6264,
        cause: "issue_6264",
        effect: "the manager can crash on volumes whose claim names its StorageClass in an annotation",
        harms: Harms::ManagerPanics,
        // v1.5.0 controller/backup_controller.go checkMonitor
        ranges: &[(r(1, 5, 0), r(1, 5, 1))],
        fixed: &[r(1, 5, 1)],
        frames: &["BackupController"],
        until_then: "Pause recurring backups.",
        trigger: |_| Trigger::Possible("the annotations of claims are not read"),
    },
    KnownIssue {
        number: 6998,
        cause: "issue_6998",
        effect: "the manager panics when it syncs a backup that is missing in the backup target",
        harms: Harms::ManagerPanics,
        // v1.3.2 controller/backup_volume_controller.go reconcile
        ranges: &[(r(1, 3, 2), r(1, 5, 2))],
        fixed: &[r(1, 5, 2)],
        frames: &["BackupVolumeController"],
        until_then: "Do not delete files in the backup target by hand.",
        trigger: |_| Trigger::Possible("the content of the backup target is not in the API"),
    },
    KnownIssue {
        number: 7919,
        cause: "issue_7919",
        effect: "an instance manager can deadlock: volumes on its node neither attach nor detach, while I/O goes on",
        harms: Harms::InstanceManagers,
        // the instance manager of 1.6.0; its change log of 1.6.1 names the fix
        ranges: &[(r(1, 6, 0), r(1, 6, 1))],
        fixed: &[r(1, 6, 1)],
        frames: &[],
        until_then: "Attach and detach few volumes at a time. Where they stand still on a node, drain it and restart its instance manager \
                     once nothing runs in it.",
        trigger: |_| Trigger::Possible("attaching and detaching can trigger it at any time"),
    },
    KnownIssue {
        number: 8098,
        cause: "issue_8098",
        effect: "the manager can panic while it collects the metrics of a volume",
        harms: Harms::ManagerPanics,
        // v1.4.0 to v1.6.4 metrics_collector/volume_collector.go Collect; v1.7.0 recovers in collectMetrics
        ranges: &[(r(1, 4, 0), r(1, 7, 0))],
        fixed: &[r(1, 7, 0)],
        frames: &["(*VolumeCollector)"],
        until_then: "If managers panic, stop scraping port 9500 of longhorn-manager.",
        trigger: |_| Trigger::Possible("any scrape of the manager's own metrics can trigger it"),
    },
    KnownIssue {
        number: 9073,
        cause: "issue_9073",
        effect: "the manager does not start on a new node where the block device of default-data-path does not exist",
        // a fatal error, no panic: v1.6.0 types/types.go CreateDefaultDisk
        harms: Harms::Other,
        ranges: &[(r(1, 6, 0), r(1, 6, 3))],
        fixed: &[r(1, 6, 3)],
        frames: &["creating default block-type disk"],
        until_then: "Set default-data-path to a device or directory that every node has.",
        trigger: block_device_by_default,
    },
    KnownIssue {
        number: 9464,
        cause: "issue_9464",
        effect: "a node whose instance manager has lost its labels is no longer synced, and nothing new starts there",
        harms: Harms::Other,
        // the webhook sets the labels since v1.6.0 (webhook/resources/instancemanager/mutator.go). The
        // fix deletes such an instance manager (v1.6.3 controller/node_controller.go syncInstanceManagers)
        ranges: &[(r(1, 6, 0), r(1, 6, 3)), (r(1, 7, 0), r(1, 7, 2))],
        fixed: &[r(1, 6, 3), r(1, 7, 2)],
        frames: &[],
        until_then: "Put the labels back, also before the upgrade: releases with the fix delete such an instance \
                     manager with all that runs in it and recreate it.",
        trigger: unlabelled_instance_manager,
    },
    KnownIssue {
        number: 10019,
        cause: "issue_10019",
        effect: "the package check of the manager keeps the RPM database of the host busy",
        harms: Harms::Other,
        ranges: &[(r(1, 7, 0), r(1, 7, 3))],
        fixed: &[r(1, 7, 3)],
        frames: &[],
        until_then: "Watch the CPU of rpm processes on the hosts.",
        trigger: rpm_host,
    },
    KnownIssue {
        number: 10464,
        cause: "issue_10464",
        effect: "the manager panics when a node asks for eviction while a backing image copy is being cleaned up",
        harms: Harms::ManagerPanics,
        ranges: &[(r(1, 7, 0), r(1, 7, 4)), (r(1, 8, 0), r(1, 8, 1))],
        fixed: &[r(1, 7, 4), r(1, 8, 2)],
        frames: &["syncBackingImageEvictionRequested"],
        until_then: "Look at backing_image_eviction_crash before you evict a node or a disk.",
        trigger: backing_image_eviction,
    },
    KnownIssue {
        number: 10502,
        cause: "issue_10502",
        effect: "the manager panics when it looks for a disk while one reports no size",
        harms: Harms::ManagerPanics,
        // v1.7.0 and v1.8.0 scheduler/replica_scheduler.go IsSchedulableToDiskConsiderDiskPressure divides by StorageMaximum
        ranges: &[(r(1, 7, 0), r(1, 7, 4)), (r(1, 8, 0), r(1, 8, 1))],
        fixed: &[r(1, 8, 1)],
        frames: &["IsSchedulableToDiskConsiderDiskPressure"],
        until_then: "Set replica-auto-balance to disabled, and bring the disk that reports no size in order or remove it.",
        trigger: disk_without_size,
    },
    KnownIssue {
        number: 11016,
        cause: "issue_11016",
        effect: "the pods of recurring jobs crash, so that no backup or snapshot is taken",
        // longhorn-manager v1.9.0 app/recurringjob/volume.go: goroutines write to one map
        harms: Harms::Other,
        ranges: &[(r(1, 9, 0), hotfix(9, 0, 1))],
        fixed: &[hotfix(9, 0, 1), r(1, 9, 1)],
        frames: &[],
        until_then: "Take the backups by hand.",
        trigger: recurring_job,
    },
    KnownIssue {
        number: 11034,
        cause: "issue_11034",
        effect: "the manager still panics on a stale backing image copy of the very disk that is evicted",
        harms: Harms::ManagerPanics,
        ranges: &[(r(1, 8, 1), r(1, 8, 2)), (r(1, 9, 0), r(1, 9, 1))],
        fixed: &[r(1, 8, 2), r(1, 9, 1)],
        frames: &["syncBackingImageEvictionRequested"],
        until_then: "Look at backing_image_eviction_crash before you evict a node or a disk.",
        trigger: backing_image_eviction,
    },
    KnownIssue {
        number: 11169,
        cause: "issue_11169",
        effect: "the manager panics when the status of a support bundle cannot be updated",
        harms: Harms::ManagerPanics,
        // v1.4.0 controller/support_bundle_controller.go handleStatusUpdate
        ranges: &[(r(1, 4, 0), r(1, 9, 1))],
        fixed: &[r(1, 9, 1)],
        frames: &["SupportBundleController"],
        until_then: "Delete supportbundles.longhorn.io objects that are left over.",
        trigger: |_| Trigger::Possible("support bundles are not read"),
    },
    KnownIssue {
        number: 11420,
        cause: "issue_11420",
        effect: "the manager can crash while it rebuilds a replica of a v2 volume",
        harms: Harms::ManagerPanics,
        ranges: &[(r(1, 7, 0), r(1, 9, 2))],
        fixed: &[r(1, 9, 2)],
        frames: &["waitForV2EngineRebuild"],
        until_then: "Avoid rebuilds of v2 volumes.",
        trigger: |cluster| match v2_volume(cluster) {
            true => Trigger::Possible("v2 volumes exist, and any rebuild of one can trigger it"),
            false => Trigger::Absent,
        },
    },
    KnownIssue {
        number: 11864,
        cause: "issue_11864",
        effect: "the manager does not start after the upgrade to 1.10.0 when the CPU reserved for v2 instance managers is more \
                 than 40 % of the smallest node",
        // a fatal error, no panic: v1.10.0 datastore/longhorn.go syncV2DataEngineGuaranteedInstanceManagerCPU
        harms: Harms::Other,
        ranges: &[(r(1, 10, 0), r(1, 10, 1))],
        fixed: &[r(1, 10, 1)],
        frames: &["failed to validate setting"],
        until_then: "Before the upgrade set v2-data-engine-guaranteed-instance-manager-cpu to 250 m or less per core of the \
                     smallest node, or upgrade to 1.10.1 at once.",
        trigger: v2_cpu_above_the_limit,
    },
    KnownIssue {
        number: 11939,
        cause: "issue_11939",
        effect: "the manager panics when it waits before it makes a share manager pod again",
        harms: Harms::ManagerPanics,
        ranges: &[(r(1, 10, 0), hotfix(10, 0, 1))],
        fixed: &[hotfix(10, 0, 1), r(1, 10, 1)],
        frames: &["ShareManagerController"],
        until_then: "Avoid restarts of share managers.",
        trigger: rwx_volume,
    },
    KnownIssue {
        number: 11994,
        cause: "issue_11994",
        effect: "a volume stays in state attaching while its engine image is not deployed on one of the nodes",
        harms: Harms::Other,
        ranges: &[(r(1, 10, 0), r(1, 10, 1))],
        fixed: &[r(1, 10, 1)],
        frames: &[],
        until_then: "Let the engine image be deployed on every node, also on those that are tainted.",
        trigger: engine_image_missing,
    },
    KnownIssue {
        number: 12081,
        cause: "issue_12081",
        effect: "the process of an engine can panic (longhorn-engine control.go), which detaches its volume",
        harms: Harms::Other,
        ranges: &[(r(1, 10, 0), r(1, 10, 1))],
        fixed: &[r(1, 10, 1)],
        frames: &[],
        until_then: "Avoid expansions and rebuilds at the same time.",
        trigger: |_| Trigger::Possible("it comes and goes with the I/O of a volume"),
    },
    KnownIssue {
        number: 12233,
        cause: "issue_12233",
        effect: "the manager panics when the status of a replica that it starts cannot be updated",
        harms: Harms::ManagerPanics,
        // v1.9.2 controller/replica_controller.go CreateInstance; v1.9.3 is older than its fix
        ranges: &[(r(1, 9, 2), hotfix(9, 2, 1)), (r(1, 9, 3), r(1, 9, 4)), (r(1, 10, 0), hotfix(10, 1, 1))],
        fixed: &[hotfix(9, 2, 1), hotfix(10, 1, 1), r(1, 10, 2)],
        // 12386 is the same: the replica that is nil is read one function further on
        frames: &["(*ReplicaController).CreateInstance", "(*ReplicaController).getDiskNameFromUUID"],
        until_then: "Let few replicas start at once: set replica-auto-balance to disabled and avoid rebuild storms.",
        trigger: |_| Trigger::Possible("any start of a replica can trigger it"),
    },
    KnownIssue {
        number: 12573,
        cause: "issue_12573",
        effect: "instance managers of image v1.11.0 leak memory until the node kills them, with every volume that runs in them",
        harms: Harms::InstanceManagers,
        // the instance manager's image counts, see the trigger; the manager's own code has no part in it
        ranges: &[(r(1, 11, 0), r(1, 11, 1))],
        fixed: &[r(1, 11, 1)],
        frames: &[],
        until_then: "Set the image longhorn-instance-manager:v1.11.0-hotfix-1, then detach and attach the volumes of each old \
                     instance manager: waiting with one that holds volumes is dangerous.",
        trigger: leaking_instance_manager,
    },
    KnownIssue {
        number: 12578,
        cause: "issue_12578",
        effect: "updates of Kubernetes nodes are refused while no manager is Ready, so new nodes get no network",
        harms: Harms::Other,
        ranges: &[(r(1, 11, 0), hotfix(11, 0, 1))],
        fixed: &[hotfix(11, 0, 1), r(1, 11, 1)],
        frames: &[],
        until_then: "Keep at least one manager Ready.",
        trigger: |cluster| match cluster.manager_pods().any(|pod| pod.is_ready()) {
            false if cluster.manager_pods().next().is_some() => {
                Trigger::Met("no manager is Ready".to_owned())
            }
            _ => Trigger::Possible("it strikes when no manager is Ready"),
        },
    },
    KnownIssue {
        number: 13087,
        cause: "issue_13087",
        effect: "an instance manager can panic in a storm of rebuilds, with every volume that runs in it",
        harms: Harms::InstanceManagers,
        // reported from 1.9.0 on (13713); fixed in the instance managers of 1.10.4, 1.11.3 and 1.12.0
        ranges: &[(r(1, 9, 0), r(1, 10, 4)), (r(1, 11, 0), r(1, 11, 3))],
        fixed: &[r(1, 10, 4), r(1, 11, 3)],
        frames: &[],
        until_then: "Let few replicas rebuild at once: concurrent-replica-rebuild-per-node-limit 1, no eviction of whole nodes.",
        trigger: |_| Trigger::Possible("a storm of rebuilds, as after the loss of a node, can trigger it"),
    },
    KnownIssue {
        number: 13245,
        cause: "issue_13245",
        effect: "the manager can panic while a backup is deleted",
        harms: Harms::ManagerPanics,
        ranges: &[(r(1, 8, 0), r(1, 11, 3))],
        fixed: &[r(1, 11, 3)],
        frames: &["setInprogressDeletionMap"],
        until_then: "Delete backups one at a time.",
        trigger: |_| Trigger::Possible("any deletion of a backup can trigger it"),
    },
    KnownIssue {
        number: 13482,
        cause: "issue_13482",
        effect: "a filesystem that became read-only is never noticed on kernels from 6.12 on, and the volume not remounted",
        harms: Harms::Other,
        // FilesystemReadOnly came with 1.5.5; ext4 says emergency_ro instead of ro
        ranges: &[(r(1, 5, 5), r(1, 11, 4)), (r(1, 12, 0), r(1, 12, 1))],
        fixed: &[r(1, 11, 4), r(1, 12, 1)],
        frames: &[],
        until_then: "Watch the workloads themselves for EROFS, and restart those that report it.",
        trigger: new_kernel,
    },
];
