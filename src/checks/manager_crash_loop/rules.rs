//! Alerts and panels about managers that crash.

use super::{CRASH_LOOPING, LAST_RUN, MANAGERS, causes};
use crate::check::*;

const CRASH_LOOP_RUNBOOK: &str = include_str!("LonghornManagerCrashLoopBackOff.md");
const RESTARTS_RUNBOOK: &str = include_str!("LonghornManagerHighRestarts.md");

const RESTARTS: Threshold = Threshold {
    name: "restarts",
    default: 3.0,
    least: 0.0,
    unit: "restarts",
    is_range: false,
    why: "A rollout or a reboot causes 1 or 2 restarts, a crash loop at least 6 per hour. One round of the loop takes at most 540 s (Service check 120 s, \
    server 120 s, back-off 300 s).",
};

/// What the alert and the panel about restarts share.
pub const RECORDS: &[&Record] = &[&RESTARTS_IN_AN_HOUR];

static RESTARTS_IN_AN_HOUR: Record = Record {
    name: "node:longhorn_health_manager_restarts:max_increase1h",
    expr: "max without ($without) (increase(longhorn_health_manager_restarts_total{$job}[1h]))",
    labels: &["node"],
    help: "Restarts of a node's longhorn-manager container in the last hour.",
};

/// Alerts on the exporter's own series.
pub const ALERTS: &[Alert] = &[
    Alert {
        name: "LonghornManagerCrashLoopBackOff",
        when: When::Flag { gauge: &CRASH_LOOPING, labels: &[] },
        without: &["cause", "evidence"],
        runbook_only: causes::ALL,
        for_: "3m",
        keep_firing_for: "5m",
        severity: Severity::Critical,
        as_found: true,
        summary: "A Longhorn manager is crash-looping.",
        description: "longhorn-manager{{ with $labels.node }} on {{ . }}{{ end }} is crash-looping. This manager's volumes cannot attach, \
                      detach or rebuild, but running I/O continues. Run the command below to find the cause.",
        why: "The alert waits 3 min for a manager to recover during a rollout. The wait does not restart between two crashes or when the cause changes.",
        runbook: CRASH_LOOP_RUNBOOK,
        ..Alert::DEFAULT
    },
    Alert {
        name: "LonghornManagerHighRestarts",
        when: When::Promql {
            expr: "node:longhorn_health_manager_restarts:max_increase1h > $restarts",
            cases: include_str!("LonghornManagerHighRestarts.test.yaml"),
        },
        for_: "5m",
        thresholds: &[RESTARTS],
        summary: "A Longhorn manager keeps restarting.",
        description: "longhorn-manager{{ with $labels.node }} on {{ . }}{{ end }} restarted about {{ $value | printf \"%.0f\" }} times in the \
                      last hour. During each restart, this manager's volumes cannot attach, detach or rebuild. Read how the last run ended \
                      (`kubectl logs --previous`).",
        why: "The alert counts restarts per hour, because a rate is per second. For example, rate(...[1h]) > 0.1 would mean 360 restarts an hour, more than \
              the kubelet's back-off allows.",
        runbook: RESTARTS_RUNBOOK,
        ..Alert::DEFAULT
    },
];

