//! Lists, watches, and their interruptions.

use std::time::{Duration, Instant};

use fake_apiserver::{Expired, Fault, Verb};
use longhorn_health_exporter::checks;
use longhorn_health_exporter::cluster::{Cluster, Readability};
use longhorn_health_exporter::longhorn::Resource;
use longhorn_health_exporter::source::watch::Pauses;
use longhorn_health_exporter::source::{ApiErrorReason, LiveOptions, Source};
use serde_json::json;

use crate::support::*;

#[tokio::test]
async fn a_large_kind_is_one_list_from_the_memory_of_the_api_server() {
    let server = server().await;
    for number in 0..1203 {
        server.put(VOLUMES, volume(&format!("v{number:04}")));
    }
    let live = synced(&server).await;
    assert_eq!(live.snapshot(now()).objects.volumes.len(), 1203);
    assert_eq!(parameters(&server, VOLUMES, Verb::List, "resourceVersion"), ["0"]);
    assert_eq!(live.totals()[&Resource::Volumes].lists, 1);
}

#[tokio::test]
async fn a_list_that_fails_is_asked_for_in_pages() {
    let server = server().await;
    for number in 0..1203 {
        server.put(VOLUMES, volume(&format!("v{number:04}")));
    }
    in_pages(&server);
    let live = synced(&server).await;
    assert_eq!(live.snapshot(now()).objects.volumes.len(), 1203);
    assert_eq!(server.requests(VOLUMES, Verb::List), 1 + 5);
    assert_eq!(parameters(&server, VOLUMES, Verb::List, "limit")[1..], ["250"; 5]);
    assert_eq!(live.totals()[&Resource::Volumes].lists, 2);
}

#[tokio::test]
async fn only_list_and_watch_are_asked_for_and_one_name_where_one_will_do() {
    let server = server().await;
    let live = synced(&server).await;
    server.wait_for_open_watches("*", checks::CATALOGUE.kinds().len()).await;
    for (resource, verbs) in verbs(&server) {
        assert_eq!(verbs, [Verb::List, Verb::Watch], "{resource}");
    }
    let webhooks = "validatingwebhookconfigurations.admissionregistration.k8s.io";
    for verb in [Verb::List, Verb::Watch] {
        let selectors = parameters(&server, webhooks, verb, "fieldSelector");
        assert_eq!(selectors, ["metadata.name%3Dlonghorn-webhook-validator"]);
    }
    // what only plans read is not asked for
    let read = checks::CATALOGUE.kinds();
    for kind in Resource::all().filter(|kind| !read.contains(kind)).map(Resource::label) {
        assert_eq!(server.requests(&kind, Verb::List), 0, "{kind}");
    }
    live.stop().await;
    server.wait_for_open_watches("*", 0).await;
}

#[tokio::test]
async fn events_about_nodes_come_from_their_own_namespace_and_only_what_is_read_is_kept() {
    let event = |name: &str, namespace: &str, kind: &str, reason: &str| {
        let metadata = json!({"name": name, "namespace": namespace});
        json!({"metadata": metadata, "involvedObject": {"kind": kind, "name": "x"}, "reason": reason})
    };
    let server = server().await;
    server.put("events", event("lost", "default", "Node", "LonghornISCSIConnError"));
    server.put("events", event("other", "default", "Node", "NodeReady"));
    server.put("events", event("pod", "default", "Pod", "LonghornISCSIConnError"));
    server.put("events", event("ours", NAMESPACE, "Node", "Ready"));
    let live = synced(&server).await;
    let names = |cluster: &Cluster| -> Vec<String> {
        cluster.objects.node_events.iter().map(|event| event.metadata.name.to_string()).collect()
    };
    let cluster = live.snapshot(now());
    assert_eq!(names(&cluster), ["lost"]);
    assert_eq!(cluster.objects.events.iter().count(), 1);
    for verb in [Verb::List, Verb::Watch] {
        server.wait_for_open_watches("events", 2).await;
        let mut selectors = parameters(&server, "events", verb, "fieldSelector");
        selectors.sort();
        assert_eq!(selectors, ["", "involvedObject.kind%3DNode"]);
    }
    server.put("events", event("more", "default", "Node", "NodeReady"));
    server.put("events", event("shim", "default", "Node", "LonghornShimDisconnected"));
    until(&live, "the Event", |cluster| names(cluster) == ["lost", "shim"]).await;
    assert_eq!(live.totals()[&Resource::NodeEvents].lists, 1);
    assert_eq!(live.totals()[&Resource::NodeEvents].events, 2);
    assert_eq!(live.totals()[&Resource::Events].events, 0);
}

