//! docs/migration.md, case by case: what it says of other rules and of ours is run by promtool.

use std::collections::BTreeSet;
use std::path::Path;

use regex::Regex;

use crate::promtool::{RULES, promtools, run};

const CASES: &str = include_str!("migration.test.yaml");
const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/migration.md");

#[test]
fn what_the_migration_page_says_is_so() {
    let directory = tempfile::tempdir().unwrap();
    let cases = directory.path().join("migration.test.yaml");
    let rules = Path::new(RULES).join("longhorn-health.rules.yaml");
    std::fs::write(&cases, CASES.replace("[RULES]", &format!("[{}]", rules.display()))).unwrap();
    for promtool in promtools() {
        run(&promtool, ["test".as_ref(), "rules".as_ref(), cases.as_os_str()]).unwrap();
    }
}

#[test]
fn every_alert_and_expression_of_the_migration_page_has_a_case() {
    let page = std::fs::read_to_string(PAGE).unwrap();
    // a case turns an amount that is extrapolated into true or false
    let squeezed = |text: &str| text.split_whitespace().collect::<String>().replace(">bool0", ">0");
    let cases = squeezed(CASES);
    let blocks = Regex::new(r"(?s)```promql\n(.*?)```").unwrap();
    let expressions: Vec<_> = blocks.captures_iter(&page).map(|block| squeezed(&block[1])).collect();
    assert!(expressions.len() >= 5, "{expressions:?}");
    for expression in expressions {
        assert!(cases.contains(&expression), "no case for {expression}");
    }
    let (rules, _) = page.split_once("## From kube-state-metrics").unwrap();
    let alerts = Regex::new(r"\[(Longhorn\w+)\]\(runbooks/").unwrap();
    let alerts: BTreeSet<&str> = alerts.captures_iter(rules).map(|found| found.extract::<1>().1[0]).collect();
    assert!(alerts.len() >= 20, "{alerts:?}");
    for alert in alerts.into_iter().filter(|alert| *alert != "LonghornHealthExporterDown") {
        assert!(CASES.contains(&format!("alertname=\"{alert}\"")), "no case for {alert}");
    }
}
