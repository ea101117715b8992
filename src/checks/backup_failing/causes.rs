//! Why volumes are not backed up.

use crate::check::causes;

causes! {
    TARGET_UNAVAILABLE = warning "target_unavailable"
        "Longhorn cannot reach a backup target: no backup is taken, restored or deleted there";
    BACKUP_STUCK = warning "backup_stuck" "the newest backup of a volume has made no progress for an hour"
        fix "See whether the backup moves at all: the log of the instance manager whose replica is read, and the target. A lock that another cluster \
             or an ended backup holds goes away after a few minutes. Delete the backup only once it is clear that it does not move." [
            read "kubectl -n <namespace> get backups.longhorn.io <backup> -o yaml",
            read "kubectl -n <namespace> get backups.longhorn.io -l backup-volume=<object>",
            read "kubectl -n <namespace> get backuptargets.longhorn.io",
        ];
    BACKUP_FAILED = warning "backup_failed"
        "the newest backup of a volume failed and none has succeeded since"
        fix "Read the error of the backup and repair what it names, then take another backup; the next run of a recurring job does so. The failed one \
             holds no complete copy and can be deleted." [
            read "kubectl -n <namespace> get backups.longhorn.io <backup> -o yaml",
            read "kubectl -n <namespace> get backups.longhorn.io -l backup-volume=<object>",
            read "kubectl -n <namespace> get backuptargets.longhorn.io",
            change "kubectl -n <namespace> delete backups.longhorn.io <backup>",
        ];
    RECURRING_JOB_OVERDUE = warning "recurring_job_overdue"
        "a recurring job has not been started for longer than its schedule ever pauses" but "info while its last run writes a backup";
    RECURRING_JOB_SUSPENDED = info "recurring_job_suspended" "the CronJob of a recurring job is suspended";
    VOLUME_BACKUP_OLD = warning "volume_backup_old"
        "a recurring backup job runs, but the last good backup of volumes is older than two of its runs, or there is none";
    DETACHED_NOT_BACKED_UP = info "detached_not_backed_up"
        "volumes of a recurring backup job are detached, and such jobs skip detached volumes";
}
