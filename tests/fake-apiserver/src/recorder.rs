//! What was asked, and waiting for it.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::time::Duration;

use crate::server::FakeApiServer;
use crate::state::State;

/// How long the waiting helpers wait before they fail the test.
const PATIENCE: Duration = Duration::from_secs(180);

/// How many requests are remembered in full.
const REQUESTS_KEPT: usize = 10_000;

/// What a request does, in the words of RBAC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verb {
    /// One object or a subresource.
    Get,
    /// A collection.
    List,
    /// Changes of a collection.
    Watch,
    /// POST.
    Create,
    /// PUT.
    Update,
    /// PATCH.
    Patch,
    /// DELETE.
    Delete,
}

impl Verb {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        use Verb::{Create, Delete, Get, List, Patch, Update, Watch};
        [Get, List, Watch, Create, Update, Patch, Delete].into_iter().find(|verb| verb.to_string() == text)
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Verb::Get => "get",
            Verb::List => "list",
            Verb::Watch => "watch",
            Verb::Create => "create",
            Verb::Update => "update",
            Verb::Patch => "patch",
            Verb::Delete => "delete",
        })
    }
}

/// One request, whatever was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedRequest {
    /// `pods`, `pods/log`, `volumes.longhorn.io`; empty for paths that address no objects.
    pub resource: String,
    /// What it does.
    pub verb: Verb,
    /// The path as sent.
    pub path: String,
    /// The query as sent, without the question mark.
    pub query: String,
}

#[derive(Default)]
pub(crate) struct Recorder {
    counts: BTreeMap<(String, Verb), u64>,
    recent: VecDeque<RecordedRequest>,
}

impl Recorder {
    pub fn record(&mut self, request: RecordedRequest) {
        *self.counts.entry((request.resource.clone(), request.verb)).or_default() += 1;
        if self.recent.len() == REQUESTS_KEPT {
            self.recent.pop_front();
        }
        self.recent.push_back(request);
    }

    fn count(&self, resource: &str, verb: Verb) -> u64 {
        self.counts.get(&(resource.to_owned(), verb)).copied().unwrap_or_default()
    }
}

fn open_watches(state: &mut State, resource: &str) -> usize {
    state.store.find_all(resource).map(|collection| collection.watchers.len()).sum()
}

/// Counters and waiting.
impl FakeApiServer {
    /// Requests for a resource so far, refused ones included.
    pub fn requests(&self, resource: &str, verb: Verb) -> u64 {
        self.shared.lock().recorder.count(resource, verb)
    }

    /// All counters, by resource and verb.
    pub fn request_counts(&self) -> BTreeMap<(String, Verb), u64> {
        self.shared.lock().recorder.counts.clone()
    }

    /// The latest requests, oldest first, at most ten thousand.
    pub fn recorded(&self) -> Vec<RecordedRequest> {
        self.shared.lock().recorder.recent.iter().cloned().collect()
    }

    /// Forgets the counters and requests so far.
    pub fn reset_counters(&self) {
        self.change(|state| state.recorder = Recorder::default());
    }

    /// Watches open at the moment; `*` counts all.
    pub fn open_watches(&self, resource: &str) -> usize {
        open_watches(&mut self.shared.lock(), resource)
    }

    /// Waits until at least one watch of the resource is open.
    pub async fn wait_for_watch(&self, resource: &str) {
        let what = format!("a watch of {resource}");
        self.wait_until(&what, |state| open_watches(state, resource) > 0).await;
    }

    /// Waits until exactly this many watches of the resource are open.
    pub async fn wait_for_open_watches(&self, resource: &str, n: usize) {
        let what = format!("{n} open watches of {resource}");
        self.wait_until(&what, |state| open_watches(state, resource) == n).await;
    }

    /// Waits until at least this many requests for a resource have arrived since the start or the last reset.
    pub async fn wait_for_requests(&self, resource: &str, verb: Verb, n: u64) {
        let what = format!("{n} {verb} requests for {resource}");
        self.wait_until(&what, |state| state.recorder.count(resource, verb) >= n).await;
    }

    /// Waits until every open watch of the resource (`*`: of all) has sent the changes made so far. Sent is not yet
    /// processed: what the client made of them is the client's to tell.
    pub async fn wait_for_delivery(&self, resource: &str) {
        let what = format!("the watches of {resource} to catch up");
        self.wait_until(&what, |state| {
            state.store.find_all(resource).all(|collection| {
                let newest = collection.log.back().map_or(0, |event| event.rv);
                collection.watchers.values().all(|w| !w.sending && w.sent >= newest && w.injected.is_empty())
            })
        })
        .await;
    }

    pub(crate) async fn wait_until(&self, what: &str, mut reached: impl FnMut(&mut State) -> bool) {
        let mut activity = self.shared.activity.subscribe();
        let wait = async {
            // The subscription is older than the look, so nothing is missed in between.
            while !reached(&mut self.shared.lock()) {
                if activity.changed().await.is_err() {
                    break;
                }
            }
        };
        let outcome = tokio::time::timeout(PATIENCE, wait).await;
        assert!(
            outcome.is_ok(),
            "waited {PATIENCE:?} in vain for {what}; requests: {:?}",
            self.request_counts()
        );
    }
}
