//! Panels about all checks together and about the exporter itself.

use crate::check::{Dashboard, Panel, PanelKind, Query, Step, Unit, Width};

const GOOD_IS_ZERO: &[Step] = &[Step { from: 0.0, color: "green" }, Step { from: 1.0, color: "red" }];
const WARN_FROM_ONE: &[Step] = &[Step { from: 0.0, color: "green" }, Step { from: 1.0, color: "orange" }];

/// Panels that belong to no single check.
pub const PANELS: &[Panel] = &[
    Panel {
        dashboard: Dashboard::Overview,
        title: "Critical findings",
        description: "Problems to act on now. Without data the exporter is down or has not synced: not health.",
        kind: PanelKind::Stat,
        unit: Unit::Short,
        queries: &[Query {
            expr: "sum by ($cluster severity) (max without ($without) (longhorn_health_findings{$job, severity=\"critical\"}))",
            legend: "critical",
        }],
        steps: GOOD_IS_ZERO,
        width: Width::Quarter,
        no_data: "the exporter is down or not synced",
    },
    Panel {
        dashboard: Dashboard::Overview,
        title: "Warnings",
        description: "Problems to look at in working hours.",
        kind: PanelKind::Stat,
        unit: Unit::Short,
        queries: &[Query {
            expr: "sum by ($cluster severity) (max without ($without) (longhorn_health_findings{$job, severity=\"warning\"}))",
            legend: "warning",
        }],
        steps: WARN_FROM_ONE,
        width: Width::Quarter,
        no_data: "the exporter is down or not synced",
    },
    Panel {
        dashboard: Dashboard::Overview,
        title: "Checks without verdict",
        description: "Checks that could not see what they need. Their silence does not mean health.",
        kind: PanelKind::Stat,
        unit: Unit::Short,
        queries: &[Query {
            expr: "sum by ($cluster job) (max without ($without) (longhorn_health_check_unknown{$job}))",
            legend: "unknown",
        }],
        steps: WARN_FROM_ONE,
        width: Width::Quarter,
        no_data: "the exporter is down or not synced",
    },
    Panel {
        dashboard: Dashboard::Overview,
        title: "Volumes by robustness",
        description: "Volumes as Longhorn itself reports them. Detached volumes are unknown by nature.",
        kind: PanelKind::TimeSeries,
        unit: Unit::Short,
        queries: &[Query {
            expr: "max without ($without) (longhorn_health_volumes{$job})",
            legend: "{{robustness}}",
        }],
        steps: &[],
        width: Width::Quarter,
        no_data: "the exporter is down or not synced",
    },
    Panel {
        dashboard: Dashboard::Overview,
        title: "Findings",
        description: "Everything that is wrong now, with the object and the node. The page of the exporter has \
                      evidence and remedy.",
        kind: PanelKind::Table,
        unit: Unit::Short,
        queries: &[Query {
            expr: "max by ($cluster severity, check, cause, object_kind, object, node, disk) (longhorn_health_finding{$job, $filter}) == 1",
            legend: "{{check}} {{cause}} {{object}}",
        }],
        steps: &[],
        width: Width::Full,
        no_data: "nothing is found; make sure that no check is without verdict",
    },
    Panel {
        dashboard: Dashboard::Overview,
        title: "Findings over time",
        description: "Number of findings by check; shows what began together.",
        kind: PanelKind::TimeSeries,
        unit: Unit::Short,
        queries: &[Query {
            expr: "sum by ($cluster check) (max without ($without) (longhorn_health_findings{$job})) > 0",
            legend: "{{check}}",
        }],
        steps: &[],
        width: Width::Full,
        no_data: "nothing was found in this time; make sure that the exporter was up",
    },
    Panel {
        dashboard: Dashboard::Exporter,
        title: "State of each kind",
        description: "How the exporter's view of each kind is. Anything but readable makes checks unknown; \
                      not_served is normal for kinds that are younger than the Longhorn release.",
        kind: PanelKind::Table,
        unit: Unit::Short,
        queries: &[Query {
            expr: "max by ($cluster resource, state) (longhorn_health_resource_state{$job}) == 1",
            legend: "{{resource}} {{state}}",
        }],
        steps: &[],
        width: Width::Half,
        no_data: "the exporter is down",
    },
    Panel {
        dashboard: Dashboard::Exporter,
        title: "Last answer of the Kubernetes API",
        description: "When the API last answered for each kind. Minutes are fine for quiet kinds.",
        kind: PanelKind::Table,
        unit: Unit::FromNow,
        queries: &[Query {
            expr: "max by ($cluster resource) (longhorn_health_resource_last_success_timestamp_seconds{$job}) * 1000",
            legend: "{{resource}}",
        }],
        steps: &[],
        width: Width::Half,
        no_data: "the exporter is down, or serves a recording",
    },
    Panel {
        dashboard: Dashboard::Exporter,
        title: "Failed calls",
        description: "Lists and watches that failed, by kind and reason. Single expired ones are normal.",
        kind: PanelKind::TimeSeries,
        unit: Unit::Short,
        queries: &[Query {
            expr: "sum by ($cluster resource, reason) (increase(longhorn_health_resource_errors_total{$job}[15m])) > 0",
            legend: "{{resource}} {{reason}}",
        }],
        steps: &[],
        width: Width::Half,
        no_data: "no call failed, or the exporter serves a recording",
    },
    Panel {
        dashboard: Dashboard::Exporter,
        title: "Time per evaluation and page",
        description: "How long the checks run and how long a page takes to write, for each exporter pod.",
        kind: PanelKind::TimeSeries,
        unit: Unit::Seconds,
        queries: &[
            Query {
                expr: "max by ($cluster instance) (longhorn_health_exporter_evaluation_duration_seconds{$job})",
                legend: "checks {{instance}}",
            },
            Query {
                expr: "max by ($cluster instance) (longhorn_health_exporter_render_duration_seconds{$job})",
                legend: "page {{instance}}",
            },
        ],
        steps: &[],
        width: Width::Half,
        no_data: "the exporter is down",
    },
    Panel {
        dashboard: Dashboard::Exporter,
        title: "CPU",
        description: "CPU that each exporter pod uses.",
        kind: PanelKind::TimeSeries,
        unit: Unit::Cores,
        queries: &[Query {
            expr: "sum by ($cluster instance) (rate(process_cpu_seconds_total{$job}[5m]))",
            legend: "{{instance}}",
        }],
        steps: &[],
        width: Width::Half,
        no_data: "the exporter is down",
    },
];
