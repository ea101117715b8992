//! Why a pod is not what it should be, in the words of the kubelet and the scheduler.

use jiff::Timestamp;

use super::text;
use crate::check::{Evidence, EvidenceSource};
use crate::longhorn::{ConditionStatus, ContainerStatus, Pod, PodPhase, condition};

/// How much of a message is repeated.
const LONGEST: usize = 300;

/// What keeps a pod from being Ready: not placed, a container that waits, ended or is not ready. `None` for a
/// pod that is Ready, or of which nothing is said yet.
pub fn trouble(pod: &Pod) -> Option<String> {
    if pod.is_ready() {
        return None;
    }
    let placed = condition(&pod.status.conditions, "PodScheduled");
    if let Some(unplaced) = placed.filter(|placed| placed.status == ConditionStatus::False) {
        return Some(format!(
            "it cannot be scheduled ({}): \"{}\"",
            unplaced.reason,
            text::both_ends(unplaced.message.trim(), LONGEST)
        ));
    }
    let statuses = || pod.status.init_container_statuses.iter().chain(&pod.status.container_statuses);
    let ended = statuses().find_map(ended);
    let waits = statuses().find_map(waiting);
    let slow = || pod.status.container_statuses.iter().find(|status| !status.ready).map(not_ready);
    let failed = || {
        let failed = pod.status.phase == PodPhase::Failed;
        failed.then(|| {
            format!(
                "it failed ({}): \"{}\"",
                pod.status.reason,
                text::both_ends(pod.status.message.trim(), LONGEST)
            )
        })
    };
    let evicted = failed().filter(|_| !pod.status.reason.is_empty());
    evicted.or(waits).or(ended).or_else(failed).or_else(slow)
}

/// What scheduler or kubelet say of it themselves; empty where they say nothing.
pub fn said(pod: &Pod) -> &str {
    let placed = condition(&pod.status.conditions, "PodScheduled");
    if let Some(unplaced) = placed.filter(|placed| placed.status == ConditionStatus::False) {
        return &unplaced.message;
    }
    let statuses = pod.status.init_container_statuses.iter().chain(&pod.status.container_statuses);
    let waiting = statuses.filter_map(|status| status.state.waiting.as_ref());
    let said = waiting.map(|waiting| waiting.message.as_str()).find(|message| !message.trim().is_empty());
    said.unwrap_or(&pod.status.message)
}

/// That a pod has a node whose kubelet says nothing of it: for seconds always, and without end where it was placed while its node went
/// down (Longhorn's knowledge base, troubleshooting-recurring-job-pod-stuck-pending-state).
pub fn not_taken_up(pod: &Pod) -> Option<String> {
    let status = &pod.status;
    let silent = status.phase == PodPhase::Pending
        && status.start_time.get().is_none()
        && status.init_container_statuses.is_empty()
        && status.container_statuses.is_empty();
    let node = pod.spec.node_name.as_str();
    (silent && !node.is_empty())
        .then(|| format!("the pod was placed on node {node}, but the kubelet has not started it"))
}

/// The same in a few words, `: its pod waits with ImagePullBackOff` to end a sentence with; empty for a pod without trouble.
pub fn brief(pod: Option<&Pod>) -> String {
    in_brief(&pod.and_then(trouble).unwrap_or_default())
}

/// A trouble in these words.
pub fn in_brief(trouble: &str) -> String {
    let end = trouble.find([':', ';', ',']).unwrap_or(trouble.len());
    let text = trouble.get(..end).unwrap_or_default();
    match text.strip_prefix("container ").and_then(|rest| rest.split_once(' ')) {
        Some((_, does)) => format!(": its pod {does}"),
        None if text.is_empty() => String::new(),
        None => format!(": {text}"),
    }
}

/// The refusal as evidence.
pub fn not_created(kind: &str, set: &str, refusal: &str) -> Evidence {
    let text = format!("{kind} {set}: \"{}\"", text::shortened(refusal.trim(), LONGEST));
    EvidenceSource::Event.says(text).quoting(refusal)
}

/// Since when a pod is as it is: not Ready for so long, else there for so long.
pub fn since(pod: &Pod) -> Option<Timestamp> {
    pod.ready_changed().or(pod.status.start_time.get()).or(pod.metadata.created())
}

fn waiting(status: &ContainerStatus) -> Option<String> {
    let waiting = status.state.waiting.as_ref()?;
    // what follows upon an init container says nothing
    if waiting.reason.is_empty() || waiting.reason == "PodInitializing" {
        return None;
    }
    let message = match waiting.message.trim() {
        "" => last_end(status).map(|end| format!(", and {end}")).unwrap_or_default(),
        message => format!(": \"{}\"", text::both_ends(message, LONGEST)),
    };
    Some(format!("container {} is in {}{message}", status.name, waiting.reason))
}

