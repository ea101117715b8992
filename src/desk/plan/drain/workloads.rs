//! What uses volumes on the node and does not leave on its own.

use super::super::Found;
use super::Draining;
use crate::facts::text::listed;
use crate::facts::volumes;
use crate::longhorn::{DataEngine, Pod, Volume, Workload};

fn attached_here<'a>(draining: &Draining<'a>) -> impl Iterator<Item = &'a Volume> {
    let node = draining.node;
    draining.cluster.objects.volumes.iter().filter(move |volume| volume.status.current_node_id == *node)
}

fn uses(volume: &Volume) -> &[Workload] {
    &volume.status.kubernetes_status.workloads_status
}

pub fn held(draining: &Draining<'_>, out: &mut Found) {
    let detaches =
        draining.cluster.setting_value("detach-manually-attached-volumes-when-cordoned", DataEngine::V1);
    let by_hand = |volume: &&Volume| volumes::is_attached_by_hand(draining.cluster, volume, draining.node);
    let by_hand: Vec<&Volume> = attached_here(draining).filter(by_hand).collect();
    if detaches != "true" {
        let holds = format!("is|are attached to {} by hand", draining.node);
        out.volumes(draining.cluster, &by_hand, &holds);
    }
    let daemons =
        |volume: &&Volume| uses(volume).iter().any(|workload| workload.workload_type == "DaemonSet");
    let by_daemons: Vec<&Volume> = attached_here(draining).filter(daemons).collect();
    let holds = "is|are used by DaemonSet pods, which kubectl drain does not evict";
    out.volumes(draining.cluster, &by_daemons, holds);
}

pub fn bare_pods(draining: &Draining<'_>, out: &mut Found) {
    let bare = |workload: &&Workload| workload.workload_name.is_empty() && !workload.pod_name.is_empty();
    let with_bare: Vec<&Volume> = attached_here(draining)
        .filter(|volume| uses(volume).iter().any(|workload| bare(&workload)))
        .collect();
    if with_bare.is_empty() {
        return;
    }
    let pods = with_bare.iter().flat_map(|volume| uses(volume)).filter(bare);
    let pods: Vec<&str> = pods.map(|workload| workload.pod_name.as_str()).collect();
    let text =
        super::super::held(pods.len(), "pod", "has|have no controller that would recreate it|them elsewhere");
    let text = format!("{text}: {}", listed(&pods));
    out.say(text).volumes(draining.cluster, &with_bare);
}

pub fn shared(draining: &Draining<'_>, out: &mut Found) {
    let server = |pod: &&Pod| {
        pod.spec.node_name == *draining.node
            && pod.metadata.label("longhorn.io/component") == Some("share-manager")
    };
    let servers = draining.cluster.objects.pods.iter().filter(server);
    let volumes: Vec<&Volume> = servers
        .filter_map(|pod| {
            let volume = pod.metadata.name.as_str().strip_prefix("share-manager-")?;
            draining.cluster.objects.volumes.get(volume)
        })
        .collect();
    out.volumes(
        draining.cluster,
        &volumes,
        "is|are shared (RWX): the NFS server|servers will restart on another node",
    );
}
