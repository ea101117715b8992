//! The list from which everything is made, with what the exporter says about itself.

use crate::check::{Alert, Cause, Dashboard, Gauge, Panel, Record, When};
use crate::checks::{self, manager_crash_loop};
use crate::exporter;
use crate::generate::shape::Shape;

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
    pub causes: &'static [&'static Cause],
    /// Its series.
    pub gauges: &'static [&'static Gauge],
    /// Its recording rules.
    pub records: &'static [&'static Record],
    /// Its alerts.
    pub alerts: &'static [Alert],
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
    areas().flat_map(|area| area.records).copied().filter(|record| expr.contains(record.name)).collect()
}

impl Area {
    /// The expression of one of its alerts, with placeholders.
    pub fn expr(&self, alert: &Alert) -> String {
        match (Shape::of(self, alert), &alert.when) {
            (Some(shape), _) => shape.expr(),
            (None, When::Promql { expr, .. }) => (*expr).to_owned(),
            (None, _) => String::new(),
        }
    }

    /// The dashboard that shows this area.
    pub fn dashboard(&self) -> Dashboard {
        Dashboard::of(self.panels)
    }
}
