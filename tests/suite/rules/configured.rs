//! What `generate rules --config` makes for a user passes the same promtool as what is committed:
//! rules and cases for several configurations.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use longhorn_health_exporter::cli::DECLARED;

use super::list;
use crate::promtool::{promtools, run, with_their_own_rules, yaml};

/// What `generate rules` makes of a configuration.
struct Generated {
    _directory: tempfile::TempDir,
    rules: PathBuf,
}

impl Generated {
    fn from(config: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("config.yaml");
        std::fs::write(&file, config).unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_longhorn-health-exporter"))
            .args(["generate", "rules", "--config"])
            .args([&file, Path::new("--out"), directory.path()])
            .output()
            .unwrap();
        assert!(output.status.success(), "{config}\n{}", String::from_utf8_lossy(&output.stderr));
        let rules = directory.path().join("rules");
        Generated { _directory: directory, rules }
    }

    fn files(&self, below: &str, suffix: &str) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.rules.join(below)).unwrap().map(|entry| entry.unwrap().path());
        let mut files: Vec<_> = entries.filter(|path| path.to_string_lossy().ends_with(suffix)).collect();
        files.sort();
        files
    }

    /// Without the cases: those of a very long wait take promtool very long.
    fn load(&self) {
        for promtool in promtools() {
            let check = ["check", "rules", "--lint=all", "--lint-fatal"].map(PathBuf::from);
            run(&promtool, check.into_iter().chain(self.files("", ".rules.yaml"))).unwrap();
        }
    }

    fn pass(&self) {
        self.load();
        for promtool in promtools() {
            let (test, directory) = (["test", "rules"].map(PathBuf::from), tempfile::tempdir().unwrap());
            let cases = with_their_own_rules(&self.files("tests", ".test.yaml"), directory.path());
            run(&promtool, test.into_iter().chain(cases)).unwrap();
        }
        let example = self.rules.join("alertmanager.example.yaml");
        run(Path::new("amtool"), ["check-config".into(), example]).unwrap();
    }

    /// Rules of the exporter by name.
    fn rules(&self) -> BTreeMap<String, Value> {
        let content = yaml(&self.rules.join("longhorn-health.rules.yaml"));
        let rules = list(&content, "groups").iter().flat_map(|group| list(group, "rules"));
        let name = |rule: &Value| rule["alert"].as_str().or(rule["record"].as_str()).unwrap().to_owned();
        rules.map(|rule| (name(rule), rule.clone())).collect()
    }

    /// How many cases each alert has.
    fn cases(&self) -> BTreeMap<String, usize> {
        let mut cases = BTreeMap::new();
        for file in self.files("tests", ".test.yaml") {
            for case in list(&yaml(&file), "tests") {
                let name = case["name"].as_str().unwrap_or_default();
                let subject = name.split_once(": ").map_or(name, |(subject, _)| subject);
                *cases.entry(subject.to_owned()).or_default() += 1;
            }
        }
        cases
    }
}

const EVERYTHING: &str = r#"
selector: {job: storage/longhorn-health, namespace: monitoring}
namespace: longhorn
cluster_label: k8s_cluster
runbook_base_url: https://runbooks.example.org/longhorn/
dashboard_base_url: https://grafana.example.org/
labels: {team: storage, tier: "1"}
alerts:
  LonghornManagerHighRestarts: {thresholds: {restarts: 5}}
  LonghornInstanceManagerUnderPressure: {for: 30m, severity: warning, thresholds: {instances: 250, window: 66}}
  LonghornInstanceManagerReplaced: {thresholds: {window: 900}, keep_firing_for: 15m}
  LonghornManagerCrashLoopBackOff: {for: 90s, severity: warning, labels: {team: kernel}}
  LonghornHealthExporterDown: {for: 3m}
  LonghornWebhookUnavailable: {for: 0s, keep_firing_for: 1h}
  LonghornOldInstanceManagerHeld: {for: 36h}
  LonghornDangerZoneSettingPending: {enabled: false}
"#;

