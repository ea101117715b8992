//! The list from which everything is made: the checks, and what the exporter says about itself.

use crate::check::{Alert, Check, Record};
pub use crate::checks::CATALOGUE;
use crate::own;

/// Every part, in the order of everything generated.
pub fn areas() -> impl Iterator<Item = &'static Check> {
    CATALOGUE.checks.iter().copied().chain([&EXPORTER])
}

/// The part about the exporter itself.
pub const EXPORTER_ID: &str = "exporter";

static EXPORTER: Check = Check {
    id: EXPORTER_ID,
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

/// One alert for each incident; a rule file of its own, beside the alerts of the exporter itself.
pub static INCIDENTS: Check = Check {
    id: "incidents",
    title: "Incidents",
    summary: "One alert for each incident, in place of the alerts of the checks.",
    gauges: &[&own::gauges::INCIDENT_INFO],
    alerts: own::INCIDENT_ALERTS,
    ..Check::DEFAULT
};

/// Longhorn's own metrics, corrected: a rule file and a dashboard of their own, which need no exporter.
pub static LONGHORN_METRICS: Check = Check {
    id: "longhorn-metrics",
    title: "Longhorn's own metrics",
    summary: "Capacity, latency and CPU, which Longhorn's managers serve themselves, on every release.",
    alerts: own::longhorn_metrics::ALERTS,
    panels: own::longhorn_metrics::PANELS,
    ..Check::DEFAULT
};

/// Parts with a rule file of their own, beside that of the checks.
pub static BESIDE: [&Check; 3] = [&INCIDENTS, &KUBE_STATE_METRICS, &LONGHORN_METRICS];

/// Parts with panels and with runbooks of their own.
pub fn with_pages() -> impl Iterator<Item = &'static Check> {
    areas().chain([&LONGHORN_METRICS])
}

/// Ten alerts for collections of rules: data first, then what it stands on.
const CORE: [&str; 10] = [
    "LonghornVolumeFaulted", "LonghornVolumeReadOnly", "LonghornShareManagerDown",
    "LonghornVolumeNotRecovering", "LonghornInstanceManagerDown", "LonghornDiskUnavailable",
    "LonghornNodeNotReady", "LonghornWebhookUnavailable", "LonghornBackupFailing",
    "LonghornHealthExporterDown",
];

/// The core alerts in the order of everything generated, each with its part.
pub fn core() -> impl Iterator<Item = (&'static Check, &'static Alert)> {
    let all = areas().flat_map(|area| area.alerts.iter().map(move |alert| (area, alert)));
    all.filter(|(_, alert)| CORE.contains(&alert.name))
}

pub fn alerts() -> impl Iterator<Item = &'static Alert> {
    with_pages().flat_map(|area| area.alerts)
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
