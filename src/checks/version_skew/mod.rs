//! Parts of Longhorn that run different releases.
//!
//! Facts: all parts come with one manifest or chart. The manager writes its release into the setting current-longhorn-version at the
//! end of its start (longhorn-manager v1.3.3 to v1.12.1 upgrade/upgrade.go); the driver deployer creates the CSI plugin from the image
//! of the manager, and creates it again where that differs (csi/deployment_util.go deploy). Managers of two minor releases work on one
//! set of objects only while a rollout goes on. Engines are upgraded by people, or by the setting
//! concurrent-automatic-engine-upgrade-per-node-limit; those that are compatible may stay old.

mod refused;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::check::*;
use crate::facts::age::{Begun, Unknown, observe};
use crate::facts::patience::{AFTER_ROLLOUT, ROLLOUT};
use crate::facts::{api, releases, text};
use crate::longhorn::Resource::*;
use crate::longhorn::{DaemonSet, DataEngine, Pod, Release};

causes! {
    MANAGERS_DIFFER = warning "managers_differ"
        "managers of different releases have been running side by side for half an hour"
        fix "Finish the rollout: read the logs of new manager pods that are not Ready. With update strategy OnDelete, delete the old release's manager pods \
             one at a time." [
            read "kubectl -n <namespace> rollout status daemonset/longhorn-manager --timeout=10s",
            read "kubectl -n <namespace> get pods -l app=longhorn-manager -o wide",
        ] proven "a manager's pod holds no data, a DaemonSet recreates it, and pods are deleted one at a time";
    HALF_UPGRADED = warning "half_upgraded"
        "the managers run one release, but setting current-longhorn-version names another"
        fix "Apply the whole manifest or chart of the intended release: the upgrade is unfinished, or only the DaemonSet was changed. Then \
             restart the managers one at a time." [
            read "kubectl -n <namespace> get settings.longhorn.io current-longhorn-version",
            read "kubectl -n <namespace> get daemonset longhorn-manager -o jsonpath='{.spec.template.spec.containers[*].image}'",
            read "kubectl -n <namespace> logs <manager> -c longhorn-manager --since=1h | grep -i upgrade",
        ];
    COMPONENT_OLD = warning "component_old"
        "an hour after the upgrade, a Longhorn component still runs a different release from the managers"
        fix "Restart Deployment longhorn-driver-deployer, which creates the CSI plugin. If the deployer's own image is old, apply the whole \
             manifest or chart of the managers' release." [
            read "kubectl -n <namespace> get daemonsets,deployments -o \
                custom-columns='KIND:.kind,NAME:.metadata.name,IMAGES:.spec.template.spec.containers[*].image'",
            change "kubectl -n <namespace> rollout restart deployment/longhorn-driver-deployer",
        ];
    UPGRADE_REFUSED = warning "upgrade_refused"
        "Flux, Argo CD or the K3s/RKE2 Helm controller cannot apply a Longhorn upgrade, or has rolled it back"
        fix "Check the upgrade's error and fix its cause. Then run `longhorn-health-exporter plan upgrade` before you try again. \
             Do not uninstall Longhorn: that deletes its volumes." [
            read "kubectl -n <chart_namespace> logs job/<workload> --tail=50",
            read "kubectl -n <chart_namespace> describe <kind> <object>",
            read "longhorn-health-exporter plan upgrade",
        ]
        way STORED_VERSIONS "v1beta1 is still a stored version"
            fix "Follow 1.10's important notes while Longhorn is still on <from>: rewrite the listed CRDs' objects, then remove v1beta1 \
                 from status.storedVersions. Do not delete a CRD: that deletes its objects." [
                read "kubectl get crds -l longhorn-manager -o custom-columns=NAME:.metadata.name,STORED:.status.storedVersions",
                read "kubectl -n <chart_namespace> logs job/<workload> --tail=50",
                read "longhorn-health-exporter plan upgrade",
            ]
        way PRE_UPGRADE "Longhorn's pre-upgrade check failed"
            fix "Run `longhorn-health-exporter plan upgrade` to find out what the pre-upgrade Job rejects, usually a skipped minor release. Upgrade one minor \
                 release at a time." [
                read "longhorn-health-exporter plan upgrade",
                read "kubectl -n <chart_namespace> describe <kind> <object>",
            ];
}

