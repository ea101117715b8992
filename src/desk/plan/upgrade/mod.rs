//! `plan upgrade`: may Longhorn go to another release, by which steps, and where does an upgrade stand.

mod after;
mod cluster_state;
mod installed;
mod steps;
pub mod target;
mod traps;
mod volumes;

use super::*;
use crate::facts::releases::{Line, Path, ladder, newest, path};
use crate::longhorn::{Release, Resource};

/// Checks whose findings stand against an upgrade: it needs managers and webhooks that work.
pub const REUSED: &[&str] = &[
    "manager_crash_loop", "manager_start_stuck", "manager_half_alive", "webhook_unavailable",
    "node_unregistered", "driver_deployer_blocked", "csi_plugin_down", "instance_manager_down",
    "instance_manager_stale", "danger_zone_pending", "attachment_on_dead_node", "eviction_inconsistent",
    "engine_image_unavailable", "backing_image_eviction_crash",
];

/// One step to another release.
#[derive(Debug)]
pub struct Rung<'a> {
    /// The cluster and what the checks say.
    pub looked: Looked<'a>,
    pub cluster: &'a Cluster,
    /// The release before the step.
    pub from: Release,
    /// The release after it.
    pub to: Release,
    /// What is known of the line of the target.
    pub line: Option<&'static Line>,
    /// The release of the API server, or the oldest of a kubelet.
    pub kubernetes: Option<Release>,
}

