//! Whether the API server can trust what answers: the CA of both webhook configurations, and what it says itself.
//!
//! The Secrets are not read. A manager writes both configurations at once with the CA of Secret longhorn-webhook-ca, when it starts and
//! when that changes (longhorn-manager v1.5.5 to v1.12.1 webhook/server/server.go runAdmissionWebhookListenAndServe), so that two
//! which differ were not both written by it. Go's verifier looks at the dates of a CA, too (crypto/x509 verify.go isValid).

use jiff::SignedDuration;

use super::configurations::one_to_restart;
use super::{calls, causes};
use crate::check::*;
use crate::facts::age::{Begun, Unknown, observe};
use crate::facts::ca_bundle::{self, Ca};
use crate::facts::patience::DEFINITE;
use crate::facts::{api, certificates, text};
use crate::longhorn::resource::VALIDATOR;
use crate::longhorn::{Pod, Webhook};

/// A CA is valid from when a manager created it, by the clock of its node.
const CLOCKS: SignedDuration = SignedDuration::from_mins(10);
/// Managers from 1.11.3 on renew it 90 days before, others never.
const SOON: SignedDuration = SignedDuration::from_hours(30 * 24);
/// A configuration that calls a Service of Longhorn with a CA bundle.
type Trusted<'a> = (Resource, &'static str, &'a [Webhook]);

/// Judges the CA bundles of those that have one; what is `told` already explains what the API server refuses.
pub fn judge(cluster: &Cluster, trusted: &[Trusted<'_>], mut told: bool, out: &mut Outcome) {
    let bundles: Vec<(Resource, &'static str, Vec<Ca>)> = trusted
        .iter()
        .filter_map(|(kind, name, webhooks)| {
            let webhook = webhooks.iter().find(|webhook| webhook.client_config.service.is_some())?;
            Some((*kind, *name, ca_bundle::read(&webhook.client_config.ca_bundle)))
        })
        .collect();
    for (kind, name, bundle) in &bundles {
        if let Some(finding) = dates(cluster, *kind, name, bundle) {
            told |= finding.cause == &causes::CA_EXPIRED;
            out.report(finding);
        }
    }
    if let Some(finding) = refused(cluster, &bundles, out).filter(|_| !told) {
        out.report(finding);
    }
}

/// One that is valid is enough.
fn dates(cluster: &Cluster, kind: Resource, name: &'static str, bundle: &[Ca]) -> Option<Finding> {
    let now = cluster.now;
    let begun = |ca: &&Ca| ca.from.duration_since(now) <= CLOCKS;
    let last = bundle.iter().filter(begun).map(|ca| ca.until).max();
    let (cause, message, since) = match last {
        None => {
            let from = bundle.iter().map(|ca| ca.from).min()?;
            (&causes::CA_EXPIRED, format!("the CA certificate in {name} is not valid before {from}"), None)
        }
        Some(until) if until <= now => {
            (&causes::CA_EXPIRED, format!("the CA certificate in {name} expired at {until}"), Some(until))
        }
        Some(until) if until.duration_since(now) <= SOON => {
            let days = until.duration_since(now).as_hours() / 24;
            let message = format!("the CA certificate in {name} expires in {}", counted(days, "day"));
            (&causes::CA_EXPIRES_SOON, message, None)
        }
        Some(_) => return None,
    };
    let impact = match cause.severity {
        Severity::Critical => {
            "every create and update of a Longhorn object is rejected (x509: certificate has expired or is not yet valid)"
        }
        _ => "none yet. From that date on, every create and update of a Longhorn object is rejected.",
    };
    let fact = |ca: &Ca| api(format!("a CA in caBundle is valid from {} until {}", ca.from, ca.until));
    let finding = about(cluster, cause, kind, name, message).since(since).impact(impact);
    Some(finding.facts(bundle.iter().take(3).map(fact)))
}

/// The two contradict each other, or the API server says that it refuses what answers.
fn refused(
    cluster: &Cluster,
    bundles: &[(Resource, &'static str, Vec<Ca>)],
    out: &mut Outcome,
) -> Option<Finding> {
    if let [(kind, one_name, one), (_, other_name, other)] = bundles
        && ca_bundle::disagree(one, other)
    {
        let age = observe(cluster, out, "ca_differs", VALIDATOR, Begun::At(None));
        if age.at_least(DEFINITE, Unknown::Counts) {
            let message = format!("Longhorn's {one_name} and {other_name} trust different CAs");
            let finding = about(cluster, &causes::CERTIFICATE_REFUSED, *kind, one_name, message);
            return Some(
                finding
                    .since(age.since)
                    .impact(
                        "no Longhorn object can be created or updated: the API server distrusts a webhook (x509: certificate signed by unknown \
                         authority)",
                    )
                    .fact("the two caBundles share no certificate, although a manager writes the same CA to both")
                    .fact(age.evidence()),
            );
        }
    }
    let calls = calls::failed(cluster, |said| said.contains("x509: "))?;
    certificates::refused(calls.said)?;
    let dates = calls.said.contains("certificate has expired");
    let ahead = ahead(cluster).filter(|_| dates && calls.said.contains(" is before "));
    let why = ahead.as_ref().map_or(String::new(), |(node, by)| {
        format!(": the clock of {node} is {} ahead", text::duration(*by))
    });
    let message = format!("the API server rejects the certificate of Longhorn's admission webhook{why}");
    let kind = Resource::ValidatingWebhookConfigurations;
    let finding = about(cluster, &causes::CERTIFICATE_REFUSED, kind, VALIDATOR, message)
        .since(Some(calls.since))
        .impact("every create and update of a Longhorn object is rejected")
        .fact(calls.evidence());
    Some(match ahead {
        Some((node, _)) => finding
            .with(Name::Node, node)
            .fact(format!("containers on {node} started in the future, by its kubelet's clock"))
            .way(&causes::CLOCK_AHEAD),
        None => finding.way(dates.then_some(&causes::SERVING_EXPIRED)),
    })
}

/// The node whose kubelet lets containers start furthest in the future.
fn ahead(cluster: &Cluster) -> Option<(&str, SignedDuration)> {
    let started = |pod: &'_ Pod| {
        let statuses = pod.status.container_statuses.iter();
        statuses.filter_map(|status| status.running_since()).max()
    };
    let ahead = cluster.objects.pods.iter().filter_map(|pod| {
        let by = started(pod)?.duration_since(cluster.now);
        (by > CLOCKS).then_some((pod.spec.node_name.as_str(), by))
    });
    ahead.max_by_key(|(_, by)| *by)
}

fn about(
    cluster: &Cluster,
    cause: &'static Cause,
    kind: Resource,
    name: &'static str,
    message: String,
) -> Finding {
    Finding::about(cause, cluster.object_of(kind, name), message)
        .with(Name::Webhook, format!("{}/{name}", kind.info().plural))
        .with(Name::Manager, one_to_restart(cluster))
}
