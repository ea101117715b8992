//! What the watches have gathered: objects, history, and how each kind stands. One lock, held for
//! single changes and for taking a copy, never while checks run.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use jiff::{SignedDuration, Timestamp};
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use super::traffic::{Success, Traffic};
use super::trouble::WatchTrouble;
use super::{LiveOptions, edits, pods};
use crate::ApiErrorReason;
use crate::cluster::{Cluster, Readability, ResourceStatus};
use crate::history::History;
use crate::longhorn::{Kind, KubeNode, Lease, Objects, PerKind, Pod, Resource, Store, Volume};
use crate::sync;

/// What the tasks of the live source share.
pub(super) struct SharedState {
    pub(super) options: LiveOptions,
    pub(super) traffic: Arc<Traffic>,
    /// Told whenever a pod changed, and when something is known about Leases.
    pub(super) pods_changed: Notify,
    /// True once the logs of managers that had crashed before the start were read or given up.
    pub(super) logs_read: watch::Sender<bool>,
    /// Kinds about which nothing is known since the start.
    waiting: watch::Sender<BTreeSet<Resource>>,
    generation: AtomicU64,
    changes: PerKind<AtomicU64>,
    state: Mutex<WatchState>,
}

struct WatchState {
    objects: Objects,
    history: History,
    kinds: PerKind<KindState>,
    /// When an object was written last.
    written: Option<Timestamp>,
    /// A log says last that etcd takes no writes: the next one is news.
    write_is_news: bool,
}

/// How a kind stands.
#[derive(Debug, Default)]
struct KindState {
    standing: Standing,
    /// Since when a list is due that has not been completed; objects are as of then.
    behind_since: Option<Success>,
    /// Since when every answer was a refusal.
    refused_since: Option<Instant>,
    undecodable: BTreeSet<Box<str>>,
    error: Option<WatchFailure>,
}

/// The last failure of a kind.
#[derive(Debug)]
struct WatchFailure {
    since: Instant,
    message: String,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Standing {
    #[default]
    Pending,
    Listed,
    NotInstalled,
    Refused,
}

impl SharedState {
    pub(super) fn new(options: LiveOptions) -> Self {
        let now = (options.clock)();
        let state = WatchState {
            objects: Objects::default(),
            history: History::starting(now),
            kinds: PerKind::new(|_| KindState::default()),
            written: None,
            write_is_news: false,
        };
        SharedState {
            traffic: Arc::new(Traffic::new(&options)),
            pods_changed: Notify::new(),
            logs_read: watch::Sender::new(false),
            waiting: watch::Sender::new(options.kinds.clone()),
            generation: AtomicU64::new(0),
            changes: PerKind::new(|_| AtomicU64::new(0)),
            state: Mutex::new(state),
            options,
        }
    }

    pub(super) fn now(&self) -> Timestamp {
        (self.options.clock)()
    }

    pub(super) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    pub(super) fn waiting(&self) -> watch::Receiver<BTreeSet<Resource>> {
        self.waiting.subscribe()
    }

    pub(super) fn waiting_for(&self) -> Vec<Resource> {
        self.waiting.borrow().iter().copied().collect()
    }

    pub(super) fn is_waiting_for(&self, resource: Resource) -> bool {
        self.waiting.borrow().contains(&resource)
    }

    pub(super) fn snapshot(&self, now: Timestamp) -> Cluster {
        let (objects, history, resources, written) = {
            let state = self.lock();
            let status = |resource| (resource, self.status(&state, resource));
            let asked = self.options.kinds.iter().copied();
            (state.objects.clone(), state.history.clone(), asked.map(status).collect(), state.written)
        };
        let mut cluster = Cluster::new(self.options.namespace.clone(), now, objects, history, resources);
        cluster.clock_skew = self.traffic.skew();
        cluster.last_write = written;
        cluster
    }

    /// All objects by which logs are read, shared.
    pub(super) fn with_logs(&self) -> (Store<Pod>, Store<Lease>, Store<KubeNode>, Store<Volume>) {
        let objects = &self.lock().objects;
        let (pods, nodes) = (objects.pods.clone(), objects.kube_nodes.clone());
        (pods, objects.leases.clone(), nodes, objects.volumes.clone())
    }

    pub(super) fn history<R>(&self, change: impl FnOnce(&mut History) -> R) -> R {
        change(&mut self.lock().history)
    }

    /// A log says that etcd takes no writes.
    pub(super) fn awaits_write(&self) {
        self.lock().write_is_news = true;
    }

    /// Something changed, in this kind or in what is known of its objects, such as the logs of pods.
    pub(super) fn changed(&self, resource: Resource) {
        self.changes[resource].fetch_add(1, Ordering::Release);
        self.generation.fetch_add(1, Ordering::Release);
    }

