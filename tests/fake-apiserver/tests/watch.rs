//! Watches over HTTP.

mod common;

use std::time::Duration;

use common::{Line, get, open, pod, server, watch};
use fake_apiserver::{Expired, StreamingLists};
use http::StatusCode;
use serde_json::json;

const WATCH: &str = "/api/v1/namespaces/ns/pods?watch=true";

#[tokio::test]
async fn events_come_in_order_from_a_version_on() {
    let server = server().await;
    let rv = server.put("pods", pod("a"));
    server.put("pods", pod("b"));
    let mut lines = watch(&server, &format!("{WATCH}&resourceVersion={rv}")).await;
    assert_eq!(lines.next_summary().await, "ADDED b");
    server.put("pods", pod("b"));
    server.put("pods", json!({"metadata": {"name": "elsewhere", "namespace": "other"}}));
    server.delete("pods", "ns", "a");
    let deletion = server.resource_version();
    assert_eq!(lines.next_summary().await, "MODIFIED b");
    let Line::Event(event) = lines.next().await else { panic!("no event") };
    assert_eq!((event["type"].as_str(), event["object"]["kind"].as_str()), (Some("DELETED"), Some("Pod")));
    assert_eq!(event["object"]["metadata"]["resourceVersion"], deletion.to_string());
    server.wait_for_delivery("pods").await;
    assert_eq!(server.open_watches("pods"), 1);
    drop(lines);
    server.wait_for_open_watches("pods", 0).await;
}

#[tokio::test]
async fn a_selector_sees_updates_as_additions_and_deletions() {
    let server = server().await;
    let rv = server.resource_version();
    let mut lines = watch(&server, &format!("{WATCH}&resourceVersion={rv}&labelSelector=role%3Dx")).await;
    server.put("pods", pod("a"));
    server.update("pods", "ns", "a", |pod| pod["metadata"]["labels"]["role"] = json!("x"));
    server.update("pods", "ns", "a", |pod| pod["metadata"]["labels"]["role"] = json!("y"));
    server.end_watches("pods");
    assert_eq!(lines.next_summary().await, "ADDED a");
    assert_eq!(lines.next_summary().await, "DELETED a");
    assert_eq!(lines.next().await, Line::End);
}

#[tokio::test]
async fn without_a_version_the_present_comes_first() {
    let server = server().await;
    server.put("pods", pod("a"));
    let mut lines = watch(&server, WATCH).await;
    assert_eq!(lines.next_summary().await, "ADDED a");
    server.put("pods", pod("b"));
    assert_eq!(lines.next_summary().await, "ADDED b");
}

#[tokio::test]
async fn streaming_lists() {
    let server = server().await;
    server.put("pods", pod("a"));
    let path =
        format!("{WATCH}&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan");
    let mut lines = watch(&server, &path).await;
    assert_eq!(lines.next_summary().await, "ADDED a");
    let Line::Event(bookmark) = lines.next().await else { panic!("no bookmark") };
    assert_eq!(bookmark["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"], "true");
    server.set_streaming_lists(StreamingLists::Reject);
    assert_eq!(get(&server, &path).await.0, StatusCode::UNPROCESSABLE_ENTITY);
}

#[tokio::test]
async fn bookmarks_come_at_intervals_on_demand_and_before_the_timeout() {
    let server = server().await;
    server.put("pods", pod("a"));
    let rv = server.put("nodes", json!({"metadata": {"name": "n"}}));
    let path = format!("{WATCH}&resourceVersion={rv}&allowWatchBookmarks=true");

    let mut timed = watch(&server, &format!("{path}&timeoutSeconds=1")).await;
    assert_eq!(timed.next_summary().await, format!("BOOKMARK {rv}"));
    assert_eq!(timed.next().await, Line::End);

    let mut asked = watch(&server, &path).await;
    let mut never = watch(&server, &format!("{WATCH}&resourceVersion={rv}")).await;
    server.wait_for_open_watches("pods", 2).await;
    server.send_bookmarks("pods");
    assert_eq!(asked.next_summary().await, format!("BOOKMARK {rv}"));
    server.end_watches("pods");
    assert_eq!(never.next().await, Line::End);

    server.set_bookmark_interval(Duration::from_millis(10));
    let mut periodic = watch(&server, &path).await;
    assert_eq!(periodic.next_summary().await, format!("BOOKMARK {rv}"));
    assert_eq!(periodic.next_summary().await, format!("BOOKMARK {rv}"));
}

#[tokio::test]
async fn compacted_versions_are_gone_both_ways() {
    let server = server().await;
    let rv = server.put("pods", pod("a"));
    let mut open_before = watch(&server, &format!("{WATCH}&resourceVersion={rv}")).await;
    server.wait_for_delivery("pods").await;
    server.compact("pods");
    let path = format!("{WATCH}&resourceVersion={rv}");
    let mut lines = watch(&server, &path).await;
    let Line::Event(event) = lines.next().await else { panic!("no event") };
    assert_eq!((event["type"].as_str(), event["object"]["code"].as_u64()), (Some("ERROR"), Some(410)));
    assert_eq!(event["object"]["reason"], "Expired");
    assert_eq!(lines.next().await, Line::End);

    server.set_expired(Expired::Http);
    let (status, failure) = get(&server, &path).await;
    assert_eq!((status, failure["reason"].as_str()), (StatusCode::GONE, Some("Expired")));
    // A watch that had seen everything goes on, and a new one starts from the list.
    server.put("pods", pod("b"));
    assert_eq!(open_before.next_summary().await, "ADDED b");
    let current =
        get(&server, "/api/v1/pods").await.1["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
    let _ = watch(&server, &format!("{WATCH}&resourceVersion={current}")).await;
}

#[tokio::test]
async fn metadata_only() {
    let server = server().await;
    server.put("pods", pod("a"));
    let request = |path: &str| {
        common::get_request(&server, path)
            .header("accept", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1")
            .body(http_body_util::Full::default())
            .unwrap()
    };
    let response = common::send(&server, request("/api/v1/pods")).await.unwrap();
    let bytes = http_body_util::BodyExt::collect(response.into_body()).await.unwrap().to_bytes();
    let list: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(list["kind"], "PartialObjectMetadataList");
    assert_eq!((list["items"][0].get("spec"), &list["items"][0]["metadata"]["name"]), (None, &json!("a")));
}

#[tokio::test]
async fn a_resource_no_longer_served_takes_its_watches_along() {
    let server = server().await;
    let rv = server.resource_version();
    let path = format!("/apis/longhorn.io/v1beta2/volumes?watch=1&resourceVersion={rv}");
    let mut lines = watch(&server, &path).await;
    server.unserve("volumes.longhorn.io");
    assert_eq!(lines.next().await, Line::End);
    assert_eq!(open(&server, &path).await.status(), StatusCode::NOT_FOUND);
}
