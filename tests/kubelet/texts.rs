//! Events as Kubernetes writes them: reason and message by component, as the recordings have them. What the demo, the
//! scenarios and the corpus hold must be among them, so that no judgement is tried on words that no kubelet writes.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use regex::Regex;
use serde_json::Value;

use crate::corpus::cases::{cases, cluster};
use crate::scenario;

/// Component, reason, message. `…` stands for anything.
const TEXTS: &[(&str, &str, &str)] = &[
    // starts
    ("kubelet", "Pulling", "Pulling image \"…\""),
    ("kubelet", "Pulled", "Container image \"…\" already present on machine and can be accessed by the pod"),
    ("kubelet", "Created", "Container created"),
    ("kubelet", "Started", "Container started"),
    ("kubelet", "Failed", "Error: …"),
    ("kubelet", "Failed", "(combined from similar events): Error: …"),
    ("kubelet", "Failed", "Failed to pull image \"…\": …"),
    ("kubelet", "InspectFailed", "Failed to apply default image tag \"…\": …"),
    ("kubelet", "ErrImageNeverPull", "Container image \"…\" is not present with pull policy of Never"),
    ("kubelet", "BackOff", "Back-off pulling image \"…\""),
    ("kubelet", "BackOff", "Back-off restarting failed container … in pod …"),
    ("kubelet", "FailedCreatePodSandBox", "Failed to create pod sandbox: …"),
    ("kubelet", "NetworkNotReady", "network is not ready: …"),
    ("kubelet", "FailedMount", "MountVolume.… failed for volume \"…\" : …"),
    ("kubelet", "FailedPostStartHook", "PostStartHook failed"),
    // ends
    ("kubelet", "Unhealthy", "Liveness probe failed: …"),
    ("kubelet", "Unhealthy", "Readiness probe failed: …"),
    ("kubelet", "Unhealthy", "Startup probe failed: …"),
    ("kubelet", "Unhealthy", "Liveness probe errored and resulted in unknown state: …"),
    ("kubelet", "Killing", "Stopping container …"),
    ("kubelet", "Killing", "Container … failed liveness probe, will be restarted"),
    ("kubelet", "Killing", "Container … failed startup probe, will be restarted"),
    ("kubelet", "Killing", "Container … failed liveness probe"),
    ("kubelet", "Killing", "FailedPostStartHook"),
    ("kubelet", "FailedPreStopHook", "PreStopHook failed"),
    ("kubelet", "FailedKillPod", "error killing pod: …"),
    ("kubelet", "SandboxChanged", "Pod sandbox changed, it will be killed and re-created."),
    ("kubelet", "Evicted", "The node was low on resource: …"),
    ("kubelet", "Evicted", "The node had condition: […]. "),
    ("kubelet", "TaintToleration", "Predicate TaintToleration failed: …"),
    ("kubelet", "NodeAffinity", "Predicate NodeAffinity failed: …"),
    ("kubelet", "OutOfcpu", "Node didn't have enough resource: cpu, …"),
    ("taint-eviction-controller", "TaintManagerEviction", "Marking for deletion Pod …"),
    ("taint-eviction-controller", "TaintManagerEviction", "Cancelling deletion of Pod …"),
    // nodes
    ("kubelet", "Starting", "Starting kubelet."),
    ("kubelet", "CgroupV1", "cgroup v1 detected. …"),
    ("kubelet", "InvalidDiskCapacity", "invalid capacity …"),
    ("kubelet", "NodeAllocatableEnforced", "Updated Node Allocatable limit across pods"),
    ("kubelet", "Rebooted", "Node … has been rebooted, boot id: …"),
    ("kubelet", "EvictionThresholdMet", "Attempting to reclaim …"),
    ("kubelet", "NodeReady", "Node … status is now: NodeReady"),
    ("kubelet", "NodeNotReady", "Node … status is now: NodeNotReady"),
    ("kubelet", "NodeSchedulable", "Node … status is now: NodeSchedulable"),
    ("kubelet", "NodeNotSchedulable", "Node … status is now: NodeNotSchedulable"),
    ("kubelet", "NodeHasDiskPressure", "Node … status is now: NodeHasDiskPressure"),
    ("kubelet", "NodeHasNoDiskPressure", "Node … status is now: NodeHasNoDiskPressure"),
    ("kubelet", "NodeHasSufficientMemory", "Node … status is now: NodeHasSufficientMemory"),
    ("kubelet", "NodeHasInsufficientMemory", "Node … status is now: NodeHasInsufficientMemory"),
    ("kubelet", "NodeHasSufficientPID", "Node … status is now: NodeHasSufficientPID"),
    ("node-controller", "NodeNotReady", "Node is not ready"),
    ("node-controller", "NodeNotReady", "Node … status is now: NodeNotReady"),
    ("node-controller", "RegisteredNode", "Node … event: Registered Node … in Controller"),
    ("node-controller", "RemovingNode", "Node … event: Removing Node … from Controller"),
    // the others
    ("default-scheduler", "Scheduled", "Successfully assigned … to …"),
    ("default-scheduler", "FailedScheduling", "…/… nodes are available: …"),
    ("attachdetach-controller", "FailedAttachVolume", "AttachVolume.Attach failed for volume \"…\" : …"),
    ("daemonset-controller", "FailedCreate", "Error creating: pods \"…\" is forbidden: …"),
    (
        "daemonset-controller",
        "FailedCreate",
        "(combined from similar events): Error creating: pods \"…\" is forbidden: …",
    ),
    ("replicaset-controller", "FailedCreate", "Error creating: pods \"…\" is forbidden: …"),
    (
        "replicaset-controller",
        "FailedCreate",
        "(combined from similar events): Error creating: pods \"…\" is forbidden: …",
    ),
];

