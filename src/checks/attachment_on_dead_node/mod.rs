//! Volumes that Kubernetes holds attached to nodes that are gone or down.
//!
//! Facts: a `volumeattachments.storage.k8s.io` is deleted by Kubernetes when no pod on the node uses the volume any more. The
//! pods of a node that stops answering are marked for deletion after five minutes (their tolerations) and stay Terminating for as
//! long as the kubelet does not confirm, so the attachment stays as well. A volume that one node may use is attached nowhere else
//! meanwhile: Longhorn's ticket of the same name keeps it there (longhorn-manager v1.5.5 to v1.12.1 csi/controller_server.go
//! generateAttachmentID gives the ticket the name of the attachment). Longhorn deletes such pods itself where setting
//! node-down-pod-deletion-policy says so; its default is do-nothing (v1.3.3 to v1.12.1 types/setting.go).

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use crate::check::*;
use crate::facts::age::{Begun, Unknown, observe};
use crate::facts::patience::NODE_DEAD;
use crate::facts::{nodes, text, volumes};
use crate::longhorn::Resource::*;
use crate::longhorn::{CsiAttachment, DataEngine, KubeNode};

const NONE_CAN_TAKE_THEM: &str = "Bring the nodes back: check what they share (power, network, API server). Until one is Ready, do not taint nodes \
                                  or delete pods or attachments: the machines may still write.";
const NODES: &str = "kubectl get nodes -o wide";

causes! {
    NODE_DOWN = warning "node_down"
        "a node with attached volumes has been NotReady for ten minutes: its pods and volumes cannot move"
        fix "Bring node <node> back. If its machine is lost, switch it off, then add taint node.kubernetes.io/out-of-service:NoExecute so that its \
             volumes attach elsewhere. Never taint a running machine: it keeps writing." [
            read "kubectl describe node <node>",
            read "kubectl get pods -A -o wide --field-selector spec.nodeName=<node>",
            change "kubectl taint nodes <node> node.kubernetes.io/out-of-service=nodeshutdown:NoExecute",
        ] proven "the node has not been Ready for ten minutes; the taint, which forces its pods off, is asked for only once the \
             machine is off"
        way NONE_READY "no node is Ready" fix NONE_CAN_TAKE_THEM [read NODES, read "kubectl describe node <node>"];
    NODE_GONE = warning "node_gone"
        "a node was deleted from Kubernetes, but volumes are still attached to it"
        fix "Make sure node <node>'s machine is off. Then delete the node's pods: Kubernetes removes their \
             attachments within six minutes. Delete an attachment only if no pod is left." [
            read "kubectl get pods -A -o wide --field-selector spec.nodeName=<node>",
            read "kubectl get volumeattachments.storage.k8s.io",
            change "kubectl delete volumeattachments.storage.k8s.io <attachment>",
        ] proven "Kubernetes lists no such node; an attachment is deleted only once the machine is off and no pod is bound to the node"
        way NONE_LEFT "no other node is Ready" fix NONE_CAN_TAKE_THEM [read NODES];
}

pub static CHECK: Check = check! {
    id: "attachment_on_dead_node",
    title: "Volumes held by dead nodes",
    summary: "Kubernetes still lists volumes as attached to a node that is down or deleted, so their workloads cannot start elsewhere. The finding \
              says what is safe to do.",
    needs: &[CsiAttachments, KubeNodes],
    uses: &[Volumes, LonghornNodes, Settings],
    causes: ALL,
    ways: &[WAYS],
    gauges: GAUGES,
    alerts: &[alert! { "LonghornAttachmentOnDeadNode",
        when: When::Found(&[&NODE_DOWN, &NODE_GONE]),
        for_: "5m",
        summary: "Longhorn volumes are still attached to a dead node.",
        description: "Node {{ $labels.object }} is down or deleted, but Longhorn volumes are still attached to it. Their workloads cannot start \
                      elsewhere. Bring the node back, or switch its machine off before you detach the volumes by hand.",
        why: "The check waits 10 min, which is longer than a reboot. The alert waits 5 min more for you to bring the node back.",
    }],
    panels: &[Panel {
        dashboard: Dashboard::Volumes,
        title: "Volumes held by dead nodes",
        description: "Attachments of Longhorn volumes to nodes that are down or deleted.",
        no_data: "no dead node holds a volume, or the exporter is not reporting",
        ..Panel::TABLE.of(&HELD)
    }],
    stops_workloads: true,
};

