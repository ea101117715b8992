//! What changes in the cluster shows in the next scrape.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use super::page::Page;
use super::{NAMESPACE, SOON, healthy};
use crate::support::crds::{self, API_VERSION};

const VOLUMES: &str = "longhorn_health_volumes";
const FINDING: &str = "longhorn_health_finding";
const WRITES: usize = 5;
const QUIET: Duration = Duration::from_secs(30);

#[tokio::test]
async fn objects_change_and_vanish_and_so_do_their_series() -> Result<()> {
    let Some((bench, objects, exporter)) = healthy("following", &[]).await? else { return Ok(()) };
    let volumes = bench.api(API_VERSION, "Volume", NAMESPACE).await?;
    let name = name_of(&objects, "Volume", |volume| volume["status"]["robustness"] == "healthy")?;
    let page = exporter.page().await?;
    let healthy = page.value(VOLUMES, &[("robustness", "healthy")]).context("no count of volumes")?;
    assert!(page.is(VOLUMES, &[("robustness", "faulted")], 0.0));

    let faulted = Patch::Merge(json!({"status": {"robustness": "faulted"}}));
    volumes.patch_status(&name, &PatchParams::default(), &faulted).await?;
    exporter
        .until("the faulted volume", SOON, |page| {
            page.is(VOLUMES, &[("robustness", "faulted")], 1.0)
                && page.is(VOLUMES, &[("robustness", "healthy")], healthy - 1.0)
        })
        .await?;
    bench.delete(API_VERSION, "Volume", NAMESPACE, &name).await?;
    exporter
        .until("the end of the volume", SOON, |page| page.is(VOLUMES, &[("robustness", "faulted")], 0.0))
        .await?;

    // A danger-zone setting that waits for volumes to detach is a finding with a series of its own.
    let setting = json!({
        "apiVersion": API_VERSION,
        "kind": "Setting",
        "metadata": {"name": "guaranteed-instance-manager-cpu", "namespace": NAMESPACE},
        "value": r#"{"v1":"20","v2":"20"}"#,
        "status": {"applied": false},
    });
    let waits = [("check", "danger_zone_pending"), ("object", "guaranteed-instance-manager-cpu")];
    assert!(!exporter.page().await?.has(FINDING, &waits));
    bench.apply_value(&setting).await?;
    exporter.until("the pending setting", SOON, |page| page.has(FINDING, &waits)).await?;
    bench.delete(API_VERSION, "Setting", NAMESPACE, "guaranteed-instance-manager-cpu").await?;
    exporter.until("the end of the finding", SOON, |page| !page.has(FINDING, &waits)).await?;
    Ok(())
}

#[tokio::test]
async fn a_pod_replaced_under_its_name_is_noticed() -> Result<()> {
    let Some((bench, objects, exporter)) = healthy("replaced", &[]).await? else { return Ok(()) };
    let name = name_of(&objects, "Pod", |pod| {
        pod["metadata"]["labels"]["longhorn.io/component"] == "instance-manager"
    })?;
    let replaced = [("check", "instance_manager_replaced"), ("object", &*name)];
    assert!(!exporter.page().await?.has(FINDING, &replaced));
    let mut pod = objects
        .iter()
        .find(|object| object["kind"] == "Pod" && object["metadata"]["name"] == *name)
        .context("no such pod")?
        .clone();
    bench.delete("v1", "Pod", NAMESPACE, &name).await?;
    pod["metadata"]["uid"] = json!("another-uid");
    pod["metadata"]["creationTimestamp"] = Value::Null;
    bench.apply_value(&pod).await?;
    let took = exporter.until("the replaced pod", SOON, |page| page.has(FINDING, &replaced)).await?;
    println!("replaced pod seen after {took:.2?}");
    Ok(())
}

#[tokio::test]
async fn a_definition_that_is_deleted_and_made_again_is_followed() -> Result<()> {
    let Some((bench, objects, exporter)) = healthy("definition", &[]).await? else { return Ok(()) };
    let state = |state| [("resource", "volumes.longhorn.io"), ("reason", state)];
    let (states, unknown) = ("longhorn_health_exporter_resource_unreadable", "longhorn_health_check_unknown");
    const CRD: (&str, &str) = ("apiextensions.k8s.io/v1", "CustomResourceDefinition");
    bench.delete(CRD.0, CRD.1, "", &crds::name("volumes")).await?;
    let took = exporter
        .until("the kind to be gone", SOON, |page| {
            page.is(states, &state("not_installed"), 1.0)
                && page.is(unknown, &[("check", "instance_manager_old")], 1.0)
                && !page.is(VOLUMES, &[("robustness", "healthy")], 1.0)
        })
        .await?;
    println!("deleted definition seen after {took:.1?}");

    bench.load_crds().await?;
    let volumes: Vec<Value> = objects.iter().filter(|object| object["kind"] == "Volume").cloned().collect();
    ensure!(!volumes.is_empty(), "no volumes");
    bench.load_recorded(&volumes).await?;
    let count = volumes.len() as f64;
    let took = exporter
        .until("the kind to be back", SOON, |page| {
            page.value(states, &[("resource", "volumes.longhorn.io")]).is_none()
                && !page.has(unknown, &[("check", "instance_manager_old")])
                && page.sum("longhorn_health_volumes") == count
        })
        .await?;
    println!("definition made again followed after {took:.1?}");
    Ok(())
}

#[tokio::test]
async fn writes_show_after_a_quiet_time_and_among_others() -> Result<()> {
    let Some((bench, objects, exporter)) = healthy("latency", &[]).await? else { return Ok(()) };
    let volumes = bench.api(API_VERSION, "Volume", NAMESPACE).await?;
    let name = name_of(&objects, "Volume", |volume| volume["status"]["robustness"] == "healthy")?;
    tokio::time::sleep(QUIET).await; // what was loaded is paid for
    for write in 0..WRITES {
        let (robustness, faulted) = if write % 2 == 0 { ("faulted", 1.0) } else { ("healthy", 0.0) };
        let patch = Patch::Merge(json!({"status": {"robustness": robustness}}));
        volumes.patch_status(&name, &PatchParams::default(), &patch).await?;
        let shows = |page: &Page| page.is(VOLUMES, &[("robustness", "faulted")], faulted);
        let took = exporter.until("the write", SOON, shows).await?;
        println!("write {write} shows {took:.1?} after its answer");
    }
    Ok(())
}

fn name_of(objects: &[Value], kind: &str, is: impl Fn(&Value) -> bool) -> Result<String> {
    let found = objects.iter().find(|object| object["kind"] == kind && is(object));
    let name = found.and_then(|object| object["metadata"]["name"].as_str());
    Ok(name.with_context(|| format!("no such {kind} in the scenario"))?.to_owned())
}
