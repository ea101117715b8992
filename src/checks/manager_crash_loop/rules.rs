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
    why: "A rollout or a reboot causes one or two. A loop causes at least six an hour even when each \
          start lasts its full 120 s for the Service check, 120 s for its own server and five minutes of back-off.",
};

/// What the alert and the panel about restarts share.
pub const RECORDS: &[&Record] = &[&RESTARTS_IN_AN_HOUR];

static RESTARTS_IN_AN_HOUR: Record = Record {
    name: "node:longhorn_health_manager_restarts:max_increase1h",
    expr: "max without ($without) (increase(longhorn_health_manager_restarts_total{$job}[1h]))",
    labels: &["node"],
    help: "Restarts of the longhorn-manager container of a node in the last hour.",
};

/// Alerts on the exporter's own series.
pub const ALERTS: &[Alert] = &[
    Alert {
        name: "LonghornManagerCrashLoopBackOff",
        when: When::Flag { gauge: &CRASH_LOOPING, labels: &[] },
        without: &["cause", "evidence"],
        runbook_only: causes::ALL,
        for_: "3m",
        severity: Severity::Critical,
        as_found: true,
        summary: "A Longhorn manager is crash-looping.",
        description: "longhorn-manager{{ with $labels.node }} of node {{ . }}{{ end }} is crash-looping. Volumes that it \
                      owns cannot attach, detach or rebuild; running I/O continues. Find its cause with the command below.",
        why: "The series stays up between two crashes, and a cause that is recognised later or changes is the same alert. Three minutes let a \
              manager recover during a rollout, and end before the alert on the webhook outage that follows.",
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
        summary: "A Longhorn manager restarts often.",
        description: "longhorn-manager{{ with $labels.node }} of node {{ . }}{{ end }} restarted about {{ $value | printf \
                      \"%.0f\" }} times in the last hour. While it restarts, the volumes that it owns wait. Read how its \
                      last run ended, with `kubectl logs --previous`.",
        why: "Counts restarts and not a rate per second: rate(...[1h]) > 0.1 would be 360 restarts an hour, \
              which the kubelet's back-off makes impossible.",
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
            expr: "max by ($cluster namespace, pod) (max_over_time(kube_pod_container_status_waiting_reason{namespace=\"$namespace\", container=\"longhorn-manager\", reason=\"CrashLoopBackOff\"}[10m])) == 1 $unless_exporter",
            cases: include_str!("kube-state-metrics.LonghornManagerCrashLoopBackOff.test.yaml"),
        },
        for_: "5m",
        severity: Severity::Critical,
        summary: "A Longhorn manager is crash-looping.",
        description: "Container longhorn-manager of pod {{ $labels.namespace }}/{{ $labels.pod }} is crash-looping. \
                      Volumes that it owns cannot attach, detach or rebuild; running I/O continues. Read how its last run \
                      ended, with `kubectl logs --previous`.",
        why: "The waiting reason vanishes while the container runs between two crashes; looking back ten \
              minutes, twice the longest back-off, keeps the alert from starting over each time.",
        runbook: CRASH_LOOP_RUNBOOK,
        ..Alert::DEFAULT
    },
    Alert {
        name: "LonghornManagerHighRestarts",
        when: When::Promql {
            expr: "max by ($cluster namespace, pod) (increase(kube_pod_container_status_restarts_total{namespace=\"$namespace\", container=\"longhorn-manager\"}[1h])) > $restarts $unless_exporter",
            cases: include_str!("kube-state-metrics.LonghornManagerHighRestarts.test.yaml"),
        },
        for_: "5m",
        thresholds: &[RESTARTS],
        summary: "A Longhorn manager restarts often.",
        description: "Container longhorn-manager of pod {{ $labels.namespace }}/{{ $labels.pod }} restarted about {{ \
                      $value | printf \"%.0f\" }} times in the last hour. While it restarts, the volumes that it owns \
                      wait. Read how its last run ended, with `kubectl logs --previous`.",
        why: "Counts restarts and not a rate per second: rate(...[1h]) > 0.1 would be 360 restarts an hour, \
              which the kubelet's back-off makes impossible.",
        runbook: RESTARTS_RUNBOOK,
        ..Alert::DEFAULT
    },
];

const LOOP_STEPS: &[Step] = &[Step::at(0.0, "green"), Step::at(1.0, "red")];

/// Panels about managers.
pub const PANELS: &[Panel] = &[
    Panel {
        title: "Managers in a crash loop",
        description: "Longhorn managers that crash-loop, including short runs between crashes. Red: open the managers dashboard for node and cause.",
        expr: "max without ($without) (longhorn_health_managers{$job, state=\"crash_looping\"})",
        legend: "crash-looping",
        steps: LOOP_STEPS,
        no_data: "the exporter cannot read pods",
        ..Panel::STAT
    },
    Panel {
        dashboard: Dashboard::Managers,
        title: "Managers",
        description: "How many managers the DaemonSet wants, and how many run, are ready and crash-loop. If ready stays below desired for minutes, \
                      nodes are not managed.",
        no_data: "the exporter cannot read pods",
        ..Panel::TIME_SERIES.of(&MANAGERS)
    },
    Panel {
        dashboard: Dashboard::Managers,
        title: "Crash loops by cause",
        description: "Each manager in a crash loop with its cause, and whether the cause comes from its log or from exit code and run time. The \
                      alert's runbook says what to do.",
        columns: &["cause", "node", "evidence"],
        no_data: "no manager is in a crash loop, or the exporter does not report",
        ..Panel::TABLE.of(&CRASH_LOOPING)
    },
    Panel {
        dashboard: Dashboard::Managers,
        title: "Manager restarts in an hour",
        description: "Restarts of the manager container in the last hour by node. One or two are a rollout or a \
                      reboot.",
        expr: "max by ($cluster node) (node:longhorn_health_manager_restarts:max_increase1h{$job})",
        legend: "{{node}}",
        steps: &[Step::threshold("LonghornManagerHighRestarts", &RESTARTS, "orange")],
        no_data: "no manager was restarted, or the exporter does not report",
        ..Panel::TIME_SERIES
    },
    Panel {
        dashboard: Dashboard::Managers,
        title: "Length of the last run of crash-looping managers",
        description: "A few seconds: the environment check or a stale manifest. 60 s (up to 1.9.1) or 120 s (1.9.2 \
                      and later) and a little: the webhook. 600 s: managers of the old release.",
        unit: Unit::Seconds,
        no_data: "no manager is in a crash loop, or the exporter does not report",
        ..Panel::BAR_GAUGE.of(&LAST_RUN)
    },
];
