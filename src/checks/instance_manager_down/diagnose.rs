//! What is wrong with one instance manager.

use super::{causes, refused};
use std::collections::HashMap;

use jiff::{SignedDuration, Timestamp};

use crate::check::*;
use crate::facts::api;
use crate::facts::instance_managers::{InstanceManagers, container_status_of, memory_limit, missing_labels};
use crate::facts::not_started::{self, NotStarted};
use crate::facts::patience::{DEFINITE, MAINTENANCE, NEXT_POD, NODE_AWAY, STARTED};
use crate::facts::{looping, nodes, text, ways};
use crate::longhorn::*;

/// What is wrong, since when, and whether that is long enough to act.
pub struct ManagerTrouble {
    pub cause: &'static Cause,
    pub way: Option<&'static Way>,
    /// Behind its name.
    pub says: &'static str,
    pub hits: Hits,
    pub aged: bool,
    pub since: Option<Timestamp>,
    pub evidence: Vec<Evidence>,
    /// What the cause alone does not say, for the headline.
    pub detail: Option<String>,
}

/// What becomes of the volumes on the node.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Hits {
    /// None can be attached there.
    Attaching,
    /// Nor does any that is attached go on.
    Attached,
    /// What runs in the instance manager does, and nothing new starts.
    Starts,
    /// What runs in it ends at the next sync of the node.
    Running,
}

impl ManagerTrouble {
    fn plain(cause: &'static Cause, says: &'static str, hits: Hits, evidence: Vec<Evidence>) -> Self {
        ManagerTrouble { cause, way: None, says, hits, aged: true, since: None, evidence, detail: None }
    }

    fn detail(self, text: impl Into<String>) -> Self {
        ManagerTrouble { detail: Some(text.into()), ..self }
    }
}

/// Judges one instance manager that is not being deleted.
pub fn diagnose(
    cluster: &Cluster,
    fleet: &InstanceManagers,
    im: &InstanceManager,
    active_v2: &HashMap<&str, usize>,
    out: &mut Outcome,
) -> Option<ManagerTrouble> {
    let (old, state) = (fleet.is_old(im), im.status.current_state);
    match state {
        InstanceManagerState::Running => {
            dead_pod(cluster, fleet, im, out).or_else(|| unlabelled(fleet, im, old))
        }
        // Longhorn removes an old one that does not run; instance_manager_old watches that
        _ if old => None,
        InstanceManagerState::Unknown => Some(lost(cluster, im)),
        InstanceManagerState::Unrecognized => {
            out.unknown(format!(
                "instance manager {} is in a state that no known release writes",
                im.metadata.name
            ));
            None
        }
        _ if !fleet.engine_is_enabled(im) => None,
        _ if waits_for_old_v2(im, active_v2) => None,
        _ => not_running(cluster, fleet, im, out),
    }
}

/// Longhorn writes unknown when the node is lost, and something else only when the manager of the node
/// is back (longhorn-manager v1.12.1 controller/instance_manager_controller.go syncStatusWithNode).
fn lost(cluster: &Cluster, im: &InstanceManager) -> ManagerTrouble {
    if let Some(down) = nodes::down(cluster, &im.spec.node_id) {
        return away(cluster, &im.spec.node_id, down);
    }
    let said = "the node is up, but the instance manager's state is unknown. Longhorn sets that state whenever nodes.longhorn.io reports \
                the node as deleted or not Ready, even for a moment";
    let says = "is in state unknown, although its node is up";
    let mut trouble = ManagerTrouble::plain(&causes::NODE_DOWN, says, Hits::Attaching, vec![api(said)]);
    trouble.evidence.extend(nodes::manager_trouble(cluster, &im.spec.node_id));
    trouble
}

