//! How long what looks like trouble is normal, by situation: one table, so that checks begin to worry at the same time.

use jiff::SignedDuration;

/// A line each: for how long what is normal, and what that rests on.
macro_rules! patience {
    ($($name:ident $unit:ident $number:literal $normal:literal $rests_on:literal)*) => {$(
        #[doc = $normal]
        #[doc = concat!("\n\nRests on: ", $rests_on)]
        pub const $name: SignedDuration = SignedDuration::$unit($number);
    )*};
}

patience! {
    NODE_AWAY from_mins 5 "a node is away, as in a reboot, and no volume is attached there; where one is, its workloads are stalled, and that is told after 20 s; what runs on a node is away with it: a disk, a CSI pod; a CSI sidecar ends because no plugin listens beside it, and one of the two is new" "recorded: 90 s to 3 min with mounts; Kubernetes moves pods after 5 min (tolerationSeconds 300); the same, and a rollout that takes node after node; the same; seen: ten seconds to a minute"
    NODE_DEAD from_mins 10 "a node is down, and pods and volumes are bound to it" "a reboot takes less, and Kubernetes deletes its pods after 5 min"
    DEFINITE from_mins 1 "what an object refuses by name: a pull, credentials, a bucket, the file of a backing image; a disk with nothing free" "a pull is tried again after 10 to 40 s; a target and its secret are applied one after the other; disks are measured every 30 s"
    LISTENS from_mins 1 "a manager that runs and whose webhooks do not listen yet" "recorded: ten to forty seconds"
    SALVAGE from_mins 1 "a faulted volume is salvaged and attached again by Longhorn" "played: 20 to 40 s"
    NEXT_LOOK from_mins 3 "what a manager does at its next look: a remount, another try to start an engine, a budget or a copy that is let go" "it looks every 30 s; a few tries tell"
    NO_ENDPOINT from_mins 3 "a webhook has no ready endpoint" "the DaemonSet restarts all managers at once (maxUnavailable 100 %)"
    RECONCILE from_mins 5 "what a manager does at once, behind other work: a rebuild begins, a replica is placed, an instance manager goes, spec and status agree" "ten of its looks; the scheduler tries again within seconds"
    STARTED from_mins 5 "an instance manager starts, the driver deployer waits for managers" "seconds, and minutes where an image is pulled or managers queue for the webhook Lease"
    FIRST_START from_mins 10 "an image reaches a node, a manager starts there for the first time" "a pull, 120 s for its own webhook, 120 s for the Service, and a queue before that"
    PLACED from_mins 10 "no disk takes a replica" "placing takes seconds; a node that reboots is back by then"
    APART from_mins 10 "an object and the one it belongs to, or an instance and its object, come and go apart" "seconds to minutes"
    CRON from_mins 10 "a CronJob is late, or not made yet" "the CronJob controller may lag"
    ATTACH from_mins 10 "a volume attaches, detaches, is mounted, or waits for its turn" "seconds to minutes: a slow start of an engine, a device that comes late, an NFS server on its way"
    ASKED from_mins 15 "an attacher has not asked Longhorn, a pod stays Pending beside its volume" "the attacher's back-off is 5 min at most; images may be large"
    DRAIN from_mins 15 "a drain waits for the workloads to leave" "a usual drain"
    MAINTENANCE from_hours 1 "a node is cordoned, and a replica waits for it" "maintenance of a node takes as long"
    NEXT_POD from_mins 3 "an instance manager, or an NFS server, has no pod" "longhorn-manager v1.12.1 controller/utils.go: a back-off of 2 min at most; a failover of NFS takes one to two"
    ROLLOUT from_mins 30 "a rollout of managers, an upgrade of engines, or managers of an old image after it" "a minute or two a node, one after the other"
    AFTER_ROLLOUT from_hours 1 "what managers create from their own image after an upgrade" "longhorn-manager v1.12.1 csi/deployment.go: the deployer waits for the managers"
    PERCENT from_hours 1 "a percent of a copy (backup, restore, clone, purge) (1 h, of more than 720 GB longer: as at 2 MB/s)" "one percent of ten terabytes at 60 MB/s takes half of it; a line of 16 megabits"
    SLOWEST_PERCENT from_hours 12 "the same where nothing but its age tells (12 h a percent, of something small less, 10 min at least)" "one percent of ten terabytes at 2 MB/s; 250 kB/s, a line of two megabits"
    QUICKEST_PERCENT from_mins 10 "a percent of what is small" "what comes before and after the copy"
    FIRST_SIGN from_mins 30 "an expansion or the preparation of a backing image without any progress" "engines grow in seconds, pods start in minutes"
    STANDS from_mins 30 "a rebuild or an eviction without progress" "the slowest rebuilds report some percent an hour; replicas follow each other within minutes"
    REBUILD from_hours 24 "a rebuild" "of the largest volumes"
    DELETION from_hours 1 "a volume, a node or an orphan is deleted" "its files go in seconds to minutes"
    FOLLOWS from_hours 24 "a standby volume gets no new backup, because its target is not asked (or three poll intervals)" "someone may ask by hand, once a day"
    SUSPENDED from_hours 168 "a recurring job is suspended, and its volumes get no backup (or three of its runs)" "a migration or a move of the store takes days"
    ERASED from_hours 24 "a backup is deleted in its store" "thousands of blocks, one after the other, behind the locks of other backups"
    STEP from_mins 90 "a step of a system backup or restore" "an hour each (longhorn-manager v1.12.1 controller/system_backup_controller.go), and a look"
    TRIED_FOR_A_DAY from_hours 25 "the data of a system backup, a kind of objects of a restore" "tried for a day each, and a look"
    RETRY from_mins 10 "Longhorn's next try after an error, or its next question to a backup target" "longhorn-manager v1.12.1 controller/engine_controller.go: a back-off of 5 min at most; targets are asked every 5 min"
}

/// What a copy moves by a slow line, in bytes a second.
pub const SLOW_RATE: i64 = 2_000_000;
/// What a copy moves at the slowest, in bytes a second.
pub const SLOWEST_RATE: i64 = 250_000;
