//! The end of the logs of crashed managers.

use std::time::Instant;

use fake_apiserver::{Fault, Verb};
use longhorn_health_exporter::longhorn::Resource;
use longhorn_health_exporter::source::{CrashLogs, LiveOptions, Source};

use crate::support::*;

const MANAGER: &str = "longhorn-manager";
const LOG: &str = "pods/log";
/// As client-go of longhorn-manager v1.12.1 writes it.
const CUT_OFF: &str = "E0301 11:59:58.184589      12 leaderelection.go:461] \"Error retrieving lease lock\" err=\"Get \\\"https://10.43.0.1:443/apis/coordination.k8s.io/v1/leases/l\\\": dial tcp 10.43.0.1:443: i/o timeout\"\n";

fn log_of(cluster: &longhorn_health_exporter::cluster::Cluster, pod: &str) -> Option<String> {
    cluster.history.crash_log(pod, MANAGER).map(|log| log.text.clone())
}

#[tokio::test]
async fn a_log_is_read_once_per_termination_and_forgotten_with_its_pod() {
    let server = server().await;
    server.put("pods", crashed_manager("m", "1", 3, 10));
    server.set_log(NAMESPACE, "m", MANAGER, true, "level=fatal msg=first\n");
    let live = synced(&server).await;
    within("the logs", live.complete()).await;
    assert_eq!(log_of(&live.snapshot(now()), "m").as_deref(), Some("level=fatal msg=first\n"));
    let request = server.recorded().into_iter().find(|request| request.resource == LOG).unwrap();
    for part in ["previous=true", "container=longhorn-manager", "tailLines=200", "limitBytes="] {
        assert!(request.query.contains(part), "{}", request.query);
    }

    // the same termination, now restarted: not read again
    server.put("pods", crashed_manager("m", "1", 4, 10));
    server.put(VOLUMES, volume("marker"));
    until(&live, "the pod", |cluster| {
        let pod = cluster.objects.pods.get("m").unwrap();
        pod.container_status(MANAGER).unwrap().restart_count.0 == 4
    })
    .await;
    server.set_log(NAMESPACE, "m", MANAGER, true, "level=fatal msg=second\n");
    server.put("pods", crashed_manager("m", "1", 4, 20));
    let second = |cluster: &_| log_of(cluster, "m").as_deref() == Some("level=fatal msg=second\n");
    until(&live, "the second log", second).await;
    assert_eq!(server.requests(LOG, Verb::Get), 2);

    server.delete("pods", NAMESPACE, "m");
    until(&live, "the log to be forgotten", |cluster| log_of(cluster, "m").is_none()).await;
}

/// The kubelet may call it ended for a whole back-off before it says that it waits; its last log is of the run before meanwhile.
#[tokio::test]
async fn the_log_of_a_container_that_just_ended_is_read_as_its_present_one() {
    let server = server().await;
    let mut pod = crashed_manager("m", "1", 1, 10);
    pod["status"]["containerStatuses"][0]["state"] =
        serde_json::json!({"terminated": {"exitCode": 1, "finishedAt": "2026-01-01T00:00:12Z"}});
    server.put("pods", pod);
    server.set_log(NAMESPACE, "m", MANAGER, true, "killed\n");
    server.set_log(NAMESPACE, "m", MANAGER, false, "level=fatal msg=second\n");
    let live = synced(&server).await;
    within("the logs", live.complete()).await;
    assert_eq!(log_of(&live.snapshot(now()), "m").as_deref(), Some("level=fatal msg=second\n"));
    // once it waits, that log is the last one
    server.set_log(NAMESPACE, "m", MANAGER, true, "level=fatal msg=second, whole\n");
    server.put("pods", crashed_manager("m", "1", 1, 12));
    let whole = |cluster: &_| log_of(cluster, "m").as_deref() == Some("level=fatal msg=second, whole\n");
    until(&live, "the last log", whole).await;
}

