//! How long managers took, or take, from the start of the container to a Ready pod.

use jiff::{SignedDuration, Timestamp};

use crate::cluster::Cluster;
use crate::facts::leases;
use crate::facts::nodes;
use crate::facts::releases::manager_release;
use crate::longhorn::{ConditionStatus, Pod, Release, WEBHOOK_LOCK, condition};

/// A Ready condition changes for the last time when the pod was last seen to become Ready. Beyond
/// this the change is taken for a later one (a node that was away, a probe that failed), not for
/// the end of the start.
const LONGEST_START: SignedDuration = SignedDuration::from_mins(15);
/// The kubelet writes NotReady a moment after a container was started anew.
const SLACK: SignedDuration = SignedDuration::from_secs(10);

/// One observed start.
#[derive(Debug, Clone, Copy)]
pub struct Observed<'a> {
    /// The manager pod.
    pub pod: &'a Pod,
    /// When the container was started.
    pub started: Timestamp,
    /// When the pod became Ready; `None` while it is not.
    pub ready: Option<Timestamp>,
    /// From start to Ready, or to now.
    pub total: SignedDuration,
    /// The part of it for which this manager itself is accountable: where managers start one after
    /// the other under a Lease, the time since the one before became Ready.
    pub own: SignedDuration,
}

/// A manager that was Ready and is not any more although its container runs.
#[derive(Debug, Clone, Copy)]
pub struct Lost<'a> {
    /// The manager pod.
    pub pod: &'a Pod,
    /// Since when it is not Ready.
    pub since: Timestamp,
}

/// What can be seen of the managers.
#[derive(Debug, Default)]
pub struct Starts<'a> {
    /// Starts, finished or under way.
    pub observed: Vec<Observed<'a>>,
    /// Managers that wait for another one to start.
    pub waiting: Vec<&'a Pod>,
    /// Managers that lost readiness.
    pub lost: Vec<Lost<'a>>,
}

/// Where a manager is in its life.
enum Phase {
    Starting,
    Started(Timestamp),
    LostReady(Timestamp),
    Untold,
}

/// Looks at every manager pod whose container runs on a node that is there.
pub fn observe(cluster: &Cluster) -> Starts<'_> {
    let mut starts = Starts::default();
    let queue = Queue::of(cluster);
    for (pod, started) in running(cluster) {
        match phase(cluster, pod, started) {
            Phase::Started(ready) => {
                let total = ready.duration_since(started);
                let own = ready.duration_since(queue.served_before(started, ready));
                starts.observed.push(Observed { pod, started, ready: Some(ready), total, own });
            }
            Phase::Starting if queue.is_waiting(cluster, pod) => starts.waiting.push(pod),
            Phase::Starting => {
                let own = cluster.age(queue.served_before(started, cluster.now));
                let total = cluster.age(started);
                starts.observed.push(Observed { pod, started, ready: None, total, own });
            }
            Phase::LostReady(since) => starts.lost.push(Lost { pod, since }),
            Phase::Untold => {}
        }
    }
    starts
}

/// Manager pods whose container runs, with its start; not those on nodes that are away, whose
/// status is old.
fn running(cluster: &Cluster) -> impl Iterator<Item = (&Pod, Timestamp)> {
    let away = |pod: &Pod| nodes::kube_ready(cluster, &pod.spec.node_name) == Some(false);
    cluster.manager_pods().filter(move |pod| !pod.metadata.is_deleting() && !away(pod)).filter_map(|pod| {
        let running = pod.container_status("longhorn-manager")?.state.running.as_ref()?;
        Some((pod, running.started_at.get()?))
    })
}

fn phase(cluster: &Cluster, pod: &Pod, started: Timestamp) -> Phase {
    if pod.is_ready() {
        // the node controller turns only Ready off while a node is away, so ContainersReady tells
        // better when the start ended
        let of = |kind| condition(&pod.status.conditions, kind).filter(|c| c.status == ConditionStatus::True);
        let ready = of("ContainersReady").or(of("Ready")).and_then(|c| c.last_transition_time.get());
        return match ready {
            Some(ready) if ready >= started && ready.duration_since(started) <= LONGEST_START => {
                Phase::Started(ready)
            }
            _ => Phase::Untold,
        };
    }
    let Some(ready) = condition(&pod.status.conditions, "Ready") else { return Phase::Starting };
    let container_ready = pod.container_status("longhorn-manager").is_some_and(|status| status.ready);
    match ready.last_transition_time.get() {
        // another container of the pod, or the node controller, keeps it from being Ready
        _ if container_ready => Phase::Untold,
        Some(since) if since > started.checked_add(SLACK).unwrap_or(started) => Phase::LostReady(since),
        None if cluster.is_recorded() => Phase::Untold,
        _ => Phase::Starting,
    }
}

/// Who went before whom, on releases that start managers one after the other.
struct Queue {
    queues: bool,
    ready: Vec<Timestamp>,
    holder: Option<String>,
}

impl Queue {
    fn of(cluster: &Cluster) -> Self {
        let queues = manager_release(cluster).is_some_and(Release::has_webhook_lock);
        let mut ready: Vec<_> = running(cluster)
            .filter_map(|(pod, started)| match phase(cluster, pod, started) {
                Phase::Started(ready) => Some(ready),
                _ => None,
            })
            .collect();
        ready.sort();
        Queue { queues, ready, holder: leases::holder(cluster, WEBHOOK_LOCK).map(str::to_owned) }
    }

    /// When the turn of a manager came: when the one before it became Ready, or its own start.
    fn served_before(&self, started: Timestamp, end: Timestamp) -> Timestamp {
        let before = self.ready.partition_point(|ready| *ready < end);
        let last = before.checked_sub(1).and_then(|index| self.ready.get(index));
        last.copied().filter(|last| self.queues && *last > started).unwrap_or(started)
    }

    /// True when another node holds the Lease.
    fn is_waiting(&self, cluster: &Cluster, pod: &Pod) -> bool {
        let queues = self.queues || manager_release(cluster).is_none();
        queues && self.holder.as_ref().is_some_and(|holder| *holder != pod.spec.node_name)
    }
}
