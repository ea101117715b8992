//! Container `longhorn-manager` in a crash loop, with its cause.
//!
//! A manager that crash-loops keeps the ownership of its volumes, engines and node, because Longhorn
//! calls a node down only when Kubernetes does (longhorn-manager v1.12.1 datastore/longhorn.go
//! IsNodeDownOrDeleted). Until it recovers nothing attaches, detaches, rebuilds or evicts there.
//! No manifest sets a terminationMessagePolicy, so the kubelet's last state holds no message: the
//! cause is in the previous log, or has to be read off exit code and run time.

mod diagnosis;
mod facts;
mod fingerprint;
mod host;
mod kubelet;
mod last_log;
mod panics;
mod remedy;
pub mod rules;
mod signatures;
#[cfg(test)]
mod tests;

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use crate::check::*;
use crate::facts::looping::{self, Loop};
use crate::facts::start::{self, Hang};
use crate::facts::text::{duration, listed};
use crate::facts::{age, start_causes as causes};
use crate::longhorn::Resource::*;
use crate::longhorn::{Pod, VolumeRobustness, VolumeState};

/// The container that is judged. From 1.7 on the pod has a second one, so never by index.
const CONTAINER: &str = "longhorn-manager";

/// A container that could not be created is tried again within seconds; this long it does not pass on its own.
const CREATED: SignedDuration = SignedDuration::from_mins(2);
/// A pod that became Not ready so soon after its start never was anything else: the kubelet writes that at once.
const NEVER_READY: SignedDuration = SignedDuration::from_secs(30);
/// This many restarts with the same conflict do not come from managers that start together once.
const REPEATED: i64 = 5;
/// In a rollout the managers of all nodes start together, and each tries again after 10, 20 and 40 s.
const STARTS_TOGETHER: SignedDuration = SignedDuration::from_mins(2);

pub static CHECK: Check = check! {
    id: "manager_crash_loop",
    title: "Manager crash loops",
    summary: "A longhorn-manager crash-loops, so its volumes, engines and replicas are not reconciled. The cause comes from the last run's log \
              or, without a log, from exit code, run time and the API.",
    needs: &[Pods],
    uses: &[
        LonghornNodes, Replicas, Volumes, Backups, BackingImages, EngineImages, InstanceManagers, Settings,
        DaemonSets, EndpointSlices, Events, KubeNodes, Leases, ValidatingWebhookConfigurations,
        MutatingWebhookConfigurations,
    ],
    glances: &[NetworkPolicies],
    causes: causes::ALL,
    ways: &[causes::WAYS],
    gauges: GAUGES,
    records: rules::RECORDS,
    alerts: rules::ALERTS,
    without_exporter: rules::WITHOUT_EXPORTER,
    incident: include_str!("incident.test.yaml"),
    panels: rules::PANELS,
};

gauges! {
    MANAGERS = Gauge "longhorn_health_managers" ["state"]
        "Longhorn managers by state: ready, not_ready (running), crash_looping (also between crashes), not_running.",
        absent "pods cannot be read",
        example "longhorn_health_expected_managers - ignoring (state) longhorn_health_managers{state=\"ready\"}";
    EXPECTED = Gauge "longhorn_health_expected_managers" []
        "Longhorn managers that should run: one per node that the DaemonSet selects.",
        absent "the DaemonSet is missing or unreadable",
        example "longhorn_health_expected_managers - on () sum(longhorn_health_managers)";
    CRASH_LOOPING = Gauge "longhorn_health_manager_crash_looping" ["node", "cause", "evidence", "severity"]
        "1 for every node whose longhorn-manager crash-loops, even between crashes.",
        absent "it is not crash-looping",
        example "max without (instance, pod, cause, evidence, severity) (longhorn_health_manager_crash_looping) == 1";
    LAST_TERMINATION = Gauge "longhorn_health_manager_last_termination_timestamp_seconds" ["node"]
        "Unix time when a crash-looping longhorn-manager last terminated.",
        absent "it is not crash-looping",
        example "time() - longhorn_health_manager_last_termination_timestamp_seconds";
    LAST_RUN = Gauge "longhorn_health_manager_last_run_seconds" ["node"]
        "Seconds of a crash-looping longhorn-manager's last run (about 60 or 120: webhook trouble).",
        absent "it is not crash-looping",
        example "longhorn_health_manager_last_run_seconds > 110";
    LAST_EXIT_CODE = Gauge "longhorn_health_manager_last_exit_code" ["node"]
        "Last exit code of a crash-looping longhorn-manager: 1 (fatal error), 2 (panic), 137 (killed).",
        absent "it is not crash-looping",
        example "longhorn_health_manager_last_exit_code == 2";
    RESTARTS = Counter "longhorn_health_manager_restarts_total" ["node"]
        "Restarts of longhorn-manager in a node's current pod. A new pod starts at 0.",
        absent "there is no pod",
        example "increase(longhorn_health_manager_restarts_total[1h]) > 3";
}

