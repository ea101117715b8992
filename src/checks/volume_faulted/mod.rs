//! Volumes without a usable replica, and which replica to go on with.
//!
//! Facts, the same in longhorn-manager v1.3.3, v1.4.4, v1.5.5, v1.6.4, v1.7.3, v1.8.2, v1.9.2, v1.10.2, v1.11.3 and
//! v1.12.1 (controller/volume_controller.go ReconcileVolumeState) unless said otherwise:
//! - `status.robustness` becomes faulted when no replica is healthy and active and at least one has `spec.failedAt`, and
//!   also for the moments after an engine died, with replicas that are all right.
//! - With setting auto-salvage Longhorn waits until the volume is detached, then clears `failedAt` of every replica that
//!   has `healthyAt`, lies on a node that is not down and on a disk whose condition Schedulable is True, and failed within
//!   one minute of the last such. A full disk (DiskPressure) therefore keeps a replica from being salvaged.
//! - Standby volumes and volumes that are being restored are never salvaged by themselves.
//! - `healthyAt` is emptied when a failed replica is rebuilt, so a replica without it holds only part of the data.
//! - `spec.lastHealthyAt` says when a replica last got in step (1.5.4, 1.6.1 and later); before that only `healthyAt` does.
//! - v1.12.0 and later write `status.lastAutoSalvagedAt`.
//! - In a volume that has never been up, no replica has `healthyAt`: it is called faulted when all of its replicas have failed, and for
//!   the moment after each try to start its engine (isFirstAttachment, isAutoSalvageNeeded). There is nothing in it to be lost.
//! - A volume whose replicas are in order leaves faulted by itself: it is detached and attached again.

mod follows;
mod rules;
mod salvage;
#[cfg(test)]
mod tests;

use jiff::SignedDuration;

use crate::check::*;
use crate::facts::age::{Begun, Unknown, observe};
use crate::facts::{api, nodes, text, volumes};
use crate::longhorn::Resource::*;
use crate::longhorn::{Volume, VolumeRobustness, condition};
use salvage::{Candidate, is_automatic, together};

causes! {
    REPLICAS_UNREACHABLE = critical "replicas_unreachable"
        "the replicas that hold the data are on nodes that are down, or on disks that Longhorn cannot use";
    AUTO_SALVAGE_OFF = critical "auto_salvage_off"
        "a replica is usable, but auto-salvage is switched off, so a person has to choose";
    SALVAGE_PENDING = critical "salvage_pending"
        "a replica is usable and auto-salvage may take it, but has not" but "info in the first minute, in which Longhorn does it";
    ENGINE_DIED = critical "engine_died"
        "the engine stopped unexpectedly; replicas with the data have not failed"
        but "info in the first minute, in which Longhorn attaches the volume again";
    RESTORE_FAILED = critical "restore_failed"
        "every replica failed while data was restored into the volume, which auto-salvage leaves alone";
    NO_DATA = critical "no_data"
        "no replica is left that ever held all data of the volume, although it was up once or has no replica at all";
    NEVER_UP = warning "never_up"
        "the volume has never been up, because its engine or its replicas do not start; nothing is lost"
        but "info in the first minute";
}

pub static CHECK: Check = Check {
    id: "volume_faulted",
    title: "Faulted volumes",
    summary: "A volume has no usable replica: its workloads cannot read or write. Names the replica to continue with, and \
              whether Longhorn takes it by itself.",
    needs: &[Volumes, Replicas, LonghornNodes, Settings],
    uses: &[Pods, KubeNodes],
    causes: ALL,
    follows: follows::FOLLOWS,
    gauges: GAUGES,
    alerts: rules::ALERTS,
    panels: rules::PANELS,
    run,
    ..Check::PLAIN
};

gauges! {
    FAULTED = Gauge "longhorn_health_volume_faulted" ["volume", "pvc_namespace", "pvc"]
        "1 for every volume without a usable replica.",
        absent "the volume has a usable replica, or volumes cannot be read",
        example "max without (instance, pod) (longhorn_health_volume_faulted) == 1";
}

/// Longhorn detaches, salvages and attaches within it.
const PASSING: SignedDuration = SignedDuration::from_mins(1);

