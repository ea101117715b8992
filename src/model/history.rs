//! What only time shows: since when a fact holds, which pods vanished and how they looked last, what was changed,
//! and what crashed containers wrote. Bounded; empty for a recording.

pub mod changes;
pub mod ends;
pub mod saved;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use jiff::Timestamp;

use crate::longhorn::{Pod, SharedText};

use ends::{EndSeen, Ending};

/// How many vanished pods are kept.
const MAX_GONE_PODS: usize = 512;
/// How many logs of each kind are kept.
const MAX_LOGS: usize = 256;
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

/// The end of the log of a container: of its last run, or of the present one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CrashLog {
    /// Name of the pod.
    pub pod: String,
    /// Name of the container.
    pub container: String,
    /// Uid of the pod; empty in a recording without it.
    pub pod_uid: String,
    /// The log's last part, at most a few tens of kilobytes.
    pub text: String,
    /// How the run ended, where that is known.
    pub exit_code: Option<i64>,
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

    /// Keeps the log of a crashed container; the newest one of a pod and container wins.
    pub fn add_crash_log(&mut self, log: CrashLog) {
        if self.unread_logs.contains_key(&log.pod) {
            Arc::make_mut(&mut self.unread_logs).remove(&log.pod);
        }
        let logs = Arc::make_mut(&mut self.crash_logs);
        let newest = (log.pod.clone(), log.container.clone());
        logs.insert(newest.clone(), log);
        bound(logs, &newest);
    }

    /// Notes why the log of the last termination of a pod could not be read. Returns whether that is
    /// news.
    pub fn crash_log_unread(&mut self, pod: &str, uid: &str, why: &str) -> bool {
        let unread = (uid.to_owned(), why.to_owned());
        if self.unread_logs.get(pod) == Some(&unread) {
            return false;
        }
        let all = Arc::make_mut(&mut self.unread_logs);
        let newest = pod.to_owned();
        all.insert(newest.clone(), unread);
        bound(all, &newest);
        true
    }

    /// Why the log of the last termination of a pod could not be read, if it was tried in vain.
    pub fn why_crash_log_unread(&self, pod: &str, uid: &str) -> Option<&str> {
        let (of, why) = self.unread_logs.get(pod)?;
        (of == uid).then_some(why.as_str())
    }

    /// Forgets the logs of a pod. Returns whether there were any.
    pub fn forget_crash_log(&mut self, pod: &str) -> bool {
        let held = self.crash_logs.keys().any(|(of, _)| of == pod);
        if held {
            Arc::make_mut(&mut self.crash_logs).retain(|(of, _), _| of != pod);
        }
        held
    }

    /// Forgets what is known of the logs of pods that are gone; `lives` is asked by name and uid.
    pub fn keep_crash_logs_of(&mut self, lives: impl Fn(&str, &str) -> bool) {
        if self.crash_logs.values().any(|log| !lives(&log.pod, &log.pod_uid)) {
            Arc::make_mut(&mut self.crash_logs).retain(|_, log| lives(&log.pod, &log.pod_uid));
        }
        if self.unread_logs.iter().any(|(pod, (uid, _))| !lives(pod, uid)) {
            Arc::make_mut(&mut self.unread_logs).retain(|pod, (uid, _)| lives(pod, uid));
        }
    }

    /// Keeps the log of the present run of a container; the newest one of a pod and container wins. Returns whether it says anything new.
    pub fn add_current_log(&mut self, log: CrashLog) -> bool {
        let newest = (log.pod.clone(), log.container.clone());
        // that one is well need not be known of each
        let spare = log.text.is_empty() && self.current_logs.len() >= MAX_LOGS / 2;
        if self.current_logs.get(&newest) == Some(&log) || spare && !self.current_logs.contains_key(&newest) {
            return false;
        }
        let logs = Arc::make_mut(&mut self.current_logs);
        logs.insert(newest.clone(), log);
        bound(logs, &newest);
        true
    }

    /// Forgets logs of runs that are over or no longer of interest; `wanted` is asked by name of the
    /// pod, its uid and name of the container. Returns whether there were any.
    pub fn keep_current_logs_of(&mut self, wanted: impl Fn(&str, &str, &str) -> bool) -> bool {
        let is_wanted = |log: &CrashLog| wanted(&log.pod, &log.pod_uid, &log.container);
        let any = self.current_logs.values().any(|log| !is_wanted(log));
        if any {
            Arc::make_mut(&mut self.current_logs).retain(|_, log| is_wanted(log));
        }
        any
    }

    /// The log of the present run of a container that waits or hangs, if it could be read.
    pub fn current_log(&self, pod: &Pod, container: &str) -> Option<&CrashLog> {
        // asked for each manager, of which mostly none has one
        if self.current_logs.is_empty() {
            return None;
        }
        let log = self.current_logs.get(&(pod.metadata.name.to_string(), container.to_owned()))?;
        let uid = &pod.metadata.uid;
        (log.pod_uid.is_empty() || uid.is_empty() || log.pod_uid == *uid).then_some(log)
    }

    /// The log of a crashed container, if it could be read.
    pub fn crash_log(&self, pod: &str, container: &str) -> Option<&CrashLog> {
        self.crash_logs.get(&(pod.to_owned(), container.to_owned()))
    }

    /// Every log that is held: of last runs, then of present ones.
    pub fn logs(&self) -> impl Iterator<Item = &CrashLog> {
        self.crash_logs.values().chain(self.current_logs.values())
    }

    /// Notes why crash logs cannot be read (`forbidden`, `switched off`); `None` when they can.
    pub fn set_crash_logs_denied(&mut self, reason: Option<&str>) {
        self.crash_logs_denied = reason.map(Arc::from);
    }

    /// Why crash logs cannot be read, if they cannot.
    pub fn crash_logs_denied(&self) -> Option<&str> {
        self.crash_logs_denied.as_deref()
    }
}

