//! Its causes.

use crate::check::causes;

causes! {
    EXPANSION_FAILED = warning "expansion_failed"
        "the last expansion of a volume failed, and while its size is not as wanted no replica is rebuilt"
        fix "Do what the error says; Longhorn tries again on its own, at ever longer intervals. Where the claim wants more than the disks hold, \
             add room on the disks of its replicas." [
            read "kubectl -n <namespace> get engines.longhorn.io -l longhornvolume=<volume> -o custom-columns='NAME:.metadata.name,WANTED:.spec.volumeSize,SIZE:.status.currentSize,ERROR:.status.lastExpansionError'",
            read "kubectl -n <namespace> get events --field-selector reason=FailedExpansion",
        ]
        way OVERSIZED "the engine is larger than the volume"
            fix "No one asked for it: the engine of another volume enlarged a replica of this one, and it cannot be cancelled. Take a backup, then expand the \
                 claim to the engine's currentSize: replicas are rebuilt again. Delete no replica that holds data.";
    EXPANSION_STALLED = warning "expansion_stalled"
        "an expansion of a volume has stood still for half an hour"
        fix "See whether the volume is attached and its engine runs: an expansion needs both. The log of the longhorn-manager of <owner> says what it \
             waits for." [
            read "kubectl -n <namespace> get engines.longhorn.io -l longhornvolume=<volume> -o custom-columns='NAME:.metadata.name,STATE:.status.currentState,WANTED:.spec.volumeSize,SIZE:.status.currentSize,EXPANDING:.status.isExpanding'",
            read "kubectl -n <namespace> logs <manager> -c longhorn-manager --since=1h | grep <volume>",
        ];
    RESTORE_FAILED = warning "restore_failed"
        "restoring a backup into a volume fails; a standby volume does not follow its source any longer"
        fix "Read the error: it is the backup target's where it names a URL or credentials. Longhorn tries again on its own. Where the backup itself is \
             damaged, restore another one into a new volume." [
            read "kubectl -n <namespace> get engines.longhorn.io -l longhornvolume=<volume> -o jsonpath='{.items[*].status.restoreStatus}'",
            read "kubectl -n <namespace> get backuptargets.longhorn.io",
        ] proven "the backup is damaged, as the reader is to see; another one goes into a new volume, and nothing is deleted";
    RESTORE_STALLED = warning "restore_stalled"
        "the restore of a backup into a volume has made no progress for an hour"
        fix "See whether the backup target answers, and whether the instance managers of the replicas reach it." [
            read "kubectl -n <namespace> get engines.longhorn.io -l longhornvolume=<volume> -o jsonpath='{.items[*].status.restoreStatus}'",
            read "kubectl -n <namespace> get backuptargets.longhorn.io",
        ];
    PURGE_FAILED = info "purge_failed"
        "removed snapshots of a volume could not be purged; their space is not given back"
        fix "Read the error; the next purge tries again. Where a replica lacks room for the merge, make room on its disk." [
            read "kubectl -n <namespace> get engines.longhorn.io -l longhornvolume=<volume> -o jsonpath='{.items[*].status.purgeStatus}'",
        ];
    PURGE_STALLED = warning "purge_stalled"
        "a purge of removed snapshots has made no progress for an hour; no replica is rebuilt meanwhile"
        fix "Look at the disks of the replicas: a purge is read and write on one disk. If the disk works, detach and attach the volume at the \
             next opportunity, which ends the purge." [
            read "kubectl -n <namespace> get engines.longhorn.io -l longhornvolume=<volume> -o jsonpath='{.items[*].status.purgeStatus}'",
            read "kubectl -n <namespace> get replicas.longhorn.io -l longhornvolume=<volume> -o wide",
        ];
    CLONE_FAILED = warning "clone_failed"
        "the copy of data into a cloned volume failed; the clone cannot be used"
        fix "Read the error. Delete the claim of the clone and create it again once the source is healthy; the source is not affected." [
            read "kubectl -n <namespace> get volumes.longhorn.io <volume> -o jsonpath='{.status.cloneStatus}'",
            read "kubectl -n <namespace> get engines.longhorn.io -l longhornvolume=<volume> -o jsonpath='{.items[*].status.cloneStatus}'",
        ] proven "the clone never got its data; the source is not touched";
    CLONE_STALLED = warning "clone_stalled"
        "the copy of data into a cloned volume has made no progress for an hour"
        fix "See whether the source volume can be attached and has a healthy replica: the copy is read from there." [
            read "kubectl -n <namespace> get volumes.longhorn.io <volume> -o jsonpath='{.spec.dataSource} {.status.cloneStatus}'",
            read "kubectl -n <namespace> get engines.longhorn.io -l longhornvolume=<volume> -o jsonpath='{.items[*].status.cloneStatus}'",
        ];
    SYSTEM_BACKUP_FAILED = warning "system_backup_failed"
        "the newest system backup failed, or a backup of a backing image"
        fix "Read the error and fix what it names; then take another one and delete the failed one." [
            read "kubectl -n <namespace> describe <kind> <object>",
            read "kubectl -n <namespace> get backuptargets.longhorn.io",
        ] proven "the backup has failed, so it holds nothing complete";
    SYSTEM_BACKUP_STALLED = warning "system_backup_stalled"
        "a system backup, or a backup of a backing image, stands still"
        fix "See which part it waits for: backups of volumes may take a day, anything else an hour. The log of the longhorn-manager that owns it says \
             the rest." [
            read "kubectl -n <namespace> describe <kind> <object>",
            read "kubectl -n <namespace> get backups.longhorn.io --sort-by=.metadata.creationTimestamp",
        ];
    SYSTEM_RESTORE_FAILED = warning "system_restore_failed"
        "a system restore failed, so that objects of the system backup may be missing" but "info a day later"
        fix "Read which kind of object it could not restore, and why; fix that, then delete the SystemRestore and create it again." [
            read "kubectl -n <namespace> describe <kind> <object>",
            read "kubectl -n <namespace> get backuptargets.longhorn.io",
        ] proven "the restore has ended; deleting it takes away its record and its Job, and nothing that it brought back";
    SYSTEM_RESTORE_STALLED = warning "system_restore_stalled"
        "a system restore stands still: its Job does not work, or could not restore something for a day"
        fix "Read the log of its pod, which names what it cannot restore. Where it has no pod, no one brings it to an end: see why the Job gave              up, then delete the SystemRestore and create it again." [
            read "kubectl -n <namespace> logs -l job-name=<workload> --tail=50",
            read "kubectl -n <namespace> describe <kind> <object>",
            read "kubectl -n <namespace> describe jobs <workload>",
        ] proven "nothing of it goes on; deleting it takes away its record and its Job, and nothing that it brought back";
    BACKING_IMAGE_STALLED = warning "backing_image_stalled"
        "a backing image has had no usable copy for half an hour and makes no progress; its volumes wait" but "info for one that waits for an upload"
        fix "Look at the pod that prepares it, or at the backing image manager of the disk: where its pod does not start, the pod's Events say why; \
             where it runs, its log does." [
            read "kubectl -n <namespace> describe backingimagedatasources.longhorn.io <backing_image>",
            read "kubectl -n <namespace> get pods -l longhorn.io/component=backing-image-manager -o wide",
            read "kubectl -n <namespace> get events --sort-by=.lastTimestamp | grep backing-image",
        ];
    BACKING_IMAGE_FAILED = warning "backing_image_failed"
        "every copy of a backing image failed, so its volumes cannot be attached"
        fix "Fix what the message names: the source, the network or the disk. Do not delete the image: its volumes hold only what differs from it." [
            read "kubectl -n <namespace> get backingimages.longhorn.io <backing_image> -o yaml",
            read "kubectl -n <namespace> describe backingimagedatasources.longhorn.io <backing_image>",
            read "kubectl -n <namespace> logs -l app=longhorn-manager -c longhorn-manager --tail=2000 | grep <backing_image>",
        ]
        way NEVER_USED "nothing was ever written on it"
            fix "Correct the URL, the checksum or the file. Then delete the claims that wait and backing image <backing_image>, and create them again: a change                  of its spec has no effect. Nothing was ever written on it." [
                read "kubectl -n <namespace> get backingimages.longhorn.io <backing_image> -o yaml",
                change "kubectl -n <namespace> delete backingimages.longhorn.io <backing_image>",
            ] proven "no volume on the image was ever up, so that nothing is written on it";
}
