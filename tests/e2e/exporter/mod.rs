//! The exporter's own binary against the real API server, with exactly the generated rights.

mod commands;
mod crash_logs;
mod drains;
mod following;
mod interruptions;
mod monitoring;
mod page;
mod record;
mod remedies;
mod reported;
mod run;
mod scenarios;

pub use run::Exporter;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use serde_json::Value;

use crate::support::Bench;

/// Longhorn's namespace in the scenarios and in the generated rights.
const NAMESPACE: &str = "longhorn-system";

/// Roles and their bindings.
const RBAC: &str = "rbac.authorization.k8s.io/v1";

/// The service account of the kustomization.
const ACCOUNT: &str = "longhorn-health-exporter";

/// The end of every wait for an event: far more than the longest pause of the exporter, 45 s, on however busy a machine.
const SOON: Duration = Duration::from_secs(240);

/// The recorded cluster of this name.
fn scenario(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios").join(name)
}

/// A bench with a healthy cluster, its objects, and an exporter that watches it.
async fn healthy(name: &str, args: &[&str]) -> Result<Option<(Bench, Vec<Value>, Exporter)>> {
    let Some(bench) = bench(name).await? else { return Ok(None) };
    let objects = scenarios::load(&bench, &scenario("healthy-1.12")).await?;
    let exporter = Exporter::start(&bench, "exporter", args).await?;
    Ok(Some((bench, objects, exporter)))
}

/// A bench with Longhorn's definitions, its namespace, and the exporter's account and rights.
async fn bench(name: &str) -> Result<Option<Bench>> {
    let Some(bench) = Bench::start(name).await? else { return Ok(None) };
    bench.load_crds().await?;
    bench.namespace(NAMESPACE).await?;
    let base = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/kustomize/base");
    bench.apply(&std::fs::read_to_string(base.join("serviceaccount.yaml"))?).await?;
    for entry in std::fs::read_dir(base.join("rbac"))? {
        let path = entry?.path();
        if !path.ends_with("kustomization.yaml") {
            bench.apply(&std::fs::read_to_string(path)?).await?;
        }
    }
    Ok(Some(bench))
}
