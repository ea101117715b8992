//! What the pods behind a webhook do while no one serves it.

use std::fmt;

use jiff::{SignedDuration, Timestamp};

use super::service::WebhookRole;
use crate::check::counted;
use crate::cluster::Cluster;
use crate::facts::looping::{self, Loop};
use crate::facts::nodes;
use crate::facts::releases::release_of;
use crate::facts::start::{self, Hanging};
use crate::longhorn::{ContainerStatus, Pod, Release};

/// What ends within this time has not begun to start its webhook: the environment check comes first
/// (longhorn-manager v1.12.1 app/daemon.go startManager).
const BEFORE_WEBHOOK_SECONDS: i64 = 5;
/// A manager that gives up waiting for its webhook ends after the wait of its release, or a little
/// earlier by the clock of the kubelet.
const CLOCK_SECONDS: i64 = 5;
/// One that runs for longer than this is past what made its predecessor end early.
const PAST_EARLY_END_SECONDS: i64 = 60;

/// Pods by what their container does.
#[derive(Debug, Clone, Copy, Default)]
pub struct States {
    /// The pod is Ready.
    pub ready: usize,
    /// The container runs, the pod is not Ready.
    pub running: usize,
    /// The container ended and waits for its next start.
    pub looping: usize,
    /// As `looping`, but it ends before it could have waited for the webhook.
    pub ending_early: usize,
    /// It hangs before it comes to its webhook.
    pub hanging: usize,
    /// The container runtime refuses its container, or one of its init containers.
    pub refused: usize,
    /// An init container holds it back.
    pub init: usize,
    /// The pod's node is not Ready, so nothing is known.
    pub away: usize,
    /// Anything else: not scheduled, image missing.
    pub other: usize,
}

impl States {
    /// Counts pods by the state of one container.
    pub fn of<'a>(
        cluster: &Cluster,
        hanging: &Hanging<'_>,
        pods: impl Iterator<Item = &'a Pod>,
        container: &str,
    ) -> Self {
        let mut states = States::default();
        for pod in pods {
            let hangs = hanging.contains_key(pod.metadata.name.as_str());
            *(if hangs { &mut states.hanging } else { states.slot(cluster, pod, container) }) += 1;
        }
        states
    }

    fn slot(&mut self, cluster: &Cluster, pod: &Pod, container: &str) -> &mut usize {
        if is_away(cluster, pod) {
            return &mut self.away;
        }
        if pod.is_ready() {
            return &mut self.ready;
        }
        if is_refused(pod) {
            return &mut self.refused;
        }
        let Some(status) = pod.container_status(container) else { return &mut self.other };
        let waiting = status.state.waiting.as_ref().map(|waiting| waiting.reason.as_str());
        match waiting {
            _ if ends_early(cluster, pod, status) => &mut self.ending_early,
            _ if status.state.running.is_some() => &mut self.running,
            _ if status.state.terminated.is_some() => &mut self.looping,
            Some("CrashLoopBackOff") => &mut self.looping,
            Some("PodInitializing") => &mut self.init,
            _ => &mut self.other,
        }
    }

    /// Pods that will not serve it on their own.
    pub fn ending(&self) -> usize {
        self.looping + self.ending_early + self.hanging + self.refused
    }

    /// Pods that try to serve the webhook and do not come to it.
    pub fn trying(&self) -> usize {
        self.running + self.looping
    }
}

impl States {
    /// Those of the most frequent state.
    pub fn most(&self) -> String {
        let Some((count, what)) = self.parts().into_iter().max_by_key(|(count, _)| *count) else {
            return "the Service has no pod".to_owned();
        };
        format!("{} {} {what}", counted(count, "pod"), if count == 1 { "is" } else { "are" })
    }

    fn parts(&self) -> Vec<(usize, &'static str)> {
        let mut parts = vec![
            (self.ready, "Ready"),
            (self.running, "not Ready"),
            (self.looping + self.ending_early, "crash-looping"),
            (self.hanging, "hanging"),
            (self.refused, "not starting"),
            (self.init, "in Init"),
            (self.away, "unreachable"),
            (self.other, "waiting"),
        ];
        parts.retain(|(count, _)| *count > 0);
        parts
    }
}

impl fmt::Display for States {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<_> = self.parts().iter().map(|(count, what)| format!("{count} {what}")).collect();
        f.write_str(if parts.is_empty() { "none" } else { "" })?;
        f.write_str(&parts.join(", "))
    }
}

/// True when the pod's node is known to be not Ready.
pub fn is_away(cluster: &Cluster, pod: &Pod) -> bool {
    nodes::kube_ready(cluster, &pod.spec.node_name) == Some(false)
}

