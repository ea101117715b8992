//! The admission webhook as the API server sees it: without a ready endpoint every change of a
//! Longhorn object is rejected, because the webhook configurations have failurePolicy Fail.
//!
//! Facts: the Service `longhorn-admission-webhook` is served by Deployments of its own up to 1.4, by
//! the managers from 1.5 on, and from 1.7 on only by those that carry the admission label (longhorn
//! deploy/longhorn.yaml v1.3.3 to v1.12.1). A manager is Ready by its own listener alone, but while
//! it starts it also waits until the Service answers; if no manager becomes Ready in time, each
//! exits and the loop is closed (longhorn-manager v1.5.4 to v1.12.1 webhook/webhook.go). From 1.6.4,
//! 1.7.3 and 1.8.0 on they start one after the other under a Lease (app/daemon.go).

mod gauges;
mod others;
mod outage;
mod pods;
mod service;
#[cfg(test)]
mod tests;

use jiff::{SignedDuration, Timestamp};

use self::service::Webhook;
use crate::check::*;
use crate::cluster::Cluster;
use crate::longhorn::Resource;

/// The check.
pub const CHECK: Check = Check {
    id: "webhook_unavailable",
    title: "Webhook availability",
    summary: "Ready endpoints of Longhorn's webhooks, managers that wait for each other, Ready managers outside the \
              Service, a start Lease that is held too long, and missing webhook configurations.",
    needs: &[Resource::EndpointSlices, Resource::Pods],
    uses: &[
        Resource::Services,
        Resource::DaemonSets,
        Resource::Deployments,
        Resource::Settings,
        Resource::Leases,
        Resource::KubeNodes,
        Resource::ValidatingWebhookConfigurations,
        Resource::MutatingWebhookConfigurations,
    ],
    causes: &[
        Cause {
            id: "no_ready_endpoint",
            severity: Severity::Critical,
            summary: "a webhook has had no ready endpoint for longer than a roll-out lasts",
        },
        Cause {
            id: "deadlock",
            severity: Severity::Critical,
            summary: "the same, while the pods behind it run or crash-loop and none becomes Ready: they wait for each other",
        },
        Cause {
            id: "label_missing",
            severity: Severity::Warning,
            summary: "a Ready manager lacks the label by which the admission Service selects (from 1.7 on)",
        },
        Cause {
            id: "lock_stuck",
            severity: Severity::Warning,
            summary: "a node has held the webhook start Lease for more than 250 s and its manager is not Ready",
        },
        Cause {
            id: "configuration_missing",
            severity: Severity::Critical,
            summary: "a webhook configuration of Longhorn does not exist or lists no webhook",
        },
        Cause {
            id: "roll_out",
            severity: Severity::Info,
            summary: "no ready endpoint, or no configuration, for less than three minutes: expected in a roll-out",
        },
    ],
    gauges: &[
        &gauges::READY,
        &gauges::NOT_READY,
        &gauges::EXPECTED,
        &gauges::LOCK_ACQUIRED,
        &gauges::CONFIGURED,
    ],
    alerts: ALERTS,
    cases: "",
    panels: PANELS,
    run,
};

const ALERTS: &[Alert] = &[
    Alert {
        name: "LonghornWebhookUnavailable",
        causes: &["no_ready_endpoint", "configuration_missing"],
        expr: "max without ($without) (longhorn_health_finding{$job, check=\"webhook_unavailable\", cause=~\"no_ready_endpoint|configuration_missing\"}) == 1",
        hold: "2m",
        keep_firing_for: "5m",
        severity: Severity::Critical,
        thresholds: &[],
        summary: "Longhorn's admission webhook is not available.",
        description: "{{ $labels.object_kind }} {{ $labels.object }}: {{ if eq $labels.cause \"configuration_missing\" }}Longhorn's \
                      webhook configuration is missing or empty, so its objects are accepted unchecked{{ else }}no ready \
                      endpoint for more than three minutes, so changes of Longhorn objects (and from 1.8 on updates of \
                      every PVC) are rejected{{ end }}. Look at the longhorn-manager pods first.",
        why: "The check itself waits three minutes for a roll-out to end; two more ride out a restart of the exporter.",
        runbook: include_str!("LonghornWebhookUnavailable.md"),
    },
    Alert {
        name: "LonghornWebhookDeadlock",
        causes: &["deadlock"],
        expr: "max without ($without) (longhorn_health_finding{$job, check=\"webhook_unavailable\", cause=\"deadlock\"}) == 1",
        hold: "2m",
        keep_firing_for: "10m",
        severity: Severity::Critical,
        thresholds: &[],
        summary: "Longhorn managers wait for a webhook that none of them serves.",
        description: "Service {{ $labels.object }} has no ready endpoint while the pods behind it run or crash-loop and none \
                      becomes Ready. Changes of Longhorn objects (and from 1.8 on updates of every PVC) are rejected. Read \
                      the Unhealthy events, then delete one manager pod to end its back-off.",
        why: "Back-off between two tries is up to five minutes, so a loop does not end by itself soon; ten minutes of \
              keep_firing_for bridge the moments in which a manager runs.",
        runbook: include_str!("LonghornWebhookDeadlock.md"),
    },
    Alert {
        name: "LonghornWebhookLockStuck",
        causes: &["lock_stuck"],
        expr: "max without ($without) (longhorn_health_finding{$job, check=\"webhook_unavailable\", cause=\"lock_stuck\"}) == 1",
        hold: "2m",
        keep_firing_for: "",
        severity: Severity::Warning,
        thresholds: &[],
        summary: "A manager that does not start holds up the others.",
        description: "{{ with $labels.node }}Node {{ . }}{{ else }}A node{{ end }} has held Lease {{ $labels.object }} for more \
                      than 250 seconds and its longhorn-manager is not Ready. Managers that start on other nodes wait for it. \
                      Read that manager's log.",
        why: "One start takes at most 120 s for the listener and 120 s for the Service.",
        runbook: include_str!("LonghornWebhookLockStuck.md"),
    },
    Alert {
        name: "LonghornWebhookLabelMissing",
        causes: &["label_missing"],
        expr: "max without ($without) (longhorn_health_finding{$job, check=\"webhook_unavailable\", cause=\"label_missing\"}) == 1",
        hold: "10m",
        keep_firing_for: "",
        severity: Severity::Warning,
        thresholds: &[],
        summary: "A Ready Longhorn manager does not serve the admission webhook.",
        description: "Manager pod {{ $labels.object }}{{ with $labels.node }} on node {{ . }}{{ end }} is Ready but lacks the label \
                      longhorn.io/admission-webhook. Deleting the pod lets the next manager label itself.",
        why: "Fast failover of share managers takes the label away for a moment; ten minutes are no moment.",
        runbook: include_str!("LonghornWebhookLabelMissing.md"),
    },
];

