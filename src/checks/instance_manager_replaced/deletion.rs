//! Whether the end of an idle pod is Longhorn's own doing, and what is left to say where nothing names a cause.

use super::judge::{Asked, Judged, ReplacementScene, ReplacementVerdict};
use super::kubelet::{ProbeFailures, Stop, quote};
use crate::check::*;
use crate::facts::api;
use crate::facts::instance_managers::container_of;
use crate::longhorn::*;

/// Who may stop a pod without a trace of it in a recording.
const CANDIDATES: &str =
    "the kubelet stopped the pod because of a deletion, an eviction (such as a drain) or a lost sandbox";

/// The same beside a probe that failed: where Events were held back or are gone, that may be why.
const PROBED: &str = "the kubelet stopped the pod because of a deletion, an eviction such as a drain, or its liveness probe (although Events show too few failures)";

/// Nothing else says how it ended.
pub fn judge(scene: &ReplacementScene, stop: Option<&Stop>) -> Judged {
    let stopped: Vec<Evidence> = stop.map(|stop| quote(stop.event)).into_iter().collect();
    let unharmed = scene.hits.facts.is_empty();
    if let Some(cordoned) = stop.and_then(|stop| drained(scene, stop)) {
        let evidence = stopped.into_iter().chain([cordoned]).collect();
        return Judged::new(ReplacementVerdict::Drained, evidence);
    }
    match (scene.asked(), stop) {
        (Asked::Deleted, _) => {
            let mut evidence = stopped;
            evidence.push(api("the pod was deleted while it was running"));
            if unharmed || left(scene) {
                return idle(scene, evidence, ReplacementVerdict::DeletedIdle);
            }
            evidence
                .push(api("volumes ran in the pod, and Longhorn itself deletes only idle instance managers"));
            let cordoned = scene.node.was_cordoned();
            let judged = Judged::new(
                ReplacementVerdict::Deleted,
                evidence.into_iter().chain(cordoned.clone()).collect(),
            );
            match cordoned {
                Some(_) => {
                    judged.detail("its node was cordoned, possibly by kubectl drain --disable-eviction")
                }
                None => judged,
            }
        }
        // a postStart hook that failed has an Event of its own words
        (Asked::No, Some(stop)) if stop.event.said().starts_with("Stopping container") => {
            sandbox_lost(scene, stopped)
        }
        (Asked::No, Some(_)) => Judged::new(ReplacementVerdict::Unknown, stopped)
            .detail("the kubelet stopped the pod, and only the Event names the reason"),
        (Asked::No, None) => by_itself(scene),
        (Asked::Unknown, Some(_)) if unharmed || left(scene) => {
            idle(scene, stopped, ReplacementVerdict::StoppedIdle)
        }
        (Asked::Unknown, Some(_)) => {
            let mut evidence = stopped;
            let failures = ProbeFailures::of(&scene.events).events;
            let (verdict, detail) = match failures.is_empty() {
                true => (ReplacementVerdict::Stopped, CANDIDATES),
                false => (ReplacementVerdict::Unknown, PROBED),
            };
            evidence.extend(failures.into_iter().map(quote));
            evidence.push(fingerprint("it is unknown whether the pod's deletion was requested first"));
            Judged::new(verdict, evidence).detail(detail)
        }
        (Asked::Unknown, None) => untold(scene, unharmed),
    }
}

/// That a drain stopped it, where no one saw who asked: its node was cordoned, and no engine ran in it any longer.
fn drained(scene: &ReplacementScene, stop: &Stop) -> Option<Evidence> {
    let nothing_else = !scene.hits.engines && ProbeFailures::of(&scene.events).events.is_empty();
    if scene.asked() != Asked::Unknown || !nothing_else {
        return None;
    }
    scene.node.cordoned_at(stop.at?)
}

/// The kubelet stopped it, no one had asked for that, and its probe had not failed: the sandbox around it was gone.
fn sandbox_lost(scene: &ReplacementScene, mut evidence: Vec<Evidence>) -> Judged {
    let failures = ProbeFailures::of(&scene.events);
    evidence.extend(failures.events.into_iter().map(quote));
    let seen = "the container ended before the pod's deletion was requested, and its probe had not failed often enough";
    evidence.push(EvidenceSource::History.says(seen));
    Judged::new(ReplacementVerdict::SandboxLost, evidence)
}