/// The node is down; while that may be a reboot, until when it is normal.
fn away(cluster: &Cluster, node: &str, down: Evidence) -> ManagerTrouble {
    let gone = nodes::is_gone(cluster, node);
    let says = match gone {
        true => "is down: its node was removed",
        false => "is unreachable: its node is down",
    };
    let mut trouble = ManagerTrouble::plain(&causes::NODE_DOWN, says, Hits::Attached, vec![down]);
    if gone {
        // a reboot deletes no node
        return ManagerTrouble { way: Some(&causes::NODE_GONE), ..trouble };
    }
    if let Some(said) = nodes::said_by_kubelet(cluster, node) {
        let text = format!("node {node} is not Ready: {}", text::quoted(said));
        trouble.evidence.push(api(text).quoting(said));
        if let Some((way, event)) = nodes::way_of_kubelet(cluster, node, said) {
            trouble.way = Some(way);
            trouble.evidence.extend(event);
        }
    }
    trouble.since = nodes::not_ready_since(cluster, node);
    let since = trouble.since.filter(|since| cluster.age(*since) < NODE_AWAY);
    if let Some((since, until)) = since.and_then(|since| Some((since, since.checked_add(NODE_AWAY).ok()?))) {
        let text = format!(
            "the node has been down since {since} (a reboot can take until {until}). I/O of volumes attached there is hanging"
        );
        trouble.evidence.push(api(text));
    }
    trouble
}

/// The object says running, the pod does not.
fn dead_pod(
    cluster: &Cluster,
    fleet: &InstanceManagers,
    im: &InstanceManager,
    out: &mut Outcome,
) -> Option<ManagerTrouble> {
    let (name, pod) = (&im.metadata.name, fleet.pod_of(im));
    if let Some(refused) = not_taken(cluster, im, pod, vec![api(format!("{name} is in state running"))], out)
    {
        return Some(refused);
    }
    match pod {
        None if !cluster.decoded_all(Resource::Pods) => None,
        None => {
            let since = out.first_seen(causes::POD_MISSING.id, name);
            let facts = vec![api(format!("{name} is in state running but has no pod"))];
            Some(missing(cluster, im, since, facts))
        }
        Some(pod) if has_ended(pod) => {
            let since = ended_at(pod).or(out.first_seen(causes::POD_FAILED.id, name));
            let facts = vec![api(format!("{name} is in state running, but {}", pod_in_words(pod)))];
            Some(ended(cluster, im, pod, since, facts))
        }
        _ => None,
    }
}

/// The object itself says that it does not run.
fn not_running(
    cluster: &Cluster,
    fleet: &InstanceManagers,
    im: &InstanceManager,
    out: &mut Outcome,
) -> Option<ManagerTrouble> {
    let (name, node, state) = (&im.metadata.name, &im.spec.node_id, im.status.current_state);
    if let Some(down) = nodes::down(cluster, node) {
        return Some(away(cluster, node, down));
    }
    let pod = fleet.pod_of(im);
    let said = api(format!("{name} is in state {}", state.as_str()));
    if nodes::is_cordoned(cluster, node) && pod.is_none_or(|pod| has_ended(pod) || pod.metadata.is_deleting())
    {
        return Some(cordoned(cluster, node, said));
    }
    let first_seen = out.first_seen("not_running", name);
    let ready =
        condition(&im.status.conditions, "PodReady").filter(|ready| ready.status == ConditionStatus::False);
    let mut evidence = vec![said];
    evidence.extend(ready.map(|ready| {
        api(format!("condition PodReady is False, reason {}: \"{}\"", ready.reason, ready.message))
    }));
    let said_since = ready.and_then(|ready| ready.last_transition_time.get());
    if let Some(refused) = not_taken(cluster, im, pod, evidence.clone(), out) {
        return Some(refused);
    }
    match pod {
        None if !cluster.decoded_all(Resource::Pods) => None,
        None => {
            evidence.push(api("the instance manager has no pod"));
            let since = said_since.or(first_seen).or_else(|| young(cluster, im));
            let trouble = missing(cluster, im, since, evidence);
            // only an error is one from the start; else the pod is about to be made
            (trouble.aged || state == InstanceManagerState::Error).then_some(trouble)
        }
        Some(pod) if has_ended(pod) => {
            evidence.push(api(pod_in_words(pod)));
            // pods that end at each start are each new; both others say since when none has come up
            let since = [ended_at(pod), said_since, first_seen].into_iter().flatten().min();
            Some(ended(cluster, im, pod, since, evidence))
        }
        Some(pod) if pod.metadata.is_deleting() => {
            // Longhorn calls it an error from the moment its deletion is asked for, in a drain and when it
            // applies settings, too
            let since = pod.metadata.deletion_timestamp.get();
            evidence.push(api(format!("{}, and it is being deleted", pod_in_words(pod))));
            evidence.extend(not_killed(cluster, pod));
            let trouble = aged(cluster, im, &causes::POD_TERMINATING, since, NEXT_POD, evidence);
            trouble.aged.then_some(trouble)
        }
        Some(pod) => {
            evidence.push(api(pod_in_words(pod)));
            not_up(cluster, im, pod, not_up_since(cluster, pod, said_since, first_seen), evidence)
        }
    }
}

