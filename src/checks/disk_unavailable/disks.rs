//! Disks whose condition Ready is False.

use jiff::{SignedDuration, Timestamp};

use super::causes;
use super::conditions::said as said_of;
use crate::check::*;
use crate::facts::age::{Begun, Unknown, observe};
use crate::facts::patience::NODE_AWAY;
use crate::facts::{api, nodes, text};
use crate::longhorn::{Condition, ConditionStatus, DiskSpec, DiskStatus, LonghornNode, condition};

/// For so long multipathd counts as new on a node.
const RECENT: SignedDuration = SignedDuration::from_hours(7 * 24);

/// A disk of a node, wanted and as it is.
pub(super) struct Disk<'a> {
    pub node: &'a LonghornNode,
    pub name: &'a str,
    pub spec: &'a DiskSpec,
    pub status: &'a DiskStatus,
}

impl Disk<'_> {
    /// True unless Longhorn says that it is not; a disk that was just added has no condition yet.
    pub fn is_ready(&self) -> bool {
        condition(&self.status.conditions, "Ready")
            .is_none_or(|ready| matches!(ready.status, ConditionStatus::True | ConditionStatus::Unset))
    }

    /// Where it is mounted.
    fn path(&self) -> &str {
        match self.spec.path.trim_end_matches('/') {
            "" => "its path",
            path => path,
        }
    }

    /// True for one that is named by the address of its device, as `0000:2a:00.0`.
    fn is_pci(&self) -> bool {
        let path = self.path();
        path.matches(':').count() == 2
            && path.chars().all(|c| c.is_ascii_hexdigit() || matches!(c, ':' | '.'))
    }

    pub fn node_name(&self) -> &str {
        &self.node.metadata.name
    }

    /// Volumes with a replica on it. `scheduledReplica` is empty while it is not ready.
    pub fn volumes(&self, cluster: &Cluster) -> Vec<VolumeRef> {
        let uuid = self.status.disk_uuid.as_str();
        let replicas = cluster.replicas_on_disk(uuid).filter(|_| !uuid.is_empty());
        cluster.volume_refs(replicas.map(|replica| replica.spec.volume_name.as_str()))
    }

    pub fn finding(&self, cluster: &Cluster, cause: &'static Cause, message: String) -> Finding {
        let node = self.node_name();
        let object = cluster.object::<LonghornNode>(node);
        Finding::about(cause, object, message)
            .node(node)
            .disk(self.name)
            .with(Name::Value, self.path())
            .with(Name::Key, self.name.replace('.', "\\."))
    }
}

pub(super) fn run(cluster: &Cluster, out: &mut Outcome, disk: &Disk) {
    let Some(ready) = condition(&disk.status.conditions, "Ready") else { return };
    let Some(cause) = cause(ready) else { return };
    let object = format!("{}/{}", disk.node_name(), disk.name);
    // of a node that was away the time is that of its going
    let since = ready.last_transition_time.get();
    let since = since.map(|since| nodes::not_before_return(cluster, disk.node_name(), since));
    let age = observe(cluster, out, cause.id, &object, Begun::At(since));
    // another disk at the path does not go away by itself, unless the node is back so lately that its mounts may be missing
    let is_definite = [&causes::DISK_UUID_MISMATCH, &causes::FILE_SYSTEM_SHARED].contains(&cause)
        && nodes::ready_since(cluster, disk.node_name()).is_some_and(|back| cluster.age(back) >= NODE_AWAY);
    let patience = if is_definite { SignedDuration::ZERO } else { NODE_AWAY };
    // a node that is down or restarts has its own finding, and its disks come back with it
    if !age.at_least(patience, Unknown::Counts) || nodes::down(cluster, disk.node_name()).is_some() {
        return;
    }
    let volumes = disk.volumes(cluster);
    let alone = alone(cluster, disk);
    let shut_down = nodes::file_system_trouble(cluster, disk.node_name());
    let recreated = recreated(cluster, disk).filter(|_| cause == &causes::DISK_UUID_MISMATCH);
    let way = match recreated {
        Some(_) => Some(&causes::NODE_RECREATED),
        None => way(cluster, disk, (cause, &ready.message), since, shut_down.is_some()),
    };
    let why = way.map_or_else(|| of_it(cause), |way| way.briefly.to_owned());
    let mut finding = disk
        .finding(cluster, cause, format!("disk {} on {} is unusable: {why}", disk.name, disk.node_name()))
        .way(way)
        .facts(recreated)
        .since(since)
        .impact(impact(&volumes, &alone))
        .fact(
            api(format!(
                "the disk's condition Ready is False, reason {}: \"{}\"",
                ready.reason,
                text::shortened(ready.message.trim(), 400)
            ))
            .quoting(&ready.message),
        );
    let node = format!("node {}", disk.node_name());
    finding = finding.facts(shut_down.map(|said| api(said_of(&node, said)).quoting(&said.message)));
    finding = finding.facts(
        nodes::manager_not_ready(cluster, disk.node_name())
            .map(|trouble| format!("the condition is perhaps outdated: {trouble}")),
    );
    out.report(finding.volumes(volumes));
}

