mod kubelet;
mod late;

use std::sync::Arc;

use jiff::SignedDuration;

use super::CHECK;
use crate::cluster::Cluster;
use crate::longhorn::store::looks;
use crate::longhorn::{Objects, Pod};
use crate::testing::instance_managers::*;

const NOW: &str = "2026-01-02T12:00:00Z";
const GONE: &str = "2026-01-02T11:50:00Z";
const AGAIN: &str = "2026-01-02T11:50:05Z";
const DETACHED: &str = "apiVersion: v1\nkind: Event\nmetadata: {name: d, namespace: longhorn-system}\n\
    involvedObject: {kind: Volume, name: v}\nreason: DetachedUnexpectedly\nlastTimestamp: '2026-01-02T11:50:20Z'\n---\n";

/// What is left behind: the instance manager with its new pod.
fn after() -> String {
    release("v1.9.2")
        + &node()
        + &im("im-1", NEW, "type: aio, dataEngine: v1", "running", "")
        + &im_pod("im-1", "uid-2", AGAIN, "Running", "", "")
}

fn terminated(code: i64, reason: &str) -> String {
    format!(
        "containerStatuses: [{{name: instance-manager, state: {{terminated: {{exitCode: {code}, reason: '{reason}', \
         finishedAt: '{GONE}'}}}}}}]"
    )
}

fn last(phase: &str, status: &str) -> String {
    im_pod("im-1", "uid-1", "2026-01-01T00:00:00Z", phase, "", status)
}

fn deleting(pod: String) -> String {
    pod.replace("creationTimestamp:", &format!("deletionTimestamp: '{GONE}', creationTimestamp:"))
}

fn event(reason: &str, message: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Event\nmetadata: {{name: 'e-{reason}-{}', namespace: longhorn-system}}\n\
         involvedObject: {{kind: Pod, name: im-1, uid: uid-1}}\nreason: {reason}\nmessage: '{message}'\n\
         lastTimestamp: '{GONE}'\n---\n",
        message.len()
    )
}

/// A replica on the node that failed a few seconds after the end, of a volume in use.
fn hit() -> String {
    volume("v", "engine:new")
        + &instance(
            "Replica",
            "v-r-1",
            "v",
            "",
            "stopped",
            "stopped",
            "lastHealthyAt: '2026-01-01T00:00:00Z', failedAt: '2026-01-02T11:50:03Z'",
        )
}

fn pod(yaml: &str) -> Pod {
    let Cluster { objects: Objects { mut pods, .. }, .. } = cluster(yaml);
    Arc::unwrap_or_clone(pods.remove("im-1").unwrap())
}

/// A live cluster that has seen this pod go.
fn saw(gone: &str, yaml: &str) -> Cluster {
    let mut cluster = live_at(NOW, yaml);
    cluster.history.started = Some(time("2026-01-02T00:00:00Z"));
    cluster.history.pod_gone(Arc::new(pod(gone)), "uid-2", time(GONE));
    cluster
}

fn verdict(gone: &str, yaml: &str) -> String {
    let found = found(&CHECK, &saw(gone, &(after() + yaml)));
    assert_eq!(found.len(), 1, "{found:?}");
    found[0].strip_suffix(" InstanceManager im-1").unwrap().to_owned()
}

#[test]
fn incident_000_is_named_with_cause_and_volumes() {
    let probe = event("Unhealthy", "Liveness probe failed: command timed out")
        + &event("Killing", "Container instance-manager failed liveness probe");
    let cluster = saw(&last("Failed", &terminated(137, "Error")), &(after() + &probe + &hit()));
    let evaluation = run(&CHECK, &cluster);
    let finding = &evaluation.report.findings[0];
    assert_eq!((finding.cause.id, finding.node.as_deref()), ("liveness_probe", Some("node-1")));
    assert_eq!(finding.volumes[0].pvc.as_deref(), Some("shop/data-v"));
    assert!(finding.impact.contains("StatefulSet shop/db"), "{}", finding.impact);
    assert!(finding.evidence().iter().any(|fact| fact.text.contains("failed liveness probe")));
    assert!(finding.evidence().iter().any(|fact| fact.text.contains("v-r-1")));
    assert_eq!(finding.runbook, Some("LonghornInstanceManagerReplaced"));
    let labels = ["im-1", "node-1", "liveness_probe", "false"];
    let family = "longhorn_health_instance_manager_last_replacement_timestamp_seconds";
    assert_eq!(sample(&evaluation, family, &labels), Some(time(AGAIN).as_second() as f64));
}

