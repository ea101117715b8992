//! A Service whose selector no manager fits, although managers are Ready: the manifest of another release, or an edit.

use std::collections::BTreeMap;

use jiff::SignedDuration;

use super::pods::{self, States};
use super::service::WebhookRole;
use crate::check::*;
use crate::cluster::Readability;
use crate::facts::releases::release_of;
use crate::facts::{api, kubectl};
use crate::longhorn::{ADMISSION_LABEL, Pod, Release};

/// A manager puts its labels on while it starts.
const LABELLED: SignedDuration = SignedDuration::from_secs(60);

/// A selector by which no manager serves.
pub(super) struct WrongSelector {
    /// The labels that it asks for, as `key=value`.
    asks: String,
    /// What it should ask for; `None` takes a key away.
    right: BTreeMap<String, Option<&'static str>>,
}

/// Compares the selector of the Service with the labels of Ready managers, which carry those of their release (longhorn
/// deploy/longhorn.yaml v1.5.0 to v1.12.1).
pub(super) fn wrong(cluster: &Cluster, webhook: WebhookRole) -> Option<WrongSelector> {
    if cluster.readability(Resource::Services) != Readability::Readable || webhook.has_deployment(cluster) {
        return None;
    }
    let selector = &cluster.objects.services.get(webhook.service())?.spec.selector;
    let settled = |pod: &&Pod| {
        pod.is_ready() && pods::ready_changed(pod).is_some_and(|since| cluster.age(since) >= LABELLED)
    };
    let ready: Vec<&Pod> = webhook.pods(cluster).filter(settled).collect();
    let (key, value) = label(webhook, release_of(cluster, ready.first()?)?);
    let fits = |pod: &Pod| selector.iter().all(|(key, value)| pod.metadata.label(key) == Some(value));
    // without its own label a manager is outside for another reason (label_missing)
    let labelled = ready.iter().any(|pod| pod.metadata.label(key) == Some(value));
    if selector.is_empty() || !labelled || webhook.pods(cluster).any(fits) {
        return None;
    }
    let asks = selector.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(",");
    let mut right: BTreeMap<_, _> = selector.keys().map(|key| (key.to_string(), None)).collect();
    right.insert(key.to_owned(), Some(value));
    Some(WrongSelector { asks, right })
}

/// The label by which the Service of a release selects.
fn label(webhook: WebhookRole, release: Release) -> (&'static str, &'static str) {
    match webhook {
        _ if !release.labels_webhook_pods() => ("app", "longhorn-manager"),
        WebhookRole::Admission => ADMISSION_LABEL,
        WebhookRole::Conversion => ("longhorn.io/conversion-webhook", "longhorn-conversion-webhook"),
        WebhookRole::RecoveryBackend => ("longhorn.io/recovery-backend", "longhorn-recovery-backend"),
    }
}

impl WrongSelector {
    pub(super) fn message(&self, webhook: WebhookRole, states: &States) -> String {
        format!(
            "the selector of {} matches no manager, although {} are Ready",
            webhook.service(),
            states.ready
        )
    }

    pub(super) fn evidence(&self) -> Evidence {
        api(format!("the Service's selector is {}", self.asks))
    }

    /// The selector that it should have; null takes a key away.
    pub(super) fn patch(&self) -> String {
        kubectl::quoted(&serde_json::json!(self.right))
    }
}
