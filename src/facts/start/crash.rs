//! Crash loops of managers, and when one is over sooner than the kubelet's back-off can tell.

use jiff::SignedDuration;

use super::CONTAINER;
use crate::cluster::Cluster;
use crate::longhorn::{Pod, Release, Terminated, UPGRADE_LOCK};
use crate::looping::{self, Loop};
use crate::releases::release_of;
use crate::{leases, nodes, removal};

/// How long a start goes on after its manager gave the Lease back: upgrade of objects, settings, node.
const REST_OF_A_START: SignedDuration = SignedDuration::from_secs(60);
/// The same where no manager upgrades objects, for which they queue by a Lease of their own: a second or two (seen with v1.11.3 and
/// v1.12.1), and what a loaded API server makes of them.
const REST_WITHOUT_QUEUE: SignedDuration = SignedDuration::from_secs(15);

/// The crash loop of a manager, where it is in one.
///
/// Exit code 1 is a fatal error of a start (longhorn-manager v1.12.1 app/daemon.go DaemonCmd): a manager that is Ready, holds
/// the start Lease no more, is known to Longhorn as Ready (where Longhorn is not being taken away) and runs a minute longer than the last time has passed the place.
/// Where it ended by waiting for its webhook, it has passed that place once it gave the Lease back (startWebhooksByLeaderElection),
/// however long it waited the last time. A panic or a kill comes at any time, so there the kubelet's back-off has to pass.
pub fn looping<'a>(cluster: &Cluster, pod: &'a Pod) -> Option<Loop<'a>> {
    let status = pod.container_status(CONTAINER)?;
    let found = looping::looping(status, cluster.now)?;
    // one that is being deleted, as by an uninstallation, is not Ready any more, which says nothing of its last crash
    if pod.metadata.is_deleting() && status.state.waiting.is_none() {
        return None;
    }
    let running = status.running_since();
    // one kill after one exit, as every second start of a fresh installation has it, is no loop
    let exits = found.restarts.saturating_add(i64::from(running.is_none()));
    let ended_from_outside =
        |end: &Terminated| matches!(end.exit_code, 0 | 137 | 143) && !looping::is_oom_killed(end);
    if exits <= 2 && found.end.is_some_and(ended_from_outside) {
        return None;
    }
    let past = found.end.is_some_and(|end| end.exit_code == 1)
        && running.zip(found.run()).is_some_and(|(started, last)| {
            cluster.age(started) >= place(cluster, pod, last) + rest(cluster, pod)
        })
        && super::is_over(cluster, pod)
        // its node may go before it does
        && (nodes::is_ready(cluster, &pod.spec.node_name) || removal::under_way(cluster).is_some());
    (!past).then_some(found)
}

/// How much of a start is left at most where its Lease was given back. Between two attempts the Lease of the upgrade is free, too:
/// readiness has to have lasted meanwhile.
fn rest(cluster: &Cluster, pod: &Pod) -> SignedDuration {
    let queue =
        cluster.objects.leases.get(UPGRADE_LOCK).is_none() || leases::holder(cluster, UPGRADE_LOCK).is_some();
    let lasts = pod.ready_changed().is_some_and(|since| cluster.age(since) >= REST_WITHOUT_QUEUE);
    if queue || !lasts { REST_OF_A_START } else { REST_WITHOUT_QUEUE }
}

/// How long a start has to be under way to have passed what ended the last one, where it is over by Lease and readiness.
fn place(cluster: &Cluster, pod: &Pod, last: SignedDuration) -> SignedDuration {
    /// A manager ends a moment after its wait is over.
    const MOMENT: i64 = 10;
    let release = release_of(cluster, pod).filter(|release| release.has_webhook_lock());
    let wait = release.and_then(Release::webhook_wait);
    let waited = wait.is_some_and(|wait| (wait..=wait + MOMENT).contains(&last.as_secs()));
    if waited { SignedDuration::ZERO } else { last }
}
