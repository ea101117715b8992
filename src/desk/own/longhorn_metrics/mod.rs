//! What Longhorn's own metrics (Service longhorn-backend, port 9500) say and the Kubernetes API does not: capacity, latency, CPU.
//! Alerts and panels that need no exporter, and that hold on every release that has the metric; longhorn_series.yaml says
//! which. A manager serves the series of what it owns and takes them with it when it fails, so that what matters is remembered.

mod panels;

use crate::check::{Alert, Severity, Threshold, When, alert};

pub use panels::PANELS;

/// How far a disk's growth is drawn on.
const AHEAD: Threshold = Threshold {
    name: "ahead",
    default: 4.0 * 86_400.0,
    least: 3600.0,
    unit: "seconds",
    is_range: false,
    why: "The alert looks 4 days ahead, as kubernetes-mixin does for file systems. Four days leave time to clean up or order a disk in working hours.",
};

/// Scheduled over schedulable.
const OVERCOMMIT: Threshold = Threshold {
    name: "ratio",
    default: 1.5,
    least: 1.0,
    unit: "times",
    is_range: false,
    why: "Longhorn allocates up to storage-over-provisioning-percentage, which is 100 by default and often 200. At 1.5 times, disks can run full as \
          thinly provisioned volumes grow.",
};

/// Actual size over capacity.
const SNAPSHOTS: Threshold = Threshold {
    name: "ratio",
    default: 2.0,
    least: 1.0,
    unit: "times",
    is_range: false,
    why: "Without snapshots, a volume uses at most its own size. At twice that, its snapshots use as much space as the volume.",
};

/// Mean latency in seconds.
const LATENCY: Threshold = Threshold {
    name: "seconds",
    default: 0.1,
    least: 0.001,
    unit: "seconds",
    is_range: false,
    why: "A healthy replicated write takes about 0.01 s. At 0.1 s, databases stall.",
};

/// CPU used over CPU requested.
const CPU: Threshold = Threshold {
    name: "ratio",
    default: 3.0,
    least: 0.5,
    unit: "times",
    is_range: false,
    why: "Longhorn's own example alert uses 3. Only an otherwise idle node can give an instance manager three times its request.",
};

