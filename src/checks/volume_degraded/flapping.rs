//! Volumes whose replicas fail and are rebuilt, again and again: at most moments nothing is wrong with them.

use std::collections::BTreeMap;

use jiff::SignedDuration;

use super::*;
use crate::facts::bursts;
use crate::longhorn::Event;

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

pub(super) fn look(cluster: &Cluster, volume: &Volume, losses: &[&Event]) -> Option<Finding> {
    let first = losses.iter().filter_map(|event| event.first_seen()).min()?;
    let last = losses.iter().filter_map(|event| event.last_seen()).max()?;
    let times = bursts::times(losses.iter().copied());
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
    let message = format!("{whose} keeps losing replicas: degraded {times} times since {first:.0}");
    Some(
        Finding::about(&FLAPPING, volumes::object(cluster, volume), message)
            .volumes(users)
            .since(Some(first))
            .impact(format!("{whose} works, but is degraded each time, and rebuilds load disks and network"))
            .fact(EvidenceSource::Event.says(format!("Event Degraded: {times} times, last at {last}")))
            .facts(failed),
    )
}
