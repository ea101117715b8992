//! Why the pod of an instance manager ended.
//!
//! The pod has restartPolicy Never, so its end is final and its restartCount stays 0; Longhorn
//! deletes the failed pod and makes a new one of the same name (longhorn-manager v1.12.1
//! controller/instance_manager_controller.go createGenericManagerPodSpec, handlePod).

use jiff::Timestamp;

use super::aftermath::Hits;
use super::kubelet::{self, ProbeFailures, Stop, quote};
use super::node::NodeStory;
use super::{causes, deletion};
use crate::check::*;
use crate::facts::api;
use crate::facts::instance_managers::{container_of, container_status_of};
use crate::history::ends::EndSeen;
use crate::longhorn::*;
use crate::word_enum::word_enum;

word_enum! {
    /// A cause together with whether Longhorn or an administrator meant it. Its word is the fact under which it is
    /// counted; unlike the cause, unique.
    pub enum ReplacementVerdict {
        LivenessProbe = "liveness_probe",
        OomKilled = "oom_killed",
        Evicted = "evicted",
        /// Evicted through the API with no engine hit: a node drain as it should be.
        Drained = "drained",
        NodeLost = "node_lost",
        Tainted = "tainted",
        /// The same with no engine hit.
        TaintedIdle = "tainted_idle",
        SandboxLost = "sandbox_lost",
        Panic = "panic",
        SettingsSync = "settings_sync",
        Cleanup = "cleanup",
        Deleted = "deleted",
        /// Deleted while nothing ran in it, and nothing differs in its successor.
        DeletedIdle = "deleted_idle",
        Unknown = "unknown",
        /// Its kubelet was asked to stop it; by whom was not seen.
        Stopped = "stopped",
        /// Stopped while nothing ran in it; at whose request was not seen.
        StoppedIdle = "stopped_idle",
    }
}

impl ReplacementVerdict {
    /// The cause as declared.
    pub fn cause(self) -> &'static Cause {
        match self {
            ReplacementVerdict::LivenessProbe => &causes::LIVENESS_PROBE,
            ReplacementVerdict::OomKilled => &causes::OOM_KILLED,
            ReplacementVerdict::Evicted | ReplacementVerdict::Drained => &causes::EVICTED,
            ReplacementVerdict::NodeLost => &causes::NODE_LOST,
            ReplacementVerdict::Tainted | ReplacementVerdict::TaintedIdle => &causes::TAINTED,
            ReplacementVerdict::SandboxLost => &causes::SANDBOX_LOST,
            ReplacementVerdict::Panic => &causes::PANIC,
            ReplacementVerdict::SettingsSync => &causes::SETTINGS_SYNC,
            ReplacementVerdict::Cleanup => &causes::CLEANUP,
            ReplacementVerdict::Deleted | ReplacementVerdict::DeletedIdle => &causes::DELETED,
            ReplacementVerdict::Unknown | ReplacementVerdict::Stopped | ReplacementVerdict::StoppedIdle => {
                &causes::UNKNOWN
            }
        }
    }

    /// True when nothing is wrong with it.
    pub fn is_expected(self) -> bool {
        matches!(
            self,
            ReplacementVerdict::Drained
                | ReplacementVerdict::TaintedIdle
                | ReplacementVerdict::SettingsSync
                | ReplacementVerdict::Cleanup
                | ReplacementVerdict::DeletedIdle
                | ReplacementVerdict::StoppedIdle
        )
    }
}

/// The last that was seen of a pod, with its surroundings.
pub struct ReplacementScene<'a> {
    pub last: &'a Pod,
    /// The pod that followed.
    pub successor: Option<&'a Pod>,
    /// What the watch saw of its end; empty where no one watched.
    pub end: &'a EndSeen,
    /// The instance manager is gone, or no longer a default one.
    pub retired: bool,
    /// Why Longhorn itself replaces it while it is idle, as far as settings tell.
    pub setting: Option<String>,
    pub node: NodeStory<'a>,
    /// Events about this pod and none before or after it.
    pub events: Vec<&'a Event>,
    /// The taint manager's Event, which names pods but not which of several of one name.
    pub taint_manager: Option<&'a Event>,
    /// The kubelet's events about its end would be among them.
    pub events_reach_back: bool,
    pub hits: &'a Hits<'a>,
}

