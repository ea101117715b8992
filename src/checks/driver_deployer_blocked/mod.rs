//! The driver deployer waits or crashes, so the CSI driver is not (re)deployed. Or the UI, the other client of longhorn-backend, is down.
//!
//! Its init container `wait-longhorn-manager` asks `http://longhorn-backend:9500/v1` every two
//! seconds until a manager answers (longhorn v1.12.1 deploy/longhorn.yaml), so `Init:0/1` is never a
//! cause: either no manager is there to answer, or the name or the network does not lead to one.
//! The container itself ends with a fatal error when mounts do not propagate or Kubernetes is too old
//! (longhorn-manager v1.12.1 app/driver.go deployDriver).

mod causes;
mod ui;

use std::cell::LazyCell;

use jiff::Timestamp;

use crate::check::*;
use crate::cluster::Readability;
use crate::facts::endpoints::BACKEND;
use crate::facts::not_started::NotStarted;
use crate::facts::patience::STARTED;
use crate::facts::text::shortened;
use crate::facts::{age, api, endpoints, looping, nodes, not_started, pods, ways};
use crate::longhorn::Resource::*;
use crate::longhorn::{ConditionStatus, LonghornNode, Pod, Release, condition, status};

const INIT: &str = "wait-longhorn-manager";
const MAIN: &str = "longhorn-driver-deployer";
const MANAGERS: &str = "longhorn-manager";

/// The oldest Kubernetes that the deployer accepts
/// (longhorn-manager v1.12.1 types/types.go KubernetesMinVersion).
const OLDEST_KUBERNETES: Release = Release::new(1, 18, 0);

pub static CHECK: Check = check! {
    id: "driver_deployer_blocked",
    title: "Driver deployer or UI blocked",
    summary: "Pod longhorn-driver-deployer cannot start, is waiting or is crash-looping, so the CSI driver is not deployed. Or Longhorn's UI is \
    down. Init:0/1 is a consequence of the finding's cause.",
    needs: &[Pods],
    uses: &[EndpointSlices, Services, LonghornNodes, KubeNodes, InstanceManagers, Events],
    causes: causes::ALL,
    ways: &[causes::WAYS],
    gauges: &[],
    alerts: &[alert! { "LonghornDriverDeployerBlocked",
        when: When::Found(causes::ALL),
        only: Some(Severity::Warning),
        without: &["object"],
        for_: "10m",
        summary: "Longhorn's driver deployer is blocked.",
        description: "longhorn-driver-deployer{{ with $labels.node }} on node {{ . }}{{ end }} cannot deploy the CSI driver. The driver stays missing or \
                      outdated. Check the longhorn-manager pods that the deployer is waiting for, then DNS.",
        why: "The check waits 5 min and the alert 10 min more for installations on slow nodes. If the managers are the cause, their alert fires first.",
    }],
    panels: &[Panel {
        dashboard: Dashboard::Managers,
        title: "Driver deployer blocked",
        description: "Driver deployers that are waiting or crashing. Cause managers_down: fix the managers first. Cause dns_suspected: Ready managers cannot \
                      be reached.",
        no_data: "the driver deployer is not blocked, or the exporter is not reporting",
        ..Panel::TABLE.of_findings("driver_deployer_blocked")
    }],
};

/// What blocks the deployer.
struct Block<'a> {
    cause: &'static Cause,
    since: Option<Timestamp>,
    message: String,
    evidence: Vec<Evidence>,
    /// The node that it is about, where that is not its own.
    owner: Option<&'a str>,
    /// What keeps its pod from starting.
    way: Option<&'static Way>,
}

