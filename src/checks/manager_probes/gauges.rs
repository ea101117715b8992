//! Series about probes.

use crate::check::gauges;

const NO_PROBE: &str = "the DaemonSet lacks this probe (default: only readiness)";

gauges! {
    PERIOD = Gauge "longhorn_health_manager_probe_period_seconds" ["probe"]
        "Seconds between two probes of container longhorn-manager (periodSeconds).",
        absent NO_PROBE,
        example "longhorn_health_manager_probe_period_seconds{probe=\"liveness\"}";
    TIMEOUT = Gauge "longhorn_health_manager_probe_timeout_seconds" ["probe"]
        "Timeout of one longhorn-manager probe, in seconds (timeoutSeconds).",
        absent NO_PROBE,
        example "longhorn_health_manager_probe_timeout_seconds{probe=\"readiness\"} <= 1";
    THRESHOLD = Gauge "longhorn_health_manager_probe_failure_threshold" ["probe"]
        "Consecutive failures after which Kubernetes acts on a probe (failureThreshold).",
        absent NO_PROBE,
        example "longhorn_health_manager_probe_failure_threshold";
    TOLERANCE = Gauge "longhorn_health_manager_probe_tolerance_seconds" ["probe"]
        "Seconds of failing probes before Kubernetes acts: period times threshold.",
        absent NO_PROBE,
        example "longhorn_health_manager_probe_tolerance_seconds{probe=\"startup\"} < 300";
    START_LIMIT = Gauge "longhorn_health_manager_start_limit_seconds" []
        "Seconds a starting manager waits (twice) for its webhook before exiting.",
        absent "there is no limit (up to 1.4)",
        example "longhorn_health_manager_start_limit_seconds";
    SLOWEST = Gauge "longhorn_health_manager_start_to_ready_max_seconds" []
        "Longest startup of a running manager, in seconds from container start to Ready.",
        absent "no startup time is known",
        example "longhorn_health_manager_start_to_ready_max_seconds > longhorn_health_manager_start_limit_seconds";
    SLOW = Gauge "longhorn_health_manager_start_to_ready_seconds" ["node"]
        "Seconds from container start to Ready, for managers whose own startup exceeded the limit.",
        absent "it started in time",
        example "longhorn_health_manager_start_to_ready_seconds > 60";
    FAILURES = Gauge "longhorn_health_manager_probe_failure_events" ["probe", "failure"]
        "Failed probes of current manager pods in the Unhealthy Events that Kubernetes keeps (default 1 h).",
        absent "none failed",
        example "sum by (failure) (longhorn_health_manager_probe_failure_events{probe=\"readiness\"})";
}
