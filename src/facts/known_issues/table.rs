//! The table, oldest issue first.

use super::triggers::*;
use super::{Harms, KnownIssue, Trigger};
use crate::check::CommandTemplate;
use crate::longhorn::{Release, Suffix};

const fn r(major: u32, minor: u32, patch: u32) -> Release {
    Release::new(major, minor, patch)
}

const fn hotfix(minor: u32, patch: u32, number: u32) -> Release {
    Release { major: 1, minor, patch, suffix: Suffix::Hotfix(number) }
}

/// Number and releases with the fix; what keeps the bug away `until` the upgrade, or has to come `first`; commands for it. Cause and
/// words follow from these.
macro_rules! issue {
    (@fix until $until:literal $way_out:expr) => { concat!($way_out, ". Until then, ", $until) };
    (@fix first $until:literal $way_out:expr) => { concat!($until, " ", $way_out, ".") };
    (@is_first until) => { false };
    (@is_first first) => { true };
    ($number:literal, $fixed:literal, $order:ident $until:literal, [$( $step:ident $run:literal ),* $(,)?], { $($rest:tt)* }) => {
        KnownIssue {
            number: $number,
            cause: concat!("issue_", $number),
            fix: issue!(@fix $order $until concat!(
                "Upgrade to ", $fixed, " or later (https://github.com/longhorn/longhorn/issues/", $number, ")"
            )),
            until_then: $until,
            is_first: issue!(@is_first $order),
            steps: &[
                $( CommandTemplate::$step($run), )*
                CommandTemplate::read("kubectl -n <namespace> get daemonset longhorn-manager -o jsonpath='{..image}'"),
            ],
            $($rest)*
        }
    };
}

