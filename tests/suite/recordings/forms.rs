//! The report is the same whichever tool wrote the recording.

use jiff::Timestamp;
use longhorn_health_exporter::source::recording::{RecordedFile, Recording};
use serde_json::{Value, json};
use testing::evaluate;

use super::written::{bundle, file, kubectl, logs};
use crate::scenario;
use crate::scenario::files::objects;

const NAMESPACE: &str = "longhorn-system";

fn report(files: Vec<RecordedFile>) -> Value {
    let recording = Recording::from_files(files, NAMESPACE, Timestamp::MAX).unwrap();
    assert_eq!(recording.warnings, Vec::<String>::new());
    serde_json::to_value(evaluate(&recording.into_cluster(NAMESPACE, None)).report).unwrap()
}

/// Lines with something before each, and with the end of Windows.
fn headed(text: &str, head: &str) -> String {
    text.lines().map(|line| format!("{head}{line}\r\n")).collect()
}

#[test]
fn every_form_of_a_scenario_gives_the_same_report() {
    for path in scenario::all() {
        let (objects, logs) = (objects(&path), logs(&path));
        let with = |mut files: Vec<RecordedFile>, name: fn(&str) -> String, head: fn(&str) -> String| {
            files.extend(logs.iter().map(|(pod, text)| file(name(pod), headed(text, &head(pod)))));
            report(files)
        };
        let expected: Value = serde_json::to_value(evaluate(&scenario::cluster(&path)).report).unwrap();
        let list = json!({ "apiVersion": "v1", "kind": "List", "items": objects }).to_string();
        let previous = |pod: &str| format!("{pod}.longhorn-manager.previous.log");
        let forms = [
            (
                "JSON",
                with(vec![file("list.json", list)], previous, |_| {
                    "2026-03-01T03:00:00.123+01:00 ".to_owned()
                }),
            ),
            (
                "YAML of kubectl",
                with(kubectl(&objects), previous, |pod| format!("[pod/{pod}/longhorn-manager] ")),
            ),
            (
                "support bundle",
                with(
                    bundle(&objects),
                    |pod| format!("bundle/logs/{NAMESPACE}/{pod}/longhorn-manager.log.1"),
                    |_| "2026-03-01T02:00:00.5Z stderr F ".to_owned(),
                ),
            ),
            (
                "one file an object",
                with(
                    objects
                        .iter()
                        .enumerate()
                        .map(|(at, one)| file(format!("{at}.json"), one.to_string()))
                        .collect(),
                    |pod| format!("{pod}/longhorn-manager-previous.log"),
                    |_| String::new(),
                ),
            ),
        ];
        for (form, found) in forms {
            assert_eq!(found, expected, "{} as {form}", scenario::name(&path));
        }
    }
}
