//! How to free an old instance manager, in the order in which the steps have to be done.

use crate::check::*;
use crate::facts::instance_managers::InstanceManagers;
use crate::facts::kubectl;
use crate::facts::text::listed;
use crate::longhorn::{DataEngine, DataLocality, InstanceManager, VolumeRobustness, VolumeState};

use super::Orphans;
use super::causes;
use super::classify::{OldManager, ending_pod};

/// Commands a volume are printed for this many volumes at most.
const SHOWN: usize = 5;

/// Says what to do where it depends on what holds the instance manager.
pub(super) fn advise(
    finding: Finding,
    cluster: &Cluster,
    fleet: &InstanceManagers,
    im: &InstanceManager,
    case: &OldManager,
    orphans: &Orphans,
    shards: &[&str],
) -> Finding {
    match *case.why {
        _ if !shards.is_empty() => finding.way(&causes::SHARDS),
        causes::CLEANUP_STUCK if im.spec.node_id.is_empty() => finding.way(&causes::NODELESS),
        // held up by the pod alone: nothing of Longhorn's ends it
        causes::DELETION_STUCK => match ending_pod(cluster, im) {
            Some(pod) => finding
                .way(&causes::POD_STAYS)
                .with(Name::Pod, pod.metadata.name.as_str())
                .with(Name::Node, pod.spec.node_name.as_str()),
            None => finding,
        },
        causes::ORPHAN_HELD => orphan(finding, im, case, orphans),
        causes::ENGINE_UPGRADE_PENDING | causes::REATTACH_PENDING | causes::REPLICA_HELD => {
            let remedy = held(cluster, fleet, im, case, &finding.volumes);
            finding.remedy(remedy)
        }
        _ => finding,
    }
}

/// Orphaned instances go with their Orphan object where Longhorn has made one (1.9.0 and later,
/// v1, and only for instances with a uuid); else with the instance manager, once nothing else
/// runs in it.
fn orphan(finding: Finding, im: &InstanceManager, case: &OldManager, orphans: &Orphans) -> Finding {
    let name = im.metadata.name.as_str();
    let held = || case.holders.iter().filter(|holder| holder.why == &causes::ORPHAN_HELD);
    let known: Vec<&str> = held().filter_map(|holder| orphans.get(&(name, holder.name)).copied()).collect();
    if known.len() == held().count() && !known.is_empty() {
        let named = known.into_iter().map(|orphan| (Name::Key, orphan.to_owned()));
        return finding.way(&causes::ORPHANS).named(named);
    }
    if !held().all(|orphan| orphan.settled) {
        return finding.way(&causes::UNSETTLED);
    }
    // all that would end with it, also what does not hold it in this release
    let is_orphan = |name: &str| held().any(|orphan| orphan.name == name);
    let mut active = im.status.all_instances().filter(|(_, instance)| instance.status.state.is_active());
    match active.any(|(name, _)| !is_orphan(name)) {
        true => finding.way(&causes::BESIDE_OTHERS),
        false => finding.way(&causes::ALONE).with(Name::InstanceManager, name),
    }
}

