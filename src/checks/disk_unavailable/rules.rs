//! Alerts and panels.

use super::DISKS;
use super::causes::*;
use crate::check::*;

pub(super) const ALERTS: &[Alert] = &[
    Alert {
        name: "LonghornDiskUnavailable",
        when: When::Found(OF_DISKS),
        for_: "3m",
        keep_firing_for: "5m",
        summary: "A Longhorn disk is unavailable.",
        description: "Disk{{ with $labels.disk }} {{ . }}{{ end }}{{ with $labels.node }} of node {{ . }}{{ end }} is \
                      unavailable to Longhorn. Its replicas are down until it is back. Check what is mounted at its path \
                      before you remove anything.",
        why: "The finding allows five minutes for a reboot and a late mount. Three more are as long as the alerts of volumes that may wait for it: \
              a root must not come later.",
        runbook: include_str!("LonghornDiskUnavailable.md"),
        ..Alert::DEFAULT
    },
    Alert {
        name: "LonghornDiskFailing",
        when: When::Found(&[&DISK_FAILING]),
        for_: "15m",
        summary: "The device below a Longhorn disk reports that it is failing.",
        description: "Disk{{ with $labels.disk }} {{ . }}{{ end }}{{ with $labels.node }} of node {{ . }}{{ end }} is on a \
                      device that reports by SMART or SPDK that it is failing. Its replicas may be lost with it. Move them \
                      to other disks while they can be read.",
        why: "Devices report failures hours to weeks ahead; longhorn-manager checks them once a day, so a quarter of an hour loses nothing.",
        runbook: include_str!("LonghornDiskFailing.md"),
        ..Alert::DEFAULT
    },
    Alert {
        name: "LonghornDiskUuidShared",
        when: When::Found(&[&DISK_UUID_SHARED]),
        for_: "15m",
        summary: "Disks of several Longhorn nodes have the same UUID.",
        description: "A disk{{ with $labels.node }} of node {{ . }}{{ end }} has the UUID of another node's disk, such as \
                      after cloning a machine. Longhorn mistakes one for the other and moves replicas between them. Remove \
                      no disk before you know where each replica is.",
        why: "It does not clear by itself, but nothing is affected within minutes; a quarter of an hour lets a machine be replaced under another \
              name.",
        runbook: include_str!("LonghornDiskUuidShared.md"),
        ..Alert::DEFAULT
    },
    Alert {
        name: "LonghornDiskFull",
        when: When::Found(&[&DISK_FULL, &DISK_EXHAUSTED]),
        severity: Severity::Critical,
        as_found: true,
        for_: "10m",
        summary: "A Longhorn disk is full.",
        description: "Disk{{ with $labels.disk }} {{ . }}{{ end }}{{ with $labels.node }} of node {{ . }}{{ end }} is full by Longhorn's rules: too \
                      little is free, or too much is allocated. Rebuilds and new volumes find no room there. Free space, or add a disk.",
        why: "Ten minutes let a rebuild or a clean-up of snapshots end, which free what they took.",
        runbook: include_str!("LonghornDiskFull.md"),
        ..Alert::DEFAULT
    },
    Alert {
        name: "LonghornDiskNearlyFull",
        when: When::Found(&[&DISK_NEARLY_FULL]),
        for_: "1h",
        summary: "A Longhorn disk is nearly full.",
        description: "Disk{{ with $labels.disk }} {{ . }}{{ end }}{{ with $labels.node }} of node {{ . }}{{ end }} has \
                      less than a tenth of its room for replicas left. Soon rebuilds and new volumes find none. Plan for \
                      more.",
        why: "Nothing is affected yet, so an hour is soon enough.",
        runbook: include_str!("LonghornDiskNearlyFull.md"),
        ..Alert::DEFAULT
    },
    Alert {
        name: "LonghornNoNodeReady",
        when: When::Found(&[&NO_NODE_READY]),
        for_: "1m",
        summary: "No node that Longhorn stores data on is Ready.",
        description: "None of the nodes that Longhorn stores data on is Ready. All its volumes are affected. Check what \
                      the nodes share (network, power, connection to the API server); do not restart, drain or delete any \
                      before you know.",
        why: "The finding allows five minutes for a reboot; one more bridges an exporter that restarts.",
        runbook: include_str!("LonghornNoNodeReady.md"),
        ..Alert::DEFAULT
    },
    Alert {
        name: "LonghornNodeNotReady",
        when: When::Found(&[&NODE_NOT_READY, &NODE_PRESSURE]),
        for_: "1m",
        keep_firing_for: "5m",
        summary: "A node with Longhorn disks is under pressure or not Ready.",
        description: "Node{{ with $labels.node }} {{ . }}{{ end }} is not Ready, or under pressure. Replicas on it are \
                      unavailable or about to be. Read its conditions and the log of its kubelet.",
        why: "The finding allows five minutes for a reboot, so this alert is not later than the consequences of the node.",
        runbook: include_str!("LonghornNodeNotReady.md"),
        ..Alert::DEFAULT
    },
    Alert {
        name: "LonghornNodeEnvironment",
        when: When::Found(&[&NODE_ENVIRONMENT]),
        only: Some(Severity::Warning),
        for_: "1h",
        summary: "A node lacks a mount option, module or package that Longhorn needs.",
        description: "Node{{ with $labels.node }} {{ . }}{{ end }} lacks a mount option, a module or a package that \
                      volumes of this cluster need. They cannot start or be mounted there. Read the conditions of its \
                      nodes.longhorn.io, which name what is missing.",
        why: "The manager checks every half hour, so a repair shows within an hour.",
        runbook: include_str!("LonghornNodeEnvironment.md"),
        ..Alert::DEFAULT
    },
];

pub(super) const PANELS: &[Panel] = &[
    Panel {
        dashboard: Dashboard::Storage,
        title: "Disks by state",
        description: "Longhorn disks that are ready, that cannot take more replicas (full), and that Longhorn cannot use (not_ready).",
        width: Width::Third,
        no_data: "the exporter cannot read nodes.longhorn.io",
        ..Panel::STAT.of(&DISKS)
    },
    Panel {
        dashboard: Dashboard::Storage,
        title: "Disks and nodes unavailable",
        description: "Disks that Longhorn cannot use or that are full, and nodes that are not Ready, with the cause.",
        columns: &["severity", "cause", "node", "disk"],
        no_data: "every disk and node is in order, or the exporter does not report",
        ..Panel::TABLE.of_findings("disk_unavailable")
    },
];
