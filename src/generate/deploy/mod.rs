//! Access rules for the chart and the kustomization, and the kustomization of the dashboards.
//!
//! Dashboards and alert rules are committed once: the chart links to them, which `helm package` follows, and
//! the kustomize components take their directories as a base.

pub mod rbac;

use super::{Artifact, Target};
use crate::checks;
use rbac::{Reach, Right};

/// What the chart reads with `.Files.Get`.
const CHART: &str = "deploy/helm/longhorn-health-exporter/files";
const BASE: &str = "deploy/kustomize/base/rbac";
const COMPONENTS: &str = "deploy/kustomize/components";
const DASHBOARDS: &str = "dashboards/";

/// Rights that belong to a component because the base makes no use of them.
const OPTIONAL: &[(&str, &str)] = &[("token-review", "kubernetes-auth")];

/// The roles, and in kustomize their bindings; the chart makes its own, as names differ there.
pub fn artifacts() -> Vec<Artifact> {
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
    let id = right.id;
    [
        artifact(format!("{directory}/{id}.yaml"), role),
        artifact(format!("{directory}/{id}-binding.yaml"), &right.binding(header)),
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

/// One ConfigMap per dashboard, so that none grows past what a ConfigMap holds. A file of target
/// [`Target::Dashboards`], as a kustomization reads only files below itself.
pub fn dashboards(files: &[Artifact]) -> Artifact {
    let mut text = format!(
        "# {}\napiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\ngeneratorOptions:\n  \
         disableNameSuffixHash: true\n  labels:\n    app.kubernetes.io/name: {name}\n    \
         grafana_dashboard: \"1\"\n  annotations:\n    grafana_folder: Longhorn\nconfigMapGenerator:\n",
        Target::Dashboards.header(),
        name = rbac::NAME,
    );
    for file in files.iter().filter_map(|artifact| artifact.path.strip_prefix(DASHBOARDS)) {
        let name = file.trim_start_matches("longhorn-health-").trim_end_matches(".json");
        text.push_str(&format!(
            "  - name: {}-dashboard-{name}\n    namespace: {}\n    files: [{file}]\n",
            rbac::NAME,
            rbac::NAMESPACE
        ));
    }
    artifact(format!("{DASHBOARDS}kustomization.yaml"), &text)
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
    fn chart_and_kustomize_share_the_same_roles() {
        let artifacts = artifacts();
        let name = |path: &str| path.rsplit('/').next().unwrap().to_owned();
        let (chart, kustomize): (Vec<_>, Vec<_>) =
            artifacts.iter().partition(|artifact| artifact.path.starts_with(CHART));
        let mut kustomize: BTreeMap<String, &str> = kustomize
            .into_iter()
            .filter(|artifact| !artifact.path.ends_with("kustomization.yaml"))
            .map(|artifact| (name(&artifact.path), artifact.content.as_str()))
            .collect();
        assert!(!chart.is_empty());
        for artifact in &chart {
            assert_eq!(kustomize.remove(&name(&artifact.path)), Some(artifact.content.as_str()));
        }
        assert!(kustomize.keys().all(|name| name.ends_with("-binding.yaml")), "{:?}", kustomize.keys());
    }
}