pub static CHECK: Check = check! {
    id: "version_skew",
    title: "Releases that do not match",
    summary: "The managers, the installed release and the CSI plugin are of different Longhorn releases. Or the tool that installs Longhorn cannot \
    apply an upgrade: `check` detects this with your rights, but `serve` does not.",
    needs: &[Pods, DaemonSets, Settings],
    uses: &[Volumes, EngineImages, Deployments],
    glances: &[CustomResourceDefinitions, HelmCharts, HelmReleases, Applications],
    causes: ALL,
    ways: &[WAYS],
    gauges: GAUGES,
    alerts: &[alert! { "LonghornVersionSkew",
        when: When::Found(&[&MANAGERS_DIFFER, &HALF_UPGRADED, &COMPONENT_OLD]),
        runbook_only: &[&UPGRADE_REFUSED],
        for_: "30m",
        summary: "Longhorn components run different releases.",
        description: "{{ $labels.object }} runs a different release from the rest of Longhorn. Calls between different releases may fail. Finish \
                      the upgrade.",
        why: "The check and the alert each wait 30 min for a rollout over many nodes to finish.",
    }],
    panels: &[Panel {
        dashboard: Dashboard::Volumes,
        title: "Volumes on an older engine",
        description: "Volumes whose engine image is not the default. Volumes with a compatible image can stay as they are.",
        expr: "max without ($without) (longhorn_health_old_engine_volumes{$job})",
        steps: &[Step::at(0.0, "green"), Step::at(1.0, "blue")],
        width: Width::Quarter,
        no_data: "the exporter is not reporting",
        ..Panel::STAT
    }],
};

gauges! {
    OLD_ENGINES = Gauge "longhorn_health_old_engine_volumes" []
        "Volumes whose engine image is not the default.",
        absent "volumes or settings cannot be read",
        example "longhorn_health_old_engine_volumes > 0";
}

fn run(cluster: &Cluster, out: &mut Outcome) {
    let managers: Vec<(&Pod, Release)> = cluster
        .manager_pods()
        .filter(|pod| pod.is_ready() && !pod.metadata.is_deleting())
        .filter_map(|pod| Some((pod, Release::from_image(&pod.spec.container("longhorn-manager")?.image)?)))
        .collect();
    let newest = managers.iter().filter_map(|(pod, _)| pod.metadata.created()).max();
    let distinct: BTreeSet<Release> = managers.iter().map(|(_, release)| *release).collect();
    if distinct.len() > 1 {
        differ(cluster, out, &managers, newest);
    } else if let Some(running) = distinct.first().copied()
        // until all are Ready the upgrade goes on, or other checks say why not
        && cluster.manager_pods().all(|pod| pod.is_ready() && !pod.metadata.is_deleting())
    {
        half_upgraded(cluster, out, running, newest);
        components(cluster, out, running, newest);
    }
    engines(cluster, out);
    refused::run(cluster, out);
}

/// The release without what hotfix images add: they report the one that they fix.
fn plain(release: Release) -> (u32, u32, u32) {
    (release.major, release.minor, release.patch)
}