fn run(cluster: &Cluster, out: &mut Outcome) {
    for volume in cluster.objects.volumes.iter() {
        if volume.status.robustness == VolumeRobustness::Faulted && !volume.metadata.is_deleting() {
            out.sample(&FAULTED, &volumes::labels(volume), 1.0);
            let finding = finding(cluster, out, volume);
            out.find(finding);
        }
    }
}

fn finding(cluster: &Cluster, out: &mut Outcome, volume: &Volume) -> Finding {
    let candidates = Candidate::all(cluster, volume);
    let (cause, why) = cause(cluster, volume, &candidates);
    let name = &volume.metadata.name;
    let users = vec![cluster.volume_ref(name)];
    let whose = text::users_of(&users);
    let failures = cluster.replicas_of(name).filter_map(|replica| replica.spec.failed_at.get());
    let failed = failures.max().filter(|_| cause != &ENGINE_DIED);
    // these pass by themselves, and come back as often as the engine dies
    let passes = [&ENGINE_DIED, &SALVAGE_PENDING, &NEVER_UP].contains(&cause);
    let age = passes.then(|| observe(cluster, out, cause.id, name, Begun::NotBefore(failed)));
    let young = age.is_some_and(|age| !age.at_least(PASSING, Unknown::Counts));
    let since = failed.or(age.and_then(|age| age.since));
    let mut finding =
        Finding::new(cause, volumes::object(cluster, volume), format!("{whose} is faulted: {why}"))
            .volumes(users)
            .since(since)
            .impact(format!("{whose} cannot read or write; {}", state(volume)))
            .fact(format!("status.robustness is faulted, {}", state(volume)));
    if let Some(best) = candidates.first().filter(|_| cause == &REPLICAS_UNREACHABLE) {
        let spec = &best.replica.spec;
        finding = finding.node(&spec.node_id).disk(cluster.disk(&spec.disk_id).map_or("", |disk| disk.name));
    }
    for candidate in candidates.iter().take(5) {
        finding = finding.fact(candidate.text());
    }
    let incomplete = cluster.replicas_of(name).filter(|replica| !replica.spec.healthy_at.is_set()).count();
    if incomplete > 0 && cause != &NEVER_UP {
        let text = format!(
            "{} without healthyAt: never complete, or being rebuilt when it failed",
            counted(incomplete, "replica")
        );
        finding = finding.fact(text);
    }
    if let Some(restore) = condition(&volume.status.conditions, "Restore")
        .filter(|restore| cause == &RESTORE_FAILED && !restore.message.is_empty())
    {
        let text =
            format!("condition Restore ({}): {}", restore.reason, text::shortened(&restore.message, 300));
        finding = finding.fact(text);
    }
    if let Some(at) = volume.status.last_auto_salvaged_at.get() {
        finding = finding.fact(format!("Longhorn last salvaged it by itself at {at}"));
    }
    // it is the manager that owns the volume which salvages it
    finding = finding.facts(nodes::manager_not_ready(cluster, &volume.status.owner_id).map(api));
    finding.evidence.extend(age.map(|age| age.evidence()));
    let finding = finding.remedy(remedy(cluster, volume, cause, &candidates));
    if young { finding.severity(Severity::Info) } else { finding }
}

/// State in words, with the node where it is, or should be, attached.
fn state(volume: &Volume) -> String {
    let state = volume.status.state.as_str();
    match (volume.status.current_node_id.as_str(), volume.spec.node_id.as_str()) {
        ("", "") => format!("the volume is {state}"),
        ("", wanted) => format!("the volume is {state} and is to be attached to {wanted}"),
        (node, _) => format!("the volume is {state} on {node}"),
    }
}

