//! The live source: one list and watch a kind, kept in memory, so that no scrape calls the API.
//!
//! `traffic` sees every call on the wire, `headers` what its answer says beside the objects, `pages` how large a page
//! may be, and `body` every line of a watch; `split` takes a list apart as it arrives, `kind` follows one kind,
//! `item` decodes an object,
//! `trouble` names failures, `backoff` paces them, `state` holds what was gathered, `pods` notes
//! replaced pods, `crash_logs` reads the end of crashed managers' logs.

mod backoff;
pub(crate) mod body;
mod crash_logs;
mod edits;
pub mod headers;
mod item;
mod kind;
mod outages;
mod pages;
mod pods;
pub mod split;
mod state;
mod streamed;
mod traffic;
mod trouble;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use kube::Client;
use thiserror::Error;
use tokio::sync::Mutex;
use tokio::task::JoinSet;

pub use backoff::Pauses;
pub(crate) use trouble::{describe, is_untrusted, reason_of, reason_of_code, speaks_no_tls};

use super::{ApiTotals, Source};
use crate::cluster::Cluster;
use crate::history::Observation;
use crate::history::changes::Past;
use crate::history::saved::{CheckId, Restored, Saved};
use crate::longhorn::{Kind, KindVisitor, Resource, visit_kinds};
use state::SharedState;

/// Says what time it is; the live source needs it for freshness.
pub type Clock = fn() -> Timestamp;

/// Whether logs of crashed managers are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CrashLogs {
    /// Where the rights allow it.
    #[default]
    Auto,
    /// Never.
    Off,
}

/// How the live source behaves.
#[derive(Debug, Clone)]
pub struct LiveOptions {
    pub namespace: String,
    pub clock: Clock,
    /// Whether logs of crashed managers are read.
    pub crash_logs: CrashLogs,
    /// Age of the last answer from which on a kind is not trusted any more.
    pub stale_after: SignedDuration,
    /// How long the server keeps a watch open, in seconds. Short, because a right that was
    /// withdrawn only shows when a new watch is refused.
    pub watch_seconds: u32,
    /// How much longer a watch may last than the server should keep it open.
    pub watch_grace: Duration,
    /// How long a list may be silent.
    pub answer_timeout: Duration,
    /// How long a page of a list may take in all.
    pub page_timeout: Duration,
    /// How often everything is listed again, so that a lost event heals.
    pub relist_every: Duration,
    /// Pauses after failures.
    pub pauses: Pauses,
    /// How often a kind that is not served is looked for.
    pub look_again: Duration,
    /// A watch that failed for so long is begun again with a list.
    pub rebuild_after: Duration,
    /// With more objects of a kind than this a list is given up: no cluster has as many.
    pub most_objects: usize,
    /// How long crash logs are left alone once they were refused.
    pub crash_logs_again: Duration,
    /// The kinds that are listed and followed; the others are as if no one had asked for them yet.
    pub kinds: BTreeSet<Resource>,
    /// For one look: nothing is followed, and who looks tells what could not be read, not the log.
    pub once: bool,
}

impl LiveOptions {
    /// The behaviour for production, for these kinds.
    pub fn new(namespace: impl Into<String>, clock: Clock, kinds: BTreeSet<Resource>) -> Self {
        LiveOptions {
            namespace: namespace.into(),
            clock,
            crash_logs: CrashLogs::Auto,
            stale_after: state::STALE_AFTER,
            watch_seconds: 45,
            watch_grace: Duration::from_secs(5),
            answer_timeout: Duration::from_secs(30),
            page_timeout: Duration::from_secs(120),
            most_objects: 200_000,
            relist_every: Duration::from_secs(30 * 60),
            pauses: Pauses { first: Duration::from_millis(800), longest: Duration::from_secs(30) },
            look_again: Duration::from_secs(30),
            rebuild_after: Duration::from_secs(120),
            crash_logs_again: Duration::from_secs(600),
            kinds,
            once: false,
        }
    }

    fn watch_timeout(&self) -> Duration {
        Duration::from_secs(self.watch_seconds.into())
    }
}

/// A task of the live source ended, which none ever should.
#[derive(Debug, Error)]
#[error("a background task of the live source ended: {0}")]
pub struct TaskEnded(String);

