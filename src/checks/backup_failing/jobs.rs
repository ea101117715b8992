//! Recurring jobs and the CronJobs that run them.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use super::{causes, schedule};
use crate::check::*;
use crate::cluster::Readability;
use crate::facts::age::{Begun, Unknown, observe};
use crate::facts::{api, pods, text};
use crate::longhorn::{CronJob, Pod, PodPhase, RecurringJob, Volume};

/// How late the CronJob controller may be, and how long Longhorn may take to create a CronJob.
const LATE: SignedDuration = SignedDuration::from_mins(10);
/// A schedule of a day or longer may shift by an hour when DST changes.
const CLOCKS: SignedDuration = SignedDuration::from_hours(1);

/// A recurring job that backs up volumes.
pub(super) struct BackupJob<'a> {
    pub job: &'a RecurringJob,
    /// The longest pause of its schedule.
    pub pause: SignedDuration,
    /// When it was last started.
    pub last_run: Option<Timestamp>,
    /// True where its volumes are waiting for the job itself.
    pub is_overdue: bool,
}

/// Finds jobs that do not run; returns those that back up volumes. `writing` are volumes whose backup advances.
pub(super) fn run<'a>(
    cluster: &'a Cluster,
    out: &mut Outcome,
    writing: &BTreeSet<&str>,
) -> Vec<BackupJob<'a>> {
    let mut backing_up = Vec::new();
    for job in cluster.objects.recurring_jobs.iter().filter(|job| !job.metadata.is_deleting()) {
        let Some(pause) = schedule::longest_pause(&job.spec.cron) else { continue };
        let found = not_running(cluster, out, job, pause, writing);
        if job.backs_up() {
            let cron = cluster.objects.cron_jobs.get(&job.metadata.name);
            let last_run = cron.and_then(|cron| cron.status.last_schedule_time.get());
            backing_up.push(BackupJob { job, pause, last_run, is_overdue: found.is_some() });
        }
        if let Some(finding) = found {
            out.report(finding);
        }
    }
    backing_up
}

fn not_running(
    cluster: &Cluster,
    out: &mut Outcome,
    job: &RecurringJob,
    pause: SignedDuration,
    writing: &BTreeSet<&str>,
) -> Option<Finding> {
    let name = &job.metadata.name;
    let Some(cron) = cluster.objects.cron_jobs.get(name) else {
        // a recording may have left them out
        if cluster.readability(Resource::CronJobs) != Readability::Readable
            || !cluster.decoded_all(Resource::CronJobs)
        {
            return None;
        }
        let begun = Begun::NotBefore(job.metadata.created());
        let age = observe(cluster, out, "without_cron_job", name, begun);
        let mut finding = about(
            cluster,
            job,
            &causes::RECURRING_JOB_OVERDUE,
            format!("recurring job {name} has no CronJob, so it never runs"),
        )
        .fact(format!("there is no CronJob {name}"))
        .fact(age.evidence());
        let namespace = &cluster.namespace;
        finding = finding.remedy(
            Remedy::new("See in the log of the longhorn-manager that owns the recurring job why it makes no CronJob of it.")
                .read(format!("kubectl -n {namespace} get recurringjobs.longhorn.io {name} -o yaml"))
                .read(format!("kubectl -n {namespace} logs -l app=longhorn-manager --prefix --tail=-1 | grep {name}")),
        );
        return age.at_least(LATE, Unknown::Counts).then(|| finding.since(age.since));
    };
    if cron.spec.suspend {
        let message = format!("recurring job {name} is suspended");
        let fact = format!(
            "CronJob {name}: suspend is true, last started {}",
            ago(cluster, cron.status.last_schedule_time.get())
        );
        return Some(about(cluster, job, &causes::RECURRING_JOB_SUSPENDED, message).fact(fact));
    }
    let last = cron.status.last_schedule_time.get().or(cron.metadata.created())?;
    let clocks = if pause >= SignedDuration::from_hours(20) { CLOCKS } else { SignedDuration::ZERO };
    if cluster.age(last) < pause + LATE + clocks {
        return None;
    }
    let message = format!(
        "recurring job {name} ({}) has not been started for {}",
        job.spec.task,
        text::duration(cluster.age(last))
    );
    let mut finding = about(cluster, job, &causes::RECURRING_JOB_OVERDUE, message)
        .since(Some(last))
        .facts(evidence(cluster, job, cron, pause));
    if !cron.status.active.is_empty() && volumes_of(cluster, job).iter().any(|name| writing.contains(name)) {
        // it takes longer than its schedule allows, which ends on its own
        finding.message.push_str(": its last run is still writing a backup");
        return Some(finding.severity(Severity::Info));
    }
    if refused(cluster, name).is_some() {
        let namespace = &cluster.namespace;
        return Some(
            finding.remedy(
                Remedy::new(
                    "Do away with what the Event names: raise the quota or delete Jobs that are done, or start the webhook that does not answer. \
                     The CronJob controller tries again on its own.",
                )
                .read(format!("kubectl -n {namespace} describe cronjob {name}"))
                .read(format!("kubectl -n {namespace} describe resourcequota")),
            ),
        );
    }
    // only of a run that writes no backup it is said which Job to delete
    let hangs = cron.status.active.iter().take(1).map(|job| job.name.as_str());
    Some(hangs.fold(finding, |finding, job| finding.with(Name::Workload, job)))
}

