//! Why volumes are not backed up.

use crate::check::causes;

const BACKUPS: &str = "kubectl -n <namespace> get backups.longhorn.io -l backup-volume=<object>";
const TARGETS: &str = "kubectl -n <namespace> get backuptargets.longhorn.io";
const CRON_JOB: &str = "kubectl -n <namespace> describe cronjob <object>";
const JOBS: &str = "kubectl -n <namespace> get jobs,pods -l recurring-job.longhorn.io=<object>";

causes! {
    TARGET_UNAVAILABLE = warning "target_unavailable"
        "Longhorn cannot use a backup target: no backup is taken, restored or deleted there"
        fix "Read the error of target <object> and repair what it names: URL, credentials, network and certificate are the usual reasons. Longhorn asks \
             again every poll interval." [
            read "kubectl -n <namespace> get backuptargets.longhorn.io <object> -o yaml",
            read "kubectl -n <namespace> describe secret <key>",
            read "kubectl -n <namespace> get backups.longhorn.io",
        ]
        way CREDENTIALS_REFUSED "it refuses the credentials"
            fix "The target refuses the credentials, or the secret is missing or lacks a key: compare it with the keys that the object store issued. \
                 Longhorn asks again every poll interval."
        way CLOCKS_DIFFER "its clock and that of the nodes differ"
            fix "Set the clocks of the object store and of the nodes right (NTP): it answers, and refuses requests that are more than 15 minutes off. \
                 Longhorn asks again every poll interval."
        way NO_BUCKET "its bucket does not exist"
            fix "The bucket does not exist: create it, or correct the URL. Longhorn asks again every poll interval."
        way TARGET_NAME_UNKNOWN "its name does not resolve"
            fix "The name of the target does not resolve in the cluster: see DNS. Longhorn asks again every poll interval."
        way CERTIFICATE_REFUSED "its certificate is not trusted"
            fix "The certificate of the target is not trusted: give AWS_CERT in the secret, or renew it. Longhorn asks again every poll interval."
        way SHARE_NOT_MOUNTED "its share cannot be mounted"
            fix "The share cannot be mounted on the node: see that it is exported to every node, the NFS version and the client. Longhorn asks again \
                 every poll interval."
        way TARGET_SILENT "it does not answer over the network"
            fix "The target does not answer over the network: see that it runs, and firewalls and proxies between. Longhorn asks again every poll \
                 interval.";
    BACKUP_STUCK = warning "backup_stuck" "the newest backup of a volume has made no progress for an hour"
        fix "See whether the backup moves at all: the log of the instance manager whose replica is read, and the target. A lock that another cluster \
             or an ended backup holds goes away after a few minutes. Delete the backup only once it is clear that it does not move." [
            read "kubectl -n <namespace> get backups.longhorn.io <backup> -o yaml",
            read BACKUPS,
            read TARGETS,
        ] proven "the backup has made no progress for an hour, and the reader is to see that it does not move; it holds no complete \
             copy";
    BACKUP_FAILED = warning "backup_failed"
        "the newest backup of a volume failed and none has succeeded since"
        fix "Read the error of the backup and repair what it names, then take another backup; the next run of a recurring job does so. The failed one \
             holds no complete copy and can be deleted." [
            read "kubectl -n <namespace> get backups.longhorn.io <backup> -o yaml",
            read BACKUPS,
            read TARGETS,
            change "kubectl -n <namespace> delete backups.longhorn.io <backup>",
        ] proven "the backup has failed, so it holds no complete copy; others are not touched";
    RECURRING_JOB_OVERDUE = warning "recurring_job_overdue"
        "a recurring job has not been started for longer than its schedule ever pauses" but "info while its last run writes a backup"
        fix "See the last Job of CronJob <object>: one that waits or hangs blocks every later run, and deleting it lets the next one start. A CronJob \
             that missed more than a hundred runs is started again by the next change to it." [
            read CRON_JOB,
            read JOBS,
            change "kubectl -n <namespace> delete jobs <workload>",
        ] proven "the Job is the active one of a CronJob that is overdue, and writes no backup"
        way NO_CRON_JOB "it has no CronJob"
            fix "See in the log of the longhorn-manager that owns the recurring job why it makes no CronJob of it." [
                read "kubectl -n <namespace> get recurringjobs.longhorn.io <object> -o yaml",
                read "kubectl -n <namespace> logs -l app=longhorn-manager --prefix --tail=-1 | grep <object>",
            ]
        way JOBS_REFUSED "Kubernetes makes no Job of it"
            fix "Do away with what the Event names: raise the quota or delete Jobs that are done, or start the webhook that does not answer. The CronJob \
                 controller tries again on its own." [read CRON_JOB, read "kubectl -n <namespace> describe resourcequota"];
    RECURRING_JOB_SUSPENDED = info "recurring_job_suspended" "the CronJob of a recurring job is suspended"
        fix "Find out who suspended the job and why. If it should run, resume it." [
            read CRON_JOB,
            change "kubectl -n <namespace> patch cronjob <object> --type merge -p '{\"spec\":{\"suspend\":false}}'",
        ];
    VOLUME_BACKUP_OLD = warning "volume_backup_old"
        "a recurring backup job runs, but the last good backup of volumes is older than two of its runs, or there is none"
        fix "Read the log of the job's last run: it says for each volume why no backup was made. A run that takes longer than its pause never reaches \
             the last volumes: raise its concurrency." [
            read "kubectl -n <namespace> logs -l recurring-job.longhorn.io=<object> --tail=100",
            read "kubectl -n <namespace> get recurringjobs.longhorn.io <object> -o yaml",
            read "kubectl -n <namespace> get backups.longhorn.io",
        ];
    DETACHED_NOT_BACKED_UP = info "detached_not_backed_up"
        "volumes of a recurring backup job are detached, and such jobs skip detached volumes"
        fix "Let recurring jobs attach detached volumes for the time of a backup, unless these volumes are no longer used." [
            read "kubectl -n <namespace> get settings.longhorn.io allow-recurring-job-while-volume-detached",
            change "kubectl -n <namespace> patch settings.longhorn.io allow-recurring-job-while-volume-detached --type merge -p '{\"value\":\"true\"}'",
        ];
}
