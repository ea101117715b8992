//! Several clusters asked at once.

use std::process::{Command, Output};

use fake_apiserver::FakeApiServer;
use serde_json::json;

use crate::support::*;

/// An API server of a cluster with Longhorn and one node.
async fn with_node(node: &str) -> FakeApiServer {
    let server = server().await;
    server.put(
        "settings.longhorn.io",
        json!({"metadata": {"name": "current-longhorn-version", "namespace": NAMESPACE}, "value": "v1.9.2"}),
    );
    server.put("nodes.longhorn.io", json!({"metadata": {"name": node, "namespace": NAMESPACE}}));
    server.put("nodes", json!({"metadata": {"name": node}}));
    server.put(
        "pods",
        json!({
            "metadata": {"name": "longhorn-manager-a", "namespace": NAMESPACE, "uid": "1", "labels": {"app": "longhorn-manager"}},
            "spec": {"nodeName": node},
            "status": {"phase": "Running"},
        }),
    );
    server
}

async fn drain(kubeconfig: &std::path::Path, node: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_longhorn-health-exporter"));
    command.args(["plan", "drain", node, "--all-contexts", "--kubeconfig"]).arg(kubeconfig).env_clear();
    tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap()
}

#[tokio::test]
async fn a_node_that_only_one_cluster_has_is_unknown_in_the_other_alone() {
    let (a, b) = (with_node("worker-a").await, with_node("worker-b").await);
    let directory = tempfile::tempdir().unwrap();
    let kubeconfig = directory.path().join("kubeconfig");
    let text = format!(
        "apiVersion: v1\nkind: Config\nusers: [{{name: u, user: {{}}}}]\nclusters:\n- {{name: a, cluster: {{server: '{}'}}}}\n\
         - {{name: b, cluster: {{server: '{}'}}}}\ncontexts:\n- {{name: a, context: {{cluster: a, user: u}}}}\n\
         - {{name: b, context: {{cluster: b, user: u}}}}\n",
        a.url(),
        b.url()
    );
    std::fs::write(&kubeconfig, text).unwrap();
    let one = drain(&kubeconfig, "worker-a").await;
    let table = String::from_utf8(one.stdout).unwrap();
    let row = |context: &str| {
        let is_its = |line: &&str| line.contains(&format!("  {context}  "));
        table.lines().find(is_its).unwrap_or_else(|| panic!("{table}"))
    };
    assert!(row("b").starts_with("UNKNOWN") && row("b").contains("worker-a"), "{table}");
    assert!(row("a").starts_with("NOT YET"), "{table}");
    let none = drain(&kubeconfig, "worker-c").await;
    assert_eq!(none.status.code(), Some(64), "{none:?}");
}
