//! docs/report.schema.json and docs/configuration.schema.json against what they describe.

use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

use jsonschema::Validator;
use longhorn_health_exporter::cli::DECLARED;
use longhorn_health_exporter::generate::settings;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample;
use serde_json::{Value, json};
use testing::evaluate;

use super::{scenario, text};

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
        let report = serde_json::to_value(evaluate(&scenario::cluster(&path)).report).unwrap();
        assert_eq!(errors(&schema, &report), Vec::<String>::new(), "{}", scenario::name(&path));
    }
}

#[test]
fn every_plan_validates_and_ends_as_it_says() {
    let schema = schema("plan.schema.json");
    let program = env!("CARGO_BIN_EXE_longhorn-health-exporter");
    for (arguments, code) in [
        (&["upgrade"][..], 1),
        (&["upgrade", "v1.9.2", "--accept", "unwell,node_packages"], 1),
        (&["upgrade", "v1.10.2"], 1),
        (&["upgrade", "v1.8.0"], 1),
        (&["drain", "--all", "--reboot"], 1),
        (&["drain", "worker-1", "--remove"], 1),
        (&["loss"], 1),
        (&["capacity"], 1),
        (&["capacity", "--volume", "900Ti"], 1),
    ] {
        let output = Command::new(program)
            .arg("plan")
            .args(arguments)
            .args(["--demo", "-o", "json"])
            .output()
            .unwrap();
        assert_eq!(
            output.status.code(),
            Some(code),
            "{arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        let plan: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(errors(&schema, &plan), Vec::<String>::new(), "plan {arguments:?}");
        assert_eq!(plan["exit_code"], json!(code));
        assert_ne!(
            errors(&schema, &mutated(&plan, "/verdict", Some(json!("perhaps")))),
            Vec::<String>::new()
        );
    }
    for wrong in
        [&["drain", "worker-99"][..], &["drain"], &["upgrade", "soon"], &["loss", "--accept", "everything"]]
    {
        let output = Command::new(program).arg("plan").args(wrong).arg("--demo").output().unwrap();
        assert!(matches!(output.status.code(), Some(64)), "{wrong:?}: {:?}", output.status);
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
    for (pointer, value) in [
        ("/schema", Some(json!("v2"))),
        ("/status", Some(json!("healthy"))),
        ("/status", Some(json!("perhaps"))),
        ("/verdict", Some(json!("findings"))),
        ("/findings", Some(json!([]))),
        ("/unknown", None),
        ("/more", Some(json!(1))),
        ("/cluster/now", Some(json!("yesterday"))),
        ("/cluster/nodes", Some(json!(-1))),
        ("/cluster/recorded", None),
        ("/cluster/volumes_by_robustness/broken", Some(json!(0))),
        ("/cluster/volumes_by_robustness/healthy", None),
        ("/findings/0/check", None),
        ("/findings/0/cause", None),
        ("/findings/0/severity", Some(json!("fatal"))),
        ("/findings/0/runbook", Some(json!(1))),
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
    let some = DECLARED.alerts().find(|alert| !alert.thresholds.is_empty()).unwrap();
    let (alert, threshold) = (some.name, some.thresholds[0].name);
    let cases = [
        (true, String::new()),
        (true, "labels:".to_owned()),
        (false, "labels: {team: 0}".to_owned()),
        (true, "labels: {team: '0'}".to_owned()),
        (true, "selector: {job: x, namespace: y}".to_owned()),
        (false, "selector: {a-b: x}".to_owned()),
        (false, "selector: {}".to_owned()),
        (false, "selector: [job]".to_owned()),
        (false, "selector: {job: 'a\"b'}".to_owned()),
        (true, format!("alerts: {{{alert}: {{for: 1h30m, thresholds: {{{threshold}: 7}}}}}}")),
        (false, "clusterlabel: x".to_owned()),
        (false, "labels: [a]".to_owned()),
        (false, "alerts: {made_up: {}}".to_owned()),
        (false, format!("alerts: {{{alert}: {{enabled: maybe}}}}")),
        (false, format!("alerts: {{{alert}: {{enabled: 'true'}}}}")),
        (false, format!("alerts: {{{alert}: {{thresholds: {{{threshold}: '7'}}}}}}")),
        (
            true,
            format!("alerts: {{{alert}: {{enabled: null, severity: null, thresholds: null, labels: null}}}}"),
        ),
    ];
    for (accepted, yaml) in cases {
        // as editors read it: `y` is text
        let options = serde_yaml::options! { strict_booleans: true };
        let value: Value = serde_yaml::from_str_with_options(&yaml, options).unwrap();
        assert_eq!(schema.is_valid(&value), accepted, "schema: {yaml}");
        assert_eq!(settings::parse(&DECLARED, "c.yaml", &yaml).is_ok(), accepted, "parser: {yaml}");
    }
}

/// What Prometheus, Kubernetes and Grafana take, and what they do not, under each key.
const VALUES: [(&str, &[&str], &[&str]); 9] = [
    (
        "selector",
        &["longhorn-health-exporter", "storage/lhe", "job=x", "a b"],
        &["", r#"job="x""#, "job='x'", r"a\b", "a`b", "a\nb"],
    ),
    ("namespace", &["longhorn-system", "1", "a"], &["", "Storage", "a_b", "a.b", "-a", "a-", "a\nb"]),
    ("cluster_label", &["", "k8s_cluster", "_a"], &["9a", "a-b", "__a", "ä"]),
    (
        "runbook_base_url",
        &[
            "https://example.org", "http://localhost:8080/a/b/", "https://[::1]/x%20y",
            "https://a.b/blob/main/x",
        ],
        &[
            "", "runbooks", "ftp://x", "https://", "https://x y", "https://x/?a", "https://x/#a",
            "https://x/{{ a }}", "https://x/$a", "https://x/%zz", "javascript:x",
        ],
    ),
    (
        "for",
        &["0s", "10m", "1h30m", "2w", "9w99d999h9999m999999s"],
        &["", "0", "5", "soon", "1m1h", "1m1m", "-1m", "1.5m", "1 m", "10w"],
    ),
    ("keep_firing_for", &["0s", "10m"], &["", "1ms", "m"]),
    ("severity", &["info", "warning", "critical"], &["", "Critical", "page"]),
    (
        "labels.team",
        &["", "storage team", "a{b}c", "a: b # c", "\"'", "$labels"],
        &["{{ $value }}", "{{", "a\nb", "\0"],
    ),
    ("thresholds.restarts", &["0", "2.5", "1e9"], &["many", "true", "null"]),
];

/// A file with one value under one key, as JSON, which is YAML.
fn file(key: &str, value: Value) -> Value {
    const ALERT: &str = "LonghornManagerHighRestarts";
    let nested = |key: &str| match key.split_once('.') {
        Some((above, below)) => json!({ above: { below: value.clone() } }),
        None => json!({ key: value.clone() }),
    };
    match key {
        "for" | "keep_firing_for" | "severity" | "thresholds.restarts" => {
            json!({ "alerts": { ALERT: nested(key) } })
        }
        key => nested(key),
    }
}

/// A number where one is meant.
fn value(key: &str, text: &str) -> Value {
    let number = if key.starts_with("thresholds") { serde_json::from_str(text).ok() } else { None };
    number.unwrap_or_else(|| json!(text))
}

#[test]
fn schema_and_parser_know_the_same_values() {
    let schema = schema("configuration.schema.json");
    for (key, legal, illegal) in VALUES {
        let cases = legal.iter().map(|text| (true, text)).chain(illegal.iter().map(|text| (false, text)));
        for (accepted, text) in cases {
            let file = file(key, value(key, text));
            assert_eq!(schema.is_valid(&file), accepted, "schema: {file}");
            let parsed = settings::parse(&DECLARED, "c.yaml", &file.to_string());
            assert_eq!(parsed.is_ok(), accepted, "parser: {file} {parsed:?}");
        }
    }
    for name in ["a-b", "9a", "__a", ""] {
        let file = json!({ "labels": { name: "x" } });
        assert!(
            !schema.is_valid(&file) && settings::parse(&DECLARED, "c.yaml", &file.to_string()).is_err(),
            "{file}"
        );
    }
}

/// What takes more than one key or the list of checks, which the schema does not repeat: the parser alone refuses it.
#[test]
fn only_the_parser_knows_other_keys_and_declared_names() {
    let schema = schema("configuration.schema.json");
    let label = "say cluster_label: ''";
    for (file, said) in [
        (json!({ "selector": { "cluster": "x" } }), label),
        (json!({ "labels": { "cluster": "the label of clusters" } }), label),
        (json!({ "alerts": { "LonghornDrainBlocked": { "labels": { "cluster": "x" } } } }), label),
        (json!({ "selector": { "pod": "x" } }), "none that differs between series"),
        (json!({ "labels": { "severity": "x" } }), "choose another name"),
        (json!({ "labels": { "node": "x" } }), "choose another name"),
        (json!({ "cluster_label": "job" }), "cannot distinguish clusters"),
        (json!({ "cluster_label": "pod" }), "cannot distinguish clusters"),
        (json!({ "cluster_label": "alertname" }), "cannot distinguish clusters"),
        (json!({ "alerts": { "LonghornMadeUp": {} } }), "unknown alert"),
        (
            json!({ "alerts": { "LonghornManagerHighRestarts": { "thresholds": { "x": 1 } } } }),
            "unknown threshold",
        ),
    ] {
        assert!(schema.is_valid(&file), "{file}");
        let error = settings::parse(&DECLARED, "c.yaml", &file.to_string()).unwrap_err();
        assert!(error.message.contains(said), "{error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Values made of those above and of their pieces, also under keys that want another.
    #[test]
    fn schema_and_parser_agree_on_whatever_is_written(
        files in vec((sample::select(&KEYS[..]), pieces(), any::<bool>()), 8)
    ) {
        static SCHEMA: LazyLock<Validator> = LazyLock::new(|| schema("configuration.schema.json"));
        for (key, text, as_number) in files {
            let file = file(key, if as_number { value("thresholds", &text) } else { json!(text) });
            let parsed = settings::parse(&DECLARED, "c.yaml", &file.to_string());
            // a random label may be one of the exporter's, a random number beyond what its alert declares
            let declared = ["another meaning", "expected a number of restarts"];
            let says = |said: &&str| parsed.as_ref().is_err_and(|error| error.message.contains(said));
            let is_declared = declared.iter().any(says);
            prop_assert!(is_declared || SCHEMA.is_valid(&file) == parsed.is_ok(), "{file} {parsed:?}");
        }
    }
}

const KEYS: [&str; 9] = [
    "selector", "namespace", "cluster_label", "runbook_base_url", "for", "severity", "labels.team",
    "labels.a-b", "thresholds.restarts",
];

fn pieces() -> impl Strategy<Value = String> {
    let whole: Vec<String> = VALUES
        .iter()
        .flat_map(|(_, legal, illegal)| legal.iter().chain(*illegal))
        .map(|text| (*text).to_owned())
        .collect();
    let piece = prop_oneof![
        sample::select(whole),
        "[a-z0-9_.:/=\"'{}\\\\, -]{0,6}",
        "[0-9]{1,6}[smhdw]",
        any::<char>().prop_filter("YAML has it", |c| !c.is_control()).prop_map(String::from),
    ];
    vec(piece, 1..3).prop_map(|pieces| pieces.concat())
}
