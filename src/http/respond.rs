//! Answers.

use std::borrow::Cow;

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{self, HeaderValue};
use hyper::{HeaderMap, Response, StatusCode};

use super::negotiate::accepts_gzip;
use crate::exporter::{RenderError, Rendered};

/// An answer, all of it in memory: never half a page.
pub type Answer = Response<Full<Bytes>>;

/// Plain text for people and probes.
pub const TEXT: &str = "text/plain; charset=utf-8";
/// The report.
pub const JSON: &str = "application/json";
/// The page.
pub const HTML: &str = "text/html; charset=utf-8";

/// Answers below this size are not worth compressing.
const MIN_GZIP: usize = 1024;

/// A request that is not answered with what it asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub status: StatusCode,
    pub message: String,
    /// A header that belongs to the status, such as `Allow`.
    pub header: Option<(header::HeaderName, Cow<'static, str>)>,
}

impl Refusal {
    /// A refusal without a further header.
    pub fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Refusal { status, message: message.into(), header: None }
    }

    /// Adds a header.
    pub fn with(mut self, name: header::HeaderName, value: impl Into<Cow<'static, str>>) -> Self {
        self.header = Some((name, value.into()));
        self
    }

    /// The answer.
    pub fn answer(self) -> Answer {
        let mut answer = answer(self.status, TEXT, self.message + "\n");
        if let Some((name, value)) = self.header
            && let Ok(value) = HeaderValue::from_str(&value)
        {
            answer.headers_mut().insert(name, value);
        }
        answer
    }
}

impl From<RenderError> for Refusal {
    fn from(error: RenderError) -> Self {
        if let RenderError::Full = error {
            let refusal = Refusal::new(StatusCode::SERVICE_UNAVAILABLE, error.to_string());
            return refusal.with(header::RETRY_AFTER, "5");
        }
        tracing::error!(%error, "an answer could not be written");
        let message = format!("the answer could not be written: {error}");
        Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, message)
    }
}

/// An answer of some type. Nothing here may be guessed at, framed or kept by caches.
pub fn answer(status: StatusCode, content_type: &str, body: impl Into<Bytes>) -> Answer {
    let mut answer = Response::new(Full::new(body.into()));
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    let content_type = HeaderValue::from_str(content_type).unwrap_or(HeaderValue::from_static(TEXT));
    headers.insert(header::CONTENT_TYPE, content_type);
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    answer
}

/// A body, compressed if the client takes it so.
pub fn compressible(request: &HeaderMap, content_type: &str, vary: &'static str, body: &Rendered) -> Answer {
    let plain = body.plain();
    let wanted = accepts_gzip(text_header(request, header::ACCEPT_ENCODING).as_deref());
    let zipped = if wanted && plain.len() >= MIN_GZIP { body.gzip() } else { None };
    let mut answer = answer(StatusCode::OK, content_type, zipped.unwrap_or(plain).clone());
    answer.headers_mut().insert(header::VARY, HeaderValue::from_static(vary));
    if zipped.is_some() {
        answer.headers_mut().insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    answer
}

/// The values of a header as one list, as RFC 9110 reads repeated list headers.
pub fn text_header(headers: &HeaderMap, name: header::HeaderName) -> Option<String> {
    let values: Vec<_> = headers.get_all(name).iter().filter_map(|value| value.to_str().ok()).collect();
    (!values.is_empty()).then(|| values.join(","))
}