fn run(cluster: &Cluster, out: &mut Outcome) {
    let pods = youngest_by_node(cluster);
    // what hangs now does not crash, however it ended before
    let starts = start::observe(cluster);
    let hanging = starts.hanging(cluster);
    let lasts = |pod: &Pod| hanging.get(pod.metadata.name.as_str()).is_some_and(Hang::lasts);
    let looping: Vec<(&Pod, Loop)> = pods
        .values()
        .filter(|pod| !lasts(pod))
        .filter_map(|pod| Some((*pod, crash(cluster, pod)?)))
        .collect();
    count(cluster, &pods, &looping, out);
    for (node, pod) in &pods {
        let restarts = pod.container_status(CONTAINER).map_or(0, |status| status.restart_count.0);
        // a counter below 0 would cost the whole page
        out.sample(&RESTARTS, &[node], restarts.max(0) as f64);
    }
    let owned = owned_volumes(cluster, &looping);
    for ((pod, crash), diagnosis) in looping.iter().zip(diagnoses(cluster, &looping)) {
        let node = pod.spec.node_name.as_str();
        let evidence = if diagnosis.source == EvidenceSource::Log { "log" } else { "fingerprint" };
        if let Some(ended) = crash.ended() {
            out.sample(&LAST_TERMINATION, &[node], ended.as_second() as f64);
        }
        if let Some(run) = crash.run() {
            out.sample(&LAST_RUN, &[node], run.as_secs_f64());
        }
        if let Some(end) = crash.end {
            out.sample(&LAST_EXIT_CODE, &[node], end.exit_code as f64);
        }
        let since = since(cluster, pod, crash, out);
        let volumes = owned.get(node).map(Vec::as_slice).unwrap_or_default();
        let cause = diagnosis.cause.id;
        let finding = finding(cluster, pod, crash, diagnosis, volumes, since);
        out.sample(&CRASH_LOOPING, &[node, cause, evidence, finding.severity.as_str()], 1.0);
        out.report(finding);
    }
}

/// Why each of them ended. One without a log and without a cause is reported by another that ended alike and has a log.
fn diagnoses(cluster: &Cluster, looping: &[(&Pod, Loop)]) -> Vec<diagnosis::Diagnosis> {
    let failed_call = OnceCell::new();
    let mut all: Vec<_> =
        looping.iter().map(|(pod, crash)| diagnosis::diagnose(cluster, pod, crash, &failed_call)).collect();
    let told = looping.iter().zip(&all).filter(|(_, told)| told.source == EvidenceSource::Log);
    let by_log: Vec<_> = told.map(|(looping, told)| (looping, told.clone())).collect();
    for ((pod, crash), own) in looping.iter().zip(&mut all) {
        let has_log = cluster.history.crash_log(&pod.metadata.name, CONTAINER).is_some();
        // that no one answers behind the Service looks the same whatever keeps them all away
        let says_more = |told: &diagnosis::Diagnosis| {
            own.cause == &causes::UNKNOWN
                || own.cause == &causes::WEBHOOK_UNSERVED
                    && told.cause == &causes::WEBHOOK_SERVICE_UNREACHABLE
        };
        let twin =
            by_log.iter().find(|((_, other), told)| !has_log && says_more(told) && ended_alike(crash, other));
        if let Some(((twin, _), told)) = twin {
            own.take_over(told, &twin.spec.node_name);
        }
        own.blame_policy(cluster, pod);
    }
    all
}

