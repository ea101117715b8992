//! Why the pod of an instance manager ended.
//!
//! The pod has restartPolicy Never, so its end is final and its restartCount stays 0; Longhorn
//! deletes the failed pod and makes a new one of the same name (longhorn-manager v1.12.1
//! controller/instance_manager_controller.go createGenericManagerPodSpec, handlePod).

use super::causes;
use crate::check::*;
use crate::facts::api;
use crate::facts::instance_managers::{container_of, container_status_of};
use crate::longhorn::*;
use crate::word_enum::word_enum;

use super::aftermath::Hits;

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
        Panic = "panic",
        SettingsSync = "settings_sync",
        StaleCleanup = "stale_cleanup",
        Deleted = "deleted",
        /// Deleted while nothing ran in it, and nothing differs in its successor.
        DeletedIdle = "deleted_idle",
        Unknown = "unknown",
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
            ReplacementVerdict::Panic => &causes::PANIC,
            ReplacementVerdict::SettingsSync => &causes::SETTINGS_SYNC,
            ReplacementVerdict::StaleCleanup => &causes::STALE_CLEANUP,
            ReplacementVerdict::Deleted | ReplacementVerdict::DeletedIdle => &causes::DELETED,
            ReplacementVerdict::Unknown => &causes::UNKNOWN,
        }
    }

    /// True when nothing is wrong with it.
    pub fn is_expected(self) -> bool {
        matches!(
            self,
            ReplacementVerdict::Drained
                | ReplacementVerdict::SettingsSync
                | ReplacementVerdict::StaleCleanup
                | ReplacementVerdict::DeletedIdle
        )
    }
}

/// The last that was seen of a pod, with its surroundings.
pub struct ReplacementScene<'a> {
    pub last: &'a Pod,
    /// The pod that followed.
    pub successor: Option<&'a Pod>,
    /// The instance manager is gone, or no longer a default one.
    pub retired: bool,
    /// Why Longhorn itself replaces it while it is idle, as far as settings tell.
    pub setting: Option<String>,
    /// The node does not answer, or came back about then.
    pub node_trouble: Option<Evidence>,
    pub events: Vec<&'a Event>,
    /// The kubelet's events about its end would be among them.
    pub events_reach_back: bool,
    pub hits: &'a Hits<'a>,
}

/// Judges by the last state of the pod and the kubelet's events.
pub fn judge(scene: &ReplacementScene) -> (ReplacementVerdict, Vec<Evidence>) {
    let pod = scene.last;
    let ended = container_status_of(pod).and_then(|status| status.state.terminated.as_ref());
    if let Some(verdict) = by_events(scene, ended) {
        return verdict;
    }
    if let Some(verdict) = by_pod_status(scene) {
        return verdict;
    }
    if let Some(ended) = ended {
        let text = format!(
            "container ended with exit code {} ({}) at {:?}",
            ended.exit_code, ended.reason, ended.finished_at
        );
        match (ended.exit_code, ended.reason.as_str()) {
            (_, "OOMKilled") => return (ReplacementVerdict::OomKilled, vec![api(text)]),
            (_, "ContainerStatusUnknown" | "Unknown") => {
                return (ReplacementVerdict::NodeLost, vec![api(text)]);
            }
            (2, _) => {
                return (ReplacementVerdict::Panic, vec![fingerprint(text + ", as after a Go panic")]);
            }
            _ => {}
        }
    }
    by_deletion(scene, ended)
}

fn by_events(
    scene: &ReplacementScene,
    ended: Option<&Terminated>,
) -> Option<(ReplacementVerdict, Vec<Evidence>)> {
    let liveness = |event: &Event| event.message.to_ascii_lowercase().contains("liveness probe");
    let killed = scene.events.iter().find(|event| event.reason == "Killing" && liveness(event));
    let unhealthy = scene.events.iter().find(|event| event.reason == "Unhealthy" && liveness(event));
    let killed_hard = ended.is_some_and(|ended| ended.exit_code == 137 && ended.reason != "OOMKilled");
    match (killed, unhealthy) {
        (None, _) if stopping(scene).is_some() => None,
        (Some(event), _) => Some((ReplacementVerdict::LivenessProbe, vec![quote(event)])),
        (None, Some(event)) if killed_hard => Some((
            ReplacementVerdict::LivenessProbe,
            vec![quote(event), fingerprint("the container was killed (exit code 137)")],
        )),
        _ => None,
    }
}

fn by_pod_status(scene: &ReplacementScene) -> Option<(ReplacementVerdict, Vec<Evidence>)> {
    let status = &scene.last.status;
    let reason = status.reason.as_str();
    let text = format!("pod status: reason {reason}, {}", status.message);
    if reason == "Evicted" {
        return Some((ReplacementVerdict::Evicted, vec![api(text)]));
    }
    let shut_down = status.message.contains("node shutdown");
    if shut_down || ["NodeLost", "NodeShutdown", "Shutdown"].contains(&reason) {
        return Some((ReplacementVerdict::NodeLost, vec![api(text)]));
    }
    let target = condition(&status.conditions, "DisruptionTarget")?;
    if target.status != ConditionStatus::True {
        return None;
    }
    let verdict = match target.reason.as_str() {
        "DeletionByTaintManager" | "DeletionByPodGC" => ReplacementVerdict::NodeLost,
        // replicas that failed with it are taken up again when the node is back
        "EvictionByEvictionAPI" if !scene.hits.engines => ReplacementVerdict::Drained,
        _ => ReplacementVerdict::Evicted,
    };
    Some((verdict, vec![api(format!("pod condition DisruptionTarget: {}", target.reason))]))
}

