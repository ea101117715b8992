//! What a recording says to be done, step by step.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::cluster::{MANAGER, NAMESPACE, Surroundings};
use super::timeline::{Change, Timeline, What, event_time};

/// What happens next.
pub enum Step {
    Change(usize, What),
    Event(Value),
    /// The manager deletes a pod that ended.
    Delete(String),
    Gone(String),
    Fresh,
    Healed,
    Nothing,
}

/// Everything that happens, in order.
pub fn steps(
    timelines: Vec<Timeline>,
    around: &Surroundings,
    in_place: &str,
    pods: &[Option<Value>],
) -> Vec<(Timestamp, Step)> {
    let mut steps: Vec<(Timestamp, Step)> = Vec::new();
    let second = SignedDuration::from_secs;
    let mut last_of_pod = None;
    for (file, timeline) in timelines.into_iter().enumerate() {
        if let Some(Change { at, what: What::Pod(_, line) }) =
            timeline.changes.last().filter(|_| pods[file].is_some())
        {
            let phase = line.split(' ').next().unwrap();
            let ended = ["Succeeded", "Failed"].contains(&phase) || line.contains("deletionTimestamp");
            if ended {
                let asked = line.contains("grace 0");
                let deleted = if asked { *at } else { *at + second(2) };
                if !asked {
                    steps.push((deleted, Step::Delete(in_place.to_owned())));
                }
                steps.push((deleted + SignedDuration::from_millis(10), Step::Gone(in_place.to_owned())));
                last_of_pod = last_of_pod.max(Some(deleted));
            }
        }
        let of_node = pods[file].is_none();
        steps.extend(next_of_daemon_set(&timeline, of_node));
        for event in timeline.events {
            let event = moved_here(event, around, in_place, pods[file].is_some());
            let (first, last) = (event_time(&event, false), event_time(&event, true));
            // of the kubelet's Events that repeat, the first and the last are played
            if first < last {
                let mut begun = event.clone();
                begun["count"] = 1.into();
                begun["lastTimestamp"] = event["firstTimestamp"].clone();
                steps.push((first, Step::Event(begun)));
            }
            steps.push((last, Step::Event(event)));
        }
        let wanted = |change: &Change| match &change.what {
            What::Pod(name, _) | What::PodDeleted(name) => !of_node || name.starts_with("longhorn-manager-"),
            _ => true,
        };
        steps.extend(
            timeline
                .changes
                .into_iter()
                .filter(wanted)
                .map(|Change { at, what }| (at, Step::Change(file, what))),
        );
    }
    if let Some(last) = last_of_pod {
        steps.push((last + second(3), Step::Fresh));
        steps.push((last + second(8), Step::Healed));
    }
    // an end is settled by then; what hangs from the start on has hung for long
    let restarted =
        |step: &Step| matches!(step, Step::Change(_, What::Pod(_, line)) if line.contains("(last "));
    let hangs = last_of_pod.is_none() && !pods.iter().all(Option::is_none);
    let quiet = if hangs && !steps.iter().any(|(_, step)| restarted(step)) { 600 } else { 100 };
    let end = steps.iter().map(|(at, _)| *at).max().unwrap() + second(quiet);
    steps.push((end, Step::Nothing));
    steps.sort_by_key(|(at, _)| *at);
    steps
}

/// A manager's pod that was deleted at the end of a recording of a node has a next one.
fn next_of_daemon_set(timeline: &Timeline, of_node: bool) -> Option<(Timestamp, Step)> {
    let of_manager = |change: &&Change| match &change.what {
        What::Pod(name, _) | What::PodDeleted(name) => name.starts_with("longhorn-manager-"),
        _ => false,
    };
    let last = timeline.changes.iter().rev().find(of_manager).filter(|_| of_node)?;
    let What::PodDeleted(_) = &last.what else { return None };
    let at = timeline.changes.last()?.at + SignedDuration::from_secs(3);
    let since = at.strftime("%H:%M:%S");
    let line = format!("Running | Ready True | longhorn-manager restarts=0 ready running since {since}");
    Some((at, Step::Change(usize::MAX, What::Pod("longhorn-manager-fresh".to_owned(), line))))
}

/// An Event of the recorded pod or node, about the one in its place.
fn moved_here(mut event: Value, around: &Surroundings, in_place: &str, of_pod: bool) -> Value {
    let object = &mut event["involvedObject"];
    if of_pod && object["kind"] == "Pod" {
        object["name"] = in_place.into();
        object["namespace"] = NAMESPACE.into();
        event["metadata"]["namespace"] = NAMESPACE.into();
    } else if object["kind"] == "DaemonSet" {
        object["name"] = "longhorn-manager".into();
        object["namespace"] = NAMESPACE.into();
        event["metadata"]["namespace"] = NAMESPACE.into();
    } else if object["kind"] == "Node" {
        object["name"] = around.node.into();
        event["metadata"]["namespace"] = "default".into();
    }
    event
}

/// The recorded pod in the place of an instance manager's, or of a manager's.
pub fn transplanted(around: &Surroundings, recorded: &Value, of_manager: bool) -> Value {
    let name = if of_manager { MANAGER } else { around.instance_manager };
    let own = around.objects[&("Pod".to_owned(), name.to_owned())].clone();
    let mut pod = recorded.clone();
    pod["apiVersion"] = "v1".into();
    pod["metadata"]["name"] = name.into();
    pod["metadata"]["namespace"] = NAMESPACE.into();
    pod["metadata"]["labels"] = own["metadata"]["labels"].clone();
    if !of_manager {
        return pod;
    }
    // its own command and image, with the probes, volumes and hooks of the recorded one
    let mut container = own["spec"]["containers"][0].clone();
    let recorded = &recorded["spec"]["containers"][0];
    for field in ["livenessProbe", "readinessProbe", "startupProbe", "lifecycle", "volumeMounts", "resources"]
    {
        if !recorded[field].is_null() || field.ends_with("Probe") {
            container[field] = recorded[field].clone();
        }
    }
    pod["spec"]["containers"] = json!([container]);
    pod["spec"]["priorityClassName"] = own["spec"]["priorityClassName"].clone();
    pod
}
