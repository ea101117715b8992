//! Every disk with its figures, and what they come to.

use std::collections::BTreeMap;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::super::scheduler::Scheduler;
use super::super::{Found, held};
use super::Room;
use super::fits::MAX_REFUSALS;
use crate::check::{bytes, counted};
use crate::cluster::Cluster;
use crate::facts::placement::{Answer, DiskSpace, Rules, Taken, answers};
use crate::longhorn::{DiskSpec, DiskStatus, LonghornNode, SharedText, Volume};

/// Numbers of replicas for which the largest volume is told.
const REPLICAS: [usize; 3] = [1, 2, 3];

/// A disk, and what it can take.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DiskRoom {
    /// The Longhorn node.
    pub node: String,
    /// Name of the disk there.
    pub disk: String,
    /// Its tags.
    pub tags: Vec<String>,
    /// Bytes of its file system; 0 where they were not measured.
    pub size: i64,
    /// Free bytes of it.
    pub free: i64,
    /// Bytes that are allocated to volumes.
    pub allocated: i64,
    /// Bytes that may be allocated at most, by over-provisioning and what is reserved.
    pub limit: i64,
    /// The largest replica that it takes now, in bytes.
    pub largest: i64,
    /// How many bytes it loses a day, since `since`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(default)]
    pub a_day: Option<i64>,
    /// When it is full at that rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(default)]
    pub full_at: Option<Timestamp>,
    /// Why it takes no replica of the new volume, or of any.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(default)]
    pub refusal: Option<String>,
}

/// The largest new volume.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Largest {
    /// With so many replicas.
    pub replicas: usize,
    /// In bytes, whole GiB.
    pub size: i64,
}

pub fn largest(cluster: &Cluster, volume: Option<&Volume>, closed: &BTreeMap<&str, String>) -> Vec<Largest> {
    let any = Volume::default();
    let like = volume.unwrap_or(&any);
    let of = |replicas| Largest { replicas, size: Scheduler::largest(cluster, like, replicas, closed) };
    REPLICAS.map(of).into()
}

/// Each disk of the cluster with its node and its name.
pub(super) fn all(
    cluster: &Cluster,
) -> impl Iterator<Item = (&LonghornNode, &SharedText, &DiskSpec, Option<&DiskStatus>)> {
    cluster.objects.longhorn_nodes.iter().flat_map(|node| {
        let disks = node.spec.disks.iter();
        disks.map(move |(name, spec)| (node, name, spec, node.status.disk_status.get(name)))
    })
}

/// The disks, those that take least first.
pub fn rooms(cluster: &Cluster, volume: Option<&Volume>, closed: &BTreeMap<&str, String>) -> Vec<DiskRoom> {
    let any = Volume::default();
    let rules = Rules::of(cluster, volume.unwrap_or(&any));
    let refusals = refusals(cluster, volume.unwrap_or(&any), &rules);
    let mut rooms: Vec<DiskRoom> = all(cluster)
        .map(|(node, name, spec, now)| {
            let space = now.and_then(|now| rules.space(spec, now));
            let refusal = refusals.get(&(node.metadata.name.as_str(), name.as_str())).cloned();
            let refusal = refusal.or_else(|| closed.get(node.metadata.name.as_str()).cloned());
            let figure = |of: fn(&DiskStatus) -> i64| now.map_or(0, of);
            let open = space.as_ref().filter(|space| !space.is_short());
            let largest = open.map_or(0, DiskSpace::left);
            DiskRoom {
                node: node.metadata.name.to_string(),
                disk: name.to_string(),
                tags: spec.tags.iter().map(SharedText::to_string).collect(),
                size: figure(|now| now.storage_maximum.0),
                free: figure(|now| now.storage_available.0),
                allocated: figure(|now| now.storage_scheduled.0),
                limit: space.as_ref().map_or(0, DiskSpace::most),
                largest: if refusal.is_some() && volume.is_none() { 0 } else { largest },
                a_day: None,
                full_at: None,
                refusal,
            }
        })
        .collect();
    rooms.sort_by_key(|room| room.largest);
    rooms
}

/// What each disk says that does not take the first replica of the volume, by node and disk.
fn refusals<'a>(
    cluster: &'a Cluster,
    volume: &Volume,
    rules: &Rules,
) -> BTreeMap<(&'a str, &'a str), String> {
    let taken = Taken::default();
    let mut refusals = BTreeMap::new();
    for node in cluster.objects.longhorn_nodes.iter() {
        for Answer { disk, refusal, .. } in answers(node, volume, rules, &taken) {
            let Some((_, text)) = refusal else { continue };
            // what a node refuses, all its disks do
            let disks = node.spec.disks.keys().filter(|name| disk.is_none_or(|disk| disk == *name));
            refusals.extend(disks.map(|disk| ((node.metadata.name.as_str(), disk.as_str()), text.clone())));
        }
    }
    refusals
}

/// Says that no disk takes even the smallest replica.
pub fn none_takes(room: &Room<'_>, out: &mut Found) {
    if room.wanted.is_some() || room.disks.iter().any(|room| room.refusal.is_none()) {
        return;
    }
    let reason = out.say("no disk can take a replica now");
    let mut why: BTreeMap<&str, usize> = BTreeMap::new();
    for refusal in room.disks.iter().filter_map(|room| room.refusal.as_deref()) {
        *why.entry(refusal).or_default() += 1;
    }
    let on = |(text, disks): (&str, usize)| format!("{}: {text}", counted(disks, "disk"));
    reason.evidence = why.into_iter().map(on).take(MAX_REFUSALS).collect();
}

/// What is allocated of what disks hold, in all and by tag.
pub fn overcommitted(room: &Room<'_>, out: &mut Found) {
    let mut by_tag: BTreeMap<&str, [i64; 2]> = BTreeMap::new();
    let mut over = Vec::new();
    for (node, name, spec, now) in all(room.cluster) {
        let Some(now) = now else { continue };
        let (size, allocated) = (now.storage_maximum.0, now.storage_scheduled.0);
        if size > 0 && allocated > size {
            over.push(format!("disk {name} of {}: {}", node.metadata.name, of(allocated, size)));
        }
        for tag in std::iter::once("").chain(spec.tags.iter().map(SharedText::as_str)) {
            let [sizes, allocations] = by_tag.entry(tag).or_default();
            (*sizes, *allocations) = (sizes.saturating_add(size), allocations.saturating_add(allocated));
        }
    }
    if over.is_empty() {
        return;
    }
    let [size, allocated] = by_tag.remove("").unwrap_or_default();
    let text = held(over.len(), "disk", "has|have more space allocated to volumes than its|their size");
    let reason = out.say(text);
    reason.fact(format!("all disks: {}", of(allocated, size)));
    for (tag, [size, allocated]) in by_tag {
        reason.fact(format!("tag {tag}: {}", of(allocated, size)));
    }
    reason.evidence.append(&mut over);
}

fn of(allocated: i64, size: i64) -> String {
    let share =
        if size > 0 { format!(" ({:.0} %)", allocated as f64 * 100.0 / size as f64) } else { String::new() };
    format!("{} allocated of {}{share}", bytes(allocated), bytes(size))
}
