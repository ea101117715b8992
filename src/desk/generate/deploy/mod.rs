//! Access rules for the chart and the kustomization, and the kustomization of the dashboards.
//!
//! Dashboards and alert rules are committed once: the chart links to them, which `helm package` follows, and
//! the kustomize components take their directories as a base.

mod chart;
pub mod rbac;

use anyhow::Result;

use self::rbac::{Reach, Right};
use super::{Artifact, Settings, Target};

/// What the chart reads with `.Files.Get`.
const CHART: &str = "deploy/helm/longhorn-health-exporter/files";
const BASE: &str = "deploy/kustomize/base/rbac";
const COMPONENTS: &str = "deploy/kustomize/components";
const DASHBOARDS: &str = "dashboards/";

/// The rights, of which the chart makes its roles, as names differ there, and the roles of kustomize with their bindings.
pub fn artifacts(settings: &Settings) -> Result<Vec<Artifact>> {
    let header = Target::Deploy.header();
    let mut artifacts = chart::artifacts(settings)?;
    let rights = rbac::rights(settings.declared.catalogue.checks);
    for right in &rights {
        artifacts.push(Artifact::new(format!("{CHART}/rbac/{}.yaml", right.id), right.role(&header)));
    }
    // what the base does without is a component
    let component = |right: &Right| match right.id {
        "token-review" => Some("kubernetes-auth"),
        rbac::PLANS => Some("plans"),
        _ => None,
    };
    let (optional, base): (Vec<Right>, Vec<Right>) =
        rights.into_iter().partition(|right| component(right).is_some());
    let of = |reach: Reach| base.iter().filter(|right| right.reach == reach).cloned().collect::<Vec<_>>();
    let mut listed =
        format!("# {header}\napiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n");
    let roles = [(Reach::Longhorn, rbac::LONGHORN), (Reach::Cluster, rbac::CLUSTER)];
    let merged = roles.into_iter().filter_map(|(reach, id)| Right::merged(&of(reach), id));
    let apart = base.iter().filter(|right| matches!(right.reach, Reach::Namespace(_))).cloned();
    let in_base = merged.chain(apart).map(|right| (BASE.to_owned(), right));
    let in_components = optional
        .iter()
        .filter_map(|right| Some((format!("{COMPONENTS}/{}", component(right)?), right.clone())));
    for (directory, right) in in_base.chain(in_components) {
        let id = right.id;
        artifacts.push(Artifact::new(format!("{directory}/{id}.yaml"), right.role(&header)));
        artifacts.push(Artifact::new(format!("{directory}/{id}-binding.yaml"), right.binding(&header)));
        if directory == BASE {
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
