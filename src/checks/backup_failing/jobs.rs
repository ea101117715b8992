//! Recurring jobs and the CronJobs that run them.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use super::{causes, schedule};
use crate::check::*;
use crate::cluster::Readability;
use crate::facts::age::{Begun, Unknown, observe};
use crate::facts::not_started::{self, NotStarted};
use crate::facts::patience::{CRON, SUSPENDED};
use crate::facts::{api, pods, text, ways};
use crate::longhorn::{CronJob, Event, Pod, PodPhase, RecurringJob, Volume};

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
    let Some(cron) = cluster.objects.cron_jobs.get(name) else { return without_cron_job(cluster, out, job) };
    let last = cron.status.last_schedule_time.get();
    if cron.spec.suspend {
        return Some(suspended(cluster, job, last, pause));
    }
    let last = last.or(cron.metadata.created())?;
    let clocks = if pause >= SignedDuration::from_hours(20) { CLOCKS } else { SignedDuration::ZERO };
    if cluster.age(last) < pause + CRON + clocks {
        return if job.backs_up() { None } else { fails(cluster, job, cron, pause, last) };
    }
    // it takes longer than its schedule allows, which ends on its own
    let writes =
        !cron.status.active.is_empty() && volumes_of(cluster, job).iter().any(|name| writing.contains(name));
    let refusal = refused(cluster, cron).filter(|_| !writes);
    // the name of the CronJob, or that of its Job
    let way = refusal.map(|event| match not_started::way_of(&event.message) {
        Some(way) if way != &ways::QUOTA => way,
        _ if event.involved_object.name == *name => &causes::JOBS_REFUSED,
        _ => &causes::PODS_REFUSED,
    });
    let pod = pod_of(cluster, cron).filter(|_| !writes && way.is_none());
    let sidecar = pod.and_then(sidecar_of);
    let waits = pod.filter(|pod| pod.status.phase == PodPhase::Pending);
    let waits = waits.map(|pod| not_started::of_pod(cluster, pod, name)).filter(NotStarted::is_definite);
    let still = match (way, &waits) {
        _ if writes => ": its last run is unfinished".to_owned(),
        (Some(&causes::PODS_REFUSED), _) => ": Kubernetes rejects its pods".to_owned(),
        (Some(way), _) if way != &causes::JOBS_REFUSED => format!(": {}", way.briefly),
        (None, Some(waits)) => format!(": {}", waits.way.briefly),
        _ => sidecar.map_or(String::new(), |sidecar| format!(": sidecar {sidecar} never ends")),
    };
    let way = way.or(waits.as_ref().map(|waits| waits.way)).or(sidecar.map(|_| &causes::SIDECAR_RUNS));
    let long = text::duration(cluster.age(last));
    let what = format!("has not started for {long}{still}");
    let finding = about(cluster, job, &causes::RECURRING_JOB_OVERDUE, &what)
        .since(Some(last))
        .facts(waits.iter().flat_map(not_started::evidence))
        .facts(evidence(cluster, job, cron, pause))
        .facts(
            sidecar.map(|sidecar| format!("the job's container has ended, but {sidecar} is still running")),
        )
        .named(pod.map(|pod| (Name::Pod, pod.metadata.name.to_string())));
    if writes {
        return Some(finding.severity(Severity::Info));
    }
    if let Some(event) = refusal {
        return Some(finding.way(way).with(Name::Workload, event.involved_object.name.as_str()));
    }
    // only of a run that writes no backup it is said which Job to delete
    let hangs = cron.status.active.iter().take(1).filter(|_| waits.is_none());
    Some(finding.way(way).named(hangs.map(|job| (Name::Workload, job.name.to_string()))))
}