fn differ(cluster: &Cluster, out: &mut Outcome, managers: &[(&Pod, Release)], newest: Option<Timestamp>) {
    let age = observe(cluster, out, "managers_differ", "longhorn-manager", Begun::NotBefore(newest));
    if !age.at_least(ROLLOUT, Unknown::Counts) {
        return;
    }
    let mut by_release: BTreeMap<Release, Vec<&str>> = BTreeMap::new();
    for (pod, release) in managers {
        by_release.entry(*release).or_default().push(&pod.spec.node_name);
    }
    let says = by_release.iter().map(|(release, nodes)| api(format!("{release} on {}", text::listed(nodes))));
    let apart: Vec<String> = by_release.keys().map(Release::to_string).collect();
    out.report(
        Finding::about(
            &MANAGERS_DIFFER,
            cluster.object::<DaemonSet>("longhorn-manager"),
            format!("managers of {} are running side by side", apart.join(" and ")),
        )
        .since(age.since_or_later())
        .impact("none yet. When an older manager updates an object, it may drop fields that only newer managers know.")
        .facts(says)
        .facts([age.evidence()]),
    );
}

fn half_upgraded(cluster: &Cluster, out: &mut Outcome, running: Release, newest: Option<Timestamp>) {
    let installed = cluster.installed();
    let Some(installed) = installed.filter(|installed| plain(*installed) != plain(running)) else { return };
    let age = observe(cluster, out, "half_upgraded", "longhorn-manager", Begun::NotBefore(newest));
    if !age.at_least(ROLLOUT, Unknown::Counts) {
        return;
    }
    let mut finding = Finding::about(
        &HALF_UPGRADED,
        cluster.object::<DaemonSet>("longhorn-manager"),
        format!("the managers run {running}, but {installed} is recorded as installed"),
    )
    .since(age.since_or_later())
    .impact("none yet. Some Longhorn objects may have missed the upgrade, and the recorded release may block the next one.")
    .facts([api(format!("setting current-longhorn-version is {installed}, but every Ready manager runs {running}"))])
    .facts([age.evidence()]);
    if releases::is_refused(installed, running) {
        finding = finding.fact(format!("Longhorn does not support going from {installed} to {running}"));
    }
    let first = cluster.manager_pods().map(|pod| pod.metadata.name.as_str()).min();
    out.report(first.into_iter().fold(finding, |finding, pod| finding.with(Name::Manager, pod)));
}

/// The CSI plugin and the deployer have the image of the manager.
fn components(cluster: &Cluster, out: &mut Outcome, running: Release, newest: Option<Timestamp>) {
    for (app, container) in [
        ("longhorn-csi-plugin", "longhorn-csi-plugin"),
        ("longhorn-driver-deployer", "longhorn-driver-deployer"),
    ] {
        let other = cluster
            .pods_of(app)
            .filter(|pod| pod.is_ready() && !pod.metadata.is_deleting())
            .find_map(|pod| {
                let release = Release::from_image(&pod.spec.container(container)?.image)?;
                (plain(release) != plain(running)).then_some((pod, release))
            });
        let Some((pod, release)) = other else { continue };
        let newest = newest.max(pod.metadata.created());
        let age = observe(cluster, out, "component_old", app, Begun::NotBefore(newest));
        if !age.at_least(AFTER_ROLLOUT, Unknown::Counts) {
            continue;
        }
        let kind = if app == "longhorn-csi-plugin" { DaemonSets } else { Deployments };
        out.report(
            Finding::about(
                &COMPONENT_OLD,
                cluster.object_of(kind, app),
                format!("{app} runs {release}, but the managers run {running}"),
            )
            .since(age.since_or_later())
            .impact(format!("calls between {app} and the managers may fail. Attached volumes keep working."))
            .facts([api(format!("pod {} runs {release}", pod.metadata.name)), age.evidence()]),
        );
    }
}

fn engines(cluster: &Cluster, out: &mut Outcome) {
    let default = cluster.setting_value("default-engine-image", DataEngine::V1);
    if default.is_empty() || !cluster.can_read(Volumes) {
        return;
    }
    let old = cluster.objects.volumes.iter().filter(|volume| {
        let image = volume.status.current_image.as_str();
        !image.is_empty() && image != default && volume.spec.data_engine.or_v1() == DataEngine::V1
    });
    out.sample(&OLD_ENGINES, &[], old.count() as f64);
}
