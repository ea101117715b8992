//! The rules by which a node and a disk take a replica of a volume, and what of the volume is there already.

use std::collections::BTreeSet;

use super::super::releases::manager_release;
use super::space::DiskSpace;
use super::taken::Taken;
use super::{Obstacle, PlacementRefusal};
use crate::check::bytes;
use crate::cluster::Cluster;
use crate::longhorn::{
    ConditionStatus, DataEngine, DiskSpec, DiskStatus, KubeNode, LonghornNode, SharedText, Volume, condition,
    status,
};

const WITHOUT_V2: &str = "node.longhorn.io/disable-v2-data-engine";
/// Every disk is fuller than that.
const EVERY_NODE: i64 = -1;
/// A file on ext4 is smaller (longhorn-manager v1.8.2 util/util.go MaxExt4VolumeSize).
const MAX_EXT4: i64 = 16 << 40;

/// What the scheduler goes by: settings, the volume's own, and the release.
pub struct Rules {
    over_provisioning: i64,
    minimal_available: i64,
    soft: SoftAntiAffinity,
    empty_node_selector: bool,
    empty_disk_selector: bool,
    /// Where auto-balance is best-effort, nodes with a disk fuller than this percentage may take another replica; 0 for
    /// none (longhorn-manager v1.7.0 and v1.10.2 getDiskCandidates).
    balance: Option<i64>,
    /// Kubernetes nodes that take no replica of v2, for a volume of that (longhorn-manager v1.6.4 to v1.12.1
    /// scheduler/replica_scheduler.go getNodeCandidates).
    without_v2: BTreeSet<String>,
    /// A size that no ext4 holds is refused there.
    knows_file_systems: bool,
    /// Whether what refuses is put into words, which costs far more than to compare the figures.
    in_words: bool,
}

/// What may hold one more replica of a volume only where nothing before it can: Longhorn looks at these in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    /// In a zone without a replica.
    NewZone,
    /// On a node without a replica.
    NewNode,
    /// On a node where all of them are being evicted.
    AfterEviction,
    /// On any node, also one without the tags that the volume selects.
    Used,
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
            _ => cluster.setting_is_on(setting, default),
        };
        let spec = &volume.spec;
        SoftAntiAffinity {
            nodes: soft(&spec.replica_soft_anti_affinity, "replica-soft-anti-affinity", false),
            zones: soft(&spec.replica_zone_soft_anti_affinity, "replica-zone-soft-anti-affinity", true),
            disks: soft(&spec.replica_disk_soft_anti_affinity, "replica-disk-soft-anti-affinity", true),
        }
    }
}

impl Rules {
    /// What holds for the volume, with words for what refuses.
    pub fn of(cluster: &Cluster, volume: &Volume) -> Self {
        let value = |setting| cluster.setting_value(setting, DataEngine::V1);
        let number = |setting, default: i64| value(setting).parse().unwrap_or(default);
        let allowed = |setting| cluster.setting_is_on(setting, true);
        let balance = match volume.spec.replica_auto_balance.as_str() {
            "" | "ignored" => value("replica-auto-balance"),
            own => own.to_owned(),
        };
        let release = manager_release(cluster);
        let balances = release.filter(|now| balance == "best-effort" && now.at_least(1, 7, 0));
        let balance = balances.map(|release| match release.at_least(1, 10, 2) {
            true => number("replica-auto-balance-disk-pressure-percentage", 90),
            false => EVERY_NODE,
        });
        let labelled = |node: &&KubeNode| node.metadata.label(WITHOUT_V2) == Some("true");
        let v2 = volume.spec.data_engine == DataEngine::V2
            && release.is_none_or(|release| release.at_least(1, 6, 0));
        let labelled = v2.then(|| cluster.objects.kube_nodes.iter().filter(labelled));
        Rules {
            without_v2: labelled.into_iter().flatten().map(|node| node.metadata.name.to_string()).collect(),
            // its default was 200 (longhorn-manager v1.3.3, v1.4.4 types/setting.go)
            over_provisioning: number(
                "storage-over-provisioning-percentage",
                if release.is_some_and(|release| !release.at_least(1, 5, 0)) { 200 } else { 100 },
            ),
            minimal_available: number("storage-minimal-available-percentage", 25),
            soft: SoftAntiAffinity::of(cluster, volume),
            empty_node_selector: allowed("allow-empty-node-selector-volume"),
            empty_disk_selector: allowed("allow-empty-disk-selector-volume"),
            balance,
            knows_file_systems: release.is_some_and(|release| release.at_least(1, 5, 4)),
            in_words: true,
        }
    }

