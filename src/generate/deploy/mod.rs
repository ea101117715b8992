//! What the chart and the kustomization share: access rules, alert rules and dashboards.
//!
//! Helm reads only files below the chart, kustomize only files below the kustomization, so each has
//! its own copy of the same bytes.

pub mod rbac;

use super::{Artifact, GenerateError, Settings, Target};
use crate::checks;
use rbac::{Reach, Right};

/// What the chart reads with `.Files.Get`.
const CHART: &str = "deploy/helm/longhorn-health-exporter/files";
const BASE: &str = "deploy/kustomize/base/rbac";
const COMPONENTS: &str = "deploy/kustomize/components";

/// Rights that belong to a component because the base makes no use of them.
const OPTIONAL: &[(&str, &str)] = &[("token-review", "kubernetes-auth")];

/// The files of this target.
pub fn artifacts(settings: &Settings) -> Result<Vec<Artifact>, GenerateError> {
    let mut artifacts = access();
    let mut dashboards = Vec::new();
    for target in Target::ALL.into_iter().filter(|target| *target != Target::Deploy) {
        for Artifact { path, content } in target.artifacts(settings)? {
            if path.ends_with(".prometheusrule.yaml") {
                let component = format!("{COMPONENTS}/prometheus-operator/prometheusrule.yaml");
                artifacts.push(artifact(component, &content));
                artifacts.push(artifact(format!("{CHART}/prometheusrule.yaml"), &content));
            } else if let Some(file) =
                path.strip_prefix("dashboards/").filter(|file| file.ends_with(".json") && !file.contains('/'))
            {
                artifacts.push(artifact(format!("{CHART}/dashboards/{file}"), &content));
                artifacts.push(artifact(format!("{COMPONENTS}/grafana-sidecar/{file}"), &content));
                dashboards.push(file.to_owned());
            }
        }
    }
    artifacts.push(sidecar(&dashboards));
    Ok(artifacts)
}

/// The roles, and in kustomize their bindings; the chart makes its own, as names differ there.
fn access() -> Vec<Artifact> {
    let header = Target::Deploy.header();
    let mut artifacts = Vec::new();
    let mut listed = Vec::new();
    for right in rbac::rights(checks::ALL) {
        let role = right.role(&header);
        artifacts.push(artifact(format!("{CHART}/rbac/{}.yaml", right.id), &role));
        match OPTIONAL.iter().find(|(id, _)| *id == right.id) {
            Some((_, component)) => {
                let directory = format!("{COMPONENTS}/{component}");
                artifacts.extend(role_and_binding(&directory, &right, &role, &header));
            }
            None => {
                artifacts.extend(role_and_binding(BASE, &right, &role, &header));
                listed.push(right);
            }
        }
    }
    artifacts.push(list_of_rights(&listed, &header));
    artifacts
}

fn role_and_binding(directory: &str, right: &Right, role: &str, header: &str) -> [Artifact; 2] {
    let (id, binding) = (right.id, right.binding());
    [
        artifact(format!("{directory}/{id}.yaml"), role),
        artifact(format!("{directory}/{id}-binding.yaml"), &format!("# {header}\n{binding}")),
    ]
}

fn list_of_rights(rights: &[Right], header: &str) -> Artifact {
    let mut text =
        format!("# {header}\napiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n");
    for right in rights {
        let reach = match right.reach {
            Reach::Longhorn => "Longhorn's namespace".to_owned(),
            Reach::Namespace(namespace) => format!("namespace {namespace}"),
            Reach::Cluster => "cluster".to_owned(),
        };
        let id = right.id;
        text.push_str(&format!("  # {reach}\n  - {id}.yaml\n  - {id}-binding.yaml\n"));
    }
    artifact(format!("{BASE}/kustomization.yaml"), &text)
}

/// One ConfigMap a dashboard, so that none grows past what a ConfigMap holds.
fn sidecar(dashboards: &[String]) -> Artifact {
    let mut text = format!(
        "# {}\napiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\ngeneratorOptions:\n  \
         disableNameSuffixHash: true\n  labels:\n    app.kubernetes.io/name: {name}\n    \
         grafana_dashboard: \"1\"\n  annotations:\n    grafana_folder: Longhorn\n",
        Target::Deploy.header(),
        name = rbac::NAME,
    );
    text.push_str(if dashboards.is_empty() { "configMapGenerator: []\n" } else { "configMapGenerator:\n" });
    for file in dashboards {
        let name = file.trim_start_matches("longhorn-health-").trim_end_matches(".json");
        text.push_str(&format!(
            "  - name: {}-dashboard-{name}\n    namespace: {}\n    files: [{file}]\n",
            rbac::NAME,
            rbac::NAMESPACE
        ));
    }
    artifact(format!("{COMPONENTS}/grafana-sidecar/kustomization.yaml"), &text)
}

fn artifact(path: impl Into<String>, content: &str) -> Artifact {
    Artifact { path: path.into(), content: content.to_owned() }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// What both deliver is the same, byte for byte, and only the bindings are kustomize's alone.
    #[test]
    fn chart_and_kustomize_share_the_same_bytes() {
        let artifacts = artifacts(&Settings::default()).unwrap();
        let name = |path: &str| path.rsplit('/').next().unwrap().to_owned();
        let (chart, kustomize): (Vec<_>, Vec<_>) =
            artifacts.iter().partition(|artifact| artifact.path.starts_with(CHART));
        let mut kustomize: BTreeMap<String, &str> = kustomize
            .into_iter()
            .filter(|artifact| !artifact.path.ends_with("kustomization.yaml"))
            .map(|artifact| (name(&artifact.path), artifact.content.as_str()))
            .collect();
        for artifact in &chart {
            assert_eq!(kustomize.remove(&name(&artifact.path)), Some(artifact.content.as_str()));
        }
        assert!(kustomize.keys().all(|name| name.ends_with("-binding.yaml")), "{:?}", kustomize.keys());
        assert!(chart.iter().any(|artifact| artifact.path.ends_with("prometheusrule.yaml")));
    }
}
