//! `--web.auth=kubernetes`: the API server says who sends a bearer token and whether they may get
//! the path. Whatever cannot be found out is refused.

use std::future::Future;
use std::net::IpAddr;
use std::time::Duration;

use hyper::header::HeaderName;
use hyper::http::request::Parts;
use hyper::{HeaderMap, StatusCode, header};

use super::credentials::{Digester, NoVerdict, Verdict, VerdictLimits, Verdicts, busy};
use super::passwords::scheme;
use super::respond::Refusal;
use super::web_config::Rate;
use crate::source::reviews::{Reviews, User};

/// Time that an answer about a token is good.
const TOKEN: Duration = Duration::from_secs(60);
/// Time after which an answer that is no longer good is no longer used where the API server does not give a new one.
const STALE: Duration = Duration::from_secs(300);
/// Time that an allowance is good.
const ALLOWED: Duration = Duration::from_secs(300);
/// Time that a denial is good: shorter, because someone who fixes a role waits for it.
const DENIED: Duration = Duration::from_secs(30);
/// Time for both questions together.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// What a scraper must have left to receive the answer.
const MARGIN: Duration = Duration::from_millis(500);
/// Reviews of unknown tokens go to the API server in the exporter's name.
const LIMITS: VerdictLimits = VerdictLimits {
    kept: 1000,
    patience: ANSWER_TIMEOUT,
    strangers: 8,
    rate: Some(Rate { interval: Duration::from_millis(100), burst: 20 }),
};

/// Asks the API server about requests and remembers what it said.
pub struct Reviewer {
    reviews: Reviews,
    digester: Digester,
    /// Tokens that belong to no one are forgotten first, so that garbage does not push out who is known.
    tokens: Verdicts<Option<User>>,
    rights: Verdicts<bool>,
}

impl Reviewer {
    /// Has asked nothing yet.
    pub fn new(reviews: Reviews, digester: Digester) -> Self {
        Reviewer { reviews, digester, tokens: Verdicts::new(LIMITS), rights: Verdicts::new(LIMITS) }
    }

    /// Lets a request pass or refuses it: 401 for an unknown user, 403 for one without the right, 503 while
    /// too many unknown tokens wait, 500 when the API server does not answer.
    pub async fn authorize(&self, request: &Parts, client: IpAddr) -> Result<(), Refusal> {
        let Some(token) = scheme(&request.headers, "bearer") else {
            return Err(unauthenticated("a bearer token is required"));
        };
        let path = asked_path(request.uri.path());
        match in_time(&request.headers, self.review(token, path, client)).await? {
            ReviewVerdict::Allowed => Ok(()),
            ReviewVerdict::Denied(name) => {
                Err(Refusal::new(StatusCode::FORBIDDEN, format!("{name} may not get {path}")))
            }
            ReviewVerdict::Unknown => Err(unauthenticated("the Kubernetes API does not accept this token")),
        }
    }

    async fn review(&self, token: &str, path: &str, client: IpAddr) -> Result<ReviewVerdict, NoVerdict> {
        let key = self.digester.digest(&[token.as_bytes()]);
        let (reviews, token) = (self.reviews.clone(), token.to_owned());
        let question = async move {
            let value = reviews.token(&token).await?;
            let kept_for = if value.is_some() { TOKEN + STALE } else { TOKEN };
            Ok(Verdict { value, good_for: TOKEN, kept_for })
        };
        let Some(user) = self.tokens.ask(key, Some(client), question).await? else {
            return Ok(ReviewVerdict::Unknown);
        };
        let allowed = self.may_get(&user, path).await?;
        Ok(if allowed { ReviewVerdict::Allowed } else { ReviewVerdict::Denied(user.username) })
    }

    async fn may_get(&self, user: &User, path: &str) -> Result<bool, NoVerdict> {
        // everything of the user counts, their groups too
        let identity = serde_json::to_vec(user).map_err(|error| NoVerdict::Failed(error.to_string()))?;
        let key = self.digester.digest(&[&identity, path.as_bytes()]);
        let (reviews, user, path) = (self.reviews.clone(), user.clone(), path.to_owned());
        let question = async move {
            let value = reviews.may_get(&user, &path).await?;
            let good_for = if value { ALLOWED } else { DENIED };
            Ok(Verdict { value, good_for, kept_for: good_for + STALE })
        };
        self.rights.ask(key, None, question).await
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
    review: impl Future<Output = Result<ReviewVerdict, NoVerdict>>,
) -> Result<ReviewVerdict, Refusal> {
    let patience = patience(headers);
    let error = match tokio::time::timeout(patience, review).await {
        Ok(Ok(verdict)) => return Ok(verdict),
        Ok(Err(NoVerdict::Busy)) => return Err(busy()),
        Ok(Err(NoVerdict::Failed(error))) => error,
        Err(_) => format!("no answer within {patience:?}"),
    };
    tracing::error!(%error, "a request is rejected because the Kubernetes API did not review its token");
    let message = "the Kubernetes API did not review the token; read the exporter's log";
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
        Some(timeout) => ANSWER_TIMEOUT.min(timeout - MARGIN.min(timeout / 2)),
        None => ANSWER_TIMEOUT,
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
