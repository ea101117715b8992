//! Are the cases of the alerts worth their name? Each rule gets one mistake at a time, and the
//! cases of its alert must notice every one. `cargo test --test suite mutations:: -- --nocapture` prints
//! the score.

mod mutants;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use longhorn_health_exporter::cli::DECLARED;
use longhorn_health_exporter::generate::Settings;
use longhorn_health_exporter::generate::promtool::{self, CaseKind, TestCase};
use longhorn_health_exporter::generate::rules::{self, Entry, RuleFile, RuleGroup};
use mutants::Mutant;
use serde_json::json;

/// Mutants that no case can tell from the rule, or none that promtool runs within minutes: alerts and records, start of the mutation, and why it changes
/// nothing. Each of them in every entry must need it.
const EQUIVALENT: &[(&[&str], &str, &str)] = &[
    (
        &[
            "data_engine:longhorn_health_instance_manager_max_instances:max",
            "data_engine:longhorn_health_instance_manager_min_probe_window_seconds:min",
        ],
        "drop job at ",
        "the alert needs both records of one target, and the panels select what is recorded",
    ),
    (
        &["LonghornVolumeLastSeenFaulted"],
        "max -> min ",
        "all that is left is faulted, and the value is not said",
    ),
    (&["LonghornVolumeLastSeenFaulted"], "drop state at 141", "series with a state are 0 or 1, never 3"),
    (&["LonghornHealthExporterDown"], "7d -> ", "a case of a week is ten thousand evaluations of every rule"),
];

/// A mutant with the test files that are its cases.
struct Trial {
    /// Name of the alert or the record.
    subject: String,
    mutant: Mutant,
    /// With the stage in which each is run.
    tests: Vec<(usize, PathBuf)>,
}

impl Trial {
    fn tests(&self, stage: usize) -> impl Iterator<Item = PathBuf> + use<'_> {
        self.tests.iter().filter(move |(of, _)| *of == stage).map(|(_, test)| test.clone())
    }
}

/// How often the surviving mutants are looked at.
const STAGES: usize = 3;

/// Cases that notice most come first.
fn stage(case: &TestCase) -> usize {
    match case.kind {
        CaseKind::Fires => 0,
        CaseKind::Silent | CaseKind::Boundary | CaseKind::TwoPods => 1,
        CaseKind::Missing => 2,
    }
}

#[test]
fn every_mutant_is_noticed() {
    let directory = tempfile::tempdir().unwrap();
    let subjects = subjects();
    let mut trials = Vec::new();
    for subject in &subjects {
        // the rule itself is one of the mutants, and the only one that may pass
        let unchanged = Mutant { what: String::new(), rule: subject.rule.clone() };
        for mutant in [unchanged].into_iter().chain(mutants::of(&subject.rule)) {
            let folder = directory.path().join(trials.len().to_string());
            trials.push(trial(&folder, mutant, subject));
        }
    }
    assert_every_rule_is_valid(directory.path(), trials.len());
    let mut survivors: Vec<&Trial> = trials.iter().collect();
    // most mutants fail the first case, so that the others need not be asked about them
    for stage in 0..STAGES {
        let passed = passed(&survivors.iter().flat_map(|trial| trial.tests(stage)).collect::<Vec<_>>());
        survivors.retain(|trial| trial.tests(stage).all(|test| passed.contains(&test)));
    }

    let unchanged = survivors.iter().filter(|trial| trial.mutant.what.is_empty()).count();
    assert_eq!(unchanged, subjects.len(), "the cases do not even pass as they are");
    let mut needed = BTreeSet::new();
    let mut unnoticed = Vec::new();
    let mut equivalent = 0;
    for trial in survivors.into_iter().filter(|trial| !trial.mutant.what.is_empty()) {
        if trial.mutant.what.starts_with("drop severity at ") && !severities_differ(expr(&trial.mutant.rule))
        {
            equivalent += 1;
            continue;
        }
        let excuse = EQUIVALENT.iter().find(|(alerts, what, _)| {
            alerts.contains(&trial.subject.as_str()) && trial.mutant.what.starts_with(what)
        });
        match excuse {
            Some((_, what, _)) => {
                equivalent += 1;
                needed.insert((trial.subject.as_str(), *what));
            }
            None => {
                unnoticed.push(format!(
                    "{}: {}\n    {}",
                    trial.subject,
                    trial.mutant.what,
                    expr(&trial.mutant.rule)
                ));
            }
        }
    }
    let total = trials.len() - subjects.len();
    println!("mutants killed: {} of {total}, equivalent: {equivalent}", total - equivalent - unnoticed.len());
    assert!(unnoticed.is_empty(), "no case notices {} mutants\n{}", unnoticed.len(), unnoticed.join("\n"));
    for (alerts, what, why) in EQUIVALENT {
        let idle: Vec<_> = alerts.iter().filter(|alert| !needed.contains(&(**alert, *what))).collect();
        assert!(idle.is_empty(), "{what} ({why}) excuses nothing about {idle:?}");
    }
}

/// Can series that an expression selects differ in their severity? Else it makes no difference whether that
/// is aggregated away.
fn severities_differ(expr: &str) -> bool {
    crate::promql::selectors(expr).iter().any(|selector| {
        let mut gauges = DECLARED.areas().flat_map(|area| area.gauges);
        let has_label =
            gauges.any(|gauge| gauge.name == selector.metric && gauge.labels.contains(&"severity"));
        has_label && !selector.matchers.iter().any(|(label, ..)| label == "severity")
    })
}