    fn lock(&self) -> MutexGuard<'_, WatchState> {
        sync::lock(&self.state)
    }

    fn status(&self, state: &WatchState, resource: Resource) -> ResourceStatus {
        let kind = &state.kinds[resource];
        let answered = self.traffic.last_success(resource);
        // while a list is due, an answer says that the server lives, not that the objects are new
        let last_success = match (answered, kind.behind_since) {
            (Some(answered), Some(behind)) if behind.instant < answered.instant => Some(behind),
            (answered, _) => answered,
        };
        let is_old = |last: Success| last.instant.elapsed() > self.options.stale_after.unsigned_abs();
        let readability = match kind.standing {
            Standing::Pending => Readability::Pending,
            Standing::NotInstalled => Readability::NotInstalled,
            Standing::Refused => Readability::Forbidden,
            Standing::Listed if last_success.is_none_or(is_old) => Readability::Stale,
            Standing::Listed => Readability::Readable,
        };
        let holds = |error: &WatchFailure| {
            kind.behind_since.is_some() || last_success.is_none_or(|last| last.instant <= error.since)
        };
        let error = kind.error.as_ref().filter(|error| readability != Readability::Readable || holds(error));
        ResourceStatus {
            readability,
            changes: self.changes[resource].load(Ordering::Acquire),
            undecodable: kind.undecodable.len(),
            last_success: last_success.map(|last| last.at),
            error: error.map(|error| error.message.clone()),
        }
    }

    // === what the watch of a kind reports ===

    /// A list is due: until it is complete the objects are as of now.
    pub(super) fn list_begun(&self, resource: Resource) {
        let now = Success { at: self.now(), instant: Instant::now() };
        let kind = &mut self.lock().kinds[resource];
        if kind.standing == Standing::Listed && kind.behind_since.is_none() {
            kind.behind_since = Some(now);
        }
    }

    /// A list is complete: swap the store.
    pub(super) fn listed<T: Kind>(&self, listed: Store<T>, undecodable: BTreeMap<Box<str>, String>) {
        let now = self.now();
        let mut state = self.lock();
        if T::RESOURCE == Resource::Pods {
            let state = &mut *state;
            pods::relisted(&mut state.history, &state.objects, &listed, now);
        }
        // of the first list nothing is known that was before
        if state.kinds[T::RESOURCE].standing == Standing::Listed {
            let WatchState { objects, history, .. } = &mut *state;
            edits::relisted(history, T::store(objects), &listed, now);
        }
        let old = std::mem::replace(T::store_mut(&mut state.objects), listed);
        let kind = &mut state.kinds[T::RESOURCE];
        for (name, error) in undecodable.iter().filter(|(name, _)| !kind.undecodable.contains(*name)) {
            warn_of_odd(T::RESOURCE, name, error);
        }
        let undecodable = undecodable.into_keys().collect();
        *kind = KindState { standing: Standing::Listed, undecodable, ..KindState::default() };
        drop(state);
        drop(old); // many objects, freed outside the lock
        self.traffic.recovered(T::RESOURCE);
        self.touched(T::RESOURCE);
    }

    /// An object came or changed. Mostly what changed is nothing that is read, such as the size of a snapshot: then nothing is
    /// judged again.
    pub(super) fn applied<T: Kind>(&self, object: Arc<T>) {
        let now = self.now();
        let mut state = self.lock();
        let WatchState { objects, history, kinds, written, write_is_news } = &mut *state;
        let kind = &mut kinds[T::RESOURCE];
        // what a watch brings that was broken may have been written long ago
        let broke = kind.error.as_ref().is_some_and(|error| error.since.elapsed() < REPLAYED);
        let is_written = kind.standing == Standing::Listed && kind.behind_since.is_none() && !broke;
        if is_written {
            *written = Some(now);
        }
        let news = is_written && std::mem::take(write_is_news);
        let was_undecodable = kind.undecodable.remove(object.meta().name.as_str());
        if !was_undecodable && T::store(objects).is_unchanged_by(&object) {
            drop(state);
            // as what the logs of pods say
            if news {
                self.changed(Resource::Pods);
            }
            return;
        }
        pods::applied(history, objects, &*object, now);
        if kind.standing == Standing::Listed && !was_undecodable {
            edits::changed(history, T::store(objects).get(&object.meta().name), Some(&*object), now);
        }
        T::store_mut(objects).insert(object);
        drop(state);
        self.touched(T::RESOURCE);
        if news && T::RESOURCE != Resource::Pods {
            self.changed(Resource::Pods);
        }
    }

    /// An object came or changed that does not decode. Its last good form would be a lie by now.
    pub(super) fn applied_odd<T: Kind>(&self, name: &str, error: &str) {
        let mut state = self.lock();
        T::store_mut(&mut state.objects).remove(name);
        if state.kinds[T::RESOURCE].undecodable.insert(name.into()) {
            warn_of_odd(T::RESOURCE, name, error);
        }
        drop(state);
        self.touched(T::RESOURCE);
    }

