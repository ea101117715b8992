//! What remains on an evicted disk, and since when it has not become less.

use super::causes;
use std::collections::{BTreeMap, HashMap};

use jiff::Timestamp;

use super::PROGRESS;
use crate::check::*;
use crate::facts::age::{Age, Begun, Unknown, observe};
use crate::facts::eviction::*;
use crate::facts::nodes::{is_down, manager_not_ready};
use crate::facts::patience::{REBUILD, RECONCILE, STANDS};
use crate::facts::placement;
use crate::longhorn::{
    BackingImage, ConditionStatus, DataEngine, InstanceState, LonghornNode, Replica, ReplicaMode, condition,
};

/// What has to leave a disk.
pub struct Left<'a> {
    pub replicas: Vec<&'a Replica>,
    pub images: Vec<&'a BackingImage>,
    /// The volumes of the replicas, each once.
    volumes: Vec<&'a str>,
}

impl<'a> Left<'a> {
    /// Counts replicas by `spec.diskID`, and copies by the keys of the images' spec.
    pub fn of(
        cluster: &'a Cluster,
        disk: &EvictingDisk<'a>,
        images: &BTreeMap<&str, Vec<&'a BackingImage>>,
    ) -> Self {
        let replicas = disk.replicas(cluster);
        let copies = images.get(disk.uuid()).filter(|_| disk.request.is_manual()).cloned();
        Self::with(replicas, copies.unwrap_or_default())
    }

    fn with(replicas: Vec<&'a Replica>, images: Vec<&'a BackingImage>) -> Self {
        let mut volumes: Vec<_> = replicas.iter().map(|replica| replica.spec.volume_name.as_str()).collect();
        volumes.sort_unstable();
        volumes.dedup();
        Left { replicas, images, volumes }
    }

    pub fn is_empty(&self) -> bool {
        self.replicas.is_empty() && self.images.is_empty()
    }

    fn text(&self) -> String {
        match (self.replicas.len(), self.images.len()) {
            (replicas, 0) => counted(replicas, "replica"),
            (0, images) => counted(images, "backing image copy"),
            (replicas, images) => {
                format!("{} and {}", counted(replicas, "replica"), counted(images, "image"))
            }
        }
    }
}

/// When Longhorn last wrote that it asked a replica to leave (longhorn-manager v1.12.1
/// constant/events.go), by replica.
pub fn asked<'a>(cluster: &'a Cluster, disks: &[EvictingDisk]) -> HashMap<&'a str, Timestamp> {
    let mut asked = HashMap::new();
    if disks.is_empty() {
        return asked;
    }
    for event in cluster.objects.events.iter() {
        let about = event.reason == "EvictionUserRequested" || event.reason == "EvictionAutomatic";
        if let (true, Some(time)) = (about, event.last_seen()) {
            let newest = asked.entry(event.involved_object.name.as_str()).or_insert(time);
            *newest = time.max(*newest);
        }
    }
    asked
}

pub fn look(
    cluster: &Cluster,
    out: &mut Outcome,
    disk: &EvictingDisk,
    left: &Left,
    asked: &HashMap<&str, Timestamp>,
) {
    let (node, name) = (disk.node.metadata.name.as_str(), disk.name);
    let copied: i64 = left
        .images
        .iter()
        .flat_map(|image| image.status.disk_file_status_map.values())
        .fold(0, |sum, copy| sum.saturating_add(copy.progress.0));
    // the key names what remains: when that changes, the fact begins again
    let key = format!("{node}/{name}/{}/{}/{copied}", left.replicas.len(), left.images.len());
    let moved = last_move(cluster, left, asked);
    let age = observe(cluster, out, "remaining", &key, Begun::NotBefore(moved));
    if let Some(last) = age.since.max(moved) {
        out.sample(&PROGRESS, &[node, name], last.as_second() as f64);
    }
    let unplaced = unplaced(cluster, left);
    // eviction_inconsistent names these two: suspended_node_down, disk_not_ready_hides_replicas
    if is_down(disk.node) || (disk.hides_replicas() && !left.replicas.is_empty()) {
        return;
    }
    if !unplaced.is_empty() {
        no_schedulable_disk(cluster, out, disk, &unplaced);
    } else if !rebuilding(cluster, out, left) && age.at_least(STANDS, Unknown::Counts) {
        no_progress(cluster, out, disk, left, age, moved);
    }
}

