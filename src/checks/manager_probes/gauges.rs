//! Series about probes.

use crate::check::Gauge;

const fn of_probe(name: &'static str, help: &'static str, example: &'static str) -> Gauge<[&'static str; 1]> {
    Gauge {
        name,
        help,
        labels: ["probe"],
        absent: "the DaemonSet longhorn-manager has no probe of this kind; no stock release has a startup or liveness probe",
        example,
        ..Gauge::PLAIN
    }
}

/// Between two probes.
pub static PERIOD: Gauge<[&str; 1]> = of_probe(
    "longhorn_health_manager_probe_period_seconds",
    "Seconds between two probes of container longhorn-manager, as the live DaemonSet configures them.",
    "longhorn_health_manager_probe_period_seconds{probe=\"liveness\"}",
);

/// Until a probe counts as failed.
pub static TIMEOUT: Gauge<[&str; 1]> = of_probe(
    "longhorn_health_manager_probe_timeout_seconds",
    "Seconds after which one probe of container longhorn-manager counts as failed.",
    "longhorn_health_manager_probe_timeout_seconds{probe=\"readiness\"} <= 1",
);

/// Failures in a row that count.
pub static THRESHOLD: Gauge<[&str; 1]> = of_probe(
    "longhorn_health_manager_probe_failure_threshold",
    "Failed probes of container longhorn-manager in a row that have a consequence.",
    "longhorn_health_manager_probe_failure_threshold",
);

/// Period × threshold.
pub static TOLERANCE: Gauge<[&str; 1]> = of_probe(
    "longhorn_health_manager_probe_tolerance_seconds",
    "Seconds of failing that the probe tolerates: period times failure threshold.",
    "longhorn_health_manager_probe_tolerance_seconds{probe=\"startup\"} < 300",
);

/// The release's own wait.
pub static START_LIMIT: Gauge<[&str; 0]> = Gauge {
    name: "longhorn_health_manager_start_limit_seconds",
    help: "Seconds that a manager of this Longhorn release waits for its webhook, for each of two waits, before it exits.",
    labels: [],
    absent: "the release is unknown, or up to 1.4, which waits without limit",
    example: "longhorn_health_manager_start_limit_seconds",
    ..Gauge::PLAIN
};

/// The slowest start.
pub static SLOWEST: Gauge<[&str; 0]> = Gauge {
    name: "longhorn_health_manager_start_to_ready_max_seconds",
    help: "Longest time from container start to Ready among the running managers, waiting for other nodes included.",
    labels: [],
    absent: "no start can be read from the pods, for example because all changed readiness long after their start",
    example: "longhorn_health_manager_start_to_ready_max_seconds > longhorn_health_manager_start_limit_seconds",
    ..Gauge::PLAIN
};

/// Slow starts.
pub static SLOW: Gauge<[&str; 1]> = Gauge {
    name: "longhorn_health_manager_start_to_ready_seconds",
    help: "Seconds from container start to Ready of a manager that alone needed longer than the start limit.",
    labels: ["node"],
    absent: "the manager on this node did not start slowly",
    example: "longhorn_health_manager_start_to_ready_seconds > 60",
    ..Gauge::PLAIN
};

/// Failed probes.
pub static FAILURES: Gauge<[&str; 2]> = Gauge {
    name: "longhorn_health_manager_probe_failures",
    help: "Failed probes of the present manager pods in the Unhealthy events that Kubernetes still holds (an hour by default).",
    labels: ["probe", "failure"],
    absent: "the DaemonSet has no probe of this kind, or events cannot be read",
    example: "sum by (failure) (longhorn_health_manager_probe_failures{probe=\"readiness\"})",
    ..Gauge::PLAIN
};
