//! The alert and the panels.

use super::*;

pub(super) const ALERTS: &[Alert] = &[Alert {
    name: "LonghornVolumeNotRecovering",
    when: When::Flag { gauge: &super::STUCK, labels: &[] },
    without: &["cause"],
    runbook_only: ALL,
    for_: "10m",
    summary: "A degraded Longhorn volume is not recovering.",
    description: "Volume {{ $labels.volume }}{{ with $labels.pvc }} of claim {{ $labels.pvc_namespace }}/{{ . }}{{ end }} has too few replicas and \
                  does not recover. It works, but the next failure may destroy its data. Find out with the command below what blocks the rebuild.",
    why: "The finding waits a quarter of an hour for a rebuild to begin and half an hour for its progress to change; ten more \
          minutes cover the changes of a person who is at work.",
    runbook: include_str!("LonghornVolumeNotRecovering.md"),
    ..Alert::DEFAULT
}];

pub(super) const PANELS: &[Panel] = &[
    Panel {
        dashboard: Dashboard::Volumes,
        title: "Degraded volumes",
        description: "Replicas that degraded volumes lack. A rebuild brings them back; the next panel shows how far it is.",
        no_data: "no volume is degraded, or the exporter does not report",
        ..Panel::TABLE.of(&MISSING)
    },
    Panel {
        dashboard: Dashboard::Volumes,
        title: "Progress of rebuilds",
        description: "Progress of each degraded volume's rebuild. A flat line for half an hour is a stalled rebuild; one that repeatedly falls to 0 \
                      is a loop.",
        unit: Unit::Ratio,
        no_data: "no degraded volume is being rebuilt, or the exporter does not report",
        ..Panel::TIME_SERIES.of(&PROGRESS)
    },
    Panel {
        dashboard: Dashboard::Volumes,
        title: "Degraded volumes that do not recover",
        description: "Degraded volumes whose rebuild stalls, loops, finds no disk or is disabled.",
        columns: &["cause", "volume", "pvc_namespace", "pvc"],
        no_data: "every degraded volume recovers, or the exporter does not report",
        ..Panel::TABLE.of(&STUCK)
    },
];
