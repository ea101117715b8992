//! Nodes that Longhorn does not know, nodes that only Longhorn still knows, and nodes that no one manages.
//!
//! A manager makes its `nodes.longhorn.io` at the end of its start (longhorn-manager v1.12.1
//! app/daemon.go startManager), so a node that runs a manager pod without one has never finished a
//! start. The reverse is a node that left Kubernetes: Longhorn keeps its object until someone
//! deletes it. In between is a node that both know and that has no running manager.

mod causes;
mod unmanaged;

use std::collections::BTreeMap;

use crate::check::*;
use crate::cluster::Readability;
use crate::facts::age::began_under_watch;
use crate::facts::not_started::{self, NotStarted};
use crate::facts::patience::{FIRST_START, NODE_AWAY};
use crate::facts::removal::{self, Removal};
use crate::facts::{nodes, text};
use crate::longhorn::Resource::*;
use crate::longhorn::{ConditionStatus, DaemonSet, KubeNode, LonghornNode, Owner, Pod, Replica, condition};

pub static CHECK: Check = check! {
    id: "node_unregistered",
    title: "Nodes not registered",
    summary: "A node with a longhorn-manager is not registered in Longhorn. Or a registered node is missing from Kubernetes or has no running \
              longhorn-manager.",
    needs: &[Pods, LonghornNodes],
    uses: &[
        KubeNodes, Volumes, Replicas, DaemonSets, Events, Settings, EngineImages, InstanceManagers, Engines,
        Orphans,
    ],
    causes: causes::ALL,
    ways: &[causes::WAYS],
    gauges: GAUGES,
    alerts: &[alert! { "LonghornNodeUnregistered",
        when: When::Found(&[
            &causes::NEVER_STARTED,
            &causes::NODE_GONE,
            &causes::MANAGER_MISSING,
            &causes::UNINITIALIZED,
        ]),
        runbook_only: &[&causes::UNINSTALLING],
        only: Some(Severity::Warning),
        for_: "3m",
        summary: "A node is missing from Kubernetes or Longhorn, or has no running longhorn-manager.",
        description: "Node {{ $labels.object }} is missing from Kubernetes or Longhorn, or has no running longhorn-manager. Longhorn cannot use the node: read \
                      its manager's log. Delete a lost node in Longhorn once its replicas are rebuilt elsewhere.",
        why: "The check waits 10 min for a startup, 5 min for a node replacement, 1 min for a known cause. The alert waits only 3 min more, so it fires no \
              later than the alert on a resulting webhook outage.",
    }],
    panels: &[
        Panel {
            dashboard: Dashboard::Managers,
            title: "Nodes by registration",
            description: "Longhorn nodes by state: registered, never_started (not in Longhorn), node_gone (only in Longhorn), manager_missing (not running).",
            width: Width::Third,
            no_data: "the exporter cannot read pods or nodes.longhorn.io",
            ..Panel::STAT.of(&NODES)
        },
        Panel {
            dashboard: Dashboard::Managers,
            title: "Nodes not registered",
            description: "Nodes with a manager but unknown to Longhorn (never_started), known only to Longhorn (node_gone), or without a \
                          running manager (manager_missing).",
            no_data: "every node is registered, or the exporter is not reporting",
            ..Panel::TABLE.of_findings("node_unregistered")
        },
    ],
};

gauges! {
    NODES = Gauge "longhorn_health_nodes" ["state"]
        "Longhorn nodes by state: registered, never_started (no nodes.longhorn.io), node_gone (no Kubernetes node), manager_missing.",
        absent "pods or nodes.longhorn.io cannot be read",
        example "longhorn_health_nodes{state!=\"registered\"} > 0";
}