/// What was not recorded, but read in the source of Kubernetes v1.36.3: pkg/controller/cronjob/cronjob_controllerv2.go,
/// pkg/scheduler/framework/preemption/executor.go, pkg/controller/controller_utils.go (whatever the API server answers); or quoted in public
/// reports: Longhorn issues 1179 and 5345.
const READ: &[(&str, &str, &str)] = &[
    // as older kubelets have it
    ("kubelet", "Started", "Started container …"),
    // when the node itself runs out of memory: pkg/kubelet/oom/oom_watcher_linux.go
    // pkg/kubelet/kubelet.go SyncPod, pkg/kubelet/cm/cgroup_manager_linux.go Create
    (
        "kubelet",
        "FailedCreatePodContainer",
        "unable to ensure pod container exists: failed to create container for … : …",
    ),
    // pkg/kubelet/kuberuntime/kuberuntime_gc.go evictPodLogsDirectories
    ("kubelet", "ContainerGCFailed", "failed to read podLogsRootDirectory …: open …: …"),
    ("kubelet", "SystemOOM", "System OOM encountered, victim process: …, pid: …"),
    // pkg/volume/util/operationexecutor/node_expander.go
    ("kubelet", "FileSystemResizeSuccessful", "MountVolume.NodeExpandVolume succeeded for volume …"),
    ("cronjob-controller", "FailedCreate", "Error creating job: …"),
    ("job-controller", "FailedCreate", "Error creating: admission webhook \"…\" denied the request: …"),
    // pkg/controller/volume/persistentvolume/pv_controller.go
    (
        "persistentvolume-controller",
        "WaitForFirstConsumer",
        "waiting for first consumer to be created before binding",
    ),
    ("default-scheduler", "Preempted", "Preempted by pod … on node …"),
    ("daemonset-controller", "FailedCreate", "Error creating: Internal error occurred: …"),
    (
        "attachdetach-controller",
        "FailedAttachVolume",
        "Multi-Attach error for volume \"…\" Volume is already …",
    ),
    // pkg/volume/util/operationexecutor/operation_generator.go
    ("kubelet", "FailedMapVolume", "MapVolume.MapPodDevice failed for volume \"…\" : …"),
];