#[test]
fn causes_by_the_last_state_of_the_pod() {
    let failed = |code, reason: &str| last("Failed", &terminated(code, reason));
    let disrupted = |reason: &str| {
        deleting(last(
            "Running",
            &format!("conditions: [{{type: DisruptionTarget, status: 'True', reason: {reason}}}]"),
        ))
    };
    let dead_engine = "apiVersion: longhorn.io/v1beta2\nkind: Engine\nmetadata: {name: vol-e-0, namespace: longhorn-system}\n\
        spec: {volumeName: vol, nodeID: node-1, desireState: running}\nstatus: {currentState: error, instanceManagerName: im-1}\n---\n";
    let unhealthy = event("Unhealthy", "Liveness probe failed: dial tcp: i/o timeout");
    let stopping = event("Killing", "Stopping container instance-manager");
    let cases = [
        // the kubelet writes that it stops what its probe fails
        (failed(137, "Error"), unhealthy.clone(), "warning unknown"),
        // a person may delete a pod whose probe had failed before; the watch was not there to see it
        (failed(137, "Error"), unhealthy.clone() + &stopping + &hit(), "warning unknown"),
        (failed(137, "OOMKilled"), String::new(), "warning oom_killed"),
        (failed(137, "OOMKilled"), unhealthy, "warning oom_killed"),
        (failed(137, "Error"), String::new(), "warning unknown"),
        (failed(2, "Error"), hit(), "warning panic"),
        // a node that was lost is made good when only replicas went with it and are rebuilt
        (failed(255, "Unknown"), String::new(), "info node_lost"),
        (failed(255, "Unknown"), hit().replace("healthy", "degraded"), "warning node_lost"),
        (failed(255, "Unknown"), dead_engine.to_owned(), "warning node_lost"),
        (
            last("Failed", "reason: Evicted, message: 'The node was low on resource: memory'"),
            String::new(),
            "warning evicted",
        ),
        (
            last(
                "Failed",
                "reason: Terminated, message: 'Pod was terminated in response to imminent node shutdown.'",
            ),
            String::new(),
            "info node_lost",
        ),
        (disrupted("DeletionByPodGC"), String::new(), "info node_lost"),
        (disrupted("EvictionByEvictionAPI"), String::new(), "info evicted"),
        (disrupted("PreemptionByScheduler"), hit(), "warning evicted"),
        // replicas are taken up again when the node is back; an engine takes its workload along
        (disrupted("EvictionByEvictionAPI"), hit(), "info evicted"),
        (disrupted("EvictionByEvictionAPI"), dead_engine.to_owned(), "warning evicted"),
        (deleting(last("Running", "")), String::new(), "info deleted"),
        (deleting(last("Running", "")), hit(), "warning deleted"),
        (deleting(failed(143, "Error")), String::new(), "info unknown"),
        (last("Running", ""), String::new(), "warning unknown"),
        (last("", ""), String::new(), "warning unknown"),
    ];
    for (gone, more, expected) in cases {
        assert_eq!(verdict(&gone, &more), expected, "{gone}\n{more}");
    }
}

#[test]
fn a_node_that_came_back_just_then_took_the_pod_along() {
    let back = node().replace("2025-12-01T00:00:00Z", "2026-01-02T11:52:00Z");
    let yaml = after().replace(&node(), &back);
    assert_eq!(found(&CHECK, &saw(&last("Running", ""), &yaml)), ["info node_lost InstanceManager im-1"]);
}

