//! Managers that others overtake while they wait for their turn to start.
//!
//! Who waits tries to take the start Lease every two seconds, and all managers have the rights of one service account
//! (longhorn-manager v1.9.2 and v1.12.1 app/daemon.go startWebhooksByLeaderElection). One that leaves a free Lease to a
//! manager that came later does not get through to the API server.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::{CONTAINER, Done, START_GRACE, Starts, UnderWay};
use crate::check::{Evidence, EvidenceSource};
use crate::cluster::Cluster;
use crate::longhorn::{Pod, Release, WEBHOOK_LOCK};
use crate::releases::release_of;
use crate::{api, leases, looping, probes};

/// How long a Lease has to be left alone.
const WAITED: SignedDuration = SignedDuration::from_secs(30);

/// Why a start that waits for its turn most likely gets no answer of the API server, where its log cannot tell.
pub fn overtaken(cluster: &Cluster, starts: &Starts, start: &UnderWay) -> Option<Vec<Evidence>> {
    if start.holds || cluster.history.current_log(start.pod, CONTAINER).is_some() {
        return None;
    }
    let (at, by) = by_holder(cluster, starts, start).or_else(|| by_one_that_is_over(cluster, start))?;
    let failed =
        probes::failed_lately(cluster, start.pod).filter(|failed| failed.refused && failed.at > at)?;
    let probe = format!(
        "the pod's readiness probe was still refused at {}, so its startup has not finished",
        failed.at
    );
    let right = "probably the API server is not answering this pod: other managers work with the same service account";
    Some(vec![api(by), EvidenceSource::Event.says(probe), api(right)])
}

/// The holder came later and took the Lease, which no one can have had before.
fn by_holder(cluster: &Cluster, starts: &Starts, start: &UnderWay) -> Option<(Timestamp, String)> {
    let node = leases::holder(cluster, WEBHOOK_LOCK)?;
    let taken = cluster.objects.leases.get(WEBHOOK_LOCK)?.spec.acquire_time.get()?;
    let waited =
        taken.duration_since(start.started) >= WAITED && cluster.age(start.started) >= START_GRACE + WAITED;
    // of two that wait the other one may have had it
    let alone = starts.under_way.iter().filter(|other| !other.holds).count() == 1;
    let holder = cluster.manager_pod_on(node).filter(|_| waited && alone)?;
    life(holder).filter(|life| *life > start.started)?;
    let done: BTreeMap<&str, &Done> =
        starts.done.iter().map(|done| (done.pod.metadata.name.as_str(), done)).collect();
    let concerned = [&holder.metadata.name, &start.pod.metadata.name];
    let mut others = cluster.manager_pods().filter(|other| !concerned.contains(&&other.metadata.name));
    let idle = |other: &Pod| {
        done.get(other.metadata.name.as_str()).is_some_and(|done| is_over(cluster, done, start.started))
    };
    others.all(idle).then(|| {
        let text = format!(
            "the manager has waited since {}, although the start Lease was free until {node}'s manager, started later, took it at {taken}",
            start.started
        );
        (taken, text)
    })
}

/// Another manager gave the Lease back while this one waited, and no one has taken it since.
fn by_one_that_is_over(cluster: &Cluster, start: &UnderWay) -> Option<(Timestamp, String)> {
    let lease = &cluster.objects.leases.get(WEBHOOK_LOCK)?.spec;
    let given = lease.renew_time.get().filter(|given| *given > start.started)?;
    let passes = lease.holder_identity.is_empty() && start.lets_its_turn_pass(cluster);
    passes.then(|| {
        let text = format!(
            "the manager has waited since {}, although the start Lease has been free since another manager released it at {given}",
            start.started
        );
        (given, text)
    })
}

/// True when a manager was over with its start at that moment. Up to 1.9 readiness comes before the end of it.
fn is_over(cluster: &Cluster, done: &Done, moment: Timestamp) -> bool {
    let release = release_of(cluster, done.pod);
    let early = release.is_none_or(|release| (release.major, release.minor) < (1, 10));
    let longest = release.and_then(Release::longest_start).map(SignedDuration::from_secs);
    let long_over = longest.is_some_and(|longest| moment.duration_since(done.started) >= longest);
    done.ready <= moment && (!early || long_over)
}

/// When the present or the last life of a manager began.
fn life(pod: &Pod) -> Option<Timestamp> {
    let status = pod.container_status(CONTAINER)?;
    let running = status.running_since();
    running.or_else(|| looping::last_end(status)?.started_at.get())
}
