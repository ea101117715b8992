//! Why no disk takes another replica of a volume: the rules of Longhorn's scheduler, disk by disk.
//!
//! Facts (longhorn-manager v1.3.3, v1.5.5, v1.7.3, v1.9.2 and v1.12.1 scheduler/replica_scheduler.go
//! FindDiskCandidates, getDiskCandidates, filterNodeDisksForReplica, IsSchedulableToDisk; the arithmetic is the same in
//! all of them): a node must be Ready, Schedulable and allow scheduling, a disk the same and not be evicted, tags must
//! hold every selector of the volume, no other replica may be on the node (or in the zone, or on the disk) unless
//! anti-affinity is soft, and then both hold: `available - actual size > maximum * minimal-available%` and
//! `size + scheduled <= (maximum - reserved) * over-provisioning%`. Anti-affinity of a volume overrides the setting
//! since 1.5, that of disks exists since 1.6. Nodes without a zone count as one zone.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use super::releases::manager_release;
use crate::cluster::Cluster;
use crate::longhorn::{
    ConditionStatus, DataEngine, DataLocality, DiskSpec, DiskStatus, LonghornNode, Release, SharedText,
    Volume, condition, status,
};

/// What keeps a replica from a disk, from the far to the near.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Obstacle {
    /// Another replica of the volume is there, in the zone, or on the disk.
    AntiAffinity,
    /// The node is down, not Ready, cordoned, or takes no replicas.
    Node,
    /// Node or disk lack a tag that the volume selects.
    Tags,
    /// The disk is not Ready, takes no replicas, or is being emptied.
    Disk,
    /// Too little is free on the file system.
    Space,
    /// Too much is promised already.
    Provisioning,
}

/// A disk, or a node without disks, that cannot take a replica.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacementRefusal {
    /// What keeps the replica from it.
    pub obstacle: Obstacle,
    pub node: String,
    /// The disk; empty where it is the node.
    pub disk: String,
    /// Where and why, with the figures.
    pub text: String,
}

const NO_DISK: &str = "it has no disk";

impl PlacementRefusal {
    /// True where the node takes replicas and has nothing to put them on.
    pub fn is_for_want_of_disks(&self) -> bool {
        self.text.ends_with(NO_DISK)
    }
}

/// The numbers that the scheduler compares.
struct DiskLimits {
    over_provisioning: i64,
    minimal_available: i64,
    soft: SoftAntiAffinity,
    empty_node_selector: bool,
    empty_disk_selector: bool,
    /// Whether what refuses is put into words, which costs far more than to compare the figures.
    in_words: bool,
}

/// Where replicas of the volume are that count.
#[derive(Default)]
struct Taken<'a> {
    nodes: BTreeSet<&'a str>,
    zones: BTreeSet<&'a str>,
    disks: BTreeSet<&'a str>,
    /// Its failed replicas by disk, which count there until they are deleted.
    failed: BTreeMap<&'a str, &'a str>,
    /// By disk, bytes of its replicas on other disks of the node, where the release counts them on this one too.
    beside: BTreeMap<&'a str, i64>,
}

/// Why each disk cannot take another replica of the volume. `None` as soon as one can: then nothing stands in
/// the way that objects show.
pub fn refusals(cluster: &Cluster, volume: &Volume) -> Option<Vec<PlacementRefusal>> {
    refusals_without(cluster, volume, |_| false)
}

/// The same where some nodes take no replicas any more.
pub fn refusals_without(
    cluster: &Cluster,
    volume: &Volume,
    leaves: impl Fn(&str) -> bool,
) -> Option<Vec<PlacementRefusal>> {
    let limits = DiskLimits::of(cluster, volume);
    let taken = Taken::of(cluster, volume);
    let mut refusals = Vec::new();
    for node in cluster.objects.longhorn_nodes.iter() {
        let name = &node.metadata.name;
        let refuse = |obstacle, disk: &str, text: String| PlacementRefusal {
            obstacle,
            node: name.to_string(),
            disk: disk.to_owned(),
            text: format!("{name}: {text}"),
        };
        if leaves(name) {
            refusals.push(refuse(Obstacle::Node, "", "the node is being evicted".to_owned()));
            continue;
        }
        if let Some((obstacle, text)) = node_obstacle(node, volume, &limits, &taken) {
            refusals.push(refuse(obstacle, "", text));
            continue;
        }
        if node.spec.disks.is_empty() {
            refusals.push(refuse(Obstacle::Disk, "", NO_DISK.to_owned()));
        }
        for (disk, spec) in &node.spec.disks {
            let status = node.status.disk_status.get(disk);
            let (obstacle, text) = disk_obstacle(spec, status, volume, &limits, &taken)?;
            refusals.push(refuse(obstacle, disk, format!("disk {disk}: {text}")));
        }
    }
    Some(refusals)
}