fn evidence(cluster: &Cluster, job: &RecurringJob, cron: &CronJob, pause: SignedDuration) -> Vec<Evidence> {
    let (name, status) = (&job.metadata.name, &cron.status);
    let mut evidence = vec![api(format!(
        "CronJob {name}: schedule {}, which pauses for at most {}; last started {}, last succeeded {}",
        job.spec.cron,
        text::duration(pause),
        ago(cluster, status.last_schedule_time.get()),
        ago(cluster, status.last_successful_time.get())
    ))];
    if !status.active.is_empty() {
        let active: Vec<&str> = status.active.iter().map(|job| job.name.as_str()).collect();
        evidence.push(api(format!(
            "{} has not finished, and concurrencyPolicy Forbid blocks the next run",
            text::listed(&active)
        )));
    }
    evidence.extend(refused(cluster, name));
    evidence.extend(troubled_pods(cluster, name));
    evidence
}

/// Why Kubernetes makes no Job of it: a quota, or a webhook of something else.
fn refused(cluster: &Cluster, name: &str) -> Option<Evidence> {
    let refusals = cluster.events_about(name).filter(|event| event.reason == "FailedCreate");
    let newest = refusals.max_by_key(|event| event.last_seen())?;
    Some(
        EvidenceSource::Event
            .says(format!("event FailedCreate: {}", text::both_ends(newest.message.trim(), 300))),
    )
}

/// What is wrong with the pods of a job, at most three of them.
pub(super) fn troubled_pods(cluster: &Cluster, job: &str) -> Vec<Evidence> {
    let of_job = |pod: &&Pod| pod.metadata.label("recurring-job.longhorn.io") == Some(job);
    let troubles = cluster.objects.pods.iter().filter(of_job).filter_map(|pod| {
        let trouble = pods::trouble(pod).or_else(|| pods::not_taken_up(pod));
        let trouble = trouble.filter(|_| pod.status.phase != PodPhase::Succeeded)?;
        Some(api(format!("pod {}: {trouble}", pod.metadata.name)))
    });
    troubles.take(3).collect()
}

fn about(cluster: &Cluster, job: &RecurringJob, cause: &'static Cause, message: String) -> Finding {
    let name = &job.metadata.name;
    let volumes = volumes_of(cluster, job);
    let impact = match (job.backs_up(), volumes.len()) {
        (_, 0) => "no volume is assigned to this job now".to_owned(),
        (true, count) => format!("not backed up by this job: {}", counted(count, "volume")),
        (false, count) => format!("task {} is not done for {}", job.spec.task, counted(count, "volume")),
    };
    Finding::about(cause, cluster.object::<RecurringJob>(name), message)
        .impact(impact)
        .volumes(volumes.into_iter().map(|volume| cluster.volume_ref(volume)).collect())
}

fn ago(cluster: &Cluster, moment: Option<Timestamp>) -> String {
    match moment {
        Some(moment) => format!("{} ago", text::duration(cluster.age(moment))),
        None => "never".to_owned(),
    }
}

/// The volumes with a label of the job or of one of its groups.
pub(super) fn volumes_of<'a>(cluster: &'a Cluster, job: &RecurringJob) -> Vec<&'a str> {
    let labels = labels_of(job);
    let has = |volume: &&Volume| {
        let enabled = volume.metadata.labels.iter().filter(|(_, value)| *value == "enabled");
        enabled.into_iter().any(|(label, _)| labels.contains(label.as_str()))
    };
    cluster.objects.volumes.iter().filter(has).map(|volume| volume.metadata.name.as_str()).collect()
}

/// Longhorn gives volumes without any label that of the group `default` (longhorn-manager v1.12.1
/// controller/volume_controller.go, datastore/longhorn.go).
fn labels_of(job: &RecurringJob) -> BTreeSet<String> {
    let groups = job.spec.groups.iter().map(|group| format!("recurring-job-group.longhorn.io/{group}"));
    groups.chain([format!("recurring-job.longhorn.io/{}", job.metadata.name)]).collect()
}

/// The jobs with each label of volumes, as places in the list.
pub(super) fn by_label(jobs: &[BackupJob]) -> BTreeMap<String, Vec<usize>> {
    let mut by_label: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (place, job) in jobs.iter().enumerate() {
        for label in labels_of(job.job) {
            by_label.entry(label).or_default().push(place);
        }
    }
    by_label
}

/// The jobs of a volume, as places in the list.
pub(super) fn of_volume<'a>(
    by_label: &'a BTreeMap<String, Vec<usize>>,
    volume: &'a Volume,
) -> impl Iterator<Item = usize> {
    let enabled = volume.metadata.labels.iter().filter(|(_, value)| *value == "enabled");
    enabled.filter_map(|(label, _)| by_label.get(label.as_str())).flatten().copied()
}
