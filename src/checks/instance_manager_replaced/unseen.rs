//! A replacement that happened before the exporter watched, as far as timestamps and Events tell: the pod is much younger than its
//! instance manager.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::aftermath::{Aftermath, Span};
use super::judge::{self, ReplacementScene, ReplacementVerdict};
use super::kubelet;
use super::node::{NodeStory, cordons};
use super::seen::setting_that_replaces;
use super::{DAY, End, is_made_good, remember_hits};
use crate::check::*;
use crate::facts::instance_managers::InstanceManagers;
use crate::facts::{api, nodes};
use crate::history::ends::EndSeen;
use crate::longhorn::{DataEngine, Event, InstanceManager, Meta, Pod};

/// One that left no trace and hit nothing is no longer looked for after this time.
const LONG_AGO: SignedDuration = SignedDuration::from_hours(1);

/// A pod that is this much younger than its instance manager is not its first.
const WELL_AFTER: SignedDuration = SignedDuration::from_mins(10);
/// The same where something else tells of an end, too.
const AFTER_FIRST: SignedDuration = SignedDuration::from_mins(2);
/// A container may take 30 s to end, and Longhorn makes the next pod some seconds later.
const RECREATED: SignedDuration = SignedDuration::from_secs(45);
/// The same with a back-off of up to two minutes (from 1.10 on, longhorn-manager v1.12.1 controller/utils.go), and a node that is
/// away or takes no pod for some time.
const LATE: SignedDuration = SignedDuration::from_mins(15);

/// What is left of the pod before.
struct Before<'a> {
    /// Events of the last pod that ran, and of no other.
    events: Vec<&'a Event>,
    /// That the node did not take the pods that followed.
    rejection: Option<&'a Event>,
    /// Since when it has taken none.
    rejected: Option<Timestamp>,
}

impl<'a> Before<'a> {
    /// `uncordoned` is when its node took pods again.
    fn of(
        aftermath: &Aftermath<'a>,
        name: &str,
        uid: &str,
        made: Timestamp,
        uncordoned: Option<Timestamp>,
    ) -> Self {
        let mut pods: BTreeMap<&str, Vec<&Event>> = BTreeMap::new();
        for event in aftermath.events_but(name, uid) {
            pods.entry(event.involved_object.uid.as_str()).or_default().push(event);
        }
        pods.remove("");
        let ran = |events: &[&Event]| {
            const SIGNS: [&str; 4] = ["Started", "Killing", "Unhealthy", "NodeNotReady"];
            events.iter().any(|event| SIGNS.contains(&event.reason.as_str()))
        };
        let rejected = |events: &[&'a Event]| {
            let rejection = events.iter().copied().find(|event| kubelet::is_rejection(event));
            rejection.filter(|_| !ran(events))
        };
        let soon = |event: &&Event, patience| {
            event.last_seen().is_some_and(|seen| made.duration_since(seen).abs() <= patience)
        };
        let rejections: Vec<&Event> = pods.values().filter_map(|events| rejected(events)).collect();
        let since = rejections.iter().filter_map(|event| event.first_seen()).min();
        let rejection =
            rejections.into_iter().filter(|event| soon(event, LATE)).max_by_key(|event| event.last_seen());
        pods.retain(|_, events| rejected(events).is_none());
        // an earlier pod than the last one may have ended for another reason
        let last = |events: &Vec<&Event>| events.iter().filter_map(|event| event.last_seen()).max();
        let events = pods.into_values().max_by_key(last).unwrap_or_default();
        let said_last = |event: &&Event| {
            ["Killing", "Evicted", "NodeNotReady"].contains(&event.reason.as_str()) && soon(event, LATE)
        };
        // a cordoned node gets no pod for as long as the drain takes
        let waited = |event: &&Event| {
            let before = event.last_seen().zip(uncordoned).is_some_and(|(seen, again)| seen <= again);
            event.reason == "Killing" && before
        };
        let about_the_end =
            events.iter().any(|event| soon(event, RECREATED) || said_last(event) || waited(event));
        let rejected = since.filter(|_| rejection.is_some());
        Before { events: if about_the_end { events } else { Vec::new() }, rejection, rejected }
    }

    /// When it ended, where its kubelet says so.
    fn ended(&self) -> Option<Timestamp> {
        kubelet::stop(&self.events)?.at
    }
}

