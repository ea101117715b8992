//! What the kubelet's Events say about the end of an instance manager's pod.
//!
//! Its pod has restartPolicy Never and one container. The kubelet then writes `Killing: Stopping container instance-manager` for
//! all that it stops: a deletion, an eviction, a probe that failed, a sandbox that was lost. Only the Events beside it tell them
//! apart (kubelet v1.36.3, recorded; `failed liveness probe` is written where another container lives on).

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use crate::check::*;
use crate::longhorn::*;

/// Events carry whole seconds, and the kubelet may cross one between a failed probe and what it does about it.
const SAME_MOMENT: SignedDuration = SignedDuration::from_secs(1);
/// After so many Events of one kind about one object the API client holds them back and lets one through each five minutes
/// (client-go tools/record/events_cache.go defaultSpamBurst, defaultSpamQPS).
const HELD_BACK: u64 = 25;
const LET_THROUGH: SignedDuration = SignedDuration::from_secs(5 * 60 + 30);

/// That the kubelet stopped a container, no matter why.
pub struct Stop<'a> {
    pub event: &'a Event,
    pub at: Option<Timestamp>,
}

/// The first Event that says so.
pub fn stop<'a>(events: &[&'a Event]) -> Option<Stop<'a>> {
    let killing = events.iter().copied().filter(|event| event.reason == "Killing");
    let at = |event: &Event| event.first_seen().or(event.last_seen());
    let first = killing.min_by_key(|event| at(event))?;
    Some(Stop { event: first, at: at(first) })
}

/// Failures of the probes for which a kubelet stops a container. An exec probe that could not be started is none of them.
pub struct ProbeFailures<'a> {
    pub events: Vec<&'a Event>,
    count: u64,
    last: Option<Timestamp>,
}

impl<'a> ProbeFailures<'a> {
    /// Those among the Events of one pod: those of a pod before it do not count.
    pub fn of(events: &[&'a Event]) -> Self {
        let failed = |event: &&Event| {
            let said = event.said();
            event.reason == "Unhealthy"
                && (said.starts_with("Liveness probe failed") || said.starts_with("Startup probe failed"))
        };
        let events: Vec<&Event> = events.iter().copied().filter(failed).collect();
        let count = events.iter().map(|event| event.occurrences()).fold(0, u64::saturating_add);
        let last = events.iter().filter_map(|event| event.last_seen()).max();
        ProbeFailures { events, count, last }
    }

    /// True where they are why the kubelet stopped it: as many as the probe bears, the last one in the moment of the stop. While a
    /// deletion is under way nothing is probed, so there the last one may be up to a period older.
    ///
    /// `not_deleted` is true where the watch has seen that no one asked for its deletion. Then Events that are held back will do.
    pub fn ended_it(&self, stop: &Stop, probe: Option<&Probe>, not_deleted: bool) -> bool {
        if stop.event.said().contains("failed liveness probe")
            || stop.event.said().contains("failed startup probe")
        {
            return true;
        }
        let (Some(last), Some(stopped)) = (self.last, stop.at) else { return false };
        let age = stopped.duration_since(last);
        let enough = |count: i64| self.count >= u64::try_from(count).unwrap_or(u64::MAX);
        let borne = probe.map_or(3, Probe::threshold);
        let held_back = enough(HELD_BACK as i64) && age <= LET_THROUGH;
        let slow = probe.map_or(SAME_MOMENT, |probe| {
            SignedDuration::from_secs(probe.period().saturating_add(probe.timeout()).min(60))
        });
        let patience = if not_deleted { slow } else { SAME_MOMENT };
        age >= -SAME_MOMENT
            && ((enough(borne) && age <= patience)
                || (not_deleted && held_back && age >= SignedDuration::ZERO))
    }

    /// What a probe says that gets no answer from the network: the process may well listen.
    pub fn unreachable(&self) -> Option<&'a str> {
        const NO_WAY: [&str; 4] =
            ["i/o timeout", "no route to host", "network is unreachable", "connection timed out"];
        let said = self.events.iter().map(|event| event.said());
        let dials = said.filter_map(|said| said.get(said.find("dial tcp")?..));
        dials.map(str::trim).find(|said| NO_WAY.iter().any(|words| said.contains(words)))
    }
}

/// When probes ended pods of one name, by Events: those of each pod on their own.
pub fn probe_kills<'a>(
    events: impl Iterator<Item = &'a Event>,
    probe: Option<&Probe>,
) -> impl Iterator<Item = Timestamp> {
    let mut pods: BTreeMap<&str, Vec<&Event>> = BTreeMap::new();
    for event in events {
        pods.entry(event.involved_object.uid.as_str()).or_default().push(event);
    }
    pods.into_values().filter_map(move |events| {
        let stop = stop(&events)?;
        ProbeFailures::of(&events).ended_it(&stop, probe, false).then_some(stop.at?)
    })
}

/// That the kubelet evicted it, that a kubelet which started under pressure gave it up, or that the scheduler did for a pod of a higher
/// priority (Kubernetes pkg/scheduler/framework/preemption: `Preempted by pod UID on node NODE`, before 1.27 with its name).
pub fn eviction<'a>(events: &[&'a Event]) -> Option<&'a Event> {
    let reasons = ["Evicted", "Preempting", "Preempted"];
    events.iter().copied().find(|event| reasons.contains(&event.reason.as_str()))
}

/// That it did not take a pod; such a pod never ran.
pub fn is_rejection(event: &Event) -> bool {
    let reason = event.reason.as_str();
    ["TaintToleration", "NodeAffinity", "UnexpectedAdmissionError"].contains(&reason)
        || reason.starts_with("OutOf")
        || (reason == "Evicted" && event.said().contains("node had condition"))
}

/// An Event in its own words.
pub fn quote(event: &Event) -> Evidence {
    let said = event.message.trim();
    let more = if said.ends_with(':') { " (the Event says no more)" } else { "" };
    let times = counted(event.occurrences(), "time");
    EvidenceSource::Event.says(format!("event {} ({times}): \"{said}\"{more}", event.reason))
}
