//! What an exporter that starts afterwards still sees.

use super::*;

/// A node that came back at 11:52, and a replacement that no one saw.
fn unseen(volume: &str) -> Vec<String> {
    let back = node().replace("2025-12-01T00:00:00Z", "2026-01-02T11:52:00Z");
    let mut cluster = live_at(NOW, &(after().replace(&node(), &back) + volume));
    cluster.history.started = Some(time("2026-01-02T11:59:00Z"));
    found(&CHECK, &cluster)
}

#[test]
fn a_volume_that_had_to_remount_tells_of_an_engine_that_died() {
    let at = |moment: &str| {
        let status = format!("currentNodeID: node-1, remountRequestedAt: '{moment}'");
        volume("v", "engine:new").replace("currentNodeID: node-1", &status)
    };
    let (hurt, harmless) =
        (["warning node_lost InstanceManager im-1"], ["info node_lost InstanceManager im-1"]);
    assert_eq!(unseen(&at("2026-01-02T11:51:10Z")), hurt);
    assert_eq!(unseen(&at("")), harmless);
    assert_eq!(unseen(&at("2026-01-01T11:51:10Z")), harmless, "another day");
    // a shared volume asks for it at each look while its NFS server is in error
    let shared = at("2026-01-02T11:51:10Z").replace("spec: {", "spec: {accessMode: rwx, ");
    assert_eq!(unseen(&shared), harmless);
    let migratable = shared.replace("accessMode: rwx", "accessMode: rwx, migratable: true");
    assert_eq!(unseen(&migratable), hurt);
}

#[test]
fn a_node_that_has_just_joined_took_no_pod_along() {
    let joined = node().replace("2025-12-01T00:00:00Z", "2026-01-02T11:48:00Z");
    let yaml = after().replace(&node(), &joined);
    let born = |at: &str| deleting(last("Running", "")).replace("2026-01-01T00:00:00Z", at);
    let found = |at: &str| found(&CHECK, &saw(&born(at), &yaml));
    assert_eq!(found("2026-01-02T11:49:00Z"), ["info deleted InstanceManager im-1"]);
    assert_eq!(found("2026-01-02T11:46:00Z"), ["info node_lost InstanceManager im-1"]);
}

/// Seen: an exporter that was restarted after an instance manager had died with volumes in it; a quarter of an hour later all volumes
/// were detached, and Longhorn replaced the idle pod for a setting.
#[test]
fn what_the_pod_before_hit_is_no_harm_of_the_next_end() {
    let waits = "apiVersion: longhorn.io/v1beta2\nkind: Setting\nmetadata: {name: taint-toleration, namespace: longhorn-system}\n\
                 value: 'a=b:NoSchedule'\nstatus: {applied: false}\n---\n";
    let second = im_pod("im-1", "uid-2", AGAIN, "Running", "", "");
    let third = im_pod("im-1", "uid-3", "2026-01-02T12:15:05Z", "Running", "", "");
    let after_next = |failed: &str| {
        let mut cluster = live_at(NOW, &(after() + &hit()));
        cluster.history.started = Some(time("2026-01-02T11:59:00Z"));
        assert_eq!(found(&CHECK, &cluster), ["warning unknown InstanceManager im-1"]);
        let volume = hit().replace("11:50:03", failed);
        let mut cluster = next(cluster, 920, &(after().replace(&second, &third) + &volume + waits));
        let gone = second
            .replace("creationTimestamp:", "deletionTimestamp: '2026-01-02T12:15:00Z', creationTimestamp:");
        cluster.history.pod_gone(Arc::new(pod(&gone)), "uid-3", time("2026-01-02T12:15:00Z"));
        found(&CHECK, &cluster)
    };
    assert_eq!(after_next("11:50:03"), ["info settings_sync InstanceManager im-1"]);
    assert_eq!(after_next("12:15:03"), ["warning deleted InstanceManager im-1"]);
}