/// Someone suspended it: Longhorn changes a CronJob only where its own wishes change, so that it stays so (longhorn-manager v1.3.3 to
/// v1.12.1 controller/recurring_job_controller.go checkAndUpdateCronJob, which compares the spec that it applied last).
fn suspended(
    cluster: &Cluster,
    job: &RecurringJob,
    last: Option<Timestamp>,
    pause: SignedDuration,
) -> Finding {
    let fact = format!("CronJob {}: suspend is true, last start {}", job.metadata.name, ago(cluster, last));
    let long = (pause * 3).max(SUSPENDED);
    let Some(since) = unprotected_since(cluster, job).filter(|since| cluster.age(*since) >= long) else {
        return about(cluster, job, &causes::RECURRING_JOB_SUSPENDED, "is suspended").fact(fact);
    };
    let what = format!("is suspended, with no backup for {}", text::age(cluster.age(since)));
    about(cluster, job, &causes::RECURRING_JOB_FORGOTTEN, &what)
        .since(Some(since))
        .facts([fact, format!("the newest backup of the job's volumes was taken at {since}")])
}

/// The newest backup of the volumes that only this job backs up.
fn unprotected_since(cluster: &Cluster, job: &RecurringJob) -> Option<Timestamp> {
    let runs = |other: &&RecurringJob| {
        let cron = cluster.objects.cron_jobs.get(&other.metadata.name);
        other.backs_up() && cron.is_some_and(|cron| !cron.spec.suspend)
    };
    let others: Vec<_> = cluster.objects.recurring_jobs.iter().filter(runs).map(covers).collect();
    let volumes = cluster.objects.volumes.iter().filter(covers(job)).filter(|_| job.backs_up());
    let alone = volumes.filter(|volume| !others.iter().any(|covers| covers(volume)));
    alone.filter_map(|volume| volume.status.last_backup_at.get()).max()
}

/// That a job has run twice since it last came to a good end. What a backup job fails at, its volumes say.
fn fails(
    cluster: &Cluster,
    job: &RecurringJob,
    cron: &CronJob,
    pause: SignedDuration,
    last: Timestamp,
) -> Option<Finding> {
    let good = cron.status.last_successful_time.get();
    // Kubernetes before 1.21 writes no such time
    let known = good.is_some() || !troubled_pods(cluster, &job.metadata.name).is_empty();
    let since = good.or(cron.metadata.created())?;
    let twice = last.duration_since(since) > pause + pause / 2;
    (known && twice && cron.status.active.is_empty()).then(|| {
        about(
            cluster,
            job,
            &causes::RECURRING_JOB_OVERDUE,
            &format!("({}) fails on every run", job.spec.task),
        )
        .way(&causes::RUNS_FAIL)
        .since(Some(since))
        .facts(evidence(cluster, job, cron, pause))
    })
}

fn without_cron_job(cluster: &Cluster, out: &mut Outcome, job: &RecurringJob) -> Option<Finding> {
    // a recording may have left them out
    if cluster.readability(Resource::CronJobs) != Readability::Readable
        || !cluster.decoded_all(Resource::CronJobs)
    {
        return None;
    }
    let name = &job.metadata.name;
    let age = observe(cluster, out, "without_cron_job", name, Begun::NotBefore(job.metadata.created()));
    age.at_least(CRON, Unknown::Counts).then(|| {
        about(cluster, job, &causes::RECURRING_JOB_OVERDUE, "has no CronJob, so it never runs")
            .way(&causes::NO_CRON_JOB)
            .since(age.since)
            .fact(format!("CronJob {name} does not exist"))
            .fact(age.evidence())
    })
}

fn evidence(cluster: &Cluster, job: &RecurringJob, cron: &CronJob, pause: SignedDuration) -> Vec<Evidence> {
    let refusal = refused(cluster, cron);
    let (name, status) = (&job.metadata.name, &cron.status);
    let (cron, pause) = (&job.spec.cron, text::duration(pause));
    let [last, good] =
        [&status.last_schedule_time, &status.last_successful_time].map(|at| ago(cluster, at.get()));
    let mut evidence = vec![api(format!(
        "CronJob {name} (schedule {cron}, at most {pause} between runs): last start {last}, last success {good}"
    ))];
    if !status.active.is_empty() {
        let active: Vec<&str> = status.active.iter().map(|job| job.name.as_str()).collect();
        evidence.push(api(format!(
            "job {} has not finished, so concurrencyPolicy Forbid blocks the next run",
            text::listed(&active)
        )));
    }
    evidence.extend(refusal.map(|event| {
        EvidenceSource::Event
            .says(format!("event FailedCreate: \"{}\"", text::both_ends(event.message.trim(), 300)))
            .quoting(&event.message)
    }));
    evidence.extend(troubled_pods(cluster, name));
    evidence
}

