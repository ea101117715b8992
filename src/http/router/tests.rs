use http_body_util::BodyExt;

use super::*;
use crate::source::demo::Demo;
use crate::testing::time;

/// A router on the demo cluster at a fixed time.
pub fn demo_router() -> Router {
    let now = || time("2026-01-01T12:00:00Z");
    let source = Demo::new(now()).unwrap();
    let evaluator = Arc::new(Evaluator::new(&crate::checks::CATALOGUE, Arc::new(source), now, true));
    Router::new(&crate::cli::DECLARED, evaluator, Access::open(), Links::own("/metrics"), 2)
}

async fn get(router: &Router, method: &str, path: &str, headers: &[(&'static str, &str)]) -> Answer {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    router.answer(request.body(String::new()).unwrap()).await
}

async fn body(answer: Answer) -> Bytes {
    answer.into_body().collect().await.unwrap().to_bytes()
}

#[tokio::test]
async fn every_path_has_its_status_and_type() {
    let router = demo_router();
    for (path, status, content_type) in [
        ("/", 200, respond::HTML),
        ("/metrics", 200, "text/plain; version=0.0.4; charset=utf-8"),
        ("/metrics?query=is-ignored", 200, "text/plain; version=0.0.4; charset=utf-8"),
        ("/api/v1/report", 200, respond::JSON),
        ("/report.txt", 200, respond::TEXT),
        ("/timeline", 200, respond::HTML),
        ("/timeline.txt", 200, respond::TEXT),
        ("/livez", 200, respond::TEXT),
        ("/healthz", 200, respond::TEXT),
        ("/-/healthy", 200, respond::TEXT),
        ("/readyz", 200, respond::TEXT),
        ("/-/ready", 200, respond::TEXT),
        ("/metrics/", 404, respond::TEXT),
        ("/runbooks/LonghornWebhookDeadlock", 200, respond::TEXT),
        ("/runbooks/LonghornNothing", 404, respond::TEXT),
        ("/runbooks/", 200, respond::TEXT),
        ("/runbooks", 301, respond::TEXT),
        ("/explain/manager_probes", 200, respond::TEXT),
        ("/explain/manager_probes/nothing", 404, respond::TEXT),
        ("/report.txt?details=all", 200, respond::TEXT),
        ("/report.txt?details=0", 400, respond::TEXT),
        ("/plan/upgrade", 200, respond::TEXT),
        ("/plan/drain?node=worker-1&o=json", 200, respond::JSON),
        ("/plan/capacity?volume=100Gi", 200, respond::TEXT),
        ("/runbooks//runbooks/LonghornWebhookDeadlock", 404, respond::TEXT),
        ("/nothing", 404, respond::TEXT),
        ("/?node=worker-1&severity=critical&refresh=30", 200, respond::HTML),
        ("/report.txt?node=worker-1", 200, respond::TEXT),
        ("/api/v1/report?check=manager_probes", 200, respond::JSON),
        ("/?node=worker-99", 400, respond::TEXT),
        ("/?refresh=1", 400, respond::TEXT),
        ("/report.txt?severity=bad", 400, respond::TEXT),
        ("/api/v1/report?nod=worker-1", 400, respond::TEXT),
    ] {
        let answer = get(&router, "GET", path, &[]).await;
        assert_eq!(answer.status().as_u16(), status, "{path}");
        assert_eq!(answer.headers()[header::CONTENT_TYPE], content_type, "{path}");
    }
}

#[tokio::test]
async fn head_has_the_headers_of_get_and_no_body() {
    let router = demo_router();
    for path in ["/livez", "/api/v1/report", "/nothing"] {
        let (head, get) = (get(&router, "HEAD", path, &[]).await, get(&router, "GET", path, &[]).await);
        assert_eq!(head.status(), get.status());
        let length = head.headers()[header::CONTENT_LENGTH].to_str().unwrap().to_owned();
        assert_eq!(body(get).await.len().to_string(), length, "{path}");
        assert!(body(head).await.is_empty());
    }
}

#[tokio::test]
async fn other_methods_are_refused_with_those_that_are_not() {
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"] {
        for path in ["/", "/metrics", "/livez"] {
            let answer = get(&demo_router(), method, path, &[]).await;
            assert_eq!(answer.status(), StatusCode::METHOD_NOT_ALLOWED);
            assert_eq!(answer.headers()[header::ALLOW], "GET, HEAD");
        }
    }
}

#[tokio::test]
async fn formats_and_compression_follow_the_request() {
    let router = demo_router();
    let open = get(&router, "GET", "/metrics", &[("accept", "application/openmetrics-text")]).await;
    assert_eq!(open.headers()[header::VARY], "Accept, Accept-Encoding");
    assert!(body(open).await.ends_with(b"# EOF\n"));
    let zipped = get(&router, "GET", "/metrics", &[("accept-encoding", "gzip")]).await;
    assert_eq!(zipped.headers()[header::CONTENT_ENCODING], "gzip");
    let mut text = String::new();
    let zipped = body(zipped).await;
    std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(&zipped[..]), &mut text).unwrap();
    assert!(text.contains("\nlonghorn_health_checks{"), "{text}");
    let plain = get(&router, "GET", "/metrics", &[]).await;
    assert!(plain.headers().get(header::CONTENT_ENCODING).is_none());
}

