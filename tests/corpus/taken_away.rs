//! What is taken away from a recording never makes it healthy: an object, a status, a field, an item of a list, a kind.
//!
//! `TAKEN_AWAY=30000 cargo test --test clusters taken_away -- --nocapture` tries as many; `TAKEN_AWAY_SEED` begins elsewhere.

use std::collections::BTreeMap;

use jiff::Timestamp;
use longhorn_health_exporter::source::Recording;
use longhorn_health_exporter::source::recording::RecordedFile;
use serde_json::Value;
use testing::evaluate;

use super::NAMESPACE;
use super::cases::{cases, cluster};

/// So many are tried unless told otherwise.
const TRIES: usize = 400;

/// A sequence of numbers that is the same in every run (splitmix64).
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % limit.max(1) as u64) as usize
    }
}

/// A recording as objects, and the files without any: kinds that were asked for and empty.
struct Base {
    report: String,
    objects: Vec<Value>,
    others: Vec<RecordedFile>,
    moment: Timestamp,
}

/// The recordings that end with 1 or 2.
fn bases() -> Vec<Base> {
    let mut bases = Vec::new();
    for case in cases().into_values().flatten() {
        let (mut objects, mut others) = (Vec::new(), Vec::new());
        for (name, text) in cluster::files(&case, true) {
            match name.as_str() {
                "cluster.yaml" => {
                    let documents = text.split("---\n").filter(|one| !one.trim().is_empty());
                    objects.extend(documents.map(|one| serde_yaml::from_str::<Value>(one).unwrap()));
                }
                _ => others.push(RecordedFile { name, content: text.into() }),
            }
        }
        let mut base = Base { report: case.report, objects, others, moment: Timestamp::MAX };
        let recording = base.recording(&base.objects);
        base.moment = recording.newest().unwrap();
        let ends = evaluate(&recording.into_cluster(NAMESPACE, None)).report.exit_code;
        bases.extend((ends > 0).then_some(base));
    }
    bases
}

impl Base {
    /// The recording of these objects.
    fn recording(&self, objects: &[Value]) -> Recording {
        let text: String = objects.iter().map(|object| format!("---\n{object}\n")).collect();
        let file = RecordedFile { name: "cluster.yaml".to_owned(), content: text.into() };
        let others = self.others.iter().cloned();
        Recording::from_files(others.chain([file]), NAMESPACE, Timestamp::MAX).unwrap()
    }

    /// Takes something away; says what.
    fn less(&self, dice: &mut Dice) -> (String, Vec<Value>) {
        let mut objects = self.objects.clone();
        let at = dice.below(objects.len());
        let (kind, name) = (kind_of(&objects[at]), objects[at]["metadata"]["name"].clone());
        let of_kind = |object: &Value| kind_of(object) == kind;
        let what = match dice.below(8) {
            0 => {
                objects.remove(at);
                format!("object {kind} {name}")
            }
            1 => {
                objects.retain(|object| !of_kind(object));
                format!("kind {kind}")
            }
            2 => {
                remove(&mut objects[at], &["status".to_owned()]);
                format!("status of {kind} {name}")
            }
            3 => {
                objects
                    .iter_mut()
                    .filter(|one| of_kind(one))
                    .for_each(|one| remove(one, &["status".to_owned()]));
                format!("every status of {kind}")
            }
            way => {
                let mut paths = Vec::new();
                collect(&objects[at], &mut Vec::new(), &mut paths);
                if paths.is_empty() {
                    return ("nothing".to_owned(), objects);
                }
                let path = paths.swap_remove(dice.below(paths.len()));
                match way {
                    4 => objects.iter_mut().filter(|one| of_kind(one)).for_each(|one| remove(one, &path)),
                    5 => empty(&mut objects[at], &path),
                    _ => remove(&mut objects[at], &path),
                }
                let whose = ["of every", "emptied of", "of", "of"][way - 4];
                format!("{} {whose} {kind} {name}", path.join("."))
            }
        };
        (what, objects)
    }
}

fn kind_of(object: &Value) -> String {
    let text = |key: &str| object[key].as_str().unwrap_or_default();
    let group = text("apiVersion").split_once('/').map_or("", |(group, _)| group);
    format!("{}{}", if group == "longhorn.io" { "lh/" } else { "" }, text("kind"))
}

/// Every place below an object but its identity.
fn collect(value: &Value, path: &mut Vec<String>, paths: &mut Vec<Vec<String>>) {
    let children: Vec<(String, &Value)> = match value {
        Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), value)).collect(),
        Value::Array(list) => list.iter().enumerate().map(|(at, value)| (at.to_string(), value)).collect(),
        _ => return,
    };
    for (key, child) in children {
        path.push(key);
        let identity = ["apiVersion", "kind", "metadata", "metadata.name", "metadata.namespace"];
        if !identity.contains(&path.join(".").as_str()) {
            paths.push(path.clone());
        }
        collect(child, path, paths);
        path.pop();
    }
}

fn child<'a>(value: &'a mut Value, key: &str) -> Option<&'a mut Value> {
    match value {
        Value::Object(map) => map.get_mut(key),
        Value::Array(list) => list.get_mut(key.parse::<usize>().ok()?),
        _ => None,
    }
}

fn remove(object: &mut Value, path: &[String]) {
    let Some((last, parents)) = path.split_last() else { return };
    match parents.iter().try_fold(object, |value, key| child(value, key)) {
        Some(Value::Object(map)) => drop(map.remove(last)),
        Some(Value::Array(list)) => {
            if let Some(at) = last.parse::<usize>().ok().filter(|at| *at < list.len()) {
                list.remove(at);
            }
        }
        _ => {}
    }
}

fn empty(object: &mut Value, path: &[String]) {
    if let Some(value) = path.iter().try_fold(object, |value, key| child(value, key)) {
        *value = match value {
            Value::Object(_) => Value::Object(Default::default()),
            Value::Array(_) => Value::Array(Vec::new()),
            Value::String(_) => "".into(),
            _ => Value::Null,
        };
    }
}

#[test]
fn what_is_taken_away_makes_nothing_healthy() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<usize>().ok());
    let tries = number("TAKEN_AWAY").unwrap_or(TRIES);
    let mut dice = Dice(number("TAKEN_AWAY_SEED").unwrap_or_default() as u64);
    let bases = bases();
    let (mut ends, mut healthy) = (BTreeMap::<u8, usize>::new(), Vec::new());
    for try_ in 0..tries {
        let base = &bases[dice.below(bases.len())];
        let (what, objects) = base.less(&mut dice);
        // as `record` writes it, with its moment, and as kubectl does
        let now = (try_ % 2 == 0).then_some(base.moment);
        let report = evaluate(&base.recording(&objects).into_cluster(NAMESPACE, now)).report;
        *ends.entry(report.exit_code).or_default() += 1;
        if report.exit_code == 0 {
            let dated = if now.is_some() { "with" } else { "without" };
            healthy.push(format!("{what}; {dated} moment; {}", base.report));
        }
    }
    println!("{} recordings, {tries} without something: ended with {ends:?}", bases.len());
    // the only evidence that a finding has may be what was taken away: nothing else shows that it was ever there
    let (count, few) = (healthy.len(), tries / 50);
    assert!(count <= few, "{count} of {tries} became healthy, {few} may:\n{}", healthy.join("\n"));
}
