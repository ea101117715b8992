//! Tests: what clients hold who ask and do not read.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::{Request, StatusCode, header};
use jiff::{SignedDuration, Timestamp};

use super::respond::Answer;
use super::{Access, Links, Router};
use crate::exporter::Evaluator;
use crate::source::demo::Demo;
use crate::testing::time;

/// Readers that the issue of bounded memory was found with.
const READERS: usize = 15;

/// A router that evaluates the demo cluster again with each step of the clock, under these bounds.
fn router(clock: fn() -> Timestamp, scrapes: u32, others: u32) -> Router {
    let source = Demo::new(clock()).unwrap();
    let evaluator = Evaluator::new(&crate::checks::CATALOGUE, Arc::new(source), clock, true)
        .with_budgets(scrapes, others);
    Router::new(&crate::cli::DECLARED, Arc::new(evaluator), Access::open(), Links::own("/metrics"), READERS)
}

async fn ask(router: &Router, path: &str, encoding: &str) -> Answer {
    let request = Request::builder().uri(path).header(header::ACCEPT_ENCODING, encoding);
    router.answer(request.body(String::new()).unwrap()).await
}

async fn text(answer: Answer) -> Bytes {
    assert_eq!(answer.status(), StatusCode::OK);
    answer.into_body().collect().await.unwrap().to_bytes()
}

fn second(seconds: &AtomicI64) -> Timestamp {
    time("2026-01-01T12:00:00Z") + SignedDuration::from_secs(seconds.load(Ordering::SeqCst))
}

#[tokio::test]
async fn readers_at_one_moment_share_one_report() {
    // room for one text and its gzip
    let size =
        text(ask(&router(|| second(&AtomicI64::new(0)), 1 << 20, 1 << 20), "/api/v1/report", "").await).await;
    let room = u32::try_from(size.len() * 3 / 2).unwrap();
    let router = router(|| second(&AtomicI64::new(0)), 1 << 20, room);
    for encoding in ["identity", "gzip"] {
        let mut seen = Vec::new();
        for _ in 0..READERS {
            seen.push(text(ask(&router, "/api/v1/report", encoding).await).await);
        }
        assert!(seen.iter().all(|bytes| bytes.as_ptr() == seen[0].as_ptr()), "{encoding}");
    }
}

#[tokio::test]
async fn old_reports_that_nobody_reads_are_bounded_and_cost_no_scrape() {
    static SECONDS: AtomicI64 = AtomicI64::new(0);
    let clock = || second(&SECONDS);
    let size = text(ask(&router(clock, 1 << 20, 1 << 20), "/api/v1/report", "").await).await.len();
    let router = router(clock, 1 << 20, u32::try_from(size * 7 / 2).unwrap());
    let mut unread = Vec::new();
    let mut refused = 0;
    for _ in 0..READERS {
        SECONDS.fetch_add(1, Ordering::SeqCst);
        let answer = ask(&router, "/api/v1/report", "").await;
        match answer.status() {
            StatusCode::OK => unread.push(answer),
            status => {
                assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
                assert_eq!(answer.headers()[header::RETRY_AFTER], "5");
                refused += 1;
            }
        }
    }
    assert_eq!((unread.len(), refused), (3, READERS - 3));
    for path in ["/api/v1/report?severity=warning", "/report.txt", "/"] {
        let busy = ask(&router, path, "").await;
        let room = size / 2; // what is left beside three reports
        let length = text(ask(&self::router(clock, 1 << 20, 1 << 20), path, "").await).await.len();
        assert_eq!(busy.status() == StatusCode::OK, length <= room, "{path} {length} {room}");
    }
    for path in ["/metrics", "/livez", "/readyz"] {
        assert_eq!(ask(&router, path, "").await.status(), StatusCode::OK, "{path}");
    }
    unread.clear();
    assert_eq!(ask(&router, "/api/v1/report", "").await.status(), StatusCode::OK);
}