#[tokio::test]
async fn changes_follow_and_a_generation_tells() {
    let server = server().await;
    server.put(VOLUMES, volume("a"));
    let live = synced(&server).await;
    let before = live.generation();
    server.put(VOLUMES, volume("b"));
    server.delete(VOLUMES, NAMESPACE, "a");
    until(&live, "the changes", |cluster| volume_names(cluster) == ["b"]).await;
    assert!(live.generation() > before);
    assert_eq!(live.totals()[&Resource::Volumes].events, 2);
    assert_eq!(server.requests(VOLUMES, Verb::List), 1);
}

/// Managers write all the time what no check reads.
#[tokio::test]
async fn a_change_of_what_is_not_read_is_none() {
    let shared = |share: &str, state: &str| {
        let mut volume = volume("a");
        volume["status"] = json!({"shareEndpoint": share, "state": state});
        volume
    };
    let server = server().await;
    server.put(VOLUMES, shared("1", "attached"));
    let live = synced(&server).await;
    server.wait_for_watch(VOLUMES).await;
    let changes = || status(&live.snapshot(now()), Resource::Volumes).changes;
    let before = (live.generation(), changes());
    server.put(VOLUMES, shared("2", "attached"));
    within("the event", async {
        while live.totals()[&Resource::Volumes].events < 1 {
            tokio::time::sleep(Duration::from_millis(3)).await;
        }
    })
    .await;
    tokio::time::sleep(Duration::from_millis(20)).await; // counted before it is taken in
    assert_eq!((live.generation(), changes()), before);
    server.put(VOLUMES, shared("3", "detached"));
    until(&live, "the change", |cluster| status(cluster, Resource::Volumes).changes > before.1).await;
    assert!(live.generation() > before.0);
}

#[tokio::test]
async fn bookmarks_are_proof_of_life_and_the_next_watch_starts_from_them() {
    let server = server().await;
    let live = synced(&server).await;
    server.wait_for_watch(VOLUMES).await;
    let before = status(&live.snapshot(now()), Resource::Volumes).last_success;
    server.put("pods", pod("p", "1")); // moves the version of the server, not that of volumes
    tokio::time::sleep(Duration::from_millis(5)).await; // so that the clock moves
    server.send_bookmarks(VOLUMES);
    until(&live, "the bookmark", |cluster| status(cluster, Resource::Volumes).last_success > before).await;
    server.end_watches(VOLUMES);
    server.wait_for_requests(VOLUMES, Verb::Watch, 2).await;
    let versions = parameters(&server, VOLUMES, Verb::Watch, "resourceVersion");
    assert!(versions[1].parse::<u64>().unwrap() > versions[0].parse::<u64>().unwrap(), "{versions:?}");
    assert_eq!(server.requests(VOLUMES, Verb::List), 1);
}

#[tokio::test]
async fn a_410_as_event_and_at_the_start_of_a_watch_lists_anew() {
    for (expired, lists) in [(Expired::Event, 2), (Expired::Http, 2)] {
        let server = server().await;
        server.set_expired(expired);
        server.put(VOLUMES, volume("a"));
        server.put(VOLUMES, volume("b"));
        let live = synced(&server).await;
        server.wait_for_watch(VOLUMES).await;
        // the watch ends, and while no one looks an object goes and the version expires
        server.fault(VOLUMES, Fault::Status(503, None).on(Verb::Watch));
        server.end_watches(VOLUMES);
        server.wait_for_open_watches(VOLUMES, 0).await;
        server.delete(VOLUMES, NAMESPACE, "a");
        server.compact(VOLUMES);
        server.clear_fault(VOLUMES);
        let cluster = until(&live, "the new list", |cluster| volume_names(cluster) == ["b"]).await;
        assert!(is(&cluster, Resource::Volumes, Readability::Readable), "{expired:?}");
        assert_eq!(errors(&live, Resource::Volumes, ApiErrorReason::Expired), 1, "{expired:?}");
        assert_eq!(server.requests(VOLUMES, Verb::List), lists, "{expired:?}");
    }
}

#[tokio::test]
async fn an_open_watch_that_is_told_410_lists_anew() {
    let server = server().await;
    let live = synced(&server).await;
    server.wait_for_watch(VOLUMES).await;
    server.expire_watches(VOLUMES);
    server.wait_for_requests(VOLUMES, Verb::List, 2).await;
    server.put(VOLUMES, volume("new"));
    until(&live, "the object", |cluster| volume_names(cluster) == ["new"]).await;
}

#[tokio::test]
async fn a_dropped_watch_goes_on_where_it_was() {
    let server = server().await;
    let live = synced(&server).await;
    server.wait_for_watch(VOLUMES).await;
    server.drop_watches(VOLUMES);
    server.put(VOLUMES, volume("after"));
    until(&live, "the change", |cluster| volume_names(cluster) == ["after"]).await;
    assert_eq!(server.requests(VOLUMES, Verb::List), 1);
    assert_eq!(errors(&live, Resource::Volumes, ApiErrorReason::Connection), 1);
}

