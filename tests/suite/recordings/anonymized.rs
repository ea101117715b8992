//! A recording with other names gets the same verdict, in whatever form it is, and nothing is left in it that anyone wrote into it.
//!
//! `ANONYMIZE_CASES=10000` plants so often; with `ANONYMIZE_RECORDINGS=DIR` each recording below a directory is compared as well.

use std::collections::BTreeSet;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use jiff::Timestamp;
use longhorn_health_exporter::longhorn::Resource;
use longhorn_health_exporter::source::recording::anonymize::anonymize;
use longhorn_health_exporter::source::recording::{RecordedFile, Recording};
use serde_json::{Value, json};
use testing::evaluate;

use super::written::{file, kubectl, logs};
use crate::numbers::Numbers;
use crate::scenario;
use crate::scenario::files::objects;

pub const NAMESPACE: &str = "longhorn-system";

/// What of a report does not depend on names.
fn verdict(recording: Recording) -> Vec<String> {
    let report = evaluate(&recording.into_cluster(NAMESPACE, None)).report;
    let report: Value = serde_json::to_value(report).unwrap();
    let mut verdict = vec![format!("{} {}", report["status"], report["exit_code"])];
    verdict.extend(
        report["unknown"].as_array().unwrap().iter().map(|check| format!("unknown: {}", check["check"])),
    );
    for finding in report["findings"].as_array().unwrap() {
        let volumes = finding["volumes"].as_array().map_or(0, Vec::len);
        let (object, cause) = (&finding["object"]["kind"], &finding["cause"]);
        verdict.push(format!("{} {cause} {} {object} {volumes}", finding["check"], finding["severity"]));
    }
    for incident in report["incidents"].as_array().unwrap() {
        let findings = incident["findings"].as_array().map_or(0, Vec::len);
        verdict.push(format!("incident of {findings}: {}", incident["severity"]));
    }
    verdict.sort();
    verdict
}

fn read(files: Vec<RecordedFile>) -> Recording {
    Recording::from_files(files, NAMESPACE, Timestamp::MAX).unwrap()
}

fn other(files: Vec<RecordedFile>) -> Vec<RecordedFile> {
    let recording = Recording::to_anonymize().with_files(files, NAMESPACE, Timestamp::MAX).unwrap();
    anonymize(recording, NAMESPACE)
}

/// As kubectl writes them, as lists in JSON, as a support bundle and as `record` has them.
pub fn form(number: usize, objects: &[Value]) -> Vec<RecordedFile> {
    let list = |items: &[&Value]| json!({ "apiVersion": "v1", "kind": "List", "items": items }).to_string();
    match number {
        0 => kubectl(objects),
        1 => vec![file("list.json", list(&objects.iter().collect::<Vec<_>>()))],
        2 => {
            let documents: Vec<_> = objects.iter().map(Value::to_string).collect();
            vec![file("documents.yaml", format!("---\n{}\n", documents.join("\n---\n")))]
        }
        _ => {
            let kinds: BTreeSet<Resource> = objects.iter().filter_map(kind).collect();
            let of = |wanted: Resource| {
                objects.iter().filter(move |object| kind(object) == Some(wanted)).collect::<Vec<_>>()
            };
            kinds.into_iter().map(|kind| file(format!("{}.json", kind.label()), list(&of(kind)))).collect()
        }
    }
}

fn kind(object: &Value) -> Option<Resource> {
    let resource = Resource::of(object["apiVersion"].as_str()?, object["kind"].as_str()?)?;
    if resource != Resource::Events {
        return Some(resource);
    }
    let (space, about) = (object["metadata"]["namespace"].as_str(), &object["involvedObject"]);
    let text = |value: &'_ Value| value.as_str().unwrap_or_default().to_owned();
    Some(Resource::of_event(space.unwrap_or_default(), &text(&about["apiVersion"]), &text(&about["kind"])))
}

fn with_logs(scenario: &Path, mut files: Vec<RecordedFile>) -> Vec<RecordedFile> {
    let logs = logs(scenario).into_iter();
    files.extend(logs.map(|(pod, text)| file(format!("{pod}.longhorn-manager.previous.log"), text)));
    files
}

