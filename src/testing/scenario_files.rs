//! The files of a scenario. Its `cluster.yaml` is what differs from another scenario, its `base`, or from nothing:
//!
//! ```yaml
//! base: healthy-1.12
//! words: {v1.12.1: v1.11.3}     # replaced wherever the base has them
//! Pod longhorn-ui-1: null       # every other key is `KIND NAME` of objects and how they differ (fixture.rs)
//! events: ['11:40:00Z Warning …']
//! ```
//!
//! Without a base it names its `release`. A further document goes on from there; one with `copy: {pvc-a: pvc-b}` adds what
//! was read so far of every object whose kind or name has one of these words, with the words replaced, `except` those named.

use std::collections::BTreeMap;
use std::path::Path;

use regex::{Captures, Regex};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::fixture::Fixture;

/// What separates two objects in a file.
const NEXT: &str = "\n---\n";

/// The day of times without one.
const DAY: &str = "2026-03-01";

#[derive(Deserialize)]
struct Difference {
    base: Option<String>,
    release: Option<String>,
    #[serde(default)]
    words: BTreeMap<String, String>,
    #[serde(default)]
    copy: BTreeMap<String, String>,
    #[serde(default)]
    except: Vec<String>,
    #[serde(default)]
    events: Vec<String>,
    #[serde(flatten)]
    objects: Map<String, Value>,
}

/// The objects of a scenario.
pub fn objects(scenario: &Path) -> Vec<Value> {
    fixture(scenario).objects()
}

/// `cluster.yaml` of a scenario with every object in it.
pub fn text(scenario: &Path) -> String {
    let all: Vec<String> = objects(scenario).iter().map(written).collect();
    all.join(NEXT) + "\n"
}

fn fixture(scenario: &Path) -> Fixture {
    let own = std::fs::read_to_string(scenario.join("cluster.yaml")).unwrap();
    let mut documents = own.split(NEXT).map(|document| {
        serde_yaml::from_str::<Difference>(document)
            .unwrap_or_else(|error| panic!("{}: {error}\n{document}", scenario.display()))
    });
    let first = documents.next().unwrap();
    let mut fixture = match &first.base {
        Some(base) => {
            let base = fixture(&scenario.with_file_name(base));
            started(first.words.get(&base.release).unwrap_or(&base.release), &base.objects(), &first.words)
        }
        None => started(first.release.as_deref().unwrap(), &[], &first.words),
    };
    change(&mut fixture, first);
    for next in documents {
        let is_copied = |head: &str| {
            next.copy.keys().any(|word| head.contains(word.as_str()))
                && !next.except.iter().any(|of| of == head)
        };
        let mut copied = fixture.clone();
        copied.retain(is_copied);
        put(&mut fixture, &copied.objects(), &next.copy);
        change(&mut fixture, next);
    }
    fixture
}

fn started(release: &str, objects: &[Value], words: &BTreeMap<String, String>) -> Fixture {
    let mut fixture = Fixture::new(release, release, DAY);
    put(&mut fixture, objects, words);
    fixture
}

/// Adds objects with other words in them.
fn put(fixture: &mut Fixture, objects: &[Value], words: &BTreeMap<String, String>) {
    let text = serde_json::to_string(objects).unwrap();
    let objects: Vec<Value> = serde_json::from_str(&replaced(&text, words)).unwrap();
    objects.into_iter().for_each(|object| fixture.put(object));
}

fn change(fixture: &mut Fixture, difference: Difference) {
    for (head, difference) in difference.objects {
        fixture.with(&head, difference);
    }
    difference.events.iter().for_each(|event| fixture.event(event));
}

fn written(object: &Value) -> String {
    serde_yaml::to_string(object).unwrap().trim_end().to_owned()
}