fn run(cluster: &Cluster, out: &mut Outcome) {
    // one reading of the events for all of them, and none where nothing waits
    let refused = LazyCell::new(|| {
        not_started::refused(cluster, MANAGERS).filter(|_| cluster.manager_pods().next().is_none())
    });
    for pod in cluster.pods_of(MAIN).filter(|pod| !pod.metadata.is_deleting()) {
        let block = waiting(cluster, pod).or_else(|| crashing(cluster, pod, out));
        let Some(block) = block.or_else(|| not_running(cluster, pod)) else { continue };
        let name = &pod.metadata.name;
        let quotes =
            block.cause == &causes::UNKNOWN && block.evidence.iter().any(|fact| fact.said().is_some());
        let way = quotes.then_some(&causes::UNKNOWN_ERROR).or(block.way);
        let mut finding = Finding::about(block.cause, cluster.object::<Pod>(name), block.message)
            .node(&pod.spec.node_name)
            .since(block.since)
            .impact("the CSI driver is not deployed or updated. On a new installation, no volume can be created or mounted")
            .way(way)
            .facts(block.evidence);
        if let Some(owner) = block.owner {
            let manager = cluster.manager_pod_on(owner).map(|pod| pod.metadata.name.to_string());
            finding = finding.with(Name::Owner, owner).named(manager.map(|name| (Name::Manager, name)));
        }
        // where no manager can be made, the way out is that of its DaemonSet
        let down = block.cause == &causes::MANAGERS_DOWN;
        if let Some(refused) = down.then(|| refused.as_ref()).flatten() {
            finding = finding.facts(refused.evidence.clone()).way(refused.way).with(Name::Workload, MANAGERS);
        } else if down && is_gone(cluster) {
            finding = finding.way(&ways::BACKEND_GONE);
        }
        out.report(finding.with(Name::Pod, name.as_str()));
    }
    ui::run(cluster, out);
}

/// The pod itself cannot start: an image, a place, a prerequisite.
fn not_running<'a>(cluster: &Cluster, pod: &Pod) -> Option<Block<'a>> {
    let found = held(cluster, pod, MAIN)?;
    let message = format!("longhorn-driver-deployer is not running: {}", found.text);
    let evidence = not_started::evidence(&found);
    let (cause, since) = (&causes::POD_NOT_STARTED, pods::since(pod));
    Some(Block { cause, since, message, evidence, owner: None, way: Some(found.way) })
}

/// What an object names that keeps a container from starting, for longer than a start takes, on a node that is up.
fn held(cluster: &Cluster, pod: &Pod, container: &str) -> Option<NotStarted> {
    let runs = pod.container_status(container).is_some_and(|status| status.running_since().is_some());
    let waits = pods::since(pod).is_none_or(|since| cluster.age(since) >= STARTED);
    let is_away = nodes::kube_ready(cluster, &pod.spec.node_name) == Some(false);
    (waits && !runs && !is_away && !pod.is_over())
        .then(|| not_started::of_pod(cluster, pod, container))
        .filter(NotStarted::is_definite)
}

/// True where managers are Ready and the Service that they are behind does not exist.
fn is_gone(cluster: &Cluster) -> bool {
    endpoints::lacks_backend(cluster) && cluster.manager_pods().any(Pod::is_ready)
}

/// The init container still asks for a manager.
fn waiting<'a>(cluster: &Cluster, pod: &Pod) -> Option<Block<'a>> {
    let init = pod.status.init_container_statuses.iter().find(|status| status.name == INIT)?;
    let running = init.state.running.as_ref()?;
    let since = running.started_at.get().or(pod.status.start_time.get()).or(pod.metadata.created());
    if since.is_some_and(|since| cluster.age(since) < STARTED) {
        return None;
    }
    let name = &pod.metadata.name;
    let waits = match since {
        Some(since) => format!("init container {INIT} of {name} has been waiting since {since}"),
        None => format!("init container {INIT} of {name} is waiting (start time unknown)"),
    };
    let (answers, endpoints) = backend(cluster);
    let half_started = half_started(cluster).filter(|_| answers);
    let (cause, message) = match (answers, &half_started) {
        (true, Some(_)) => (
            &causes::MANAGERS_HALF_STARTED,
            "longhorn-driver-deployer is waiting: no Ready manager has finished its startup".to_owned(),
        ),
        (true, None) if !cluster.knows_all(Resource::LonghornNodes) => (
            &causes::UNKNOWN,
            format!("longhorn-driver-deployer is waiting for {BACKEND} although managers are Ready"),
        ),
        (true, None) => (
            &causes::DNS_SUSPECTED,
            format!("longhorn-driver-deployer cannot reach {BACKEND}: probably DNS or network"),
        ),
        (false, _) if is_gone(cluster) => (
            &causes::MANAGERS_DOWN,
            format!("longhorn-driver-deployer is waiting: {}", ways::BACKEND_GONE.briefly),
        ),
        (false, _) => (
            &causes::MANAGERS_DOWN,
            format!("longhorn-driver-deployer is waiting for {BACKEND}: no manager is Ready"),
        ),
    };
    let fact = |text| api(text);
    let evidence: Vec<Evidence> =
        [Some(waits), Some(endpoints), half_started].into_iter().flatten().map(fact).collect();
    Some(Block { cause, since, message, evidence, owner: None, way: None })
}

