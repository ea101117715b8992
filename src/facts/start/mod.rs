//! Where each longhorn-manager is in its start: over, under way, or waiting for its turn.
//!
//! A manager is over with its start when its pod became Ready *and* its node does not hold the Lease
//! [`WEBHOOK_LOCK`]: on success the holder is emptied (longhorn-manager v1.9.2 and v1.12.1 app/daemon.go
//! startWebhooksByLeaderElection). Up to 1.9 a manager is Ready as soon as its conversion webhook (9501)
//! answers, which is before it fills its caches and serves the admission webhook (9502).

pub mod crash;
mod hang;
pub mod marks;
mod turns;

use jiff::{SignedDuration, Timestamp};

pub use self::hang::{Hang, Hanging, Outlook};
use crate::cluster::Cluster;
use crate::leases::{self, is_expired};
use crate::longhorn::{ConditionStatus, ContainerStatus, Pod, Release, WEBHOOK_LOCK, condition};
use crate::nodes::kube_ready;
use crate::releases::{manager_release, release_of};
use crate::{looping, probes};

const CONTAINER: &str = "longhorn-manager";
/// A start takes seconds; what it complains about before this may pass on its own.
pub const START_GRACE: SignedDuration = SignedDuration::from_secs(60);
/// A Ready condition changes for the last time when the pod was last seen to become Ready. Beyond
/// this the change is taken for a later one (a node that was away, a probe that failed), not for
/// the end of the start.
const LONGEST_START: SignedDuration = SignedDuration::from_mins(15);
/// The kubelet writes NotReady a moment after a container was restarted.
const SLACK: SignedDuration = SignedDuration::from_secs(10);
/// A start may take so long where the release does not say.
const WAIT_WITHOUT_LIMIT: i64 = 240;

/// A start that is over.
#[derive(Debug, Clone, Copy)]
pub struct Done<'a> {
    pub pod: &'a Pod,
    /// When the container was started.
    pub started: Timestamp,
    /// When the pod became Ready.
    pub ready: Timestamp,
    /// From start to Ready.
    pub total: SignedDuration,
    /// The part of it for which this manager itself is accountable: where managers start one after
    /// the other under a Lease, the time since the one before became Ready.
    pub own: SignedDuration,
}

/// A start that is not over.
#[derive(Debug, Clone, Copy)]
pub struct UnderWay<'a> {
    pub pod: &'a Pod,
    /// When the container was started.
    pub started: Timestamp,
    /// Since when it is this manager's turn: no one else holds the Lease. The present moment while
    /// someone else does.
    pub turn: Timestamp,
    /// True when its node holds the Lease.
    pub holds: bool,
    /// True when no one holds the Lease, nor this node the last, so that it could.
    pub free: bool,
    /// True when the Lease was given back since, and a probe fails for another reason than that nothing listens: it serves.
    pub serves: bool,
}

/// A manager that was Ready and no longer is, or serves and is not, although its container runs.
#[derive(Debug, Clone, Copy)]
pub struct Lost<'a> {
    pub pod: &'a Pod,
    /// Since when it is not Ready.
    pub since: Timestamp,
}

/// What can be seen of the managers.
#[derive(Debug, Default)]
pub struct Starts<'a> {
    /// Starts that are over.
    pub done: Vec<Done<'a>>,
    /// Starts that are not.
    pub under_way: Vec<UnderWay<'a>>,
    /// Managers that lost readiness.
    pub lost: Vec<Lost<'a>>,
}

/// Where a manager is in its life, by its readiness.
enum StartPhase {
    Starting,
    Started(Timestamp),
    LostReady(Timestamp),
    Untold,
}

