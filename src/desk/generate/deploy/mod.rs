//! Access rules for the chart and the kustomization, and the kustomization of the dashboards.
//!
//! Dashboards and alert rules are committed once: the chart links to them, which `helm package` follows, and
//! the kustomize components take their directories as a base.

mod chart;
pub mod rbac;

use anyhow::Result;

use super::{Artifact, Settings, Target};
use crate::generate::catalogue::CATALOGUE;

/// What the chart reads with `.Files.Get`.
const CHART: &str = "deploy/helm/longhorn-health-exporter/files";
const BASE: &str = "deploy/kustomize/base/rbac";
const COMPONENT: &str = "deploy/kustomize/components/kubernetes-auth";
const DASHBOARDS: &str = "dashboards/";

/// The roles, and in kustomize their bindings; the chart makes its own, as names differ there.
pub fn artifacts(settings: &Settings) -> Result<Vec<Artifact>> {
    let header = Target::Deploy.header();
    let mut artifacts = chart::artifacts(settings)?;
    let mut listed =
        format!("# {header}\napiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n");
    for right in rbac::rights(CATALOGUE.checks) {
        let (id, role) = (right.id, right.role(&header));
        artifacts.push(Artifact::new(format!("{CHART}/rbac/{id}.yaml"), role.as_str()));
        // the base makes no use of it
        let is_optional = id == "token-review";
        let directory = if is_optional { COMPONENT } else { BASE };
        artifacts.push(Artifact::new(format!("{directory}/{id}.yaml"), role));
        artifacts.push(Artifact::new(format!("{directory}/{id}-binding.yaml"), right.binding(&header)));
        if !is_optional {
            listed += &format!("  # {}\n  - {id}.yaml\n  - {id}-binding.yaml\n", right.reach);
        }
    }
    artifacts.push(Artifact::new(format!("{BASE}/kustomization.yaml"), listed));
    Ok(artifacts)
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
    Artifact::new(format!("{DASHBOARDS}kustomization.yaml"), text)
}
