//! From a recorded cluster to alerts: what the exporter exposes for each scenario is fed to promtool,
//! and after four hours exactly the alerts of the scenario's `alerts.yaml` fire. What only mutes others is left to
//! tests/monitoring, where an Alertmanager listens.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use jiff::Timestamp;

use crate::{promtool, scenario};

/// How long the page stays as it is: longer than every `for`.
const MINUTES: i64 = 240;

#[test]
fn scenarios_fire_exactly_their_alerts() {
    let directory = tempfile::tempdir().unwrap();
    for promtool in promtool::promtools() {
        let mut wrong = Vec::new();
        for path in scenario::all() {
            let name = scenario::name(&path);
            let test = directory.path().join(format!("{name}.test.yaml"));
            std::fs::write(&test, promtool_test(&path, &expected(&path))).unwrap();
            let result = promtool::run(&promtool, ["test".as_ref(), "rules".as_ref(), test.as_os_str()]);
            if let Err(output) = result {
                if std::env::var_os("UPDATE_GOLDEN").is_some() {
                    write_expected(&path, &got(&output));
                } else {
                    wrong.push(format!("{name}: {output}"));
                }
            }
        }
        assert!(wrong.is_empty(), "`make golden` writes alerts.yaml again\n{}", wrong.join("\n"));
    }
}

/// Alerts that must fire, with how often.
fn expected(path: &Path) -> BTreeMap<String, u32> {
    let text = std::fs::read_to_string(path.join("alerts.yaml")).unwrap_or_else(|_| "{}".to_owned());
    serde_yaml::from_str(&text).unwrap()
}

fn write_expected(path: &Path, alerts: &BTreeMap<String, u32>) {
    let mut text = "# Alerts that fire when this cluster stays as it is, and how many of each.\n".to_owned();
    if alerts.is_empty() {
        text.push_str("{}\n");
    }
    for (alert, number) in alerts {
        let _ = writeln!(text, "{alert}: {number}");
    }
    std::fs::write(path.join("alerts.yaml"), text).unwrap();
}

/// What promtool says it got, from lines such as `got: {alertname="A"} 1E+00`.
fn got(output: &str) -> BTreeMap<String, u32> {
    let samples = output.split("got:").nth(1).unwrap_or_default();
    let pattern = regex::Regex::new(r#"\{alertname="(\w+)"\} ([0-9.E+]+)"#).unwrap();
    let sample = |found: regex::Captures<'_>| (found[1].to_owned(), found[2].parse::<f64>().unwrap() as u32);
    pattern.captures_iter(samples).map(sample).collect()
}

fn promtool_test(path: &Path, expected: &BTreeMap<String, u32>) -> String {
    let cluster = scenario::cluster(path);
    let now = cluster.now;
    let mut test = format!(
        "rule_files: [{}/longhorn-health.rules.yaml]\nevaluation_interval: 5m\ntests:\n- interval: 1m\n  input_series:\n",
        promtool::RULES
    );
    // the exporter itself is up
    test.push_str("  - {series: 'up{job=\"longhorn-health-exporter\"}', values: '1x240'}\n");
    for line in scenario::exposition(cluster).lines().filter(|line| !line.starts_with('#')) {
        let (series, value) = line.rsplit_once(' ').unwrap();
        let value = at_promtools_time(series, value.parse().unwrap(), now);
        let series = with_target_labels(series).replace('\'', "''");
        let _ = writeln!(test, "  - {{series: '{series}', values: '{value}x{MINUTES}'}}");
    }
    let _ = writeln!(
        test,
        "  promql_expr_test:\n  - expr: count by (alertname) (ALERTS{{alertname!=\"LonghornHealthInhibitor\",alertstate=\"firing\"}})"
    );
    let _ = writeln!(test, "    eval_time: {MINUTES}m\n    exp_samples:");
    for (alert, number) in expected {
        let _ = writeln!(test, "    - {{labels: '{{alertname=\"{alert}\"}}', value: {number}}}");
    }
    test
}

/// promtool's clock starts at the epoch; a time in a series is moved so that the recording's now is
/// the moment of evaluation.
fn at_promtools_time(series: &str, value: f64, now: Timestamp) -> f64 {
    let family = series.split('{').next().unwrap_or_default();
    if family.ends_with("_timestamp_seconds") {
        value - now.as_second() as f64 + (MINUTES * 60) as f64
    } else {
        value
    }
}

/// Labels that a scrape adds.
fn with_target_labels(series: &str) -> String {
    let target = r#"job="longhorn-health-exporter",namespace="monitoring",pod="exporter-0""#;
    match series.split_once('{') {
        Some((family, labels)) => format!("{family}{{{target},{labels}"),
        None => format!("{series}{{{target}}}"),
    }
}
