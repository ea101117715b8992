//! Clusters for tests, as differences from a healthy Longhorn.
//!
//! ```yaml
//! Pod share-manager-v: {node: node-2, status.phase: Pending}     # KIND NAME: what differs; lh/ is Longhorn's group
//! lh/Node node-1: {status.conditions: {Ready: False 11:40:00Z KubernetesNodeNotReady}}
//! lh/Volume v w: null                                            # there is neither
//! ```
//!
//! Every entry of `archetypes.yaml` whose pattern fits the name says how the object looks, the later more exactly. A word
//! that is a hole there (`usual`) fills it; every other key is a field, with dots at the top. Maps are merged, `null` removes,
//! items of a list are named by their `type`, `name` or `key`, and a list replaces a list. A container's `state` is replaced.
//! A text replaces a condition: `STATUS [TIME] [REASON][: MESSAGE]`. `11:40:00Z` is a time of the day of the recording.
//!
//! `runs: [v-e-0, v-r-1]` are instances of an instance manager, `tickets: {csi-v: node-1}` satisfied tickets of an attachment,
//! `waiting: {csi-v: node-1 11:40:00Z}` others and since when.
//!
//! `ended: 137 11:58:20Z..11:59:00Z OOMKilled` of a pod is how its container ended last.
//!
//! An Event is a line: `TIME[..TIME] [Nx] TYPE REASON [NAMESPACE/]KIND/NAME[#UID][{CONTAINER}] [COMPONENT[@HOST]]: MESSAGE`.

use std::sync::LazyLock;

use serde_json::{Map, Value, json};

static ARCHETYPES: LazyLock<Map<String, Value>> =
    LazyLock::new(|| serde_yaml::from_str(include_str!("archetypes.yaml")).unwrap());

/// The objects of a cluster.
#[derive(Debug, Clone)]
pub struct Fixture {
    /// The release that runs, and what fills `$installed`.
    pub release: String,
    installed: String,
    /// The day of times without one.
    day: &'static str,
    objects: Vec<(String, Object)>,
}

#[derive(Debug, Clone, Default)]
struct Object {
    /// Written out, instead of an archetype.
    whole: Option<Value>,
    differences: Vec<Map<String, Value>>,
}

impl Fixture {
    pub fn new(release: &str, installed: &str, day: &'static str) -> Fixture {
        let objects = Vec::new();
        Fixture { release: release.to_owned(), installed: installed.to_owned(), day, objects }
    }

    /// Another release, as far as archetypes ask for it.
    pub fn install(&mut self, release: &str) {
        release.clone_into(&mut self.release);
        release.clone_into(&mut self.installed);
    }

    /// Adds an object, changes one that is there, or takes it away with `null`.
    pub fn with(&mut self, head: &str, difference: Value) {
        let (kind, names) = head.split_once(' ').unwrap_or_else(|| panic!("{head}: KIND NAME"));
        for name in names.split(' ') {
            self.with_one(&format!("{kind} {name}"), difference.clone());
        }
    }

    /// The same for each of these.
    pub fn change(&mut self, differences: Map<String, Value>) {
        for (head, difference) in differences {
            self.with(&head, difference);
        }
    }

    fn with_one(&mut self, head: &str, difference: Value) {
        let at = self.objects.iter().position(|(known, _)| known == head);
        let difference = match difference {
            Value::Null => {
                let at = at.unwrap_or_else(|| panic!("{head}: there is none"));
                self.objects.remove(at);
                return;
            }
            Value::Object(difference) => difference,
            other => panic!("{head}: {other}"),
        };
        match at {
            Some(at) => self.objects[at].1.differences.push(difference),
            None => {
                let object = Object { differences: vec![difference], ..Object::default() };
                self.objects.push((head.to_owned(), object));
            }
        }
    }

    /// Adds an object that is written out, instead of one of its name.
    pub fn put(&mut self, whole: Value) {
        let head = head_of(&whole);
        self.objects.retain(|(known, _)| *known != head);
        self.objects.push((head, Object { whole: Some(whole), ..Object::default() }));
    }

