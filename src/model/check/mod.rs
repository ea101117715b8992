//! The vocabulary in which everything else is said: a check, what it declares and what it finds.
//!
//! A check is one [`Check`] constant in one folder under `src/checks/`. Its declarations (gauges,
//! alerts, panels, causes) are data from which the exposition, the rule files, the dashboards, the
//! references and the access rules are generated; its `run` is a pure function from [`Cluster`] to
//! an [`Outcome`].

mod advice;
mod alert;
mod catalogue;
mod cause;
mod changed_by;
mod errors;
mod evidence;
mod fact;
mod finding;
mod gauge;
mod outcome;
mod panel;
mod record;
mod remedy;
pub mod said;
pub mod signatures;
mod way;
mod words;

pub use crate::cluster::{Cluster, ObjectRef, VolumeRef};
pub use crate::longhorn::Resource;
pub use advice::{CommandTemplate, Name, assert_names, assert_proven, filled, takes_away};
pub use alert::alert;
pub use alert::{Alert, Threshold, When};
pub use catalogue::{Catalogue, Link, Relation, Same};
pub use cause::causes;
pub use cause::{Cause, OfData};
pub use changed_by::{
    BY_CORDON, BY_ITS_TARGET, BY_ITS_VALUE, BY_LIMIT, BY_MINIMUM, BY_PERCENTAGE, BY_POLICY, BY_ROLLOUT,
    ChangedBy,
};
pub use evidence::{Evidence, EvidenceSource};
pub use fact::Fact;
pub use finding::{Finding, Severity, Since, cut};
pub use gauge::gauges;
pub use gauge::{Gauge, GaugeKind, Sample};
pub use outcome::{Omitted, Outcome, truncate_to_worst};
pub use panel::{Bound, Dashboard, Panel, PanelKind, Query, Shows, Step, Unit, Width};
pub use record::Record;
pub use remedy::{Command, Remedy};
pub use way::{Way, WaysOf};
pub use way::{way, ways};
pub use words::{bytes, capitalised, counted, is_hidden, plain, uncapitalised};

/// A check that runs the function `run` beside it. What is left out is as [`Check::DEFAULT`] has it.
#[macro_export]
macro_rules! check {
    ($($field:ident: $value:expr),+ $(,)?) => {
        $crate::check::Check { $($field: $value,)+ run, ..$crate::check::Check::DEFAULT }
    };
}
pub use check;

/// One way in which Longhorn fails, as [`check!`] declares it.
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
    /// Kinds that it looks at where they are at hand: in a recording, and in a single look with a person's rights. Of them, `serve`
    /// follows only NetworkPolicies, and without them nothing is missing.
    pub glances: &'static [Resource],
    /// The closed list of causes.
    pub causes: &'static [&'static Cause],
    /// The ways in which they come about.
    pub ways: &'static [&'static [WaysOf]],
    /// Series of this check alone.
    pub gauges: &'static [&'static Gauge],
    /// Expressions that its alerts and its panels share.
    pub records: &'static [&'static Record],
    /// Alerts on this check.
    pub alerts: &'static [Alert],
    /// Those that kube-state-metrics alone can carry, for clusters in which the exporter does not run (yet).
    pub without_exporter: &'static [Alert],
    /// Cases of them beside those of the exporter, in promtool's form, of a night as it was.
    pub incident: &'static str,
    /// Panels about this check.
    pub panels: &'static [Panel],
    /// Finds volumes that lack replicas: who waits for health waits until none does.
    pub of_redundancy: bool,
    /// What it finds has ended: it comes behind what has not.
    pub of_the_past: bool,
    /// True where workloads stop: their volume cannot be mounted, attached, read or written.
    pub stops_workloads: bool,
    /// True for what the release brings with it, on every cluster.
    pub of_the_release: bool,
    /// It is about backups: what threatens the data itself comes first.
    pub of_backups: bool,
    /// Finds what users' signatures describe, and reads the kinds that these ask for.
    pub of_signatures: bool,
    /// Looks at the cluster. Pure: no clock, no I/O, no panic on any input.
    pub run: fn(&Cluster, &mut Outcome),
}

