//! Makes a recording that can be shown in public out of another, whatever form that has.
//!
//! It is not a text that is changed: the recording is read as for judging it, and written as `record` writes one, with the fields
//! that are read of each kind (`longhorn/shape.rs`) and nothing else. What stands where names stand gets another name (`names`),
//! every other text loses the words that this program does not know (`text`).

mod certificates;
mod names;
mod text;

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use self::certificates::certificates;
use self::names::{JOB_LABEL, Names, Place, Renamed};
use self::text::Texts;
use super::scalar::{self, Scalar};
use super::tree::Tree;
use super::{RecordedFile, Recording};
use crate::cluster::Readability;
use crate::longhorn::shape::{Shape, shapes};
use crate::longhorn::{DISTRO_VARIABLE, PerKind, Resource};
use crate::record::{MANIFEST, NOT_SERVED, is_file_name, manifest, status};

/// What is kept of a recording while it is read, to be written again.
#[derive(Debug)]
pub(super) struct Kept {
    shapes: PerKind<Shape>,
    objects: Vec<(Resource, Value)>,
    logs: BTreeMap<(String, String, bool), String>,
    unread_logs: Vec<[String; 2]>,
}

impl Default for Kept {
    fn default() -> Self {
        Kept { shapes: shapes(), objects: Vec::new(), logs: BTreeMap::new(), unread_logs: Vec::new() }
    }
}

impl Kept {
    pub fn object(&mut self, kind: Resource, object: &Tree) {
        self.objects.push((kind, pruned(object, &self.shapes[kind])));
    }

    /// A log of the previous run or of the present one.
    pub fn log(&mut self, pod: &str, container: &str, is_previous: bool, text: &str) {
        self.logs.insert((pod.to_owned(), container.to_owned(), is_previous), text.to_owned());
    }

    pub fn unread_log(&mut self, pod: &str, why: &str) {
        self.unread_logs.push([pod.to_owned(), why.to_owned()]);
    }
}

/// The fields of a value that are read. What is of another type than it should be stays so.
fn pruned(tree: &Tree, shape: &Shape) -> Value {
    match (tree, shape) {
        (tree, _) if tree.is_nothing() => Value::Null,
        (Tree::Map(entries), Shape::Struct(fields)) => {
            let field = |(key, value): &(Box<str>, Tree)| {
                let (_, shape) = fields.iter().find(|(field, _)| **field == **key)?;
                Some((key.to_string(), pruned(value, shape)))
            };
            Value::Object(entries.iter().filter_map(field).collect())
        }
        (Tree::Map(entries), Shape::Map(inner)) => {
            entries.iter().map(|(key, value)| (key.to_string(), pruned(value, inner))).collect()
        }
        (Tree::List(items), Shape::List(inner)) => items.iter().map(|item| pruned(item, inner)).collect(),
        (_, Shape::Presence) => Value::Bool(true),
        (Tree::Text(text), _) | (Tree::Plain(text), Shape::Text) => text.to_string().into(),
        (Tree::Plain(text), _) => match scalar::resolve(text) {
            Scalar::Bool(value) => value.into(),
            Scalar::Int(value) => value.into(),
            Scalar::Unsigned(value) => value.into(),
            Scalar::Float(value) => value.into(),
            Scalar::Null | Scalar::Text => text.to_string().into(),
        },
        (Tree::Bool(value), _) => (*value).into(),
        (Tree::Number(number), Shape::Scalar) => number.clone().into(),
        (Tree::Number(_), _) => 0.into(),
        (Tree::Map(_), _) => json!({}),
        (Tree::List(_), _) => json!([]),
        (Tree::Null, _) => Value::Null,
    }
}

/// The same recording with other names.
pub fn anonymize(mut recording: Recording, namespace: &str) -> Vec<RecordedFile> {
    let kept = recording.kept.take().unwrap_or_default();
    let mut names = Names::default();
    for (kind, object) in &kept.objects {
        visit(*kind, object, &kept.shapes[*kind], &mut |sort, name| names.add(sort, name));
    }
    let renamed = names.renamed(namespace);
    let looking = Writer { texts: Texts::looking(&renamed), renamed };
    // the first time is to learn which words there are
    let _ = looking.files(&kept, &recording);
    let Writer { texts, renamed } = looking;
    Writer { texts: texts.found(), renamed }.files(&kept, &recording)
}

struct Writer {
    texts: Texts,
    renamed: Renamed,
}

impl Writer {
    fn files(&self, kept: &Kept, recording: &Recording) -> Vec<RecordedFile> {
        let (mut kinds, mut files) = (Vec::new(), Vec::new());
        for kind in Resource::all() {
            let label = kind.label();
            let state = recording.status(kind);
            let objects = kept.objects.iter().filter(|(of, _)| *of == kind);
            let objects: Vec<Value> =
                objects.map(|(_, object)| self.object(kind, object, &kept.shapes[kind])).collect();
            let error = self.texts.rewrite(state.error.as_deref().unwrap_or_default());
            let content = match state.readability {
                Readability::NotRecorded => continue,
                Readability::NotInstalled => status(&label, "", &error, NOT_SERVED),
                Readability::Incomplete => list(objects) + &status(&label, "", &error, ""),
                _ => list(objects),
            };
            files.push(file(format!("{label}.json"), content));
            kinds.push(label);
        }
        let mut logs = Vec::new();
        for ((pod, container, is_previous), text) in &kept.logs {
            let (pod, container) = (self.texts.rewrite(pod), self.texts.rewrite(container));
            let name = format!("{pod}.{container}{}.log", if *is_previous { ".previous" } else { "" });
            // a path is none
            if !is_file_name(&name) {
                continue;
            }
            logs.push(json!({ "pod": pod, "file": name }));
            files.push(file(name, self.texts.rewrite(text)));
        }
        for (number, [pod, why]) in kept.unread_logs.iter().enumerate() {
            let refused = status("pods/log", &self.texts.rewrite(pod), &self.texts.rewrite(why), "");
            files.push(file(format!("unread-log-{number}.json"), refused));
        }
        let moment = recording.newest().map(|moment| moment.to_string());
        let kubernetes = recording.api_server.map(|release| release.to_string());
        let says = json!({ "kinds": kinds, "kubernetes": kubernetes, "logs": logs, "moment": moment });
        files.insert(0, file(MANIFEST.to_owned(), manifest(says)));
        files
    }