/// Longhorn makes no pod on a cordoned node; that is worth a line once it outlasts a maintenance.
fn cordoned(cluster: &Cluster, node: &str, said: Evidence) -> ManagerTrouble {
    let cordoned = api(format!("node {node} is cordoned: Longhorn creates no instance manager pod there"));
    let since = nodes::cordoned_since(cluster, node);
    let evidence =
        [Some(said), Some(cordoned), since.map(|at| api(format!("node {node} was cordoned at {at}")))];
    let evidence = evidence.into_iter().flatten().collect();
    let says = "has no pod because the node is cordoned";
    let trouble = ManagerTrouble::plain(&causes::NODE_CORDONED, says, Hits::Attaching, evidence);
    match since.map(|at| cluster.age(at)).filter(|age| *age >= MAINTENANCE) {
        Some(age) => ManagerTrouble {
            says: "has no pod",
            ..trouble.detail(format!("node cordoned for {}", text::duration(age)))
        },
        None => trouble,
    }
}

/// Its pod is there, and the manager object does not say that it runs.
fn not_up(
    cluster: &Cluster,
    im: &InstanceManager,
    pod: &Pod,
    since: Option<Timestamp>,
    mut evidence: Vec<Evidence>,
) -> Option<ManagerTrouble> {
    let container = container_status_of(pod).map_or("", |status| status.name.as_str());
    let waits = (pod.status.phase == PodPhase::Pending).then(|| not_started::of_pod(cluster, pod, container));
    evidence.extend(waits.iter().flat_map(not_started::evidence));
    let is_image = waits.as_ref().is_some_and(NotStarted::is_of_image);
    let patience = if is_image { DEFINITE } else { STARTED };
    let trouble = aged(cluster, im, &causes::STARTING_STUCK, since, patience, evidence);
    // its manager writes what it saw only after it has reached it (controller/instance_manager_controller.go syncInstanceManager)
    let way = match waits.filter(NotStarted::is_definite) {
        Some(refused) => Some(refused.way),
        None => pod.is_ready().then_some(&causes::READY_UNSEEN),
    };
    let detail = way.filter(|_| !pod.is_ready()).map(|way| way.briefly.to_owned());
    // before that it is an ordinary start
    trouble.aged.then_some(ManagerTrouble { way, detail, ..trouble })
}

/// It has no pod; what the API server rejects in its namespace, it rejects of its manager, too.
fn missing(
    cluster: &Cluster,
    im: &InstanceManager,
    since: Option<Timestamp>,
    said: Vec<Evidence>,
) -> ManagerTrouble {
    let mut trouble = aged(cluster, im, &causes::POD_MISSING, since, NEXT_POD, said);
    let manager = cluster.manager_pod_on(&im.spec.node_id);
    let log = manager.and_then(|pod| cluster.history.current_log(pod, "longhorn-manager"));
    let refused = not_started::denied(cluster, &im.metadata.name, log.map(|log| log.text.as_str()));
    let by_all = || Some((EvidenceSource::Event, not_started::refused_by_all(cluster)?.said(), false));
    if let Some((source, said, by_policy)) = refused.or_else(by_all) {
        let text = format!("the pod is rejected: {}", text::quoted(said));
        trouble.evidence.push(source.says(text).quoting(said));
        let way = match () {
            () if said.contains(not_started::NO_PRIORITY_CLASS) => &causes::NO_PRIORITY_CLASS,
            () if by_policy && !not_started::is_of_quota(said) => &ways::DENIED,
            () if said.contains("failed calling webhook") => &causes::WEBHOOK_UNANSWERED,
            () => not_started::way_of(said).unwrap_or(&causes::CREATION_REJECTED),
        };
        trouble.says = "has no pod";
        trouble.way = Some(way);
        let webhook = webhook_of(said).filter(|_| way == &causes::WEBHOOK_UNANSWERED);
        trouble.detail =
            Some(webhook.map_or(way.briefly.to_owned(), |name| format!("webhook {name} is unresponsive")));
    }
    trouble
}