/// Whether someone asked for the end of a pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// Its deletion was seen while its container ran.
    Deleted,
    /// Its container had ended before any deletion.
    No,
    Unknown,
}

/// Why a pod ended.
pub struct Judged {
    pub verdict: ReplacementVerdict,
    /// What the cause alone does not say, for the headline.
    pub detail: Option<String>,
    pub evidence: Vec<Evidence>,
    /// How its cause came about, where what to do depends on it.
    pub way: Option<&'static Way>,
}

impl Judged {
    pub fn new(verdict: ReplacementVerdict, evidence: Vec<Evidence>) -> Self {
        // causes that are always meant say so themselves
        let harmless = verdict.is_expected() && verdict.cause().severity > Severity::Info;
        Judged { verdict, detail: None, evidence, way: harmless.then_some(&causes::HARMLESS) }
    }

    pub fn detail(self, text: impl Into<String>) -> Self {
        Judged { detail: Some(text.into()), ..self }
    }

    /// By its kubelet, and what the node was short of, in its words up to the numbers; or by the scheduler.
    fn evicted(message: &str, evidence: Vec<Evidence>) -> Self {
        let judged = Judged::new(ReplacementVerdict::Evicted, evidence);
        if message.starts_with("Preempted by ") || message.contains("preempting to accommodate") {
            let text = "the scheduler evicted the pod to make room for a pod with a higher PriorityClass";
            return Judged { way: Some(&causes::PREEMPTED), ..judged.detail(text) };
        }
        let first = message.split(". ").next().unwrap_or_default().trim().trim_end_matches('.');
        match first.strip_prefix("Pod was rejected: ").unwrap_or(first) {
            "" => judged.detail("the kubelet evicted the pod"),
            first => judged.detail(format!("the kubelet evicted the pod: \"{first}\"")),
        }
    }
}

impl<'a> ReplacementScene<'a> {
    /// How its container ended, where that was seen.
    pub fn ended(&self) -> Option<&'a Terminated> {
        container_status_of(self.last)?.state.terminated.as_ref()
    }

    /// Whether someone asked for it.
    pub fn asked(&self) -> Asked {
        let dies = self.last.metadata.is_deleting() && !self.last.is_over();
        match self.end {
            EndSeen { deleted: Some(_), .. } => Asked::Deleted,
            EndSeen { ended: Some(_), .. } => Asked::No,
            // a forced deletion leaves the pod as it was while it ran
            _ if dies => Asked::Deleted,
            _ => Asked::Unknown,
        }
    }
}

/// Judges by the last state of the pod, by what was seen of its end and by the kubelet's events.
pub fn judge(scene: &ReplacementScene) -> Judged {
    let stop = kubelet::stop(&scene.events);
    let mut judged = by_pod_status(scene)
        .or_else(|| by_loss(scene))
        .or_else(|| by_probe(scene, stop.as_ref()))
        .or_else(|| by_taint_manager(scene))
        .or_else(|| by_exit(scene, stop.as_ref()))
        .or_else(|| by_node(scene, stop.as_ref()))
        .unwrap_or_else(|| deletion::judge(scene, stop.as_ref()));
    if let Some(ended) = scene.ended().filter(|ended| ended.reason == "OOMKilled")
        && judged.verdict != ReplacementVerdict::OomKilled
    {
        judged.evidence.push(api(format!(
            "reason OOMKilled with exit code {}: the kernel killed a process in it earlier (perhaps an engine or replica), but that did not end it",
            ended.exit_code
        )));
    }
    if judged.verdict != ReplacementVerdict::Evicted {
        judged.evidence.extend(scene.node.was_short());
    }
    judged
}