/// The text of a recording without some objects, with others changed or added, as `kubectl apply` would change them: maps are
/// merged, `null` takes a field away, items of lists are matched by their `type`, `name` or `nodeName`, and `$patch: delete`
/// takes such an item away.
pub fn changed(base: &str, without: &[String], changes: &str) -> String {
    let mut all: Vec<(String, String)> =
        base.trim_end().split(NEXT).map(|document| (id(&value(document)), document.to_owned())).collect();
    for gone in without {
        let at = all.iter().position(|(id, _)| id == gone);
        all.remove(at.unwrap_or_else(|| panic!("the base has no {gone}")));
    }
    for document in changes.split(NEXT).filter(|document| !document.is_empty()) {
        let change = value(document);
        let id = id(&change);
        match all.iter_mut().find(|(known, _)| *known == id) {
            Some((_, known)) => {
                let mut object = value(known);
                merge(&mut object, change);
                *known = written(&object);
            }
            None => all.push((id, document.trim_end().to_owned())),
        }
    }
    let all: Vec<String> = all.into_iter().map(|(_, document)| document).collect();
    all.join(NEXT) + "\n"
}

/// Every file of the recording, with its name: the objects and the logs.
pub fn files(scenario: &Path) -> Vec<(String, String)> {
    let mut files = vec![("cluster.yaml".to_owned(), text(scenario))];
    for entry in std::fs::read_dir(scenario).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "log") {
            let name = path.file_name().unwrap().to_str().unwrap();
            files.push((name.to_owned(), std::fs::read_to_string(&path).unwrap()));
        }
    }
    files.sort();
    files
}

/// The objects of a text.
pub fn documents(text: &str) -> Vec<Value> {
    text.trim_end().split(NEXT).map(value).collect()
}

fn value(document: &str) -> Value {
    serde_yaml::from_str(document).unwrap_or_else(|error| panic!("{error}\n{document}"))
}

/// Kind, group and name; the namespace of every object follows from its kind.
fn id(object: &Value) -> String {
    let text = |at: &str| object.pointer(at).and_then(Value::as_str).unwrap_or_else(|| panic!("{object}"));
    let group = text("/apiVersion").rsplit_once('/').map_or(String::new(), |(group, _)| format!(".{group}"));
    format!("{}{group}/{}", text("/kind"), text("/metadata/name"))
}

/// All words at once, the longest first, so that none is replaced twice.
fn replaced(text: &str, words: &BTreeMap<String, String>) -> String {
    let mut known: Vec<&String> = words.keys().collect();
    known.sort_by_key(|word| std::cmp::Reverse(word.len()));
    for word in &known {
        assert!(text.contains(*word), "the base has no {word}");
    }
    if known.is_empty() {
        return text.to_owned();
    }
    let any: Vec<String> = known.into_iter().map(|word| regex::escape(word)).collect();
    let any = Regex::new(&any.join("|")).unwrap();
    any.replace_all(text, |found: &Captures<'_>| words[&found[0]].clone()).into_owned()
}

fn merge(into: &mut Value, change: Value) {
    match (into, change) {
        (Value::Object(into), Value::Object(changes)) => {
            for (key, change) in changes {
                match change {
                    Value::Null => drop(into.remove(&key)),
                    // also into nothing, so that its own nulls go
                    Value::Object(_) => merge(into.entry(key).or_insert(Map::new().into()), change),
                    change => merge(into.entry(key).or_insert(Value::Null), change),
                }
            }
        }
        (Value::Array(into), Value::Array(changes)) => match key(into, &changes) {
            Some(key) => changes.into_iter().for_each(|change| merge_item(into, key, change)),
            None => *into = changes,
        },
        (into, change) => *into = change,
    }
}

fn merge_item(into: &mut Vec<Value>, key: &str, change: Value) {
    let at = into.iter().position(|item| item[key] == change[key]);
    match at {
        Some(at) if change["$patch"] == "delete" => drop(into.remove(at)),
        Some(at) => merge(&mut into[at], change),
        None => into.push(change),
    }
}

/// The field by which the items of two lists are matched.
fn key(one: &[Value], other: &[Value]) -> Option<&'static str> {
    let has = |list: &[Value], key: &str| !list.is_empty() && list.iter().all(|item| item[key].is_string());
    ["type", "name", "nodeName"].into_iter().find(|key| has(one, key) && has(other, key))
}
