//! The commands that are printed for clusters of public reports (`tests/corpus`), as far as scenarios have none of the kind.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::commands::{Runs, printed};
use super::{NAMESPACE, bench, scenarios};
use crate::corpus::{Case, cases, cluster};
use crate::support::Bench;
use crate::support::apply::objects;

/// What the API server of the tests has itself, and what others install.
const NOT_APPLIED: [&str; 4] = ["CustomResourceDefinition", "HelmChart", "HelmRelease", "Application"];

/// Cluster-wide kinds of the cases.
const CLUSTER_WIDE: [&str; 4] =
    ["PriorityClass", "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration", "CSINode"];

#[tokio::test]
async fn every_command_for_a_reported_cluster_is_accepted() -> Result<()> {
    let Some(bench) = bench("reported-commands").await? else { return Ok(()) };
    add_class(&bench).await?;
    let mut runs = Runs::new()?;
    let (mut wrong, mut all) = (Vec::new(), Vec::new());
    for case in cases().into_values().flatten() {
        let (files, objects) = recorded(&case)?;
        let names: BTreeSet<&str> =
            objects.iter().filter_map(|object| object.pointer("/metadata/name")?.as_str()).collect();
        let commands = printed(scenarios::recording(files)?);
        if !commands.iter().any(|command| runs.is_new(command, &names)) {
            continue;
        }
        // the Events of a workload are in its own
        let namespaces = objects.iter().filter_map(|object| object.pointer("/metadata/namespace")?.as_str());
        for namespace in namespaces.collect::<BTreeSet<_>>() {
            bench.namespace(namespace).await?;
        }
        if let Err(error) = bench.load_recorded(&objects).await {
            wrong.push(format!("{}: {error:#}", case.report));
            bench.delete_all(&objects).await.ok();
            continue;
        }
        for command in &commands {
            runs.run(&bench, &case.report, command, &names)?;
        }
        bench.delete_all(&objects).await.with_context(|| case.report.clone())?;
        all.extend(objects);
    }
    anyhow::ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    runs.finish(60, all)
}

/// The PriorityClass of instance managers, which cases leave out.
pub async fn add_class(bench: &Bench) -> Result<()> {
    let class = json!({
        "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
        "metadata": {"name": "longhorn-critical"}, "value": 1_000_000_000,
    });
    bench.apply_value(&class).await
}

/// Names and texts of files.
type Files = Vec<(String, String)>;

/// The recording of a case: its files, and the objects in them.
pub fn recorded(case: &Case) -> Result<(Files, Vec<Value>)> {
    let files = cluster::files(case, true);
    let (_, text) = files.iter().find(|(name, _)| name == "cluster.yaml").context("no objects")?;
    let objects = objects(text)?.into_iter();
    let objects = objects.filter(|object| !NOT_APPLIED.iter().any(|kind| object["kind"] == **kind));
    Ok((files, objects.map(in_namespace).collect()))
}

/// Cases leave the namespace out.
fn in_namespace(mut object: Value) -> Value {
    let kind = object["kind"].as_str().unwrap_or_default();
    let kubernetes = kind == "Node" && object["apiVersion"] == "v1";
    let attachment = kind == "VolumeAttachment" && object["apiVersion"] == "storage.k8s.io/v1";
    if !kubernetes
        && !attachment
        && !CLUSTER_WIDE.contains(&kind)
        && object["metadata"]["namespace"].is_null()
    {
        object["metadata"]["namespace"] = json!(NAMESPACE);
    }
    object
}
