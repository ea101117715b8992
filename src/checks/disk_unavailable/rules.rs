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
        description: "Disk{{ with $labels.disk }} {{ . }}{{ end }}{{ with $labels.node }} of node {{ . }}{{ end }} is unavailable to Longhorn. The disk's \
                      replicas stay down until the disk is back. Check what is mounted at the disk's path before you remove anything.",
        why: "The check allows 5 min for a reboot and a late mount. The alert waits 3 min more in case the disk comes and goes.",
    },
    alert! { "LonghornDiskFailing",
        when: When::Found(&[&DISK_FAILING]),
        for_: "15m",
        summary: "A Longhorn disk's device reports that it is failing.",
        description: "Disk{{ with $labels.disk }} {{ . }}{{ end }}{{ with $labels.node }} of node {{ . }}{{ end }} is failing, according to its device (SMART \
                      or SPDK). Its replicas may be lost. Move these replicas to other disks while they are still readable.",
        why: "A device reports a failure hours to weeks ahead, so the alert can wait 15 min. The longhorn-manager checks devices only once a day.",
    },
    alert! { "LonghornDiskUuidShared",
        when: When::Found(&[&DISK_UUID_SHARED]),
        for_: "15m",
        summary: "Disks on different Longhorn nodes have the same UUID.",
        description: "A disk{{ with $labels.node }} of node {{ . }}{{ end }} has the same UUID as another node's disk. Longhorn confuses the two disks, and \
                      keeps deleting and rebuilding replicas. Before you remove a disk, find out where each replica is.",
        why: "A shared UUID stays until someone fixes it, but does no harm for a few minutes. The alert waits 15 min, in case a machine is being replaced \
              under another name.",
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
        why: "The alert waits 10 min for a rebuild or a snapshot clean-up to free the space that it used.",
    },
    alert! { "LonghornDiskNearlyFull",
        when: When::Found(&[&DISK_NEARLY_FULL]),
        for_: "1h",
        summary: "A Longhorn disk is nearly full.",
        description: "Disk{{ with $labels.disk }} {{ . }}{{ end }}{{ with $labels.node }} of node {{ . }}{{ end }} is nearly full. Rebuilds and new \
                      volumes will soon find no space there. Add a disk, or delete unneeded snapshots and volumes.",
        why: "The alert waits 1 h, because nothing is affected yet.",
    },
    alert! { "LonghornNoNodeReady",
        when: When::Found(&[&NO_NODE_READY]),
        for_: "1m",
        summary: "No node with Longhorn data is Ready.",
        description: "No node with Longhorn data is Ready, so all volumes are affected. Check what the nodes share (network, power, API server \
        connection). Do not restart, drain or delete any node until you know the cause.",
        why: "The check allows 5 min for a reboot. The alert waits 1 min more, in case the exporter has just restarted.",
    },
    alert! { "LonghornNodeNotReady",
        when: When::Found(&[&NODE_NOT_READY, &NODE_NETWORK_DOWN, &NODE_PRESSURE]),
        for_: "1m",
        keep_firing_for: "5m",
        summary: "A node with Longhorn disks is not Ready, under pressure or without network.",
        description: "Node{{ with $labels.node }} {{ . }}{{ end }} is not Ready, under pressure or without pod network. Its replicas are unavailable or soon will be. Read the \
                      node's conditions and the kubelet's log.",
        why: "The check allows 5 min for a reboot. The alert waits 1 min more in case the node comes and goes.",
    },
    alert! { "LonghornNodeEnvironment",
        when: When::Found(&[&NODE_ENVIRONMENT]),
        only: Some(Severity::Warning),
        for_: "1h",
        summary: "A node lacks a mount option, module or package that Longhorn needs.",
        description: "Node{{ with $labels.node }} {{ . }}{{ end }} lacks a mount option, module or package that this cluster's volumes need. These volumes \
        cannot run or be mounted there. Read the node's conditions in nodes.longhorn.io: they name what is missing.",
        why: "The alert waits 1 h, because longhorn-manager checks each node only every 30 min and may notice a repair late.",
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