/// When a node was uncordoned, if a pod that was created then may have waited for that.
fn uncordoned(cluster: &Cluster, node: &str, made: Timestamp) -> Option<Timestamp> {
    let again = cordons(cluster, node).filter(|(_, cordoned)| !cordoned).map(|(at, _)| at);
    // its kubelet says so some seconds later than Longhorn, and Events last an hour
    let again = again.chain(nodes::uncordoned(cluster, node));
    again.filter(|again| made.duration_since(*again).abs() <= LATE).max()
}

/// Judges the end of the pod before this one, if there was any.
pub(super) fn end<'a>(
    cluster: &'a Cluster,
    fleet: &InstanceManagers<'a>,
    aftermath: &Aftermath<'a>,
    im: &'a InstanceManager,
    out: &mut Outcome,
) -> Option<End<'a>> {
    let (name, node) = (&im.metadata.name, &im.spec.node_id);
    let pod = fleet.pod_of(im)?;
    let (made, began) = (pod.metadata.created()?, im.metadata.created()?);
    let watched = cluster.history.started.is_some_and(|started| made >= started);
    let age = made.duration_since(began);
    // so it is with nearly all of them
    if watched || age < AFTER_FIRST.min(WELL_AFTER) || cluster.age(made) >= DAY {
        return None;
    }
    let uncordoned = uncordoned(cluster, node, made);
    let before = Before::of(aftermath, name, &pod.metadata.uid, made, uncordoned);
    let ended = before.ended().filter(|ended| *ended <= made);
    let taint_manager = aftermath.taint_manager(name, ended.unwrap_or(made), Some(began));
    // a kubelet that was away stops it when it is back, long after it was lost
    let was_away =
        before.events.iter().any(|event| event.reason == "NodeNotReady") || taint_manager.is_some();
    // those that the node rejected came after it
    let ended_by = ended.or(before.rejected).unwrap_or(made);
    let span = Span { end: ended_by, again: made, exact: ended.is_some() && !was_away };
    let mut hits = aftermath.hits(name, node, span);
    // a first pod is made within seconds, and nothing can have run in an earlier one then
    let traced = !hits.facts.is_empty() || !before.events.is_empty() || taint_manager.is_some();
    let least = if traced { AFTER_FIRST } else { WELL_AFTER };
    if age < least {
        return None;
    }
    // a default v2 instance manager gets its first pod when the old one has gone
    if im.spec.data_engine == DataEngine::V2 && hits.facts.is_empty() {
        return None;
    }
    // what the pod before hit is not what the end of this one hits, which is kept by its uid
    let before_it = format!("before {}", pod.metadata.uid);
    remember_hits(cluster, &before_it, &mut hits, out);
    let metadata = Meta { name: name.clone(), ..Meta::default() };
    let stranger = Pod { metadata, spec: pod.spec.clone(), ..Pod::default() };
    let (nothing_seen, at) = (EndSeen::default(), ended_by);
    let scene = ReplacementScene {
        last: &stranger,
        successor: None,
        end: &nothing_seen,
        retired: false,
        setting: setting_that_replaces(cluster, Some(pod))
            .filter(|_| hits.facts.is_empty() || !hits.engines && !hits.in_use),
        node: NodeStory::of(cluster, node, Some(began), at, None),
        taint_manager,
        events: before.events,
        // which of them an Event that is missing was about is unknown
        events_reach_back: before.rejection.is_none() && aftermath.reach_back(at),
        hits: &hits,
    };
    let mut judged = judge::judge(&scene);
    let evidence = &mut judged.evidence;
    evidence.extend(before.rejection.map(kubelet::quote));
    evidence.push(api(format!("the pod was created at {made}, long after its instance manager ({began})")));
    evidence.push(api(
        "the previous pod's end was not observed, so the cause is inferred. No one saw whether the pod was deleted \
         first, how its container ended, or its node's state",
    ));
    let verdict = judged.verdict;
    // a drained node has none for as long as it is cordoned, often for longer than Events are kept
    let expected = cluster.is_watched() || uncordoned.is_some() || cluster.age(made) >= LONG_AGO;
    let harmless = verdict == ReplacementVerdict::Unknown && hits.facts.is_empty() && expected;
    let harmless = harmless || is_made_good(cluster, &judged, (&before_it, made), &hits, out);
    Some(End::of([name.as_str(), node.as_str()], judged, harmless, made, Some(pod), hits))
}
