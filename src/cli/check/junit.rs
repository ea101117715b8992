//! A report as JUnit XML, for CI systems: a test suite a check, a failure a finding that reaches the
//! threshold, an error an unknown verdict.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use quick_junit::{NonSuccessKind, Report as Junit, SerializeError, TestCase, TestCaseStatus, TestSuite};

use crate::check::{Check, Finding, Severity};
use crate::report::text::{flat, xml};
use crate::report::{Accepted, EVERY_CHECK, Report, Unknown};

/// The report as XML. `checks` are those that ran; a check without findings is a passed case.
pub fn render(
    report: &Report,
    checks: &[&Check],
    fail_on: Option<Severity>,
) -> Result<Vec<u8>, SerializeError> {
    let mut junit = Junit::new("longhorn-health");
    let mut cluster = TestSuite::new(EVERY_CHECK);
    cluster.add_test_case(data_case(report));
    // reasons that belong to no check, such as an empty recording
    let strays =
        report.unknown.iter().filter(|unknown| !checks.iter().any(|check| check.id == unknown.check));
    cluster.add_test_cases(strays.map(unknown_case).collect::<Vec<_>>());
    for (name, value) in properties(report) {
        cluster.add_property((name, value.as_str()));
    }
    junit.add_test_suite(cluster);
    for check in checks {
        let mut suite = TestSuite::new(check.id);
        suite.add_test_cases(cases(report, check, fail_on));
        junit.add_test_suite(suite);
    }
    xml(&junit)
}

fn properties(report: &Report) -> Vec<(&'static str, String)> {
    let cluster = &report.cluster;
    let mut properties = vec![
        ("status", report.status.as_str().to_owned()),
        ("exit_code", report.exit_code.to_string()),
        ("namespace", cluster.namespace.clone()),
    ];
    properties.extend(cluster.name.clone().map(|name| ("cluster", name)));
    properties.extend(cluster.longhorn_version.clone().map(|version| ("longhorn_version", version)));
    properties.extend(cluster.now.map(|now| ("now", now.to_string())));
    properties
}

/// Whose data is affected. What to do about it is said by the checks, so this never fails.
fn data_case(report: &Report) -> TestCase {
    let status = if report.data.known { TestCaseStatus::success() } else { TestCaseStatus::skipped() };
    let mut case = case(EVERY_CHECK, "data".to_owned(), status);
    case.set_system_out(flat(&report.data.line));
    case
}

fn cases(report: &Report, check: &Check, fail_on: Option<Severity>) -> Vec<TestCase> {
    let mut names: BTreeMap<String, usize> = BTreeMap::new();
    let findings = report.findings.iter().filter(|finding| finding.check == check.id);
    let mut cases: Vec<_> = findings
        .map(|finding| {
            let name = lasting_name(finding);
            let seen = names.entry(name.clone()).or_default();
            *seen += 1;
            let name = if *seen > 1 { format!("{name} #{seen}") } else { name };
            finding_case(finding, name, fail_on)
        })
        .collect();
    cases.extend(report.accepted.iter().filter(|one| one.check == check.id).map(accepted_case));
    cases.extend(report.unknown.iter().filter(|unknown| unknown.check == check.id).map(unknown_case));
    if cases.is_empty() {
        // nothing to look at is no success, and told once for all checks
        let status = match report.is_unknown(check.id) {
            true => TestCaseStatus::skipped(),
            false => TestCaseStatus::success(),
        };
        cases.push(case(check.id, check.id.to_owned(), status));
    }
    cases
}

fn case(check: &str, name: String, status: TestCaseStatus) -> TestCase {
    let mut case = TestCase::new(flat(&name), status);
    case.set_classname(check);
    case
}

/// A name that the next run gives the same trouble too: pods are named by their node, which lasts.
fn lasting_name(finding: &Finding) -> String {
    let cause = finding.cause.id;
    match &finding.node {
        Some(node) if finding.object.kind == "Pod" => format!("{cause} {} on {node}", finding.object.kind),
        None if finding.object.kind == "Pod" => format!("{cause} {}", finding.object.kind),
        _ => format!("{cause} {}", finding.object),
    }
}

