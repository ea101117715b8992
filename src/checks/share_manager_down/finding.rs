//! What is told about a share manager.

use super::{Share, WINDOW, causes};
use crate::check::*;
use crate::facts::age::Age;
use crate::facts::{api, nodes, pods, text};
use crate::longhorn::{PodPhase, VolumeState};

/// The volume is not served.
pub(super) fn down(cluster: &Cluster, share: &Share, age: &Age) -> Finding {
    let (manager, volume) = (share.manager, share.volume);
    let name = &manager.metadata.name;
    let cause = cause(cluster, share);
    let mut finding = about(
        cluster,
        share,
        cause,
        format!("RWX {} is not served: {}", whose(cluster, share), cause.meaning),
    )
    .since(age.since)
    .impact("every pod that uses the claim hangs in its reads and writes; new ones do not start");
    let owner = &manager.status.owner_id;
    finding
        .evidence
        .push(api(format!("share manager {name}: state {}, owner {owner}", manager.status.state.as_str())));
    let robustness = volume.status.robustness.as_str();
    finding
        .evidence
        .push(api(format!("volume {name}: state {}, robustness {robustness}", volume.status.state.as_str())));
    finding.evidence.push(api(match share.pod {
        None => format!("there is no pod share-manager-{name}"),
        Some(pod) => {
            let why = pods::trouble(pod).unwrap_or_else(|| "it is Ready".to_owned());
            format!("pod share-manager-{name} on {}: {why}", pod.spec.node_name)
        }
    }));
    finding.evidence.extend(share.pod.and_then(|pod| nodes::down(cluster, &pod.spec.node_name)));
    finding.evidence.extend(nodes::manager_not_ready(cluster, owner).map(api));
    finding.evidence.push(age.evidence());
    finding.remedy(remedy(cluster, share, cause))
}

/// The volume is served, but not for long.
pub(super) fn restarting(cluster: &Cluster, share: &Share) -> Finding {
    let name = &share.manager.metadata.name;
    let times = format!("{} in the last {}", counted(share.replaced, "time"), text::duration(WINDOW));
    let message = format!("the NFS server of RWX {} was replaced {times}", whose(cluster, share));
    let its = |gone: &&crate::history::GonePod| gone.last.metadata.name == format!("share-manager-{name}");
    let last = cluster.history.gone_pods().rfind(its);
    let (source, seen) = match last {
        Some(_) => (EvidenceSource::History, "was replaced"),
        None => (EvidenceSource::Event, "was started and is gone"),
    };
    let mut finding = about(cluster, share, &causes::RESTARTING, message)
        .impact("each time the pods that use the claim wait for a minute or two, and some restart")
        .because(source, format!("pod share-manager-{name} {seen} {times}"));
    if let Some(last) = last {
        let why = pods::trouble(&last.last)
            .unwrap_or_else(|| "it was Ready to the end, so it was deleted or its lease ran out".to_owned());
        finding = finding
            .because(EvidenceSource::History, format!("the last one on {}: {why}", last.last.spec.node_name));
    }
    finding.remedy(remedy(cluster, share, &causes::RESTARTING))
}

fn whose(cluster: &Cluster, share: &Share) -> String {
    text::users_of(&[cluster.volume_ref(&share.manager.metadata.name)])
}

fn about(cluster: &Cluster, share: &Share, cause: &'static Cause, message: String) -> Finding {
    let name = &share.manager.metadata.name;
    let node = share.pod.map_or(share.manager.status.owner_id.as_str(), |pod| &pod.spec.node_name);
    Finding::new(cause, ObjectRef::new("ShareManager", &cluster.namespace, name), message)
        .node(node)
        .volumes(vec![cluster.volume_ref(name)])
}

pub(super) fn cause(cluster: &Cluster, share: &Share) -> &'static Cause {
    let attached = share.volume.status.state == VolumeState::Attached;
    let Some(pod) = share.pod else {
        let on = &share.manager.status.owner_id;
        return match nodes::down(cluster, on) {
            Some(_) => &causes::NODE_DOWN,
            None if !attached => &causes::VOLUME_NOT_ATTACHED,
            None => &causes::POD_MISSING,
        };
    };
    if nodes::down(cluster, &pod.spec.node_name).is_some() {
        return &causes::NODE_DOWN;
    }
    match pod.status.phase {
        PodPhase::Failed | PodPhase::Succeeded => &causes::POD_FAILED,
        PodPhase::Pending => &causes::POD_NOT_STARTED,
        _ if !attached => &causes::VOLUME_NOT_ATTACHED,
        _ => &causes::NOT_SERVING,
    }
}

fn remedy(cluster: &Cluster, share: &Share, cause: &Cause) -> Remedy {
    let (namespace, name) = (&cluster.namespace, &share.manager.metadata.name);
    let words = match cause.id {
        "node_down" => {
            "Longhorn moves the server when the node is known to be down and its pod is gone. Bring the node back, or see why \
             the manager that owns the share does not act; a pod that hangs in Terminating on the dead node is force-deleted by it."
        }
        "volume_not_attached" => "See why the volume is not attached: the server follows by itself.",
        "pod_not_started" => {
            "See why its pod does not start: an image that cannot be pulled, no node that takes it, a mount that fails."
        }
        "restarting" => {
            "Read the log of the server while it runs, and see what ends it: memory, its node, the lease of fast failover (a node under load \
             renews it late)."
        }
        "pod_missing" => {
            "The pod is missing. Only Longhorn creates it: see why the longhorn-manager that owns the share (status.ownerID) does not."
        }
        _ => {
            "Read the log of the server. Where its clients hang although it runs, delete its pod: Longhorn creates another and mounts the \
             volume again; the pods that use the claim may have to be restarted."
        }
    };
    let remedy = Remedy::new(words)
        .read(format!("kubectl -n {namespace} get sharemanagers.longhorn.io,volumes.longhorn.io {name}"));
    let remedy = match share.pod {
        Some(_) => remedy
            .read(format!("kubectl -n {namespace} describe pod share-manager-{name}"))
            .read(format!("kubectl -n {namespace} logs share-manager-{name} --tail=50")),
        None => remedy.read(format!(
            "kubectl -n {namespace} get events --field-selector involvedObject.name=share-manager-{name}"
        )),
    };
    match cause.id {
        "not_serving" | "pod_failed" => {
            remedy.change(format!("kubectl -n {namespace} delete pod share-manager-{name}"))
        }
        _ => remedy,
    }
}