#[test]
fn every_scenario_gets_the_same_verdict_without_its_names_in_every_form() {
    for path in scenario::all() {
        for number in 0..4 {
            let files = with_logs(&path, form(number, &objects(&path)));
            let expected = verdict(read(files.clone()));
            let other = read(other(files));
            assert_eq!(other.warnings, Vec::<String>::new(), "{}", scenario::name(&path));
            assert_eq!(verdict(other), expected, "{} {number}", scenario::name(&path));
        }
    }
}

#[test]
fn recordings_at_hand_get_the_same_verdict() {
    let Some(place) = std::env::var_os("ANONYMIZE_RECORDINGS") else { return };
    let mut differ = Vec::new();
    let mut all = 0;
    for entry in std::fs::read_dir(place).unwrap() {
        let path = entry.unwrap().path();
        let Ok(recording) = Recording::read(&path, NAMESPACE, Timestamp::MAX) else { continue };
        let expected = verdict(recording);
        let recording = Recording::to_anonymize().with_path(&path, NAMESPACE, Timestamp::MAX).unwrap();
        let found = verdict(read(anonymize(recording, NAMESPACE)));
        all += 1;
        if found != expected {
            let only = |of: &[String], other: &[String]| {
                of.iter().filter(|one| !other.contains(one)).cloned().collect::<Vec<_>>()
            };
            differ.push(format!(
                "{}: not any more {:?}, now {:?}",
                path.display(),
                only(&expected, &found),
                only(&found, &expected)
            ));
        }
    }
    assert!(differ.is_empty(), "{} of {all}:\n{}", differ.len(), differ.join("\n"));
}

/// Names that mean something where they do not stand as names.
const WORDS: &[&str] = &[
    "state", "name", "items", "100", "apps", "status", "spec", "type", "waiting", "null", "true", "node",
    "v1", "default",
];

/// A word that nothing else is.
fn planted(numbers: &mut Numbers) -> String {
    let letters: String = (0..6).map(|_| char::from(b'a' + numbers.below(26) as u8)).collect();
    format!("zq{letters}xj")
}

/// Every place of a value, and what is there.
pub fn places(value: &Value, at: &str, all: &mut Vec<String>) {
    all.push(at.to_owned());
    let escaped = |key: &str| key.replace('~', "~0").replace('/', "~1");
    match value {
        Value::Object(entries) => {
            entries.iter().for_each(|(key, value)| places(value, &format!("{at}/{}", escaped(key)), all));
        }
        Value::Array(items) => {
            items
                .iter()
                .enumerate()
                .for_each(|(number, value)| places(value, &format!("{at}/{number}"), all));
        }
        _ => {}
    }
}

/// Replaces a name wherever it stands as a whole text or key.
pub fn renamed(value: &mut Value, old: &str, new: &str) {
    match value {
        Value::String(text) if text == old => *text = new.to_owned(),
        Value::Array(items) => items.iter_mut().for_each(|item| renamed(item, old, new)),
        Value::Object(entries) => entries.values_mut().for_each(|value| renamed(value, old, new)),
        _ => {}
    }
}

/// In which way a word is written.
fn written(word: &str, numbers: &mut Numbers) -> String {
    match numbers.below(10) {
        0 => word.to_uppercase(),
        1 => format!("https://{word}:{word}@{word}.example/{word}?sig={word}"),
        2 => format!("--token={word}"),
        3 => base64::engine::general_purpose::STANDARD.encode(word),
        4 => format!("volume-{word}-0 of {word}"),
        5 => format!("{{\"{word}\":\"{word}\"}}"),
        6 => format!("failed to attach {word}/{word}: rpc error {word}"),
        _ => word.to_owned(),
    }
}