/// No manager that is Ready has a Longhorn node, which it makes just before it opens port 9500 (longhorn-manager v1.12.1
/// app/daemon.go startManager).
fn half_started(cluster: &Cluster) -> Option<String> {
    if !cluster.knows_all(Resource::LonghornNodes) {
        return None;
    }
    let mut ready =
        cluster.manager_pods().filter(|pod| pod.is_ready() && !pod.metadata.is_deleting()).peekable();
    ready.peek()?;
    let registered = |pod: &Pod| cluster.objects.longhorn_nodes.get(&pod.spec.node_name).is_some();
    (!ready.any(registered)).then(|| {
        "no node with a Ready manager has a nodes.longhorn.io object, which a manager creates just before it opens port 9500".to_owned()
    })
}

/// Whether anything can answer behind the Service, and how that is known.
fn backend(cluster: &Cluster) -> (bool, String) {
    if cluster.readability(Resource::EndpointSlices) == Readability::Readable {
        let ready = endpoints::of(cluster, BACKEND).unwrap_or_default().ready;
        return (ready > 0, format!("Service {BACKEND} has {}", counted(ready, "ready endpoint")));
    }
    let serves = |pod: &&Pod| pod.is_ready() && !pod.metadata.is_deleting();
    let ready = cluster.manager_pods().filter(serves).count();
    (ready > 0, format!("{ready} manager pods are Ready, but {BACKEND}'s endpoints could not be read"))
}

/// The deployer itself ends again and again.
fn crashing<'a>(cluster: &'a Cluster, pod: &Pod, out: &mut Outcome) -> Option<Block<'a>> {
    let crash = looping::looping(pod.container_status(MAIN)?, cluster.now)?;
    let name = &pod.metadata.name;
    let (cause, fact) = by_log(cluster, pod).or_else(|| by_api(cluster, pod)).unwrap_or_else(|| {
        let code =
            crash.end.map_or("an unknown code".to_owned(), |end| format!("exit code {}", end.exit_code));
        (&causes::UNKNOWN, EvidenceSource::Fingerprint.says(format!("the last run ended with {code}")))
    });
    Some(Block {
        cause,
        since: age::loop_since(cluster, out, name, &crash),
        message: format!(
            "{name} crash-loops ({}), so no CSI driver is deployed",
            counted(crash.restarts, "restart")
        ),
        owner: (cause == &causes::NODE_NOT_SYNCED).then(|| not_synced(cluster, &fact.text)).flatten(),
        evidence: vec![fact],
        way: None,
    })
}

fn by_log(cluster: &Cluster, pod: &Pod) -> Option<(&'static Cause, Evidence)> {
    let log = cluster.history.crash_log(&pod.metadata.name, MAIN)?;
    let is_fatal = |line: &&str| line.contains("level=fatal") || line.contains("\"level\":\"fatal\"");
    let fatal = log.text.lines().rev().find(is_fatal)?;
    let has = |words: &[&str]| words.iter().any(|word| fatal.contains(word));
    let failed_request = has(&[
        "Client.Timeout exceeded", "context deadline exceeded", "i/o timeout", "connection refused",
        "no route to host", "TLS handshake timeout",
    ]);
    let cause = if has(&["failed Kubernetes version check"]) && !failed_request {
        &causes::KUBERNETES_VERSION
    } else if failed_request {
        // the query for the condition is wrapped into the words about mount propagation
        &causes::API_TIMEOUT
    } else if has(&["failed to get arg root-dir"]) {
        &causes::KUBELET_ROOT_DIR
    } else if has(&["MountPropagation is not set"]) {
        let unsynced = not_synced(cluster, fatal).is_some();
        if unsynced { &causes::NODE_NOT_SYNCED } else { &causes::MOUNT_PROPAGATION }
    } else {
        &causes::UNKNOWN
    };
    let text = format!("the last run's log ends with: \"{}\"", shortened(fatal.trim(), 400));
    Some((cause, EvidenceSource::Log.says(text).quoting(fatal)))
}

