//! A file of `recordings/`: what was seen, in order. The comments hold every change, as one line; the List below
//! them the object as it was last, and its Events.

use std::path::Path;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

/// The day of the recordings; their comments hold times only.
const DAY: &str = "2026-11-22T";

/// One file.
pub struct Timeline {
    pub changes: Vec<Change>,
    /// The pod of the file as it was last; none where the file is about a node.
    pub pod: Option<Value>,
    pub events: Vec<Value>,
}

/// A line of the watch.
#[derive(Debug, Clone)]
pub struct Change {
    pub at: Timestamp,
    pub what: What,
}

#[derive(Debug, Clone)]
pub enum What {
    /// Name, and the rest of its line: status, conditions, containers.
    Pod(String, String),
    PodDeleted(String),
    Node(String),
    NodeDeleted,
    /// The endpoints of the webhook, by node.
    Endpoints(Value),
}

impl Timeline {
    /// Reads `recordings/NAME.yaml`; of `NAME:NAMESPACE` only the Events of that namespace.
    pub fn read(name: &str) -> Self {
        let (name, namespace) = name.split_once(':').unwrap_or((name, ""));
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/kubelet/recordings/{name}.yaml"));
        let text =
            std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let list: Value = serde_yaml::from_str(&text).unwrap();
        let items = list["items"].as_array().cloned().unwrap_or_default();
        let (mut events, others): (Vec<_>, Vec<_>) =
            items.into_iter().partition(|item| item["kind"] == "Event");
        events.retain(|event| namespace.is_empty() || event["metadata"]["namespace"] == namespace);
        let pod = others.into_iter().find(|item| item["kind"] == "Pod");
        let own = pod.as_ref().map(|pod| pod["metadata"]["name"].as_str().unwrap().to_owned());
        let lines = text.lines().filter_map(|line| line.strip_prefix("# "));
        let changes = lines.filter_map(|line| change(line, own.as_deref())).collect();
        Timeline { changes, pod, events }
    }
}

fn change(line: &str, own: Option<&str>) -> Option<Change> {
    let (at, rest) = line.split_once(' ')?;
    let at = time(at)?;
    let rest = rest.trim_start();
    let (kind, of) = match (own, rest.split_once(' ')) {
        (Some(name), _) => ("Pod", (rest, name)),
        (None, Some((kind, rest))) => (kind, (rest.trim_start(), "")),
        (None, None) => return None,
    };
    let (action, rest) = of.0.split_once(' ').unwrap_or((of.0, ""));
    let rest = rest.trim_start();
    let what = match (kind, action) {
        ("Pod", _) => {
            let (name, status) = match of.1 {
                "" => rest.split_once(' ').unwrap_or((rest, "")),
                name => (name, rest),
            };
            match action {
                "DELETED" => What::PodDeleted(name.to_owned()),
                _ => What::Pod(name.to_owned(), status.trim().to_owned()),
            }
        }
        ("Node", "DELETED") => What::NodeDeleted,
        ("Node", _) => What::Node(rest.to_owned()),
        ("EndpointSlice", _) => What::Endpoints(serde_json::from_str(of.0).unwrap()),
        _ => return None,
    };
    Some(Change { at, what })
}

/// A time of the recordings' day, whole or with milliseconds.
pub fn time(text: &str) -> Option<Timestamp> {
    format!("{DAY}{text}Z").parse().ok()
}

/// The time of an Event, `last` or first.
pub fn event_time(event: &Value, last: bool) -> Timestamp {
    let fields = if last { ["lastTimestamp", "eventTime"] } else { ["firstTimestamp", "eventTime"] };
    let written = fields.iter().find_map(|field| event[*field].as_str()).unwrap();
    written.parse().unwrap()
}

