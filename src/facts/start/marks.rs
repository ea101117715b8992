//! How far a start got, as it left its marks in the API. Steps of a start, in their order (longhorn-manager v1.9.2 and
//! v1.12.1 app/daemon.go startManager, v1.5.5 without Lease and labels):
//!
//! 1. flags, then the check for iscsiadm, which ends within a second;
//! 2. the Lease [`WEBHOOK_LOCK`] (1.6.4, 1.7.3 and later);
//! 3. up to 1.9 the conversion webhook on its own listener, then its label on the pod (1.7 and later), then its Service;
//! 4. the admission webhook likewise, which writes the webhook configurations;
//! 5. the recovery backend, then its label;
//! 6. the upgrade checks, then the Lease [`UPGRADE_LOCK`], under which the objects are upgraded, the first of them setting
//!    `crd-api-version`;
//! 7. settings, the Longhorn node of this node, and port 9500.
//!
//! Labels stay on a pod for as long as it lives, so one that is there was reached in some life of it. One that is not
//! there says something only beside others that are: a report may leave labels out.

use crate::cluster::{Cluster, Readability};
use crate::longhorn::{ADMISSION_LABEL, Pod, Release, Resource, UPGRADE_LOCK, WEBHOOK_LOCK, Webhook};
use crate::looping::Loop;
use crate::releases::release_of;

/// Labels that a manager puts on its own pod from 1.7 on (longhorn-manager v1.7.0 types/types.go).
const CONVERSION_LABEL: &str = "longhorn.io/conversion-webhook";
const RECOVERY_LABEL: &str = "longhorn.io/recovery-backend";
/// The kubelet writes conditions a moment after what they tell.
const LATE_SECONDS: i64 = 30;

/// A mark which only a manager leaves that found iscsiadm.
pub fn found_iscsiadm(cluster: &Cluster, pod: &Pod) -> Option<String> {
    let name = &pod.metadata.name;
    let node = pod.spec.node_name.as_str();
    let labels = [CONVERSION_LABEL, ADMISSION_LABEL.0, RECOVERY_LABEL];
    if let Some(label) = labels.into_iter().find(|label| pod.metadata.label(label).is_some()) {
        return Some(format!("pod {name} has label {label}, which a manager sets only after that check"));
    }
    for lock in [WEBHOOK_LOCK, UPGRADE_LOCK] {
        let lease = cluster.objects.leases.get(lock);
        if lease.is_some_and(|lease| !node.is_empty() && lease.spec.holder_identity == node) {
            return Some(format!(
                "Lease {lock} is held by {node}, and a manager takes it only after that check"
            ));
        }
    }
    // what every manager could have left tells something only where none has finished a start
    if !cluster.objects.longhorn_nodes.is_empty() || !cluster.knows_all(Resource::LonghornNodes) {
        return None;
    }
    // up to 1.4 the Deployments of the webhooks write them
    let by_managers = !release_of(cluster, pod).is_some_and(Release::has_webhook_deployments);
    let written = |webhooks: Option<&[Webhook]>| webhooks.is_some_and(|webhooks| !webhooks.is_empty());
    let configured =
        by_managers && cluster.webhook_configurations().iter().any(|(.., webhooks)| written(*webhooks));
    let upgrading = cluster.objects.leases.get(UPGRADE_LOCK).is_some();
    let what = match (configured, upgrading) {
        (true, _) => "Longhorn's webhook configurations exist, which managers write",
        (_, true) => "Lease longhorn-manager-upgrade-lock exists, which managers create",
        _ => return None,
    };
    Some(format!("{what} after that check, and no other manager has finished its startup"))
}

/// Whether the manager's own listeners answered in some life of this pod; `None` where no manager has such a mark.
pub fn served_locally(cluster: &Cluster, pod: &Pod, release: Option<Release>) -> Option<bool> {
    let release = release.filter(|release| release.labels_webhook_pods())?;
    let first = if release.at_least(1, 10, 0) { ADMISSION_LABEL.0 } else { CONVERSION_LABEL };
    let has = |pod: &Pod| pod.metadata.label(first).is_some();
    if has(pod) {
        return Some(true);
    }
    cluster.manager_pods().any(has).then_some(false)
}

