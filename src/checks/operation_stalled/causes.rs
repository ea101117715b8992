//! Its causes.

use crate::check::causes;
use crate::facts::ways::NOT_STARTED;

causes! {
    EXPANSION_FAILED = warning "expansion_failed"
        "the last expansion of a volume failed, and no replica can be rebuilt until its size is correct"
        fix "Fix what the error names; Longhorn retries automatically, at growing intervals. If the claim wants more than the disks hold, add room \
             on its replicas' disks." [
            read "kubectl -n <namespace> get engines.longhorn.io -l longhornvolume=<volume> -o custom-columns='NAME:.metadata.name,WANTED:.spec.volumeSize,SIZE:.status.currentSize,ERROR:.status.lastExpansionError'",
            read "kubectl -n <namespace> get events --field-selector reason=FailedExpansion",
        ]
        way OVERSIZED "the engine is larger than the volume"
            fix "Take a backup, then expand the claim to the engine's currentSize: replicas are then rebuilt. It cannot be cancelled. Do not delete a \
                 replica that holds data.";
    EXPANSION_STALLED = warning "expansion_stalled"
        "a volume's expansion has stalled for half an hour"
        fix "Check that the volume is attached and its engine runs: an expansion needs both. Then read the log of <owner>'s longhorn-manager for \
             what it waits for." [
            read "kubectl -n <namespace> get engines.longhorn.io -l longhornvolume=<volume> -o custom-columns='NAME:.metadata.name,STATE:.status.currentState,WANTED:.spec.volumeSize,SIZE:.status.currentSize,EXPANDING:.status.isExpanding'",
            read "kubectl -n <namespace> logs <manager> -c longhorn-manager --since=1h | grep <volume>",
        ];
    RESTORE_FAILED = warning "restore_failed"
        "restoring a backup into a volume fails; a standby volume no longer follows its source"
        fix "Read the error: a URL or credentials point to the backup target. Longhorn retries automatically. If the backup is damaged, restore \
             another one into a new volume." [
            read "kubectl -n <namespace> get engines.longhorn.io -l longhornvolume=<volume> -o jsonpath='{.items[*].status.restoreStatus}'",
            read "kubectl -n <namespace> get backuptargets.longhorn.io",
        ] proven "the fix asks for a damaged backup; another one is restored into a new volume, and nothing is deleted";
    RESTORE_STALLED = warning "restore_stalled"
        "the restore of a backup into a volume has stalled for an hour"
        fix "Check that the backup target answers, and that the replicas' instance managers reach it." [
            read "kubectl -n <namespace> get engines.longhorn.io -l longhornvolume=<volume> -o jsonpath='{.items[*].status.restoreStatus}'",
            read "kubectl -n <namespace> get backuptargets.longhorn.io",
        ];
    PURGE_FAILED = info "purge_failed"
        "removed snapshots of a volume could not be purged, so their space is not reclaimed"
        fix "Read the error; the next purge retries. If a replica lacks room for the merge, free space on its disk." [
            read "kubectl -n <namespace> get engines.longhorn.io -l longhornvolume=<volume> -o jsonpath='{.items[*].status.purgeStatus}'",
        ]
        way CUT_OFF "its replica could not be reached"
            fix "Wait until the engine reaches the replica again: the next purge retries. No disk lacks room for it.";
    PURGE_STALLED = warning "purge_stalled"
        "a purge of removed snapshots has stalled for an hour, and no replica can be rebuilt meanwhile"
        fix "Check the replicas' disks: a purge reads and writes on one. If they work, detach and attach the volume at the next opportunity: that ends \
             the purge." [
            read "kubectl -n <namespace> get engines.longhorn.io -l longhornvolume=<volume> -o jsonpath='{.items[*].status.purgeStatus}'",
            read "kubectl -n <namespace> get replicas.longhorn.io -l longhornvolume=<volume> -o wide",
        ];
    CLONE_FAILED = warning "clone_failed"
        "copying data into a cloned volume failed, so the clone cannot be used"
        fix "Read the error. Delete the claim of the clone and create it again once the source is healthy; the source is not affected." [
            read "kubectl -n <namespace> get volumes.longhorn.io <volume> -o jsonpath='{.status.cloneStatus}'",
            read "kubectl -n <namespace> get engines.longhorn.io -l longhornvolume=<volume> -o jsonpath='{.items[*].status.cloneStatus}'",
        ] proven "the clone never got its data; the source is not touched";
    CLONE_STALLED = warning "clone_stalled"
        "copying data into a cloned volume has stalled for an hour"
        fix "Check that the source volume can attach and has a healthy replica: the data is copied from there." [
            read "kubectl -n <namespace> get volumes.longhorn.io <volume> -o jsonpath='{.spec.dataSource} {.status.cloneStatus}'",
            read "kubectl -n <namespace> get engines.longhorn.io -l longhornvolume=<volume> -o jsonpath='{.items[*].status.cloneStatus}'",
        ];
    SYSTEM_BACKUP_FAILED = warning "system_backup_failed"
        "the newest system backup failed, or the newest backup of a backing image"
        fix "Read the error and fix what it names. Then take another backup and delete the failed one." [
            read "kubectl -n <namespace> describe <kind> <object>",
            read "kubectl -n <namespace> get backuptargets.longhorn.io",
        ] proven "the backup has failed, so it holds nothing complete";
    SYSTEM_BACKUP_STALLED = warning "system_backup_stalled"
        "a system backup, or a backup of a backing image, has stalled"
        fix "Find out which part it waits for: backups of volumes may take a day, anything else an hour. Then read the log of the longhorn-manager \
             that owns it." [
            read "kubectl -n <namespace> describe <kind> <object>",
            read "kubectl -n <namespace> get backups.longhorn.io --sort-by=.metadata.creationTimestamp",
        ];
    SYSTEM_RESTORE_FAILED = warning "system_restore_failed"
        "a system restore failed, so that objects of the system backup may be missing" but "info a day later"
        fix "Read which kind of object it could not restore, and why. Fix that, then delete the SystemRestore and create it again." [
            read "kubectl -n <namespace> describe <kind> <object>",
            read "kubectl -n <namespace> get backuptargets.longhorn.io",
        ] proven "the restore has ended; deleting it removes its record and its Job, but nothing that it restored";
    SYSTEM_RESTORE_STALLED = warning "system_restore_stalled"
        "a system restore has stalled: its Job does not work, or could not restore something for a day"
        fix "Read its pod's log, which names what it cannot restore. If it has no pod, find out why the Job ended, then delete and recreate the \
             SystemRestore." [
            read "kubectl -n <namespace> logs -l job-name=<workload> --tail=50",
            read "kubectl -n <namespace> describe <kind> <object>",
            read "kubectl -n <namespace> describe jobs <workload>",
        ] proven "it has stopped; deleting it removes its record and its Job, but nothing that it restored";
    BACKING_IMAGE_STALLED = warning "backing_image_stalled"
        "a backing image has had no usable copy for half an hour and makes no progress, so its volumes wait" but "info for one that waits for an upload"
        fix "Check the pod that prepares it, or the backing image manager of the disk: read the pod's Events if it does not start, its log if it \
             runs." [
            read "kubectl -n <namespace> describe backingimagedatasources.longhorn.io <backing_image>",
            read "kubectl -n <namespace> get pods -l longhorn.io/component=backing-image-manager -o wide",
            read "kubectl -n <namespace> get events --sort-by=.lastTimestamp | grep backing-image",
        ]
        ways NOT_STARTED;
    BACKING_IMAGE_FAILED = warning "backing_image_failed"
        "every copy of a backing image failed, so its volumes cannot be attached"
        fix "Fix what the message names: the source, the network or the disk. Do not delete the image: its volumes hold only what differs from it." [
            read "kubectl -n <namespace> get backingimages.longhorn.io <backing_image> -o yaml",
            read "kubectl -n <namespace> describe backingimagedatasources.longhorn.io <backing_image>",
            read "kubectl -n <namespace> logs -l app=longhorn-manager -c longhorn-manager --tail=2000 | grep <backing_image>",
        ]
        way NEVER_USED "nothing was ever written on it"
            fix "Correct the URL, checksum or file. Then delete the waiting claims and backing image <backing_image>, and create them again: changing \
                 its spec has no effect. It never held data." [
                read "kubectl -n <namespace> get backingimages.longhorn.io <backing_image> -o yaml",
                change "kubectl -n <namespace> delete backingimages.longhorn.io <backing_image>",
            ] proven "no volume on the image was ever up, so that nothing is written on it"
        way NO_SOURCE "its source cannot be reached"
            fix "Make the source reachable for pods on node <node>: DNS, firewall, or the proxy (with the cluster's networks in no-proxy). Longhorn \
                 then fetches it again." [
                read "kubectl -n <namespace> describe backingimagedatasources.longhorn.io <backing_image>",
                read "kubectl -n <namespace> logs -l app=longhorn-manager -c longhorn-manager --tail=2000 | grep <backing_image>",
            ];
}