gauges! {
    HELD = Gauge "longhorn_health_dead_node_attachments" ["node"]
        "Volumes still attached to a node 10 min after it went down or was deleted.",
        absent "there is none",
        example "sum by (node) (longhorn_health_dead_node_attachments)";
}

fn run(cluster: &Cluster, out: &mut Outcome) {
    // an empty store may be one that was not recorded
    if cluster.objects.kube_nodes.is_empty() {
        return;
    }
    let mut by_node: BTreeMap<&str, Vec<&CsiAttachment>> = BTreeMap::new();
    for attachment in cluster.objects.csi_attachments.iter() {
        let node = attachment.spec.node_name.as_str();
        let gone = cluster.decoded_all(Resource::KubeNodes);
        if cluster.objects.kube_nodes.get(node).map_or(gone, |node| !node.is_ready()) && !node.is_empty() {
            by_node.entry(node).or_default().push(attachment);
        }
    }
    if by_node.is_empty() {
        return;
    }
    for (node, attachments) in by_node {
        let begun = Begun::At(nodes::not_ready_since(cluster, node));
        let age = observe(cluster, out, "dead", node, begun);
        if age.at_least(NODE_DEAD, Unknown::Counts) {
            out.sample(&HELD, &[node], attachments.len() as f64);
            out.report(finding(cluster, node, &attachments).since(age.since));
        }
    }
}

/// Whether volumes that are set free could be attached nowhere: no node has data to attach them with. What frees them helps no one then,
/// and where the machines only stopped reporting it takes them from pods that still use them.
fn none_ready(cluster: &Cluster) -> bool {
    let storing = nodes::storing(cluster);
    !storing.is_empty()
        && storing.iter().all(|node| nodes::kube_ready(cluster, &node.metadata.name) != Some(true))
}

fn finding(cluster: &Cluster, node: &str, attachments: &[&CsiAttachment]) -> Finding {
    let gone = cluster.objects.kube_nodes.get(node).is_none();
    let (cause, way, how) = match gone {
        true => (&NODE_GONE, &NONE_LEFT, "no longer exists"),
        false => (&NODE_DOWN, &NONE_READY, "is not Ready"),
    };
    // an attachment may hold an inline volume, which has no name to ask for
    let named = attachments.iter().filter(|held| !held.spec.source.persistent_volume_name.is_empty());
    let users: Vec<VolumeRef> =
        named.map(|attachment| cluster.volume_ref(volumes::of_attachment(cluster, attachment))).collect();
    let ids: Vec<&str> = attachments.iter().map(|attachment| attachment.metadata.name.as_str()).collect();
    let whose = if users.is_empty() { text::listed(&ids) } else { text::claims_of(&users) };
    let policy = cluster.setting_value("node-down-pod-deletion-policy", DataEngine::V1);
    let mut finding = Finding::about(
        cause,
        cluster.object::<KubeNode>(node),
        match attachments.len() {
            1 => format!("node {node} {how} but still holds 1 volume: {whose}"),
            many => format!("node {node} {how} but still holds {many} volumes"),
        },
    )
    .node(node)
    .volumes(users);
    finding = match none_ready(cluster) {
        true => {
            finding.impact(format!("{whose} cannot attach elsewhere because no other node is Ready")).way(way)
        }
        false => finding.impact(format!("workloads that use {whose} cannot start on another node")),
    };
    for attachment in attachments.iter().take(5) {
        let wait = if attachment.metadata.is_deleting() { " and is being deleted" } else { "" };
        let text = format!(
            "volumeattachments.storage.k8s.io {} still names node {node}{wait}",
            attachment.metadata.name
        );
        finding = finding.fact(text);
    }
    if !policy.is_empty() {
        finding = finding.fact(format!("setting node-down-pod-deletion-policy is {policy}"));
    }
    let held = attachments.iter().map(|attachment| attachment.metadata.name.as_str());
    held.fold(finding, |finding, name| finding.with(Name::Attachment, name))
}