/// The webhook that could not be asked (kubernetes v1.34 apiserver pkg/admission/plugin/webhook/errors.go ToStatusErr); in logs the quotes are
/// escaped.
fn webhook_of(said: &str) -> Option<&str> {
    let name = said.split_once("failed calling webhook ")?.1.trim_start_matches(['\\', '"']);
    name.split(['\\', '"']).next().filter(|name| !name.is_empty())
}

/// Why the kubelet does not get rid of a pod, if it says so.
fn not_killed(cluster: &Cluster, pod: &Pod) -> Option<Evidence> {
    let about =
        |event: &&Event| event.reason == "FailedKillPod" && event.involved_object.uid == pod.metadata.uid;
    let event = cluster.objects.events.iter().filter(about).max_by_key(|event| event.last_seen())?;
    let text = format!("event FailedKillPod: \"{}\"", text::shortened(event.said().trim(), 300));
    Some(EvidenceSource::Event.says(text).quoting(event.said()))
}

/// Since when a pod that is there has not been up. A pod of days ago may have stopped being ready just
/// now, and one of this minute may be the tenth that does not come up; and when the pod is ready, no field says since when Longhorn disagrees.
fn not_up_since(
    cluster: &Cluster,
    pod: &Pod,
    said: Option<Timestamp>,
    first_seen: Option<Timestamp>,
) -> Option<Timestamp> {
    if pod.is_ready() && cluster.is_watched() {
        return first_seen;
    }
    let changed =
        condition(&pod.status.conditions, "Ready").and_then(|ready| ready.last_transition_time.get());
    let of_pod = pod.metadata.created().max(changed);
    let before = [said, first_seen].into_iter().flatten().min().filter(|_| !pod.is_ready());
    before.filter(|before| of_pod.is_some_and(|since| *before < since)).or(of_pod.max(said)).or(first_seen)
}

/// An instance manager that was created just now speaks for an ordinary start.
fn young(cluster: &Cluster, im: &InstanceManager) -> Option<Timestamp> {
    im.metadata.created().filter(|made| cluster.age(*made) < NEXT_POD)
}

/// In a recording nothing ages, so there an unknown age counts as long. A node that was away or cordoned gets its next pod after that,
/// and until then its instance manager and the pod from before have the times of its going.
fn aged(
    cluster: &Cluster,
    im: &InstanceManager,
    cause: &'static Cause,
    since: Option<Timestamp>,
    patience: SignedDuration,
    mut evidence: Vec<Evidence>,
) -> ManagerTrouble {
    if since.is_none() {
        evidence.push(api("the start time is unknown"));
    }
    let open = nodes::open_since(cluster, &im.spec.node_id);
    let since = since.max(open.filter(|open| cluster.age(*open) < patience));
    let aged = since.map_or(!cluster.is_watched(), |since| cluster.age(since) >= patience);
    let says = match *cause {
        causes::POD_FAILED => "is down: its pod has terminated",
        causes::PANIC => "is down: its process panicked",
        causes::OOM_KILLED => "is down: OOM-killed",
        causes::POD_MISSING => "is down: it has no pod",
        causes::POD_REJECTED => "is down: its node rejects its pods",
        causes::POD_TERMINATING => "is down: its pod is stuck in Terminating",
        _ => "is stuck starting",
    };
    ManagerTrouble { aged, since, ..ManagerTrouble::plain(cause, says, Hits::Attaching, evidence) }
}

/// Its pod has ended, and how.
fn ended(
    cluster: &Cluster,
    im: &InstanceManager,
    pod: &Pod,
    since: Option<Timestamp>,
    evidence: Vec<Evidence>,
) -> ManagerTrouble {
    let (cause, way, limit) = match container_status_of(pod).and_then(looping::last_end) {
        Some(end) if end.reason == "OOMKilled" && end.exit_code == 137 => match memory_limit(im, pod) {
            Some(limit) => (&causes::OOM_KILLED, Some(&causes::LIMITED), Some(api(limit))),
            // longhorn/longhorn issue 12573
            None if im.spec.image.ends_with(":v1.11.0") => {
                (&causes::OOM_KILLED, Some(&causes::LEAKS_MEMORY), None)
            }
            None => (&causes::OOM_KILLED, None, None),
        },
        Some(end) if end.exit_code == 2 => (&causes::PANIC, None, None),
        _ => (&causes::POD_FAILED, None, None),
    };
    let mut trouble = aged(cluster, im, cause, since, NEXT_POD, evidence);
    trouble.evidence.extend(limit);
    ManagerTrouble { way, ..trouble }
}

