//! The CSI plugin of each node.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use super::{PLUGIN, PLUGINS, causes, crashing};
use crate::check::*;
use crate::facts::age::{Begun, Unknown, observe};
use crate::facts::looping::Loop;
use crate::facts::nodes::Addresses;
use crate::facts::patience::NODE_AWAY;
use crate::facts::{api, nodes, not_started, pods, text, unreached};
use crate::longhorn::{CSI_DRIVER, Container, CsiNode, Engine, KubeNode, Pod, PodPhase, VolumeState};

/// Volumes by the node where they are attached; made once, and only where something is wrong.
type Attached<'a> = OnceCell<BTreeMap<&'a str, BTreeSet<&'a str>>>;

pub(super) fn run(cluster: &Cluster, out: &mut Outcome) {
    let (attached, addresses) = (Attached::new(), OnceCell::new());
    let mut seen = BTreeSet::new();
    let mut counts = BTreeMap::from([("working", 0_u32), ("down", 0), ("missing", 0), ("not_registered", 0)]);
    let mut count = |state| *counts.entry(state).or_default() += 1;
    for pod in cluster.pods_of(PLUGIN) {
        let node = pod.spec.node().as_str();
        seen.insert(node);
        if pod.metadata.is_deleting() || is_replaced(cluster, pod) {
            continue;
        }
        let found = match nodes::down(cluster, node) {
            Some(_) => None,
            None => down(cluster, &addresses, pod).map(|found| ("down", found)).or_else(|| {
                let found = not_registered(cluster, out, pod)?;
                Some(("not_registered", found))
            }),
        };
        count(found.as_ref().map_or("working", |(state, _)| *state));
        if let Some((_, finding)) = found {
            out.report(with_volumes(cluster, &attached, finding, node));
        }
    }
    for node in without_plugin(cluster, &seen) {
        if let Some(finding) = missing(cluster, out, node) {
            count("missing");
            let finding = with_volumes(cluster, &attached, finding, node);
            let idle = finding.volumes.is_empty();
            out.report(finding.severity(if idle { Severity::Info } else { Severity::Warning }));
        }
    }
    counts.into_iter().for_each(|(state, count)| out.sample(&PLUGINS, &[state], f64::from(count)));
}

/// True for a pod that ended, as evicted ones do, and that another pod on its node has taken over from: it lies about until someone or
/// the garbage collector deletes it.
fn is_replaced(cluster: &Cluster, pod: &Pod) -> bool {
    let ended = |pod: &Pod| matches!(pod.status.phase, PodPhase::Failed | PodPhase::Succeeded);
    let mut others = cluster.pods_of(PLUGIN).filter(|other| other.spec.node() == pod.spec.node());
    ended(pod) && others.any(|other| !ended(other))
}

fn down<'a>(cluster: &'a Cluster, addresses: &OnceCell<Addresses<'a>>, pod: &Pod) -> Option<Finding> {
    let (name, node) = (&pod.metadata.name, pod.spec.node());
    // after a reboot it ends until the manager of the node answers
    let settled = nodes::ready_since(cluster, node).is_none_or(|since| cluster.age(since) >= NODE_AWAY);
    if let Some((container, crash)) = crashing(cluster, pod).filter(|_| settled) {
        let shared = addresses.get_or_init(|| Addresses::of(cluster)).shared(cluster, node);
        return Some(keeps_crashing(cluster, pod, container, &crash, shared));
    }
    let since = pods::since(pod);
    if pod.is_ready() || !settled || since.is_some_and(|since| cluster.age(since) < NODE_AWAY) {
        return None;
    }
    let probed = sidecar_silent(cluster, pod);
    let by_kubelet = not_started::said_by_kubelet(cluster, pod).map(|why| why.way);
    let trouble = match probed {
        _ if by_kubelet.is_some() => by_kubelet.map_or(String::new(), |way| way.briefly.to_owned()),
        Some(_) => "its liveness sidecar is not answering, so the kubelet restarts it".to_owned(),
        None => pods::trouble(pod).unwrap_or_else(|| "cause unknown".to_owned()),
    };
    let mut finding = Finding::about(
        &causes::PLUGIN_NOT_RUNNING,
        cluster.object::<Pod>(name),
        format!("the CSI plugin on {node} is not Ready{}", pods::in_brief(&trouble)),
    )
    .since(since)
    .fact(api(format!("pod {name}: {trouble}")).quoting(pods::said(pod)))
    .way(probed.map(|_| &causes::LIVENESS_SIDECAR).or(by_kubelet))
    .with(Name::Pod, name.as_str());
    let warning = cluster
        .events_about(name)
        .filter(|event| event.kind == "Warning" && event.involved_object.kind == "Pod")
        .max_by_key(|event| event.last_seen());
    if let Some(event) = warning {
        let text = format!("event {}: \"{}\"", event.reason, text::both_ends(event.message.trim(), 300));
        finding = finding.fact(EvidenceSource::Event.says(text).quoting(&event.message));
    }
    Some(finding)
}