fn ended(status: &ContainerStatus) -> Option<String> {
    let end = status.state.terminated.as_ref().filter(|end| end.exit_code != 0)?;
    let reason = if end.reason.is_empty() { String::new() } else { format!(" ({})", end.reason) };
    Some(format!("container {} ended with exit code {}{reason}", status.name, end.exit_code))
}

fn last_end(status: &ContainerStatus) -> Option<String> {
    let end = status.last_state.terminated.as_ref()?;
    Some(format!("its last run ended with exit code {} ({})", end.exit_code, end.reason))
}

fn not_ready(status: &ContainerStatus) -> String {
    match last_end(status) {
        Some(end) => format!("container {} is not ready, and {end}", status.name),
        None => format!("container {} is not ready", status.name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trouble_of(status: &str) -> Option<String> {
        trouble(
            &serde_yaml::from_str::<Pod>(&format!("metadata: {{name: p}}\nstatus: {{{status}}}")).unwrap(),
        )
    }

    #[test]
    fn what_happened_stands_at_the_end_of_a_long_message() {
        let pulls = "failed to resolve reference ".repeat(20);
        let told = trouble_of(&format!(
            "containerStatuses: [{{name: a, state: {{waiting: {{reason: ErrImagePull, message: '{pulls}no route to host'}}}}}}]"
        ));
        let told = told.unwrap();
        assert!(told.starts_with("container a is in ErrImagePull: \"failed to resolve"), "{told}");
        assert!(told.ends_with("no route to host\"") && told.len() < 400, "{told}");
    }

    #[test]
    fn a_pod_that_no_kubelet_has_taken_up_is_told_from_one_that_begins() {
        let told = |node: &str, status: &str| {
            let pod = format!("metadata: {{name: p}}\nspec: {{nodeName: {node}}}\nstatus: {{{status}}}");
            not_taken_up(&serde_yaml::from_str(&pod).unwrap())
        };
        let silent = told("n1", "phase: Pending").unwrap();
        assert!(silent.contains("node n1"), "{silent}");
        for (node, status) in [
            ("''", "phase: Pending"),
            ("n1", "phase: Pending, startTime: '2026-03-01T10:00:00Z'"),
            ("n1", "phase: Pending, containerStatuses: [{name: a}]"),
            ("n1", "phase: Running"),
        ] {
            assert_eq!(told(node, status), None, "{node} {status}");
        }
    }

    #[test]
    fn the_first_thing_that_explains_it_is_told() {
        for (status, expected) in [
            ("conditions: [{type: Ready, status: 'True'}]", None),
            ("", None),
            (
                "conditions: [{type: PodScheduled, status: 'False', reason: Unschedulable, message: 0/3 nodes}]",
                Some("it cannot be scheduled (Unschedulable): \"0/3 nodes\""),
            ),
            (
                "containerStatuses: [{name: a, state: {waiting: {reason: ImagePullBackOff, message: no such image}}}]",
                Some("container a is in ImagePullBackOff: \"no such image\""),
            ),
            (
                "containerStatuses: [{name: a, state: {waiting: {reason: CrashLoopBackOff}}, \
                 lastState: {terminated: {exitCode: 137, reason: OOMKilled}}}]",
                Some(
                    "container a is in CrashLoopBackOff, and its last run ended with exit code 137 (OOMKilled)",
                ),
            ),
            (
                "initContainerStatuses: [{name: i, state: {waiting: {reason: ImagePullBackOff}}}], \
                 containerStatuses: [{name: a, state: {waiting: {reason: PodInitializing}}}]",
                Some("container i is in ImagePullBackOff"),
            ),
            (
                "containerStatuses: [{name: a, state: {terminated: {exitCode: 2, reason: Error}}}]",
                Some("container a ended with exit code 2 (Error)"),
            ),
            (
                "containerStatuses: [{name: a, state: {terminated: {exitCode: 2, reason: Error}}}, \
                 {name: b, state: {waiting: {reason: ImagePullBackOff}}}]",
                Some("container b is in ImagePullBackOff"),
            ),
            ("phase: Failed, reason: Evicted, message: disk", Some("it failed (Evicted): \"disk\"")),
            ("containerStatuses: [{name: a, state: {running: {}}}]", Some("container a is not ready")),
        ] {
            assert_eq!(trouble_of(status).as_deref(), expected, "{status}");
        }
    }
}
