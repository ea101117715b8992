//! What Longhorn's own metrics (Service longhorn-backend, port 9500) say and the Kubernetes API does not: capacity, latency, CPU.
//! Alerts and panels that need no exporter, and that hold on every release that has the metric; lint_rules/catalogue.yaml says
//! which. A manager serves the series of what it owns and takes them with it when it fails, so that what matters is remembered.

mod panels;

use crate::check::{Alert, Severity, Threshold, When};

pub use panels::PANELS;

/// How far a disk's growth is drawn on.
const AHEAD: Threshold = Threshold {
    name: "ahead",
    default: 4.0 * 86_400.0,
    least: 3600.0,
    unit: "seconds",
    is_range: false,
    why: "Four days, as kubernetes-mixin warns of file systems: a disk can be ordered or cleaned in working hours.",
};

/// Scheduled over schedulable.
const OVERCOMMIT: Threshold = Threshold {
    name: "ratio",
    default: 1.5,
    least: 1.0,
    unit: "times",
    is_range: false,
    why: "Longhorn places up to storage-over-provisioning-percentage, 100 by default and often 200. Half as much again as there is runs \
          full when thinly provisioned volumes are written.",
};

/// Actual size over capacity.
const SNAPSHOTS: Threshold = Threshold {
    name: "ratio",
    default: 2.0,
    least: 1.0,
    unit: "times",
    is_range: false,
    why: "A volume without snapshots holds at most its own size. Twice as much means that snapshots hold another whole volume.",
};

/// Mean latency in seconds.
const LATENCY: Threshold = Threshold {
    name: "seconds",
    default: 0.1,
    least: 0.001,
    unit: "seconds",
    is_range: false,
    why: "A tenth of a second is ten times what a healthy replicated write on a disk takes; databases stall.",
};

/// CPU used over CPU requested.
const CPU: Threshold = Threshold {
    name: "ratio",
    default: 3.0,
    least: 0.5,
    unit: "times",
    is_range: false,
    why: "As in Longhorn's own example: three times the request is what the node gives only while it has nothing else to do.",
};

