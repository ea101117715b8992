//! Danger-zone settings that are not in force yet: an instance manager restart waits for the
//! volumes to detach.
//!
//! Facts: `settings.longhorn.io` has `status.applied` since 1.7.0, false while the setting
//! controller cannot apply a value, for example because volumes are attached (longhorn-manager
//! v1.12.1 controller/setting_controller.go syncSetting). Values that only the instance manager pod
//! is compared with show in its condition SettingSynced since 1.11 (longhorn-manager v1.12.1
//! controller/instance_manager_controller.go areDangerZoneSettingsSyncedToIMPod).

mod settings;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use crate::check::*;
use crate::facts::instance_managers::container_of;
use crate::facts::text::{self, listed};
use crate::longhorn::Resource::*;
use settings::Waits;

use crate::longhorn::{
    ConditionStatus, InstanceManager, Pod, Setting, Toleration, Volume, VolumeState, condition,
};

pub static CHECK: Check = check! {
    id: "danger_zone_pending",
    title: "Danger-zone settings pending",
    summary: "A Longhorn danger-zone setting is not applied yet. Longhorn applies most of them by restarting instance managers once their volumes \
              are detached. The cause is the setting's name, with `_` for `-`.",
    needs: &[Settings],
    uses: &[InstanceManagers, Pods, Volumes],
    causes: settings::CAUSES,
    gauges: GAUGES,
    alerts: &[alert! { "LonghornDangerZoneSettingPending",
        when: When::Flag { gauge: &PENDING, labels: &[] },
        for_: "1h",
        severity: Severity::Info,
        summary: "A Longhorn danger-zone setting is not applied yet.",
        description: settings::DESCRIPTION,
        why: "The alert waits 1 h, which is longer than any rolling settings change takes.",
    }],
    panels: &[Panel {
        dashboard: Dashboard::InstanceManagers,
        title: "Danger-zone settings pending",
        description: "Settings not yet applied. Longhorn applies most of them by restarting instance managers once their volumes are detached.",
        columns: &["setting"],
        expr: "max by ($cluster setting) (longhorn_health_danger_zone_pending{$job}) > 0",
        legend: "{{setting}}",
        no_data: "no setting is pending, or the exporter is not reporting",
        ..Panel::TABLE
    }],
};

gauges! {
    PENDING = Gauge "longhorn_health_danger_zone_pending" ["setting"]
        "1 for each danger-zone setting not applied yet.",
        absent "it is applied, or Longhorn is older than 1.7",
        example "longhorn_health_danger_zone_pending > 0";
}

fn run(cluster: &Cluster, out: &mut Outcome) {
    for setting in cluster.objects.settings.iter() {
        let name = setting.metadata.name.as_str();
        let not_applied = setting.status.applied == Some(false);
        let Some(cause) = settings::cause_of(name).filter(|_| not_applied) else { continue };
        out.sample(&PENDING, &[name], 1.0);
        let text = format!("settings.longhorn.io {name}: status.applied is false");
        out.report(finding(cluster, cause, name).fact(text));
    }
    for (name, difference) in IN_PODS {
        not_in_pods(cluster, out, name, *difference);
    }
    let mut holders: BTreeMap<&str, Vec<&InstanceManager>> = BTreeMap::new();
    for manager in cluster.objects.instance_managers.iter() {
        let Some(synced) = condition(&manager.status.conditions, "SettingSynced") else { continue };
        if synced.status != ConditionStatus::False {
            continue;
        }
        // The message lists the settings by name; a setting already reported is not reported twice.
        for (name, cause) in settings::named_in(&synced.message) {
            if !out.findings.iter().any(|finding| finding.cause == cause) {
                out.sample(&PENDING, &[name], 1.0);
                out.report(finding(cluster, cause, name).since(synced.last_transition_time.get()));
            }
            holders.entry(cause.id).or_default().push(manager);
        }
    }
    let named = |finding: Finding| {
        let lag = holders.get(finding.cause.id).map(Vec::as_slice).unwrap_or_default();
        finding.facts(named(lag))
    };
    out.findings = std::mem::take(&mut out.findings).into_iter().map(named).collect();
}

/// How a pod differs from the value of a setting.
type Difference = fn(&str, &Pod) -> Option<String>;

/// What instance manager pods get when they are made, and the objects show. Longhorn calls a setting applied although only new
/// pods have it: the probe timeout until 1.10, because syncSetting does not look at it (longhorn-manager v1.9.2
/// controller/setting_controller.go); any of them up to 1.6, where status.applied does not exist; and conditions say so from 1.11 on
/// only.
const IN_PODS: &[(&str, Difference)] = &[
    ("instance-manager-pod-liveness-probe-timeout", probe_timeout),
    ("taint-toleration", tolerations),
    ("system-managed-components-node-selector", node_selector),
];

fn not_in_pods(cluster: &Cluster, out: &mut Outcome, name: &'static str, difference: Difference) {
    let (Some(setting), Some(cause)) = (cluster.setting(name), settings::cause_of(name)) else { return };
    if out.findings.iter().any(|finding| finding.cause == cause) {
        return;
    }
    let differs = |im: &InstanceManager| {
        let pod = cluster.objects.pods.get(&im.metadata.name).filter(|pod| !pod.metadata.is_deleting())?;
        let differs = difference(setting.value_for(im.spec.data_engine).trim(), pod)?;
        Some((format!("{} {differs}", im.metadata.name), pod.metadata.created()))
    };
    let (differing, made): (Vec<String>, Vec<_>) =
        cluster.objects.instance_managers.iter().filter_map(differs).unzip();
    if differing.is_empty() {
        return;
    }
    out.sample(&PENDING, &[name], 1.0);
    let text = format!("instance manager pods: {}", listed(&differing));
    let mut finding = finding(cluster, cause, name).fact(text);
    // no one changed a setting that is younger than the pods: an upgrade brought it
    let brought = setting.metadata.created();
    if brought.is_some_and(|brought| made.iter().all(|made| made.is_some_and(|made| made < brought))) {
        finding.message = format!(
            "setting {name} is new in this release, so instance managers from before the upgrade lack it"
        );
    }
    out.report(finding);
}

