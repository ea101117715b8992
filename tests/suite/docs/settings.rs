//! What the configuration of `generate` refuses, where, and with which words.

use longhorn_health_exporter::check::{Alert, Severity};
use longhorn_health_exporter::cli::DECLARED;
use longhorn_health_exporter::generate::settings::{Settings, parse};

fn declared(name: &str) -> &'static Alert {
    DECLARED.alerts().find(|alert| alert.name == name).unwrap()
}

fn error(text: &str) -> String {
    parse(&DECLARED, "c.yaml", text).unwrap_err().to_string()
}

#[test]
fn nothing_said_is_the_default() {
    assert_eq!(parse(&DECLARED, "c.yaml", "").unwrap(), Settings::of(&DECLARED));
    assert_eq!(parse(&DECLARED, "c.yaml", "# only a comment\n").unwrap(), Settings::of(&DECLARED));
}

#[test]
fn what_is_said_is_set() {
    let settings = parse(
        &DECLARED,
        "c.yaml",
        "selector: {job: x, namespace: y}\ncluster_label: ''\nlabels: {team: storage}\nalerts:\n  \
         LonghornManagerHighRestarts: {for: 10m, severity: critical, thresholds: {restarts: 5}}\n  \
         LonghornHealthAccessDenied: {enabled: false}\n",
    )
    .unwrap();
    let alert = |name| settings.alert(declared(name));
    let restarts = alert("LonghornManagerHighRestarts");
    assert_eq!((restarts.for_.as_str(), restarts.severity), ("10m", Severity::Critical));
    assert_eq!(restarts.thresholds["restarts"], 5.0);
    assert!(!alert("LonghornHealthAccessDenied").enabled);
    assert_eq!(
        (settings.matchers().as_str(), settings.cluster_label.as_str()),
        ("job=\"x\", namespace=\"y\"", "")
    );
    let labels: Vec<_> =
        settings.labels.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(labels, [("team", "storage")]);
}

const RESTARTS: &str = "alerts.LonghornManagerHighRestarts";

/// An entry of the alert about restarts.
fn restarts(entry: &str) -> String {
    format!("alerts:\n  LonghornManagerHighRestarts: {{{entry}}}")
}

#[test]
fn unknown_names_are_told_with_the_one_that_was_meant() {
    for (text, expected) in [
        ("labels: {}\nalert: {}\n", "2: alert: unknown key; did you mean alerts?"),
        (
            "alerts:\n  LonghornManagerHighRestart: {}\n",
            "2: alerts.LonghornManagerHighRestart: unknown alert; did you mean LonghornManagerHighRestarts?",
        ),
        (
            &restarts("thresholds: {restart: 1}"),
            "2: alerts.LonghornManagerHighRestarts.thresholds.restart: unknown threshold; did you mean restarts?",
        ),
        (&restarts("fro: 1m"), "2: alerts.LonghornManagerHighRestarts.fro: unknown key; did you mean for?"),
        (
            "zzz: 1",
            "1: zzz: unknown key; valid: selector, namespace, cluster_label, expected_clusters, longhorn_release, runbook_base_url, dashboard_base_url, labels, alerts",
        ),
        (
            "alerts: {LonghornVolumeFaulted: {thresholds: {x: 1}}}",
            "1: alerts.LonghornVolumeFaulted.thresholds.x: unknown threshold; no names are valid here",
        ),
        (
            "\"a\\nb\": 1",
            "1: a\u{fffd}b: unknown key; valid: selector, namespace, cluster_label, expected_clusters, longhorn_release, runbook_base_url, dashboard_base_url, labels, alerts",
        ),
    ] {
        assert_eq!(error(text), format!("c.yaml:{expected}"));
    }
    let far = error("alerts: {Nothing: {}}");
    assert!(far.contains("alerts.Nothing: unknown alert; no similar name among the "), "{far}");
}

