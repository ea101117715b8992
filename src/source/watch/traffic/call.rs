//! One call of a kind on its way: when it is sent, how long it may take, how often it is tried, and what is noted of the answer.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{Request, Response, Uri};
use http_body::Body as HttpBody;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use jiff::Timestamp;
use kube::Client;
use kube::client::Body;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;
use tower::BoxError;

use super::{Success, Traffic};
use crate::ApiErrorReason;
use crate::longhorn::Resource;
use crate::sync;
use crate::watch::body::{Barren, Watched};
use crate::watch::headers;
use crate::watch::pages::{self, TooHeavy};
use crate::watch::streamed::{self, Streamed};
use crate::watch::trouble::{reason_of, reason_of_code};

/// How often a further page of a list is asked for. Without that one page in fifty that fails would keep
/// a list of two hundred from ever being complete.
const PAGE_TRIES: u32 = 6;
/// A kind that is answered slowly holds the others up for no longer than this.
const LONGEST_TURN: Duration = Duration::from_secs(2);

/// One call of a kind.
#[derive(Debug, Clone)]
pub(in crate::watch) struct Call {
    pub(super) traffic: Arc<Traffic>,
    pub(super) resource: Resource,
    pub(in crate::watch) watch: bool,
    /// Not a further page of a list.
    pub(super) first: bool,
    /// A list that is handed on object by object.
    pub(super) streamed: bool,
}

impl Call {
    pub(super) async fn send(
        self,
        client: Client,
        request: Request<Body>,
    ) -> Result<Response<Watched>, BoxError> {
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
    pub(super) async fn stream(
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

    pub(super) async fn collect(
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
    pub(in crate::watch) fn limits(&self) -> (Duration, Duration) {
        match self.watch {
            true => (self.traffic.watch_life, self.traffic.watch_life),
            false => (self.traffic.page_timeout, self.traffic.answer_timeout),
        }
    }

    /// The right to hold a long line; none where others hold theirs.
    pub(in crate::watch) fn long_line(&self) -> Option<OwnedSemaphorePermit> {
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
    pub(in crate::watch) fn watch_ended(&self, barren: bool) {
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
    pub(in crate::watch) fn answered(&self) {
        let success = Success { at: (self.traffic.clock)(), instant: Instant::now() };
        self.traffic.calls(self.resource).last_success = Some(success);
        self.traffic.recovered(self.resource);
    }

    pub(in crate::watch) fn failed(&self, reason: ApiErrorReason) {
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
pub(in crate::watch) fn silent(limit: Duration) -> std::io::Error {
    let text = format!("no answer within {limit:?}");
    std::io::Error::new(std::io::ErrorKind::TimedOut, text)
}
