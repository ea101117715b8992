//! Clusters from public reports, each judged with and without its log: was the cause named, was it unknown, was it
//! wrong, and was anything else called a warning that is none.
//!
//! A case is facts and a few lines of our own; `cluster.rs` makes a recording of it. `cargo test --test corpus --
//! --nocapture` prints the table. With `CORPUS_BINARY` another build is judged, and nothing is asserted; with
//! `CORPUS_ONLY` only classes whose name begins so are judged; with
//! `CORPUS_KEEP` the recordings are left in that directory, to look at a report with `check --from`.

mod cases;
#[path = "../support/contradictions.rs"]
mod contradictions;
#[path = "../support/scenario.rs"]
mod scenario;
mod schema;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use cases::{Case, cases, cluster};

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

fn look(binary: &Path, case: &Case, with_log: bool) -> Found {
    let directory = tempfile::tempdir().unwrap();
    let path = match std::env::var_os("CORPUS_KEEP").filter(|_| with_log) {
        Some(kept) => {
            let name: String =
                case.report.chars().map(|c| if c.is_alphanumeric() { c } else { '-' }).collect();
            let path = Path::new(&kept).join(name);
            std::fs::create_dir_all(&path).unwrap();
            path
        }
        None => directory.path().to_owned(),
    };
    cluster::write(case, &path, with_log);
    let output = Command::new(binary).args(["check", "-o", "json", "--from"]).arg(&path).output().unwrap();
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!("{}: {error}\n{}", case.report, String::from_utf8_lossy(&output.stderr))
    });
    let contradicted = contradictions::of(&report);
    assert!(contradicted.is_empty(), "{}: {contradicted:#?}", case.report);
    let mut found = Found::default();
    for finding in report["findings"].as_array().unwrap() {
        let text = |key: &str| finding[key].as_str().unwrap_or_default().to_owned();
        let cause = format!("{}/{}", text("check"), text("cause"));
        if text("severity") != "info" {
            found.loud.insert(cause.clone());
        }
        found.all.entry(cause).or_default().push_str(&finding.to_string());
    }
    found
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

#[test]
fn reports_are_judged_as_their_evidence_says() {
    let other = std::env::var_os("CORPUS_BINARY");
    let own = Path::new(env!("CARGO_BIN_EXE_longhorn-health-exporter")).to_owned();
    let binary = other.clone().map_or(own, Into::into);
    let (mut with, mut without): (BTreeMap<String, Row>, BTreeMap<String, Row>) = Default::default();
    let mut surprises = Vec::new();
    let only = std::env::var("CORPUS_ONLY").unwrap_or_default();
    for (class, cases) in cases().into_iter().filter(|(class, _)| class.starts_with(&only)) {
        for case in cases {
            let runs = [true, false].into_iter().filter(|with_log| *with_log || case.cluster.has_log());
            for with_log in runs {
                let found = look(&binary, &case, with_log);
                let other = case.without_log.as_deref().filter(|_| !with_log || !case.cluster.has_log());
                let expect = other.filter(|cause| *cause != "unknown").unwrap_or(&case.expect);
                let verdict = found.judge(&case, expect);
                let table = if with_log && case.cluster.has_log() { &mut with } else { &mut without };
                table.entry(class.clone()).or_default().add(verdict);
                // without the log, what the case says; that is unknown where nothing else tells
                let expected = if other == Some("unknown") { Verdict::Unknown } else { Verdict::Right };
                let text = found.all.get(expect).map(String::as_str).unwrap_or_default();
                let missing: Vec<_> = case
                    .says
                    .iter()
                    .filter(|words| with_log && verdict == Verdict::Right && !text.contains(words.as_str()))
                    .collect();
                if verdict != expected || !missing.is_empty() {
                    let log = if with_log { "with" } else { "without" };
                    surprises.push(format!(
                        "{class}: {} ({log} log): {verdict:?}, expected {} as {expected:?}; found {:?}; not said: {missing:?}",
                        case.report, expect, found.loud
                    ));
                }
            }
        }
    }
    let (mut all_with, mut all_without) = (Row::default(), Row::default());
    println!("{:34} {:>23} {:>23}", "class", "with log", "without log");
    println!("{:34} {:>23} {:>23}", "", "cases right unkn wrong", "cases right unkn wrong");
    let classes: BTreeSet<_> = with.keys().chain(without.keys()).cloned().collect();
    for class in classes {
        let row = |table: &BTreeMap<String, Row>| table.get(&class).copied().unwrap_or_default();
        let print = |row: Row| format!("{:5} {:5} {:4} {:5}", row.cases, row.right, row.unknown, row.wrong);
        println!("{class:34} {:>23} {:>23}", print(row(&with)), print(row(&without)));
        for (sum, row) in [(&mut all_with, row(&with)), (&mut all_without, row(&without))] {
            sum.cases += row.cases;
            sum.right += row.right;
            sum.unknown += row.unknown;
            sum.wrong += row.wrong;
        }
    }
    println!("with log {all_with:?}\nwithout log {all_without:?}");
    if other.is_some() || !only.is_empty() {
        println!("{}", surprises.join("\n"));
        return;
    }
    assert!(surprises.is_empty(), "{}", surprises.join("\n"));
    assert_eq!(all_with.wrong + all_without.wrong, 0);
    assert!(all_with.right * 100 >= all_with.cases * 95, "{all_with:?}");
    // in a fifth of the reports nothing but the log tells the cause
    assert!(all_without.right * 100 >= all_without.cases * 80, "{all_without:?}");
    assert!(all_with.cases + all_without.cases >= 60);
}

/// Causes of the checks that the corpus has to show which no recording can.
const ONLY_TIME_TELLS: &[&str] = &["operation_stalled/expansion_stalled", "operation_stalled/purge_stalled"];

#[test]
fn every_cause_of_unfinished_work_and_leftovers_is_in_a_case() {
    let expected: BTreeSet<String> = cases()
        .into_values()
        .flatten()
        .map(|case| case.expect)
        .chain(["snapshot_chain_long/many".to_owned()])
        .collect();
    let of_corpus = ["operation_stalled", "snapshot_chain_long", "version_skew", "left_behind"];
    let checks = longhorn_health_exporter::checks::ALL.iter().filter(|check| of_corpus.contains(&check.id));
    let causes =
        checks.flat_map(|check| check.causes.iter().map(|cause| format!("{}/{}", check.id, cause.id)));
    let missing: Vec<String> = causes.filter(|cause| !expected.contains(cause)).collect();
    assert_eq!(missing, ONLY_TIME_TELLS, "src/checks/operation_stalled/tests.rs plays those");
}
