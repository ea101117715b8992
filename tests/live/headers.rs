//! What the API server says beside the objects: its time, and how long it wants to be left alone.

use std::sync::Arc;
use std::time::{Duration, Instant};

use fake_apiserver::{Date, Fault, Verb};
use longhorn_health_exporter::cluster::Cluster;
use longhorn_health_exporter::exporter::Evaluator;
use longhorn_health_exporter::metrics::Format;
use longhorn_health_exporter::source::Source;
use testing::evaluate;

use crate::support::*;

#[tokio::test]
async fn a_clock_that_differs_from_the_api_servers_is_measured_and_heals() {
    let server = server().await;
    let wrong = now() - Duration::from_secs(600);
    server.set_date(Date::Fixed(wrong.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()));
    let live = Arc::new(synced(&server).await);
    let cluster = live.snapshot(now());
    let skew = cluster.clock_skew.unwrap().as_secs();
    assert!((595..=900).contains(&skew), "{skew}");
    let wrong = evaluate(&cluster).report.cluster.wrong_clock().unwrap();
    assert!(wrong.ends_with("s ahead of the API server's, so ages are wrong"), "{wrong}");
    let page = || {
        let page = Evaluator::new(&longhorn_health_exporter::checks::CATALOGUE, live.clone(), now, false)
            .page(Format::Text, None)
            .unwrap();
        let line = page.lines().find(|line| line.starts_with("longhorn_health_exporter_clock_skew_seconds "));
        line.map(|line| line.split_once(' ').unwrap().1.parse::<f64>().unwrap())
    };
    assert!(page().is_some_and(|skew| skew > 590.0));
    server.set_date(Date::Right);
    server.end_watches("*");
    let right = |cluster: &Cluster| cluster.clock_skew.is_some_and(|skew| skew.is_zero());
    let cluster = until(&live, "the right time", right).await;
    assert_eq!(evaluate(&cluster).report.cluster.wrong_clock(), None);
    assert_eq!(page(), Some(0.0));
}

#[tokio::test]
async fn without_a_date_no_skew_is_known() {
    let server = server().await;
    server.set_date(Date::Missing);
    let live = Arc::new(synced(&server).await);
    assert_eq!(live.snapshot(now()).clock_skew, None);
    let page = Evaluator::new(&longhorn_health_exporter::checks::CATALOGUE, live, now, false)
        .page(Format::Text, None)
        .unwrap();
    assert!(!page.contains("\nlonghorn_health_exporter_clock_skew_seconds"), "{page}");
}

#[tokio::test]
async fn a_server_that_asks_for_a_pause_gets_it_in_lists_pages_and_watches() {
    for (verb, nth, code) in [
        (Verb::List, 1, 429),
        (Verb::List, 2, 503),
        (Verb::List, 2, 429),
        (Verb::Watch, 1, 429),
        (Verb::Watch, 1, 503),
    ] {
        let server = server().await;
        (0..600).for_each(|number| {
            server.put(VOLUMES, volume(&format!("v{number}")));
        });
        if nth == 2 {
            in_pages(&server);
        }
        server.fault(VOLUMES, Fault::Status(code, Some(1)).on(verb).every(nth).times(1));
        let begin = Instant::now();
        let live = synced(&server).await;
        within("the watch", server.wait_for_watch(VOLUMES)).await;
        let took = begin.elapsed();
        // own pauses are of 20 ms here
        assert!(took >= Duration::from_secs(1), "{verb:?} {nth} {code}: {took:?}");
        assert_eq!(live.snapshot(now()).objects.volumes.len(), 600);
    }
}