/// Nothing says how it died, so someone asked for its end, or the node took it along.
fn by_deletion(scene: &ReplacementScene, ended: Option<&Terminated>) -> (ReplacementVerdict, Vec<Evidence>) {
    let stopping = stopping(scene);
    let clean = ended.is_none_or(|ended| [0, 143].contains(&ended.exit_code));
    let asked = stopping.is_some() || (scene.last.metadata.is_deleting() && clean);
    let changes = scene.successor.map(|new| differences(scene.last, new)).unwrap_or_default();
    if let Some(trouble) = &scene.node_trouble
        && stopping.is_none()
    {
        return (ReplacementVerdict::NodeLost, vec![trouble.clone()]);
    }
    let mut evidence: Vec<Evidence> = stopping.map(quote).into_iter().collect();
    if asked {
        evidence.push(api("the pod was deleted while it ran"));
    }
    let unharmed = scene.hits.facts.is_empty();
    if asked && !unharmed {
        evidence.push(api("volumes ran in it; Longhorn itself deletes only idle ones"));
        return (ReplacementVerdict::Deleted, evidence);
    }
    if asked && scene.retired {
        evidence.push(api("its instance manager was removed or is no longer a default one"));
        return (ReplacementVerdict::StaleCleanup, evidence);
    }
    let by_settings = !changes.is_empty() || scene.setting.is_some();
    if unharmed && clean && by_settings {
        evidence.extend(changes.into_iter().chain(scene.setting.clone()).map(api));
        evidence.push(api("no volume was affected: Longhorn deletes idle ones to apply settings"));
        return (ReplacementVerdict::SettingsSync, evidence);
    }
    if unharmed && clean && asked {
        let seen = scene.successor.map_or("it cannot be compared with its successor", |_| {
            "its successor has the same PriorityClass, CPU request, liveness probe, tolerations and node selector, and no setting \
             waits to be applied"
        });
        evidence.push(api(format!("nothing ran in it; {seen}: by whom it was deleted is not known")));
        return (ReplacementVerdict::DeletedIdle, evidence);
    }
    // no matter who deletes a pod or which probe fails, the kubelet writes that it stops the container
    let by_itself =
        scene.events_reach_back && scene.events.iter().all(|event| event.reason != "Killing") && !asked;
    evidence.push(fingerprint(match ended {
        Some(ended) if ended.exit_code == 137 && by_itself => {
            "exit code 137, and no event of the kubelet says that it stopped it: the kernel killed it for lack of memory, or someone on the node did".into()
        }
        None if by_itself => {
            "no event of the kubelet says that it stopped it, so it was neither deleted nor killed by a probe: its process ended, as for lack of memory or after a panic".into()
        }
        Some(ended) if ended.exit_code == 137 => {
            "exit code 137 without an event of the kubelet: a liveness probe, a memory limit of the node or a person".into()
        }
        Some(ended) => format!("exit code {} does not name a cause", ended.exit_code),
        None => "how its container ended was not seen".into(),
    }));
    (ReplacementVerdict::Unknown, evidence)
}

/// The kubelet's event about a pod that was asked to end.
fn stopping<'a>(scene: &ReplacementScene<'a>) -> Option<&'a Event> {
    let asked =
        |event: &&&Event| event.reason == "Killing" && event.message.starts_with("Stopping container");
    scene.events.iter().find(asked).copied()
}

/// What Longhorn compares with its settings and what differs between two pods of one instance
/// manager (longhorn-manager v1.12.1 controller/instance_manager_controller.go
/// areDangerZoneSettingsSyncedToIMPod).
fn differences(old: &Pod, new: &Pod) -> Vec<String> {
    let mut changes = Vec::new();
    let mut differ = |what: &str, old: String, new: String| {
        if old != new {
            changes.push(format!("{what} changed from '{old}' to '{new}'"));
        }
    };
    differ(
        "priorityClassName",
        old.spec.priority_class_name.to_string(),
        new.spec.priority_class_name.to_string(),
    );
    let cpu = |pod: &Pod| {
        let cpu = container_of(pod).and_then(|container| container.resources.requests.get("cpu"));
        cpu.map(|quantity| quantity.0.clone()).unwrap_or_default()
    };
    differ("CPU request", cpu(old), cpu(new));
    let patience = |pod: &Pod| {
        let probe = container_of(pod).and_then(|container| container.liveness_probe.as_ref());
        probe.map(|probe| format!("{} s", probe.tolerance())).unwrap_or_default()
    };
    differ("liveness window", patience(old), patience(new));
    let tolerations = |pod: &Pod| {
        let mut all: Vec<String> =
            pod.applied_tolerations().iter().flatten().map(Toleration::to_string).collect();
        all.sort();
        all.join("; ")
    };
    differ("tolerations", tolerations(old), tolerations(new));
    let selector = |pod: &Pod| {
        let labels = pod.spec.node_selector.iter().map(|(label, value)| format!("{label}:{value}"));
        labels.collect::<Vec<_>>().join("; ")
    };
    differ("node selector", selector(old), selector(new));
    changes
}

fn quote(event: &Event) -> Evidence {
    let text = format!(
        "event {} ({}): {}",
        event.reason,
        counted(event.occurrences(), "time"),
        event.message.trim()
    );
    EvidenceSource::Event.says(text)
}

fn fingerprint(text: impl Into<String>) -> Evidence {
    EvidenceSource::Fingerprint.says(text)
}
