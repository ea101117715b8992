//! A plan as JUnit XML: a test suite a part, a case a condition. What stands against it fails, what is unknown is an
//! error, what was accepted is skipped.

use quick_junit::{NonSuccessKind, Report as Junit, SerializeError, TestCase, TestCaseStatus, TestSuite};

use super::{Part, Plan, Reason, Verdict, Weight, conditions};
use crate::report::text::{flat, xml};

/// The plan as XML.
pub fn render(plan: &Plan) -> Result<Vec<u8>, SerializeError> {
    let mut junit = Junit::new(format!("longhorn-plan-{}", plan.plan));
    for part in &plan.parts {
        junit.add_test_suite(suite(plan, part));
    }
    xml(&junit)
}

fn suite(plan: &Plan, part: &Part) -> TestSuite {
    let mut suite = TestSuite::new(flat(&part.subject));
    suite.add_property(("verdict", part.verdict.as_str()));
    suite.add_property(("question", plan.question.as_str()));
    for (_, condition) in conditions().filter(|(of, _)| *of == plan.plan) {
        let reasons: Vec<&Reason> =
            part.reasons.iter().filter(|reason| reason.condition == condition.id()).collect();
        let worst = Verdict::of(reasons.iter().copied());
        let accepted = reasons.iter().any(|reason| reason.accepted);
        let mut status = match worst {
            Verdict::No | Verdict::NotYet => TestCaseStatus::non_success(NonSuccessKind::Failure),
            Verdict::Unknown => TestCaseStatus::non_success(NonSuccessKind::Error),
            Verdict::Go if accepted => TestCaseStatus::skipped(),
            Verdict::Go => TestCaseStatus::success(),
        };
        let heaviest = reasons.iter().min_by_key(|reason| reason.weight);
        if worst != Verdict::Go
            && let Some(reason) = heaviest
        {
            status.set_type(worst.as_str());
            status.set_message(flat(&reason.text));
            status.set_description(described(&reasons));
        }
        let mut case = TestCase::new(condition.id(), status);
        case.set_classname(plan.plan);
        if worst == Verdict::Go && !reasons.is_empty() {
            case.set_system_out(described(&reasons));
        }
        suite.add_test_case(case);
    }
    suite
}

fn described(reasons: &[&Reason]) -> String {
    let mut lines = Vec::new();
    for reason in reasons {
        let word = if reason.weight == Weight::Note { "note: " } else { "" };
        lines.push(format!("{word}{}", flat(&reason.text)));
        lines.extend(reason.evidence.iter().map(|fact| format!("because: {}", flat(fact))));
        let volumes: Vec<&str> = reason.volumes.iter().map(|volume| volume.called()).collect();
        if !volumes.is_empty() {
            lines.push(format!("volumes: {}", flat(&volumes.join(", "))));
        }
        if !reason.fix.is_empty() {
            lines.push(format!("fix: {}", flat(&reason.fix)));
        }
        lines.extend(reason.commands.iter().map(|command| match command.changes {
            true => format!("# changes the cluster:\n{}", command.run),
            false => command.run.clone(),
        }));
    }
    lines.join("\n")
}
