//! The verdict in a word, and as an exit code.

use schemars::JsonSchema;
use serde::Serialize;

use super::Report;
use crate::check::Severity;
use crate::word_enum::word_enum;

word_enum! {
    /// How the cluster is, in a word.
    #[derive(Serialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    pub enum Status {
        /// Everything was read and nothing is wrong.
        Healthy = "healthy",
        /// Everything was read, and there is no more than notes.
        Info = "info",
        /// Something is to be looked at in working hours.
        Warning = "warning",
        /// Something is to be acted on now.
        Critical = "critical",
        /// Nothing urgent was found, but not everything could be read.
        Unknown = "unknown",
    }
}

impl Status {
    /// Of what was found and whether every check had its say. What is unknown never passes for
    /// health, and a problem that is known is told before it.
    pub fn of(worst: Option<Severity>, all_known: bool) -> Self {
        match worst {
            Some(Severity::Critical) => Status::Critical,
            Some(Severity::Warning) => Status::Warning,
            _ if !all_known => Status::Unknown,
            Some(Severity::Info) => Status::Info,
            None => Status::Healthy,
        }
    }
}

/// Exit codes of a verdict. A contract.
pub mod exit {
    /// Nothing reaches the threshold.
    pub const OK: u8 = 0;
    /// Something reaches the threshold.
    pub const FINDINGS: u8 = 1;
    /// Could not read what the verdict needs.
    pub const UNKNOWN: u8 = 2;
}

impl Report {
    /// The exit code with this threshold; `None` fails on nothing but ignorance. A known problem wins
    /// over not knowing.
    pub fn exit_code_from(&self, fail_on: Option<Severity>) -> u8 {
        let reached = fail_on.zip(self.worst()).is_some_and(|(least, worst)| worst >= least);
        match (reached, self.unknown.is_empty()) {
            (true, _) => exit::FINDINGS,
            (false, false) => exit::UNKNOWN,
            (false, true) => exit::OK,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_is_neither_healthy_nor_hides_a_problem() {
        for (found, all_known, expected) in [
            (None, true, Status::Healthy),
            (None, false, Status::Unknown),
            (Some(Severity::Info), true, Status::Info),
            (Some(Severity::Info), false, Status::Unknown),
            (Some(Severity::Warning), false, Status::Warning),
            (Some(Severity::Critical), false, Status::Critical),
        ] {
            assert_eq!(Status::of(found, all_known), expected, "{found:?} {all_known}");
        }
    }
}
