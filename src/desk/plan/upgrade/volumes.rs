//! Volumes that an upgrade must not meet as they are. Detached volumes are not degraded: Longhorn calls their robustness
//! unknown.

use super::super::{Found, Weight};
use super::Rung;
use crate::check::counted;
use crate::facts::volumes::rebuild;
use crate::longhorn::{
    DataEngine, DataLocality, Engine, Release, Replica, Volume, VolumeHealth, VolumeState,
};

fn all<'a>(rung: &Rung<'a>) -> impl Iterator<Item = &'a Volume> {
    rung.cluster.objects.volumes.iter()
}

fn of_health<'a>(rung: &Rung<'a>, health: VolumeHealth) -> Vec<&'a Volume> {
    all(rung).filter(|volume| volume.status.health() == health).collect()
}

pub fn faulted(rung: &Rung<'_>, out: &mut Found) {
    out.volumes(rung.cluster, &of_health(rung, VolumeHealth::Faulted), "is|are faulted");
}

pub fn degraded(rung: &Rung<'_>, out: &mut Found) {
    // one that is being rebuilt is busy, and is reported there
    let mut degraded = of_health(rung, VolumeHealth::Degraded);
    degraded.retain(|volume| !is_rebuilt(rung, volume));
    if let Some(reason) = out.volumes(rung.cluster, &degraded, "is|are degraded") {
        reason.fact(
            "the engines of degraded volumes cannot be upgraded live, and an instance manager restart can stop their last replica",
        );
    }
}

fn is_rebuilt(rung: &Rung<'_>, volume: &Volume) -> bool {
    let attached = volume.status.state == VolumeState::Attached;
    attached && rung.cluster.engines_of(&volume.metadata.name).any(|engine| rebuild(engine).is_some())
}

/// What is under way on volumes, each kind of it one reason.
pub fn busy(rung: &Rung<'_>, out: &mut Found) {
    type Test<'t> = (&'static str, &'t dyn Fn(&Volume) -> bool);
    let engines = |volume: &Volume| rung.cluster.engines_of(&volume.metadata.name).collect::<Vec<&Engine>>();
    let tests: [Test<'_>; 7] = [
        ("being rebuilt", &|volume| is_rebuilt(rung, volume)),
        ("getting a new engine", &|volume| {
            let named =
                [&volume.spec.image, &volume.spec.engine_image].into_iter().find(|image| !image.is_empty());
            let (wanted, runs) = (named.unwrap_or(&volume.spec.image), &volume.status.current_image);
            volume.status.state == VolumeState::Attached
                && !wanted.is_empty()
                && !runs.is_empty()
                && wanted != runs
        }),
        ("being expanded", &|volume| {
            volume.status.expansion_required
                || engines(volume).iter().any(|engine| engine.status.is_expanding)
        }),
        ("being restored", &|volume| volume.status.restore_required && !volume.status.is_standby),
        ("being cloned", &|volume| {
            let state = volume.status.clone_status.state.as_str();
            !matches!(state, "" | "completed" | "failed")
        }),
        ("being migrated", &|volume| {
            !volume.spec.migration_node_id.is_empty() || !volume.status.current_migration_node_id.is_empty()
        }),
        ("attaching or detaching", &|volume| {
            matches!(
                volume.status.state,
                VolumeState::Attaching | VolumeState::Detaching | VolumeState::Creating
            )
        }),
    ];
    for (what, test) in tests {
        let busy: Vec<&Volume> = all(rung).filter(|volume| test(volume)).collect();
        out.volumes(rung.cluster, &busy, &format!("is|are {what}"));
    }
}

pub fn v2_attached(rung: &Rung<'_>, out: &mut Found) {
    let attached = |volume: &&Volume| {
        volume.spec.data_engine == DataEngine::V2 && volume.status.state != VolumeState::Detached
    };
    let volumes: Vec<&Volume> = all(rung).filter(attached).collect();
    out.volumes(rung.cluster, &volumes, "is|are attached and uses|use data engine v2");
}

/// A failed replica is in no one's way from 1.5.5 and 1.6.2 on; a cluster of an older release does not know when it
/// was last healthy, and the release after it may take the wrong one for the good one.
pub fn failed_replicas(rung: &Rung<'_>, out: &mut Found) {
    let failed = |replica: &&Replica| replica.spec.failed_at.is_set() && !replica.metadata.is_deleting();
    let replicas: Vec<&Replica> = rung.cluster.objects.replicas.iter().filter(failed).collect();
    if replicas.is_empty() {
        return;
    }
    let mut names: Vec<&str> = replicas.iter().map(|replica| replica.spec.volume_name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let volumes: Vec<&Volume> =
        names.iter().filter_map(|name| rung.cluster.objects.volumes.get(name)).collect();
    let remembers = rung.from.has_fix(&[Release::new(1, 5, 5), Release::new(1, 6, 2)]);
    let reason = out.say(format!(
        "{} of {} still {}",
        counted(replicas.len(), "failed replica"),
        counted(names.len(), "volume"),
        if replicas.len() == 1 { "exists" } else { "exist" }
    ));
    reason.volumes(rung.cluster, &volumes);
    if remembers {
        reason.weight(Weight::Note);
    } else {
        reason.fact(format!(
            "{} does not record when a replica was last healthy, so the upgrade may keep the wrong one",
            rung.from
        ));
    }
}

/// The rules of a live upgrade but for those that pass on their own.
pub fn offline_engines(rung: &Rung<'_>, out: &mut Found) {
    let offline = |volume: &&Volume| {
        let attached = volume.status.state == VolumeState::Attached;
        let strict = volume.spec.data_locality == DataLocality::StrictLocal;
        attached && (strict || volume.status.is_standby) && volume.spec.data_engine != DataEngine::V2
    };
    let volumes: Vec<&Volume> = all(rung).filter(offline).collect();
    let holds = "needs|need to be detached for the engine upgrade (strict-local or standby)";
    out.volumes(rung.cluster, &volumes, holds);
}