/// Looks at every manager pod whose container runs on a node that is there.
pub fn observe(cluster: &Cluster) -> Starts<'_> {
    let mut starts = Starts::default();
    let queue = Queue::of(cluster);
    for (pod, started) in running(cluster).chain(between_two_runs(cluster)) {
        if queue.is_held_by(pod) {
            starts.under_way.push(queue.under_way(cluster, pod, started));
            continue;
        }
        match phase(cluster, pod, started) {
            StartPhase::Started(ready) => {
                let total = ready.duration_since(started);
                let own = ready.duration_since(queue.before(started, ready));
                starts.done.push(Done { pod, started, ready, total, own });
            }
            StartPhase::Starting => match queue.under_way(cluster, pod, started) {
                // its start is over, however its probe fails
                start if start.serves && start.own(cluster) > start.limit(cluster) => {
                    starts.lost.push(Lost { pod, since: start.turn });
                }
                start => starts.under_way.push(start),
            },
            StartPhase::LostReady(since) => starts.lost.push(Lost { pod, since }),
            StartPhase::Untold => {}
        }
    }
    starts
}

impl UnderWay<'_> {
    /// How long its own start takes by now, without the time for which others had their turn.
    pub fn own(&self, cluster: &Cluster) -> SignedDuration {
        cluster.age(self.turn)
    }
}

/// True for a pod that is Ready while its manager has not served the admission webhook yet: up to 1.9
/// readiness asks the conversion webhook, and a start is not over as long as its node holds the Lease.
pub fn is_ready_too_early(cluster: &Cluster, pod: &Pod) -> bool {
    let too_early = release_of(cluster, pod)
        .is_some_and(|release| release.has_webhook_lock() && (release.major, release.minor) < (1, 10));
    too_early && leases::holder(cluster, WEBHOOK_LOCK) == Some(pod.spec.node_name.as_str())
}

/// True when the present run of a manager has come to the end of its start, as far as readiness and Lease tell.
pub fn is_over(cluster: &Cluster, pod: &Pod) -> bool {
    let started = pod.container_status(CONTAINER).and_then(ContainerStatus::running_since);
    let ready = started.is_some_and(|started| matches!(phase(cluster, pod, started), StartPhase::Started(_)));
    ready && leases::holder(cluster, WEBHOOK_LOCK) != Some(pod.spec.node_name.as_str())
}

/// Manager pods whose container runs, with its start.
fn running(cluster: &Cluster) -> impl Iterator<Item = (&Pod, Timestamp)> {
    present(cluster).filter_map(|pod| Some((pod, pod.container_status(CONTAINER)?.running_since()?)))
}

/// Manager pods whose container gave up waiting for its webhook for the first time and is restarted in a moment, with the start
/// of the run that ended: what held it back has not gone with it.
fn between_two_runs(cluster: &Cluster) -> impl Iterator<Item = (&Pod, Timestamp)> {
    const MOMENT: SignedDuration = SignedDuration::from_secs(15);
    present(cluster).filter_map(|pod| {
        let status = pod.container_status(CONTAINER)?;
        let end = status.state.terminated.as_ref().filter(|end| end.exit_code == 1)?;
        let wait = release_of(cluster, pod).and_then(Release::webhook_wait)?;
        let lately = end.finished_at.get().is_some_and(|at| cluster.age(at) <= MOMENT);
        let waited = looping::length(end).is_some_and(|ran| ran.as_secs() >= wait);
        let first = looping::looping(status, cluster.now).is_none();
        Some((pod, end.started_at.get().filter(|_| lately && waited && first)?))
    })
}

/// Manager pods that are to stay; not those on nodes that are away, whose status is old.
fn present(cluster: &Cluster) -> impl Iterator<Item = &Pod> {
    let here = |pod: &&Pod| kube_ready(cluster, &pod.spec.node_name) != Some(false);
    cluster.manager_pods().filter(|pod| !pod.metadata.is_deleting()).filter(here)
}

