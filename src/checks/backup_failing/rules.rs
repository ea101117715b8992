//! Alerts and panels.

use super::causes::*;
use super::{BACKUPS, LAST_BACKUP};
use crate::check::*;

pub(super) const ALERTS: &[Alert] = &[
    alert! { "LonghornBackupTargetUnavailable",
        when: When::Found(&[&TARGET_UNAVAILABLE, &TARGET_WITHOUT_URL, &STANDBY_STALE]),
        for_: "10m",
        summary: "A Longhorn backup target is unreachable, has no URL or is not polled.",
        description: "Backup target {{ $labels.object }} is unavailable, has no URL or is not polled. Backups and restores fail, or standby volumes are stale. \
        Read the target's condition Unavailable, then check its URL, poll interval, credentials and network.",
        why: "The check waits for two polls, 5 min apart. The alert waits 10 min more, in case the object store is restarting.",
    },
    alert! { "LonghornBackupFailing",
        when: When::Found(&[&BACKUP_FAILED, &BACKUP_STALLED]),
        for_: "15m",
        summary: "The newest backup of a Longhorn volume has failed or stalled.",
        description: "The newest backup of volume {{ $labels.object }} has failed or stalled. Data written since the volume's last good backup is \
                      unprotected. Read the newest backup's error.",
        why: "Longhorn keeps a failed backup for a day by default. The alert waits 15 min, because a retry may succeed.",
    },
    alert! { "LonghornRecurringJobOverdue",
        when: When::Found(&[&RECURRING_JOB_OVERDUE, &RECURRING_JOB_FORGOTTEN]),
        runbook_only: &[&RECURRING_JOB_SUSPENDED],
        for_: "30m",
        summary: "A Longhorn recurring job is overdue.",
        description: "Recurring job {{ $labels.object }} has missed its schedule, or is suspended. Its volumes get no new snapshots or backups. Check \
                      its CronJob and the last Job: a hanging Job blocks every later run.",
        why: "The check allows for the longest pause between two scheduled runs. The alert waits 30 min more, in case someone just changed the schedule.",
    },
    alert! { "LonghornBackupTooOld",
        when: When::Found(&[&VOLUME_BACKUP_OLD]),
        runbook_only: &[&DETACHED_NOT_BACKED_UP],
        for_: "1h",
        summary: "Volumes of a Longhorn recurring job lack recent backups.",
        description: "Recurring job {{ $labels.object }} runs on schedule, but its last two runs left some volumes without a good backup. These volumes' \
                      newest data is unprotected. Read the last run's log for each volume's reason.",
        why: "Two runs have already left volumes without a good backup. The alert waits 1 h for the current run to finish.",
    },
    alert! { "LonghornVolumeBackupOld",
        when: When::Promql {
            expr: "time() - max without ($without) (longhorn_health_volume_last_backup_timestamp_seconds{$job}) > $age",
            cases: include_str!("LonghornVolumeBackupOld.test.yaml"),
        },
        for_: "1h",
        thresholds: &[Threshold {
            name: "age",
            default: 604_800.0,
            // a younger backup has no series
            least: 86_400.0,
            unit: "seconds",
            is_range: false,
            why: "Most recurring jobs run more than once a week. After a longer gap, it is hard to tell which data is missing.",
        }],
        summary: "The newest good backup of a Longhorn volume is too old.",
        description: "Volume {{ $labels.volume }}{{ with $labels.pvc }} of claim {{ $labels.pvc_namespace }}/{{ . }}{{ end }} has an outdated backup, or lacks \
                      a required backup. Data written since the last good backup is unprotected. Add the volume to a recurring job, or take a backup now.",
        why: "The alert waits 1 h for a backup that is already running to finish.",
    },
];

pub(super) const PANELS: &[Panel] = &[
    Panel {
        dashboard: Dashboard::Storage,
        title: "Incomplete backups",
        description: "Backups that are waiting, in progress or failed. Complete backups are not counted.",
        width: Width::Third,
        no_data: "the exporter cannot read backups.longhorn.io",
        ..Panel::STAT.of(&BACKUPS)
    },
    Panel {
        dashboard: Dashboard::Storage,
        title: "Backups failing",
        description: "Unavailable targets, failed or stalled backups, overdue jobs, and volumes whose last backup is too old.",
        columns: &["severity", "cause", "object_kind", "object"],
        no_data: "all backups are fine, or the exporter is not reporting",
        ..Panel::TABLE.of_findings("backup_failing")
    },
    Panel {
        dashboard: Dashboard::Storage,
        title: "Last good backup",
        description: "Time of each volume's newest good backup, if over a day old or if backups fail. 1970 means that a required backup is missing.",
        unit: Unit::FromNow,
        no_data: "every volume with backups has one from today, or the exporter is not reporting",
        ..Panel::TABLE.of(&LAST_BACKUP)
    },
];
