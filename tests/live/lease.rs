//! Who holds the start Lease changes every few seconds while managers start one after the other.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use longhorn_health_exporter::cluster::Cluster;
use serde_json::{Value, json};
use testing::evaluate;

use crate::support::*;

const MANAGER: &str = "longhorn-manager";
const LOCK: &str = "longhorn-manager-webhook-lock";
/// As client-go writes it in longhorn-manager v1.12.1.
const NO_ROUTE: &str = "E0301 11:59:58.184589      12 leaderelection.go:461] \"Error retrieving lease lock\" err=\"Get \\\"https://10.43.0.1:443/apis/coordination.k8s.io/v1/namespaces/longhorn-system/leases/longhorn-manager-webhook-lock\\\": dial tcp 10.43.0.1:443: connect: no route to host\" lock=\"longhorn-system/longhorn-manager-webhook-lock\"\n";

/// A manager that has been starting for ten minutes.
fn starting(node: &str) -> Value {
    let since = ago(600);
    json!({
        "metadata": {"name": format!("m-{node}"), "namespace": NAMESPACE, "uid": format!("uid-{node}"),
                     "creationTimestamp": since, "labels": {"app": MANAGER}},
        "spec": {"nodeName": node, "containers": [{"name": MANAGER, "image": "longhornio/longhorn-manager:v1.11.2"}]},
        "status": {
            "phase": "Running", "startTime": since,
            "conditions": [{"type": "Ready", "status": "False", "lastTransitionTime": since}],
            "containerStatuses": [{"name": MANAGER, "ready": false, "restartCount": 0, "state": {"running": {"startedAt": since}}}],
        },
    })
}

fn ago(seconds: i64) -> Timestamp {
    let second = Timestamp::from_second(now().as_second()).unwrap();
    second - SignedDuration::from_secs(seconds)
}

fn lease(holder: &str, version: usize) -> Value {
    let changed = ago(1);
    json!({
        "metadata": {"name": LOCK, "namespace": NAMESPACE, "annotations": {"version": version.to_string()}},
        "spec": {"holderIdentity": holder, "leaseDurationSeconds": if holder.is_empty() { 1 } else { 20 },
                 "acquireTime": changed, "renewTime": changed, "leaseTransitions": version},
    })
}

fn said(cluster: &Cluster) -> BTreeSet<String> {
    let findings = evaluate(cluster).report.findings.into_iter();
    let of_starts = findings.filter(|finding| finding.check == "manager_start_stuck");
    of_starts
        .map(|finding| format!("{} {} {}", finding.severity, finding.cause.id, finding.object.name))
        .collect()
}

#[tokio::test]
async fn findings_stand_still_while_the_holder_of_the_lease_changes() {
    let server = server().await;
    for node in ["n1", "n2", "n3"] {
        server.put("pods", starting(node));
    }
    server.set_log(NAMESPACE, "m-n1", MANAGER, false, NO_ROUTE);
    server.put("leases.coordination.k8s.io", lease("n2", 0));
    let live = synced(&server).await;
    within("the logs", live.complete()).await;
    let hangs = "critical api_unreachable m-n1".to_owned();
    let first = said(&until(&live, "the hanging manager", |cluster| said(cluster).contains(&hangs)).await);
    assert_eq!(first.len(), 2, "{first:?}: and those who wait for their turn");
    for (version, holder) in (1..).zip(["", "n3", "", "n2", "n3", "", "n3", "n2", "", "n2"]) {
        server.put("leases.coordination.k8s.io", lease(holder, version));
        let changed = until(&live, "the new holder", |cluster| {
            let lease = cluster.objects.leases.get(LOCK).unwrap();
            lease.spec.holder_identity == holder
        });
        assert_eq!(said(&changed.await), first, "held by '{holder}'");
    }
}