#[test]
fn a_lost_node_that_took_an_engine_along_is_a_warning_until_its_volume_has_settled() {
    let gone = last("Failed", &terminated(255, "Unknown"));
    let lines = |events: &str| {
        let cluster = saw(&gone, &(after() + &volume("v", "engine:new") + events));
        const LAST: &str = "longhorn_health_instance_manager_last_replacement_timestamp_seconds";
        let evaluation = run(&CHECK, &cluster);
        let alerts = evaluation.samples.get(LAST).is_some_and(|samples| !samples.is_empty());
        // a quarter of an hour after the end, which was ten minutes ago
        let mut in_time = later(later(cluster, 0), 299);
        in_time.objects.events = Default::default();
        let before = found(&CHECK, &in_time).remove(0);
        let after = found(&CHECK, &later(in_time, 2 * 3600)).remove(0);
        (alerts, before, after)
    };
    let [warning, info] =
        ["warning", "info"].map(|severity| format!("{severity} node_lost InstanceManager im-1"));
    assert_eq!(lines(DETACHED), (true, warning, info.clone()));
    assert_eq!(lines(""), (false, info.clone(), info));
}

#[test]
fn a_changed_specification_is_evidence_for_settings() {
    const NOTE: &str = r#"annotations: {longhorn.io/last-applied-tolerations: '[{"key":"a","value":"b"}]'},"#;
    const SPEC: &str = "containers: [{name: instance-manager,";
    for (place, more, says) in [
        (SPEC, "priorityClassName: longhorn-critical,", "priorityClassName changed"),
        (SPEC, "nodeSelector: {zone: a},", "node selector changed from '' to 'zone:a'"),
        ("uid: 'uid-2',", NOTE, "tolerations changed from '' to 'a=b:'"),
    ] {
        let yaml = after().replace(place, &format!("{more} {place}"));
        let finding = run(&CHECK, &saw(&last("Running", ""), &yaml)).report.findings.remove(0);
        let told = format!("{:?}", finding.evidence()).contains(says);
        assert!(told && finding.cause == "settings_sync", "{says}");
    }
}

#[test]
fn an_idle_deletion_is_longhorns_only_where_a_setting_explains_it() {
    let gone = deleting(last("Running", ""));
    let waits = "apiVersion: longhorn.io/v1beta2\nkind: Setting\nmetadata: {name: taint-toleration, namespace: longhorn-system}\n\
                 value: 'a=b:NoSchedule'\nstatus: {applied: false}\n---\n";
    assert_eq!(verdict(&gone, waits), "info settings_sync");
    assert_eq!(verdict(&gone, &waits.replace("applied: false", "applied: true")), "info deleted");
    // what is stopped exits 0, or 143
    let ended = |code| verdict(&deleting(last("Failed", &terminated(code, "Error"))), waits);
    assert_eq!([ended(143), ended(137)], ["info settings_sync", "warning unknown"]);
    let report = run(&CHECK, &saw(&gone, &after())).report;
    assert!(
        report.findings[0].message.ends_with("its pod was deleted while idle"),
        "{}",
        report.findings[0].message
    );
}

#[test]
fn volumes_hit_are_kept_when_their_traces_are_gone() {
    let cluster = saw(&last("Failed", &terminated(137, "OOMKilled")), &(after() + &hit()));
    assert_eq!(run(&CHECK, &cluster).report.findings[0].volumes.len(), 1);
    let mut rebuilt = later(cluster, 60);
    rebuilt.objects.replicas = Default::default();
    let finding = run(&CHECK, &rebuilt).report.findings.remove(0);
    assert_eq!(finding.volumes.len(), 1);
    assert!(finding.evidence().iter().any(|fact| fact.text.contains("volume v was seen affected")));
}

#[test]
fn a_volume_that_is_rebuilt_was_hit_all_the_same() {
    let rebuilt =
        hit().replace("failedAt:", "healthyAt: '2026-01-02T11:52:00Z', failedAt: '', lastFailedAt:");
    let started = event("Started", "Started container instance-manager");
    // seen or inferred from a recording
    let seen = saw(&last("Failed", ""), &(after() + &rebuilt));
    let young = after().replace(AGAIN, "2026-01-02T11:50:05Z") + &rebuilt + &started;
    let recorded = cluster_at(NOW, &young.replace("uid-1", "uid-0"));
    for cluster in [seen, recorded] {
        let finding = run(&CHECK, &cluster).report.findings.remove(0);
        assert_eq!((finding.cause.id, finding.volumes.len()), ("unknown", 1), "{finding:?}");
        assert!(finding.evidence().iter().any(|fact| fact.text.contains("replica v-r-1 failed at")));
    }
}