fn way(
    cluster: &Cluster,
    disk: &Disk,
    (cause, message): (&Cause, &str),
    since: Option<Timestamp>,
    has_shut_down: bool,
) -> Option<&'static Way> {
    if cause == &causes::DISK_UUID_MISMATCH {
        return swapped(disk).or_else(|| wiped(cluster, disk)).or_else(|| held(disk, since));
    }
    if cause == &causes::DISK_NOT_READY && message.contains("current state: creating") {
        return Some(&causes::V2_CREATING);
    }
    (cause == &causes::DISK_UNREADABLE).then_some(match () {
        () if has_failed_device(disk) => &causes::DEVICE_FAILED,
        () if disk.is_pci() && message.contains("hugepages") => &causes::NO_HUGE_PAGES,
        () if disk.is_pci() => &causes::NO_DEVICE,
        () if has_shut_down || message.contains("input/output error") => &causes::IO_ERRORS,
        () => return None,
    })
}

/// That Kubernetes' node is younger than Longhorn's by more than the time that both are made in: another machine of the same name.
fn recreated(cluster: &Cluster, disk: &Disk) -> Option<String> {
    const TOGETHER: SignedDuration = SignedDuration::from_hours(1);
    let kube = cluster.objects.kube_nodes.get(disk.node_name())?.metadata.created()?;
    let known = disk.node.metadata.created()?;
    (kube.duration_since(known) > TOGETHER).then(|| {
        format!("node {} was created in Kubernetes at {kube}, and in Longhorn at {known}", disk.node_name())
    })
}

/// The way in which several disks of a node came in each other's place: their devices' names, as /dev/nvme1n1, which a restart can exchange,
/// or what is mounted at their paths.
fn swapped(disk: &Disk) -> Option<&'static Way> {
    let of_device = |path: &str| path.starts_with("/dev/") && !path.starts_with("/dev/disk/");
    let here = of_device(&disk.spec.path);
    let alike = disk.node.spec.disks.iter().filter(|(_, spec)| of_device(&spec.path) == here);
    let now = alike.filter_map(|(name, _)| disk.node.status.disk_status.get(name));
    let ready = now.filter_map(|status| condition(&status.conditions, "Ready"));
    let wrong = ready.filter(|ready| cause(ready) == Some(&causes::DISK_UUID_MISMATCH)).count();
    let way = if here { &causes::DEVICES_SWAPPED } else { &causes::MOUNTS_SWAPPED };
    (wrong > 1).then_some(way)
}

