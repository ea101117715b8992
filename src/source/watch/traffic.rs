//! Every list and watch on its way to the API server and back: counted, timed, and noted as proof
//! that the server still answers for a kind.
//!
//! The watcher of kube hides bookmarks, clean ends and restarts of a watch from its user, so a
//! quiet kind would look dead from above. Here each whole line of a watch is seen (see [`super::body`]). The part that turns
//! the watcher's stream of a list into a whole list goes with `streamed`, when no Kubernetes below 1.34 is supported.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{Request, Response, Uri};
use http_body::Body as HttpBody;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use jiff::{SignedDuration, Timestamp};
use kube::Client;
use kube::client::Body;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use tower::BoxError;

use super::backoff::Pauses;
use super::body::{Barren, LONG_LINES, Watched};
use super::headers;
use super::outages::Outages;
use super::pages::{self, PageSize, TooHeavy};
use super::streamed::{self, Streamed};
use super::trouble::{reason_of, reason_of_code};
use super::{Clock, LiveOptions};
use crate::longhorn::{PerKind, Resource, Scope};
use crate::sync;
use crate::{ApiErrorReason, ApiTotals};

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
/// How often a further page of a list is asked for. Without that one page in fifty that fails would keep
/// a list of two hundred from ever being complete.
const PAGE_TRIES: u32 = 6;
/// A kind that is answered slowly holds the others up for no longer than this.
const LONGEST_TURN: Duration = Duration::from_secs(2);

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

/// One call of a kind.
#[derive(Debug, Clone)]
pub(super) struct Call {
    traffic: Arc<Traffic>,
    resource: Resource,
    pub(super) watch: bool,
    /// Not a further page of a list.
    first: bool,
    /// A list that is handed on object by object.
    streamed: bool,
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

impl Call {
    async fn send(self, client: Client, request: Request<Body>) -> Result<Response<Watched>, BoxError> {
        self.begin().await;
        if self.watch {
            // that of the list or bookmark which the watch goes on from
            self.traffic.saw(self.resource, parameter(request.uri(), "resourceVersion=").as_deref());
        }
        if self.watch && self.is_list_due() {
            self.failed(ApiErrorReason::Other);
            return Err(Barren.into());
        }
        let mut turn = self.turn().await;
        let usual = pages::limit(request.uri()).filter(|_| !self.watch);
        let Some(usual) = usual else {
            let response = self.try_once(&client, request).await?;
            return Ok(response.map(|body| body.holding(turn)));
        };
        // lists have no body
        let (head, _) = request.into_parts();
        let mut tries = 1;
        loop {
            let request = Request::from_parts(head.clone(), Body::empty());
            let page = match self.page(&client, request, usual, &mut turn).await {
                Ok(None) => continue,
                Ok(Some(page)) => Ok(page),
                Err(error) => Err(error),
            };
            let again = page.as_ref().map_or(true, |page| is_passing(page.status().as_u16()));
            // the first page is asked for again by the kind, which tells what went wrong
            if !again || self.first || tries == PAGE_TRIES {
                return Ok(page?.map(|bytes| Watched::plain(bytes.into()).holding(turn)));
            }
            let pause = self.traffic.pauses.jittered(tries);
            tokio::time::sleep(pause.max(self.asked_to_wait())).await;
            tries += 1;
        }
    }

    /// Sends as a list what the watcher asked for as a stream of events, and hands it on as that.
    async fn stream(
        self,
        client: Client,
        mut request: Request<Body>,
    ) -> Result<Response<UnsyncBoxBody<Bytes, BoxError>>, BoxError> {
        let seen = self.traffic.calls(self.resource).seen.clone();
        if let Some(list) = streamed::as_list(request.uri(), seen.as_deref()) {
            *request.uri_mut() = list;
        }
        self.begin().await;
        let turn = self.turn().await;
        let response = self.try_once(&client, request).await?;
        let good = response.status().is_success();
        Ok(response.map(|body| match body.holding(turn) {
            list if good => Streamed::new(list, self.resource.keeps_writes()).boxed_unsync(),
            refusal => refusal.boxed_unsync(),
        }))
    }

    /// A page of a list; `None` for one that is too heavy, the next one is smaller. What comes without a turn waits for that of
    /// heavy pages before it takes more than a light one.
    async fn page(
        &self,
        client: &Client,
        request: Request<Body>,
        usual: u32,
        turn: &mut Option<OwnedSemaphorePermit>,
    ) -> Result<Option<Response<Bytes>>, BoxError> {
        let asked = self.traffic.calls(self.resource).page_size.next(usual);
        let most = if asked > 1 { pages::PAGE_BYTES } else { pages::OBJECT_BYTES };
        let response = self.try_once(client, pages::with_limit(request, asked)).await?;
        let (head, body) = response.into_parts();
        let page = match self.collect(Limited::new(body, most), turn).await {
            Ok(page) => page,
            Err(error) if !error.is::<LengthLimitError>() => return Err(error),
            Err(_) if asked == 1 => return Err(TooHeavy.into()),
            Err(_) => {
                self.traffic.calls(self.resource).page_size.too_heavy(asked);
                return Ok(None);
            }
        };
        self.traffic.calls(self.resource).page_size.weighed(asked, page.len(), usual);
        Ok(Some(Response::from_parts(head, page)))
    }

    async fn collect(
        &self,
        mut body: impl HttpBody<Data = Bytes, Error = BoxError> + Unpin,
        turn: &mut Option<OwnedSemaphorePermit>,
    ) -> Result<Bytes, BoxError> {
        let mut page = BytesMut::new();
        while let Some(frame) = body.frame().await {
            let Ok(data) = frame?.into_data() else { continue };
            if turn.is_none() && page.len() + data.len() > pages::LIGHT {
                *turn = self.traffic.heavy_page.clone().acquire_owned().await.ok();
            }
            page.extend_from_slice(&data);
        }
        Ok(page.freeze())
    }

