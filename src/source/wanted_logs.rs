//! Whose logs are read, by the exporter and by `record` alike: of the last run of a container that crashed, and of the
//! present run of one that does not get on with its start, or of a CSI plugin whose volumes are not mounted. The exporter reads those of
//! Ready managers in turn, too.

use std::collections::BTreeSet;
use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use http_body_util::{BodyExt, Limited};
use jiff::{SignedDuration, Timestamp};
use kube::Client;
use kube::api::{LogParams, Request};
use kube::client::Body;

use crate::longhorn::{
    ContainerStatus, Lease, Owner, Pod, ROTATION_LATE, ROTATION_LOCK, SharedText, Store, Terminated, Volume,
    VolumeState, WEBHOOK_LOCK,
};

/// Label `app` of a manager's pod, and the name of its container.
const MANAGER: &str = "longhorn-manager";
/// The same of the CSI plugin.
const PLUGIN: &str = "longhorn-csi-plugin";
/// Containers by the label `app` of their pod. The deployer's init container waits for a manager.
const CONTAINERS: [(&str, &str); 4] = [
    (MANAGER, MANAGER),
    ("longhorn-ui", "longhorn-ui"),
    ("longhorn-driver-deployer", "longhorn-driver-deployer"),
    ("longhorn-driver-deployer", "wait-longhorn-manager"),
];
/// A start takes seconds. What takes longer says in its log what it waits for.
const SLOW: SignedDuration = SignedDuration::from_secs(60);
/// A container whose last run ended so lately may be in a loop.
const RECENT: SignedDuration = SignedDuration::from_mins(10);
/// Bounds of the pause until the log of a present run is read again: it grows with the run.
const PAUSE: (i64, i64) = (15, 30);
/// What a manager said earlier in its present run may be over. What it waits for it repeats at least every
/// minute: an informer's longest pause is 30 s and as much again by chance (client-go tools/cache/reflector.go).
const SINCE: i64 = 120;

/// Ready managers whose logs are read at each look: 36 a minute, so that up to 18 are read every 30 s, 60 every 100 s, and no API
/// server is asked for more, however many there are.
pub(crate) const IN_TURN: usize = 6;

/// A run of a container whose log is wanted. The last run is the same in the back-off before the
/// restart and after it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Run {
    pub(crate) pod: SharedText,
    pub(crate) uid: SharedText,
    pub(crate) container: &'static str,
    /// True for the last run; false for the present one, whose log goes on.
    pub(crate) is_over: bool,
    /// True for a last run whose container was not started again yet: the kubelet gives its log as the present one.
    just_ended: bool,
    /// Second of the end or of the start, else the number of restarts.
    which: i64,
    /// How the last run ended.
    pub(crate) exit_code: Option<i64>,
}

impl Run {
    fn of(pod: &Pod, container: &'static str, is_over: bool, which: i64) -> Self {
        let (pod, uid) = (pod.metadata.name.clone(), pod.metadata.uid.clone());
        Run { pod, uid, container, is_over, just_ended: false, which, exit_code: None }
    }

    /// Asks for its last lines, and for no more of them than so many bytes. A server may answer with more; what is
    /// twice as long is an error.
    pub(crate) async fn log(
        &self,
        client: &Client,
        namespace: &str,
        lines: i64,
        bytes: i64,
    ) -> kube::Result<(StatusCode, Result<Bytes, String>)> {
        let params = LogParams {
            container: Some(self.container.to_owned()),
            previous: self.is_over && !self.just_ended,
            tail_lines: Some(lines),
            limit_bytes: Some(bytes),
            since_seconds: (!self.is_over && self.container == MANAGER).then_some(SINCE),
            ..LogParams::default()
        };
        let request = Request::new(format!("/api/v1/namespaces/{namespace}/pods")).logs(&self.pod, &params);
        let request = request.map_err(kube::Error::BuildRequest)?;
        let response = client.send(request.map(Body::from)).await?;
        let status = response.status();
        let limit = usize::try_from(bytes).unwrap_or(usize::MAX).saturating_mul(2);
        let body = Limited::new(response.into_body(), limit).collect().await;
        Ok((status, body.map(|body| body.to_bytes()).map_err(|error| error.to_string())))
    }

