//! Clusters from public reports, each judged with and without its log: was the cause named, was it unknown, was it
//! wrong, and was anything else called a warning that is none.
//!
//! A case is what differs from a healthy Longhorn (src/testing/fixture.rs); `cluster.rs` makes a recording of it. A file has the
//! cases that one check must name, and is one test; the other files have what must not be named. `cargo test --test clusters corpus:: -- --nocapture` prints
//! a line for each:
//! cases by verdict, and what the first screens begin with. With `CORPUS_KEEP` the recordings are left in that directory, to look at
//! a report with `check --from`, and with `CORPUS_REPORTS` the reports.

pub mod cases;
mod schema;
mod taken_away;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

use jiff::Timestamp;
use longhorn_health_exporter::check::{Cause, Check, Link, Relation};
use longhorn_health_exporter::checks::CATALOGUE;
use longhorn_health_exporter::source::Recording;
use longhorn_health_exporter::source::recording::RecordedFile;
use testing::evaluate;

use crate::scenario::names_in_capitals;
use cases::{Case, cases, cluster};

const NAMESPACE: &str = "longhorn-system";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Right,
    Unknown,
    Wrong,
}

/// What was found: causes at warning or critical, every cause, and all words by cause.
#[derive(Debug, Default)]
struct Found {
    loud: BTreeSet<String>,
    all: BTreeMap<String, String>,
    /// What the incidents at warning or critical begin with.
    first: Vec<First>,
}

/// What an incident tells a person to do first.
#[derive(Debug)]
enum First {
    /// A fix and a command that changes something, which is that fix.
    Change(String),
    /// A fix and a command that reads what it needs.
    Read,
    /// The cause is unknown: a command that tells candidates apart.
    Unknown,
    /// Another incident has to end before.
    Waits,
}

impl Found {
    fn judge(&self, case: &Case, expect: &str) -> Verdict {
        let check = expect.split('/').next().unwrap_or_default();
        let of_check = |cause: &&String| cause.split('/').next() == Some(check);
        let others: Vec<_> = self
            .loud
            .iter()
            .filter(|cause| *cause != expect && !case.also.contains(*cause) && !cause.ends_with("/unknown"))
            .collect();
        if !others.is_empty() {
            return Verdict::Wrong;
        }
        let unknown = self.loud.iter().any(|cause| cause.ends_with("/unknown") && !case.also.contains(cause));
        match expect {
            "nothing" if unknown => Verdict::Unknown,
            "nothing" => Verdict::Right,
            _ if self.all.contains_key(expect) => Verdict::Right,
            _ if self
                .loud
                .iter()
                .filter(of_check)
                .any(|cause| !cause.ends_with("/unknown") && !case.also.contains(cause)) =>
            {
                Verdict::Wrong
            }
            _ => Verdict::Unknown,
        }
    }
}

fn look(case: &Case, with_log: bool) -> Found {
    let files = cluster::files(case, with_log);
    for (name, text) in &files {
        keep("CORPUS_KEEP", case, if with_log { name } else { "" }, text);
    }
    let file = |(name, text): (String, String)| RecordedFile { name, content: text.into() };
    let recording = Recording::from_files(files.into_iter().map(file), NAMESPACE, Timestamp::MAX).unwrap();
    let report = serde_json::to_value(evaluate(&recording.into_cluster(NAMESPACE, None)).report).unwrap();
    keep(
        "CORPUS_REPORTS",
        case,
        if with_log { "with-log.json" } else { "without-log.json" },
        &report.to_string(),
    );
    let contradicted = crate::contradictions::of(&report);
    assert!(contradicted.is_empty(), "{}: {contradicted:#?}", case.report);
    let apart = crate::apart::of(&report);
    assert!(apart.is_empty(), "{}: {apart:#?}", case.report);
    let long = crate::headlines::of(&report);
    assert!(long.is_empty(), "{}: {long:#?}", case.report);
    let unsaid = crate::unsaid::of(&report);
    assert!(unsaid.is_empty(), "{}: {unsaid:#?}", case.report);
    let mut found = Found::default();
    for finding in report["findings"].as_array().unwrap() {
        let text = |key: &str| finding[key].as_str().unwrap_or_default().to_owned();
        let printed = [
            text("message"),
            text("impact"),
            finding["remedy"]["fix"].as_str().unwrap_or_default().to_owned(),
        ];
        for text in printed {
            let unnamed = names_in_capitals(&text);
            assert!(unnamed.is_empty(), "{}: no name for {unnamed:?}: {text}", case.report);
        }
        let cause = format!("{}/{}", text("check"), text("cause"));
        if text("severity") != "info" {
            found.loud.insert(cause.clone());
        }
        found.all.entry(cause).or_default().push_str(&finding.to_string());
    }
    let loud =
        report["incidents"].as_array().unwrap().iter().filter(|incident| incident["severity"] != "info");
    found.first = loud.map(|incident| first(incident, &case.report)).collect();
    found
}

