//! Panels about all checks together and about the exporter itself.

use super::gauges::{RESOURCE_STATE, STATUS, VOLUMES, VOLUMES_AFFECTED, VOLUMES_AT_RISK};
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
        description: "Problems to act on now. Without data the exporter is down or has not synced: not health.",
        expr: "sum by ($cluster job) (max without ($without) (longhorn_health_incidents{$job, severity=\"critical\"}))",
        legend: "critical",
        steps: GOOD_IS_ZERO,
        no_data: "the exporter is down or not synced",
        ..Panel::STAT
    },
    Panel {
        title: "Warnings",
        description: "Problems to look at in working hours.",
        expr: "sum by ($cluster job) (max without ($without) (longhorn_health_incidents{$job, severity=\"warning\"}))",
        legend: "warning",
        steps: WARN_FROM_ONE,
        no_data: "the exporter is down or not synced",
        ..Panel::STAT
    },
    Panel {
        title: "Firing alerts",
        description: "Alerts of these rules that fire now. Grey is no proof of health: the rules may not be loaded.",
        expr: "count by ($cluster alertstate) (max without ($without) (ALERTS{$alerts, alertstate=\"firing\", severity!=\"info\"}))",
        legend: "firing",
        steps: &[Step::at(1.0, "orange")],
        no_data: "none, if the rules are loaded",
        ..Panel::STAT
    },
    Panel {
        title: "Checks without verdict",
        description: "Checks that could not see what they need. Their silence does not mean health.",
        expr: "max by ($cluster job) (longhorn_health_checks{$job, state=\"unknown\"})",
        legend: "unknown",
        steps: WARN_FROM_ONE,
        no_data: "the exporter is down or not synced",
        ..Panel::STAT
    },
    Panel {
        title: "Exporter pods up",
        description: "Exporters that Prometheus can scrape. Without one, nothing on this page is known.",
        expr: "sum by ($cluster job) (up{$job})",
        legend: "up",
        steps: &[Step::at(0.0, "red"), Step::at(1.0, "green")],
        no_data: "Prometheus has no such target",
        ..Panel::STAT
    },
    Panel {
        title: "Age of the oldest data",
        description: "How long ago the Kubernetes API last answered for the kind that waited longest. A minute is fine; after three the exporter calls a kind stale (--stale-after).",
        unit: Unit::Seconds,
        expr: "time() - min by ($cluster job) (longhorn_health_exporter_last_success_timestamp_seconds{$job})",
        legend: "oldest",
        steps: &[Step::at(0.0, "green"), Step::at(180.0, "orange")],
        no_data: "the exporter is down, or serves a recording",
        ..Panel::STAT
    },
    Panel {
        title: INCIDENTS_PANEL,
        description: "What is wrong, told by root causes; what follows from one is not listed. Check leads to the dashboard, cause to the runbook.",
        columns: &["severity", "title", "check", "cause", "Value"],
        expr: "max by ($cluster severity, check, cause) (longhorn_health_incident_findings{$job}) * on ($cluster check, cause) group_left (title, runbook, dashboard) topk by ($cluster check, cause) (1, max by ($cluster check, cause, title, runbook, dashboard) (longhorn_health_cause_info{$job}))",
        legend: "{{check}} {{cause}}",
        width: Width::Full,
        no_data: "no incident; make sure that no check is without verdict",
        ..Panel::TABLE
    },
    Panel {
        title: "Findings",
        description: "Everything that is wrong now. Check leads to the dashboard, cause to the runbook, node to what else is there. The page of the exporter has evidence and remedy.",
        columns: &["severity", "check", "cause", "object_kind", "object", "node", "disk"],
        expr: "(max by ($cluster severity, check, cause, object_kind, object, node, disk) (longhorn_health_finding{$job}) == 1) * on ($cluster check, cause) group_left (runbook, dashboard) max by ($cluster check, cause, runbook, dashboard) (longhorn_health_cause_info{$job})",
        legend: "{{check}} {{cause}} {{object}}",
        width: Width::Full,
        no_data: "nothing is found; make sure that no check is without verdict",
        ..Panel::TABLE
    },
    Panel {
        title: "Firing alerts, one by one",
        description: "What Alertmanager has been told. The alert leads to its runbook and to the dashboard that tells more.",
        columns: &["severity", "alertname", "check", "cause", "object", "node"],
        expr: "max by ($cluster severity, alertname, check, cause, object, node) (ALERTS{$alerts, alertstate=\"firing\"}) == 1",
        legend: "{{alertname}} {{object}} {{node}}",
        no_data: "none, if the rules are loaded",
        ..Panel::TABLE
    },
    Panel {
        title: "Volumes that are affected",
        description: "Volumes and their claims that a finding concerns: whom to tell.",
        columns: &["check", "cause", "volume", "pvc_namespace", "pvc"],
        expr: "(max by ($cluster check, cause, volume, pvc_namespace, pvc) (longhorn_health_finding_volume{$job}) == 1) * on ($cluster check, cause) group_left (runbook, dashboard) max by ($cluster check, cause, runbook, dashboard) (longhorn_health_cause_info{$job})",
        legend: "{{volume}}",
        no_data: "no finding names a volume; make sure that no check is without verdict",
        ..Panel::TABLE
    },
    Panel {
        title: "Worst finding of each check over time",
        description: "Shows what began together and what followed. Checks that found nothing have no row. A gap is an end, or an exporter that was down.",
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
        title: "Volumes whose data is affected",
        description: "Each volume once, by the worst: faulted, not served (RWX), read-only, on the last copy, rebuilding, degraded.",
        no_data: "no volume is, or the exporter does not report",
        ..Panel::TIME_SERIES.of(&VOLUMES_AFFECTED)
    },
    Panel {
        title: "Volumes that are lost with one of something",
        description: "Volumes whose healthy copies are on one disk, one node or in one zone, or that have one copy; by choice: neither \
                      volume nor settings ask for more. /plan/loss of the exporter names them.",
        legend: "{{failure_domain}}, by choice: {{by_choice}}",
        no_data: "no volume is, or the exporter does not report",
        ..Panel::TIME_SERIES.of(&VOLUMES_AT_RISK)
    },
    Panel {
        title: "Volumes by robustness",
        description: "Volumes as Longhorn itself reports them; nothing is known about the replicas of detached ones.",
        no_data: "the exporter is down or not synced",
        ..Panel::TIME_SERIES.of(&VOLUMES)
    },
    Panel {
        dashboard: Dashboard::Exporter,
        title: "State of each kind",
        description: "Kinds that are not readable, which makes checks unknown; \
                      not_served is normal for kinds that are younger than the Longhorn release.",
        columns: &["state", "resource"],
        no_data: "every kind is readable, or the exporter is down",
        ..Panel::TABLE.of(&RESOURCE_STATE)
    },
    Panel {
        dashboard: Dashboard::Exporter,
        title: "Failed calls",
        description: "Lists and watches that failed, by reason. Single expired ones are normal.",
        expr: "sum by ($cluster reason) (increase(longhorn_health_exporter_api_errors_total{$job}[$__rate_interval]))",
        legend: "{{reason}}",
        no_data: "no call failed, or the exporter serves a recording",
        ..Panel::TIME_SERIES
    },
    Panel {
        dashboard: Dashboard::Exporter,
        title: "Clock against the API server's",
        description: "How far the clock of each exporter pod is ahead of the API server's. Beyond a minute ages in \
                      findings are wrong.",
        unit: Unit::Seconds,
        expr: "max by ($cluster instance) (longhorn_health_exporter_clock_skew_seconds{$job})",
        legend: "{{instance}}",
        no_data: "the API server sends no Date, or the exporter serves a recording",
        ..Panel::TIME_SERIES
    },
    Panel {
        dashboard: Dashboard::Exporter,
        title: "Time per evaluation and page",
        description: "How long the checks run and how long a page takes to write, for each exporter pod.",
        unit: Unit::Seconds,
        expr: "max by ($cluster instance) (longhorn_health_exporter_evaluation_duration_seconds{$job})",
        legend: "checks {{instance}}",
        more: &[Query {
            expr: "max by ($cluster instance) (longhorn_health_exporter_render_duration_seconds{$job})",
            legend: "page {{instance}}",
        }],
        no_data: "the exporter is down",
        ..Panel::TIME_SERIES
    },
    Panel {
        dashboard: Dashboard::Exporter,
        title: "CPU",
        description: "CPU that each exporter pod uses.",
        unit: Unit::Cores,
        expr: "sum by ($cluster instance) (rate(process_cpu_seconds_total{$job}[$__rate_interval]))",
        legend: "{{instance}}",
        no_data: "the exporter is down",
        ..Panel::TIME_SERIES
    },
    Panel {
        dashboard: Dashboard::Exporter,
        title: "Memory",
        description: "Resident memory of each exporter pod. It grows with the number of objects, not with time.",
        unit: Unit::Bytes,
        expr: "max by ($cluster instance) (process_resident_memory_bytes{$job})",
        legend: "{{instance}}",
        no_data: "the exporter is down",
        ..Panel::TIME_SERIES
    },
    Panel {
        dashboard: Dashboard::Exporter,
        title: "Web configurations that are not in force",
        description: "Exporter pods whose changed --web.config.file, or a certificate that it names, cannot be used. \
                      They go on with the one before it.",
        expr: "sum by ($cluster job) (1 - min by ($cluster job, instance) (longhorn_health_exporter_web_config_last_reload_successful{$job}))",
        legend: "not in force",
        steps: WARN_FROM_ONE,
        width: Width::Half,
        no_data: "the exporter is down, or has no web configuration",
        ..Panel::STAT
    },
    Panel {
        dashboard: Dashboard::Exporter,
        title: "Web configuration in force",
        description: "When each exporter pod read the web configuration that is in force, certificates included.",
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
        description: "A row for each cluster that has an exporter. The cluster leads to its overview. A cluster that is missing here has no exporter that Prometheus can scrape.",
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
                expr: "max by ($cluster) (longhorn_health_volumes_affected{$job, state=\"faulted\"})",
                legend: "faulted",
            },
            Query {
                expr: "sum by ($cluster) (max by ($cluster state) (longhorn_health_volumes_affected{$job, state=~\"not_served|read_only\"}))",
                legend: "not served, read-only",
            },
            Query {
                expr: "max by ($cluster) (longhorn_health_volumes_affected{$job, state=\"last_copy\"})",
                legend: "last copy",
            },
            Query {
                expr: "sum by ($cluster) (max by ($cluster state) (longhorn_health_volumes_affected{$job, state=~\"rebuilding|degraded\"}))",
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
        no_data: "no exporter reports",
        ..Panel::TABLE.of(&STATUS)
    },
    Panel {
        dashboard: Dashboard::Volumes,
        title: "Volumes in trouble",
        description: "Each volume that a finding concerns, with its claim. A volume's name narrows this dashboard to it.",
        columns: &["volume", "pvc_namespace", "pvc", "check", "cause"],
        expr: "max by ($cluster check, cause, volume, pvc_namespace, pvc) (longhorn_health_finding_volume{$job}) == 1",
        legend: "{{volume}}",
        width: Width::Full,
        no_data: "no finding names a volume; make sure that no check is without verdict",
        ..Panel::TABLE
    },
];
