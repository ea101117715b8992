//! `explain`: what a check sees and what its causes mean, as docs/checks.md has it.

use std::fmt::Write;

use clap::Args;

use super::{Failure, exit, print};
use crate::check::{Cause, Check, Remedy};
use crate::checks::CATALOGUE;

/// Options of `explain`.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// Id of a check, or of one of its causes, as in reports and metrics
    #[arg(value_name = "CHECK[/CAUSE]", value_parser = subject)]
    subject: Subject,
}

type Subject = (&'static Check, Option<&'static Cause>);

fn subject(text: &str) -> Result<Subject, String> {
    let (id, cause) = text.split_once('/').map_or((text, None), |(id, cause)| (id, Some(cause)));
    CATALOGUE.named(id, cause)
}

/// Runs `explain`.
pub fn run(args: ExplainArgs) -> Result<u8, Failure> {
    print(&text(args.subject))?;
    Ok(exit::OK)
}

fn text((check, cause): Subject) -> String {
    let mut text = format!("{}: {}\n{}\n", check.id, check.title, check.summary);
    let causes: Vec<&'static Cause> = match cause {
        Some(cause) => vec![cause],
        None => check.causes.to_vec(),
    };
    for cause in causes {
        // writing to a String cannot fail
        let _ = writeln!(text, "\n{}/{} ({})\n  {}", check.id, cause.id, cause.severity, cause.summary);
        advice(&mut text, "  ", &cause.advice());
        for way in check.ways(cause).filter(|way| !way.advice().is_empty()) {
            let _ = writeln!(text, "  {}:", way.briefly);
            advice(&mut text, "    ", &way.advice());
        }
        if let Some(runbook) = check.runbook(cause) {
            let _ = writeln!(text, "  longhorn-health-exporter runbook {runbook}");
        }
    }
    text
}

/// The advice of a cause or of one of its ways.
fn advice(text: &mut String, indent: &str, advice: &Remedy) {
    if !advice.fix.is_empty() {
        let _ = writeln!(text, "{indent}fix: {}", advice.fix);
    }
    for command in &advice.commands {
        let _ = writeln!(text, "{indent}{} {}", if command.changes { '!' } else { '$' }, command.run);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_is_told_with_all_causes_and_a_cause_alone() {
        let all = text(subject("manager_crash_loop").unwrap());
        assert!(all.starts_with("manager_crash_loop: "), "{all}");
        let check = CATALOGUE.by_id("manager_crash_loop").unwrap();
        assert!(check.causes.iter().all(|cause| all.contains(cause.summary)), "{all}");
        let one = text(subject("manager_crash_loop/open_iscsi_missing").unwrap());
        assert!(
            one.contains("\nmanager_crash_loop/open_iscsi_missing (critical)\n  open-iscsi is missing"),
            "{one}"
        );
        assert!(
            one.ends_with("  longhorn-health-exporter runbook LonghornManagerCrashLoopBackOff\n"),
            "{one}"
        );
        assert!(!one.contains("oom_killed"), "{one}");
    }

    #[test]
    fn names_that_do_not_exist_get_a_hint() {
        assert_eq!(subject("manager_crash").unwrap_err(), "no such check; did you mean manager_crash_loop?");
        assert!(subject("manager_crash_loop/open_iscsi").unwrap_err().contains("open_iscsi_missing"));
    }
}
