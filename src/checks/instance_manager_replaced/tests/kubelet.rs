//! Ends as a kubelet writes them: statuses, Events and their order are those of a kubelet v1.36.3 with containerd 1.6.20, whose
//! pods were recorded; only the times are moved to one moment.

mod nodes;
mod pods;

use super::*;
use crate::longhorn::KubeNode;

/// A version of the pod as the watch brought it: how its container is, and whether the pod is being deleted.
#[derive(Clone, Copy)]
enum Seen {
    Running,
    /// With a deletionTimestamp 30 s ahead.
    Leaving,
    Ended(i64, &'static str),
    /// Longhorn deletes an ended pod, and the kubelet sets the deletionTimestamp again.
    EndedAndLeaving(i64, &'static str),
}
use Seen::*;

const PROBE: &str = "livenessProbe: {periodSeconds: 3, timeoutSeconds: 2, failureThreshold: 3}";

fn version(seen: Seen, conditions: &str, status: &str) -> String {
    let ended = |code, reason: &str| {
        format!(
            "containerStatuses: [{{name: instance-manager, state: {{terminated: {{exitCode: {code}, reason: {reason}, \
             startedAt: '2026-01-01T00:00:01Z', finishedAt: '{GONE}'}}}}}}]"
        )
    };
    let runs =
        "containerStatuses: [{name: instance-manager, ready: true, state: {running: {startedAt: '2026-01-01T00:00:01Z'}}}]"
            .to_owned();
    let phase = |code| if code == 0 { "Succeeded" } else { "Failed" };
    let (phase, containers) = match seen {
        Running | Leaving => ("Running", runs),
        Ended(code, reason) | EndedAndLeaving(code, reason) => (phase(code), ended(code, reason)),
    };
    let pod = im_pod(
        "im-1",
        "uid-1",
        "2026-01-01T00:00:00Z",
        phase,
        PROBE,
        &format!("{containers}, conditions: [{conditions}], {status}"),
    );
    match seen {
        Leaving | EndedAndLeaving(..) => deleting(pod),
        _ => pod,
    }
}

/// One end: what the watch saw of the pod, in order, its conditions and Events, and what ran in it.
struct Case<'a> {
    seen: &'a [Seen],
    conditions: &'a str,
    status: &'a str,
    events: String,
    busy: bool,
    node: Option<String>,
}

impl Default for Case<'_> {
    fn default() -> Self {
        Case { seen: &[], conditions: "", status: "", events: String::new(), busy: true, node: None }
    }
}

impl Case<'_> {
    fn objects(&self) -> String {
        let node = self.node.clone().unwrap_or_else(node);
        // an Event of the start shows that Events of that time are kept
        let started = event("Started", "Container started").replace(GONE, "2026-01-02T11:20:00Z");
        let hit = if self.busy { hit() + &volume("v", "engine:new") + DETACHED } else { String::new() };
        let next = im_pod("im-1", "uid-2", AGAIN, "Running", "", "");
        let probed = im_pod("im-1", "uid-2", AGAIN, "Running", PROBE, "");
        after().replace(&super::node(), &node).replace(&next, &probed) + &started + &self.events + &hit
    }

    fn live(&self) -> Cluster {
        let mut cluster = live_at(NOW, &self.objects());
        cluster.history.started = Some(time("2026-01-02T00:00:00Z"));
        let node: Option<KubeNode> = cluster.objects.kube_nodes.get("node-1").cloned();
        let versions: Vec<Pod> =
            self.seen.iter().map(|seen| pod(&version(*seen, self.conditions, self.status))).collect();
        for (second, version) in versions.iter().enumerate() {
            let at = time(GONE) - SignedDuration::from_secs(3) + SignedDuration::from_secs(second as i64);
            cluster.history.pod_seen(version, node.as_ref(), at);
        }
        let last = versions.last().unwrap().clone();
        cluster.history.pod_gone(Arc::new(last), "uid-2", time("2026-01-02T11:50:02Z"));
        cluster
    }

    fn found(&self) -> (String, String) {
        let one = |cluster: &Cluster| {
            let found = found(&CHECK, cluster);
            assert_eq!(found.len(), 1, "{found:?}");
            found[0].strip_suffix(" InstanceManager im-1").unwrap().to_owned()
        };
        (one(&self.live()), one(&cluster_at(NOW, &self.objects())))
    }
}