/// First the live upgrades, then the reattachments.
fn held(
    cluster: &Cluster,
    fleet: &InstanceManagers,
    im: &InstanceManager,
    case: &OldManager,
    volumes: &[VolumeRef],
) -> Remedy {
    let ns = &cluster.namespace;
    let default = cluster.setting_value("default-engine-image", im.spec.data_engine);
    let field = match fleet.release {
        Some(release) if !release.at_least(1, 6, 0) => "engineImage",
        _ => "image",
    };
    let needs = |volume: &VolumeRef, why: &'static Cause| {
        case.holders.iter().any(|holder| holder.volume == Some(&volume.name) && holder.why == why)
    };
    // a volume that already wants the default image is being upgraded
    let wants_default = |volume: &VolumeRef| {
        let volume = cluster.objects.volumes.get(&volume.name);
        default.is_empty() || volume.is_some_and(|volume| volume.spec.wanted_image() == default)
    };
    let upgrade = volumes
        .iter()
        .filter(|volume| needs(volume, &causes::ENGINE_UPGRADE_PENDING) && !wants_default(volume));
    let (live, later): (Vec<_>, Vec<_>) = upgrade.partition(|volume| can_upgrade_live(cluster, &volume.name));
    let v2 = im.spec.data_engine == DataEngine::V2;
    let mut text = match *case.why {
        causes::REPLICA_HELD if v2 => causes::NO_LIVE_UPGRADE.fix,
        _ => case.why.fix,
    }
    .to_owned();
    if !later.is_empty() {
        let names: Vec<&str> = later.iter().map(|volume| volume.name.as_str()).collect();
        text += &format!(
            " Upgrade these later, once healthy (strict-local volumes only while detached): {}.",
            listed(&names)
        );
    }
    let moves: Vec<_> =
        volumes.iter().filter(|volume| needs(volume, &causes::REATTACH_PENDING)).take(SHOWN).collect();
    if !moves.is_empty() && *case.why != causes::REATTACH_PENDING {
        text += " Do not scale down a StatefulSet whose persistentVolumeClaimRetentionPolicy.whenScaled is Delete: that deletes its volumes.";
    }
    let look = format!("kubectl -n {ns} get instancemanagers.longhorn.io {} -o yaml", im.metadata.name);
    let mut remedy = Remedy::new(text).read(format!("kubectl -n {ns} get volumes.longhorn.io")).read(look);
    for volume in live.into_iter().take(SHOWN) {
        let image = serde_json::json!({ "spec": { *field: default } });
        remedy = remedy.change(kubectl::patch(ns, "volumes.longhorn.io", &volume.name, &image));
    }
    moves.into_iter().fold(remedy, detach)
}

/// What Longhorn asks of a volume before it upgrades its engine live. It asks in its own API only, which
/// a patch goes past (longhorn-manager v1.12.1 manager/volume.go EngineUpgrade).
fn can_upgrade_live(cluster: &Cluster, volume: &str) -> bool {
    cluster.objects.volumes.get(volume).is_some_and(|volume| {
        volume.status.state == VolumeState::Attached
            && volume.status.robustness == VolumeRobustness::Healthy
            && volume.spec.data_locality != DataLocality::StrictLocal
    })
}

/// Scales down what uses a volume, as far as its name tells how.
fn detach(remedy: Remedy, volume: &VolumeRef) -> Remedy {
    volume.workloads.iter().fold(remedy, |remedy, workload| {
        let Some((kind, (namespace, name))) =
            workload.split_once(' ').and_then(|(kind, rest)| Some((kind, rest.split_once('/')?)))
        else {
            return remedy;
        };
        let get = format!("kubectl -n {namespace} get {} {name}", kind.to_lowercase());
        match kind {
            "" => remedy,
            // scaling down would delete the claims where the StatefulSet says so
            "StatefulSet" => {
                let policy = ".spec.persistentVolumeClaimRetentionPolicy.whenScaled";
                remedy
                    .read(format!("{get} -o custom-columns=REPLICAS:.spec.replicas,CLAIMS-WHEN-SCALED:{policy}"))
                    .change(format!(
                        "policy=$({get} -o jsonpath='{{{policy}}}') && test \"$policy\" != Delete && \
                         kubectl -n {namespace} scale statefulset {name} --replicas=0"
                    ))
            }
            "Deployment" => remedy
                .read(format!("{get} -o custom-columns=REPLICAS:.spec.replicas"))
                .change(format!("kubectl -n {namespace} scale deployment {name} --replicas=0")),
            // the Deployment above a ReplicaSet is what has to be scaled
            "ReplicaSet" => remedy.read(format!(
                "kubectl -n {namespace} get replicaset {name} -o jsonpath='{{.metadata.ownerReferences[*].name}}'"
            )),
            _ => remedy.read(get),
        }
    })
}
