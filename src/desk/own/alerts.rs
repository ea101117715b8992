//! Alerts on the exporter itself: without them its silence would look like health.

use super::gauges;
use crate::check::{Alert, Severity, Threshold, When, alert};

/// Mutes what follows from an alert that fires (generate/alertmanager.rs).
pub const INHIBITOR: &str = "LonghornHealthInhibitor";

/// Alerts that belong to no single check.
pub const ALERTS: &[Alert] = &[
    alert! { "LonghornHealthExporterDown",
        when: When::Promql {
            expr: "(group by ($cluster) (last_over_time(up{$job}[$window])) \
               unless on ($cluster) group by ($cluster) (up{$job} == 1) \
               $clusters_without) == 1",
            cases: include_str!("LonghornHealthExporterDown.test.yaml"),
        },
        for_: "10m",
        severity: Severity::Critical,
        thresholds: &[Threshold {
            name: "window",
            default: 604_800.0,
            least: 3_600.0,
            unit: "seconds",
            is_range: true,
            why: "A week covers every weekend. After a week, the alert stops expecting a missing cluster. To expect a cluster always, list it in \
                  expected_clusters, or run this rule in the cluster's own Prometheus.",
        }],
        summary: "The longhorn-health-exporter is down, so nothing checks Longhorn's health.",
        description: "Prometheus cannot scrape longhorn-health-exporter. Until it can, no other alert about Longhorn's \
                      health can fire. Check the exporter's pod.",
        why: "The alert waits 10 min, which is longer than an exporter rollout or a reboot. With a cluster label, it fires for every cluster whose exporter \
        ran in the last week. It also fires if no exporter series exist.",
    },
    Alert {
        name: INHIBITOR,
        when: When::Promql {
            expr: "(max without ($without) (longhorn_health_alert_follows{$job}) and on ($cluster namespace, root_alert, root_node) \
               label_replace(label_replace(ALERTS{alertname!=\"LonghornHealthInhibitor\", alertstate=\"firing\"}, \
               \"root_alert\", \"$1\", \"alertname\", \"(.*)\"), \"root_node\", \"$1\", \"node\", \"(.*)\")) == 1",
            cases: include_str!("LonghornHealthInhibitor.test.yaml"),
        },
        severity: Severity::Info,
        summary: "An alert is muted because its root alert is firing.",
        description: "{{ $labels.alert }}{{ with $labels.node }} on node {{ . }}{{ end }} is a consequence of {{ $labels.root_alert }}, which is firing. While \
                      this alert fires, Alertmanager mutes {{ $labels.alert }}. Route this alert to a receiver that sends no notifications.",
        why: "This alert fires and resolves with the root alert, so you hear of a consequence that outlives its root. It has no label for a crash loop's \
        cause, because a changed cause would restart the alert.",
        runbook: include_str!("LonghornHealthInhibitor.md"),
        ..Alert::DEFAULT
    },
    alert! { "LonghornHealthNotSynced",
        when: When::Flag { gauge: &gauges::RESOURCE_UNREADABLE, labels: &[("reason", "pending")] },
        for_: "8m",
        severity: Severity::Critical,
        summary: "The Longhorn health exporter has not read the cluster since it started.",
        description: "The Kubernetes API has not answered longhorn-health-exporter for {{ $labels.resource }} since the exporter started. Until the first \
        answer, the exporter reports no findings. Read the exporter's log.",
        why: "A first sync takes seconds, or a minute on the largest clusters. The alert waits 8 min, which is longer than an API server restart.",
    },
    alert! { "LonghornHealthResourceStale",
        when: When::Flag { gauge: &gauges::RESOURCE_UNREADABLE, labels: &[("reason", "stale")] },
        for_: "5m",
        summary: "The Longhorn health exporter is working with old data.",
        description: "The Kubernetes API has stopped answering longhorn-health-exporter for {{ $labels.resource }}. Checks that need this kind of object are \
                      unknown. Read the reason in the exporter's log or in longhorn_health_exporter_api_errors_total.",
        why: "A kind of object is stale after 3 min without an answer (--stale-after). The alert waits 5 min more, which is longer than an API server restart. \
        With one-minute scrapes and evaluations, it fires within 10 min.",
    },
    alert! { "LonghornHealthAccessDenied",
        when: When::Flag { gauge: &gauges::RESOURCE_UNREADABLE, labels: &[("reason", "forbidden")] },
        for_: "15m",
        severity: Severity::Info,
        summary: "The Longhorn health exporter lacks access to a kind of object.",
        description: "The Kubernetes API denies longhorn-health-exporter access to {{ $labels.resource }}. Checks may lack this data. Grant access, or switch \
                      this alert off if you denied access deliberately.",
        why: "Access to cluster-wide kinds can be denied deliberately, so this alert has only severity info. If a check becomes unknown, \
        LonghornHealthCheckUnknown fires. This alert waits 15 min, in case roles are being changed.",
    },
    alert! { "LonghornHealthCheckUnknown",
        when: When::Flag { gauge: &gauges::CHECK_UNKNOWN, labels: &[] },
        for_: "5m",
        summary: "A Longhorn health check lacks data and may miss a failure.",
        description: "Check {{ $labels.check }} is unknown, because it lacks data. It may miss a failure. Read the reason on the exporter's page.",
        why: "A check becomes unknown 3 min after the API stops answering for a kind of object. The alert waits 5 min more, which is longer than an API server \
        restart. With one-minute scrapes and evaluations, it fires within 10 min.",
    },
    alert! { "LonghornHealthCopiesAtRisk",
        when: When::Promql {
            expr: "max without ($without) (longhorn_health_volumes_at_risk{$job, by_choice=\"false\"}) > 0",
            cases: include_str!("LonghornHealthCopiesAtRisk.test.yaml"),
        },
        for_: "2h",
        summary: "Longhorn volumes have less redundancy than they should.",
        description: "If one {{ $labels.failure_domain }} fails, volumes lose all their data ({{ $value }} at risk). Longhorn does not restore the redundancy \
                      by itself. Run `longhorn-health-exporter plan loss` to list these volumes and their fixes.",
        why: "Longhorn applies anti-affinity only when it places a replica. The alert waits 2 h for most evictions and rebuilds to separate copies, and for \
        most detached volumes to reattach. For attached volumes on their last copy, LonghornVolumeNotRecovering fires.",
    },
    alert! { "LonghornHealthClockSkew",
        when: When::Promql {
            expr: "max without ($without) (abs(longhorn_health_exporter_clock_skew_seconds{$job})) > 60",
            cases: include_str!("LonghornHealthClockSkew.test.yaml"),
        },
        for_: "10m",
        summary: "The Longhorn health exporter's clock differs from the API server's.",
        description: "The clocks of longhorn-health-exporter and the Kubernetes API server differ by {{ $value | humanizeDuration }}. Ages in findings are \
                      wrong by the same amount. Check time synchronisation on the exporter's node and the control plane.",
        why: "Checks compare object timestamps with the exporter's clock in steps of minutes, and clocks under NTP agree within 1 s. The alert waits 10 min \
              for a newly set clock to settle.",
    },
    alert! { "LonghornHealthBadWebConfig",
        when: When::Promql {
            expr: "min without ($without) (longhorn_health_exporter_web_config_last_reload_successful{$job}) == 0",
            cases: include_str!("LonghornHealthBadWebConfig.test.yaml"),
        },
        for_: "10m",
        summary: "The Longhorn health exporter cannot load its changed web configuration.",
        description: "longhorn-health-exporter cannot use its changed web configuration, certificate or key. It keeps the previous one until the \
                      certificate expires or the pod restarts. Read the exporter's log, which names the file and the reason.",
        why: "The alert waits 10 min, because files that are being replaced may briefly not match. Each pod reads its own files, so the alert fires if one pod \
        fails to load them.",
    },
];