/// `shared` is an address of the node that another node has, and that one.
/// A container that has the image of another one: an updater changed them by their place in the list.
fn foreign_image(pod: &Pod) -> Option<(&'static str, &str)> {
    const OWN: [(&str, &str); 3] = [
        (PLUGIN, "longhorn-manager"),
        ("longhorn-liveness-probe", "livenessprobe"),
        ("node-driver-registrar", "node-driver-registrar"),
    ];
    OWN.into_iter().find_map(|(name, own)| {
        let image = pod.spec.container(name)?.image.as_str();
        let foreign = OWN.iter().any(|(_, word)| *word != own && image.contains(word));
        (foreign && !image.contains(own)).then_some((name, image))
    })
}

fn keeps_crashing(
    cluster: &Cluster,
    pod: &Pod,
    container: &str,
    crash: &Loop<'_>,
    shared: Option<(&str, &str)>,
) -> Finding {
    let (name, node) = (&pod.metadata.name, pod.spec.node());
    let end = match crash.end {
        Some(end) => format!("the last exit code was {} ({})", end.exit_code, end.reason),
        None => "the exit code is not recorded".to_owned(),
    };
    let limit = pod.spec.container(container).and_then(Container::memory_limit);
    let killed = crash.end.is_some_and(|end| end.reason == "OOMKilled");
    let probed = sidecar_silent(cluster, pod).filter(|_| container == PLUGIN);
    let dns = cluster.history.logs_of(pod).filter(|log| log.container == PLUGIN).find_map(|log| {
        let last = log.text.lines().rev().find(|line| !line.trim().is_empty())?;
        Some((unreached::of_dns(last)?, last))
    });
    let foreign = foreign_image(pod);
    let way = match () {
        () if foreign.is_some() => Some(&causes::IMAGES_SWAPPED),
        // its log says nothing of a kill, and a limit may come from Longhorn's own setting (longhorn-manager v1.12.1 types/setting.go
        // system-managed-csi-components-resource-limits) or from a LimitRange
        () if killed => Some(&causes::OUT_OF_MEMORY),
        () if probed.is_some() => Some(&causes::LIVENESS_SIDECAR),
        // what managers answer goes to the other node
        () if shared.is_some() => Some(&causes::SAME_ADDRESS),
        () => dns.map(|(way, _)| way),
    };
    let message = match (way, shared) {
        (Some(way), Some((_, other))) if way == &causes::SAME_ADDRESS => {
            format!("the CSI plugin on {node} keeps crashing: {other} has the same address")
        }
        (Some(way), _) => format!("the CSI plugin on {node} keeps crashing: {}", way.briefly),
        (None, _) => format!("container {container} of the CSI plugin on {node} keeps crashing"),
    };
    Finding::about(&causes::PLUGIN_CRASHING, cluster.object::<Pod>(name), message)
        .way(way)
        .fact(format!("container {container} of pod {name}: {}, {end}", counted(crash.restarts, "restart")))
        .facts(foreign.map(|(container, image)| format!("container {container} has image {image}")))
        .facts(probed.map(|said| {
            let text = format!("event Unhealthy: \"{}\"", text::both_ends(said, 300));
            EvidenceSource::Event.says(text).quoting(said)
        }))
        .facts(dns.map(|(_, said)| {
            EvidenceSource::Log.says(format!("its log ends: {}", text::quoted(said))).quoting(said)
        }))
        .facts(
            shared.map(|(address, other)| {
                format!("nodes {node} and {other} both have the InternalIP {address}")
            }),
        )
        .facts(limit.filter(|_| killed).map(|limit| format!("the container's memory limit is {limit}")))
        .with(Name::Container, container)
        .with(Name::Value, shared.map_or("", |(_, other)| other))
}

