//! What of a volume is where, as far as the scheduler counts it.

use std::collections::{BTreeMap, BTreeSet};

use super::super::releases::manager_release;
use super::rules::unmet;
use crate::cluster::Cluster;
use crate::longhorn::{DataEngine, LonghornNode, Release, Volume, VolumeRobustness};

/// Rebuilds of one replica after which it is not used again (FailedReplicaMaxRetryCount).
const MAX_RETRIES: i64 = 5;

/// What of a volume is where, as far as it counts.
#[derive(Default)]
pub struct Taken<'a> {
    /// Nodes with a replica; true where all of them are being evicted.
    pub(super) nodes: BTreeMap<&'a str, bool>,
    /// The same for zones.
    pub(super) zones: BTreeMap<&'a str, bool>,
    /// Disks with a replica.
    pub disks: BTreeSet<&'a str>,
    /// Its failed replicas by disk, which count there until they are deleted.
    pub(super) failed: BTreeMap<&'a str, &'a str>,
    /// By disk, bytes of its replicas on other disks of the node, where the release counts them on this one too.
    pub(super) beside: BTreeMap<&'a str, i64>,
}

impl<'a> Taken<'a> {
    /// Of the replicas on nodes that stay. A failed one is in the way only while Longhorn waits to use it again.
    pub fn of(cluster: &'a Cluster, volume: &Volume, leaves: impl Fn(&str) -> bool) -> Self {
        let mut taken = Taken::default();
        let twice = counts_twice(cluster);
        let [keeps_disk, keeps_node] = failed_ones_keep(cluster, volume);
        for replica in cluster.replicas_of(&volume.metadata.name) {
            let spec = &replica.spec;
            if spec.node_id.is_empty() || leaves(&spec.node_id) {
                continue;
            }
            let node = cluster.objects.longhorn_nodes.get(&spec.node_id);
            if let Some(node) = node.filter(|_| twice) {
                taken.count_beside(node, &spec.disk_id, volume);
            }
            if replica.metadata.is_deleting() {
                continue;
            }
            if spec.failed_at.is_set() {
                taken.failed.insert(&spec.disk_id, &replica.metadata.name);
                let ends = spec.disk_id.is_empty() || spec.rebuild_retry_count.0 >= MAX_RETRIES;
                if !keeps_disk || ends || replica.eviction_requested() {
                    continue;
                }
            }
            taken.disks.insert(&spec.disk_id);
            if (keeps_node || !spec.failed_at.is_set())
                && let Some(node) = node.filter(|node| unmet(node).is_none())
            {
                taken.add(node, replica.eviction_requested());
            }
        }
        taken
    }

    /// A replica is on the node, or being evicted from it.
    pub fn add(&mut self, node: &'a LonghornNode, leaves: bool) {
        *self.nodes.entry(&node.metadata.name).or_insert(true) &= leaves;
        *self.zones.entry(&node.status.zone).or_insert(true) &= leaves;
    }

    /// The replica on that disk counts on the others of its node too.
    pub fn count_beside(&mut self, node: &'a LonghornNode, on: &str, volume: &Volume) {
        for disk in node.status.disk_status.values().filter(|disk| disk.disk_uuid != *on) {
            *self.beside.entry(&disk.disk_uuid).or_default() += volume.spec.size.0.max(0);
        }
    }
}

/// Whether failed replicas that may be used again keep their disk, and their node: since v1.5.5 and v1.6.1, the node until
/// the volume has been degraded for replica-replenishment-wait-interval (longhorn-manager getCurrentNodesAndZones).
fn failed_ones_keep(cluster: &Cluster, volume: &Volume) -> [bool; 2] {
    let keeps =
        |release: Release| release.at_least(1, 6, 1) || release.minor == 5 && release.at_least(1, 5, 5);
    let disk = manager_release(cluster).is_some_and(keeps);
    let wait = || cluster.setting_value("replica-replenishment-wait-interval", DataEngine::V1);
    let waits = |since| cluster.age(since).as_secs() <= wait().parse().unwrap_or(600);
    let degraded = volume.status.robustness == VolumeRobustness::Degraded;
    let node = disk && (!degraded || volume.status.last_degraded_at.get().is_some_and(waits));
    [disk, node]
}

/// True for releases whose scheduler counts a replica on every disk of its node (longhorn-manager v1.10.2 and v1.11.1
/// scheduler/replica_scheduler.go filterNodeDisksForReplica; longhorn issue 12653).
pub fn counts_twice(cluster: &Cluster) -> bool {
    let fixed = |release: Release| match (release.major, release.minor) {
        (1, 9) => release.at_least(1, 9, 5),
        (1, 10) => release.at_least(1, 10, 3),
        _ => release.at_least(1, 11, 1),
    };
    manager_release(cluster).is_some_and(|release| !fixed(release))
}
