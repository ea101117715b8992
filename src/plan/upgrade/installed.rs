//! Who installed Longhorn, which decides how it is upgraded.

use super::super::Found;
use super::Rung;
use crate::cluster::{Cluster, Readability};
use crate::longhorn::Resource;

/// Who installed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Installer {
    /// Helm, by the name of its release.
    Helm(String),
    /// The Helm controller of K3s and RKE2: namespace and name of the HelmChart.
    HelmChart(String, String),
    /// Argo CD, by the name of its application where that is known.
    Argo(Option<String>),
    /// Flux, by kind, namespace and name of what reconciles it.
    Flux(&'static str, String, String),
    /// Nobody left a mark: a manifest.
    Manifest,
}

/// By the marks on the DaemonSet of the managers. Charts that Argo CD renders have Helm's label, but not its annotation.
pub fn installer(cluster: &Cluster) -> Option<Installer> {
    let meta = &cluster.manager_daemon_set()?.metadata;
    let label = |key: &str| meta.label(key).filter(|value| !value.is_empty()).map(str::to_owned);
    for (kind, group) in [("helmrelease", "helm"), ("kustomization", "kustomize")] {
        let key = |what: &str| format!("{group}.toolkit.fluxcd.io/{what}");
        if let (Some(name), Some(namespace)) = (label(&key("name")), label(&key("namespace"))) {
            return Some(Installer::Flux(kind, namespace, name));
        }
    }
    if !meta.annotations.argocd_tracking_id.is_empty() || label("argocd.argoproj.io/instance").is_some() {
        return Some(Installer::Argo(label("argocd.argoproj.io/instance")));
    }
    if let Some(chart) = cluster.objects.helm_charts.iter().find(|chart| chart.is_longhorn()) {
        let of = |text: &str| text.to_owned();
        return Some(Installer::HelmChart(of(&chart.metadata.namespace), of(&chart.metadata.name)));
    }
    let by_helm = !meta.annotations.helm_release_name.is_empty();
    let name = label("app.kubernetes.io/instance").unwrap_or_else(|| "longhorn".to_owned());
    Some(if by_helm { Installer::Helm(name) } else { Installer::Manifest })
}

pub fn reinstalls(rung: &Rung<'_>, out: &mut Found) {
    let cluster = rung.cluster;
    for chart in cluster.objects.helm_charts.iter().filter(|chart| chart.is_longhorn()) {
        let policy = chart.spec.failure_policy.as_str();
        if policy == "abort" {
            continue;
        }
        let (namespace, name) = (chart.metadata.namespace.as_str(), chart.metadata.name.as_str());
        let said =
            if policy.is_empty() { "not set, which is reinstall".to_owned() } else { policy.to_owned() };
        let reason = out.say(format!("HelmChart {namespace}/{name}: failurePolicy is {said}"));
        reason.with("object", name).with("chart_namespace", namespace);
    }
    let seen = cluster.readability(Resource::HelmCharts) == Readability::Readable;
    if !seen && on_k3s_or_rke2(cluster) {
        let text = "this is K3s or RKE2, and no recording of HelmCharts is here";
        out.unknown(text).fix("Look for a HelmChart of Longhorn: kubectl get helmcharts -A.");
    }
}

/// False where the kind is none of this Kubernetes: others than K3s and RKE2 have no Helm controller of their own, and
/// the right to list it matters to nobody there.
pub fn may_have_helm_charts(cluster: &Cluster) -> bool {
    !cluster.objects.helm_charts.is_empty()
        || on_k3s_or_rke2(cluster)
        || !cluster.can_read(Resource::KubeNodes)
}

/// By the release of the kubelets.
fn on_k3s_or_rke2(cluster: &Cluster) -> bool {
    cluster.objects.kube_nodes.iter().any(|node| {
        let kubelet = node.status.node_info.kubelet_version.as_str();
        kubelet.contains("+k3s") || kubelet.contains("+rke2")
    })
}