    /// When the log of a present run should be read again.
    pub(crate) fn pause(&self, now: Timestamp) -> Duration {
        let age = now.as_second().saturating_sub(self.which);
        Duration::from_secs((age / 4).clamp(PAUSE.0, PAUSE.1).unsigned_abs())
    }
}

/// Every run whose log is wanted now.
pub(crate) fn runs(
    pods: &Store<Pod>,
    leases: &Store<Lease>,
    volumes: &Store<Volume>,
    now: Timestamp,
) -> Vec<Run> {
    let mut runs = unmounted(pods, volumes, now);
    for (app, container) in CONTAINERS {
        for pod in pods.of(Owner::App, app) {
            let Some(status) = status(pod, container) else { continue };
            runs.extend(last(pod, container, status));
            let starts = || lasts_long(pod, container, status, now) && !pod.metadata.is_deleting();
            let asked =
                || is_new(status, now) || holds_lock(leases, pod, now) || lost_lock(leases, status, now);
            if starts() && (!status.ready || asked()) {
                runs.extend(present(pod, container, status));
            }
        }
    }
    runs
}

/// The CSI plugins on the nodes of attached volumes whose pods all wait: why a mount fails, only their logs and Events of other namespaces say.
fn unmounted(pods: &Store<Pod>, volumes: &Store<Volume>, now: Timestamp) -> Vec<Run> {
    let waits = volumes.iter().filter(|volume| is_unmounted(volume));
    let nodes: BTreeSet<&str> = waits.map(|volume| volume.status.current_node_id.as_str()).collect();
    if nodes.is_empty() {
        return Vec::new();
    }
    let plugins = pods.of(Owner::App, PLUGIN).filter(|pod| nodes.contains(pod.spec.node_name.as_str()));
    let lasting =
        plugins.filter(|pod| status(pod, PLUGIN).is_some_and(|status| lasts_long(pod, PLUGIN, status, now)));
    lasting.filter_map(|pod| present(pod, PLUGIN, status(pod, PLUGIN)?)).collect()
}

/// True for an attached volume whose pods all wait.
pub(crate) fn is_unmounted(volume: &Volume) -> bool {
    volume.status.state == VolumeState::Attached && !volume.waiting_pods().is_empty()
}

/// The present runs of Ready managers. That one of them lost the API server shows in no object while nothing waits for it.
pub(crate) fn ready(pods: &Store<Pod>, now: Timestamp) -> impl Iterator<Item = Run> {
    pods.of(Owner::App, MANAGER).filter_map(move |pod| ready_run(pod, now))
}

/// The present run of this manager, if it is Ready and no longer starting.
pub(crate) fn ready_run(pod: &Pod, now: Timestamp) -> Option<Run> {
    let is_manager = pod.metadata.label("app") == Some(MANAGER) && !pod.metadata.is_deleting();
    let status = status(pod, MANAGER).filter(|status| is_manager && status.ready)?;
    present(pod, MANAGER, status).filter(|_| lasts_long(pod, MANAGER, status, now))
}

fn status<'a>(pod: &'a Pod, container: &str) -> Option<&'a ContainerStatus> {
    let all = pod.status.container_statuses.iter().chain(&pod.status.init_container_statuses);
    all.into_iter().find(|status| status.name == container)
}

fn last(pod: &Pod, container: &'static str, status: &ContainerStatus) -> Option<Run> {
    // a kubelet may say for a whole back-off that a container ended, until it says that it waits (seen with 1.36.3: 14 s); once started
    // again, its log is that of the last state
    let again = |ended: &&Terminated| ended.exit_code != 0 && status.restart_count.0 > 0;
    let just_ended = status.state.terminated.as_ref().filter(again);
    let ended = just_ended.or(status.last_state.terminated.as_ref())?;
    let which = ended.finished_at.get().map_or(status.restart_count.0, Timestamp::as_second);
    let run = Run::of(pod, container, true, which);
    Some(Run { exit_code: Some(ended.exit_code), just_ended: just_ended.is_some(), ..run })
}