/// True for a pod one of whose containers waits because the runtime refuses it, as for a policy that it cannot meet: nothing crashes there.
pub fn is_refused(pod: &Pod) -> bool {
    let mut statuses = pod.status.init_container_statuses.iter().chain(&pod.status.container_statuses);
    statuses.any(|status| status.state.waiting.is_some() && looping::cannot_start(status).is_some())
}

/// True when the last end of a container tells that it did not wait for its webhook in vain: a panic,
/// too little memory, or a fatal error before the wait could be over.
fn ends_early(cluster: &Cluster, pod: &Pod, status: &ContainerStatus) -> bool {
    let running = status.running_since();
    if running.is_some_and(|started| cluster.age(started).as_secs() > PAST_EARLY_END_SECONDS) {
        return false;
    }
    if looping::cannot_start(status).is_some() {
        return true;
    }
    let Some(end) = looping::last_end(status) else { return false };
    let ran = end
        .finished_at
        .get()
        .zip(end.started_at.get())
        .map(|(end, start)| end.duration_since(start).as_secs());
    let wait = release_of(cluster, pod).and_then(Release::webhook_wait);
    let least = wait.map_or(BEFORE_WEBHOOK_SECONDS, |wait| wait - CLOCK_SECONDS);
    match end.exit_code {
        // a panic, or a container that could not even be started
        2 | 126..=128 => true,
        1 => ran.is_some_and(|seconds| seconds < least),
        _ => looping::is_oom_killed(end),
    }
}

/// Since when none of these pods has been Ready for good, at the latest; `None` when one is, when there
/// are none, or when nothing tells. One that crash-loops has been no good since its last life at least,
/// whatever it was in between.
pub fn none_ready_since<'a>(
    cluster: &Cluster,
    pods: impl Iterator<Item = &'a Pod>,
    container: &str,
) -> Option<Timestamp> {
    let mut newest = None;
    for pod in pods {
        let crashed = is_about_to_crash(cluster, pod, container);
        if pod.is_ready() && !crashed {
            return None;
        }
        let looping = in_loop(cluster, pod, container);
        let life = looping.and_then(|looping| looping.end?.started_at.get());
        // a pod of a node that was away is not Ready since then
        let changed = ready_changed(pod);
        let changed = changed.map(|changed| nodes::not_before_return(cluster, &pod.spec.node_name, changed));
        newest = newest.max(Some(life.into_iter().chain(changed).min()?));
    }
    newest
}

/// True for a container in a crash loop that has not lived for longer than it did the last time: even if its
/// pod is Ready now, no one can build on it.
pub fn is_about_to_crash(cluster: &Cluster, pod: &Pod, container: &str) -> bool {
    let Some(last) = in_loop(cluster, pod, container).and_then(|looping| looping.run()) else { return false };
    let running = pod.container_status(container).and_then(|status| status.state.running.as_ref());
    let started = running.and_then(|running| running.started_at.get());
    started.is_none_or(|started| cluster.age(started) <= last + SignedDuration::from_secs(CLOCK_SECONDS))
}

/// The crash loop of the container that serves the webhook: managers from 1.5 on, which may be over theirs.
fn in_loop<'a>(cluster: &Cluster, pod: &'a Pod, container: &str) -> Option<Loop<'a>> {
    match container {
        "longhorn-manager" => start::crash::looping(cluster, pod),
        _ => looping::looping(pod.container_status(container)?, cluster.now),
    }
}

/// True when every pod behind the webhook crash-loops and has been restarted more often than a rollout or a reboot of its node
/// takes (longhorn issue 6553: nine managers, 93 restarts). The kubelet keeps the last life only, so that such a loop looks as if
/// it had begun with that.
pub fn all_loop_for_long(cluster: &Cluster, webhook: WebhookRole) -> bool {
    const LOOP_AT: i64 = 5;
    let mut pods = webhook.pods(cluster).peekable();
    let container = webhook.container(cluster);
    let loops = |pod: &Pod| in_loop(cluster, pod, container).is_some_and(|found| found.restarts >= LOOP_AT);
    pods.peek().is_some() && pods.all(loops)
}

/// How many of these pods crash-loop.
pub fn crash_looping<'a>(cluster: &Cluster, pods: impl Iterator<Item = &'a Pod>, container: &str) -> usize {
    pods.filter(|pod| in_loop(cluster, pod, container).is_some()).count()
}

/// When the pod last became Ready or not Ready; its creation when it says nothing yet.
pub fn ready_changed(pod: &Pod) -> Option<Timestamp> {
    pod.ready_changed().or(pod.metadata.created())
}