/// Leaves a file of a case in the directory that a variable names.
fn keep(variable: &str, case: &Case, name: &str, text: &str) {
    let Some(directory) = std::env::var_os(variable).filter(|_| !name.is_empty()) else { return };
    let case: String = case.report.chars().map(|c| if c.is_alphanumeric() { c } else { '-' }).collect();
    let directory = Path::new(&directory).join(case);
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join(name), text).unwrap();
}

fn first(incident: &serde_json::Value, report: &str) -> First {
    let text = |key: &str| incident[key].as_str().unwrap_or_default();
    assert!(!text("fix").is_empty(), "{report}: {} says no fix", incident["title"]);
    let command = &incident["first"];
    match incident["waits_for"].as_array().is_some_and(|waits| !waits.is_empty()) {
        true => First::Waits,
        false => {
            let run = command["run"]
                .as_str()
                .unwrap_or_else(|| panic!("{report}: {} has no first step", incident["title"]));
            assert!(!run.contains('<'), "{report}: {run} names no object");
            match command["changes"].as_bool().unwrap_or_default() {
                true => First::Change(format!("{}/{}: {run}", text("check"), text("cause"))),
                false if text("cause").contains("unknown") => First::Unknown,
                false => First::Read,
            }
        }
    }
}

/// How many cases of a class were judged how.
#[derive(Debug, Default, Clone, Copy)]
struct Row {
    cases: usize,
    right: usize,
    unknown: usize,
    wrong: usize,
}

impl Row {
    fn add(&mut self, verdict: Verdict) {
        self.cases += 1;
        match verdict {
            Verdict::Right => self.right += 1,
            Verdict::Unknown => self.unknown += 1,
            Verdict::Wrong => self.wrong += 1,
        }
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:4} cases, {:4} right, {:3} unknown, {} wrong",
            self.cases, self.right, self.unknown, self.wrong
        )
    }
}

/// A test for each file.
macro_rules! subjects {
    ($($subject:ident)*) => {
        const SUBJECTS: &[&str] = &[$(stringify!($subject)),*];
        $(
            #[test]
            fn $subject() {
                judge(stringify!($subject));
            }
        )*
    };
}

subjects! {
    attachment_on_dead_node backup_failing csi_plugin_down disk_unavailable driver_deployer_blocked engine_image_unavailable
    eviction_inconsistent eviction_stalled instance_manager_down instance_manager_pressure instance_manager_replaced
    instance_manager_old known_bad_release left_behind manager_crash_loop manager_half_alive manager_start_stuck
    node_iscsi_errors node_unregistered operation_stalled replica_unschedulable share_manager_down snapshot_chain_long version_skew
    volume_attachment_stuck volume_degraded volume_faulted volume_read_only webhook_unavailable
    neighbours_of_faults ordinary_attachments ordinary_days ordinary_nodes ordinary_operations ordinary_upgrades ordinary_volumes
}

