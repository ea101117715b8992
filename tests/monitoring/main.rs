//! What arrives: the demo cluster through two exporters, a real Prometheus with our rules and a real
//! Alertmanager with the example configuration.
//!
//! The rules are made with `generate rules --config` and `for: 0s`, so that seconds are enough.

#![allow(clippy::disallowed_methods, reason = "a test of real servers goes by the clock")]

#[path = "../support/built.rs"]
mod built;
mod nights;
#[path = "../support/scenario.rs"]
mod scenario;
#[path = "../support/stack.rs"]
mod stack;
mod victoria;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use longhorn_health_exporter::exporter::INHIBITOR;
use longhorn_health_exporter::generate::alertmanager::EXPORTER_DOWN;
use longhorn_health_exporter::generate::rules;
use serde_json::{Value, json};

use stack::{Address, Server, wait};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Labels by which two exporter pods differ; an alert with one of them would be there twice.
const OF_A_POD: [&str; 5] = ["instance", "pod", "container", "endpoint", "service"];

struct Stack {
    directory: tempfile::TempDir,
    exporters: Vec<Server>,
    prometheus: Server,
    alertmanager: Server,
}

/// Causes without an alert of their own: the one on what they always come with tells of them.
const TOLD_WITH_ANOTHER: [&str; 1] = ["shim_disconnected"];

type Labels = BTreeMap<String, String>;

#[derive(Debug, Clone)]
struct Alert {
    labels: Labels,
    annotations: Labels,
}

impl Alert {
    fn label(&self, name: &str) -> &str {
        self.labels.get(name).map_or("", String::as_str)
    }

    fn name(&self) -> &str {
        self.label("alertname")
    }
}