/// Who else writes Events: Longhorn's controllers, the node problem detector, the resizer of CSI, the autoscaler.
const OTHERS: [&str; 5] =
    ["longhorn-", "external-resizer", "node-problem-detector", "kernel-monitor", "cluster-autoscaler"];

/// An Event with where it stands.
struct Found {
    place: String,
    event: Value,
}

#[test]
fn every_recorded_event_is_in_the_list_and_nothing_else_is() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kubelet/recordings");
    let mut used = BTreeSet::new();
    for found in yaml_below(&root).iter().flat_map(|path| events(path)) {
        let known = row(&found.event, TEXTS);
        assert!(known.is_some(), "{}: {}", found.place, found.event);
        used.extend(known);
    }
    let unused: Vec<_> = (0..TEXTS.len()).filter(|row| !used.contains(row)).map(|row| TEXTS[row]).collect();
    assert!(unused.is_empty(), "recorded nowhere: {unused:#?}");
}

#[test]
fn what_we_wrote_ourselves_holds_only_texts_of_the_list() {
    let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/source/demo");
    let mut strange = Vec::new();
    let mut seen = 0;
    let written = yaml_below(&demo).into_iter().flat_map(|path| events(&path));
    for found in written.chain(of_scenarios()).chain(of_corpus()) {
        let component = component(&found.event);
        if OTHERS.iter().any(|other| component.starts_with(other)) {
            continue;
        }
        seen += 1;
        if row(&found.event, TEXTS).or(row(&found.event, READ)).is_none() {
            let [reason, message] = ["reason", "message"].map(|field| &found.event[field]);
            strange.push(format!("{}: {component} {reason} {message}", found.place));
        }
    }
    assert!(seen > 200, "only {seen} Events of Kubernetes found");
    assert!(strange.is_empty(), "no component of Kubernetes writes these:\n{}", strange.join("\n"));
}

fn of_scenarios() -> Vec<Found> {
    let objects = |path: &PathBuf| scenario::files::objects(path);
    let all = scenario::all().into_iter().map(|path| (scenario::name(&path).to_owned(), objects(&path)));
    all.flat_map(|(place, objects)| found(&place, objects)).collect()
}

/// The Events of cases that say who wrote them.
fn of_corpus() -> Vec<Found> {
    let all = cases().into_values().flatten();
    let found = all.flat_map(|case| found(&case.report, cluster::fixture(&case).objects()));
    found.filter(|found| !component(&found.event).is_empty()).collect()
}

/// The row of an Event.
fn row(event: &Value, texts: &[(&str, &str, &str)]) -> Option<usize> {
    let text = |field: &str| event[field].as_str().unwrap_or_default();
    let fits = |pattern: &str| {
        let parts: Vec<String> = pattern.split('…').map(regex::escape).collect();
        Regex::new(&format!("(?s)^{}$", parts.join(".*"))).unwrap().is_match(text("message"))
    };
    let of = component(event);
    texts.iter().position(|(who, reason, message)| *who == of && *reason == text("reason") && fits(message))
}

/// Who wrote it.
fn component(event: &Value) -> &str {
    let source = event["source"]["component"].as_str().filter(|component| !component.is_empty());
    source.or(event["reportingComponent"].as_str()).unwrap_or_default()
}

/// Every YAML file below a folder.
fn yaml_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            match path.extension() {
                _ if path.is_dir() => folders.push(path),
                Some(ending) if ending == "yaml" => found.push(path),
                _ => {}
            }
        }
    }
    found.sort();
    found
}

/// The Events of a file: its documents and their items.
fn events(path: &Path) -> Vec<Found> {
    let documents = scenario::files::documents(&std::fs::read_to_string(path).unwrap());
    let objects = documents.into_iter().flat_map(|mut document| match document["items"].take() {
        Value::Array(items) => items,
        _ => vec![document],
    });
    found(&path.display().to_string(), objects.collect())
}

fn found(place: &str, objects: Vec<Value>) -> Vec<Found> {
    let events = objects.into_iter().filter(|object| object["kind"] == "Event");
    events.map(|event| Found { place: place.to_owned(), event }).collect()
}