/// A rule with its cases and the rules that these load beside it.
struct Subject {
    rule: Entry,
    /// Records that it reads, or alerts that read it; and the alert on the exporter's absence.
    beside: Vec<Entry>,
    cases: Vec<TestCase>,
}

fn name(rule: &Entry) -> &str {
    match rule {
        Entry::Record(rule) => rule.record,
        Entry::Alert(rule) => &rule.alert,
    }
}

fn expr(rule: &Entry) -> &str {
    match rule {
        Entry::Record(rule) => &rule.expr,
        Entry::Alert(rule) => &rule.expr,
    }
}

fn subjects() -> Vec<Subject> {
    let settings = Settings::of(&DECLARED);
    let mut subjects = Vec::new();
    for area in DECLARED.areas_and_beside() {
        let cases = promtool::cases(area, &settings).unwrap();
        let records = area.records.iter().map(|record| rules::recording(record, &settings).unwrap());
        let records: Vec<_> = records.map(Entry::Record).collect();
        let alerts = area.alerts.iter().flat_map(|alert| rules::variants(alert, &settings));
        let alerts = alerts.map(|alert| rules::rule(area, &alert, &settings).unwrap());
        let alerts: Vec<_> = alerts.map(Entry::Alert).collect();
        let reads = |alert: &Entry, record: &Entry| expr(alert).contains(name(record));
        for alert in &alerts {
            let own = |case: &&TestCase| case.subject == name(alert);
            subjects.push(Subject {
                rule: alert.clone(),
                // a rule for each severity may have the same name
                beside: records
                    .iter()
                    .filter(|record| reads(alert, record))
                    .chain(alerts.iter().filter(|other| name(other) == name(alert) && *other != alert))
                    .cloned()
                    .collect(),
                cases: cases.iter().filter(own).cloned().collect(),
            });
        }
        // the cases of the alerts that read a record are its cases too
        for record in &records {
            let readers: Vec<_> = alerts.iter().filter(|alert| reads(alert, record)).collect();
            let all = [vec![record], readers.clone()].concat();
            let own = |case: &&TestCase| all.iter().any(|rule| case.subject == name(rule));
            let others = records.iter().filter(|other| *other != record);
            subjects.push(Subject {
                rule: record.clone(),
                beside: others.cloned().chain(readers.into_iter().cloned()).collect(),
                cases: cases.iter().filter(own).cloned().collect(),
            });
        }
    }
    subjects
}

/// Writes a mutant and its cases.
fn trial(folder: &Path, mutant: Mutant, subject: &Subject) -> Trial {
    std::fs::create_dir(folder).unwrap();
    let mut rules: Vec<Entry> = [mutant.rule.clone()].into_iter().chain(subject.beside.clone()).collect();
    // as in the rule files, so that an alert sees the record of the same moment
    rules.sort_by_key(|rule| matches!(rule, Entry::Alert(_)));
    let file = RuleFile { groups: vec![RuleGroup { name: "mutant".to_owned(), rules }] };
    write(&folder.join("rules.yaml"), &file);
    let cases = &subject.cases;
    let mut files: BTreeMap<(usize, &str), Vec<&TestCase>> = BTreeMap::new();
    for case in cases {
        files.entry((stage(case), &case.interval)).or_default().push(case);
    }
    let write_tests = |((stage, interval), cases): ((usize, &str), Vec<&TestCase>)| {
        let path = folder.join(format!("{stage}.{interval}.test.yaml"));
        write(
            &path,
            &json!({ "rule_files": ["rules.yaml"], "evaluation_interval": interval, "tests": cases }),
        );
        (stage, path)
    };
    let subject = name(&mutant.rule).to_owned();
    Trial { subject, mutant, tests: files.into_iter().map(write_tests).collect() }
}

fn write(path: &Path, content: &impl serde::Serialize) {
    std::fs::write(path, serde_json::to_string(content).unwrap()).unwrap();
}

/// A mutant that Prometheus refuses proves nothing.
fn assert_every_rule_is_valid(directory: &Path, number: usize) {
    let files = (0..number).map(|index| directory.join(index.to_string()).join("rules.yaml"));
    let args = ["check", "rules", "--lint=none"].map(PathBuf::from);
    crate::promtool::run(&crate::promtool::promtools()[0], args.into_iter().chain(files)).unwrap();
}

/// The test files that pass, from two promtools side by side.
fn passed(files: &[PathBuf]) -> BTreeSet<PathBuf> {
    let promtool = &crate::promtool::promtools()[0];
    std::thread::scope(|scope| {
        let lanes: Vec<_> = (0..2)
            .map(|lane| {
                let files = files.iter().skip(lane).step_by(2);
                let mut command = Command::new(promtool);
                command.args(["test", "rules"]).args(files);
                scope.spawn(move || passed_by(&mut command))
            })
            .collect();
        lanes.into_iter().flat_map(|lane| lane.join().unwrap()).collect()
    })
}

fn passed_by(promtool: &mut Command) -> Vec<PathBuf> {
    let output = promtool.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let blocks = text.split("Unit Testing:").skip(1).filter(|block| block.contains("SUCCESS"));
    blocks.map(|block| PathBuf::from(block.lines().next().unwrap().trim())).collect()
}