impl Stack {
    /// The example configuration without the inhibitions by relation, which tests/monitoring/nights.rs looks at.
    fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let example = Path::new(ROOT).join("rules/alertmanager.example.yaml");
        let mut config: Value = serde_yaml::from_str(&std::fs::read_to_string(example).unwrap()).unwrap();
        let is_general = |rule: &Value| !rule["source_matchers"].to_string().contains(INHIBITOR);
        config["inhibit_rules"].as_array_mut().unwrap().retain(is_general);
        let file = directory.path().join("alertmanager.yaml");
        std::fs::write(&file, config.to_string()).unwrap();
        Stack::of(directory, &["--demo"], &file)
    }

    /// Two exporters with these options, and this configuration of Alertmanager.
    fn of(directory: tempfile::TempDir, options: &[&str], alertmanager: &Path) -> Self {
        Stack::with_rules(directory, options, alertmanager, rules::DEFAULT)
    }

    /// The same with another rule file.
    fn with_rules(directory: tempfile::TempDir, options: &[&str], alertmanager: &Path, rules: &str) -> Self {
        let path = directory.path();
        let default = stack::impatient_rules(path);
        let rules = default.with_file_name(Path::new(rules).file_name().unwrap());
        let alertmanager = stack::alertmanager(path, alertmanager);
        let exporters: Vec<Server> = [(); 2].map(|()| stack::exporter(path, options, Address::free())).into();
        let config = config(&rules, &exporters, &alertmanager);
        let prometheus = stack::prometheus(path, &config);
        let stack = Stack { directory, exporters, prometheus, alertmanager };
        stack.wait_until_scraped(2);
        stack
    }

    /// Waits until this many exporters answer and the rules and Alertmanager know.
    fn wait_until_scraped(&self, exporters: usize) {
        let expr = "count(up{job=\"longhorn-health-exporter\"} == 1) or vector(0)";
        wait("the exporters to be scraped", || {
            let found = self.prometheus.query(expr)?;
            let number = found.first().map(|sample| sample["value"][1].clone());
            if number == Some(json!(exporters.to_string())) { Ok(()) } else { Err(format!("{number:?}")) }
        });
        self.prometheus.wait_for_rules();
        wait("Alertmanager to have what Prometheus has", || {
            let of_prometheus = self.prometheus.address.json("/api/v1/alerts")?;
            let of_prometheus: BTreeSet<_> = list(&of_prometheus["data"]["alerts"])
                .iter()
                .map(|alert| name_and_object(&labels(alert)))
                .collect();
            let of_alertmanager: BTreeSet<_> =
                self.alerts("").iter().map(|alert| name_and_object(&alert.labels)).collect();
            if of_prometheus == of_alertmanager {
                Ok(())
            } else {
                Err(format!("{of_prometheus:?}\n{of_alertmanager:?}"))
            }
        });
    }

    /// Alerts that Alertmanager has, filtered as its API does.
    fn alerts(&self, filter: &str) -> Vec<Alert> {
        let answer = self.alertmanager.address.json(&format!("/api/v2/alerts?{filter}")).unwrap();
        let alert =
            |value: &Value| Alert { labels: labels(value), annotations: texts(&value["annotations"]) };
        list(&answer).iter().map(alert).collect()
    }

    /// Alerts that are muted, and those that would reach someone.
    fn muted_and_heard(&self) -> (Vec<Alert>, Vec<Alert>) {
        (self.alerts("active=false&inhibited=true"), self.alerts("active=true&inhibited=false"))
    }

    /// Waits until exactly the alerts for which `muted` holds are muted.
    fn wait_for_muted(&self, what: &str, muted: impl Fn(&Alert) -> bool) {
        self.wait_for_so_many_muted(what, 0, muted);
    }

    /// The same, and at least so many: on a busy machine an alert may be away for a moment before Prometheus sends it again.
    fn wait_for_so_many_muted(&self, what: &str, least: usize, muted: impl Fn(&Alert) -> bool) {
        wait(what, || {
            let (silent, heard) = self.muted_and_heard();
            let wrong: Vec<_> = silent.iter().filter(|alert| !muted(alert)).collect();
            let missing: Vec<_> = heard.iter().filter(|alert| muted(alert)).collect();
            if wrong.is_empty() && missing.is_empty() {
                let enough = silent.len() >= least;
                return if enough { Ok(()) } else { Err(format!("{} of at least {least}", silent.len())) };
            }
            Err(format!("muted but should not be: {wrong:#?}\nheard but should not be: {missing:#?}"))
        })
    }

    /// Sends an alert of someone else, or its end.
    fn send(&self, labels: &Value, firing: bool) {
        let now = stack::now();
        let hour = jiff::SignedDuration::from_hours(1);
        let ends = if firing { now + hour } else { now };
        let alert =
            json!([{ "labels": labels, "startsAt": (now - hour).to_string(), "endsAt": ends.to_string() }]);
        self.alertmanager.address.post("/api/v2/alerts", &alert).unwrap();
    }
}