    /// The same, without words for what refuses.
    pub fn in_figures(cluster: &Cluster, volume: &Volume) -> Self {
        Rules { in_words: false, ..Rules::of(cluster, volume) }
    }

    /// The figures of a disk by the settings; none where it was not measured.
    pub fn space(&self, disk: &DiskSpec, now: &DiskStatus) -> Option<DiskSpace> {
        DiskSpace::with(disk, now, self.minimal_available, self.over_provisioning)
    }

    fn say(&self, text: impl FnOnce() -> String) -> String {
        if self.in_words { text() } else { String::new() }
    }

    /// True where best-effort auto-balance lets a node that has a replica of the volume take another one.
    fn reopens(&self, node: &LonghornNode) -> bool {
        let Some(limit) = self.balance.filter(|limit| *limit != 0) else { return false };
        let mut measured = node.spec.disks.iter().filter_map(|(name, disk)| {
            let now = node.status.disk_status.get(name)?;
            Some((now.storage_available.0.saturating_sub(disk.storage_reserved.0), now.storage_maximum.0))
        });
        measured.any(|(unused, maximum): (i64, i64)| {
            let percentage = unused.max(0).saturating_mul(100).checked_div(maximum.max(0));
            percentage.unwrap_or(0) < 100 - limit
        })
    }

    /// Whether one more replica may go to the node, and after which others it is asked.
    fn rank(&self, node: &LonghornNode, taken: &Taken<'_>) -> Option<Rank> {
        let used = taken.nodes.get(node.metadata.name.as_str()).copied();
        let Some(zone) = taken.zones.get(node.status.zone.as_str()).copied() else {
            return Some(Rank::NewZone);
        };
        if !self.soft.zones {
            let leaves = used == Some(true) && (zone || self.balance.is_some());
            return leaves.then_some(Rank::AfterEviction);
        }
        match used {
            None => Some(Rank::NewNode),
            Some(_) if self.reopens(node) => Some(Rank::NewNode),
            Some(_) if self.soft.nodes => Some(Rank::Used),
            Some(leaves) => leaves.then_some(Rank::AfterEviction),
        }
    }
}

pub(super) const TOO_LARGE_FOR_EXT4: &str = "ext4 holds no volume of 16 TiB or more";

const COUNTED_TWICE: &str = "Longhorn issue 12653";

/// True where a disk refuses a replica for one that lies on another disk of its node.
pub fn is_counted_twice(refusals: &[PlacementRefusal]) -> bool {
    refusals.iter().any(|refusal| refusal.text.contains(COUNTED_TWICE))
}

/// Why the scheduler does not look at the node at all.
pub(super) fn unmet(node: &LonghornNode) -> Option<String> {
    let unmet = |kind: &str| {
        let found = condition(&node.status.conditions, kind);
        let reason = found.map(|found| found.reason.as_str()).filter(|reason| !reason.is_empty());
        (status(&node.status.conditions, kind) != ConditionStatus::True).then(|| {
            let state = if kind == "Schedulable" { "unschedulable" } else { "not Ready" };
            format!("the node is {state}{}", reason.map(|r| format!(" ({r})")).unwrap_or_default())
        })
    };
    let closed = || (!node.spec.allow_scheduling).then(|| "scheduling is disabled".to_owned());
    let leaves = || node.metadata.is_deleting().then(|| "the node is being deleted".to_owned());
    leaves().or_else(|| unmet("Ready")).or_else(|| unmet("Schedulable")).or_else(closed)
}

