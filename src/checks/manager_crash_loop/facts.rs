//! Facts of the API that speak for one cause of a manager's crash. Each is `None` when the fact
//! does not hold, and a sentence when it does.

use jiff::SignedDuration;

use crate::check::*;
use crate::cluster::Readability;
use crate::facts::start::marks;
use crate::facts::text::{listed, quoted};
use crate::facts::{endpoints, probes};
use crate::longhorn::{ConditionStatus, Container, DISTRO_VARIABLE, Pod, Release, Resource, condition};

/// Name of the Service that a starting manager waits for.
const ADMISSION_SERVICE: &str = "longhorn-admission-webhook";
/// An event older than this says nothing about the loop at hand.
const RECENT: SignedDuration = SignedDuration::from_mins(30);

/// Flags that longhorn-manager requires (app/daemon.go of the tag), with the release from which on.
const FLAGS: [(&str, Release); 7] = [
    ("--engine-image", Release::new(1, 3, 0)),
    ("--instance-manager-image", Release::new(1, 3, 0)),
    ("--share-manager-image", Release::new(1, 3, 0)),
    ("--backing-image-manager-image", Release::new(1, 3, 0)),
    ("--manager-image", Release::new(1, 3, 0)),
    ("--service-account", Release::new(1, 3, 0)),
    ("--support-bundle-manager-image", Release::new(1, 4, 0)),
];

/// The one that a manifest of this release or later gives and an earlier image does not know (longhorn-manager
/// v1.6.0 app/daemon.go; longhorn v1.6.0 deploy/longhorn.yaml).
const UPGRADE_CHECK: (&str, Release) = ("--upgrade-version-check", Release::new(1, 6, 0));

/// Environment variables that longhorn-manager requires, with the release from which on.
const VARIABLES: [(&str, Release); 3] = [
    ("NODE_NAME", Release::new(1, 3, 0)),
    ("POD_IP", Release::new(1, 3, 0)),
    ("POD_NAME", Release::new(1, 7, 0)),
];

/// Seconds for which a start waits for the webhook; `None` up to 1.4, which has webhook pods of
/// their own.
pub fn webhook_timeout(release: Option<Release>) -> Option<i64> {
    // an unknown release waits at least this long
    release.map_or(Some(60), Release::webhook_wait)
}

/// A flag or variable that the release requires and the pod does not have.
pub fn missing_in_manifest(cluster: &Cluster, pod: &Pod, release: Option<Release>) -> Option<String> {
    let release = release?;
    let container = pod.spec.container(super::CONTAINER).or_else(|| cluster.manager_container())?;
    let has_flag = |flag: &str| has_flag(container, flag);
    // pods of another command line than the shipped one cannot be judged by flags
    if is_shipped_command(container)
        && let Some((flag, _)) = FLAGS.iter().find(|(flag, since)| release >= *since && !has_flag(flag))
    {
        return Some(format!("container longhorn-manager has no flag {flag}, which {release} requires"));
    }
    for (flag, since) in FLAGS.iter().chain([&UPGRADE_CHECK]) {
        if release < *since && has_flag(flag) {
            return Some(format!(
                "container longhorn-manager has flag {flag}, which {release} does not know"
            ));
        }
    }
    let has_variable = |name: &str| container.env.iter().any(|variable| variable.name == name);
    let (name, _) = VARIABLES
        .iter()
        .filter(|_| !container.env.is_empty())
        .find(|(name, since)| release >= *since && !has_variable(name))?;
    Some(format!("container longhorn-manager has no variable {name}, which {release} requires"))
}

/// The port in the error of Go's `net.Listen`: `listen tcp :9502: bind: address already in use`.
pub fn port_in(line: &str) -> Option<u16> {
    let (_, rest) = line.split_once("listen tcp ")?;
    let (address, _) = rest.split_once(": bind: address already in use")?;
    address.rsplit(':').next()?.parse().ok()
}

/// Other containers of the pod that say that they use a port.
pub fn also_on(pod: &Pod, port: u16) -> impl Iterator<Item = String> {
    let others = pod.spec.containers.iter().filter(|container| container.name != super::CONTAINER);
    others
        .filter(move |container| container.ports.iter().any(|one| one.container_port.0 == i64::from(port)))
        .map(move |container| format!("container {} of the same pod also uses port {port}", container.name))
}

/// Longhorn nodes whose disks differ in spec and status. The validator refuses every change of them, which an upgrade
/// makes (longhorn-manager v1.4.4 webhook/resources/node/validator.go Update).
pub fn unsynced_disks(cluster: &Cluster, pod: &Pod) -> Option<String> {
    let installed = cluster.installed()?;
    let image = Release::from_image(&pod.spec.container(super::CONTAINER)?.image)?;
    if installed >= image || !image.at_least(1, 4, 4) {
        return None;
    }
    let node = cluster.objects.longhorn_nodes.iter().find(|node| {
        let wanted = node.spec.disks.keys().filter(|name| !node.status.disk_status.contains_key(name));
        let left = node.status.disk_status.keys().filter(|name| !node.spec.disks.contains_key(name));
        wanted.chain(left).next().is_some()
    })?;
    Some(format!(
        "the disks of nodes.longhorn.io {} differ between spec and status, so the webhook rejects the upgrade's change ({installed} to {image})",
        node.metadata.name
    ))
}