#[test]
fn what_the_kubelet_did_not_stop_ended_by_itself() {
    let said = |gone: &str, events: &str| {
        let finding = run(&CHECK, &saw(gone, &(after() + events))).report.findings.remove(0);
        let evidence = finding.evidence().iter().map(|fact| fact.text.as_str()).collect::<String>();
        (finding.cause.id, finding.message + &evidence)
    };
    let earlier =
        event("Started", "Started container instance-manager").replace(GONE, "2026-01-02T11:30:00Z");
    let killed = last("Failed", &terminated(137, "Error"));
    let (cause, text) = said(&killed, &earlier);
    assert!(cause == "unknown" && text.contains("killed by the kernel (out of memory)"), "{cause}: {text}");
    let (_, text) = said(&last("Running", ""), &earlier);
    assert!(text.contains("which rules out a deletion or a failed probe"), "{text}");
    // events that were not kept tell nothing
    let (_, text) = said(&killed, "");
    assert!(text.contains("(a failed probe or a deletion), by the kernel"), "{text}");
    let (cause, text) = said(&deleting(last("Running", "")), &(earlier + &hit()));
    assert!(cause == "deleted" && !text.contains("out of memory"), "{cause}: {text}");
}

#[test]
fn the_removal_of_an_old_one_is_expected() {
    let gone = deleting(last("Running", ""));
    let only_nodes = release("v1.9.2") + &node();
    assert_eq!(found(&CHECK, &saw(&gone, &only_nodes)), ["info cleanup InstanceManager im-1"]);
    assert_eq!(found(&CHECK, &saw(&gone, &(only_nodes + &hit()))), ["warning deleted InstanceManager im-1"]);
}

#[test]
fn failures_of_other_nodes_and_times_are_not_hits() {
    let gone = deleting(last("Running", ""));
    let elsewhere = hit().replace("nodeID: node-1", "nodeID: node-2");
    assert_eq!(verdict(&gone, &elsewhere), "info deleted");
    for (time, expected) in [
        // the deletion was asked for 30 s before the time that it carries; what failed earlier is not of it
        ("2026-01-02T11:49:24Z", "info deleted"),
        ("2026-01-02T11:49:25Z", "warning deleted"),
        ("2026-01-02T11:55:05Z", "warning deleted"),
        ("2026-01-02T11:55:06Z", "info deleted"),
    ] {
        assert_eq!(verdict(&gone, &hit().replace("2026-01-02T11:50:03Z", time)), expected, "{time}");
    }
}

#[test]
fn detached_volumes_are_hits_when_their_engine_was_here() {
    let gone = deleting(last("Running", ""));
    assert_eq!(verdict(&gone, &(volume("v", "engine:new") + DETACHED)), "warning deleted");
    let elsewhere = volume("v", "engine:new").replace("node-1", "node-2");
    assert_eq!(verdict(&gone, &(elsewhere + DETACHED)), "info deleted");
}

/// Played on 1.12.1: a past end got worse when the volume moved back to that node, and better when it left.
#[test]
fn an_engine_was_where_its_volume_had_been_attached_last() {
    let gone = deleting(last("Running", ""));
    let attached = |node: &str, at: &str| {
        format!(
            "apiVersion: v1\nkind: Event\nmetadata: {{name: a-{node}, namespace: longhorn-system}}\nreason: Attached\n\
             message: volume v has been attached to {node}\ninvolvedObject: {{kind: Volume, name: v}}\n\
             firstTimestamp: '{at}'\nlastTimestamp: '{at}'\n---\n"
        )
    };
    let here = volume("v", "engine:new") + DETACHED;
    let elsewhere = volume("v", "engine:new").replace("node-1", "node-2") + DETACHED;
    for (then, expected) in [("node-1", "warning deleted"), ("node-2", "info deleted")] {
        let before = attached(then, "2026-01-02T11:40:00Z");
        for (now, volume) in [("node-1", &here), ("node-2", &elsewhere)] {
            let after = attached(now, "2026-01-02T11:55:00Z").replace("name: a-", "name: b-");
            assert_eq!(verdict(&gone, &(volume.clone() + &before + &after)), expected, "{then} {now}");
        }
    }
    // its engine went while it was being detached, as where settings wait for that
    let left = here.replace("state: attached", "state: detached").replace("node-1", "");
    assert_eq!(verdict(&gone, &(left + &attached("node-1", "2026-01-02T11:40:00Z"))), "info deleted");
}

