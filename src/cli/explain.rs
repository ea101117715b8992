//! `explain`: what a check sees and what its causes mean, as docs/checks.md has it.

use clap::Args;

use super::{Failure, exit, print};
use crate::check::{Cause, Check};
use crate::checks::CATALOGUE;
use crate::report::text::explain;

/// Options of `explain`.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// Id of a check, or of one of its causes, as in reports and metrics
    #[arg(value_name = "CHECK[/CAUSE]", value_parser = subject)]
    subject: Subject,
}

type Subject = (&'static Check, Option<&'static Cause>);

fn subject(text: &str) -> Result<Subject, String> {
    CATALOGUE.subject(text)
}

/// Runs `explain`.
pub fn run(args: ExplainArgs) -> Result<u8, Failure> {
    let (check, cause) = args.subject;
    print(&explain::text(check, cause))?;
    Ok(exit::OK)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of((check, cause): Subject) -> String {
        explain::text(check, cause)
    }

    #[test]
    fn a_check_is_told_with_all_causes_and_a_cause_alone() {
        let all = text_of(subject("manager_crash_loop").unwrap());
        assert!(all.starts_with("manager_crash_loop: "), "{all}");
        let check = CATALOGUE.by_id("manager_crash_loop").unwrap();
        assert!(check.causes.iter().all(|cause| all.contains(cause.summary)), "{all}");
        let one = text_of(subject("manager_crash_loop/open_iscsi_missing").unwrap());
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
