//! What stands in the way of a first look, in one line.

use fake_apiserver::{FakeApiServer, Fault};
use longhorn_health_exporter::longhorn::Resource;
use longhorn_health_exporter::source::Source;
use longhorn_health_exporter::source::connect::{ConnectError, obstacle};

use crate::support::*;

const PATIENCE: std::time::Duration = std::time::Duration::from_secs(120);

#[tokio::test]
async fn a_server_that_refuses_the_token_is_told() {
    let server = server().await;
    server.require_tokens(["right"]);
    let connection = connection(&server).await;
    connection.probe(PATIENCE).await.unwrap();
    server.require_tokens(["other"]);
    let error = connection.probe(PATIENCE).await.unwrap_err();
    assert!(matches!(error, ConnectError::Unauthorized { .. }) && !error.is_usage(), "{error}");
}

#[tokio::test]
async fn a_server_that_is_stopped_is_told() {
    let server = server().await;
    let connection = connection(&server).await;
    server.stop().await;
    let error = connection.probe(PATIENCE).await.unwrap_err();
    assert!(matches!(error, ConnectError::Unreachable { .. }), "{error}");
    assert!(error.to_string().contains(&server.url()), "{error}");
}

#[tokio::test]
async fn a_cluster_without_longhorn_is_told() {
    let server = FakeApiServer::start().await;
    server.serve_builtin();
    let error = connection(&server).await.probe(PATIENCE).await.unwrap_err();
    assert!(matches!(error, ConnectError::NoLonghorn), "{error}");
    let live = synced(&server).await;
    assert!(matches!(obstacle(&live.snapshot(now())), Some(ConnectError::NoLonghorn)));
}

#[tokio::test]
async fn a_wrong_namespace_is_told() {
    let server = server().await;
    let live = synced(&server).await;
    let error = obstacle(&live.snapshot(now())).unwrap();
    assert!(matches!(error, ConnectError::WrongNamespace(_)), "{error}");
    server.put(VOLUMES, volume("a"));
    until(&live, "the volume", |cluster| obstacle(cluster).is_none()).await;
}

#[tokio::test]
async fn no_right_at_all_is_told_and_one_missing_right_is_no_obstacle() {
    let server = server().await;
    server.put(VOLUMES, volume("a"));
    server.fault("*", Fault::Forbid);
    let live = synced(&server).await;
    let error = obstacle(&live.snapshot(now())).unwrap();
    assert!(matches!(error, ConnectError::Forbidden { .. }), "{error}");
    assert!(error.to_string().contains("403"), "{error}");
    server.clear_fault("*");
    server.fault("nodes", Fault::Forbid);
    until(&live, "the rights", |cluster| cluster.can_read(Resource::Volumes)).await;
    until(&live, "the rest", |cluster| obstacle(cluster).is_none()).await;
}

#[tokio::test]
async fn a_server_that_answers_nothing_is_slow() {
    let server = server().await;
    server.fault("*", Fault::Status(503, None));
    let live = start(&server, options()).await;
    until(&live, "the failures", |cluster| cluster.resources.values().all(|status| status.error.is_some()))
        .await;
    let error = obstacle(&live.snapshot(now())).unwrap();
    assert!(matches!(error, ConnectError::Slow { .. }) && error.to_string().contains("503"), "{error}");
}