/// Played on 1.12.1: volumes whose engine never started are tried again and again, and with priority-class and the guaranteed CPU changed
/// Longhorn replaced the instance managers in which that failed.
#[test]
fn what_was_never_up_is_not_harmed() {
    let gone = deleting(last("Running", ""));
    let fresh = hit().replace("lastHealthyAt: '2026-01-01T00:00:00Z', ", "") + DETACHED;
    let dead_engine = instance("Engine", "v-e-0", "v", "im-1", "error", "running", "");
    assert_eq!(verdict(&gone, &(fresh.clone() + &dead_engine)), "info deleted");
    let class =
        after().replace("containers: [{name: instance", "priorityClassName: c, containers: [{name: instance");
    let cluster = saw(&gone, &(class + &fresh));
    assert_eq!(found(&CHECK, &cluster), ["info settings_sync InstanceManager im-1"]);
    // one that holds data has been up
    let used = fresh.replace("{state: attached,", "{state: attached, actualSize: '4096',");
    assert_eq!(verdict(&gone, &used), "warning deleted");
}

#[test]
fn findings_end_after_a_day() {
    let mut cluster = saw(&last("Failed", &terminated(2, "Error")), &after());
    cluster.now = time(GONE) + SignedDuration::from_hours(24) - SignedDuration::from_secs(1);
    assert_eq!(found(&CHECK, &cluster).len(), 1);
    cluster.now += SignedDuration::from_secs(1);
    assert!(found(&CHECK, &cluster).is_empty());
}

#[test]
fn the_counter_is_complete_settles_once_and_never_goes_down() {
    const TOTAL: &str = "longhorn_health_instance_manager_replacements_total";
    let count = |cluster: &Cluster, cause: &str, expected: &str| {
        sample(&run(&CHECK, cluster), TOTAL, &[cause, expected]).unwrap()
    };
    let quiet = live_at(NOW, &after());
    assert_eq!(run(&CHECK, &quiet).samples[TOTAL].len(), 15, "zero for every cause");
    assert_eq!(count(&quiet, "liveness_probe", "false"), 0.0);

    let probe = event("Killing", "Container instance-manager failed liveness probe");
    let mut cluster = saw(&last("Failed", &terminated(137, "Error")), &(after() + &probe));
    cluster.now = time(GONE) + SignedDuration::from_secs(59);
    assert_eq!(count(&cluster, "liveness_probe", "false"), 0.0, "not settled");
    let mut cluster = later(cluster, 1);
    assert_eq!(count(&cluster, "liveness_probe", "false"), 1.0);
    // the events expire, the judgement stays
    cluster = later(cluster, 3600);
    cluster.objects.events = Default::default();
    assert_eq!(found(&CHECK, &cluster), ["warning liveness_probe InstanceManager im-1"]);
    assert_eq!(count(&cluster, "liveness_probe", "false"), 1.0);
    assert_eq!(count(&cluster, "unknown", "false"), 0.0);
    // the same name dies again
    let again = pod(&last("Failed", &terminated(2, "Error")).replace("uid-1", "uid-2"));
    cluster.history.pod_gone(Arc::new(again), "uid-3", cluster.now);
    let report = run(&CHECK, &cluster).report;
    assert_eq!((report.findings.len(), report.findings[0].cause.id), (1, "panic"));
    assert!(
        report.findings[0]
            .evidence()
            .iter()
            .any(|fact| fact.text.contains("the instance manager also ended"))
    );
    cluster = later(cluster, 2 * 24 * 3600);
    cluster = later(cluster, 60);
    assert_eq!(count(&cluster, "liveness_probe", "false"), 1.0, "forgotten but counted");
    assert!(found(&CHECK, &cluster).is_empty());
}