fn judge(subject: &str) {
    let (mut with, mut without) = (Row::default(), Row::default());
    let (mut surprises, mut first) = (Vec::new(), Vec::new());
    for case in cases().remove(subject).unwrap_or_else(|| panic!("there is no tests/corpus/{subject}.yaml")) {
        assert!(belongs(&case, subject), "{} belongs into the file of its check", case.report);
        let runs = [true, false].into_iter().filter(|with_log| *with_log || case.cluster.has_log());
        for with_log in runs {
            let found = look(&case, with_log);
            let (expect, expected) = case.expected(with_log);
            let verdict = found.judge(&case, expect);
            let row = if with_log && case.cluster.has_log() { &mut with } else { &mut without };
            row.add(verdict);
            let text = found.all.get(expect).map(String::as_str).unwrap_or_default();
            let missing: Vec<_> = case
                .says
                .iter()
                .filter(|words| with_log && verdict == Verdict::Right && !text.contains(words.as_str()))
                .collect();
            if verdict != expected || !missing.is_empty() {
                let log = if with_log { "with" } else { "without" };
                surprises.push(format!(
                    "{} ({log} log): {verdict:?}, expected {expect} as {expected:?}; found {:?}; not said: {missing:?}",
                    case.report, found.loud
                ));
            }
            first.extend(found.first.into_iter().filter(|_| with_log));
        }
    }
    print(subject, with, without, &first);
    assert!(surprises.is_empty(), "{}", surprises.join("\n"));
}

fn print(subject: &str, with: Row, without: Row, first: &[First]) {
    let count = |kind: fn(&First) -> bool| first.iter().filter(|first| kind(first)).count();
    println!(
        "{subject}\n  with log    {with}\n  without log {without}\n  first steps: {} with a fix and a read, {} of an unknown cause, {} with a change, {} wait for another",
        count(|first| matches!(first, First::Read)),
        count(|first| matches!(first, First::Unknown)),
        count(|first| matches!(first, First::Change(_))),
        count(|first| matches!(first, First::Waits)),
    );
    for change in first {
        if let First::Change(change) = change {
            println!("    {change}");
        }
    }
}

impl Case {
    /// What must be found, and how that counts. Without the log, that is what the case says; unknown where nothing else tells.
    fn expected(&self, with_log: bool) -> (&str, Verdict) {
        match self.without_log.as_deref().filter(|_| !with_log || !self.cluster.has_log()) {
            Some("unknown") => (&self.expect, Verdict::Unknown),
            Some(other) => (other, Verdict::Right),
            None => (&self.expect, Verdict::Right),
        }
    }
}

fn belongs(case: &Case, subject: &str) -> bool {
    match case.expect.split_once('/') {
        Some((check, _)) => check == subject,
        None => subject.starts_with("ordinary_") || subject == "neighbours_of_faults",
    }
}

#[test]
fn every_file_is_judged_and_little_is_given_up_as_unknown() {
    let cases = cases();
    let (files, subjects) =
        (cases.keys().map(String::as_str).collect(), SUBJECTS.iter().copied().collect::<BTreeSet<_>>());
    let differ: Vec<_> = subjects.symmetric_difference(&files).collect();
    assert!(
        differ.is_empty(),
        "subjects! in tests/corpus/mod.rs lists the files of tests/corpus, but not {differ:?}"
    );
    let (mut with, mut without) = (Row::default(), Row::default());
    for case in cases.values().flatten() {
        for with_log in [true, false].into_iter().filter(|with_log| *with_log || case.cluster.has_log()) {
            let row = if with_log && case.cluster.has_log() { &mut with } else { &mut without };
            row.add(case.expected(with_log).1);
        }
    }
    println!("with log    {with}\nwithout log {without}");
    assert!(with.right * 100 >= with.cases * 95, "{with}");
    // in a fifth of the reports nothing but the log tells the cause
    assert!(without.right * 100 >= without.cases * 80, "{without}");
    assert!(with.cases >= 70 && without.cases >= 300, "{with}; {without}");
}

