//! Lists, single objects, discovery, logs and reviews over HTTP.

mod common;

use common::{get, get_text, names, pod, post, server};
use fake_apiserver::{Unserved, UserInfo, Verb};
use http::StatusCode;
use serde_json::json;

const PODS: &str = "/api/v1/namespaces/ns/pods";

#[tokio::test]
async fn pages_show_one_snapshot() {
    let server = server().await;
    for name in ["a", "b", "c", "d", "e"] {
        server.put("pods", pod(name));
    }
    let (_, first) = get(&server, &format!("{PODS}?limit=2")).await;
    assert_eq!((first["kind"].as_str(), first["apiVersion"].as_str()), (Some("PodList"), Some("v1")));
    assert_eq!(names(&first), ["a", "b"]);
    assert_eq!(first["metadata"]["remainingItemCount"], 3);
    assert!(first["items"][0].get("kind").is_none(), "native items carry no kind inside lists");
    // Changes between the pages do not show in them.
    server.delete("pods", "ns", "c");
    server.put("pods", pod("f"));
    let token = first["metadata"]["continue"].as_str().unwrap().replace('=', "%3D");
    let (_, second) = get(&server, &format!("{PODS}?limit=2&continue={token}")).await;
    assert_eq!(names(&second), ["c", "d"]);
    let token = second["metadata"]["continue"].as_str().unwrap().replace('=', "%3D");
    let (_, last) = get(&server, &format!("{PODS}?limit=2&continue={token}")).await;
    assert_eq!(names(&last), ["e"]);
    assert!(last["metadata"].get("continue").is_none());
    assert_eq!(first["metadata"]["resourceVersion"], last["metadata"]["resourceVersion"]);

    server.compact("pods");
    let (status, failure) = get(&server, &format!("{PODS}?limit=2&continue={token}")).await;
    assert_eq!((status, failure["reason"].as_str()), (StatusCode::GONE, Some("Expired")));
    assert_eq!(names(&get(&server, PODS).await.1), ["a", "b", "d", "e", "f"]);
    assert_eq!(server.requests("pods", Verb::List), 5);
}

#[tokio::test]
async fn large_lists_arrive_whole() {
    let server = server().await;
    let filler = "x".repeat(1000);
    let volume = |i| {
        json!({
            "apiVersion": "longhorn.io/v1beta2", "kind": "Volume", "spec": {"filler": filler},
            "metadata": {"name": format!("v{i:04}"), "namespace": "ns"},
        })
    };
    assert_eq!(server.load((0..1500).map(volume).collect()), 1500);
    let (_, list) = get(&server, "/apis/longhorn.io/v1beta2/volumes").await;
    assert_eq!(names(&list).len(), 1500);
    assert_eq!(list["items"][7]["kind"], "Volume", "custom resources carry their kind inside lists");
}

#[tokio::test]
async fn versions_of_a_list() {
    let server = server().await;
    let first = server.put("pods", pod("a"));
    server.put("pods", pod("b"));
    let exact = format!("{PODS}?resourceVersion={first}&resourceVersionMatch=Exact");
    assert_eq!(names(&get(&server, &exact).await.1), ["a"]);
    let (_, cached) = get(&server, &format!("{PODS}?resourceVersion=0&limit=1")).await;
    assert_eq!(names(&cached), ["a", "b"], "the watch cache does not page");
    assert_eq!(get(&server, &format!("{PODS}?resourceVersion=9999999")).await.0, StatusCode::GATEWAY_TIMEOUT);
    assert_eq!(get(&server, &format!("{PODS}?resourceVersion=x")).await.0, StatusCode::BAD_REQUEST);
    server.compact("pods");
    assert_eq!(get(&server, &exact).await.0, StatusCode::GONE);
}