/// Skipped, with the reason.
fn accepted_case(one: &Accepted) -> TestCase {
    let mut status = TestCaseStatus::skipped();
    status.set_message(flat(&one.reason));
    case(one.check, format!("{} {}", one.cause, one.object), status)
}

fn finding_case(finding: &Finding, name: String, fail_on: Option<Severity>) -> TestCase {
    if fail_on.is_none_or(|least| finding.severity < least) {
        let mut passed = case(finding.check, name, TestCaseStatus::success());
        passed.set_system_out(description(finding));
        return passed;
    }
    let mut failure = TestCaseStatus::non_success(NonSuccessKind::Failure);
    failure.set_type(finding.severity.as_str());
    failure.set_message(flat(&finding.message));
    failure.set_description(description(finding));
    case(finding.check, name, failure)
}

fn description(finding: &Finding) -> String {
    let mut text = format!("{}\nimpact: {}\n", flat(&finding.message), flat(&finding.impact));
    for fact in finding.evidence() {
        let _ = writeln!(text, "because: {}", flat(&fact.text));
    }
    let _ = writeln!(text, "fix: {}", flat(&finding.remedy.fix));
    for command in &finding.remedy.commands {
        let changes = if command.changes { "# changes the cluster, needs an administrator:\n" } else { "" };
        let _ = writeln!(text, "{changes}{}", command.run);
    }
    text
}

fn unknown_case(unknown: &Unknown) -> TestCase {
    let mut error = TestCaseStatus::non_success(NonSuccessKind::Error);
    error.set_type("unknown");
    error.set_message(flat(&unknown.reason));
    case(unknown.check, "verdict".to_owned(), error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::Command;
    use crate::checks::CATALOGUE;
    use crate::testing::*;

    const PENDING: &str = "apiVersion: longhorn.io/v1beta2\nkind: Setting\n\
        metadata: {name: priority-class, namespace: longhorn-system}\nvalue: x\nstatus: {applied: false}\n";

    fn pending() -> &'static Check {
        CATALOGUE.by_id("danger_zone_pending").unwrap()
    }

    fn xml(report: &Report, checks: &[&Check], fail_on: Severity) -> String {
        String::from_utf8(render(report, checks, Some(fail_on)).unwrap()).unwrap()
    }

    fn junit(fail_on: Severity) -> String {
        let report = run(pending(), &cluster(PENDING)).report;
        xml(&report, &[pending()], fail_on)
    }

    #[test]
    fn a_finding_fails_only_from_the_threshold_on() {
        let (failed, passed) = (junit(Severity::Info), junit(Severity::Warning));
        assert!(failed.contains(r#"failures="1""#) && failed.contains("<failure "), "{failed}");
        assert!(passed.contains(r#"failures="0""#) && !passed.contains("<failure "), "{passed}");
    }

    #[test]
    fn commands_that_change_the_cluster_are_marked() {
        let report = run(pending(), &cluster(PENDING)).report;
        let mut finding = report.findings[0].clone();
        let command = |run: &str, changes| Command { run: run.to_owned(), changes };
        finding.remedy.commands = vec![command("kubectl get x", false), command("kubectl delete x", true)];
        let text = description(&finding);
        assert!(
            text.ends_with(
                "\nkubectl get x\n# changes the cluster, needs an administrator:\nkubectl delete x\n"
            ),
            "{text}"
        );
    }

    #[test]
    fn an_unknown_verdict_is_an_error_and_a_silent_check_a_passed_case() {
        let report = run(pending(), &live_at("2026-01-01T00:00:00Z", MANAGER)).report;
        let xml_of = |report: &Report| xml(report, &[pending()], Severity::Warning);
        assert!(!xml_of(&report).contains("<error") && !xml_of(&report).contains("<skipped"));

        let report = run(pending(), &cluster("")).report;
        assert_eq!(xml_of(&report).matches("<error ").count(), 1, "{}", xml_of(&report));
        assert_eq!(xml_of(&report).matches("<skipped").count(), 2, "what was not looked at has not passed");
    }
}
