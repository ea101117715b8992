//! The alerts and the panel.

use super::*;

pub(super) const ALERTS: &[Alert] = &[alert! { "LonghornVolumeAttachmentStuck",
    when: When::Flag { gauge: &super::STUCK, labels: &[] },
    without: &["cause"],
    runbook_only: ALL,
    for_: "5m",
    keep_firing_for: "5m",
    severity: Severity::Critical,
    as_found: true,
    summary: "A Longhorn volume is stuck attaching or detaching.",
    description: "Volume {{ $labels.volume }}{{ with $labels.pvc }} of claim {{ $labels.pvc_namespace }}/{{ . }}{{ end }} is stuck attaching or detaching. Its \
                  pods cannot start, or keep losing the device. Run the command below to find the node, engine or attachment ticket that blocks the volume.",
    why: "The check waits 10 min, or until the engine has crashed or failed to start 3 times. The alert waits 5 min more, in case someone is fixing it.",
}];

pub(super) const PANELS: &[Panel] = &[Panel {
    dashboard: Dashboard::Volumes,
    title: "Volumes stuck attaching or detaching",
    description: "Volumes that are stuck attaching or detaching, keep losing their engine, or are attached although no workload uses them.",
    columns: &["cause", "volume", "pvc_namespace", "pvc"],
    no_data: "no volume is stuck, or the exporter is not reporting",
    ..Panel::TABLE.of(&STUCK)
}];
