//! Volumes without a usable replica, and which replica to go on with.
//!
//! Facts, the same in longhorn-manager v1.3.3, v1.4.4, v1.5.5, v1.6.4, v1.7.3, v1.8.2, v1.9.2, v1.10.2, v1.11.3 and
//! v1.12.1 (controller/volume_controller.go ReconcileVolumeState) unless said otherwise:
//! - `status.robustness` becomes faulted when no replica is healthy and active and at least one has `spec.failedAt`, and
//!   also for the moments after an engine died, with replicas that are all right.
//! - With setting auto-salvage Longhorn waits until the volume is detached, then clears `failedAt` of every replica that
//!   has `healthyAt`, lies on a node that is not down and on a disk whose condition Schedulable is True, and failed within
//!   one minute of the last such. A full disk (DiskPressure) therefore keeps a replica from being salvaged.
//! - Standby volumes and volumes that are being restored are never salvaged on their own.
//! - `healthyAt` is emptied when a failed replica is rebuilt, so a replica without it holds only part of the data.
//! - `spec.lastHealthyAt` says when a replica last got in step (1.5.4, 1.6.1 and later); before that only `healthyAt` does.
//! - v1.12.0 and later write `status.lastAutoSalvagedAt`.
//! - In a volume that has never been up, no replica has `healthyAt`: it is called faulted when all of its replicas have failed, and for
//!   the moment after each try to start its engine (isFirstAttachment, isAutoSalvageNeeded). There is nothing in it to be lost.
//! - A volume whose replicas are in order leaves faulted on its own: it is detached and attached again.

mod restore;
mod rules;
mod salvage;

use crate::check::OfData::NeverUp;
use crate::check::*;
use crate::facts::age::{Begun, Unknown, observe};
use crate::facts::backing_images::Wait;
use crate::facts::patience::SALVAGE;
use crate::facts::ways::{self, BACKING_IMAGE};
use crate::facts::{nodes, text, volumes};
use crate::longhorn::Resource::*;
use crate::longhorn::{Volume, VolumeRobustness, condition};
use salvage::{Candidate, is_automatic, newer, together};

const REPLICAS: &str = "kubectl -n <namespace> get replicas.longhorn.io -l longhornvolume=<object> -o wide";

ways! { NEWER:
    NEWER_AWAY "a newer copy is currently unusable"
        fix "Bring back replica <replica> on <node>: no other copy has the latest writes (<reason>). Until then, scale the workload down and disable \
             auto-salvage, which would use an older copy."
        [read "kubectl describe node <node>", read REPLICAS];
}

const EVENTS: &str = "kubectl -n <namespace> get events --field-selector involvedObject.name=<object>";
const VOLUME: &str = "kubectl -n <namespace> get volumes.longhorn.io <object> -o yaml";

