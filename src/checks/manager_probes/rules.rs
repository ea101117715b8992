//! Alerts and panels about probes and starts of managers.

use super::causes;
use super::gauges::{FAILURES, SLOW, TIMEOUT, TOLERANCE};
use crate::check::*;

/// The alerts of the check.
pub const ALERTS: &[Alert] = &[
    alert! { "LonghornManagerSlowStart",
        when: When::Found(&[&causes::SLOW_START]),
        for_: "5m",
        summary: "A Longhorn manager took longer to start than its release allows.",
        description: "Manager pod {{ $labels.object }}{{ with $labels.node }} on node {{ . }}{{ end }} took longer to start than its release waits \
                      for the webhook. Without another Ready manager, it would crash-loop. Before upgrading, check node CPU, TLS Secrets and pod network.",
        why: "The alert waits 5 min for a nearly complete startup to finish. The limit is the release's webhook wait (60 s from 1.5.0, 120 s from 1.9.2), \
              without waits for other nodes.",
    },
    alert! { "LonghornManagerProbeFailing",
        when: When::Found(&[&causes::PROBE_FAILING]),
        for_: "5m",
        keep_firing_for: "10m",
        summary: "A probe of a Longhorn manager keeps failing.",
        description: "A probe of manager pod {{ $labels.object }}{{ with $labels.node }} on node {{ . }}{{ end }} keeps failing after startup. If the \
                      readiness probe fails, the pod serves no webhook or API. Read the pod's Unhealthy events, and check the node's load.",
        why: "The check needs about as many failures in 10 min as the probe tolerates. Events show only the first and last failure, so the check assumes that \
              the others are evenly spread.",
    },
];

/// The panels of the check.
pub const PANELS: &[Panel] = &[
    Panel {
        dashboard: Dashboard::Managers,
        title: "Manager startup time",
        description: "The slowest manager's time from container start to Ready, including waits for other nodes. Above the limit, a startup \
                      fails unless another manager is Ready.",
        unit: Unit::Seconds,
        legend: "slow: {{node}}",
        more: &[
            Query {
                expr: "max without ($without) (longhorn_health_manager_start_to_ready_max_seconds{$job})",
                legend: "slowest start",
            },
            Query {
                expr: "max without ($without) (longhorn_health_manager_start_limit_seconds{$job})",
                legend: "limit of the release",
            },
        ],
        no_data: "no startup time is known, or the exporter is not reporting",
        ..Panel::TIME_SERIES.of(&SLOW)
    },
    Panel {
        dashboard: Dashboard::Managers,
        title: "Failed manager probes",
        description: "Failed probes in the last hour's Events, by kind. Refused: normal during startup. Timeout: loaded node. Unreachable: \
                      broken pod network.",
        no_data: "no probe is configured, or events cannot be read",
        ..Panel::TIME_SERIES.of(&FAILURES)
    },
    Panel {
        dashboard: Dashboard::Managers,
        title: "Probe timeouts",
        description: "Timeout of one probe in seconds. Stock releases set 1 s for readiness and have no other probe.",
        unit: Unit::Seconds,
        width: Width::Quarter,
        no_data: "no probe is configured, or the exporter is not reporting",
        ..Panel::STAT.of(&TIMEOUT)
    },
    Panel {
        dashboard: Dashboard::Managers,
        title: "Probe tolerance",
        description: "Seconds for which each probe may fail. A startup window below 300 s can kill managers that are waiting for their turn to start.",
        unit: Unit::Seconds,
        width: Width::Quarter,
        no_data: "no probe is configured, or the exporter is not reporting",
        ..Panel::BAR_GAUGE.of(&TOLERANCE)
    },
];
