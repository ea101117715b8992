//! Why volumes are not backed up.

use crate::check::Cause;

pub const TARGET_UNAVAILABLE: Cause = Cause::warning(
    "target_unavailable",
    "Longhorn cannot reach a backup target: no backup is taken, restored or deleted there",
);
pub const BACKUP_STUCK: Cause =
    Cause::warning("backup_stuck", "the newest backup of a volume has made no progress for an hour");
pub const BACKUP_FAILED: Cause =
    Cause::warning("backup_failed", "the newest backup of a volume failed and none has succeeded since");
pub const RECURRING_JOB_OVERDUE: Cause = Cause::warning(
    "recurring_job_overdue",
    "a recurring job has not been started for longer than its schedule ever pauses",
);
pub const RECURRING_JOB_SUSPENDED: Cause =
    Cause::info("recurring_job_suspended", "the CronJob of a recurring job is suspended");
pub const VOLUME_BACKUP_OLD: Cause = Cause::warning(
    "volume_backup_old",
    "a recurring backup job runs, but the last good backup of volumes is older than two of its runs, or there is none",
);
pub const DETACHED_NOT_BACKED_UP: Cause = Cause::info(
    "detached_not_backed_up",
    "volumes of a recurring backup job are detached, and such jobs skip detached volumes",
);

pub const ALL: &[&Cause] = &[
    &TARGET_UNAVAILABLE,
    &BACKUP_STUCK,
    &BACKUP_FAILED,
    &RECURRING_JOB_OVERDUE,
    &RECURRING_JOB_SUSPENDED,
    &VOLUME_BACKUP_OLD,
    &DETACHED_NOT_BACKED_UP,
];
