//! Rights and kinds that are missing, come, and go.

use std::time::Duration;

use fake_apiserver::{Fault, Unserved, Verb};
use longhorn_health_exporter::cluster::Readability;
use longhorn_health_exporter::longhorn::Resource;
use longhorn_health_exporter::source::watch::{LiveOptions, Pauses};
use longhorn_health_exporter::source::{ApiErrorReason, Source};

use crate::support::*;

#[tokio::test]
async fn a_forbidden_kind_is_told_and_heals_and_the_others_go_on() {
    let server = server().await;
    server.put(VOLUMES, volume("a"));
    server.fault("nodes", Fault::Forbid);
    let live = synced(&server).await;
    let cluster = live.snapshot(now());
    assert!(is(&cluster, Resource::KubeNodes, Readability::Forbidden));
    assert!(!cluster.can_read(Resource::KubeNodes));
    let error = status(&cluster, Resource::KubeNodes).error.clone().unwrap();
    assert!(error.starts_with("nodes: list failed: 403: "), "{error}");
    assert_eq!(volume_names(&cluster), ["a"]);
    assert!(errors(&live, Resource::KubeNodes, ApiErrorReason::Forbidden) >= 1);

    server.clear_fault("nodes");
    let healed =
        until(&live, "the right", |cluster| is(cluster, Resource::KubeNodes, Readability::Readable)).await;
    assert_eq!(status(&healed, Resource::KubeNodes).error, None);
}

#[tokio::test]
async fn a_right_withdrawn_while_watching_shows_when_the_watch_ends() {
    for (fault, reason) in
        [(Fault::Forbid, ApiErrorReason::Forbidden), (Fault::Unauthorized, ApiErrorReason::Unauthorized)]
    {
        let server = server().await;
        server.put(VOLUMES, volume("a"));
        let live = synced(&server).await;
        server.wait_for_watch(VOLUMES).await;
        server.fault(VOLUMES, fault);
        server.end_watches(VOLUMES);
        let refused = |cluster: &_| is(cluster, Resource::Volumes, Readability::Forbidden);
        until(&live, "the refusal", refused).await;
        assert!(errors(&live, Resource::Volumes, reason) >= 1);

        server.delete(VOLUMES, NAMESPACE, "a");
        server.put(VOLUMES, volume("b"));
        server.clear_fault(VOLUMES);
        let healed = |cluster: &_| is(cluster, Resource::Volumes, Readability::Readable);
        let cluster = until(&live, "the right", healed).await;
        assert_eq!(volume_names(&cluster), ["b"], "what happened meanwhile is seen");
    }
}

#[tokio::test]
async fn what_an_api_server_refuses_in_passing_stays_known() {
    let server = server().await;
    server.put(VOLUMES, volume("a"));
    // it stands for four first pauses, which a busy machine must not use up
    let pauses = Pauses { first: Duration::from_secs(30), longest: Duration::from_millis(500) };
    let live = start(&server, LiveOptions { pauses, ..options() }).await;
    within("all kinds", live.synced()).await;
    server.wait_for_watch(VOLUMES).await;
    server.fault(VOLUMES, Fault::Forbid.times(2));
    server.end_watches(VOLUMES);
    within("two refusals and a list", async {
        while errors(&live, Resource::Volumes, ApiErrorReason::Forbidden) < 2
            || status(&live.snapshot(now()), Resource::Volumes).error.is_some()
        {
            let cluster = live.snapshot(now());
            assert!(is(&cluster, Resource::Volumes, Readability::Readable));
            assert_eq!(volume_names(&cluster), ["a"]);
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_kind_that_is_not_served_is_followed_when_it_comes() {
    for unserved in [Unserved::Text, Unserved::Status] {
        let server = server().await;
        server.set_unserved(unserved);
        let frontends = "enginefrontends.longhorn.io";
        server.unserve(frontends);
        let live = synced(&server).await;
        let cluster = live.snapshot(now());
        assert!(is(&cluster, Resource::EngineFrontends, Readability::NotInstalled));
        assert!(
            cluster.can_read(Resource::EngineFrontends),
            "older releases have none, which is no blindness"
        );

        server.serve(definition(Resource::EngineFrontends));
        server.put(frontends, volume("f"));
        let came = |cluster: &_| is(cluster, Resource::EngineFrontends, Readability::Readable);
        let cluster = until(&live, "the kind", came).await;
        assert_eq!(cluster.objects.engine_frontends.len(), 1);
    }
}

#[tokio::test]
async fn a_kind_that_is_deleted_and_created_again_is_followed() {
    let server = server().await;
    server.put(VOLUMES, volume("a"));
    let live = synced(&server).await;
    server.wait_for_watch(VOLUMES).await;
    server.unserve(VOLUMES);
    let gone = |cluster: &_| is(cluster, Resource::Volumes, Readability::NotInstalled);
    let cluster = until(&live, "the kind to go", gone).await;
    assert!(volume_names(&cluster).is_empty());
    assert!(!cluster.can_read(Resource::Volumes), "every release has volumes");

    server.serve(definition(Resource::Volumes));
    server.put(VOLUMES, volume("b"));
    until(&live, "the kind to come back", |cluster| volume_names(cluster) == ["b"]).await;
}

#[tokio::test]
async fn a_kind_that_fails_keeps_the_source_waiting() {
    let server = server().await;
    server.fault(VOLUMES, Fault::Status(500, None));
    let live = start(&server, options()).await;
    within("the other kinds", async {
        while live.waiting_for() != [Resource::Volumes] {
            tokio::task::yield_now().await;
        }
    })
    .await;
    server.wait_for_requests(VOLUMES, Verb::List, 3).await;
    assert!(is(&live.snapshot(now()), Resource::Volumes, Readability::Pending));
    server.clear_fault(VOLUMES);
    within("the last kind", live.synced()).await;
}