/// For each node whether one of its disks would take another replica of the volume, and else what comes nearest.
pub struct Places<'a>(Vec<(&'a str, Option<Obstacle>)>);

/// Looks at every node once, for questions about many sets of nodes that leave.
pub fn places<'a>(cluster: &'a Cluster, volume: &Volume) -> Places<'a> {
    let limits = DiskLimits { in_words: false, ..DiskLimits::of(cluster, volume) };
    let taken = Taken::of(cluster, volume);
    let obstacle = |node: &LonghornNode| {
        if let Some((obstacle, _)) = node_obstacle(node, volume, &limits, &taken) {
            return Some(obstacle);
        }
        let mut nearest = None;
        for (disk, spec) in &node.spec.disks {
            let status = node.status.disk_status.get(disk);
            nearest = nearest.max(Some(disk_obstacle(spec, status, volume, &limits, &taken)?.0));
        }
        nearest.or(Some(Obstacle::Disk))
    };
    let nodes = cluster.objects.longhorn_nodes.iter();
    Places(nodes.map(|node| (node.metadata.name.as_str(), obstacle(node))).collect())
}

impl Places<'_> {
    /// `None` where a node that stays takes the replica; else what comes nearest on those that stay, if there are any.
    pub fn nearest_without(&self, leaves: impl Fn(&str) -> bool) -> Option<Option<Obstacle>> {
        let mut staying = self.0.iter().filter(|(node, _)| !leaves(node)).map(|(_, obstacle)| *obstacle);
        staying.try_fold(None, |nearest, obstacle| Some(nearest.max(Some(obstacle?))))
    }
}

/// What the scheduler would still promise on all disks of the other nodes, in bytes.
pub fn room_without(cluster: &Cluster, leaves: impl Fn(&str) -> bool) -> i64 {
    let percentage = cluster.setting_value("storage-over-provisioning-percentage", DataEngine::V1);
    let percentage: i64 = percentage.parse().unwrap_or(100);
    let takes = |node: &&LonghornNode| {
        let ready = status(&node.status.conditions, "Ready") == ConditionStatus::True;
        node.spec.allow_scheduling && ready && !leaves(&node.metadata.name)
    };
    let mut room: i64 = 0;
    for node in cluster.objects.longhorn_nodes.iter().filter(takes) {
        for (name, spec) in &node.spec.disks {
            let Some(now) = node.status.disk_status.get(name) else { continue };
            if !spec.allow_scheduling || spec.eviction_requested {
                continue;
            }
            // one that was not measured stands in no one's way, as for a single replica
            let space = DiskSpace::with(spec, now, 0, percentage);
            room = room.saturating_add(space.map_or(i64::MAX, |space| space.left()));
        }
    }
    room
}

/// What the scheduler may promise at most on one disk of the cluster, whatever is there now; 0 where none was measured.
pub fn most_of_a_disk(cluster: &Cluster) -> i64 {
    let percentage = cluster.setting_value("storage-over-provisioning-percentage", DataEngine::V1);
    let percentage: i64 = percentage.parse().unwrap_or(100);
    let nodes = cluster.objects.longhorn_nodes.iter();
    let disks = nodes.flat_map(|node| node.spec.disks.iter().map(move |(name, spec)| (node, name, spec)));
    let most = disks.filter_map(|(node, name, spec)| {
        Some(DiskSpace::with(spec, node.status.disk_status.get(name)?, 0, percentage)?.most())
    });
    most.max().unwrap_or_default()
}