fn present(pod: &Pod, container: &'static str, status: &ContainerStatus) -> Option<Run> {
    // for a moment after its end it is the present run still; then the next one is
    let ended = status.state.terminated.as_ref().and_then(|ended| ended.started_at.get());
    let started = status.running_since().or(ended)?;
    Some(Run::of(pod, container, false, started.as_second()))
}

fn lasts_long(pod: &Pod, container: &'static str, status: &ContainerStatus, now: Timestamp) -> bool {
    let started = present(pod, container, status).map(|run| run.which);
    started.is_some_and(|started| now.as_second().saturating_sub(started) >= SLOW.as_secs())
}

/// True for a container without a readiness probe that was restarted lately: that it counts as ready
/// says nothing. Managers have one.
fn is_new(status: &ContainerStatus, now: Timestamp) -> bool {
    let ended = status.last_state.terminated.as_ref().and_then(|ended| ended.finished_at.get());
    status.name != MANAGER && ended.is_some_and(|ended| now.duration_since(ended) < RECENT)
}

/// True when the manager of this pod has been starting its webhooks for long: up to 1.9 it is Ready
/// before they are served.
fn holds_lock(leases: &Store<Lease>, pod: &Pod, now: Timestamp) -> bool {
    let Some(lease) = leases.get(WEBHOOK_LOCK) else { return false };
    let since = lease.spec.acquire_time.get();
    let node = pod.spec.node_name.as_str();
    !node.is_empty()
        && lease.spec.holder_identity == node
        && since.is_none_or(|since| now.duration_since(since) >= SLOW)
}