fn config(rules: &Path, exporters: &[Server], alertmanager: &Server) -> String {
    let mut targets = Vec::new();
    for (number, exporter) in exporters.iter().enumerate() {
        let pod = format!("longhorn-health-exporter-{number}");
        targets.push(json!({
            "targets": [exporter.address.0],
            "labels": { "namespace": "monitoring", "pod": pod, "container": "exporter", "service": "x", "endpoint": "http" },
        }));
    }
    // JSON is YAML
    let config = json!({
        "global": {
            "scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s",
            "external_labels": { "cluster": "demo" },
        },
        "rule_files": [rules],
        "alerting": { "alertmanagers": [{ "static_configs": [{ "targets": [alertmanager.address.0] }] }] },
        "scrape_configs": [{ "job_name": "longhorn-health-exporter", "static_configs": targets }],
    });
    config.to_string()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn texts(value: &Value) -> Labels {
    serde_json::from_value(value.clone()).unwrap()
}

fn labels(alert: &Value) -> Labels {
    texts(&alert["labels"])
}

/// What tells alerts apart, without the external labels that only Alertmanager sees.
fn name_and_object(labels: &Labels) -> Labels {
    let mut labels = labels.clone();
    labels.remove("cluster");
    labels
}

/// How often each alert fires.
fn counted(alerts: &[Alert]) -> BTreeMap<String, usize> {
    let mut counted = BTreeMap::new();
    alerts.iter().for_each(|alert| *counted.entry(alert.name().to_owned()).or_default() += 1);
    counted
}

#[test]
fn the_demo_raises_exactly_its_alerts_with_complete_texts() {
    let stack = Stack::start();
    let alerts = stack.alerts("");
    let file = Path::new(ROOT).join("tests/monitoring/demo.alerts.yaml");
    // those that only mute follow an evaluation later; nights.rs looks at them
    let counted = |alerts: &[Alert]| {
        let mut counted = counted(alerts);
        counted.remove(INHIBITOR);
        counted
    };
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        let header = "# Alerts that the demo cluster raises, and for how many objects each.\n";
        let lines = counted(&alerts).into_iter().map(|(alert, number)| format!("{alert}: {number}\n"));
        std::fs::write(&file, format!("{header}{}", lines.collect::<String>())).unwrap();
    }
    let expected: BTreeMap<String, usize> =
        serde_yaml::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    assert_eq!(counted(&alerts), expected);
    for alert in &alerts {
        assert_eq!(alert.label("cluster"), "demo", "{alert:#?}");
        assert!(OF_A_POD.iter().all(|label| alert.label(label).is_empty()), "{alert:#?}");
        assert_complete(alert);
    }
    assert_every_finding_is_told(&alerts);
}

/// Nothing is left of a template, nor a gap where a label is missing.
fn assert_complete(alert: &Alert) {
    for (name, text) in &alert.annotations {
        for hole in ["<no value>", "<error", "%!", "{{", "}}", "$labels", "  ", " .", " ,", "()", "``", "//."]
        {
            assert!(!text.contains(hole), "{hole:?} in {name} of {alert:#?}");
        }
        assert_eq!(text.trim(), text, "{name} of {alert:#?}");
    }
    assert!(alert.annotations["summary"].ends_with('.'), "{alert:#?}");
    // all that a lock screen shows
    let place = ["pvc", "node", "object", "setting"].map(|label| alert.label(label));
    let named = place.iter().find(|value| !value.is_empty());
    let names = |named: &&str| alert.annotations["summary"].contains(named);
    assert!(alert.name() == INHIBITOR || named.is_none_or(names), "{alert:#?}");
    if !alert.label("check").is_empty() && alert.name() != INHIBITOR {
        assert!(alert.annotations["description"].contains("/longhorn-health-exporter check"), "{alert:#?}");
    }
    // a text that does not say where helps no one
    let (node, text) = (alert.label("node"), &alert.annotations["description"]);
    assert!(text.contains(node), "{node} is not in {alert:#?}");
    let runbook = Path::new(ROOT).join("docs/runbooks").join(format!("{}.md", alert.name()));
    assert!(runbook.exists(), "{alert:#?}");
}

/// What `check` calls critical or a warning has its alert, for that node or object.
fn assert_every_finding_is_told(alerts: &[Alert]) {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_longhorn-health-exporter"))
        .args(["check", "--demo", "-o", "json"])
        .output()
        .unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut told = 0;
    for finding in list(&report["findings"]).iter().filter(|finding| finding["severity"] != "info") {
        let is_about = |alert: &&Alert| {
            let same =
                |label: &str, value: &Value| alert.label(label).is_empty() || value == alert.label(label);
            finding["runbook"] == alert.name()
                && same("object", &finding["object"]["name"])
                && (finding["node"].is_null() || same("node", &finding["node"]))
                && (same("cause", &finding["cause"])
                    || TOLD_WITH_ANOTHER.iter().any(|cause| finding["cause"] == *cause))
        };
        assert!(alerts.iter().any(|alert| is_about(&alert)), "no alert says {finding:#}");
        told += 1;
    }
    assert!(told >= 10, "only {told} findings in the demo");
}

