//! Pods that were replaced under the same name.

use fake_apiserver::{FakeApiServer, Fault, Verb};
use longhorn_health_exporter::cluster::Cluster;
use longhorn_health_exporter::source::Source;
use serde_json::json;

use crate::support::*;

fn replacements(cluster: &Cluster) -> Vec<(String, String, String)> {
    let gone = cluster.history.gone_pods();
    gone.map(|gone| {
        let last = &gone.last.metadata;
        (last.name.to_string(), last.uid.to_string(), gone.replaced_by.clone())
    })
    .collect()
}

fn replaced(name: &str, old: &str, new: &str) -> (String, String, String) {
    (name.to_owned(), old.to_owned(), new.to_owned())
}

fn failed(name: &str, uid: &str) -> serde_json::Value {
    let mut pod = pod(name, uid);
    pod["status"] = json!({"phase": "Failed", "reason": "Evicted"});
    pod
}

#[tokio::test]
async fn a_replaced_pod_is_kept_with_its_last_state() {
    let server: FakeApiServer = server().await;
    server.put("pods", pod("im", "1"));
    let live = synced(&server).await;
    server.wait_for_watch("pods").await;
    assert!(replacements(&live.snapshot(now())).is_empty());
    server.put("pods", failed("im", "1"));
    server.delete("pods", NAMESPACE, "im");
    server.put("pods", pod("im", "2"));
    let expected = [replaced("im", "1", "2")];
    let cluster = until(&live, "the replacement", |cluster| replacements(cluster) == expected).await;
    let last = cluster.history.gone_pods().next().unwrap();
    assert_eq!(last.last.status.reason, "Evicted");
}

#[tokio::test]
async fn a_replacement_that_nobody_watched_shows_in_the_next_list() {
    let server = server().await;
    server.put("pods", pod("im", "1"));
    server.put("pods", pod("gone", "9"));
    let live = synced(&server).await;
    server.wait_for_watch("pods").await;
    server.fault("pods", Fault::Status(503, None).on(Verb::Watch));
    server.end_watches("pods");
    server.wait_for_open_watches("pods", 0).await;
    server.delete("pods", NAMESPACE, "im");
    server.delete("pods", NAMESPACE, "gone");
    server.put("pods", pod("im", "2"));
    server.compact("pods");
    server.clear_fault("pods");
    let expected = [replaced("gone", "9", ""), replaced("im", "1", "2")];
    until(&live, "the replacement", |cluster| replacements(cluster) == expected).await;
}

/// Every way in which a watch is lost, again and again, while pods are replaced: each replacement is counted once.
#[tokio::test]
async fn a_storm_of_410_and_new_lists_under_churn_counts_each_replacement_once() {
    const PODS: usize = 6;
    let server = server().await;
    for number in 0..PODS {
        server.put("pods", pod(&format!("im-{number}"), &format!("im-{number}-0")));
    }
    let live = synced(&server).await;
    server.wait_for_watch("pods").await;
    let mut expected = Vec::new();
    for round in 0..6 * PODS {
        let name = format!("im-{}", round % PODS);
        let [old, new] = [round / PODS, round / PODS + 1].map(|life| format!("{name}-{life}"));
        match round % 5 {
            0 => server.expire_watches("pods"),
            1 => server.send_watch_error("pods", 410),
            2 => {
                server.compact("pods");
                server.end_watches("pods");
            }
            3 => server.drop_watches("pods"),
            _ => {}
        }
        server.delete("pods", NAMESPACE, &name);
        server.put("pods", pod(&name, &new));
        server.put("pods", pod("neighbour", &format!("neighbour-{round}")));
        server.delete("pods", NAMESPACE, "neighbour");
        let is_new = |cluster: &Cluster| {
            cluster.objects.pods.get(&name).is_some_and(|pod| pod.metadata.uid.as_str() == new)
        };
        until(&live, "the replacement", is_new).await;
        expected.push(replaced(&name, &old, &new));
    }
    // lists that bring nothing new
    for _ in 0..5 {
        server.wait_for_open_watches("pods", 1).await;
        let lists = server.requests("pods", Verb::List);
        server.expire_watches("pods");
        server.wait_for_requests("pods", Verb::List, lists + 1).await;
    }
    server.wait_for_open_watches("pods", 1).await;
    let mut seen = replacements(&live.snapshot(now()));
    seen.retain(|(name, ..)| name != "neighbour");
    seen.sort();
    expected.sort();
    assert_eq!(seen, expected);
}