causes! {
    REPLICAS_UNREACHABLE = critical "replicas_unreachable"
        "the replicas with the data are on nodes that are down, or on disks that Longhorn cannot use"
        fix "Bring <node> and its disk back, or free space on the disk: that disk has the newest copy. Do not delete replicas: they are \
             the only copies."
            [read "kubectl -n <namespace> get nodes.longhorn.io <node> -o yaml", read REPLICAS]
            proven "the node of the newest copy is deleted from Kubernetes and its disk is lost; the backup is restored into a new volume, and \
                  nothing is deleted"
        way NODE_GONE "the node of the newest copy no longer exists"
            fix "Find the disk of replica <replica>, which has the newest copy, and add it to another node. If the disk is lost, restore the \
                 last backup. Do not delete replicas."
            [read REPLICAS, read "kubectl get nodes"];
    AUTO_SALVAGE_OFF = critical "auto_salvage_off"
        "usable replicas exist, but Longhorn salvages none automatically, so you must choose which replica to salvage"
        fix "Scale the workload down. Once the volume is detached, salvage the replica that failed last. Also salvage any that failed \
             within a minute before it: earlier ones lack writes." [
            read REPLICAS,
            read VOLUME,
            change "kubectl -n <namespace> patch replicas.longhorn.io <replica> --type merge -p '{\"spec\":{\"failedAt\":\"\"}}'",
        ] proven "these replicas failed last, within a minute of each other, and their nodes and disks are up; none is named if a newer one is \
                  unavailable"
        way STANDBY "Longhorn does not salvage standby volumes"
            fix "Salvage replica <replica>: it failed because its node went down, not because of the restore. The volume then attaches again and the \
                 restore continues."
        ways NEWER;
    SALVAGE_PENDING = critical "salvage_pending"
        "a replica is usable, but auto-salvage has not used it" but "info in the first minute, while Longhorn salvages"
        fix "Scale the workload of <claim> down: Longhorn salvages only detached volumes. If the volume is already detached, read the log of \
             the longhorn-manager on <owner>, which owns it."
            [read VOLUME, read REPLICAS] proven "a replica is usable; the workload has no I/O anyway, and Longhorn salvages only detached volumes"
        way IN_VAIN "its replicas fail after every salvage"
            fix "Scale the workload of <claim> down. Then find out why its replicas fail after each salvage: check their disks (read-only, full) and the \
                 instance managers' logs. Do not delete replicas."
            [read EVENTS, read REPLICAS, read VOLUME]
        ways NEWER;
    ENGINE_DIED = critical "engine_died"
        "the engine stopped unexpectedly, but replicas with the data have not failed"
        but "info in the first minute, while Longhorn attaches the volume again"
        fix "Wait a minute: Longhorn detaches and attaches the volume. If the volume stays faulted, check the instance manager on the engine's \
             node and the longhorn-manager on <owner>."
            [read "kubectl -n <namespace> get engines.longhorn.io,replicas.longhorn.io -l longhornvolume=<object> -o wide", read VOLUME];
    RESTORE_FAILED = critical "restore_failed"
        "every replica failed while data was being restored into the volume, a case that auto-salvage does not cover"
        fix "<known_error>Check the restore error and fix its cause. Then restore the backup (an older one if damaged) into a new volume. Delete \
             this volume once the new one is healthy."
            [read VOLUME, read REPLICAS]
            proven "every replica failed during the restore, so the data is in the backup; this volume is deleted once the new one is healthy"
        way BACKUP_MISSING "its backup no longer exists"
            fix "Take a new backup of the source volume, and restore it into a new volume. Keep this volume until the new one is healthy: it has the last \
                 restored data." [read VOLUME, read REPLICAS]
        way ARCHIVED "its backup is in archive storage"
            fix "Restore the backup store's objects from archive storage at the provider, and exempt the store from the lifecycle rule. Then \
                 restore the backup into a new volume. Keep the backups." [
                read "kubectl -n <namespace> get backuptargets.longhorn.io",
                read "kubectl -n <namespace> get backups.longhorn.io --sort-by=.metadata.creationTimestamp",
                read VOLUME,
            ]
        way BLOCKS_MISSING "blocks of the backup are missing from the store"
            fix "Stop whatever is removing objects from the backup store (such as a lifecycle rule): other backups probably lack blocks too. Take \
                 full backups of existing volumes. Keep the old backups." [
                read "kubectl -n <namespace> get events --field-selector involvedObject.name=<object>",
                read "kubectl -n <namespace> get backuptargets.longhorn.io",
                read VOLUME,
            ];
    NO_DATA = critical "no_data"
        "none of the remaining replicas ever held all of the volume's data"
        fix "Search disks (replicas/<object>-*) and orphans for a deleted replica's directory: one suffices for an export. If none exists, restore the last \
             backup into a new volume. Do not delete anything."
            [read "kubectl -n <namespace> get orphans.longhorn.io -o wide", read REPLICAS, read VOLUME]
            proven "the volume was up once, and every healthy replica is deleted; orphans and directories come first, the backup is restored into a \
                  new volume, and nothing is deleted";
    NEVER_UP = warning "never_up"
        "the volume has never been up, so no data is lost: its engine or replicas cannot start"
        but "info in the first minute", of_data: NeverUp
        fix "Check condition InstanceCreation, engine image, instance managers and <owner>'s longhorn-manager: the engine and \
             replicas are not starting. Do not delete anything: the data is intact." [
            read "kubectl -n <namespace> get engines.longhorn.io,replicas.longhorn.io -l longhornvolume=<object> -o yaml | grep -A5 InstanceCreation",
            read REPLICAS,
        ]
        ways BACKING_IMAGE;
}

pub static CHECK: Check = check! {
    id: "volume_faulted",
    title: "Faulted volumes",
    summary: "A volume has no usable replica, so its workloads cannot read or write. The finding names the replica to use, and says whether \
              Longhorn uses it automatically.",
    needs: &[Volumes, Replicas, LonghornNodes, Settings],
    uses: &[Engines, Pods, Events, KubeNodes, BackingImages, BackingImageDataSources, BackingImageManagers],
    causes: ALL,
    ways: &[WAYS],
    gauges: GAUGES,
    alerts: rules::ALERTS,
    panels: rules::PANELS,
    stops_workloads: true,
};