#[tokio::test]
async fn the_end_of_a_long_log_is_kept() {
    let server = server().await;
    let line = format!("{}\n", "x".repeat(999));
    server.put("pods", crashed_manager("m", "1", 3, 10));
    server.set_log(NAMESPACE, "m", MANAGER, true, line.repeat(190) + "the last words\n");
    let live = synced(&server).await;
    within("the logs", live.complete()).await;
    let log = log_of(&live.snapshot(now()), "m").unwrap();
    assert!(log.ends_with("the last words\n"));
    assert!(log.len() <= 32 * 1024 && log.len() > 30 * 1024, "{}", log.len());
}

#[tokio::test]
async fn forbidden_logs_are_told_left_alone_and_tried_again() {
    let server = server().await;
    server.put("pods", crashed_manager("m", "1", 3, 10));
    server.set_log(NAMESPACE, "m", MANAGER, true, "why\n");
    server.fault(LOG, Fault::Forbid);
    let live = synced(&server).await;
    within("the refusal", live.complete()).await;
    let cluster = live.snapshot(now());
    assert_eq!(cluster.history.crash_logs_denied(), Some("forbidden"));
    assert_eq!(log_of(&cluster, "m"), None);

    server.clear_fault(LOG);
    let cluster = until(&live, "the log", |cluster| log_of(cluster, "m").is_some()).await;
    assert_eq!(cluster.history.crash_logs_denied(), None);
}

#[tokio::test]
async fn the_log_of_an_earlier_termination_is_not_taken_for_that_of_the_last() {
    let server = server().await;
    server.put("pods", crashed_manager("m", "1", 3, 10));
    server.set_log(NAMESPACE, "m", MANAGER, true, "first\n");
    let live = synced(&server).await;
    until(&live, "the first log", |cluster| log_of(cluster, "m").is_some()).await;

    // the node has no log of the second one
    server.remove_log(NAMESPACE, "m", MANAGER, true);
    server.put("pods", crashed_manager("m", "1", 4, 20));
    let cluster = until(&live, "the first log to be dropped", |cluster| log_of(cluster, "m").is_none()).await;
    assert!(cluster.history.why_crash_log_unread("m", "1").is_some());

    server.set_log(NAMESPACE, "m", MANAGER, true, "third\n");
    server.put("pods", crashed_manager("m", "1", 5, 30));
    until(&live, "the third log", |cluster| log_of(cluster, "m").is_some()).await;

    // the right is withdrawn before the fourth
    server.fault(LOG, Fault::Forbid);
    server.put("pods", crashed_manager("m", "1", 6, 40));
    let cluster = until(&live, "the third log to be dropped", |cluster| log_of(cluster, "m").is_none()).await;
    assert_eq!(cluster.history.crash_logs_denied(), Some("forbidden"));
}

#[tokio::test]
async fn while_refused_new_crashes_are_not_asked_for() {
    let server = server().await;
    server.put("pods", crashed_manager("m", "1", 3, 10));
    server.fault(LOG, Fault::Forbid);
    let patient = LiveOptions { crash_logs_again: std::time::Duration::from_secs(600), ..options() };
    let live = start(&server, patient).await;
    within("the refusal", live.complete()).await;
    for second in 20..25 {
        server.put("pods", crashed_manager("m", "1", 4, second));
    }
    server.wait_for_delivery("pods").await;
    until(&live, "the last change", |cluster| {
        let pod = cluster.objects.pods.get("m").unwrap();
        let ended = pod.container_status(MANAGER).unwrap().last_state.terminated.as_ref().unwrap();
        ended.finished_at.get().unwrap().to_string() == "2026-01-01T00:00:24Z"
    })
    .await;
    assert_eq!(server.requests(LOG, Verb::Get), 1);
}

#[tokio::test]
async fn switched_off_means_never() {
    let server = server().await;
    server.put("pods", crashed_manager("m", "1", 3, 10));
    let live = start(&server, LiveOptions { crash_logs: CrashLogs::Off, ..options() }).await;
    within("the first sync", live.complete()).await;
    let cluster = live.snapshot(now());
    assert_eq!(cluster.history.crash_logs_denied(), Some("switched off"));
    assert_eq!(cluster.objects.count(Resource::Pods), 1);
    assert_eq!(server.requests(LOG, Verb::Get), 0);
}

