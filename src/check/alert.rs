//! Alerts as data.

use super::Severity;

/// An alert. The expression stands literally in the check, so that searching for a metric name
/// finds every use; only these placeholders are filled in by the generator:
///
/// - `$job` → the job matcher, `job="longhorn-health-exporter"`;
/// - `$without` → `instance, pod, container, endpoint, service`: the labels to aggregate away so
///   that two exporter pods give one alert and a replaced pod does not restart `for`;
/// - `$cluster` → the cluster label with a comma (`cluster, `) for `by (…)` and `on (…)` lists;
/// - `$name` of a [`Threshold`] → its value.
#[derive(Debug)]
pub struct Alert {
    /// CamelCase, starts with `Longhorn`, at most 40 characters. Also the name of the runbook.
    pub name: &'static str,
    /// Causes of the check that this alert covers.
    pub causes: &'static [&'static str],
    /// PromQL with placeholders.
    pub expr: &'static str,
    /// How long the expression must hold: `0m`, `5m`, `1h`.
    pub hold: &'static str,
    /// How long the alert goes on after the expression ends; empty for none.
    pub keep_firing_for: &'static str,
    /// `critical` means act now, `warning` a ticket, `info` context only.
    pub severity: Severity,
    /// Numbers in the expression that a user may set.
    pub thresholds: &'static [Threshold],
    /// Static sentence, capital first, full stop last.
    pub summary: &'static str,
    /// Prometheus template: what, where, since when, and what to do first.
    pub description: &'static str,
    /// Why this threshold and this `for`.
    pub why: &'static str,
    /// Runbook in Markdown: what to do first, then the sections Meaning, Impact, Diagnosis, Mitigation.
    pub runbook: &'static str,
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
    /// Why this value.
    pub why: &'static str,
}
