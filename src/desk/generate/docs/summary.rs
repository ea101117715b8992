//! docs/SUMMARY.md: the contents of the book, as mdBook reads them. Runbooks come from the list of checks.

use super::markdown::Document;
use crate::generate::catalogue::Declared;

/// Pages written by hand and generated ones, in the order of the book; paths from docs/.
const PAGES: &str = "\
- [By symptom](symptoms.md)

# Use

- [`check` in CI and before an upgrade](ci.md)
- [Plans before an upgrade or drain](plan.md)
- [Recordings](recording.md)
- [Your own signatures](signatures.md)
- [Integrations](integrations.md)
- [Platforms](platforms/README.md)
  - [OpenShift](platforms/openshift.md)
  - [RKE2 and k3s](platforms/rke2-k3s.md)
  - [Talos](platforms/talos.md)
  - [Harvester](platforms/harvester.md)
  - [Rancher monitoring](platforms/rancher-monitoring.md)
  - [Argo CD and Flux](platforms/gitops.md)
  - [Mimir and Thanos](platforms/mimir-thanos.md)
  - [VictoriaMetrics](platforms/victoriametrics.md)
  - [EKS, GKE and AKS](platforms/managed-clouds.md)
- [Migration from other rules](migration.md)

# Install

- [Helm chart](../deploy/helm/longhorn-health-exporter/README.md)
- [Kustomize](../deploy/kustomize/README.md)
- [Image](../deploy/image/README.md)
- [Mixin](../mixin/README.md)
- [node-problem-detector](../deploy/node-problem-detector/README.md)
- [TLS, users and tokens](web-configuration.md)

# Reference

- [Checks, alerts and series](checks.md)
- [Command line](command-line.md)
- [Configuration](configuration.md)
- [Access rights](access.md)
- [Destructive advice](destructive.md)

# How it behaves

- [Stability and support](stability.md)
- [Security](security.md)
- [Reliability](reliability.md)
- [Performance](performance.md)
- [How a release is made](releasing.md)

# The project

- [Changelog](../CHANGELOG.md)
- [Contributing](../CONTRIBUTING.md)
- [Architecture](../ARCHITECTURE.md)
- [Tools of the end-to-end tests](../tests/e2e/README.md)
- [Roadmap](../ROADMAP.md)
- [Maintainers](../MAINTAINERS.md)
- [Code of conduct](../CODE_OF_CONDUCT.md)
- [Reporting a vulnerability](../SECURITY.md)";

pub fn page(declared: &Declared) -> String {
    let mut page = Document::new("Summary");
    page.paragraph("[What it is](../README.md)\n[All documents](README.md)");
    page.paragraph(PAGES);
    page.heading(1, "Runbooks");
    let link = |name: &str| format!("- [{name}](runbooks/{name}.md)");
    let runbooks: Vec<_> = declared.alerts().map(|alert| link(alert.name)).collect();
    page.paragraph(&runbooks.join("\n"));
    page.finish()
}