fn phase(cluster: &Cluster, pod: &Pod, started: Timestamp) -> StartPhase {
    if pod.is_ready() {
        // the node controller turns only Ready off while a node is away, so ContainersReady tells
        // better when the start ended
        let of = |kind| condition(&pod.status.conditions, kind).filter(|c| c.status == ConditionStatus::True);
        let ready = of("ContainersReady").or(of("Ready")).and_then(|c| c.last_transition_time.get());
        return match ready {
            Some(ready) if ready >= started && ready.duration_since(started) <= LONGEST_START => {
                StartPhase::Started(ready)
            }
            _ => StartPhase::Untold,
        };
    }
    let Some(ready) = condition(&pod.status.conditions, "Ready") else { return StartPhase::Starting };
    let container_ready = pod.container_status(CONTAINER).is_some_and(|status| status.ready);
    match ready.last_transition_time.get() {
        // another container of the pod, or the node controller, keeps it from being Ready
        _ if container_ready => StartPhase::Untold,
        Some(since) if since > started.checked_add(SLACK).unwrap_or(started) => StartPhase::LostReady(since),
        None if cluster.is_recorded() => StartPhase::Untold,
        _ => StartPhase::Starting,
    }
}

/// Who went before whom, on releases that start managers one after the other.
struct Queue<'a> {
    queues: bool,
    ready: Vec<Timestamp>,
    holder: Option<&'a str>,
    /// When the present holder, or the last one if no one holds the Lease, had it: from, to.
    last: Option<(&'a str, Timestamp, Timestamp)>,
}

impl<'a> Queue<'a> {
    fn of(cluster: &'a Cluster) -> Self {
        let queues = manager_release(cluster).is_none_or(Release::has_webhook_lock);
        let mut ready: Vec<_> = running(cluster)
            .filter_map(|(pod, started)| match phase(cluster, pod, started) {
                StartPhase::Started(ready) => Some(ready),
                _ => None,
            })
            .collect();
        ready.sort();
        let holder = leases::holder(cluster, WEBHOOK_LOCK).filter(|_| queues);
        let lease = cluster.objects.leases.get(WEBHOOK_LOCK).filter(|_| queues);
        let last = lease.and_then(|lease| {
            let spec = &lease.spec;
            let renewed = spec.renew_time.get().or(spec.acquire_time.get())?;
            let expires = SignedDuration::from_secs(spec.lease_duration_seconds.0.clamp(0, 600));
            let held = !spec.holder_identity.is_empty() && is_expired(cluster, lease);
            let to = if held { renewed.checked_add(expires).unwrap_or(renewed) } else { renewed };
            Some((spec.holder_identity.as_str(), spec.acquire_time.get().unwrap_or(renewed), to))
        });
        Queue { queues, ready, holder, last }
    }

    fn is_held_by(&self, pod: &Pod) -> bool {
        self.holder.is_some_and(|holder| holder == pod.spec.node_name)
    }

    /// When the one before became Ready, or the start itself.
    fn before(&self, started: Timestamp, end: Timestamp) -> Timestamp {
        let before = self.ready.partition_point(|ready| *ready < end);
        let last = before.checked_sub(1).and_then(|index| self.ready.get(index));
        last.copied().filter(|last| self.queues && *last > started).unwrap_or(started)
    }

    fn under_way<'p>(&self, cluster: &Cluster, pod: &'p Pod, started: Timestamp) -> UnderWay<'p> {
        let holds = self.is_held_by(pod);
        let turn = match self.last {
            // taking the Lease again under the same identity leaves acquireTime as it is
            Some((node, from, _)) if node == pod.spec.node_name => from,
            Some(_) if self.holder.is_some() => cluster.now,
            Some((_, _, to)) => to.max(self.before(started, cluster.now)),
            None => self.before(started, cluster.now),
        };
        let by_others = self.last.is_some_and(|(node, ..)| node != pod.spec.node_name);
        // given back since it was started, perhaps on its own: then it serves, and its probe fails for another reason than
        // that nothing listens
        let given = self.last.is_some_and(|(_, _, to)| to > started);
        let answers =
            || probes::failed_last(cluster, pod).is_some_and(|last| last.at >= started && !last.refused);
        let serves = self.holder.is_none() && given && answers();
        let free = by_others && self.holder.is_none() && !serves;
        UnderWay { pod, started, turn: turn.clamp(started, cluster.now.max(started)), holds, free, serves }
    }
}
