//! `--web.auth=kubernetes` with real tokens and real rights.

use anyhow::{Context, Result};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::Api;
use serde_json::json;

use crate::support::Bench;
use crate::web::{Answer, Files, Serve, eventually, serve};

const NAMESPACE: &str = "monitoring";
const RIGHT: &str = include_str!("../../deploy/helm/longhorn-health-exporter/files/rbac/token-review.yaml");

const READER: &str = include_str!("../../deploy/kustomize/components/kubernetes-auth/reader.yaml");

const ACCOUNTS: &str = r#"
{apiVersion: v1, kind: ServiceAccount, metadata: {name: exporter, namespace: monitoring}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: prometheus, namespace: monitoring}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: on-call, namespace: monitoring}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: stranger, namespace: monitoring}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: scraper}
rules: [{nonResourceURLs: [/metrics], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: scraper}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: scraper}
subjects: [{kind: ServiceAccount, name: prometheus, namespace: monitoring}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: reader}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: longhorn-health-exporter-reader}
subjects: [{kind: ServiceAccount, name: on-call, namespace: monitoring}]
"#;

const BINDING: &str = r#"
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: token-review}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: longhorn-health-exporter-token-review}
subjects: [{kind: ServiceAccount, name: exporter, namespace: monitoring}]
"#;

#[tokio::test(flavor = "multi_thread")]
async fn tokens_are_judged_by_the_apiserver() -> Result<()> {
    let Some(mut bench) = Bench::start("auth").await? else { return Ok(()) };
    bench.namespace(NAMESPACE).await?;
    bench.apply(READER).await?;
    bench.apply(ACCOUNTS).await?;
    let exporter = bench.service_account_token(NAMESPACE, "exporter").await?;
    let files = Files::new();
    let mut command = serve(Some(&files.web("")));
    command.arg("--web.auth=kubernetes").arg("--kubeconfig").arg(bench.kubeconfig("exporter", &exporter)?);
    let serve = Serve::spawn(command);
    let get = |path: &str, token: &str| get(&serve, &files, path, token);

    let prometheus = bench.service_account_token(NAMESPACE, "prometheus").await?;
    assert_eq!(get("/metrics", &prometheus).status, 500, "the exporter itself has no right to ask");
    bench.apply(RIGHT).await?;
    bench.apply(BINDING).await?;
    // the apiserver takes a moment to see its own roles
    eventually("the right to ask", || get("/metrics", &prometheus).status == 200);
    assert!(get("/metrics", &prometheus).body().contains("\nlonghorn_health_exporter_objects "));

    let stranger = bench.service_account_token(NAMESPACE, "stranger").await?;
    let answer = get("/metrics", &stranger);
    assert_eq!(answer.status, 403);
    assert_eq!(answer.body(), "system:serviceaccount:monitoring:stranger may not get /metrics\n");
    for path in ["/", "/api/v1/report"] {
        // system:discovery lets every account get /api/*: the report must not rest on that
        assert_eq!(get(path, &prometheus).status, 403, "a right for another path");
    }
    let on_call = bench.service_account_token(NAMESPACE, "on-call").await?;
    for path in ["/", "/api/v1/report", "/metrics"] {
        assert_eq!(get(path, &on_call).status, 200, "{path} for a reader");
    }
    for garbage in ["garbage", "a.b.c", &prometheus[..prometheus.len() - 8]] {
        assert_eq!(get("/metrics", garbage).status, 401);
    }
    let now = now();
    for (expiry, status) in [(now + 600, 200), (now - 600, 401)] {
        let token = forged(&bench, expiry).await?;
        assert_eq!(get("/metrics", &token).status, status, "expires at {expiry}, now is {now}");
    }

    bench.stop_apiserver().await?;
    assert_eq!(get("/metrics", &prometheus).status, 200, "what was said holds for a while");
    assert_eq!(get("/metrics", "another").status, 500, "nobody passes unasked");
    bench.start_apiserver().await?;
    assert_eq!(get("/metrics", "another").status, 401);
    let log = serve.log();
    assert!(!log.contains(&prometheus) && !log.contains("garbage"), "{log}");
    Ok(())
}

fn get(serve: &Serve, files: &Files, path: &str, token: &str) -> Answer {
    let ca = files.path("ca.crt").display().to_string();
    serve.curl(path, &["--cacert", &ca, "--header", &format!("Authorization: Bearer {token}")])
}

/// A token of the scraper that ends at a time of our choice.
async fn forged(bench: &Bench, expiry: i64) -> Result<String> {
    let accounts: Api<ServiceAccount> = Api::namespaced(bench.admin(), NAMESPACE);
    let uid = accounts.get("prometheus").await?.metadata.uid.context("an account without uid")?;
    bench.forged_token(&json!({
        "iss": "https://kubernetes.default.svc",
        "aud": ["https://kubernetes.default.svc"],
        "sub": "system:serviceaccount:monitoring:prometheus",
        "iat": expiry - 3600,
        "nbf": expiry - 3600,
        "exp": expiry,
        "kubernetes.io": {"namespace": NAMESPACE, "serviceaccount": {"name": "prometheus", "uid": uid}},
    }))
}

#[allow(clippy::disallowed_methods, reason = "the clock of the test")]
fn now() -> i64 {
    Timestamp::now().as_second()
}