/// Seen on 1.12.1: engines were started again while volumes were new, two minutes later all were detached for settings. What the kubelet
/// stops without a failed probe ends in that moment, and nothing before it.
#[test]
fn what_happened_before_the_kubelet_stopped_it_is_no_harm_of_that() {
    let stopped = event("Killing", "Stopping container instance-manager");
    let remounted = |at: &str| {
        let status = format!("currentNodeID: node-1, remountRequestedAt: '{at}'");
        volume("v", "engine:new").replace("currentNodeID: node-1", &status)
    };
    let waits = "apiVersion: longhorn.io/v1beta2\nkind: Setting\nmetadata: {name: priority-class, namespace: longhorn-system}\n\
                 value: prio\nstatus: {applied: false}\n---\n";
    let judged = |rest: String| found(&CHECK, &cluster_at(NOW, &(after() + &stopped + &rest)));
    let before = remounted("2026-01-02T11:48:07Z");
    assert_eq!(judged(before.clone()), ["info unknown InstanceManager im-1"]);
    assert_eq!(judged(before.clone() + waits), ["info settings_sync InstanceManager im-1"]);
    assert_eq!(judged(remounted("2026-01-02T11:50:20Z") + waits), ["warning unknown InstanceManager im-1"]);
    // seen on 1.12.1: engines of volumes that were made a minute later could not start
    let made =
        remounted("2026-01-02T11:50:20Z").replace("metadata: {", "metadata: {creationTimestamp: 'MADE', ");
    for (at, expected) in [("11:50:05", "info settings_sync"), ("11:49:00", "warning unknown")] {
        let made = made.replace("MADE", &format!("2026-01-02T{at}Z"));
        assert_eq!(judged(made + waits), [format!("{expected} InstanceManager im-1")], "{at}");
    }
    // the node was away: what ran there had ended before its kubelet came back
    let away = event("NodeNotReady", "Node is not ready").replace(GONE, "2026-01-02T11:48:00Z");
    assert_eq!(judged(before + &away), ["warning unknown InstanceManager im-1"]);
}

/// Seen on 1.12.1: a drain took the replicas along and no engine; the node was uncordoned and they were taken up again.
#[test]
fn what_someone_asked_for_is_context_once_all_replicas_are_there_again() {
    let stopped = event("Killing", "Stopping container instance-manager");
    let judged = |harm: &str| found(&CHECK, &cluster_at(NOW, &(after() + &stopped + harm)));
    let hurt = hit().replace("robustness: healthy", "robustness: degraded");
    assert_ne!(hurt, hit());
    assert_eq!(judged(&hit()), ["info unknown InstanceManager im-1"]);
    assert_eq!(judged(&hurt), ["warning unknown InstanceManager im-1"]);
    assert_eq!(judged(&(hit() + DETACHED)), ["warning unknown InstanceManager im-1"], "an engine died, too");
    // one whose end no kubelet asked for may come again
    let by_itself = found(&CHECK, &cluster_at(NOW, &(after() + &hit())));
    assert_eq!(by_itself, ["warning unknown InstanceManager im-1"]);
}

/// Seen on 1.12.1: settings waited, all volumes were detached, and the last replica of one went with the pod.
#[test]
fn a_replica_of_a_volume_that_leaves_is_no_harm_of_a_setting_that_is_applied() {
    let waits = "apiVersion: longhorn.io/v1beta2\nkind: Setting\nmetadata: {name: priority-class, namespace: longhorn-system}\n\
                 value: prio\nstatus: {applied: false}\n---\n";
    let gone = deleting(last("Running", ""));
    let in_state = |state: &str| hit().replace("state: attached", &format!("state: {state}"));
    for (state, setting, expected) in [
        ("detaching", waits, "info settings_sync"),
        ("attached", waits, "warning deleted"),
        ("detaching", "", "warning deleted"),
    ] {
        assert_eq!(verdict(&gone, &(in_state(state) + setting)), expected, "{state}");
    }
}