fn run(cluster: &Cluster, out: &mut Outcome) {
    let never_started = find_never_started(cluster, out);
    let gone = find_gone(cluster, out);
    let (unmanaged, new) = unmanaged::run(cluster, out);
    find_uninitialized(cluster, out);
    let registered = cluster.objects.longhorn_nodes.len().saturating_sub(gone + unmanaged);
    for (state, count) in [
        ("registered", registered),
        (causes::NEVER_STARTED.id, never_started),
        (causes::NODE_GONE.id, gone),
        (causes::MANAGER_MISSING.id, unmanaged + new),
    ] {
        out.sample(&NODES, &[state], count as f64);
    }
}

fn find_never_started(cluster: &Cluster, out: &mut Outcome) -> usize {
    // one that cannot be decoded may be that of any of these nodes; that some cannot is said by the report
    if !cluster.knows_all(Resource::LonghornNodes) {
        return 0;
    }
    let mut pods: BTreeMap<&str, &Pod> = BTreeMap::new();
    for pod in cluster.manager_pods().filter(|pod| !pod.metadata.is_deleting()) {
        let node = pod.spec.node_name.as_str();
        if node.is_empty() || cluster.objects.longhorn_nodes.get(node).is_some() || !may_exist(cluster, node)
        {
            continue;
        }
        // the oldest pod tells how long Longhorn has had to register the node
        let known = pods.entry(node).or_insert(pod);
        if pod.metadata.created() < known.metadata.created() {
            *known = pod;
        }
    }
    // a node that is switched off may be deleted from Longhorn, and is registered again when it is back
    let away = |node: &str| {
        let kube = cluster.objects.kube_nodes.get(node);
        let ready = kube.and_then(|kube| condition(&kube.status.conditions, "Ready"));
        ready.is_some_and(|ready| ready.status != ConditionStatus::True)
    };
    pods.retain(|node, _| !away(node));
    let since = |pod: &Pod| {
        let made = pod.status.start_time.get().or(pod.metadata.created());
        made.map(|made| nodes::not_before_return(cluster, &pod.spec.node_name, made))
    };
    pods.retain(|_, pod| since(pod).is_none_or(|since| cluster.age(since) >= FIRST_START));
    if let Some(removal) = removal::unmissed(cluster).filter(|_| !pods.is_empty()) {
        out.report(uninstalling(cluster, pods.len(), removal));
        return 0;
    }
    for (node, pod) in &pods {
        out.report(never_started(cluster, node, pod).since(since(pod)));
    }
    pods.len()
}

/// Nodes that their cloud controller has not taken on: its taint keeps every ordinary pod away (kubernetes
/// staging/src/k8s.io/cloud-provider/api/well_known_taints.go TaintExternalCloudProvider).
fn find_uninitialized(cluster: &Cluster, out: &mut Outcome) {
    const TAINT: &str = "node.cloudprovider.kubernetes.io/uninitialized";
    let objects = &cluster.objects;
    let waits = |node: &&KubeNode| {
        let name = node.metadata.name.as_str();
        let long = node.metadata.created().is_some_and(|made| cluster.age(made) >= FIRST_START);
        let unknown = objects.longhorn_nodes.get(name).is_none() && cluster.manager_pod_on(name).is_none();
        long && unknown && node.spec.taints.iter().any(|taint| taint.key == TAINT)
    };
    if !cluster.knows_all(Resource::LonghornNodes) || cluster.manager_pods().next().is_none() {
        return;
    }
    for node in objects.kube_nodes.iter().filter(waits) {
        let name = &node.metadata.name;
        let message =
            format!("{name} is not registered in Longhorn: its cloud controller has not initialized it");
        out.report(
            Finding::about(&causes::UNINITIALIZED, cluster.object::<KubeNode>(name), message)
                .node(name)
                .since(node.metadata.created())
                .impact(format!("Longhorn cannot use {name}: none of its pods can start there"))
                .fact(format!("node {name} has the taint {TAINT}")),
        );
    }
}

/// False only where Kubernetes nodes can be read and this one is not among them.
fn may_exist(cluster: &Cluster, node: &str) -> bool {
    !knows_kube_nodes(cluster) || cluster.objects.kube_nodes.get(node).is_some()
}

