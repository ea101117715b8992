//! Instance managers that do not run: nothing can be attached, rebuilt or served on their node.
//!
//! `status.currentState` goes to error when the pod fails, vanishes or is being deleted, and to
//! unknown when the node is lost (longhorn-manager v1.12.1
//! controller/instance_manager_controller.go syncStatusWithPod, syncStatusWithNode).

mod causes;
mod diagnose;
mod refused;
#[cfg(test)]
mod tests;

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::check::*;
use crate::facts::instance_managers::InstanceManagers;
use crate::facts::patience::NODE_AWAY;
use crate::facts::text::users_of;
use crate::facts::{nodes, volumes};
use crate::longhorn::Resource::*;
use crate::longhorn::{DataEngine, InstanceManager, InstanceManagerState, Owner, VolumeHealth, VolumeState};

use diagnose::{Hits, ManagerTrouble};

pub static CHECK: Check = check! {
    id: "instance_manager_down",
    title: "Instance managers down",
    summary: "An instance manager is down although it should be running. pod_failed and pod_missing are warnings for the first three minutes, while \
              Longhorn usually recreates the pod.",
    needs: &[InstanceManagers, Pods, Settings],
    uses: &[LonghornNodes, KubeNodes, Volumes, Engines, Replicas, DaemonSets, Events],
    causes: causes::ALL,
    ways: &[causes::WAYS],
    gauges: GAUGES,
    alerts: &[DOWN, UNLABELLED],
    panels: &[
        Panel {
            title: "Instance managers down",
            description: "Instance managers that have been down longer than a restart takes. Volumes cannot attach to their nodes.",
            expr: "sum by ($cluster job) (max without ($without) (longhorn_health_check_findings{$job, check=\"instance_manager_down\", \
                   severity=\"critical\"})) or 0 * max by ($cluster job) (longhorn_health_checks{$job, state=\"known\"} > 0)",
            legend: "down",
            steps: &[Step::at(0.0, "green"), Step::at(1.0, "red")],
            no_data: "the exporter is not reporting",
            ..Panel::STAT
        },
        Panel {
            dashboard: Dashboard::InstanceManagers,
            title: "Instance managers by state",
            description: "Instance managers by state. `starting` and `stopped` are normal briefly. If v2 is the default engine, they are also normal beside an \
                old instance manager.",
            no_data: "the exporter is not reporting",
            ..Panel::TIME_SERIES.of(&STATES)
        },
        Panel {
            dashboard: Dashboard::InstanceManagers,
            title: "Instance managers in trouble",
            description: "Cause and node of each instance manager that is down.",
            columns: &["severity", "cause", "object", "node"],
            no_data: "every instance manager is running, or the exporter is not reporting",
            ..Panel::TABLE.of_findings("instance_manager_down")
        },
    ],
};

gauges! {
    STATES = Gauge "longhorn_health_instance_managers" ["state"]
        "Instance managers by status.currentState. A missing or unrecognized state counts as unknown.",
        absent "never (an empty state is 0)",
        example "longhorn_health_instance_managers{state!=\"running\"} > 0";
}

const DOWN: Alert = alert! { "LonghornInstanceManagerDown",
    when: When::Found(&[
        &causes::PANIC,
        &causes::OOM_KILLED,
        &causes::POD_FAILED,
        &causes::POD_REJECTED,
        &causes::POD_TERMINATING,
        &causes::POD_MISSING,
        &causes::STARTING_STUCK,
    ]),
    only: Some(Severity::Critical),
    runbook_only: &[&causes::NODE_DOWN, &causes::NODE_CORDONED],
    for_: "1m",
    keep_firing_for: "5m",
    summary: "A Longhorn instance manager is down.",
    description: "Instance manager {{ $labels.object }}{{ with $labels.node }} on {{ . }}{{ end }} is down, with all its engines and replicas. No \
                  volume can attach to the node. Check the instance manager's pod, then the node's longhorn-manager.",
    why: "The finding becomes critical after 3 min (5 min during startup), because Longhorn's back-off is 2 min. The alert waits 1 min more.",
};