    /// An object is gone; `last` is its last state if that decodes.
    pub(super) fn deleted<T: Kind>(&self, name: &str, last: Option<Arc<T>>) {
        let now = self.now();
        let mut state = self.lock();
        let WatchState { objects, history, kinds, .. } = &mut *state;
        kinds[T::RESOURCE].undecodable.remove(name);
        let stored = T::store_mut(objects).remove(name);
        if let Some(stored) = &stored {
            edits::changed(history, Some(&**stored), None, now);
        }
        if let Some(last) = last.or(stored) {
            pods::deleted(history, objects, last, now);
        }
        drop(state);
        self.touched(T::RESOURCE);
    }

    /// A list or watch failed. True if it is a refusal that may be over at once: an API server that has just started refuses
    /// everybody until it has read the rights, so what was listed before stands for [`REFUSALS`] more.
    pub(super) fn failed<T: Kind>(&self, trouble: &WatchTrouble) -> bool {
        let now = Success { at: self.now(), instant: Instant::now() };
        let mut state = self.lock();
        let kind = &mut state.kinds[T::RESOURCE];
        let before = kind.standing;
        let refused = matches!(trouble.reason, ApiErrorReason::Forbidden | ApiErrorReason::Unauthorized);
        kind.refused_since = refused.then(|| kind.refused_since.unwrap_or(now.instant));
        let lasts = |since: Instant| since.elapsed() >= REFUSALS * self.options.pauses.first;
        let doubtful = before == Standing::Listed && !kind.refused_since.is_none_or(lasts);
        match trouble.reason {
            ApiErrorReason::NotInstalled => kind.standing = Standing::NotInstalled,
            _ if refused && !doubtful => kind.standing = Standing::Refused,
            _ => {}
        }
        let message = format!("{}: {}", T::RESOURCE, trouble.message);
        // another outage if the kind has answered in between, another failure if the text says so
        let answered = self.traffic.last_success(T::RESOURCE);
        let repeated = kind.error.as_ref().is_some_and(|last| {
            last.message == message && answered.is_none_or(|answered| answered.instant <= last.since)
        });
        kind.error = Some(WatchFailure { since: now.instant, message });
        if trouble.relist && kind.standing == Standing::Listed && kind.behind_since.is_none() {
            kind.behind_since = Some(now);
        }
        let (changed, standing) = (!repeated || kind.standing != before, kind.standing);
        if standing == Standing::NotInstalled && before != standing {
            // the kind was removed, and its objects with it
            kind.undecodable.clear();
            kind.behind_since = None;
            drop(std::mem::take(T::store_mut(&mut state.objects)));
        }
        drop(state);
        self.log(T::RESOURCE, trouble, changed);
        if matches!(standing, Standing::NotInstalled | Standing::Refused) {
            self.touched(T::RESOURCE);
        } else if changed {
            self.changed(T::RESOURCE);
        }
        doubtful
    }

    /// Each failure at debug; what is an outage is reported once for all kinds that it hits.
    fn log(&self, resource: Resource, trouble: &WatchTrouble, changed: bool) {
        let (reason, message) = (trouble.reason.as_str(), trouble.message.as_str());
        match trouble.reason {
            _ if self.options.once => tracing::debug!(%resource, reason, message, "cannot list"),
            // also every watch that outlives its version ends so
            ApiErrorReason::Expired => tracing::debug!(%resource, reason, message, "listing again"),
            ApiErrorReason::NotInstalled if resource.is_optional() => {
                if changed {
                    tracing::info!(%resource, reason, message, "not in this cluster; looking again from time to time");
                }
            }
            _ => {
                tracing::debug!(%resource, reason, message, "cannot follow");
                self.traffic.outage(resource, trouble.reason, message);
            }
        }
    }

    /// Something about a kind changed, and what it is is known.
    fn touched(&self, resource: Resource) {
        self.changed(resource);
        let first = self.is_waiting_for(resource);
        if first {
            self.waiting.send_modify(|waiting| {
                waiting.remove(&resource);
            });
        }
        if resource == Resource::Pods || first && resource == Resource::Leases {
            self.pods_changed.notify_one();
        }
    }
}

fn warn_of_odd(resource: Resource, object: &str, error: &str) {
    tracing::warn!(%resource, %object, error, "object does not decode and is left out");
}

/// First pauses for which refusals do not count yet.
const REFUSALS: u32 = 4;
/// A watch that was broken brings what it missed within so long.
const REPLAYED: std::time::Duration = std::time::Duration::from_secs(10);
/// How long an answer may be old: watches are renewed every 45 s, so some four of them failed.
pub(super) const STALE_AFTER: SignedDuration = SignedDuration::from_mins(3);