/// What the kubelet says of a liveness sidecar on whose port nothing listens: the probe is that of the plugin, which is killed for it. A
/// plugin that does not answer the sidecar is a probe with a status code (longhorn-manager v1.12.1 csi/deployment.go NewPluginDeployment; seen).
fn sidecar_silent<'a>(cluster: &'a Cluster, pod: &Pod) -> Option<&'a str> {
    const LATELY: SignedDuration = SignedDuration::from_mins(10);
    let events = cluster.events_about(&pod.metadata.name);
    let lately = events.filter(|event| event.last_seen().is_some_and(|at| cluster.age(at) < LATELY));
    let (mut said, mut killed) = (None, false);
    for event in lately {
        let silent = ["connection refused", "deadline exceeded", "Client.Timeout"];
        let silent = silent.iter().any(|part| event.message.contains(part));
        let refused = event.message.contains("probe failed") && silent;
        match event.reason.as_str() {
            "Unhealthy" if refused && event.message.contains(":9808") => said = Some(event.message.trim()),
            "Killing" => killed |= event.message.contains(PLUGIN) && event.message.contains("probe"),
            _ => {}
        }
    }
    said.filter(|_| killed)
}

fn not_registered(cluster: &Cluster, out: &mut Outcome, pod: &Pod) -> Option<Finding> {
    let (name, node) = (&pod.metadata.name, pod.spec.node_name.as_str());
    if !pod.is_ready() || !cluster.can_read(Resource::CsiNodes) {
        return None;
    }
    let csi_node = cluster.objects.csi_nodes.get(node)?;
    let registered = &csi_node.spec.drivers;
    if registered.iter().any(|driver| driver.name == CSI_DRIVER) {
        return None;
    }
    let not_before = pods::since(pod).max(nodes::ready_since(cluster, node));
    let age = observe(cluster, out, "unregistered", node, Begun::NotBefore(not_before));
    if !age.at_least(NODE_AWAY, Unknown::Counts) {
        return None;
    }
    let other = asks_elsewhere(cluster, csi_node, pod);
    let drivers: Vec<&str> = registered.iter().map(|driver| driver.name.as_str()).collect();
    let drivers = if drivers.is_empty() { "none".to_owned() } else { text::listed(&drivers) };
    Some(
        Finding::about(
            &causes::NOT_REGISTERED,
            cluster.object::<CsiNode>(node),
            format!("Longhorn's CSI driver is not registered on {node}, although the plugin is running"),
        )
        .since(age.since)
        .node(node)
        .with(Name::Pod, name.to_string())
        .way(other.is_some().then_some(&causes::OTHER_ROOT))
        .with(Name::Value, other.unwrap_or_default())
        .fact(format!("CSINode {node} lacks driver.longhorn.io (its drivers: {drivers})"))
        .fact(format!("pod {name} is Ready"))
        .fact(age.evidence()),
    )
}

/// The root directory in which the plugin offers a socket that its kubelet does not find, though the registrar began after the kubelet: in the first run
/// of a pod that came to a node that was known, or since the kubelet's last start, as far as Events tell, which last an hour. After a restart
/// of the node a kubelet may have forgotten the driver, and beginning again helps (Longhorn issue 9424).
fn asks_elsewhere<'a>(cluster: &Cluster, csi_node: &CsiNode, pod: &'a Pod) -> Option<&'a str> {
    const EVENTS: SignedDuration = SignedDuration::from_hours(1);
    let registrar = "node-driver-registrar";
    let status = pod.container_status(registrar)?;
    let began = status.running_since()?;
    let args = &pod.spec.container(registrar)?.args;
    let path = args.iter().find_map(|arg| arg.strip_prefix("--kubelet-registration-path="))?;
    let root = path.split("/plugins/").next()?;
    let known = csi_node.metadata.created();
    let first_run = status.restart_count.0 == 0 && known.is_some() && pod.metadata.created() > known;
    let kubelet =
        cluster.events_about(csi_node.metadata.name.as_str()).filter(|event| event.reason == "Starting");
    let ready = nodes::ready_since(cluster, &pod.spec.node_name);
    let last = kubelet.filter_map(|event| event.last_seen()).max().max(ready);
    let since = cluster.age(began) < EVENTS && last.is_some_and(|last| began > last);
    // what ran there for days had found its kubelet, before that or the machine restarted
    let worked =
        pod.metadata.created().is_some_and(|made| cluster.age(made) > SignedDuration::from_hours(24));
    let rebooted =
        || cluster.events_about_node(csi_node.metadata.name.as_str()).any(|event| event.is_reboot());
    (first_run && !worked || since && !(worked && rebooted())).then_some(root)
}