/// A webhook configuration of Longhorn sends the API server into another namespace, where no manager of this one answers.
pub fn foreign_configuration(cluster: &Cluster) -> Option<String> {
    cluster.webhook_configurations().into_iter().find_map(|(_, name, webhooks)| {
        let foreign = webhooks?.iter().find_map(|webhook| webhook.foreign_service(&cluster.namespace))?;
        Some(format!(
            "{name} calls Service {} in namespace {}, but Longhorn is in {}",
            foreign.name, foreign.namespace, cluster.namespace
        ))
    })
}

/// An Event in Longhorn's namespace says that the API server could not call Longhorn's webhook.
pub fn failed_call(cluster: &Cluster) -> Option<String> {
    let event = cluster.objects.events.iter().find(|event| {
        event.message.contains("failed calling webhook")
            && event.message.contains(".longhorn.io")
            && event.last_seen().is_some_and(|seen| cluster.age(seen) < RECENT)
    })?;
    Some(format!("Event {}: {}", event.reason, quoted(&event.message)))
}

fn words(container: &Container) -> impl Iterator<Item = &str> {
    container.command.iter().chain(&container.args).map(|text| text.as_str())
}

fn is_shipped_command(container: &Container) -> bool {
    words(container).any(|word| word == "daemon")
}

fn has_flag(container: &Container, flag: &str) -> bool {
    words(container)
        .any(|word| word == flag || word.strip_prefix(flag).is_some_and(|rest| rest.starts_with('=')))
}

/// True when a start looks at the step that an upgrade makes: always in 1.5, from 1.6 on with a flag,
/// and not before (longhorn-manager v1.4.4, v1.5.5, v1.6.4 upgrade/upgrade.go Upgrade).
fn checks_upgrade_path(container: &Container, image: Release) -> bool {
    match image.at_least(1, 6, 0) {
        true => !is_shipped_command(container) || has_flag(container, "--upgrade-version-check"),
        false => image.at_least(1, 5, 0),
    }
}

/// From 1.12.0 on a build may allow two minor releases at once to distributions that it names; Longhorn's own names none, and its
/// manifest says `longhorn` (longhorn-manager v1.12.0 upgrade/util/util.go isTwoMinorUpgradeDistroEnabled, meta/version.go
/// TwoMinorUpgradeDistros; longhorn v1.12.1 deploy/longhorn.yaml).
fn may_skip_a_minor(container: &Container, image: Release) -> bool {
    let distro = container.env.iter().find(|variable| variable.name == DISTRO_VARIABLE);
    let foreign = distro.is_some_and(|distro| !matches!(distro.value.trim(), "" | "longhorn"));
    foreign && image.at_least(1, 12, 0)
}

/// The installed release and that of the image, where a start compares them.
fn upgrade<'a>(cluster: &Cluster, pod: &'a Pod) -> Option<(Release, Release, &'a Container)> {
    let installed = cluster.installed()?;
    let container = pod.spec.container(super::CONTAINER)?;
    let image = Release::from_image(&container.image)?;
    checks_upgrade_path(container, image).then_some((installed, image, container))
}

/// A step between the installed release and that of the image which Longhorn refuses, for a headline and as a fact
/// (longhorn-manager v1.12.1 upgrade/util/util.go CheckUpgradePath).
pub fn upgrade_gap(cluster: &Cluster, pod: &Pod) -> Option<(String, String)> {
    let (installed, image, container) = upgrade(cluster, pod)?;
    let furthest = installed.minor + if may_skip_a_minor(container, image) { 2 } else { 1 };
    let numbers = |release: Release| (release.major, release.minor, release.patch);
    let (headline, why) = if image.major == installed.major && image.minor > furthest {
        (format!("cannot go from {installed} to {image}"), "an upgrade that skips a minor release")
    } else if numbers(image) < numbers(installed) {
        (format!("the downgrade to {image} is rejected"), "a downgrade")
    } else {
        return None;
    };
    Some((
        headline,
        format!("{installed} is installed and the pod's image is {image}: Longhorn rejects {why}"),
    ))
}

/// Settings whose value is one by data engine, as 1.10 and later write them. Releases before take it as it is, and from 1.5 on the report of
/// usage makes a field's name of what volumes inherit, which ends a manager (longhorn-manager v1.5.5 to v1.9.2
/// controller/setting_controller.go collectSettingInVolume, util/struct.go NewStruct).
pub fn newer_settings(cluster: &Cluster, release: Option<Release>) -> Option<String> {
    let older = release.is_some_and(|release| !release.at_least(1, 10, 0));
    let names: Vec<&str> = by_engine(cluster).map(|(name, _)| name).collect();
    (older && !names.is_empty())
        .then(|| format!("these settings have one value per data engine: {}", listed(&names)))
}

