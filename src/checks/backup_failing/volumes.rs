//! Volumes whose last good backup is too old for the recurring jobs that back them up.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use super::backups::{Restores, first_ones, last_good};
use super::jobs::{self, BackupJob};
use super::{causes, target};
use crate::check::*;
use crate::facts::age::{Begun, Unknown, observe};
use crate::facts::{text, volumes};
use crate::longhorn::{RecurringJob, Volume, VolumeRobustness, VolumeState};

/// A run may take so long beyond its pause.
const SLACK: SignedDuration = SignedDuration::from_hours(1);

/// Finds them, one finding a job; returns the volumes. Those that another finding explains are left out: `hurt` have a failed
/// backup or one that has stalled, `unavailable` are targets that do not answer. The first backup copies all data, which may take
/// longer than two runs.
pub(super) fn run<'a>(
    cluster: &'a Cluster,
    out: &mut Outcome,
    jobs: &[BackupJob],
    hurt: &BTreeSet<&str>,
    unavailable: &BTreeSet<&str>,
    restores: &Restores,
) -> BTreeSet<&'a str> {
    let also_detached = cluster.setting_is_on("allow-recurring-job-while-volume-detached", false);
    let mut old: BTreeMap<(usize, bool), Vec<&Volume>> = BTreeMap::new();
    let by_label = jobs::by_label(jobs);
    let first = first_ones(cluster);
    for volume in cluster.objects.volumes.iter() {
        let name = volume.metadata.name.as_str();
        // the job that runs most often is the one to be measured by
        let Some((place, job)) = jobs::of_volume(&by_label, volume)
            .filter_map(|place| Some((place, jobs.get(place)?)))
            .min_by_key(|(_, job)| job.pause)
        else {
            continue;
        };
        let explained = job.is_overdue
            || hurt.contains(name)
            || first.contains(name) && volume.status.last_backup_at.get().is_none()
            || unavailable.contains(target::target_of(&volume.spec.backup_target_name));
        if explained || !is_due(cluster, volume, job.pause) {
            continue;
        }
        let detached = volume.status.state != VolumeState::Attached && !also_detached;
        // one that was attached a moment ago has its next run before it
        let age = observe(cluster, out, "old", name, Begun::NotBefore(first_chance(cluster, job, volume)));
        if detached || age.at_least(job.pause, Unknown::Counts) {
            old.entry((place, detached)).or_default().push(volume);
        }
    }
    let mut found = BTreeSet::new();
    for ((place, detached), volumes) in old {
        let Some(job) = jobs.get(place) else { continue };
        if !detached {
            found.extend(volumes.iter().map(|volume| volume.metadata.name.as_str()));
        }
        out.report(finding(cluster, job, detached, &volumes, restores));
    }
    found
}

/// When the volume, or the job, was there for it, if the job has not been started since, or its run may not be over.
fn first_chance(cluster: &Cluster, job: &BackupJob, volume: &Volume) -> Option<Timestamp> {
    let since = volumes::asked_since(cluster, volume).max(job.job.metadata.created())?;
    let missed = job.last_run.is_some_and(|run| run >= since && cluster.age(run) >= SLACK);
    (!missed).then_some(since)
}

/// True where two runs should have backed it up by now.
fn is_due(cluster: &Cluster, volume: &Volume, pause: SignedDuration) -> bool {
    let status = &volume.status;
    let skipped = status.restore_required
        || status.is_standby
        || status.robustness == VolumeRobustness::Faulted
        || volume.metadata.is_deleting();
    let last = status.last_backup_at.get().max(volume.metadata.created());
    !skipped && last.is_some_and(|last| cluster.age(last) >= pause + pause + SLACK)
}

fn finding(
    cluster: &Cluster,
    job: &BackupJob,
    detached: bool,
    volumes: &[&Volume],
    restores: &Restores,
) -> Finding {
    let name = &job.job.metadata.name;
    let affected: Vec<_> = volumes.iter().map(|volume| cluster.volume_ref(&volume.metadata.name)).collect();
    let whose = text::claims_of(&affected);
    let (cause, message, impact) = match detached {
        true => (
            &causes::DETACHED_NOT_BACKED_UP,
            format!("recurring job {name} skips detached {whose}"),
            "data written since the last good backup is unprotected: it is lost if the volume is lost",
        ),
        false => (
            &causes::VOLUME_BACKUP_OLD,
            format!("job {name}'s last 2 runs left {whose} without a good backup"),
            "data written since the last good backup is unprotected: it is lost if the volume is lost",
        ),
    };
    let finding = Finding::about(cause, cluster.object::<RecurringJob>(name), message)
        .volumes(affected)
        .impact(impact)
        .fact(format!(
            "job schedule: {} (at most {} between runs)",
            job.job.spec.cron,
            text::duration(job.pause)
        ))
        .facts(text::first_ten(volumes, "volume", |volume| {
            format!("volume {}: {}", volume.metadata.name, last_good(cluster, volume, restores))
        }));
    match detached {
        true => finding,
        false => finding.facts(jobs::troubled_pods(cluster, name)),
    }
}