    fn object(&self, kind: Resource, object: &Value, shape: &Shape) -> Value {
        let info = kind.info();
        let group = if info.group.is_empty() { String::new() } else { format!("{}/", info.group) };
        let mut written = json!({ "apiVersion": format!("{group}{}", info.version), "kind": info.kind });
        let place = Place { kind, parent: "", beside: &Map::new(), field: "" };
        if let (Value::Object(entries), Some(into)) =
            (self.value(object, shape, place), written.as_object_mut())
        {
            into.extend(entries);
        }
        // an Event about a node of Longhorn's is known by its group alone
        if kind == Resource::Events
            && let Some(Value::Object(about)) = written.get_mut("involvedObject")
            && about.get("kind").is_some_and(|kind| kind == "Node")
        {
            about.insert("apiVersion".to_owned(), "longhorn.io/v1beta2".into());
        }
        written
    }

    fn value(&self, value: &Value, shape: &Shape, place: Place<'_>) -> Value {
        match (value, shape) {
            (Value::Object(entries), Shape::Struct(fields)) => {
                let field = |(field, shape): &(&'static str, Shape)| {
                    let value = entries.get(*field)?;
                    let inner = Place { parent: place.field, beside: entries, field, ..place };
                    Some(((*field).to_owned(), self.value(value, shape, inner)))
                };
                Value::Object(fields.iter().filter_map(field).collect())
            }
            (Value::Object(entries), Shape::Map(inner)) => {
                let entry = |(key, value): (&String, &Value)| {
                    let sort = place.sort_of_value(key);
                    let new = value.as_str().and_then(|value| self.renamed.get(sort?, value));
                    let value = new.map_or_else(|| self.value(value, inner, place), Value::from);
                    (self.key(key, place), value)
                };
                Value::Object(entries.iter().map(entry).collect())
            }
            (Value::Array(items), Shape::List(inner)) => {
                items.iter().map(|item| self.value(item, inner, place)).collect()
            }
            (Value::String(text), Shape::Scalar) if is_quantity(text) => value.clone(),
            (Value::String(text), _) => self.text(text, place).into(),
            (other, _) => other.clone(),
        }
    }

    fn key(&self, key: &str, place: Place<'_>) -> String {
        if let Some(new) = place.sort_of_keys().and_then(|sort| self.renamed.get(sort, key)) {
            return new.to_owned();
        }
        match key.strip_prefix(JOB_LABEL).and_then(|job| self.renamed.get("job", job)) {
            Some(job) => format!("{JOB_LABEL}{job}"),
            None => self.texts.rewrite(key),
        }
    }

    fn text(&self, text: &str, place: Place<'_>) -> String {
        let is_secret = place.field == "value"
            && place.parent == "env"
            && place.beside.get("name").is_none_or(|name| name != DISTRO_VARIABLE);
        if is_secret {
            return String::new();
        }
        if place.field == "caBundle" {
            return certificates(text);
        }
        let sort = place.sort().or_else(|| place.perhaps());
        let new = sort.and_then(|sort| self.renamed.get(sort, text));
        new.map_or_else(|| self.texts.rewrite(text), str::to_owned)
    }
}

/// Calls with each name in an object, and what it is the name of.
fn visit(kind: Resource, object: &Value, shape: &Shape, take: &mut dyn FnMut(names::Sort, &str)) {
    visit_at(object, shape, Place { kind, parent: "", beside: &Map::new(), field: "" }, take);
}

fn visit_at(value: &Value, shape: &Shape, place: Place<'_>, take: &mut dyn FnMut(names::Sort, &str)) {
    match (value, shape) {
        (Value::Object(entries), Shape::Struct(fields)) => {
            for (field, shape) in fields {
                let inner = Place { parent: place.field, beside: entries, field, ..place };
                entries.get(*field).into_iter().for_each(|value| visit_at(value, shape, inner, take));
            }
        }
        (Value::Object(entries), Shape::Map(inner)) => {
            for (key, value) in entries {
                place.sort_of_keys().into_iter().for_each(|sort| take(sort, key));
                if let (Some(sort), Some(name)) = (place.sort_of_value(key), value.as_str()) {
                    take(sort, name);
                }
                visit_at(value, inner, place, take);
            }
        }
        (Value::Array(items), Shape::List(inner)) => {
            items.iter().for_each(|item| visit_at(item, inner, place, take));
        }
        (Value::String(text), Shape::Text) => place.sort().into_iter().for_each(|sort| take(sort, text)),
        _ => {}
    }
}

/// A number, or an amount such as `250m`.
fn is_quantity(text: &str) -> bool {
    let amount = text.trim().trim_end_matches(|c: char| c.is_ascii_alphabetic());
    text.trim().len() - amount.len() < 3
        && !amount.is_empty()
        && amount.parse::<f64>().is_ok_and(f64::is_finite)
}

fn list(objects: Vec<Value>) -> String {
    format!("{}\n", json!({ "apiVersion": "v1", "kind": "List", "items": objects }))
}

fn file(name: String, content: String) -> RecordedFile {
    RecordedFile { name, content: content.into_bytes() }
}

#[cfg(test)]
mod tests;