/// Managers that wait for the same thing give up after the same time, within some seconds.
fn ended_alike(one: &Loop<'_>, other: &Loop<'_>) -> bool {
    const SLACK: SignedDuration = SignedDuration::from_secs(5);
    let code = |crash: &Loop<'_>| crash.end.map(|end| end.exit_code);
    let runs = one.run().zip(other.run());
    code(one).is_some()
        && code(one) == code(other)
        && runs.is_some_and(|(one, other)| (one - other).abs() <= SLACK)
}

/// A loop, or a container that the runtime cannot create and tries again and again.
fn crash<'a>(cluster: &Cluster, pod: &'a Pod) -> Option<Loop<'a>> {
    let status = pod.container_status(CONTAINER)?;
    let since = pod.status.start_time.get().or(pod.metadata.created());
    let lasts = since.map_or(!cluster.is_watched(), |since| cluster.age(since) >= CREATED);
    let waits = || status.state.waiting.is_some() && looping::cannot_start(status).is_some();
    let cannot_start = || {
        (lasts && waits()).then(|| Loop { end: looping::last_end(status), restarts: status.restart_count.0 })
    };
    start::crash::looping(cluster, pod).or_else(cannot_start)
}

/// Since when it crash-loops, where that is known: a pod that was never Ready since it was started never did anything else.
fn since(cluster: &Cluster, pod: &Pod, crash: &Loop<'_>, out: &mut Outcome) -> Option<Timestamp> {
    let never_ready = pod.status.start_time.get().zip(pod.unready_since());
    let never_ready = never_ready.filter(|(start, changed)| changed.duration_since(*start) <= NEVER_READY);
    let told = age::loop_since(cluster, out, &pod.metadata.name, crash);
    told.into_iter().chain(never_ready.map(|(start, _)| start)).min()
}

/// A conflict or a refusal during one rollout goes away at the next try or the one after it: in the first minutes of a pod that is
/// how managers start together (a fresh 1.12.1 ended twice on one node of three and was up within 40 s). So does a call of the webhook
/// of one that ended itself and is still listed.
fn severity(cluster: &Cluster, pod: &Pod, diagnosis: &diagnosis::Diagnosis, crash: &Loop<'_>) -> Severity {
    let passes = [&causes::WRITE_CONFLICT, &causes::WEBHOOK_DENIED].contains(&diagnosis.cause);
    let gone = diagnosis.cause == &causes::WEBHOOK_CALL_FAILED;
    let started = pod.status.start_time.get();
    let together = started.is_some_and(|started| cluster.age(started) < STARTS_TOGETHER);
    match crash.restarts >= REPEATED {
        false if together && (passes || gone) => Severity::Info,
        false if passes => Severity::Warning,
        _ if diagnosis.way == Some(&causes::NEXT_START) => Severity::Warning,
        _ => diagnosis.cause.severity,
    }
}

fn finding(
    cluster: &Cluster,
    pod: &Pod,
    crash: &Loop<'_>,
    diagnosis: diagnosis::Diagnosis,
    volumes: &[&str],
    since: Option<Timestamp>,
) -> Finding {
    let node = pod.spec.node_name.as_str();
    let name = pod.metadata.name.as_str();
    let severity = severity(cluster, pod, &diagnosis, crash);
    // without a beginning the last crash is what can be said
    let ended = crash.ended().filter(|_| since.is_none());
    let ended = ended.map(|ended| format!("the manager last crashed {} ago", duration(cluster.age(ended))));
    let state = match (crash.restarts, crash.end) {
        (0, None) => "is not running".to_owned(),
        (0, Some(_)) => "crash-loops".to_owned(),
        (restarts, _) => format!("crash-loops ({})", counted(restarts, "restart")),
    };
    let why = match (&diagnosis.headline, diagnosis.issue, &diagnosis.twin) {
        (.., Some(twin)) => format!(": {twin}'s manager probably logged why"),
        (_, Some(issue), None) => format!(": known bug, Longhorn issue {}", issue.number),
        (Some(headline), None, None) => format!(": {headline}"),
        (None, None, None) => format!(": {}", causes::briefly(diagnosis.cause)),
    };
    let message = format!("longhorn-manager on {node} {state}{why}");
    let hit: Vec<_> = volumes
        .iter()
        .filter(|volume| is_hit(cluster, volume))
        .map(|name| cluster.volume_ref(name))
        .collect();
    let mut found = Finding::about(diagnosis.cause, cluster.object::<Pod>(name), message)
        .severity(severity)
        .node(node)
        .since(since)
        .impact(impact(node, volumes.len(), &hit))
        .volumes(hit)
        .remedy(diagnosis.remedy)
        .named(diagnosis.values)
        .facts(diagnosis.evidence)
        .facts(ended);
    if let Some(way) = diagnosis.way {
        found = found.way(way).with(Name::Pod, name);
    }
    let running = pod.container_status(CONTAINER).and_then(|status| status.state.running.as_ref());
    if let Some(started) =
        running.and_then(|running| running.started_at.get()).filter(|_| crash.end.is_some())
    {
        let text = match crash.run() {
            Some(last) if cluster.age(started) < last => "not yet for as long as its last run",
            _ => "too briefly to end this finding",
        };
        found = found.fact(format!("the container is running now, but {text}"));
    }
    found
}