fn cause(cluster: &Cluster, volume: &Volume, candidates: &[Candidate]) -> (&'static Cause, String) {
    let healthy =
        cluster.replicas_of(&volume.metadata.name).filter(|replica| volumes::is_healthy(replica)).count();
    if volumes::was_never_up(cluster, volume) {
        return (&NEVER_UP, "it has never been up, so nothing in it is lost".to_owned());
    }
    if healthy > 0 {
        let text = format!("its engine stopped unexpectedly while {} intact", are(healthy));
        return (&ENGINE_DIED, text);
    }
    let Some(best) = candidates.first() else {
        return (&NO_DATA, "no replica object is left that ever held all of its data".to_owned());
    };
    if volume.status.is_standby || volume.status.restore_required {
        return (&RESTORE_FAILED, "every replica failed while data was restored into it".to_owned());
    }
    let best_name = &best.replica.metadata.name;
    if let Some(obstacle) = &best.obstacle {
        let text = match candidates.len() {
            1 => format!("the one replica with the data, {best_name}, cannot be used: {obstacle}"),
            count => format!(
                "none of {count} replicas with data can be used; the one that failed last, {best_name}: {obstacle}"
            ),
        };
        return (&REPLICAS_UNREACHABLE, text);
    }
    if is_automatic(cluster) {
        (&SALVAGE_PENDING, format!("replica {best_name} is usable, but auto-salvage has not used it"))
    } else {
        (&AUTO_SALVAGE_OFF, format!("replica {best_name} is usable, but auto-salvage is switched off"))
    }
}

fn are(count: usize) -> String {
    format!("{} {}", counted(count, "replica"), if count == 1 { "is" } else { "are" })
}

fn remedy(cluster: &Cluster, volume: &Volume, cause: &Cause, candidates: &[Candidate]) -> Remedy {
    let (namespace, name) = (&cluster.namespace, &volume.metadata.name);
    let best = candidates.first();
    let node = best.map_or("", |best| best.replica.spec.node_id.as_str());
    let owner = &volume.status.owner_id;
    let words = match cause {
        cause if cause == &REPLICAS_UNREACHABLE => format!(
            "Do not delete replicas: they are the only copies. If node {node} is down, bring it back; if its disk is full, free space on it. \
             Longhorn then salvages the replica by itself, if auto-salvage is on."
        ),
        cause if cause == &AUTO_SALVAGE_OFF => "Scale the workload down until the volume is detached. Then salvage the replica that failed last, and any \
                               that failed within a minute of it, in Longhorn's UI or with the commands below. Replicas that failed earlier missed writes."
            .to_owned(),
        cause if cause == &SALVAGE_PENDING => format!(
            "Longhorn salvages only while the volume is detached. If it stays attached, scale the workload down; if it is detached, see \
             the log of the longhorn-manager on {owner}, which owns the volume."
        ),
        cause if cause == &ENGINE_DIED => format!(
            "Longhorn detaches and attaches the volume by itself within a minute. If it stays faulted, see the instance manager on the \
             node of the engine and the longhorn-manager on {owner}."
        ),
        cause if cause == &RESTORE_FAILED => "Its data is in the backup. See why the restore failed, restore the backup into another volume, and delete this one \
                             when that one is healthy."
            .to_owned(),
        cause if cause == &NEVER_UP => format!(
            "Nothing is lost, and nothing has to be deleted. See why its engine and replicas do not start: their condition \
             InstanceCreation, the engine image and the instance managers on their nodes, and the longhorn-manager on {owner}."
        ),
        _ => format!(
            "Do not delete the volume yet: the directory of a replica may still be on a disk although its object is gone. Look for it \
             among the orphans and under replicas/{name}-* on the disks; a volume can be exported from a single one. Else restore the \
             last backup into a new volume."
        ),
    };
    let mut remedy = Remedy::new(words)
        .read(format!("kubectl -n {namespace} get replicas.longhorn.io -l longhornvolume={name} -o wide"))
        .read(format!("kubectl -n {namespace} get volumes.longhorn.io {name} -o yaml"));
    if cause == &NO_DATA {
        remedy = remedy.read(format!("kubectl -n {namespace} get orphans.longhorn.io -o wide"));
    }
    if cause == &NEVER_UP {
        remedy = remedy.read(format!(
            "kubectl -n {namespace} get engines.longhorn.io,replicas.longhorn.io -l longhornvolume={name} -o yaml | grep -A5 InstanceCreation"
        ));
    }
    if cause == &REPLICAS_UNREACHABLE && !node.is_empty() {
        remedy = remedy.read(nodes::look_at(cluster, node));
    }
    if cause == &AUTO_SALVAGE_OFF {
        for one in together(candidates) {
            let patch = r#"{"spec":{"failedAt":""}}"#;
            let replica = &one.replica.metadata.name;
            remedy = remedy.change(format!(
                "kubectl -n {namespace} patch replicas.longhorn.io {replica} --type merge -p '{patch}'"
            ));
        }
    }
    remedy
}