conditions! {
    PATH_REFUSED = No "path_refused" "Longhorn does not support this step"
        fix "Go one minor release at a time: <instead>."
        source "longhorn-manager v1.5.0 to v1.12.1 upgrade/util/util.go (checkLHUpgradePath)"
        needs [Settings] EachStep(target::path_refused);
    TARGET_UNKNOWN = Unknown "target_unknown" "the target is newer than this build knows"
        fix "Use a newer build of this program, or read the release notes and the important notes of <to>."
        source "the releases known to this build"
        needs [] EachStep(target::unknown);
    KUBERNETES_TOO_OLD = NotYet "kubernetes" "the target does not run on this Kubernetes release"
        fix "Upgrade Kubernetes to <kubernetes> first<instead>."
        read "kubectl version"
        read "kubectl get nodes"
        source "longhorn chart/Chart.yaml kubeVersion at each tag; CHANGELOG of v1.11.3; issue 13576"
        needs [] EachStep(target::kubernetes);
    STORED_VERSIONS = NotYet "stored_versions" "CustomResourceDefinitions of Longhorn have stored v1beta1, which 1.10 removes"
        fix "Rewrite the objects of these kinds on <from> and remove v1beta1 from status.storedVersions, as the important notes of 1.10 describe: \
             otherwise the API server rejects the new definitions."
        read "kubectl get crds -l longhorn-manager -o custom-columns=NAME:.metadata.name,STORED:.status.storedVersions"
        source "longhorn v1.9.2 and v1.10.0 deploy/longhorn.yaml (spec.versions); issues 11886, 11923"
        needs [CustomResourceDefinitions] EachStep(target::stored_versions);
    ENGINE_TOO_OLD = NotYet "engine_api" "an engine image in use has an API version that the target does not support"
        fix "Upgrade the engines of these volumes to the default engine image. Then wait until the old image has no references."
        read "kubectl -n <namespace> get engineimages.longhorn.io"
        source "longhorn-manager v1.6.0 to v1.12.1 upgrade/util/util.go (checkEngineUpgradePath)"
        needs [EngineImages, Volumes] EachStep(target::engine_api);
    TARGET_BUG = NotYet "target_bug" "the target has a known bug whose trigger is present here"
        fix "Use <instead>, or remove the trigger first."
        source "src/facts/known_issues and src/desk/plan/upgrade/traps.rs, each with issue, file and releases"
        needs [] EachStep(traps::target_bug);
    REINSTALLS = NotYet "helm_chart_reinstalls" "K3s or RKE2 uninstalls Longhorn if the upgrade fails"
        fix "Set spec.failurePolicy of HelmChart <object> to abort before the upgrade: the default, reinstall, uninstalls Longhorn with its volumes \
             if an upgrade fails."
        read "kubectl -n <chart_namespace> get helmchart <object> -o yaml"
        change "kubectl -n <chart_namespace> patch helmchart <object> --type merge -p '{\"spec\":{\"failurePolicy\":\"abort\"}}'"
        source "Longhorn documentation, upgrade of Longhorn manager; k3s-io/helm-controller api/v1 HelmChartSpec"
        needs [HelmCharts] Now(installed::reinstalls);
    FLUX_REMEDIATION = NotYet "flux_remediation" "Flux removes Longhorn, or puts the old release back, if the upgrade fails"
        fix "Set spec.upgrade.remediation.retries of HelmRelease <object> to 0 in its source, or the strategy to rollback: uninstall removes \
             Longhorn if an upgrade fails."
        read "kubectl -n <chart_namespace> get helmreleases.helm.toolkit.fluxcd.io <object> -o yaml"
        source "fluxcd/helm-controller api/v2/helmrelease_types.go (UpgradeRemediation); longhorn-manager v1.5.0 upgrade/util/util.go"
        needs [HelmReleases] Now(installed::remediation);
    UNFINISHED = NotYet "upgrade_unfinished" "an upgrade is running or was abandoned halfway"
        fix "Let the running upgrade finish first: check the manager pods that are not Ready."
        read "kubectl -n <namespace> get pods -l app=longhorn-manager -o wide"
        source "longhorn-manager v1.12.1 upgrade/upgrade.go (the setting current-longhorn-version is written last)"
        needs [Settings, Pods, DaemonSets] Now(after::unfinished);
    MANAGERS_UNWELL = NotYet "unwell" "Longhorn itself has failures, so an upgrade would not succeed"
        fix "Fix what check reports first: the upgrade needs working managers and webhooks."
        read "longhorn-health-exporter check"
        source "the checks of this program"
        needs [] Now(cluster_state::unwell);
    NODE_DOWN = NotYet "node_down" "a node is down"
        fix "Bring the node back, or remove it with its pods, before the upgrade: new managers wait up to ten minutes until every old manager pod \
             is deleted, and then crash."
        read "kubectl -n <namespace> get pods -l app=longhorn-manager -o wide"
        source "longhorn-manager v1.4.4 to v1.12.1 upgrade/upgrade.go (waitForOldLonghornManagersToBeFullyRemoved)"
        needs [LonghornNodes, KubeNodes, Pods] Now(cluster_state::node_down);
    NODE_PACKAGES = NotYet "node_packages" "a node lacks host packages that Longhorn needs"
        fix "Install what is missing on these nodes."
        read "kubectl -n <namespace> get nodes.longhorn.io -o yaml"
        source "longhorn-manager v1.7.0 to v1.12.1 controller/monitor/environment_check_monitor.go; app/daemon.go (environmentCheck)"
        needs [LonghornNodes] Now(cluster_state::node_packages);
    FAULTED = NotYet "volumes_faulted" "volumes are faulted"
        fix "Recover or remove these volumes first: Longhorn does not support an upgrade with them."
        read "kubectl -n <namespace> get volumes.longhorn.io"
        source "Longhorn documentation, upgrade; longhorn-manager v1.12.1 controller/engine_image_controller.go (canDoLiveEngineImageUpgrade)"
        needs [Volumes] Now(volumes::faulted);
    DEGRADED = NotYet "volumes_degraded" "attached volumes have fewer replicas than wanted"
        fix "Wait until they are rebuilt. For volumes that can never be healthy here, such as three replicas on two nodes, use --accept \
             volumes_degraded or lower numberOfReplicas."
        read "kubectl -n <namespace> get volumes.longhorn.io"
        source "longhorn-manager v1.12.1 controller/engine_image_controller.go (canDoLiveEngineImageUpgrade); issue 9440"
        needs [Volumes] Now(volumes::degraded);
    BUSY = NotYet "volumes_busy" "volumes are being rebuilt, expanded, restored, cloned, migrated, attached or detached, or their engines upgraded"
        fix "Wait until that is done, and look again."
        read "longhorn-health-exporter check --only volume_degraded,operation_stalled"
        source "longhorn-manager v1.12.1 controller/engine_image_controller.go (canDoLiveEngineImageUpgrade), upgrade/v14xto150"
        needs [Volumes, Engines] Now(volumes::busy);
    V2_ATTACHED = NotYet "v2_attached" "volumes of data engine v2 are attached"
        fix "Stop their workloads until the upgrade is done: v2 instance managers end with it, and v2 has no live upgrade."
        source "Longhorn documentation, upgrade, v2 data engine; longhorn-manager v1.12.1 manager/volume.go (UpgradeEngine)"
        needs [Volumes] Now(volumes::v2_attached);
    FAILED_REPLICAS = NotYet "replicas_failed" "failed replicas still exist"
        fix "Wait until Longhorn has rebuilt and removed them, or delete those of volumes that are healthy without them."
        read "kubectl -n <namespace> get replicas.longhorn.io"
        source "longhorn-manager v1.5.5, v1.6.2 upgrade (lastHealthyAt); Longhorn documentation, upgrade"
        needs [Replicas, Volumes] Now(volumes::failed_replicas);
    BACKING_IMAGES = NotYet "backing_images" "backing images have failed copies, are being copied, or do not work with the target"
        fix "Wait for running copies. Delete failed copies, and images of data engine v2, if no volume needs them."
        read "kubectl -n <namespace> get backingimages.longhorn.io -o yaml"
        source "issues 10464, 11034 (failed copies), 10805, 10969, 13181 (data engine v2)"
        needs [BackingImages] Now(cluster_state::backing_images);
    BACKUPS = NotYet "backups_in_flight" "backups are being taken"
        fix "Wait until they are done, and ask again. Pause recurring jobs during the upgrade."
        read "kubectl -n <namespace> get backups.longhorn.io"
        source "longhorn-manager v1.12.1 controller/backup_controller.go: a backup dies with its engine's proxy"
        needs [Backups] Now(cluster_state::backups);
    ORPHANS_REFUSED = NotYet "orphans_refused" "orphans of older releases make the managers of v1.5.0 fail"
        fix "Use v1.5.1 or later, or delete the orphans whose data is not needed."
        read "kubectl -n <namespace> get orphans.longhorn.io"
        source "issue 6246; longhorn-manager v1.5.1 upgrade/v14xto150"
        needs [Orphans] EachStep(cluster_state::orphans_refused);
    DELETING_FLAG = NotYet "deleting_flag" "setting deleting-confirmation-flag allows an uninstall"
        fix "Set it to false: it protects against an upgrade that becomes an uninstall."
        change "kubectl -n <namespace> patch settings.longhorn.io deleting-confirmation-flag --type merge -p '{\"value\":\"false\"}'"
        source "longhorn-manager v1.4.0 to v1.12.1 controller/uninstall_controller.go"
        needs [Settings] Now(cluster_state::deleting_flag);
    OFFLINE_ENGINES = Note "engines_offline" "volumes whose engine cannot be upgraded while they are attached"
        fix "Upgrade their engines once they are detached. Until then they continue with the present engine."
        source "longhorn-manager v1.12.1 controller/engine_image_controller.go (canDoLiveEngineImageUpgrade)"
        needs [Volumes] Now(volumes::offline_engines);
    LATER = Note "pending" "settings and instance managers wait until volumes are detached"
        fix ""
        source "the checks danger_zone_pending and instance_manager_stale of this program"
        needs [] Now(cluster_state::pending);
    SETTINGS_GONE = Note "settings_removed" "settings are set that the target removes or renames"
        fix "Move the values to the new names in Helm values or GitOps: unknown names are only logged."
        source "longhorn-manager types/setting.go at each tag; datastore/longhorn.go (DeleteRemovedSettings)"
        needs [Settings] EachStep(traps::settings_removed);
    CHANGES = Note "changes" "the target silently changes current behaviour"
        fix ""
        source "release notes of each release; src/desk/plan/upgrade/traps.rs"
        needs [Volumes, LonghornNodes] EachStep(traps::changes);
    CONVERSION = Note "conversion_left" "definitions still ask a webhook for conversions, which the definitions of 1.10 and later no longer have"
        fix "Take spec.conversion out right before the step: server-side apply leaves a part of it, which the API server refuses."
        source "longhorn v1.9.2 and v1.10.0 deploy/longhorn.yaml (spec.conversion); issue 12812"
        needs [CustomResourceDefinitions] EachStep(installed::conversion_left);
    ROOM_FOR_MANAGERS = Note "second_instance_managers" "a second set of instance managers needs its CPU request free on each node"
        fix "Leave that much CPU free on each node until volumes have left the old instance managers."
        read "kubectl describe nodes"
        source "longhorn-manager v1.6.0 to v1.12.1 types/setting.go (guaranteed-instance-manager-cpu)"
        needs [Settings] Now(cluster_state::second_managers);
    NEWER_PATCH = Note "newer_patch" "the target has a newer patch"
        fix "Take <instead> instead."
        source "the releases known to this build"
        needs [] EachStep(target::newer_patch);
    METRICS_CUT_OFF = Note "metrics_cut_off" "the target keeps others than Longhorn from Longhorn's own metrics"
        fix "Let your Prometheus through with a NetworkPolicy of your own, or set networkPolicies.restrictInternalTraffic to false."
        read "kubectl -n <namespace> get networkpolicies"
        source "longhorn v1.12.1 chart/templates/network-policies, deploy/longhorn.yaml; issues 13438, 13740"
        needs [NetworkPolicies, Pods] EachStep(installed::metrics_cut_off);
    STORAGE_CLASS = Note "storage_class_changed" "the StorageClass longhorn was changed by hand, which managers do not keep"
        fix "Make the change where the ConfigMap longhorn-storageclass comes from (Helm values persistence.*), or in a class of another name: managers delete and recreate the class when the ConfigMap changes."
        read "kubectl get storageclass longhorn -o yaml"
        source "longhorn-manager v1.3.3 to v1.12.1 controller/kubernetes_configmap_controller.go (needToUpdateStorageClass)"
        needs [StorageClasses] Now(installed::storage_class);
    RENDERED = Note "rendered" "another tool than Helm rendered the chart"
        fix "Find out what renders the chart (helm template, or a tool that uses it), and upgrade with it: helm upgrade finds no release."
        source "Helm 3.2 and later (annotation meta.helm.sh/release-name)"
        needs [Applications] Now(installed::rendered);
    NO_WAY_BACK = Note "no_backup_target" "no backup target is set up"
        fix "Set one up and take a system backup first: it is the only way back."
        source "Longhorn documentation, upgrade; longhorn-manager v1.5.0 upgrade/util/util.go"
        needs [BackupTargets, Settings] Now(cluster_state::no_backup_target);
    ORPHANS = Note "orphans" "orphans are left over"
        fix "Check whether the data is needed. If not, delete them."
        read "kubectl -n <namespace> get orphans.longhorn.io"
        source "longhorn-manager v1.12.1 controller/orphan_controller.go"
        needs [Orphans] Now(cluster_state::orphans);
    MANAGERS_OLD = NotYet "managers_old" "not every manager runs the installed release"
        fix "Check the remaining manager pods: the upgrade is done when all run one release and are Ready."
        read "kubectl -n <namespace> get pods -l app=longhorn-manager -o wide"
        source "longhorn-manager v1.12.1 upgrade/upgrade.go"
        needs [Settings, Pods, DaemonSets] After(after::managers_old);
    DEFINITIONS_LEFT = NotYet "definitions_left" "CustomResourceDefinitions belong to another release than the managers, so fields they do not know \
                                                  are lost"
        fix "Apply the definitions of <to> again, as they were installed. If the API server rejects spec.conversion, remove it from these \
             definitions first."
        read "kubectl get crds -l longhorn-manager -o custom-columns=NAME:.metadata.name,RELEASE:.metadata.labels.app\\.kubernetes\\.io/version,CONVERSION:.spec.conversion.strategy"
        source "longhorn v1.9.2 and v1.10.2 deploy/longhorn.yaml applied to a real API server, after a downgrade that managers refused"
        needs [CustomResourceDefinitions, Settings] After(after::definitions_left);
    UNWELL_AFTER = NotYet "unwell_after" "Longhorn itself has failures"
        fix "Fix what check reports first: this needs working managers and webhooks."
        read "longhorn-health-exporter check"
        source "the checks of this program"
        needs [] After(cluster_state::unwell);
    METRICS_DARK = Note "metrics_dark" "Longhorn's own metrics cannot be scraped from other namespaces"
        fix "Allow your Prometheus with your own NetworkPolicy, or set networkPolicies.restrictInternalTraffic to false."
        read "kubectl -n <namespace> get networkpolicies"
        source "longhorn v1.12.1 chart/templates/network-policies; issues 13740, 13947"
        needs [NetworkPolicies, Pods] After(installed::metrics_dark);
    ENGINES_LEFT = Note "engines_left" "volumes still run an engine of an older release"
        fix "Upgrade their engines in the UI, or set concurrent-automatic-engine-upgrade-per-node-limit above 0. Detach the volumes listed as \
             offline first."
        read "kubectl -n <namespace> get engineimages.longhorn.io"
        source "longhorn-manager v1.12.1 controller/engine_image_controller.go"
        needs [EngineImages, Settings, Volumes] After(after::engines_left);
    MANAGERS_LEFT = Note "instance_managers_left" "instance managers of an older release still run"
        fix "Detach their volumes, or move engines and replicas away: an instance manager is removed once nothing runs in it."
        read "kubectl -n <namespace> get instancemanagers.longhorn.io"
        source "longhorn-manager v1.12.1 controller/node_controller.go (syncInstanceManagers)"
        needs [InstanceManagers, Settings] After(after::instance_managers_left);
}