fn stopping() -> String {
    event("Killing", "Stopping container instance-manager")
}

/// Failures of the probe, the last one this many seconds before the end.
fn unhealthy(count: u32, before: i64) -> String {
    let last = time(GONE) - SignedDuration::from_secs(before);
    event("Unhealthy", "Liveness probe failed: ")
        .replace(GONE, &last.to_string())
        .replace("reason: Unhealthy", &format!("count: {count}\nreason: Unhealthy"))
}

fn target(reason: &str) -> String {
    format!(
        "{{type: DisruptionTarget, status: 'True', reason: {reason}, lastTransitionTime: '2026-01-02T11:49:57Z'}}"
    )
}

#[test]
fn liveness_kills_are_told_from_deletions() {
    const KILLED: [Seen; 3] = [Running, Ended(0, "Completed"), EndedAndLeaving(0, "Completed")];
    let kill = || unhealthy(3, 0) + &stopping();
    let busy = "warning liveness_probe";
    for (what, case, live, recorded) in [
        ("exits 0", Case { seen: &KILLED, events: kill(), ..Case::default() }, busy, busy),
        ("idle", Case { seen: &KILLED, events: kill(), busy: false, ..Case::default() }, busy, busy),
        (
            "SIGTERM ignored: the stop is 30 s older than the end",
            Case {
                seen: &[Running, Ended(137, "Error"), EndedAndLeaving(137, "Error")],
                events: kill().replace(GONE, "2026-01-02T11:49:30Z"),
                ..Case::default()
            },
            busy,
            busy,
        ),
        (
            "143, and a child was OOM-killed before",
            Case { seen: &[Running, Ended(143, "OOMKilled")], events: kill(), ..Case::default() },
            busy,
            busy,
        ),
        (
            "a second container lives on",
            Case {
                seen: &KILLED,
                events: unhealthy(3, 0)
                    + &event("Killing", "Container instance-manager failed liveness probe"),
                ..Case::default()
            },
            busy,
            busy,
        ),
        (
            "a startup probe",
            Case { seen: &KILLED, events: kill().replace("Liveness", "Startup"), ..Case::default() },
            busy,
            busy,
        ),
        (
            "one of many Events of like text",
            Case {
                seen: &KILLED,
                events: kill().replace("'Liveness", "'(combined from similar events): Liveness"),
                ..Case::default()
            },
            busy,
            busy,
        ),
        (
            "a deletion while the probe fails: fewer failures, the last one up to a period before",
            Case {
                seen: &[Running, Leaving, EndedAndLeaving(0, "Completed")],
                events: unhealthy(2, 2) + &stopping(),
                ..Case::default()
            },
            "warning deleted",
            "warning unknown",
        ),
        (
            "a deletion in the second of a failure, after many of another hour",
            Case {
                seen: &[Running, Leaving, EndedAndLeaving(0, "Completed")],
                events: unhealthy(9, 0) + &stopping(),
                ..Case::default()
            },
            "warning deleted",
            busy,
        ),
        (
            "Events are held back: 25, then one each five minutes",
            Case { seen: &KILLED, events: unhealthy(31, 240) + &stopping(), ..Case::default() },
            busy,
            "warning unknown",
        ),
        (
            "failures of the pod before do not count",
            Case {
                seen: &KILLED,
                events: unhealthy(3, 0).replace("uid-1", "uid-0") + &stopping(),
                ..Case::default()
            },
            "warning sandbox_lost",
            "warning unknown",
        ),
        (
            "an exec that could not be started is no failure",
            Case {
                seen: &KILLED,
                events: unhealthy(3, 0).replace(
                    "Liveness probe failed: ",
                    "Liveness probe errored and resulted in unknown state: rpc error: code = NotFound",
                ) + &stopping(),
                ..Case::default()
            },
            "warning sandbox_lost",
            "warning unknown",
        ),
    ] {
        assert_eq!(case.found(), (live.to_owned(), recorded.to_owned()), "{what}");
    }
}