/// Registered nodes without the condition, which the manager of a node writes when it first syncs it (longhorn-manager
/// v1.12.1 controller/node_controller.go). The deployer takes them for nodes whose mounts do not propagate.
fn unsynced(cluster: &Cluster) -> impl Iterator<Item = &LonghornNode> {
    let silent = |node: &&LonghornNode| condition(&node.status.conditions, "MountPropagation").is_none();
    cluster.objects.longhorn_nodes.iter().filter(silent)
}

/// The one of them that a text names.
fn not_synced<'a>(cluster: &'a Cluster, text: &str) -> Option<&'a str> {
    let mut names = unsynced(cluster).map(|node| node.metadata.name.as_str());
    names.find(|name| text.split_whitespace().any(|word| word == *name))
}

fn by_api(cluster: &Cluster, pod: &Pod) -> Option<(&'static Cause, Evidence)> {
    const DETECTION: [&str; 2] = ["discover-proc-kubelet-cmdline", "discover-proc-k3s-cmdline"];
    let found = |cause, fact: String| Some((cause, api(fact)));
    let mut nodes = cluster.objects.longhorn_nodes.iter();
    let no_propagation =
        nodes.find(|node| status(&node.status.conditions, "MountPropagation") == ConditionStatus::False);
    if let Some(node) = no_propagation {
        let fact = format!("condition MountPropagation of nodes.longhorn.io {} is False", node.metadata.name);
        return found(&causes::MOUNT_PROPAGATION, fact);
    }
    // a manager writes the first conditions of a new node a minute or two after it made it
    let settled =
        |node: &&LonghornNode| node.metadata.created().is_none_or(|made| cluster.age(made) >= STARTED);
    if let Some(node) = unsynced(cluster).find(settled) {
        let name = &node.metadata.name;
        let managers = cluster.instance_managers_on(name).count();
        let managers = counted(managers, "instance manager");
        let fact = format!(
            "nodes.longhorn.io {name} lacks the condition MountPropagation and has {managers}, so the node's manager is not syncing it"
        );
        return found(&causes::NODE_NOT_SYNCED, fact);
    }
    if let Some(pod) = DETECTION.iter().find_map(|name| cluster.objects.pods.get(name)) {
        let (name, phase) = (&pod.metadata.name, pod.status.phase.as_str());
        return found(
            &causes::KUBELET_ROOT_DIR,
            format!("pod {name}, which detects the kubelet's root directory, is left over in phase {phase}"),
        );
    }
    if let Some(fact) = hidden_kubelet(cluster, pod) {
        return found(&causes::KUBELET_ROOT_DIR, fact);
    }
    let version =
        |text: &str| Release::parse(text).map(|release| Release::new(release.major, release.minor, 0));
    let mut nodes = cluster.objects.kube_nodes.iter();
    let old = nodes.find(|node| {
        version(&node.status.node_info.kubelet_version).is_some_and(|found| found < OLDEST_KUBERNETES)
    })?;
    let kubelet = &old.status.node_info.kubelet_version;
    found(&causes::KUBERNETES_VERSION, format!("node {} runs Kubernetes {kubelet}", old.metadata.name))
}

/// On microk8s no process is called kubelet, so the directory has to be named (longhorn-manager v1.7.2
/// app/get_proc_arg.go).
fn hidden_kubelet(cluster: &Cluster, pod: &Pod) -> Option<String> {
    const LABEL: &str = "microk8s.io/cluster";
    let container = pod.spec.container(MAIN)?;
    let words = container.command.iter().chain(&container.args);
    let named = words.clone().any(|word| word.starts_with("--kubelet-root-dir"))
        || container.env.iter().any(|variable| variable.name == "KUBELET_ROOT_DIR");
    // without its command nothing tells what it names
    if named || words.count() == 0 {
        return None;
    }
    let node = cluster.objects.kube_nodes.iter().find(|node| node.metadata.label(LABEL).is_some())?;
    Some(format!(
        "node {} runs microk8s (label {LABEL}), and {} does not set the kubelet's root directory",
        node.metadata.name, pod.metadata.name
    ))
}