#[tokio::test]
async fn over_the_limit_is_503_at_once_while_health_still_answers() {
    let router = demo_router();
    let answers = router.answers.clone();
    let taken = [(); 2].map(|()| answers.take(true, Share::All, None));
    let answer = get(&router, "GET", "/metrics", &[]).await;
    assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(&body(answer).await[..], b"too many requests are already running, try again later\n");
    assert_eq!(get(&router, "GET", "/livez", &[]).await.status(), StatusCode::OK);
    drop(taken);
    assert_eq!(get(&router, "GET", "/metrics", &[]).await.status(), StatusCode::OK);
}

#[tokio::test]
async fn the_text_is_the_table_of_check() {
    let answer = get(&demo_router(), "GET", "/report.txt", &[]).await;
    let text = String::from_utf8(body(answer).await.to_vec()).unwrap();
    assert!(text.starts_with("CRITICAL  "), "{text}");
    assert!(text.lines().nth(1).unwrap().starts_with("Data      1 volume faulted: monitoring/metrics-0"));
}

#[tokio::test]
async fn the_timeline_is_a_page_and_lines_newest_first() {
    let router = demo_router();
    let read = async |path: &str| {
        String::from_utf8(body(get(&router, "GET", path, &[]).await).await.to_vec()).unwrap()
    };
    let (page, text) = (read("/timeline").await, read("/timeline.txt").await);
    assert!(text.starts_with("What changed in the last 24 h\n2026-01-01 1"), "{text}");
    let times: Vec<&str> =
        text.lines().filter(|line| line.starts_with("202")).map(|line| &line[..20]).collect();
    assert!(times.len() > 5 && times.is_sorted_by(|newer, older| newer >= older), "{times:?}");
    for said in ["worker-2 was cordoned", "began: The instance manager on worker-3 is down: OOM-killed"] {
        assert!(page.contains(said), "{said}: {page}");
    }
}

#[tokio::test]
async fn a_part_is_answered_and_looked_at_again_only_where_asked_for() {
    let router = demo_router();
    let whole = get(&router, "GET", "/", &[]).await;
    assert!(whole.headers().get(header::REFRESH).is_none());
    for path in ["/?node=worker-5&refresh=30", "/report.txt?node=worker-5&refresh=30"] {
        let answer = get(&router, "GET", path, &[]).await;
        assert_eq!(answer.headers()[header::REFRESH], "30", "{path}");
        let text = String::from_utf8(body(answer).await.to_vec()).unwrap();
        assert!(text.contains("open-iscsi") && !text.contains("worker-4"), "{text}");
        assert!(text.contains("node worker-5"), "{text}");
    }
    let answer = get(&router, "GET", "/api/v1/report?node=worker-5", &[]).await;
    let report: serde_json::Value = serde_json::from_slice(&body(answer).await).unwrap();
    assert_eq!(report["selected"]["by"], "node worker-5");
    let refused = body(get(&router, "GET", "/?node=worker-55", &[]).await).await;
    assert_eq!(&refused[..], b"no node 'worker-55'; did you mean worker-5?\n");
    let owner = get(&router, "GET", "/namespace/monitoring", &[]).await;
    assert_eq!(
        (owner.status(), &owner.headers()[header::LOCATION]),
        (StatusCode::FOUND, &"../?namespace=monitoring".parse().unwrap())
    );
    let text = body(get(&router, "GET", "/report.txt?namespace=monitoring", &[]).await).await;
    let text = String::from_utf8(text.to_vec()).unwrap();
    assert!(text.contains("monitoring/metrics-0") && !text.contains("worker-5"), "{text}");
    let refused = body(get(&router, "GET", "/runbooks/LonghornWebhookDeadlok", &[]).await).await;
    assert_eq!(&refused[..], b"no such runbook; did you mean LonghornWebhookDeadlock?\n");
}