/// Kubernetes itself wrote why.
fn by_pod_status(scene: &ReplacementScene) -> Option<Judged> {
    let status = &scene.last.status;
    let (reason, message) = (status.reason.as_str(), status.message.as_str());
    let said = || vec![api(format!("pod status: reason {reason}, \"{message}\""))];
    if message.contains("node shutdown") || ["NodeLost", "NodeShutdown", "Shutdown"].contains(&reason) {
        return Some(Judged::new(ReplacementVerdict::NodeLost, said()));
    }
    if reason == "Evicted" || scene.last.rejection().is_some() {
        return Some(Judged::evicted(message, said()));
    }
    let target = condition(&status.conditions, "DisruptionTarget")
        .filter(|target| target.status == ConditionStatus::True);
    let Some(target) = target else {
        // a kubelet that starts under pressure evicts without a condition
        let event = kubelet::eviction(&scene.events)?;
        return Some(Judged::evicted(event.said(), vec![quote(event)]));
    };
    let why = match target.message.trim() {
        "" => String::new(),
        message => format!(": {message}"),
    };
    let evidence = vec![api(format!("pod condition DisruptionTarget: {}{why}", target.reason))];
    let at = target.last_transition_time.get();
    Some(match target.reason.as_str() {
        "DeletionByTaintManager" => tainted(scene, at, evidence),
        "DeletionByPodGC" => Judged::new(ReplacementVerdict::NodeLost, evidence),
        _ if target.message.contains("node shutdown") => Judged::new(ReplacementVerdict::NodeLost, evidence),
        // replicas that failed with it are taken up again when the node is back
        "EvictionByEvictionAPI" if !scene.hits.engines => Judged::new(ReplacementVerdict::Drained, evidence),
        "EvictionByEvictionAPI" => Judged::new(ReplacementVerdict::Evicted, evidence)
            .detail("the pod was evicted through the API, as in a drain, while volumes ran in it"),
        _ => Judged::evicted(&target.message, evidence),
    })
}

/// The runtime lost the container: nothing tells more than the node.
fn by_loss(scene: &ReplacementScene) -> Option<Judged> {
    let ended = scene.ended()?;
    let said = api(format!("container ended with exit code {} ({})", ended.exit_code, ended.reason));
    match (ended.reason.as_str(), &scene.node.trouble) {
        ("Unknown", trouble) if ended.exit_code == 255 => {
            let came_back = ended.finished_at.get().map(|at| {
                api(format!("the container ended before {at}, when the container runtime was back"))
            });
            let evidence = [Some(said), came_back, trouble.clone()].into_iter().flatten().collect();
            Some(Judged::new(ReplacementVerdict::NodeLost, evidence))
        }
        ("ContainerStatusUnknown", Some(trouble)) => {
            Some(Judged::new(ReplacementVerdict::NodeLost, vec![said, trouble.clone()]))
        }
        ("ContainerStatusUnknown", None) => Some(
            Judged::new(ReplacementVerdict::Unknown, vec![said])
                .detail("the kubelet could not find the pod's container"),
        ),
        _ => None,
    }
}

/// The kubelet stopped it because its probe had failed too often.
fn by_probe(scene: &ReplacementScene, stop: Option<&Stop>) -> Option<Judged> {
    let asked = scene.asked();
    let failures = ProbeFailures::of(&scene.events);
    let probe = container_of(scene.last).and_then(|container| container.liveness_probe.as_deref());
    if asked == Asked::Deleted || !failures.ended_it(stop?, probe, asked == Asked::No) {
        return None;
    }
    let mut evidence: Vec<Evidence> = failures.events.iter().map(|event| quote(event)).collect();
    evidence.push(quote(stop?.event));
    if asked == Asked::No {
        evidence.push(
            EvidenceSource::History.says("the pod's container ended before any deletion was requested"),
        );
    }
    let judged = Judged::new(ReplacementVerdict::LivenessProbe, evidence);
    // fork and exec, where the node or the pod has no process or thread left (errno 11, EAGAIN)
    let no_process =
        |event: &&Event| event.message.to_ascii_lowercase().contains("resource temporarily unavailable");
    if failures.events.iter().any(no_process) {
        return Some(Judged { way: Some(&causes::NO_PROCESS), ..judged });
    }
    Some(match failures.unreachable() {
        Some(dial) => {
            let text = format!("the probe got no answer over the network ({dial})");
            Judged { way: Some(&causes::UNREACHABLE), ..judged.detail(text) }
        }
        None => judged,
    })
}

