//! The list from which everything is made: the checks that the program hands in, and what the exporter says about itself.

use std::fmt;

use crate::check::{Alert, Catalogue, Check, Record};
use crate::own;

/// All that is declared.
pub struct Declared {
    pub catalogue: &'static Catalogue,
    /// The few alerts that kube-state-metrics alone can carry; a rule file of its own, in no list of the exporter.
    pub alone: Check,
}

impl Declared {
    pub const fn new(catalogue: &'static Catalogue) -> Declared {
        let of = without_exporter(catalogue.checks);
        let alone = Check {
            id: ALONE_ID,
            title: "kube-state-metrics alone",
            summary: "Two alerts for clusters where the exporter is not running.",
            alerts: of.without_exporter,
            incident: of.incident,
            ..Check::DEFAULT
        };
        Declared { catalogue, alone }
    }

    /// Every part, in the order of everything generated.
    pub fn areas(&self) -> impl Iterator<Item = &'static Check> + use<> {
        self.catalogue.checks.iter().copied().chain([&EXPORTER])
    }

    /// Those, and the parts with a rule file of their own, beside that of the checks.
    pub fn areas_and_beside(&'static self) -> impl Iterator<Item = &'static Check> {
        self.areas().chain([&INCIDENTS, &self.alone, &LONGHORN_METRICS])
    }

    /// Parts with panels and with runbooks of their own.
    pub fn with_pages(&self) -> impl Iterator<Item = &'static Check> + use<> {
        self.areas().chain([&LONGHORN_METRICS])
    }

    /// The core alerts in the order of everything generated, each with its part.
    pub fn core(&self) -> impl Iterator<Item = (&'static Check, &'static Alert)> + use<> {
        let all = self.areas().flat_map(|area| area.alerts.iter().map(move |alert| (area, alert)));
        all.filter(|(_, alert)| CORE.contains(&alert.name))
    }

    pub fn alerts(&self) -> impl Iterator<Item = &'static Alert> + use<> {
        self.with_pages().flat_map(|area| area.alerts)
    }

    pub fn records(&self) -> impl Iterator<Item = &'static Record> + use<> {
        self.areas().flat_map(|area| area.records.iter().copied())
    }

    pub fn record(&self, name: &str) -> Option<&'static Record> {
        self.records().find(|record| record.name == name)
    }

    pub fn records_in(&self, expr: &str) -> Vec<&'static Record> {
        self.records().filter(|record| expr.contains(record.name)).collect()
    }
}

impl PartialEq for Declared {
    fn eq(&self, other: &Declared) -> bool {
        std::ptr::eq(self.catalogue, other.catalogue)
    }
}

impl fmt::Debug for Declared {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Declared").finish_non_exhaustive()
    }
}

/// The one check with alerts that need no exporter.
const fn without_exporter(mut checks: &'static [&'static Check]) -> &'static Check {
    loop {
        match checks {
            [check, ..] if !check.without_exporter.is_empty() => break check,
            [_, rest @ ..] => checks = rest,
            [] => break &EXPORTER,
        }
    }
}

/// The part about the alerts that kube-state-metrics alone can carry.
pub const ALONE_ID: &str = "kube-state-metrics";

/// The part about the exporter itself.
pub const EXPORTER_ID: &str = "exporter";

static EXPORTER: Check = Check {
    id: EXPORTER_ID,
    title: "The exporter",
    summary: "Whether the exporter is up, what it can read, and what all checks find together.",
    gauges: own::GAUGES,
    alerts: own::ALERTS,
    panels: own::PANELS,
    ..Check::DEFAULT
};

const _: () = EXPORTER.assert_tables_have_columns();

/// One alert for each incident; a rule file of its own, beside the alerts of the exporter itself.
pub static INCIDENTS: Check = Check {
    id: "incidents",
    title: "Incidents",
    summary: "One alert for each incident, instead of the checks' alerts.",
    gauges: &[&own::gauges::INCIDENT_INFO],
    alerts: own::INCIDENT_ALERTS,
    ..Check::DEFAULT
};

/// Longhorn's own metrics, corrected: a rule file and a dashboard of their own, which need no exporter.
pub static LONGHORN_METRICS: Check = Check {
    id: "longhorn-metrics",
    title: "Longhorn's own metrics",
    summary: "Capacity, latency and CPU from Longhorn's own metrics, on every release.",
    alerts: own::longhorn_metrics::ALERTS,
    panels: own::longhorn_metrics::PANELS,
    ..Check::DEFAULT
};

/// Ten alerts for collections of rules: data first, then what it stands on.
const CORE: [&str; 10] = [
    "LonghornVolumeFaulted", "LonghornVolumeReadOnly", "LonghornShareManagerDown",
    "LonghornVolumeNotRecovering", "LonghornInstanceManagerDown", "LonghornDiskUnavailable",
    "LonghornNodeNotReady", "LonghornWebhookUnavailable", "LonghornBackupFailing",
    "LonghornHealthExporterDown",
];

#[cfg(test)]
pub mod tests {
    use super::*;

    pub static DECLARED: Declared = Declared::new(&checks::CATALOGUE);
}