/// The obstacle to remove first: that of the disk which comes nearest. What lies on nodes with a replica
/// counts only where there is nothing else.
pub fn nearest(refusals: &[PlacementRefusal]) -> Option<Obstacle> {
    refusals.iter().map(|refusal| refusal.obstacle).max()
}

/// A failed replica of the volume but for which its disk could take another one: it counts there until it is deleted, as
/// long as it is not used again (longhorn-manager v1.7.2 controller/node_controller.go updateDiskStatusSchedulableCondition).
pub fn in_its_own_way<'a>(cluster: &'a Cluster, volume: &Volume) -> Option<&'a str> {
    let limits = DiskLimits::of(cluster, volume);
    let taken = Taken::of(cluster, volume);
    let failed = cluster.replicas_of(&volume.metadata.name).filter(|replica| replica.spec.failed_at.is_set());
    let mut failed = failed.filter(|replica| {
        let Some(node) = cluster.objects.longhorn_nodes.get(&replica.spec.node_id) else { return false };
        let on = |(_, status): &(&SharedText, &DiskStatus)| status.disk_uuid == replica.spec.disk_id;
        let Some((name, now)) = node.status.disk_status.iter().find(on) else { return false };
        let Some(spec) = node.spec.disks.get(name) else { return false };
        let mut without = now.clone();
        without.storage_scheduled.0 = now.storage_scheduled.0.saturating_sub(volume.spec.size.0);
        node_obstacle(node, volume, &limits, &taken).is_none()
            && space(spec, now, volume, &limits, &taken)
                .is_some_and(|(what, _)| what == Obstacle::Provisioning)
            && disk_obstacle(spec, Some(&without), volume, &limits, &taken).is_none()
    });
    failed.next().map(|replica| replica.metadata.name.as_str())
}

/// The node on which the volume alone may have its replica, for strict-local and for a local replica of
/// best-effort (longhorn-manager v1.12.1 controller/volume_controller.go reconcileVolumeCondition).
pub fn only_node<'a>(cluster: &'a Cluster, volume: &'a Volume) -> Option<&'a str> {
    let unplaced = |replica: &&crate::longhorn::Replica| replica.spec.node_id.is_empty();
    let wanted = cluster.replicas_of(&volume.metadata.name).filter(unplaced);
    let mut affinities = wanted.map(|replica| replica.spec.hard_node_affinity.as_str());
    let by_replica = affinities.find(|node| !node.is_empty());
    let strict = volume.spec.data_locality == DataLocality::StrictLocal && !volume.spec.node_id.is_empty();
    by_replica.or_else(|| strict.then_some(volume.spec.node_id.as_str()))
}

/// Where two replicas of a volume may be together, by the volume itself or else the settings.
#[derive(Debug, Clone, Copy)]
pub struct SoftAntiAffinity {
    /// On one node.
    pub nodes: bool,
    /// In one zone.
    pub zones: bool,
    /// On one disk.
    pub disks: bool,
}

impl SoftAntiAffinity {
    /// What holds for the volume.
    pub fn of(cluster: &Cluster, volume: &Volume) -> Self {
        // settings are booleans in words; one that is not there has its default
        let soft = |own: &str, setting, default: bool| match own {
            "enabled" => true,
            "disabled" => false,
            _ => cluster.setting_value(setting, DataEngine::V1).parse().unwrap_or(default),
        };
        let spec = &volume.spec;
        SoftAntiAffinity {
            nodes: soft(&spec.replica_soft_anti_affinity, "replica-soft-anti-affinity", false),
            zones: soft(&spec.replica_zone_soft_anti_affinity, "replica-zone-soft-anti-affinity", true),
            disks: soft(&spec.replica_disk_soft_anti_affinity, "replica-disk-soft-anti-affinity", true),
        }
    }
}

impl DiskLimits {
    fn of(cluster: &Cluster, volume: &Volume) -> Self {
        let value = |setting| cluster.setting_value(setting, DataEngine::V1);
        let number = |setting, default: i64| value(setting).parse().unwrap_or(default);
        let allowed = |setting| value(setting).parse().unwrap_or(true);
        DiskLimits {
            over_provisioning: number("storage-over-provisioning-percentage", 100),
            minimal_available: number("storage-minimal-available-percentage", 25),
            soft: SoftAntiAffinity::of(cluster, volume),
            empty_node_selector: allowed("allow-empty-node-selector-volume"),
            empty_disk_selector: allowed("allow-empty-disk-selector-volume"),
            in_words: true,
        }
    }
}

