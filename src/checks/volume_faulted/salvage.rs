//! Which replica of a faulted volume is the best to go on with, and whether Longhorn takes it on its own.

use jiff::{SignedDuration, Timestamp};

use crate::cluster::Cluster;
use crate::facts::{nodes, volumes};
use crate::longhorn::{
    ConditionStatus, DataEngine, Replica, Volume, VolumeRobustness, VolumeState, condition, status,
};

/// Replicas that failed within this time of the last one hold the same data as far as Longhorn can tell, and
/// are brought up together (longhorn-manager v1.3.3 to v1.12.1 controller/volume_controller.go AutoSalvageTimeLimit).
const SALVAGE_WINDOW: SignedDuration = SignedDuration::from_mins(1);

/// A replica of a faulted volume.
#[derive(Debug)]
pub struct Candidate<'a> {
    pub replica: &'a Replica,
    /// Why it cannot be used now, if it cannot.
    pub obstacle: Option<Obstacle>,
}

/// What keeps a replica from use.
#[derive(Debug)]
pub struct Obstacle {
    pub text: String,
    pub briefly: &'static str,
}

impl<'a> Candidate<'a> {
    /// Replicas that hold all data, the best first: usable ones before others, those that failed last before
    /// those that missed writes.
    pub fn all(cluster: &'a Cluster, volume: &Volume) -> Vec<Candidate<'a>> {
        let complete = |replica: &&Replica| replica.spec.healthy_at.is_set();
        let judge = |replica: &'a Replica| Candidate { replica, obstacle: obstacle(cluster, replica) };
        let replicas = || cluster.replicas_of(&volume.metadata.name);
        let mut all: Vec<_> = replicas().filter(complete).map(judge).collect();
        // a rebuild clears healthyAt: where nothing else is left, what was once complete and is out of reach is to be kept
        if all.is_empty() {
            let once = replicas().filter(|replica| replica.spec.last_healthy_at.is_set()).map(judge);
            all.extend(once.filter(|candidate| candidate.obstacle.is_some()));
        }
        let rank = |candidate: &Candidate| {
            let replica = candidate.replica;
            (candidate.obstacle.is_none(), replica.spec.failed_at.get(), volumes::last_healthy(replica))
        };
        // stable: in the order of their names where all else is the same
        all.sort_by_key(|candidate| std::cmp::Reverse(rank(candidate)));
        all
    }

    /// Where it is, when it failed and when it was last in step, in one sentence.
    pub fn text(&self) -> String {
        let spec = &self.replica.spec;
        let at = |time: Option<Timestamp>| {
            time.map_or("at an unknown time".to_owned(), |time| format!("at {time}"))
        };
        let place = if spec.node_id.is_empty() { "no node" } else { &spec.node_id };
        let failed = match spec.failed_at.get() {
            None => "has not failed".to_owned(),
            failed => format!("failed {}", at(failed)),
        };
        let usable = match &self.obstacle {
            None => "is usable".to_owned(),
            Some(why) => format!("is not usable: {}", why.text),
        };
        format!(
            "replica {} on {place} {failed}, was last in sync {} and {usable}",
            self.replica.metadata.name,
            at(volumes::last_healthy(self.replica))
        )
    }
}

/// Whether Longhorn salvages a volume all the time, and it fails each time: its states change every few seconds and tell nothing (seen on 1.12.1, with
/// directories of replicas that took no writes: every three seconds).
pub fn in_vain(cluster: &Cluster, volume: &Volume) -> bool {
    const MANY: u64 = 5;
    const LONG: SignedDuration = SignedDuration::from_secs(20);
    // of a flood, the spam filter of Events lets one through every five minutes
    const LATELY: SignedDuration = SignedDuration::from_mins(6);
    let (state, robustness) = (volume.status.state, volume.status.robustness);
    let up = [VolumeRobustness::Healthy, VolumeRobustness::Degraded].contains(&robustness);
    if up || state == VolumeState::Detached {
        return false;
    }
    let mut events =
        cluster.events_about(&volume.metadata.name).filter(|event| event.reason == "AutoSalvaged");
    events.any(|event| {
        let Some((first, last)) = event.first_seen().zip(event.last_seen()) else { return false };
        event.occurrences() >= MANY && last.duration_since(first) >= LONG && cluster.age(last) < LATELY
    })
}

/// The usable candidates that Longhorn would bring up together: those that failed within a minute of the last.
pub fn together<'a, 'b>(candidates: &'b [Candidate<'a>]) -> Vec<&'b Candidate<'a>> {
    let usable = || candidates.iter().filter(|candidate| candidate.obstacle.is_none());
    let failed = |candidate: &Candidate| candidate.replica.spec.failed_at.get();
    let Some(last) = usable().filter_map(failed).max() else { return Vec::new() };
    usable().filter(|one| failed(one).is_some_and(|at| last.duration_since(at) <= SALVAGE_WINDOW)).collect()
}

/// A copy with later writes than every usable one, which cannot be used now.
pub fn newer<'a, 'b>(candidates: &'b [Candidate<'a>]) -> Option<&'b Candidate<'a>> {
    let failed = |candidate: &Candidate| candidate.replica.spec.failed_at.get();
    let usable = candidates.iter().filter(|one| one.obstacle.is_none()).filter_map(failed).max()?;
    let later = |one: &&Candidate| failed(one).is_some_and(|at| at.duration_since(usable) > SALVAGE_WINDOW);
    candidates.iter().filter(|one| one.obstacle.is_some()).filter(later).max_by_key(|one| failed(one))
}

/// True unless the setting is off. Longhorn's default is on.
pub fn is_automatic(cluster: &Cluster) -> bool {
    !cluster.setting_value("auto-salvage", DataEngine::V1).eq_ignore_ascii_case("false")
}

/// The first of Longhorn's own conditions that a replica does not meet.
fn obstacle(cluster: &Cluster, replica: &Replica) -> Option<Obstacle> {
    let is = |briefly, text| Some(Obstacle { text, briefly });
    let spec = &replica.spec;
    if spec.node_id.is_empty() || spec.disk_id.is_empty() {
        return is("the last replica has no disk", "the replica has no node or disk".to_owned());
    }
    let Some(node) = volumes::node_of(cluster, replica) else {
        return is(
            "the last replica's node was removed from Longhorn",
            format!("Longhorn no longer knows node {}", spec.node_id),
        );
    };
    if nodes::is_down(node) {
        let (briefly, how) = match nodes::is_gone(cluster, &spec.node_id) {
            true => ("the last replica's node was removed", "was removed from Kubernetes"),
            false => ("the last replica's node is down", "is down"),
        };
        return is(briefly, format!("node {} {how}", spec.node_id));
    }
    let disk = node.status.disk_status.iter().find(|(_, disk)| disk.disk_uuid == spec.disk_id);
    let Some((name, disk)) = disk else {
        return is(
            "the last replica's disk is missing",
            format!("node {} lacks disk {}", spec.node_id, spec.disk_id),
        );
    };
    if status(&disk.conditions, "Schedulable") == ConditionStatus::True {
        return None;
    }
    let schedulable = condition(&disk.conditions, "Schedulable");
    let reason = schedulable.map_or("not known", |schedulable| schedulable.reason.as_str());
    let briefly = match reason {
        "DiskPressure" => "the last replica's disk is full",
        _ => "the last replica's disk is not ready",
    };
    is(briefly, format!("disk {name} is unschedulable ({reason})"))
}