/// A case is read on a screen beside others, and a new one pays by being short.
#[test]
fn cases_stay_short() {
    let (mut lines, mut long) = (0, Vec::new());
    for entry in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "yaml") {
            let text = std::fs::read_to_string(&path).unwrap();
            lines += text.lines().count();
            let too_long = |(_, line): &(usize, &str)| line.chars().count() > 160;
            let places = text.lines().enumerate().filter(too_long);
            long.extend(places.map(|(at, _)| format!("{}:{}", path.display(), at + 1)));
        }
    }
    assert!(long.is_empty(), "more than 160 characters: {long:#?}");
    let cases = cases().values().map(Vec::len).sum::<usize>();
    assert!(
        lines <= cases * 12,
        "{lines} lines for {cases} cases, 12 each: say what differs, not what is usual"
    );
}

#[test]
fn every_relation_that_only_the_screen_knows_is_in_a_case() {
    let cases: Vec<Case> = cases().into_values().flatten().collect();
    let shown = CATALOGUE.relations.iter().filter(|relation| relation.link == Link::ShownWith);
    let missing: Vec<_> = shown.filter(|relation| !cases.iter().any(|case| is_in(case, relation))).collect();
    let names =
        |relation: &&Relation| format!("{} {:?}: {}", relation.check.id, relation.same, relation.phrase);
    assert!(missing.is_empty(), "{:#?}", missing.iter().map(names).collect::<Vec<_>>());
}

/// Whether an incident of a case has consequences by a relation.
fn is_in(case: &Case, relation: &Relation) -> bool {
    let named = |(check, causes): (&Check, &[&Cause])| {
        let is = |cause: &&Cause| {
            let id = format!("{}/{}", check.id, cause.id);
            case.expect == id || case.also.contains(&id)
        };
        causes.iter().any(is)
    };
    if !named((relation.check, relation.causes))
        && !relation.roots.iter().any(|(check, causes)| named((check, causes)))
    {
        return false;
    }
    let files = cluster::files(case, true).into_iter();
    let files = files.map(|(name, text)| RecordedFile { name, content: text.into() });
    let recording = Recording::from_files(files, NAMESPACE, Timestamp::MAX).unwrap();
    let report = evaluate(&recording.into_cluster(NAMESPACE, None)).report;
    report.incidents.iter().any(|incident| {
        let is_root = |(check, causes): &(&Check, &[&Cause])| {
            check.id == incident.check && causes.iter().any(|cause| cause.id == incident.cause)
        };
        let mut follows = incident.consequences.iter();
        relation.roots.iter().any(is_root)
            && follows.any(|one| one.check == relation.check.id && one.text == relation.phrase)
    })
}

/// Causes of the checks that the corpus has to show which no recording can.
const ONLY_TIME_TELLS: &[&str] = &["operation_stalled/purge_stalled"];

#[test]
fn every_cause_of_unfinished_work_and_leftovers_is_in_a_case() {
    let expected: BTreeSet<String> = cases()
        .into_values()
        .flatten()
        .filter(|case| case.expected(false).1 == Verdict::Right)
        .map(|case| case.expect)
        .chain(["snapshot_chain_long/many".to_owned()])
        .collect();
    let of_corpus = ["operation_stalled", "snapshot_chain_long", "version_skew", "left_behind"];
    let checks = longhorn_health_exporter::checks::CATALOGUE
        .checks
        .iter()
        .filter(|check| of_corpus.contains(&check.id));
    let causes =
        checks.flat_map(|check| check.causes.iter().map(|cause| format!("{}/{}", check.id, cause.id)));
    let missing: Vec<String> = causes.filter(|cause| !expected.contains(cause)).collect();
    assert_eq!(missing, ONLY_TIME_TELLS, "src/checks/operation_stalled/tests.rs plays it");
}