impl<'a> Taken<'a> {
    /// A failed replica is no longer in the way once Longhorn makes another in its place.
    fn of(cluster: &'a Cluster, volume: &Volume) -> Self {
        let mut taken = Taken::default();
        let twice = counts_twice(cluster);
        for replica in cluster.replicas_of(&volume.metadata.name) {
            let spec = &replica.spec;
            if spec.node_id.is_empty() || replica.metadata.is_deleting() {
                continue;
            }
            let node = cluster.objects.longhorn_nodes.get(&spec.node_id).filter(|_| twice);
            for disk in node.into_iter().flat_map(|node| node.status.disk_status.values()) {
                if disk.disk_uuid != spec.disk_id {
                    *taken.beside.entry(&disk.disk_uuid).or_default() += volume.spec.size.0.max(0);
                }
            }
            if spec.failed_at.is_set() {
                taken.failed.insert(&spec.disk_id, &replica.metadata.name);
                continue;
            }
            taken.nodes.insert(&spec.node_id);
            taken.disks.insert(&spec.disk_id);
            if let Some(node) = cluster.objects.longhorn_nodes.get(&spec.node_id) {
                taken.zones.insert(&node.status.zone);
            }
        }
        taken
    }
}

const COUNTED_TWICE: &str = "Longhorn issue 12653";

/// True where a disk refuses a replica for one that lies on another disk of its node.
pub fn is_counted_twice(refusals: &[PlacementRefusal]) -> bool {
    refusals.iter().any(|refusal| refusal.text.contains(COUNTED_TWICE))
}

/// True for releases whose scheduler counts a replica on every disk of its node (longhorn-manager v1.10.2 and v1.11.1
/// scheduler/replica_scheduler.go filterNodeDisksForReplica; longhorn issue 12653).
fn counts_twice(cluster: &Cluster) -> bool {
    let fixed = |release: Release| match (release.major, release.minor) {
        (1, 9) => release.at_least(1, 9, 5),
        (1, 10) => release.at_least(1, 10, 3),
        _ => release.at_least(1, 11, 1),
    };
    manager_release(cluster).is_some_and(|release| !fixed(release))
}

fn node_obstacle(
    node: &LonghornNode,
    volume: &Volume,
    limits: &DiskLimits,
    taken: &Taken,
) -> Option<(Obstacle, String)> {
    let spec = &volume.spec;
    let unmet = |kind: &str| {
        let found = condition(&node.status.conditions, kind);
        let reason = found.map(|found| found.reason.as_str()).filter(|reason| !reason.is_empty());
        (status(&node.status.conditions, kind) != ConditionStatus::True).then(|| {
            format!("the node is not {kind}{}", reason.map(|r| format!(" ({r})")).unwrap_or_default())
        })
    };
    if !limits.soft.nodes && taken.nodes.contains(node.metadata.name.as_str()) {
        return Some((Obstacle::AntiAffinity, "the node already has a replica of the volume".to_owned()));
    }
    if !limits.soft.zones && taken.zones.contains(node.status.zone.as_str()) {
        let zone = match node.status.zone.as_str() {
            "" => "nodes without a zone count as one zone, which".to_owned(),
            zone => format!("zone {zone}"),
        };
        return Some((Obstacle::AntiAffinity, format!("{zone} already has a replica of the volume")));
    }
    if let Some(unmet) = unmet("Ready").or_else(|| unmet("Schedulable")) {
        return Some((Obstacle::Node, unmet));
    }
    if !node.spec.allow_scheduling {
        return Some((Obstacle::Node, "scheduling is disabled".to_owned()));
    }
    let missing = missing_tags(&node.spec.tags, &spec.node_selector, limits.empty_node_selector)?;
    Some((Obstacle::Tags, format!("the node {missing}")))
}

