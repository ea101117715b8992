//! Instance managers that do not run: nothing can be attached, rebuilt or served on their node.
//!
//! `status.currentState` goes to error when the pod fails, vanishes or is being deleted, and to
//! unknown when the node is lost (longhorn-manager v1.12.1
//! controller/instance_manager_controller.go syncStatusWithPod, syncStatusWithNode).

mod diagnose;
pub mod follows;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};

use crate::check::*;
use crate::cluster::Cluster;
use crate::facts::instance_managers::InstanceManagers;
use crate::facts::nodes;
use crate::facts::text::users_of;
use crate::longhorn::{DataEngine, InstanceManager, InstanceManagerState, Resource};

use diagnose::Trouble;

/// The check.
pub const CHECK: Check = Check {
    id: "instance_manager_down",
    title: "Instance managers down",
    summary: "An instance manager does not run although it should. pod_failed, pod_missing are of severity warning \
              for the first three minutes, in which Longhorn usually makes the pod anew.",
    needs: &[Resource::InstanceManagers, Resource::Pods, Resource::Settings],
    uses: &[
        Resource::LonghornNodes,
        Resource::KubeNodes,
        Resource::Volumes,
        Resource::Engines,
        Resource::Replicas,
        Resource::DaemonSets,
    ],
    causes: CAUSES,
    gauges: &[&STATES],
    records: &[],
    alerts: &[DOWN, UNLABELLED],
    cases: "",
    panels: &[
        Panel {
            dashboard: Dashboard::Overview,
            title: "Instance managers down",
            description: "Instance managers that have not run for minutes. Volumes cannot be attached on their node.",
            kind: PanelKind::Stat,
            unit: Unit::Short,
            queries: &[Query {
                expr: "sum without (check) (max without ($without) (longhorn_health_findings{$job, \
                       check=\"instance_manager_down\", severity=\"critical\"}))",
                legend: "down",
            }],
            steps: &[Step::at(0.0, "green"), Step::at(1.0, "red")],
            width: Width::Sixth,
            no_data: "the exporter does not report",
        },
        Panel {
            dashboard: Dashboard::InstanceManagers,
            title: "Instance managers by state",
            description: "All instance managers. starting and stopped are normal for moments; a default v2 instance \
                          manager stays stopped while an old one still runs on its node.",
            kind: PanelKind::TimeSeries,
            unit: Unit::Short,
            queries: &[Query {
                expr: "max by ($cluster state) (longhorn_health_instance_managers{$job})",
                legend: "{{state}}",
            }],
            steps: &[],
            width: Width::Half,
            no_data: "the exporter does not report",
        },
        Panel {
            dashboard: Dashboard::InstanceManagers,
            title: "Instance managers in trouble",
            description: "What is wrong with each, and on which node.",
            kind: PanelKind::Table,
            unit: Unit::Short,
            queries: &[Query {
                expr: "max by ($cluster node, object, cause, severity) \
                       (longhorn_health_finding{$job, check=\"instance_manager_down\"}) == 1",
                legend: "{{object}}",
            }],
            steps: &[],
            width: Width::Half,
            no_data: "every instance manager runs, or the exporter does not report",
        },
    ],
    run,
};

const fn cause(id: &'static str, severity: Severity, summary: &'static str) -> Cause {
    Cause { id, severity, summary }
}

const CAUSES: &[Cause] = &[
    cause(
        "pod_failed",
        Severity::Critical,
        "its pod has ended and is not made anew; warning for the first 3 minutes",
    ),
    cause(
        "pod_missing",
        Severity::Critical,
        "it has no pod and none is made; warning for the first 3 minutes",
    ),
    cause(
        "node_cordoned",
        Severity::Info,
        "its node is cordoned, so Longhorn makes no pod for it; expected in a drain",
    ),
    cause("node_down", Severity::Warning, "its node does not answer"),
    cause(
        "labels_missing",
        Severity::Warning,
        "its object lacks labels, so Longhorn removes it or, before the fix of issue 9464, cannot sync its node",
    ),
    cause("starting_stuck", Severity::Critical, "it has been starting for more than 5 minutes"),
];