#[test]
fn inhibitions_mute_while_their_source_fires_and_no_longer() {
    let mut stack = Stack::start();
    let nothing = |_: &Alert| false;
    stack.wait_for_muted("nothing to be muted at first", nothing);

    // a node that is down
    let node = json!({ "alertname": "KubeNodeNotReady", "node": "worker-2", "cluster": "demo", "severity": "warning" });
    stack.send(&node, true);
    let ours = |alert: &Alert| alert.name().starts_with("Longhorn");
    stack.wait_for_so_many_muted("the node to mute its findings", 3, |alert| {
        ours(alert) && alert.label("node") == "worker-2"
    });
    stack.send(&node, false);
    stack.wait_for_muted("the node's findings to be heard again", nothing);

    // the node of the same name in another cluster
    let mut elsewhere = node;
    elsewhere["cluster"] = json!("other");
    stack.send(&elsewhere, true);
    wait("Alertmanager to have the other cluster's alert", || {
        let there = stack.alerts("").iter().any(|alert| alert.label("cluster") == "other");
        if there { Ok(()) } else { Err("not yet".to_owned()) }
    });
    stack.wait_for_muted("the other cluster to mute nothing here", nothing);
    stack.send(&elsewhere, false);

    critical_mutes_its_twin(&stack);
    exporter_down_mutes_the_rest(&mut stack);
}

fn critical_mutes_its_twin(stack: &Stack) {
    // of the same check, about the same object
    let is_warning =
        |alert: &&Alert| alert.label("severity") == "warning" && !alert.label("object").is_empty();
    let alerts = stack.alerts("");
    let warning = alerts.iter().find(is_warning).unwrap();
    let mut twin = warning.labels.clone();
    twin.insert("alertname".to_owned(), "LonghornCriticalTwin".to_owned());
    twin.insert("severity".to_owned(), "critical".to_owned());
    stack.send(&json!(twin), true);
    let same = |alert: &Alert| {
        let about = ["check", "object_kind", "object"];
        alert.label("severity") == "warning"
            && about.iter().all(|label| alert.label(label) == warning.label(label))
    };
    stack.wait_for_so_many_muted("the critical alert to mute its warning", 1, same);
    stack.send(&json!(twin), false);
    stack.wait_for_muted("the warning to be heard again", |_| false);

    // many restarts beside the crash loop of the same manager
    let restarts = json!({
        "alertname": "LonghornManagerHighRestarts", "severity": "warning", "node": "worker-3", "cluster": "demo",
        "namespace": "monitoring", "job": "longhorn-health-exporter",
    });
    stack.send(&restarts, true);
    let muted = |alert: &Alert| alert.name() == "LonghornManagerHighRestarts";
    stack.wait_for_so_many_muted("the crash loop to mute its restarts", 1, muted);
    stack.send(&restarts, false);
    stack.wait_for_muted("nothing to be muted", |_| false);
}

fn exporter_down_mutes_the_rest(stack: &mut Stack) {
    // what only mutes others ends with the series
    let before = stack.alerts("").iter().filter(|alert| alert.name() != INHIBITOR).count();
    let addresses: Vec<_> = stack.exporters.drain(..).map(|exporter| exporter.address.clone()).collect();
    stack.wait_until_scraped(0);
    // keep_firing_for: Prometheus goes on with what it last knew
    stack.wait_for_so_many_muted("the exporter's absence to mute the rest", before, |alert| {
        alert.name() != EXPORTER_DOWN
    });
    assert_eq!(counted(&stack.muted_and_heard().1), BTreeMap::from([(EXPORTER_DOWN.to_owned(), 1)]));

    let directory = stack.directory.path().to_owned();
    stack.exporters =
        addresses.into_iter().map(|address| stack::exporter(&directory, &["--demo"], address)).collect();
    stack.wait_until_scraped(2);
    stack.wait_for_muted("the findings to be heard again", |_| false);
    assert!(!counted(&stack.alerts("")).contains_key(EXPORTER_DOWN));
}
