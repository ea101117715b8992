//! Scenarios written down as other programs do.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use longhorn_health_exporter::longhorn::{Resource, Scope};
use longhorn_health_exporter::source::recording::RecordedFile;
use serde_json::Value;

use crate::scenario::files::files;

pub fn file(name: impl Into<String>, content: impl Into<Vec<u8>>) -> RecordedFile {
    RecordedFile { name: name.into(), content: content.into() }
}

/// The logs of a scenario: pod and text.
pub fn logs(scenario: &Path) -> Vec<(String, String)> {
    let pod = |(name, text): (String, String)| {
        let pod = name.strip_suffix(".longhorn-manager.previous.log")?;
        Some((pod.to_owned(), text))
    };
    files(scenario).into_iter().filter_map(pod).collect()
}

/// YAML in the manner of kubectl: keys in their order, no quotes where none are needed.
pub fn yaml(value: &Value, indent: usize, out: &mut String) {
    let pad = " ".repeat(indent);
    match value {
        Value::Object(map) if !map.is_empty() => {
            for (key, value) in map {
                write!(out, "{pad}{}:", scalar(key)).unwrap();
                match value {
                    Value::Object(map) if !map.is_empty() => {
                        out.push('\n');
                        yaml(value, indent + 2, out);
                    }
                    // lists lie no deeper than their key
                    Value::Array(items) if !items.is_empty() => {
                        out.push('\n');
                        yaml(value, indent, out);
                    }
                    other => writeln!(out, " {}", flat(other)).unwrap(),
                }
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for item in items {
                let mut text = String::new();
                yaml(item, indent + 2, &mut text);
                write!(out, "{pad}- {}", text.trim_start()).unwrap();
            }
        }
        other => writeln!(out, "{pad}{}", flat(other)).unwrap(),
    }
}

fn flat(value: &Value) -> String {
    match value {
        Value::String(text) => scalar(text),
        other => other.to_string(),
    }
}

fn scalar(text: &str) -> String {
    let plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-./".contains(&byte))
        && text.bytes().next().is_some_and(|first| first.is_ascii_alphabetic())
        && !["true", "false", "null", "yes", "no", "on", "off", "y", "n"].contains(&&*text.to_lowercase());
    // what goyaml takes for a number is quoted; the rest of what begins with a digit is not
    let hash = text.len() > 6 && text.contains('e') && text.parse::<f64>().is_ok_and(f64::is_infinite);
    if plain || hash { text.to_owned() } else { serde_json::to_string(text).unwrap() }
}

/// A list as kubectl prints it.
pub fn list(objects: &[&Value]) -> String {
    let list = serde_json::json!({
        "apiVersion": "v1", "items": objects, "kind": "List", "metadata": { "resourceVersion": "" }
    });
    let mut out = String::new();
    yaml(&list, 0, &mut out);
    out
}

fn resource(object: &Value) -> Resource {
    Resource::of(object["apiVersion"].as_str().unwrap(), object["kind"].as_str().unwrap()).unwrap()
}

/// The files that the commands of docs/recording.md write.
pub fn kubectl(objects: &[Value]) -> Vec<RecordedFile> {
    let mut files: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
    for object in objects {
        let resource = resource(object);
        let name = match resource.info().scope {
            _ if resource.is_longhorn() => "longhorn.yaml",
            _ if object["metadata"]["namespace"] == "default" => "node-events.yaml",
            Scope::Cluster | Scope::ClusterNamed(_) | Scope::ClusterLabelled(_) => "cluster.yaml",
            _ => "workloads.yaml",
        };
        files.entry(name).or_default().push(object);
    }
    files.into_iter().map(|(name, objects)| file(name, list(&objects))).collect()
}

/// A support bundle: a file a kind, with the word `null` for empty strings and for null.
pub fn bundle(objects: &[Value]) -> Vec<RecordedFile> {
    let mut files: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for object in objects {
        let place = match object["metadata"]["namespace"].as_str() {
            Some(namespace) => format!("namespaced/{namespace}"),
            None => "cluster".to_owned(),
        };
        let version = object["apiVersion"].as_str().unwrap();
        let name = format!("bundle/yamls/{place}/{version}/{}.yaml", resource(object).info().plural);
        let mut object = object.clone();
        null_words(&mut object);
        files.entry(name).or_default().push(object);
    }
    let metadata = file("bundle/metadata.yaml", "bundlename: a\nissueurl: \"\"\n");
    let yamls =
        files.into_iter().map(|(name, objects)| file(name, list(&objects.iter().collect::<Vec<_>>())));
    [metadata].into_iter().chain(yamls).collect()
}

fn null_words(value: &mut Value) {
    match value {
        Value::String(text) if text.is_empty() => *value = "null".into(),
        Value::Null => *value = "null".into(),
        Value::Array(items) => items.iter_mut().for_each(null_words),
        Value::Object(map) => map.values_mut().for_each(null_words),
        _ => {}
    }
}
