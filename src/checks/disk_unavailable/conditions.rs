//! What the conditions of a node say of the node itself.

use std::cell::OnceCell;

use super::causes;
use crate::check::*;
use crate::facts::age::{Begun, Unknown, observe};
use crate::facts::patience::NODE_AWAY;
use crate::facts::{api, nodes, text};
use crate::longhorn::{Condition, ConditionStatus, KubeNode, LonghornNode, Owner, condition};

/// What a node may lack, and who needs it. A manager looks every half hour (longhorn-manager v1.12.1
/// controller/monitor/environment_check_monitor.go; the last five since 1.7 and 1.8).
const ENVIRONMENT: [(&str, Need); 6] = [
    ("MountPropagation", Need::Every),
    ("RequiredPackages", Need::Packages),
    ("KernelModulesLoaded", Need::Encrypted),
    ("NFSClientInstalled", Need::Shared),
    (
        "Multipathd",
        Need::Some("multipathd may seize the devices of volumes: exclude them in /etc/multipath.conf"),
    ),
    ("HugePagesAvailable", Need::V2),
];

/// Who needs what is not there.
#[derive(Clone, Copy)]
enum Need {
    Every,
    Shared,
    V2,
    /// The condition names the packages that are missing.
    Packages,
    Encrypted,
    Some(&'static str),
}

/// What is counted once for all nodes, and only where a node is in trouble.
#[derive(Default)]
pub(super) struct DiskCounts {
    shared: OnceCell<bool>,
    encrypted: OnceCell<Vec<VolumeRef>>,
}

impl DiskCounts {
    /// Whether there are volumes that are mounted by NFS.
    fn shared(&self, cluster: &Cluster) -> bool {
        let mut volumes = cluster.objects.volumes.iter();
        *self.shared.get_or_init(|| volumes.any(|volume| volume.is_shared()))
    }

    /// The volumes that are encrypted.
    fn encrypted(&self, cluster: &Cluster) -> &[VolumeRef] {
        self.encrypted.get_or_init(|| {
            let volumes = cluster.objects.volumes.iter().filter(|volume| volume.spec.encrypted);
            volumes.map(|volume| cluster.volume_ref(&volume.metadata.name)).collect()
        })
    }
}

/// Returns the condition of a node that has not been Ready for long enough.
pub(super) fn find<'c>(
    cluster: &'c Cluster,
    out: &mut Outcome,
    counts: &DiskCounts,
    node: &'c LonghornNode,
) -> Option<&'c Condition> {
    let away = away(cluster, out, node);
    let found = [away.map(|ready| not_ready(cluster, node, ready)), pressure(cluster, out, node)];
    for finding in found.into_iter().flatten() {
        let impact = match cluster.objects.replicas.of(Owner::Node, &node.metadata.name).count() {
            0 => "no replica lies on it; nothing of Longhorn runs there".to_owned(),
            count => format!(
                "{} on it cannot be reached: their volumes have fewer copies than wanted",
                counted(count, "replica")
            ),
        };
        out.find(finding.impact(impact));
    }
    environment(cluster, out, counts, node);
    away
}

fn about(cluster: &Cluster, node: &LonghornNode, cause: &'static Cause, message: String) -> Finding {
    let name = &node.metadata.name;
    Finding::about(cause, cluster.object::<KubeNode>(name), message).node(name)
}

/// The Kubernetes node itself is not Ready; Longhorn's condition repeats that, unless no manager is left to.
fn away<'c>(cluster: &'c Cluster, out: &mut Outcome, node: &'c LonghornNode) -> Option<&'c Condition> {
    let name = &node.metadata.name;
    let written =
        condition(&node.status.conditions, "Ready").filter(|ready| ready.reason == "KubernetesNodeNotReady");
    let kube =
        cluster.objects.kube_nodes.get(name).and_then(|kube| condition(&kube.status.conditions, "Ready"));
    let ready = match nodes::kube_ready(cluster, name) {
        Some(true) => return None,
        Some(false) => kube,
        None => written.filter(|ready| ready.status == ConditionStatus::False),
    };
    ready.filter(|ready| is_lasting(cluster, out, "away", name, ready))
}

fn not_ready(cluster: &Cluster, node: &LonghornNode, ready: &Condition) -> Finding {
    about(cluster, node, &causes::NODE_NOT_READY, format!("node {} is not Ready", node.metadata.name))
        .since(ready.last_transition_time.get())
        .fact(said("node", ready))
}

