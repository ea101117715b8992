//! The families that belong to no single check.

use crate::check::gauges;

const BEFORE_SYNC: &str = "the first sync is incomplete";
const NO_WEB_CONFIG: &str = "--web.config.file is not given";
const STATIC: &str = "serving a recording or the demo";

gauges! {
    STATUS = Gauge "longhorn_health_status" ["status"]
        "1 for the cluster's status (healthy, info, warning, critical or unknown), otherwise 0.",
        absent BEFORE_SYNC,
        example "max without (instance, pod) (longhorn_health_status{status=\"healthy\"}) == 0";
    INCIDENTS = Gauge "longhorn_health_incidents" ["severity"]
        "Incidents by severity. A root cause and its consequences are one incident.",
        absent BEFORE_SYNC,
        example "max without (instance, pod) (longhorn_health_incidents{severity=\"critical\"}) > 0";
    INCIDENT = Gauge "longhorn_health_incident_findings" ["check", "cause", "severity"]
        "Findings that are an incident's root cause, by the incident's highest severity.",
        absent "there is none",
        example "count by (severity) (max without (instance, pod) (longhorn_health_incident_findings))";
    INCIDENT_INFO = Gauge "longhorn_health_incident_info" ["check", "cause", "severity", "object", "node", "title", "consequences", "claim", "data", "fix", "runbook"]
        "1 for each of the 50 worst incidents, with root cause, worst-affected claim and fix.",
        absent "there is none",
        example "max without (instance, pod) (longhorn_health_incident_info{severity=\"critical\"}) == 1";
    FINDINGS = Gauge "longhorn_health_check_findings" ["check", "severity"]
        "Number of findings by check and severity.",
        absent "there is none or the check is unknown",
        example "sum by (severity) (max without (instance, pod) (longhorn_health_check_findings))";
    FINDING = Gauge "longhorn_health_finding" ["check", "cause", "severity", "object_kind", "object", "node", "disk"]
        "1 for every finding.",
        absent "there is no such finding, or longhorn_health_exporter_truncated_findings counts it",
        example "max without (instance, pod) (longhorn_health_finding{severity=\"critical\"}) == 1";
    FINDING_VOLUME = Gauge "longhorn_health_finding_volume" ["check", "cause", "severity", "object_kind", "object", "node", "disk", "volume", "pvc_namespace", "pvc"]
        "1 for every volume that a finding affects or that keeps its object in use.",
        absent "there is none",
        example "max without (instance, pod) (longhorn_health_finding_volume{severity=\"critical\"}) == 1";
    ALERT_FOLLOWS = Gauge "longhorn_health_alert_follows" ["alert", "cause", "node", "root_alert", "root_node"]
        "1 for every alert that a root alert explains (empty cause: all causes).",
        absent "it is a root cause",
        example "count by (root_alert, alert) (max without (instance, pod) (longhorn_health_alert_follows))";
    FINDINGS_TRUNCATED = Gauge "longhorn_health_exporter_truncated_findings" ["check"]
        "Findings of a check without series, because the metrics page would become too large.",
        absent "none is left out",
        example "longhorn_health_exporter_truncated_findings > 0";
    SERIES_TRUNCATED = Gauge "longhorn_health_exporter_truncated_series" ["metric"]
        "Series left out of a metric family that has more than 5,000.",
        absent "none is left out",
        example "longhorn_health_exporter_truncated_series > 0";
    CAUSE_INFO = Gauge "longhorn_health_cause_info" ["check", "cause", "title", "runbook", "dashboard"]
        "1 for every cause with a finding, with meaning, runbook name and dashboard uid.",
        absent "no finding has it",
        example "max without (instance, pod) (longhorn_health_finding) * on (cluster, check, cause) group_left (runbook) topk by (cluster, check, \
            cause) (1, longhorn_health_cause_info)";
    CHECKS = Gauge "longhorn_health_checks" ["state"]
        "Checks by state: known (has a verdict) or unknown (lacks data).",
        absent BEFORE_SYNC,
        example "max without (instance, pod) (longhorn_health_checks{state=\"unknown\"}) > 0";
    CHECK_UNKNOWN = Gauge "longhorn_health_check_unknown" ["check"]
        "1 for every check that lacks data and may miss failures.",
        absent "it has a verdict",
        example "longhorn_health_check_unknown == 1";
    VOLUMES = Gauge "longhorn_health_volumes" ["robustness"]
        "Volumes by reported robustness. Detached volumes count as `detached` unless faulted.",
        absent BEFORE_SYNC,
        example "max without (instance, pod) (longhorn_health_volumes{robustness=\"faulted\"}) > 0";
    VOLUMES_AFFECTED = Gauge "longhorn_health_volumes_affected" ["impact"]
        "Volumes by worst impact: faulted, node_down, not_served, read_only, last_copy, rebuilding, degraded, never_up (faulted but never written).",
        absent "there is none",
        example "max by (impact) (longhorn_health_volumes_affected)";
    VOLUMES_AT_RISK = Gauge "longhorn_health_volumes_at_risk" ["failure_domain", "by_choice"]
        "Volumes lost if one copy, disk, node or zone fails (by_choice: settings accept that).",
        absent "there is none",
        example "max without (instance, pod) (longhorn_health_volumes_at_risk{by_choice=\"false\"}) > 0";
    BYTES_AT_RISK = Gauge "longhorn_health_volumes_at_risk_bytes" ["failure_domain", "by_choice"]
        "Data in the volumes that longhorn_health_volumes_at_risk counts, in bytes.",
        absent "there is none",
        example "sum by (failure_domain) (max without (instance, pod) (longhorn_health_volumes_at_risk_bytes))";
    RESOURCE_UNREADABLE = Gauge "longhorn_health_exporter_resource_unreadable" ["resource", "reason"]
        "1 for every resource kind without data. Reason: pending, forbidden, stale, or (no fault) not_installed or not_recorded.",
        absent "it is readable",
        example "longhorn_health_exporter_resource_unreadable{reason=\"forbidden\"} == 1";
    LAST_SUCCESS = Gauge "longhorn_health_exporter_last_success_timestamp_seconds" []
        "Unix time of the last API answer for the longest-waiting kind.",
        absent "serving a recording or the demo",
        example "time() - longhorn_health_exporter_last_success_timestamp_seconds";
    OBJECTS = Gauge "longhorn_health_exporter_objects" []
        "Objects of all kinds in the exporter's memory. Memory use grows with their number.",
        absent "never",
        example "process_resident_memory_bytes / on (instance) longhorn_health_exporter_objects";
    RESOURCE_UNDECODABLE = Gauge "longhorn_health_exporter_undecodable_objects" ["resource"]
        "Objects of a kind that cannot be decoded. Checks ignore them.",
        absent "there is none",
        example "longhorn_health_exporter_undecodable_objects > 0";
    RESOURCE_UNRECOGNIZED = Gauge "longhorn_health_exporter_unrecognized_values" ["resource", "field"]
        "Number of objects with a field value that no known Longhorn release writes.",
        absent "all values are known",
        example "longhorn_health_exporter_unrecognized_values > 0";
    LISTS = Counter "longhorn_health_exporter_lists_total" []
        "API list requests sent since the exporter started, for all kinds.",
        absent STATIC,
        example "rate(longhorn_health_exporter_lists_total[1h])";
    WATCHES = Counter "longhorn_health_exporter_watches_total" []
        "API watch requests sent since the exporter started, for all kinds.",
        absent STATIC,
        example "rate(longhorn_health_exporter_watches_total[1h])";
    EVENTS = Counter "longhorn_health_exporter_watch_events_total" []
        "API watch events that changed an object, since the exporter started.",
        absent STATIC,
        example "rate(longhorn_health_exporter_watch_events_total[5m])";
    API_ERRORS = Counter "longhorn_health_exporter_api_errors_total" ["reason"]
        "Failed list and watch requests since the exporter started, by reason.",
        absent STATIC,
        example "increase(longhorn_health_exporter_api_errors_total[15m]) > 0";
    CLOCK_SKEW = Gauge "longhorn_health_exporter_clock_skew_seconds" []
        "Seconds that the exporter's clock is ahead of the API server's (negative: behind).",
        absent "no server sends a Date",
        example "abs(longhorn_health_exporter_clock_skew_seconds) > 60";
    BUILD_INFO = Gauge "longhorn_health_exporter_build_info" ["version", "revision", "rustc"]
        "Always 1. Labels: the exporter's version and build. Every pod exports all series: use max without (instance, pod).",
        absent "never",
        example "longhorn_health_exporter_build_info";
    WEB_CONFIG_SUCCESSFUL = Gauge "longhorn_health_exporter_web_config_last_reload_successful" []
        "1 if the latest web configuration and its certificates were read successfully, otherwise 0.",
        absent NO_WEB_CONFIG,
        example "longhorn_health_exporter_web_config_last_reload_successful == 0";
    WEB_CONFIG_LAST_SUCCESS = Gauge "longhorn_health_exporter_web_config_last_reload_success_timestamp_seconds" []
        "Unix time when the exporter loaded its current web configuration.",
        absent NO_WEB_CONFIG,
        example "time() - longhorn_health_exporter_web_config_last_reload_success_timestamp_seconds";
    EVALUATED = Gauge "longhorn_health_exporter_last_evaluation_timestamp_seconds" []
        "Unix time when the checks last ran, even on stale data.",
        absent "--web.disable-exporter-metrics is set",
        example "time() - longhorn_health_exporter_last_evaluation_timestamp_seconds > 60";
    EVALUATION_DURATION = Gauge "longhorn_health_exporter_last_evaluation_duration_seconds" []
        "Duration of the last run of all checks, in seconds.",
        absent "--web.disable-exporter-metrics is set",
        example "longhorn_health_exporter_last_evaluation_duration_seconds > 1";
    RENDER_DURATION = Gauge "longhorn_health_exporter_last_render_duration_seconds" []
        "Time spent writing the last metrics page, in seconds.",
        absent "--web.disable-exporter-metrics is set",
        example "longhorn_health_exporter_last_render_duration_seconds > 1";
    HTTP_REQUESTS = Counter "longhorn_health_exporter_http_requests_total" ["code"]
        "HTTP requests answered or rejected since the exporter started, by status code.",
        absent "--web.disable-exporter-metrics is set",
        example "rate(longhorn_health_exporter_http_requests_total{code=~\"4..|5..\"}[5m])";
    PROCESS_CPU = Counter "process_cpu_seconds_total" []
        "Total user and system CPU time spent in seconds.",
        absent "the system does not report it",
        example "rate(process_cpu_seconds_total[5m])";
    PROCESS_START = Gauge "process_start_time_seconds" []
        "Start time of the process since unix epoch in seconds.",
        absent "the system does not report it",
        example "time() - process_start_time_seconds";
    PROCESS_RESIDENT = Gauge "process_resident_memory_bytes" []
        "Resident memory size in bytes.",
        absent "the system does not report it",
        example "process_resident_memory_bytes";
    PROCESS_VIRTUAL = Gauge "process_virtual_memory_bytes" []
        "Virtual memory size in bytes.",
        absent "the system does not report it",
        example "process_virtual_memory_bytes";
    PROCESS_VIRTUAL_MAX = Gauge "process_virtual_memory_max_bytes" []
        "Maximum amount of virtual memory available in bytes.",
        absent "there is no limit, or the system does not report it",
        example "process_virtual_memory_max_bytes";
    PROCESS_OPEN_FDS = Gauge "process_open_fds" []
        "Number of open file descriptors.",
        absent "the system does not report it",
        example "process_open_fds / process_max_fds > 0.8";
    PROCESS_MAX_FDS = Gauge "process_max_fds" []
        "Maximum number of open file descriptors.",
        absent "there is no limit, or the system does not report it",
        example "process_max_fds";
    PROCESS_THREADS = Gauge "process_threads" []
        "Number of OS threads in the process.",
        absent "the system does not report it",
        example "process_threads";
}

/// Families whose name, type, labels and meaning stay within a major release (docs/stability.md). All others are
/// experimental.
pub const STABLE: &[&crate::check::Gauge] =
    &[&STATUS, &FINDINGS, &FINDING, &CHECK_UNKNOWN, &LAST_SUCCESS, &BUILD_INFO];

#[cfg(test)]
mod tests {
    use super::STABLE;

    /// A change here is a breaking change for users.
    #[test]
    fn stable_series_keep_their_name_type_and_labels() {
        let stable: Vec<_> = STABLE
            .iter()
            .map(|gauge| format!("{:?} {} {}", gauge.kind, gauge.name, gauge.labels.join(",")))
            .collect();
        assert_eq!(
            stable,
            [
                "Gauge longhorn_health_status status",
                "Gauge longhorn_health_check_findings check,severity",
                "Gauge longhorn_health_finding check,cause,severity,object_kind,object,node,disk",
                "Gauge longhorn_health_check_unknown check",
                "Gauge longhorn_health_exporter_last_success_timestamp_seconds ",
                "Gauge longhorn_health_exporter_build_info version,revision,rustc",
            ]
        );
    }
}