#[test]
fn values_are_refused_with_the_path_of_their_key() {
    let too_long = format!("namespace: {}", "a".repeat(64));
    for (text, path, said) in [
        ("labels: []", "labels", "expected keys with values"),
        ("1: x", "", "expected text, found 1; if"),
        ("labels: {a: {{ x }}}", "labels.a", "expected a string"),
        ("labels: {a: x, a: y}", "labels", "duplicate key a"),
        ("labels: {a: '{{ $value }}'}", "labels.a", "without the {{ of a template, found \"{{ $value }}\""),
        ("labels: {a-b: x}", "labels.a-b", "expected the name of a label"),
        ("labels: {__a: x}", "labels.__a", "expected the name of a label"),
        ("labels: {severity: x}", "labels.severity", "alerts already have; choose another name"),
        ("labels: {node: x}", "labels.node", "alerts already have; choose another name"),
        ("labels: {cluster: x}", "labels.cluster", "to set it here, say cluster_label: ''"),
        ("cluster_label: 9a", "cluster_label", "expected the name of a label"),
        ("cluster_label: pod", "cluster_label", "pod cannot distinguish clusters"),
        ("namespace: {a: b}", "namespace", "expected a namespace"),
        ("namespace: Storage", "namespace", "found \"Storage\""),
        (&too_long, "namespace", "expected a namespace: at most 63"),
        ("runbook_base_url: runbooks", "runbook_base_url", "expected an address such as"),
        ("runbook_base_url: 'https://x/?a=b'", "runbook_base_url", "without query"),
        ("selector: ''", "selector", "expected the exporter's job name, or labels"),
        ("selector: 'job=\"x\"'", "selector", "such as {job: x, namespace: y}"),
        ("selector: [x]", "selector", "expected the exporter's job name, or labels"),
        ("selector: {}", "selector", "found no labels"),
        ("selector: {pod: x}", "selector", "none that differs between series"),
        ("selector: {job: 'a\"b'}", "selector", "expected the exporter's job name"),
        ("selector: {cluster: x}", "selector", "to select by it, say cluster_label: ''"),
        (
            &restarts("for: soon"),
            "for",
            "such as 10m, 1h30m or 0s: at most 9w, 99d, 999h, 9999m and 999999s, in this order, found \"soon\"",
        ),
        (&restarts("for: 1m1h"), "for", "in this order"),
        (&restarts("for: 5"), "for", "expected a duration such as 10m"),
        ("labels: {team: 0}", "labels.team", "without the {{ of a template, found 0; put it in quotes"),
        ("labels: {team: true}", "labels.team", "found true; put it in quotes"),
        (&restarts("enabled: 'true'"), "enabled", "expected true or false"),
        (&restarts("enabled: yes"), "enabled", "expected true or false"),
        (&restarts("thresholds: {restarts: '5'}"), "thresholds.restarts", "expected a number"),
        (
            &restarts("severity: fatal"),
            "severity",
            "expected one of info, warning, critical, found \"fatal\"",
        ),
        (&restarts("enabled: maybe"), "enabled", "expected true or false"),
        (&restarts("labels: {cluster: x}"), "labels.cluster", "to set it here, say cluster_label: ''"),
        (
            &restarts("thresholds: {restarts: -1}"),
            "thresholds.restarts",
            "a number of restarts from 0 to 1000000000, found -1",
        ),
        (&restarts("thresholds: {restarts: .nan}"), "thresholds.restarts", "expected a number, found .nan"),
        (&restarts("thresholds: {restarts: many}"), "thresholds.restarts", "expected a number"),
    ] {
        let error = parse(&DECLARED, "c.yaml", text).unwrap_err();
        let path = if text.starts_with("alerts") { format!("{RESTARTS}.{path}") } else { path.to_owned() };
        assert_eq!(error.path, path, "{text}: {error}");
        assert!(error.message.contains(said), "{text}: {error}");
        assert_eq!(error.to_string().lines().count(), 1, "{error}");
    }
}

#[test]
fn broken_yaml_has_a_message_for_users() {
    for (text, expected) in [
        ("labels: {\n", "1: labels: unclosed bracket '{'"),
        ("namespace: x\n---\nlabels: {}\n", "3: more than one document; a configuration is one"),
        ("labels: &x {a: *x}", "1: labels: recursive alias"),
        ("labels: *x", "1: alias without its anchor"),
        ("namespace: !!int x", "1: namespace: the value is not what its tag says"),
    ] {
        assert_eq!(error(text), format!("c.yaml:{expected}"));
    }
}

#[test]
fn nothing_below_a_key_is_no_settings() {
    let settings = parse(&DECLARED, "c.yaml", "labels:\nalerts:\n  LonghornManagerHighRestarts:\n").unwrap();
    let alert = declared("LonghornManagerHighRestarts");
    assert_eq!(settings.alert(alert), Settings::of(&DECLARED).alert(alert));
    assert_eq!(Settings { alerts: Settings::of(&DECLARED).alerts, ..settings }, Settings::of(&DECLARED));
}

#[test]
fn what_contradicts_another_key_is_told_with_its_own_line() {
    let text = "cluster_label: k8s\nalerts:\n  LonghornDrainBlocked:\n    labels: {a: b}\n  \
                LonghornManagerHighRestarts:\n    thresholds:\n      restarts: -1\n";
    assert!(error(text).starts_with("c.yaml:7: alerts.LonghornManagerHighRestarts.thresholds.restarts: "));
    let text = "labels:\n  a: b\n  k8s: c\ncluster_label: k8s\n";
    assert!(error(text).starts_with("c.yaml:3: labels.k8s: "));
}