/// The settings whose value is one by data engine, with what they have for v1.
pub fn by_engine(cluster: &Cluster) -> impl Iterator<Item = (&str, String)> {
    #[derive(serde::Deserialize)]
    struct ByEngine {
        v1: String,
    }
    cluster.objects.settings.iter().filter_map(|setting| {
        let value: ByEngine = serde_json::from_str(&setting.value).ok()?;
        // it stands between quotes in a command
        (!value.v1.contains('\'')).then_some((setting.metadata.name.as_str(), value.v1))
    })
}

/// An engine image in use that is called incompatible while an upgrade is under way; afterwards it
/// stops volumes but not the manager. Looked at from 1.6 on, as the upgrade path is.
pub fn incompatible_engine(cluster: &Cluster, pod: &Pod) -> Option<String> {
    let (installed, image, _) = upgrade(cluster, pod)?;
    let numbers = |release: Release| (release.major, release.minor, release.patch);
    if !image.at_least(1, 6, 0) || numbers(image) == numbers(installed) {
        return None;
    }
    let mut images = cluster.objects.engine_images.iter();
    let image = images.find(|image| image.status.incompatible && image.status.ref_count.0 > 0)?;
    Some(format!("engine image {} is in use and incompatible", image.spec.image))
}

/// A kind of this release that the API server does not serve.
pub fn missing_kind(cluster: &Cluster, release: Option<Release>) -> Option<String> {
    let (release, kind) = release.zip(marks::kind_not_served(cluster, release))?;
    Some(format!("the API server does not serve {kind}, which {release} needs"))
}

/// A manager pod with another image than this one.
pub fn other_manager_image(cluster: &Cluster, pod: &Pod) -> Option<String> {
    let image = &pod.spec.container(super::CONTAINER)?.image;
    let other = cluster.manager_pods().find(|other| {
        other.spec.container(super::CONTAINER).is_some_and(|container| &container.image != image)
    })?;
    let image = &other.spec.container(super::CONTAINER)?.image;
    let node = &other.spec.node_name;
    Some(format!("manager pod {} on {node} still runs {image}", other.metadata.name))
}

/// Longhorn's own verdict on the packages of the host, from 1.7 on. It is at most 30 minutes old
/// while the manager runs, and older here.
pub fn iscsi_condition(cluster: &Cluster, node: &str) -> Option<String> {
    let node = cluster.objects.longhorn_nodes.get(node)?;
    let packages = condition(&node.status.conditions, "RequiredPackages")?;
    let missing = packages.status == ConditionStatus::False && packages.message.contains("iscsi");
    missing.then(|| format!("the node's condition RequiredPackages is False: {}", quoted(&packages.message)))
}

/// A node that runs a manager pod but never got as far as its Longhorn node, which a manager makes
/// at the end of its start (longhorn-manager v1.12.1 app/daemon.go startManager).
pub fn unregistered(cluster: &Cluster, node: &str) -> Option<String> {
    if node.is_empty()
        || !cluster.knows_all(Resource::LonghornNodes)
        || cluster.objects.longhorn_nodes.get(node).is_some()
    {
        return None;
    }
    // a recording without Longhorn nodes, but with an instance manager there, is merely incomplete
    if cluster.instance_managers_on(node).next().is_some() {
        return None;
    }
    Some(format!("nodes.longhorn.io {node} is missing, so no manager has ever finished its startup there"))
}

/// The admission Service has no ready endpoint. Says nothing where endpoints cannot be read or
/// were not recorded.
pub fn no_webhook_endpoint(cluster: &Cluster) -> Option<String> {
    if cluster.readability(Resource::EndpointSlices) != Readability::Readable {
        return None;
    }
    let ready = endpoints::of(cluster, ADMISSION_SERVICE).is_some_and(|endpoints| endpoints.ready > 0);
    (!ready).then(|| format!("Service {ADMISSION_SERVICE} has no ready endpoint"))
}

/// A recent event about a failed readiness probe of this pod.
pub fn readiness_failure(cluster: &Cluster, pod: &Pod) -> Option<String> {
    let mut failures = probes::readiness_failures(cluster, pod);
    let event = failures.find(|event| event.last_seen().is_some_and(|seen| cluster.age(seen) < RECENT))?;
    Some(format!(
        "Event Unhealthy, seen {}: {}",
        counted(event.occurrences(), "time"),
        quoted(&event.message)
    ))
}

/// True when the live DaemonSet has a probe by which the kubelet kills. No release ships one.
pub fn killing_probes(cluster: &Cluster) -> bool {
    cluster
        .manager_container()
        .is_some_and(|container| container.liveness_probe.is_some() || container.startup_probe.is_some())
}
