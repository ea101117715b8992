//! How fresh what is held is, and what brings it up to date again.

use std::time::Duration;

use fake_apiserver::{Fault, Verb};
use jiff::SignedDuration;
use longhorn_health_exporter::checks;
use longhorn_health_exporter::cluster::Readability;
use longhorn_health_exporter::longhorn::Resource;
use longhorn_health_exporter::source::{ApiErrorReason, LiveOptions, Source};

use crate::support::*;

#[tokio::test]
async fn a_stopped_api_server_is_seen_and_outlived() {
    let server = server().await;
    server.put(VOLUMES, volume("a"));
    let live = synced(&server).await;
    // one that soon distrusts what it holds
    let stale_after = SignedDuration::from_secs(1);
    let wary = start(&server, LiveOptions { stale_after, ..options() }).await;
    within("its first sync", wary.synced()).await;
    server.wait_for_open_watches("*", 2 * checks::CATALOGUE.kinds().len()).await;
    server.stop().await;
    let cluster =
        until(&live, "the failure", |cluster| status(cluster, Resource::Volumes).error.is_some()).await;
    assert_eq!(volume_names(&cluster), ["a"], "the last state is kept");
    assert!(is(&cluster, Resource::Volumes, Readability::Readable), "until it is too old");
    // the wall clock does not matter
    let stale = |cluster: &_| is(cluster, Resource::Volumes, Readability::Stale);
    assert!(!stale(&live.snapshot(now().checked_add(SignedDuration::from_hours(1)).unwrap())));
    let later = until(&wary, "the age", stale).await;
    assert!(!later.can_read(Resource::Volumes));
    assert!(wary.waiting_for().is_empty(), "ready stays ready");

    server.restart().await;
    server.put(VOLUMES, volume("b"));
    let healed = |cluster: &_| status(cluster, Resource::Volumes).error.is_none();
    for live in [&live, &wary] {
        let change = |cluster: &_| healed(cluster) && volume_names(cluster).len() == 2;
        let cluster = until(live, "the change", change).await;
        assert!(status(&cluster, Resource::Volumes).last_success.is_some());
    }
}

#[tokio::test]
async fn a_list_that_never_completes_ages_though_the_server_answers() {
    let server = server().await;
    for number in 0..600 {
        server.put(VOLUMES, volume(&format!("v{number}")));
    }
    let live = synced(&server).await;
    server.wait_for_watch(VOLUMES).await;
    server.fault(VOLUMES, Fault::TruncatedBody.on(Verb::List));
    server.expire_watches(VOLUMES);
    server.wait_for_requests(VOLUMES, Verb::List, 6).await;
    let due = status(&live.snapshot(now()), Resource::Volumes).last_success.unwrap();
    server.wait_for_requests(VOLUMES, Verb::List, 8).await;
    let cluster = live.snapshot(now());
    assert_eq!(status(&cluster, Resource::Volumes).last_success, Some(due), "as old as the list is due");
    assert_eq!(cluster.objects.volumes.len(), 600, "half a list never replaces a whole one");
}

#[tokio::test]
async fn a_page_that_fails_is_asked_for_again_by_itself() {
    for fault in [Fault::Status(503, None), Fault::Status(429, Some(1)), Fault::BrokenBody] {
        let server = server().await;
        for number in 0..2600 {
            server.put(VOLUMES, volume(&format!("v{number}")));
        }
        in_pages(&server);
        server.fault(VOLUMES, fault.clone().on(Verb::List).every(3));
        let live = start(&server, options()).await;
        within("the first sync", live.synced()).await;
        assert_eq!(live.snapshot(now()).objects.volumes.len(), 2600, "{fault:?}");
        let requests = server.requests(VOLUMES, Verb::List);
        assert!(requests < 22, "eleven pages took {requests} requests with {fault:?}");
    }
}

