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
        ]),
        for_: "3m",
        keep_firing_for: "5m",
        summary: "Longhorn's admission webhook is unavailable.",
        description: "{{ $labels.object_kind }} {{ $labels.object }} shows that Longhorn's admission webhook is \
                      unavailable. Changes of Longhorn objects are rejected, from 1.8 on updates of every PVC, too; \
                      without its configuration they are accepted unchecked. Check the longhorn-manager pods.",
        why: "The check itself waits three minutes for a rollout to end; three more are as long as managers that crash or hang, of \
              which this is the consequence, wait themselves.",
        runbook: include_str!("LonghornWebhookUnavailable.md"),
        ..Alert::DEFAULT
    },
    Alert {
        name: "LonghornWebhookCertificateExpiring",
        when: When::Found(&[&causes::CA_EXPIRES_SOON]),
        for_: "1h",
        summary: "The CA of Longhorn's admission webhook expires within 30 days.",
        description: "{{ $labels.object_kind }} {{ $labels.object }} trusts a CA that expires within 30 days. From then on \
                      every change of a Longhorn object is rejected. Renew it in working hours: from 1.11.3 on restart one \
                      manager, before that follow the runbook.",
        why: "Managers from 1.11.3 on renew it 90 days before; 30 days are enough time for older ones.",
        runbook: include_str!("LonghornWebhookCertificateExpiring.md"),
        ..Alert::DEFAULT
    },
    Alert {
        name: "LonghornWebhookDeadlock",
        when: When::Found(&[&causes::DEADLOCK]),
        for_: "2m",
        keep_firing_for: "10m",
        summary: "Longhorn managers wait for a webhook that none of them serves.",
        description: "Service {{ $labels.object }} has no ready endpoint, and no manager behind it becomes Ready. Changes \
                      of Longhorn objects (from 1.8 on updates of every PVC, too) are rejected. Read the Unhealthy events, \
                      then delete one manager pod to skip its back-off.",
        why: "The back-off between two tries is up to five minutes, so a loop does not end soon; ten minutes of keep_firing_for bridge the moments \
              in which a manager runs.",
        runbook: include_str!("LonghornWebhookDeadlock.md"),
        ..Alert::DEFAULT
    },
    Alert {
        name: "LonghornWebhookLockStuck",
        when: When::Found(&[&causes::LOCK_STUCK]),
        for_: "2m",
        summary: "A node without longhorn-manager holds the webhook start Lease.",
        description: "{{ with $labels.node }}Node {{ . }}{{ else }}A node{{ end }} holds and renews Lease {{ $labels.object }}, but has no \
                      longhorn-manager pod. Starting managers on other nodes wait for it. Look for a manager process that outlived its pod.",
        why: "The finding allows the longest start of the release: 120 s for the listener and 120 s for the Service, twice \
              that in 1.9.2 and 1.9.3.",
        runbook: include_str!("LonghornWebhookLockStuck.md"),
        ..Alert::DEFAULT
    },
    Alert {
        name: "LonghornWebhookLabelMissing",
        when: When::Found(&[&causes::LABEL_MISSING]),
        for_: "10m",
        summary: "A Ready Longhorn manager does not serve the admission webhook.",
        description: "Manager pod {{ $labels.object }}{{ with $labels.node }} on node {{ . }}{{ end }} is Ready but lacks the label \
                      longhorn.io/admission-webhook. So fewer managers serve the webhook. If no share manager fails over on its node, delete the \
                      pod: the next one sets the label.",
        why: "Fast failover of share managers removes the label for a moment; ten minutes are longer than that.",
        runbook: include_str!("LonghornWebhookLabelMissing.md"),
        ..Alert::DEFAULT
    },
];

/// The panels of the check.
pub const PANELS: &[Panel] = &[
    Panel {
        title: "Webhook endpoints ready",
        description: "Pods that answer Longhorn's admission webhook. At 0 every change of a Longhorn object is rejected; \
                      a minute of 0 is normal while an upgrade restarts all managers.",
        expr: "max without ($without) (longhorn_health_webhook_ready_endpoints{$job, webhook=\"admission\"})",
        legend: "ready",
        steps: &[Step::at(0.0, "red"), Step::at(1.0, "green")],
        no_data: "EndpointSlices cannot be read",
        ..Panel::STAT
    },
    Panel {
        dashboard: Dashboard::Managers,
        title: "Webhook endpoints",
        description: "Ready endpoints of each webhook beside those expected. The lines should touch; a gap is a manager that \
                      is not Ready or lacks its label.",
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
        description: "Which node starts its webhook now, and since when. Managers start one by one; more than 250 s for one node is too long (check \
                      manager_start_stuck).",
        unit: Unit::FromNow,
        width: Width::Quarter,
        no_data: "no one holds the Lease, or the exporter does not report",
        ..Panel::TABLE.of(&LOCK_ACQUIRED)
    },
    Panel {
        dashboard: Dashboard::Managers,
        title: "Webhook configurations",
        description: "Whether the API server is configured to call Longhorn's webhooks. Empty without the optional cluster-wide permission to read \
                      the configurations.",
        unit: Unit::Bool,
        expr: "min by ($cluster configuration) (longhorn_health_webhook_configuration_present{$job})",
        legend: "{{configuration}}",
        steps: &[Step::at(0.0, "red"), Step::at(1.0, "green")],
        width: Width::Quarter,
        no_data: "webhook configurations cannot be read",
        ..Panel::STATE_TIMELINE
    },
];
