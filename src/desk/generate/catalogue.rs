//! The list from which everything is made: the checks, and what the exporter says about itself.

use crate::check::{Alert, Check, Record};
pub use crate::checks::CATALOGUE;
use crate::own;

/// Every part, in the order of everything generated.
pub fn areas() -> impl Iterator<Item = &'static Check> {
    CATALOGUE.checks.iter().copied().chain([&EXPORTER])
}

static EXPORTER: Check = Check {
    id: "exporter",
    title: "The exporter",
    summary: "Whether the exporter is there, what it can read, and what all checks find together.",
    gauges: own::GAUGES,
    alerts: own::ALERTS,
    panels: own::PANELS,
    ..Check::DEFAULT
};

const _: () = EXPORTER.assert_tables_have_columns();

/// The one check with alerts that need no exporter.
const WITHOUT_EXPORTER: &Check = {
    let mut checks = CATALOGUE.checks;
    loop {
        match checks {
            [check, ..] if !check.without_exporter.is_empty() => break check,
            [_, rest @ ..] => checks = rest,
            [] => break &EXPORTER,
        }
    }
};

/// The few alerts that kube-state-metrics alone can carry; a rule file of its own, in no list of
/// the exporter.
pub static KUBE_STATE_METRICS: Check = Check {
    id: "kube-state-metrics",
    title: "kube-state-metrics alone",
    summary: "Two alerts for clusters in which the exporter does not run (yet).",
    alerts: WITHOUT_EXPORTER.without_exporter,
    incident: WITHOUT_EXPORTER.incident,
    ..Check::DEFAULT
};

pub fn alerts() -> impl Iterator<Item = &'static Alert> {
    areas().flat_map(|area| area.alerts)
}

pub fn records() -> impl Iterator<Item = &'static Record> {
    areas().flat_map(|area| area.records.iter().copied())
}

pub fn record(name: &str) -> Option<&'static Record> {
    records().find(|record| record.name == name)
}

pub fn records_in(expr: &str) -> Vec<&'static Record> {
    records().filter(|record| expr.contains(record.name)).collect()
}
