//! What makes or announces an outage: a Ready manager outside the Service, a Lease that is held
//! too long, webhook configurations that are not there.

use super::causes;
use jiff::SignedDuration;

use super::service::has_admission_label;
use super::{HOLD, gauges, pods};
use crate::check::*;
use crate::cluster::{Cluster, Readability};
use crate::facts::age;
use crate::facts::leases;
use crate::facts::releases::{manager_release, release_of};
use crate::longhorn::resource::{MUTATOR, VALIDATOR};
use crate::longhorn::{ADMISSION_LABEL, Pod, Release, Resource, WEBHOOK_LOCK};

/// The label is put on while the manager starts, so that a pod may be Ready a moment before.
const LABEL_AFTER_READY: SignedDuration = SignedDuration::from_secs(60);
/// A start may take so long where the release does not say.
const LONGEST_START: i64 = 240;
/// A manager gives up a moment after its last wait is over.
const GRACE: i64 = 10;

/// Ready managers without the label by which the Service selects.
pub fn labels(cluster: &Cluster, out: &mut Outcome) {
    let outside = |pod: &&Pod| {
        let settled = pods::ready_changed(pod).is_none_or(|since| cluster.age(since) >= LABEL_AFTER_READY);
        // in a roll-out the pods of the release before are there, too
        let wants_label = release_of(cluster, pod).is_some_and(Release::labels_webhook_pods);
        wants_label && pod.is_ready() && settled && !pod.metadata.is_deleting() && !has_admission_label(pod)
    };
    for pod in cluster.manager_pods().filter(outside) {
        let since = out.first_seen(causes::LABEL_MISSING.id, &pod.metadata.name);
        out.find(label_missing(cluster, pod).since(since));
    }
}

fn label_missing(cluster: &Cluster, pod: &Pod) -> Finding {
    let (namespace, name, node) = (&cluster.namespace, &pod.metadata.name, &pod.spec.node_name);
    let (key, value) = ADMISSION_LABEL;
    let remedy = Remedy::new(
        "See whether a share manager of this node fails over (fast failover takes the label away and gives it back \
         when the node proves alive). If the label stays away, delete the pod: a new manager puts it on itself.",
    )
    .read(format!("kubectl -n {namespace} get pods -l app=longhorn-manager --show-labels"))
    .read(format!("kubectl -n {namespace} logs {name} -c longhorn-manager --tail=100"))
    .change(format!("kubectl -n {namespace} delete pod {name}"));
    Finding::new(
        &causes::LABEL_MISSING,
        ObjectRef::new("Pod", namespace, name),
        format!("manager pod {name} is Ready but lacks label {key}, so the admission Service passes it by"),
    )
    .node(node)
    .impact("one endpoint fewer for the admission webhook; none at all if every manager is like this")
    .because(EvidenceSource::Api, format!("the Service selects {key}={value}; the pod is Ready without it"))
    .remedy(remedy)
}

