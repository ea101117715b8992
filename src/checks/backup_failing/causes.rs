//! Why volumes are not backed up.

use crate::check::{BY_ITS_TARGET, causes, ways};
use crate::facts::ways::{KUBELET_SAYS, NOT_STARTED, REFUSED, UNRESOLVED};

const BACKUPS: &str = "kubectl -n <namespace> get backups.longhorn.io -l backup-volume=<object>";
const TARGETS: &str = "kubectl -n <namespace> get backuptargets.longhorn.io";
const CRON_JOB: &str = "kubectl -n <namespace> describe cronjob <object>";
const RESUME: &str =
    "kubectl -n <namespace> patch cronjob <object> --type merge -p '{\"spec\":{\"suspend\":false}}'";
const JOBS: &str = "kubectl -n <namespace> get jobs,pods -l recurring-job.longhorn.io=<object>";

// What the store itself rejects, of a target or of one backup.
ways! { STORE:
    STORE_FULL "the backup store is full"
        fix "Make room in the backup store, or raise its quota: it rejects every write. Then take another backup.";
    REQUESTS_LIMITED "the provider's request limit is reached"
        fix "Raise the storage provider's limit or cap, or wait until it resets. Set the target's pollInterval (backupstore-poll-interval before 1.8) to 300 s \
             or more. Do not change the credentials.";
    ACCOUNT_BLOCKED "the provider has blocked the account"
        fix "Check the storage provider's console: the account is suspended, or a bill is unpaid. Do not change the credentials. Longhorn retries every \
             poll interval.";
}

