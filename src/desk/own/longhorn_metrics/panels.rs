//! The dashboard of Longhorn's own metrics.

use super::{CPU, LATENCY, OVERCOMMIT, SNAPSHOTS};
use crate::check::{Dashboard, Panel, Query, Step, Unit, Width};

const NO_DATA: &str = "Prometheus does not scrape longhorn-backend, or the release lacks the metric";

const LINES: Panel = Panel { dashboard: Dashboard::LonghornMetrics, no_data: NO_DATA, ..Panel::TIME_SERIES };

/// The panels.
pub const PANELS: &[Panel] = &[
    Panel {
        title: "Disk usage",
        description: "Used share of each disk, by Longhorn and everything else. Longhorn places no replica on a disk with less than \
                      storage-minimal-available-percentage free.",
        unit: Unit::Ratio,
        expr: "max by ($cluster node, disk) (longhorn_disk_usage_bytes{$variables}) / max by ($cluster node, disk) (longhorn_disk_capacity_bytes{$variables})",
        legend: "{{node}} {{disk}}",
        ..LINES
    },
    Panel {
        title: "Predicted disk usage",
        description: "Predicted use of each disk in four days, from its growth in the last 6 h. At 1, the disk is full.",
        unit: Unit::Ratio,
        expr: "max by ($cluster node, disk) (predict_linear(longhorn_disk_usage_bytes{$variables}[6h], 345600)) / max by ($cluster node, disk) (longhorn_disk_capacity_bytes{$variables})",
        legend: "{{node}} {{disk}}",
        steps: &[Step::at(1.0, "orange")],
        ..LINES
    },
    Panel {
        title: "Overcommit",
        description: "Size that each node's replicas can grow to, divided by its disk space. Above 1, fully written volumes fill the disks.",
        unit: Unit::Ratio,
        expr: "max by ($cluster node) (longhorn_node_storage_scheduled_bytes{$variables}) / (max by ($cluster node) (longhorn_node_storage_capacity_bytes{$variables}) - max by ($cluster node) (longhorn_node_storage_reservation_bytes{$variables}))",
        legend: "{{node}}",
        steps: &[Step::threshold("LonghornNodeOvercommitted", &OVERCOMMIT, "orange")],
        ..LINES
    },
    Panel {
        title: "Actual size per capacity",
        description: "Size of one replica divided by the volume's size, for the ten highest ratios. Above 1, snapshots or untrimmed blocks take the rest.",
        unit: Unit::Ratio,
        expr: "topk by ($cluster) (10, max by ($cluster volume, pvc_namespace, pvc) (longhorn_volume_actual_size_bytes{$variables}) / max by ($cluster volume, pvc_namespace, pvc) (longhorn_volume_capacity_bytes{$variables}))",
        legend: "{{volume}} {{pvc}}",
        steps: &[Step::threshold("LonghornVolumeSnapshotsLarge", &SNAPSHOTS, "orange")],
        ..LINES
    },
    Panel {
        title: "Volumes by robustness",
        description: "Volumes by the robustness that the managers report. A gap means that a manager is down.",
        expr: "count by ($cluster state) (longhorn_volume_robustness{state!=\"\", $variables} == 1)",
        legend: "{{state}}",
        more: &[
            Query {
                expr: "count by ($cluster) (longhorn_volume_robustness{state=\"\", $variables} == 1)",
                legend: "healthy",
            },
            Query {
                expr: "count by ($cluster) (longhorn_volume_robustness{state=\"\", $variables} == 2)",
                legend: "degraded",
            },
            Query {
                expr: "count by ($cluster) (longhorn_volume_robustness{state=\"\", $variables} == 3)",
                legend: "faulted",
            },
        ],
        ..LINES
    },
    Panel {
        title: "Backups by state",
        description: "Number of backups by state: 0 new, 1 pending, 2 in progress, 3 completed, 4 error, 5 unknown.",
        expr: "count_values by ($cluster) (\"state\", max by ($cluster volume, backup) (longhorn_backup_state{$variables}))",
        legend: "{{state}}",
        ..LINES
    },
    Panel {
        title: "Write latency",
        description: "Mean write time of the ten slowest volumes. A volume's slowest replica sets the pace.",
        unit: Unit::Seconds,
        expr: "topk by ($cluster) (10, max by ($cluster volume, pvc_namespace, pvc) (longhorn_volume_write_latency{$variables}) / 1e9)",
        legend: "{{volume}} {{pvc}}",
        steps: &[Step::threshold("LonghornVolumeLatencyHigh", &LATENCY, "orange")],
        ..LINES
    },
    Panel {
        title: "Read latency",
        description: "Mean read time of the ten slowest volumes. One replica answers each read.",
        unit: Unit::Seconds,
        expr: "topk by ($cluster) (10, max by ($cluster volume, pvc_namespace, pvc) (longhorn_volume_read_latency{$variables}) / 1e9)",
        legend: "{{volume}} {{pvc}}",
        steps: &[Step::threshold("LonghornVolumeLatencyHigh", &LATENCY, "orange")],
        ..LINES
    },
    Panel {
        title: "Instance manager CPU",
        description: "CPU use of each instance manager divided by its CPU request (needs metrics-server). Above 1, a busy node can throttle it.",
        unit: Unit::Ratio,
        expr: "max by ($cluster node, instance_manager) (longhorn_instance_manager_cpu_usage_millicpu{$variables}) / max by ($cluster node, instance_manager) (longhorn_instance_manager_cpu_requests_millicpu{$variables} > 0)",
        legend: "{{node}} {{instance_manager}}",
        steps: &[Step::threshold("LonghornInstanceManagerCpuHigh", &CPU, "orange")],
        ..LINES
    },
    Panel {
        title: "Instance manager memory",
        description: "Memory use of each instance manager (needs metrics-server). Steady growth ends in an OOM kill, and all its volumes detach.",
        unit: Unit::Bytes,
        expr: "max by ($cluster node, instance_manager) (longhorn_instance_manager_memory_usage_bytes{$variables})",
        legend: "{{node}} {{instance_manager}}",
        ..LINES
    },
    Panel {
        title: "Manager work queues",
        description: "Items waiting in the ten longest queues of longhorn-manager's controllers. If a queue only grows, its controller is stuck.",
        expr: "topk by ($cluster) (10, max by ($cluster name, instance) (longhorn_workqueue_depth{$variables}))",
        legend: "{{name}} {{instance}}",
        width: Width::Full,
        ..LINES
    },
];
