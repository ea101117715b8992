//! Expansions, restores, purges and clones of volumes.

use jiff::Timestamp;

use super::causes::*;
use crate::check::*;
use crate::facts::age::{Begun, Unknown, observe};
use crate::facts::patience::{FIRST_SIGN, NEXT_LOOK, PERCENT, RETRY};
use crate::facts::standstill::Work;
use crate::facts::{api, text, volumes};
use crate::longhorn::{
    Engine, Event, InstanceState, Release, Volume, VolumeRobustness, VolumeState, condition,
};

/// Of this release on backups have a block size.
const BLOCK_SIZES: Release = Release::new(1, 10, 0);

pub(super) fn run(cluster: &Cluster, out: &mut Outcome) {
    for volume in cluster.objects.volumes.iter().filter(|volume| !volume.metadata.is_deleting()) {
        let engine = volumes::current_engine(cluster, volume);
        expansion(cluster, out, volume, engine);
        clone(cluster, out, volume, engine);
        not_attaching(cluster, out, volume);
        if let Some(engine) = engine {
            restore(cluster, out, volume, engine);
            purge(cluster, out, volume, engine);
        }
    }
}

fn expansion(cluster: &Cluster, out: &mut Outcome, volume: &Volume, engine: Option<&Engine>) {
    let name = volume.metadata.name.as_str();
    let status = engine.map(|engine| &engine.status);
    let grows = status.is_some_and(|status| status.is_expanding);
    let oversized = engine.is_some_and(|engine| volumes::is_oversized(volume, engine));
    // refused where room is short, or held for done: nothing is required then (#13379; longhorn-manager v1.7.3
    // controller/volume_controller.go reconcileVolumeSize)
    let small = status.is_some_and(|status| {
        let size = status.current_size.0;
        status.current_state == InstanceState::Running && size > 0 && size < volume.spec.size.0
    });
    if !volume.status.expansion_required && !grows && !oversized && !small {
        return never_begun(cluster, out, volume);
    }
    let sizes = status.map_or_else(String::new, |status| {
        format!(
            "the volume's spec.size is {}, and its engine's currentSize is {}",
            volume.spec.size.0, status.current_size.0
        )
    });
    if let Some(status) = status.filter(|status| !status.last_expansion_error.is_empty() && !grows) {
        let impact = match oversized {
            true => "no replica can be rebuilt: new ones get the volume's size, but the engine is larger",
            false => {
                "the volume keeps its old size, and its replicas cannot be rebuilt until the expansion succeeds"
            }
        };
        let mut finding = about(cluster, volume, &EXPANSION_FAILED, "the last expansion of", "failed")
            .since(status.last_expansion_failed_at.get())
            .impact(impact)
            .fact(said("lastExpansionError", &status.last_expansion_error))
            .fact(sizes);
        if oversized {
            finding = finding.way(&OVERSIZED);
        }
        out.report(finding);
        return;
    }
    let state = status.map_or("no engine", |status| status.current_state.as_str());
    let mark = format!("{} {state} {grows}", volume.spec.size.0);
    let work = Work {
        fact: "expansion",
        object: name,
        mark,
        progress: 0,
        size: 0,
        begun: refused_since(cluster, volume),
        patience: FIRST_SIGN,
    };
    if let Some(still) = work.stands(cluster, out, &EXPANSION_STALLED) {
        let long = text::duration(cluster.age(still.since));
        out.report(
            about(
                cluster,
                volume,
                &EXPANSION_STALLED,
                "the expansion of",
                &format!("has been stalled for {long}"),
            )
            .since(Some(still.since))
            .impact(
                "the volume keeps its old size, and its replicas cannot be rebuilt until the expansion succeeds",
            )
            .fact(format!("the volume is {} and its engine {state}: {sizes}", volume.status.state.as_str()))
            .facts([still.evidence]),
        );
    }
}

/// An expansion that Longhorn rejects before it changes the volume (longhorn-manager v1.4.4 to v1.12.1 manager/volume.go Expand).
fn never_begun(cluster: &Cluster, out: &mut Outcome, volume: &Volume) {
    let newest = refusals(cluster, volume).max_by_key(|event| event.last_seen());
    let recent = |event: &&Event| event.last_seen().is_some_and(|at| cluster.age(at) <= FIRST_SIGN);
    let Some(event) = newest.filter(recent) else { return };
    let words = event.message.rsplit_once("message=").map_or(event.message.as_str(), |(_, words)| words);
    out.report(
        about(cluster, volume, &EXPANSION_FAILED, "the expansion of", "is rejected by Longhorn")
            .since(refused_since(cluster, volume))
            .impact("the volume keeps its old size, and its file system may become full")
            .way(&REJECTED)
            .fact(
                EvidenceSource::Event
                    .says(format!("Event VolumeResizeFailed: {}", text::quoted(words)))
                    .quoting(words),
            ),
    );
}

