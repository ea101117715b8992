//! What `deploy/` holds, rendered by the real helm and kustomize and shown to a real apiserver.

mod accepted;
#[path = "../../support/built.rs"]
mod built;
mod chart;
mod conform;
mod empty_root;
mod published;
mod refused;
mod rights;
mod values;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::support::Bench;
use crate::support::apply::objects;
use crate::support::tools::Tools;

/// Where the chart is installed in these tests; Longhorn is elsewhere.
const NAMESPACE: &str = "monitoring";

/// Values that turn on everything that can be on together.
const EVERYTHING: &str = r#"
commonLabels: {team: storage}
replicaCount: 2
imagePullSecrets: [{name: registry}]
extraArgs: ["--web.max-requests=20"]
extraEnv: [{name: TZ, value: UTC}]
extraVolumes: [{name: scratch, emptyDir: {}}]
extraVolumeMounts: [{name: scratch, mountPath: /scratch}]
service: {annotations: {a: b}, labels: {c: d}}
podAnnotations: {e: f}
podLabels: {g: h}
nodeSelector: {kubernetes.io/os: linux}
tolerations: [{key: node-role.kubernetes.io/control-plane, operator: Exists, effect: NoSchedule}]
affinity: {nodeAffinity: {}}
priorityClassName: system-cluster-critical
stateFile: {enabled: true}
networkPolicy:
  enabled: true
  monitoringNamespace: monitoring
  from: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: ingress-nginx}}}]
  apiServer: [{ipBlock: {cidr: 10.0.0.0/24}}]
serviceMonitor:
  enabled: true
  additionalLabels: {release: kube-prometheus-stack}
  interval: 30s
  scrapeTimeout: 10s
  honorLabels: true
  sampleLimit: 5000
  relabelings: [{action: labeldrop, regex: pod}]
  metricRelabelings: [{action: labeldrop, regex: pod}]
prometheusRule:
  enabled: true
  additionalLabels: {release: kube-prometheus-stack}
  ruleLabels: {team: storage}
  extraGroups: [{name: own, rules: [{record: "a:b", expr: vector(1)}]}]
dashboards: {enabled: true, grafanaOperator: {enabled: true}}
cronJobs: [{name: morning, schedule: "0 6 * * *", args: [check, --output=markdown]}]
extraManifests:
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: "{{ .Release.Name }}-extra", namespace: monitoring}}
  - |
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: text, namespace: {{ .Release.Namespace }}}
"#;

/// TLS, client certificates apart, and reviewed tokens.
const TLS: &str = r#"
web:
  auth: kubernetes
  scrapers: [{name: prometheus-k8s, namespace: monitoring}]
  readers: [{name: on-call, namespace: monitoring}, {kind: Group, name: "oidc:storage"}, {kind: User, name: a@b}]
  tls: {enabled: true, secretName: exporter-tls}
  config: {http_server_config: {headers: {X-Frame-Options: deny}}}
podMonitor: {enabled: true}
"#;

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn chart() -> PathBuf {
    repository().join("deploy/helm/longhorn-health-exporter")
}

/// `helm template` as text, or helm's complaint.
fn template(tools: &Tools, values: &str) -> Result<String> {
    helm(tools, &["template"], values)
}

/// What the chart says once it is installed.
fn notes(tools: &Tools, values: &str) -> Result<String> {
    let said = helm(tools, &["install", "--dry-run=client"], values)?;
    let (_, notes) = said.split_once("\nNOTES:\n").context("no notes")?;
    Ok(notes.to_owned())
}

fn helm(tools: &Tools, command: &[&str], values: &str) -> Result<String> {
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("values.yaml");
    std::fs::write(&file, values)?;
    let mut helm = Command::new(&tools.helm);
    helm.env("HOME", directory.path()).env("KUBECONFIG", directory.path().join("none"));
    helm.args(command).args(["health", "--namespace", NAMESPACE]);
    success(helm.arg(chart()).arg("--values").arg(file).output()?)
}

/// The objects that the chart makes of these values.
fn render(tools: &Tools, values: &str) -> Result<Vec<Value>> {
    objects(&template(tools, values)?)
}

/// `kubectl kustomize` of the base with these components.
fn kustomize(tools: &Tools, components: &[&str]) -> Result<String> {
    // kustomize wants relative paths
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let top = relative(directory.path(), repository())?;
    let mut text = format!("resources: [{top}/deploy/kustomize/base]\ncomponents:\n");
    for component in components {
        text.push_str(&format!("  - {top}/deploy/kustomize/components/{component}\n"));
    }
    std::fs::write(directory.path().join("kustomization.yaml"), text)?;
    success(Command::new(&tools.kubectl).arg("kustomize").arg(directory.path()).output()?)
}

/// `..` as often as it takes, or the way down again where the two part.
fn relative(from: &Path, to: &Path) -> Result<String> {
    let (from, to) = (from.canonicalize()?, to.canonicalize()?);
    let common = from.components().zip(to.components()).take_while(|(a, b)| a == b).count();
    let mut path: PathBuf = from.components().skip(common).map(|_| "..").collect();
    path.extend(to.components().skip(common));
    path.to_str().map(str::to_owned).context("a path that is no text")
}

fn success(output: Output) -> Result<String> {
    let error = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{error}");
    Ok(String::from_utf8(output.stdout)?)
}

/// kubectl as the administrator with `input` on standard input; standard output and error.
fn kubectl(bench: &Bench, args: &[&str], input: &str) -> Result<(String, String)> {
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("input.yaml");
    std::fs::write(&file, input)?;
    let output = bench.command(&bench.tools().kubectl)?.args(args).arg("-f").arg(&file).output()?;
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.success(), "kubectl {args:?}: {error}");
    Ok((String::from_utf8(output.stdout)?, error))
}

/// The object of this kind whose name ends so.
fn find<'a>(objects: &'a [Value], kind: &str, end: &str) -> Result<&'a Value> {
    objects
        .iter()
        .find(|object| object["kind"] == kind && name(object).ends_with(end))
        .with_context(|| format!("no {kind} …{end}"))
}

fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

fn kinds(objects: &[Value]) -> std::collections::BTreeSet<&str> {
    objects.iter().filter_map(|object| object["kind"].as_str()).collect()
}