impl Check {
    /// What most checks leave out.
    pub const DEFAULT: Check = Check {
        id: "",
        title: "",
        summary: "",
        needs: &[],
        uses: &[],
        glances: &[],
        causes: &[],
        ways: &[],
        gauges: &[],
        records: &[],
        alerts: &[],
        without_exporter: &[],
        incident: "",
        panels: &[],
        of_redundancy: false,
        of_the_past: false,
        stops_workloads: false,
        of_the_release: false,
        of_backups: false,
        of_signatures: false,
        run: |_, _| {},
    };

    /// The declaration of a cause, for the compiler: one that is not declared stops the build.
    #[expect(clippy::panic, reason = "at compile time")]
    pub const fn declared(&self, id: &str) -> &'static Cause {
        let mut causes = self.causes;
        while let [cause, rest @ ..] = causes {
            if cause::same(cause.id.as_bytes(), id.as_bytes()) {
                return cause;
            }
            causes = rest;
        }
        panic!("no such cause")
    }

    /// The declaration of a cause.
    pub fn cause(&self, id: &str) -> Option<&'static Cause> {
        self.causes.iter().copied().find(|cause| cause.id == id)
    }

    /// The runbook of a finding with this cause: that of the first alert which lists the cause,
    /// else that of the check's first alert.
    pub fn runbook(&self, cause: &Cause) -> Option<&'static str> {
        self.alert_of(cause).or(self.alerts.first()).map(|alert| alert.name)
    }

    /// The alert that tells of this cause: the first which lists it.
    pub fn alert_of(&self, cause: &Cause) -> Option<&'static Alert> {
        self.alerts.iter().find(|alert| alert.causes().any(|listed| listed == cause))
    }

    /// The dashboard that shows this check: that of its first panel off the overview.
    pub fn dashboard(&self) -> Dashboard {
        Dashboard::of(self.panels)
    }

    /// Stops the build where an alert names a cause that its check does not list.
    ///
    /// ```compile_fail,E0080
    /// use longhorn_health_model::check::{Alert, Cause, Check, When};
    /// const OF_ANOTHER: Cause = Cause::warning("deadlock", "…");
    /// static CHECK: Check = Check {
    ///     id: "toy",
    ///     alerts: &[Alert { name: "LonghornToy", when: When::Found(&[&OF_ANOTHER]), ..Alert::DEFAULT }],
    ///     ..Check::DEFAULT
    /// };
    /// const _: () = CHECK.assert_alerts_name_own_causes();
    /// ```
    pub const fn assert_alerts_name_own_causes(&self) {
        let mut alerts = self.alerts;
        while let [alert, rest @ ..] = alerts {
            self.assert_lists(alert.fires_on());
            self.assert_lists(alert.runbook_only);
            alerts = rest;
        }
    }

    /// Stops the build where a table has no column, and so would show nothing, or shows what another check finds.
    pub const fn assert_tables_have_columns(&self) {
        let mut panels = self.panels;
        while let [panel, rest @ ..] = panels {
            let of_expr = matches!((panel.kind, panel.shows), (PanelKind::Table, Shows::Expr));
            assert!(!of_expr || !panel.columns.is_empty(), "a table has no columns");
            if let Shows::Findings(check) = panel.shows {
                assert!(
                    cause::same(check.as_bytes(), self.id.as_bytes()),
                    "a panel shows the findings of another check"
                );
            }
            panels = rest;
        }
    }

    const fn assert_lists(&self, mut causes: &[&Cause]) {
        while let [cause, rest @ ..] = causes {
            assert!(cause.is_in(self.causes), "an alert names a cause that its check does not list");
            causes = rest;
        }
    }
}