fn pressure(cluster: &Cluster, out: &mut Outcome, node: &LonghornNode) -> Option<Finding> {
    let name = &node.metadata.name;
    let is_pressure = |ready: &&Condition| {
        ready.status == ConditionStatus::False
            && matches!(ready.reason.as_str(), "KubernetesNodePressure" | "UnknownNodeConditionTrue")
    };
    let ready = condition(&node.status.conditions, "Ready").filter(is_pressure)?;
    if !is_lasting(cluster, out, "pressure", name, ready) {
        return None;
    }
    Some(
        about(
            cluster,
            node,
            &causes::NODE_PRESSURE,
            format!("Longhorn does not use node {name}: the kubelet reports pressure"),
        )
        .since(ready.last_transition_time.get())
        .fact(said("nodes.longhorn.io", ready)),
    )
}

fn environment(cluster: &Cluster, out: &mut Outcome, counts: &DiskCounts, node: &LonghornNode) {
    let name = &node.metadata.name;
    let mut severity = Severity::Info;
    let (mut evidence, mut failed) = (Vec::new(), Vec::new());
    let mut hurts_encrypted = false;
    for (kind, need) in ENVIRONMENT {
        let lack =
            condition(&node.status.conditions, kind).filter(|found| found.status == ConditionStatus::False);
        let Some(lack) = lack else { continue };
        let (shared, encrypted) = (counts.shared(cluster), !counts.encrypted(cluster).is_empty());
        let who = match need {
            Need::Every => "no volume can be mounted there",
            Need::Shared if shared => "RWX volumes cannot be mounted there, and there are some",
            Need::Shared => "RWX volumes could not be mounted there; there are none",
            Need::V2 if takes_v2(cluster, name) => "the v2 data engine cannot run there",
            Need::V2 => "the v2 data engine is kept from there by label",
            Need::Encrypted if encrypted => "encrypted volumes cannot be mounted there, and there are some",
            Need::Encrypted => "encrypted volumes could not be mounted there; there are none",
            Need::Packages => "RWX volumes need the NFS client, encrypted ones cryptsetup",
            Need::Some(who) => who,
        };
        let needed = match need {
            Need::Every => true,
            Need::Shared => shared,
            Need::V2 => takes_v2(cluster, name),
            // one that says that it could not look proves nothing
            Need::Encrypted => encrypted && !lack.message.contains("Failed to"),
            Need::Packages => {
                encrypted && lack.message.contains("cryptsetup") || shared && lack.message.contains("nfs")
            }
            Need::Some(_) => false,
        };
        hurts_encrypted |= needed && (matches!(need, Need::Encrypted) || lack.message.contains("cryptsetup"));
        if needed {
            severity = Severity::Warning;
        }
        evidence.push(api(format!("{}; {who}", said("nodes.longhorn.io", lack))));
        failed.push(kind);
    }
    if evidence.is_empty() {
        return;
    }
    let mut finding = Finding::about(
        &causes::NODE_ENVIRONMENT,
        cluster.object::<KubeNode>(name),
        format!("node {name} fails Longhorn's check of its environment: {}", text::listed(&failed)),
    )
    .severity(severity)
    .node(name)
    .impact(match severity {
        Severity::Info => "nothing that is there is known to need it",
        _ => "volumes that need it cannot be used on this node",
    })
    .facts(evidence);
    if hurts_encrypted {
        finding = finding.volumes(counts.encrypted(cluster).to_vec());
    }
    out.find(finding);
}

/// Whether the v2 data engine may run on a node: its manager looks for huge pages while the setting is on, also where the
/// node is labelled out (longhorn-manager v1.12.1 controller/monitor/environment_check_monitor.go environmentCheck).
fn takes_v2(cluster: &Cluster, node: &str) -> bool {
    const LABEL: &str = "node.longhorn.io/disable-v2-data-engine";
    let kube = cluster.objects.kube_nodes.get(node);
    kube.and_then(|node| node.metadata.labels.get(LABEL)).is_none_or(|value| value != "true")
}

/// Whether a condition has held for longer than a reboot takes.
fn is_lasting(
    cluster: &Cluster,
    out: &mut Outcome,
    fact: &'static str,
    node: &str,
    condition: &Condition,
) -> bool {
    let begun = Begun::At(condition.last_transition_time.get());
    observe(cluster, out, fact, node, begun).at_least(NODE_AWAY, Unknown::Counts)
}

fn said(object: &str, condition: &Condition) -> String {
    let status = condition.status.as_str();
    let reason =
        if condition.reason.is_empty() { String::new() } else { format!(", reason {}", condition.reason) };
    let message = match condition.message.trim() {
        "" => String::new(),
        message => format!(": {}", text::shortened(message, 300)),
    };
    format!("{object}: condition {} is {status}{reason}{message}", condition.kind)
}