    pub fn event(&mut self, line: &str) {
        let event = event(line, self.objects.len()).unwrap_or_else(|| panic!("no Event: {line}"));
        self.put(event);
    }

    pub fn retain(&mut self, mut wanted: impl FnMut(&str) -> bool) {
        self.objects.retain(|(head, _)| wanted(head));
    }

    /// `KIND NAME` of every object.
    pub fn heads(&self) -> impl Iterator<Item = &str> {
        self.objects.iter().map(|(head, _)| head.as_str())
    }

    /// Every object in full.
    pub fn objects(&self) -> Vec<Value> {
        self.objects.iter().map(|(head, object)| self.full(head, object)).collect()
    }

    /// The same as `kubectl` prints it.
    pub fn text(&self) -> String {
        let all = self
            .objects()
            .into_iter()
            .map(|object| serde_yaml::to_string(&object).unwrap().trim_end().to_owned());
        all.collect::<Vec<_>>().join("\n---\n") + "\n"
    }

    fn full(&self, head: &str, object: &Object) -> Value {
        let (kind, name) = head.split_once(' ').unwrap_or_else(|| panic!("{head}: KIND NAME"));
        let mut full = object.whole.clone().unwrap_or_else(|| json!({}));
        let (mut rest, mut usual) = (name, Map::new());
        let mut body = json!({});
        for (pattern, archetype) in ARCHETYPES.iter() {
            let Some(found) = fits(pattern, kind, name).filter(|_| object.whole.is_none()) else { continue };
            rest = found;
            for (key, value) in archetype.as_object().into_iter().flatten() {
                match key == "usual" {
                    true => {
                        usual.extend(value.as_object().into_iter().flatten().filter_map(|(key, value)| {
                            Some((of_release(key, &self.release)?.to_owned(), value.clone()))
                        }))
                    }
                    false => merge_at(&mut body, key, value),
                }
            }
        }
        let mut given = vec![&usual];
        given.extend(&object.differences);
        let holes = Holes { fixture: self, name, rest, given };
        if object.whole.is_none() {
            full = holes.filled(&body).unwrap_or_default();
            full["kind"] = kind.rsplit('/').next().into();
        }
        for difference in &object.differences {
            match kind {
                "lh/InstanceManager" => self.runs(&mut full, difference),
                "lh/VolumeAttachment" => tickets(&mut full, difference),
                "Pod" => ended(&mut full, difference),
                _ => {}
            }
        }
        for (key, value) in object.differences.iter().flatten() {
            if !usual.contains_key(key) && !BUILT_IN.contains(&key.as_str()) {
                merge_at(&mut full, key, value);
            }
        }
        dated(&mut full, self.day);
        full
    }
}

impl Fixture {
    /// `runs: [v-e-0, v-r-1]` of an instance manager.
    fn runs(&self, manager: &mut Value, difference: &Map<String, Value>) {
        let runs = difference.get("runs").and_then(Value::as_array);
        for name in runs.into_iter().flatten().filter_map(Value::as_str) {
            let kind = if name.contains("-e-") { "engine" } else { "replica" };
            let field = match kind {
                _ if minor(&self.release) < 5 => "instances",
                "engine" => "instanceEngines",
                _ => "instanceReplicas",
            };
            let spec = without_nulls(&json!({"name": name, "dataEngine": manager["spec"]["dataEngine"]}));
            let instance = json!({"spec": spec, "status": {"state": "running", "type": kind}});
            merge(manager, &json!({"status": {field: {name: instance}}}), "");
        }
    }
}

