//! What containers wrote: before they crashed, and where they wait or hang.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::History;
use crate::longhorn::Pod;

/// How many logs of each kind are kept.
pub(super) const MAX_LOGS: usize = 256;

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

impl History {
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

    /// Those of one pod.
    pub fn logs_of(&self, pod: &Pod) -> impl Iterator<Item = &CrashLog> {
        self.logs().filter(|log| pod.metadata.name == log.pod.as_str())
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
