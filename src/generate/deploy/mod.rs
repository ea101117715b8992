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
        artifacts.push(Artifact::new(format!("{CHART}/rbac/{}.yaml", right.id), role.as_str()));
        let component = OPTIONAL.iter().find(|(id, _)| *id == right.id);
        let directory = component.map_or(BASE.to_owned(), |(_, name)| format!("{COMPONENTS}/{name}"));
        artifacts.push(Artifact::new(format!("{directory}/{}.yaml", right.id), role));
        let binding = right.binding(&header);
        artifacts.push(Artifact::new(format!("{directory}/{}-binding.yaml", right.id), binding));
        if component.is_none() {
            listed.push(right);
        }
    }
    artifacts.push(list_of_rights(&listed, &header));
    artifacts
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
    Artifact::new(format!("{BASE}/kustomization.yaml"), text)
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