const PANELS: &[Panel] = &[
    Panel {
        dashboard: Dashboard::Overview,
        title: "Webhook endpoints ready",
        description: "Pods that answer Longhorn's admission webhook. At 0 every change of a Longhorn object is rejected; \
                      a minute of 0 is normal while an upgrade restarts all managers.",
        kind: PanelKind::Stat,
        unit: Unit::Short,
        queries: &[Query {
            expr: "max without ($without) (longhorn_health_webhook_ready_endpoints{$job, webhook=\"admission\"})",
            legend: "ready",
        }],
        steps: &[Step { from: 0.0, color: "red" }, Step { from: 1.0, color: "green" }],
        width: Width::Sixth,
        no_data: "EndpointSlices cannot be read",
    },
    Panel {
        dashboard: Dashboard::Managers,
        title: "Webhook endpoints",
        description: "Ready endpoints of each webhook beside those expected. The lines should touch; a gap is a manager that \
                      is not Ready or lacks its label.",
        kind: PanelKind::TimeSeries,
        unit: Unit::Short,
        queries: &[
            Query {
                expr: "max by ($cluster webhook) (longhorn_health_webhook_ready_endpoints{$job})",
                legend: "{{webhook}} ready",
            },
            Query {
                expr: "max by ($cluster webhook) (longhorn_health_webhook_not_ready_endpoints{$job})",
                legend: "{{webhook}} not ready",
            },
            Query {
                expr: "max by ($cluster webhook) (longhorn_health_webhook_expected_endpoints{$job})",
                legend: "{{webhook}} expected",
            },
        ],
        steps: &[],
        width: Width::Half,
        no_data: "EndpointSlices cannot be read",
    },
    Panel {
        dashboard: Dashboard::Managers,
        title: "Webhook start Lease",
        description: "Who starts its webhook now, since when. Managers start one after the other; more than 250 s for one node \
                      is too long if its manager is not Ready.",
        kind: PanelKind::Table,
        unit: Unit::FromNow,
        queries: &[Query {
            expr: "max by ($cluster node) (longhorn_health_webhook_lock_acquired_timestamp_seconds{$job}) * 1000",
            legend: "{{node}}",
        }],
        steps: &[],
        width: Width::Quarter,
        no_data: "nobody holds the Lease",
    },
    Panel {
        dashboard: Dashboard::Managers,
        title: "Webhook configurations",
        description: "Whether the API server is told to ask Longhorn's webhooks. Without the optional cluster-wide right to read \
                      them this panel is empty.",
        kind: PanelKind::StateTimeline,
        unit: Unit::Bool,
        queries: &[Query {
            expr: "min by ($cluster configuration) (longhorn_health_webhook_configuration_present{$job})",
            legend: "{{configuration}}",
        }],
        steps: &[Step { from: 0.0, color: "red" }, Step { from: 1.0, color: "green" }],
        width: Width::Quarter,
        no_data: "webhook configurations cannot be read",
    },
];

/// How long a webhook may be without a ready endpoint in a roll-out: the DaemonSet restarts all
/// managers at once (maxUnavailable 100 %).
const HOLD: SignedDuration = SignedDuration::from_mins(3);
/// What holds when the exporter begins to watch may have held for long.
const FIRST_LOOK: SignedDuration = SignedDuration::from_mins(1);

fn run(cluster: &Cluster, out: &mut Outcome) {
    let mut admission_down = false;
    for webhook in Webhook::ALL {
        let expected = webhook.expected(cluster);
        let Some(endpoints) = webhook.endpoints(cluster).filter(|_| expected > 0) else { continue };
        let label = [webhook.as_str()];
        out.sample(&gauges::READY, &label, endpoints.ready as f64);
        out.sample(&gauges::NOT_READY, &label, endpoints.not_ready as f64);
        out.sample(&gauges::EXPECTED, &label, expected as f64);
        let down = endpoints.ready == 0 && webhook.is_needed(cluster);
        // from 1.5 on the same pods serve both, and one finding is enough
        let told = admission_down && !webhook.has_deployment(cluster);
        if down && !told {
            outage::judge(cluster, webhook, endpoints, out);
        }
        admission_down |= down && webhook == Webhook::Admission;
    }
    others::labels(cluster, out);
    others::lock(cluster, out);
    others::configurations(cluster, out);
}

/// True when a fact was seen to begin, rather than to hold already at the exporter's first look.
fn began_under_watch(cluster: &Cluster, seen: Timestamp) -> bool {
    cluster.history.started.is_some_and(|started| seen.duration_since(started) > FIRST_LOOK)
}
