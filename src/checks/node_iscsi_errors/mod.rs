//! iSCSI connections that a node's kernel lost, and containerd shims that went with them.
//!
//! The engine of a v1 volume is an iSCSI target in its instance manager. When that ends, the kernel
//! of the node logs `detected conn error (1020)` for every session, and containerd logs `shim
//! disconnected`. Neither reaches the Kubernetes API on its own: node-problem-detector writes them as
//! Events of the node, with the monitors of deploy/node-problem-detector. Without it there are no
//! such Events, and this check has nothing to find.

mod causes;
mod reports;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use crate::check::*;
use crate::facts::api;
use crate::facts::text::{both_ends, users_of};
use crate::longhorn::Resource::*;
use crate::longhorn::{DataEngine, KubeNode};

use reports::{Reports, span};

pub static CHECK: Check = check! {
    id: "node_iscsi_errors",
    title: "iSCSI errors on nodes",
    summary: "A node's kernel lost iSCSI connections within the last hour. The check needs node-problem-detector with the exporter's monitors. A \
    shim that containerd lost counts only within 5 min of an iSCSI error there.",
    needs: &[NodeEvents],
    uses: &[LonghornNodes, InstanceManagers, Pods, Engines, Volumes],
    causes: causes::ALL,
    ways: &[causes::WAYS],
    gauges: GAUGES,
    alerts: &[alert! { "LonghornNodeIscsiErrors",
        when: When::Found(&[&causes::ISCSI_CONN_ERROR]),
        for_: "1m",
        runbook_only: &[&causes::SHIM_DISCONNECTED],
        summary: "A node lost its iSCSI connections to Longhorn volumes.",
        description: "Node {{ $labels.object }}'s kernel lost iSCSI connections in the last hour. Its volumes may have detached or turned read-only. Check \
                      that the volumes are attached and writable, and whether the node's instance manager was replaced.",
        why: "The alert waits only 1 min, because kernels never lose iSCSI connections in normal operation: a detach logs out first. A lost shim has no alert, \
        because the check reports it only with such errors.",
    }],
    panels: &[
        Panel {
            dashboard: Dashboard::InstanceManagers,
            title: "iSCSI errors by node",
            description: "iSCSI errors that node-problem-detector reported in the last hour. Bursts are dropped, so the real number may be higher. Compare \
                          with panel Last replacements.",
            no_data: "no error in the last hour, node-problem-detector does not report them, or the exporter is not reporting",
            ..Panel::TIME_SERIES.of(&EVENTS)
        },
        Panel {
            dashboard: Dashboard::InstanceManagers,
            title: "Last iSCSI errors",
            description: "When each node's kernel last lost an iSCSI connection, or containerd lost a shim at about that time.",
            unit: Unit::FromNow,
            columns: &["cause", "node", "Value"],
            no_data: "no error in the last hour, node-problem-detector does not report them, or the exporter is not reporting",
            ..Panel::TABLE.of(&LAST)
        },
    ],
};

gauges! {
    EVENTS = Gauge "longhorn_health_node_iscsi_error_events" ["node", "cause"]
        "iSCSI errors in the node's Events in the last hour (bursts may be missing).",
        absent "node-problem-detector reports none",
        example "sum by (node) (longhorn_health_node_iscsi_error_events{cause=\"iscsi_conn_error\"})";
    LAST = Gauge "longhorn_health_node_iscsi_error_last_timestamp_seconds" ["node", "cause"]
        "Unix time when the node last reported the error.",
        absent "node-problem-detector reported none in the last hour",
        example "time() - longhorn_health_node_iscsi_error_last_timestamp_seconds < 600";
}

/// A pod of an instance manager that ended or was created this close to the errors belongs to them.
const NEAR: SignedDuration = SignedDuration::from_mins(10);
/// A pod that is this much younger than its instance manager is not its first.
const WELL_AFTER: SignedDuration = SignedDuration::from_mins(10);

/// What is known about a node with errors.
struct IscsiScene<'a> {
    node: &'a str,
    /// Instance managers of the node that were replaced about then, and when.
    replaced: BTreeMap<&'a str, Timestamp>,
    volumes: Vec<VolumeRef>,
}

fn run(cluster: &Cluster, out: &mut Outcome) {
    let reports = Reports::of(cluster);
    if reports.by_node.is_empty() {
        return;
    }
    let mut volumes = volumes_by_node(cluster, &reports);
    let mut replaced = replaced_by_node(cluster, &reports);
    for (node, of_node) in &reports.by_node {
        let names = volumes.remove(node).unwrap_or_default();
        let scene = IscsiScene {
            node,
            replaced: replaced.remove(node).unwrap_or_default(),
            volumes: names.into_iter().map(|volume| cluster.volume_ref(volume)).collect(),
        };
        for (cause, events) in
            [(&causes::ISCSI_CONN_ERROR, &of_node.iscsi), (&causes::SHIM_DISCONNECTED, &of_node.shims)]
        {
            let Some((first, last)) = span(events) else { continue };
            let count = events.iter().map(|report| report.count).fold(0, u64::saturating_add);
            out.sample(&EVENTS, &[node, cause.id], count as f64);
            out.sample(&LAST, &[node, cause.id], last.as_second() as f64);
            let finding = match *cause {
                causes::ISCSI_CONN_ERROR => iscsi_finding(cluster, &scene, count),
                _ => shim_finding(cluster, &scene, count),
            };
            let often = counted(count, "time");
            let when =
                if first == last { format!("at {first}") } else { format!("between {first} and {last}") };
            let by = match events.iter().any(|report| report.from_bundle) {
                true => "reported by the node's kernel log in the bundle",
                false => "reported by node-problem-detector",
            };
            let times = if count == 1 { format!("{by} {when}") } else { format!("{by} {often} {when}") };
            let quote = events.iter().max_by_key(|report| report.last).map(|report| report.message);
            let quote = quote.filter(|message| !message.is_empty());
            out.report(
                finding
                    .since(Some(first))
                    .fact(EvidenceSource::Event.says(times))
                    .facts(quote.map(|message| {
                        EvidenceSource::Event
                            .says(format!("the last message: \"{}\"", both_ends(message, 240)))
                            .quoting(message)
                    }))
                    .facts(surroundings(cluster, &scene)),
            );
        }
    }
}