    async fn try_once(&self, client: &Client, request: Request<Body>) -> Result<Response<Watched>, BoxError> {
        let sent = (self.traffic.clock)();
        let answer = tokio::time::timeout(self.traffic.answer_timeout, client.send(request)).await;
        let response = match answer {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => {
                self.failed(reason_of(&error));
                return Err(error.into());
            }
            Err(_elapsed) => {
                self.failed(ApiErrorReason::Timeout);
                if self.watch {
                    self.watch_ended(true);
                }
                return Err(silent(self.traffic.answer_timeout).into());
            }
        };
        let good = response.status().is_success();
        self.read_headers(sent, &response);
        // a server has no list in memory of a kind that no one has asked for yet: pages follow
        let not_in_memory = self.streamed && response.status().as_u16() == 429;
        if !good && !not_in_memory {
            self.failed(reason_of_code(response.status().as_u16()));
        } else if self.watch && self.traffic.calls(self.resource).barren_watches == 0 {
            self.answered();
        }
        Ok(response.map(|body| Watched::new(body, self.clone(), good)))
    }

    fn read_headers<B>(&self, sent: Timestamp, response: &Response<B>) {
        let now = (self.traffic.clock)();
        *sync::lock(&self.traffic.skew) = headers::skew(sent, now, response.headers());
        let wait = match response.status().as_u16() {
            // what priority and fairness of the API server sends with it is a second
            429 | 503 => headers::retry_after(now, response.headers()),
            _ => None,
        };
        self.traffic.calls(self.resource).not_before = wait.map(|wait| Instant::now() + wait);
    }

    /// How much longer the API server wants to be left alone with this kind.
    fn asked_to_wait(&self) -> Duration {
        let until = self.traffic.calls(self.resource).not_before;
        until.map_or(Duration::ZERO, |until| until.saturating_duration_since(Instant::now()))
    }

    /// How long the body may take in all, and how long it may be silent. The server ends a watch by
    /// itself; one that is still open after that is fed by something else.
    pub(super) fn limits(&self) -> (Duration, Duration) {
        match self.watch {
            true => (self.traffic.watch_life, self.traffic.watch_life),
            false => (self.traffic.page_timeout, self.traffic.answer_timeout),
        }
    }

    /// The right to hold a long line; none where others hold theirs.
    pub(super) fn long_line(&self) -> Option<OwnedSemaphorePermit> {
        self.traffic.long_lines.clone().try_acquire_owned().ok()
    }

    /// Waits for the turn of a page; watches need none. Not forever: a turn is for saving memory,
    /// and a kind that hangs must not keep the others from being read.
    async fn turn(&self) -> Option<OwnedSemaphorePermit> {
        if self.watch {
            return None;
        }
        let turn = self.traffic.turns.clone().acquire_owned();
        tokio::time::timeout(LONGEST_TURN, turn).await.ok()?.ok()
    }

    /// Counts the call. A watch that follows another at once waits: a server or proxy that ends
    /// every watch as soon as it began would otherwise be asked without pause, as the watcher
    /// takes a clean end for no error.
    async fn begin(&self) {
        let asked = self.asked_to_wait();
        if !asked.is_zero() {
            tokio::time::sleep(asked).await;
        }
        let pause = {
            let mut calls = self.traffic.calls(self.resource);
            if !self.watch {
                calls.totals.lists += u64::from(self.first);
                return;
            }
            calls.totals.watches += 1;
            let now = Instant::now();
            let shortly = calls.watch_begun.is_some_and(|begun| now - begun < self.traffic.pauses.first);
            calls.short_watches = if shortly { calls.short_watches.saturating_add(1) } else { 0 };
            let pause = self.traffic.pauses.jittered(calls.short_watches);
            let pause = if calls.short_watches > 1 { pause } else { Duration::ZERO };
            calls.watch_begun = Some(now + pause);
            pause
        };
        if !pause.is_zero() {
            tokio::time::sleep(pause).await;
        }
    }

    /// Notes the end of a watch, and whether it brought nothing.
    pub(super) fn watch_ended(&self, barren: bool) {
        let mut calls = self.traffic.calls(self.resource);
        calls.barren_watches = if barren { calls.barren_watches.saturating_add(1) } else { 0 };
    }

    /// Something between us and the API server may answer watches with nothing, forever. So after two such
    /// watches a list comes first, and again after each further one.
    fn is_list_due(&self) -> bool {
        let mut calls = self.traffic.calls(self.resource);
        let due = calls.barren_watches >= 2;
        if due {
            calls.barren_watches = 1;
        }
        due
    }

    /// Notes that the API server has answered with something that can be read.
    pub(super) fn answered(&self) {
        let success = Success { at: (self.traffic.clock)(), instant: Instant::now() };
        self.traffic.calls(self.resource).last_success = Some(success);
        self.traffic.recovered(self.resource);
    }

    pub(super) fn failed(&self, reason: ApiErrorReason) {
        self.traffic.count_error(self.resource, reason);
    }
}

fn parameter(uri: &Uri, key: &str) -> Option<String> {
    uri.query()?.split('&').find_map(|parameter| parameter.strip_prefix(key)).map(str::to_owned)
}

/// A status that another try may not get.
fn is_passing(status: u16) -> bool {
    matches!(status, 429 | 500..=599)
}

/// Nothing came for so long.
pub(super) fn silent(limit: Duration) -> std::io::Error {
    let text = format!("no answer within {limit:?}");
    std::io::Error::new(std::io::ErrorKind::TimedOut, text)
}