fn by_taint_manager(scene: &ReplacementScene) -> Option<Judged> {
    let event = scene.taint_manager?;
    Some(tainted(scene, event.last_seen(), vec![quote(event)]))
}

/// The taint manager deletes the pods of a node that has not answered for five minutes, and just so those of a healthy node that
/// someone gives a taint with the effect NoExecute.
fn tainted(scene: &ReplacementScene, at: Option<Timestamp>, mut evidence: Vec<Evidence>) -> Judged {
    let ready = at.and_then(|at| scene.node.was_ready(at));
    if ready != Some(true) {
        evidence.extend(scene.node.was_not_ready().or_else(|| scene.node.trouble.clone()));
        return Judged::new(ReplacementVerdict::NodeLost, evidence);
    }
    let taints = scene.node.taints();
    let (which, way) = match (taints.is_empty(), scene.node.taint_is_gone()) {
        (true, _) => ("a NoExecute taint, since removed,".to_owned(), Some(&causes::TAINT_GONE)),
        (false, true) => (format!("taint {}, since removed,", taints.join(", ")), Some(&causes::TAINT_GONE)),
        (false, false) => (format!("taint {}", taints.join(", ")), None),
    };
    let which = format!("{which} evicted the pod");
    evidence.push(api(format!("node {} was Ready, and {which}", scene.node.name)));
    match scene.hits.engines {
        true => Judged { way, ..Judged::new(ReplacementVerdict::Tainted, evidence).detail(which) },
        false => Judged::new(ReplacementVerdict::TaintedIdle, evidence).detail(which),
    }
}

/// The process says so itself, or the kernel, and no one had stopped it before.
fn by_exit(scene: &ReplacementScene, stop: Option<&Stop>) -> Option<Judged> {
    if stop.is_some() || scene.asked() == Asked::Deleted {
        return None;
    }
    if let Some(killed) = &scene.node.out_of_memory {
        return Some(Judged::new(ReplacementVerdict::OomKilled, vec![killed.clone()]));
    }
    let ended = scene.ended()?;
    let text = format!(
        "container ended with exit code {} ({}) at {:?}",
        ended.exit_code, ended.reason, ended.finished_at
    );
    match (ended.exit_code, ended.reason.as_str()) {
        // another code with this reason is one of a process that outlived the OOM of its child
        (137, "OOMKilled") => Some(Judged::new(ReplacementVerdict::OomKilled, vec![api(text)])),
        (2, _) => {
            let said = EvidenceSource::Fingerprint.says(text + ", probably a Go panic");
            Some(Judged::new(ReplacementVerdict::Panic, vec![said]))
        }
        _ => None,
    }
}

/// The node was away when it ended, or its kubelet ended it as the first thing when it was back.
fn by_node(scene: &ReplacementScene, stop: Option<&Stop>) -> Option<Judged> {
    let evidence = match (scene.asked(), stop) {
        // what became of the node afterwards did not end it
        (Asked::Deleted, stop) if stop.is_some() || scene.node.then().is_some() => scene.node.was_away(),
        (_, Some(stop)) => scene.node.came_back(stop.at?, &scene.events),
        // no kubelet was there to say that it stopped it
        (_, None) => scene.node.was_away().or_else(|| scene.node.trouble.clone()),
    };
    Some(Judged::new(ReplacementVerdict::NodeLost, vec![evidence?]))
}