#[tokio::test]
async fn a_log_that_is_gone_is_not_asked_for_again_and_stops_nothing() {
    let server = server().await;
    server.put("pods", crashed_manager("a", "1", 3, 10));
    server.put("pods", crashed_manager("b", "2", 3, 10));
    server.put("pods", crashed_manager("c", "3", 3, 10));
    server.set_log(NAMESPACE, "b", MANAGER, true, "why\n");
    // with status 200, as a kubelet says it
    let gone = "unable to retrieve container logs for containerd://4492d592";
    server.set_log(NAMESPACE, "c", MANAGER, true, gone);
    let live = synced(&server).await;
    within("the logs", live.complete()).await;
    let cluster = until(&live, "the other log", |cluster| log_of(cluster, "b").is_some()).await;
    assert_eq!([log_of(&cluster, "a"), log_of(&cluster, "c")], [None, None]);
    assert_eq!(cluster.history.why_crash_log_unread("c", "3"), Some(gone));
    assert_eq!(cluster.history.crash_logs_denied(), None);
    let why = cluster.history.why_crash_log_unread("a", "1").unwrap();
    assert!(why.starts_with("the API server answers 4"), "{why}");
    assert_eq!(cluster.history.why_crash_log_unread("b", "2"), None);
}

/// A manager whose container has run for an hour.
fn present_log(cluster: &longhorn_health_exporter::cluster::Cluster, pod: &str) -> Option<String> {
    let pod = cluster.objects.pods.get(pod)?;
    cluster.history.current_log(pod, MANAGER).map(|log| log.text.clone())
}

#[tokio::test]
async fn the_present_log_of_a_manager_is_read_while_it_does_not_become_ready() {
    let server = server().await;
    server.put("pods", running_manager("hangs", false));
    server.put("pods", running_manager("works", true));
    server.set_log(NAMESPACE, "hangs", MANAGER, false, "no route to host\n");
    server.set_log(NAMESPACE, "works", MANAGER, false, "all is well\n");
    let live = synced(&server).await;
    within("the logs", live.complete()).await;
    let cluster = live.snapshot(now());
    assert_eq!(present_log(&cluster, "hangs").as_deref(), Some("no route to host\n"));
    assert_eq!(present_log(&cluster, "works").as_deref(), Some(""), "that it is well is all that is kept");
    assert_eq!(log_of(&cluster, "hangs"), None, "nothing has crashed");
    let requests: Vec<_> = server.recorded().into_iter().filter(|request| request.resource == LOG).collect();
    assert_eq!(requests.len(), 2);
    assert!(requests.iter().all(|request| !request.query.contains("previous=true")));
    assert!(requests.iter().all(|request| request.query.contains("sinceSeconds=120")));

    // its start is over
    server.put("pods", running_manager("hangs", true));
    until(&live, "the log to be forgotten", |cluster| present_log(cluster, "hangs").as_deref() == Some(""))
        .await;
}

#[tokio::test]
async fn no_log_is_asked_for_of_a_kubelet_that_is_silent_until_it_reports_again() {
    let server = server().await;
    let node = |ready: &str| {
        serde_json::json!({
            "metadata": {"name": "node-1"},
            "status": {"conditions": [{"type": "Ready", "status": ready}]},
        })
    };
    server.put("nodes", node("Unknown"));
    server.set_log(NAMESPACE, "cut-off", MANAGER, false, CUT_OFF);
    server.set_log(NAMESPACE, "hangs", MANAGER, false, "no route to host\n");
    let live = synced(&server).await;
    server.put("pods", running_manager("cut-off", false));
    until(&live, "the pod", |cluster| cluster.objects.pods.get("cut-off").is_some()).await;
    let mut elsewhere = running_manager("hangs", false);
    elsewhere["spec"]["nodeName"] = "node-2".into();
    server.put("pods", elsewhere);
    let cluster =
        until(&live, "the log of the other node", |cluster| present_log(cluster, "hangs").is_some()).await;
    assert_eq!(present_log(&cluster, "cut-off"), None);
    assert_eq!(server.requests(LOG, Verb::Get), 1);

    server.put("nodes", node("True"));
    until(&live, "the node", |cluster| cluster.objects.kube_nodes.get("node-1").unwrap().is_ready()).await;
    let mut pod = running_manager("cut-off", false);
    pod["status"]["containerStatuses"][0]["restartCount"] = 1.into();
    server.put("pods", pod);
    until(&live, "its log", |cluster| present_log(cluster, "cut-off").is_some()).await;
}