static STATES: Gauge = Gauge {
    name: "longhorn_health_instance_managers",
    help: "Instance managers by status.currentState; a state that Longhorn has not written or that is not known counts as unknown.",
    kind: GaugeKind::Gauge,
    labels: &["state"],
    absent: "never; zero for a state in which none is",
    example: "longhorn_health_instance_managers{state!=\"running\"} > 0",
    stability: Stability::Experimental,
};

const DOWN: Alert = Alert {
    name: "LonghornInstanceManagerDown",
    causes: &["pod_failed", "pod_missing", "starting_stuck", "node_down", "node_cordoned"],
    expr: "max without ($without) (longhorn_health_finding{$job, check=\"instance_manager_down\", \
           cause=~\"pod_failed|pod_missing|starting_stuck\", severity=\"critical\"}) == 1",
    hold: "1m",
    keep_firing_for: "",
    severity: Severity::Critical,
    thresholds: &[],
    summary: "A Longhorn instance manager does not run.",
    description: "Instance manager {{ $labels.object }}{{ with $labels.node }} on {{ . }}{{ end }} does not run: \
                  {{ $labels.cause }}. No volume can be attached there and its replicas there do not run. Look at its \
                  pod, then at the longhorn-manager of that node.",
    why: "The finding is critical only after three minutes (five for a start), longer than Longhorn's back-off of two; \
          a minute more rides out one odd evaluation.",
    runbook: include_str!("LonghornInstanceManagerDown.md"),
};

const UNLABELLED: Alert = Alert {
    name: "LonghornInstanceManagerLabelsMissing",
    causes: &["labels_missing"],
    expr: "max without ($without) (longhorn_health_finding{$job, check=\"instance_manager_down\", \
           cause=\"labels_missing\"}) == 1",
    hold: "5m",
    keep_firing_for: "",
    severity: Severity::Warning,
    thresholds: &[],
    summary: "A running Longhorn instance manager lacks the labels by which Longhorn finds it.",
    description: "Instance manager {{ $labels.object }}{{ with $labels.node }} on {{ . }}{{ end }} lacks labels by which \
                  Longhorn finds it. Releases from 1.6.3, 1.7.2 and 1.8.0 on remove it with all that runs in it, earlier \
                  ones start nothing new on the node (Longhorn issue 9464). Put the labels back before anything else.",
    why: "Labels are set when the object is made, so a moment without them does not happen by itself.",
    runbook: include_str!("LonghornInstanceManagerLabelsMissing.md"),
};

fn run(cluster: &Cluster, out: &mut Outcome) {
    let fleet = InstanceManagers::of(cluster);
    let (claims, active_v2) = (claims(cluster), active_v2(cluster));
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
            let aged = trouble.aged;
            let finding = finding(cluster, &fleet, im, &claims, trouble);
            if aged { out.find(finding) } else { out.find_as(Severity::Warning, finding) }
        }
    }
    for (state, count) in states {
        out.sample(&STATES, &[state], count as f64);
    }
}

fn finding(
    cluster: &Cluster,
    fleet: &InstanceManagers,
    im: &InstanceManager,
    claims: &Claims,
    trouble: Trouble,
) -> Finding {
    let (ns, name, node) = (&cluster.namespace, &im.metadata.name, &im.spec.node_id);
    let volumes = volumes_of(cluster, fleet, im, claims);
    let place = if node.is_empty() { String::new() } else { format!(" on {node}") };
    let reached = nodes::down(cluster, node).is_none();
    let message = format!("instance manager {name}{place} {}", what(trouble.cause, reached));
    let impact = match (trouble.cause, volumes.is_empty()) {
        ("labels_missing", _) if fleet.code_on(node).is_some_and(diagnose::removes_unlabelled) => {
            format!("Longhorn removes it at the next sync of the node; hit: {}", users_of(&volumes))
        }
        ("labels_missing", _) => {
            "what runs in it goes on, but no engine or replica starts on the node".to_owned()
        }
        (_, true) => "no volume can be attached on the node and no replica is served from it".to_owned(),
        (_, false) => format!("no volume can be attached on the node; hit: {}", users_of(&volumes)),
    };
    let mut finding = Finding::new(trouble.cause, ObjectRef::new("InstanceManager", ns, name), message)
        .node(node)
        .since(trouble.since)
        .volumes(volumes)
        .impact(impact)
        .remedy(remedy(cluster, im, trouble.cause));
    finding.evidence = trouble.evidence;
    finding
}

