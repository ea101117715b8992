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
    "instance_manager_old", "danger_zone_pending", "attachment_on_dead_node", "eviction_inconsistent",
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
        fix "Upgrade one minor release at a time: <instead>."
        source "longhorn-manager v1.5.0 to v1.12.1 upgrade/util/util.go (checkLHUpgradePath)"
        needs [Settings] EachStep(target::path_refused);
    TARGET_UNKNOWN = Unknown "target_unknown" "this build of longhorn-health-exporter does not know the target release"
        fix "Use a newer longhorn-health-exporter, or read the release notes and important notes of <to>."
        source "the releases known to this build"
        needs [] EachStep(target::unknown);
    KUBERNETES_TOO_OLD = NotYet "kubernetes" "the target release does not support this Kubernetes release"
        fix "Upgrade Kubernetes to <kubernetes> first<instead>."
        read "kubectl version"
        read "kubectl get nodes"
        source "longhorn chart/Chart.yaml kubeVersion at each tag; CHANGELOG of v1.11.3; issue 13576"
        needs [] EachStep(target::kubernetes);
    STORED_VERSIONS = NotYet "stored_versions" "storedVersions of Longhorn CustomResourceDefinitions still lists v1beta1, which 1.10 removes"
        fix "Rewrite all objects of these kinds while Longhorn is still on <from>. Then remove v1beta1 from status.storedVersions (important notes of \
             1.10). Otherwise the API server rejects the new CustomResourceDefinitions."
        read "kubectl get crds -l longhorn-manager -o custom-columns=NAME:.metadata.name,STORED:.status.storedVersions"
        source "longhorn v1.9.2 and v1.10.0 deploy/longhorn.yaml (spec.versions); issues 11886, 11923"
        needs [CustomResourceDefinitions] EachStep(target::stored_versions);
    ENGINE_TOO_OLD = NotYet "engine_api" "an engine image in use has an API version that the target release does not support"
        fix "Upgrade these volumes' engines to the default engine image. Then wait until no volume uses the old image."
        read "kubectl -n <namespace> get engineimages.longhorn.io"
        source "longhorn-manager v1.6.0 to v1.12.1 upgrade/util/util.go (checkEngineUpgradePath)"
        needs [EngineImages, Volumes] EachStep(target::engine_api);
    TARGET_BUG = NotYet "target_bug" "the target release has a known bug that this cluster triggers"
        fix "Upgrade to <instead> instead, or remove the bug's trigger first."
        source "src/facts/known_issues and src/desk/plan/upgrade/traps.rs, each with issue, file and releases"
        needs [] EachStep(traps::target_bug);
    REINSTALLS = NotYet "helm_chart_reinstalls" "K3s or RKE2 uninstalls Longhorn if the upgrade fails"
        fix "Set spec.failurePolicy of HelmChart <object> to `abort` before the upgrade. With the default (`reinstall`), the Helm controller \
             uninstalls Longhorn after a failed upgrade, and that can delete all volumes."
        read "kubectl -n <chart_namespace> get helmchart <object> -o yaml"
        change "kubectl -n <chart_namespace> patch helmchart <object> --type merge -p '{\"spec\":{\"failurePolicy\":\"abort\"}}'"
        source "Longhorn documentation, upgrade of Longhorn manager; k3s-io/helm-controller api/v1 HelmChartSpec"
        needs [HelmCharts] Now(installed::reinstalls);
    FLUX_REMEDIATION = NotYet "flux_remediation" "Flux uninstalls Longhorn or reinstalls the old release if the upgrade fails"
        fix "Set spec.upgrade.remediation.retries to 0, or the remediation strategy to rollback, in the source of \
             HelmRelease <object>. With strategy uninstall, Flux removes Longhorn if the upgrade fails."
        read "kubectl -n <chart_namespace> get helmreleases.helm.toolkit.fluxcd.io <object> -o yaml"
        source "fluxcd/helm-controller api/v2/helmrelease_types.go (UpgradeRemediation); longhorn-manager v1.5.0 upgrade/util/util.go"
        needs [HelmReleases] Now(installed::remediation);
    UNFINISHED = NotYet "upgrade_unfinished" "an earlier upgrade is still running or was abandoned"
        fix "Finish the earlier upgrade first: find out why manager pods are missing, outdated or not Ready."
        read "kubectl -n <namespace> get pods -l app=longhorn-manager -o wide"
        source "longhorn-manager v1.12.1 upgrade/upgrade.go (the setting current-longhorn-version is written last)"
        needs [Settings, Pods, DaemonSets] Now(after::unfinished);
    DEFINITIONS_AHEAD = NotYet "definitions_ahead" "CustomResourceDefinitions are newer than the target release (probably left by a failed upgrade)"
        fix "Apply the CustomResourceDefinitions of <to> first, and upgrade the managers right after. Do not delete \
             any CustomResourceDefinition: that deletes all objects of its kind."
        read "kubectl get crds -l longhorn-manager -o custom-columns=NAME:.metadata.name,RELEASE:.metadata.labels.app\\.kubernetes\\.io/version"
        source "longhorn v1.3.3 to v1.12.1 deploy/longhorn.yaml (label app.kubernetes.io/version), which puts definitions in place before managers"
        needs [] Now(after::definitions_ahead);
    MANAGERS_UNWELL = NotYet "unwell" "`check` has findings that would make the upgrade fail"
        fix "Fix the findings of `check` first: the upgrade needs working managers and webhooks."
        read "longhorn-health-exporter check"
        source "the checks of this program"
        needs [] Now(cluster_state::unwell);
    NODE_DOWN = NotYet "node_down" "a node is down"
        fix "Bring the node back, or remove the node and its pods, before the upgrade. New managers crash after 10 min if an old manager pod still \
             exists."
        read "kubectl -n <namespace> get pods -l app=longhorn-manager -o wide"
        source "longhorn-manager v1.4.4 to v1.12.1 upgrade/upgrade.go (waitForOldLonghornManagersToBeFullyRemoved)"
        needs [LonghornNodes, KubeNodes, Pods] Now(cluster_state::node_down);
    NODE_PACKAGES = NotYet "node_packages" "a node lacks host packages or kernel modules that Longhorn needs"
        fix "Install the missing packages and load the missing kernel modules on these nodes."
        read "kubectl -n <namespace> get nodes.longhorn.io -o yaml"
        source "longhorn-manager v1.7.0 to v1.12.1 controller/monitor/environment_check_monitor.go; app/daemon.go (environmentCheck)"
        needs [LonghornNodes] Now(cluster_state::node_packages);
    FAULTED = NotYet "volumes_faulted" "volumes are faulted"
        fix "Recover or delete these volumes first: Longhorn does not support an upgrade with faulted volumes."
        read "kubectl -n <namespace> get volumes.longhorn.io"
        source "Longhorn documentation, upgrade; longhorn-manager v1.12.1 controller/engine_image_controller.go (canDoLiveEngineImageUpgrade)"
        needs [Volumes] Now(volumes::faulted);
    DEGRADED = NotYet "volumes_degraded" "attached volumes have too few healthy replicas"
        fix "Wait until these volumes are rebuilt. If they cannot become healthy (for example, 3 replicas on 2 nodes), lower numberOfReplicas or use --accept \
             volumes_degraded."
        read "kubectl -n <namespace> get volumes.longhorn.io"
        source "longhorn-manager v1.12.1 controller/engine_image_controller.go (canDoLiveEngineImageUpgrade); issue 9440"
        needs [Volumes] Now(volumes::degraded);
    BUSY = NotYet "volumes_busy" "volumes are being rebuilt, expanded, restored, cloned, migrated, attached or detached, or their engines upgraded"
        fix "Wait until these operations are complete. Then run this plan again."
        read "longhorn-health-exporter check --only volume_degraded,operation_stalled"
        source "longhorn-manager v1.12.1 controller/engine_image_controller.go (canDoLiveEngineImageUpgrade), upgrade/v14xto150"
        needs [Volumes, Engines] Now(volumes::busy);
    V2_ATTACHED = NotYet "v2_attached" "volumes of data engine v2 are attached"
        fix "Stop these volumes' workloads until the upgrade is complete. The upgrade stops v2 instance managers, and v2 engines have no live upgrade."
        source "Longhorn documentation, upgrade, v2 data engine; longhorn-manager v1.12.1 manager/volume.go (UpgradeEngine)"
        needs [Volumes] Now(volumes::v2_attached);
    FAILED_REPLICAS = NotYet "replicas_failed" "failed replicas still exist"
        fix "Wait until Longhorn has replaced these replicas. If a volume is healthy without its failed replica, you \
             can delete that replica."
        read "kubectl -n <namespace> get replicas.longhorn.io"
        source "longhorn-manager v1.5.5, v1.6.2 upgrade (lastHealthyAt); Longhorn documentation, upgrade"
        needs [Replicas, Volumes] Now(volumes::failed_replicas);
    BACKING_IMAGES = NotYet "backing_images" "backing images have failed copies, are being copied, or are not supported by the target release"
        fix "Wait until the copies in progress are complete. Delete failed copies, and v2 backing images, if no \
             volume needs them."
        read "kubectl -n <namespace> get backingimages.longhorn.io -o yaml"
        source "issues 10464, 11034 (failed copies), 10805, 10969, 13181 (data engine v2)"
        needs [BackingImages] Now(cluster_state::backing_images);
    BACKUPS = NotYet "backups_in_flight" "backups are running"
        fix "Wait until these backups are complete: upgrading now makes them fail. Pause recurring jobs during the upgrade."
        read "kubectl -n <namespace> get backups.longhorn.io"
        source "longhorn-manager v1.12.1 controller/backup_controller.go: a backup dies with its engine's proxy"
        needs [Backups] Now(cluster_state::backups);
    ORPHANS_REFUSED = NotYet "orphans_refused" "orphans make v1.5.0 managers fail"
        fix "Upgrade to v1.5.1 or later instead, or delete the orphans whose data no one needs."
        read "kubectl -n <namespace> get orphans.longhorn.io"
        source "issue 6246; longhorn-manager v1.5.1 upgrade/v14xto150"
        needs [Orphans] EachStep(cluster_state::orphans_refused);
    DELETING_FLAG = NotYet "deleting_flag" "setting deleting-confirmation-flag allows an uninstall"
        fix "Set deleting-confirmation-flag to false: while it is true, a wrong command can uninstall Longhorn."
        change "kubectl -n <namespace> patch settings.longhorn.io deleting-confirmation-flag --type merge -p '{\"value\":\"false\"}'"
        source "longhorn-manager v1.4.0 to v1.12.1 controller/uninstall_controller.go"
        needs [Settings] Now(cluster_state::deleting_flag);
    OFFLINE_ENGINES = Note "engines_offline" "attached volumes must be detached before their engines can be upgraded"
        fix "Upgrade these volumes' engines once the volumes are detached. Until then, they keep working with the current engine."
        source "longhorn-manager v1.12.1 controller/engine_image_controller.go (canDoLiveEngineImageUpgrade)"
        needs [Volumes] Now(volumes::offline_engines);
    LATER = Note "pending" "settings and instance managers are waiting until volumes are detached"
        fix ""
        source "the checks danger_zone_pending and instance_manager_old of this program"
        needs [] Now(cluster_state::pending);
    SETTINGS_GONE = Note "settings_removed" "the target release removes or renames settings that this cluster uses"
        fix "Use the new setting names in your Helm values or GitOps source: Longhorn ignores unknown names and only logs them."
        source "longhorn-manager types/setting.go at each tag; datastore/longhorn.go (DeleteRemovedSettings)"
        needs [Settings] EachStep(traps::settings_removed);
    CHANGES = Note "changes" "the target release changes behaviour without warning"
        fix ""
        source "release notes of each release; src/desk/plan/upgrade/traps.rs"
        needs [Volumes, LonghornNodes] EachStep(traps::changes);
    CONVERSION = Note "conversion_left" "CustomResourceDefinitions still use the conversion webhook, which 1.10 removes"
        fix "Remove spec.conversion from these CustomResourceDefinitions right before this upgrade step. Server-side apply would keep part of it, and \
             the API server rejects that."
        source "longhorn v1.9.2 and v1.10.0 deploy/longhorn.yaml (spec.conversion); issue 12812"
        needs [CustomResourceDefinitions] EachStep(installed::conversion_left);
    ROOM_FOR_MANAGERS = Note "second_instance_managers" "each node needs free CPU for a second set of instance managers"
        fix "Keep that much CPU free on each node until no volume uses an old instance manager."
        read "kubectl describe nodes"
        source "longhorn-manager v1.6.0 to v1.12.1 types/setting.go (guaranteed-instance-manager-cpu)"
        needs [Settings] Now(cluster_state::second_managers);
    NEWER_PATCH = Note "newer_patch" "the target release is not the newest patch"
        fix "Upgrade to <instead> instead."
        source "the releases known to this build"
        needs [] EachStep(target::newer_patch);
    METRICS_CUT_OFF = Note "metrics_cut_off" "the target release blocks scrapes of Longhorn's own metrics from other namespaces"
        fix "Add a NetworkPolicy of your own that admits your Prometheus, or set networkPolicies.restrictInternalTraffic to false."
        read "kubectl -n <namespace> get networkpolicies"
        source "longhorn v1.12.1 chart/templates/network-policies, deploy/longhorn.yaml; issues 13438, 13740"
        needs [NetworkPolicies, Pods] EachStep(installed::metrics_cut_off);
    STORAGE_CLASS = Note "storage_class_changed" "StorageClass longhorn was changed by hand, and managers will revert that"
        fix "Make the change in Helm values persistence.* or in another StorageClass: managers recreate this one when ConfigMap longhorn-storageclass changes."
        read "kubectl get storageclass longhorn -o yaml"
        source "longhorn-manager v1.3.3 to v1.12.1 controller/kubernetes_configmap_controller.go (needToUpdateStorageClass)"
        needs [StorageClasses] Now(installed::storage_class);
    RENDERED = Note "rendered" "a tool other than Helm rendered the chart"
        fix "Upgrade with the tool that rendered the chart (such as helm template): helm upgrade finds no release."
        source "Helm 3.2 and later (annotation meta.helm.sh/release-name)"
        needs [Applications] Now(installed::rendered);
    NO_WAY_BACK = Note "no_backup_target" "the cluster lacks a backup target"
        fix "Configure a backup target and take a system backup first: that is the only way back."
        source "Longhorn documentation, upgrade; longhorn-manager v1.5.0 upgrade/util/util.go"
        needs [BackupTargets, Settings] Now(cluster_state::no_backup_target);
    ORPHANS = Note "orphans" "orphaned data or processes are left on nodes"
        fix "Delete the orphans whose data no one needs."
        read "kubectl -n <namespace> get orphans.longhorn.io"
        source "longhorn-manager v1.12.1 controller/orphan_controller.go"
        needs [Orphans] Now(cluster_state::orphans);
    MANAGERS_OLD = NotYet "managers_old" "some managers are outdated or not Ready"
        fix "Find out why these manager pods are outdated or not Ready. The upgrade is complete once all managers run \
             one release and are Ready."
        read "kubectl -n <namespace> get pods -l app=longhorn-manager -o wide"
        source "longhorn-manager v1.12.1 upgrade/upgrade.go"
        needs [Settings, Pods, DaemonSets] After(after::managers_old);
    DEFINITIONS_LEFT = NotYet "definitions_left" "CustomResourceDefinitions and managers are from different releases, so the API server drops \
                                                  new fields"
        fix "Apply the CustomResourceDefinitions of <to> again. If the API server rejects spec.conversion, remove it \
             from these CustomResourceDefinitions first."
        read "kubectl get crds -l longhorn-manager -o \
            custom-columns=NAME:.metadata.name,RELEASE:.metadata.labels.app\\.kubernetes\\.io/version,CONVERSION:.spec.conversion.strategy"
        source "longhorn v1.9.2 and v1.10.2 deploy/longhorn.yaml applied to a real API server, after a downgrade that managers refused"
        needs [CustomResourceDefinitions, Settings] After(after::definitions_left);
    UNWELL_AFTER = NotYet "unwell_after" "`check` has findings about managers, webhooks or drivers"
        fix "Fix the findings of `check` first: the upgrade is not complete until managers and webhooks are working."
        read "longhorn-health-exporter check"
        source "the checks of this program"
        needs [] After(cluster_state::unwell);
    METRICS_DARK = Note "metrics_dark" "Longhorn's own metrics cannot be scraped from other namespaces"
        fix "Add a NetworkPolicy of your own that admits your Prometheus, or set networkPolicies.restrictInternalTraffic to false."
        read "kubectl -n <namespace> get networkpolicies"
        source "longhorn v1.12.1 chart/templates/network-policies; issues 13740, 13947"
        needs [NetworkPolicies, Pods] After(installed::metrics_dark);
    ENGINES_LEFT = Note "engines_left" "volumes are still using an older engine"
        fix "Upgrade these volumes' engines in Longhorn's UI, or set concurrent-automatic-engine-upgrade-per-node-limit above 0. Detach strict-local \
             and standby volumes first."
        read "kubectl -n <namespace> get engineimages.longhorn.io"
        source "longhorn-manager v1.12.1 controller/engine_image_controller.go"
        needs [EngineImages, Settings, Volumes] After(after::engines_left);
    MANAGERS_LEFT = Note "instance_managers_left" "old instance managers are still running"
        fix "Detach the volumes that use these instance managers, or move their engines and replicas to other nodes. \
             Longhorn removes an old instance manager once it is empty."
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
        Some(to) if path(installed, to) == Path::Same => format!("Is the upgrade to Longhorn {to} complete?"),
        Some(to) => format!("Can Longhorn {installed} be upgraded to {to}?"),
        None => format!("Can Longhorn {installed} be upgraded, and by which steps?"),
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
    reason.fix(
        "Grant the permission to read settings and DaemonSets in Longhorn's namespace (docs/access.md).",
    );
    let to = asked.to.map_or_else(|| "the next release".to_owned(), |to| to.to_string());
    let part = Part::of(format!("to {to}"), found.filled(&[]), Vec::new());
    let question = format!("Can Longhorn be upgraded to {to}?");
    let answer = "the installed release is unknown".to_owned();
    looked.plan("upgrade", question, part.verdict, answer, vec![part])
}
