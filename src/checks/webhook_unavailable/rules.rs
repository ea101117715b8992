//! Alerts and panels about webhooks.

use super::causes;
use super::gauges::{LOCK_ACQUIRED, READY};
use crate::check::*;

/// The alerts of the check.
pub const ALERTS: &[Alert] = &[
    alert! { "LonghornWebhookUnavailable",
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
        description: "Longhorn's admission webhook is unavailable ({{ $labels.object_kind }} {{ $labels.object }}). Changes to Longhorn objects (from 1.8 on, \
                      also PVC updates) are rejected, or accepted unchecked if the configuration is missing. Check the longhorn-manager pods.",
        why: "The check waits 3 min for a rollout to end. The alert waits 3 min more to let the alert on a crashing or hanging manager fire first.",
    },
    alert! { "LonghornWebhookCertificateExpiring",
        when: When::Found(&[&causes::CA_EXPIRES_SOON]),
        for_: "1h",
        summary: "The CA of Longhorn's admission webhook expires within 30 days.",
        description: "The CA in {{ $labels.object_kind }} {{ $labels.object }} expires within 30 days. After that, changes to Longhorn objects are rejected. \
                      Renew the CA in working hours: restart one manager (from 1.11.3 on) or follow the runbook (older releases).",
        why: "The alert fires 30 days ahead, enough to renew the CA by hand. Managers from 1.11.3 on renew it 90 days before it expires.",
    },
    alert! { "LonghornWebhookDeadlock",
        when: When::Found(&[&causes::DEADLOCK]),
        for_: "2m",
        keep_firing_for: "10m",
        summary: "Longhorn managers are waiting for a webhook that none of them serves.",
        description: "Service {{ $labels.object }} has no Ready manager. Changes to Longhorn objects (from 1.8 on, also PVC updates) are rejected. \
                      Fix what the Unhealthy events show, then delete one manager pod to skip its back-off.",
        why: "Managers wait up to 5 min between two attempts. The alert keeps firing for 10 min, even while a manager is briefly running.",
    },
    alert! { "LonghornWebhookLockStuck",
        when: When::Found(&[&causes::LOCK_STUCK]),
        for_: "2m",
        summary: "A node without a working longhorn-manager holds the webhook start Lease.",
        description: "{{ with $labels.node }}Node {{ . }}{{ else }}A node{{ end }} keeps renewing Lease {{ $labels.object }} but has no working \
                      longhorn-manager pod. Managers on other nodes are waiting for the Lease and cannot start. Look on that node for a manager process that \
                      outlived its pod.",
        why: "The check allows for the longest startup, which takes 240 s (480 s in 1.9.2 and 1.9.3). The alert waits 2 min more.",
    },
    alert! { "LonghornWebhookLabelMissing",
        when: When::Found(&[&causes::LABEL_MISSING]),
        for_: "10m",
        summary: "A Ready Longhorn manager is not serving the admission webhook.",
        description: "Manager pod {{ $labels.object }}{{ with $labels.node }} on node {{ . }}{{ end }} is Ready but lacks label longhorn.io/admission-webhook, \
                      so the webhook lacks one endpoint. If no share manager on its node is failing over, delete the pod to restore the label.",
        why: "Fast failover of share managers removes the label for a moment, so the alert waits ten minutes.",
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
        no_data: "the exporter cannot read EndpointSlices",
        ..Panel::STAT
    },
    Panel {
        dashboard: Dashboard::Managers,
        title: "Webhook endpoints",
        description: "Ready and expected endpoints of each webhook. A gap between the two means that a manager is not Ready or lacks its label.",
        legend: "{{webhook}} ready",
        more: &[Query {
            expr: "max by ($cluster webhook) (longhorn_health_webhook_expected_endpoints{$job})",
            legend: "{{webhook}} expected",
        }],
        no_data: "the exporter cannot read EndpointSlices",
        ..Panel::TIME_SERIES.of(&READY)
    },
    Panel {
        dashboard: Dashboard::Managers,
        title: "Webhook start Lease",
        description: "The node that is starting its webhook, and since when. More than 250 s for one node is too long: look for a stuck manager.",
        unit: Unit::FromNow,
        width: Width::Quarter,
        no_data: "no node holds the Lease, or the exporter is not reporting",
        ..Panel::TABLE.of(&LOCK_ACQUIRED)
    },
    Panel {
        dashboard: Dashboard::Managers,
        title: "Webhook configurations",
        description: "Whether the API server is configured to call Longhorn's webhooks. Empty if the exporter lacks the optional permission to read the \
                      configurations.",
        unit: Unit::Bool,
        expr: "min by ($cluster configuration) (longhorn_health_webhook_configuration_present{$job})",
        legend: "{{configuration}}",
        steps: &[Step::at(0.0, "red"), Step::at(1.0, "green")],
        width: Width::Quarter,
        no_data: "the exporter cannot read webhook configurations",
        ..Panel::STATE_TIMELINE
    },
];
