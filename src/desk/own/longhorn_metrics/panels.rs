//! The dashboard of Longhorn's own metrics.

use super::{CPU, LATENCY, OVERCOMMIT, SNAPSHOTS};
use crate::check::{Dashboard, Panel, Query, Step, Unit, Width};

const NO_DATA: &str = "Service longhorn-backend is not scraped, or the release has no such metric";

const LINES: Panel = Panel { dashboard: Dashboard::LonghornMetrics, no_data: NO_DATA, ..Panel::TIME_SERIES };

/// The panels.
pub const PANELS: &[Panel] = &[
    Panel {
        title: "Disk usage",
        description: "Share of each disk that is used, by Longhorn or by anything else. Longhorn places no more replicas above \
                      storage-minimal-available-percentage.",
        unit: Unit::Ratio,
        expr: "max by ($cluster node, disk) (longhorn_disk_usage_bytes{$variables}) / max by ($cluster node, disk) (longhorn_disk_capacity_bytes{$variables})",
        legend: "{{node}} {{disk}}",
        ..LINES
    },
    Panel {
        title: "Disk usage in four days",
        description: "Share of each disk that will be used in four days if it grows as in the last six hours. From 1 on it is full by then.",
        unit: Unit::Ratio,
        expr: "max by ($cluster node, disk) (predict_linear(longhorn_disk_usage_bytes{$variables}[6h], 345600)) / max by ($cluster node, disk) (longhorn_disk_capacity_bytes{$variables})",
        legend: "{{node}} {{disk}}",
        steps: &[Step::at(1.0, "orange")],
        ..LINES
    },
    Panel {
        title: "Overcommit",
        description: "What replicas may grow to, by node, over what its disks have. Above 1 the disks run full if all volumes are written. From 1.10.1 on.",
        unit: Unit::Ratio,
        expr: "max by ($cluster node) (longhorn_node_storage_scheduled_bytes{$variables}) / (max by ($cluster node) (longhorn_node_storage_capacity_bytes{$variables}) - max by ($cluster node) (longhorn_node_storage_reservation_bytes{$variables}))",
        legend: "{{node}}",
        steps: &[Step::threshold("LonghornNodeOvercommitted", &OVERCOMMIT, "orange")],
        ..LINES
    },
    Panel {
        title: "Actual size over capacity",
        description: "What a replica of each volume takes over the volume's size; the ten largest. Above 1 are snapshots.",
        unit: Unit::Ratio,
        expr: "topk by ($cluster) (10, max by ($cluster volume, pvc_namespace, pvc) (longhorn_volume_actual_size_bytes{$variables}) / max by ($cluster volume, pvc_namespace, pvc) (longhorn_volume_capacity_bytes{$variables}))",
        legend: "{{volume}} {{pvc}}",
        steps: &[Step::threshold("LonghornVolumeSnapshotsLarge", &SNAPSHOTS, "orange")],
        ..LINES
    },
    Panel {
        title: "Volumes by robustness",
        description: "As the managers report it, on every release. A gap is a manager that is down, not health.",
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
        description: "Mean time of a write, by volume; the ten slowest. The slowest replica of a volume sets the pace.",
        unit: Unit::Seconds,
        expr: "topk by ($cluster) (10, max by ($cluster volume, pvc_namespace, pvc) (longhorn_volume_write_latency{$variables}) / 1e9)",
        legend: "{{volume}} {{pvc}}",
        steps: &[Step::threshold("LonghornVolumeLatencyHigh", &LATENCY, "orange")],
        ..LINES
    },
    Panel {
        title: "Read latency",
        description: "Mean time of a read, by volume; the ten slowest. Reads are answered by one replica.",
        unit: Unit::Seconds,
        expr: "topk by ($cluster) (10, max by ($cluster volume, pvc_namespace, pvc) (longhorn_volume_read_latency{$variables}) / 1e9)",
        legend: "{{volume}} {{pvc}}",
        steps: &[Step::threshold("LonghornVolumeLatencyHigh", &LATENCY, "orange")],
        ..LINES
    },
    Panel {
        title: "CPU of instance managers over request",
        description: "CPU use of each instance manager divided by its CPU request. Above 1 a busy node can throttle it. Needs a metrics server.",
        unit: Unit::Ratio,
        expr: "max by ($cluster node, instance_manager) (longhorn_instance_manager_cpu_usage_millicpu{$variables}) / max by ($cluster node, instance_manager) (longhorn_instance_manager_cpu_requests_millicpu{$variables} > 0)",
        legend: "{{node}} {{instance_manager}}",
        steps: &[Step::threshold("LonghornInstanceManagerCpuHigh", &CPU, "orange")],
        ..LINES
    },
    Panel {
        title: "Memory of instance managers",
        description: "Memory that each instance manager uses. Needs a metrics server. A steady climb ends in an OOM kill, and all its volumes detach.",
        unit: Unit::Bytes,
        expr: "max by ($cluster node, instance_manager) (longhorn_instance_manager_memory_usage_bytes{$variables})",
        legend: "{{node}} {{instance_manager}}",
        ..LINES
    },
    Panel {
        title: "Work queued in managers",
        description: "Items that wait in the queues of longhorn-manager's controllers; the ten longest. One that only grows is a controller that is stuck.",
        expr: "topk by ($cluster) (10, max by ($cluster name, instance) (longhorn_workqueue_depth{$variables}))",
        legend: "{{name}} {{instance}}",
        width: Width::Full,
        ..LINES
    },
];
