//! Series about probes.

use crate::check::gauges;

const NO_PROBE: &str = "the DaemonSet longhorn-manager lacks this probe (stock ones have only readiness)";

gauges! {
    PERIOD = Gauge "longhorn_health_manager_probe_period_seconds" ["probe"]
        "Seconds between two probes of container longhorn-manager (periodSeconds).",
        absent NO_PROBE,
        example "longhorn_health_manager_probe_period_seconds{probe=\"liveness\"}";
    TIMEOUT = Gauge "longhorn_health_manager_probe_timeout_seconds" ["probe"]
        "Seconds after which a single probe of container longhorn-manager times out (timeoutSeconds).",
        absent NO_PROBE,
        example "longhorn_health_manager_probe_timeout_seconds{probe=\"readiness\"} <= 1";
    THRESHOLD = Gauge "longhorn_health_manager_probe_failure_threshold" ["probe"]
        "Consecutive failures after which Kubernetes acts on a probe of container longhorn-manager (failureThreshold).",
        absent NO_PROBE,
        example "longhorn_health_manager_probe_failure_threshold";
    TOLERANCE = Gauge "longhorn_health_manager_probe_tolerance_seconds" ["probe"]
        "Seconds for which the probe may fail before Kubernetes acts: period times failure threshold.",
        absent NO_PROBE,
        example "longhorn_health_manager_probe_tolerance_seconds{probe=\"startup\"} < 300";
    START_LIMIT = Gauge "longhorn_health_manager_start_limit_seconds" []
        "Seconds that a manager of this release waits for its webhook before it exits. A startup has two such waits.",
        absent "the release is unknown, or is 1.4 or earlier, which waits without limit",
        example "longhorn_health_manager_start_limit_seconds";
    SLOWEST = Gauge "longhorn_health_manager_start_to_ready_max_seconds" []
        "Longest startup of the running managers, in seconds from container start to Ready, including waits for other nodes.",
        absent "no pod shows its startup time, for example because each changed readiness again long after its start",
        example "longhorn_health_manager_start_to_ready_max_seconds > longhorn_health_manager_start_limit_seconds";
    SLOW = Gauge "longhorn_health_manager_start_to_ready_seconds" ["node"]
        "Seconds from container start to Ready, for managers whose own startup took longer than the start limit.",
        absent "the manager on this node started in time",
        example "longhorn_health_manager_start_to_ready_seconds > 60";
    FAILURES = Gauge "longhorn_health_manager_probe_failure_events" ["probe", "failure"]
        "Failed probes of current manager pods, counted in the Unhealthy events that Kubernetes keeps (one hour by default).",
        absent "no probe failed in this way, or Events cannot be read",
        example "sum by (failure) (longhorn_health_manager_probe_failure_events{probe=\"readiness\"})";
}
