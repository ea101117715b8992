//! The queries of docs/migration.md and docs/stability.md, case by case: what the pages say of them is run by promtool.

use std::collections::BTreeSet;
use std::path::Path;

use regex::Regex;

use crate::promtool::{RULES, promtools, run};

const CASES: &str = include_str!("migration.test.yaml");
const STABILITY_CASES: &str = include_str!("stability.test.yaml");

fn page(name: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(name)).unwrap()
}

#[test]
fn what_the_pages_say_is_so() {
    for cases in [CASES, STABILITY_CASES] {
        run_cases(cases);
    }
}

fn run_cases(text: &str) {
    let directory = tempfile::tempdir().unwrap();
    let cases = directory.path().join("cases.test.yaml");
    let rules = Path::new(RULES).join("longhorn-health.rules.yaml");
    std::fs::write(&cases, text.replace("[RULES]", &format!("[{}]", rules.display()))).unwrap();
    for promtool in promtools() {
        run(&promtool, ["test".as_ref(), "rules".as_ref(), cases.as_os_str()]).unwrap();
    }
}

/// Queries of a page, each of which has a case.
fn has_cases(page: &str, cases: &str) -> usize {
    // a case turns an amount that is extrapolated into true or false
    let squeezed = |text: &str| text.split_whitespace().collect::<String>().replace(">bool0", ">0");
    let cases = squeezed(cases);
    let blocks = Regex::new(r"(?s)```promql\n(.*?)```").unwrap();
    let expressions: Vec<_> = blocks.captures_iter(page).map(|block| squeezed(&block[1])).collect();
    for expression in &expressions {
        assert!(cases.contains(expression), "no case for {expression}");
    }
    expressions.len()
}

#[test]
fn every_query_of_the_stability_page_has_a_case() {
    assert_eq!(has_cases(&page("stability.md"), STABILITY_CASES), 4);
}

#[test]
fn every_alert_and_expression_of_the_migration_page_has_a_case() {
    let page = page("migration.md");
    assert!(has_cases(&page, CASES) >= 5);
    let (rules, _) = page.split_once("## From kube-state-metrics").unwrap();
    let alerts = Regex::new(r"\[(Longhorn\w+)\]\(runbooks/").unwrap();
    let alerts: BTreeSet<&str> = alerts.captures_iter(rules).map(|found| found.extract::<1>().1[0]).collect();
    assert!(alerts.len() >= 20, "{alerts:?}");
    for alert in alerts.into_iter().filter(|alert| *alert != "LonghornHealthExporterDown") {
        assert!(CASES.contains(&format!("alertname=\"{alert}\"")), "no case for {alert}");
    }
}