const UNLABELLED: Alert = alert! { "LonghornInstanceManagerLabelsMissing",
    when: When::Found(&[&causes::LABEL_MISSING]),
    for_: "5m",
    summary: "A running Longhorn instance manager lacks its labels.",
    description: "Instance manager {{ $labels.object }}{{ with $labels.node }} on {{ . }}{{ end }} lacks the labels that Longhorn needs. Some releases delete \
                  it and its engines and replicas, others start no instance manager there. Restore the labels before any manager restart or upgrade.",
    why: "The alert waits only 5 min, because Longhorn sets the labels when it creates an instance manager.",
};

fn run(cluster: &Cluster, out: &mut Outcome) {
    let fleet = InstanceManagers::of(cluster);
    let (active_v2, attached) = (active_v2(cluster), OnceCell::new());
    let mut states: BTreeMap<&str, usize> =
        InstanceManagerState::KNOWN.iter().map(|state| (state.as_str(), 0)).collect();
    for im in cluster.objects.instance_managers.iter() {
        let state = match im.status.current_state {
            InstanceManagerState::Unset | InstanceManagerState::Unrecognized => InstanceManagerState::Unknown,
            known => known,
        };
        *states.entry(state.as_str()).or_default() += 1;
        if im.metadata.is_deleting() {
            continue;
        }
        if let Some(trouble) = diagnose::diagnose(cluster, &fleet, im, &active_v2, out) {
            let severity = match trouble.aged {
                _ if trouble.cause == &causes::NODE_DOWN
                    && (is_planned(cluster, im) || is_momentary(cluster, im)) =>
                {
                    Some(Severity::Info)
                }
                true => None,
                false if is_between_pods(cluster, &fleet, im, &trouble) => Some(Severity::Info),
                false => Some(Severity::Warning),
            };
            let finding = finding(cluster, &fleet, &attached, im, trouble);
            out.report(match severity {
                Some(severity) => finding.severity(severity),
                None => finding,
            });
        }
    }
    for (state, count) in states {
        out.sample(&STATES, &[state], count as f64);
    }
}

/// A node with no volume attached to it that is away for no longer than a reboot takes (see facts/patience.rs), or that was
/// taken out of Kubernetes without a replica, of which node_unregistered warns if Longhorn keeps it. Of the latter Longhorn removes its own node next, and with it the instance manager
/// (longhorn-manager v1.3.3 to v1.12.1 controller/kubernetes_node_controller.go syncKubernetesNode).
fn is_planned(cluster: &Cluster, im: &InstanceManager) -> bool {
    let (objects, node) = (&cluster.objects, im.spec.node_id.as_str());
    let away = || nodes::not_ready_since(cluster, node).is_some_and(|since| cluster.age(since) < NODE_AWAY);
    let taken_out = match objects.kube_nodes.get(node) {
        Some(known) => {
            (known.spec.unschedulable || nodes::kube_ready(cluster, node) == Some(false)) && away()
        }
        None => {
            let known = cluster.knows_all(KubeNodes) && !objects.kube_nodes.is_empty();
            let warned_of = objects.longhorn_nodes.get(node).is_some();
            known && warned_of && objects.replicas.of(Owner::Node, node).next().is_none()
        }
    };
    taken_out && !objects.engines.iter().any(|engine| engine.spec.node_id == node)
}

/// Its manager, which alone makes the next pod, is still starting; or nothing runs in it, and its manager has not had its back-off of up to
/// two minutes for that (longhorn-manager v1.12.1 controller/utils.go; played on 1.9.2 and 1.12.1: 2 to 6 s where it applies settings, 10 s
/// where a taint that had driven both away was taken off, 45 s beside an uninstaller).
fn is_between_pods(
    cluster: &Cluster,
    fleet: &InstanceManagers,
    im: &InstanceManager,
    trouble: &ManagerTrouble,
) -> bool {
    const NEXT: jiff::SignedDuration = jiff::SignedDuration::from_mins(2);
    let lately = || trouble.since.map_or(cluster.is_watched(), |since| cluster.age(since) < NEXT);
    [&causes::POD_MISSING, &causes::POD_FAILED].contains(&trouble.cause)
        && (nodes::manager_starts(cluster, &im.spec.node_id)
            || lately()
                && volumes_of(cluster, fleet, im)
                    .iter()
                    .all(|volume| volumes::is_leaving(cluster, &volume.name)))
}