/// Makes room for the newest entry by giving up others.
fn bound<K: Ord + Clone, V>(all: &mut BTreeMap<K, V>, newest: &K) {
    while all.len() > MAX_LOGS {
        let Some(other) = all.keys().find(|key| *key != newest).cloned() else { return };
        all.remove(&other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(object: &str) -> Observation {
        Observation { check: "c", fact: "idle", object: object.into() }
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn a_fact_ages_until_it_ends_and_a_gap_starts_it_anew() {
        let none = BTreeSet::new();
        let mut history = History::starting(at(0));
        history.keep_observed(vec![key("a")], &none, at(1));
        history.keep_observed(vec![key("a"), key("b")], &none, at(2));
        assert_eq!(history.first_seen(&key("a")), Some(at(1)));
        assert_eq!(history.first_seen(&key("b")), Some(at(2)));
        history.keep_observed(vec![], &none, at(3));
        history.keep_observed(vec![key("a")], &none, at(4));
        assert_eq!(history.first_seen(&key("a")), Some(at(4)));
    }

    #[test]
    fn what_moves_or_goes_is_forgotten_and_there_is_room_for_so_many() {
        let none = BTreeSet::new();
        let mut history = History::starting(at(0));
        // the mark of work is part of its name, so that each percent is an observation of its own
        for percent in 0..100 {
            history.keep_observed(vec![key(&format!("volume in_progress {percent}"))], &none, at(percent));
            assert_eq!(history.observed.len(), 1);
        }
        assert_eq!(history.begun.len(), 1);
        history.keep_observed(vec![], &none, at(100));
        assert_eq!(history.observed.len(), 0, "the volume is gone");
        for round in 0..2 {
            let many = (0..MAX_OBSERVED + 50).map(|number| key(&format!("{round} {number}"))).collect();
            history.keep_observed(many, &none, at(101));
            assert_eq!(history.observed.len(), MAX_OBSERVED);
        }
    }

    #[test]
    fn facts_that_began_are_counted_once_and_for_good() {
        let none = BTreeSet::new();
        let mut history = History::starting(at(0));
        for (second, facts) in [vec![key("a"), key("b"), key("a")], vec![key("a")], vec![], vec![key("c")]]
            .into_iter()
            .enumerate()
        {
            history.keep_observed(facts, &none, at(second as i64));
        }
        assert_eq!(history.begun("c", "idle"), 3);
        assert_eq!(history.begun("c", "other"), 0);
    }

    #[test]
    fn a_blind_check_forgets_nothing() {
        let mut history = History::starting(at(0));
        history.keep_observed(vec![key("a")], &BTreeSet::new(), at(1));
        history.keep_observed(vec![], &BTreeSet::from(["c"]), at(2));
        assert_eq!(history.first_seen(&key("a")), Some(at(1)));
    }

    #[test]
    fn gone_pods_are_bounded_and_told_apart_by_uid() {
        let mut history = History::starting(at(0));
        for number in 0..2 * MAX_GONE_PODS {
            let mut pod = Pod::default();
            pod.metadata.name = "p".into();
            pod.metadata.uid = number.to_string().into();
            history.pod_gone(Arc::new(pod.clone()), "", at(1));
            history.pod_gone(Arc::new(pod), "", at(1));
        }
        assert_eq!(history.gone_pods().count(), MAX_GONE_PODS);
        history.pod_came("p", "new");
        let replaced: Vec<_> = history.gone_pods().filter(|pod| pod.replaced_by == "new").collect();
        assert_eq!(replaced.len(), 1);
    }

    #[test]
    fn a_full_memory_of_crash_logs_takes_the_newest_whatever_its_name() {
        let mut history = History::starting(at(0));
        let log = |pod: String| CrashLog {
            exit_code: None,
            pod,
            container: "c".into(),
            pod_uid: String::new(),
            text: String::new(),
        };
        (0..MAX_LOGS).for_each(|number| history.add_crash_log(log(format!("pod-{number}"))));
        history.add_crash_log(log("a".into()));
        assert!(history.crash_log("a", "c").is_some());
        assert_eq!(history.crash_logs.len(), MAX_LOGS);
        (0..=MAX_LOGS).for_each(|number| {
            history.crash_log_unread(&format!("pod-{number}"), "u", "forbidden");
        });
        assert!(history.crash_log_unread("a", "u", "forbidden"));
        assert!(!history.crash_log_unread("a", "u", "forbidden"), "told once");
    }

    #[test]
    fn current_logs_belong_to_one_run_of_one_pod() {
        let mut history = History::starting(at(0));
        let log = |text: &str| CrashLog {
            exit_code: None,
            pod: "p".into(),
            container: "c".into(),
            pod_uid: "u".into(),
            text: text.into(),
        };
        history.add_current_log(log("first"));
        history.add_current_log(log("second"));
        let pod = |uid: &str| {
            let mut pod = Pod::default();
            (pod.metadata.name, pod.metadata.uid) = ("p".into(), uid.into());
            pod
        };
        assert_eq!(history.current_log(&pod("u"), "c").map(|log| log.text.as_str()), Some("second"));
        assert_eq!(history.current_log(&pod("another"), "c"), None);
        assert_eq!(history.crash_log("p", "c"), None, "nothing has crashed");
        assert!(
            !history.keep_current_logs_of(|pod, uid, container| (pod, uid, container) == ("p", "u", "c"))
        );
        assert!(history.keep_current_logs_of(|_, _, _| false));
        assert_eq!(history.current_log(&pod("u"), "c"), None);
    }

    #[test]
    fn a_pod_that_is_back_was_never_gone() {
        let mut history = History::starting(at(0));
        let mut pod = Pod::default();
        (pod.metadata.name, pod.metadata.uid) = ("p".into(), "u".into());
        history.pod_gone(Arc::new(pod), "", at(1));
        history.pod_came("p", "u");
        assert_eq!(history.gone_pods().count(), 0);
    }
}
