//! Alerts as data.

use super::{Cause, Gauge, Severity};

/// An alert with the runbook of its name, `NAME.md` beside the file. Say only what is special: `alert! { "NAME", for_: "5m", … }`.
#[macro_export]
macro_rules! alert {
    ($name:literal, $($field:ident: $value:expr),+ $(,)?) => {
        $crate::check::Alert {
            name: $name,
            $($field: $value,)+
            runbook: include_str!(concat!($name, ".md")),
            ..$crate::check::Alert::DEFAULT
        }
    };
}
pub use alert;

/// An alert, as [`alert!`] declares it.
#[derive(Debug, Clone)]
pub struct Alert {
    /// CamelCase, starts with `Longhorn`, at most 40 characters. Also the name of the runbook.
    pub name: &'static str,
    /// What it fires on.
    pub when: When,
    /// Fires on findings of this severity only; for causes whose findings differ in it.
    pub only: Option<Severity>,
    /// Labels of the finding or fact to aggregate away as well, so that several give one alert.
    pub without: &'static [&'static str],
    /// Causes on which it does not fire, but whose findings point to its runbook.
    pub runbook_only: &'static [&'static Cause],
    /// Whether its causes hold side by side on one object, each for itself, so that each is an alert. Others take
    /// turns: the cause is no label of the alert, which would start over when it changes.
    pub side_by_side: bool,
    /// How long the expression must hold: `0m`, `5m`, `1h`.
    pub for_: &'static str,
    /// How long the alert goes on after the expression ends; empty for not at all.
    pub keep_firing_for: &'static str,
    /// `critical` means act now, `warning` a ticket, `info` context only. Of an alert on findings that of the worst
    /// cause, whatever stands here: see [`Alert::severity`].
    pub severity: Severity,
    /// What it fires on differs in severity: a rule for each, of the same name. It keeps firing at least as long as it waits, so that a
    /// change of severity does not look like an end.
    pub as_found: bool,
    /// Numbers in the expression that a user may set.
    pub thresholds: &'static [Threshold],
    /// Static sentence, capital first, full stop last.
    pub summary: &'static str,
    /// Prometheus template: what, where, since when, and what to do first.
    pub description: &'static str,
    /// Why this threshold and this `for`.
    pub why: &'static str,
    /// Runbook in Markdown: what to do first, then the sections Meaning, Impact, Diagnosis,
    /// Mitigation and, where other write-ups say otherwise, Background.
    pub runbook: &'static str,
}

/// What an alert fires on. The generator renders the expression from it, once.
#[derive(Debug, Clone)]
pub enum When {
    /// A finding with one of these causes of the check. One alert per finding; pods of the exporter
    /// and severities of the finding are aggregated away.
    Found(&'static [&'static Cause]),
    /// A family of facts, which are 1 or not there, with these values of its labels.
    Flag { gauge: &'static Gauge, labels: &'static [(&'static str, &'static str)] },
    /// Anything else. The expression stands literally here, so that searching for the name of a
    /// metric finds every use. Only these placeholders are filled in:
    ///
    /// - `$job` → the job matcher, `job="longhorn-health-exporter"`;
    /// - `$without` → `instance, pod, container, endpoint, service, severity`: the labels to aggregate away so
    ///   that two exporter pods give one alert and a replaced pod does not restart `for`;
    /// - `$cluster` → the cluster label with a comma (`cluster, `) for `by (…)` and `on (…)` lists;
    /// - `$name` of a [`Threshold`] → its value.
    Promql {
        /// PromQL with placeholders.
        expr: &'static str,
        /// `<name of the alert>.test.yaml`: what the promtool cases need to know of the series.
        cases: &'static str,
    },
}

/// A number in an alert's expression that the configuration may change. Dashboards draw the same
/// number.
#[derive(Debug)]
pub struct Threshold {
    /// snake_case; `$name` in the expression.
    pub name: &'static str,
    /// Value without configuration.
    pub default: f64,
    /// The least that makes sense in the expression.
    pub least: f64,
    /// What it counts, for the reference: `seconds`, `restarts`, …
    pub unit: &'static str,
    /// True for the seconds of a range selector: it stands in brackets, where PromQL wants whole seconds with their unit.
    pub is_range: bool,
    /// Why this value.
    pub why: &'static str,
}

impl Alert {
    /// The defaults: a warning at once, that ends with its expression.
    pub const DEFAULT: Alert = Alert {
        name: "",
        when: When::Found(&[]),
        only: None,
        without: &[],
        runbook_only: &[],
        side_by_side: false,
        for_: "0m",
        keep_firing_for: "",
        severity: Severity::Warning,
        as_found: false,
        thresholds: &[],
        summary: "",
        description: "",
        why: "",
        runbook: "",
    };

    /// The causes on which it fires; none for a literal expression.
    pub const fn fires_on(&self) -> &'static [&'static Cause] {
        match self.when {
            When::Found(causes) => causes,
            When::Flag { .. } | When::Promql { .. } => &[],
        }
    }

    /// How bad it is: as the findings that it fires on, the worst of them where they differ.
    pub fn severity(&self) -> Severity {
        let worst = self.fires_on().iter().map(|cause| cause.severity).max();
        self.only.or(worst).unwrap_or(self.severity)
    }

    /// The rule on series of this severity.
    pub fn only(&self, severity: Severity) -> Alert {
        Alert { only: Some(severity), as_found: false, ..self.clone() }
    }

    /// Labels of the finding that are aggregated away.
    pub fn drops(&self) -> impl Iterator<Item = &'static str> {
        let takes_turns = self.fires_on().len() > 1 && !self.side_by_side && !self.without.contains(&"cause");
        self.without.iter().copied().chain(takes_turns.then_some("cause"))
    }

    /// True when it has this label of the finding.
    pub fn keeps(&self, label: &str) -> bool {
        let has = match self.when {
            When::Flag { gauge, .. } => gauge.labels.contains(&label),
            When::Found(_) | When::Promql { .. } => true,
        };
        has && !self.drops().any(|dropped| dropped == label)
    }

    /// True when it tells of findings of this cause, and not only explains them.
    pub fn tells_of(&self, cause: &Cause) -> bool {
        match self.when {
            When::Found(causes) => causes.contains(&cause),
            When::Flag { .. } => self.runbook_only.contains(&cause),
            When::Promql { .. } => false,
        }
    }

    /// The causes whose findings point to its runbook.
    pub fn causes(&self) -> impl Iterator<Item = &'static Cause> {
        self.fires_on().iter().chain(self.runbook_only).copied()
    }
}
