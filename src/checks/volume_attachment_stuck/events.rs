//! What Events say of engines that die: how often, and whether another trouble explains it.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use super::*;
use crate::facts::bursts::{SHORTEST_ROUND, rounds};
use crate::facts::{nodes, volumes};
use crate::longhorn::{CsiAttachment, Event, Volume};

/// What happened longer ago is over.
const RECENT: SignedDuration = SignedDuration::from_mins(15);
/// A loop goes on within it.
const HOUR: SignedDuration = SignedDuration::from_hours(1);
/// This many in an hour are a loop. One is a crash, from which Longhorn recovers.
pub(super) const LOOP_AT: i64 = 3;
/// A node that was restarted, or lost its power for a moment, is Ready again so long after.
const NODE_RETURNS: SignedDuration = SignedDuration::from_mins(5);
/// client-go lets 25 Events about an object through at once, and then one in five minutes: from about here on, the time of the last one
/// may stand still while the loop goes on (client-go v0.33 tools/record/events_cache.go defaultSpamBurst, defaultSpamQPS). Others
/// about the volume count too.
pub(super) const FLOOD: i64 = 15;
/// How long the time of the last Event may stand still then.
const HELD_BACK: SignedDuration = SignedDuration::from_mins(6);
/// The next pod of an instance manager is created this soon after, or before, its engines are found dead.
const WITH_MANAGER: SignedDuration = SignedDuration::from_mins(1);

/// Events about volumes and engines that speak for a loop, by name of the object: how many, and the last.
pub(super) struct Events<'a> {
    pub(super) detached: BTreeMap<&'a str, EventTally<'a>>,
    pub(super) failed: BTreeMap<&'a str, EventTally<'a>>,
    /// Starts of engines: one for each round of a loop (controller/instance_handler.go createInstance, v1.3.3 to v1.12.1).
    pub(super) started: BTreeMap<&'a str, EventTally<'a>>,
    /// Remounts that Longhorn asked for: one for each death after which the volume is attached again (longhorn-manager v1.4.4 to v1.12.1
    /// controller/volume_controller.go ReconcileVolumeState), each an Event of its own, as its text has the time.
    pub(super) remounts: BTreeMap<&'a str, i64>,
    /// The uids of all pods of a name that are known within the hour, of instance managers.
    lives: BTreeMap<&'a str, BTreeSet<&'a str>>,
    /// When Kubernetes last asked to attach or to detach a persistent volume.
    pub(super) asked: BTreeMap<&'a str, Timestamp>,
}

/// Events of one reason about one object within the last hour.
#[derive(Clone, Copy)]
pub(super) struct EventTally<'a> {
    pub(super) count: i64,
    /// As many of them as each Event alone had the time for.
    rounds: i64,
    pub(super) first: Timestamp,
    pub(super) last: Timestamp,
    /// The message of one.
    pub(super) said: &'a str,
}

impl EventTally<'_> {
    /// How often an engine can have died: as often as it was started, or by the time from the first Event to the last. Two Events of a
    /// second each are two deaths, however far they are apart.
    pub(super) fn deaths(self, starts: i64, remounts: Option<&i64>) -> i64 {
        let deaths = self.count.min(rounds(self.first, self.last).min(self.rounds).max(starts));
        // one death writes up to seven Events, which aggregate over minutes; of a flood some are lost
        remounts.filter(|_| self.count < FLOOD).map_or(deaths, |remounts| deaths.min(*remounts))
    }

    /// How long after the last death the next one is overdue.
    pub(super) fn cooldown(self, volume: &Volume, deaths: i64) -> SignedDuration {
        let spread = self.last.duration_since(self.first).as_secs();
        let round = (spread / (deaths - 1).max(1)).max(SHORTEST_ROUND.as_secs());
        let usual = SignedDuration::from_secs(round.saturating_mul(2));
        // for others the time of the remount goes on
        if self.count >= FLOOD && volume.is_shared() { usual.max(HELD_BACK) } else { usual }
    }
}