/// The Lease under which managers start their webhooks one node after the other.
pub fn lock(cluster: &Cluster, out: &mut Outcome) {
    if !cluster.can_read(Resource::Leases) {
        out.unknown("leases cannot be read: whether a manager holds the webhook Lease too long is unknown");
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
    let expired = leases::is_expired(cluster, lease);
    let pod = cluster.manager_pod_on(node);
    let stuck = match pod {
        // an expired Lease of a node that is gone or away stands in nobody's way
        None => !expired,
        Some(pod) if pods::is_away(cluster, pod) => !expired,
        Some(pod) => !pod.is_ready(),
    };
    if stuck {
        out.find(lock_stuck(cluster, node, pod, held, expired).since(Some(since)));
    }
}

fn lock_stuck(
    cluster: &Cluster,
    node: &str,
    pod: Option<&Pod>,
    held: SignedDuration,
    expired: bool,
) -> Finding {
    let namespace = &cluster.namespace;
    let text = "The manager of this node does not come up; find out why (log, Unhealthy events, pod network). \
                Deleting its pod lets the Lease pass on within 20 s.";
    let mut remedy = Remedy::new(text)
        .read(format!("kubectl -n {namespace} get lease {WEBHOOK_LOCK} -o yaml"))
        .read(format!("kubectl -n {namespace} get pods -l app=longhorn-manager -o wide"));
    if let Some(pod) = pod {
        let name = &pod.metadata.name;
        remedy = remedy
            .read(format!("kubectl -n {namespace} logs {name} -c longhorn-manager --tail=100"))
            .change(format!("kubectl -n {namespace} delete pod {name}"));
    }
    let state = match pod {
        Some(pod) => format!("manager pod {} on {node} is not Ready", pod.metadata.name),
        None => format!("there is no manager pod on {node}"),
    };
    let renewed = if expired { "it has expired, others may take it" } else { "it is being renewed" };
    Finding::new(
        &causes::LOCK_STUCK,
        ObjectRef::new("Lease", namespace, WEBHOOK_LOCK),
        format!(
            "node {node} has held the webhook start Lease for {} s and its manager is not Ready",
            held.as_secs()
        ),
    )
    .node(node)
    .impact("managers of all other nodes that start wait for this one, up to four minutes (eight in 1.9.2 and 1.9.3) for each of its attempts")
    .because(EvidenceSource::Api, format!("Lease {WEBHOOK_LOCK}: holder {node}, {renewed}"))
    .because(EvidenceSource::Api, state)
    .remedy(remedy)
}

/// Longhorn's two webhook configurations, where they may be read.
pub fn configurations(cluster: &Cluster, out: &mut Outcome) {
    let objects = &cluster.objects;
    let validator = objects.validating_webhooks.get(VALIDATOR).map(|object| object.webhooks.len());
    let mutator = objects.mutating_webhooks.get(MUTATOR).map(|object| object.webhooks.len());
    let (validating, mutating) =
        (Resource::ValidatingWebhookConfigurations, Resource::MutatingWebhookConfigurations);
    let kinds = [
        (validating, mutating, VALIDATOR, "validator", validator),
        (mutating, validating, MUTATOR, "mutator", mutator),
    ];
    for (kind, other, name, label, webhooks) in kinds {
        let sibling_recorded = cluster.readability(other) == Readability::Readable;
        match cluster.readability(kind) {
            Readability::Readable => {}
            // whoever records the one records the other; if neither is there, neither was asked for
            Readability::NotRecorded if sibling_recorded => {}
            Readability::NotRecorded => continue,
            state => {
                let state = state.as_str().replace('_', " ");
                out.unknown(format!("{kind} is {state}: whether {name} exists is unknown"));
                continue;
            }
        }
        let present = webhooks.is_some_and(|webhooks| webhooks > 0);
        out.sample(&gauges::CONFIGURED, &[label], f64::from(u8::from(present)));
        let installed = cluster.manager_daemon_set().is_some_and(|set| !set.metadata.is_deleting());
        if !present && installed {
            missing_configuration(cluster, kind, name, webhooks, out);
        }
    }
}

fn missing_configuration(
    cluster: &Cluster,
    kind: Resource,
    name: &'static str,
    webhooks: Option<usize>,
    out: &mut Outcome,
) {
    let seen = out.first_seen(causes::CONFIGURATION_MISSING.id, name);
    let seen = seen.filter(|seen| age::began_under_watch(cluster, *seen));
    // managers create them while they start, so a new installation is without for a moment
    let installed = cluster.manager_daemon_set().and_then(|set| set.metadata.created());
    let since = seen.or(installed.filter(|created| cluster.age(*created) < HOLD));
    let cause = if since.is_some_and(|since| cluster.age(since) < HOLD) {
        &causes::ROLL_OUT
    } else {
        &causes::CONFIGURATION_MISSING
    };
    let what = if webhooks.is_some() { "lists no webhook" } else { "does not exist" };
    let namespace = &cluster.namespace;
    let mut remedy = Remedy::new(
        "Managers create it when they start their webhook: restart one manager. If it vanishes again, find out who \
         deletes it (GitOps pruning, policy engines).",
    )
    .read("kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations | grep longhorn");
    if let Some(pod) = cluster.manager_pods().find(|pod| !pod.metadata.is_deleting()) {
        remedy = remedy.change(format!("kubectl -n {namespace} delete pod {}", pod.metadata.name));
    }
    out.find(
        Finding::new(
            cause,
            ObjectRef::cluster(kind.info().kind, name),
            format!("Longhorn's {} {name} {what}", kind.info().kind),
        )
        .since(since)
        .impact(
            "Longhorn objects are accepted unchecked and without the defaults that managers rely on; \
             from 1.9.2 on a manager that starts exits after 120 s without it",
        )
        .because(EvidenceSource::Api, format!("{name} {what}"))
        .remedy(remedy),
    );
}