#[test]
fn everything_configured_at_once_passes() {
    let generated = Generated::from(EVERYTHING);
    generated.pass();
    let rules = generated.rules();
    let rule = |name: &str| &rules[name];
    assert_eq!(
        rule("LonghornManagerHighRestarts")["expr"],
        "node:longhorn_health_manager_restarts:max_increase1h > 5"
    );
    let recorded = rule("node:longhorn_health_manager_restarts:max_increase1h");
    assert!(
        recorded["expr"]
            .as_str()
            .unwrap()
            .contains(r#"{job="storage/longhorn-health", namespace="monitoring"}"#)
    );
    assert_eq!(recorded.get("labels"), None, "labels are for alerts");
    let pressure = rule("LonghornInstanceManagerUnderPressure");
    assert!(pressure["expr"].as_str().unwrap().contains("> 250 and"), "{pressure}");
    assert!(pressure["annotations"]["description"].as_str().unwrap().contains("66 seconds"), "{pressure}");
    assert_eq!((&pressure["for"], &pressure["labels"]["severity"]), (&"30m".into(), &"warning".into()));
    let crash = rule("LonghornManagerCrashLoopBackOff");
    assert_eq!((&crash["labels"]["team"], &crash["labels"]["tier"]), (&"kernel".into(), &"1".into()));
    let url = "https://runbooks.example.org/longhorn/LonghornManagerCrashLoopBackOff";
    assert_eq!(crash["annotations"]["runbook_url"], url);
    assert!(!rules.contains_key("LonghornDangerZoneSettingPending"));

    let cases = generated.cases();
    // what a person wrote counts with the declared threshold, or with the declared wait
    let unproven = [
        "LonghornInstanceManagerUnderPressure", "LonghornInstanceManagerReplaced",
        "LonghornManagerHighRestarts",
    ];
    let alerts = rules.keys().filter(|name| !name.contains(':'));
    let lacking: Vec<_> = alerts.filter(|name| !cases.contains_key(*name)).collect();
    assert_eq!(
        lacking,
        [
            "LonghornInstanceManagerReplaced", "LonghornInstanceManagerUnderPressure",
            "LonghornManagerHighRestarts"
        ]
    );
    let tests: String = generated
        .files("tests", ".test.yaml")
        .iter()
        .map(|file| std::fs::read_to_string(file).unwrap())
        .collect();
    for alert in unproven {
        let said = tests.lines().any(|line| line.starts_with("# No cases") && line.contains(alert));
        assert!(said, "no file says that {alert} has no cases");
    }
    // a wait of their own changes only what is written in full
    for alert in
        ["LonghornHealthExporterDown", "LonghornManagerCrashLoopBackOff", "LonghornWebhookUnavailable"]
    {
        assert!(cases[alert] >= 4, "{alert}: {}", cases[alert]);
    }
}

#[test]
fn other_ways_to_tell_clusters_and_targets_apart_pass() {
    for (config, cluster) in [
        ("cluster_label: ''\n", ""),
        ("cluster_label: datacenter\nselector: lhe-01\n", "datacenter"),
        ("cluster_label: ''\nselector: {app: longhorn-health-exporter}\nnamespace: storage\n", ""),
    ] {
        let generated = Generated::from(config);
        generated.pass();
        let down = &generated.rules()["LonghornHealthExporterDown"];
        let expr = down["expr"].as_str().unwrap();
        assert!(!expr.contains("cluster"), "{expr}");
        assert!(expr.contains(cluster), "{expr}");
        let cases = generated.cases();
        let alerts = generated.rules().into_keys().filter(|name| !name.contains(':'));
        let lacking: Vec<_> = alerts.filter(|name| !cases.contains_key(name)).collect();
        assert_eq!(lacking, Vec::<String>::new(), "{config}");
    }
}

/// Every alert alone may be switched off, severities and labels may be anything: no cases are lost but
/// its own, and what panels draw goes on being recorded.
#[test]
fn nearly_everything_switched_off_passes() {
    let names = DECLARED.alerts().map(|alert| alert.name);
    let off: String = names
        .filter(|name| *name != "LonghornInstanceManagerDown")
        .map(|name| format!("  {name}: {{enabled: false}}\n"))
        .collect();
    let generated = Generated::from(&format!(
        "alerts:\n  LonghornInstanceManagerDown: {{severity: info, for: 7m}}\n{off}"
    ));
    generated.pass();
    let rules = generated.rules();
    let alerts: Vec<_> = rules.keys().filter(|name| !name.contains(':')).collect();
    assert_eq!(alerts, ["LonghornInstanceManagerDown"]);
    assert_eq!(rules.len() - alerts.len(), 3, "{:?}", rules.keys());
    let cases = generated.cases();
    assert!(alerts.iter().all(|name| cases.contains_key(*name)), "{cases:?}");
}

/// Values at the edge of what the configuration allows are values that Prometheus allows.
#[test]
fn legal_values_at_the_edge_pass() {
    let generated = Generated::from(
        r#"
selector: {job: "x {y} $job #", app: other}
namespace: "1"
cluster_label: by
runbook_base_url: http://[::1]:8080/a%20b(c)~
labels: {team: "it's {x} \\ $labels \u00fc #", _t: ""}
alerts:
  LonghornManagerHighRestarts: {for: 0s, keep_firing_for: 0s, thresholds: {restarts: 1.0e-30}}
  LonghornWebhookLockStuck: {for: 1h1m, labels: {team: ""}}
  LonghornInstanceManagerReplaced: {thresholds: {window: 1000000000}}
  LonghornHealthExporterDown: {for: 0s, keep_firing_for: 90m}
  LonghornManagerCrashLoopBackOff: {thresholds: , labels: }
"#,
    );
    generated.pass();
    Generated::from(
        "alerts:\n  LonghornDrainBlocked: {for: 9w99d999h9999m999999s, keep_firing_for: 9w}\n  \
         LonghornManagerHighRestarts: {thresholds: {restarts: 1000000000}}\n",
    )
    .load();
    let rules = generated.rules();
    let team = |name: &str| rules[name]["labels"].get("team").cloned();
    assert_eq!(team("LonghornWebhookLockStuck"), None);
    assert_eq!(team("LonghornManagerHighRestarts"), Some("it's {x} \\ $labels ü #".into()));
}

#[test]
fn an_error_is_one_line_and_writes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("config.yaml");
    std::fs::write(&file, "namespace: longhorn\nalerts:\n  LonghornNodeIscsiErrors:\n    for: 5\n").unwrap();
    let out = directory.path().join("out");
    let output = Command::new(env!("CARGO_BIN_EXE_longhorn-health-exporter"))
        .args(["generate", "all", "--config"])
        .args([&file, Path::new("--out"), &out])
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(64), "{said}");
    let place =
        format!("error: {}:4: alerts.LonghornNodeIscsiErrors.for: expected a duration", file.display());
    assert!(said.starts_with(&place) && said.lines().count() == 1, "{said}");
    assert!(!out.exists());
}