/// Kubernetes calls a node down some 50 s after its last sign of life, and where nothing could be written meanwhile (etcd full, the API
/// server away) it calls those down that are well, until their kubelets write again, some seconds later. A node that has just come back
/// starts its manager before that looks at the instance manager (played on 1.9.2 and 1.12.1: 4 to 16 s). In an upgrade that takes longer:
/// the state is one that the manager of the node alone writes, unless its pod is missing (longhorn-manager v1.9.2 to v1.12.1
/// controller/controller_manager.go isControllerResponsibleFor), and it is not there yet.
fn is_momentary(cluster: &Cluster, im: &InstanceManager) -> bool {
    const MANAGER_STARTS: jiff::SignedDuration = jiff::SignedDuration::from_secs(30);
    let node = im.spec.node_id.as_str();
    let changed = nodes::not_ready_since(cluster, node);
    let normal = match nodes::kube_ready(cluster, node) {
        Some(false) => nodes::CONTROL_PLANE_RETURNS,
        Some(true) if nodes::manager_starts(cluster, node) => return true,
        Some(true) => MANAGER_STARTS,
        None => return false,
    };
    // while nothing can be read, as when the API server is away again, time alone tells nothing new
    let nodes = cluster.resources.get(&KubeNodes).filter(|status| status.error.is_some());
    let now = nodes.and_then(|status| status.last_success).unwrap_or(cluster.now);
    changed.is_some_and(|changed| now.duration_since(changed) < normal)
}

/// Faulted volumes with a replica on the node that can be salvaged nowhere: no instance manager runs where their replicas are. They have
/// no instance in one any more.
fn nowhere<'a>(cluster: &'a Cluster, node: &str) -> impl Iterator<Item = &'a str> {
    let runs = |node: &str| {
        let mut managers = cluster.instance_managers_on(node);
        managers.any(|manager| manager.status.current_state == InstanceManagerState::Running)
    };
    let here =
        cluster.objects.replicas.of(Owner::Node, node).map(|replica| replica.spec.volume_name.as_str());
    here.filter(move |name| {
        let volume = cluster.objects.volumes.get(name);
        volume.is_some_and(|volume| volume.status.health() == VolumeHealth::Faulted)
            && !cluster.replicas_of(name).any(|replica| runs(&replica.spec.node_id))
    })
}

fn finding<'a>(
    cluster: &'a Cluster,
    fleet: &InstanceManagers,
    attached: &Attached<'a>,
    im: &InstanceManager,
    trouble: ManagerTrouble,
) -> Finding {
    let (name, node) = (&im.metadata.name, &im.spec.node_id);
    let of_node = |state| at_node(cluster, attached, im, state);
    let (standing, waiting) = match trouble.hits {
        Hits::Attached => {
            let mut standing = of_node(VolumeState::Attached);
            standing.extend(of_node(VolumeState::Attaching));
            (standing, Vec::new())
        }
        Hits::Attaching => (Vec::new(), of_node(VolumeState::Attaching)),
        // nothing of these is in an instance manager yet
        Hits::Starts | Hits::Running => (Vec::new(), Vec::new()),
    };
    let severity = match trouble.cause == &causes::NODE_CORDONED && !waiting.is_empty() {
        true => Severity::Warning,
        false => trouble.cause.severity,
    };
    let mut volumes = volumes_of(cluster, fleet, im);
    let names: BTreeSet<&str> = standing.iter().chain(&waiting).map(|volume| &*volume.name).collect();
    volumes.retain(|volume| !names.contains(&*volume.name));
    volumes.extend(waiting);
    let known: BTreeSet<String> = volumes.iter().map(|volume| volume.name.to_string()).collect();
    volumes.extend(cluster.volume_refs(nowhere(cluster, node).filter(|name| !known.contains(*name))));
    let which = match node.as_str() {
        "" => format!("instance manager {name}"),
        node => format!("the instance manager on {node}"),
    };
    let more = trouble.detail.as_ref().map_or(String::new(), |detail| format!(": {detail}"));
    let impact = match trouble.hits {
        Hits::Running => {
            let users = if volumes.is_empty() { String::new() } else { format!(": {}", users_of(&volumes)) };
            format!("Longhorn removes it with everything in it at the node's next sync{users}")
        }
        Hits::Starts => "no new engine or replica can start on the node. Running ones continue".to_owned(),
        _ if !standing.is_empty() => {
            format!("pods that use {} hang until the node is back or they are moved", users_of(&standing))
        }
        _ if volumes.is_empty() => {
            "no volume can attach to the node, and replicas on it are unavailable".to_owned()
        }
        _ => format!(
            "no volume can attach to the node, and replicas of {} on it are unavailable",
            users_of(&volumes)
        ),
    };
    // those that had a copy on a node that was removed have a finding of their own, if they lack it
    let volumes = if trouble.way == Some(&causes::NODE_GONE) { Vec::new() } else { volumes };
    let manager = cluster.manager_pod_on(node).map(|pod| (Name::Manager, pod.metadata.name.to_string()));
    let object = cluster.object::<InstanceManager>(name);
    Finding::about(trouble.cause, object, format!("{which} {}{more}", trouble.says))
        .severity(severity)
        .way(trouble.way)
        .with(Name::Pod, name.as_str())
        .named(manager)
        .node(node)
        .since(trouble.since)
        .volumes([standing, volumes].concat())
        .impact(impact)
        .facts(trouble.evidence)
}

