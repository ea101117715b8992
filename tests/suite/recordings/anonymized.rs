//! A recording with other names gets the same verdict, and none of the old names is left in it.

use jiff::Timestamp;
use longhorn_health_exporter::report::evaluate;
use longhorn_health_exporter::source::recording::anonymize::anonymize;
use longhorn_health_exporter::source::recording::{RecordedFile, Recording};
use serde_json::{Value, json};

use super::written::{file, kubectl, logs};
use crate::scenario;
use crate::scenario::files::objects;

const NAMESPACE: &str = "longhorn-system";

/// What of a report does not depend on names.
fn verdict(files: Vec<RecordedFile>) -> Vec<String> {
    let recording = Recording::from_files(files, NAMESPACE, Timestamp::MAX).unwrap();
    assert_eq!(recording.warnings, Vec::<String>::new());
    let report = evaluate(&recording.into_cluster(NAMESPACE, None)).report;
    let report: Value = serde_json::to_value(report).unwrap();
    let mut verdict = vec![format!("{} {} {}", report["status"], report["exit_code"], report["unknown"])];
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

/// Names that people gave in these clusters.
fn given(objects: &[Value]) -> Vec<String> {
    let mut names = Vec::new();
    for object in objects {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let status = &object["status"]["kubernetesStatus"];
        if object["kind"] == "Node" {
            names.push(name.to_owned());
        }
        names.extend(
            ["pvcName", "namespace"].iter().filter_map(|key| Some(status[*key].as_str()?.to_owned())),
        );
    }
    // what is shorter may be a part of another word
    names.retain(|name| name.len() > 5 && name.contains('-'));
    names
}

#[test]
fn every_scenario_gets_the_same_verdict_without_its_names() {
    for path in scenario::all() {
        let (objects, logs) = (objects(&path), logs(&path));
        let of_logs =
            logs.iter().map(|(pod, text)| file(format!("{pod}.longhorn-manager.previous.log"), text.clone()));
        let list = json!({ "apiVersion": "v1", "kind": "List", "items": objects }).to_string();
        // as kubectl writes them, and as `record` does
        for files in [kubectl(&objects), vec![file("list.json", list)]] {
            let files: Vec<_> = files.into_iter().chain(of_logs.clone()).collect();
            let expected = verdict(files.clone());
            let other = anonymize(files).unwrap();
            for (file, name) in
                other.iter().flat_map(|file| given(&objects).into_iter().map(move |name| (file, name)))
            {
                let text = String::from_utf8_lossy(&file.content);
                let mut words = text.split(|c: char| !(c.is_ascii_alphanumeric() || "-._".contains(c)));
                assert!(
                    words.all(|word| word != name),
                    "{}: {name} is left in {}",
                    scenario::name(&path),
                    file.name
                );
            }
            assert_eq!(verdict(other), expected, "{}", scenario::name(&path));
        }
    }
}
