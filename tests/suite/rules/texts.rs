//! What the alerts say, as promtool expands their templates, with and without the labels that may be empty. What
//! depends on labels stands in one file to be read.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use longhorn_health_exporter::check::When;
use longhorn_health_exporter::cli::DECLARED;
use longhorn_health_exporter::generate::Settings;
use longhorn_health_exporter::generate::promtool::{self, CaseKind, TestCase};
use longhorn_health_exporter::generate::rules;
use serde_json::{Value, json};

use super::{files, list};
use crate::promtool::{RULES, promtools, run, with_their_own_rules, yaml};
use crate::scenario::names_in_capitals;

const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/suite/rules/texts.txt");

/// Traces that an empty label leaves in a text.
const HOLES: [&str; 11] =
    ["  ", " ,", " .", "()", "\"\"", "( ", " )", "/ ", " /", "<no value>", "<error expanding template"];

/// What makes a text depend on labels, beyond naming them.
const BRANCHES: [&str; 2] = ["{{ if", "{{ with"];

/// Texts that depend on the name of a setting, beyond the shape of the alert.
const SETTINGS: [&str; 3] =
    ["priority-class", "storage-network-for-rwx-volume-enabled", "disable-snapshot-purge"];

#[test]
fn texts_read_well_with_and_without_the_labels_that_may_be_empty() {
    let settings = Settings::of(&DECLARED);
    let (mut texts, mut read) = (String::new(), String::new());
    let optional = regex::Regex::new(r#",?(node|disk)="[^"]*""#).unwrap();
    for area in DECLARED.areas_and_beside() {
        let rule_file = rules::of_area(area);
        let cases = promtool::cases(area, &settings).unwrap();
        for alert in area.alerts {
            let fires = cases.iter().find(|case| case.subject == alert.name && case.kind == CaseKind::Fires);
            let mut asked = vec![question(fires.unwrap(), |series| series.to_owned())];
            if !matches!(alert.when, When::Promql { .. }) {
                asked.push(question(fires.unwrap(), |series| optional.replace_all(series, "").into_owned()));
                asked.extend(
                    SETTINGS.iter().map(|name| question(fires.unwrap(), |s| s.replace("setting-1", name))),
                );
            }
            let said = said(rule_file, alert.name, &asked);
            let mut lines = format!("{} ({})\n", alert.name, area.id);
            said.keys().for_each(|text| _ = writeln!(lines, "- {text}"));
            texts += &lines;
            // the others say what their declaration says
            if BRANCHES.iter().any(|branch| alert.description.contains(branch)) {
                read += &lines;
            }
        }
    }
    // the program's path in the command that shows more is no hole
    let without_path = texts.replace("-- /longhorn-health-exporter", "-- longhorn-health-exporter");
    let holed: Vec<_> =
        without_path.lines().filter(|line| HOLES.iter().any(|hole| line.contains(hole))).collect();
    assert_eq!(holed, Vec::<&str>::new(), "guard the label with {{{{ with $labels.… }}}}");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(GOLDEN, &read).unwrap();
    }
    let golden = std::fs::read_to_string(GOLDEN).unwrap_or_default();
    pretty(&golden, &read);
}

/// People receive annotations and labels: a name in capitals is one that no one filled in. Text that no other query makes works in
/// Grafana's own rules, too, and a severity that stands there can be routed.
#[test]
fn what_people_receive_is_whole_and_needs_its_labels_alone() {
    let labels = regex::Regex::new(r"\{\{[^}]*\}\}").unwrap();
    for file in files("", ".rules.yaml") {
        let content = yaml(&file);
        let rules = list(&content, "groups").iter().flat_map(|group| list(group, "rules"));
        for rule in rules.filter(|rule| rule["alert"].is_string()) {
            let name = rule["alert"].as_str().unwrap();
            let texts = rule["annotations"].as_object().unwrap();
            for (annotation, text) in texts {
                let text = text.as_str().unwrap();
                assert_eq!(names_in_capitals(text), Vec::<&str>::new(), "{name}: {annotation}");
                for foreign in ["query ", "$externalLabels", "$cause"] {
                    assert!(!text.contains(foreign), "{name}: {annotation} needs {foreign}");
                }
            }
            let severity = rule["labels"]["severity"].as_str().unwrap();
            assert!(["critical", "warning", "info", "none"].contains(&severity), "{name}: {severity}");
            let description = labels.replace_all(texts["description"].as_str().unwrap(), "x");
            let (said, _) = description.split_once(" Details: ").unwrap_or((&description, ""));
            let sentences = said.split(". ").count();
            assert!(sentences <= 3, "{name}: {sentences} sentences");
            assert!(said.split_whitespace().count() <= 55, "{name}: {said}");
            let summary = labels.replace_all(texts["summary"].as_str().unwrap(), "");
            assert!(summary.len() <= 100, "{name}: {summary}");
        }
    }
}

#[test]
fn a_name_in_capitals_is_seen() {
    assert_eq!(
        names_in_capitals("Cancel the eviction of VALUE on NODE-1 or BACKING-IMAGE."),
        ["VALUE", "BACKING-IMAGE"]
    );
    assert!(names_in_capitals("the NFS server and its PVC, a LonghornNODE").is_empty());
}

fn pretty(golden: &str, texts: &str) {
    for (old, new) in golden.lines().zip(texts.lines()) {
        assert_eq!(old, new, "UPDATE_GOLDEN=1 cargo test --test suite rules:: writes {GOLDEN}");
    }
    assert_eq!(
        golden.lines().count(),
        texts.lines().count(),
        "UPDATE_GOLDEN=1 cargo test --test suite rules::"
    );
}

/// The case of an alert as a question that promtool answers with its texts.
fn question(case: &TestCase, series: impl Fn(&str) -> String) -> Value {
    let case = serde_json::to_value(case).unwrap();
    let mut inputs = case["input_series"].as_array().unwrap().clone();
    for input in &mut inputs {
        input["series"] = series(input["series"].as_str().unwrap()).into();
    }
    let asked = case["promql_expr_test"].as_array().unwrap();
    let fires = asked.iter().find(|asked| !asked["exp_samples"].as_array().unwrap().is_empty()).unwrap();
    json!({
        "interval": case["interval"],
        "input_series": inputs,
        "alert_rule_test": [{ "eval_time": fires["eval_time"], "alertname": case["name"].as_str().unwrap().split(':').next() }],
    })
}

/// Descriptions in order, each once.
fn said(rule_file: &str, alert: &str, tests: &[Value]) -> BTreeMap<String, ()> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("texts.test.yaml");
    let rules = Path::new(RULES).join(rule_file.trim_start_matches("rules/"));
    let interval = &tests[0]["interval"];
    let file = json!({ "rule_files": [rules], "evaluation_interval": interval, "tests": tests });
    std::fs::write(&path, file.to_string()).unwrap();
    let tests = with_their_own_rules(&[path], directory.path());
    let args = ["test", "rules"].map(std::path::PathBuf::from).into_iter().chain(tests);
    let answer = run(&promtools()[0], args).unwrap_err();
    let description = regex::Regex::new(r#"description="((?:[^"\\]|\\.)*)""#).unwrap();
    let texts: BTreeMap<_, _> = description
        .captures_iter(&answer)
        .map(|found| (serde_json::from_str::<String>(&format!("\"{}\"", &found[1])).unwrap(), ()))
        .collect();
    assert!(!texts.is_empty(), "{alert}: {answer}");
    texts
}