/// That Longhorn saw multipathd on the node for the first time in the week before its disk was missing.
fn held(disk: &Disk, since: Option<Timestamp>) -> Option<&'static Way> {
    let seen = condition(&disk.node.status.conditions, "Multipathd")?;
    let lately = seen.last_transition_time.get().zip(since);
    let lately = lately.is_some_and(|(seen, since)| since >= seen && since.duration_since(seen) < RECENT);
    (seen.status == ConditionStatus::False && lately).then_some(&causes::HELD)
}

/// A disk of Talos' partition EPHEMERAL, which an upgrade without `--preserve` formats.
fn wiped(cluster: &Cluster, disk: &Disk) -> Option<&'static Way> {
    let node = cluster.objects.kube_nodes.get(disk.node_name())?;
    (node.is_talos() && disk.spec.path.starts_with("/var/lib/")).then_some(&causes::WIPED)
}

fn has_failed_device(disk: &Disk) -> bool {
    disk.status.health_data.values().any(|health| health.health_status == "FAILED")
}

/// Devices that say that they fail, as longhorn-manager last asked them (v1.11.0 to v1.12.1 controller/monitor/disk_utils.go getDiskHealth:
/// smartctl for file systems and AIO, SPDK's health page for NVMe; k8s/pkg/apis/longhorn/v1beta2/node.go HealthDataStatusFailed). WARNING
/// counts media errors that were corrected, and UNKNOWN is a device that does not tell.
pub(super) fn find_failing(cluster: &Cluster, out: &mut Outcome, disk: &Disk) {
    let failing = disk.status.health_data.iter().filter(|(_, health)| health.health_status == "FAILED");
    let said: Vec<String> = failing
        .map(|(device, health)| {
            let what = [&health.model_name, &health.serial_number].map(|text| text.as_str().trim()).join(" ");
            let what = text::shortened(what.trim(), 100);
            format!("{} reports {device} ({what}) as failed (healthStatus is FAILED)", health.source)
        })
        .collect();
    if said.is_empty() {
        return;
    }
    let volumes = disk.volumes(cluster);
    let alone = alone(cluster, disk);
    let which = match said.len() {
        1 => "its device reports".to_owned(),
        count => format!("{count} of its devices report"),
    };
    let message = format!("disk {} on {} is failing: {which} health FAILED", disk.name, disk.node_name());
    let finding = disk.finding(cluster, &causes::DISK_FAILING, message).impact(at_stake(&volumes, &alone));
    out.report(said.into_iter().fold(finding, |finding, fact| finding.fact(fact)).volumes(volumes));
}

/// The meaning of a cause behind a headline that has named the disk.
fn of_it(cause: &Cause) -> String {
    cause.meaning.replace("the disk's ", "its ").replace("the disk ", "it ")
}

/// What a device that still works takes with it.
fn at_stake(volumes: &[VolumeRef], alone: &[String]) -> String {
    match (volumes.len(), alone.len()) {
        (0, _) => "none yet: the disk holds no replica".to_owned(),
        (all, 0) => format!("none yet: {} would lose a replica if this disk failed", counted(all, "volume")),
        _ => {
            format!("none yet, but these volumes lose their data if this disk fails: {}", text::listed(alone))
        }
    }
}