/// The same two alerts on kube-state-metrics alone, for clusters in which the exporter does not run
/// (yet). `$namespace` is Longhorn's namespace.
pub const WITHOUT_EXPORTER: &[Alert] = &[
    Alert {
        name: "LonghornManagerCrashLoopBackOff",
        when: When::Promql {
            expr: "max by ($cluster namespace, pod) (max_over_time(kube_pod_container_status_waiting_reason{namespace=\"$namespace\", \
                container=\"longhorn-manager\", reason=\"CrashLoopBackOff\"}[10m])) == 1 $unless_exporter",
            cases: include_str!("kube-state-metrics.LonghornManagerCrashLoopBackOff.test.yaml"),
        },
        for_: "5m",
        severity: Severity::Critical,
        summary: "A Longhorn manager is crash-looping.",
        description: "Container longhorn-manager of pod {{ $labels.namespace }}/{{ $labels.pod }} is crash-looping. This manager's volumes \
                      cannot attach, detach or rebuild, but running I/O continues. Read how the last run ended (`kubectl logs --previous`).",
        why: "The waiting reason disappears while the container runs between two crashes. To keep counting, the alert looks back 10 min (twice the longest \
              back-off).",
        runbook: CRASH_LOOP_RUNBOOK,
        ..Alert::DEFAULT
    },
    Alert {
        name: "LonghornManagerHighRestarts",
        when: When::Promql {
            expr: "max by ($cluster namespace, pod) (increase(kube_pod_container_status_restarts_total{namespace=\"$namespace\", \
                container=\"longhorn-manager\"}[1h])) > $restarts $unless_exporter",
            cases: include_str!("kube-state-metrics.LonghornManagerHighRestarts.test.yaml"),
        },
        for_: "5m",
        thresholds: &[RESTARTS],
        summary: "A Longhorn manager keeps restarting.",
        description: "Container longhorn-manager of pod {{ $labels.namespace }}/{{ $labels.pod }} restarted about {{ $value | printf \"%.0f\" \
                      }} times in the last hour. During each restart, this manager's volumes cannot attach, detach or rebuild. Read how the \
                      last run ended (`kubectl logs --previous`).",
        why: "The alert counts restarts per hour, because a rate is per second. For example, rate(...[1h]) > 0.1 would mean 360 restarts an hour, more than \
              the kubelet's back-off allows.",
        runbook: RESTARTS_RUNBOOK,
        ..Alert::DEFAULT
    },
];

const LOOP_STEPS: &[Step] = &[Step::at(0.0, "green"), Step::at(1.0, "red")];

pub const PANELS: &[Panel] = &[
    Panel {
        title: "Managers in a crash loop",
        description: "Longhorn managers that crash-loop, including those running briefly between crashes. If red, open the managers dashboard.",
        expr: "max without ($without) (longhorn_health_managers{$job, state=\"crash_looping\"})",
        legend: "crash-looping",
        steps: LOOP_STEPS,
        no_data: "the exporter cannot read pods",
        ..Panel::STAT
    },
    Panel {
        dashboard: Dashboard::Managers,
        title: "Managers",
        description: "Longhorn managers by state, each counted once. If a manager is down or not ready for minutes, its node's volumes are unmanaged.",
        no_data: "the exporter cannot read pods",
        ..Panel::TIME_SERIES.of(&MANAGERS)
    },
    Panel {
        dashboard: Dashboard::Managers,
        title: "Crash loops by cause",
        description: "Crash-looping managers, with their causes. The evidence is a log or a fingerprint (exit code and run time). The alert's runbook has the \
                      fix for each cause.",
        columns: &["cause", "node", "evidence"],
        no_data: "no manager is in a crash loop, or the exporter is not reporting",
        ..Panel::TABLE.of(&CRASH_LOOPING)
    },
    Panel {
        dashboard: Dashboard::Managers,
        title: "Manager restarts in an hour",
        description: "Restarts of each node's manager container in the last hour. One or two are normal during a rollout or after a reboot.",
        expr: "max by ($cluster node) (node:longhorn_health_manager_restarts:max_increase1h{$job})",
        legend: "{{node}}",
        steps: &[Step::threshold("LonghornManagerHighRestarts", &RESTARTS, "orange")],
        no_data: "no manager was restarted, or the exporter is not reporting",
        ..Panel::TIME_SERIES
    },
    Panel {
        dashboard: Dashboard::Managers,
        title: "Last run before a crash",
        description: "Run time before the last crash. A few seconds mean environment check or stale manifest, 60 s (120 s from 1.9.2) webhook, 600 s old managers.",
        unit: Unit::Seconds,
        no_data: "no manager is in a crash loop, or the exporter is not reporting",
        ..Panel::BAR_GAUGE.of(&LAST_RUN)
    },
];
