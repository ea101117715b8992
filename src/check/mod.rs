//! The vocabulary in which everything else is said: a check, what it declares and what it finds.
//!
//! A check is one [`Check`] constant in one folder under `src/checks/`. Its declarations (gauges,
//! alerts, panels, causes) are data from which the exposition, the rule files, the dashboards, the
//! references and the access rules are generated; its `run` is a pure function from [`Cluster`] to
//! an [`Outcome`].

pub mod alert;
pub mod fact;
pub mod finding;
pub mod follows;
pub mod gauge;
pub mod outcome;
pub mod panel;
pub mod record;
mod words;

pub use crate::cluster::{ObjectRef, VolumeRef};
pub use alert::{Alert, Threshold};
pub use fact::Fact;
pub use finding::{Command, Evidence, EvidenceSource, Finding, Remedy, Severity, cut};
pub use follows::{Follows, Link, Same};
pub use gauge::{Gauge, GaugeKind, Sample, Stability};
pub use outcome::Outcome;
pub use panel::{Bound, Dashboard, Panel, PanelKind, Query, Step, Unit, Width};
pub use record::Record;
pub use words::{capitalised, counted};

use crate::cluster::Cluster;
use crate::longhorn::Resource;

/// One way in which Longhorn fails.
#[derive(Debug)]
pub struct Check {
    /// Names the bad state in snake_case. A contract: it is a label value and an option of `check`.
    pub id: &'static str,
    /// A few words for headings.
    pub title: &'static str,
    /// What the check computes, in one or two sentences.
    pub summary: &'static str,
    /// Kinds without which nothing can be said: if one of them is unreadable, the verdict of this
    /// check is unknown.
    pub needs: &'static [Resource],
    /// Kinds that make findings more precise; without them the check still runs.
    pub uses: &'static [Resource],
    /// The closed list of causes.
    pub causes: &'static [Cause],
    /// Series of this check alone.
    pub gauges: &'static [&'static Gauge],
    /// Expressions that its alerts and its panels share.
    pub records: &'static [&'static Record],
    /// Alerts on this check.
    pub alerts: &'static [Alert],
    /// What promtool's cases of these alerts need beside what is derived from their expressions
    /// (`alerts.test.yaml` beside the check); empty where that is enough.
    pub cases: &'static str,
    /// Panels about this check.
    pub panels: &'static [Panel],
    /// Looks at the cluster. Pure: no clock, no I/O, no panic on any input.
    pub run: fn(&Cluster, &mut Outcome),
}

/// A reason for which a check finds something.
#[derive(Debug)]
pub struct Cause {
    /// snake_case; a contract: it is a label value.
    pub id: &'static str,
    /// How bad it is, unless the finding overrides it where the summary says so.
    pub severity: Severity,
    /// What the cause means, in one sentence.
    pub summary: &'static str,
}

impl Check {
    /// The declaration of a cause.
    pub fn cause(&self, id: &str) -> Option<&'static Cause> {
        self.causes.iter().find(|cause| cause.id == id)
    }

    /// The runbook of a finding with this cause: that of the first alert which lists the cause,
    /// else that of the check's first alert.
    pub fn runbook(&self, cause: &str) -> Option<&'static str> {
        let named = self.alerts.iter().find(|alert| alert.causes.contains(&cause));
        named.or(self.alerts.first()).map(|alert| alert.name)
    }
}