#[test]
fn a_setting_that_waits_does_not_explain_a_failed_probe_nor_an_end_by_itself() {
    let waits = "apiVersion: longhorn.io/v1beta2\nkind: Setting\nmetadata: {name: taint-toleration, namespace: longhorn-system}\n\
                 value: 'a=b:NoSchedule'\nstatus: {applied: false}\n---\n";
    let ended: &[Seen] = &[Running, Ended(0, "Completed"), EndedAndLeaving(0, "Completed")];
    let deleted: &[Seen] = &[Running, Leaving, EndedAndLeaving(0, "Completed")];
    for (seen, events, live, recorded) in [
        (ended, unhealthy(3, 0) + &stopping(), "warning liveness_probe", "warning liveness_probe"),
        (ended, String::new(), "warning unknown", "warning unknown"),
        (ended, stopping(), "warning sandbox_lost", "info settings_sync"),
        (deleted, stopping(), "info settings_sync", "info settings_sync"),
    ] {
        let case = Case { seen, events: events.clone() + waits, busy: false, ..Case::default() };
        assert_eq!(case.found(), (live.to_owned(), recorded.to_owned()), "{events}");
    }
}

#[test]
fn what_ends_without_the_kubelet() {
    let by_itself = |code, reason| [Running, Ended(code, reason), EndedAndLeaving(code, reason)];
    for (seen, live) in [
        (by_itself(137, "OOMKilled"), "warning oom_killed"),
        (by_itself(137, "Error"), "warning unknown"),
        (by_itself(2, "Error"), "warning panic"),
        (by_itself(1, "Error"), "warning unknown"),
        (by_itself(0, "Completed"), "warning unknown"),
        // another process of OOM-killed at any time before
        (by_itself(0, "OOMKilled"), "warning unknown"),
        (by_itself(1, "OOMKilled"), "warning unknown"),
    ] {
        for events in [String::new(), unhealthy(2, 2)] {
            let case = Case { seen: &seen, events, ..Case::default() };
            assert_eq!(case.found(), (live.to_owned(), "warning unknown".to_owned()));
        }
    }
    // its child was OOM-killed, and it was deleted some seconds later
    let seen = [Running, Leaving, EndedAndLeaving(0, "OOMKilled")];
    let case = Case { seen: &seen, events: stopping(), ..Case::default() };
    assert_eq!(case.found().0, "warning deleted");
    let finding = run(&CHECK, &case.live()).report.findings.remove(0);
    assert!(finding.evidence().iter().any(|fact| fact.text.contains("perhaps an engine or replica")));
}

#[test]
fn deletions_and_evictions() {
    const DELETED: [Seen; 3] = [Running, Leaving, EndedAndLeaving(0, "Completed")];
    const ENDED: [Seen; 2] = [Running, EndedAndLeaving(0, "Completed")];
    let low = "The node was low on resource: ephemeral-storage. Threshold quantity: 57503465472, available: 55337076Ki. ";
    let api = target("EvictionByEvictionAPI");
    let kubelet = target("TerminationByKubelet");
    for (what, case, live, recorded) in [
        (
            "deleted",
            Case { seen: &DELETED, events: stopping(), ..Case::default() },
            "warning deleted",
            "warning unknown",
        ),
        (
            "deleted while idle",
            Case { seen: &DELETED, events: stopping(), busy: false, ..Case::default() },
            "info deleted",
            "info unknown",
        ),
        // the pod is gone at once, as it was; its container is stopped afterwards
        (
            "forced",
            Case { seen: &[Running, Leaving], events: stopping(), ..Case::default() },
            "warning deleted",
            "warning unknown",
        ),
        (
            "the sandbox",
            Case {
                seen: &[Running, Ended(0, "Completed"), EndedAndLeaving(0, "Completed")],
                events: stopping(),
                ..Case::default()
            },
            "warning sandbox_lost",
            "warning unknown",
        ),
        (
            "a drain",
            Case { seen: &DELETED, conditions: &api, events: stopping(), ..Case::default() },
            "warning evicted",
            "warning unknown",
        ),
        // phase Succeeded and no reason where the process exits 0
        (
            "disk pressure",
            Case {
                seen: &ENDED,
                conditions: &kubelet,
                events: event("Evicted", low) + &stopping(),
                ..Case::default()
            },
            "warning evicted",
            "warning evicted",
        ),
        (
            "a kubelet that starts under pressure writes no condition",
            Case {
                seen: &[Running, Ended(0, "Completed"), EndedAndLeaving(0, "Completed")],
                events: event("Evicted", "The node had condition: [DiskPressure]. ") + &stopping(),
                ..Case::default()
            },
            "warning evicted",
            "warning evicted",
        ),
    ] {
        assert_eq!(case.found(), (live.to_owned(), recorded.to_owned()), "{what}");
    }
}