/// A pod with the status of a line, in place of its own. `before` is the pod until then.
pub fn pod_at(pod: &Value, before: Option<&Value>, line: &str, at: Timestamp) -> Value {
    let mut pod = pod.clone();
    let metadata = pod["metadata"].as_object_mut().unwrap();
    metadata.remove("deletionTimestamp");
    metadata.remove("deletionGracePeriodSeconds");
    let mut parts = line.split(" | ");
    let (phase, why) =
        parts.next().unwrap().split_once(' ').unwrap_or((line.split(" | ").next().unwrap(), ""));
    let (reason, message) = why.split_once(" (").unwrap_or((why, ""));
    let mut status =
        json!({"phase": phase, "conditions": [], "containerStatuses": [], "initContainerStatuses": []});
    if !reason.is_empty() {
        status["reason"] = reason.into();
        status["message"] = message.trim_end_matches(')').into();
    }
    for part in parts {
        read_part(part, at, pod["metadata"].as_object_mut().unwrap(), &mut status);
    }
    // a condition that stays keeps its time
    let before = before.map_or(&Value::Null, |before| &before["status"]["conditions"]).as_array();
    for condition in status["conditions"].as_array_mut().unwrap() {
        let same = |of: &&Value| of["type"] == condition["type"] && of["status"] == condition["status"];
        if let Some(same) = before.and_then(|all| all.iter().find(same)) {
            condition["lastTransitionTime"] = same["lastTransitionTime"].clone();
        }
    }
    pod["status"] = status;
    pod
}

fn read_part(part: &str, at: Timestamp, metadata: &mut Map<String, Value>, status: &mut Value) {
    let words: Vec<&str> = part.split(' ').collect();
    match words[..] {
        ["deletionTimestamp", until, "grace", seconds] => {
            metadata.insert("deletionTimestamp".into(), format!("{DAY}{until}Z").into());
            metadata.insert("deletionGracePeriodSeconds".into(), seconds.parse::<u32>().unwrap().into());
        }
        ["Ready", value, ref reason @ ..] => push(&mut status["conditions"], "Ready", value, reason, at),
        ["DisruptionTarget", reason] => {
            push(&mut status["conditions"], "DisruptionTarget", "True", &[reason], at)
        }
        ["init", ref rest @ ..] => add(&mut status["initContainerStatuses"], container(&rest.join(" "))),
        _ => add(&mut status["containerStatuses"], container(part)),
    }
}

fn push(conditions: &mut Value, kind: &str, value: &str, reason: &[&str], at: Timestamp) {
    let mut condition = json!({"type": kind, "status": value, "lastTransitionTime": seconds(at)});
    if let [reason, ..] = reason {
        condition["reason"] = (*reason).into();
    }
    add(conditions, condition);
}

fn add(list: &mut Value, item: Value) {
    list.as_array_mut().unwrap().push(item);
}

/// A time as objects have it.
pub fn seconds(at: Timestamp) -> String {
    Timestamp::from_second(at.as_second()).unwrap().to_string()
}

/// `NAME restarts=N [ready] STATE [(last STATE)]`
fn container(text: &str) -> Value {
    let (text, last) = match text.split_once(" (last ") {
        Some((text, last)) => (text, json!({"terminated": terminated(last.trim_end_matches(')'))})),
        None => (text, json!({})),
    };
    let mut words = text.splitn(3, ' ');
    let name = words.next().unwrap();
    let restarts = words.next().and_then(|word| word.strip_prefix("restarts="));
    let restarts: u32 = restarts.unwrap_or_else(|| panic!("no container: {text}")).parse().unwrap();
    let state = words.next().unwrap_or_default();
    let (ready, state) = state.strip_prefix("ready ").map_or((false, state), |state| (true, state));
    let state = match state.split_once(' ') {
        Some(("running", since)) => {
            json!({"running": {"startedAt": format!("{DAY}{}Z", since.strip_prefix("since ").unwrap())}})
        }
        Some(("terminated", rest)) => json!({"terminated": terminated(rest)}),
        Some(("waiting", rest)) => {
            let (reason, message) = rest.split_once(": ").unwrap_or((rest, ""));
            let mut waiting = json!({"reason": reason});
            if !message.is_empty() {
                waiting["message"] = message.into();
            }
            json!({"waiting": waiting})
        }
        _ => panic!("no state of a container: {text}"),
    };
    json!({"name": name, "ready": ready, "restartCount": restarts, "state": state, "lastState": last})
}

/// `CODE REASON FROM..TO`
fn terminated(text: &str) -> Value {
    let words: Vec<&str> = text.split(' ').collect();
    let [code, reason, span] = words[..] else { panic!("no end of a container: {text}") };
    let (from, to) = span.split_once("..").unwrap();
    let at = |time: &str| match time {
        "null" => Value::Null,
        whole if whole.contains('T') => whole.into(),
        time => format!("{DAY}{time}Z").into(),
    };
    json!({"exitCode": code.parse::<i32>().unwrap(), "reason": reason, "startedAt": at(from), "finishedAt": at(to)})
}