#[tokio::test]
async fn ready_managers_are_read_in_turn_and_no_more_than_six_at_once() {
    let server = server().await;
    for number in 0..10 {
        let name = format!("m-{number}");
        server.put("pods", running_manager(&name, true));
        server.set_log(NAMESPACE, &name, MANAGER, false, CUT_OFF);
    }
    let begun = Instant::now();
    let live = synced(&server).await;
    within("the logs", live.complete()).await;
    assert_eq!(server.requests(LOG, Verb::Get), 6);
    let cluster = live.snapshot(now());
    let kept =
        (0..10).filter(|number| present_log(&cluster, &format!("m-{number}")).as_deref() == Some(CUT_OFF));
    assert_eq!(kept.count(), 6, "what complains is kept");
    // a change of a pod does not make their turn come sooner
    server.put("pods", running_manager("m-0", false));
    until(&live, "the change", |cluster| {
        !cluster.objects.pods.get("m-0").unwrap().container_status(MANAGER).unwrap().ready
    })
    .await;
    let turns = 1 + begun.elapsed().as_secs() / 10;
    assert!(server.requests(LOG, Verb::Get) <= 6 * turns + 1);
}

/// As controllers of longhorn-manager v1.12.1 write it.
const FULL: &str = "time=\"2026-03-01T11:58:48Z\" level=error msg=\"Failed to sync Longhorn node\" error=\"etcdserver: mvcc: database space exceeded\"\n";

/// It ends what a log says of etcd, and is told at once although nothing of it is read.
#[tokio::test]
async fn the_first_write_after_an_etcd_was_full_is_news() {
    let write = |server: &fake_apiserver::FakeApiServer, share: &str| {
        let mut volume = volume("a");
        volume["status"] = serde_json::json!({"shareEndpoint": share});
        server.put(VOLUMES, volume);
    };
    let server = server().await;
    write(&server, "1");
    server.put("pods", running_manager("full", true));
    server.set_log(NAMESPACE, "full", MANAGER, false, FULL);
    let live = synced(&server).await;
    within("the logs", live.complete()).await;
    until(&live, "the log", |cluster| present_log(cluster, "full").as_deref() == Some(FULL)).await;
    server.wait_for_watch(VOLUMES).await;
    let before = live.generation();
    assert_eq!(live.snapshot(now()).last_write, None, "a list is no write");
    for share in ["2", "3"] {
        write(&server, share);
        until(&live, "the write", |cluster| cluster.last_write.is_some()).await;
    }
    let two = || live.totals()[&Resource::Volumes].events == 2;
    within("both events", async {
        while !two() {
            tokio::time::sleep(std::time::Duration::from_millis(3)).await;
        }
    })
    .await;
    tokio::time::sleep(std::time::Duration::from_millis(20)).await; // counted before it is taken in
    assert_eq!(live.generation(), before + 1, "only the first");
}

#[tokio::test]
async fn a_holder_of_the_start_lease_is_read_although_it_is_ready() {
    let server = server().await;
    server.put("pods", running_manager("holds", true));
    server.set_log(NAMESPACE, "holds", MANAGER, false, "csidrivers is forbidden\n");
    let acquired = now() - jiff::SignedDuration::from_mins(5);
    server.put(
        "leases.coordination.k8s.io",
        serde_json::json!({
            "metadata": {"name": "longhorn-manager-webhook-lock", "namespace": NAMESPACE},
            "spec": {"holderIdentity": "node-1", "leaseDurationSeconds": 20, "acquireTime": acquired.to_string()},
        }),
    );
    let live = synced(&server).await;
    within("the logs", live.complete()).await;
    assert!(present_log(&live.snapshot(now()), "holds").is_some());
}
