//! Which incidents there are, kept so that the timeline can say when they ended.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::Evaluator;
use crate::history::changes::Past;
use crate::report::{EVERY_CHECK, Evaluation};

impl Evaluator {
    /// Notes which incidents there are: one is over when nothing of its cause is found, and that could be seen.
    pub(super) fn keep_incidents(&self, evaluation: &Evaluation, now: Timestamp) {
        let report = &evaluation.report;
        let found = report.incidents.iter().map(|incident| Past {
            check: incident.check.to_owned(),
            cause: incident.cause.to_owned(),
            severity: incident.severity.as_str().to_owned(),
            title: incident.title.clone(),
            began: incident.since.unwrap_or(now).min(now),
            ended: None,
        });
        let findings = report.findings.iter().map(|finding| (finding.check, finding.cause.id));
        let beside = report.not_listed.iter().map(|other| (other.check, other.cause));
        let beside = beside.chain(report.accepted.iter().map(|one| (one.check, one.cause.as_str())));
        let held: BTreeSet<(&str, &str)> = findings.chain(beside).collect();
        let unseen: BTreeSet<&str> = report.unknown.iter().map(|unknown| unknown.check).collect();
        let holds = |past: &Past| {
            let check = past.check.as_str();
            held.contains(&(check, past.cause.as_str()))
                || unseen.contains(check)
                || unseen.contains(EVERY_CHECK)
        };
        self.source.keep_incidents(found.collect(), &holds, now);
    }
}