/// The alerts.
pub const ALERTS: &[Alert] = &[
    alert! { "LonghornDiskFillingUp",
        when: When::Promql {
            expr: "max by ($cluster node, disk) (predict_linear(longhorn_disk_usage_bytes[6h], $ahead)) >= max by ($cluster node, disk) \
                   (longhorn_disk_capacity_bytes) and max by ($cluster node, disk) (longhorn_disk_usage_bytes) > 0.5 * max by ($cluster \
                   node, disk) (longhorn_disk_capacity_bytes)",
            cases: include_str!("LonghornDiskFillingUp.test.yaml"),
        },
        for_: "1h",
        thresholds: &[AHEAD],
        summary: "A Longhorn disk will soon be full at its current growth rate.",
        description: "Disk {{ $labels.disk }} on node {{ $labels.node }} will be full within days (trend of the last 6 h). Replicas \
                      on a full disk fail. Find out which replicas are growing, then free space or add a disk.",
        why: "The 6 h window smooths out a rebuild. The alert waits 1 h for short growth to end. It ignores disks less than half full, where steep growth \
              is usually a restore.",
    },
    alert! { "LonghornNodeOvercommitted",
        when: When::Promql {
            expr: "max by ($cluster node) (longhorn_node_storage_scheduled_bytes) > $ratio * (max by ($cluster node) \
                   (longhorn_node_storage_capacity_bytes) - max by ($cluster node) (longhorn_node_storage_reservation_bytes))",
            cases: include_str!("LonghornNodeOvercommitted.test.yaml"),
        },
        for_: "1h",
        thresholds: &[OVERCOMMIT],
        summary: "Replicas on a Longhorn node can outgrow the node's disks.",
        description: "The replicas on node {{ $labels.node }} can grow to {{ $value | humanize1024 }}B, far more than its disks can hold. As pods \
                      write more, the disks run full and replicas fail. Add disks or move replicas.",
        why: "The alert waits 1 h, because some replicas exist for only minutes while Longhorn balances replicas.",
    },
    alert! { "LonghornVolumeSnapshotsLarge",
        when: When::Promql {
            expr: "max by ($cluster volume, pvc_namespace, pvc) (longhorn_volume_actual_size_bytes) > $ratio * max by ($cluster volume, \
                   pvc_namespace, pvc) (longhorn_volume_capacity_bytes)",
            cases: include_str!("LonghornVolumeSnapshotsLarge.test.yaml"),
        },
        for_: "6h",
        thresholds: &[SNAPSHOTS],
        summary: "A Longhorn volume's snapshots take more space than the volume.",
        description: "Each replica of volume {{ $labels.volume }} uses {{ $value | humanize1024 }}B, far more than \
                      the volume's size. Its snapshots and untrimmed blocks are filling the disks. Delete unneeded \
                      snapshots, then trim the file system.",
        why: "A backup needs its snapshot only while the backup is running. The alert waits 6 h, which is longer than most backups take.",
    },
    alert! { "LonghornVolumeLastSeenFaulted",
        when: When::Promql {
            expr: "max by ($cluster volume) (last_over_time(longhorn_volume_robustness{state=\"faulted\"}[30m]) == 1 or \
                   last_over_time(longhorn_volume_robustness{state=\"\"}[30m]) == 3) unless on ($cluster volume) \
                   (longhorn_volume_robustness{state=\"faulted\"} == 0 or longhorn_volume_robustness{state=\"\"} != 3) $unless_exporter",
            cases: include_str!("LonghornVolumeLastSeenFaulted.test.yaml"),
        },
        for_: "3m",
        severity: Severity::Critical,
        summary: "A Longhorn volume was faulted when last reported.",
        description: "Volume {{ $labels.volume }} had no usable replica when a longhorn-manager last reported it. If the volume is still faulted, it cannot be \
                      read or written. Check the volume's replicas, and whether the managers are running.",
        why: "The alert uses the last value for 30 min, because the series disappears with its manager. A faulted volume has value 3 (up to 1.10) or label \
        state=faulted (from 1.11 on).",
    },
    alert! { "LonghornBackupInError",
        when: When::Promql {
            expr: "count by ($cluster volume) (longhorn_backup_state == 4) $unless_exporter",
            cases: include_str!("LonghornBackupInError.test.yaml"),
        },
        for_: "15m",
        summary: "Backups of a Longhorn volume have failed.",
        description: "Backups of volume {{ $labels.volume }} have failed. Its newest data may have no copy outside the cluster. Read the failed \
                      Backup's error, fix its cause, and take a new backup.",
        why: "Longhorn keeps a failed backup until you delete it or failed-backup-ttl expires (1,440 min by default). Value 4 means Error on every release.",
    },
    alert! { "LonghornVolumeLatencyHigh",
        when: When::Promql {
            expr: "max by ($cluster volume, pvc_namespace, pvc) (longhorn_volume_write_latency) > 1e9 * $seconds or \
                   max by ($cluster volume, pvc_namespace, pvc) (longhorn_volume_read_latency) > 1e9 * $seconds",
            cases: include_str!("LonghornVolumeLatencyHigh.test.yaml"),
        },
        for_: "15m",
        thresholds: &[LATENCY],
        summary: "A Longhorn volume's reads or writes are slow.",
        description: "Reads or writes of volume {{ $labels.volume }} have been slow for 15 min. Its pods are waiting for I/O. Compare its replicas' disks and \
                      networks: a write waits for the slowest replica.",
        why: "Rebuilds and backups slow a volume for minutes, so the alert waits 15 min. The metric is the mean of the second before the scrape, in ns.",
    },
    alert! { "LonghornInstanceManagerCpuHigh",
        when: When::Promql {
            expr: "max by ($cluster node, instance_manager) (longhorn_instance_manager_cpu_usage_millicpu) > $ratio * max by ($cluster node, \
                   instance_manager) (longhorn_instance_manager_cpu_requests_millicpu > 0)",
            cases: include_str!("LonghornInstanceManagerCpuHigh.test.yaml"),
        },
        for_: "15m",
        thresholds: &[CPU],
        summary: "A Longhorn instance manager is using far more CPU than it requests.",
        description: "Instance manager {{ $labels.instance_manager }} on node {{ $labels.node }} is using far more CPU than it requests. If the node \
                      gets busy, the instance manager's liveness probe can fail, and all its volumes detach. Raise guaranteed-instance-manager-cpu.",
        why: "The alert waits 15 min to ignore short bursts, such as during a rebuild. It excludes instance managers without a CPU request (v2, or \
              guaranteed-instance-manager-cpu 0).",
    },
];
