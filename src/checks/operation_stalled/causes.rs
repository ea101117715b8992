//! Its causes.

use crate::check::causes;
use crate::facts::ways::{KUBELET_SAYS, NOT_STARTED};

const TARGETS: &str = "kubectl -n <namespace> get backuptargets.longhorn.io";
const DESCRIBE: &str = "kubectl -n <namespace> describe <kind> <object>";
const SOURCE: &str = "kubectl -n <namespace> describe backingimagedatasources.longhorn.io <backing_image>";
const IMAGE: &str = "kubectl -n <namespace> get backingimages.longhorn.io <backing_image> -o yaml";

causes! {
    EXPANSION_FAILED = warning "expansion_failed"
        "a volume's last expansion failed, and no replica can be rebuilt until the size is correct"
        fix "Read the engine's lastExpansionError and fix its cause: Longhorn retries automatically, at growing intervals. If space is short, \
             free or add space on the replicas' disks." [
            read "kubectl -n <namespace> get engines.longhorn.io -l longhornvolume=<volume> -o \
                custom-columns='NAME:.metadata.name,WANTED:.spec.volumeSize,SIZE:.status.currentSize,ERROR:.status.lastExpansionError'",
            read "kubectl -n <namespace> get events --field-selector reason=FailedExpansion",
        ]
        way REJECTED "Longhorn rejects the new size"
            fix "Add or expand disks, or move replicas to larger ones, if the error reports too little allocatable space. Kubernetes then retries."
            [read "kubectl -n <namespace> get nodes.longhorn.io -o yaml | grep -E 'storage(Maximum|Reserved|Scheduled|Available)'"]
        way OVERSIZED "the engine's size exceeds the volume's"
            fix "Take a backup. Then expand the claim to the engine's currentSize (this cannot be undone): replicas are then rebuilt. Do not delete a replica \
                 that holds data.";
    EXPANSION_STALLED = warning "expansion_stalled"
        "a volume's expansion has been stalled for half an hour"
        fix "Check that the volume is attached and its engine is running: an expansion needs both. Then read the log of the longhorn-manager on \
             <owner>, which owns the volume." [
            read "kubectl -n <namespace> get engines.longhorn.io -l longhornvolume=<volume> -o \
                custom-columns='NAME:.metadata.name,STATE:.status.currentState,WANTED:.spec.volumeSize,SIZE:.status.currentSize,EXPANDING:.status.isExpanding'",
            read "kubectl -n <namespace> logs <manager> -c longhorn-manager --since=1h | grep <volume>",
        ];
    RESTORE_FAILED = warning "restore_failed"
        "restoring a backup into a volume fails (a standby volume no longer follows its source)"
        fix "Read the engine's restoreStatus. If its error names a URL or credentials, correct the backup target: \
             Longhorn retries. If the backup is damaged, restore another backup into a new volume." [
            read "kubectl -n <namespace> get engines.longhorn.io -l longhornvolume=<volume> -o jsonpath='{.items[*].status.restoreStatus}'",
            read TARGETS,
        ] proven "the fix asks for a damaged backup; another one is restored into a new volume, and nothing is deleted"
        way NOT_ATTACHING "probably its fromBackup names a deleted backup"
            fix "Check that backup <backup> exists. If not, set spec.fromBackup of volume <volume> to an existing backup of the same \
                 source. Until then, Longhorn's webhook rejects all other changes, even deletion." [
                read "kubectl -n <namespace> get backups.longhorn.io <backup>",
                change "kubectl -n <namespace> patch volumes.longhorn.io <volume> --type merge -p '{\"spec\":{\"fromBackup\":\"<value>\"}}'",
            ];
    RESTORE_STALLED = warning "restore_stalled"
        "restoring a backup into a volume has been stalled for an hour"
        fix "Check that the backup target is available. Then check that the instance managers of the volume's replicas can reach the target's URL." [
            read "kubectl -n <namespace> get engines.longhorn.io -l longhornvolume=<volume> -o jsonpath='{.items[*].status.restoreStatus}'",
            read TARGETS,
        ];
    PURGE_FAILED = info "purge_failed"
        "a volume's removed snapshots could not be purged, so their space is not reclaimed"
        fix "<known_error>Read the error in the engine's purgeStatus and fix its cause. Merging snapshots needs free space on the replica's disk. The next \
             purge retries." [
            read "kubectl -n <namespace> get engines.longhorn.io -l longhornvolume=<volume> -o jsonpath='{.items[*].status.purgeStatus}'",
        ]
        way CUT_OFF "the engine could not reach the replica"
            fix "Restore the network between the engine and its replica: the next purge then retries. Disk space is not the cause.";
    PURGE_STALLED = warning "purge_stalled"
        "a purge of removed snapshots has been stalled for an hour, and blocks all replica rebuilds"
        fix "Check the replicas' disks for errors: a purge reads and writes there. If they work, detach and attach the volume at the next \
             opportunity: that ends the purge." [
            read "kubectl -n <namespace> get engines.longhorn.io -l longhornvolume=<volume> -o jsonpath='{.items[*].status.purgeStatus}'",
            read "kubectl -n <namespace> get replicas.longhorn.io -l longhornvolume=<volume> -o wide",
        ];
    CLONE_FAILED = warning "clone_failed"
        "copying data into a clone failed, so the clone cannot be used"
        fix "<known_error>Read the clone engine's error and fix its cause. Once the source volume is healthy, delete and recreate the clone's claim: this does \
             not affect the source." [
            read "kubectl -n <namespace> get volumes.longhorn.io <volume> -o jsonpath='{.status.cloneStatus}'",
            read "kubectl -n <namespace> get engines.longhorn.io -l longhornvolume=<volume> -o jsonpath='{.items[*].status.cloneStatus}'",
        ] proven "the clone never got its data; the source is not touched";
    CLONE_STALLED = warning "clone_stalled"
        "copying data into a clone has been stalled for an hour"
        fix "Check that the source volume can attach and has a healthy replica: the clone's data is copied from that replica." [
            read "kubectl -n <namespace> get volumes.longhorn.io <volume> -o jsonpath='{.spec.dataSource} {.status.cloneStatus}'",
            read "kubectl -n <namespace> get engines.longhorn.io -l longhornvolume=<volume> -o jsonpath='{.items[*].status.cloneStatus}'",
        ];
    SYSTEM_BACKUP_FAILED = warning "system_backup_failed"
        "the newest system backup, or the newest backup of a backing image, failed"
        fix "<known_error>Check the failed backup's error and fix its cause. Then take another backup and delete the failed one."
            [read DESCRIBE, read TARGETS] proven "the backup has failed, so it holds nothing complete";
    SYSTEM_BACKUP_STALLED = warning "system_backup_stalled"
        "a system backup, or a backup of a backing image, has stalled"
        fix "Read the backup's state to find the unfinished part. Volume backups can take a day, other parts an hour. Then read the log \
             of the longhorn-manager that owns the backup."
            [read DESCRIBE, read "kubectl -n <namespace> get backups.longhorn.io --sort-by=.metadata.creationTimestamp"];
    SYSTEM_RESTORE_FAILED = warning "system_restore_failed"
        "a system restore failed, so objects of the system backup may be missing" but "info a day later"
        fix "Read the SystemRestore's Error condition, which names the failed kind and the cause. Fix the cause. Then delete and recreate the \
             SystemRestore."
            [read DESCRIBE, read TARGETS] proven "the restore has ended; deleting it removes its record and its Job, but nothing that it restored";
    SYSTEM_RESTORE_STALLED = warning "system_restore_stalled"
        "a system restore has stalled: its Job is not running, or has been failing for a day"
        fix "Read the restore Job's log (its Events if it has no pod): it shows which object cannot be restored. Then fix that object, and \
             recreate the SystemRestore." [
            read "kubectl -n <namespace> logs -l job-name=<workload> --tail=50",
            read DESCRIBE,
            read "kubectl -n <namespace> describe jobs <workload>",
        ] proven "the restore has stopped; deleting it removes its record and its Job, but nothing that it restored";
    BACKING_IMAGE_STALLED = warning "backing_image_stalled"
        "a backing image has had no usable copy for half an hour, so its volumes cannot attach" but "info while it waits for an upload"
        fix "Find the pod that prepares backing image <backing_image>, or its disk's backing image manager pod. If the pod has not started, \
             read its Events. Otherwise read its log." [
            read SOURCE,
            read "kubectl -n <namespace> get pods -l longhorn.io/component=backing-image-manager -o wide",
            read "kubectl -n <namespace> get events --sort-by=.lastTimestamp | grep backing-image",
        ]
        ways KUBELET_SAYS ways NOT_STARTED;
    BACKING_IMAGE_FAILED = warning "backing_image_failed"
        "every copy of a backing image failed, so the image's volumes cannot attach"
        fix "<known_error>Read the status message of backing image <backing_image> and fix its cause (source, network \
             or disk). Do not delete the image: its volumes hold only the differences from it."
            [read IMAGE, read SOURCE, read "kubectl -n <namespace> logs -l app=longhorn-manager -c longhorn-manager --tail=2000 | grep <backing_image>"]
        way NEVER_USED "no data was ever written to it"
            fix "Correct the URL, checksum or file for backing image <backing_image>. Then delete and recreate the image and the waiting claims: \
                 they never held data. Changing its spec has no effect."
                [read IMAGE, change "kubectl -n <namespace> delete backingimages.longhorn.io <backing_image>"]
                proven "no volume on the image was ever up, so no data is written on it"
        way NO_SOURCE "the node cannot reach the image's source"
            fix "Make sure that pods on <node> can reach the image's source. Check DNS, firewall and proxy (no-proxy must list the cluster's networks). \
                 Longhorn then fetches the image again."
                [read SOURCE, read "kubectl -n <namespace> logs -l app=longhorn-manager -c longhorn-manager --tail=2000 | grep <backing_image>"];
}
