//! The alert and the panels.

use super::*;

pub(super) const ALERTS: &[Alert] = &[
    alert! { "LonghornVolumeNotRecovering",
        when: When::Flag { gauge: &super::STUCK, labels: &[] },
        without: &["cause"],
        runbook_only: ALL,
        for_: "10m",
        keep_firing_for: "5m",
        summary: "A degraded Longhorn volume is not recovering.",
        description: "Volume {{ $labels.volume }}{{ with $labels.pvc }} of claim {{ $labels.pvc_namespace }}/{{ . }}{{ end }} has too few replicas and \
                      is not recovering. It works, but the next failure may destroy its data. Run the command below to find out what blocks the rebuild.",
        why: "The check waits 15 min for a rebuild to begin, and 30 min for it to advance. The alert waits 10 min more, in case someone is fixing it.",
    },
    alert! { "LonghornVolumeLastCopy",
        when: When::Flag { gauge: &super::LAST_COPY, labels: &[] },
        for_: "10m",
        keep_firing_for: "10m",
        severity: Severity::Critical,
        as_found: true,
        summary: "A Longhorn volume is on its last copy.",
        description: "Do not drain or reboot {{ with $labels.copy_node }}{{ . }}{{ else }}the node of volume {{ $labels.volume }}'s copy{{ end }}: it holds \
                      the volume's only healthy copy. The volume works, but the next failure may destroy its data. Check the rebuild with the command below.",
        why: "The alert waits 10 min, because a rebuild that ends by then needs no action. It is critical while another replica's node is down, because that \
              replica does not return by itself.",
    },
];

pub(super) const PANELS: &[Panel] = &[
    Panel {
        dashboard: Dashboard::Volumes,
        title: "Degraded volumes",
        description: "Missing replicas of each degraded volume. Panel Progress of rebuilds shows how far the rebuilds are.",
        no_data: "no volume is degraded, or the exporter is not reporting",
        ..Panel::TABLE.of(&MISSING)
    },
    Panel {
        dashboard: Dashboard::Volumes,
        title: "Progress of rebuilds",
        description: "Rebuild progress of each degraded volume. If flat for 30 min, it has stalled. If it keeps falling to 0, it keeps restarting.",
        unit: Unit::Ratio,
        no_data: "no degraded volume is being rebuilt, or the exporter is not reporting",
        ..Panel::TIME_SERIES.of(&PROGRESS)
    },
    Panel {
        dashboard: Dashboard::Volumes,
        title: "Volumes not recovering",
        description: "Degraded volumes that are not recovering: the rebuild is stalled, keeps failing, finds no disk or is disabled.",
        columns: &["cause", "volume", "pvc_namespace", "pvc"],
        no_data: "every degraded volume is recovering, or the exporter is not reporting",
        ..Panel::TABLE.of(&STUCK)
    },
];
