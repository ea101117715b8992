//! Several API servers behind one address, of which one lags behind etcd by a while.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fake_apiserver::{FakeApiServer, Verb};
use http::Request;
use http_body_util::BodyExt;
use kube::Client;
use kube::client::Body;
use longhorn_health_exporter::longhorn::Resource;
use longhorn_health_exporter::source::{ApiErrorReason, Live, Source};
use serde_json::json;

use crate::support::*;

/// A balancer in front of two.
async fn balanced(first: &FakeApiServer, second: &FakeApiServer) -> (Client, Arc<AtomicBool>) {
    let clients = [connection(first).await.client(), connection(second).await.client()];
    let to_second = Arc::new(AtomicBool::new(false));
    let choice = to_second.clone();
    let service = tower::service_fn(move |request: Request<Body>| {
        let client = clients[usize::from(choice.load(Ordering::Relaxed))].clone();
        async move {
            Ok::<_, kube::Error>(client.send(request).await?.map(|body| body.map_err(tower::BoxError::from)))
        }
    });
    (Client::new(service, NAMESPACE), to_second)
}

fn manager(uid: &str) -> serde_json::Value {
    let labels = json!({"longhorn.io/component": "instance-manager"});
    let mut pod = pod("instance-manager-a", uid);
    pod["metadata"]["labels"] = labels;
    pod
}

fn uid(live: &Live) -> String {
    let cluster = live.snapshot(now());
    cluster.objects.pods.get("instance-manager-a").map(|pod| pod.metadata.uid.to_string()).unwrap_or_default()
}

#[tokio::test]
async fn a_list_after_a_watch_never_goes_back_in_time() {
    let (fresh, lagging) = (server().await, server().await);
    for server in [&fresh, &lagging] {
        server.put("pods", manager("a"));
    }
    // what the other one has not heard of yet
    for _ in 0..5 {
        fresh.put("pods", pod("other", "o"));
    }
    let (client, to_lagging) = balanced(&fresh, &lagging).await;
    let live = Live::start(client, options());
    within("the first sync", live.synced()).await;
    fresh.wait_for_open_watches("pods", 1).await;
    fresh.delete("pods", NAMESPACE, "instance-manager-a");
    fresh.put("pods", manager("b"));
    until(&live, "the new one", |_| uid(&live) == "b").await;
    let gone = |live: &Live| format!("{:?}", live.snapshot(now()).history);
    let known = gone(&live);

    to_lagging.store(true, Ordering::Relaxed);
    fresh.expire_watches("pods");
    within("its refusals", async {
        while errors(&live, Resource::Pods, ApiErrorReason::Timeout) < 2 {
            assert_eq!(uid(&live), "b", "back in time");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
    assert_eq!(uid(&live), "b");
    assert_eq!(gone(&live), known, "a pod that was replaced once was replaced once");
    let asked = parameters(&lagging, "pods", Verb::List, "resourceVersion");
    assert!(!asked.is_empty() && asked.iter().all(|version| version != "0"), "{asked:?}");
    let matches = parameters(&lagging, "pods", Verb::List, "resourceVersionMatch");
    assert!(matches.iter().any(|asked| asked == "NotOlderThan"), "{matches:?}");

    // it catches up
    lagging.delete("pods", NAMESPACE, "instance-manager-a");
    for _ in 0..20 {
        lagging.put("pods", pod("other", "o"));
    }
    lagging.put("pods", manager("b"));
    until(&live, "its list", |cluster| cluster.can_read(Resource::Pods)).await;
    lagging.wait_for_open_watches("pods", 1).await;
    lagging.put("pods", pod("new", "n"));
    until(&live, "its events", |cluster| cluster.objects.pods.get("new").is_some()).await;
    assert_eq!((uid(&live), gone(&live)), ("b".to_owned(), known));
}