/// Every known issue, oldest first.
pub const ALL: &[KnownIssue] = &[
    issue!(5209, "v1.6.0", until "do not export volumes of 100 GiB or more as backing images.", [
        read "kubectl -n <namespace> get backingimagedatasources.longhorn.io",
    ], {
        effect: "exporting a large volume can crash the manager",
        harms: Harms::ManagerPanics,
        // the change log of 1.6.0 names the fix, and no release before it has one
        ranges: &[(r(1, 3, 0), r(1, 6, 0))],
        fixed: &[r(1, 6, 0)],
        frames: &["(*BackingImageDataSourceController)"],
        trigger: |cluster| match cluster.objects.backing_image_data_sources.is_empty() {
            true => Trigger::Absent,
            false => Trigger::Possible("that can crash managers"),
        },
    }),
    issue!(6264, "v1.5.1", until "pause recurring backups.", [read "kubectl -n <namespace> get recurringjobs.longhorn.io"], {
        effect: "a StorageClass annotation on a claim can crash managers",
        harms: Harms::ManagerPanics,
        // v1.5.0 controller/backup_controller.go checkMonitor
        ranges: &[(r(1, 5, 0), r(1, 5, 1))],
        fixed: &[r(1, 5, 1)],
        frames: &["BackupController"],
        trigger: |_| Trigger::Possible("an annotation on a claim can trigger the bug, but this exporter does not read annotations"),
    }),
    issue!(6642, "v1.4.4 or v1.5.2", first "Remove the volume's Engine that is not on the node where its pod runs.", [
        read "kubectl -n <namespace> get engines.longhorn.io -o custom-columns=VOLUME:.spec.volumeName,NAME:.metadata.name,ACTIVE:.spec.active,NODE:.spec.nodeID",
    ], {
        effect: "a volume is stuck with two active engines",
        harms: Harms::Other,
        // v1.5.1 controller/volume_controller.go (BUG: found the second active engine); Longhorn's article on it names 1.4.3 and 1.5.1
        ranges: &[(r(1, 3, 0), r(1, 4, 4)), (r(1, 5, 0), r(1, 5, 2))],
        fixed: &[r(1, 4, 4), r(1, 5, 2)],
        frames: &[],
        trigger: second_engine,
    }),
    issue!(6998, "v1.5.2", until "do not delete files in the backup target by hand.", [
        read "kubectl -n <namespace> get backups.longhorn.io",
    ], {
        effect: "a backup missing from the backup target makes managers panic",
        harms: Harms::ManagerPanics,
        // v1.3.2 controller/backup_volume_controller.go reconcile
        ranges: &[(r(1, 3, 2), r(1, 5, 2))],
        fixed: &[r(1, 5, 2)],
        frames: &["BackupVolumeController"],
        trigger: |_| Trigger::Possible("a backup missing there triggers the bug"),
    }),
    issue!(7919, "v1.6.1", until "attach and detach few volumes at a time. Restart a stalled instance manager once it is empty.", [], {
        effect: "a deadlocked instance manager stops attach and detach",
        harms: Harms::InstanceManagers,
        // the instance manager of 1.6.0; the change log of 1.6.1 names the fix
        ranges: &[(r(1, 6, 0), r(1, 6, 1))],
        fixed: &[r(1, 6, 1)],
        frames: &[],
        trigger: |_| Trigger::Possible(""),
    }),
    issue!(8098, "v1.7.0", until "stop scraping port 9500 of longhorn-manager if managers panic.", [], {
        effect: "managers can panic while collecting volume metrics",
        harms: Harms::ManagerPanics,
        // v1.4.0 to v1.6.4 metrics_collector/volume_collector.go Collect; v1.7.0 recovers in collectMetrics
        ranges: &[(r(1, 4, 0), r(1, 7, 0))],
        fixed: &[r(1, 7, 0)],
        frames: &["(*VolumeCollector)"],
        trigger: |_| Trigger::Possible("any scrape can trigger the bug"),
    }),
    issue!(9073, "v1.6.3", until "set default-data-path to a device or directory that every node has.", [
        read "kubectl -n <namespace> get settings.longhorn.io default-data-path",
    ], {
        effect: "a missing default-data-path device crashes new managers",
        // a fatal error, no panic: v1.6.0 types/types.go CreateDefaultDisk
        harms: Harms::Other,
        ranges: &[(r(1, 6, 0), r(1, 6, 3))],
        fixed: &[r(1, 6, 3)],
        frames: &["creating default block-type disk"],
        trigger: block_device_by_default,
    }),
    issue!(9464, "v1.6.3 or v1.7.2", first "Restore the instance managers' missing labels first: fixed releases delete an instance manager \
                                            without them, with all its engines and replicas.", [
        read "kubectl -n <namespace> get instancemanagers.longhorn.io --show-labels",
    ], {
        effect: "node status is outdated without instance manager labels",
        harms: Harms::Other,
        // the webhook sets the labels since v1.6.0 (webhook/resources/instancemanager/mutator.go). The
        // fix deletes such an instance manager (v1.6.3 controller/node_controller.go syncInstanceManagers)
        ranges: &[(r(1, 6, 0), r(1, 6, 3)), (r(1, 7, 0), r(1, 7, 2))],
        fixed: &[r(1, 6, 3), r(1, 7, 2)],
        frames: &[],
        trigger: unlabelled_instance_manager,
    }),
    issue!(10019, "v1.7.3", until "watch the CPU use of rpm processes on the nodes.", [read "kubectl get nodes -o wide"], {
        effect: "the package check keeps the RPM database busy",
        harms: Harms::Other,
        ranges: &[(r(1, 7, 0), r(1, 7, 3))],
        fixed: &[r(1, 7, 3)],
        frames: &[],
        trigger: rpm_host,
    }),
    issue!(10464, "v1.8.2", until "check for stale backing image copies before you evict a node or disk.", [
        read "kubectl -n <namespace> get backingimages.longhorn.io -o yaml",
    ], {
        effect: "eviction during backing image cleanup crashes managers",
        harms: Harms::ManagerPanics,
        ranges: &[(r(1, 7, 0), r(1, 7, 4)), (r(1, 8, 0), r(1, 8, 1))],
        fixed: &[r(1, 7, 4), r(1, 8, 2)],
        frames: &["syncBackingImageEvictionRequested"],
        trigger: backing_image_eviction,
    }),
    issue!(10502, "v1.8.1", until "set replica-auto-balance to disabled, and repair or remove disks that report no size.", [
        read "kubectl -n <namespace> get nodes.longhorn.io -o yaml | grep storageMaximum",
        change "kubectl -n <namespace> patch settings.longhorn.io replica-auto-balance --type merge -p '{\"value\":\"disabled\"}'",
    ], {
        effect: "a disk that reports no size makes managers panic",
        harms: Harms::ManagerPanics,
        // v1.7.0 and v1.8.0 scheduler/replica_scheduler.go IsSchedulableToDiskConsiderDiskPressure divides by StorageMaximum
        ranges: &[(r(1, 7, 0), r(1, 7, 4)), (r(1, 8, 0), r(1, 8, 1))],
        fixed: &[r(1, 8, 1)],
        frames: &["IsSchedulableToDiskConsiderDiskPressure"],
        trigger: disk_without_size,
    }),
    issue!(11016, "v1.9.0-hotfix-1 or v1.9.1", until "take the backups by hand.", [
        read "kubectl -n <namespace> get recurringjobs.longhorn.io",
    ], {
        effect: "recurring jobs crash before taking a backup or snapshot",
        // longhorn-manager v1.9.0 app/recurringjob/volume.go: goroutines write to one map
        harms: Harms::Other,
        ranges: &[(r(1, 9, 0), hotfix(9, 0, 1))],
        fixed: &[hotfix(9, 0, 1), r(1, 9, 1)],
        frames: &[],
        trigger: recurring_job,
    }),
    issue!(11034, "v1.8.2 or v1.9.1", until "check for stale backing image copies before you evict a node or disk.", [
        read "kubectl -n <namespace> get backingimages.longhorn.io -o yaml",
    ], {
        effect: "a stale backing image copy still crashes managers",
        harms: Harms::ManagerPanics,
        ranges: &[(r(1, 8, 1), r(1, 8, 2)), (r(1, 9, 0), r(1, 9, 1))],
        fixed: &[r(1, 8, 2), r(1, 9, 1)],
        frames: &["syncBackingImageEvictionRequested"],
        trigger: backing_image_eviction,
    }),
    issue!(11169, "v1.9.1", until "delete leftover supportbundles.longhorn.io objects.", [
        read "kubectl -n <namespace> get supportbundles.longhorn.io",
    ], {
        effect: "support bundles can make managers panic",
        harms: Harms::ManagerPanics,
        // v1.4.0 controller/support_bundle_controller.go handleStatusUpdate
        ranges: &[(r(1, 4, 0), r(1, 9, 1))],
        fixed: &[r(1, 9, 1)],
        frames: &["SupportBundleController"],
        trigger: |_| Trigger::Possible("each can trigger the bug, and this exporter does not read them"),
    }),
    issue!(11420, "v1.9.2", until "avoid rebuilds of v2 volumes.", [read "kubectl -n <namespace> get volumes.longhorn.io -o wide"], {
        effect: "rebuilding a v2 replica can crash the manager",
        harms: Harms::ManagerPanics,
        ranges: &[(r(1, 7, 0), r(1, 9, 2))],
        fixed: &[r(1, 9, 2)],
        frames: &["waitForV2EngineRebuild"],
        trigger: |cluster| match v2_volume(cluster) {
            true => Trigger::Possible("any such rebuild can trigger the bug"),
            false => Trigger::Absent,
        },
    }),
    issue!(11864, "v1.10.1", until "keep guaranteed-instance-manager-cpu above 0 (default 12).", [
        read "kubectl -n <namespace> get settings.longhorn.io guaranteed-instance-manager-cpu",
    ], {
        effect: "guaranteed-instance-manager-cpu 0 stops every manager",
        // a fatal error, no panic: v1.10.0 datastore/longhorn.go ValidateCPUMask
        harms: Harms::Other,
        ranges: &[(r(1, 10, 0), r(1, 10, 1))],
        fixed: &[r(1, 10, 1)],
        frames: &["requested by CPU mask"],
        trigger: cpu_mask_above_the_share,
    }),
    issue!(11939, "v1.10.0-hotfix-1 or v1.10.1", until "avoid restarts of share managers.", [
        read "kubectl -n <namespace> get sharemanagers.longhorn.io",
    ], {
        effect: "recreating a share manager pod makes managers panic",
        harms: Harms::ManagerPanics,
        ranges: &[(r(1, 10, 0), hotfix(10, 0, 1))],
        fixed: &[hotfix(10, 0, 1), r(1, 10, 1)],
        frames: &["ShareManagerController"],
        trigger: rwx_volume,
    }),
    issue!(11994, "v1.10.1", until "make sure that the engine image is deployed on every node, including tainted ones.", [
        read "kubectl -n <namespace> get engineimages.longhorn.io -o wide",
    ], {
        effect: "a node without the engine image blocks attaching volumes",
        harms: Harms::Other,
        ranges: &[(r(1, 10, 0), r(1, 10, 1))],
        fixed: &[r(1, 10, 1)],
        frames: &[],
        trigger: engine_image_missing,
    }),
    issue!(12081, "v1.10.1", until "avoid expansions and rebuilds at the same time.", [], {
        effect: "an engine process can panic, which detaches its volume",
        harms: Harms::Other,
        ranges: &[(r(1, 10, 0), r(1, 10, 1))],
        fixed: &[r(1, 10, 1)],
        frames: &[],
        trigger: |_| Trigger::Possible("any volume I/O can trigger the bug"),
    }),
    issue!(12233, "v1.9.2-hotfix-1, v1.10.1-hotfix-1 or v1.10.2", until "set replica-auto-balance to disabled and avoid many parallel \
                                                                         rebuilds.", [
        read "kubectl -n <namespace> get settings.longhorn.io replica-auto-balance",
        change "kubectl -n <namespace> patch settings.longhorn.io replica-auto-balance --type merge -p '{\"value\":\"disabled\"}'",
    ], {
        effect: "a failed replica status update makes managers panic",
        harms: Harms::ManagerPanics,
        // v1.9.2 controller/replica_controller.go CreateInstance; v1.9.3 is older than its fix
        ranges: &[(r(1, 9, 2), hotfix(9, 2, 1)), (r(1, 9, 3), r(1, 9, 4)), (r(1, 10, 0), hotfix(10, 1, 1))],
        fixed: &[hotfix(9, 2, 1), hotfix(10, 1, 1), r(1, 10, 2)],
        // 12386 is the same: the replica that is nil is read one function further on
        frames: &["(*ReplicaController).CreateInstance", "(*ReplicaController).getDiskNameFromUUID"],
        trigger: |_| Trigger::Possible("any replica start can trigger the bug"),
    }),
    issue!(12311, "v1.10.1-hotfix-2 or v1.10.2", until "shut virtual machines down instead of migrating them live.", [
        read "kubectl -n <namespace> get replicas.longhorn.io -o custom-columns=NAME:.metadata.name,VOLUME:.spec.volumeName,FAILED:.spec.lastFailedAt",
    ], {
        effect: "volumes whose replica failed once cannot migrate",
        harms: Harms::Other,
        // controller/volume_controller.go: isReplicaValidForMigration wants an empty lastFailedAt, which createAndStartMatchingReplicas copies
        ranges: &[(r(1, 9, 3), r(1, 9, 4)), (r(1, 10, 1), hotfix(10, 1, 2))],
        fixed: &[hotfix(10, 1, 2), r(1, 10, 2)],
        frames: &[],
        trigger: |cluster| match cluster.objects.volumes.iter().find_map(|volume| once_failed(cluster, volume)) {
            Some(replica) => Trigger::Met(format!("replica {} of a migratable volume has lastFailedAt set", replica.metadata.name)),
            None => Trigger::Absent,
        },
    }),
    issue!(12573, "v1.11.1", until "use image longhorn-instance-manager:v1.11.0-hotfix-1. Detach and attach the volumes of old instance \
                                    managers soon: they leak while in use.", [
        read "kubectl -n <namespace> get instancemanagers.longhorn.io -o custom-columns=NAME:.metadata.name,NODE:.spec.nodeID,IMAGE:.spec.image",
    ], {
        effect: "instance managers leak memory until OOM-killed",
        harms: Harms::InstanceManagers,
        // the instance manager's image counts, see the trigger; the manager's own code has no part in it
        ranges: &[(r(1, 11, 0), r(1, 11, 1))],
        fixed: &[r(1, 11, 1)],
        frames: &[],
        trigger: leaking_instance_manager,
    }),
    issue!(12578, "v1.11.0-hotfix-1 or v1.11.1", until "keep at least one manager Ready.", [
        read "kubectl -n <namespace> get pods -l app=longhorn-manager -o wide",
    ], {
        effect: "without a Ready manager, updates of Nodes are rejected",
        harms: Harms::Other,
        ranges: &[(r(1, 11, 0), hotfix(11, 0, 1))],
        fixed: &[hotfix(11, 0, 1), r(1, 11, 1)],
        frames: &[],
        trigger: no_ready_manager,
    }),
    issue!(12656, "v1.11.1", until "do not replace all nodes.", [
        read "kubectl get persistentvolumes -o custom-columns=NAME:.metadata.name,AFFINITY:.spec.nodeAffinity",
    ], {
        effect: "new PersistentVolumes exclude nodes that join later",
        harms: Harms::Other,
        // the PersistentVolume lists the nodes of its day (nodeAffinity by kubernetes.io/hostname); v1.11.1 writes none without csi-allowed-topology-keys
        ranges: &[(r(1, 11, 0), r(1, 11, 1))],
        fixed: &[r(1, 11, 1)],
        frames: &[],
        trigger: |cluster| match cluster.objects.volumes.is_empty() {
            true => Trigger::Absent,
            false => Trigger::Possible("PersistentVolumes (not read by this exporter) can keep pods off nodes that join later"),
        },
    }),
    issue!(13087, "v1.11.3", until "set concurrent-replica-rebuild-per-node-limit to 1, and do not evict whole nodes.", [
        read "kubectl -n <namespace> get settings.longhorn.io concurrent-replica-rebuild-per-node-limit",
        change "kubectl -n <namespace> patch settings.longhorn.io concurrent-replica-rebuild-per-node-limit --type merge -p '{\"value\":\"1\"}'",
    ], {
        effect: "many parallel rebuilds can crash an instance manager",
        harms: Harms::InstanceManagers,
        // reported from 1.9.0 on (13713); fixed in the instance managers of 1.10.4, 1.11.3 and 1.12.0
        ranges: &[(r(1, 9, 0), r(1, 10, 4)), (r(1, 11, 0), r(1, 11, 3))],
        fixed: &[r(1, 10, 4), r(1, 11, 3)],
        frames: &[],
        trigger: |_| Trigger::Possible("parallel rebuilds can trigger the bug"),
    }),
    issue!(13245, "v1.11.3", until "delete backups one at a time.", [read "kubectl -n <namespace> get backups.longhorn.io"], {
        effect: "the manager can panic while a backup is deleted",
        harms: Harms::ManagerPanics,
        ranges: &[(r(1, 8, 0), r(1, 11, 3))],
        fixed: &[r(1, 11, 3)],
        frames: &["setInprogressDeletionMap"],
        trigger: |_| Trigger::Possible("any backup deletion can trigger the bug"),
    }),
    issue!(13482, "v1.12.1", until "restart any workload whose log shows EROFS errors.", [
        read "kubectl get nodes -o wide",
    ], {
        effect: "Longhorn does not detect read-only file systems on kernel 6.12 and later",
        harms: Harms::Other,
        // FilesystemReadOnly came with 1.5.5; ext4 says emergency_ro instead of ro
        ranges: &[(r(1, 5, 5), r(1, 11, 4)), (r(1, 12, 0), r(1, 12, 1))],
        fixed: &[r(1, 11, 4), r(1, 12, 1)],
        frames: &[],
        trigger: new_kernel,
    }),
];
