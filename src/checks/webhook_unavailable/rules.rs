//! Alerts and panels about webhooks.

use super::causes;
use super::gauges::{LOCK_ACQUIRED, READY};
use crate::check::*;

/// The alerts of the check.
pub const ALERTS: &[Alert] = &[
    Alert {
        name: "LonghornWebhookUnavailable",
        when: When::Found(&[
            &causes::NO_READY_ENDPOINT,
            &causes::SELECTOR_WRONG,
            &causes::NOT_LISTED,
            &causes::CONFIGURATION_MISSING,
            &causes::CONFIGURATION_FOREIGN,
            &causes::CONFIGURATION_UNTRUSTED,
            &causes::CA_EXPIRED,
            &causes::CERTIFICATE_REFUSED,
            &causes::CALLS_FAIL,
        ]),
        for_: "3m",
        keep_firing_for: "5m",
        summary: "Longhorn's admission webhook is unavailable.",
        description: "{{ $labels.object_kind }} {{ $labels.object }} shows that Longhorn's admission webhook is unavailable. Changes to Longhorn \
                      objects and, from 1.8 on, updates of every PVC are rejected (accepted unchecked if its configuration is missing). Check \
                      the longhorn-manager pods.",
        why: "The check itself waits three minutes for a rollout to end; three more match the wait of the alerts on crashing or hanging managers, which cause this one.",
        runbook: include_str!("LonghornWebhookUnavailable.md"),
        ..Alert::DEFAULT
    },
    Alert {
        name: "LonghornWebhookCertificateExpiring",
        when: When::Found(&[&causes::CA_EXPIRES_SOON]),
        for_: "1h",
        summary: "The CA of Longhorn's admission webhook expires within 30 days.",
        description: "{{ $labels.object_kind }} {{ $labels.object }} trusts a CA that expires within 30 days. Changes to Longhorn objects are \
                      then rejected. Renew the CA in working hours: from 1.11.3 on, restart one manager (earlier, follow the runbook).",
        why: "Managers from 1.11.3 on renew it 90 days before it expires. For older managers, 30 days are enough time.",
        runbook: include_str!("LonghornWebhookCertificateExpiring.md"),
        ..Alert::DEFAULT
    },
    Alert {
        name: "LonghornWebhookDeadlock",
        when: When::Found(&[&causes::DEADLOCK]),
        for_: "2m",
        keep_firing_for: "10m",
        summary: "Longhorn managers are waiting for a webhook that none of them is serving.",
        description: "Service {{ $labels.object }} has no Ready manager. Changes to Longhorn objects (from 1.8 on, also PVC updates) are \
                      rejected. Read the Unhealthy events, then delete one manager pod to skip its back-off.",
        why: "The back-off between two tries is up to five minutes, so a loop lasts a while. Ten minutes of keep_firing_for bridge the moments in which a manager runs.",
        runbook: include_str!("LonghornWebhookDeadlock.md"),
        ..Alert::DEFAULT
    },
    Alert {
        name: "LonghornWebhookLockStuck",
        when: When::Found(&[&causes::LOCK_STUCK]),
        for_: "2m",
        summary: "A node without longhorn-manager holds the webhook start Lease.",
        description: "{{ with $labels.node }}Node {{ . }}{{ else }}A node{{ end }} holds and renews Lease {{ $labels.object }}, but has no \
                      longhorn-manager pod. Managers that start on other nodes are waiting for it. Look for a manager process that outlived its pod.",
        why: "The finding allows the longest start of the release: 120 s for the listener and 120 s for the Service, twice that in 1.9.2 and 1.9.3.",
        runbook: include_str!("LonghornWebhookLockStuck.md"),
        ..Alert::DEFAULT
    },
    Alert {
        name: "LonghornWebhookLabelMissing",
        when: When::Found(&[&causes::LABEL_MISSING]),
        for_: "10m",
        summary: "A Ready Longhorn manager is not serving the admission webhook.",
        description: "Manager pod {{ $labels.object }}{{ with $labels.node }} on node {{ . }}{{ end }} is Ready but lacks label \
                      longhorn.io/admission-webhook. Fewer managers serve the webhook. Delete the pod while no share manager on its node is \
                      failing over: the next pod sets the label.",
        why: "Fast failover of share managers removes the label for a moment: ten minutes is longer than that.",
        runbook: include_str!("LonghornWebhookLabelMissing.md"),
        ..Alert::DEFAULT
    },
];

/// The panels of the check.
pub const PANELS: &[Panel] = &[
    Panel {
        title: "Webhook endpoints ready",
        description: "Pods that serve Longhorn's admission webhook. At 0, every change to a Longhorn object is rejected. One minute at 0 is \
                      normal during an upgrade.",
        expr: "max without ($without) (longhorn_health_webhook_ready_endpoints{$job, webhook=\"admission\"})",
        legend: "ready",
        steps: &[Step::at(0.0, "red"), Step::at(1.0, "green")],
        no_data: "EndpointSlices cannot be read",
        ..Panel::STAT
    },
    Panel {
        dashboard: Dashboard::Managers,
        title: "Webhook endpoints",
        description: "Ready and expected endpoints of each webhook. A gap means that a manager is not Ready or lacks its label.",
        legend: "{{webhook}} ready",
        more: &[Query {
            expr: "max by ($cluster webhook) (longhorn_health_webhook_expected_endpoints{$job})",
            legend: "{{webhook}} expected",
        }],
        no_data: "EndpointSlices cannot be read",
        ..Panel::TIME_SERIES.of(&READY)
    },
    Panel {
        dashboard: Dashboard::Managers,
        title: "Webhook start Lease",
        description: "The node that is starting its webhook, and since when. More than 250 s for one node is too long: check manager_start_stuck.",
        unit: Unit::FromNow,
        width: Width::Quarter,
        no_data: "no one holds the Lease, or the exporter does not report",
        ..Panel::TABLE.of(&LOCK_ACQUIRED)
    },
    Panel {
        dashboard: Dashboard::Managers,
        title: "Webhook configurations",
        description: "Whether the API server is configured to call Longhorn's webhooks. Empty without the optional permission to read the \
                      configurations.",
        unit: Unit::Bool,
        expr: "min by ($cluster configuration) (longhorn_health_webhook_configuration_present{$job})",
        legend: "{{configuration}}",
        steps: &[Step::at(0.0, "red"), Step::at(1.0, "green")],
        width: Width::Quarter,
        no_data: "webhook configurations cannot be read",
        ..Panel::STATE_TIMELINE
    },
];
