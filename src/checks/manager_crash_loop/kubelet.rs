//! What the kubelet itself says about the end of a container that it starts again.
//!
//! Recorded of kubelet 1.36.3 with restartPolicy Always: a failed liveness or startup probe ends the container with the Event
//! `Killing: Container NAME failed liveness probe, will be restarted`, whatever exit code follows (0, 137, 143); a failed postStart
//! hook with `FailedPostStartHook`, and the container waits with PostStartHookError. Repeated Events stop being written after some
//! time (6 kills), so an old one still counts.

use super::{CONTAINER, causes};
use crate::check::*;
use crate::facts::api;
use crate::facts::installation;
use crate::facts::looping::Loop;
use crate::facts::text::quoted;
use crate::longhorn::{Event, Pod};

/// Seconds between SIGTERM and SIGKILL, and a moment.
const GRACE: i64 = 35;

/// The cause by the kubelet's own words, where the last end may be what they are about: what a process asked to end leaves.
pub(super) fn word(cluster: &Cluster, pod: &Pod, crash: &Loop<'_>) -> Option<(&'static Cause, Evidence)> {
    let status = pod.container_status(CONTAINER)?;
    if let Some(waiting) = status.state.waiting.as_ref().filter(|one| one.reason == "PostStartHookError") {
        let text = format!("the container is waiting with {}: {}", waiting.reason, quoted(&waiting.message));
        return Some((&causes::CONTAINER_CANNOT_START, api(text).quoting(&waiting.message)));
    }
    let events = cluster.events_about(&pod.metadata.name).filter(|event| is_about(event, pod, crash));
    let found = events.filter_map(|event| Some((event.last_seen(), cause_in(event)?, event)));
    let (_, cause, event) = found.max_by_key(|(seen, ..)| *seen)?;
    let seen = counted(event.occurrences(), "time");
    let text = format!("Event {} (seen {seen}): {}", event.reason, quoted(&event.message));
    Some((cause, EvidenceSource::Event.says(text).quoting(&event.message)))
}

fn cause_in(event: &Event) -> Option<&'static Cause> {
    let killed = event.reason == "Killing" && event.message.contains(", will be restarted");
    let by = |probe: &str| event.message.contains(&format!("failed {probe} probe"));
    if killed && (by("liveness") || by("startup")) {
        return Some(&causes::PROBE_KILLED);
    }
    let hook = event.reason == "FailedPostStartHook"
        || event.reason == "Killing" && event.message.contains("FailedPostStartHook");
    hook.then_some(&causes::CONTAINER_CANNOT_START)
}

/// Of this pod and not of one that had its name, of this container, and not written after the last end.
fn is_about(event: &Event, pod: &Pod, crash: &Loop<'_>) -> bool {
    let object = &event.involved_object;
    let uid = &pod.metadata.uid;
    let same = object.kind == "Pod" && (object.uid.is_empty() || uid.is_empty() || object.uid == *uid);
    let field = object.field_path.as_str();
    let container = field.is_empty() || field.contains(&format!("{{{CONTAINER}}}"));
    // asked to end, a manager ends with 0, and with 1 where it was still starting ("datastore cache sync up failed")
    let fits = match (crash.end.map(|end| end.exit_code), crash.ended(), event.last_seen()) {
        (Some(1), Some(ended), Some(seen)) => (0..=GRACE).contains(&ended.duration_since(seen).as_secs()),
        (None | Some(0 | 137 | 143), Some(ended), _) => event.first_seen().is_none_or(|first| first <= ended),
        (code, _, _) => code.is_none(),
    };
    same && container && fits
}

/// Takes away the probes that kill: no release of Longhorn ships one (longhorn deploy/longhorn.yaml v1.3.3 to v1.12.1).
pub(super) fn without(cluster: &Cluster, pod: &Pod) -> Remedy {
    let container = pod.spec.container(CONTAINER);
    let liveness = container.is_none_or(|one| one.liveness_probe.is_some() || one.startup_probe.is_none());
    let startup = container.is_some_and(|one| one.startup_probe.is_some());
    let probes = [(liveness, "livenessProbe"), (startup, "startupProbe")];
    let fields: Vec<&str> = probes.into_iter().filter_map(|(has, field)| has.then_some(field)).collect();
    let text = format!(
        "Remove {} from container longhorn-manager: no Longhorn release has one, and a startup can take minutes.",
        fields.join(" and ")
    );
    let removed = fields.into_iter().map(|field| (field.to_owned(), serde_json::Value::Null)).collect();
    installation::change_managers(cluster, &text, &serde_json::Value::Object(removed))
}

/// Takes away the hook, which no release has either.
pub(super) fn without_hook(cluster: &Cluster) -> Remedy {
    let text = "Remove the postStart hook from container longhorn-manager: no Longhorn release has one.";
    installation::change_managers(cluster, text, &serde_json::json!({ "lifecycle": null }))
}
