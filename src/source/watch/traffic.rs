//! Every list and watch on its way to the API server and back: counted, timed, and noted as proof
//! that the server still answers for a kind.
//!
//! The watcher of kube hides bookmarks, clean ends and restarts of a watch from its user, so a
//! quiet kind would look dead from above. Here each whole line of a watch is seen (see [`super::body`]). The part that turns
//! the watcher's stream of a list into a whole list goes with `streamed`, when no Kubernetes below 1.34 is supported.

#[cfg(test)]
mod tests;

mod call;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use http::{Request, Uri};
use http_body_util::BodyExt;
use jiff::{SignedDuration, Timestamp};
use kube::Client;
use kube::client::Body;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::backoff::Pauses;
use super::body::{LONG_LINES, Watched};
use super::outages::Outages;
use super::pages::PageSize;
use super::streamed;
use super::{Clock, LiveOptions};
use crate::longhorn::{PerKind, Resource, Scope};
use crate::sync;
use crate::{ApiErrorReason, ApiTotals};

pub(super) use call::{Call, silent};

/// Calls per kind, and when each kind was last answered.
#[derive(Debug)]
pub(super) struct Traffic {
    /// By path, and by whether a part of it is asked for: two kinds may share a path.
    kinds: BTreeMap<(String, bool), Resource>,
    calls: PerKind<Mutex<Calls>>,
    clock: Clock,
    answer_timeout: Duration,
    page_timeout: Duration,
    watch_life: Duration,
    pauses: Pauses,
    /// Turns of pages: what is read at once is held in memory at once.
    turns: Arc<Semaphore>,
    /// The turn of a page that got none of those in time and is heavy.
    heavy_page: Arc<Semaphore>,
    /// The same for lines that are longer than usual.
    long_lines: Arc<Semaphore>,
    outages: Arc<Outages>,
    /// How far our clock is ahead of the API server's, by its last answer.
    skew: Mutex<Option<SignedDuration>>,
}

/// Pages that are read at once.
const PAGES_AT_ONCE: usize = 2;
#[derive(Debug, Default)]
struct Calls {
    totals: ApiTotals,
    last_success: Option<Success>,
    /// The kind cannot be followed.
    failing: bool,
    /// Version of the newest object or list that was seen: an API server that lags must not lead back.
    seen: Option<String>,
    watch_begun: Option<Instant>,
    short_watches: u32,
    /// Watches in a row that brought nothing.
    barren_watches: u32,
    page_size: PageSize,
    /// The API server wants to be left alone until then.
    not_before: Option<Instant>,
}

/// When a kind was last answered.
#[derive(Debug, Clone, Copy)]
pub(super) struct Success {
    /// To be shown.
    pub(super) at: Timestamp,
    /// To be judged by: a wall clock may be set.
    pub(super) instant: Instant,
}

impl Traffic {
    pub(super) fn new(options: &LiveOptions) -> Self {
        let key = |kind| (collection_path(kind, &options.namespace), has_selector(kind));
        let kinds = Resource::all().map(|kind| (key(kind), kind)).collect();
        Traffic {
            kinds,
            calls: PerKind::new(|_| Mutex::default()),
            clock: options.clock,
            answer_timeout: options.answer_timeout,
            page_timeout: options.page_timeout,
            watch_life: options.watch_timeout() + options.watch_grace,
            pauses: options.pauses,
            turns: Arc::new(Semaphore::new(PAGES_AT_ONCE)),
            heavy_page: Arc::new(Semaphore::new(1)),
            long_lines: Arc::new(Semaphore::new(LONG_LINES)),
            outages: Arc::new(Outages::new(options.kinds.clone())),
            skew: Mutex::default(),
        }
    }

    /// A client whose lists and watches pass through here.
    pub(super) fn through(self: &Arc<Self>, client: Client) -> Client {
        let (traffic, namespace) = (self.clone(), client.default_namespace().to_owned());
        let service = tower::service_fn(move |request: Request<Body>| {
            let (client, call) = (client.clone(), traffic.call(request.uri()));
            async move {
                match call {
                    Some(call) if call.streamed => call.stream(client, request).await,
                    Some(call) => Ok(call.send(client, request).await?.map(BodyExt::boxed_unsync)),
                    None => Ok(client.send(request).await?.map(|body| Watched::plain(body).boxed_unsync())),
                }
            }
        });
        Client::new(service, namespace)
    }

    pub(super) fn last_success(&self, resource: Resource) -> Option<Success> {
        self.calls(resource).last_success
    }

    pub(super) fn skew(&self) -> Option<SignedDuration> {
        *sync::lock(&self.skew)
    }

    pub(super) fn totals(&self, resource: Resource) -> ApiTotals {
        self.calls(resource).totals.clone()
    }

    pub(super) fn count_event(&self, resource: Resource) {
        self.calls(resource).totals.events += 1;
    }

    pub(super) fn count_error(&self, resource: Resource, reason: ApiErrorReason) {
        *self.calls(resource).totals.errors.entry(reason).or_default() += 1;
    }

    /// A kind cannot be followed, which the log says once for all that fail alike.
    pub(super) fn outage(&self, resource: Resource, reason: ApiErrorReason, message: &str) {
        self.calls(resource).failing = true;
        self.outages.failed(resource, reason, message);
    }

    /// A kind is followed again, if it was not.
    pub(super) fn recovered(&self, resource: Resource) {
        let failing = std::mem::take(&mut self.calls(resource).failing);
        if failing {
            self.outages.recovered(resource);
        }
    }

    /// Notes the version of what was seen of a kind. Versions are compared by no one but the API server.
    pub(super) fn saw(&self, resource: Resource, version: Option<&str>) {
        if let Some(version) = version.filter(|version| !version.is_empty() && *version != "0") {
            self.calls(resource).seen = Some(version.to_owned());
        }
    }

    fn calls(&self, resource: Resource) -> MutexGuard<'_, Calls> {
        sync::lock(&self.calls[resource])
    }

    pub(super) fn call(self: &Arc<Self>, uri: &Uri) -> Option<Call> {
        let has = |wanted: &str| {
            uri.query().unwrap_or_default().split('&').any(|parameter| parameter.starts_with(wanted))
        };
        let resource = *self.kinds.get(&(uri.path().to_owned(), has("fieldSelector=")))?;
        let streamed = streamed::is_asked_for(uri);
        let (watch, first) = (has("watch=true") && !streamed, !has("continue="));
        Some(Call { traffic: self.clone(), resource, watch, first, streamed })
    }
}

/// Path of a kind's list, as in `/apis/longhorn.io/v1beta2/namespaces/longhorn-system/volumes`.
fn collection_path(resource: Resource, namespace: &str) -> String {
    let info = resource.info();
    let group = match info.group {
        "" => format!("/api/{}", info.version),
        group => format!("/apis/{group}/{}", info.version),
    };
    match info.scope {
        Scope::Namespaced => format!("{group}/namespaces/{namespace}/{}", info.plural),
        Scope::InNamespace { namespace, .. } => format!("{group}/namespaces/{namespace}/{}", info.plural),
        Scope::Cluster | Scope::ClusterNamed(_) | Scope::ClusterLabelled(_) => {
            format!("{group}/{}", info.plural)
        }
    }
}

fn has_selector(resource: Resource) -> bool {
    matches!(resource.info().scope, Scope::InNamespace { .. } | Scope::ClusterNamed(_))
}