fn knows_kube_nodes(cluster: &Cluster) -> bool {
    cluster.readability(Resource::KubeNodes) == Readability::Readable
        && !cluster.objects.kube_nodes.is_empty()
}

fn never_started(cluster: &Cluster, node: &str, pod: &Pod) -> Finding {
    let name = &pod.metadata.name;
    let restarts = pod.container_status("longhorn-manager").map_or(0, |status| status.restart_count.0);
    let age = match pod.status.start_time.get().or(pod.metadata.created()) {
        Some(since) => format!("since {since}"),
        None => "since an unknown time".to_owned(),
    };
    let waits =
        pod.container_status("longhorn-manager").is_some_and(|status| status.running_since().is_none());
    let why = (restarts == 0 && waits).then(|| not_started::of_pod(cluster, pod, "longhorn-manager"));
    let why = why.filter(NotStarted::is_definite);
    let message = match &why {
        Some(why) => format!("longhorn-manager never started on {node}: {}", why.text),
        None => format!("{node} has a longhorn-manager pod but is not registered in Longhorn"),
    };
    Finding::about(&causes::NEVER_STARTED, cluster.object::<KubeNode>(node), message)
        .node(node)
        .way(why.as_ref().map(|why| why.way))
        .facts(why.iter().flat_map(not_started::evidence))
        .impact(format!("volumes cannot attach to {node}, and Longhorn places no replica there"))
        .fact(format!("manager pod {name} has existed {age}, with {}", counted(restarts, "restart")))
        .fact(format!("nodes.longhorn.io {node} is missing, so the manager has never finished its startup"))
        .with(Name::Pod, name.to_string())
}

/// Says so once, for all nodes that are gone already.
fn uninstalling(cluster: &Cluster, managers: usize, removal: Removal) -> Finding {
    let finding = Finding::about(
        &causes::UNINSTALLING,
        cluster.object::<DaemonSet>("longhorn-manager"),
        format!(
            "Longhorn is being uninstalled: {} without nodes.longhorn.io still running",
            counted(managers, "manager")
        ),
    );
    let finding = match removal.by_uninstaller {
        true => finding.impact("none: the uninstaller deleted the volumes before the nodes"),
        false => finding
            .impact("no volume is in use, but running managers are deleting the remaining data")
            .way(&causes::BY_HAND),
    };
    finding.fact(removal.evidence)
}

fn find_gone(cluster: &Cluster, out: &mut Outcome) -> usize {
    let gone: Vec<&LonghornNode> =
        // one that is being deleted waits for a manager that takes its finalizer away, and for no one's command
        cluster.objects.longhorn_nodes.iter().filter(|node| !node.metadata.is_deleting() && is_gone(cluster, node)).collect();
    let mut count = 0;
    for node in gone {
        let name = node.metadata.name.as_str();
        let written = condition(&node.status.conditions, "Ready")
            .filter(|ready| ready.reason == "KubernetesNodeGone")
            .and_then(|ready| ready.last_transition_time.get());
        let seen = out.first_seen("gone", name);
        // the condition has the time at which the node went, which may be long before it was deleted
        let since = match seen.unwrap_or(cluster.now) {
            begun if knows_kube_nodes(cluster) && began_under_watch(cluster, begun) => Some(begun),
            _ => written.into_iter().chain(seen).min(),
        };
        let long_enough = match since {
            Some(since) => cluster.age(since) >= NODE_AWAY,
            None => !cluster.is_watched(),
        };
        if !long_enough {
            continue;
        }
        count += 1;
        let mut finding =
            node_gone(cluster, name, cluster.objects.replicas.of(Owner::Node, name).count()).since(since);
        if since.is_none() {
            finding = finding.fact(EvidenceSource::History.says("the recording does not show since when"));
        }
        out.report(finding);
    }
    count
}