#[test]
fn three_kills_of_the_probe_within_an_hour_are_a_loop() {
    let killed = |cluster: &mut Cluster, uid: &str, at: &str| {
        let gone = last("Failed", &terminated(137, "Error")).replace("uid-1", uid).replace(GONE, at);
        cluster.history.pod_gone(Arc::new(pod(&gone)), "uid-9", time(at));
    };
    // the Events of an end expire before the next one
    let objects = |uid: &str, at: &str| {
        let probe = event("Killing", "Container instance-manager failed liveness probe");
        after().replace("uid-2", "uid-9") + &probe.replace("uid-1", uid).replace(GONE, at)
    };
    let (second, third) = ("2026-01-02T12:20:00Z", "2026-01-02T12:49:00Z");
    let cluster = saw(&last("Failed", &terminated(137, "Error")), &objects("uid-1", GONE));
    let mut cluster = next(cluster, 1800, &objects("uid-3", second));
    killed(&mut cluster, "uid-3", second);
    let mut cluster = next(cluster, 1200, &objects("uid-4", third));
    killed(&mut cluster, "uid-4", third);
    assert_eq!(cluster.now, time(GONE) + SignedDuration::from_hours(1));
    assert_eq!(found(&CHECK, &cluster), ["critical liveness_loop InstanceManager im-1"]);
    cluster.now += SignedDuration::from_secs(1);
    assert_eq!(found(&CHECK, &cluster), ["warning liveness_probe InstanceManager im-1"]);
}

#[test]
fn timestamps_tell_of_a_replacement_that_nobody_watched() {
    // recorded: the pod is a day and a half younger than its instance manager
    let yaml = after();
    assert_eq!(found(&CHECK, &cluster_at(NOW, &yaml)), ["warning unknown InstanceManager im-1"]);
    let probe = event("Killing", "Container instance-manager failed liveness probe, will be restarted");
    assert_eq!(
        found(&CHECK, &cluster_at(NOW, &(yaml.clone() + &probe))),
        ["warning liveness_probe InstanceManager im-1"]
    );
    assert!(found(&CHECK, &cluster_at("2026-01-03T11:50:05Z", &yaml)).is_empty(), "a day later");
    let first = yaml.replace(AGAIN, "2026-01-01T00:09:59Z");
    assert!(found(&CHECK, &cluster_at("2026-01-01T12:00:00Z", &first)).is_empty(), "its first pod");

    // an exporter that starts afterwards: harmless without aftermath, and not counted
    let mut started = live_at(NOW, &yaml);
    started.history.started = Some(time("2026-01-02T11:59:00Z"));
    assert_eq!(found(&CHECK, &started), ["info unknown InstanceManager im-1"]);
    let mut hurt = live_at(NOW, &(yaml.clone() + &hit()));
    hurt.history.started = started.history.started;
    assert_eq!(found(&CHECK, &hurt), ["warning unknown InstanceManager im-1"]);
    // an exporter that watched when the pod was made has seen no other pod before it
    let mut watched = live_at(NOW, &yaml);
    watched.history.started = Some(time("2026-01-02T11:00:00Z"));
    assert!(found(&CHECK, &watched).is_empty());
}

/// Played on 1.12.1: settings were applied as soon as all volumes were told to detach, and the replicas of one had not ended yet.
#[test]
fn one_look_tells_settings_where_only_a_volume_that_is_detached_had_a_replica_there() {
    let stopped = event("Killing", "Stopping container instance-manager");
    let waits = setting("priority-class", "c") + "status: {applied: false}\n---\n";
    let waits = waits.replace("---\nstatus", "status");
    let look = |state: &str| {
        let hit = hit().replace("state: attached", &format!("state: {state}"));
        run(&CHECK, &cluster_at(NOW, &(after() + &hit + &stopped + &waits))).report.findings.remove(0)
    };
    let detached = look("detached");
    assert_eq!(detached.cause, "settings_sync", "{}", detached.message);
    assert!(detached.impact.starts_with("none: it held only replicas of"), "{}", detached.impact);
    assert_eq!(look("attached").cause, "unknown");
}

#[test]
fn the_first_pod_of_a_default_v2_instance_manager_comes_late() {
    let yaml = after().replace("dataEngine: v1", "dataEngine: v2");
    assert!(found(&CHECK, &cluster_at(NOW, &yaml)).is_empty());
}