/// The node takes no pod of it, whichever of many is there.
fn not_taken(
    cluster: &Cluster,
    im: &InstanceManager,
    pod: Option<&Pod>,
    mut said: Vec<Evidence>,
    out: &mut Outcome,
) -> Option<ManagerTrouble> {
    let away =
        || refused::driven_away(cluster, im).filter(|_| pod.is_none() && cluster.decoded_all(Resource::Pods));
    let refusal = refused::of(cluster, im, pod).or_else(away)?;
    let seen = out.first_seen(causes::POD_REJECTED.id, &im.metadata.name);
    said.extend(refusal.evidence);
    let since = refusal.since.or(seen);
    let trouble = aged(cluster, im, &causes::POD_REJECTED, since, NEXT_POD, said);
    Some(match refusal.taint {
        Some(taint) => {
            ManagerTrouble { says: "is down", ..trouble.detail(format!("its node has taint {taint}")) }
        }
        None => match refusal.way {
            Some(way) => {
                ManagerTrouble { way: Some(way), says: "is down", ..trouble.detail(way.briefly.to_owned()) }
            }
            None => trouble,
        },
    })
}

/// Longhorn looks for its default instance manager by label, and makes it when it finds none. Where one
/// is there without the labels, that fails before 1.6.3, 1.7.2 and 1.8.0, and with it the sync of the node
/// (longhorn issue 9464); since then the one that is there is removed, running instances or not
/// (longhorn-manager v1.7.1 and v1.7.2 controller/node_controller.go syncInstanceManagers).
fn unlabelled(fleet: &InstanceManagers, im: &InstanceManager, old: bool) -> Option<ManagerTrouble> {
    // the upgrade of the objects adds the label that came with 1.6
    let missing = missing_labels(im, fleet.release);
    let release = fleet.code_on(&im.spec.node_id)?;
    (!old && !missing.is_empty()).then(|| {
        let (hits, then) = match removes_unlabelled(release) {
            true => (Hits::Running, "removes it at the node's next sync"),
            false => (Hits::Starts, "cannot find it, so it cannot sync the node"),
        };
        let labels = missing.join(", ");
        let evidence = vec![api(format!("the instance manager lacks labels {labels}, and {release} {then}"))];
        let says = "lacks the labels by which Longhorn finds it";
        ManagerTrouble::plain(&causes::LABEL_MISSING, says, hits, evidence)
    })
}

/// True for releases that remove an instance manager without its labels, false for those before.
fn removes_unlabelled(release: Release) -> bool {
    release.has_fix(&[Release::new(1, 6, 3), Release::new(1, 7, 2)])
}

/// While another v2 instance manager of the node is not stopped, a second one waits stopped without
/// a pod (longhorn-manager v1.12.1 controller/instance_manager_controller.go
/// canProceedWithInstanceManagerSync).
fn waits_for_old_v2(im: &InstanceManager, active_v2: &HashMap<&str, usize>) -> bool {
    let stopped = im.status.current_state == InstanceManagerState::Stopped;
    im.spec.data_engine == DataEngine::V2 && stopped && active_v2.contains_key(im.spec.node_id.as_str())
}

fn has_ended(pod: &Pod) -> bool {
    matches!(pod.status.phase, PodPhase::Failed | PodPhase::Succeeded)
}

fn ended_at(pod: &Pod) -> Option<Timestamp> {
    container_status_of(pod)?.state.terminated.as_ref()?.finished_at.get()
}

fn pod_in_words(pod: &Pod) -> String {
    let mut text = format!("the instance manager's pod is in phase {}", pod.status.phase.as_str());
    if !pod.status.reason.is_empty() {
        text += &format!(", reason {}", pod.status.reason);
    }
    let state = container_status_of(pod).map(|status| &status.state);
    if let Some(ended) = state.and_then(|state| state.terminated.as_ref()) {
        text += &format!(", and its container exited with code {} ({})", ended.exit_code, ended.reason);
    }
    if let Some(waiting) = state.and_then(|state| state.waiting.as_ref()) {
        text += &format!(", and its container is in {}", waiting.reason);
    }
    text
}
