//! What only time shows: since when a fact holds, which pods vanished and how they looked last, what was changed,
//! and what crashed containers wrote. Bounded; empty for a recording.

pub mod changes;
pub mod ends;
mod logs;
pub mod saved;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use jiff::Timestamp;

use crate::longhorn::{Pod, SharedText};

use ends::{EndSeen, Ending};

pub use logs::CrashLog;

/// How many vanished pods are kept.
const MAX_GONE_PODS: usize = 512;
/// How many observations are aged at once.
const MAX_OBSERVED: usize = 100_000;

/// Something that a check saw hold, whose age is kept.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Observation {
    /// Id of the check that looks at it.
    pub check: &'static str,
    /// What holds, as a short constant.
    pub fact: &'static str,
    /// What it is about; shared by the facts of one evaluation and the next, and with the object of that name.
    pub object: SharedText,
}

/// A pod that is gone, or was replaced by another of the same name, as it was last seen.
///
/// Longhorn's bare pods (instance managers and others) are recreated under the same name with a new
/// uid, and the failed pod is visible for seconds only
/// (longhorn-manager v1.12.1 controller/instance_manager_controller.go handlePod).
#[derive(Debug, Clone, PartialEq)]
pub struct GonePod {
    /// The pod as the last event showed it.
    pub last: Arc<Pod>,
    /// When it was seen to be gone.
    pub at: Timestamp,
    /// Uid of the pod of the same name that followed; empty until there is one.
    pub replaced_by: String,
    /// What was seen of its end.
    pub end: EndSeen,
    /// Since when pods of this name came and went without ever having run, and how many of them: of an instance manager only the
    /// last one is kept, as Longhorn makes a new one every few seconds.
    pub refused: Option<(Timestamp, u32)>,
}

/// What was kept. Cloning is cheap; evaluation sees one consistent copy.
#[derive(Debug, Clone, Default)]
pub struct History {
    /// When this exporter began to watch; `None` for a recording.
    pub started: Option<Timestamp>,
    observed: Arc<BTreeMap<Observation, Timestamp>>,
    begun: Arc<BTreeMap<(&'static str, &'static str), u64>>,
    gone_pods: Arc<VecDeque<GonePod>>,
    ending: Ending,
    changes: Arc<changes::Changes>,
    crash_logs: Arc<BTreeMap<(String, String), CrashLog>>,
    current_logs: Arc<BTreeMap<(String, String), CrashLog>>,
    /// By pod: its uid, and why the log of its last termination could not be read.
    unread_logs: Arc<BTreeMap<String, (String, String)>>,
    crash_logs_denied: Option<Arc<str>>,
}

impl History {
    /// A history that begins now.
    pub fn starting(now: Timestamp) -> Self {
        History { started: Some(now), ..History::default() }
    }

    /// True for a recording, in which only object timestamps tell ages.
    pub fn is_recorded(&self) -> bool {
        self.started.is_none()
    }

    /// Since when a fact holds, if it was noted before.
    pub fn first_seen(&self, key: &Observation) -> Option<Timestamp> {
        self.observed.get(key).copied()
    }

    /// The same with the key that is held, which costs no second copy of its text.
    pub fn known(&self, key: &Observation) -> Option<(&Observation, Timestamp)> {
        self.observed.get_key_value(key).map(|(key, since)| (key, *since))
    }

