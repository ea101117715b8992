//! Ends as a kubelet writes them: statuses, Events and their order are those of a kubelet v1.36.3 with containerd 1.6.20, whose
//! pods were recorded; only the times are moved to one moment.

use super::*;
use crate::longhorn::KubeNode;

/// A version of the pod as the watch brought it: how its container is, and whether the pod is being deleted.
#[derive(Clone, Copy)]
enum Seen {
    Running,
    /// With a deletionTimestamp 30 s ahead.
    Leaving,
    Ended(i64, &'static str),
    /// Longhorn deletes an ended pod, and the kubelet sets the deletionTimestamp anew.
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
        // another process of it was OOM-killed at any time before
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
    assert!(finding.evidence.iter().any(|fact| fact.text.contains("an engine or a replica perhaps")));
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

/// The taint manager's Event has no uid.
fn marked() -> String {
    event("TaintManagerEviction", "Marking for deletion Pod longhorn-system/im-1")
        .replace(", uid: uid-1", "")
        .replace(GONE, "2026-01-02T11:49:57Z")
}

#[test]
fn a_taint_by_hand_is_not_a_lost_node() {
    const DELETED: [Seen; 3] = [Running, Leaving, EndedAndLeaving(0, "Completed")];
    let tainted = node().replace(
        "metadata: {name: node-1}\n",
        "metadata: {name: node-1}\nspec: {taints: [{key: key, value: value, effect: NoExecute}]}\n",
    );
    let condition = target("DeletionByTaintManager");
    let case = Case {
        seen: &DELETED,
        conditions: &condition,
        events: stopping() + &marked(),
        node: Some(tainted),
        ..Case::default()
    };
    assert_eq!(case.found(), ("warning tainted".to_owned(), "warning tainted".to_owned()));
    for cluster in [case.live(), cluster_at(NOW, &case.objects())] {
        let finding = run(&CHECK, &cluster).report.findings.remove(0);
        assert!(finding.message.contains("taint key=value:NoExecute removed it"), "{}", finding.message);
    }
    // the taint is gone by now, and the node has been Ready all the time
    let gone = Case { node: None, ..case };
    assert_eq!(gone.found(), ("warning tainted".to_owned(), "warning tainted".to_owned()));
    let idle = Case { busy: false, ..gone };
    assert_eq!(idle.found(), ("info tainted".to_owned(), "info tainted".to_owned()));
}

#[test]
fn a_node_that_was_away_for_minutes_took_the_pod_along() {
    // not Ready at 11:43, marked at 11:48, the kubelet back at 11:49:59
    let away = event("NodeNotReady", "Node is not ready").replace(GONE, "2026-01-02T11:43:00Z");
    let marked = marked().replace("11:49:57", "11:48:00");
    let events = away.clone() + &marked + &stopping();
    let back = node().replace("2025-12-01T00:00:00Z", "2026-01-02T11:49:59Z");
    let condition = target("DeletionByTaintManager").replace("11:49:57", "11:48:00");
    let case = |events: &str| Case {
        seen: &[Running, Leaving, EndedAndLeaving(0, "Completed")],
        conditions: &condition,
        events: events.to_owned(),
        node: Some(back.clone()),
        ..Case::default()
    };
    // the exporter saw the node when the deletion came: not Ready
    let mut live = case(&events).live();
    let down = cluster(&node_down()).objects.kube_nodes.get("node-1").cloned();
    live.history = crate::history::History::starting(time("2026-01-02T00:00:00Z"));
    let version = |seen| pod(&version(seen, &condition, ""));
    live.history.pod_seen(&version(Leaving), down.as_ref(), time("2026-01-02T11:48:00Z"));
    live.history.pod_gone(Arc::new(version(EndedAndLeaving(0, "Completed"))), "uid-2", time(GONE));
    assert_eq!(found(&CHECK, &live), ["warning node_lost InstanceManager im-1"]);
    let recorded = |events: &str| found(&CHECK, &cluster_at(NOW, &case(events).objects()));
    assert_eq!(recorded(&events), ["warning node_lost InstanceManager im-1"]);
    // without the taint manager's Event its kubelet tells: it stopped the pod as soon as it was back
    assert_eq!(recorded(&(away.clone() + &stopping())), ["warning node_lost InstanceManager im-1"]);
    // a node that is back for minutes has nothing to do with it
    let long_back = case(&(away + &stopping())).objects().replace("11:49:59", "11:47:00");
    assert_eq!(found(&CHECK, &cluster_at(NOW, &long_back)), ["warning unknown InstanceManager im-1"]);
}

#[test]
fn what_a_lost_node_itself_did_belongs_to_the_end() {
    // lost at 11:48, back at 11:50: the container is dated by the return of its runtime
    let not_ready =
        "{type: Ready, status: 'False', reason: PodFailed, lastTransitionTime: '2026-01-02T11:48:00Z'}";
    let case = Case {
        seen: &[Running, Ended(255, "Unknown"), EndedAndLeaving(255, "Unknown")],
        conditions: not_ready,
        busy: false,
        events: volume("v", "engine:new") + &DETACHED.replace("11:50:20", "11:48:00"),
        ..Case::default()
    };
    let finding = run(&CHECK, &case.live()).report.findings.remove(0);
    assert_eq!((finding.cause.id, finding.volumes.len()), ("node_lost", 1), "{finding:?}");
    let evidence: String = finding.evidence.iter().map(|fact| fact.text.as_str()).collect();
    assert!(evidence.contains("DetachedUnexpectedly of volume v at 2026-01-02T11:48:00Z"), "{evidence}");
    assert!(evidence.contains("is when the container runtime was back"), "{evidence}");
}

#[test]
fn a_container_that_is_not_found_proves_no_lost_node() {
    let unknown = "containerStatuses: [{name: instance-manager, state: {terminated: {exitCode: 137, reason: ContainerStatusUnknown}}}]";
    let gone = last("Failed", unknown);
    assert_eq!(verdict(&gone, &hit()), "warning unknown");
    let back = node().replace("2025-12-01T00:00:00Z", "2026-01-02T11:49:30Z");
    let yaml = after().replace(&node(), &back);
    assert_eq!(found(&CHECK, &saw(&gone, &yaml)), ["info node_lost InstanceManager im-1"]);
    let reboot = "apiVersion: v1\nkind: Event\nmetadata: {name: r, namespace: default}\ninvolvedObject: {kind: Node, name: node-1}\n\
                  reason: Rebooted\nmessage: 'Node node-1 has been rebooted, boot id: 9'\nlastTimestamp: '2026-01-02T11:49:30Z'\n---\n";
    assert_eq!(found(&CHECK, &saw(&gone, &(after() + reboot))), ["info node_lost InstanceManager im-1"]);
}

#[test]
fn pods_that_the_node_did_not_take_are_no_replacements() {
    let rejected = |reason: &str, why: &str, containers: &str| {
        let status = format!("reason: {reason}, message: \"Pod was rejected: {why}\", {containers}");
        im_pod("im-1", "uid-9", "2026-01-02T11:50:03Z", "Failed", "", &status)
    };
    let waits =
        "containerStatuses: [{name: instance-manager, state: {waiting: {reason: ContainerCreating}}}]";
    let lost = "containerStatuses: [{name: instance-manager, state: {terminated: {exitCode: 137, reason: ContainerStatusUnknown}}}]";
    let start = "containerStatuses: [{name: instance-manager, state: {terminated: {exitCode: 128, reason: StartError, \
                 startedAt: '1970-01-01T00:00:00Z', finishedAt: '2026-01-02T11:50:03Z'}}}]";
    for gone in [
        rejected("TaintToleration", "Predicate TaintToleration failed", ""),
        rejected("TaintToleration", "Predicate TaintToleration failed", waits),
        rejected("TaintToleration", "Predicate TaintToleration failed", lost),
        rejected("Evicted", "The node had condition: [DiskPressure]. ", ""),
        rejected("OutOfcpu", "Node didn't have enough resource: cpu", ""),
        rejected("NodeAffinity", "Predicate NodeAffinity failed", ""),
        im_pod("im-1", "uid-9", "2026-01-02T11:50:03Z", "Failed", "", start),
        deleting(im_pod("im-1", "uid-9", "2026-01-02T11:50:03Z", "Pending", "", "")),
        im_pod(
            "im-1",
            "uid-9",
            "2026-01-02T11:50:03Z",
            "Failed",
            "",
            "conditions: [{type: DisruptionTarget, status: 'True', reason: DeletionByPodGC}]",
        ),
    ] {
        let cluster = saw(&gone, &after());
        assert_eq!(found(&CHECK, &cluster), Vec::<String>::new(), "{gone}");
        let total = "longhorn_health_instance_manager_replacements_total";
        let counted: f64 = run(&CHECK, &cluster).samples[total].iter().map(|sample| sample.value).sum();
        assert_eq!(counted, 0.0, "{gone}");
    }
    // one that ran, and that a kubelet gives up when it starts, is one
    let ran = terminated(143, "Error").replace("finishedAt", "startedAt: '2026-01-01T00:00:01Z', finishedAt");
    let gone = last(
        "Failed",
        &format!(
            "reason: Evicted, message: \"Pod was rejected: The node had condition: [DiskPressure]. \", {ran}"
        ),
    );
    assert_eq!(verdict(&gone, ""), "warning evicted");
}

#[test]
fn the_end_before_a_storm_of_rejected_pods_is_what_is_told() {
    // evicted at 11:50:00, eleven pods rejected until 11:50:25
    let mut cluster = Case {
        seen: &[Running, EndedAndLeaving(0, "Completed")],
        conditions: &target("TerminationByKubelet"),
        events: stopping(),
        ..Case::default()
    }
    .live();
    for second in 3..25 {
        let mut rejected = pod(&im_pod(
            "im-1",
            &format!("uid-r{second}"),
            "2026-01-02T11:50:03Z",
            "Failed",
            "",
            "reason: Evicted, message: 'Pod was rejected: The node had condition: [DiskPressure]. '",
        ));
        rejected.metadata.uid = format!("uid-r{second}").into();
        cluster.history.pod_gone(Arc::new(rejected), "", time(GONE) + SignedDuration::from_secs(second));
    }
    assert_eq!(cluster.history.gone_pods().count(), 2, "of those that never ran only the last one is kept");
    let refused = cluster.history.gone_pods().last().unwrap().refused;
    assert_eq!(refused, Some((time("2026-01-02T11:50:03Z"), 22)));
    assert_eq!(found(&CHECK, &cluster), ["warning evicted InstanceManager im-1"]);
    let total = "longhorn_health_instance_manager_replacements_total";
    let counted: f64 = run(&CHECK, &cluster).samples[total].iter().map(|sample| sample.value).sum();
    assert_eq!(counted, 1.0);
}

#[test]
fn events_with_event_time_only_tell_as_well() {
    let plain = |reason: &str, message: &str, more: &str| {
        event(reason, message).replace(
            &format!("lastTimestamp: '{GONE}'"),
            &format!("eventTime: '2026-01-02T11:49:54.123456Z'\n{more}"),
        )
    };
    let series = "series: {count: 3, lastObservedTime: '2026-01-02T11:50:00.512345Z'}";
    let events = plain("Unhealthy", "Liveness probe failed: ", series)
        + &plain("Killing", "Stopping container instance-manager", "")
            .replace("11:49:54.123456", "11:50:00.600000");
    let case = Case { seen: &[Running, Ended(0, "Completed")], events, ..Case::default() };
    assert_eq!(case.found(), ("warning liveness_probe".to_owned(), "warning liveness_probe".to_owned()));
}

#[test]
fn an_api_server_that_was_away_does_not_raise_an_old_finding() {
    use crate::cluster::Readability;
    use crate::longhorn::Resource;
    let mut cluster = later(saw(&last("Failed", &terminated(255, "Unknown")), &after()), 60);
    assert_eq!(found(&CHECK, &cluster), ["info node_lost InstanceManager im-1"]);
    cluster = later(cluster, 10);
    for kind in [Resource::Volumes, Resource::Engines, Resource::Events] {
        cluster.resources.entry(kind).or_default().readability = Readability::Stale;
    }
    assert_eq!(found(&CHECK, &cluster), ["info node_lost InstanceManager im-1"]);
}

#[test]
fn three_kills_within_an_hour_are_a_loop_and_an_answer_of_the_network_names_it() {
    // the probe of the first releases connects to the pod's address; the kubelet names both
    let dial = "Liveness probe failed: dial tcp 10.42.1.5:8500: i/o timeout";
    let of_pod = |number: u32, ended: &str| {
        (unhealthy(3, 0) + &stopping())
            .replace("Liveness probe failed: ", dial)
            .replace("uid-1", &format!("uid-k{number}"))
            .replace("e-", &format!("e-{number}-"))
            .replace(GONE, ended)
    };
    let kills = |times: &[&str]| -> String {
        times.iter().zip(1..).map(|(ended, number)| of_pod(number, ended)).collect()
    };
    let recorded = |times: &[&str], said: &str| {
        let yaml =
            after() + &kills(times).replace(dial, said) + &setting("storage-network", "kube-system/storage");
        let finding = run(&CHECK, &cluster_at(NOW, &yaml)).report.findings.remove(0);
        (finding.severity.as_str(), finding.cause.id, finding.message, finding.remedy)
    };
    let (severity, cause, message, remedy) =
        recorded(&["2026-01-02T11:20:00Z", "2026-01-02T11:35:00Z", GONE], dial);
    assert_eq!((severity, cause), ("critical", "liveness_loop"));
    assert!(
        message.contains("(dial tcp 10.42.1.5:8500: i/o timeout)")
            && message.ends_with("3 times within the hour"),
        "{message}"
    );
    let said = format!("{remedy:?}");
    assert!(said.contains("kube-system/storage") && said.contains("neither load nor"), "{said}");
    // each pod has its own Events: three failures of three pods are no kill, and two kills are no loop
    let single =
        kills(&["2026-01-02T11:20:00Z", "2026-01-02T11:35:00Z", GONE]).replace("count: 3", "count: 1");
    assert_eq!(found(&CHECK, &cluster_at(NOW, &(after() + &single))), ["info unknown InstanceManager im-1"]);
    let two = recorded(&["2026-01-02T10:20:00Z", "2026-01-02T11:35:00Z", GONE], "Liveness probe failed: ");
    assert_eq!((two.0, two.1), ("warning", "liveness_probe"));
    assert!(format!("{:?}", two.3).contains("too busy"), "{:?}", two.3);
    let refused =
        recorded(&[GONE], "Liveness probe failed: dial tcp 10.42.1.5:8500: connect: connection refused");
    assert!(!refused.2.contains("network"), "the process does not listen: {}", refused.2);
}
