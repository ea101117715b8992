//! The alert and the panels.

use super::FAULTED;
use crate::check::*;

pub(super) const ALERTS: &[Alert] = &[alert! { "LonghornVolumeFaulted",
    when: When::Flag { gauge: &super::FAULTED, labels: &[] },
    runbook_only: super::ALL,
    for_: "3m",
    keep_firing_for: "5m",
    severity: Severity::Critical,
    summary: "A Longhorn volume is faulted.",
    description: "Volume {{ $labels.volume }}{{ with $labels.pvc }} of claim {{ $labels.pvc_namespace }}/{{ . }}{{ end }} is faulted, so its \
                  workloads cannot read or write. Run the command below to find out whether the data is intact. Do not delete replicas.",
    why: "After an engine crash, Longhorn salvages and attaches the volume within a minute. The alert waits 3 min for that.",
}];

pub(super) const PANELS: &[Panel] = &[Panel {
    dashboard: Dashboard::Volumes,
    title: "Faulted volumes",
    description: "Volumes without a usable replica, with claim and cause. Their workloads cannot read or write.",
    columns: &["volume", "pvc_namespace", "pvc"],
    no_data: "no volume is faulted, or the exporter is not reporting",
    ..Panel::TABLE.of(&FAULTED)
}];
