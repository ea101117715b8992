//! How to free an old instance manager, in the order in which the steps have to be done.

use crate::check::{Remedy, VolumeRef};
use crate::checks::instance_managers::InstanceManagers;
use crate::cluster::Cluster;
use crate::longhorn::InstanceManager;

use super::Orphans;
use super::classify::{Case, Why};

/// Commands a volume are printed for this many volumes at most.
const SHOWN: usize = 5;

/// What to do, by the cause and then by the holders.
pub(super) fn remedy(
    cluster: &Cluster,
    fleet: &InstanceManagers,
    im: &InstanceManager,
    case: &Case,
    volumes: &[VolumeRef],
    orphans: &Orphans,
) -> Remedy {
    let (ns, name, node) = (&cluster.namespace, &im.metadata.name, &im.spec.node_id);
    let look = |remedy: Remedy| {
        remedy.read(format!("kubectl -n {ns} get instancemanagers.longhorn.io {name} -o yaml"))
    };
    let look_at_manager = |remedy: Remedy| {
        look(remedy)
            .read(format!("kubectl -n {ns} get pods -l app=longhorn-manager --field-selector spec.nodeName={node} -o wide"))
            .read(format!("kubectl get node {node}"))
    };
    match case.why {
        Why::Stuck => look_at_manager(Remedy::new(format!(
            "Only the longhorn-manager on {node} removes it. Look at that pod and its log first; \
             restart it when it runs and does nothing.",
        )))
        .change(format!(
            "kubectl -n {ns} delete pod -l app=longhorn-manager --field-selector spec.nodeName={node}"
        )),
        Why::DeletionStuck => look_at_manager(Remedy::new(
            "Longhorn sets no finalizer on instance managers. See which finalizer is there and who sets it, \
             and whether the admission webhook answers.",
        ))
        .read(format!(
            "kubectl -n {ns} get instancemanagers.longhorn.io {name} -o jsonpath='{{.metadata.finalizers}}'"
        )),
        Why::NodeDown => look_at_manager(Remedy::new(
            "Bring the node back, or remove it from Kubernetes and then from Longhorn if it is gone for good.",
        )),
        Why::CleanupPending => look(Remedy::new("Nothing to do; look again in a minute.")),
        Why::OrphanHeld => orphan(cluster, im, case, orphans, look),
        Why::EngineUpgradePending | Why::ReattachPending | Why::ReplicaHeld => {
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
    case: &Case,
    orphans: &Orphans,
    look: impl Fn(Remedy) -> Remedy,
) -> Remedy {
    let (ns, name) = (&cluster.namespace, im.metadata.name.as_str());
    let of_orphans = case.holders.iter().filter(|holder| holder.why == Why::OrphanHeld);
    let known: Vec<&str> =
        of_orphans.clone().filter_map(|holder| orphans.get(&(name, holder.name)).copied()).collect();
    let others = case.holders.iter().any(|holder| holder.why != Why::OrphanHeld);
    if known.len() == of_orphans.count() && !known.is_empty() {
        let remedy = Remedy::new(
            "Make sure that no volume uses the instances, then delete their Orphans: Longhorn stops the instances \
             and removes the instance manager. Setting orphan-resource-auto-deletion with `instance` does it by itself.",
        );
        let remedy = look(remedy).read(format!("kubectl -n {ns} get orphans.longhorn.io"));
        return known.iter().take(SHOWN).fold(remedy, |remedy, orphan| {
            remedy.change(format!("kubectl -n {ns} delete orphans.longhorn.io {orphan}"))
        });
    }
    let remedy = look(Remedy::new(if others {
        "Longhorn has no Orphan for the instances, so they end only with the instance manager. First move what else \
         runs in it: upgrade the engines and detach the volumes named here. When only the orphans are left, \
         delete the instance manager."
    } else {
        "Longhorn has no Orphan for the instances, so they end only with the instance manager. Make sure that no \
         volume uses them, then delete the instance manager."
    }))
    .read(format!("kubectl -n {ns} get engines.longhorn.io,replicas.longhorn.io -o wide"));
    if others {
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
    case: &Case,
    volumes: &[VolumeRef],
    look: impl Fn(Remedy) -> Remedy,
) -> Remedy {
    let ns = &cluster.namespace;
    let default = cluster.setting_value("default-engine-image", im.spec.data_engine);
    let field = match fleet.release {
        Some(release) if !release.at_least(1, 6, 0) => "engineImage",
        _ => "image",
    };
    let needs = |volume: &VolumeRef, why: Why| {
        case.holders.iter().any(|holder| holder.volume == Some(&volume.name) && holder.why == why)
    };
    // a volume that already wants the default image is being upgraded
    let wants_default = |volume: &VolumeRef| {
        let volume = cluster.objects.volumes.get(&volume.name);
        default.is_empty() || volume.is_some_and(|volume| volume.spec.wanted_image() == default)
    };
    let upgrade =
        volumes.iter().filter(|volume| needs(volume, Why::EngineUpgradePending) && !wants_default(volume));
    let mut remedy = look(Remedy::new(match case.why {
        Why::EngineUpgradePending => {
            "Upgrade the engine of the attached, healthy volumes first (live, without interruption). The engine still \
             stays in this instance manager after that: detach and attach the volumes once, at a convenient moment. \
             Setting concurrent-automatic-engine-upgrade-per-node-limit upgrades all volumes by itself."
        }
        Why::ReattachPending => {
            "Nothing is broken. At a convenient moment scale the workloads down until the volumes are detached, and \
             up again: engines start in the default instance manager."
        }
        _ => {
            "Replicas leave when the engine of their volume is upgraded, wherever that engine runs, or when the volume \
             is detached and attached again."
        }
    }))
    .read(format!("kubectl -n {ns} get volumes.longhorn.io"));
    for volume in upgrade.take(SHOWN) {
        let patch = format!("{{\"spec\":{{\"{field}\":\"{default}\"}}}}");
        let command =
            format!("kubectl -n {ns} patch volumes.longhorn.io {} --type merge -p '{patch}'", volume.name);
        remedy = remedy.change(command);
    }
    let moves = volumes.iter().filter(|volume| needs(volume, Why::ReattachPending));
    moves.take(SHOWN).fold(remedy, detach)
}

/// Scales down what uses a volume, as far as its name tells how.
fn detach(remedy: Remedy, volume: &VolumeRef) -> Remedy {
    volume.workloads.iter().fold(remedy, |remedy, workload| {
        let Some((kind, (namespace, name))) =
            workload.split_once(' ').and_then(|(kind, rest)| Some((kind, rest.split_once('/')?)))
        else {
            return remedy;
        };
        match kind {
            "StatefulSet" | "Deployment" => remedy
                .change(format!("kubectl -n {namespace} scale {} {name} --replicas=0", kind.to_lowercase())),
            // the Deployment above a ReplicaSet is what has to be scaled
            "ReplicaSet" => remedy.read(format!(
                "kubectl -n {namespace} get replicaset {name} -o jsonpath='{{.metadata.ownerReferences[*].name}}'"
            )),
            _ => remedy.read(format!("kubectl -n {namespace} get {} {name}", kind.to_lowercase())),
        }
    })
}
