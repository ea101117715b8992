//! Ends by a taint, and of nodes that were away or lost their containers.

use super::*;
use crate::check::Finding;

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
        assert!(evidence(&finding).contains("taint key=value:NoExecute"), "{}", evidence(&finding));
    }
    // what is told to be removed is there: the exporter saw the taint, which is gone by now
    let mut live = case.live();
    live.objects.kube_nodes.insert(cluster(&node()).objects.kube_nodes.get("node-1").unwrap().clone());
    let finding = run(&CHECK, &live).report.findings.remove(0);
    let said = format!("{} {}", evidence(&finding), finding.remedy.fix);
    assert!(said.contains("taint key=value:NoExecute, since removed"), "{said}");
    assert!(!said.contains("Remove the taint"), "{said}");
    // the taint has been removed since by now, and the node has been Ready all the time
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
    let evidence: String = finding.evidence().iter().map(|fact| fact.text.as_str()).collect();
    assert!(evidence.contains("DetachedUnexpectedly on volume v at 2026-01-02T11:48:00Z"), "{evidence}");
    assert!(evidence.contains("when the container runtime was back"), "{evidence}");
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

/// A deletion that was seen while the node was as this text says, and a node that is as ever when it is judged.
fn deleted_while(node_then: &str, events: &str, busy: bool) -> Finding {
    let case = Case {
        seen: &[Running, Leaving, EndedAndLeaving(0, "Completed")],
        events: events.to_owned(),
        busy,
        ..Case::default()
    };
    let mut live = case.live();
    live.history = crate::history::History::starting(time("2026-01-02T00:00:00Z"));
    let then = cluster(node_then).objects.kube_nodes.get("node-1").cloned();
    live.history.pod_seen(&pod(&version(Leaving, "", "")), then.as_ref(), time("2026-01-02T11:49:57Z"));
    let last = pod(&version(EndedAndLeaving(0, "Completed"), "", ""));
    live.history.pod_gone(Arc::new(last), "uid-2", time(GONE));
    run(&CHECK, &live).report.findings.remove(0)
}

fn evidence(finding: &Finding) -> String {
    finding.evidence().iter().map(|fact| fact.text.as_str()).collect::<Vec<_>>().join("; ")
}

#[test]
fn how_the_node_was_then_is_told_after_it_has_changed() {
    let condition = |kind: &str, status: &str, at: &str| {
        format!("{{type: {kind}, status: '{status}', lastTransitionTime: '{at}'}}")
    };
    let long = "2025-12-01T00:00:00Z";
    let short = [condition("Ready", "True", long), condition("MemoryPressure", "True", GONE)].join(", ");
    let of = |conditions: &str| kube_node("node-1", &format!("status: {{conditions: [{conditions}]}}"));
    let cordoned = node()
        .replace("metadata: {name: node-1}\n", "metadata: {name: node-1}\nspec: {unschedulable: true}\n");
    let told = deleted_while(&of(&short), &stopping(), true);
    assert_eq!(told.cause.id, "deleted");
    assert!(
        evidence(&told).contains("node node-1 had MemoryPressure when the end of the pod was seen"),
        "{}",
        evidence(&told)
    );
    let told = deleted_while(&cordoned, &stopping(), true);
    assert!(evidence(&told).contains("kubectl drain --disable-eviction"), "{}", evidence(&told));
    assert!(evidence(&told).contains("was cordoned when the deletion"), "{}", evidence(&told));
    // as ever
    let told = deleted_while(&node(), &stopping(), true);
    assert!(!told.message.contains("drain") && !evidence(&told).contains(" had "), "{told:?}");
}

#[test]
fn a_pod_deleted_from_a_node_that_was_away_ended_with_the_node() {
    // lost at 11:44, deleted by force at 11:49:57, back by now; nothing of the pod itself tells
    let away = "apiVersion: v1\nkind: Node\nmetadata: {name: node-1}\nstatus: {conditions: [{type: Ready, status: Unknown, \
                lastTransitionTime: '2026-01-02T11:44:00Z'}]}\n---\n";
    let harm = volume("v", "engine:new") + &DETACHED.replace("11:50:20", "11:44:01");
    let told = deleted_while(away, &harm, false);
    assert_eq!((told.cause.id, told.volumes.len()), ("node_lost", 1), "{told:?}");
    assert!(evidence(&told).contains("was not Ready, since 2026-01-02T11:44:00Z,"), "{}", evidence(&told));
    // a kubelet that calls its node not Ready is there, and ends a pod because it is told to
    let answers = away.replace("Unknown", "'False'");
    assert_eq!(deleted_while(&answers, &(stopping() + &hit()), true).cause.id, "deleted");
    // a node that was Ready then and is away now did not end it
    let ready = deleted_while(&node(), &(hit() + &volume("v", "engine:new") + &node_down()), false);
    assert_eq!(ready.cause.id, "deleted", "{ready:?}");
}
