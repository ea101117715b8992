//! The committed rules, run by the real promtool and amtool, and the gates on their cases.
//!
//! promtool is Debian's (package `prometheus`), or what `PROMTOOL` names; `PROMTOOL_3` names one of
//! Prometheus 3 to run beside it.

mod configured;
mod judges;
mod migration;
mod texts;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use longhorn_health_exporter::check::When;
use longhorn_health_exporter::cli::DECLARED;
use longhorn_health_exporter::generate::alertmanager::Matcher;
use longhorn_health_exporter::generate::promtool::{self, CaseKind};
use longhorn_health_exporter::generate::{Settings, alertmanager};
use serde_json::Value;

use crate::promtool::{RULES, promtools, run, yaml};

fn files(directory: &str, suffix: &str) -> Vec<PathBuf> {
    let directory = Path::new(RULES).join(directory);
    let entries = std::fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries.filter(|path| path.to_string_lossy().ends_with(suffix)).collect();
    files.sort();
    assert!(!files.is_empty(), "no {suffix} in {}", directory.display());
    files
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

/// Names of the alerts of a rule file.
fn alerts(path: &Path) -> BTreeSet<String> {
    names(path, "alert")
}

fn names(path: &Path, key: &str) -> BTreeSet<String> {
    let rules = yaml(path);
    let rules = list(&rules, "groups").iter().flat_map(|group| list(group, "rules"));
    rules.filter_map(|rule| rule[key].as_str().map(str::to_owned)).collect()
}

#[test]
fn promtool_accepts_every_rule_file() {
    for promtool in promtools() {
        let rules = files("", ".rules.yaml");
        let args = ["check", "rules", "--lint=all", "--lint-fatal"].map(PathBuf::from);
        run(&promtool, args.into_iter().chain(rules)).unwrap();
    }
}

#[test]
fn every_case_passes() {
    for promtool in promtools() {
        let tests = files("tests", ".test.yaml");
        run(&promtool, ["test", "rules"].map(PathBuf::from).into_iter().chain(tests)).unwrap();
    }
}

#[test]
fn amtool_accepts_the_alertmanager_example() {
    let example = Path::new(RULES).join("alertmanager.example.yaml");
    run(Path::new("amtool"), ["check-config".into(), example]).unwrap();
}

#[test]
fn prometheus_rule_object_holds_the_same_groups() {
    let plain = yaml(&Path::new(RULES).join("longhorn-health.rules.yaml"));
    let object = yaml(&Path::new(RULES).join("longhorn-health.prometheusrule.yaml"));
    assert_eq!(object["spec"], plain);
    assert_eq!(object["kind"], "PrometheusRule");
}

#[test]
fn groups_are_small_and_named_after_their_dashboard() {
    for path in files("", ".rules.yaml") {
        for group in list(&yaml(&path), "groups") {
            let name = group["name"].as_str().unwrap();
            assert!(name.starts_with("longhorn-health.") && name.len() <= 45, "{name}");
            assert!((1..=20).contains(&list(group, "rules").len()), "{name}: {}", list(group, "rules").len());
        }
    }
}

#[test]
fn every_alert_has_every_kind_of_case() {
    let settings = Settings::of(&DECLARED);
    let mut missing = Vec::new();
    for area in DECLARED.areas_and_beside() {
        let cases = promtool::cases(area, &settings).unwrap();
        for alert in area.alerts {
            let kinds: BTreeSet<CaseKind> =
                cases.iter().filter(|case| case.subject == alert.name).map(|case| case.kind).collect();
            // the boundary of a fact is the moment before `for` is over, which every firing case has
            let boundary = matches!(alert.when, When::Promql { .. }).then_some(CaseKind::Boundary);
            let required = [CaseKind::Fires, CaseKind::Silent, CaseKind::TwoPods, CaseKind::Missing];
            let lacking = required.into_iter().chain(boundary).filter(|kind| !kinds.contains(kind));
            missing.extend(lacking.map(|kind| format!("{}: {kind:?}", alert.name)));
        }
    }
    assert_eq!(missing, Vec::<String>::new());
}

/// Prometheus must know a record before it evaluates the alert that reads it.
#[test]
fn every_recording_rule_is_read_and_comes_before_its_readers() {
    let recorded: BTreeSet<_> =
        DECLARED.areas().flat_map(|area| area.records).map(|record| record.name.to_owned()).collect();
    let plain = Path::new(RULES).join("longhorn-health.rules.yaml");
    assert!(!recorded.is_empty());
    assert_eq!(names(&plain, "record"), recorded);
    let mut read = BTreeSet::new();
    for group in list(&yaml(&plain), "groups") {
        let mut known = BTreeSet::new();
        for rule in list(group, "rules") {
            known.extend(rule["record"].as_str().map(str::to_owned));
            for record in DECLARED.records_in(rule["expr"].as_str().unwrap()) {
                assert!(known.contains(record.name), "{} comes after {}", record.name, rule["alert"]);
                read.insert(record.name.to_owned());
            }
        }
    }
    assert_eq!(read, recorded);
}

/// promtool passes a misspelt alert that is expected to be silent, and only warns of a rule file
/// that it does not find.
#[test]
fn cases_name_alerts_that_exist_and_load_every_rule_file() {
    let mut loaded: BTreeMap<PathBuf, BTreeSet<String>> = BTreeMap::new();
    for test in files("tests", ".test.yaml") {
        let content = yaml(&test);
        let mut known = BTreeSet::new();
        let mut rule_files = Vec::new();
        for rule_file in list(&content, "rule_files") {
            let path = test.parent().unwrap().join(rule_file.as_str().unwrap()).canonicalize().unwrap();
            known.extend(alerts(&path));
            rule_files.push(path);
        }
        assert!(!list(&content, "tests").is_empty(), "{}", test.display());
        let mut firing = BTreeSet::new();
        for case in list(&content, "tests") {
            assert!(case["interval"].is_string(), "{}: {}", test.display(), case["name"]);
            for question in list(case, "promql_expr_test") {
                let asked = question["expr"].as_str().unwrap().strip_prefix("ALERTS{alertname=\"");
                let Some((alert, _)) = asked.and_then(|rest| rest.split_once('"')) else { continue };
                assert!(
                    known.contains(alert),
                    "{}: {alert} is in none of the loaded rule files",
                    test.display()
                );
                if !list(question, "exp_samples").is_empty() {
                    firing.insert(alert.to_owned());
                }
            }
        }
        rule_files.into_iter().for_each(|path| loaded.entry(path).or_default().extend(firing.clone()));
    }
    for rules in files("", ".rules.yaml") {
        let firing = loaded
            .get(&rules.canonicalize().unwrap())
            .unwrap_or_else(|| panic!("{} untested", rules.display()));
        let silent: Vec<_> = alerts(&rules).difference(firing).cloned().collect();
        assert_eq!(silent, Vec::<String>::new(), "alerts of {} that no case makes fire", rules.display());
    }
}

/// An alert on both sides of an inhibition would mute itself, or its like on another object.
#[test]
fn no_alert_is_on_both_sides_of_an_inhibition() {
    for path in files("", ".rules.yaml") {
        let content = yaml(&path);
        let rules = list(&content, "groups").iter().flat_map(|group| list(group, "rules"));
        for rule in rules.filter(|rule| rule["alert"].is_string()) {
            let mut labels: BTreeMap<String, String> =
                serde_json::from_value(rule["labels"].clone()).unwrap();
            labels.insert("alertname".to_owned(), rule["alert"].as_str().unwrap().to_owned());
            // labels of the series, whatever their value
            for label in ["check", "object", "object_kind", "node"] {
                labels.insert(label.to_owned(), "x".to_owned());
            }
            for inhibition in alertmanager::inhibitions(&Settings::of(&DECLARED)) {
                let both = matches(&inhibition.source_matchers, &labels)
                    && matches(&inhibition.target_matchers, &labels);
                assert!(!both, "{labels:?} {inhibition:?}");
            }
        }
    }
}

fn matches(matchers: &[Matcher], labels: &BTreeMap<String, String>) -> bool {
    matchers.iter().all(|Matcher(label, operator, value)| {
        let actual = labels.get(*label).map_or("", String::as_str);
        let pattern = || regex::Regex::new(&format!("^(?:{value})$")).unwrap().is_match(actual);
        match *operator {
            "=" => actual == value,
            "!=" => actual != value,
            "=~" => pattern(),
            "!~" => !pattern(),
            other => panic!("{other}"),
        }
    })
}
