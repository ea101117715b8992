//! Panels about all checks together and about the exporter itself.

use super::gauges::{RESOURCE_UNREADABLE, STATUS, VOLUMES, VOLUMES_AFFECTED, VOLUMES_AT_RISK};
use crate::check::{Dashboard, Panel, Query, Step, Unit, Width};

const GOOD_IS_ZERO: &[Step] = &[Step::at(0.0, "green"), Step::at(1.0, "red")];
const WARN_FROM_ONE: &[Step] = &[Step::at(0.0, "green"), Step::at(1.0, "orange")];

const SEVERITIES: &[Step] = &[
    Step::at(0.0, "green"),
    Step::at(1.0, "blue"),
    Step::at(2.0, "purple"),
    Step::at(3.0, "orange"),
    Step::at(4.0, "red"),
];

/// The first table of the overview.
pub const INCIDENTS_PANEL: &str = "Incidents";

/// Panels that belong to no single check.
pub const PANELS: &[Panel] = &[
    Panel {
        title: "Critical incidents",
        description: "Incidents to fix now. No data means that the exporter is down or not synced.",
        expr: "sum by ($cluster job) (max without ($without) (longhorn_health_incidents{$job, severity=\"critical\"}))",
        legend: "critical",
        steps: GOOD_IS_ZERO,
        no_data: "the exporter is down or not synced",
        ..Panel::STAT
    },
    Panel {
        title: "Warnings",
        description: "Incidents to fix in working hours.",
        expr: "sum by ($cluster job) (max without ($without) (longhorn_health_incidents{$job, severity=\"warning\"}))",
        legend: "warning",
        steps: WARN_FROM_ONE,
        no_data: "the exporter is down or not synced",
        ..Panel::STAT
    },
    Panel {
        title: "Firing alerts",
        description: "Firing alerts from these rules. If the panel is grey, the rules may be missing.",
        expr: "count by ($cluster alertstate) (max without ($without) (ALERTS{$alerts, alertstate=\"firing\", severity!=\"info\"}))",
        legend: "firing",
        steps: &[Step::at(1.0, "orange")],
        no_data: "none, if the rules are loaded",
        ..Panel::STAT
    },
    Panel {
        title: "Checks without verdict",
        description: "Checks that lack data. They may miss failures.",
        expr: "max by ($cluster job) (longhorn_health_checks{$job, state=\"unknown\"})",
        legend: "unknown",
        steps: WARN_FROM_ONE,
        no_data: "the exporter is down or not synced",
        ..Panel::STAT
    },
    Panel {
        title: "Exporter pods up",
        description: "Exporter pods that Prometheus can scrape. At 0, this dashboard has no data.",
        expr: "sum by ($cluster job) (up{$job})",
        legend: "up",
        steps: &[Step::at(0.0, "red"), Step::at(1.0, "green")],
        no_data: "Prometheus has no such target",
        ..Panel::STAT
    },
    Panel {
        title: "Oldest data",
        description: "Time since the Kubernetes API last answered, for the kind that has waited longest. 1 min is normal. Above 3 min (--stale-after), the kind is stale.",
        unit: Unit::Seconds,
        expr: "time() - min by ($cluster job) (longhorn_health_exporter_last_success_timestamp_seconds{$job})",
        legend: "oldest",
        steps: &[Step::at(0.0, "green"), Step::at(180.0, "orange")],
        no_data: "the exporter is down, or serves a recording",
        ..Panel::STAT
    },
    Panel {
        title: INCIDENTS_PANEL,
        description: "Root causes of everything that is wrong now, without their consequences. Click a check for its dashboard, a cause for its \
                      runbook.",
        columns: &["severity", "title", "check", "cause", "Value"],
        expr: "max by ($cluster severity, check, cause) (longhorn_health_incident_findings{$job}) * on ($cluster check, cause) group_left (title, runbook, dashboard) topk by ($cluster check, cause) (1, max by ($cluster check, cause, title, runbook, dashboard) (longhorn_health_cause_info{$job}))",
        legend: "{{check}} {{cause}}",
        width: Width::Full,
        no_data: "no incident, if every check has a verdict",
        ..Panel::TABLE
    },
    Panel {
        title: "Affected volumes",
        description: "Volumes that a finding affects, and the claims whose users you must inform.",
        columns: &["check", "cause", "volume", "pvc_namespace", "pvc"],
        expr: "(max by ($cluster check, cause, volume, pvc_namespace, pvc) (longhorn_health_finding_volume{$job}) == 1) * on ($cluster check, cause) group_left (runbook, dashboard) max by ($cluster check, cause, runbook, dashboard) (longhorn_health_cause_info{$job})",
        legend: "{{volume}}",
        no_data: "no finding names a volume, if every check has a verdict",
        ..Panel::TABLE
    },
    Panel {
        title: "List of firing alerts",
        description: "Alerts sent to Alertmanager. Each links to its runbook and dashboard.",
        columns: &["severity", "alertname", "check", "cause", "object", "node"],
        expr: "max by ($cluster severity, alertname, check, cause, object, node) (ALERTS{$alerts, alertstate=\"firing\"}) == 1",
        legend: "{{alertname}} {{object}} {{node}}",
        no_data: "none, if the rules are loaded",
        ..Panel::TABLE
    },
    Panel {
        title: "Findings",
        description: "Everything wrong now. Click a check for its dashboard, a cause for its runbook, a node for its findings. The exporter's \
                      page has the fixes.",
        columns: &["severity", "check", "cause", "object_kind", "object", "node", "disk"],
        expr: "(max by ($cluster severity, check, cause, object_kind, object, node, disk) (longhorn_health_finding{$job}) == 1) * on ($cluster check, cause) group_left (runbook, dashboard) max by ($cluster check, cause, runbook, dashboard) (longhorn_health_cause_info{$job})",
        legend: "{{check}} {{cause}} {{object}}",
        width: Width::Full,
        no_data: "no finding, if every check has a verdict",
        ..Panel::TABLE
    },
    Panel {
        title: "Worst finding per check",
        description: "Shows what began first and what followed. Checks without findings have no row. A gap means that the finding ended or the exporter was down.",
        unit: Unit::Severity,
        expr: "max by ($cluster check) (4 * (longhorn_health_check_findings{$job, severity=\"critical\"} > bool 0) or 3 * (longhorn_health_check_findings{$job, severity=\"warning\"} > bool 0) or 2 * (longhorn_health_check_unknown{$job} > bool 0) or (longhorn_health_check_findings{$job, severity=\"info\"} > bool 0))",
        legend: "{{check}}",
        steps: SEVERITIES,
        width: Width::Full,
        no_data: "the exporter is down or not synced",
        ..Panel::STATE_TIMELINE
    },
    Panel {
        title: "Findings over time",
        description: "Number of findings by check.",
        expr: "sum by ($cluster check) (max by ($cluster check, severity) (longhorn_health_check_findings{$job}))",
        legend: "{{check}}",
        no_data: "the exporter is down or not synced",
        ..Panel::TIME_SERIES
    },
    Panel {
        title: "Volumes by worst state",
        description: "Volumes by their worst state, each counted once: faulted, not served (RWX), read-only, last copy, rebuilding, degraded.",
        no_data: "no such volume, or the exporter is down",
        ..Panel::TIME_SERIES.of(&VOLUMES_AFFECTED)
    },
    Panel {
        title: "Volumes at risk",
        description: "Volumes lost if one copy, disk, node or zone fails. By choice: volume or cluster settings accept that risk. Page /plan/loss lists them.",
        legend: "{{failure_domain}}, by choice: {{by_choice}}",
        no_data: "no such volume, or the exporter is down",
        ..Panel::TIME_SERIES.of(&VOLUMES_AT_RISK)
    },
    Panel {
        title: "Volumes by robustness",
        description: "Volumes by the robustness that Longhorn reports. Longhorn does not check the replicas of detached volumes.",
        no_data: "the exporter is down or not synced",
        ..Panel::TIME_SERIES.of(&VOLUMES)
    },
    Panel {
        dashboard: Dashboard::Exporter,
        title: "Unreadable kinds",
        description: "Kinds of object that cannot be read, so checks that need them are unknown. Reason not_installed is normal for kinds that this Longhorn \
                      release lacks.",
        columns: &["reason", "resource"],
        no_data: "every kind is readable, or the exporter is down",
        ..Panel::TABLE.of(&RESOURCE_UNREADABLE)
    },
    Panel {
        dashboard: Dashboard::Exporter,
        title: "Failed API requests",
        description: "Failed list and watch requests, by reason. An occasional `expired` is normal.",
        expr: "sum by ($cluster reason) (increase(longhorn_health_exporter_api_errors_total{$job}[$__rate_interval]))",
        legend: "{{reason}}",
        no_data: "no request has failed, or the exporter serves a recording",
        ..Panel::TIME_SERIES
    },
    Panel {
        dashboard: Dashboard::Exporter,
        title: "Clock skew",
        description: "How far each exporter pod's clock is ahead of the API server's. Above 60 s, ages in \
                      findings are wrong.",
        unit: Unit::Seconds,
        expr: "max by ($cluster instance) (longhorn_health_exporter_clock_skew_seconds{$job})",
        legend: "{{instance}}",
        no_data: "the API server sends no Date, or the exporter serves a recording",
        ..Panel::TIME_SERIES
    },
    Panel {
        dashboard: Dashboard::Exporter,
        title: "Evaluation time",
        description: "Time each exporter pod takes to run the checks and to write its metrics page.",
        unit: Unit::Seconds,
        expr: "max by ($cluster instance) (longhorn_health_exporter_last_evaluation_duration_seconds{$job})",
        legend: "checks {{instance}}",
        more: &[Query {
            expr: "max by ($cluster instance) (longhorn_health_exporter_last_render_duration_seconds{$job})",
            legend: "page {{instance}}",
        }],
        no_data: "the exporter is down",
        ..Panel::TIME_SERIES
    },
    Panel {
        dashboard: Dashboard::Exporter,
        title: "CPU",
        description: "CPU use of each exporter pod.",
        unit: Unit::Cores,
        expr: "sum by ($cluster instance) (rate(process_cpu_seconds_total{$job}[$__rate_interval]))",
        legend: "{{instance}}",
        no_data: "the exporter is down",
        ..Panel::TIME_SERIES
    },
    Panel {
        dashboard: Dashboard::Exporter,
        title: "Memory",
        description: "Resident memory of each exporter pod. Memory grows with the number of objects, not with time.",
        unit: Unit::Bytes,
        expr: "max by ($cluster instance) (process_resident_memory_bytes{$job})",
        legend: "{{instance}}",
        no_data: "the exporter is down",
        ..Panel::TIME_SERIES
    },
    Panel {
        dashboard: Dashboard::Exporter,
        title: "Unusable web configurations",
        description: "Exporter pods that cannot load their changed --web.config.file or one of its certificates. These pods keep using the previous version.",
        expr: "sum by ($cluster job) (1 - min by ($cluster job, instance) (longhorn_health_exporter_web_config_last_reload_successful{$job}))",
        legend: "unusable",
        steps: WARN_FROM_ONE,
        width: Width::Half,
        no_data: "the exporter is down, or has no web configuration",
        ..Panel::STAT
    },
    Panel {
        dashboard: Dashboard::Exporter,
        title: "Web configuration loaded",
        description: "When each exporter pod loaded its current web configuration and certificates.",
        unit: Unit::FromNow,
        columns: &["instance", "Value"],
        expr: "max by ($cluster instance) (longhorn_health_exporter_web_config_last_reload_success_timestamp_seconds{$job}) * 1000",
        legend: "{{instance}}",
        no_data: "the exporter is down, or has no web configuration",
        ..Panel::TABLE
    },
    Panel {
        dashboard: Dashboard::Fleet,
        title: "Clusters",
        description: "Every cluster with an exporter, linked to its overview. If a cluster is missing, Prometheus cannot scrape its exporter.",
        columns: &[
            "status", "Value #B", "Value #C", "Value #D", "Value #E", "Value #F", "Value #G", "Value #H",
            "Value #I", "release", "exporter",
        ],
        legend: "status",
        more: &[
            Query {
                expr: "max by ($cluster) (longhorn_health_incidents{$job, severity=\"critical\"})",
                legend: "critical",
            },
            Query {
                expr: "max by ($cluster) (longhorn_health_incidents{$job, severity=\"warning\"})",
                legend: "warning",
            },
            Query {
                expr: "max by ($cluster) (longhorn_health_volumes_affected{$job, impact=\"faulted\"})",
                legend: "faulted",
            },
            Query {
                expr: "sum by ($cluster) (max by ($cluster impact) (longhorn_health_volumes_affected{$job, impact=~\"not_served|read_only\"}))",
                legend: "not served, read-only",
            },
            Query {
                expr: "max by ($cluster) (longhorn_health_volumes_affected{$job, impact=\"last_copy\"})",
                legend: "last copy",
            },
            Query {
                expr: "sum by ($cluster) (max by ($cluster impact) (longhorn_health_volumes_affected{$job, impact=~\"rebuilding|degraded\"}))",
                legend: "degraded",
            },
            Query {
                expr: "max by ($cluster) (longhorn_health_checks{$job, state=\"unknown\"})",
                legend: "unknown checks",
            },
            Query {
                expr: "time() - min by ($cluster) (longhorn_health_exporter_last_success_timestamp_seconds{$job})",
                legend: "age of data (s)",
            },
            Query {
                expr: "max by ($cluster release) (label_replace(longhorn_health_release_info{$job}, \"release\", \"$1\", \"version\", \"(.*)\"))",
                legend: "release",
            },
            Query {
                expr: "max by ($cluster exporter) (label_replace(longhorn_health_exporter_build_info{$job}, \"exporter\", \"$1\", \"version\", \"(.*)\"))",
                legend: "exporter",
            },
        ],
        width: Width::Full,
        no_data: "Prometheus scrapes no exporter",
        ..Panel::TABLE.of(&STATUS)
    },
    Panel {
        dashboard: Dashboard::Volumes,
        title: "Volumes with findings",
        description: "Every volume that a finding affects, with its claim. Select a volume's name to filter this dashboard by the volume.",
        columns: &["volume", "pvc_namespace", "pvc", "check", "cause"],
        expr: "max by ($cluster check, cause, volume, pvc_namespace, pvc) (longhorn_health_finding_volume{$job}) == 1",
        legend: "{{volume}}",
        width: Width::Full,
        no_data: "no finding names a volume, if every check has a verdict",
        ..Panel::TABLE
    },
];
