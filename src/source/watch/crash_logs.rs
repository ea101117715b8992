//! Reads the end of logs: of the last run of each crashed manager or driver deployer once, of the
//! present run of one that does not get on with its start again and again, of Ready managers in turn.

mod read;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt, stream};
use kube::Client;
use tokio::time::Instant;

use self::read::{Unread, read};
use super::CrashLogs;
use super::state::SharedState;
use crate::ApiErrorReason;
use crate::facts::complaints;
use crate::facts::not_started::is_rejection;
use crate::history::{CrashLog, History};
use crate::longhorn::{KubeNode, Resource};
use crate::wanted_logs::{IN_TURN, Run, ready, ready_run, runs};

/// Logs read at once.
const AT_ONCE: usize = 2;
/// Logs of present runs read before it is looked again whose are wanted: all managers may hang.
const PRESENT_IN_A_ROW: usize = 16;
/// How often a log that could not be read is tried.
const ATTEMPTS: u32 = 3;
/// Pause before another attempt.
const RETRY: Duration = Duration::from_secs(20);
/// How often it is looked whose logs are wanted: a start grows long without any event.
const LOOK: Duration = Duration::from_secs(10);

/// When the log of one that complains is read again: its next attempts tell whether it is cut off.
const COMPLAINS: Duration = Duration::from_secs(15);

/// Attempts at the log of one run.
#[derive(Debug, Default)]
struct Tried {
    attempts: u32,
    /// When the next one may be.
    due: Option<Instant>,
}

impl Tried {
    fn for_good() -> Self {
        Tried { attempts: ATTEMPTS, due: None }
    }

    fn until(due: Instant) -> Self {
        Tried { attempts: 0, due: Some(due) }
    }

    fn again_at(&mut self, due: Instant) {
        self.attempts = self.attempts.saturating_add(1);
        self.due = Some(due);
    }

    fn is_due(&self, now: Instant) -> bool {
        self.attempts < ATTEMPTS && self.due.is_none_or(|due| now >= due)
    }
}

/// Reads logs for as long as the process lives.
pub(super) async fn follow(shared: Arc<SharedState>, client: Client) {
    if shared.options.crash_logs == CrashLogs::Off {
        shared.history(|history| history.set_crash_logs_denied(Some("switched off")));
        shared.changed(Resource::Pods);
        shared.logs_read.send_replace(true);
        return std::future::pending().await;
    }
    let mut reader = Reader { shared: shared.clone(), tried: HashMap::new(), turns: HashMap::new() };
    let mut refused_until: Option<Instant> = None;
    let mut next_turn = Instant::now();
    loop {
        let look = Instant::now() + LOOK;
        let again = refused_until.or(reader.due()).map_or(look, |again| again.min(look));
        tokio::select! {
            () = shared.pods_changed.notified() => {}
            () = tokio::time::sleep_until(again) => {}
        }
        refused_until = refused_until.filter(|until| Instant::now() < *until);
        let known = [Resource::Pods, Resource::Leases].into_iter().all(|kind| !shared.is_waiting_for(kind));
        let mut wanted = wanted(&shared, &mut reader.tried);
        if Instant::now() >= next_turn {
            next_turn = Instant::now() + LOOK;
            wanted.extend(in_turn(&shared, &reader.tried, &mut reader.turns));
        }
        if refused_until.is_some() {
            forget(&shared, &wanted);
        } else if let Err(Denied) = reader.read(&client, wanted).await {
            refused_until = Some(Instant::now() + shared.options.crash_logs_again);
        }
        if known {
            shared.logs_read.send_replace(true);
        }
    }
}

/// The API server does not let the exporter read logs.
struct Denied;

/// What has been read, and when it is read again.
struct Reader {
    shared: Arc<SharedState>,
    tried: HashMap<Run, Tried>,
    /// Of managers that run.
    turns: HashMap<Run, Instant>,
}

