//! The bench itself: everything the other tests take for granted.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::{Pod, Secret};
use kube::api::{Api, DynamicObject, ListParams};
use serde_json::json;

use crate::support::{Bench, bench::code, crds::API_VERSION};

const VOLUME: &str = r#"
apiVersion: longhorn.io/v1beta2
kind: Volume
metadata: {name: pvc-1, namespace: storage, uid: from-a-recording, creationTimestamp: "2026-01-01T00:00:00Z"}
spec: {numberOfReplicas: 3, size: "1073741824"}
status: {state: attached, robustness: degraded}
---
apiVersion: longhorn.io/v1beta2
kind: Setting
metadata: {name: current-longhorn-version, namespace: storage}
value: v1.12.1
"#;

const RECORDED_OBJECTS: &[(&str, &str, &str)] = &[
    ("v1", "Node", "node-a"),
    ("v1", "Pod", "pod-a"),
    ("v1", "Service", "service-a"),
    ("v1", "Event", "event-a"),
    ("apps/v1", "DaemonSet", "daemonset-a"),
    ("coordination.k8s.io/v1", "Lease", "lease-a"),
    ("discovery.k8s.io/v1", "EndpointSlice", "slice-a"),
    ("policy/v1", "PodDisruptionBudget", "budget-a"),
    (API_VERSION, "Volume", "volume-a"),
];

/// As `kubectl get -o yaml` writes it.
const RECORDED: &str = r#"
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Node
  metadata: {name: node-a, uid: uid-of-node-a, creationTimestamp: "2026-01-01T00:00:00Z"}
  status: {conditions: [{type: Ready, status: "True"}]}
- apiVersion: v1
  kind: Pod
  metadata: {name: pod-a, namespace: storage, uid: uid-of-pod-a, creationTimestamp: "2026-01-01T00:00:00Z", resourceVersion: "77"}
  spec: {nodeName: node-a, containers: [{name: longhorn-manager, image: manager}]}
  status: {phase: Running}
- apiVersion: v1
  kind: Service
  metadata: {name: service-a, namespace: storage, uid: uid-of-service-a, creationTimestamp: "2026-01-01T00:00:00Z"}
  spec: {ports: [{port: 9501}]}
- apiVersion: v1
  kind: Event
  metadata: {name: event-a, namespace: storage, uid: uid-of-event-a, creationTimestamp: "2026-01-01T00:00:00Z"}
  involvedObject: {kind: Pod, name: pod-a, namespace: storage}
  reason: Unhealthy
- apiVersion: apps/v1
  kind: DaemonSet
  metadata: {name: daemonset-a, namespace: storage, uid: uid-of-daemonset-a, creationTimestamp: "2026-01-01T00:00:00Z"}
  spec:
    selector: {matchLabels: {app: longhorn-manager}}
    template:
      metadata: {labels: {app: longhorn-manager}}
      spec: {containers: [{name: longhorn-manager, image: manager}]}
  status: {desiredNumberScheduled: 1, currentNumberScheduled: 1, numberMisscheduled: 0, numberReady: 0}
- apiVersion: coordination.k8s.io/v1
  kind: Lease
  metadata: {name: lease-a, namespace: storage, uid: uid-of-lease-a, creationTimestamp: "2026-01-01T00:00:00Z"}
  spec: {holderIdentity: a}
- apiVersion: discovery.k8s.io/v1
  kind: EndpointSlice
  metadata: {name: slice-a, namespace: storage, uid: uid-of-slice-a, creationTimestamp: "2026-01-01T00:00:00Z"}
  addressType: IPv4
  endpoints: [{addresses: [10.42.0.1], conditions: {ready: false}}]
- apiVersion: policy/v1
  kind: PodDisruptionBudget
  metadata: {name: budget-a, namespace: storage, uid: uid-of-budget-a, creationTimestamp: "2026-01-01T00:00:00Z"}
  spec: {minAvailable: 1}
  status: {currentHealthy: 0, desiredHealthy: 1, disruptionsAllowed: 0, expectedPods: 1}
- apiVersion: longhorn.io/v1beta2
  kind: Volume
  metadata: {name: volume-a, namespace: storage, uid: uid-of-volume-a, creationTimestamp: "2026-01-01T00:00:00Z"}
  status: {state: detached}
"#;

