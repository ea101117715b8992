//! Backups that are not taken.
//!
//! - A BackupTarget with a URL is asked every poll interval; `status.available` is false and condition Unavailable True with the
//!   error when it does not answer, and condition Unavailable with an empty URL where backups are not wanted (longhorn-manager
//!   controller/backup_target_controller.go reconcile, at v1.3.3, v1.9.2 and v1.12.1).
//! - A Backup that this cluster takes has `spec.snapshotName`; its state goes from empty over Pending and InProgress to Completed
//!   or Error, with a progress in percent (controller/backup_controller.go reconcile, engineapi/backup_monitor.go). A Pending one
//!   may wait for a day. One that failed stays for `failed-backup-ttl`.
//! - The newest complete backup of a volume stands in its `status.lastBackupAt`, also while it is detached, from 1.3 on
//!   (controller/volume_controller.go ReconcileBackupVolumeState). Complete backups need not be kept to know it.
//! - A RecurringJob is run by a CronJob of the same name that forbids a second run beside the first (controller/recurring_job_controller.go
//!   newCronJob). It backs up every volume with one of its labels, but no faulted or restoring one, and no detached one unless
//!   `allow-recurring-job-while-volume-detached` is true (app/recurringjob/util.go filterVolumesForJob; app/recurring_job.go
//!   up to 1.8). Each run makes a new backup, changed or not.

mod backups;
mod causes;
mod jobs;
mod rules;
pub mod schedule;
mod standby;
mod store;
mod target;
#[cfg(test)]
mod tests;
mod volumes;

use std::collections::{BTreeMap, BTreeSet};

use crate::check::*;
use crate::facts::volumes::{labels, restores};
use crate::longhorn::BackupState;
use crate::longhorn::Resource::*;

pub static CHECK: Check = check! {
    id: "backup_failing",
    title: "Backups failing",
    summary: "A backup target is unavailable or has no URL, or a backup has failed or stalled. Or a recurring job is overdue, or a volume's last good \
              backup is too old for its job.",
    needs: &[BackupTargets, Backups, RecurringJobs, CronJobs, Volumes],
    uses: &[Settings, Pods, Events, CsiAttachments],
    causes: causes::ALL,
    ways: &[causes::WAYS],
    gauges: GAUGES,
    alerts: rules::ALERTS,
    panels: rules::PANELS,
    of_backups: true,
};

gauges! {
    BACKUPS = Gauge "longhorn_health_incomplete_backups" ["stage"]
        "This cluster's incomplete backups by stage (waiting, in_progress, failed).",
        absent "none is at this stage",
        example "longhorn_health_incomplete_backups{stage=\"failed\"} > 0";
    LAST_BACKUP = Gauge "longhorn_health_volume_last_backup_timestamp_seconds" ["volume", "pvc_namespace", "pvc"]
        "Unix time of a volume's newest completed backup (0: none).",
        absent "the newest backup is under a day old and none fails",
        example "time() - longhorn_health_volume_last_backup_timestamp_seconds > 604800";
}

fn run(cluster: &Cluster, out: &mut Outcome) {
    count(cluster, out);
    let mut unavailable = target::run(cluster, out);
    standby::run(cluster, out, &unavailable);
    let restores = restores(cluster);
    let mut hurt: BTreeSet<&str> = backups::run(cluster, out, &restores);
    let writing = &backups::written(cluster) - &hurt;
    let jobs = jobs::run(cluster, out, &writing);
    unavailable.extend(target::without_url(cluster, out, &jobs));
    hurt.extend(volumes::run(cluster, out, &jobs, &hurt.clone(), &unavailable, &restores));
    for volume in cluster.objects.volumes.iter() {
        let name = volume.metadata.name.as_str();
        if hurt.contains(name) || volume.has_old_backup(cluster.now) {
            let last = volume.status.last_backup_at.get();
            out.sample(&LAST_BACKUP, &labels(volume), last.map_or(0.0, |last| last.as_second() as f64));
        }
    }
}

fn count(cluster: &Cluster, out: &mut Outcome) {
    let mut counts = BTreeMap::<&str, u32>::new();
    for backup in backups::incomplete(cluster) {
        let state = match backup.status.state {
            BackupState::Unset | BackupState::Pending => "waiting",
            BackupState::InProgress => "in_progress",
            _ => "failed",
        };
        *counts.entry(state).or_default() += 1;
    }
    counts.into_iter().for_each(|(stage, count)| out.sample(&BACKUPS, &[stage], f64::from(count)));
}
