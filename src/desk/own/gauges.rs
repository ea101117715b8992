//! The families that belong to no single check.

use crate::check::gauges;

const BEFORE_SYNC: &str = "the first sync is not complete";
const NO_WEB_CONFIG: &str = "--web.config.file is not given";
const STATIC: &str = "the exporter serves a recording or the demo";

gauges! {
    STATUS = Gauge "longhorn_health_status" ["status"]
        "1 for how the cluster is, in a word: healthy, info, warning, critical or unknown; 0 for the others.",
        absent BEFORE_SYNC,
        example "max without (instance, pod) (longhorn_health_status{status=\"healthy\"}) == 0";
    INCIDENTS = Gauge "longhorn_health_incidents" ["severity"]
        "Number of incidents by severity: a root cause with all that follows from it is one, on however many objects.",
        absent BEFORE_SYNC,
        example "max without (instance, pod) (longhorn_health_incidents{severity=\"critical\"}) > 0";
    INCIDENT = Gauge "longhorn_health_incident_findings" ["check", "cause", "severity"]
        "Number of findings of the root cause of each incident, with the worst severity of the root and all that follows from it.",
        absent "there is no such incident",
        example "count by (severity) (max without (instance, pod) (longhorn_health_incident_findings))";
    INCIDENT_INFO = Gauge "longhorn_health_incident_info" ["check", "cause", "severity", "object", "node", "title", "follows", "claim", "data", "fix", "runbook"]
        "1 for each of the 50 worst incidents, with what a person needs to read of it: what its root means, what follows from it, the claim that is \
         hurt most and how, and what to do first. Object and node are those of the root, where it has one.",
        absent "there is no such incident",
        example "max without (instance, pod) (longhorn_health_incident_info{severity=\"critical\"}) == 1";
    FINDINGS = Gauge "longhorn_health_check_findings" ["check", "severity"]
        "Number of findings of a check by severity.",
        absent "the check has none of this severity; see longhorn_health_check_unknown for whether it could tell",
        example "sum by (severity) (max without (instance, pod) (longhorn_health_check_findings))";
    FINDING = Gauge "longhorn_health_finding" ["check", "cause", "severity", "object_kind", "object", "node", "disk"]
        "1 for every finding.",
        absent "there is no such finding, or it is one of those that longhorn_health_exporter_truncated_findings counts",
        example "max without (instance, pod) (longhorn_health_finding{severity=\"critical\"}) == 1";
    FINDING_VOLUME = Gauge "longhorn_health_finding_volume" ["check", "cause", "object", "volume", "pvc", "pvc_namespace"]
        "1 for every volume that a finding hits or that holds its object.",
        absent "the finding names no volume, or it is one of those that longhorn_health_exporter_truncated_findings counts",
        example "count by (pvc_namespace) (max without (instance, pod) (longhorn_health_finding_volume))";
    ALERT_FOLLOWS = Gauge "longhorn_health_alert_follows" ["alert", "cause", "node", "root_alert", "root_node"]
        "1 for every alert (of a node, if it names one) whose findings all follow from others at least as severe, with their alert: the rule \
         LonghornHealthInhibitor reads it so that Alertmanager mutes the first while the second fires.",
        absent "one of its findings follows from no other",
        example "count by (root_alert, alert) (max without (instance, pod) (longhorn_health_alert_follows))";
    FINDINGS_TRUNCATED = Gauge "longhorn_health_exporter_truncated_findings" ["check"]
        "Number of findings of a check that lack a series of their own, or one for each of their volumes, to keep the page small.",
        absent "no check has more than 2,000 findings, or 500 volumes in them",
        example "longhorn_health_exporter_truncated_findings > 0";
    SERIES_TRUNCATED = Gauge "longhorn_health_exporter_truncated_series" ["metric"]
        "Number of series of a family that are left out, to keep the page small.",
        absent "no family has more than 5,000 series",
        example "longhorn_health_exporter_truncated_series > 0";
    CAUSE_INFO = Gauge "longhorn_health_cause_info" ["check", "cause", "title", "runbook", "dashboard"]
        "1 for every cause that is found, with what it means, the name of the runbook and the uid of the dashboard that say more.",
        absent "the cause is not found",
        example "longhorn_health_finding * on (cluster, check, cause) group_left (runbook) max by (cluster, check, cause, runbook) (longhorn_health_cause_info)";
    CHECKS = Gauge "longhorn_health_checks" ["state"]
        "Number of checks: known with a verdict, unknown without one.",
        absent BEFORE_SYNC,
        example "max without (instance, pod) (longhorn_health_checks{state=\"unknown\"}) > 0";
    CHECK_UNKNOWN = Gauge "longhorn_health_check_unknown" ["check"]
        "1 for a check that could not see all it needs, so that the absence of its findings says nothing.",
        absent "the check has a verdict, or the first sync is not complete",
        example "longhorn_health_check_unknown == 1";
    VOLUMES = Gauge "longhorn_health_volumes" ["robustness"]
        "Number of volumes by robustness as Longhorn reports it; those that are not attached are `detached`, unless they are faulted.",
        absent BEFORE_SYNC,
        example "max without (instance, pod) (longhorn_health_volumes{robustness=\"faulted\"}) > 0";
    VOLUMES_AFFECTED = Gauge "longhorn_health_volumes_affected" ["state"]
        "Number of volumes by how their data is affected, each counted once by the worst: faulted, not_served (the NFS server of an RWX \
         volume is not there), read_only, last_copy (one of several replicas is left), rebuilding, degraded, never_up (faulted for \
         Longhorn, but nothing was ever written).",
        absent "no volume is affected so, or the first sync is not complete",
        example "max by (state) (longhorn_health_volumes_affected)";
    VOLUMES_AT_RISK = Gauge "longhorn_health_volumes_at_risk" ["failure_domain", "by_choice"]
        "Number of volumes whose healthy copies are all lost with one disk, node or zone, or that have one copy (attached ones that ask for more \
         are longhorn_health_volumes_affected instead); by_choice is false where volume or settings ask for more, true where this was chosen.",
        absent "there is none, or what decides could not be read",
        example "max without (instance, pod) (longhorn_health_volumes_at_risk{by_choice=\"false\"}) > 0";
    BYTES_AT_RISK = Gauge "longhorn_health_volumes_at_risk_bytes" ["failure_domain", "by_choice"]
        "What the volumes of longhorn_health_volumes_at_risk hold, in bytes.",
        absent "there is none, or what decides could not be read",
        example "sum by (failure_domain) (max without (instance, pod) (longhorn_health_volumes_at_risk_bytes))";
    RESOURCE_STATE = Gauge "longhorn_health_exporter_resource_state" ["resource", "state"]
        "1 for the state of a kind that cannot be read: pending, forbidden, stale, not_served (the cluster has no such kind) or not_recorded.",
        absent "the kind is readable",
        example "longhorn_health_exporter_resource_state{state=\"forbidden\"} == 1";
    LAST_SUCCESS = Gauge "longhorn_health_exporter_last_success_timestamp_seconds" []
        "Unix time at which the Kubernetes API last answered for the kind that has waited longest; kinds that it refuses or does not have are left out.",
        absent "it has not answered yet, or the exporter serves a recording or the demo",
        example "time() - longhorn_health_exporter_last_success_timestamp_seconds";
    OBJECTS = Gauge "longhorn_health_exporter_objects" []
        "Number of objects of all kinds that the exporter holds: its memory goes with them.",
        absent "never",
        example "process_resident_memory_bytes / on (instance) longhorn_health_exporter_objects";
    RESOURCE_UNDECODABLE = Gauge "longhorn_health_exporter_undecodable_objects" ["resource"]
        "Number of objects of a kind that could not be decoded and are therefore missing.",
        absent "all could be decoded",
        example "longhorn_health_exporter_undecodable_objects > 0";
    RESOURCE_UNRECOGNIZED = Gauge "longhorn_health_exporter_unrecognized_values" ["resource", "field"]
        "Number of objects whose field holds a value that no known Longhorn release writes.",
        absent "all values of the field are known",
        example "longhorn_health_exporter_unrecognized_values > 0";
    LISTS = Counter "longhorn_health_exporter_lists_total" []
        "Lists that were begun, of all kinds.",
        absent STATIC,
        example "rate(longhorn_health_exporter_lists_total[1h])";
    WATCHES = Counter "longhorn_health_exporter_watches_total" []
        "Watches that were begun, of all kinds.",
        absent STATIC,
        example "rate(longhorn_health_exporter_watches_total[1h])";
    EVENTS = Counter "longhorn_health_exporter_watch_events_total" []
        "Watch events that changed an object, of all kinds.",
        absent STATIC,
        example "rate(longhorn_health_exporter_watch_events_total[5m])";
    API_ERRORS = Counter "longhorn_health_exporter_api_errors_total" ["reason"]
        "Lists and watches that failed, by reason; the log names the kind.",
        absent STATIC,
        example "increase(longhorn_health_exporter_api_errors_total[15m]) > 0";
    CLOCK_SKEW = Gauge "longhorn_health_exporter_clock_skew_seconds" []
        "How far the clock of the exporter is ahead of the Kubernetes API server's, in seconds; negative when it is behind.",
        absent "the Kubernetes API server sends no Date, or the exporter serves a recording or the demo",
        example "abs(longhorn_health_exporter_clock_skew_seconds) > 60";
    BUILD_INFO = Gauge "longhorn_health_exporter_build_info" ["version", "revision", "rustc"]
        "1 for the build of this exporter.",
        absent "never",
        example "longhorn_health_exporter_build_info";
    WEB_CONFIG_SUCCESSFUL = Gauge "longhorn_health_exporter_web_config_last_reload_successful" []
        "1 if the web configuration, its certificates included, was read with success when it changed last, else 0.",
        absent NO_WEB_CONFIG,
        example "longhorn_health_exporter_web_config_last_reload_successful == 0";
    WEB_CONFIG_LAST_SUCCESS = Gauge "longhorn_health_exporter_web_config_last_reload_success_timestamp_seconds" []
        "Unix time at which the web configuration that is in force was read.",
        absent NO_WEB_CONFIG,
        example "time() - longhorn_health_exporter_web_config_last_reload_success_timestamp_seconds";
    EVALUATED = Gauge "longhorn_health_exporter_evaluation_timestamp_seconds" []
        "Unix time when the checks ran whose results this page shows, at most 45 seconds ago; how old their data is, \
         longhorn_health_exporter_last_success_timestamp_seconds says.",
        absent "--web.disable-exporter-metrics is set",
        example "time() - longhorn_health_exporter_evaluation_timestamp_seconds > 60";
    EVALUATION_DURATION = Gauge "longhorn_health_exporter_evaluation_duration_seconds" []
        "Time that the last run of all checks took, in seconds.",
        absent "--web.disable-exporter-metrics is set",
        example "longhorn_health_exporter_evaluation_duration_seconds > 1";
    RENDER_DURATION = Gauge "longhorn_health_exporter_render_duration_seconds" []
        "Time that writing the last page of metrics took, in seconds.",
        absent "no page has been written yet, or --web.disable-exporter-metrics is set",
        example "longhorn_health_exporter_render_duration_seconds > 1";
    HTTP_REQUESTS = Counter "longhorn_health_exporter_http_requests_total" ["code"]
        "HTTP requests that were answered, refused ones included, by status code.",
        absent "--web.disable-exporter-metrics is set, or a code other than 200, 401, 403, 500 and 503 was never answered",
        example "rate(longhorn_health_exporter_http_requests_total{code=~\"4..|5..\"}[5m])";
    PROCESS_CPU = Counter "process_cpu_seconds_total" []
        "Total user and system CPU time spent in seconds.",
        absent "the system does not tell",
        example "rate(process_cpu_seconds_total[5m])";
    PROCESS_START = Gauge "process_start_time_seconds" []
        "Start time of the process since unix epoch in seconds.",
        absent "the system does not tell",
        example "time() - process_start_time_seconds";
    PROCESS_RESIDENT = Gauge "process_resident_memory_bytes" []
        "Resident memory size in bytes.",
        absent "the system does not tell",
        example "process_resident_memory_bytes";
    PROCESS_VIRTUAL = Gauge "process_virtual_memory_bytes" []
        "Virtual memory size in bytes.",
        absent "the system does not tell",
        example "process_virtual_memory_bytes";
    PROCESS_VIRTUAL_MAX = Gauge "process_virtual_memory_max_bytes" []
        "Maximum amount of virtual memory available in bytes.",
        absent "there is no limit, or the system does not tell",
        example "process_virtual_memory_max_bytes";
    PROCESS_OPEN_FDS = Gauge "process_open_fds" []
        "Number of open file descriptors.",
        absent "the system does not tell",
        example "process_open_fds / process_max_fds > 0.8";
    PROCESS_MAX_FDS = Gauge "process_max_fds" []
        "Maximum number of open file descriptors.",
        absent "there is no limit, or the system does not tell",
        example "process_max_fds";
    PROCESS_THREADS = Gauge "process_threads" []
        "Number of OS threads in the process.",
        absent "the system does not tell",
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
