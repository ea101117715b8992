//! Answers and their bodies.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use futures::{Stream, StreamExt, stream};
use http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::Frame;
use serde_json::Value;

use crate::faults::Fault;
use crate::status::Failure;

pub(crate) type Body = UnsyncBoxBody<Bytes, io::Error>;
pub(crate) type Answer = Response<Body>;

/// An answer with the headers real servers send.
pub(crate) fn answer(code: StatusCode, content_type: &'static str, body: Body) -> Answer {
    let mut response = Response::new(body);
    *response.status_mut() = code;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    response
}

pub(crate) fn full(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).map_err(|never| match never {}).boxed_unsync()
}

pub(crate) fn json(code: StatusCode, value: &Value) -> Answer {
    answer(code, "application/json", full(value.to_string()))
}

pub(crate) fn text(code: StatusCode, text: impl Into<Bytes>) -> Answer {
    answer(code, "text/plain; charset=utf-8", full(text))
}

pub(crate) fn failure(failure: &Failure) -> Answer {
    let mut response = json(failure.code, &failure.to_value());
    if let Some(seconds) = failure.retry_after {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// A body in pieces; an error cuts the connection.
pub(crate) fn streamed(pieces: impl Stream<Item = io::Result<Bytes>> + Send + 'static) -> Body {
    let frames = pieces.then(|piece| async {
        // hyper drops what it has not flushed when a body fails, and flushes when a body has nothing to give.
        if piece.is_err() {
            tokio::task::yield_now().await;
        }
        piece.map(Frame::data)
    });
    BodyExt::boxed_unsync(StreamBody::new(frames))
}

/// The error that makes the server cut a connection in the middle of an answer.
pub(crate) fn cut() -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionReset, "cut by the test")
}

/// A body with the faults that concern bodies.
pub(crate) fn faulty(pieces: impl Stream<Item = Bytes> + Send + 'static, fault: Option<Fault>) -> Body {
    match fault {
        Some(Fault::SlowBody(size, pause)) => streamed(slowly(pieces, size.max(1), pause)),
        Some(Fault::TruncatedBody) => streamed(half(pieces).map(Ok)),
        Some(Fault::BrokenBody) => streamed(half(pieces).map(Ok).chain(stream::once(async { Err(cut()) }))),
        _ => streamed(pieces.map(Ok)),
    }
}

/// The first half of a body.
fn half(pieces: impl Stream<Item = Bytes> + Send + 'static) -> impl Stream<Item = Bytes> + Send {
    stream::once(async {
        let mut whole = Bytes::from(pieces.collect::<Vec<_>>().await.concat());
        whole.truncate(whole.len() / 2);
        whole
    })
}

fn slowly(
    pieces: impl Stream<Item = Bytes> + Send + 'static,
    size: usize,
    pause: Duration,
) -> impl Stream<Item = io::Result<Bytes>> + Send {
    let small = pieces.flat_map(move |mut piece| {
        let mut parts = Vec::new();
        while !piece.is_empty() {
            parts.push(piece.split_to(size.min(piece.len())));
        }
        stream::iter(parts)
    });
    small.then(move |part| async move {
        tokio::time::sleep(pause).await;
        Ok(part)
    })
}