causes! {
    TARGET_UNAVAILABLE = warning "target_unavailable"
        "Longhorn cannot use a backup target, so no backup on it can be taken, restored or deleted", changed_by: BY_ITS_TARGET
        fix "Read backup target <object>'s error. Then correct the backup target's URL, credentials, network or certificate: Longhorn retries every poll \
             interval." [
            read "kubectl -n <namespace> get backuptargets.longhorn.io <object> -o yaml",
            read "kubectl -n <namespace> describe secret <key>",
            read "kubectl -n <namespace> get backups.longhorn.io",
        ]
        way SECRET_MISSING "its Secret is missing"
            fix "Create Secret <key> again in Longhorn's namespace with the target's keys. Exclude the Secret from the tool that deleted \
                 it (GitOps pruning, a secret store). Longhorn retries every poll interval."
            [read "kubectl get secrets -A --field-selector metadata.name=<key>", read TARGETS]
        way CREDENTIALS_REFUSED "it rejects the credentials"
            fix "Check the backup target's Secret: it is missing, lacks a key, or holds keys that the target rejects. Compare its keys with the object \
                 store's. Longhorn retries every poll interval."
        way CLOCKS_DIFFER "its clock differs from the nodes' clocks"
            fix "Correct the clocks of the object store and the nodes (NTP). The store rejects requests that are more than 15 minutes off. Longhorn \
                 retries every poll interval."
        way NO_INSTANCE_MANAGER "no running instance manager was found"
            fix "Bring back the instance manager of the node named in the backup target's error. Longhorn reaches targets through instance managers. The \
                 target itself may be fine."
            [read "kubectl -n <namespace> get instancemanagers.longhorn.io -o wide"]
        way NO_SCHEME "its endpoint has no scheme"
            fix "Set AWS_ENDPOINTS in the target's Secret to a URL with https:// or http://. Longhorn retries every poll interval."
        way NO_BUCKET "its bucket does not exist"
            fix "Create the backup target's bucket, or correct the target's URL. Longhorn retries every poll interval."
        way TARGET_NAME_UNKNOWN "its name does not resolve"
            fix "Make the target's host name resolve in the cluster: check the target's URL and cluster DNS. Longhorn retries every poll interval."
        way OTHER_SERVER_ANSWERS "a different server answers at its address"
            fix "Look up the backup target's host name from a pod. Check for a search domain's wildcard record, a proxy or a wrong endpoint. Do not trust the \
                 answering server's certificate." [
                read "kubectl -n <namespace> exec <manager> -c longhorn-manager -- cat /etc/resolv.conf",
                read "kubectl -n <namespace> get backuptargets.longhorn.io <object> -o yaml",
            ]
        way CERTIFICATE_REFUSED "its certificate is not trusted"
            fix "Add the backup target's certificate to its Secret as AWS_CERT, or renew the certificate if it has expired. Longhorn retries every poll \
                 interval."
        way NFS_VERSION_REFUSED "its server rejects NFSv4"
            fix "Make the backup target's server accept NFSv4, or add the required options to the URL (?nfsOptions=...). Then repeat the failed backups. Do \
                 not change the URL's server or path."
            [read TARGETS]
        way SHARE_NOT_MOUNTED "its share cannot be mounted"
            fix "Check that the backup target's share is exported to every node. Then check the NFS version and the nodes' NFS client. Longhorn retries every \
                 poll interval."
        way TARGET_SILENT "it is not answering over the network"
            fix "Check that the backup target is running. Then check NetworkPolicies' egress rules in Longhorn's namespace, firewalls and proxies between the \
                 nodes and the target. Longhorn retries every poll interval." [
                read "kubectl -n <namespace> get backuptargets.longhorn.io <object> -o yaml",
                read "kubectl -n <namespace> get networkpolicies -o yaml",
            ]
        way UNHEARD "its sync keeps failing"
            fix "Find the reason in the managers' log: the backup target's status does not show it. Usually, Secret <key> with the target's credentials is \
                 missing."
            [read "kubectl -n <namespace> logs -l app=longhorn-manager --prefix --since=1h | grep 'Failed to sync Longhorn backup target'"]
        ways UNRESOLVED ways STORE;
    STANDBY_STALE = warning "standby_stale" "standby volumes get no new backups, because their target has not been polled for a day",
        changed_by: BY_ITS_TARGET
        fix "Set pollInterval of backup target <object> to 300 s (before 1.8, setting backupstore-poll-interval). Do not activate a standby volume \
             before it has caught up." [
            read "kubectl -n <namespace> get backuptargets.longhorn.io <object> -o yaml",
            read "kubectl -n <namespace> logs -l app=longhorn-manager --prefix --tail=-1 | grep backup-store-timer",
        ];
    TARGET_WITHOUT_URL = warning "target_without_url" "recurring jobs back up volumes to a target that has no URL, so nothing is ever backed up",
        changed_by: BY_ITS_TARGET
        fix "Set the URL and credential of backup target <object>. Then take one backup of each volume. If you want no backups, delete the recurring backup \
             jobs." [
            read "kubectl -n <namespace> get backuptargets.longhorn.io <object> -o yaml",
            read "kubectl -n <namespace> get recurringjobs.longhorn.io",
            read "kubectl -n <namespace> get backups.longhorn.io",
        ] proven "a recurring job without a target has made no backup; deleting it deletes no data";
    BACKUP_STALLED = warning "backup_stalled" "the newest backup of a volume has made no progress for an hour"
        fix "Check in the instance manager's log whether the backup is progressing. Locks held by other clusters or finished backups expire within \
             minutes. Delete the backup only if it has stalled."
            [read "kubectl -n <namespace> get backups.longhorn.io <backup> -o yaml", read BACKUPS, read TARGETS]
            proven "the backup has made no progress for an hour, and the fix asks to check that it has stalled, and it holds no complete copy";
    BACKUP_FAILED = warning "backup_failed"
        "the newest backup of a volume failed, and none has succeeded since"
        fix "<known_error>Find the error in the failed backup's status and correct its cause. Then take another backup, or wait for the recurring job. You can \
             delete the failed, incomplete backup." [
            read "kubectl -n <namespace> get backups.longhorn.io <backup> -o yaml",
            read BACKUPS,
            read TARGETS,
            change "kubectl -n <namespace> delete backups.longhorn.io <backup>",
        ] proven "the backup has failed, so it holds no complete copy; others are not touched"
        way CLOCK_WRONG "a node's clock is wrong"
            fix "Correct the clocks (chrony, NTP) of node <node> and of the volume's replica nodes. The object store rejects requests that are over 15 \
                 minutes off. Then take another backup."
        way STORE_CLAIM_FULL "the backup store's own claim is full"
            fix "Expand claim <claim>, which probably holds the backup store. Then take another backup. Do not delete objects in the store by hand: \
                 Longhorn's backups share them."
            [read "kubectl -n <namespace> get volumes.longhorn.io", read TARGETS]
        way NODE_NOT_EXPORTED "the NFS server rejects mounts from one node"
            fix "Allow <node> in the NFS server's export: the server rejects the node's address. Then take another backup. Do not change the backup \
                 target: the server rejects only this node."
            [read "kubectl get node <node> -o wide", read BACKUPS, read TARGETS]
        way SNAPSHOT_DELETED "a recurring job deleted the snapshot"
            fix "Remove the volume from recurring job <workload>, or raise the job's retain: it removes snapshots before their backup."
            [read "kubectl -n <namespace> get recurringjobs.longhorn.io", read BACKUPS]
        ways STORE;
    RECURRING_JOB_OVERDUE = warning "recurring_job_overdue"
        "a recurring job has missed its schedule, or every run fails"
        but "info while its last run is writing a backup"
        fix "Delete CronJob <object>'s last Job if that Job is hanging: it blocks every later run. If more than 100 runs were missed, \
             change the recurring job's schedule in Longhorn."
            [read CRON_JOB, read JOBS, change "kubectl -n <namespace> delete jobs <workload>"]
            proven "the Job is the active one of an overdue CronJob, and writes no backup"
        way SIDECAR_RUNS "a sidecar in its pod never exits"
            fix "Exclude Longhorn's namespace from sidecar injection. Then delete Job <workload>: its own container has exited, but the sidecar keeps it \
                 active and blocks every later run." [
                read "kubectl -n <namespace> get pod <pod> -o \
                    custom-columns='CONTAINERS:.status.containerStatuses[*].name,STATES:.status.containerStatuses[*].state'",
                read "kubectl get namespace <namespace> --show-labels",
                change "kubectl -n <namespace> delete jobs <workload>",
            ] proven "the job's own container has ended, and writes no backup"
        way NO_CRON_JOB "its CronJob is missing"
            fix "Read the log of the longhorn-manager that owns the recurring job: that manager should have created the CronJob." [
                read "kubectl -n <namespace> get recurringjobs.longhorn.io <object> -o yaml",
                read "kubectl -n <namespace> logs -l app=longhorn-manager --prefix --tail=-1 | grep <object>",
            ]
        way RUNS_FAIL "its last two runs failed"
            fix "Read the log of the recurring job's last run, and correct the cause that it shows for each volume."
                [read "kubectl -n <namespace> logs -l recurring-job.longhorn.io=<object> --tail=100", read JOBS]
        way JOBS_REFUSED "Kubernetes cannot create its Job"
            fix "Read the CronJob's Event to find the cause. Then raise the namespace's ResourceQuota, delete finished Jobs, or start the webhook that is not \
                 answering. The CronJob controller retries automatically." [read CRON_JOB, read "kubectl -n <namespace> describe resourcequota"]
        way PODS_REFUSED "Kubernetes rejects its Job's pods"
            fix "Read the Job's Event. Then exempt Longhorn's namespace from the policy, raise the quota, or start the webhook that is not \
                 answering. Kubernetes then creates the pod within minutes." [read "kubectl -n <namespace> describe job <workload>", read CRON_JOB]
        ways KUBELET_SAYS ways NOT_STARTED ways REFUSED;
    RECURRING_JOB_SUSPENDED = info "recurring_job_suspended" "the CronJob of a recurring job is suspended"
        fix "Find out who suspended the recurring job and why. If it should run, set suspend to false in its CronJob." [read CRON_JOB, change RESUME];
    RECURRING_JOB_FORGOTTEN = warning "recurring_job_forgotten"
        "a backup job has been suspended for over a week, and its volumes missed three backups"
        fix "Set suspend to false in the job's CronJob, unless someone suspended it for work in progress. Longhorn never resumes it automatically. Then take a \
             backup of each volume." [read CRON_JOB, change RESUME];
    VOLUME_BACKUP_OLD = warning "volume_backup_old"
        "a recurring backup job runs on schedule, but its last two runs left volumes without a good backup"
        fix "Read the log of the recurring job's last run, and correct the cause shown for each volume. If a run takes longer than its schedule allows, raise \
             the job's concurrency." [
            read "kubectl -n <namespace> logs -l recurring-job.longhorn.io=<object> --tail=100",
            read "kubectl -n <namespace> get recurringjobs.longhorn.io <object> -o yaml",
            read "kubectl -n <namespace> get backups.longhorn.io",
        ];
    DETACHED_NOT_BACKED_UP = info "detached_not_backed_up"
        "a recurring backup job skips volumes because they are detached"
        fix "Set allow-recurring-job-while-volume-detached to true: recurring jobs then attach detached volumes to \
             back them up. If these volumes are no longer used, do nothing." [
            read "kubectl -n <namespace> get settings.longhorn.io allow-recurring-job-while-volume-detached",
            change "kubectl -n <namespace> patch settings.longhorn.io allow-recurring-job-while-volume-detached --type merge -p '{\"value\":\"true\"}'",
        ];
}