/// The alerts.
pub const ALERTS: &[Alert] = &[
    Alert {
        name: "LonghornDiskFillingUp",
        when: When::Promql {
            expr: "max by ($cluster node, disk) (predict_linear(longhorn_disk_usage_bytes[6h], $ahead)) >= max by ($cluster node, disk) \
                   (longhorn_disk_capacity_bytes) and max by ($cluster node, disk) (longhorn_disk_usage_bytes) > 0.5 * max by ($cluster \
                   node, disk) (longhorn_disk_capacity_bytes)",
            cases: include_str!("LonghornDiskFillingUp.test.yaml"),
        },
        for_: "1h",
        thresholds: &[AHEAD],
        summary: "A Longhorn disk will be full soon at the rate of the last hours.",
        description: "Disk {{ $labels.disk }} on node {{ $labels.node }} will be full within the next days at the rate of the last six hours. Once \
                      it is full, volumes with a replica on it fail. Find out what grows and add a disk.",
        why: "Six hours level out a rebuild and a nightly backup; an hour ends with them. Below half a steep line is a restore, not a trend.",
        runbook: include_str!("LonghornDiskFillingUp.md"),
        ..Alert::DEFAULT
    },
    Alert {
        name: "LonghornNodeOvercommitted",
        when: When::Promql {
            expr: "max by ($cluster node) (longhorn_node_storage_scheduled_bytes) > $ratio * (max by ($cluster node) \
                   (longhorn_node_storage_capacity_bytes) - max by ($cluster node) (longhorn_node_storage_reservation_bytes))",
            cases: include_str!("LonghornNodeOvercommitted.test.yaml"),
        },
        for_: "1h",
        thresholds: &[OVERCOMMIT],
        summary: "Replicas on a node may grow beyond its disks.",
        description: "The replicas on node {{ $labels.node }} may grow to {{ $value | humanize1024 }}B, far more than its disks have. When their \
                      volumes are written, the disks run full and replicas fail. Add disks or move replicas.",
        why: "Replicas come and go within minutes while Longhorn balances them. Longhorn has the metric since 1.10.1.",
        runbook: include_str!("LonghornNodeOvercommitted.md"),
        ..Alert::DEFAULT
    },
    Alert {
        name: "LonghornVolumeSnapshotsLarge",
        when: When::Promql {
            expr: "max by ($cluster volume, pvc_namespace, pvc) (longhorn_volume_actual_size_bytes) > $ratio * max by ($cluster volume, \
                   pvc_namespace, pvc) (longhorn_volume_capacity_bytes)",
            cases: include_str!("LonghornVolumeSnapshotsLarge.test.yaml"),
        },
        for_: "6h",
        thresholds: &[SNAPSHOTS],
        summary: "A Longhorn volume's snapshots hold more than the volume itself.",
        description: "Each replica of volume {{ $labels.volume }} takes {{ $value | humanize1024 }}B, a multiple of the volume's size. The rest is \
                      snapshots and space that the file system freed. Delete snapshots that no one needs, then trim the file system.",
        why: "A backup needs a snapshot for its time only; six hours are longer than most backups.",
        runbook: include_str!("LonghornVolumeSnapshotsLarge.md"),
        ..Alert::DEFAULT
    },
    Alert {
        name: "LonghornVolumeLastSeenFaulted",
        when: When::Promql {
            expr: "max by ($cluster volume) (last_over_time(longhorn_volume_robustness{state=\"faulted\"}[30m]) == 1 or \
                   last_over_time(longhorn_volume_robustness{state=\"\"}[30m]) == 3) unless on ($cluster volume) \
                   (longhorn_volume_robustness{state=\"faulted\"} == 0 or longhorn_volume_robustness{state=\"\"} != 3) $unless_exporter",
            cases: include_str!("LonghornVolumeLastSeenFaulted.test.yaml"),
        },
        for_: "3m",
        severity: Severity::Critical,
        summary: "A Longhorn volume was faulted when a manager reported it last.",
        description: "Volume {{ $labels.volume }} had no usable replica when a longhorn-manager reported it last. Nothing can be read or \
                      written. Check its replicas, and that the managers run.",
        why: "The series ends with the manager that owns the volume, which often fails on the same node. Its last value is remembered for half an \
              hour. Up to 1.10 the value is a code, 3 for faulted; from 1.11 on there is a label state.",
        runbook: include_str!("LonghornVolumeLastSeenFaulted.md"),
        ..Alert::DEFAULT
    },
    Alert {
        name: "LonghornBackupInError",
        when: When::Promql {
            expr: "count by ($cluster volume) (longhorn_backup_state == 4) $unless_exporter",
            cases: include_str!("LonghornBackupInError.test.yaml"),
        },
        for_: "15m",
        summary: "Backups of a Longhorn volume failed.",
        description: "Backups of volume {{ $labels.volume }} failed. The newest data may have no copy outside the cluster. Read the \
                      error of the Backup and check the backup target, then delete the failed ones.",
        why: "A failed backup stays until it is deleted, or until failed-backup-ttl is over (1,440 minutes by default). Value 4 is Error on every \
              release.",
        runbook: include_str!("LonghornBackupInError.md"),
        ..Alert::DEFAULT
    },
    Alert {
        name: "LonghornVolumeLatencyHigh",
        when: When::Promql {
            expr: "max by ($cluster volume, pvc_namespace, pvc) (longhorn_volume_write_latency) > 1e9 * $seconds or \
                   max by ($cluster volume, pvc_namespace, pvc) (longhorn_volume_read_latency) > 1e9 * $seconds",
            cases: include_str!("LonghornVolumeLatencyHigh.test.yaml"),
        },
        for_: "15m",
        thresholds: &[LATENCY],
        summary: "A Longhorn volume answers slowly.",
        description: "Reads or writes of volume {{ $labels.volume }} have been slow for a quarter of an hour. What uses it waits. Compare the disks and the network of the nodes of its replicas: the slowest one sets the pace.",
        why: "Rebuilds and backups slow a volume for minutes. The metric is in nanoseconds, of the last second before the scrape.",
        runbook: include_str!("LonghornVolumeLatencyHigh.md"),
        ..Alert::DEFAULT
    },
    Alert {
        name: "LonghornInstanceManagerCpuHigh",
        when: When::Promql {
            expr: "max by ($cluster node, instance_manager) (longhorn_instance_manager_cpu_usage_millicpu) > $ratio * max by ($cluster node, \
                   instance_manager) (longhorn_instance_manager_cpu_requests_millicpu > 0)",
            cases: include_str!("LonghornInstanceManagerCpuHigh.test.yaml"),
        },
        for_: "15m",
        thresholds: &[CPU],
        summary: "A Longhorn instance manager uses far more CPU than it is promised.",
        description: "Instance manager {{ $labels.instance_manager }} on node {{ $labels.node }} uses a multiple of the CPU that it requests. When the \
                      node becomes busy, its liveness probe can fail and all its volumes detach. Raise guaranteed-instance-manager-cpu.",
        why: "A rebuild lasts minutes. An instance manager without a request (v2, or 0 in the setting) is left out: there is nothing to compare with.",
        runbook: include_str!("LonghornInstanceManagerCpuHigh.md"),
        ..Alert::DEFAULT
    },
];