/// Neither an Event nor the watch tells. Longhorn deletes only what is idle, and deletes what has ended, too.
fn untold(scene: &ReplacementScene, unharmed: bool) -> Judged {
    let clean = scene.ended().is_none_or(|ended| [0, 143].contains(&ended.exit_code));
    let may_be_asked = scene.ended().is_none() || scene.last.metadata.is_deleting();
    // no matter who deletes it, its kubelet writes that it stops the container
    if unharmed && clean && may_be_asked && !scene.events_reach_back {
        let settings = !changes(scene).is_empty() || scene.setting.is_some();
        if settings || scene.last.metadata.is_deleting() {
            return idle(scene, Vec::new(), ReplacementVerdict::StoppedIdle);
        }
    }
    by_itself(scene)
}

/// The end of a pod in which nothing ran; `otherwise` where nothing says that it is Longhorn's own doing.
fn idle(scene: &ReplacementScene, mut evidence: Vec<Evidence>, otherwise: ReplacementVerdict) -> Judged {
    if scene.retired {
        evidence.push(api("the pod's instance manager was removed or is no longer a default one"));
        return Judged::new(ReplacementVerdict::Cleanup, evidence);
    }
    let changes = changes(scene);
    if !changes.is_empty() || scene.setting.is_some() {
        evidence.extend(changes.into_iter().chain(scene.setting.clone()).map(api));
        evidence.push(api(
            "no attached volume was affected (Longhorn deletes idle instance managers to apply settings)",
        ));
        return Judged::new(ReplacementVerdict::SettingsSync, evidence);
    }
    let seen = scene.successor.map_or("the pod that replaced it cannot be read", |_| {
        "the pod's successor has the same PriorityClass, CPU request, liveness probe, tolerations and node selector, and no setting is pending"
    });
    evidence.push(api(format!("nothing ran in the pod. Who stopped it is unknown: {seen}")));
    let judged = Judged::new(otherwise, evidence);
    match otherwise {
        ReplacementVerdict::StoppedIdle => judged.detail(CANDIDATES),
        _ => judged,
    }
}

/// No matter who deletes a pod or which probe fails, the kubelet writes that it stops the container.
fn by_itself(scene: &ReplacementScene) -> Judged {
    let kept = scene.events_reach_back;
    let failures = ProbeFailures::of(&scene.events);
    let mut evidence: Vec<Evidence> = failures.events.into_iter().map(quote).collect();
    let (text, detail) = match scene.ended() {
        Some(ended) if ended.exit_code == 137 && kept => (
            "exit code 137, and no kubelet event reports that the pod was stopped".to_owned(),
            "the pod's process was killed by the kernel (out of memory) or by someone on the node",
        ),
        Some(ended) if ended.exit_code == 137 => (
            "exit code 137, and events of that time are not kept".to_owned(),
            "the pod's process was killed by the kubelet (a failed probe or a deletion), by the kernel (out of memory) or by someone on the node",
        ),
        Some(ended) if kept => (
            format!("exit code {}, and no kubelet event reports that the pod was stopped", ended.exit_code),
            "the pod's process ended by itself",
        ),
        Some(ended) => (
            format!("exit code {} does not name a cause", ended.exit_code),
            "the pod's process ended by itself, or the kubelet stopped it",
        ),
        None if kept => (
            "no kubelet event reports that the pod was stopped, which rules out a deletion or a failed probe"
                .to_owned(),
            "the pod's process ended by itself, probably because of a panic or a lack of memory",
        ),
        None => (
            "no object records how the pod's container ended".to_owned(),
            "no object records how the pod's container ended",
        ),
    };
    evidence.push(fingerprint(text));
    Judged::new(ReplacementVerdict::Unknown, evidence).detail(detail)
}

/// True where Longhorn was to replace it, and nothing was in it but replicas of volumes that were being detached.
fn left(scene: &ReplacementScene) -> bool {
    !scene.hits.engines && !scene.hits.in_use && waits_for_idle(scene)
}

/// True where Longhorn was about to replace it once nothing is attached.
fn waits_for_idle(scene: &ReplacementScene) -> bool {
    scene.retired || scene.setting.is_some() || !changes(scene).is_empty()
}

fn changes(scene: &ReplacementScene) -> Vec<String> {
    scene.successor.map(|new| differences(scene.last, new)).unwrap_or_default()
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
        let probe = container_of(pod).and_then(|container| container.liveness_probe.as_deref());
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

fn fingerprint(text: impl Into<String>) -> Evidence {
    EvidenceSource::Fingerprint.says(text)
}