/// The rank of the node, or what keeps the replica from it.
pub(super) fn node_rank(
    node: &LonghornNode,
    volume: &Volume,
    rules: &Rules,
    taken: &Taken<'_>,
) -> Result<Rank, (Obstacle, String)> {
    let used = taken.nodes.contains_key(node.metadata.name.as_str());
    let Some(rank) = rules.rank(node, taken) else {
        let place = || match node.status.zone.as_str() {
            _ if used => "the node".to_owned(),
            "" => "nodes without a zone count as one zone, which".to_owned(),
            zone => format!("zone {zone}"),
        };
        let text = rules.say(|| format!("{} already has a replica of the volume", place()));
        return Err((Obstacle::AntiAffinity, text));
    };
    if let Some(unmet) = unmet(node) {
        return Err((Obstacle::Node, unmet));
    }
    if rules.without_v2.contains(node.metadata.name.as_str()) {
        return Err((Obstacle::Node, format!("label {WITHOUT_V2} is true")));
    }
    match missing_tags(&node.spec.tags, &volume.spec.node_selector, rules.empty_node_selector) {
        None => Ok(rank),
        // a node with a replica comes last, and is not asked for its tags again
        Some(_) if used && rules.soft.nodes && rules.soft.zones => Ok(Rank::Used),
        Some(missing) => Err((Obstacle::Tags, format!("the node {missing}"))),
    }
}

/// What keeps the replica from the disk.
pub(super) fn disk_obstacle(
    disk: &DiskSpec,
    status_of: Option<&DiskStatus>,
    volume: &Volume,
    rules: &Rules,
    taken: &Taken<'_>,
) -> Option<(Obstacle, String)> {
    let say = |obstacle, text: &str| Some((obstacle, text.to_owned()));
    let Some(now) = status_of else { return say(Obstacle::Disk, "it has no status yet") };
    if disk.eviction_requested {
        return say(Obstacle::Disk, "it is being evicted");
    }
    if !disk.allow_scheduling {
        return say(Obstacle::Disk, "scheduling is disabled");
    }
    if let Some(missing) = missing_tags(&disk.tags, &volume.spec.disk_selector, rules.empty_disk_selector) {
        return say(Obstacle::Tags, &format!("it {missing}"));
    }
    let (block, v2) = (disk.disk_type == "block", volume.spec.data_engine == DataEngine::V2);
    if !disk.disk_type.is_empty() && block != v2 {
        let text = rules.say(|| format!("its type {} does not fit the volume's data engine", disk.disk_type));
        return Some((Obstacle::Disk, text));
    }
    if !rules.soft.disks && taken.disks.contains(now.disk_uuid.as_str()) {
        return say(Obstacle::AntiAffinity, "it already has a replica of the volume");
    }
    if let Some(lacks) = space(disk, now, volume, rules, taken) {
        return Some(lacks);
    }
    // another file system does not help where the disk is too small, too
    let file_system = now.filesystem_type.as_str();
    if rules.knows_file_systems && !v2 && file_system.starts_with("ext") && volume.spec.size.0 >= MAX_EXT4 {
        return say(Obstacle::Disk, TOO_LARGE_FOR_EXT4);
    }
    // space tells pressure with its figures; what else makes a disk unschedulable is its readiness
    if status(&now.conditions, "Schedulable") != ConditionStatus::True {
        let reason = condition(&now.conditions, "Schedulable").map_or("", |schedulable| &schedulable.reason);
        return say(Obstacle::Disk, &format!("it is unschedulable ({reason})"));
    }
    rules.space(disk, now).is_none().then(|| (Obstacle::Disk, "it was not measured".to_owned()))
}

/// What keeps the replica from a disk for lack of space; nothing where it was not measured: readiness says why then.
pub(super) fn space(
    disk: &DiskSpec,
    now: &DiskStatus,
    volume: &Volume,
    rules: &Rules,
    taken: &Taken<'_>,
) -> Option<(Obstacle, String)> {
    let failed = taken.failed.get(now.disk_uuid.as_str()).copied();
    let mut space = rules.space(disk, now)?;
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
    Some((obstacle, rules.say(|| space.refusal(obstacle, size, actual, &counted))))
}

fn missing_tags(tags: &[SharedText], wanted: &[SharedText], empty_selector: bool) -> Option<String> {
    if wanted.is_empty() && !empty_selector && !tags.is_empty() {
        return Some(format!("has tags ({}), but the volume selects none", tags.join(", ")));
    }
    let missing: Vec<&str> =
        wanted.iter().filter(|tag| !tags.contains(tag)).map(SharedText::as_str).collect();
    (!missing.is_empty()).then(|| format!("lacks the tag {}", missing.join(", ")))
}