#[tokio::test]
async fn the_report_is_that_of_check() {
    let answer = get(&demo_router(), "GET", "/api/v1/report", &[]).await;
    let report: serde_json::Value = serde_json::from_slice(&body(answer).await).unwrap();
    assert_eq!(report["schema"], "v1");
    assert_eq!(report["cluster"]["now"], "2026-01-01T12:00:00Z");
}

#[cfg(feature = "mcp")]
#[tokio::test]
async fn what_a_model_asks_wrongly_is_told_what_would_be_right() {
    let router = demo_router().with_tools();
    for (name, arguments, expected) in [
        (
            "plan",
            serde_json::json!({"what": "capacity", "volume": "1Gi", "data-engine": "v2"}),
            "data engine v2",
        ),
        (
            "plan",
            serde_json::json!({"volume": "1Gi"}),
            "plan needs \\\"what\\\": upgrade, drain, loss or capacity",
        ),
        ("plan", serde_json::json!({"what": "../report.txt"}), "no such plan"),
        ("report", serde_json::json!({"write": true}), "report has no parameter"),
        ("report", serde_json::json!({"node": {"name": "a"}}), "node must be a text"),
        ("timeline", serde_json::json!({"since": "1h"}), "it takes none"),
        ("runbook", serde_json::json!({"alert": "../../etc/passwd"}), "no such runbook"),
        ("explain", serde_json::json!({}), "explain needs"),
        ("explain", serde_json::json!({"subject": "a b?o=json"}), "subject is not a name"),
        ("delete", serde_json::json!({}), "valid: report, explain, runbook, plan, timeline"),
    ] {
        let params = serde_json::json!({"name": name, "arguments": arguments});
        let question =
            serde_json::json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params});
        let request =
            Request::post("/mcp").header("host", "exporter").header("content-type", "application/json");
        let request = request.header("accept", "application/json, text/event-stream");
        let answer = router.answer(request.body(question.to_string()).unwrap()).await;
        let said = String::from_utf8(body(answer).await.to_vec()).unwrap();
        assert!(said.contains(expected), "{params}: {said}");
    }
}

#[cfg(feature = "mcp")]
#[tokio::test]
async fn tools_answer_what_the_pages_say_where_they_are_asked_for() {
    let ask = async |router: &Router, origin: Option<&str>, question: String| {
        let request =
            Request::post("/mcp").header("host", "exporter").header("content-type", "application/json");
        let mut request = request.header("accept", "application/json, text/event-stream");
        if let Some(origin) = origin {
            request = request.header("origin", origin);
        }
        router.answer(request.body(question).unwrap()).await
    };
    let call = |name: &str| {
        let params = serde_json::json!({"name": name, "arguments": {"severity": "critical"}});
        serde_json::json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}).to_string()
    };
    assert_eq!(ask(&demo_router(), None, call("report")).await.status(), StatusCode::NOT_FOUND);
    let router = demo_router().with_tools();
    let answer = ask(&router, None, call("report")).await;
    let said = String::from_utf8(body(answer).await.to_vec()).unwrap();
    let answer: serde_json::Value = serde_json::from_str(&said).unwrap_or_else(|_| panic!("{said}"));
    let page = body(get(&router, "GET", "/report.txt?severity=critical", &[]).await).await;
    assert_eq!(answer["result"]["content"][0]["text"], String::from_utf8(page.to_vec()).unwrap());
    assert_eq!(
        ask(&router, Some("https://example.org"), call("report")).await.status(),
        StatusCode::FORBIDDEN
    );
    assert_eq!(ask(&router, None, "x".repeat(100_000)).await.status(), StatusCode::PAYLOAD_TOO_LARGE);
    assert_eq!(
        get(&router, "GET", "/mcp", &[("host", "exporter")]).await.status(),
        StatusCode::METHOD_NOT_ALLOWED
    );
    assert_eq!(
        get(&router, "DELETE", "/mcp", &[("host", "exporter")]).await.status(),
        StatusCode::METHOD_NOT_ALLOWED
    );
}
