//! What the tool that installed Longhorn does beside the upgrade, and what it would take away.

use super::super::{Found, Weight, held};
use super::Rung;
use crate::check::{Command, Name};
use crate::cluster::{Cluster, Readability};
use crate::facts::installation::{self, Installer, installer};
use crate::facts::text::{listed, quoted};
use crate::longhorn::{ConditionStatus, Resource, StorageClass, condition};

/// The class that managers make of their ConfigMap.
const DEFAULT_CLASS: &str = "longhorn";

pub fn reinstalls(rung: &Rung<'_>, out: &mut Found) {
    let cluster = rung.cluster;
    for chart in cluster.objects.helm_charts.iter() {
        let policy = chart.spec.failure_policy.as_str();
        if policy == "abort" {
            continue;
        }
        let (namespace, name) = (chart.metadata.namespace.as_str(), chart.metadata.name.as_str());
        let said = if policy.is_empty() {
            "not set, so a failed upgrade uninstalls Longhorn".to_owned()
        } else {
            policy.to_owned()
        };
        let reason = out.say(format!("failurePolicy of HelmChart {namespace}/{name} is {said}"));
        reason.with(Name::Object, name).with(Name::ChartNamespace, namespace);
    }
    // what its controller installs has Helm's own marks
    let by_helm = matches!(installer(cluster), Installer::Helm(_) | Installer::ForeignChart(_));
    if by_helm && !was_recorded(cluster, Resource::HelmCharts) && on_k3s_or_rke2(cluster) {
        let text = "the recording has no HelmCharts, although the cluster is K3s or RKE2";
        out.unknown(text).fix("Check whether Longhorn has a HelmChart: kubectl get helmcharts -A.");
    }
}

/// False where the kind is none of this Kubernetes: others than K3s and RKE2 have no Helm controller of their own, and
/// the right to list it matters to no one there.
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

/// In the output of kubectl a kind that no one asked for looks like one of which there is none.
fn was_recorded(cluster: &Cluster, kind: Resource) -> bool {
    cluster.readability(kind) == Readability::Readable
}

/// What Flux does when an upgrade fails: nothing, unless it is asked to try again.
pub fn remediation(rung: &Rung<'_>, out: &mut Found) {
    let cluster = rung.cluster;
    // one that has yet to take it over has left no mark
    let to_come = cluster.objects.helm_releases.iter().next();
    let to_come = to_come.map(|one| (one.metadata.namespace.as_str(), one.metadata.name.as_str()));
    let (namespace, name) = match (installer(cluster), to_come) {
        (Installer::FluxHelm(namespace, name), _) | (_, Some((namespace, name))) => (namespace, name),
        _ => return,
    };
    let is_it = |release: &&crate::longhorn::HelmRelease| release.metadata.name == name;
    let Some(release) = cluster.objects.helm_releases.iter().find(is_it) else {
        if !was_recorded(cluster, Resource::HelmReleases) {
            let text =
                format!("HelmRelease {namespace}/{name}, by which Flux installed Longhorn, is not recorded");
            out.unknown(text).with(Name::Object, name).with(Name::ChartNamespace, namespace);
        }
        return;
    };
    let told = &release.spec.upgrade.remediation;
    let acts = told.retries.0 != 0 || told.remediate_last_failure;
    let spec = format!("spec.upgrade.remediation of HelmRelease {namespace}/{name}");
    let reason = match told.strategy.as_str() {
        _ if !acts => None,
        "uninstall" => Some(out.say(format!("{spec} has strategy uninstall"))),
        _ => Some(out.note(format!("{spec} reinstalls the old release if the upgrade fails")).fix(
            "Set spec.upgrade.remediation.retries to 0 for the upgrade: old managers do not start once the \
                      new managers have recorded their release.",
        )),
    };
    if let Some(reason) = reason {
        reason.with(Name::Object, name).with(Name::ChartNamespace, namespace);
        reason.fact(format!("retries is {}", told.retries.0));
    }
    let ready = condition(&release.status.conditions, "Ready");
    if let Some(failed) = ready.filter(|ready| ready.status == ConditionStatus::False) {
        let said = quoted(&failed.message);
        let fix = format!(
            "Fix HelmRelease {namespace}/{name} first: until it is Ready, Flux cannot apply the upgrade."
        );
        let reason =
            out.say(format!("HelmRelease {namespace}/{name} has failed: {}", failed.reason)).fix(fix);
        reason.with(Name::Object, name).with(Name::ChartNamespace, namespace).fact(said);
    }
    if release.spec.suspend {
        let text = format!("HelmRelease {namespace}/{name} is suspended, so Flux applies no changes");
        let fix =
            format!("Resume the HelmRelease for the upgrade: flux -n {namespace} resume helmrelease {name}.");
        out.note(text).fix(fix).with(Name::Object, name).with(Name::ChartNamespace, namespace);
    }
}

/// False without the mark of Flux, where HelmReleases matter to no one, unless one is there.
pub fn is_of_flux(cluster: &Cluster) -> bool {
    matches!(installer(cluster), Installer::FluxHelm(..)) || !cluster.objects.helm_releases.is_empty()
}