fn disk_obstacle(
    disk: &DiskSpec,
    status_of: Option<&DiskStatus>,
    volume: &Volume,
    limits: &DiskLimits,
    taken: &Taken,
) -> Option<(Obstacle, String)> {
    let say = |obstacle, text: &str| Some((obstacle, text.to_owned()));
    let Some(now) = status_of else { return say(Obstacle::Disk, "it has no status yet") };
    if disk.eviction_requested {
        return say(Obstacle::Disk, "it is being evicted");
    }
    if !disk.allow_scheduling {
        return say(Obstacle::Disk, "scheduling is disabled");
    }
    if let Some(missing) = missing_tags(&disk.tags, &volume.spec.disk_selector, limits.empty_disk_selector) {
        return say(Obstacle::Tags, &format!("it {missing}"));
    }
    let block = disk.disk_type == "block";
    if !disk.disk_type.is_empty() && block != (volume.spec.data_engine == DataEngine::V2) {
        return say(
            Obstacle::Disk,
            &format!("its type {} does not fit the volume's data engine", disk.disk_type),
        );
    }
    if !limits.soft.disks && taken.disks.contains(now.disk_uuid.as_str()) {
        return say(Obstacle::AntiAffinity, "it already has a replica of the volume");
    }
    if let Some(lacks) = space(disk, now, volume, limits, taken) {
        return Some(lacks);
    }
    // space tells pressure with its figures; what else makes a disk unschedulable is its readiness
    if status(&now.conditions, "Schedulable") != ConditionStatus::True {
        let reason = condition(&now.conditions, "Schedulable").map_or("", |schedulable| &schedulable.reason);
        return say(Obstacle::Disk, &format!("it is not Schedulable ({reason})"));
    }
    None
}

/// The numbers that IsSchedulableToDisk compares, in bytes and percent.
pub struct DiskSpace {
    maximum: i64,
    reserved: i64,
    available: i64,
    scheduled: i64,
    minimal_available: i64,
    over_provisioning: i64,
}

impl DiskSpace {
    /// Of a disk by the settings; `None` where the disk was not measured or a setting is unknown.
    pub fn of(cluster: &Cluster, disk: &DiskSpec, now: &DiskStatus) -> Option<Self> {
        let percent = |name| cluster.setting_value(name, DataEngine::V1).trim().parse::<f64>().ok();
        let minimal_available = percent("storage-minimal-available-percentage")? as i64;
        let over_provisioning = percent("storage-over-provisioning-percentage")? as i64;
        Self::with(disk, now, minimal_available, over_provisioning)
    }

    fn with(
        disk: &DiskSpec,
        now: &DiskStatus,
        minimal_available: i64,
        over_provisioning: i64,
    ) -> Option<Self> {
        let (maximum, reserved) = (now.storage_maximum.0, disk.storage_reserved.0);
        let (available, scheduled) = (now.storage_available.0, now.storage_scheduled.0);
        let space =
            DiskSpace { maximum, reserved, available, scheduled, minimal_available, over_provisioning };
        (maximum > 0).then_some(space)
    }

    /// So much has to stay free.
    fn least(&self) -> i64 {
        percent(self.maximum, self.minimal_available)
    }

    /// So much may be promised to volumes.
    fn most(&self) -> i64 {
        percent(self.maximum.saturating_sub(self.reserved), self.over_provisioning)
    }

    /// True where so little is free that no replica is placed, not even an empty one.
    pub fn is_short(&self) -> bool {
        self.available <= self.least()
    }

    /// The limit that keeps replicas away, in figures.
    pub fn limit_reached(&self) -> String {
        match self.is_short() {
            true => format!("{} free, minimum {}", bytes(self.available), bytes(self.least())),
            false => format!("{} allocated, limit {}", bytes(self.scheduled), bytes(self.most())),
        }
    }

    /// What may be promised to replicas before a limit is reached.
    pub fn room(&self) -> i64 {
        self.left().min(self.available.saturating_sub(self.least())).max(0)
    }

    /// True where the setting lets no byte be promised.
    pub fn promises_nothing(&self) -> bool {
        self.over_provisioning == 0
    }

    /// True when this share of what may be promised is, or what is free is this share of the disk above the least.
    pub fn is_nearly_full(&self, promised: f64, free: f64) -> bool {
        let (most, above) = (self.most(), self.available.saturating_sub(self.least()));
        most > 0
            && (self.scheduled as f64 >= promised * most as f64
                || (above as f64) < free * self.maximum as f64)
    }