/// The Events of the resizer that fails at the claim, where a recording has those of all namespaces.
fn refusals<'a>(cluster: &'a Cluster, volume: &'a Volume) -> impl Iterator<Item = &'a Event> {
    let status = &volume.status.kubernetes_status;
    cluster.events_about(&status.pvc_name).filter(|event| {
        event.reason == "VolumeResizeFailed"
            && event.involved_object.namespace == status.namespace
            && event.occurrences() >= 3
    })
}

/// Since when it has failed.
fn refused_since(cluster: &Cluster, volume: &Volume) -> Option<Timestamp> {
    refusals(cluster, volume).filter_map(Event::first_seen).min()
}

/// A standby volume that its restore should attach, and that is not even told where: at each change of it, the webhook reads the backup that
/// it was created from, and rejects the change where that was deleted (longhorn-manager v1.12.1 webhook/resources/volume/mutator.go mutate,
/// since backups have a block size). Complete backups are not kept here, but the source's newest is known.
fn not_attaching(cluster: &Cluster, out: &mut Outcome, volume: &Volume) {
    let (name, url, last) = (&volume.metadata.name, &volume.spec.from_backup, &volume.status.last_backup);
    let Some(backup) = url.split(['?', '&']).find_map(|part| part.strip_prefix("backup=")) else { return };
    let asks = cluster.release().is_some_and(|release| release >= BLOCK_SIZES);
    let rests = volume.status.state == VolumeState::Detached && volume.spec.node_id.is_empty();
    if !asks || !rests || !volume.status.is_standby || last == backup {
        return;
    }
    let tickets =
        cluster.objects.volume_attachments.get(name).map(|one| &one.status.attachment_ticket_statuses);
    let restores = |id: &str| id.starts_with("volume-restore-controller");
    let ticket = tickets.and_then(|all| all.iter().find(|(id, one)| restores(id) && !one.satisfied));
    let Some(waits) = ticket.and_then(|(_, one)| condition(&one.conditions, "Satisfied")) else { return };
    let age = observe(cluster, out, "not_attaching", name, Begun::At(waits.last_transition_time.get()));
    if age.at_least(NEXT_LOOK, Unknown::Waits) {
        let newest = if last.is_empty() { String::new() } else { url.replace(backup, last) };
        out.report(
            about(
                cluster, volume, &RESTORE_FAILED, "the restore into", "is stuck: Longhorn cannot attach it",
            )
            .way(&NOT_ATTACHING)
            .since(age.since)
            .impact("the standby volume is falling behind its source")
            .fact("the ticket of volume-restore-controller is not satisfied, and spec.nodeID is empty")
            .fact(format!(
                "spec.fromBackup names {backup}, and the newest backup of the source volume is {}",
                text::quoted(last)
            ))
            .facts([age.evidence()])
            .with(Name::Backup, backup)
            .with(Name::Value, newest),
        );
    }
}

fn restore(cluster: &Cluster, out: &mut Outcome, volume: &Volume, engine: &Engine) {
    let (name, restores) = (volume.metadata.name.as_str(), &engine.status.restore_status);
    // volume_faulted names one whose restore failed for good
    let wanted = volume.status.restore_required || volume.status.is_standby;
    let faulted = volume.status.robustness == VolumeRobustness::Faulted;
    if !wanted || faulted || engine.status.current_state != InstanceState::Running {
        return;
    }
    let runs: Vec<i64> = restores.values().filter(|one| one.is_restoring).map(|one| one.progress.0).collect();
    let impact = match volume.status.is_standby {
        true => "the standby volume is falling behind its source",
        false => "the volume cannot be used until its data is restored",
    };
    if let (true, Some((replica, failed))) =
        (runs.is_empty(), restores.iter().find(|(_, one)| !one.error.is_empty()))
    {
        let age = observe(cluster, out, "restore_error", name, Begun::At(None));
        if age.at_least(RETRY, Unknown::Counts) {
            out.report(
                about(cluster, volume, &RESTORE_FAILED, "the restore into", "is failing")
                    .since(age.since)
                    .impact(impact)
                    .fact(said(&format!("restoreStatus of {replica}"), &failed.error))
                    .facts([age.evidence()]),
            );
        }
    } else if let Some(least) = runs.iter().min() {
        // it begins again where its engine does
        let begun = volume.metadata.created().filter(|_| !volume.status.is_standby);
        let begun = begun.map(|begun| begun.max(started(cluster, engine).unwrap_or(begun)));
        let work =
            Work { size: volume.spec.size.0, ..copy("restore", name, format!("{runs:?}"), *least, begun) };
        if let Some(still) = work.stands(cluster, out, &RESTORE_STALLED) {
            let long = text::duration(cluster.age(still.since));
            let predicate = format!("has been stalled for {long}");
            out.report(
                about(cluster, volume, &RESTORE_STALLED, "the restore into", &predicate)
                    .since(Some(still.since))
                    .impact(impact)
                    .fact(format!("restoreStatus shows {least} %"))
                    .facts([still.evidence]),
            );
        }
    }
}