/// The newest sign of movement that objects carry: a replica was asked to leave, another was created or
/// became healthy, a copy changed its state.
fn last_move(cluster: &Cluster, left: &Left, asked: &HashMap<&str, Timestamp>) -> Option<Timestamp> {
    let asked = left.replicas.iter().filter_map(|replica| asked.get(replica.metadata.name.as_str()).copied());
    let siblings = left.volumes.iter().flat_map(|volume| cluster.replicas_of(volume));
    let made =
        siblings.flat_map(|replica| [replica.metadata.created(), replica.spec.healthy_at.get()]).flatten();
    let copies = left.images.iter().flat_map(|image| image.status.disk_file_status_map.values());
    let copied = copies.filter_map(|copy| copy.last_state_transition_time.get());
    asked.chain(made).chain(copied).max()
}

/// True while the replicas of a drained node still leave: one is being rebuilt elsewhere, or was asked, made or became healthy
/// within the time after which an eviction counts as stalled.
pub fn leaving(cluster: &Cluster, out: &mut Outcome, replicas: &[&Replica]) -> bool {
    let left = Left::with(replicas.to_vec(), Vec::new());
    let moved = last_move(cluster, &left, &HashMap::new());
    moved.is_some_and(|moved| cluster.age(moved) < STANDS) || rebuilding(cluster, out, &left)
}

/// True while an engine rebuilds a replica of one of the volumes: its mode is WO until it has all
/// data. One that has been rebuilding for a day no longer counts.
fn rebuilding(cluster: &Cluster, out: &mut Outcome, left: &Left) -> bool {
    let mut any = false;
    for engine in left.volumes.iter().flat_map(|volume| cluster.engines_of(volume)) {
        if engine.status.current_state != InstanceState::Running {
            continue;
        }
        for (replica, mode) in &engine.status.replica_mode_map {
            if *mode == ReplicaMode::WriteOnly {
                let since = out.first_seen("rebuilding", replica);
                any |= since.is_none_or(|since| cluster.age(since) < REBUILD);
            }
        }
    }
    any
}

/// A volume that needs a replica which has no place, and since when.
struct Unplaced<'a> {
    volume: &'a str,
    since: Option<Timestamp>,
    fact: String,
}

/// longhorn-manager v1.12.1 controller/volume_controller.go: a replica that the scheduler does not
/// place keeps an empty spec.nodeID, and the volume's condition Scheduled turns False. It turns True again
/// only when there are as many replicas as wanted, so that a False of old outlasts the reason for it while
/// there is one more for the eviction, and it also tells of a replica that is wanted on one node only.
fn unplaced<'a>(cluster: &'a Cluster, left: &Left<'a>) -> Vec<Unplaced<'a>> {
    let look = |volume: &&'a str| {
        let waits = |replica: &&Replica| replica.spec.node_id.is_empty() && !replica.metadata.is_deleting();
        if let Some(replica) = cluster.replicas_of(volume).find(waits) {
            let fact = format!("replica {} of volume {volume} has no node yet", replica.metadata.name);
            return Some(Unplaced { volume, since: replica.metadata.created(), fact });
        }
        let scheduled = condition(&cluster.objects.volumes.get(volume)?.status.conditions, "Scheduled")?;
        let since = scheduled.last_transition_time.get();
        let placed_since =
            |replica: &Replica| since.is_some_and(|since| replica.metadata.created() > Some(since));
        let outdated = scheduled.reason == "LocalReplicaSchedulingFailure"
            || cluster.replicas_of(volume).any(placed_since);
        (scheduled.status == ConditionStatus::False && !outdated).then(|| Unplaced {
            volume,
            since,
            fact: format!("volume {volume}: condition Scheduled is False, reason {}", scheduled.reason),
        })
    };
    left.volumes.iter().filter_map(look).collect()
}