#[tokio::test]
async fn selectors_scopes_and_single_objects() {
    let server = server().await;
    server.put("pods", pod("a"));
    server.put("pods", json!({"metadata": {"name": "a", "namespace": "other"}}));
    server.put("nodes", json!({"metadata": {"name": "n1"}}));
    assert_eq!(names(&get(&server, "/api/v1/pods").await.1), ["a", "a"]);
    assert_eq!(names(&get(&server, "/api/v1/pods?labelSelector=app%3Da").await.1), ["a"]);
    assert_eq!(
        names(&get(&server, &format!("{PODS}?fieldSelector=metadata.name%3Dz")).await.1),
        Vec::<&str>::new()
    );
    let (_, object) = get(&server, &format!("{PODS}/a")).await;
    assert_eq!((object["kind"].as_str(), object["spec"]["nodeName"].as_str()), (Some("Pod"), Some("n1")));
    let (status, failure) = get(&server, &format!("{PODS}/zz")).await;
    assert_eq!((status, failure["message"].as_str()), (StatusCode::NOT_FOUND, Some("pods \"zz\" not found")));
    assert_eq!(get(&server, "/api/v1/nodes/n1").await.1["metadata"]["name"], "n1");
    assert_eq!(get_text(&server, "/api/v1/namespaces/ns/nodes").await.0, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn identity_survives_updates_but_not_recreation() {
    let server = server().await;
    server.put("pods", pod("a"));
    let uid = |server: &fake_apiserver::FakeApiServer| {
        server.get("pods", "ns", "a").unwrap()["metadata"]["uid"].clone()
    };
    let before = uid(&server);
    server.update("pods", "ns", "a", |pod| pod["spec"]["nodeName"] = json!("n2"));
    server.put("pods", pod("a"));
    assert_eq!(uid(&server), before);
    assert!(server.delete("pods", "ns", "a"));
    server.put("pods", pod("a"));
    assert_ne!(uid(&server), before);
}

#[tokio::test]
async fn unserved_resources_and_discovery() {
    let server = server().await;
    let path = "/apis/longhorn.io/v1beta1/volumes";
    let (status, headers, text) = get_text(&server, path).await;
    assert_eq!((status, text.trim()), (StatusCode::NOT_FOUND, "404 page not found"));
    assert!(headers["content-type"].to_str().unwrap().starts_with("text/plain"));
    server.set_unserved(Unserved::Status);
    let failure = get(&server, path).await.1;
    assert_eq!(failure["message"], "the server could not find the requested resource");
    let (_, resources) = get(&server, "/apis/longhorn.io/v1beta2").await;
    assert_eq!(resources["resources"][0]["name"], "volumes");
    let (_, group) = get(&server, "/apis/longhorn.io").await;
    assert_eq!(group["preferredVersion"]["version"], "v1beta2");
    assert_eq!(get(&server, "/version").await.1["minor"], "34");
    server.unserve("volumes.longhorn.io");
    assert_eq!(get(&server, "/apis/longhorn.io").await.0, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn logs() {
    let server = server().await;
    let mut manager = pod("manager");
    manager["spec"]["containers"] = json!([{"name": "longhorn-manager"}, {"name": "sidecar"}]);
    server.put("pods", manager);
    server.set_log("ns", "manager", "longhorn-manager", true, "one\ntwo\nthree\n");
    let path = format!("{PODS}/manager/log?previous=true&container=longhorn-manager");
    assert_eq!(get_text(&server, &path).await.2, "one\ntwo\nthree\n");
    assert_eq!(get_text(&server, &format!("{path}&tailLines=2&limitBytes=5")).await.2, "two\nt");
    let (status, failure) = get(&server, &format!("{PODS}/manager/log?previous=true")).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert!(failure["message"].as_str().unwrap().ends_with("choose one of: [longhorn-manager sidecar]"));
    server.remove_log("ns", "manager", "longhorn-manager", true);
    let message = "previous terminated container \"longhorn-manager\" in pod \"manager\" not found";
    assert_eq!(get(&server, &path).await.1["message"], message);
    assert_eq!(get(&server, &format!("{PODS}/x/log?container=c")).await.0, StatusCode::NOT_FOUND);
    assert_eq!(server.requests("pods/log", Verb::Get), 5);
}

#[tokio::test]
async fn reviews() {
    let server = server().await;
    let token_review = |token: &str| json!({"kind": "TokenReview", "spec": {"token": token}});
    let path = "/apis/authentication.k8s.io/v1/tokenreviews";
    assert_eq!(post(&server, path, &token_review("good")).await.1["status"]["authenticated"], false);
    server.on_token_review(|token| {
        (token == "good").then(|| UserInfo { username: "prometheus".into(), groups: vec!["scrapers".into()] })
    });
    let (status, review) = post(&server, path, &token_review("good")).await;
    assert_eq!(
        (status, review["status"]["user"]["username"].as_str()),
        (StatusCode::CREATED, Some("prometheus"))
    );
    assert_eq!(post(&server, path, &token_review("bad")).await.1["status"]["authenticated"], false);

    let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    let spec =
        json!({"spec": {"user": "prometheus", "nonResourceAttributes": {"path": "/metrics", "verb": "get"}}});
    assert_eq!(post(&server, path, &spec).await.1["status"]["allowed"], false);
    server.on_access_review(|spec| spec["nonResourceAttributes"]["path"] == "/metrics");
    assert_eq!(post(&server, path, &spec).await.1["status"]["allowed"], true);

    let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    let spec =
        json!({"spec": {"resourceAttributes": {"verb": "list", "resource": "pods", "namespace": "ns"}}});
    assert_eq!(post(&server, path, &spec).await.1["status"]["allowed"], true);
    server.fault("pods", fake_apiserver::Fault::Forbid.on(Verb::List));
    assert_eq!(post(&server, path, &spec).await.1["status"]["allowed"], false);
}
