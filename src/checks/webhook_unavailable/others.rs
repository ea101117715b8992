//! What makes or announces an outage: a Ready manager outside the Service, a Lease that is held
//! by a node without a manager.

use super::causes;
use jiff::SignedDuration;

use super::service::has_admission_label;
use super::{gauges, pods};
use crate::check::*;
use crate::facts::leases;
use crate::facts::releases::{manager_release, release_of};
use crate::facts::text::duration;
use crate::longhorn::{ADMISSION_LABEL, DataEngine, Lease, Pod, Release, WEBHOOK_LOCK};

/// The label is put on while the manager starts, so that a pod may be Ready a moment before.
const LABEL_AFTER_READY: SignedDuration = SignedDuration::from_secs(60);
/// A node whose share manager fails over is called down by Kubernetes, or proves to be there, within this.
const FAILOVER: SignedDuration = SignedDuration::from_mins(10);
/// A start may take so long where the release does not say.
const LONGEST_START: i64 = 240;
/// A manager gives up a moment after its last wait is over.
const GRACE: i64 = 10;

/// Ready managers without the label by which the Service selects.
pub fn labels(cluster: &Cluster, out: &mut Outcome) {
    let outside = |pod: &&Pod| {
        let settled = pods::ready_changed(pod).is_none_or(|since| cluster.age(since) >= LABEL_AFTER_READY);
        // in a rollout the pods of the release before are there, too
        let wants_label = release_of(cluster, pod).is_some_and(Release::labels_webhook_pods);
        let starts = may_start(cluster, pod);
        wants_label
            && pod.is_ready()
            && !starts
            && !fails_over(cluster, pod)
            && settled
            && !pod.metadata.is_deleting()
            && !has_admission_label(pod)
    };
    for pod in cluster.manager_pods().filter(outside) {
        let since = out.first_seen(causes::LABEL_MISSING.id, &pod.metadata.name);
        out.report(label_missing(cluster, pod).since(since));
    }
}

/// True for a manager that may not have put the label on yet: its node had the start Lease last, renewed or not, or the Lease was
/// given back so lately that the pod with its label may come a moment later.
fn may_start(cluster: &Cluster, pod: &Pod) -> bool {
    let Some(lease) = cluster.objects.leases.get(WEBHOOK_LOCK) else { return false };
    let lately = |at| cluster.age(at) < SignedDuration::from_secs(GRACE);
    match lease.spec.holder_identity.as_str() {
        "" => lease.spec.renew_time.get().is_some_and(lately),
        node => node == pod.spec.node_name,
    }
}

/// True where fast failover may have taken the label away for a moment: a share manager of the node renews its Lease late
/// (longhorn-manager controller/share_manager_controller.go, RemoveLabelFromManagerPod).
fn fails_over(cluster: &Cluster, pod: &Pod) -> bool {
    if cluster.setting_value("rwx-volume-fast-failover", DataEngine::V1) != "true" {
        return false;
    }
    let late = |lease: &Lease| {
        let renewed = lease.spec.renew_time.get().map(|at| cluster.age(at));
        let lately = SignedDuration::from_secs(GRACE)..FAILOVER;
        lease.spec.holder_identity == pod.spec.node_name && renewed.is_some_and(|age| lately.contains(&age))
    };
    let mut shares = cluster.objects.share_managers.iter();
    shares.any(|share| cluster.objects.leases.get(&share.metadata.name).is_some_and(late))
}

fn label_missing(cluster: &Cluster, pod: &Pod) -> Finding {
    let (name, node) = (&pod.metadata.name, &pod.spec.node_name);
    let (key, value) = ADMISSION_LABEL;
    Finding::about(
        &causes::LABEL_MISSING,
        cluster.object::<Pod>(name),
        format!("manager pod {name} lacks its admission label: the webhook Service skips it"),
    )
    .node(node)
    .impact("none while another manager has the label. If every manager lacks it, all changes to Longhorn objects are rejected.")
    .fact(format!("the Service selects {key}={value}, but the Ready pod lacks that label"))
}

/// The Lease under which managers start their webhooks one node after the other.
pub fn lock(cluster: &Cluster, out: &mut Outcome) {
    if !cluster.can_read(Resource::Leases) {
        out.unknown(
            "leases cannot be read, so whether a manager holds the webhook Lease too long is unknown",
        );
        return;
    }
    let Some(lease) = cluster.objects.leases.get(WEBHOOK_LOCK) else { return };
    let node = lease.spec.holder_identity.as_str();
    if node.is_empty() {
        return;
    }
    // taking the Lease again under the same identity leaves acquireTime as it is
    let seen = out.first_seen("lock_held", node);
    let Some(since) = lease.spec.acquire_time.get().or(seen) else { return };
    out.sample(&gauges::LOCK_ACQUIRED, &[node], since.as_second() as f64);
    let held = cluster.age(since);
    let longest = manager_release(cluster).and_then(Release::longest_start).unwrap_or(LONGEST_START);
    if held <= SignedDuration::from_secs(longest + GRACE) {
        return;
    }
    // a manager that runs and holds it hangs (manager_start_stuck), one that comes and goes crash-loops; an
    // expired Lease of a node that is gone or away stands in no one's way
    let expired = leases::is_expired(cluster, lease);
    let pod = cluster.manager_pod_on(node);
    if !expired && pod.is_none_or(|pod| pods::is_away(cluster, pod)) {
        out.report(lock_stuck(cluster, node, pod, held).since(Some(since)));
    }
}

fn lock_stuck(cluster: &Cluster, node: &str, pod: Option<&Pod>, held: SignedDuration) -> Finding {
    let state = match pod {
        Some(pod) => format!("manager pod {} is on {node}, which is not Ready", pod.metadata.name),
        None => format!("{node} has no manager pod"),
    };
    Finding::about(
        &causes::LOCK_STUCK,
        cluster.object::<Lease>(WEBHOOK_LOCK),
        format!("{node} has held the webhook start Lease for {} without a working manager", duration(held)),
    )
    .node(node)
    .impact("managers starting on other nodes are waiting for this Lease")
    .fact(format!("{node} holds Lease {WEBHOOK_LOCK} and keeps renewing it"))
    .fact(state)
}
