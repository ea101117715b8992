//! Volumes whose replicas fail and are rebuilt, again and again: at most moments nothing is wrong with them.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use super::*;
use crate::facts::bursts;
use crate::longhorn::{Event, Replica};

/// So often in an hour; a node that is restarted, or one that is drained after the other, takes a replica once each.
const OFTEN: i64 = 5;
const RECENT: SignedDuration = SignedDuration::from_mins(20);

/// What the volume controller writes of each loss, by volume (longhorn-manager v1.3.3 to v1.12.1 constant/events.go
/// EventReasonDegraded).
pub(super) fn losses(cluster: &Cluster) -> BTreeMap<&str, Vec<&Event>> {
    let mut losses: BTreeMap<&str, Vec<&Event>> = BTreeMap::new();
    let events = cluster.objects.events.iter();
    for event in events.filter(|event| event.reason == "Degraded" && event.involved_object.kind == "Volume") {
        losses.entry(event.involved_object.name.as_str()).or_default().push(event);
    }
    losses
}

/// How many instance managers with replicas of the volume were made meanwhile: each took them along, as a node that was off did, and has
/// a story of its own (seen on 1.12.1: two reboots and three of them in an hour). A new volume is degraded until its replicas are up.
fn explained(cluster: &Cluster, volume: &Volume, first: Timestamp, last: Timestamp) -> i64 {
    const AROUND: SignedDuration = SignedDuration::from_mins(2);
    let nodes: Vec<&str> =
        cluster.replicas_of(&volume.metadata.name).map(|replica| replica.spec.node_id.as_str()).collect();
    let gone = cluster.history.gone_pods().map(|gone| &*gone.last);
    let made = gone.chain(cluster.objects.pods.iter()).filter(|pod| {
        let then = pod
            .metadata
            .created()
            .is_some_and(|at| first.duration_since(at) <= AROUND && at.duration_since(last) <= AROUND);
        then && pod.is_instance_manager() && nodes.contains(&pod.spec.node_name.as_str())
    });
    let new = volume.metadata.created().is_some_and(|made| first.duration_since(made) <= AROUND);
    i64::try_from(made.count().saturating_add(usize::from(new))).unwrap_or(i64::MAX)
}

/// The two nodes between which replicas of several volumes failed within two minutes of this loss, and no others did: engine
/// on one, replica on the other, while both are up (seen on 1.12.1, where packets between the pods of two nodes were dropped).
fn cut_apart(cluster: &Cluster, last: Timestamp) -> Option<(&str, &str, usize)> {
    const TOGETHER: SignedDuration = SignedDuration::from_mins(2);
    let mut pairs: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
    for replica in cluster.objects.replicas.iter() {
        let (name, there) = (replica.spec.volume_name.as_str(), replica.spec.node_id.as_str());
        let failed = replica.spec.failed_at.get().filter(|at| last.duration_since(*at).abs() <= TOGETHER);
        let here = cluster.objects.volumes.get(name).map(|volume| volume.status.current_node_id.as_str());
        if let Some(here) = here.filter(|here| failed.is_some() && !here.is_empty()) {
            pairs.entry((here.min(there), here.max(there))).or_default().insert(name);
        }
    }
    let ((one, other), volumes) = pairs.pop_first().filter(|_| pairs.is_empty())?;
    let up = one != other && [one, other].iter().all(|node| nodes::down(cluster, node).is_none());
    (up && volumes.len() > 1).then_some((one, other, volumes.len()))
}

pub(super) fn look(cluster: &Cluster, volume: &Volume, losses: &[&Event]) -> Option<Finding> {
    let first = losses.iter().filter_map(|event| event.first_seen()).min()?;
    let last = losses.iter().filter_map(|event| event.last_seen()).max()?;
    let times = bursts::times(losses.iter().copied()).saturating_sub(explained(cluster, volume, first, last));
    let hours = (last.duration_since(first).as_secs() / 3600).saturating_add(1);
    if times < OFTEN.saturating_mul(hours) || cluster.age(last) > RECENT {
        return None;
    }
    let users = vec![cluster.volume_ref(&volume.metadata.name)];
    let whose = text::claims_of(&users);
    let engine = volumes::current_engine(cluster, volume).map_or("", |engine| engine.metadata.name.as_str());
    let failed = cluster.events_about(engine).filter(|event| event.reason == "FailedRebuilding");
    let failed = failed.max_by_key(|event| event.last_seen()).map(|event| {
        let text = format!("Event FailedRebuilding of the engine: {}", text::quoted(event.said()));
        EvidenceSource::Event.says(text).quoting(event.said())
    });
    let pair = cut_apart(cluster, last);
    let unsteady = unsteady(cluster, volume, first);
    let (place, how) = match (unsteady, pair) {
        (Some((node, times)), _) => (format!(" on {node}"), format!("the node went NotReady {times} times")),
        (None, Some((one, other, _))) => {
            (format!(" between {one} and {other}"), format!("degraded {times} times"))
        }
        (None, None) => {
            (String::new(), format!("degraded {times} times in {}", text::age(cluster.age(first))))
        }
    };
    let message = format!("{whose} keeps losing replicas{place}: {how}");
    Some(
        Finding::about(&FLAPPING, volumes::object(cluster, volume), message)
            .volumes(users)
            .since(Some(first))
            .impact(format!(
                "{whose} works, but is degraded after each failure, and rebuilds load disks and network"
            ))
            .fact(EvidenceSource::Event.says(format!("Event Degraded: {times} times, last at {last}")))
            .facts(pair.map(|(one, other, count)| {
                format!("replicas of {count} volumes failed together: every engine was on {one} or {other}, and its failed replica on the other")
            }))
            .facts(unsteady.map(|(node, times)| {
                EvidenceSource::Event.says(format!("{node} went NotReady {times} times"))
            }))
            .node(unsteady.map_or("", |(node, _)| node))
            .way(unsteady.map(|_| &UNSTEADY_NODE))
            .facts(failed),
    )
}

/// The node on which all replicas were that failed, where it goes away and comes back.
fn unsteady<'a>(cluster: &'a Cluster, volume: &Volume, first: Timestamp) -> Option<(&'a str, i64)> {
    const OFTEN: i64 = 3;
    let slack = SignedDuration::from_mins(5);
    let failed = |replica: &&Replica| {
        let at = replica.spec.last_failed_at.get().max(replica.spec.failed_at.get());
        at.is_some_and(|at| first.duration_since(at) <= slack)
    };
    let failed = cluster.replicas_of(&volume.metadata.name).filter(failed);
    let nodes: BTreeSet<&str> = failed.map(|replica| replica.spec.node_id.as_str()).collect();
    let node = nodes.first().filter(|_| nodes.len() == 1)?;
    let left = cluster.events_about_node(node).filter(|event| event.is_lost());
    let times = left.map(|event| i64::try_from(event.occurrences()).unwrap_or(i64::MAX)).sum();
    (times >= OFTEN).then_some((*node, times))
}
