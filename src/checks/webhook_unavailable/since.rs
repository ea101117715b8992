//! Since when no one serves a webhook.

use jiff::{SignedDuration, Timestamp};

use super::service::WebhookRole;
use super::{NO_ENDPOINT, pods};
use crate::cluster::Cluster;
use crate::facts::age;

/// A pod that becomes Ready is listed in the EndpointSlices within moments.
pub const LISTED: SignedDuration = SignedDuration::from_secs(60);

/// Since when no one serves it, at the latest. `None` is unknown and must not be taken for new.
pub fn since(cluster: &Cluster, webhook: WebhookRole, seen: Option<Timestamp>) -> Option<Timestamp> {
    let by_pods =
        pods::none_ready_since(cluster, webhook.pods(cluster), webhook.container(cluster)).or_else(|| {
            // pods that became Ready a moment ago may not be in the EndpointSlices yet
            let newest =
                webhook.pods(cluster).filter(|pod| pod.is_ready()).filter_map(pods::ready_changed).max();
            newest.filter(|newest| cluster.age(*newest) < LISTED)
        });
    // no pods at all: an installation has just begun
    let set = cluster.manager_daemon_set().filter(|_| webhook.pods(cluster).next().is_none());
    let installed =
        set.and_then(|set| set.metadata.created()).filter(|made| cluster.age(*made) < NO_ENDPOINT);
    // the last lives of a loop that is older than a rollout make it look like one
    let by_pods = by_pods
        .filter(|since| cluster.age(*since) >= NO_ENDPOINT || !pods::all_loop_for_long(cluster, webhook));
    // every pod was asked to go, as by a change of the DaemonSet, and those that follow are not there yet
    let replaced =
        webhook.told_to_go(cluster).filter(|told| set.is_some() && cluster.age(*told) < NO_ENDPOINT);
    let told = by_pods.into_iter().chain(installed).chain(replaced).min();
    match told {
        // however short the pods say it is: it holds at least since then
        Some(told) => Some(seen.map_or(told, |seen| seen.min(told))),
        None => seen.filter(|seen| age::began_under_watch(cluster, *seen)),
    }
}
