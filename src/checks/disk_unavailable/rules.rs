//! Alerts and panels.

use super::DISKS;
use super::causes::*;
use crate::check::*;

pub(super) const ALERTS: &[Alert] = &[
    alert! { "LonghornDiskUnavailable",
        when: When::Found(OF_DISKS),
        for_: "3m",
        keep_firing_for: "5m",
        summary: "A Longhorn disk is unavailable.",
        description: "Disk{{ with $labels.disk }} {{ . }}{{ end }}{{ with $labels.node }} of node {{ . }}{{ end }} is \
                      unavailable to Longhorn. Its replicas are down until it is back. Check what is mounted at its path \
                      before you remove anything.",
        why: "The finding allows five minutes for a reboot and a late mount. The alert waits only three more minutes, so that it fires no later \
        than the volume alerts.",
    },
    alert! { "LonghornDiskFailing",
        when: When::Found(&[&DISK_FAILING]),
        for_: "15m",
        summary: "A Longhorn disk's device reports that it is failing.",
        description: "Disk{{ with $labels.disk }} {{ . }}{{ end }}{{ with $labels.node }} of node {{ . }}{{ end }} is failing, according to its \
                      device (SMART or SPDK). Its replicas may be lost. Move them to other disks while they can still be read.",
        why: "Devices report failures hours to weeks ahead, and longhorn-manager checks them once a day. So the alert can wait a quarter of an hour.",
    },
    alert! { "LonghornDiskUuidShared",
        when: When::Found(&[&DISK_UUID_SHARED]),
        for_: "15m",
        summary: "Disks on different Longhorn nodes have the same UUID.",
        description: "A disk{{ with $labels.node }} of node {{ . }}{{ end }} has the same UUID as another node's disk. Longhorn confuses the two, \
                      and keeps deleting and rebuilding replicas. Before you remove a disk, find out where each replica is.",
        why: "A shared UUID stays until someone fixes it, but is harmless for minutes. The alert waits 15 min, in case a machine is being replaced under \
              another name.",
    },
    alert! { "LonghornDiskFull",
        when: When::Found(&[&DISK_FULL, &DISK_EXHAUSTED]),
        severity: Severity::Critical,
        as_found: true,
        for_: "10m",
        keep_firing_for: "10m",
        summary: "A Longhorn disk is full.",
        description: "Disk{{ with $labels.disk }} {{ . }}{{ end }}{{ with $labels.node }} of node {{ . }}{{ end }} cannot take more replicas: too \
                      little space is free, or too much is allocated. Rebuilds and new volumes cannot use the disk. Free space, or add a disk.",
        why: "The alert waits ten minutes, in which a rebuild or a snapshot clean-up can free the space it used.",
    },
    alert! { "LonghornDiskNearlyFull",
        when: When::Found(&[&DISK_NEARLY_FULL]),
        for_: "1h",
        summary: "A Longhorn disk is nearly full.",
        description: "Disk{{ with $labels.disk }} {{ . }}{{ end }}{{ with $labels.node }} of node {{ . }}{{ end }} is nearly full. Rebuilds and new \
                      volumes will soon find no space there. Add a disk, or delete unneeded snapshots and volumes.",
        why: "Nothing is affected yet, so the alert waits an hour.",
    },
    alert! { "LonghornNoNodeReady",
        when: When::Found(&[&NO_NODE_READY]),
        for_: "1m",
        summary: "No node with Longhorn data is Ready.",
        description: "No node with Longhorn data is Ready, so all volumes are affected. Check what the nodes share (network, power, API server \
        connection). Do not restart, drain or delete any node until you know the cause.",
        why: "The finding allows five minutes for a reboot. The alert waits one more minute, so that the exporter can restart.",
    },
    alert! { "LonghornNodeNotReady",
        when: When::Found(&[&NODE_NOT_READY, &NODE_PRESSURE]),
        for_: "1m",
        keep_firing_for: "5m",
        summary: "A node with Longhorn disks is under pressure or not Ready.",
        description: "Node{{ with $labels.node }} {{ . }}{{ end }} is under pressure or not Ready. Its replicas are unavailable or soon will be. \
                      Read the node's conditions and its kubelet's log.",
        why: "The finding allows five minutes for a reboot. The alert waits only one more minute, so that it fires no later than the alerts on the \
        consequences.",
    },
    alert! { "LonghornNodeEnvironment",
        when: When::Found(&[&NODE_ENVIRONMENT]),
        only: Some(Severity::Warning),
        for_: "1h",
        summary: "A node lacks a mount option, module or package that Longhorn needs.",
        description: "Node{{ with $labels.node }} {{ . }}{{ end }} lacks a mount option, module or package that volumes of this cluster need. These \
        volumes cannot run or be mounted there. Read its conditions in nodes.longhorn.io: they name what is missing.",
        why: "The manager checks the node every half hour, so a repair can take that long to show.",
    },
];

pub(super) const PANELS: &[Panel] = &[
    Panel {
        dashboard: Dashboard::Storage,
        title: "Disks by state",
        description: "Longhorn disks by state: ready, full (cannot take more replicas) or not_ready (Longhorn cannot use them).",
        width: Width::Third,
        no_data: "the exporter cannot read nodes.longhorn.io",
        ..Panel::STAT.of(&DISKS)
    },
    Panel {
        dashboard: Dashboard::Storage,
        title: "Disks and nodes unavailable",
        description: "Disks that Longhorn cannot use or that are full, and nodes that are not Ready, with the cause.",
        columns: &["severity", "cause", "node", "disk"],
        no_data: "every disk and node is fine, or the exporter is not reporting",
        ..Panel::TABLE.of_findings("disk_unavailable")
    },
];
