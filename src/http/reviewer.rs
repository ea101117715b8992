//! `--web.auth=kubernetes`: the API server says who sends a bearer token and whether they may get
//! the path. Whatever cannot be found out is refused.

use std::future::Future;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::header::HeaderName;
use hyper::http::request::Parts;
use hyper::{HeaderMap, StatusCode, header};

use super::cache::Cache;
use super::digest::{Digest, Digester};
use super::passwords::scheme;
use super::rate::RateLimiter;
use super::respond::Refusal;
use super::single_flight::SingleFlight;
use super::waiters::{Waiters, busy};
use super::web_config::Rate;
use crate::source::reviews::{Reviews, User};

/// Time that an answer about a token is kept.
const TOKEN: Duration = Duration::from_secs(60);
/// Time after which an expired answer is no longer used where the API server does not give a new one.
const STALE: Duration = Duration::from_secs(300);
/// Time that a new answer may take where there is an expired one.
const STALE_PATIENCE: Duration = Duration::from_secs(2);
/// Requests with unknown tokens that may wait, in all and of one address.
const WAITERS: (usize, usize) = (8, 4);
/// Reviews of unknown tokens: they go to the API server in the exporter's name.
const REVIEWS: Rate = Rate { interval: Duration::from_millis(100), burst: 20 };
/// Time that an allowance is kept.
const ALLOWED: Duration = Duration::from_secs(300);
/// Time that a denial is kept: shorter, because someone who fixes a role waits for it.
const DENIED: Duration = Duration::from_secs(30);
/// Time for both questions together.
const PATIENCE: Duration = Duration::from_secs(10);
/// What a scraper must have left to receive the answer.
const MARGIN: Duration = Duration::from_millis(500);
/// Entries of each cache.
const KEPT: usize = 1000;

/// Asks the API server about requests and remembers what it said. What several requests want to know
/// at the same time is asked once.
pub struct Reviewer {
    reviews: Reviews,
    digester: Digester,
    known: Cache<User>,
    /// Apart from those who are known, so that garbage does not push them out.
    unknown: Cache<()>,
    access: Cache<bool>,
    waiters: Waiters,
    rate: RateLimiter,
    token_questions: SingleFlight<Option<User>>,
    access_questions: SingleFlight<bool>,
}

impl Reviewer {
    /// Has asked nothing yet.
    pub fn new(reviews: Reviews, digester: Digester) -> Self {
        Reviewer {
            reviews,
            digester,
            known: Cache::keeping(KEPT, STALE),
            unknown: Cache::new(KEPT),
            access: Cache::keeping(KEPT, STALE),
            waiters: Waiters::new(WAITERS.0, WAITERS.1),
            rate: RateLimiter::default(),
            token_questions: SingleFlight::new(PATIENCE),
            access_questions: SingleFlight::new(PATIENCE),
        }
    }

    /// Lets a request pass or refuses it: 401 for an unknown user, 403 for one without the right, 503 while
    /// too many unknown tokens wait, 500 when the API server does not answer.
    pub async fn authorize(self: &Arc<Self>, request: &Parts, client: IpAddr) -> Result<(), Refusal> {
        let Some(token) = scheme(&request.headers, "bearer") else {
            return Err(unauthenticated("a bearer token is needed"));
        };
        let key = self.digester.digest(&[token.as_bytes()]);
        let is_known = self.known.expired(&key).is_some() || self.unknown.get(&key).is_some();
        let _place = if is_known || self.token_questions.is_under_way(&key) {
            None
        } else {
            let place = self.waiters.enter(client)?;
            self.rate.take(Some(REVIEWS)).map_err(|_| busy())?;
            Some(place)
        };
        let path = asked_path(request.uri.path());
        match in_time(&request.headers, self.review(key, token, path)).await? {
            ReviewVerdict::Allowed => Ok(()),
            ReviewVerdict::Denied(name) => {
                Err(Refusal::new(StatusCode::FORBIDDEN, format!("{name} may not get {path}")))
            }
            ReviewVerdict::Unknown => Err(unauthenticated("the Kubernetes API does not accept this token")),
        }
    }

    async fn review(self: &Arc<Self>, key: Digest, token: &str, path: &str) -> Result<ReviewVerdict, String> {
        let user = or_expired(self.user(key, token), self.known.expired(&key).map(Some)).await?;
        let Some(user) = user else { return Ok(ReviewVerdict::Unknown) };
        let allowed = self.may_get(&user, path).await?;
        Ok(if allowed { ReviewVerdict::Allowed } else { ReviewVerdict::Denied(user.username) })
    }

    async fn user(self: &Arc<Self>, key: Digest, token: &str) -> Result<Option<User>, String> {
        let known = || match self.known.get(&key) {
            Some(user) => Some(Some(user)),
            None => self.unknown.get(&key).map(|()| None),
        };
        let (reviewer, token) = (self.clone(), token.to_owned());
        let question = async move {
            let user = reviewer.reviews.token(&token).await?;
            match &user {
                Some(user) => reviewer.known.put(key, user.clone(), TOKEN),
                None => {
                    reviewer.known.remove(&key);
                    reviewer.unknown.put(key, (), TOKEN);
                }
            }
            Ok(user)
        };
        self.token_questions.ask(key, known, question).await
    }