impl Reader {
    /// When the next log is to be read again.
    fn due(&self) -> Option<Instant> {
        self.tried.values().filter(|tried| tried.attempts < ATTEMPTS).filter_map(|tried| tried.due).min()
    }

    async fn read(&mut self, client: &Client, wanted: Vec<Run>) -> Result<(), Denied> {
        let shared = self.shared.clone();
        let mut results = stream::iter(wanted.clone())
            .map(|run| async { (read(&shared, client, &run).await, run) })
            .buffer_unordered(AT_ONCE);
        while let Some((result, run)) = results.next().await {
            match result {
                Ok(text) => self.has_read(run, text),
                Err(Unread { reason: ApiErrorReason::Forbidden, .. }) => {
                    refuse(&shared);
                    let unread: Vec<_> =
                        wanted.into_iter().filter(|run| !self.tried.contains_key(run)).collect();
                    forget(&shared, &unread);
                    return Err(Denied);
                }
                Err(unread) => self.has_not_read(run, &unread),
            }
        }
        Ok(())
    }

    fn has_read(&mut self, run: Run, text: String) {
        let Some(due) = self.turns.get_mut(&run) else {
            keep(&self.shared, &run, text);
            let next = if run.is_over { Tried::for_good() } else { Tried::until(pause(&self.shared, &run)) };
            self.tried.insert(run, next);
            return;
        };
        let complains = complaints::newest(&text).is_some();
        *due = Instant::now() + if complains { COMPLAINS } else { run.pause(self.shared.now()) };
        // of one that is well, that it is, and which pods the API server rejects
        let rejections = || text.lines().filter(|line| is_rejection(line)).collect::<Vec<_>>().join("\n");
        let said = if complains { text } else { rejections() };
        keep(&self.shared, &run, said);
    }

    fn has_not_read(&mut self, run: Run, unread: &Unread) {
        let shared = &self.shared;
        if !run.is_over {
            tracing::debug!(pod = %run.pod, unread.message, "log of a running container not read");
            match self.turns.get_mut(&run) {
                Some(due) => *due = Instant::now() + run.pause(shared.now()),
                None => {
                    let next = Tried::until(pause(shared, &run));
                    self.tried.insert(run, next);
                }
            }
            return;
        }
        note(shared, &run, unread);
        let tried = self.tried.entry(run.clone()).or_default();
        match unread.reason {
            // the log is gone, or the node cannot give it
            ApiErrorReason::NotInstalled | ApiErrorReason::Other => *tried = Tried::for_good(),
            _ => tried.again_at(Instant::now() + RETRY),
        }
        if tried.attempts >= ATTEMPTS {
            forget(shared, &[run]);
        }
    }
}

/// Runs whose logs are to be read now. Forgets the logs of those that are gone or of no interest any
/// more.
fn wanted(shared: &SharedState, tried: &mut HashMap<Run, Tried>) -> Vec<Run> {
    let ((pods, leases, nodes, volumes), now) = (shared.with_logs(), shared.now());
    let runs = runs(&pods, &leases, &volumes, now);
    let found: HashSet<&Run> = runs.iter().collect();
    tried.retain(|run, _| found.contains(run));
    let lives = |pod: &str, uid: &str| pods.get(pod).is_some_and(|pod| pod.metadata.uid == uid);
    let present = runs.iter().filter(|run| !run.is_over);
    let present: HashSet<_> = present.map(|run| (&*run.pod, &*run.uid, run.container)).collect();
    // of thousands of Ready managers few logs are held
    let is_ready = |pod: &str, uid: &str, container: &str| {
        let run = pods.get(pod).and_then(|pod| ready_run(pod, now));
        run.is_some_and(|run| run.uid == uid && run.container == container)
    };
    let dropped = shared.history(|history| {
        history.keep_crash_logs_of(lives);
        history.keep_current_logs_of(|pod, uid, container| {
            present.contains(&(pod, uid, container)) || is_ready(pod, uid, container)
        })
    });
    if dropped {
        shared.changed(Resource::Pods);
    }
    // a pod that changes is no reason to ask before the pause is over
    let now = Instant::now();
    let is_due = |run: &Run| tried.get(run).is_none_or(|tried| tried.is_due(now));
    let (over, present): (Vec<_>, Vec<_>) =
        runs.iter().filter(|run| is_due(run)).cloned().partition(|run| run.is_over);
    // a kubelet that is silent gives no log, and those whose logs are waited for in vain keep the others waiting
    let is_silent = |run: &Run| {
        let node = pods.get(&run.pod).and_then(|pod| nodes.get(&pod.spec.node_name));
        node.is_some_and(KubeNode::is_silent)
    };
    let (silent, mut present): (Vec<_>, Vec<_>) = present.into_iter().partition(is_silent);
    for run in silent {
        tried.remove(&run);
    }
    // those that were never read first
    present.sort_by_key(|run| tried.get(run).and_then(|tried| tried.due));
    present.truncate(PRESENT_IN_A_ROW);
    over.into_iter().chain(present).collect()
}

