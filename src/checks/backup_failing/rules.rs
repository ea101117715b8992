//! Alerts and panels.

use super::causes::*;
use super::{BACKUPS, LAST_BACKUP};
use crate::check::*;

pub(super) const ALERTS: &[Alert] = &[
    Alert {
        name: "LonghornBackupTargetUnavailable",
        when: When::Found(&[&TARGET_UNAVAILABLE]),
        for_: "10m",
        summary: "A Longhorn backup target is unreachable.",
        description: "Backup target {{ $labels.object }} does not answer. No backup is taken, restored or deleted there. \
                      Read the error in its condition Unavailable, then check URL, credentials, network and certificate.",
        why: "The finding allows two polls of five minutes; ten more outlast the restart of an object store.",
        runbook: include_str!("LonghornBackupTargetUnavailable.md"),
        ..Alert::DEFAULT
    },
    Alert {
        name: "LonghornBackupFailing",
        when: When::Found(&[&BACKUP_FAILED, &BACKUP_STUCK]),
        for_: "15m",
        summary: "The newest backup of a Longhorn volume has failed or stalled.",
        description: "The newest backup of volume {{ $labels.object }} has failed or makes no progress. Data written since \
                      its last good backup is in no backup. Read the error of that backup.",
        why: "A failed backup stays for a day by default, so a quarter of an hour is enough to let a retry succeed first.",
        runbook: include_str!("LonghornBackupFailing.md"),
        ..Alert::DEFAULT
    },
    Alert {
        name: "LonghornRecurringJobOverdue",
        when: When::Found(&[&RECURRING_JOB_OVERDUE]),
        runbook_only: &[&RECURRING_JOB_SUSPENDED],
        for_: "30m",
        summary: "A Longhorn recurring job is overdue.",
        description: "Recurring job {{ $labels.object }} has not run for longer than any pause in its schedule. Its volumes get no new snapshots or \
                      backups. Read the last Job of its CronJob: one that hangs blocks every later run.",
        why: "The finding allows for the longest pause of the schedule; half an hour more lets a schedule that was just changed start.",
        runbook: include_str!("LonghornRecurringJobOverdue.md"),
        ..Alert::DEFAULT
    },
    Alert {
        name: "LonghornBackupTooOld",
        when: When::Found(&[&VOLUME_BACKUP_OLD]),
        runbook_only: &[&DETACHED_NOT_BACKED_UP],
        for_: "1h",
        summary: "Volumes of a Longhorn recurring job lack a fresh backup.",
        description: "Recurring job {{ $labels.object }} runs, but some of its volumes have no good backup from its last two runs. Their newest \
                      data is in no backup. Read the log of its last run; longhorn_health_volume_last_backup_timestamp_seconds names the volumes.",
        why: "Two runs have been missed already; an hour more lets the one that is under way end.",
        runbook: include_str!("LonghornBackupTooOld.md"),
        ..Alert::DEFAULT
    },
    Alert {
        name: "LonghornVolumeBackupOld",
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
            why: "a week is longer than the pause of a usual job, and short enough to know what is missing",
        }],
        summary: "The newest backup of a Longhorn volume is old.",
        description: "The newest good backup of volume {{ $labels.volume }} is older than allowed, or it requires one and has none. What was \
                      written since is in no backup. Add the volume to a recurring job, or take a backup now.",
        why: "A backup that is being written when the age is reached has an hour to end.",
        runbook: include_str!("LonghornVolumeBackupOld.md"),
        ..Alert::DEFAULT
    },
];

pub(super) const PANELS: &[Panel] = &[
    Panel {
        dashboard: Dashboard::Storage,
        title: "Backups not complete",
        description: "Backups that wait, are in progress or have failed. Complete ones are not counted.",
        width: Width::Third,
        no_data: "the exporter cannot read backups.longhorn.io",
        ..Panel::STAT.of(&BACKUPS)
    },
    Panel {
        dashboard: Dashboard::Storage,
        title: "Backups failing",
        description: "Targets that do not answer, backups that failed or have stalled, overdue jobs, and volumes whose last backup is too old.",
        columns: &["severity", "cause", "object_kind", "object"],
        no_data: "backups are in order, or the exporter does not report",
        ..Panel::TABLE.of_findings("backup_failing")
    },
    Panel {
        dashboard: Dashboard::Storage,
        title: "Last good backup",
        description: "When the newest good backup was taken, for volumes where that is a day ago or backups fail; 1970 if there is none.",
        unit: Unit::FromNow,
        no_data: "every volume that has backups has one of today, or the exporter does not report",
        ..Panel::TABLE.of(&LAST_BACKUP)
    },
];
