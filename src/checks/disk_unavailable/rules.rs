//! Alerts and panels.

use super::DISKS;
use super::causes::*;
use crate::check::*;

pub(super) const ALERTS: &[Alert] = &[
    Alert {
        name: "LonghornDiskUnavailable",
        when: When::Found(OF_DISKS),
        for_: "5m",
        summary: "Longhorn does not use a disk.",
        description: "Disk{{ with $labels.disk }} {{ . }}{{ end }}{{ with $labels.node }} of node {{ . }}{{ end }}: $cause. Its replicas are unavailable until it is back. See \
                      what is mounted at its path before anything is removed.",
        why: "The finding allows five minutes for a reboot and a late mount; five more let an operator finish what he began.",
        runbook: include_str!("LonghornDiskUnavailable.md"),
        ..Alert::DEFAULT
    },
    Alert {
        name: "LonghornDiskFailing",
        when: When::Found(&[&DISK_FAILING]),
        for_: "15m",
        summary: "A device under a Longhorn disk reports that it fails.",
        description: "Disk{{ with $labels.disk }} {{ . }}{{ end }}{{ with $labels.node }} of node {{ . }}{{ end }}: the device below it \
                      reports by SMART or SPDK that it fails. Move its replicas away while they can be read.",
        why: "Devices tell hours to weeks ahead; longhorn-manager asks them once a day, so that a quarter of an hour loses nothing.",
        runbook: include_str!("LonghornDiskFailing.md"),
        ..Alert::DEFAULT
    },
    Alert {
        name: "LonghornDiskUuidShared",
        when: When::Found(&[&DISK_UUID_SHARED]),
        for_: "15m",
        summary: "Disks of several Longhorn nodes have the same UUID.",
        description: "A disk{{ with $labels.node }} of node {{ . }}{{ end }} has the UUID of a disk of another node, as after a machine was cloned. Longhorn \
                      mistakes one for the other, and moves replicas between them. Take no disk out before you know where each replica is.",
        why: "It does not pass, but nothing is hurt within minutes; a quarter of an hour lets a machine be replaced under another name.",
        runbook: include_str!("LonghornDiskUuidShared.md"),
        ..Alert::DEFAULT
    },
    Alert {
        name: "LonghornDiskFull",
        when: When::Found(&[&DISK_FULL, &DISK_EXHAUSTED]),
        for_: "10m",
        summary: "A Longhorn disk takes no more replicas.",
        description: "Disk{{ with $labels.disk }} {{ . }}{{ end }}{{ with $labels.node }} of node {{ . }}{{ end }} is full by Longhorn's arithmetic: too little is free, or too much is \
                      promised. Rebuilds and new volumes need room elsewhere.",
        why: "Ten minutes let a rebuild or a clean-up of snapshots end, which free what they took.",
        runbook: include_str!("LonghornDiskFull.md"),
        ..Alert::DEFAULT
    },
    Alert {
        name: "LonghornDiskNearlyFull",
        when: When::Found(&[&DISK_NEARLY_FULL]),
        for_: "1h",
        summary: "A Longhorn disk has little room left for replicas.",
        description: "Disk{{ with $labels.disk }} {{ . }}{{ end }}{{ with $labels.node }} of node {{ . }}{{ end }} has less than a tenth of its room for replicas left. Plan for more \
                      before volumes find none.",
        why: "Nothing is hurt yet, so an hour of it is no haste.",
        runbook: include_str!("LonghornDiskNearlyFull.md"),
        ..Alert::DEFAULT
    },
    Alert {
        name: "LonghornNoNodeReady",
        when: When::Found(&[&NO_NODE_READY]),
        for_: "1m",
        summary: "No node that Longhorn stores data on is Ready.",
        description: "None of the nodes that Longhorn stores data on is Ready, so every volume of the cluster is concerned. Look at what they share \
                      first: the way of their kubelets to the API server, the network, power. Restart, drain and delete none before.",
        why: "The finding allows five minutes for a reboot; one more bridges an exporter that restarts.",
        runbook: include_str!("LonghornNoNodeReady.md"),
        ..Alert::DEFAULT
    },
    Alert {
        name: "LonghornNodeNotReady",
        when: When::Found(&[&NODE_NOT_READY, &NODE_PRESSURE]),
        for_: "1m",
        summary: "A node with Longhorn disks is not Ready or under pressure.",
        description: "Node{{ with $labels.node }} {{ . }}{{ end }}: $cause. Replicas on it are unavailable until it is back. It does not fire when only \
                      a longhorn-manager stops answering.",
        why: "The finding allows five minutes for a reboot, so that this comes no later than what follows from the node.",
        runbook: include_str!("LonghornNodeNotReady.md"),
        ..Alert::DEFAULT
    },
    Alert {
        name: "LonghornNodeEnvironment",
        when: When::Found(&[&NODE_ENVIRONMENT]),
        only: Some(Severity::Warning),
        for_: "1h",
        summary: "A node lacks an NFS client, mount propagation or huge pages.",
        description: "Node{{ with $labels.node }} {{ . }}{{ end }} lacks a mount option, a module or a package that volumes of this cluster need. The conditions of \
                      its nodes.longhorn.io name it.",
        why: "The manager looks every half hour, so what was repaired shows within an hour.",
        runbook: include_str!("LonghornNodeEnvironment.md"),
        ..Alert::DEFAULT
    },
];

pub(super) const PANELS: &[Panel] = &[
    Panel {
        dashboard: Dashboard::Storage,
        title: "Disks by state",
        description: "Longhorn disks that are ready, that take no more replicas (full), and that Longhorn does not use (not_ready).",
        width: Width::Third,
        no_data: "the exporter cannot read nodes.longhorn.io",
        ..Panel::STAT.of(&DISKS)
    },
    Panel {
        dashboard: Dashboard::Storage,
        title: "Disks and nodes unavailable",
        description: "Disks that Longhorn does not use or that are full, and nodes that are not Ready, with the cause.",
        columns: &["severity", "cause", "node", "disk"],
        no_data: "every disk and node is in order, or the exporter does not report",
        ..Panel::TABLE.of_findings("disk_unavailable")
    },
];
