//! What installs Longhorn: charts of the Helm controller of K3s and RKE2, of Flux, and Applications of Argo CD.

use super::lenient::{Int, Time, manifests, narrow};
use super::meta::Condition;
use super::shared_text::SharedText;

manifests! {
    /// A chart that the Helm controller of K3s and RKE2 installs.
    HelmChart { spec: HelmChartSpec, status: HelmStatus }
    /// A chart that Flux installs.
    HelmRelease { spec: HelmReleaseSpec, status: HelmStatus }
    /// What Argo CD installs.
    Application { spec: ApplicationSpec, status: ApplicationStatus }
}

narrow! {
    pub struct HelmChartSpec {
        /// Name, or address of an archive.
        pub chart: SharedText,
        pub version: SharedText,
        pub target_namespace: SharedText as name,
        /// `reinstall`, which is the default, or `abort`.
        pub failure_policy: SharedText,
    }

    pub struct HelmStatus {
        pub conditions: Vec<Condition>,
    }

    pub struct HelmReleaseSpec {
        pub suspend: bool,
        pub chart: HelmReleaseChart,
        pub upgrade: HelmReleaseUpgrade,
    }

    pub struct HelmReleaseChart {
        pub spec: HelmReleaseChartSpec,
    }

    pub struct HelmReleaseChartSpec {
        pub chart: SharedText,
    }

    pub struct HelmReleaseUpgrade {
        pub remediation: HelmReleaseRemediation,
    }

    /// What Flux does when an upgrade fails: nothing without `retries`.
    pub struct HelmReleaseRemediation {
        pub retries: Int,
        pub remediate_last_failure: bool,
        /// `rollback`, which is the default, or `uninstall`.
        pub strategy: SharedText,
    }

    pub struct ApplicationSpec {
        pub source: ApplicationSource,
        pub sources: Vec<ApplicationSource>,
    }

    pub struct ApplicationSource {
        /// Name of a Helm chart; empty where the source is a repository.
        pub chart: SharedText,
    }

    /// The objects that it has, and how the last sync ended.
    pub struct ApplicationStatus {
        pub resources: Vec<ApplicationResource>,
        pub sync: ApplicationSync,
        pub operation_state: ApplicationOperation,
    }

    pub struct ApplicationSync {
        /// `Synced` or `OutOfSync`.
        pub status: SharedText,
    }

    pub struct ApplicationOperation {
        /// `Succeeded`, `Failed`, `Error` or `Running`.
        pub phase: SharedText,
        pub message: SharedText,
        pub finished_at: Time,
    }

    pub struct ApplicationResource {
        pub kind: SharedText,
        pub namespace: SharedText as name,
        pub name: SharedText as name,
    }
}

impl HelmChart {
    /// True for the chart that installs Longhorn: by its name, also within an address.
    pub fn is_longhorn(&self) -> bool {
        let chart = self.spec.chart.rsplit('/').next().unwrap_or_default();
        chart == "longhorn" || chart.starts_with("longhorn-") && chart.ends_with(".tgz")
    }
}

impl HelmRelease {
    /// True for the chart that installs Longhorn. One by reference (`chartRef`) is known by its name alone.
    pub fn is_longhorn(&self) -> bool {
        match self.spec.chart.spec.chart.as_str() {
            "" => self.metadata.name.contains("longhorn"),
            chart => chart.rsplit('/').next() == Some("longhorn"),
        }
    }
}

impl Application {
    /// The DaemonSet of the managers, which only what installs Longhorn has.
    const MANAGERS: (&str, &str) = ("DaemonSet", "longhorn-manager");

    /// True for what installs Longhorn: by the objects it has, or by its chart before it has any.
    pub fn is_longhorn(&self) -> bool {
        let sources = std::iter::once(&self.spec.source).chain(&self.spec.sources);
        let managers = |one: &ApplicationResource| (one.kind.as_str(), one.name.as_str()) == Self::MANAGERS;
        self.status.resources.iter().any(managers)
            || sources.into_iter().any(|source| source.chart == "longhorn")
    }
}