/// Seen on 1.12.1 and recorded: a drain evicts at once, and its kubelet says some seconds later that the node was cordoned.
#[test]
fn a_stop_on_a_cordoned_node_is_a_drain_where_no_engine_ran() {
    let stopped = event("Killing", "Stopping container instance-manager");
    let said = |reason: &str, at: &str| {
        format!(
            "apiVersion: v1\nkind: Event\nmetadata: {{name: {reason}, namespace: default}}\nreason: {reason}\n\
             involvedObject: {{kind: Node, name: node-1}}\nlastTimestamp: '2026-01-02T{at}Z'\n---\n"
        )
    };
    let hurt = hit().replace("robustness: healthy", "robustness: degraded");
    let judged =
        |harm: &str, rest: String| found(&CHECK, &cluster_at(NOW, &(after() + &stopped + harm + &rest)));
    let cordoned = || said("NodeNotSchedulable", "11:50:10");
    let (drained, unknown) =
        (["info evicted InstanceManager im-1"], ["warning unknown InstanceManager im-1"]);
    assert_eq!(judged(&hurt, cordoned()), drained);
    assert_eq!(judged(&hurt, cordoned() + &said("NodeSchedulable", "11:55:00")), drained);
    assert_eq!(judged("", cordoned()), drained);
    assert_eq!(judged(&(hurt.clone() + DETACHED), cordoned()), unknown, "an engine died");
    assert_eq!(judged(&hurt, said("NodeNotSchedulable", "11:50:16")), unknown, "cordoned later");
    // seen: an outage of the API server had made the node NotReady for some seconds just before the drain
    let away = event("NodeNotReady", "Node is not ready").replace(GONE, "2026-01-02T11:49:20Z");
    let back = node().replace("2025-12-01T00:00:00Z", "2026-01-02T11:49:40Z");
    let judged_back = |rest: String| {
        let yaml = after().replace(&node(), &back) + &stopped + &hurt + &away + &rest;
        run(&CHECK, &cluster_at(NOW, &yaml)).report.findings[0].cause
    };
    assert_eq!([judged_back(String::new()), judged_back(cordoned())], ["node_lost", "evicted"]);
    assert_eq!(judged_back(said("NodeNotSchedulable", "11:49:40")), "evicted", "cordoned as it came back");
    let before = said("NodeNotSchedulable", "11:40:00") + &said("NodeSchedulable", "11:49:00");
    assert_eq!(judged(&hurt, before), unknown, "uncordoned before");
}

/// A node that is drained for an update is cordoned for as long, and gets no pod before.
#[test]
fn a_drain_may_last_an_hour_before_the_next_pod_comes() {
    let hour_ago = |reason: &str, at: &str| {
        format!(
            "apiVersion: v1\nkind: Event\nmetadata: {{name: {reason}, namespace: default}}\nreason: {reason}\n\
             involvedObject: {{kind: Node, name: node-1}}\nlastTimestamp: '2026-01-02T{at}Z'\n---\n"
        )
    };
    let stopped =
        event("Killing", "Stopping container instance-manager").replace(GONE, "2026-01-02T10:50:10Z");
    let hurt = hit().replace("robustness: healthy", "robustness: degraded").replace("T11:50:", "T10:50:");
    let judged = |rest: String| found(&CHECK, &cluster_at(NOW, &(after() + &stopped + &hurt + &rest)));
    let drained = hour_ago("NodeNotSchedulable", "10:50:00") + &hour_ago("NodeSchedulable", "11:50:05");
    assert_eq!(judged(drained), ["info evicted InstanceManager im-1"]);
    // the next pod came 15 minutes after that, or longer: then it is another end, of which nothing is known
    for (uncordoned, verdict) in
        [("11:35:05", "info evicted"), ("11:35:04", "warning unknown"), ("10:55:00", "warning unknown")]
    {
        let events = hour_ago("NodeNotSchedulable", "10:50:00") + &hour_ago("NodeSchedulable", uncordoned);
        assert_eq!(judged(events), [format!("{verdict} InstanceManager im-1")], "{uncordoned}");
    }
}

