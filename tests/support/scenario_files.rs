//! The files of a scenario. Its `cluster.yaml` holds every object, or names another scenario as its base and
//! says only what differs:
//!
//! ```yaml
//! base: healthy-1.12
//! words: {v1.12.1: v1.11.3}     # replaced wherever the base has them
//! without: [Pod/longhorn-ui-1, Volume.longhorn.io/a]
//! ---
//! …                             # objects: new ones, or fields to change in those of the base
//! ```
//!
//! Fields are changed as `kubectl apply` would: maps are merged, `null` takes a field away, items of lists are
//! matched by their `type`, `name` or `nodeName`, and `$patch: delete` takes such an item away.
//!
//! A document `copy: {pvc-a: pvc-b}` adds what was read so far of every object whose kind or name has one of these
//! words, with the words replaced; ids under `without` are not copied.

#![allow(dead_code, reason = "each test uses a part")]

use std::collections::BTreeMap;
use std::path::Path;

use regex::{Captures, Regex};
use serde::Deserialize;
use serde_json::{Map, Value};

/// Objects to be added as others are.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Copies {
    copy: BTreeMap<String, String>,
    #[serde(default)]
    without: Vec<String>,
}

/// What separates two objects in a file.
const NEXT: &str = "\n---\n";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    base: String,
    #[serde(default)]
    words: BTreeMap<String, String>,
    #[serde(default)]
    without: Vec<String>,
}

/// `cluster.yaml` of a scenario with every object in it.
pub fn text(scenario: &Path) -> String {
    let own = std::fs::read_to_string(scenario.join("cluster.yaml")).unwrap();
    let (first, changes) = own.split_once(NEXT).unwrap_or((&own, ""));
    if !first.lines().any(|line| line.starts_with("base: ")) {
        return own;
    }
    let Head { base, words, without } = serde_yaml::from_str(first).unwrap();
    changed(&replaced(&text(&scenario.with_file_name(base)), &words), &without, changes)
}

/// The text of a recording without some objects, with others changed or added.
pub fn changed(base: &str, without: &[String], changes: &str) -> String {
    let mut all: Vec<(String, String)> =
        base.trim_end().split(NEXT).map(|document| (id(&value(document)), document.to_owned())).collect();
    for gone in without {
        let at = all.iter().position(|(id, _)| id == gone);
        all.remove(at.unwrap_or_else(|| panic!("the base has no {gone}")));
    }
    for document in changes.split(NEXT).filter(|document| !document.is_empty()) {
        if document.starts_with("copy: ") {
            let copied = copied(&all, serde_yaml::from_str(document).unwrap());
            all.extend(copied);
            continue;
        }
        let change = value(document);
        let id = id(&change);
        match all.iter_mut().find(|(known, _)| *known == id) {
            Some((_, known)) => {
                let mut object = value(known);
                merge(&mut object, change);
                *known = serde_yaml::to_string(&object).unwrap().trim_end().to_owned();
            }
            None => all.push((id, document.trim_end().to_owned())),
        }
    }
    let all: Vec<String> = all.into_iter().map(|(_, document)| document).collect();
    all.join(NEXT) + "\n"
}

fn copied(all: &[(String, String)], Copies { copy, without }: Copies) -> Vec<(String, String)> {
    let is_copied =
        |id: &str| copy.keys().any(|word| id.contains(word.as_str())) && !without.iter().any(|of| of == id);
    let of: Vec<&str> =
        all.iter().filter(|(id, _)| is_copied(id)).map(|(_, document)| document.as_str()).collect();
    let copies = replaced(&of.join(NEXT), &copy);
    copies.split(NEXT).map(|document| (id(&value(document)), document.to_owned())).collect()
}

/// The objects of a scenario.
pub fn objects(scenario: &Path) -> Vec<Value> {
    text(scenario).split(NEXT).map(value).collect()
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
