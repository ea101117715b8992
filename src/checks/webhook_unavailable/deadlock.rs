//! Managers that wait for each other.

use super::outage::Outage;
use super::service::WebhookRole;
use super::{NO_ENDPOINT, pods};
use crate::cluster::Cluster;
use crate::longhorn::{Pod, WEBHOOK_LOCK};

impl Outage<'_> {
    /// True when several who should serve it run or loop and none becomes Ready, and neither log nor object names another reason.
    /// Managers that end before they come to their webhook, or whose node is away, are no part of it. Where the holder of the start
    /// Lease hangs for a reason of its own, they wait for that one and not for each other; where the readiness probe asks a port
    /// that their release does not serve, no wait helps.
    ///
    /// Up to 1.4 the webhook's own Deployment is meant, and managers that wait for it in their init container (longhorn v1.4.4
    /// deploy/longhorn.yaml).
    pub(super) fn is_deadlock(&self) -> bool {
        let other = self.holder.is_some() || self.probe.is_some() || self.unreached.is_some();
        if self.states.ready > 0
            || self.states.trying() == 0
            || other
            || all_are_new(self.cluster, self.webhook)
        {
            return false;
        }
        match self.webhook.has_deployment(self.cluster) {
            true => self.managers.init > 0,
            // one alone waits for no other
            false => self.states.trying() > 1,
        }
    }

    /// The pod whose back-off is worth ending: that of the start Lease's holder where there is one.
    pub(super) fn first_to_go(&self) -> Option<&Pod> {
        let (cluster, webhook) = (self.cluster, self.webhook);
        let lease = cluster.objects.leases.get(WEBHOOK_LOCK);
        let holder = lease.map(|lease| lease.spec.holder_identity.as_str());
        let of_holder = webhook.pods(cluster).find(|pod| holder == Some(pod.spec.node_name.as_str()));
        of_holder.or_else(|| webhook.pods(cluster).find(|pod| !pods::is_away(cluster, pod)))
    }
}

/// True when every pod behind it was created a moment ago, as after its manifest was put right: they start, and do not wait for
/// each other yet.
fn all_are_new(cluster: &Cluster, webhook: WebhookRole) -> bool {
    let mut pods = webhook.pods(cluster).peekable();
    let is_new = |pod: &Pod| {
        let begun = pod.status.start_time.get().or(pod.metadata.created());
        begun.is_some_and(|begun| cluster.age(begun) < NO_ENDPOINT)
    };
    pods.peek().is_some() && pods.all(is_new)
}
