//! The body of an answer on its way from the API server: bounded in time, and read line by line where
//! it is a watch.
//!
//! kube drops a line of a watch that ends early without an error (kube-client 5.0 client/mod.rs,
//! `is_eof`), and bytes alone prove nothing: a proxy may trickle half an event forever. So only a whole
//! line of JSON, or an end after one, counts as an answer, and anything else ends the watch.
//!
//! It does not go with `streamed`, but when kube's client reports a watch that breaks off within a line, and its watcher
//! lets bookmarks through.

use std::borrow::Cow;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::Frame;
use kube::client::Body;
use kube::core::watch::Bookmark;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, Sleep};
use tower::BoxError;

use super::traffic::{Call, silent};
use crate::ApiErrorReason;

/// No object of Kubernetes is as long: the API server refuses requests of more than 3 MiB.
pub(super) const LONGEST_LINE: usize = 8 << 20;
/// Hardly an object is longer. All kinds may wait for the rest of such a line at once, but only [`LONG_LINES`] for that of a longer one.
const USUAL_LINE: usize = 256 << 10;
pub(super) const LONG_LINES: usize = 4;
/// What is read of a refusal: its reason is a sentence.
pub(crate) const REFUSAL: usize = 64 << 10;

/// Part of a watch that is no event.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum Garbled {
    /// A line that is no JSON.
    #[error("the watch sent a line that does not decode: {0}")]
    Line(String),
    /// A line without anything in it, in place of an event.
    #[error("the watch sent an empty line")]
    Empty,
    /// The body ended within a line.
    #[error("the watch ended in the middle of an event")]
    Cut,
    /// A line longer than any object.
    #[error("the watch sent a line of more than {LONGEST_LINE} bytes")]
    Long,
}

/// Watches bring nothing, so that a list has to tell what changed.
#[derive(Debug, thiserror::Error)]
#[error("watches bring neither events nor bookmarks and do not last; listing again")]
pub(super) struct Barren;

/// The body of an answer, with an end to its silence.
pub(super) struct Watched {
    body: Body,
    /// `None` for other requests, and after the end.
    call: Option<Call>,
    good: bool,
    /// The part of a watch's line that has come.
    line: Vec<u8>,
    /// A watch brought an event or a bookmark.
    fruitful: bool,
    /// How much may still come of a refusal.
    rest: usize,
    /// An error came: a watch that tells of one is over.
    over: bool,
    begun: Instant,
    ends: Instant,
    silence: Duration,
    timer: Pin<Box<Sleep>>,
    /// Given back with the body.
    turn: Option<OwnedSemaphorePermit>,
}

impl Watched {
    /// A body without limits.
    pub(super) fn plain(body: Body) -> Self {
        let now = Instant::now();
        let timer = Box::pin(tokio::time::sleep_until(now));
        let silence = Duration::ZERO;
        Watched {
            body,
            call: None,
            good: true,
            line: Vec::new(),
            fruitful: false,
            rest: 0,
            over: false,
            begun: now,
            ends: now,
            silence,
            timer,
            turn: None,
        }
    }

    /// The body of a call; `good` if its status was.
    pub(super) fn new(body: Body, call: Call, good: bool) -> Self {
        let (life, silence) = call.limits();
        let now = Instant::now();
        let timer = Box::pin(tokio::time::sleep_until(now + silence.min(life)));
        Watched {
            body,
            good,
            line: Vec::new(),
            fruitful: false,
            rest: REFUSAL,
            over: false,
            begun: now,
            ends: now + life,
            silence,
            timer,
            call: Some(call),
            turn: None,
        }
    }

    /// Gives something back when the body has been read.
    pub(super) fn holding(mut self, turn: Option<OwnedSemaphorePermit>) -> Self {
        self.turn = turn;
        self
    }

    /// Whether so much may be held of a line or an object that has not come whole.
    pub(super) fn may_hold(&mut self, bytes: usize) -> bool {
        if bytes > USUAL_LINE && self.turn.is_none() {
            self.turn = self.call.as_ref().and_then(Call::long_line);
            return bytes <= LONGEST_LINE && self.turn.is_some();
        }
        bytes <= LONGEST_LINE
    }

