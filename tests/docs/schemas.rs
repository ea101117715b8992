//! docs/report.schema.json and docs/configuration.schema.json against what they describe.

use std::path::Path;
use std::process::Command;

use jsonschema::Validator;
use longhorn_health_exporter::generate::{catalogue, config};
use serde_json::{Value, json};

use super::{root, scenario, text};

fn schema(name: &str) -> Validator {
    let schema = serde_json::from_str(&text(&Path::new("docs").join(name))).unwrap();
    jsonschema::draft202012::meta::validate(&schema).unwrap();
    jsonschema::draft202012::options().should_validate_formats(true).build(&schema).unwrap()
}

fn errors(schema: &Validator, value: &Value) -> Vec<String> {
    schema.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

fn demo() -> Value {
    let program = env!("CARGO_BIN_EXE_longhorn-health-exporter");
    let output = Command::new(program).args(["check", "--demo", "-o", "json"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "the demo has findings");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn every_report_validates() {
    let schema = schema("report.schema.json");
    assert_eq!(errors(&schema, &demo()), Vec::<String>::new(), "check --demo -o json");
    for path in scenario::all() {
        let golden: Value =
            serde_json::from_str(&std::fs::read_to_string(path.join("expected.json")).unwrap()).unwrap();
        assert_eq!(errors(&schema, &golden), Vec::<String>::new(), "{}", scenario::name(&path));
    }
}

/// Sets what is at a JSON pointer, or removes it.
fn mutated(report: &Value, pointer: &str, value: Option<Value>) -> Value {
    let mut report = report.clone();
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    let parent = report.pointer_mut(parent).unwrap().as_object_mut().unwrap();
    match value {
        Some(value) => parent.insert(key.to_owned(), value),
        None => Some(parent.remove(key).expect("there is something to remove")),
    };
    report
}

#[test]
fn the_schema_refuses_reports_that_are_wrong() {
    let schema = schema("report.schema.json");
    let report = demo();
    let other =
        if report["findings"][0]["check"] == "danger_zone_pending" { "node_gone" } else { "priority_class" };
    for (pointer, value) in [
        ("/schema", Some(json!("v2"))),
        ("/verdict", Some(json!("healthy"))),
        ("/verdict", Some(json!("unknown"))),
        ("/findings", Some(json!([]))),
        ("/unknown", None),
        ("/more", Some(json!(1))),
        ("/cluster/now", Some(json!("yesterday"))),
        ("/cluster/nodes", Some(json!(-1))),
        ("/cluster/recorded", None),
        ("/cluster/volumes_by_robustness/broken", Some(json!(0))),
        ("/cluster/volumes_by_robustness/healthy", None),
        ("/findings/0/check", Some(json!("made_up"))),
        ("/findings/0/cause", Some(json!("made_up"))),
        ("/findings/0/cause", Some(json!(other))),
        ("/findings/0/severity", Some(json!("fatal"))),
        ("/findings/0/runbook", Some(json!("LonghornMadeUp"))),
        ("/findings/0/message", None),
        ("/findings/0/object/kind", None),
        ("/findings/0/object/uid", Some(json!("x"))),
        ("/findings/0/since", Some(json!("yesterday"))),
        ("/findings/0/evidence/0/source", Some(json!("guess"))),
        ("/findings/0/remedy/commands/0/changes", Some(json!("no"))),
        ("/resources/0/state", Some(json!("fine"))),
        ("/resources/0/resource", Some(json!("secrets"))),
        ("/not_recorded", Some(json!(["secrets"]))),
    ] {
        let mutated = mutated(&report, pointer, value.clone());
        assert!(!schema.is_valid(&mutated), "{pointer} = {value:?} is accepted");
    }
}

/// The schema of the configuration file accepts what the parser accepts, and refuses the rest.
#[test]
fn schema_and_parser_of_the_configuration_agree() {
    let schema = schema("configuration.schema.json");
    let some = catalogue::alerts().find(|alert| !alert.thresholds.is_empty()).unwrap();
    let (alert, threshold) = (some.name, some.thresholds[0].name);
    let example = std::fs::read_to_string(root().join("docs/configuration.example.yaml")).unwrap();
    let cases = [
        (true, example),
        (true, String::new()),
        (true, "selector: 'job=\"x\", namespace=\"y\"'".to_owned()),
        (true, format!("alerts: {{{alert}: {{for: 1h30m, thresholds: {{{threshold}: 7}}}}}}")),
        (false, "selector: '{job=\"x\"}'".to_owned()),
        (false, "selector: ''".to_owned()),
        (false, "clusterlabel: x".to_owned()),
        (false, "labels: [a]".to_owned()),
        (false, "labels: {a: 1}".to_owned()),
        (false, "alerts: {LonghornMadeUp: {}}".to_owned()),
        (false, format!("alerts: {{{alert}: {{severity: fatal}}}}")),
        (false, format!("alerts: {{{alert}: {{enabled: maybe}}}}")),
        (false, format!("alerts: {{{alert}: {{for: soon}}}}")),
        (false, format!("alerts: {{{alert}: {{for: ''}}}}")),
        (false, format!("alerts: {{{alert}: {{thresholds: {{made_up: 1}}}}}}")),
        (false, format!("alerts: {{{alert}: {{thresholds: {{{threshold}: many}}}}}}")),
    ];
    for (accepted, yaml) in cases {
        let value: Value = if yaml.is_empty() { Value::Null } else { serde_yaml::from_str(&yaml).unwrap() };
        assert_eq!(schema.is_valid(&value), accepted, "schema: {yaml}");
        assert_eq!(config::parse("c.yaml", &yaml).is_ok(), accepted, "parser: {yaml}");
    }
}
