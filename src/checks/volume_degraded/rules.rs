//! The alert and the panels.

use super::*;

pub(super) const ALERTS: &[Alert] = &[
    Alert {
        name: "LonghornVolumeNotRecovering",
        when: When::Flag { gauge: &super::STUCK, labels: &[] },
        without: &["cause"],
        runbook_only: ALL,
        for_: "10m",
        keep_firing_for: "5m",
        summary: "A degraded Longhorn volume is not recovering.",
        description: "Volume {{ $labels.volume }}{{ with $labels.pvc }} of claim {{ $labels.pvc_namespace }}/{{ . }}{{ end }} has too few \
                      replicas and does not recover. It works, but the next failure may destroy its data. Find out with the command \
                      below what blocks the rebuild.",
        why: "The finding waits a quarter of an hour for a rebuild to begin and half an hour for its progress to change; ten more \
          minutes cover the changes of a person who is at work.",
        runbook: include_str!("LonghornVolumeNotRecovering.md"),
        ..Alert::DEFAULT
    },
    Alert {
        name: "LonghornVolumeLastCopy",
        when: When::Flag { gauge: &super::LAST_COPY, labels: &[] },
        for_: "10m",
        keep_firing_for: "5m",
        severity: Severity::Critical,
        as_found: true,
        summary: "A Longhorn volume is on its last copy.",
        description: "Volume {{ $labels.volume }}{{ with $labels.pvc }} of claim {{ $labels.pvc_namespace }}/{{ . }}{{ end }} has \
                      one healthy copy left. It works, but the next failure of a disk or node takes its data. Keep the node of that \
                      copy running, and find out with the command below whether a rebuild advances.",
        why: "A rebuild that ends within ten minutes is no news. One that runs longer counts, too: until it ends the next failure takes \
              the data. Critical where a node of its replicas is down, since what is on it does not come back on its own.",
        runbook: include_str!("LonghornVolumeLastCopy.md"),
        ..Alert::DEFAULT
    },
];

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
