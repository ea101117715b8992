//! What an outage of a webhook costs.

use super::configurations;
use super::service::WebhookRole;
use crate::cluster::Cluster;
use crate::longhorn::{Release, Suffix};

/// What is rejected while no one answers: the webhooks have failurePolicy Fail
/// (longhorn-manager webhook/server/validation.go per release).
pub fn of(cluster: &Cluster, webhook: WebhookRole, release: Option<Release>) -> String {
    if webhook == WebhookRole::Conversion {
        return "Longhorn objects cannot be converted between API versions, so requests for them may fail"
            .to_owned();
    }
    if configurations::nobody_is_asked(cluster) {
        return "managers that are starting up wait for this Service. Longhorn objects are accepted unchecked, because no webhook configuration exists yet."
            .to_owned();
    }
    let mut impact =
        "every change of a Longhorn object is rejected: no attach, detach, snapshot or rebuild".to_owned();
    if rejects_nodes(release) {
        let what = ". PersistentVolumeClaims and (in v1.11.0) Kubernetes Nodes cannot be updated either, so no new node can join";
        impact.push_str(what);
    } else if release.is_none_or(|release| release.at_least(1, 8, 0)) {
        impact.push_str(". PersistentVolumeClaims cannot be updated either");
        if release.is_none() {
            impact.push_str(" (from Longhorn 1.8 on)");
        }
    }
    if impact.contains(". ") { impact + "." } else { impact }
}

/// Whether its validator asks about Kubernetes Nodes, too; v1.11.0-hotfix-1 and v1.11.1 no longer do (longhorn issue 12578).
pub(super) fn rejects_nodes(release: Option<Release>) -> bool {
    release.is_some_and(|r| (r.major, r.minor, r.patch) == (1, 11, 0) && r.suffix == Suffix::None)
}