/// The pod never served its admission webhook and served the conversion webhook before, or holds the Lease under which it
/// would: before the wait for it nothing but its listener ends a manager (longhorn-manager v1.9.2 webhook/webhook.go
/// StartWebhook; from 1.12 on its certificates can, too).
pub fn stopped_at_listener(cluster: &Cluster, pod: &Pod, release: Option<Release>) -> Option<String> {
    let release = release.filter(|release| release.labels_webhook_pods() && !release.at_least(1, 12, 0))?;
    let has = |label: &str| pod.metadata.label(label).is_some();
    let (name, node) = (&pod.metadata.name, pod.spec.node_name.as_str());
    if has(ADMISSION_LABEL.0) || has(RECOVERY_LABEL) {
        return None;
    }
    if !release.at_least(1, 10, 0) {
        return has(CONVERSION_LABEL).then(|| {
            format!(
                "pod {name} has label {CONVERSION_LABEL} but not {}, so its admission webhook is not listening",
                ADMISSION_LABEL.0
            )
        });
    }
    let lease = cluster.objects.leases.get(WEBHOOK_LOCK)?;
    (!node.is_empty() && lease.spec.holder_identity == node).then(|| {
        format!("Lease {WEBHOOK_LOCK} is still held by {node}, and pod {name} lacks label {}, so its webhook is not listening", ADMISSION_LABEL.0)
    })
}

/// Whether the Services of the webhooks answered in some life of this pod; `None` where it has no mark at all.
pub fn reached_services(pod: &Pod, release: Option<Release>) -> Option<bool> {
    release.filter(|release| release.labels_webhook_pods())?;
    let has = |label: &str| pod.metadata.label(label).is_some();
    let served = has(CONVERSION_LABEL) || has(ADMISSION_LABEL.0);
    (served || has(RECOVERY_LABEL)).then(|| has(RECOVERY_LABEL))
}

/// The upgrade of objects has begun and has not written its first object, a setting that it creates in every new
/// installation: the API server did not take it.
pub fn stopped_at_first_write(cluster: &Cluster) -> Option<String> {
    const FIRST: &str = "crd-api-version";
    let begun = cluster.objects.leases.get(UPGRADE_LOCK).is_some();
    let complete = cluster.readability(Resource::Leases) == Readability::Readable
        && matches!(
            cluster.readability(Resource::Settings),
            Readability::Readable | Readability::NotRecorded
        );
    let undecodable = cluster.resources.get(&Resource::Settings).is_some_and(|status| status.undecodable > 0);
    (begun && complete && !undecodable && cluster.setting(FIRST).is_none()).then(|| {
        format!(
            "Lease {UPGRADE_LOCK} exists, but setting {FIRST} is missing, so the API server rejected the upgrade's first write"
        )
    })
}

/// True when the pod was Ready in the run that ended.
pub fn was_ready(pod: &Pod, crash: &Loop<'_>) -> bool {
    let Some(end) = crash.end else { return false };
    let Some((started, finished)) = end.started_at.get().zip(end.finished_at.get()) else { return false };
    pod.unready_since()
        .is_some_and(|at| at > started && at.duration_since(finished).as_secs() <= LATE_SECONDS)
}

/// True when the pod's readiness did not change in the run that ended.
pub fn was_never_ready(pod: &Pod, crash: &Loop<'_>) -> bool {
    let started = crash.end.and_then(|end| end.started_at.get());
    started.zip(pod.unready_since()).is_some_and(|(started, changed)| changed <= started)
}

/// A kind that a start of this release lists and the API server does not serve. Of an unknown release those count that all have.
pub fn kind_not_served(cluster: &Cluster, release: Option<Release>) -> Option<Resource> {
    Resource::all().find(|kind| {
        let since = kind.info().since.and_then(Release::parse);
        let had = since.is_none_or(|since| release.is_some_and(|release| release >= since));
        kind.is_longhorn() && had && cluster.readability(*kind) == Readability::NotInstalled
    })
}