/// Why Kubernetes makes no Job of it, or no pod of its Job: a quota, a policy, or a webhook of something else.
fn refused<'a>(cluster: &'a Cluster, cron: &'a CronJob) -> Option<&'a Event> {
    let names = cron.status.active.iter().map(|job| job.name.as_str()).chain([cron.metadata.name.as_str()]);
    let refusals = names.flat_map(|name| cluster.events_about(name));
    refusals.filter(|event| event.reason == "FailedCreate").max_by_key(|event| event.last_seen())
}

/// The pod of the Job that blocks the next.
fn pod_of<'a>(cluster: &'a Cluster, cron: &CronJob) -> Option<&'a Pod> {
    let job = cron.status.active.first()?;
    let of_job = |pod: &&Pod| pod.metadata.label("job-name") == Some(job.name.as_str());
    cluster.objects.pods.iter().filter(of_job).max_by_key(|pod| pod.metadata.created())
}

/// The container that keeps a pod running whose own has ended well: a mesh's proxy ends only when it is told to.
fn sidecar_of(pod: &Pod) -> Option<&str> {
    let statuses = || pod.status.container_statuses.iter();
    let ended =
        statuses().filter_map(|status| status.state.terminated.as_ref()).any(|end| end.exit_code == 0);
    statuses().find(|status| ended && status.running_since().is_some()).map(|status| status.name.as_str())
}

/// What is wrong with the pods of a job, at most three of them.
pub(super) fn troubled_pods(cluster: &Cluster, job: &str) -> Vec<Evidence> {
    let of_job = |pod: &&Pod| pod.metadata.label("recurring-job.longhorn.io") == Some(job);
    let troubles = cluster.objects.pods.iter().filter(of_job).filter_map(|pod| {
        let trouble = pods::trouble(pod).or_else(|| pods::not_taken_up(pod));
        let trouble = trouble.filter(|_| pod.status.phase != PodPhase::Succeeded)?;
        Some(api(format!("pod {} of the job: {trouble}", pod.metadata.name)).quoting(pods::said(pod)))
    });
    troubles.take(3).collect()
}

fn about(cluster: &Cluster, job: &RecurringJob, cause: &'static Cause, what: &str) -> Finding {
    let name = &job.metadata.name;
    let volumes = volumes_of(cluster, job);
    let impact = match (job.backs_up(), volumes.len()) {
        (_, 0) => "none now: no volume is assigned to this job".to_owned(),
        (true, 1) => "1 volume gets no new backups from this job".to_owned(),
        (true, count) => format!("{count} volumes get no new backups from this job"),
        (false, count) => format!("task {} has stopped for {}", job.spec.task, counted(count, "volume")),
    };
    Finding::about(cause, cluster.object::<RecurringJob>(name), format!("recurring job {name} {what}"))
        .impact(impact)
        .volumes(cluster.volume_refs(volumes))
}

fn ago(cluster: &Cluster, moment: Option<Timestamp>) -> String {
    match moment {
        Some(moment) => format!("{} ago", text::duration(cluster.age(moment))),
        None => "never".to_owned(),
    }
}

/// The volumes that the job covers, by name.
pub(super) fn volumes_of<'a>(cluster: &'a Cluster, job: &RecurringJob) -> Vec<&'a str> {
    cluster.objects.volumes.iter().filter(covers(job)).map(|volume| volume.metadata.name.as_str()).collect()
}

/// Volumes with a label of the job or of one of its groups, and for the group `default` those that have yet to get its label.
pub(super) fn covers(job: &RecurringJob) -> impl Fn(&&Volume) -> bool {
    let labels = labels_of(job);
    let by_default = job.spec.groups.iter().any(|group| group == "default");
    move |volume| {
        let mut own =
            volume.metadata.labels.iter().filter(|(label, _)| label.starts_with("recurring-job")).peekable();
        by_default && own.peek().is_none()
            || own.any(|(label, value)| value == "enabled" && labels.contains(label.as_str()))
    }
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
