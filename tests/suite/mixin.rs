//! The mixin alone, as `jb install` leaves it in someone's repository: it gives what is shipped, and what `generate --config` gives.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use longhorn_health_exporter::cli::{self, DECLARED};
use longhorn_health_exporter::generate::settings::parse;
use longhorn_health_exporter::generate::{Settings, Target};
use serde_json::{Value, json};

use crate::built;
use crate::promtool::{promtools, run};

static ROOT: LazyLock<PathBuf> = LazyLock::new(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")));

struct Mixin {
    jsonnet: PathBuf,
    vendor: tempfile::TempDir,
}

impl Mixin {
    fn vendored() -> Option<Self> {
        let (jsonnet, vendor) = (built::lint("jsonnet")?, tempfile::tempdir().unwrap());
        let directory = vendor.path().join("github.com/OWNER/NAME/mixin");
        fs::create_dir_all(&directory).unwrap();
        for file in fs::read_dir(ROOT.join("mixin")).unwrap() {
            let file = file.unwrap();
            fs::copy(file.path(), directory.join(file.file_name())).unwrap();
        }
        Some(Mixin { jsonnet, vendor })
    }

    /// Alerts, recording rules and dashboards under a `_config`.
    fn evaluate(&self, config: &str) -> Result<[Value; 3], String> {
        let code = format!(
            "local mixin = (import 'github.com/OWNER/NAME/mixin/mixin.libsonnet') + {{ _config+:: {{ ofAnotherMixin: 1, {config} }} }}; \
             [mixin.prometheusAlerts, mixin.prometheusRules, mixin.grafanaDashboards]"
        );
        let mut command = Command::new(&self.jsonnet);
        let output = command.args(["--exec", &code, "-J"]).arg(self.vendor.path()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.success() { Ok(serde_json::from_slice(&output.stdout).unwrap()) } else { Err(said) }
    }
}

/// Files of rules and dashboards, in the form of the mixin.
fn in_parts(rules: &[&str], dashboards: impl Iterator<Item = (String, String)>) -> [Value; 3] {
    let (mut alerts, mut records) = (json!({ "groups": [] }), json!({ "groups": [] }));
    for file in rules {
        let file: Value = serde_yaml::from_str(file).unwrap();
        for group in file["groups"].as_array().unwrap() {
            let (of_records, of_alerts): (Vec<_>, Vec<_>) =
                group["rules"].as_array().unwrap().iter().partition(|rule| rule["record"].is_string());
            for (into, ending, rules) in [(&mut alerts, "", of_alerts), (&mut records, ".rules", of_records)]
            {
                let group =
                    json!({ "name": group["name"].as_str().unwrap().to_owned() + ending, "rules": rules });
                into["groups"].as_array_mut().unwrap().extend((!rules.is_empty()).then_some(group));
            }
        }
    }
    let dashboards = dashboards.filter(|(name, _)| name.ends_with(".json"));
    let dashboards = dashboards.map(|(name, content)| (name, serde_json::from_str(&content).unwrap()));
    [alerts, records, dashboards.collect::<serde_json::Map<_, _>>().into()]
}

/// What `generate --config` makes.
fn generated(settings: &str) -> [Value; 3] {
    let settings = parse(&DECLARED, "config.yaml", settings).unwrap();
    let artifacts = |target: Target| target.artifacts(&settings, &cli::command()).unwrap();
    let files = artifacts(Target::Rules);
    let rules = |name: &str| files.iter().find(|file| file.path == name).unwrap().content.as_str();
    let dashboards = artifacts(Target::Dashboards).into_iter();
    in_parts(
        &[rules("rules/longhorn-health.rules.yaml"), rules("rules/longhorn-metrics.rules.yaml")],
        dashboards.map(|file| (file.path.trim_start_matches("dashboards/").to_owned(), file.content)),
    )
}

/// A `_config`, and the same for `generate --config`.
const SAME: &[(&str, &str)] = &[
    ("longhornMetrics: true", ""),
    (
        r#"longhornMetrics: true, selector: 'job="storage/longhorn", namespace="monitoring"', longhornNamespace: 'longhorn',
        clusterLabel: 'k8s_cluster', expectedClusters: ['eu-1', 'us %s'], longhornRelease: '1.8.2',
        runbookBaseUrl: 'https://example.org/blob/main/', dashboardBaseUrl: 'https://grafana.example.org/',
        alertLabels: { team: 'it\'s 100% "x"', tier: '1' },
        alerts+: {
          LonghornHealthExporterDown+: { 'for': '3m', thresholds: { window: '2h' } },
          LonghornManagerHighRestarts+: { labels: { team: 'kernel', tier: '' }, thresholds: { restarts: 0.05 } },
          LonghornInstanceManagerUnderPressure+: { 'for': '0s', severity: 'info', thresholds+: { window: 66 } },
          LonghornManagerCrashLoopBackOff+: { severity: 'warning', keep_firing_for: '0m' },
          LonghornDiskFull+: { 'for': '90s', keep_firing_for: '1h' },
          LonghornVolumeLatencyHigh+: { thresholds+: { seconds: 0.3 } },
          LonghornHealthInhibitor+: { severity: 'info' },
          LonghornVolumeFaulted+: { enabled: false },
        }"#,
        r#"
selector: {job: storage/longhorn, namespace: monitoring}
namespace: longhorn
cluster_label: k8s_cluster
expected_clusters: [eu-1, us %s]
longhorn_release: 1.8.2
runbook_base_url: https://example.org/blob/main/
dashboard_base_url: https://grafana.example.org/
labels: {team: "it's 100% \"x\"", tier: "1"}
alerts:
  LonghornHealthExporterDown: {for: 3m, thresholds: {window: 7200}}
  LonghornManagerHighRestarts: {labels: {team: kernel, tier: ""}, thresholds: {restarts: 0.05}}
  LonghornInstanceManagerUnderPressure: {for: 0s, severity: info, thresholds: {window: 66}}
  LonghornManagerCrashLoopBackOff: {severity: warning, keep_firing_for: 0m}
  LonghornDiskFull: {for: 90s, keep_firing_for: 1h}
  LonghornVolumeLatencyHigh: {thresholds: {seconds: 0.3}}
  LonghornHealthInhibitor: {severity: info}
  LonghornVolumeFaulted: {enabled: false}
"#,
    ),
    (
        "longhornMetrics: true, clusterLabel: '', longhornRelease: 'v1.3.3', runbookBaseUrl: 'https://r'",
        "{cluster_label: '', longhorn_release: v1.3.3, runbook_base_url: 'https://r'}",
    ),
    (
        "longhornMetrics: true, clusterLabel: 'prometheus', longhornRelease: 'v1.10.1', dashboardBaseUrl: 'https://g'",
        "{cluster_label: prometheus, longhorn_release: v1.10.1, dashboard_base_url: 'https://g'}",
    ),
];

#[test]
fn the_mixin_alone_gives_what_generate_gives_with_the_same_settings() {
    let Some(mixin) = Mixin::vendored() else { return };
    for (config, settings) in SAME {
        let given = mixin.evaluate(config).unwrap();
        let groups = [&given[0], &given[1]].map(|part| part["groups"].as_array().unwrap().clone()).concat();
        let file = mixin.vendor.path().join("all.rules.json");
        fs::write(&file, json!({ "groups": groups }).to_string()).unwrap();
        for promtool in promtools() {
            check(&promtool, std::slice::from_ref(&file));
        }
        same(config, &json!(given), &json!(generated(settings)));
    }
}

#[test]
fn without_settings_the_mixin_is_the_shipped_rules_and_dashboards() {
    let Some(mixin) = Mixin::vendored() else { return };
    let text = |path: PathBuf| fs::read_to_string(path).unwrap();
    let files = fs::read_dir(ROOT.join("dashboards")).unwrap().map(|file| file.unwrap());
    let dashboards = files.map(|file| (file.file_name().into_string().unwrap(), text(file.path())));
    let shipped = in_parts(&[&text(ROOT.join("rules/longhorn-health.rules.yaml"))], dashboards);
    same("", &json!(mixin.evaluate("").unwrap()), &json!(shipped));
}

#[test]
fn the_example_of_the_page_gives_rules_that_prometheus_takes() {
    let Some(mixin) = Mixin::vendored() else { return };
    let page = fs::read_to_string(ROOT.join("mixin/README.md")).unwrap();
    let example = page.split("```jsonnet\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let out = mixin.vendor.path().join("out");
    let args = ["-S", "-c", "-m", out.to_str().unwrap(), "-J", mixin.vendor.path().to_str().unwrap()];
    run(&mixin.jsonnet, args.into_iter().chain(["-e", example])).unwrap();
    for promtool in promtools() {
        check(&promtool, &[out.join("alerts.yaml"), out.join("rules.yaml")]);
    }
    assert!(out.join("dashboards/longhorn-health-overview.json").is_file());
    let alerts = fs::read_to_string(out.join("alerts.yaml")).unwrap();
    assert_eq!(alerts.matches(r#""alert": "LonghornVolumeLastCopy""#).count(), 1, "critical alone");
}

#[test]
fn colours_of_a_panel_begin_at_ascending_values() {
    let Some(mixin) = Mixin::vendored() else { return };
    let low = "alerts+: { LonghornInstanceManagerUnderPressure+: { thresholds+: { window: -1 } } }";
    let [.., dashboards] = mixin.evaluate(low).unwrap();
    let steps = r#"{"color":"green","value":-1},{"color":"orange","value":0}"#;
    assert!(dashboards.to_string().contains(steps));
}

fn check(promtool: &Path, files: &[PathBuf]) {
    let args = ["check", "rules", "--lint=all", "--lint-fatal"].map(PathBuf::from);
    run(promtool, args.iter().chain(files)).unwrap();
}

#[test]
fn a_key_that_sets_nothing_is_an_error() {
    let Some(mixin) = Mixin::vendored() else { return };
    for (config, said) in [
        ("longhornMetrics: 'true'", "_config.longhornMetrics is no boolean"),
        ("alerts+: { LonghornFaulted: { enabled: false } }", "_config.alerts.LonghornFaulted is unknown"),
        (
            "alerts+: { LonghornManagerHighRestarts+: { thresholds+: { restart: 5 } } }",
            "_config.alerts.LonghornManagerHighRestarts.thresholds.restart is unknown",
        ),
        (
            "alerts+: { LonghornManagerHighRestarts+: { thresholds+: { restarts: '5' } } }",
            "_config.alerts.LonghornManagerHighRestarts.thresholds.restarts is no number",
        ),
    ] {
        let error = mixin.evaluate(config).unwrap_err();
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn nothing_that_stood_for_a_setting_is_left() {
    for file in Target::Mixin.artifacts(&Settings::of(&DECLARED), &cli::command()).unwrap() {
        for stood in ["sentinel", "98700"] {
            assert!(!file.content.contains(stood), "{}: {stood}", file.path);
        }
    }
}

/// Fails with the path of the first difference.
fn same(path: &str, given: &Value, wanted: &Value) {
    match (given, wanted) {
        (Value::Object(a), Value::Object(b)) if a.keys().eq(b.keys()) => {
            a.iter().for_each(|(key, value)| same(&format!("{path}.{key}"), value, &b[key]));
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            let pairs = a.iter().zip(b).enumerate();
            pairs.for_each(|(at, (a, b))| same(&format!("{path}[{at}]"), a, b));
        }
        // jsonnet has one kind of number
        (Value::Number(a), Value::Number(b)) => assert_eq!(a.as_f64(), b.as_f64(), "{path}"),
        _ => assert!(given == wanted, "{path}: {given}\nwanted: {wanted}"),
    }
}