#[test]
fn pods_of_other_components_are_not_looked_at() {
    let other = last("Failed", &terminated(2, "Error"))
        .replace("component: instance-manager", "component: share-manager");
    assert!(found(&CHECK, &saw(&other, &after())).is_empty());
}

#[test]
fn a_later_replacement_is_not_taken_for_this_one() {
    // killed at 11:50, recreated at once, and replaced again two hours later to apply settings
    let mut cluster = saw(&last("Failed", &terminated(2, "Error")), &(after() + &hit()));
    let later_pod = after().replace(AGAIN, "2026-01-02T13:50:00Z").replace("uid-2", "uid-3");
    let second = deleting(im_pod("im-1", "uid-2", AGAIN, "Running", "", ""));
    let objects = live_at(NOW, &(later_pod + &hit().replace("11:50:03", "12:40:00"))).objects;
    cluster.history.pod_gone(Arc::new(pod(&second)), "uid-3", time("2026-01-02T13:49:50Z"));
    cluster =
        Cluster::new(NAMESPACE, time("2026-01-02T14:00:00Z"), objects, cluster.history, cluster.resources)
            .with_nothing_left_out();
    let evaluation = run(&CHECK, &cluster);
    assert_eq!(evaluation.report.findings[0].cause, "panic");
    assert!(evaluation.report.findings[0].volumes.is_empty(), "a failure in between is of neither");
    let family = "longhorn_health_instance_manager_last_replacement_timestamp_seconds";
    let labels = ["im-1", "node-1", "panic", "false"];
    assert_eq!(sample(&evaluation, family, &labels), Some(time(AGAIN).as_second() as f64));
}

#[test]
fn an_end_is_compared_with_what_it_hit_and_not_with_every_volume() {
    let volumes: String = (0..200).map(|number| volume(&format!("v-{number}"), "engine:new")).collect();
    let mut cluster = saw(&last("Failed", &terminated(137, "Error")), &(after() + &volumes));
    for number in 3..33 {
        let again = last("Failed", &terminated(137, "Error")).replace("uid-1", &format!("uid-{number}"));
        cluster.history.pod_gone(Arc::new(pod(&again)), "", time(GONE));
    }
    let looks = looks::during(|| assert_eq!(found(&CHECK, &cluster).len(), 1));
    assert!(looks < 200 * 30 / 2, "{looks}");
}

#[test]
fn a_drain_says_what_became_of_the_replicas() {
    let target = "{type: DisruptionTarget, status: 'True', reason: EvictionByEvictionAPI, message: 'Eviction API: evicting'}";
    let gone = deleting(last("Running", &format!("conditions: [{target}]")));
    let told = |rest: &str| {
        let finding = run(&CHECK, &saw(&gone, &(after() + rest))).report.findings.remove(0);
        assert_eq!(finding.severity.as_str(), "info");
        (finding.message, finding.impact)
    };
    let (message, impact) = told("");
    assert!(message.ends_with("evicted by a drain, no volume affected"), "{message}");
    assert_eq!(impact, "none: the instance manager was idle");
    let (message, impact) = told(&hit());
    assert!(message.ends_with("evicted by a drain (only replicas ran)"), "{message}");
    assert!(impact.ends_with("stayed attached: only replicas ended, and all are back"), "{impact}");
    // played on 1.12.1: a kubelet whose watch was late stopped it 15 s after Longhorn had marked the replicas
    let (message, _) = told(
        &(hit().replace("11:50:03", "11:49:45") + &event("Killing", "Stopping container instance-manager")),
    );
    assert!(message.ends_with("evicted by a drain (only replicas ran)"), "{message}");
    // an uninstallation deletes the volumes: what was said stays
    let later = next(saw(&gone, &(after() + &hit())), 60, &after());
    let finding = run(&CHECK, &later).report.findings.remove(0);
    assert!(finding.message.ends_with("evicted by a drain (only replicas ran)"), "{}", finding.message);
    assert_eq!(finding.impact, "none now: the volumes of its replicas have been deleted");
    let (_, impact) = told(&hit().replace("robustness: healthy", "robustness: degraded"));
    assert!(
        impact.ends_with("only replicas ended, and they are being rebuilt or return with the node"),
        "{impact}"
    );
}
