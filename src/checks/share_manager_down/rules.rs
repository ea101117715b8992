//! Alerts and panels.

use super::SHARES;
use super::causes::*;
use crate::check::*;

pub(super) const ALERTS: &[Alert] = &[
    alert! { "LonghornShareManagerDown",
        when: When::Flag { gauge: &super::NOT_SERVED, labels: &[] },
        without: &["cause"],
        runbook_only: DOWN,
        for_: "3m",
        keep_firing_for: "5m",
        severity: Severity::Critical,
        summary: "A Longhorn RWX volume is unavailable.",
        description: "Volume {{ $labels.volume }}{{ with $labels.pvc }} of claim {{ $labels.pvc_namespace }}/{{ . }}{{ end }} is unavailable: its NFS server \
                      is down. Every pod that uses the claim hangs. Run the command below to find the cause.",
        why: "The check allows 3 min for a failover. The alert waits 3 min more to let the alert on the cause (manager, node or attachment) fire first.",
    },
    alert! { "LonghornShareManagerRestarting",
        when: When::Found(&[&RESTARTING, &OOM_KILLED]),
        without: &["node"],
        keep_firing_for: "30m",
        as_found: true,
        summary: "The NFS server of a Longhorn RWX volume keeps being replaced.",
        description: "The NFS server of volume {{ $labels.object }} was replaced at least three times in 30 min. Clients hang at each replacement. Find out \
                      how the last server ended: OOM kill, lost node or expired lease.",
        why: "The check needs 3 replacements in 30 min, and 6 are critical, because clients then hang every 5 min. To avoid flapping, the alert keeps firing \
        for 30 min after the finding ends.",
    },
];

pub(super) const PANELS: &[Panel] = &[
    Panel {
        dashboard: Dashboard::Storage,
        title: "Share managers by state",
        description: "RWX volumes' NFS servers by the state that Longhorn reports. Stopped is normal for volumes that no pod uses.",
        width: Width::Third,
        no_data: "there is no RWX volume, or the exporter cannot read sharemanagers.longhorn.io",
        ..Panel::STAT.of(&SHARES)
    },
    Panel {
        dashboard: Dashboard::Storage,
        title: "Unavailable RWX volumes",
        description: "RWX volumes whose NFS server is down or keeps being replaced, with the cause. Their pods hang.",
        columns: &["severity", "cause", "object", "node"],
        no_data: "every RWX volume in use is served, or the exporter is not reporting",
        ..Panel::TABLE.of_findings("share_manager_down")
    },
];