    /// Whether the bytes hold the end of at least one event, and how many of them there are up to the first error.
    ///
    /// An error ends the watch, as it does for client-go: another one after it, and a pause for each, would keep
    /// what is sent between them waiting.
    fn read_lines(&mut self, bytes: &[u8]) -> Result<(bool, usize), Garbled> {
        let (mut answered, mut read) = (false, 0);
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            if !self.may_hold(self.line.len() + part.len()) {
                return Err(Garbled::Long);
            }
            read += part.len();
            let event = if !part.ends_with(b"\n") {
                self.line.extend_from_slice(part);
                continue;
            } else if self.line.is_empty() {
                is_event(part)?
            } else {
                self.line.extend_from_slice(part);
                is_event(&std::mem::take(&mut self.line))?
            };
            self.turn = None;
            answered |= event;
            if !event {
                self.over = true;
                break;
            }
        }
        Ok((answered, read))
    }

    /// A watch that brought nothing, and either ended long before its time or had to be ended.
    fn is_barren(&self, call: &Call) -> bool {
        let (life, _) = call.limits();
        let lived = self.begun.elapsed();
        call.watch && !self.fruitful && (lived < life / 4 || lived >= life)
    }

    fn ended(&mut self) {
        if let Some(call) = self.call.take().filter(|call| call.watch && self.good) {
            call.watch_ended(self.is_barren(&call));
        }
    }

    /// Ends the body with an error.
    fn end(
        &mut self,
        reason: Option<ApiErrorReason>,
        error: BoxError,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if let (Some(call), Some(reason)) = (&self.call, reason) {
            call.failed(reason);
        }
        self.ended();
        Poll::Ready(Some(Err(error)))
    }
}

#[derive(Deserialize)]
#[serde(expecting = "an event")]
struct Line<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    object: Option<&'a RawValue>,
}

/// True for an event or a bookmark, false for an error. What is odd about an object is reported with its name (`item`); a
/// bookmark without a version is no one's, and kube would go on with the watch after a pause for each.
fn is_event(line: &[u8]) -> Result<bool, Garbled> {
    if line.trim_ascii().is_empty() {
        return Err(Garbled::Empty);
    }
    let garbled = |error: serde_json::Error| Garbled::Line(error.to_string());
    let line = serde_json::from_slice::<Line>(line).map_err(garbled)?;
    if line.kind == "BOOKMARK" {
        let object = line.object.map_or("null", RawValue::get);
        serde_json::from_str::<Bookmark>(object).map_err(garbled)?;
    }
    Ok(line.kind != "ERROR")
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.ended();
    }
}