fn iscsi_finding(cluster: &Cluster, scene: &IscsiScene, count: u64) -> Finding {
    let (node, lost) = (scene.node, counted(count, "iSCSI connection"));
    let message = match scene.replaced.is_empty() {
        true => format!("{node} lost at least {lost}"),
        false => format!("{node} lost at least {lost} when its instance manager was replaced"),
    };
    let impact = if scene.volumes.is_empty() {
        format!("none now: no v1 volume has its engine on {node} (an earlier one may have detached)")
    } else {
        format!(
            "volumes on {node} may be detached or read-only until their pods restart: {}",
            users_of(&scene.volumes)
        )
    };
    Finding::about(&causes::ISCSI_CONN_ERROR, cluster.object::<KubeNode>(node), message)
        .way(scene.replaced.is_empty().then_some(&causes::NONE_REPLACED))
        .node(node)
        .volumes(scene.volumes.clone())
        .impact(impact)
}

fn shim_finding(cluster: &Cluster, scene: &IscsiScene, count: u64) -> Finding {
    let node = scene.node;
    let message = format!(
        "containerd on {node} lost {} within {} min of iSCSI errors",
        counted(count, "shim"),
        reports::SAME_OUTAGE.as_mins()
    );
    Finding::about(&causes::SHIM_DISCONNECTED, cluster.object::<KubeNode>(node), message)
        .node(node)
        .volumes(scene.volumes.clone())
        .impact("if the shim belonged to an instance manager, that manager's engine and replica processes have exited")
        .fact(
            EvidenceSource::Fingerprint
                .says("containerd also logs a lost shim for containers that are stopped deliberately"),
        )
}

fn surroundings(cluster: &Cluster, scene: &IscsiScene) -> Vec<Evidence> {
    let told = |(name, at): (&&str, &Timestamp)| {
        api(format!("instance manager {name} on this node was replaced at {at}"))
    };
    let mut evidence: Vec<Evidence> = scene.replaced.iter().map(told).collect();
    let readable =
        [Resource::Pods, Resource::InstanceManagers].into_iter().all(|kind| cluster.can_read(kind));
    if evidence.is_empty() {
        evidence.push(api(if readable {
            "no instance manager on this node was replaced when the errors occurred, so perhaps the connections belong to other storage"
        } else {
            "instance managers or their pods cannot be read, so a replacement would not be seen"
        }));
    }
    evidence
}

/// v1 volumes by the node their engine runs on, for nodes with errors. Engines of v2 volumes use
/// NVMe over TCP and no iSCSI.
fn volumes_by_node<'a>(cluster: &'a Cluster, reports: &Reports<'a>) -> BTreeMap<&'a str, BTreeSet<&'a str>> {
    let mut volumes: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for engine in cluster.objects.engines.iter() {
        let (node, volume) = (engine.spec.node_id.as_str(), engine.spec.volume_name.as_str());
        if engine.spec.data_engine != DataEngine::V2
            && !volume.is_empty()
            && reports.by_node.contains_key(node)
        {
            volumes.entry(node).or_default().insert(volume);
        }
    }
    volumes
}

/// Instance managers that were replaced about when the errors came: a pod that was seen to end, or
/// one that is much younger than its instance manager.
fn replaced_by_node<'a>(
    cluster: &'a Cluster,
    reports: &Reports<'a>,
) -> BTreeMap<&'a str, BTreeMap<&'a str, Timestamp>> {
    let gone = cluster.history.gone_pods().map(|gone| (&*gone.last, Some(gone.at)));
    let young = cluster.objects.pods.iter().map(|pod| {
        let im = cluster.objects.instance_managers.get(&pod.metadata.name);
        let began = im.and_then(|im| im.metadata.created());
        let made = pod.metadata.created();
        let well_after =
            began.zip(made).is_some_and(|(began, made)| made.duration_since(began) >= WELL_AFTER);
        (pod, made.filter(|_| well_after))
    });
    let mut replaced: BTreeMap<&str, BTreeMap<&str, Timestamp>> = BTreeMap::new();
    for (pod, at) in gone.chain(young) {
        let (node, name) = (pod.spec.node_name.as_str(), pod.metadata.name.as_str());
        let errors = reports.by_node.get(node).and_then(|of_node| span(&of_node.iscsi));
        let (Some(at), Some((first, last))) = (at, errors) else { continue };
        let near = at.duration_since(first) >= -NEAR && at.duration_since(last) <= NEAR;
        if near && pod.is_instance_manager() {
            replaced.entry(node).or_default().insert(name, at);
        }
    }
    replaced
}
