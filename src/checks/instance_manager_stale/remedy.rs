//! How to free an old instance manager, in the order in which the steps have to be done.

use crate::check::*;
use crate::facts::instance_managers::InstanceManagers;
use crate::facts::kubectl;
use crate::facts::text::listed;
use crate::longhorn::{DataEngine, DataLocality, InstanceManager, VolumeRobustness, VolumeState};

use super::Orphans;
use super::causes;
use super::classify::StaleManager;

/// Commands a volume are printed for this many volumes at most.
const SHOWN: usize = 5;

/// What to do, by the cause and then by the holders.
pub(super) fn remedy(
    cluster: &Cluster,
    fleet: &InstanceManagers,
    im: &InstanceManager,
    case: &StaleManager,
    volumes: &[VolumeRef],
    orphans: &Orphans,
    shards: &[&str],
) -> Remedy {
    let (ns, name, node) = (&cluster.namespace, &im.metadata.name, &im.spec.node_id);
    let look = |remedy: Remedy| {
        remedy.read(format!("kubectl -n {ns} get instancemanagers.longhorn.io {name} -o yaml"))
    };
    let look_at_manager = |remedy: Remedy| {
        match node.as_str() {
        "" => look(remedy),
        node => look(remedy)
            .read(format!("kubectl -n {ns} get pods -l app=longhorn-manager --field-selector spec.nodeName={node} -o wide"))
            .read(format!("kubectl get node {node}")),
    }
    };
    match *case.why {
        _ if !shards.is_empty() => look(Remedy::new(
            "Detach the volumes of these shards before Longhorn removes the instance manager under them. Do not speed up its removal: leave the longhorn-manager of the node alone until they are detached.",
        ))
        .read(format!("kubectl -n {ns} get volumes.longhorn.io")),
        causes::STUCK if node.is_empty() => look(Remedy::new("It names no node, so no longhorn-manager looks after it.")),
        causes::STUCK => look_at_manager(Remedy::new(format!(
            "Only the longhorn-manager on {node} removes it. Look at that pod and its log first; \
             restart it when it runs and does nothing.",
        )))
        .change(format!(
            "kubectl -n {ns} delete pod -l app=longhorn-manager --field-selector spec.nodeName={node}"
        )),
        causes::DELETION_STUCK => look_at_manager(Remedy::new(
            "Longhorn sets no finalizer on instance managers. See which finalizer is there and who sets it, \
             and whether the admission webhook answers.",
        ))
        .read(format!(
            "kubectl -n {ns} get instancemanagers.longhorn.io {name} -o jsonpath='{{.metadata.finalizers}}'"
        )),
        causes::NODE_DOWN => look_at_manager(Remedy::new(
            "Bring the node back, or remove it from Kubernetes and then from Longhorn if it is gone for good.",
        )),
        causes::CLEANUP_PENDING => look(Remedy::new("Nothing to do; look again in a minute.")),
        causes::ORPHAN_HELD => orphan(cluster, im, case, orphans, look),
        _ => {
            held(cluster, fleet, im, case, volumes, look)
        }
    }
}

/// Orphaned instances go with their Orphan object where Longhorn has made one (1.9.0 and later,
/// v1, and only for instances with a uuid); else with the instance manager, once nothing else
/// runs in it.
fn orphan(
    cluster: &Cluster,
    im: &InstanceManager,
    case: &StaleManager,
    orphans: &Orphans,
    look: impl Fn(Remedy) -> Remedy,
) -> Remedy {
    let (ns, name) = (&cluster.namespace, im.metadata.name.as_str());
    let of_orphans = case.holders.iter().filter(|holder| holder.why == &causes::ORPHAN_HELD);
    let known: Vec<&str> =
        of_orphans.clone().filter_map(|holder| orphans.get(&(name, holder.name)).copied()).collect();
    // all that would end with it, also what does not hold it in this release
    let is_orphan = |name: &str| of_orphans.clone().any(|orphan| orphan.name == name);
    let mut active = im.status.all_instances().filter(|(_, instance)| instance.status.state.is_active());
    let others = active.any(|(name, _)| !is_orphan(name));
    if known.len() == of_orphans.clone().count() && !known.is_empty() {
        let remedy = Remedy::new(
            "Make sure that no volume uses the instances, then delete their Orphans: Longhorn stops the instances \
             and removes the instance manager. Setting orphan-resource-auto-deletion with `instance` does it automatically.",
        );
        let remedy = look(remedy).read(format!("kubectl -n {ns} get orphans.longhorn.io"));
        return known.iter().take(SHOWN).fold(remedy, |remedy, orphan| {
            remedy.change(format!("kubectl -n {ns} delete orphans.longhorn.io {orphan}"))
        });
    }
    let settled = of_orphans.clone().all(|orphan| orphan.settled);
    let remedy = look(Remedy::new(if !settled {
        "The object of an instance has been on its way to another state for long, and Longhorn may still come back to the \
         instance. See first what keeps the volume from settling: its events, and the longhorn-manager of its owner."
    } else if others {
        "There is no Orphan object for these instances, so only deleting the instance manager ends them. First move what else \
         runs in it: upgrade the engines and detach the volumes named here. When only the orphans are left, \
         delete the instance manager."
    } else {
        "There is no Orphan object for these instances, so only deleting the instance manager ends them. Make sure that no \
         volume uses them, then delete the instance manager."
    }))
    .read(format!("kubectl -n {ns} get engines.longhorn.io,replicas.longhorn.io -o wide"));
    if others || !settled {
        remedy
    } else {
        remedy.change(format!("kubectl -n {ns} delete instancemanagers.longhorn.io {name}"))
    }
}

/// First the live upgrades, then the reattachments.
fn held(
    cluster: &Cluster,
    fleet: &InstanceManagers,
    im: &InstanceManager,
    case: &StaleManager,
    volumes: &[VolumeRef],
    look: impl Fn(Remedy) -> Remedy,
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
    let mut text = String::from(match *case.why {
        causes::ENGINE_UPGRADE_PENDING => {
            "Upgrade the engine of the attached, healthy volumes first (live, without interruption). The engine still \
             stays in this instance manager after that: detach and attach the volumes once, at a convenient moment. \
             Setting concurrent-automatic-engine-upgrade-per-node-limit upgrades all volumes by itself."
        }
        causes::REATTACH_PENDING => {
            "Nothing is broken. At a convenient moment scale the workloads down until the volumes are detached, and \
             up again: engines start in the default instance manager."
        }
        _ if v2 => {
            "Nothing is broken. The replicas leave when their volumes are detached and attached again; the v2 data engine \
             has no live upgrade."
        }
        _ => {
            "Replicas leave when the engine of their volume is upgraded, wherever that engine runs, or when the volume \
             is detached and attached again."
        }
    });
    if !later.is_empty() {
        let names: Vec<&str> = later.iter().map(|volume| volume.name.as_str()).collect();
        text += &format!(
            " Not now: {}. A volume that is not healthy is upgraded when it is healthy again, one that is strict-local only \
             while it is detached.",
            listed(&names)
        );
    }
    let moves: Vec<_> =
        volumes.iter().filter(|volume| needs(volume, &causes::REATTACH_PENDING)).take(SHOWN).collect();
    if !moves.is_empty() {
        text += " Note the number of replicas before you scale down, and never scale down a StatefulSet whose \
                 persistentVolumeClaimRetentionPolicy says Delete when scaled: its claims, and with them the volumes, \
                 would be deleted.";
    }
    let mut remedy = look(Remedy::new(text)).read(format!("kubectl -n {ns} get volumes.longhorn.io"));
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