/// Seen on 1.12.1: a node had been off for a minute, and twenty minutes later a taint took the next pod and its replicas.
#[test]
fn a_loss_that_was_made_good_is_not_raised_by_what_breaks_later() {
    let lost = last("Failed", &terminated(255, "Unknown"));
    let mut cluster = saw(&lost, &(after() + &hit()));
    for seconds in [0, 300, 300] {
        cluster = later(cluster, seconds);
        assert_eq!(found(&CHECK, &cluster), ["info node_lost InstanceManager im-1"], "{}", cluster.now);
    }
    let hurt = hit().replace("robustness: healthy", "robustness: degraded");
    let cluster = next(cluster, 60, &(after() + &hurt));
    assert_eq!(found(&CHECK, &cluster), ["info node_lost InstanceManager im-1"]);
    // in its first minutes the harm may only be about to show
    let mut early = live_at("2026-01-02T11:51:00Z", &(after() + &volume("v", "engine:new")));
    early.history.started = Some(time("2026-01-02T00:00:00Z"));
    early.history.pod_gone(Arc::new(pod(&lost)), "uid-2", time(GONE));
    assert_eq!(found(&CHECK, &early), ["info node_lost InstanceManager im-1"]);
    early = next(later(early, 5), 5, &(after() + &hurt));
    // and what a reboot hurt is made good within minutes, or not
    assert_eq!(found(&CHECK, &early), ["info node_lost InstanceManager im-1"]);
    early = next(later(early, 290), 5, &(after() + &hurt));
    assert_eq!(found(&CHECK, &early), ["warning node_lost InstanceManager im-1"]);
}

/// Kernel and kubelet of a home server with 1.11.0 (longhorn issue 12643).
#[test]
fn the_event_of_a_node_names_an_instance_manager_that_its_kernel_killed() {
    let oom = |victim: &str, node: &str, at: &str| {
        format!(
            "apiVersion: v1\nkind: Event\nmetadata: {{name: e-oom, namespace: default}}\ninvolvedObject: {{kind: Node, name: {node}}}\n\
             reason: SystemOOM\nmessage: 'System OOM encountered, victim process: {victim}, pid: 86927'\nlastTimestamp: '{at}'\n---\n"
        )
    };
    let judged = |rest: &str| found(&CHECK, &cluster_at(NOW, &(after() + rest))).remove(0);
    let (killed, unknown) =
        ("warning oom_killed InstanceManager im-1", "warning unknown InstanceManager im-1");
    let main = "longhorn-instan";
    for (rest, expected) in [
        (oom(main, "node-1", "2026-01-02T11:49:55Z"), killed),
        // with the longest back-off
        (oom(main, "node-1", "2026-01-02T11:47:05Z"), killed),
        (oom(main, "node-1", "2026-01-02T11:47:04Z"), unknown),
        (oom(main, "node-1", "2026-01-02T11:50:11Z"), unknown),
        (oom(main, "node-2", "2026-01-02T11:49:55Z"), unknown),
        // an engine or a replica does not end its pod, a database even less
        (oom("longhorn", "node-1", "2026-01-02T11:49:55Z"), unknown),
        (oom("postgres", "node-1", "2026-01-02T11:49:55Z"), unknown),
        (oom("longhorn-instant", "node-1", "2026-01-02T11:49:55Z"), unknown),
    ] {
        assert_eq!(judged(&rest), expected, "{rest}");
    }
    // its kubelet stopped it, so the kernel did not
    let stopped = event("Killing", "Stopping container instance-manager") + &hit() + DETACHED;
    assert_eq!(judged(&(oom(main, "node-1", "2026-01-02T11:49:55Z") + &stopped)), unknown);
}
