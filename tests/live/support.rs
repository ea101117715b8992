//! A fake API server with Longhorn's kinds, and a live source that is impatient.

use std::collections::BTreeMap;
use std::time::Duration;

use fake_apiserver::{FakeApiServer, Fault, ResourceDef, Verb};
use jiff::Timestamp;
use longhorn_health_exporter::checks;
use longhorn_health_exporter::cluster::{Cluster, Readability, ResourceStatus};
use longhorn_health_exporter::longhorn::resource::TABLE;
use longhorn_health_exporter::longhorn::{Resource, ResourceInfo};
use longhorn_health_exporter::source::connect::Connection;
use longhorn_health_exporter::source::watch::Pauses;
use longhorn_health_exporter::source::{ApiErrorReason, Live, LiveOptions, Source};
use serde_json::{Value, json};

pub const NAMESPACE: &str = "longhorn-system";
pub const VOLUMES: &str = "volumes.longhorn.io";

#[allow(clippy::disallowed_methods, reason = "the clock of the test")]
pub fn now() -> Timestamp {
    Timestamp::now()
}

pub async fn server() -> FakeApiServer {
    let server = FakeApiServer::start().await;
    server.serve_builtin();
    let custom = |info: &&ResourceInfo| info.resource.is_longhorn() || info.resource.is_of_a_tool();
    for info in TABLE.iter().filter(custom) {
        server.serve(definition(info.resource));
    }
    server
}

pub fn definition(resource: Resource) -> ResourceDef {
    let info = resource.info();
    ResourceDef::custom(&format!("{}/{}", info.group, info.version), info.plural, info.kind)
}

/// Production behaviour with pauses that a test can wait for. Watches stay open for a minute unless
/// the test is about their end.
pub fn options() -> LiveOptions {
    LiveOptions {
        watch_seconds: 60,
        watch_grace: Duration::from_millis(100),
        pauses: Pauses { first: Duration::from_millis(20), longest: Duration::from_millis(200) },
        look_again: Duration::from_millis(100),
        rebuild_after: Duration::from_millis(500),
        crash_logs_again: Duration::from_millis(100),
        ..LiveOptions::new(NAMESPACE, now, checks::CATALOGUE.kinds())
    }
}

pub async fn connection(server: &FakeApiServer) -> Connection {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("kubeconfig");
    std::fs::write(&path, server.kubeconfig_yaml()).unwrap();
    Connection::open(Some(&path), None, Duration::from_secs(120))
        .await
        .unwrap_or_else(|error| panic!("{error}"))
}

pub async fn start(server: &FakeApiServer, options: LiveOptions) -> Live {
    Live::start(connection(server).await.client(), options)
}

/// A live source that has seen everything and watches it.
pub async fn synced(server: &FakeApiServer) -> Live {
    let live = start(server, options()).await;
    within("the first sync", live.synced()).await;
    live
}

/// What comes is waited for until then, on however busy a machine.
pub async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(Duration::from_secs(180), future).await {
        Ok(value) => value,
        Err(_) => panic!("waited in vain for {what}"),
    }
}

/// Waits until a snapshot shows something.
pub async fn until(live: &Live, what: &str, mut shows: impl FnMut(&Cluster) -> bool) -> Cluster {
    within(what, async {
        loop {
            let cluster = live.snapshot(now());
            if shows(&cluster) {
                return cluster;
            }
            tokio::time::sleep(Duration::from_millis(3)).await;
        }
    })
    .await
}

pub fn status(cluster: &Cluster, resource: Resource) -> &ResourceStatus {
    &cluster.resources[&resource]
}

pub fn is(cluster: &Cluster, resource: Resource, readability: Readability) -> bool {
    cluster.readability(resource) == readability
}

pub fn errors(live: &Live, resource: Resource, reason: ApiErrorReason) -> u64 {
    live.totals()[&resource].errors.get(&reason).copied().unwrap_or_default()
}

pub fn volume(name: &str) -> Value {
    json!({"metadata": {"name": name, "namespace": NAMESPACE}, "spec": {"numberOfReplicas": 3}})
}

pub fn volume_names(cluster: &Cluster) -> Vec<&str> {
    cluster.objects.volumes.iter().map(|volume| volume.metadata.name.as_str()).collect()
}

pub fn pod(name: &str, uid: &str) -> Value {
    json!({"metadata": {"name": name, "namespace": NAMESPACE, "uid": uid}, "status": {"phase": "Running"}})
}

/// A manager pod whose container ended at this second of the hour.
pub fn crashed_manager(name: &str, uid: &str, restarts: u32, second: u32) -> Value {
    let ended = format!("2026-01-01T00:00:{second:02}Z");
    json!({
        "metadata": {"name": name, "namespace": NAMESPACE, "uid": uid, "labels": {"app": "longhorn-manager"}},
        "spec": {"containers": [{"name": "longhorn-manager"}]},
        "status": {"containerStatuses": [{
            "name": "longhorn-manager",
            "restartCount": restarts,
            "state": {"waiting": {"reason": "CrashLoopBackOff"}},
            "lastState": {"terminated": {"exitCode": 1, "finishedAt": ended}},
        }]},
    })
}

/// A manager whose container has run for an hour.
pub fn running_manager(name: &str, ready: bool) -> serde_json::Value {
    json!({
        "metadata": {"name": name, "namespace": NAMESPACE, "uid": "1", "labels": {"app": "longhorn-manager"}},
        "spec": {"nodeName": "node-1", "containers": [{"name": "longhorn-manager"}]},
        "status": {"containerStatuses": [{
            "name": "longhorn-manager", "ready": ready, "restartCount": 0,
            "state": {"running": {"startedAt": (now() - jiff::SignedDuration::from_hours(1)).to_string()}},
        }]},
    })
}

/// Values of a query parameter in the requests for a kind, in order.
pub fn parameters(server: &FakeApiServer, resource: &str, verb: Verb, name: &str) -> Vec<String> {
    let prefix = format!("{name}=");
    let requests = server.recorded().into_iter();
    let requests = requests.filter(|request| request.resource == resource && request.verb == verb);
    requests
        .map(|request| {
            let mut values = request.query.split('&').filter_map(|pair| pair.strip_prefix(&prefix));
            values.next().unwrap_or_default().to_owned()
        })
        .collect()
}

/// Requests by verb, without counting.
pub fn verbs(server: &FakeApiServer) -> BTreeMap<String, Vec<Verb>> {
    let mut verbs: BTreeMap<String, Vec<Verb>> = BTreeMap::new();
    for (resource, verb) in server.request_counts().into_keys() {
        verbs.entry(resource).or_default().push(verb);
    }
    verbs
}

/// Breaks off the first list of volumes, so that the next comes in pages.
pub fn in_pages(server: &FakeApiServer) {
    server.fault(VOLUMES, Fault::TruncatedBody.on(Verb::List).times(1));
}
