//! Why a pod is not what it should be, in the words of the kubelet and the scheduler.

use jiff::{SignedDuration, Timestamp};

use super::text;
use crate::check::{Evidence, EvidenceSource, Remedy};
use crate::cluster::Cluster;
use crate::longhorn::{ConditionStatus, ContainerStatus, Event, Pod, PodPhase, condition};

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
            "no node takes it ({}): {}",
            unplaced.reason,
            text::shortened(unplaced.message.trim(), LONGEST)
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
                "it failed ({}): {}",
                pod.status.reason,
                text::shortened(pod.status.message.trim(), LONGEST)
            )
        })
    };
    waits.or(ended).or_else(failed).or_else(slow)
}

/// What keeps a DaemonSet from making its pods, as it said within the last hour: admission, a quota, a PriorityClass.
pub fn refusal<'a>(cluster: &'a Cluster, set: &str) -> Option<&'a str> {
    let about = |event: &&Event| {
        event.reason == "FailedCreate"
            && event.involved_object.kind == "DaemonSet"
            && event.involved_object.name == set
            && event.last_seen().is_some_and(|at| cluster.age(at) < SignedDuration::from_hours(1))
    };
    let events = cluster.objects.events.iter().filter(about);
    events.max_by_key(|event| event.last_seen()).map(|event| event.message.as_str())
}

/// The refusal as evidence.
pub fn not_created(set: &str, refusal: &str) -> Evidence {
    let text = format!("DaemonSet {set}: {}", text::shortened(refusal.trim(), LONGEST));
    EvidenceSource::Event.says(text)
}

/// Adds the way out where the Pod Security Standard of the namespace refuses the pods of a DaemonSet.
pub fn admitted(cluster: &Cluster, refusal: Option<&str>, remedy: Remedy) -> Remedy {
    match refusal.is_some_and(|message| message.contains("PodSecurity")) {
        true => remedy.change(format!(
            "kubectl label namespace {} pod-security.kubernetes.io/enforce=privileged --overwrite",
            cluster.namespace
        )),
        false => remedy,
    }
}

/// Since when a pod is as it is: not Ready for so long, else there for so long.
pub fn since(pod: &Pod) -> Option<Timestamp> {
    let ready = condition(&pod.status.conditions, "Ready").and_then(|ready| ready.last_transition_time.get());
    ready.or(pod.status.start_time.get()).or(pod.metadata.created())
}

fn waiting(status: &ContainerStatus) -> Option<String> {
    let waiting = status.state.waiting.as_ref()?;
    // what follows upon an init container says nothing
    if waiting.reason.is_empty() || waiting.reason == "PodInitializing" {
        return None;
    }
    let message = match waiting.message.trim() {
        "" => last_end(status).map(|end| format!("; {end}")).unwrap_or_default(),
        message => format!(": {}", text::shortened(message, LONGEST)),
    };
    Some(format!("container {} waits with {}{message}", status.name, waiting.reason))
}

fn ended(status: &ContainerStatus) -> Option<String> {
    let end = status.state.terminated.as_ref().filter(|end| end.exit_code != 0)?;
    let reason = if end.reason.is_empty() { String::new() } else { format!(" ({})", end.reason) };
    Some(format!("container {} ended with exit code {}{reason}", status.name, end.exit_code))
}

fn last_end(status: &ContainerStatus) -> Option<String> {
    let end = status.last_state.terminated.as_ref()?;
    Some(format!("it ended with exit code {} ({}) last", end.exit_code, end.reason))
}

fn not_ready(status: &ContainerStatus) -> String {
    match last_end(status) {
        Some(end) => format!("container {} is not ready; {end}", status.name),
        None => format!("container {} is not ready", status.name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{cluster_at, object};

    #[test]
    fn a_denial_of_pod_security_is_told_with_the_way_out() {
        let event = |at: &str, name: &str, message: &str| {
            format!(
                "apiVersion: v1\nkind: Event\nmetadata: {{name: e{name}, namespace: longhorn-system}}\nreason: FailedCreate\n\
                 message: '{message}'\nlastTimestamp: '2026-03-01T{at}Z'\ninvolvedObject: {{kind: DaemonSet, name: {name}}}\n---\n"
            )
        };
        const SAID: &str = "Error creating: pods \"longhorn-manager-x\" is forbidden: violates PodSecurity \"baseline:latest\": privileged";
        let asked = |yaml: &str, set: &str| {
            let cluster = cluster_at("2026-03-01T12:00:00Z", yaml);
            let refusal = refusal(&cluster, set).map(str::to_owned);
            let changes = admitted(&cluster, refusal.as_deref(), Remedy::new("")).commands.len();
            (refusal, changes)
        };
        let denied = event("11:30:00", "longhorn-manager", SAID);
        assert_eq!(asked(&denied, "longhorn-manager"), (Some(SAID.to_owned()), 1));
        assert_eq!(asked(&denied, "longhorn-csi-plugin"), (None, 0), "another DaemonSet");
        assert_eq!(
            asked(&event("10:30:00", "longhorn-manager", SAID), "longhorn-manager"),
            (None, 0),
            "over"
        );
        let quota = event("11:30:00", "longhorn-manager", "exceeded quota");
        assert_eq!(asked(&quota, "longhorn-manager").1, 0, "a quota is no matter of labels");
        assert_eq!(asked(&object("Setting", "a", "value: b"), "longhorn-manager"), (None, 0));
    }

    fn trouble_of(status: &str) -> Option<String> {
        trouble(
            &serde_yaml::from_str::<Pod>(&format!("metadata: {{name: p}}\nstatus: {{{status}}}")).unwrap(),
        )
    }

    #[test]
    fn the_first_thing_that_explains_it_is_told() {
        for (status, expected) in [
            ("conditions: [{type: Ready, status: 'True'}]", None),
            ("", None),
            (
                "conditions: [{type: PodScheduled, status: 'False', reason: Unschedulable, message: 0/3 nodes}]",
                Some("no node takes it (Unschedulable): 0/3 nodes"),
            ),
            (
                "containerStatuses: [{name: a, state: {waiting: {reason: ImagePullBackOff, message: no such image}}}]",
                Some("container a waits with ImagePullBackOff: no such image"),
            ),
            (
                "containerStatuses: [{name: a, state: {waiting: {reason: CrashLoopBackOff}}, \
                 lastState: {terminated: {exitCode: 137, reason: OOMKilled}}}]",
                Some("container a waits with CrashLoopBackOff; it ended with exit code 137 (OOMKilled) last"),
            ),
            (
                "initContainerStatuses: [{name: i, state: {waiting: {reason: ImagePullBackOff}}}], \
                 containerStatuses: [{name: a, state: {waiting: {reason: PodInitializing}}}]",
                Some("container i waits with ImagePullBackOff"),
            ),
            (
                "containerStatuses: [{name: a, state: {terminated: {exitCode: 2, reason: Error}}}]",
                Some("container a ended with exit code 2 (Error)"),
            ),
            ("phase: Failed, reason: Evicted, message: disk", Some("it failed (Evicted): disk")),
            ("containerStatuses: [{name: a, state: {running: {}}}]", Some("container a is not ready")),
        ] {
            assert_eq!(trouble_of(status).as_deref(), expected, "{status}");
        }
    }
}