/// Nodes that Longhorn uses and on which no pod of the plugin is, where it was ever deployed. A taint that keeps the manager away,
/// too, does not end the use of those that have an engine.
fn without_plugin<'a>(cluster: &'a Cluster, seen: &BTreeSet<&str>) -> Vec<&'a str> {
    if cluster.objects.daemon_sets.get(PLUGIN).is_none() || !cluster.decoded_all(Resource::Pods) {
        return Vec::new();
    }
    let used = |node: &&str| {
        let runs = |engine: &Engine| engine.spec.node_id == *node;
        nodes::is_ready(cluster, node) || cluster.objects.engines.iter().any(runs)
    };
    let names = cluster.objects.longhorn_nodes.iter().map(|node| node.metadata.name.as_str());
    let here = |name: &&str| !seen.contains(name) && nodes::kube_ready(cluster, name) != Some(false);
    names.filter(here).filter(used).collect()
}

fn missing(cluster: &Cluster, out: &mut Outcome, node: &str) -> Option<Finding> {
    let objects = &cluster.objects;
    let set = objects.daemon_sets.get(PLUGIN)?;
    let known = objects.longhorn_nodes.get(node).and_then(|node| node.metadata.created());
    let not_before = set.metadata.created().max(known).max(nodes::ready_since(cluster, node));
    let age =
        observe(cluster, out, "missing", node, Begun::NotBefore(not_before.max(last_stopped(cluster, node))));
    if !age.at_least(NODE_AWAY, Unknown::Counts) {
        return None;
    }
    let wanted = set.status.desired_number_scheduled.0;
    Some(
        Finding::about(
            &causes::PLUGIN_MISSING,
            cluster.object::<KubeNode>(node),
            format!("node {node} has no CSI plugin, although Longhorn uses the node"),
        )
        .since(age.since)
        .node(node)
        .fact(format!("DaemonSet {PLUGIN}: desiredNumberScheduled is {wanted}, but {node} has no pod"))
        .fact(age.evidence()),
    )
}

/// When the kubelet of the node last stopped a plugin there, as far as its Events go back.
fn last_stopped(cluster: &Cluster, node: &str) -> Option<Timestamp> {
    let of_plugin = cluster.objects.events.iter().filter(|event| {
        event.reason == "Killing"
            && event.source.host == node
            && event.involved_object.name.starts_with(PLUGIN)
    });
    of_plugin.filter_map(|event| event.last_seen()).max()
}

fn with_volumes<'a>(cluster: &'a Cluster, attached: &Attached<'a>, finding: Finding, node: &str) -> Finding {
    let by_node = attached.get_or_init(|| {
        let mut by_node: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for engine in cluster.objects.engines.iter().filter(|engine| !engine.spec.node_id.is_empty()) {
            by_node.entry(&engine.spec.node_id).or_default().insert(&engine.spec.volume_name);
        }
        by_node
    });
    let volumes: Vec<VolumeRef> =
        by_node.get(node).into_iter().flatten().map(|name| cluster.volume_ref(name)).collect();
    // one on its way there works nowhere
    let waits = |volume: &&VolumeRef| {
        let volume = cluster.objects.volumes.get(&volume.name);
        volume.is_some_and(|volume| volume.status.state != VolumeState::Attached)
    };
    let waiting = volumes.iter().filter(waits).count();
    let waits = match waiting {
        0 => String::new(),
        1 => ". 1 volume is waiting to attach there".to_owned(),
        count => format!(". {count} volumes are waiting to attach there"),
    };
    let works = match volumes.len() - waiting {
        0 => String::new(),
        1 => ". 1 volume in use there keeps working".to_owned(),
        count => format!(". {count} volumes in use there keep working"),
    };
    let ends = if works.is_empty() { "" } else { " or terminate" };
    let impact = format!("pods with a Longhorn volume cannot start{ends} on the node{works}{waits}");
    finding.node(node).volumes(volumes).impact(impact)
}