/// How many v2 instance managers of each node are not stopped.
fn active_v2(cluster: &Cluster) -> HashMap<&str, usize> {
    let mut nodes = HashMap::new();
    for im in cluster.objects.instance_managers.iter() {
        let active = im.status.current_state != InstanceManagerState::Stopped;
        if im.spec.data_engine == DataEngine::V2 && active {
            *nodes.entry(im.spec.node_id.as_str()).or_default() += 1;
        }
    }
    nodes
}

/// Nodes with the volumes that are attached there or are to be, in order; looked for once an instance manager is down.
type Attached<'a> = OnceCell<Vec<(&'a str, &'a str, VolumeState)>>;

/// The volumes that are in this state on the node, said with the first of its instance managers alone.
fn at_node<'a>(
    cluster: &'a Cluster,
    attached: &Attached<'a>,
    im: &InstanceManager,
    state: VolumeState,
) -> Vec<VolumeRef> {
    let node = im.spec.node_id.as_str();
    let mut managers = cluster.objects.instance_managers.of(Owner::Node, node);
    let first = managers.find(|manager| !manager.metadata.is_deleting());
    if first.is_none_or(|first| first.metadata.name != im.metadata.name) {
        return Vec::new();
    }
    let by_node = attached.get_or_init(|| {
        let on = cluster.objects.volumes.iter().filter_map(|volume| {
            Some((volumes::needed_on(volume)?, volume.metadata.name.as_str(), volume.status.state))
        });
        let mut on: Vec<_> = on.collect();
        on.sort_unstable_by_key(|(node, ..)| *node);
        on
    });
    let here = by_node.partition_point(|(on, ..)| *on < node);
    let here = by_node.iter().skip(here).take_while(|(on, ..)| *on == node);
    cluster.volume_refs(here.filter(|(.., is)| *is == state).map(|(_, volume, _)| *volume))
}

/// The volumes that run in it, else (its maps are emptied when it does not run) those whose engine
/// or replica says that it belongs there.
fn volumes_of(cluster: &Cluster, fleet: &InstanceManagers, im: &InstanceManager) -> Vec<VolumeRef> {
    let inside = fleet.counted_instances(im);
    let mut volumes: Vec<&str> =
        inside.iter().filter_map(|instance| fleet.volume_of(instance.role, instance.name)).collect();
    if im.status.current_state != InstanceManagerState::Running {
        let (objects, name) = (&cluster.objects, &im.metadata.name);
        let engines = objects.engines.of(Owner::InstanceManager, name);
        let replicas = objects.replicas.of(Owner::InstanceManager, name);
        volumes.extend(engines.map(|engine| engine.spec.volume_name.as_str()));
        volumes.extend(replicas.map(|replica| replica.spec.volume_name.as_str()));
    }
    cluster.volume_refs(volumes)
}