gauges! {
    FAULTED = Gauge "longhorn_health_volume_faulted" ["volume", "pvc_namespace", "pvc"]
        "1 for every volume that cannot be read or written: no replica is usable.",
        absent "one is usable",
        example "max without (instance, pod) (longhorn_health_volume_faulted) == 1";
}

fn run(cluster: &Cluster, out: &mut Outcome) {
    for volume in cluster.objects.volumes.iter() {
        let faulted =
            volume.status.robustness == VolumeRobustness::Faulted || salvage::in_vain(cluster, volume);
        if faulted && !volume.metadata.is_deleting() && !volumes::waits_for_disks(cluster, volume) {
            out.sample(&FAULTED, &volumes::labels(volume), 1.0);
            let finding = finding(cluster, out, volume);
            out.report(finding);
        }
    }
}

fn finding(cluster: &Cluster, out: &mut Outcome, volume: &Volume) -> Finding {
    let candidates = Candidate::all(cluster, volume);
    let in_vain = salvage::in_vain(cluster, volume);
    let (cause, why) = match in_vain {
        true => (&SALVAGE_PENDING, IN_VAIN.briefly.to_owned()),
        false => cause(cluster, volume, &candidates),
    };
    let name = &volume.metadata.name;
    let users = vec![cluster.volume_ref(name)];
    let whose = text::claims_of(&users);
    let failures = cluster.replicas_of(name).filter_map(|replica| replica.spec.failed_at.get());
    let failed = failures.max().filter(|_| cause != &ENGINE_DIED);
    // these pass on their own, and come back as often as the engine dies
    let passes = !in_vain && [&ENGINE_DIED, &SALVAGE_PENDING, &NEVER_UP].contains(&cause);
    let age = passes.then(|| observe(cluster, out, cause.id, name, Begun::NotBefore(failed)));
    let young = age.is_some_and(|age| !age.at_least(SALVAGE, Unknown::Counts));
    let since = failed.or(age.and_then(|age| age.since));
    let owner = &volume.status.owner_id;
    let mut finding =
        Finding::about(cause, volumes::object(cluster, volume), format!("{whose} is faulted: {why}"))
            .volumes(users)
            .since(since)
            .impact(format!("pods cannot read or write {whose}"))
            .facts(evidence(cluster, volume, cause, &candidates))
            // it is the manager that owns the volume which salvages it
            .facts(nodes::manager_not_ready(cluster, owner))
            .facts(age.map(|age| age.evidence()))
            .with(Name::Owner, if owner.is_empty() { "its node" } else { owner });
    if let Some(best) = candidates.first().filter(|_| cause == &REPLICAS_UNREACHABLE) {
        let spec = &best.replica.spec;
        finding = finding.node(&spec.node_id).disk(cluster.disk(&spec.disk_id).map_or("", |disk| disk.name));
    }
    finding = if in_vain { finding.way(&IN_VAIN) } else { in_its_way(cluster, volume, &candidates, finding) };
    if young { finding.severity(Severity::Info) } else { finding }
}

/// What the volume, its replicas and its restore say.
fn evidence(cluster: &Cluster, volume: &Volume, cause: &Cause, candidates: &[Candidate]) -> Vec<Evidence> {
    let name = &volume.metadata.name;
    let mut facts = vec![Evidence::from(format!(
        "volume {name}: status.robustness is {}, and {}",
        volume.status.robustness.as_str(),
        state(volume)
    ))];
    facts.extend(candidates.iter().take(5).map(|candidate| Evidence::from(candidate.text())));
    let incomplete = cluster.replicas_of(name).filter(|replica| !replica.spec.healthy_at.is_set()).count();
    if incomplete > 0 && cause != &NEVER_UP {
        let replicas = counted(incomplete, "replica");
        facts.push(Evidence::from(format!(
            "healthyAt is empty in {replicas}, so each was never complete or failed during a rebuild"
        )));
    }
    let restore = condition(&volume.status.conditions, "Restore")
        .filter(|restore| cause == &RESTORE_FAILED && !restore.message.is_empty());
    facts.extend(restore.into_iter().flat_map(|said| restore::evidence(cluster, volume, said)));
    let salvaged = volume.status.last_auto_salvaged_at.get();
    facts.extend(salvaged.map(|at| Evidence::from(format!("Longhorn's last automatic salvage was at {at}"))));
    facts
}

