//! What keeps a recurring job from its next run: the pod of the present one waits for its backups, and its CronJob forbids a second
//! beside it (longhorn-manager v1.6.2 app/recurring_job.go doRecurringBackup).

use crate::check::{Follows, Same};

/// Relations to other causes.
pub const FOLLOWS: &[Follows] = &[Follows::caused_by(
    &["recurring_job_overdue"],
    &["backup_failing/backup_stuck"],
    Same::Volume,
    "recurring job overdue",
)];