/// Objects that Helm itself installed name their release (Helm 3.2 and later); those that say Helm and name none were
/// rendered by something else.
pub fn is_rendered(cluster: &Cluster) -> bool {
    let Some(set) = cluster.manager_daemon_set() else { return false };
    matches!(installer(cluster), Installer::Helm(_)) && set.metadata.annotations.helm_release_name.is_empty()
}

pub fn rendered(_: &Rung<'_>, out: &mut Found) {
    let text = "DaemonSet longhorn-manager was rendered from the chart but names no Helm release";
    out.say(text).fact("no Argo CD Application contains the DaemonSet either");
}

/// What differs between the class and what managers made it of; they compare that text with their ConfigMap, not with
/// the class.
pub fn storage_class(rung: &Rung<'_>, out: &mut Found) {
    let classes = &rung.cluster.objects.storage_classes;
    let Some(class) = classes.get(DEFAULT_CLASS) else { return };
    let made_of = class.metadata.annotations.last_applied_configmap.as_str();
    let Ok(made) = serde_yaml::from_str::<StorageClass>(made_of) else { return };
    let differs = differences(class, &made);
    if differs.is_empty() {
        return;
    }
    let names: Vec<&str> = differs.iter().map(|(what, ..)| what.as_str()).collect();
    let reason = out.say(format!("StorageClass {DEFAULT_CLASS} was changed by hand: {}", listed(&names)));
    for (what, is, was) in &differs {
        reason.fact(match was.as_str() {
            "" => format!("{what}: now {is}, not set when created"),
            was => format!("{what}: now {}, created as {was}", shown(is)),
        });
    }
    let others = classes.iter().filter(|other| other.is_default() && other.metadata.name != DEFAULT_CLASS);
    let others: Vec<&str> = others.map(|other| other.metadata.name.as_str()).collect();
    if made.is_default() && !class.is_default() && !others.is_empty() {
        reason
            .fact(format!("once recreated, the StorageClass is a second default beside {}", listed(&others)));
    }
}

/// What tools that apply on the server stumble over on the way to 1.10, or later where a downgrade was tried in between.
pub fn conversion_left(rung: &Rung<'_>, out: &mut Found) {
    let converted = installation::converted(rung.cluster, Some(rung.from));
    if !installation::applies_on_server(rung.cluster) || converted.is_empty() {
        return;
    }
    let text = held(converted.len(), "CustomResourceDefinition", "still uses|use the conversion webhook");
    let text = format!("{text}: {}", listed(&converted));
    let run = installation::unconverted(&converted);
    out.say(text).command(Command { run, changes: true });
}

fn shown(value: &str) -> &str {
    if value.is_empty() { "not set" } else { value }
}

/// Field, as it is, as it was made.
fn differences(class: &StorageClass, made: &StorageClass) -> Vec<(String, String, String)> {
    let mode = |class: &StorageClass| match class.volume_binding_mode.as_str() {
        "" => "Immediate".to_owned(),
        mode => mode.to_owned(),
    };
    let reclaims = |class: &StorageClass| match class.reclaim_policy.as_str() {
        "" => "Delete".to_owned(),
        policy => policy.to_owned(),
    };
    let fields = |class: &StorageClass| {
        [
            ("is-default-class", class.is_default().to_string()),
            ("reclaimPolicy", reclaims(class)),
            ("volumeBindingMode", mode(class)),
            ("allowVolumeExpansion", class.allow_volume_expansion.unwrap_or_default().to_string()),
        ]
    };
    let mut differs: Vec<(String, String, String)> = fields(class)
        .into_iter()
        .zip(fields(made))
        .filter(|((_, is), (_, was))| is != was)
        .map(|((what, is), (_, was))| (what.to_owned(), is, was))
        .collect();
    let keys: std::collections::BTreeSet<&str> =
        class.parameters.iter().chain(made.parameters.iter()).map(|(key, _)| key.as_str()).collect();
    for key in keys {
        let [is, was] = [class, made].map(|of| of.parameters.get(key).map_or("", |value| value.as_str()));
        if is != was {
            differs.push((format!("parameters.{key}"), is.to_owned(), was.to_owned()));
        }
    }
    differs
}

/// Where a policy guards the managers already, those of the target let no one in who is not let in today, and keep out
/// no one who is: policies add up.
pub fn metrics_cut_off(rung: &Rung<'_>, out: &mut Found) {
    if rung.cluster.manager_policies().is_empty() {
        let text = "from v1.12.1 on, default NetworkPolicies block scrapes of Longhorn's metrics from other namespaces (issues 13438, 13740)";
        out.say(text);
    }
}

pub fn metrics_dark(rung: &Rung<'_>, out: &mut Found) {
    let guards = rung.cluster.manager_policies();
    if guards.is_empty() || guards.iter().any(|policy| policy.admits_others()) {
        return;
    }
    let names: Vec<&str> = guards.iter().map(|policy| policy.metadata.name.as_str()).collect();
    let text = format!(
        "only namespace {} can scrape Longhorn's own metrics: NetworkPolicies block all others",
        rung.cluster.namespace
    );
    out.say(text).fact(format!("the scrapes are blocked by {}", listed(&names))).weight(Weight::Note);
}
