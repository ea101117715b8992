//! The service account of the chart can do exactly what the generated rights say.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use longhorn_health_exporter::checks;
use longhorn_health_exporter::generate::deploy::rbac::{self, Reach, Right};

use super::*;

/// A line of `kubectl auth can-i --list`: resource or URL, name, verb.
type Access = BTreeSet<(String, String, String)>;

#[tokio::test]
async fn the_service_account_can_do_what_is_listed_and_no_more() -> Result<()> {
    let Some(bench) = Bench::start("rights").await? else { return Ok(()) };
    for namespace in ["longhorn-system", NAMESPACE] {
        bench.namespace(namespace).await?;
    }
    // everybody's rights are those of an account without any
    bench.apply(&account("nobody")).await?;
    let everybody = can_i(&bench, "nobody", "longhorn-system").await?;

    bench.apply(&template(bench.tools(), "")?).await?;
    let granted = |reaches: &[Reach]| -> Access {
        let rights = rbac::rights(checks::CATALOGUE.checks);
        let off = ["token-review", rbac::PLANS];
        let on = rights.iter().filter(|right| !off.contains(&right.id) && reaches.contains(&right.reach));
        on.flat_map(access).collect()
    };
    let exporter = "health-longhorn-health-exporter";
    for (namespace, reaches) in [
        ("longhorn-system", &[Reach::Longhorn, Reach::Cluster] as &[Reach]),
        (NAMESPACE, &[Reach::Cluster]),
        ("default", &[Reach::Namespace("default"), Reach::Cluster]),
    ] {
        let all = can_i(&bench, exporter, namespace).await?;
        let own: Access = all.difference(&everybody).cloned().collect();
        assert_eq!(own, granted(reaches), "in {namespace}");
    }
    println!("{}", list(&bench, exporter, "longhorn-system").await?);
    Ok(())
}

fn account(name: &str) -> String {
    format!("{{apiVersion: v1, kind: ServiceAccount, metadata: {{name: {name}, namespace: {NAMESPACE}}}}}")
}

fn access(right: &Right) -> Access {
    let mut access = Access::new();
    for rule in &right.rules {
        let group = rule.api_groups.iter().flatten().find(|group| !group.is_empty());
        let name = rule.resource_names.iter().flatten().next().cloned().unwrap_or_default();
        for resource in rule.resources.iter().flatten() {
            let resource = match (resource.split_once('/'), group) {
                (_, None) => resource.clone(),
                (Some((plural, sub)), Some(group)) => format!("{plural}.{group}/{sub}"),
                (None, Some(group)) => format!("{resource}.{group}"),
            };
            for verb in &rule.verbs {
                access.insert((resource.clone(), name.clone(), verb.clone()));
            }
        }
    }
    access
}

async fn list(bench: &Bench, account: &str, namespace: &str) -> Result<String> {
    let token = bench.service_account_token(NAMESPACE, account).await?;
    let kubeconfig = bench.kubeconfig(account, &token)?;
    let mut kubectl = bench.command(&bench.tools().kubectl)?;
    kubectl.env("KUBECONFIG", kubeconfig).args(["auth", "can-i", "--list", "--namespace", namespace]);
    success(kubectl.output()?)
}

/// Columns as kubectl prints them: resources, URLs, names and verbs, the last three in brackets.
async fn can_i(bench: &Bench, account: &str, namespace: &str) -> Result<Access> {
    let text = list(bench, account, namespace).await?;
    let mut access = Access::new();
    for line in text.lines().skip(1) {
        let mut parts = line.split('[');
        let resource = parts.next().unwrap_or_default().trim();
        let columns: Vec<Vec<&str>> =
            parts.map(|part| part.trim().trim_end_matches(']').split_whitespace().collect()).collect();
        let [urls, names, verbs] = columns.as_slice() else { anyhow::bail!("cannot read {line:?}") };
        let what = if resource.is_empty() { *urls.first().context("no URL")? } else { resource };
        for name in if names.is_empty() { &[""] as &[&str] } else { names } {
            for verb in verbs {
                access.insert((what.to_owned(), (*name).to_owned(), (*verb).to_owned()));
            }
        }
    }
    ensure!(!access.is_empty(), "{text}");
    Ok(access)
}