/// What is asked.
#[derive(Debug, Clone, Copy, Default)]
pub struct Asked {
    /// The target; without one the ladder to the newest release.
    pub to: Option<Release>,
}

/// The plan.
pub fn plan(looked: Looked<'_>, asked: Asked) -> Plan {
    let cluster = looked.cluster;
    let kubernetes = cluster.kubernetes();
    let Some(installed) = cluster.release() else {
        return without_release(looked, asked);
    };
    let to = asked.to.unwrap_or_else(|| newest(kubernetes).max(installed));
    let question = match asked.to {
        Some(to) if path(installed, to) == Path::Same => format!("Is the upgrade to Longhorn {to} done?"),
        Some(to) => format!("May Longhorn {installed} be upgraded to {to}?"),
        None => format!("Where can Longhorn {installed} go from here?"),
    };
    if path(installed, to) == Path::Same {
        let part = judged(&Rung::new(looked, installed, installed, kubernetes), Turn::After);
        let (verdict, answer) = (part.verdict, steps::after(&part, installed, asked.to.is_none()));
        return looked.plan("upgrade", question, verdict, answer, vec![part]);
    }
    let direct = path(installed, to);
    if asked.to.is_some() && !matches!(direct, Path::Skips) {
        let part = judged(&Rung::new(looked, installed, to, kubernetes), Turn::Next);
        let (verdict, answer) = (part.verdict, steps::one(&part));
        return looked.plan("upgrade", question, verdict, answer, vec![part]);
    }
    let mut parts = Vec::new();
    let mut from = installed;
    for step in ladder(installed, to, kubernetes) {
        let turn = if parts.is_empty() { Turn::Next } else { Turn::Later };
        parts.push(judged(&Rung::new(looked, from, step, kubernetes), turn));
        from = step;
    }
    if asked.to.is_some() {
        let mut refused = judged(&Rung::new(looked, installed, to, kubernetes), Turn::Refused);
        refused.steps.clear();
        parts.insert(0, refused);
    }
    let next = parts.first().map_or(Verdict::Unknown, |part| part.verdict);
    let answer = steps::ladder(&parts, asked.to.is_some());
    looked.plan("upgrade", question, next, answer, parts)
}