/// Clusters that are listed are missed each for itself, from the start and forever, and only where no exporter of theirs
/// answers.
#[test]
fn listed_clusters_are_missed_until_their_exporter_answers() {
    let generated = Generated::from("expected_clusters: [a, b]\n");
    let test = generated.rules.join("listed.test.yaml");
    let firing = |at: &str, clusters: &[&str]| {
        let mut question = format!(
            "  - expr: count by (cluster) (ALERTS{{alertname=\"LonghornHealthExporterDown\",alertstate=\"firing\"}})\n    eval_time: {at}\n    exp_samples: ["
        );
        for cluster in clusters {
            question += &format!("{{labels: '{{cluster=\"{cluster}\"}}', value: 1}}, ");
        }
        question + "]\n"
    };
    let questions = [
        firing("9m", &[]),
        firing("10m", &["b"]),
        firing("40m", &["b"]),
        firing("41m", &[]),
        firing("69m", &[]),
        firing("71m", &["a"]),
        firing("1500m", &["a"]),
    ];
    let series = [("a", "1x60 stale"), ("b", "_x41 1x1500"), ("c", "1x1540")];
    let series: String = series
        .iter()
        .map(|(cluster, values)| {
            format!("  - {{series: 'up{{job=\"longhorn-health-exporter\",cluster=\"{cluster}\"}}', values: '{values}'}}\n")
        })
        .collect();
    let content = format!(
        "rule_files: [longhorn-health.rules.yaml]\nevaluation_interval: 1m\ntests:\n- interval: 1m\n  input_series:\n{series}  promql_expr_test:\n{}",
        questions.concat()
    );
    std::fs::write(&test, content).unwrap();
    for promtool in promtools() {
        run(&promtool, ["test".into(), "rules".into(), test.clone()]).unwrap();
    }
}