/// `ended: 137 11:58:20Z..11:59:00Z OOMKilled` is how the first container of a pod ended last; `Error` without a word.
fn ended(pod: &mut Value, difference: &Map<String, Value>) {
    let Some(text) = difference.get("ended").and_then(Value::as_str) else { return };
    let mut words = text.split(' ');
    let code: i64 = words.next().and_then(|code| code.parse().ok()).unwrap_or_else(|| panic!("{text}"));
    let (started, finished) = words.next().and_then(|times| times.split_once("..")).unwrap();
    let reason = words.next().unwrap_or("Error");
    let end = json!({"exitCode": code, "reason": reason, "startedAt": started, "finishedAt": finished});
    let name = pod["status"]["containerStatuses"][0]["name"].as_str().unwrap().to_owned();
    let states = json!({ name: {"lastState": {"terminated": end}} });
    merge(pod, &json!({"status": {"containerStatuses": states}}), "");
}

/// `tickets: {csi-v: node-1}` of an attachment, which are satisfied, and `waiting`, which are not: `NODE [SINCE]`.
fn tickets(attachment: &mut Value, difference: &Map<String, Value>) {
    for (key, satisfied) in [("tickets", true), ("waiting", false)] {
        let tickets = difference.get(key).and_then(Value::as_object);
        for (id, place) in tickets.into_iter().flatten() {
            let kind = match id.split_once("-controller-") {
                Some((controller, _)) => format!("{controller}-controller"),
                None if id.starts_with("csi-") => "csi-attacher".to_owned(),
                None => "longhorn-api".to_owned(),
            };
            let (wanted, is) = match place.as_str().map(|place| place.split_once(' ').unwrap_or((place, "")))
            {
                None => (Value::Null, Value::Null),
                Some((node, since)) => {
                    let status = if satisfied { "True" } else { "False" };
                    let since = match since {
                        "" => attachment["metadata"]["creationTimestamp"].clone(),
                        since => since.into(),
                    };
                    (
                        json!({"generation": 0, "id": id, "nodeID": node, "type": kind, "parameters": {"disableFrontend": "false"}}),
                        json!({"generation": 0, "id": id, "satisfied": satisfied, "conditions": [
                            {"type": "Satisfied", "status": status, "lastTransitionTime": since},
                        ]}),
                    )
                }
            };
            let tickets = json!({"spec": {"attachmentTickets": {id: wanted}}, "status": {"attachmentTicketStatuses": {id: is}}});
            merge(attachment, &tickets, "");
        }
    }
}

/// `KIND NAME` of a whole object.
fn head_of(object: &Value) -> String {
    let text = |at: &str| object.pointer(at).and_then(Value::as_str).unwrap_or_else(|| panic!("{object}"));
    let group = if text("/apiVersion").starts_with("longhorn.io/") { "lh/" } else { "" };
    format!("{group}{} {}", text("/kind"), text("/metadata/name"))
}

/// What `*` stands for.
fn fits<'a>(pattern: &str, kind: &str, name: &'a str) -> Option<&'a str> {
    let pattern = match pattern {
        "*" => pattern,
        "lh/*" => return kind.starts_with("lh/").then_some(name),
        _ => pattern.strip_prefix(kind)?.strip_prefix(' ')?,
    };
    let (before, after) = pattern.split_once('*')?;
    name.strip_prefix(before)?.strip_suffix(after)
}

/// Holes that every archetype has.
const BUILT_IN: [&str; 6] = ["node", "volume", "runs", "tickets", "waiting", "ended"];

struct Holes<'a> {
    fixture: &'a Fixture,
    name: &'a str,
    rest: &'a str,
    /// The later before the earlier.
    given: Vec<&'a Map<String, Value>>,
}

