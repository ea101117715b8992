//! System restores: the Job that does the work, and how long each state may last.

use std::cell::OnceCell;
use std::collections::HashSet;

use jiff::SignedDuration;

use super::causes::*;
use crate::check::*;
use crate::facts::patience::{FIRST_SIGN, STEP, TRIED_FOR_A_DAY};
use crate::facts::standstill::Work;
use crate::facts::{api, text};
use crate::longhorn::{Resource, SystemRestore, SystemRestoreState, condition};

/// A failed one stays until someone deletes it; a day later it is history.
const NEWS: SignedDuration = SignedDuration::from_hours(24);

pub(super) fn run(cluster: &Cluster, out: &mut Outcome) {
    let working = OnceCell::new();
    for restore in cluster.objects.system_restores.iter() {
        match restore.status.state {
            SystemRestoreState::Completed
            | SystemRestoreState::Deleting
            | SystemRestoreState::Unrecognized => {}
            _ if restore.metadata.is_deleting() => {}
            SystemRestoreState::Error => out.report(failed(cluster, restore)),
            _ => stalled(cluster, out, restore, working.get_or_init(|| working_jobs(cluster))),
        }
    }
}

/// The Jobs that have a pod which is not over.
fn working_jobs(cluster: &Cluster) -> HashSet<&str> {
    let pods = cluster.objects.pods.iter().map(|pod| (pod, &pod.metadata));
    let works = pods.filter(|(pod, meta)| !pod.is_over() && !meta.is_deleting());
    works
        .filter_map(|(_, meta)| meta.label("job-name").or(meta.label("batch.kubernetes.io/job-name")))
        .collect()
}

fn failed(cluster: &Cluster, restore: &SystemRestore) -> Finding {
    let meta = &restore.metadata;
    let error = condition(&restore.status.conditions, "Error");
    let since = error.and_then(|error| error.last_transition_time.get()).or(meta.created());
    let message = format!("SystemRestore {} has failed", meta.name);
    let mut finding = about(cluster, &SYSTEM_RESTORE_FAILED, restore, message).since(since);
    if since.is_some_and(|since| cluster.age(since) >= NEWS) {
        finding = finding.severity(Severity::Info);
    }
    let said = error.map(|error| {
        let (name, reason, quoted) = (&meta.name, &error.reason, text::quoted(&error.message));
        api(format!("condition Error of {name} has reason {reason}: {quoted}")).quoting(&error.message)
    });
    finding.facts(said)
}

fn stalled(cluster: &Cluster, out: &mut Outcome, restore: &SystemRestore, working: &HashSet<&str>) {
    let (meta, state) = (&restore.metadata, restore.status.state);
    // managers create the Job, and until then there is no pod
    let begun = state != SystemRestoreState::Unset;
    let alone = begun && cluster.knows_all(Resource::Pods) && !working.contains(job_of(restore).as_str());
    let (patience, pod) = match state {
        _ if alone => (FIRST_SIGN, ": its Job has no pod"),
        SystemRestoreState::Restoring | SystemRestoreState::InProgress => (TRIED_FOR_A_DAY, ""),
        _ => (STEP, ""),
    };
    let words = format!("the state is {}{pod}", state.as_str());
    let work = Work {
        fact: "system_restore",
        object: &meta.name,
        mark: words.clone(),
        progress: 0,
        size: 0,
        begun: meta.created(),
        patience,
    };
    if let Some(still) = work.stands(cluster, out, &SYSTEM_RESTORE_STALLED) {
        let long = text::duration(cluster.age(still.since));
        let message = format!("SystemRestore {} has been stalled for {long}{pod}", meta.name);
        let finding = about(cluster, &SYSTEM_RESTORE_STALLED, restore, message).since(Some(still.since));
        out.report(finding.facts([api(words), still.evidence]));
    }
}

/// longhorn-manager v1.4.4 to v1.12.1 controller/system_restore_controller.go getSystemRolloutName.
fn job_of(restore: &SystemRestore) -> String {
    format!("longhorn-system-rollout-{}", restore.metadata.name)
}

fn about(cluster: &Cluster, cause: &'static Cause, restore: &SystemRestore, message: String) -> Finding {
    let name = &restore.metadata.name;
    Finding::about(cause, cluster.object::<SystemRestore>(name), message)
        .impact("objects in the system backup, such as volumes and claims, may be missing after the restore. Existing volumes keep running.")
        .with(Name::Kind, Resource::SystemRestores.label())
        .with(Name::Workload, job_of(restore))
}
