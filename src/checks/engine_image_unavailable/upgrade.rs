//! Live upgrades of engines that do not end.
//!
//! Longhorn creates a replica of the new image, not active yet, beside each running one, and replaces the process of the engine when
//! all of them run. It waits without an end where one of them does not run and, before 1.9.3 and 1.10.1, where more replicas run
//! than the volume wants (longhorn issue 11825); until then it neither migrates the volume nor cleans up its failed replicas
//! (longhorn-manager v1.3.3 to v1.12.1 controller/volume_controller.go upgradeEngineForVolume, constructReplicaAddressMap,
//! cleanupReplicas). Images of the same commit are not upgraded live, and get no such replicas.

use jiff::SignedDuration;

use super::causes;
use crate::check::*;
use crate::facts::age::{Begun, Unknown, observe};
use crate::facts::patience::{REBUILD, ROLLOUT};
use crate::facts::releases::manager_release;
use crate::facts::{text, volumes};
use crate::longhorn::{DataEngine, InstanceState, Release, Replica, Volume, VolumeRobustness, VolumeState};

/// From these on, as many new replicas as run are enough.
const SURPLUS_ALLOWED: &[Release] = &[Release::new(1, 9, 3), Release::new(1, 10, 1)];

pub(super) fn run(cluster: &Cluster, out: &mut Outcome) {
    for volume in cluster.objects.volumes.iter().filter(|volume| is_upgrading(volume)) {
        let name = volume.metadata.name.as_str();
        let wanted = volume.spec.wanted_image();
        let new = |replica: &&Replica| {
            !replica.spec.active && replica.engine_image() == wanted && !replica.metadata.is_deleting()
        };
        let new: Vec<&Replica> = cluster.replicas_of(name).filter(new).collect();
        let begun = new.iter().filter_map(|replica| replica.metadata.created()).min();
        if new.is_empty() {
            same_commit(cluster, out, volume); // else not begun, or about to end
            continue;
        }
        let age = observe(cluster, out, "upgrade", name, Begun::At(begun));
        if age.at_least(patience(cluster, volume, new.len()), Unknown::Counts) {
            out.report(finding(cluster, volume, &new).since(age.since).fact(since(begun.is_some())));
        }
    }
}

/// That Longhorn says nowhere but in its log: it exchanges the image once the volume is detached, as where an image comes from another
/// registry (longhorn-manager v1.3.3 to v1.12.1 controller/volume_controller.go upgradeEngineForVolume). From 1.11.3 and 1.12.1 on a
/// setting lets it exchange those whose tag has a revision while they run (controller/utils.go isRevisionedEngineImage).
fn same_commit(cluster: &Cluster, out: &mut Outcome, volume: &Volume) {
    let commit = |name: &str| {
        let image = cluster.objects.engine_images.iter().find(|image| image.spec.image == name)?;
        Some(image.status.git_commit.as_str()).filter(|commit| !commit.is_empty())
    };
    let (name, from, to) = (&volume.metadata.name, &volume.status.current_image, volume.spec.wanted_image());
    let same = commit(from).filter(|_| commit(from) == commit(to));
    let setting = cluster.setting_value("allow-live-engine-upgrade-on-same-image-commit", DataEngine::V1);
    let has_revision = to.rsplit_once('-').is_some_and(|(_, revision)| revision.contains('.'));
    let Some(same) = same.filter(|_| setting != "true" || !has_revision) else { return };
    let age = observe(cluster, out, "same_commit", name, Begun::At(None));
    if age.at_least(ROLLOUT, Unknown::Counts) {
        out.report(
            Finding::about(
                &causes::UPGRADE_STUCK,
                volumes::object(cluster, volume),
                format!("volume {name} gets its new engine image only while it is detached"),
            )
            .severity(Severity::Info)
            .way(&causes::SAME_COMMIT)
            .since(age.since)
            .volumes(vec![cluster.volume_ref(name)])
            .impact("none: both images contain the same engine")
            .fact(format!("the volume's spec has image {to}, its engine runs {from}, and both were built from commit {same}")),
        );
    }
}

fn since(known: bool) -> &'static str {
    match known {
        true => "the upgrade began when Longhorn created the first new replica",
        false => "the upgrade's start is unknown: no replica shows when it was created",
    }
}

fn patience(cluster: &Cluster, volume: &Volume, new: usize) -> SignedDuration {
    match volume.status.robustness {
        VolumeRobustness::Degraded if !is_rebuilt_nowhere(cluster, volume, new) => REBUILD,
        _ => ROLLOUT,
    }
}

/// New replicas whose counterpart is gone keep their places, so that no replica is built there (issue 7012; since its fix one such replica
/// after the other is removed).
fn is_rebuilt_nowhere(cluster: &Cluster, volume: &Volume, new: usize) -> bool {
    let active = cluster.replicas_of(&volume.metadata.name).filter(|replica| replica.spec.active);
    let whole: Vec<&Replica> = active.filter(|replica| replica.spec.failed_at.get().is_none()).collect();
    // one that is not good yet is being built, or about to be
    let begins = whole.iter().any(|replica| replica.spec.healthy_at.get().is_none());
    new > whole.len() && !begins
}

fn is_upgrading(volume: &Volume) -> bool {
    let (spec, status) = (&volume.spec, &volume.status);
    spec.data_engine.or_v1() == DataEngine::V1
        && status.state == VolumeState::Attached
        && [VolumeRobustness::Healthy, VolumeRobustness::Degraded].contains(&status.robustness)
        && !status.current_image.is_empty()
        && status.current_image != spec.wanted_image()
        && !volume.metadata.is_deleting()
}

fn finding(cluster: &Cluster, volume: &Volume, new: &[&Replica]) -> Finding {
    let name = &volume.metadata.name;
    let (from, to) = (&volume.status.current_image, volume.spec.wanted_image());
    let old = cluster.replicas_of(name).filter(|replica| replica.spec.active).count();
    let wanted = usize::try_from(volume.spec.number_of_replicas.0).unwrap_or_default();
    let idle = new.iter().filter(|replica| replica.status.current_state != InstanceState::Running);
    let idle: Vec<String> = idle.map(|replica| described(replica)).collect();
    let mut finding = Finding::about(
        &causes::UPGRADE_STUCK,
        volumes::object(cluster, volume),
        format!("the live engine upgrade of volume {name} is stuck"),
    )
    .node(&volume.status.current_node_id)
    .volumes(vec![cluster.volume_ref(name)])
    .impact("the volume cannot migrate, and failed replicas stay, until the upgrade ends. I/O continues on the old image")
    .fact(format!("the volume's spec has image {to}, but its engine runs {from}"))
    .fact(format!("the volume has {} with the new image, its engine uses {}, and numberOfReplicas is {wanted}", counted(new.len(), "replica"), old));
    let allowed = manager_release(cluster).is_some_and(|release| release.has_fix(SURPLUS_ALLOWED));
    if old > wanted && !allowed {
        finding = finding.with(Name::Value, old.to_string()).way(&causes::SURPLUS);
    }
    if volume.status.robustness == VolumeRobustness::Degraded {
        finding = finding
            .fact("the volume is degraded, and a live upgrade continues only while the volume is healthy");
    }
    if !idle.is_empty() {
        finding = finding.fact(format!("new replicas are not running: {}", text::listed(&idle)));
    }
    finding
}

fn described(replica: &Replica) -> String {
    let (name, node) = (&replica.metadata.name, &replica.spec.node_id);
    format!("{name} on {node} is {}", replica.status.current_state.as_str())
}