/// A watch that trickles, or sends what is no event, proves nothing: the kind is distrusted in time.
#[tokio::test]
async fn bytes_that_are_no_whole_event_do_not_keep_a_kind_fresh() {
    for piece in ["{\"type\":\"MODIFIED\",\"object\":", " "] {
        let server = server().await;
        let stale_after = SignedDuration::from_millis(800);
        let live = start(&server, LiveOptions { stale_after, ..options() }).await;
        within("the first sync", live.synced()).await;
        server.wait_for_watch(VOLUMES).await;
        let stale = async {
            while !is(&live.snapshot(now()), Resource::Volumes, Readability::Stale) {
                server.send_raw(VOLUMES, piece);
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        within("distrust", stale).await;
    }
}

/// Such a watch is also ended from this side, so that nothing is missed for long.
#[tokio::test]
async fn a_watch_that_trickles_is_ended_in_time() {
    let server = server().await;
    let live = start(&server, LiveOptions { watch_seconds: 1, ..options() }).await;
    within("the first sync", live.synced()).await;
    server.wait_for_watch(VOLUMES).await;
    server.fault(VOLUMES, Fault::Silence);
    server.put(VOLUMES, volume("unseen"));
    let ended = async {
        while errors(&live, Resource::Volumes, ApiErrorReason::Timeout) == 0 {
            server.send_raw(VOLUMES, " ");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    within("the end", ended).await;
    server.clear_fault(VOLUMES);
    until(&live, "the change", |cluster| volume_names(cluster) == ["unseen"]).await;
}

/// kube drops such lines without an error; the object would be lost for good.
#[tokio::test]
async fn an_event_that_is_cut_leads_to_a_new_list() {
    let half = "{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{\"name\":\"a\"";
    for (bytes, ends) in [(format!("{half}\n"), false), (half.to_owned(), true), ("\n".to_owned(), false)] {
        let server = server().await;
        let live = synced(&server).await;
        server.wait_for_watch(VOLUMES).await;
        server.send_raw(VOLUMES, bytes);
        if ends {
            server.end_watches(VOLUMES);
        }
        server.wait_for_requests(VOLUMES, Verb::List, 2).await;
        assert_eq!(errors(&live, Resource::Volumes, ApiErrorReason::Decode), 1);
        server.put(VOLUMES, volume("a"));
        until(&live, "the change", |cluster| volume_names(cluster) == ["a"]).await;
    }
}

/// Something between us and the API server may answer each watch with nothing, or with an error, or not at all,
/// while lists come through.
#[tokio::test]
async fn a_kind_whose_watches_bring_nothing_is_listed_again_and_again() {
    const ERROR: &str =
        "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":500,\"message\":\"no\"}}\n";
    for fault in [Fault::Raw(200, ""), Fault::Raw(200, ERROR), Fault::Hang] {
        let server = server().await;
        server.fault(VOLUMES, fault.clone().on(Verb::Watch));
        let answer_timeout = Duration::from_secs(1);
        let live = start(&server, LiveOptions { answer_timeout, ..options() }).await;
        within("the first sync", live.synced()).await;
        server.put(VOLUMES, volume("a"));
        until(&live, "the change", |cluster| volume_names(cluster) == ["a"]).await;
        server.put(VOLUMES, volume("b"));
        until(&live, "the next change", |cluster| volume_names(cluster) == ["a", "b"]).await;
        assert!(errors(&live, Resource::Volumes, ApiErrorReason::Other) > 0, "{fault:?}");
    }
}

/// Nothing was missed where a server or proxy ends watches in time.
#[tokio::test]
async fn a_quiet_kind_whose_watches_end_in_their_time_is_not_listed_again() {
    let server = server().await;
    let live = start(&server, LiveOptions { watch_seconds: 1, ..options() }).await;
    within("the first sync", live.synced()).await;
    server.wait_for_requests(VOLUMES, Verb::Watch, 5).await;
    assert_eq!(server.requests(VOLUMES, Verb::List), 1);
    assert!(live.totals()[&Resource::Volumes].errors.is_empty());
}

#[tokio::test]
async fn a_quiet_kind_is_listed_again_from_time_to_time() {
    let server = server().await;
    let relist_every = Duration::from_millis(300);
    let live = start(&server, LiveOptions { relist_every, ..options() }).await;
    within("the first sync", live.synced()).await;
    server.wait_for_requests(VOLUMES, Verb::List, 3).await;
    assert!(is(&live.snapshot(now()), Resource::Volumes, Readability::Readable));
    assert!(live.totals()[&Resource::Volumes].errors.is_empty());
}

/// No event can tell what an object without a name has become.
#[tokio::test]
async fn a_list_with_an_object_without_a_name_is_asked_for_again() {
    const LIST: &str = r#"{"metadata": {"resourceVersion": "1"}, "items": [{"metadata": {}}, null]}"#;
    let server = server().await;
    server.fault(VOLUMES, Fault::Raw(200, LIST).on(Verb::List).times(1));
    let live = start(&server, options()).await;
    until(&live, "the odd list", |cluster| status(cluster, Resource::Volumes).undecodable > 0).await;
    until(&live, "the next list", |cluster| status(cluster, Resource::Volumes).undecodable == 0).await;
}

#[tokio::test]
async fn a_list_that_drips_is_given_up() {
    let server = server().await;
    for number in 0..40 {
        server.put(VOLUMES, volume(&format!("v{number}")));
    }
    server.fault(VOLUMES, Fault::SlowBody(1, Duration::from_millis(50)).on(Verb::List).times(1));
    let page_timeout = Duration::from_secs(3);
    let live = start(&server, LiveOptions { page_timeout, ..options() }).await;
    within("the first sync", live.synced()).await;
    assert_eq!(live.snapshot(now()).objects.volumes.len(), 40);
    assert_eq!(errors(&live, Resource::Volumes, ApiErrorReason::Timeout), 1);
}