/// True when Kubernetes does not list the node or, where Kubernetes nodes cannot be read, when
/// Longhorn says so.
fn is_gone(cluster: &Cluster, node: &LonghornNode) -> bool {
    if knows_kube_nodes(cluster) {
        return cluster.objects.kube_nodes.get(&node.metadata.name).is_none();
    }
    condition(&node.status.conditions, "Ready").is_some_and(|ready| ready.reason == "KubernetesNodeGone")
}

/// The node under whose name the machine is back: the UUID of a disk is in a file on it (longhorn-disk.cfg).
fn renamed<'a>(cluster: &'a Cluster, node: &str) -> Option<&'a str> {
    fn uuids(node: &LonghornNode) -> impl Iterator<Item = &str> {
        node.status.disk_status.values().map(|disk| disk.disk_uuid.as_str())
    }
    let nodes = &cluster.objects.longhorn_nodes;
    let gone: Vec<_> = uuids(nodes.get(node)?).filter(|uuid| !uuid.is_empty()).collect();
    let mut others = nodes.iter().filter(|other| other.metadata.name != *node && !is_gone(cluster, other));
    let has = |other: &&LonghornNode| uuids(other).any(|uuid| gone.contains(&uuid));
    others.find(has).map(|other| other.metadata.name.as_str())
}

/// The volumes with data on the node, all whose copies are on nodes that are gone.
fn lost_with(cluster: &Cluster, node: &str) -> Vec<VolumeRef> {
    let is_lost = |replica: &&Replica| {
        let node = cluster.objects.longhorn_nodes.get(&replica.spec.node_id);
        node.is_none_or(|node| is_gone(cluster, node))
    };
    let has_data = |replica: &&Replica| replica.spec.healthy_at.is_set();
    let there = cluster.objects.replicas.of(Owner::Node, node).filter(has_data);
    let there = there.filter(|replica| cluster.objects.volumes.get(&replica.spec.volume_name).is_some());
    let lost = there.filter(|replica| {
        cluster.replicas_of(&replica.spec.volume_name).filter(has_data).all(|replica| is_lost(&replica))
    });
    cluster.volume_refs(lost.map(|replica| replica.spec.volume_name.as_str()))
}

fn node_gone(cluster: &Cluster, node: &str, replicas: usize) -> Finding {
    let how = match knows_kube_nodes(cluster) {
        true => format!("Kubernetes lists no node {node}"),
        false => format!("nodes.longhorn.io {node}: condition Ready has reason KubernetesNodeGone"),
    };
    let is_empty = nodes::is_left_empty(cluster, node);
    let renamed = renamed(cluster, node).filter(|_| replicas > 0);
    let became = match renamed {
        Some(other) => format!("its machine is now node {other}"),
        None => "but not from Longhorn".to_owned(),
    };
    let lost = lost_with(cluster, node);
    let only = (!lost.is_empty() && renamed.is_none()).then_some(&causes::ONLY_COPIES);
    Finding::about(
        &causes::NODE_GONE,
        cluster.object::<LonghornNode>(node),
        format!(
            "node {node} was removed from Kubernetes{} {became}",
            if renamed.is_some() { ":" } else { "" }
        ),
    )
    .severity(if is_empty { Severity::Info } else { Severity::Warning })
    .way(is_empty.then_some(&causes::LEFT_EMPTY).or(renamed.map(|_| &causes::RENAMED)).or(only))
    .with(Name::Reason, text::claims_of(&lost))
    .with(Name::Value, renamed.unwrap_or_default())
    .facts(renamed.map(|other| format!("a disk of {other} and a disk of {node} have the same diskUUID")))
    .node(node)
    .impact(match replicas {
        0 => format!("none: no replica is on {node}"),
        1 => format!("1 replica on {node} cannot be reached, so its volume is one copy short"),
        count => {
            format!("{count} replicas on {node} cannot be reached, so their volumes are short of copies")
        }
    })
    .fact(how)
    .fact(format!("{} on {node}", counted(replicas, "replica")))
}