fn plant(objects: &mut [Value], words: &mut Vec<String>, numbers: &mut Numbers) {
    for _ in 0..1 + numbers.below(6) {
        let word = planted(numbers);
        let at = numbers.below(objects.len());
        let mut all = Vec::new();
        places(&objects[at], "", &mut all);
        let place = all[numbers.below(all.len())].clone();
        let text = written(&word, numbers);
        match (numbers.below(4), objects[at].pointer_mut(&place).unwrap()) {
            // a name that something else has, too
            (0, Value::String(old))
                if !["/apiVersion", "/kind", "/metadata/namespace"].contains(&&*place) =>
            {
                let old = old.clone();
                objects.iter_mut().for_each(|object| {
                    let head = [object["apiVersion"].clone(), object["kind"].clone()];
                    renamed(object, &old, &word);
                    [object["apiVersion"], object["kind"]] = head;
                });
            }
            (1 | 2, Value::Object(entries)) => {
                let value =
                    [json!(text), json!({ text.clone(): [text] }), json!(7)][numbers.below(3)].clone();
                entries.insert(text.clone(), value);
            }
            (_, Value::String(old)) if !["/apiVersion", "/kind"].contains(&&*place) => {
                *old = if numbers.below(2) == 0 { format!("{old} {text}") } else { text };
            }
            (_, Value::Array(items)) => items.push(text.into()),
            _ => continue,
        }
        words.push(word);
    }
    // what no check reads, and everyone has
    let word = planted(numbers);
    for object in objects.iter_mut() {
        object["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"] =
            written(&word, numbers).into();
        object["metadata"]["labels"]["team"] = json!(word);
    }
    words.push(word);
}

/// Claims, namespaces, nodes and workloads with names that are words.
fn name_with_words(objects: &mut [Value], numbers: &mut Numbers) {
    let status =
        |object: &Value, key: &str| object["status"]["kubernetesStatus"][key].as_str().map(str::to_owned);
    let volume =
        objects.iter().filter(|object| status(object, "pvcName").is_some()).nth(numbers.below(3)).cloned();
    let Some(volume) = volume else { return };
    for key in ["pvcName", "namespace"] {
        let (old, new) = (status(&volume, key), WORDS[numbers.below(WORDS.len())]);
        for object in objects.iter_mut().filter(|object| status(object, key) == old) {
            object["status"]["kubernetesStatus"][key] = new.into();
        }
    }
}

/// A planted word that is left in a recording: in any case, in base64, or with something between its letters.
fn left<'a>(files: &[RecordedFile], words: &'a [String]) -> Option<(&'a str, String)> {
    for file in files {
        let text = file.name.clone() + &String::from_utf8_lossy(&file.content);
        let joined: String =
            text.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase();
        for word in words {
            // of three alignments the inner letters
            let coded = |before: &str| {
                let coded = STANDARD_NO_PAD.encode(format!("{before}{word}"));
                coded[4..coded.len() - 2].to_owned()
            };
            let is_left = joined.contains(&**word)
                || ["", "a", "aa"].iter().any(|before| text.contains(&coded(before)));
            if is_left {
                return Some((word, text));
            }
        }
    }
    None
}

#[test]
fn nothing_that_was_planted_is_left_and_the_verdict_is_the_same() {
    let cases = std::env::var("ANONYMIZE_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(200);
    let scenarios: Vec<_> = scenario::all().into_iter().map(|path| (objects(&path), path)).collect();
    let mut numbers = Numbers(44);
    for case in 0..cases {
        let (objects, path) = &scenarios[numbers.below(scenarios.len())];
        let (mut objects, mut words) = (objects.clone(), Vec::new());
        plant(&mut objects, &mut words, &mut numbers);
        name_with_words(&mut objects, &mut numbers);
        let mut files = with_logs(path, form(numbers.below(4), &objects));
        for log in files.iter_mut().filter(|file| file.name.ends_with(".log")) {
            log.content.extend(format!("level=info msg=\"{}\"\n", written(&words[0], &mut numbers)).bytes());
        }
        let Ok(recording) = Recording::from_files(files.clone(), NAMESPACE, Timestamp::MAX) else { continue };
        let expected = verdict(recording);
        let other = other(files);
        if let Some((word, text)) = left(&other, &words) {
            let at = text.to_lowercase().find(word).unwrap_or(0);
            panic!(
                "{case} {}: {word} is left: …{}",
                scenario::name(path),
                text.get(at.saturating_sub(200)..(at + 60).min(text.len())).unwrap_or(&text)
            );
        }
        assert_eq!(verdict(read(other)), expected, "{case} {} {words:?}", scenario::name(path));
    }
}