impl<'a> Events<'a> {
    pub(super) fn of(cluster: &'a Cluster) -> Self {
        let mut events = Events {
            detached: BTreeMap::new(),
            failed: BTreeMap::new(),
            started: BTreeMap::new(),
            remounts: BTreeMap::new(),
            lives: BTreeMap::new(),
            asked: BTreeMap::new(),
        };
        for csi in cluster.objects.csi_attachments.iter() {
            let Some(at) = asked_by(csi) else { continue };
            let known = events.asked.entry(&csi.spec.source.persistent_volume_name).or_insert(at);
            *known = at.max(*known);
        }
        let gone = cluster.history.gone_pods().filter(|gone| cluster.age(gone.at) < HOUR);
        for pod in gone.map(|gone| &*gone.last).chain(cluster.objects.pods.iter()) {
            if pod.is_instance_manager() {
                events.lives.entry(&pod.metadata.name).or_default().insert(&pod.metadata.uid);
            }
        }
        for event in cluster.objects.events.iter() {
            let object = &event.involved_object;
            if let Some(lives) = events.lives.get_mut(object.name.as_str()).filter(|_| object.kind == "Pod") {
                lives.extend(Some(object.uid.as_str()).filter(|uid| !uid.is_empty()));
            }
            let lately = event.last_seen().is_some_and(|last| cluster.age(last) < HOUR);
            if lately && event.reason == "Remount" && event.message.contains(" requested remount at ") {
                let count = i64::try_from(event.occurrences()).unwrap_or(1);
                *events.remounts.entry(object.name.as_str()).or_default() += count;
            }
            let seen = match (event.reason.as_str(), event.involved_object.kind.as_str()) {
                (reason, "Volume") if volumes::is_unexpected_detach(reason) => &mut events.detached,
                ("FailedStarting", "Engine") => &mut events.failed,
                ("Start", "Engine") => &mut events.started,
                _ => continue,
            };
            let Some(last) = event.last_seen().filter(|last| cluster.age(*last) < HOUR) else { continue };
            let begin = event.first_seen().unwrap_or(last).max(cluster.now.checked_sub(HOUR).unwrap_or(last));
            let new = EventTally { count: 0, rounds: 0, first: begin, last, said: &event.message };
            let entry = seen.entry(&event.involved_object.name).or_insert(new);
            let count = within_the_hour(cluster, event, last);
            entry.count = entry.count.saturating_add(count);
            entry.rounds = entry.rounds.saturating_add(count.min(rounds(begin, last)));
            (entry.first, entry.last) = (entry.first.min(begin), entry.last.max(last));
        }
        events
    }

    /// True when the last death of the engine is that of an instance manager on its node, which a check of its own tells: its
    /// next pod was made then, it has not ended so often that this is the loop, and the engine was not started so much more often.
    pub(super) fn explained_by_instance_manager(
        &self,
        cluster: &Cluster,
        node: &str,
        last: Timestamp,
        starts: i64,
    ) -> bool {
        let managers = || cluster.instance_managers_on(node).map(|manager| manager.metadata.name.as_str());
        // none is made while the node is cordoned
        let has_pod = |name: &str| cluster.objects.pods.get(name).is_some();
        if nodes::is_cordoned(cluster, node) && !managers().any(has_pod) {
            return true;
        }
        managers().any(|name| {
            let made = cluster.objects.pods.get(name).and_then(|pod| pod.metadata.created());
            let then = made.is_some_and(|made| last.duration_since(made).abs() <= WITH_MANAGER);
            // of a pod that went before the exporter looked no uid is known
            let lives = self.lives.get(name).map_or(0, |lives| lives.len() as i64);
            then && (1..=LOOP_AT).contains(&lives) && starts <= 2 * lives.max(2)
        })
    }
}

/// How many of an Event's repetitions fall into the last hour, taking them as evenly spread.
fn within_the_hour(cluster: &Cluster, event: &Event, last: Timestamp) -> i64 {
    let count = event.count.0.max(event.series.as_ref().map_or(0, |series| series.count.0)).max(1);
    let spread = event.first_seen().map_or(0, |first| last.duration_since(first).as_secs());
    let ago = cluster.age(last).as_secs();
    let window = HOUR.as_secs().saturating_sub(ago);
    if spread <= window { count } else { (count.saturating_mul(window) / spread.max(1)).max(1) }
}

/// At least so many times within the hour, and lately.
pub(super) fn recent<'a>(cluster: &Cluster, found: Option<&EventTally<'a>>) -> Option<EventTally<'a>> {
    found.copied().filter(|seen| seen.count >= LOOP_AT && cluster.age(seen.last) < RECENT)
}

/// True when the last death of the engine is that of its node, which was not Ready for some minutes afterwards: it came back later than that,
/// or went about then.
pub(super) fn died_with_node(cluster: &Cluster, node: &str, last: Timestamp) -> bool {
    let Some(changed) = nodes::not_ready_since(cluster, node) else { return false };
    let after = changed.duration_since(last);
    match nodes::kube_ready(cluster, node) {
        Some(true) => after > SignedDuration::ZERO && after <= NODE_RETURNS,
        Some(false) => after.abs() <= NODE_RETURNS,
        None => false,
    }
}

/// How often the engine of a volume died since it was up for the first time, as far as this exporter saw it: each death is later than
/// the first sight of the one before.
pub(super) fn deaths_watched(out: &mut Outcome, volume: &str, up: Timestamp, last: Timestamp) -> i64 {
    let mut after = Some(up);
    let mut deaths = 0;
    for fact in ["died", "died_twice", "died_thrice"] {
        let holds = after.is_some_and(|after| last.duration_since(after) >= SHORTEST_ROUND);
        if !out.ever(fact, volume, holds) {
            break;
        }
        deaths += 1;
        after = out.first_seen(fact, volume);
    }
    deaths
}

pub(super) fn asked_by(csi: &CsiAttachment) -> Option<Timestamp> {
    csi.metadata.deletion_timestamp.get().max(csi.metadata.created())
}
