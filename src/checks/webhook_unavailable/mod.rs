//! The admission webhook as the API server sees it: without a ready endpoint every change of a
//! Longhorn object is rejected, because the webhook configurations have failurePolicy Fail.
//!
//! Facts: the Service `longhorn-admission-webhook` is served by Deployments of its own up to 1.4, by
//! the managers from 1.5 on, and from 1.7 on only by those that carry the admission label (longhorn
//! deploy/longhorn.yaml v1.3.3 to v1.12.1). A manager is Ready by its own listener alone, but while
//! it starts it also waits until the Service answers; if no manager becomes Ready in time, each
//! exits and the loop is closed (longhorn-manager v1.5.4 to v1.12.1 webhook/webhook.go). From 1.6.4,
//! 1.7.3 and 1.8.0 on they start one after the other under a Lease (app/daemon.go).

mod calls;
mod causes;
mod certificates;
mod configurations;
mod deadlock;
mod gauges;
mod impact;
mod others;
mod outage;
mod pods;
mod rules;
mod selector;
mod service;
mod since;
#[cfg(test)]
mod tests;

use self::service::WebhookRole;
use crate::check::*;
use crate::facts::patience::NO_ENDPOINT;
use crate::longhorn::Resource::*;

pub static CHECK: Check = check! {
    id: "webhook_unavailable",
    title: "Webhook availability",
    summary: "A webhook has no ready endpoint, or its configuration is missing or wrong (namespace, CA). Or managers are waiting for each other, or \
    a node without a manager is holding the start Lease.",
    needs: &[EndpointSlices, Pods],
    uses: &[
        Services, DaemonSets, Deployments, Settings, Leases, KubeNodes, ValidatingWebhookConfigurations,
        MutatingWebhookConfigurations, LonghornNodes, Events, ShareManagers, CsiAttachments,
    ],
    glances: &[NetworkPolicies],
    causes: causes::ALL,
    ways: &[causes::WAYS],
    gauges: gauges::GAUGES,
    alerts: rules::ALERTS,
    panels: rules::PANELS,
};

fn run(cluster: &Cluster, out: &mut Outcome) {
    let mut admission_down = false;
    for webhook in WebhookRole::ALL {
        let expected = webhook.expected(cluster);
        let Some(endpoints) = webhook.endpoints(cluster).filter(|_| expected > 0) else { continue };
        let label = [webhook.as_str()];
        out.sample(&gauges::READY, &label, endpoints.ready as f64);
        out.sample(&gauges::EXPECTED, &label, expected as f64);
        let down = !endpoints.is_served() && webhook.is_needed(cluster);
        // from 1.5 on the same pods serve both, and one finding is enough
        let told = admission_down && !webhook.has_deployment(cluster);
        if down && !told {
            outage::judge(cluster, webhook, endpoints, out);
        }
        admission_down |= down && webhook == WebhookRole::Admission;
    }
    if !admission_down {
        calls::judge(cluster, out);
    }
    others::labels(cluster, out);
    others::lock(cluster, out);
    configurations::judge(cluster, admission_down, out);
}
