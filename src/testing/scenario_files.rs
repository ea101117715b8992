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

use crate::ROOT;
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
    fixture(scenario).text()
}

/// The cluster of a scenario.
pub fn fixture(scenario: &Path) -> Fixture {
    of_text(&std::fs::read_to_string(scenario.join("cluster.yaml")).unwrap())
}

/// The cluster of a text that is written as those of scenarios are.
pub fn of_text(text: &str) -> Fixture {
    let mut documents = text.split(NEXT).map(|document| {
        serde_yaml::from_str::<Difference>(document).unwrap_or_else(|error| panic!("{error}\n{document}"))
    });
    let first = documents.next().unwrap();
    let mut fixture = match &first.base {
        Some(base) => {
            let base = fixture(&Path::new(ROOT).join("tests/scenarios").join(base));
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
    fixture.change(difference.objects);
    difference.events.iter().for_each(|event| fixture.event(event));
}

/// Every file of the recording, with its name: the objects and the logs.
pub fn files(scenario: &Path) -> Vec<(String, String)> {
    files_with(scenario, Map::new())
}

/// The same with other objects.
pub fn files_with(scenario: &Path, differences: Map<String, Value>) -> Vec<(String, String)> {
    let mut cluster = fixture(scenario);
    cluster.change(differences);
    let mut files = vec![("cluster.yaml".to_owned(), cluster.text())];
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
    text.trim_end().split(NEXT).map(|document| serde_yaml::from_str(document).unwrap()).collect()
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