fn impact(node: &str, owned: usize, hit: &[VolumeRef]) -> String {
    if owned == 0 {
        return "none yet: this manager owns no volume".to_owned();
    }
    let names: Vec<_> = hit.iter().map(|volume| volume.pvc.as_deref().unwrap_or(&volume.name)).collect();
    let now = if names.is_empty() { String::new() } else { format!(" (blocked now: {})", listed(&names)) };
    format!(
        "{} owned by {node}'s manager cannot attach, detach, rebuild or be evicted{now}. Running I/O continues.",
        counted(owned, "volume")
    )
}

/// A volume for which the missing manager matters now: not healthy, or on its way.
fn is_hit(cluster: &Cluster, volume: &str) -> bool {
    cluster.objects.volumes.get(volume).is_some_and(|volume| {
        matches!(volume.status.robustness, VolumeRobustness::Degraded | VolumeRobustness::Faulted)
            || matches!(
                volume.status.state,
                VolumeState::Attaching
                    | VolumeState::Detaching
                    | VolumeState::Creating
                    | VolumeState::Deleting
            )
    })
}

/// The manager pod of each node: the youngest that is not being deleted.
fn youngest_by_node(cluster: &Cluster) -> BTreeMap<&str, &Pod> {
    let nodes = cluster.manager_pods().map(|pod| pod.spec.node_name.as_str()).filter(|node| !node.is_empty());
    let pods = nodes.filter_map(|node| Some((node, cluster.manager_pod_on(node)?)));
    pods.filter(|(_, pod)| !pod.metadata.is_deleting()).collect()
}

fn count(cluster: &Cluster, pods: &BTreeMap<&str, &Pod>, loops: &[(&Pod, Loop)], out: &mut Outcome) {
    let looping: BTreeSet<&str> = loops.iter().map(|(pod, _)| pod.spec.node_name.as_str()).collect();
    let mut counts = ["ready", "not_ready", "crash_looping", "not_running"].map(|state| (state, 0));
    for (node, pod) in pods {
        let state = match pod.container_status(CONTAINER) {
            _ if looping.contains(node) => "crash_looping",
            Some(status) if status.ready => "ready",
            Some(status) if status.state.running.is_some() => "not_ready",
            _ => "not_running",
        };
        counts.iter_mut().filter(|(of, _)| *of == state).for_each(|(_, count)| *count += 1);
    }
    if let Some(daemon_set) = cluster.manager_daemon_set() {
        out.sample(&EXPECTED, &[], daemon_set.status.desired_number_scheduled.0 as f64);
    }
    for (state, count) in counts {
        out.sample(&MANAGERS, &[state], f64::from(count));
    }
}

/// Names of the volumes owned by the nodes concerned.
fn owned_volumes<'a>(cluster: &'a Cluster, looping: &[(&Pod, Loop)]) -> BTreeMap<&'a str, Vec<&'a str>> {
    let mut owned: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    if looping.is_empty() {
        return owned;
    }
    for volume in cluster.objects.volumes.iter() {
        owned.entry(&volume.status.owner_id).or_default().push(&volume.metadata.name);
    }
    owned
}
