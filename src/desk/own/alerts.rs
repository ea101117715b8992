//! Alerts on the exporter itself: without them its silence would look like health.

use super::gauges;
use crate::check::{Alert, Severity, Threshold, When};

/// Mutes what follows from an alert that fires (generate/alertmanager.rs).
pub const INHIBITOR: &str = "LonghornHealthInhibitor";

/// Alerts that belong to no single check.
pub const ALERTS: &[Alert] = &[
    Alert {
        name: "LonghornHealthExporterDown",
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
            why: "A cluster whose exporter is gone for longer is forgotten: a week outlives every weekend. Clusters that must never \
                  be forgotten are listed as expected_clusters, or have this rule in a Prometheus of their own.",
        }],
        summary: "The longhorn-health-exporter is down: nothing checks Longhorn's health.",
        description: "Prometheus has no longhorn-health-exporter that it can scrape. Until it is back no other alert about \
                      the health of Longhorn can fire. Check its pod.",
        why: "Ten minutes are longer than a rollout of the exporter or the restart of its node. With a cluster label \
              each cluster that had an exporter in the last week is asked for; without any series the alert fires too.",
        runbook: include_str!("LonghornHealthExporterDown.md"),
        ..Alert::DEFAULT
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
        summary: "Internal: mutes an alert whose root cause already fires.",
        description: "{{ $labels.alert }}{{ with $labels.node }} on node {{ . }}{{ end }} follows from {{ \
                      $labels.root_alert }}, which fires. In Alertmanager this alert mutes the consequence for as long as \
                      the root fires. Route it to no one.",
        why: "It begins with the alert of the root and ends with it, so that a consequence which outlives its root is \
              heard. The cause of a crash loop is in the series and not among the labels of its alert: a changed \
              cause would start the alert over.",
        runbook: include_str!("LonghornHealthInhibitor.md"),
        ..Alert::DEFAULT
    },
    Alert {
        name: "LonghornHealthNotSynced",
        when: When::Flag { gauge: &gauges::RESOURCE_STATE, labels: &[("state", "pending")] },
        for_: "8m",
        severity: Severity::Critical,
        summary: "The Longhorn health exporter has not read the cluster yet.",
        description: "longhorn-health-exporter has had no answer from the Kubernetes API for {{ $labels.resource }} since \
                      its start. Checks that need it are unknown. Read its log.",
        why: "A first sync takes seconds, on the largest clusters a minute; eight minutes are longer than an API \
              server takes to restart.",
        runbook: include_str!("LonghornHealthNotSynced.md"),
        ..Alert::DEFAULT
    },
    Alert {
        name: "LonghornHealthResourceStale",
        when: When::Flag { gauge: &gauges::RESOURCE_STATE, labels: &[("state", "stale")] },
        for_: "5m",
        summary: "The Longhorn health exporter works with old data.",
        description: "The Kubernetes API no longer answers longhorn-health-exporter for {{ $labels.resource }}. Checks \
                      that need it are unknown. longhorn_health_exporter_api_errors_total and its log have the reason.",
        why: "The exporter itself calls a kind stale only after three minutes without an answer \
              (--stale-after); five more are longer than an API server takes to restart. With a scrape and an \
              evaluation a minute this fires within ten minutes of the first answer that did not come.",
        runbook: include_str!("LonghornHealthResourceStale.md"),
        ..Alert::DEFAULT
    },
    Alert {
        name: "LonghornHealthAccessDenied",
        when: When::Flag { gauge: &gauges::RESOURCE_STATE, labels: &[("state", "forbidden")] },
        for_: "15m",
        severity: Severity::Info,
        summary: "The Longhorn health exporter is not allowed to read a kind.",
        description: "The Kubernetes API refuses longhorn-health-exporter access to {{ $labels.resource }}. Grant \
                      it, or switch this alert off if it is denied deliberately.",
        why: "Cluster-wide kinds may be denied deliberately, so this alone wakes no one: when a verdict \
              is lost by it, LonghornHealthCheckUnknown says so. A quarter of an hour tolerates changes of roles.",
        runbook: include_str!("LonghornHealthAccessDenied.md"),
        ..Alert::DEFAULT
    },
    Alert {
        name: "LonghornHealthCheckUnknown",
        when: When::Flag { gauge: &gauges::CHECK_UNKNOWN, labels: &[] },
        for_: "5m",
        summary: "A Longhorn health check has no verdict.",
        description: "Check {{ $labels.check }} is unknown: it cannot read what it needs. No finding does not mean \
                      healthy. Open the page of the exporter, which names the reason.",
        why: "A kind that does not answer makes its checks unknown after three minutes; five more are longer than \
              an API server takes to restart. With one scrape and one evaluation a minute this fires within ten \
              minutes of the first missed answer.",
        runbook: include_str!("LonghornHealthCheckUnknown.md"),
        ..Alert::DEFAULT
    },
    Alert {
        name: "LonghornHealthCopiesAtRisk",
        when: When::Promql {
            expr: "max without ($without) (longhorn_health_volumes_at_risk{$job, by_choice=\"false\"}) > 0",
            cases: include_str!("LonghornHealthCopiesAtRisk.test.yaml"),
        },
        for_: "2h",
        summary: "Volumes are less redundant than they are meant to be, and nothing fixes that.",
        description: "{{ $value }} volumes would be lost with one {{ $labels.failure_domain }} (copy: one healthy copy is left, and \
                      a detached volume is not rebuilt), although volume or settings ask for more. Nothing fixes that. \
                      `plan loss` and the page of the exporter name them.",
        why: "Longhorn moves no copy for this on its own: anti-affinity counts only when a replica is placed, and a detached volume is not \
              rebuilt. Two hours are longer than a volume takes to be attached again, and than an eviction or a rebuild that is about to part \
              the copies mostly takes. Attached volumes on their last copy are a matter of LonghornVolumeNotRecovering.",
        runbook: include_str!("LonghornHealthCopiesAtRisk.md"),
        ..Alert::DEFAULT
    },
    Alert {
        name: "LonghornHealthClockSkew",
        when: When::Promql {
            expr: "max without ($without) (abs(longhorn_health_exporter_clock_skew_seconds{$job})) > 60",
            cases: include_str!("LonghornHealthClockSkew.test.yaml"),
        },
        for_: "10m",
        summary: "The clocks of the Longhorn health exporter and of the API server disagree.",
        description: "The clocks of longhorn-health-exporter and of the Kubernetes API server differ by {{ $value | \
                      humanizeDuration }}. Ages in its findings are wrong by as much. Check the time synchronisation of \
                      the exporter's node and of the control plane.",
        why: "Checks compare times of objects with the exporter's clock in steps of minutes. Clocks under NTP agree \
              within a second, and one that was just set has ten minutes to settle.",
        runbook: include_str!("LonghornHealthClockSkew.md"),
        ..Alert::DEFAULT
    },
    Alert {
        name: "LonghornHealthBadWebConfig",
        when: When::Promql {
            expr: "min without ($without) (longhorn_health_exporter_web_config_last_reload_successful{$job}) == 0",
            cases: include_str!("LonghornHealthBadWebConfig.test.yaml"),
        },
        for_: "10m",
        summary: "The Longhorn health exporter cannot use its changed web configuration.",
        description: "The changed web configuration of longhorn-health-exporter, or a certificate or key in it, cannot be \
                      used. The one before it serves until its certificate expires or the pod restarts; then nothing can \
                      be scraped. Read its log, which names the file and the reason.",
        why: "Files that are replaced one after the other are half new for a moment; ten minutes are longer. One \
              pod of two is enough, as each reads its own files.",
        runbook: include_str!("LonghornHealthBadWebConfig.md"),
        ..Alert::DEFAULT
    },
];