    /// What the scheduler would still promise.
    fn left(&self) -> i64 {
        self.most().saturating_sub(self.scheduled).max(0)
    }

    /// The first inequality that keeps a replica of this size, with so much data, from the disk.
    fn obstacle(&self, size: i64, actual: i64) -> Option<Obstacle> {
        if self.available <= 0 || self.available.saturating_sub(actual) <= self.least() {
            return Some(Obstacle::Space);
        }
        (size.saturating_add(self.scheduled) > self.most()).then_some(Obstacle::Provisioning)
    }

    /// The same in words; `counted` is what of the scheduled bytes no one expects there.
    fn refusal(&self, obstacle: Obstacle, size: i64, actual: i64, counted: &str) -> String {
        if obstacle == Obstacle::Space {
            return format!(
                "{} is free, but {} of data would leave less than the minimum of {} ({} % of {}, storage-minimal-available-percentage)",
                bytes(self.available),
                bytes(actual),
                bytes(self.least()),
                self.minimal_available,
                bytes(self.maximum)
            );
        }
        let less = match self.reserved {
            0 => String::new(),
            reserved => format!(" less {} reserved", bytes(reserved)),
        };
        format!(
            "{} allocated{counted} plus {} for this replica exceeds the limit of {} ({} % of {}{less}, storage-over-provisioning-percentage)",
            bytes(self.scheduled),
            bytes(size),
            bytes(self.most()),
            self.over_provisioning,
            bytes(self.maximum),
        )
    }
}

impl std::fmt::Display for DiskSpace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} of {} is free (minimum {}), {} is allocated to volumes (limit {})",
            bytes(self.available),
            bytes(self.maximum),
            bytes(self.least()),
            bytes(self.scheduled),
            bytes(self.most())
        )
    }
}

/// What keeps the replica from a disk for lack of space; nothing where it was not measured: readiness says why then.
fn space(
    disk: &DiskSpec,
    now: &DiskStatus,
    volume: &Volume,
    limits: &DiskLimits,
    taken: &Taken,
) -> Option<(Obstacle, String)> {
    let failed = taken.failed.get(now.disk_uuid.as_str()).copied();
    let mut space = DiskSpace::with(disk, now, limits.minimal_available, limits.over_provisioning)?;
    let beside = taken.beside.get(now.disk_uuid.as_str()).copied().unwrap_or_default();
    space.scheduled = space.scheduled.saturating_add(beside);
    let (size, actual) = (volume.spec.size.0, volume.status.actual_size.0);
    let obstacle = space.obstacle(size, actual)?;
    let counted = match (failed, beside) {
        (Some(name), _) => format!(" (failed replica {name} included)"),
        (None, 1..) => {
            format!(" (including {} on the node's other disks, because of {COUNTED_TWICE})", bytes(beside))
        }
        _ => String::new(),
    };
    let text = limits.in_words.then(|| space.refusal(obstacle, size, actual, &counted));
    Some((obstacle, text.unwrap_or_default()))
}

fn missing_tags(tags: &[SharedText], wanted: &[SharedText], empty_selector: bool) -> Option<String> {
    if wanted.is_empty() && !empty_selector && !tags.is_empty() {
        return Some(format!("has tags ({}), but the volume selects none", tags.join(", ")));
    }
    let missing: Vec<&str> =
        wanted.iter().filter(|tag| !tags.contains(tag)).map(SharedText::as_str).collect();
    (!missing.is_empty()).then(|| format!("lacks the tag {}", missing.join(", ")))
}

fn percent(of: i64, percentage: i64) -> i64 {
    (of as f64 * percentage as f64 / 100.0) as i64
}

/// Bytes with a binary prefix and three digits: `1.5 TiB`, `120 GiB`.
pub fn bytes(number: i64) -> String {
    const PREFIXES: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    let mut value = number as f64;
    let mut unit = "B";
    for prefix in PREFIXES {
        if value.abs() < 1024.0 {
            break;
        }
        (value, unit) = (value / 1024.0, prefix);
    }
    let digits = if value.fract() == 0.0 || value.abs() >= 100.0 { 0 } else { 1 };
    format!("{value:.digits$} {unit}")
}