fn probe_timeout(wanted: &str, pod: &Pod) -> Option<String> {
    let wanted = wanted.parse::<i64>().ok()?;
    let has = container_of(pod)?.liveness_probe.as_ref()?.timeout();
    (has != wanted).then(|| format!("has a probe timeout of {has} s (setting: {wanted} s)"))
}

/// Tolerations that Kubernetes or others add are none of the setting's. Which ones are, Longhorn notes at the pod and compares with the
/// setting itself (longhorn-manager v1.12.1 controller/instance_manager_controller.go isSettingTaintTolerationSynced); where the
/// note is gone, only what is missing counts.
fn tolerations(wanted: &str, pod: &Pod) -> Option<String> {
    let noted = pod.applied_tolerations();
    let has = noted.as_deref().unwrap_or(&pod.spec.tolerations);
    let wanted: Vec<&str> = settings::listed_in(wanted).collect();
    let missing = wanted.iter().copied().filter(|one| !has.iter().any(|has| settings::tolerates(has, one)));
    let missing: Vec<&str> = missing.collect();
    let asked_for = |has: &&Toleration| wanted.iter().any(|one| settings::tolerates(has, one));
    let more: Vec<String> =
        noted.iter().flatten().filter(|has| !asked_for(has)).map(Toleration::to_string).collect();
    let missing = (!missing.is_empty()).then(|| format!("does not tolerate {}", missing.join(", ")));
    let more = (!more.is_empty()).then(|| format!("still tolerates {}", more.join(", ")));
    let differs: Vec<String> = missing.into_iter().chain(more).collect();
    (!differs.is_empty()).then(|| differs.join(" and "))
}

fn node_selector(wanted: &str, pod: &Pod) -> Option<String> {
    let wanted: BTreeMap<&str, &str> =
        settings::listed_in(wanted).filter_map(|label| label.split_once(':')).collect();
    let has = &pod.spec.node_selector;
    let same = has.len() == wanted.len()
        && wanted.iter().all(|(label, value)| has.get(label.trim()).is_some_and(|has| has == value.trim()));
    let which = if has.is_empty() { "no" } else { "another" };
    (!same).then(|| format!("has {which} node selector"))
}

fn finding(cluster: &Cluster, cause: &'static Cause, name: &str) -> Finding {
    let waits = settings::waits(cause);
    let free = waits == Waits::Volumes && nothing_attached(cluster);
    let everywhere = in_every_pod(cluster, name);
    let impact = match waits {
        _ if free => "none: every volume is detached, so Longhorn can apply the setting",
        _ if everywhere => {
            "other components may keep the old value until Longhorn applies the new one. No instance manager restarts"
        }
        Waits::Volumes => {
            "each instance manager restarts as soon as its volumes detach, even if that is unplanned"
        }
        Waits::Shared => {
            "Longhorn uses the old value until every RWX volume is detached. No instance manager restarts"
        }
        Waits::Nothing => {
            "Longhorn uses the old value until it can apply the new one. No instance manager restarts"
        }
    };
    let message = match everywhere {
        true => {
            format!("setting {name} is in every instance manager pod but reported as not applied")
        }
        false => format!("setting {name} is not applied yet"),
    };
    let finding = Finding::about(cause, cluster.object::<Setting>(name), message).impact(impact);
    match (free, everywhere) {
        (true, _) => finding.fix(settings::LOOKED_AT),
        (_, true) => finding.fix(
            "Detach all volumes when convenient: Longhorn then reports the setting as applied at its next hourly check.",
        ),
        _ => finding,
    }
}

/// True when no volume keeps an instance manager from being restarted.
fn nothing_attached(cluster: &Cluster) -> bool {
    let detached = |volume: &Volume| volume.status.state == VolumeState::Detached;
    let volumes = &cluster.objects.volumes;
    cluster.knows_all(Resource::Volumes) && !volumes.is_empty() && volumes.iter().all(detached)
}

/// True for a setting that shows in the pods of instance managers and has arrived in all of them.
fn in_every_pod(cluster: &Cluster, name: &str) -> bool {
    let Some(setting) = cluster.setting(name).filter(|_| name == "priority-class") else { return false };
    let managers = &cluster.objects.instance_managers;
    let pod = |manager: &InstanceManager| cluster.objects.pods.get(&manager.metadata.name);
    let has = |manager| pod(manager).is_some_and(|pod| pod.spec.priority_class_name == setting.value.trim());
    !managers.is_empty() && managers.iter().all(has)
}

/// Names the instance managers that lag behind.
fn named(managers: &[&InstanceManager]) -> Vec<String> {
    text::first_ten(managers, "instance manager", |manager| {
        let (name, node) = (&manager.metadata.name, &manager.spec.node_id);
        format!("instance manager {name} on {node}: condition SettingSynced is False")
    })
}
