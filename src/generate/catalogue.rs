//! The list from which everything is made, with what the exporter says about itself.

use crate::check::{Alert, Cause, Dashboard, Gauge, Panel, Record};
use crate::checks::{self, manager_crash_loop};
use crate::exporter;
use crate::generate::promql;

/// A part of the catalogue: a check, or the exporter itself.
#[derive(Debug, Clone, Copy)]
pub struct Area {
    /// Id of the check, or `exporter`.
    pub id: &'static str,
    /// A few words for headings.
    pub title: &'static str,
    /// What it computes.
    pub summary: &'static str,
    /// Its causes.
    pub causes: &'static [Cause],
    /// Its series.
    pub gauges: &'static [&'static Gauge],
    /// Its recording rules.
    pub records: &'static [&'static Record],
    /// Its alerts.
    pub alerts: &'static [Alert],
    /// What it writes beside the generated cases of its alerts, as `alerts.test.yaml`.
    pub cases: &'static str,
    /// Its panels.
    pub panels: &'static [Panel],
}

/// Every part, in the order of everything generated.
pub fn areas() -> impl Iterator<Item = Area> {
    let checks = checks::ALL.iter().map(|check| Area {
        id: check.id,
        title: check.title,
        summary: check.summary,
        causes: check.causes,
        gauges: check.gauges,
        records: check.records,
        alerts: check.alerts,
        panels: check.panels,
        cases: check.cases,
    });
    checks.chain([EXPORTER])
}

/// What the exporter says about itself and about all checks together.
const EXPORTER: Area = Area {
    id: "exporter",
    title: "The exporter",
    summary: "Whether the exporter is there, what it can read, and what all checks find together.",
    causes: &[],
    gauges: exporter::GAUGES,
    records: &[],
    alerts: exporter::ALERTS,
    panels: exporter::PANELS,
    cases: exporter::CASES,
};

/// The few alerts that kube-state-metrics alone can carry; a rule file of its own, in no list of
/// the exporter.
pub const KUBE_STATE_METRICS: Area = Area {
    id: "kube-state-metrics",
    title: "kube-state-metrics alone",
    summary: "Two alerts for clusters in which the exporter does not run (yet).",
    causes: &[],
    gauges: &[],
    records: &[],
    alerts: manager_crash_loop::KUBE_STATE_METRICS_ALERTS,
    panels: &[],
    cases: include_str!("../checks/manager_crash_loop/kube-state-metrics.test.yaml"),
};

/// Every alert on the exporter's series.
pub fn alerts() -> impl Iterator<Item = &'static Alert> {
    areas().flat_map(|area| area.alerts)
}

/// The recording rule of this name.
pub fn record(name: &str) -> Option<&'static Record> {
    areas().flat_map(|area| area.records.iter().copied()).find(|record| record.name == name)
}

/// The recording rules that an expression reads.
pub fn records_in(expr: &str) -> Vec<&'static Record> {
    promql::selectors(expr).iter().filter_map(|selector| record(&selector.metric)).collect()
}

impl Area {
    /// The dashboard that shows this part: that of its first panel off the overview.
    pub fn dashboard(&self) -> Dashboard {
        let own = self.panels.iter().map(|panel| panel.dashboard).find(|board| *board != Dashboard::Overview);
        own.unwrap_or(Dashboard::Overview)
    }
}