impl Holes<'_> {
    fn value(&self, hole: &str) -> Option<Value> {
        if let Some(given) = self.given.iter().rev().find_map(|given| given.get(hole)) {
            return self.filled(given);
        }
        // of vm-e-r-3 it is vm-e
        let of_volume =
            |name: &str| name.rfind("-e-").max(name.rfind("-r-")).map(|end| name[..end].to_owned());
        let text = match hole {
            "name" => self.name.to_owned(),
            "rest" => self.rest.to_owned(),
            "release" => self.fixture.release.clone(),
            "installed" => self.fixture.installed.clone(),
            "volume" => of_volume(self.name).unwrap_or_else(|| self.name.to_owned()),
            // v-r-2 and longhorn-manager-2 are on node-2
            "node" => match self.name.rsplit('-').next().and_then(|last| last.parse::<u8>().ok()) {
                Some(number @ 1..) => format!("node-{number}"),
                _ => "node-1".to_owned(),
            },
            _ => panic!("{}: no hole ${hole}", self.name),
        };
        Some(text.into())
    }

    /// Nothing for what stands in a hole with nothing in it, or belongs to another release.
    fn filled(&self, value: &Value) -> Option<Value> {
        Some(match value {
            Value::Null => return None,
            Value::String(text) => self.text(text)?,
            Value::Array(list) => list.iter().filter_map(|one| self.filled(one)).collect(),
            Value::Object(map) => {
                let field = |(key, one): (&String, &Value)| {
                    let key = of_release(key, &self.fixture.release)?;
                    Some((self.text(key)?.as_str()?.to_owned(), self.filled(one)?))
                };
                map.iter().filter_map(field).collect()
            }
            other => other.clone(),
        })
    }

    fn text(&self, text: &str) -> Option<Value> {
        let mut parts = text.split('$');
        let mut full = parts.next()?.to_owned();
        for part in parts {
            let end = part.find(|c: char| !c.is_ascii_lowercase()).unwrap_or(part.len());
            let (hole, after) = part.split_at(end);
            match self.value(hole)? {
                Value::String(value) => full += &value,
                value if full.is_empty() && after.is_empty() => return Some(value),
                value => full += &value.to_string(),
            }
            full += after;
        }
        Some(full.into())
    }
}

/// The minor release.
pub fn minor(release: &str) -> u32 {
    release.split('.').nth(1).and_then(|minor| minor.parse().ok()).unwrap_or_else(|| panic!("{release}"))
}

/// The key, without `(from 1.6)` or `(to 1.5)`, if the release has it.
fn of_release<'a>(key: &'a str, release: &str) -> Option<&'a str> {
    let Some((key, limit)) = key.strip_suffix(')').and_then(|key| key.split_once(" (")) else {
        return Some(key);
    };
    let (side, limit) = limit.split_once(' ')?;
    let has = if side == "from" { minor(release) >= minor(limit) } else { minor(release) <= minor(limit) };
    has.then_some(key)
}

/// An object with what differs.
pub fn changed(object: &Value, difference: &Value) -> Value {
    let mut object = object.clone();
    for (path, change) in difference.as_object().into_iter().flatten() {
        merge_at(&mut object, path, change);
    }
    object
}

/// Merges at a path: with dots below what every object has.
fn merge_at(object: &mut Value, path: &str, change: &Value) {
    let below = matches!(path.split('.').next(), Some("metadata" | "spec" | "status"));
    let change = match below {
        true => path.rsplit('.').fold(change.clone(), |change, key| json!({ key: change })),
        false => json!({ path: change }),
    };
    merge(object, &change, "");
}

/// Puts a change into an object.
fn merge(object: &mut Value, change: &Value, field: &str) {
    match (&mut *object, change) {
        (Value::Array(list), Value::Object(changes)) => {
            changes.iter().for_each(|(name, change)| merge_item(list, field, name, change));
        }
        (_, Value::Object(_)) if matches!(field, "state" | "lastState") => *object = without_nulls(change),
        (Value::Object(map), Value::Object(changes)) => {
            for (key, change) in changes {
                match change {
                    Value::Null => _ = map.remove(key),
                    change => {
                        let empty = if is_list(key) { json!([]) } else { json!({}) };
                        merge(map.entry(key).or_insert(empty), change, key);
                    }
                }
            }
        }
        (_, Value::Object(_)) => {
            *object = json!({});
            merge(object, change, field);
        }
        (object, change) => *object = change.clone(),
    }
}

/// What a change makes of nothing.
fn without_nulls(change: &Value) -> Value {
    let mut object = json!({});
    merge(&mut object, change, "");
    object
}