/// `reached` is false while the node does not answer.
fn what(cause: &str, reached: bool) -> &'static str {
    match cause {
        "node_down" if reached => "has not been looked at since its node was lost, although the node answers",
        "pod_failed" => "does not run: its pod has ended",
        "pod_missing" => "does not run: it has no pod",
        "node_cordoned" => "has no pod because the node is cordoned",
        "node_down" => "cannot be reached because its node is down",
        "labels_missing" => "lacks labels by which Longhorn finds it",
        _ => "does not come up",
    }
}

/// Volumes by the instance manager that their engine or replica names.
type Claims<'a> = HashMap<&'a str, Vec<&'a str>>;

fn claims(cluster: &Cluster) -> Claims<'_> {
    let objects = &cluster.objects;
    let engines = objects.engines.iter().map(|e| (&e.status.instance_manager_name, &e.spec.volume_name));
    let replicas = objects.replicas.iter().map(|r| (&r.status.instance_manager_name, &r.spec.volume_name));
    let mut claims = Claims::new();
    for (manager, volume) in engines.chain(replicas) {
        claims.entry(manager).or_default().push(volume);
    }
    claims
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

/// The volumes that run in it, else (its maps are emptied when it does not run) those whose engine
/// or replica says that it belongs there.
fn volumes_of(
    cluster: &Cluster,
    fleet: &InstanceManagers,
    im: &InstanceManager,
    claims: &Claims,
) -> Vec<VolumeRef> {
    let inside = fleet.counted_instances(im);
    let mut volumes: Vec<&str> =
        inside.iter().filter_map(|instance| fleet.volume_of(instance.role, instance.name)).collect();
    if im.status.current_state != InstanceManagerState::Running {
        volumes.extend(claims.get(im.metadata.name.as_str()).into_iter().flatten());
    }
    cluster.volume_refs(volumes)
}

fn remedy(cluster: &Cluster, im: &InstanceManager, cause: &str) -> Remedy {
    let (ns, name, node) = (&cluster.namespace, &im.metadata.name, &im.spec.node_id);
    let text = match cause {
        "node_cordoned" => "Expected in a drain. Uncordon the node when the work on it is done.",
        "node_down" => {
            "Bring the node back, or remove it for good; see whether its volumes run elsewhere. If the node answers, see \
             why the longhorn-manager on it does not run."
        }
        "labels_missing" => {
            "Put the missing labels back at once, as another instance manager has them. Do not restart managers and do not \
             upgrade before: releases from 1.6.3, 1.7.2 and 1.8.0 on remove an instance manager without them."
        }
        "starting_stuck" => "See why the pod does not start: image, node resources, network plugin.",
        _ => "Longhorn should have made a new pod. See whether the longhorn-manager of the node works.",
    };
    let remedy =
        Remedy::new(text).read(format!("kubectl -n {ns} get instancemanagers.longhorn.io {name} -o yaml"));
    let managers = format!("kubectl -n {ns} get pods -l app=longhorn-manager");
    match cause {
        _ if node.is_empty() => remedy.read(managers),
        "node_cordoned" => remedy.change(format!("kubectl uncordon {node}")),
        "node_down" => remedy
            .read(format!("kubectl describe node {node}"))
            .read(format!("{managers} --field-selector spec.nodeName={node}")),
        "labels_missing" => {
            remedy.read(format!("kubectl -n {ns} get instancemanagers.longhorn.io --show-labels"))
        }
        _ => remedy
            .read(format!("kubectl -n {ns} describe pod {name}"))
            .read(format!("{managers} --field-selector spec.nodeName={node}")),
    }
}