/// Which conditions are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    /// The step that comes next: all of the state as it is.
    Next,
    /// A step after that: what does not depend on the state.
    Later,
    /// Not a step at all: why.
    Refused,
    /// Where the last one stands.
    After,
}

fn judged(rung: &Rung<'_>, turn: Turn) -> Part {
    let shared = [
        (Name::Namespace, rung.cluster.namespace.clone()),
        (Name::From, rung.from.to_string()),
        (Name::To, rung.to.to_string()),
    ];
    let mut reasons = Vec::new();
    for condition in ALL.iter().copied() {
        let look = match (condition.look, turn) {
            (Look::EachStep(look), Turn::Next | Turn::Later) => look,
            (Look::EachStep(look), Turn::Refused) if condition.id() == PATH_REFUSED.id() => look,
            (Look::Now(look), Turn::Next) => look,
            (Look::After(look), Turn::After) => look,
            _ => continue,
        };
        if !rung.concerns(condition) {
            continue;
        }
        reasons.append(&mut rung.looked.judge(condition, &shared, |found| look(rung, found)));
    }
    let subject = match turn {
        Turn::After => format!("{} installed", rung.to),
        _ => format!("{} to {}", rung.from, rung.to),
    };
    let mut part = Part::of(subject, reasons, Vec::new());
    if turn == Turn::Next && part.verdict != Verdict::No {
        part.steps = steps::of(rung, &part);
    }
    part
}