const LIMITED_READER: &str = r#"
apiVersion: v1
kind: ServiceAccount
metadata: {name: reader, namespace: storage}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader, namespace: storage}
rules: [{apiGroups: [longhorn.io], resources: [volumes], verbs: [get, list, watch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: reader, namespace: storage}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
subjects: [{kind: ServiceAccount, name: reader, namespace: storage}]
"#;

#[tokio::test]
async fn objects_outlive_a_restart_and_roles_are_enforced() -> Result<()> {
    let began = Instant::now();
    let Some(mut bench) = Bench::start("restart").await? else {
        return Ok(());
    };
    report("servers ready", began.elapsed());

    let began = Instant::now();
    bench.load_crds().await?;
    report("definitions served", began.elapsed());
    bench.namespace("storage").await?;
    bench.apply(VOLUME).await?;
    let volumes = bench.api(API_VERSION, "Volume", "storage").await?;
    ensure_degraded(&volumes).await?;
    let settings = bench.api(API_VERSION, "Setting", "storage").await?;
    let version = settings.get("current-longhorn-version").await?;
    assert_eq!(version.data["value"], "v1.12.1");

    let began = Instant::now();
    bench.stop_apiserver().await?;
    report("stopped", began.elapsed());
    ensure!(volumes.list(&ListParams::default()).await.is_err(), "a stopped apiserver answered");
    let began = Instant::now();
    bench.start_apiserver().await?;
    report("ready again", began.elapsed());
    ensure_degraded(&volumes).await?;

    bench.apply(LIMITED_READER).await?;
    let token = bench.service_account_token("storage", "reader").await?;
    let reader = bench.client(&token).await?;
    let (resource, _) = kube::discovery::pinned_kind(
        &reader,
        &kube::core::GroupVersionKind::gvk("longhorn.io", "v1beta2", "Volume"),
    )
    .await?;
    ensure_degraded(&Api::namespaced_with(reader.clone(), "storage", &resource)).await?;
    let secrets: Api<Secret> = Api::namespaced(reader, "storage");
    let error = secrets.list(&ListParams::default()).await.err().context("secrets were listed")?;
    assert_eq!(code(&error), Some(403), "{error}");

    let stranger: Api<Secret> = Api::namespaced(bench.client("garbage").await?, "storage");
    let error = stranger.list(&ListParams::default()).await.err().context("garbage was let in")?;
    assert_eq!(code(&error), Some(401), "{error}");
    Ok(())
}

#[tokio::test]
async fn statuses_of_pods_change_and_old_watches_are_gone_after_compaction() -> Result<()> {
    let Some(mut bench) = Bench::start("compaction").await? else {
        return Ok(());
    };
    bench.namespace("storage").await?;
    let pods: Api<Pod> = Api::namespaced(bench.admin(), "storage");
    for (phase, expected) in [("Pending", "Pending"), ("Running", "Running")] {
        bench.apply_value(&pod(phase)).await?;
        let status = pods.get("longhorn-manager-a").await?.status.context("a pod without status")?;
        assert_eq!(status.phase.as_deref(), Some(expected));
    }
    let old = pods.list(&ListParams::default()).await?.metadata.resource_version;
    let old = old.context("a list without resourceVersion")?;
    bench.delete("v1", "Pod", "storage", "longhorn-manager-a").await?;
    ensure!(pods.get_opt("longhorn-manager-a").await?.is_none(), "a deleted pod is still there");

    let revision = bench.compact().await?;
    ensure!(revision > old.parse()?, "compacted at {revision}, before {old}");
    bench.stop_apiserver().await?;
    bench.start_apiserver().await?;
    let exact = ListParams::default().at(&old).matching(kube::api::VersionMatch::Exact);
    let error = pods.list(&exact).await.err().context("a compacted revision was served")?;
    assert_eq!(code(&error), Some(410), "{error}");
    Ok(())
}

#[tokio::test]
async fn recorded_objects_keep_their_age_and_uid() -> Result<()> {
    let Some(bench) = Bench::start("recorded").await? else {
        return Ok(());
    };
    bench.load_crds().await?;
    bench.namespace("storage").await?;
    bench.apply_recorded(RECORDED).await?;
    for (api_version, kind, name) in RECORDED_OBJECTS {
        let object = bench.api(api_version, kind, "storage").await?.get(name).await?;
        let metadata = serde_json::to_value(&object.metadata)?;
        assert_eq!(metadata["creationTimestamp"], "2026-01-01T00:00:00Z", "{kind} {name}");
        assert_eq!(metadata["uid"], format!("uid-of-{name}"), "{kind} {name}");
        // Such an object can still be changed and is not confused with a new one.
        let mut changed = serde_json::to_value(&object)?;
        changed["metadata"]["labels"] = json!({"changed": "yes"});
        bench.apply_value(&changed).await?;
        let again = bench.api(api_version, kind, "storage").await?.get(name).await?;
        assert_eq!(again.metadata.labels.context("no labels")?["changed"], "yes");
        assert_eq!(again.metadata.uid, object.metadata.uid);
        assert_eq!(again.metadata.creation_timestamp, object.metadata.creation_timestamp);
    }
    Ok(())
}

#[tokio::test]
async fn the_tools_run_and_reach_the_apiserver() -> Result<()> {
    let Some(bench) = Bench::start("commands").await? else {
        return Ok(());
    };
    let run = |program: &Path, args: &[&str]| -> Result<String> {
        let output = bench.command(program)?.args(args).output()?;
        ensure!(output.status.success(), "{}: {output:?}", program.display());
        Ok(String::from_utf8(output.stdout)?)
    };
    let tools = bench.tools();
    let versions = run(&tools.kubectl, &["version", "--output=json"])?;
    let versions: serde_json::Value = serde_json::from_str(&versions)?;
    // Both are built from one tree and stamped alike.
    assert_eq!(versions["serverVersion"]["gitVersion"], versions["clientVersion"]["gitVersion"]);
    run(&tools.helm, &["list", "--all-namespaces"])?;
    run(&tools.kubeconform, &["-v"])?;
    Ok(())
}

async fn ensure_degraded(volumes: &Api<DynamicObject>) -> Result<()> {
    let list = volumes.list(&ListParams::default()).await?;
    let [volume] = list.items.as_slice() else {
        anyhow::bail!("{} volumes instead of one", list.items.len());
    };
    assert_eq!(volume.data["spec"]["numberOfReplicas"], 3);
    assert_eq!(volume.data["status"], json!({"state": "attached", "robustness": "degraded"}));
    Ok(())
}

fn pod(phase: &str) -> serde_json::Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "longhorn-manager-a", "namespace": "storage"},
        "spec": {"nodeName": "a", "containers": [{
            "name": "longhorn-manager",
            "image": "longhornio/longhorn-manager:v1.12.1",
            "securityContext": {"privileged": true},
        }]},
        "status": {"phase": phase},
    })
}

/// For readers of `--nocapture`.
fn report(what: &str, took: Duration) {
    println!("{what} after {:.1} s", took.as_secs_f64());
}