/// The finding in the way in which its cause came about, with what that way's texts name.
fn in_its_way(cluster: &Cluster, volume: &Volume, candidates: &[Candidate], finding: Finding) -> Finding {
    match (finding.cause, candidates.first(), newer(candidates)) {
        (&REPLICAS_UNREACHABLE, Some(best), _) if is_nowhere(cluster, &best.replica.spec.node_id) => {
            finding.way(&NODE_GONE).with(Name::Replica, best.replica.metadata.name.as_str())
        }
        (&AUTO_SALVAGE_OFF | &SALVAGE_PENDING, _, Some(newer)) => finding
            .way(&NEWER_AWAY)
            .with(Name::Replica, newer.replica.metadata.name.as_str())
            .with(Name::Node, newer.replica.spec.node_id.as_str())
            .with(Name::Reason, newer.obstacle.as_ref().map_or("", |obstacle| &obstacle.text)),
        (&RESTORE_FAILED, ..) => finding.way(lacking(cluster, volume)),
        (&NEVER_UP, ..) => match Wait::of(cluster, volume) {
            Some(wait) => {
                finding.fact(wait.text()).way(&ways::WAITS_FOR_IMAGE).with(Name::BackingImage, wait.image)
            }
            None => finding,
        },
        (&AUTO_SALVAGE_OFF, ..) => {
            let usable = together(candidates).into_iter();
            let finding = if volume.status.is_standby { finding.way(&STANDBY) } else { finding };
            finding.named(usable.map(|one| (Name::Replica, one.replica.metadata.name.to_string())))
        }
        _ => finding,
    }
}

fn is_nowhere(cluster: &Cluster, node: &str) -> bool {
    node.is_empty() || nodes::is_gone(cluster, node)
}

/// State in words, with the node where it is, or should be, attached.
fn state(volume: &Volume) -> String {
    let state = volume.status.state.as_str();
    match (volume.status.current_node_id.as_str(), volume.spec.node_id.as_str()) {
        ("", "") => format!("the volume is {state}"),
        ("", wanted) => format!("the volume is {state} and should attach to {wanted}"),
        (node, _) => format!("the volume is {state} on {node}"),
    }
}

/// What the store lacks of what is restored.
fn lacking(cluster: &Cluster, volume: &Volume) -> Option<&'static Way> {
    let archived =
        restore::said(cluster, volume).any(|said| said.contains("InvalidObjectState")).then_some(&ARCHIVED);
    let blocks = restore::blocks_missing(cluster, volume).then_some(&BLOCKS_MISSING);
    archived.or(blocks).or_else(|| restore::backup_missing(cluster, volume).then_some(&BACKUP_MISSING))
}

fn cause(cluster: &Cluster, volume: &Volume, candidates: &[Candidate]) -> (&'static Cause, String) {
    let healthy =
        cluster.replicas_of(&volume.metadata.name).filter(|replica| volumes::is_healthy(replica)).count();
    if volumes::was_never_up(cluster, volume) {
        return (&NEVER_UP, "it has never been up, so no data is lost".to_owned());
    }
    if healthy > 0 {
        let usable = |one: &&Candidate| one.obstacle.is_none() && volumes::is_healthy(one.replica);
        let text = match candidates.iter().filter(usable).count() {
            0 => format!("its engine stopped, and {} cannot be used now", counted(healthy, "replica")),
            usable => format!("its engine stopped, but {} intact", are(usable)),
        };
        return (&ENGINE_DIED, text);
    }
    // what it is to hold is in the backup; a standby volume goes on with a replica that failed with its node (seen on 1.12.1)
    let lost_node = volume.status.is_standby
        && !candidates.is_empty()
        && !restore::failed_in_restore(volume)
        && !restore::backup_missing(cluster, volume);
    if !lost_node && (volume.status.is_standby || volume.status.restore_required) {
        let way = lacking(cluster, volume);
        let text = way.map_or("every replica failed during its restore", |way| way.briefly);
        return (&RESTORE_FAILED, text.to_owned());
    }
    let Some(best) = candidates.first() else {
        return (&NO_DATA, "no complete replica is left".to_owned());
    };
    if let Some(obstacle) = &best.obstacle {
        return (&REPLICAS_UNREACHABLE, obstacle.briefly.to_owned());
    }
    if lost_node {
        let text = "Longhorn does not salvage standby volumes".to_owned();
        return (&AUTO_SALVAGE_OFF, text);
    }
    if is_automatic(cluster) {
        (&SALVAGE_PENDING, "auto-salvage skipped a usable replica".to_owned())
    } else {
        (&AUTO_SALVAGE_OFF, "a replica is usable, but auto-salvage is disabled".to_owned())
    }
}

fn are(count: usize) -> String {
    format!("{} {}", counted(count, "replica"), if count == 1 { "is" } else { "are" })
}