/// The cluster as the Kubernetes API shows it, kept up to date in the background. Dropping it ends
/// the background tasks.
pub struct Live {
    shared: Arc<SharedState>,
    tasks: Mutex<JoinSet<()>>,
}

impl Live {
    /// Begins to follow the kinds that are asked for, on the current runtime. Never fails: what cannot be read is a
    /// state of its kind.
    pub fn start(client: Client, options: LiveOptions) -> Self {
        let shared = Arc::new(SharedState::new(options));
        let mut tasks = JoinSet::new();
        tasks.spawn(crash_logs::follow(shared.clone(), client.clone()));
        let client = shared.traffic.through(client);
        visit_kinds(&mut WatchStart { shared: &shared, client, tasks: &mut tasks });
        Live { shared, tasks: Mutex::new(tasks) }
    }

    /// Looks once: lists the kinds that are asked for, or as much as answers in time. Kinds that did not answer say so themselves.
    pub async fn look(client: Client, options: LiveOptions, patience: Duration) -> Cluster {
        let live = Live::start(client, LiveOptions { once: true, ..options });
        let _ = tokio::time::timeout(patience, live.complete()).await;
        let mut cluster = live.snapshot(live.shared.now());
        cluster.one_look = true;
        live.stop().await;
        cluster
    }

    /// Waits until something is known about every kind: listed, refused or not served.
    pub async fn synced(&self) {
        // the sender lives as long as self
        let _ = self.shared.waiting().wait_for(BTreeSet::is_empty).await;
    }

    /// Waits until something is known about every kind and the logs of the managers that had crashed
    /// by then were read or refused.
    pub async fn complete(&self) {
        self.synced().await;
        // the sender lives as long as self
        let _ = self.shared.logs_read.subscribe().wait_for(|read| *read).await;
    }

    /// Waits until a background task ends, which is a reason to end the process.
    pub async fn ended(&self) -> TaskEnded {
        match self.tasks.lock().await.join_next().await {
            Some(Err(error)) => TaskEnded(error.to_string()),
            Some(Ok(())) | None => TaskEnded("without a reason".to_owned()),
        }
    }

    /// What outlives a restart.
    pub fn saved(&self, namespace: &str, now: Timestamp) -> Saved {
        self.shared.history(|history| history.clone()).saved(namespace, now)
    }

    /// Takes over what was saved before a restart, of the checks that `check_id` knows.
    pub fn restore(&self, saved: Saved, now: Timestamp, check_id: CheckId) -> Restored {
        self.shared.history(|history| history.restore(saved, now, check_id))
    }

    /// Ends the background tasks and waits for them.
    pub async fn stop(&self) {
        self.tasks.lock().await.shutdown().await;
    }
}

impl Source for Live {
    fn snapshot(&self, now: Timestamp) -> Cluster {
        self.shared.snapshot(now)
    }

    fn generation(&self) -> u64 {
        self.shared.generation()
    }

    fn keep_observed(&self, holding: Vec<Observation>, blind: &BTreeSet<&'static str>, now: Timestamp) {
        self.shared.history(|history| history.keep_observed(holding, blind, now));
    }

    fn keep_incidents(&self, found: Vec<Past>, holds: &dyn Fn(&Past) -> bool, now: Timestamp) {
        self.shared.history(|history| history.keep_incidents(found, holds, now));
    }

    fn waiting_for(&self) -> Vec<Resource> {
        self.shared.waiting_for()
    }

    fn totals(&self) -> BTreeMap<Resource, ApiTotals> {
        let asked = self.shared.options.kinds.iter().copied();
        asked.map(|resource| (resource, self.shared.traffic.totals(resource))).collect()
    }
}

struct WatchStart<'a> {
    shared: &'a Arc<SharedState>,
    client: Client,
    tasks: &'a mut JoinSet<()>,
}

impl KindVisitor for WatchStart<'_> {
    fn visit<T: Kind>(&mut self) {
        if self.shared.options.kinds.contains(&T::RESOURCE) {
            self.tasks.spawn(kind::follow::<T>(self.shared.clone(), self.client.clone()));
        }
    }
}
