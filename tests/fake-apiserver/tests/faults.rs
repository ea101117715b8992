//! Faults over HTTP, and the life of the server.

mod common;

use std::time::{Duration, Instant};

use common::{Line, get, get_request, get_text, open, pod, send, server, watch};
use fake_apiserver::{Fault, Verb};
use http::StatusCode;
use http_body_util::{BodyExt, Full};
use serde_json::json;

const PODS: &str = "/api/v1/namespaces/ns/pods";

#[tokio::test]
async fn forbidden_in_the_words_of_the_real_server() {
    let server = server().await;
    server.put("pods", pod("a"));
    server.set_user("x");
    server.fault("pods", Fault::Forbid);
    server.fault("volumes.longhorn.io", Fault::Forbid.on(Verb::Watch));
    server.fault("pods/log", Fault::Forbid);
    let message = async |path: &str| {
        let (status, failure) = get(&server, path).await;
        assert_eq!((status, failure["reason"].as_str()), (StatusCode::FORBIDDEN, Some("Forbidden")));
        failure["message"].as_str().unwrap().to_owned()
    };
    assert_eq!(
        message(PODS).await,
        r#"pods is forbidden: User "x" cannot list resource "pods" in API group "" in the namespace "ns""#
    );
    assert_eq!(
        message("/apis/longhorn.io/v1beta2/volumes?watch=true").await,
        "volumes.longhorn.io is forbidden: User \"x\" cannot watch resource \"volumes\" in API group \"longhorn.io\" \
         at the cluster scope"
    );
    assert_eq!(
        message(&format!("{PODS}/a/log")).await,
        "pods \"a\" is forbidden: User \"x\" cannot get resource \"pods/log\" in API group \"\" in the namespace \"ns\""
    );
    assert_eq!(get(&server, "/apis/longhorn.io/v1beta2/volumes").await.0, StatusCode::OK);
    server.clear_fault("pods");
    server.fault("pods", Fault::ForbidOutside(vec!["ns".into()]));
    assert_eq!(get(&server, PODS).await.0, StatusCode::OK);
    assert_eq!(get(&server, "/api/v1/pods").await.0, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn overload_and_tokens() {
    let server = server().await;
    server.fault("*", Fault::Status(429, Some(7)).times(1));
    let (status, headers, body) = get_text(&server, PODS).await;
    assert_eq!((status, headers["retry-after"].to_str().unwrap()), (StatusCode::TOO_MANY_REQUESTS, "7"));
    assert!(body.contains("\"retryAfterSeconds\":7"));
    assert_eq!(get(&server, PODS).await.0, StatusCode::OK);
    server.fault("pods", Fault::Raw(502, "<html>bad gateway</html>").times(1));
    assert_eq!(get_text(&server, PODS).await.2, "<html>bad gateway</html>");
    server.fault("pods", Fault::Unauthorized);
    assert_eq!(get(&server, PODS).await.0, StatusCode::UNAUTHORIZED);
    server.clear_faults();

    server.require_tokens(["secret"]);
    assert_eq!(get(&server, PODS).await.0, StatusCode::UNAUTHORIZED);
    assert_eq!(get(&server, "/version").await.0, StatusCode::OK);
    let request = get_request(&server, PODS).header("authorization", "Bearer secret").body(Full::default());
    assert_eq!(send(&server, request.unwrap()).await.unwrap().status(), StatusCode::OK);
    let kubeconfig = server.kubeconfig_yaml();
    assert!(kubeconfig.contains("{token: \"secret\"}") && kubeconfig.contains(&server.url()));
}

#[tokio::test]
async fn silent_watches_resume_when_the_fault_is_cleared() {
    let server = server().await;
    let rv = server.resource_version();
    let mut lines = watch(&server, &format!("{PODS}?watch=true&resourceVersion={rv}&timeoutSeconds=1")).await;
    server.wait_for_watch("pods").await;
    server.fault("pods", Fault::Silence);
    server.put("pods", pod("a"));
    // Past its timeout the watch is still open and empty.
    let silence = tokio::time::timeout(Duration::from_millis(1300), lines.next()).await;
    assert!(silence.is_err(), "{silence:?}");
    assert_eq!(server.open_watches("pods"), 1);
    assert_eq!(get(&server, PODS).await.1["items"].as_array().unwrap().len(), 1, "lists are not silenced");
    server.clear_fault("pods");
    assert_eq!(lines.next_summary().await, "ADDED a");
    assert_eq!(lines.next().await, Line::End);
}

#[tokio::test]
async fn watches_break_and_carry_garbage() {
    let server = server().await;
    let rv = server.resource_version();
    let mut lines = watch(&server, &format!("{PODS}?watch=true&resourceVersion={rv}")).await;
    server.wait_for_watch("pods").await;
    server.put_malformed("pods", "ns", "odd");
    server.send_raw("pods", "{\"type\":\"ADDED\",\"object\":{\"metadata\n");
    server.send_watch_error("pods", 500);
    server.put("pods", pod("a"));
    server.drop_watches("pods");
    let Line::Event(odd) = lines.next().await else { panic!("no event") };
    assert_eq!((&odd["object"]["spec"], &odd["object"]["status"]), (&json!("not an object"), &json!(42)));
    assert_eq!(lines.next().await, Line::Text("{\"type\":\"ADDED\",\"object\":{\"metadata\n".into()));
    assert_eq!(lines.next_summary().await, "ERROR 500");
    assert_eq!(lines.next_summary().await, "ADDED a");
    assert_eq!(lines.next().await, Line::Broken);

    let mut lines =
        watch(&server, &format!("{PODS}?watch=true&resourceVersion={rv}&fieldSelector=metadata.name%3Dz"))
            .await;
    server.wait_for_watch("pods").await;
    server.expire_watches("pods");
    assert_eq!(lines.next_summary().await, "ERROR 410");
    assert_eq!(lines.next().await, Line::End);
}

#[tokio::test]
async fn bodies_slow_truncated_and_broken() {
    let server = server().await;
    server.put("pods", pod("a"));
    let whole = get_text(&server, PODS).await.2;
    let pause = Duration::from_millis(5);
    server.fault("pods", Fault::SlowBody(50, pause).times(1));
    let started = Instant::now();
    assert_eq!(get_text(&server, PODS).await.2, whole);
    let pieces = u32::try_from(whole.len().div_ceil(50)).unwrap();
    assert!(pieces > 3 && started.elapsed() >= pause * pieces);

    server.fault("pods", Fault::TruncatedBody.times(1));
    assert_eq!(get_text(&server, PODS).await.2, whole[..whole.len() / 2]);
    server.fault("pods", Fault::BrokenBody.times(1));
    assert!(open(&server, PODS).await.into_body().collect().await.is_err());
}

#[tokio::test]
async fn hanging_requests_are_counted_and_never_answered() {
    let server = server().await;
    server.fault("pods", Fault::Hang.times(1));
    let request = get_request(&server, PODS).body(Full::default()).unwrap();
    tokio::select! {
        answer = send(&server, request) => panic!("answered {answer:?}"),
        // The next request is answered after the hanging one arrived.
        () = async {
            server.wait_for_requests("pods", Verb::List, 1).await;
            assert_eq!(get(&server, PODS).await.0, StatusCode::OK);
        } => {}
    }
    assert_eq!(server.recorded().last().unwrap().path, PODS);
}

#[tokio::test]
async fn stops_and_restarts_on_the_same_port() {
    let server = server().await;
    let rv = server.put("pods", pod("a"));
    let mut lines = watch(&server, &format!("{PODS}?watch=true&resourceVersion={rv}")).await;
    server.wait_for_watch("pods").await;
    let addr = server.addr();
    server.stop().await;
    assert_eq!(lines.next().await, Line::Broken);
    assert!(tokio::net::TcpStream::connect(addr).await.is_err());
    server.restart().await;
    assert_eq!(server.addr(), addr);
    assert_eq!(get(&server, PODS).await.1["items"].as_array().unwrap().len(), 1);
    drop(server);
    // Dropping stops without waiting; the port closes as soon as the task is gone.
    tokio::time::timeout(Duration::from_secs(120), async {
        while tokio::net::TcpStream::connect(addr).await.is_ok() {
            tokio::task::yield_now().await;
        }
    })
    .await
    .expect("the port closes");
}
