//! A real apiserver takes every rendering, with unknown fields refused and Pod Security on.

use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::*;

/// Kinds of others that the chart can make objects of: group, version, kind, plural.
const FOREIGN: &[(&str, &str, &str, &str)] = &[
    ("monitoring.coreos.com", "v1", "ServiceMonitor", "servicemonitors"),
    ("monitoring.coreos.com", "v1", "PodMonitor", "podmonitors"),
    ("monitoring.coreos.com", "v1", "PrometheusRule", "prometheusrules"),
    ("operator.victoriametrics.com", "v1beta1", "VMServiceScrape", "vmservicescrapes"),
    ("operator.victoriametrics.com", "v1beta1", "VMRule", "vmrules"),
    ("gateway.networking.k8s.io", "v1", "HTTPRoute", "httproutes"),
    ("grafana.integreatly.org", "v1beta1", "GrafanaDashboard", "grafanadashboards"),
];

const DRY_RUN: &[&str] = &["apply", "--dry-run=server", "--validate=strict"];

#[tokio::test]
async fn chart_and_kustomization_are_accepted() -> Result<()> {
    let Some(bench) = Bench::start("deploy").await? else { return Ok(()) };
    for namespace in ["longhorn-system", "storage", NAMESPACE] {
        bench.apply_value(&restricted(namespace)).await?;
    }
    let components: &[&str] = &["ha", "tls", "network-policy", "kubernetes-auth"];
    let stock = [
        ("chart, defaults", template(bench.tools(), "")?),
        ("chart, other namespace", template(bench.tools(), "{longhorn: {namespace: storage}}")?),
        ("base", kustomize(bench.tools(), &[])?),
        ("base without cluster rights", kustomize(bench.tools(), &["without-cluster-rights"])?),
        ("base without Events of nodes", kustomize(bench.tools(), &["without-node-events"])?),
        ("base with stock components", kustomize(bench.tools(), components)?),
    ];
    for (what, text) in &stock {
        accepted(&bench, what, text)?;
    }
    let unknown = template(bench.tools(), "{serviceMonitor: {enabled: true}}")?;
    ensure!(kubectl(&bench, DRY_RUN, &unknown).is_err(), "a kind without definition was accepted");
    foreign_definitions(&bench).await?;
    let everything: &[&str] =
        &["prometheus-operator", "grafana-sidecar", "network-policy", "ha", "tls", "kubernetes-auth"];
    let with_operators = [
        ("chart, everything", template(bench.tools(), EVERYTHING)?),
        ("chart, TLS and reviewed tokens", template(bench.tools(), TLS)?),
        ("base with all components", kustomize(bench.tools(), everything)?),
    ];
    for (what, text) in &with_operators {
        accepted(&bench, what, text)?;
    }
    Ok(())
}

/// The test would be worth nothing if the apiserver took everything.
#[tokio::test]
async fn a_misspelt_field_and_an_unrestricted_pod_are_noticed() -> Result<()> {
    let Some(bench) = Bench::start("deploy-bad").await? else { return Ok(()) };
    bench.apply_value(&restricted(NAMESPACE)).await?;
    bench.apply_value(&restricted("longhorn-system")).await?;
    let good = template(bench.tools(), "")?;
    let misspelt = good.replace("readOnlyRootFilesystem", "readonlyRootFilesystem");
    ensure!(misspelt != good);
    ensure!(kubectl(&bench, DRY_RUN, &misspelt).is_err(), "a misspelt field was accepted");
    let unrestricted = template(bench.tools(), "{securityContext: {allowPrivilegeEscalation: true}}")?;
    // the test pod has the same context and is refused at once
    let refusal = kubectl(&bench, DRY_RUN, &unrestricted).err().map(|error| error.to_string());
    ensure!(refusal.as_deref().is_some_and(|text| text.contains("PodSecurity")), "{refusal:?}");
    Ok(())
}

/// Applies for real what a stock cluster takes, twice: the second time nothing changes.
#[tokio::test]
async fn the_base_applies_and_stays() -> Result<()> {
    let Some(bench) = Bench::start("deploy-base").await? else { return Ok(()) };
    bench.apply_value(&restricted("longhorn-system")).await?;
    let base = kustomize(bench.tools(), &[])?;
    let (first, _) = kubectl(&bench, &["apply"], &base)?;
    ensure!(first.lines().count() > 0 && first.lines().all(|line| line.ends_with("created")), "{first}");
    let (second, _) = kubectl(&bench, &["apply"], &base)?;
    ensure!(second.lines().all(|line| line.ends_with("unchanged")), "{second}");
    Ok(())
}

fn accepted(bench: &Bench, what: &str, text: &str) -> Result<()> {
    let (answer, said) = kubectl(bench, DRY_RUN, text).map_err(|error| error.context(what.to_owned()))?;
    ensure!(!said.contains("Warning"), "{what}: {said}");
    let count = objects(text)?.len();
    assert_eq!(answer.lines().count(), count, "{what}: {answer}");
    println!("{what}: {count} objects accepted");
    Ok(())
}

/// A namespace that refuses and warns of whatever is not "restricted".
pub(super) fn restricted(name: &str) -> Value {
    let label = |mode: &str| format!("pod-security.kubernetes.io/{mode}");
    let labels = json!({label("enforce"): "restricted", label("warn"): "restricted"});
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}})
}

pub(super) async fn foreign_definitions(bench: &Bench) -> Result<()> {
    for (group, version, kind, plural) in FOREIGN {
        let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            // groups below k8s.io need a word on who approved them
            "metadata": {
                "name": format!("{plural}.{group}"),
                "annotations": {"api-approved.kubernetes.io": "unapproved, of a test"},
            },
            "spec": {
                "group": group,
                "scope": "Namespaced",
                "names": {"kind": kind, "plural": plural, "singular": kind.to_lowercase()},
                "versions": [{
                    "name": version, "served": true, "storage": true,
                    "schema": {"openAPIV3Schema": schema},
                }],
            },
        });
        bench.apply_value(&definition).await?;
    }
    let limit = Duration::from_secs(30);
    for (group, version, kind, _) in FOREIGN {
        let served = async {
            while bench.api(&format!("{group}/{version}"), kind, NAMESPACE).await.is_err() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(limit, served).await?;
    }
    Ok(())
}