impl<'a> Rung<'a> {
    fn new(looked: Looked<'a>, from: Release, to: Release, kubernetes: Option<Release>) -> Self {
        Rung { looked, cluster: looked.cluster, from, to, line: Line::of(to), kubernetes }
    }

    /// False for what this step cannot meet, so that what cannot be read does not count for it.
    fn concerns(&self, condition: &Condition) -> bool {
        match condition.id() {
            id if id == CONVERSION.id() => self.to.at_least(1, 10, 0),
            id if id == STORED_VERSIONS.id() => !self.from.at_least(1, 10, 0) && self.to.at_least(1, 10, 0),
            id if id == REINSTALLS.id() => installed::may_have_helm_charts(self.cluster),
            id if id == ORPHANS_REFUSED.id() => self.to == Release::new(1, 5, 0),
            id if id == FLUX_REMEDIATION.id() => installed::is_of_flux(self.cluster),
            id if id == RENDERED.id() => installed::is_rendered(self.cluster),
            id if id == METRICS_CUT_OFF.id() => !self.from.at_least(1, 12, 1) && self.to.at_least(1, 12, 1),
            id if id == ENGINE_TOO_OLD.id() => self.line.is_some_and(|line| line.cli.is_some()),
            _ => true,
        }
    }
}

fn without_release(looked: Looked<'_>, asked: Asked) -> Plan {
    let mut found = Found::new(&PATH_REFUSED);
    let blind = looked.cluster.blind_spots(&[Resource::Settings, Resource::DaemonSets]);
    let why = if blind.is_empty() { String::new() } else { format!(": {}", blind.join(", ")) };
    let reason = found.unknown(format!("the installed release is unknown{why}"));
    reason.fix("Grant the permission to read settings and DaemonSets in Longhorn's namespace.");
    let to = asked.to.map_or_else(|| "the next release".to_owned(), |to| to.to_string());
    let part = Part::of(format!("to {to}"), found.filled(&[]), Vec::new());
    let question = format!("May Longhorn be upgraded to {to}?");
    let answer = "unknown: the installed release is unknown".to_owned();
    looked.plan("upgrade", question, part.verdict, answer, vec![part])
}