    /// Facts of this check and name about objects that begin so, with the rest of their names and since when
    /// they hold.
    pub fn first_seen_of<'a>(
        &'a self,
        check: &'static str,
        fact: &'static str,
        object: &'a str,
    ) -> impl Iterator<Item = (&'a str, Timestamp)> {
        let first = Observation { check, fact, object: object.into() };
        let of_fact = move |(key, _): &(&Observation, _)| key.check == check && key.fact == fact;
        let facts = self.observed.range(first..).take_while(of_fact);
        facts.map_while(move |(key, since)| Some((key.object.strip_prefix(object)?, *since)))
    }

    /// How many facts of this check and name have begun since the exporter started. Only grows, and
    /// outlives the facts and the bounded lists that they were read from, which is what a counter
    /// needs: a fact about something that happened once (a pod by its uid) is counted once.
    pub fn begun(&self, check: &'static str, fact: &'static str) -> u64 {
        self.begun.get(&(check, fact)).copied().unwrap_or(0)
    }

    /// Takes over the observations of an evaluation: new ones begin now, those not among them are
    /// forgotten. Facts of checks in `blind` are kept as they are, because a check that could not
    /// look has not seen the fact end.
    pub fn keep_observed(
        &mut self,
        mut holding: Vec<Observation>,
        blind: &BTreeSet<&'static str>,
        now: Timestamp,
    ) {
        if self.is_recorded() {
            return;
        }
        holding.truncate(MAX_OBSERVED);
        holding.sort_unstable();
        let stays = |key: &Observation| blind.contains(key.check) || holding.binary_search(key).is_ok();
        if !self.observed.keys().all(stays) {
            Arc::make_mut(&mut self.observed).retain(|key, _| stays(key));
        }
        let new = holding.into_iter().filter(|key| !self.observed.contains_key(key));
        let mut new: BTreeMap<Observation, Timestamp> = new.map(|key| (key, now)).collect();
        if new.is_empty() {
            return;
        }
        for key in new.keys() {
            *Arc::make_mut(&mut self.begun).entry((key.check, key.fact)).or_default() += 1;
        }
        // one by one they would leave half of each node of the map empty
        Arc::make_mut(&mut self.observed).append(&mut new);
    }

    /// Notes that a pod is gone.
    pub fn pod_gone(&mut self, last: Arc<Pod>, replaced_by: &str, at: Timestamp) {
        let end = self.take_end(&last.metadata.uid);
        self.add_gone(GonePod { last, at, replaced_by: replaced_by.to_owned(), end, refused: None });
    }

    fn add_gone(&mut self, mut pod: GonePod) {
        let gone = Arc::make_mut(&mut self.gone_pods);
        if gone.iter().any(|other| other.last.metadata.uid == pod.last.metadata.uid) {
            return;
        }
        if pod.last.is_instance_manager() && !pod.last.has_run() && pod.refused.is_none() {
            let of_name = |other: &GonePod| other.last.metadata.name == pod.last.metadata.name;
            let before = gone.iter().rposition(of_name);
            let before = before.filter(|before| {
                gone.get(*before).is_some_and(|other| {
                    other.refused.is_some() && pod.at.duration_since(other.at) < ends::SAME_REFUSAL
                })
            });
            let (since, times) =
                before.and_then(|before| gone.remove(before)?.refused).unwrap_or((pod.at, 0));
            pod.refused = Some((since, times.saturating_add(1)));
        }
        if gone.len() >= MAX_GONE_PODS {
            // pods of recurring jobs come and go by the hundred; what the checks look back at are
            // Longhorn's own bare pods
            let job = gone.iter().position(|pod| pod.last.metadata.label("longhorn.io/component").is_none());
            gone.remove(job.unwrap_or(0));
        }
        gone.push_back(pod);
    }

    /// Notes that a pod has come; it replaces the newest gone one of its name. One with the uid of a gone
    /// one was never gone: a list of an API server that lags behind may leave it out.
    pub fn pod_came(&mut self, name: &str, uid: &str) {
        if self.gone_pods.iter().any(|pod| pod.last.metadata.uid == uid) {
            Arc::make_mut(&mut self.gone_pods).retain(|pod| pod.last.metadata.uid != uid);
        }
        let waits = |pod: &GonePod| {
            pod.last.metadata.name == name && pod.replaced_by.is_empty() && pod.last.metadata.uid != uid
        };
        if self.gone_pods.iter().any(waits)
            && let Some(pod) = Arc::make_mut(&mut self.gone_pods).iter_mut().rev().find(|pod| waits(pod))
        {
            pod.replaced_by = uid.to_owned();
        }
    }

    /// Pods that are gone, oldest first.
    pub fn gone_pods(&self) -> impl DoubleEndedIterator<Item = &GonePod> {
        self.gone_pods.iter()
    }
}