/// Ready disks of several nodes with one UUID: Longhorn keeps it in longhorn-disk.cfg, which goes along when a machine is
/// cloned, and asks for the replicas of a disk by it alone (longhorn issues 9586 and 14032; longhorn-manager v1.3.3 to v1.12.1
/// datastore/longhorn.go ListReplicasByDiskUUID, controller/node_controller.go updateDiskStatusSchedulableCondition). So none of
/// them can be removed from its node while one has replicas (webhook/resources/node/validator.go), unless its file has another
/// UUID: such a disk is not ready and counts none (findNotReadyAndReadyDiskMaps). A node that is down may be the old name of
/// another.
pub(super) fn find_shared(cluster: &Cluster, out: &mut Outcome, disks: &[Disk]) {
    let uuid = disks.first().map_or("", |disk| disk.status.disk_uuid.as_str());
    if disks.len() < 2 || uuid.is_empty() {
        return;
    }
    let mut nodes: Vec<&str> =
        disks.iter().map(Disk::node_name).filter(|node| nodes::down(cluster, node).is_none()).collect();
    nodes.dedup();
    // a clone is younger than what it was made from
    let created = |disk: &&Disk| cluster.objects.kube_nodes.get(disk.node_name())?.metadata.created();
    let oldest = disks.iter().filter(|disk| nodes.contains(&disk.node_name())).min_by_key(created);
    let (Some(disk), true) = (oldest, nodes.len() > 1) else { return };
    let name = disk.node_name();
    let names = text::listed(&nodes).replacen(", ", " and ", usize::from(nodes.len() == 2));
    let object = cluster.object::<LonghornNode>(name);
    out.report(
        Finding::about(&causes::DISK_UUID_SHARED, object, format!("disks on {names} have the same UUID"))
            .node(name)
            .disk(disk.name)
            .impact("Longhorn confuses these disks: it counts replicas on the wrong node and keeps moving or rebuilding them")
            .fact(format!("{} report the same diskUUID in status.diskStatus: {uuid}", counted(nodes.len(), "node")))
            .volumes(disk.volumes(cluster))
            .with(Name::Value, uuid),
    );
}

/// The cause by reason and message; `None` where the condition repeats what the node says.
fn cause(ready: &Condition) -> Option<&'static Cause> {
    let says = |part: &str| ready.message.contains(part);
    Some(match ready.reason.as_str() {
        "NodeNotReady" => return None,
        "DiskFilesystemChanged" if says("same file system ID") => &causes::FILE_SYSTEM_SHARED,
        "DiskFilesystemChanged" if says("record diskUUID doesn't match") => &causes::DISK_UUID_MISMATCH,
        "DiskFilesystemChanged" => &causes::FILE_SYSTEM_CHANGED,
        _ if ready.message.to_ascii_lowercase().contains("read-only file system") => {
            &causes::FILE_SYSTEM_READ_ONLY
        }
        // SPDK makes block disks one after the other once its instance manager runs (longhorn-manager v1.10.0 and v1.11.1
        // controller/monitor/disk_monitor.go; issue 12837)
        "NoDiskInfo" if says("current state: ") => &causes::DISK_NOT_READY,
        "NoDiskInfo" => &causes::DISK_UNREADABLE,
        "DiskServiceUnreachable" => &causes::DISK_SERVICE_UNREACHABLE,
        _ => &causes::DISK_NOT_READY,
    })
}

/// Volumes none of whose other replicas is usable.
pub(super) fn alone(cluster: &Cluster, disk: &Disk) -> Vec<String> {
    let uuid = disk.status.disk_uuid.as_str();
    let is_good = |replica: &&crate::longhorn::Replica| {
        replica.spec.disk_id != uuid && replica.spec.healthy_at.is_set() && !replica.spec.failed_at.is_set()
    };
    let volumes = disk.volumes(cluster).into_iter();
    volumes
        .filter(|volume| !cluster.replicas_of(&volume.name).any(|r| is_good(&r)))
        .map(|volume| volume.name)
        .collect()
}

fn impact(volumes: &[VolumeRef], alone: &[String]) -> String {
    if volumes.is_empty() {
        return "none yet: the disk holds no replica".to_owned();
    }
    let number = counted(volumes.len(), "volume");
    let (volume, has) = if alone.len() == 1 { ("volume", "has") } else { ("volumes", "have") };
    match alone.is_empty() {
        true => format!("replicas of {number} on this disk are unavailable until the disk is back"),
        false => format!(
            "replicas of {number} are unavailable, and {volume} {} {has} no other usable copy. Do not remove the disk",
            text::listed(alone)
        ),
    }
}