    async fn may_get(self: &Arc<Self>, user: &User, path: &str) -> Result<bool, String> {
        // everything of the user counts, their groups too
        let identity = serde_json::to_vec(user).map_err(|error| error.to_string())?;
        let key = self.digester.digest(&[&identity, path.as_bytes()]);
        let expired = self.access.expired(&key);
        let (reviewer, user, path) = (self.clone(), user.clone(), path.to_owned());
        let question = async move {
            let allowed = reviewer.reviews.may_get(&user, &path).await?;
            reviewer.access.put(key, allowed, if allowed { ALLOWED } else { DENIED });
            Ok(allowed)
        };
        let asked = self.access_questions.ask(key, || self.access.get(&key), question);
        or_expired(asked, expired).await
    }
}

/// The new answer, or the expired one where the API server does not give a new one soon: it must not take
/// the scrapes of an account that it has just let pass down with it.
async fn or_expired<V>(
    asked: impl Future<Output = Result<V, String>>,
    expired: Option<V>,
) -> Result<V, String> {
    let Some(expired) = expired else { return asked.await };
    match tokio::time::timeout(STALE_PATIENCE, asked).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(_)) | Err(_) => Ok(expired),
    }
}

/// Whether Kubernetes lets every account get a path: the ClusterRole `system:discovery`, which each
/// cluster binds to `system:authenticated`, names these. A review of such a path protects nothing.
pub fn is_open_to_all(path: &str) -> bool {
    const TREES: [&str; 3] = ["/api", "/apis", "/openapi"];
    const PATHS: [&str; 4] = ["/healthz", "/livez", "/readyz", "/version"];
    let below =
        |tree: &&str| path.strip_prefix(*tree).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    TREES.iter().any(below) || PATHS.contains(&path.trim_end_matches('/'))
}

/// The path whose right is asked for: that of the request, or of the page when everybody has the
/// former. The page shows what the report does, in JSON and as text, and leads to the runbooks.
fn asked_path(path: &str) -> &str {
    let of_page = path == "/report.txt" || path.starts_with("/runbooks/");
    if of_page || is_open_to_all(path) { "/" } else { path }
}

/// What the API server said of a request.
enum ReviewVerdict {
    Allowed,
    Denied(String),
    Unknown,
}

fn unauthenticated(message: &str) -> Refusal {
    Refusal::new(StatusCode::UNAUTHORIZED, message).with(header::WWW_AUTHENTICATE, "Bearer")
}

/// The verdict, or a refusal when there is none in time. What went wrong is for the log only.
async fn in_time(
    headers: &HeaderMap,
    review: impl Future<Output = Result<ReviewVerdict, String>>,
) -> Result<ReviewVerdict, Refusal> {
    let patience = patience(headers);
    let error = match tokio::time::timeout(patience, review).await {
        Ok(Ok(verdict)) => return Ok(verdict),
        Ok(Err(error)) => error,
        Err(_) => format!("no answer within {patience:?}"),
    };
    tracing::error!(%error, "a request is refused because the Kubernetes API could not be asked about its token");
    let message = "the Kubernetes API could not be asked about the token; see the exporter's log";
    Err(Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, message))
}

/// The header in which Prometheus says how long it waits.
pub const TIMEOUT: HeaderName = HeaderName::from_static("x-prometheus-scrape-timeout-seconds");

/// A scraper that has gone by then learns nothing from the answer.
pub fn patience(headers: &HeaderMap) -> Duration {
    let timeout = headers.get(TIMEOUT);
    let seconds: Option<f64> = timeout.and_then(|value| value.to_str().ok()?.trim().parse().ok());
    let timeout = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    match timeout.filter(|timeout| !timeout.is_zero()) {
        Some(timeout) => PATIENCE.min(timeout - MARGIN.min(timeout / 2)),
        None => PATIENCE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_path_is_asked_for_that_every_account_may_get() {
        for path in ["/api/v1/report", "/api", "/apis/a", "/openapi/", "/version/", "/livez"] {
            assert_eq!(asked_path(path), "/", "{path}");
        }
        for path in ["/metrics", "/", "/apiary", "/livez/x", "/versions"] {
            assert_eq!(asked_path(path), path);
        }
    }

    #[test]
    fn the_scrape_timeout_bounds_the_questions() {
        for (header, expected) in [
            (None, 10_000),
            (Some("10"), 9_500),
            (Some("3.5"), 3_000),
            (Some("0.4"), 200),
            (Some("60"), 10_000),
            (Some("0"), 10_000),
            (Some("-1"), 10_000),
            (Some("NaN"), 10_000),
            (Some("1e300"), 10_000),
            (Some("soon"), 10_000),
        ] {
            let mut headers = HeaderMap::new();
            if let Some(header) = header {
                headers.insert("x-prometheus-scrape-timeout-seconds", header.parse().unwrap());
            }
            assert_eq!(patience(&headers).as_millis(), expected, "{header:?}");
        }
    }
}