#[tokio::test]
async fn a_silent_watch_is_given_up_and_begun_anew() {
    let server = server().await;
    let live = start(&server, LiveOptions { watch_seconds: 1, ..options() }).await;
    within("the first sync", live.synced()).await;
    server.wait_for_watch(VOLUMES).await;
    server.fault(VOLUMES, Fault::Silence);
    server.put(VOLUMES, volume("unseen"));
    within("the timeout", async {
        while errors(&live, Resource::Volumes, ApiErrorReason::Timeout) == 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    server.clear_fault(VOLUMES);
    until(&live, "the change", |cluster| volume_names(cluster) == ["unseen"]).await;
}

#[tokio::test]
async fn a_list_that_hangs_is_given_up() {
    let server = server().await;
    server.fault(VOLUMES, Fault::Hang.on(Verb::List).times(1));
    server.put(VOLUMES, volume("a"));
    let live = start(&server, LiveOptions { answer_timeout: Duration::from_secs(3), ..options() }).await;
    within("the first sync", live.synced()).await;
    assert_eq!(errors(&live, Resource::Volumes, ApiErrorReason::Timeout), 1);
    assert_eq!(volume_names(&live.snapshot(now())), ["a"]);
}

#[tokio::test]
async fn a_slow_body_may_take_longer_than_the_longest_silence() {
    let server = server().await;
    for number in 0..40 {
        server.put(VOLUMES, volume(&format!("v{number}")));
    }
    server.fault(VOLUMES, Fault::SlowBody(200, Duration::from_millis(200)));
    let answer_timeout = Duration::from_secs(3);
    let live = start(&server, LiveOptions { answer_timeout, ..options() }).await;
    let begun = Instant::now();
    within("the first sync", live.synced()).await;
    assert!(begun.elapsed() > answer_timeout);
    assert_eq!(live.snapshot(now()).objects.volumes.len(), 40);
    assert!(live.totals()[&Resource::Volumes].errors.is_empty());
}

#[tokio::test]
async fn broken_and_truncated_lists_are_asked_for_again() {
    for (fault, reason) in [
        (Fault::BrokenBody, ApiErrorReason::Connection),
        (Fault::TruncatedBody, ApiErrorReason::Decode),
        (Fault::Status(500, None), ApiErrorReason::ServerError),
        (Fault::Status(429, Some(1)), ApiErrorReason::Throttled),
        (Fault::Raw(502, "<html>bad gateway</html>"), ApiErrorReason::ServerError),
        (Fault::Raw(200, "<html>log in</html>"), ApiErrorReason::Decode),
    ] {
        let server = server().await;
        server.put(VOLUMES, volume("a"));
        server.fault(VOLUMES, fault.clone().on(Verb::List).times(2));
        let live = start(&server, options()).await;
        until(&live, "the failure", |cluster| status(cluster, Resource::Volumes).error.is_some()).await;
        assert!(live.waiting_for().contains(&Resource::Volumes), "{fault:?}");
        within("the first sync", live.synced()).await;
        // the first is a list from memory, which a server that has none refuses so
        let failures = if reason == ApiErrorReason::Throttled { 1 } else { 2 };
        assert_eq!(errors(&live, Resource::Volumes, reason), failures, "{fault:?}");
        let cluster = live.snapshot(now());
        assert_eq!(volume_names(&cluster), ["a"]);
        assert_eq!(status(&cluster, Resource::Volumes).error, None, "{fault:?}");
    }
}

#[tokio::test]
async fn watches_that_end_at_once_are_not_begun_without_pause() {
    let server = server().await;
    server.fault(VOLUMES, Fault::Raw(200, "").on(Verb::Watch));
    // The second may follow the first at once; from then on there are pauses of a second, less a quarter
    // of jitter. A machine so slow that watches follow each other after more than a second of their own is
    // none to pause for, but has then taken that second.
    let pauses = Pauses { first: Duration::from_secs(1), longest: Duration::from_secs(1) };
    let begun = Instant::now();
    let live = start(&server, LiveOptions { pauses, ..options() }).await;
    within("the first sync", live.synced()).await;
    server.wait_for_requests(VOLUMES, Verb::Watch, 4).await;
    assert!(begun.elapsed() > Duration::from_secs(1), "{:?}", begun.elapsed());
    server.clear_fault(VOLUMES);
    server.put(VOLUMES, volume("a"));
    until(&live, "the change", |cluster| volume_names(cluster) == ["a"]).await;
}

#[tokio::test]
async fn a_watch_line_that_is_no_event_leads_to_a_new_list() {
    let server = server().await;
    let live = synced(&server).await;
    server.wait_for_watch(VOLUMES).await;
    server.send_raw(VOLUMES, "this is no event\n");
    server.wait_for_requests(VOLUMES, Verb::List, 2).await;
    assert_eq!(errors(&live, Resource::Volumes, ApiErrorReason::Decode), 1);
    server.put(VOLUMES, volume("a"));
    until(&live, "the change", |cluster| volume_names(cluster) == ["a"]).await;
}

#[tokio::test]
async fn a_list_with_more_objects_than_any_cluster_has_costs_only_its_kind() {
    let server = server().await;
    for number in 0..11 {
        server.put(VOLUMES, volume(&format!("v{number:02}")));
    }
    server.put("pods", pod("p", "1"));
    let live = start(&server, LiveOptions { most_objects: 10, ..options() }).await;
    // whole and in pages, again and again
    server.wait_for_requests(VOLUMES, Verb::List, 3).await;
    let cluster = until(&live, "the pod", |cluster| !cluster.objects.pods.is_empty()).await;
    assert!(!cluster.can_read(Resource::Volumes));
    assert_eq!(volume_names(&cluster), Vec::<&str>::new());
    assert!(errors(&live, Resource::Volumes, ApiErrorReason::Other) >= 2);
    server.delete(VOLUMES, NAMESPACE, "v00");
    until(&live, "the rest", |cluster| volume_names(cluster).len() == 10).await;
}

#[tokio::test]
async fn an_object_of_another_namespace_is_none_of_longhorns() {
    let server = server().await;
    let live = synced(&server).await;
    server.wait_for_watch(VOLUMES).await;
    let event = |name: &str, namespace: &str| {
        let metadata = json!({"name": name, "namespace": namespace, "resourceVersion": "900"});
        format!("{{\"type\":\"ADDED\",\"object\":{}}}\n", json!({ "metadata": metadata }))
    };
    server.send_raw(VOLUMES, event("foreign", "other"));
    server.send_raw(VOLUMES, event("ours", NAMESPACE));
    until(&live, "ours", |cluster| volume_names(cluster) == ["ours"]).await;
    assert_eq!(errors(&live, Resource::Volumes, ApiErrorReason::Decode), 1);
}

#[tokio::test]
async fn an_odd_object_costs_only_itself() {
    let server = server().await;
    server.put(VOLUMES, volume("good"));
    server.put_malformed(VOLUMES, NAMESPACE, "odd");
    let live = synced(&server).await;
    let cluster = live.snapshot(now());
    assert_eq!(volume_names(&cluster), ["good"]);
    assert_eq!(status(&cluster, Resource::Volumes).undecodable, 1);

    server.put_malformed(VOLUMES, NAMESPACE, "good");
    let both = |cluster: &_| status(cluster, Resource::Volumes).undecodable == 2;
    let cluster = until(&live, "the odd change", both).await;
    assert!(volume_names(&cluster).is_empty(), "the last good form is not shown as if it were new");

    server.put(VOLUMES, volume("good"));
    server.delete(VOLUMES, NAMESPACE, "odd");
    let healed = |cluster: &_| status(cluster, Resource::Volumes).undecodable == 0;
    assert_eq!(volume_names(&until(&live, "the mended objects", healed).await), ["good"]);
    assert_eq!(server.requests(VOLUMES, Verb::List), 1, "the watch was never disturbed");
}

#[tokio::test]
async fn a_watch_that_keeps_failing_is_rebuilt_with_a_list() {
    let server = server().await;
    server.put(VOLUMES, volume("a"));
    let live = synced(&server).await;
    server.wait_for_watch(VOLUMES).await;
    server.fault(VOLUMES, Fault::Status(400, None).on(Verb::Watch));
    server.end_watches(VOLUMES);
    server.wait_for_requests(VOLUMES, Verb::List, 2).await;
    server.clear_fault(VOLUMES);
    server.put(VOLUMES, volume("b"));
    until(&live, "the change", |cluster| volume_names(cluster) == ["a", "b"]).await;
}

#[tokio::test]
async fn an_error_ends_a_watch_however_many_follow() {
    let server = server().await;
    let live = synced(&server).await;
    server.wait_for_open_watches(VOLUMES, 1).await;
    for _ in 0..500 {
        server.send_watch_error(VOLUMES, 500);
    }
    server.put(VOLUMES, volume("a"));
    until(&live, "the volume", |cluster| volume_names(cluster) == ["a"]).await;
    let errors = errors(&live, Resource::Volumes, ApiErrorReason::ServerError);
    assert!((1..20).contains(&errors), "{errors}");
}