fn is_list(field: &str) -> bool {
    field == "conditions" || field.ends_with("ontainers") || field.ends_with("ontainerStatuses")
}

fn merge_item(list: &mut Vec<Value>, field: &str, name: &str, change: &Value) {
    let named_by = |key: &&str| list.first().is_some_and(|item| item[*key].is_string());
    let usual = if field == "conditions" { "type" } else { "name" };
    let key = ["type", "name", "key"].into_iter().find(named_by).unwrap_or(usual);
    let at = list.iter().position(|item| item[key] == *name);
    if change.is_null() {
        if let Some(at) = at {
            list.remove(at);
        }
        return;
    }
    let at = at.unwrap_or_else(|| {
        list.push(json!({ key: name }));
        list.len() - 1
    });
    match condition(change).filter(|_| field == "conditions") {
        Some(mut condition) => {
            condition[key] = name.into();
            list[at] = condition;
        }
        None => merge(&mut list[at], change, ""),
    }
}

/// A condition that is written as a text.
fn condition(text: &Value) -> Option<Value> {
    let text = match text {
        Value::String(text) => text.as_str(),
        Value::Bool(true) => "True",
        Value::Bool(false) => "False",
        _ => return None,
    };
    let (head, message) = match text.split_once(": ") {
        Some((head, message)) => (head, Some(message)),
        None => (text, None),
    };
    let mut words = head.split(' ');
    let mut condition = json!({ "status": words.next()? });
    for word in words {
        condition[if word.contains(':') { "lastTransitionTime" } else { "reason" }] = word.into();
    }
    if let Some(message) = message {
        condition["message"] = message.into();
    }
    Some(condition)
}

/// Gives times the day.
fn dated(value: &mut Value, day: &str) {
    match value {
        Value::String(text) => {
            let is_time = text.len() == 9
                && text.ends_with('Z')
                && text.bytes().enumerate().all(|(at, c)| match at {
                    2 | 5 => c == b':',
                    8 => true,
                    _ => c.is_ascii_digit(),
                });
            if is_time {
                *text = format!("{day}T{text}");
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|one| dated(one, day)),
        Value::Object(map) => map.values_mut().for_each(|one| dated(one, day)),
        _ => {}
    }
}

/// The Event that a line stands for.
fn event(line: &str, number: usize) -> Option<Value> {
    let (head, message) = line.split_once(": ")?;
    let mut words = head.split(' ').peekable();
    let times = words.next()?;
    let (first, last) = times.split_once("..").unwrap_or((times, times));
    let count = words
        .next_if(|word| word.ends_with('x'))
        .and_then(|word| word.trim_end_matches('x').parse::<u32>().ok());
    let (kind, reason, of) = (words.next()?, words.next()?, words.next()?);
    let (of, container) = of.split_once('{').map_or((of, None), |(of, container)| (of, Some(container)));
    let (of, uid) = of.split_once('#').map_or((of, None), |(of, uid)| (of, Some(uid)));
    let mut place = of.rsplit('/');
    let (name, of_kind) = (place.next()?, place.next()?);
    let namespace = place.next().unwrap_or(if of_kind == "Node" { "default" } else { "longhorn-system" });
    let mut event = json!({
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": format!("event-{number}"), "namespace": namespace},
        "type": kind, "reason": reason, "message": message, "count": count.unwrap_or(1),
        "firstTimestamp": first, "lastTimestamp": last,
        "involvedObject": {"kind": of_kind, "name": name, "namespace": namespace},
    });
    if of_kind == "Node" {
        event["involvedObject"] = json!({"kind": of_kind, "name": name});
    }
    if let Some(uid) = uid {
        event["involvedObject"]["uid"] = uid.into();
    }
    if let Some(container) = container {
        event["involvedObject"]["fieldPath"] = format!("spec.containers{{{container}").into();
    }
    if let Some(source) = words.next() {
        event["source"] = match source.split_once('@') {
            Some((component, host)) => json!({"component": component, "host": host}),
            None => json!({ "component": source }),
        };
    }
    Some(event)
}