fn object(cluster: &Cluster, disk: &EvictingDisk) -> ObjectRef {
    cluster.object::<LonghornNode>(&disk.node.metadata.name)
}

fn asks(disk: &EvictingDisk) -> String {
    match disk.request {
        Request::Node | Request::Disk => format!("evictionRequested is true on {}", requests(disk.node)),
        Request::AutomaticAll => "the node is cordoned, and node-drain-policy block-for-eviction moves every replica".to_owned(),
        Request::AutomaticLast => {
            "the node is cordoned, and node-drain-policy block-for-eviction-if-contains-last-replica moves replicas that have no other copy"
                .to_owned()
        }
    }
}

fn no_schedulable_disk(cluster: &Cluster, out: &mut Outcome, disk: &EvictingDisk, unplaced: &[Unplaced]) {
    let (node, name) = (disk.node.metadata.name.as_str(), disk.name);
    // the one that waits longest decides
    let since = unplaced.iter().filter_map(|volume| volume.since).min();
    let age = observe(cluster, out, "unplaced", &format!("{node}/{name}"), Begun::At(since));
    if !age.at_least(RECONCILE, Unknown::Counts) {
        return;
    }
    let first = unplaced.first().and_then(|first| cluster.objects.volumes.get(first.volume));
    let refusals = first.and_then(|volume| placement::refusals(cluster, volume)).unwrap_or_default();
    let finding = Finding::about(
        &causes::NO_SCHEDULABLE_DISK,
        object(cluster, disk),
        format!(
            "eviction of disk {name} on {node} is waiting: no disk can take {}",
            counted(unplaced.len(), "replica")
        ),
    )
    .node(node)
    .disk(name)
    .volumes(unplaced.iter().map(|volume| cluster.volume_ref(volume.volume)).collect())
    .since(age.since)
    .impact("the replicas stay on the disk, and their volumes lack one copy until a disk can take it")
    .fact(asks(disk))
    .facts(unplaced.iter().take(10).map(|volume| volume.fact.clone()))
    .facts(refusals.iter().take(10).map(|refusal| refusal.text.clone()))
    .facts(strict_local(cluster, unplaced.iter().map(|volume| volume.volume)))
    .fact(age.evidence());
    out.report(finding);
}

fn no_progress(
    cluster: &Cluster,
    out: &mut Outcome,
    disk: &EvictingDisk,
    left: &Left,
    age: Age,
    moved: Option<Timestamp>,
) {
    let (node, name) = (disk.node.metadata.name.as_str(), disk.name);
    let mut finding = Finding::about(
        &causes::NO_PROGRESS,
        object(cluster, disk),
        format!("eviction of disk {name} on {node} has stalled: {} left", left.text()),
    )
    .node(node)
    .disk(name)
    .volumes(volumes(cluster, &left.replicas))
    .since(age.since.max(moved))
    .impact("removing the node or disk now loses what is left on it")
    .with(Name::Value, disk.uuid())
    .fact(asks(disk))
    .fact("replicas are counted by spec.diskID, backing image copies by the disks in their spec");
    if !left.images.is_empty() {
        let names: Vec<_> = left.images.iter().take(10).map(|image| image.metadata.name.as_str()).collect();
        finding = finding.fact(format!("backing images: {}", names.join(", ")));
    }
    for setting in
        ["concurrent-replica-rebuild-per-node-limit", "concurrent-backing-image-replenish-per-node-limit"]
    {
        if cluster.setting_value(setting, DataEngine::V1) == "0" {
            finding = finding.fact(format!("setting {setting} is 0, so Longhorn creates no new copies"));
        }
    }
    let strict = strict_local(cluster, left.volumes.iter().copied());
    finding = finding.facts(strict.into_iter().chain(manager_not_ready(cluster, node)));
    match moved {
        Some(moved) => {
            let text = format!("the last recorded replica move was at {moved}");
            finding = finding.fact(text);
        }
        None => finding = finding.fact(age.evidence()),
    }
    out.report(finding);
}