impl http_body::Body for Watched {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = &mut *self;
        if this.over {
            this.ended();
            return Poll::Ready(None);
        }
        let frame = Pin::new(&mut this.body).poll_frame(cx);
        let Some(call) = this.call.clone() else { return frame.map_err(Into::into) };
        let reads_lines = call.watch && this.good;
        match frame {
            Poll::Ready(Some(Ok(frame))) => {
                this.timer.as_mut().reset((Instant::now() + this.silence).min(this.ends));
                let Some(bytes) = frame.data_ref().filter(|_| reads_lines || !this.good).cloned() else {
                    return Poll::Ready(Some(Ok(frame)));
                };
                if !this.good {
                    let read = bytes.len().min(this.rest);
                    this.rest -= read;
                    this.over = this.rest == 0;
                    return Poll::Ready(Some(Ok(Frame::data(bytes.slice(..read)))));
                }
                match this.read_lines(&bytes) {
                    Ok((answered, read)) => {
                        if answered {
                            this.fruitful = true;
                            call.answered();
                        }
                        Poll::Ready(Some(Ok(Frame::data(bytes.slice(..read)))))
                    }
                    // counted where the watcher reports it
                    Err(garbled) => this.end(None, garbled.into()),
                }
            }
            Poll::Ready(Some(Err(error))) => this.end(Some(ApiErrorReason::Connection), error.into()),
            Poll::Ready(None) => {
                if reads_lines && !this.line.trim_ascii().is_empty() {
                    return this.end(None, Garbled::Cut.into());
                }
                if this.good && !this.is_barren(&call) {
                    call.answered();
                }
                this.ended();
                Poll::Ready(None)
            }
            Poll::Pending => {
                ready!(this.timer.as_mut().poll(cx));
                let limit = if Instant::now() >= this.ends { call.limits().0 } else { this.silence };
                this.end(Some(ApiErrorReason::Timeout), silent(limit).into())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use http_body_util::BodyExt;
    use jiff::Timestamp;

    use super::super::LiveOptions;
    use super::super::traffic::Traffic;
    use super::*;

    fn watched(body: Body, good: bool) -> Watched {
        let options = LiveOptions::new("longhorn-system", || Timestamp::UNIX_EPOCH, Default::default());
        thread_local! { static TRAFFIC: std::cell::OnceCell<Arc<Traffic>> = const { std::cell::OnceCell::new() } }
        let traffic = TRAFFIC.with(|one| one.get_or_init(|| Arc::new(Traffic::new(&options))).clone());
        Watched::new(body, traffic.call(&"/api/v1/nodes?watch=true".parse().unwrap()).unwrap(), good)
    }

    #[tokio::test]
    async fn a_refusal_is_read_no_further_than_its_reason() {
        let body = Body::from(vec![b'x'; 3 * REFUSAL]);
        let read = watched(body, false).collect().await.unwrap().to_bytes();
        assert_eq!(read.len(), REFUSAL);
    }

    #[tokio::test]
    async fn few_kinds_at_once_hold_the_beginning_of_a_long_line() {
        let mut kinds: Vec<Watched> = (0..=LONG_LINES).map(|_| watched(Body::empty(), true)).collect();
        let may = |kinds: &mut [Watched], bytes| {
            kinds.iter_mut().filter_map(|one| one.may_hold(bytes).then_some(())).count()
        };
        assert_eq!(may(&mut kinds, USUAL_LINE), LONG_LINES + 1);
        assert_eq!(may(&mut kinds, USUAL_LINE + 1), LONG_LINES);
        assert_eq!(may(&mut kinds, LONGEST_LINE + 1), 0);
        // the end of one lets another go on
        let (last, others) = kinds.split_last_mut().unwrap();
        assert!(!last.may_hold(LONGEST_LINE));
        others[0].line = b"{\"type\":\"ADDED\",".to_vec();
        assert_eq!(others[0].read_lines(b"\"object\":{}}\n"), Ok((true, 13)));
        assert!(last.may_hold(LONGEST_LINE));
    }

    #[test]
    fn a_line_is_an_event_an_error_or_garbled() {
        let bookmark = |metadata: &str| {
            format!(
                r#"{{"type":"BOOKMARK","object":{{"kind":"Pod","apiVersion":"v1","metadata":{metadata}}}}}"#
            )
        };
        for event in [
            bookmark(r#"{"resourceVersion":"7","creationTimestamp":null}"#).as_str(),
            r#"{"type":"ADDED","object":{"metadata":{}}}"#,
            r#"{"object":7,"type":"MODIFIED"}"#,
            r#"{"type":"DELETED","object":null}"#,
        ] {
            assert_eq!(is_event(event.as_bytes()), Ok(true), "{event}");
        }
        assert_eq!(is_event(br#"{"type":"ERROR","object":{"code":410}}"#), Ok(false));
        for garbled in [
            bookmark("{}").as_str(),
            bookmark("null").as_str(),
            r#"{"type":"BOOKMARK","object":7}"#,
            r#"{"type":"BOOKMARK"}"#,
            r#"{"type":"ADDED","object":{"metadata":"#,
            "<html>",
        ] {
            assert!(matches!(is_event(garbled.as_bytes()), Err(Garbled::Line(_))), "{garbled}");
        }
        assert_eq!(is_event(b" \r\n"), Err(Garbled::Empty));
    }
}