/// When the engine was last started, as far as Events go back.
fn started(cluster: &Cluster, engine: &Engine) -> Option<Timestamp> {
    let starts = cluster.events_about(&engine.metadata.name).filter(|event| event.reason == "Start");
    starts.filter_map(|event| event.last_seen()).max()
}

fn purge(cluster: &Cluster, out: &mut Outcome, volume: &Volume, engine: &Engine) {
    let (name, purges) = (volume.metadata.name.as_str(), &engine.status.purge_status);
    let runs: Vec<i64> = purges.values().filter(|one| one.is_purging).map(|one| one.progress.0).collect();
    if let (true, Some((replica, failed))) =
        (runs.is_empty(), purges.iter().find(|(_, one)| !one.error.is_empty()))
    {
        out.report(
            about(cluster, volume, &PURGE_FAILED, "the last snapshot purge of", "failed")
                .way(cut_off(&failed.error).then_some(&CUT_OFF))
                .impact("the disk space of removed snapshots is not reclaimed. I/O continues.")
                .fact(said(&format!("purgeStatus of {replica}"), &failed.error)),
        );
    } else if let Some(least) = runs.iter().min() {
        let work = copy("purge", name, format!("{runs:?}"), *least, None);
        if let Some(still) = work.stands(cluster, out, &PURGE_STALLED) {
            let long = text::duration(cluster.age(still.since));
            let predicate = format!("has been stalled for {long}");
            out.report(
                about(cluster, volume, &PURGE_STALLED, "the snapshot purge of", &predicate)
                    .since(Some(still.since))
                    .impact("replicas cannot be rebuilt and space is not reclaimed until the purge ends. I/O continues.")
                    .fact(format!("purgeStatus shows {least} %"))
                    .facts([still.evidence]),
            );
        }
    }
}

fn clone(cluster: &Cluster, out: &mut Outcome, volume: &Volume, engine: Option<&Engine>) {
    let (name, state) = (volume.metadata.name.as_str(), volume.status.clone_status.state.as_str());
    if volume.spec.data_source.is_empty() || state == "completed" {
        return;
    }
    let source = format!("spec.dataSource is {}, and cloneStatus is {:?}", volume.spec.data_source, state);
    let copies = engine.map(|engine| &engine.status.clone_status);
    let error =
        copies.and_then(|copies| copies.values().map(|copy| &copy.error).find(|error| !error.is_empty()));
    if state == "failed" {
        let age = observe(cluster, out, "clone_error", name, Begun::At(None));
        if age.at_least(RETRY, Unknown::Counts) {
            out.report(
                about(cluster, volume, &CLONE_FAILED, "the clone into", "failed")
                    .since(age.since)
                    .impact("the clone cannot be used. Its source is not affected.")
                    .fact(source)
                    .facts(error.map(|error| said("the clone's engine", error))),
            );
        }
        return;
    }
    // it has its data, and its other replicas are built when someone attaches it (longhorn-manager v1.10.0 to v1.12.1
    // controller/volume_controller.go ReconcileEngineReplicaState, utils.go isCloneTargetCopyInProgress)
    let is_idle = volume.status.state == VolumeState::Detached
        && cluster.can_read(Resource::CsiAttachments)
        && volumes::asked_since(cluster, volume).is_none();
    if is_idle && state == "copy-completed-awaiting-healthy" {
        return;
    }
    let progress = copies.and_then(|copies| copies.values().map(|copy| copy.progress.0).min()).unwrap_or(0);
    let work = copy("clone", name, format!("{state} {progress}"), progress, volume.metadata.created());
    let work = Work { size: volume.spec.size.0, ..work };
    if let Some(still) = work.stands(cluster, out, &CLONE_STALLED) {
        let long = text::duration(cluster.age(still.since));
        let predicate = format!("has been stalled for {long}");
        out.report(
            about(cluster, volume, &CLONE_STALLED, "the clone into", &predicate)
                .since(Some(still.since))
                .impact("the clone cannot be used. Its source is not affected.")
                .facts([api(source), still.evidence]),
        );
    }
}

fn copy<'a>(
    fact: &'static str,
    object: &'a str,
    mark: String,
    progress: i64,
    begun: Option<Timestamp>,
) -> Work<'a> {
    Work { fact, object, mark, progress, size: 0, begun, patience: PERCENT }
}

/// What an object says went wrong.
fn said(who: &str, error: &str) -> Evidence {
    api(format!("{who}: {}", text::quoted(error))).quoting(error)
}

fn about(cluster: &Cluster, volume: &Volume, cause: &'static Cause, what: &str, predicate: &str) -> Finding {
    let users = vec![cluster.volume_ref(&volume.metadata.name)];
    let message = format!("{what} {} {predicate}", text::claims_of(&users));
    Finding::about(cause, volumes::object(cluster, volume), message).volumes(users)
}

/// An error of the way to a replica, not of the replica.
fn cut_off(error: &str) -> bool {
    [
        "connection refused", "no route to host", "i/o timeout", "DeadlineExceeded", "code = Unavailable",
        "connection reset",
    ]
    .iter()
    .any(|words| error.contains(words))
}
