//! Remedies carried out by an administrator: what was refused before is accepted after.

use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use base64::Engine;
use longhorn_health_exporter::check::Finding;
use serde_json::{Value, json};
use testing::evaluate;

use super::reported::{add_class, recorded};
use super::{NAMESPACE, SOON, bench, scenarios};
use crate::corpus::cases;
use crate::support::Bench;

const VALIDATOR: &str = "longhorn-webhook-validator";

/// A line of shell with kubectl and the exporter as the administrator.
pub fn line(bench: &Bench, line: &str) -> Result<Command> {
    let tools = bench.tools().kubectl.parent().context("kubectl without a directory")?;
    let exporter =
        Path::new(env!("CARGO_BIN_EXE_longhorn-health-exporter")).parent().context("no directory")?;
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = bench.command(Path::new("sh"))?;
    command.env("PATH", format!("{}:{}:{path}", tools.display(), exporter.display())).args(["-c", line]);
    Ok(command)
}

/// Whether it succeeded, and what it said.
pub fn said(output: Output) -> (bool, String) {
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&said).into_owned())
}

fn shell(bench: &Bench, text: &str) -> Result<(bool, String)> {
    Ok(said(line(bench, text)?.output()?))
}

/// What the command said once it succeeded or did not, as wanted: an API server takes a change of its webhooks in a little later.
async fn comes_to(bench: &Bench, text: &str, wanted: bool) -> Result<String> {
    let began = Instant::now();
    loop {
        let (done, said) = shell(bench, text)?;
        if done == wanted {
            return Ok(said);
        }
        ensure!(began.elapsed() < SOON, "{text}: {said}");
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

/// The finding of this cause for the cluster of a public report, and the objects of it.
fn reported(report: &str, cause: &str) -> Result<(Finding, Vec<Value>)> {
    let case = cases().into_values().flatten().find(|case| case.report.starts_with(report));
    let (files, objects) = recorded(&case.with_context(|| format!("no {report}"))?)?;
    let findings = evaluate(&scenarios::recording(files)?.into_cluster(NAMESPACE, None)).report.findings;
    let finding = findings.into_iter().find(|finding| finding.cause.id == cause);
    Ok((finding.with_context(|| format!("{report} has no {cause}"))?, objects))
}

/// Runs every command of the finding that changes something.
fn carry_out(bench: &Bench, finding: &Finding) -> Result<usize> {
    let changes = finding.remedy.commands.iter().filter(|command| command.changes);
    let local = changes.filter(|command| !command.run.contains("https://"));
    let mut count = 0;
    for command in local {
        // there is no kubelet that would end a pod
        let line = command.run.replace(" delete pod ", " delete --wait=false pod ");
        let (done, said) = shell(bench, &line)?;
        ensure!(done, "{line}: {said}");
        count += 1;
    }
    Ok(count)
}

fn validator(namespace: &str) -> Value {
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": VALIDATOR},
        "webhooks": [{
            "name": "validator.longhorn.io",
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "clientConfig": {"service": {"namespace": namespace, "name": "longhorn-admission-webhook", "port": 9502}},
            "rules": [{
                "apiGroups": ["longhorn.io"], "apiVersions": ["v1beta2"], "operations": ["CREATE", "UPDATE"],
                "resources": ["settings"],
            }],
        }],
    })
}

#[tokio::test]
async fn a_foreign_webhook_configuration_is_removed_and_changes_are_accepted() -> Result<()> {
    let Some(bench) = bench("remedy-foreign-configuration").await? else { return Ok(()) };
    let (finding, objects) = reported("#10907 ", "configuration_foreign")?;
    add_class(&bench).await?;
    let webhooks = |object: &&Value| object["metadata"]["name"] != VALIDATOR;
    bench.load_recorded(&objects.iter().filter(webhooks).cloned().collect::<Vec<_>>()).await?;
    let change =
        |to: &str| format!("kubectl -n {NAMESPACE} label settings.longhorn.io --all --overwrite remedy={to}");
    ensure!(shell(&bench, &change("none"))?.0, "nothing is wrong yet");
    bench.apply_value(&validator("prd")).await?;
    let said = comes_to(&bench, &change("before"), false).await?;
    ensure!(said.contains("failed calling webhook"), "{said}");
    ensure!(carry_out(&bench, &finding)? == 2, "{:?}", finding.remedy.commands);
    comes_to(&bench, &change("after"), true).await?;
    Ok(())
}

#[tokio::test]
async fn definitions_with_a_conversion_are_accepted_once_it_is_gone() -> Result<()> {
    let Some(bench) = bench("remedy-conversion").await? else { return Ok(()) };
    let converted = ["backingimages", "backuptargets", "engineimages", "nodes", "volumes"];
    let whole = |plural: &str| -> Result<(String, Value)> {
        let (done, text) = shell(&bench, &format!("kubectl get crd {plural}.longhorn.io -o json"))?;
        ensure!(done, "{text}");
        let mut crd: Value = serde_json::from_str(&text)?;
        crd.as_object_mut().context("no object")?.remove("status");
        let name = crd["metadata"]["name"].clone();
        crd["metadata"] = json!({"name": name});
        crd["spec"].as_object_mut().context("no spec")?.remove("conversion");
        Ok((plural.to_owned(), crd))
    };
    let definitions: Vec<(String, Value)> =
        converted.iter().map(|plural| whole(plural)).collect::<Result<_>>()?;
    let authority = bench.kubeconfig("authority", "none")?.with_file_name("certs").join("apiserver.crt");
    let certificate = base64::engine::general_purpose::STANDARD.encode(std::fs::read(authority)?);
    let directory = tempfile::tempdir()?;
    let apply = |plural: &str, crd: &Value| -> Result<(bool, String)> {
        let file = directory.path().join(format!("{plural}.json"));
        std::fs::write(&file, crd.to_string())?;
        shell(&bench, &format!("kubectl apply --server-side --force-conflicts -f {}", file.display()))
    };
    for (plural, crd) in &definitions {
        // the manifest of 1.9 asks for a conversion, and the manager puts its certificate into it
        let mut old = crd.clone();
        old["spec"]["conversion"] = json!({"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"],
            "clientConfig": {"service": {"namespace": NAMESPACE, "name": "longhorn-conversion-webhook", "path": "/v1/webhook/conversion"}}}});
        let (done, said) = apply(plural, &old)?;
        ensure!(done, "{said}");
        let patch = json!({"spec": {"conversion": {"webhook": {"clientConfig": {"caBundle": certificate}}}}});
        let (done, said) =
            shell(&bench, &format!("kubectl patch crd {plural}.longhorn.io --type merge -p '{patch}'"))?;
        ensure!(done, "{said}");
        let (done, said) = apply(plural, crd)?;
        ensure!(!done && said.contains("spec.conversion"), "{plural} was not refused: {said}");
    }
    let (finding, _) = reported("#11923 custom resource definitions", "crd_mismatch")?;
    // all five at once
    ensure!(carry_out(&bench, &finding)? == 1, "{:?}", finding.remedy.commands);
    for (plural, crd) in &definitions {
        let (done, said) = apply(plural, crd)?;
        ensure!(done, "{plural}: {said}");
    }
    Ok(())
}