/// True for a manager that should have renewed or kept [`ROTATION_LOCK`], where no one has for long, or another one took it lately from
/// one that still runs: it may have lost the API server, which only its log tells.
fn lost_lock(leases: &Store<Lease>, status: &ContainerStatus, now: Timestamp) -> bool {
    const TAKEN_LATELY: SignedDuration = SignedDuration::from_mins(10);
    let Some(spec) = leases.get(ROTATION_LOCK).map(|lease| &lease.spec) else { return false };
    let (Some(renewed), Some(started)) = (spec.renew_time.get(), status.running_since()) else {
        return false;
    };
    let stale = !spec.holder_identity.is_empty() && now.duration_since(renewed) >= ROTATION_LATE;
    // after a rollout all managers are younger than that
    let taken = spec.acquire_time.get().is_some_and(|taken| {
        now.duration_since(taken) < TAKEN_LATELY && taken.duration_since(started) >= SLOW * 2
    });
    status.name == MANAGER && (stale || taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: &str = "2026-01-01T01:00:00Z";
    const LONG: &str = r#""running":{"startedAt":"2026-01-01T00:59:00Z"}"#;
    const SHORT: &str = r#""running":{"startedAt":"2026-01-01T00:59:01Z"}"#;
    const LAST: &str = r#""lastState":{"terminated":{"exitCode":1,"finishedAt":"2026-01-01T00:00:00Z"}}"#;

    fn pod(app: &str, container: &str, status: &str) -> Pod {
        let json = format!(
            r#"{{"metadata":{{"name":"p","uid":"u","labels":{{"app":"{app}"}}}},"spec":{{"nodeName":"n"}},
               "status":{{"containerStatuses":[{{"name":"{container}",{status}}}]}}}}"#
        );
        serde_json::from_str(&json).unwrap()
    }

    fn manager(status: &str) -> Pod {
        pod("longhorn-manager", "longhorn-manager", status)
    }

    fn wanted(pod: Pod, lease: Option<&str>) -> Vec<Run> {
        let lease = lease.map(|spec| {
            let json = format!(r#"{{"metadata":{{"name":"{WEBHOOK_LOCK}"}},"spec":{spec}}}"#);
            serde_json::from_str::<Lease>(&json).unwrap()
        });
        let (mut pods, mut leases) = (Store::default(), Store::default());
        pods.insert(pod);
        lease.into_iter().for_each(|lease| leases.insert(lease));
        runs(&pods, &leases, &Store::default(), NOW.parse().unwrap())
    }

    #[test]
    fn the_log_of_a_plugin_is_wanted_while_all_pods_of_an_attached_volume_wait() {
        let running = format!(r#""state":{{{LONG}}}"#);
        for (state, phases, node, wanted) in [
            ("attached", ["Pending", "Pending"], "n", true),
            ("attached", ["Pending", "Running"], "n", false),
            ("attached", ["Pending", "Pending"], "other", false),
            ("detached", ["Pending", "Pending"], "n", false),
        ] {
            let pods = phases.map(|phase| format!(r#"{{"podName":"a","podStatus":"{phase}"}}"#)).join(",");
            let volume = format!(
                r#"{{"metadata":{{"name":"v"}},"status":{{"state":"{state}","currentNodeID":"{node}",
                   "kubernetesStatus":{{"workloadsStatus":[{pods}]}}}}}}"#
            );
            let (mut pods, mut volumes) = (Store::default(), Store::default());
            pods.insert(pod(PLUGIN, PLUGIN, &running));
            volumes.insert(serde_json::from_str::<Volume>(&volume).unwrap());
            let runs = runs(&pods, &Store::default(), &volumes, NOW.parse().unwrap());
            assert_eq!(runs.len(), usize::from(wanted), "{state} {phases:?} {node}");
        }
    }

    #[test]
    fn back_off_and_restart_are_the_same_last_run() {
        let waiting =
            wanted(manager(&format!(r#""restartCount":4,"state":{{"waiting":{{}}}},{LAST}"#)), None);
        let running = manager(&format!(r#""restartCount":5,"ready":true,"state":{{{LONG}}},{LAST}"#));
        let running = wanted(running, None);
        assert_eq!(waiting.len(), 1);
        assert_eq!(waiting, running);
        assert_ne!(running, wanted(manager(&LAST.replace("00:00Z", "09:00Z")), None));
    }

    #[test]
    fn the_log_of_a_container_that_just_ended_is_its_present_one() {
        let again = wanted(
            manager(&format!(r#""restartCount":1,"state":{{"terminated":{{"exitCode":1}}}},{LAST}"#)),
            None,
        );
        assert!(matches!(&*again, [run] if run.is_over && run.just_ended), "{again:?}");
        // it is read again once the kubelet keeps it as the last one: another may have started meanwhile
        assert_ne!(
            again,
            wanted(manager(&format!(r#""restartCount":1,"state":{{"waiting":{{}}}},{LAST}"#)), None)
        );
        let done = wanted(manager(r#""restartCount":1,"state":{"terminated":{"exitCode":0}}"#), None);
        assert_eq!(done, [], "as an init container");
        assert_eq!(wanted(manager(r#""restartCount":0,"state":{"terminated":{"exitCode":1}}"#), None), []);
        assert_eq!(wanted(manager(r#""restartCount":0,"state":{"running":{}}"#), None), []);
    }

    #[test]
    fn without_times_restarts_tell_last_runs_apart() {
        let ended = |count: u32| {
            wanted(manager(&format!(r#""restartCount":{count},"lastState":{{"terminated":{{}}}}"#)), None)
        };
        assert_ne!(ended(1), ended(2));
    }

    #[test]
    fn present_runs_that_are_not_over_with_their_start() {
        let held = r#"{"holderIdentity":"n","acquireTime":"2026-01-01T00:59:00.000000Z"}"#;
        let fresh = r#"{"holderIdentity":"n","acquireTime":"2026-01-01T00:59:30.000000Z"}"#;
        let other = r#"{"holderIdentity":"m","acquireTime":"2026-01-01T00:00:00.000000Z"}"#;
        for (status, lease, reads) in [
            (format!(r#""ready":false,"state":{{{LONG}}}"#), None, true),
            (format!(r#""ready":false,"state":{{{SHORT}}}"#), None, false),
            // until it is restarted, what it said last is not forgotten
            (format!(r#""ready":false,"state":{{{}}}"#, LONG.replace("running", "terminated")), None, true),
            (format!(r#""ready":true,"state":{{{LONG}}}"#), None, false),
            (format!(r#""ready":true,"state":{{{LONG}}}"#), Some(held), true),
            (format!(r#""ready":true,"state":{{{SHORT}}}"#), Some(held), false),
            (format!(r#""ready":true,"state":{{{LONG}}}"#), Some(fresh), false),
            (format!(r#""ready":true,"state":{{{LONG}}}"#), Some(other), false),
        ] {
            let runs = wanted(manager(&status), lease);
            assert_eq!(
                runs.iter().filter(|run| !run.is_over).count(),
                usize::from(reads),
                "{status} {lease:?}"
            );
        }
        assert_eq!(wanted(pod("csi-attacher", "csi-attacher", &format!(r#""state":{{{LONG}}}"#)), None), []);
    }

    #[test]
    fn ready_managers_are_read_while_no_one_renews_their_lease_or_one_lost_it() {
        let ready = format!(r#""ready":true,"state":{{{}}}"#, LONG.replace("00:59:00", "00:10:00"));
        let young = format!(r#""ready":true,"state":{{{}}}"#, LONG.replace("00:59:00", "00:54:00"));
        let lease = |holder: &str, acquired: &str, renewed: &str| {
            let json = format!(
                r#"{{"metadata":{{"name":"{ROTATION_LOCK}"}},"spec":{{"holderIdentity":"{holder}",
                   "acquireTime":"2026-01-01T00:{acquired}Z","renewTime":"2026-01-01T00:{renewed}Z"}}}}"#
            );
            serde_json::from_str::<Lease>(&json).unwrap()
        };
        for (name, status, lease, reads) in [
            ("renewed", &ready, lease("n", "10:00", "59:55"), false),
            ("a renewal is late", &ready, lease("n", "10:00", "59:16"), false),
            ("not renewed", &ready, lease("n", "10:00", "59:15"), true),
            ("released", &ready, lease("", "10:00", "50:00"), false),
            ("taken from one that runs", &ready, lease("m", "55:00", "59:55"), true),
            ("taken long ago", &ready, lease("m", "49:00", "59:55"), false),
            ("taken after a rollout", &young, lease("m", "55:00", "59:55"), false),
        ] {
            let (mut pods, mut leases) = (Store::default(), Store::default());
            pods.insert(manager(status));
            leases.insert(lease);
            assert_eq!(
                runs(&pods, &leases, &Store::default(), NOW.parse().unwrap()).len(),
                usize::from(reads),
                "{name}"
            );
        }
    }

    #[test]
    fn a_deployer_is_read_while_it_loops_and_left_alone_once_it_settled() {
        let of = |last: &str| {
            let status = format!(
                r#""ready":true,"state":{{{LONG}}},"lastState":{{"terminated":{{"finishedAt":"{last}"}}}}"#
            );
            wanted(pod("longhorn-driver-deployer", "longhorn-driver-deployer", &status), None)
        };
        let kinds = |runs: Vec<Run>| runs.iter().map(|run| run.is_over).collect::<Vec<_>>();
        assert_eq!(kinds(of("2026-01-01T00:58:50Z")), [true, false]);
        assert_eq!(kinds(of("2026-01-01T00:40:00Z")), [true]);
    }

    #[test]
    fn a_long_run_is_read_more_seldom() {
        let run = Run::of(&Pod::default(), "longhorn-manager", false, 0);
        let after = |seconds| run.pause(Timestamp::from_second(seconds).unwrap()).as_secs();
        assert_eq!([after(60), after(100), after(86_400)], [15, 25, 30]);
    }
}