fn pause(shared: &SharedState, run: &Run) -> Instant {
    Instant::now() + run.pause(shared.now())
}

/// Ready managers whose turn it is and whose logs nothing else asks for, those first that waited longest.
fn in_turn(shared: &SharedState, tried: &HashMap<Run, Tried>, turns: &mut HashMap<Run, Instant>) -> Vec<Run> {
    let (pods, ..) = shared.with_logs();
    let now = Instant::now();
    let ready: HashSet<Run> = ready(&pods, shared.now()).filter(|run| !tried.contains_key(run)).collect();
    turns.retain(|run, _| ready.contains(run));
    let mut due: Vec<Run> =
        ready.into_iter().filter(|run| turns.get(run).is_none_or(|due| *due <= now)).collect();
    due.sort_by_key(|run| turns.get(run).copied());
    due.truncate(IN_TURN);
    turns.extend(due.iter().map(|run| (run.clone(), now)));
    due
}

fn keep(shared: &SharedState, run: &Run, text: String) {
    let full = !run.is_over && complaints::newest(&text).is_some_and(|complaint| complaint.is_full());
    let log = CrashLog {
        exit_code: run.exit_code,
        pod: run.pod.to_string(),
        container: run.container.to_owned(),
        pod_uid: run.uid.to_string(),
        text,
    };
    let news = shared.history(|history| {
        let denied = history.crash_logs_denied().is_some();
        history.set_crash_logs_denied(None);
        if run.is_over {
            history.add_crash_log(log);
            return true;
        }
        history.add_current_log(log) || denied
    });
    if news {
        shared.changed(Resource::Pods);
    }
    if full {
        shared.awaits_write();
    }
}

/// Drops what is held of pods whose last log cannot be read: it is of an earlier run, which may have
/// ended for another reason.
fn forget(shared: &SharedState, unread: &[Run]) {
    let over = || unread.iter().filter(|run| run.is_over);
    let forgot = |history: &mut History| over().filter(|run| history.forget_crash_log(&run.pod)).count();
    if shared.history(forgot) > 0 {
        shared.changed(Resource::Pods);
    }
}

fn refuse(shared: &SharedState) {
    let known = shared.history(|history| {
        let known = history.crash_logs_denied().is_some();
        history.set_crash_logs_denied(Some("forbidden"));
        known
    });
    if !known {
        let namespace = &shared.options.namespace;
        tracing::warn!(%namespace, "no right to get pods/log; causes of crashes come from fingerprints only, those of hanging managers stay unknown");
        shared.changed(Resource::Pods);
    }
}

/// Says why a log could not be read, so that no one waits for it.
fn note(shared: &SharedState, run: &Run, unread: &Unread) {
    tracing::debug!(pod = %run.pod, reason = unread.reason.as_str(), unread.message, "crash log not read");
    if shared.history(|history| history.crash_log_unread(&run.pod, &run.uid, &unread.message)) {
        shared.changed(Resource::Pods);
    }
}
