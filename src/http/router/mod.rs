//! From a request to its answer.
//!
//! **Whom this keeps out:** those who ask for many parts of a report at once. Such a part is a copy for one reader, so one
//! is made at a time, and never for a scrape, which gets what is there; `places` bounds how many wait.

#[cfg(feature = "mcp")]
pub mod mcp;
mod paths;
mod render;
#[cfg(test)]
pub mod tests;

use std::fmt::Display;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Body;
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, Request, StatusCode, Uri, header};

use super::access::Access;
use super::links::Links;
use super::names;
use super::places::{NoPlace, Place, Places, Share};
use super::respond::{self, Answer, Refusal, answer};
use super::web_config::WebConfig;
use crate::did_you_mean;
use crate::exporter::Evaluator;
use crate::generate::Declared;
use crate::plan::Which;
use crate::source::OnDemand;
use paths::{EXPLAIN, NAMESPACE, RUNBOOKS, Route};

pub use paths::is_taken;

/// Answers requests; cheap to clone.
#[derive(Clone)]
pub struct Router {
    declared: &'static Declared,
    evaluator: Arc<Evaluator>,
    access: Access,
    links: Arc<Links>,
    /// Requests that are answered at once: scrapes, and apart from them pages and reports.
    answers: Arc<Places<bool>>,
    /// Held while an answer for a single reader is made: the parts of reports that are copied for it would
    /// otherwise exist as many times as there are readers.
    making: Arc<Mutex<()>>,
    on_demand: Option<Arc<OnDemand>>,
    #[cfg(feature = "mcp")]
    tools: Option<Arc<mcp::Service>>,
}

/// Who sent a request, in its extensions.
#[derive(Debug, Clone, Copy)]
pub struct Client(pub IpAddr);

impl Router {
    /// A router. `max_requests` of zero means no limit.
    pub fn new(
        declared: &'static Declared,
        evaluator: Arc<Evaluator>,
        access: Access,
        links: Links,
        max_requests: usize,
    ) -> Self {
        let (answers, links) = (Arc::new(Places::new(max_requests)), Arc::new(links));
        Router {
            declared,
            evaluator,
            access,
            links,
            answers,
            making: Arc::default(),
            on_demand: None,
            #[cfg(feature = "mcp")]
            tools: None,
        }
    }

    /// The same for a live cluster, which is asked for more where a plan needs it.
    pub fn asking(mut self, on_demand: Option<OnDemand>) -> Self {
        self.on_demand = on_demand.map(Arc::new);
        self
    }

    /// The answer; never fails. Bodies of requests are not read, except for those to the tools.
    pub async fn answer<B>(&self, request: Request<B>) -> Answer
    where
        B: Body + Send + 'static,
        B::Error: Display,
    {
        let (parts, body) = request.into_parts();
        let config = self.access.config().await;
        let answer = self.try_answer(&config, &parts, body).await;
        let mut answer = answer.unwrap_or_else(Refusal::answer);
        for (name, value) in &config.headers {
            answer.headers_mut().insert(name, value.clone());
        }
        if parts.method == Method::HEAD {
            let length = hyper::body::Body::size_hint(answer.body()).exact().unwrap_or_default();
            answer.headers_mut().insert(header::CONTENT_LENGTH, length.into());
            *answer.body_mut() = Full::new(Bytes::new());
        }
        self.evaluator.requests.count(answer.status().as_u16());
        tracing::debug!(method = %parts.method, path = parts.uri.path(), status = answer.status().as_u16(), "request");
        answer
    }

    #[cfg_attr(not(feature = "mcp"), allow(unused_variables))]
    async fn try_answer<B>(&self, config: &WebConfig, request: &Parts, body: B) -> Result<Answer, Refusal>
    where
        B: Body + Send + 'static,
        B::Error: Display,
    {
        #[cfg(feature = "mcp")]
        if let Some(tools) = self.tools.as_ref().filter(|_| request.uri.path() == paths::MCP) {
            self.authorize(config, request).await?;
            return mcp::answer(tools, Request::from_parts(request.clone(), body)).await;
        }
        let route = self.route(request.uri.path())?;
        if !matches!(request.method, Method::GET | Method::HEAD) {
            let refusal = Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD are allowed here");
            return Err(refusal.with(header::ALLOW, "GET, HEAD"));
        }
        match route {
            Route::Live => return Ok(answer(StatusCode::OK, respond::TEXT, "ok\n")),
            Route::Ready => return Ok(self.ready()),
            Route::Metrics
            | Route::Report
            | Route::Text
            | Route::Timeline(_)
            | Route::Plan(_)
            | Route::Runbook(_)
            | Route::Runbooks
            | Route::Explain
            | Route::Landing => {}
        }
        // credentials first: a client without them takes nothing from those who have them
        self.authorize(config, request).await?;
        self.make(config, route, request.uri.clone(), request.headers.clone()).await
    }

    async fn authorize(&self, config: &WebConfig, request: &Parts) -> Result<(), Refusal> {
        let client =
            request.extensions.get().map_or(Ipv4Addr::UNSPECIFIED.into(), |Client(address)| *address);
        self.access.authorize(config, request, client).await
    }

    /// The answer for someone who may read it.
    async fn make(
        &self,
        config: &WebConfig,
        route: Route,
        uri: Uri,
        headers: HeaderMap,
    ) -> Result<Answer, Refusal> {
        let _place = self.place(route, config)?;
        let router = self.clone();
        let beside = match &self.on_demand {
            Some(on_demand) if route == Route::Plan(Which::Upgrade) => Some(on_demand.look().await),
            _ => None,
        };
        // evaluating and writing may take long on large clusters
        let work = tokio::task::spawn_blocking(move || {
            let asked = (uri.path(), uri.query().unwrap_or_default());
            router.render(route, asked, &headers, beside.as_deref())
        });
        work.await.unwrap_or_else(|error| {
            tracing::error!(%error, "an answer could not be created");
            Err(Refusal::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "the answer could not be created; read the log",
            ))
        })
    }

    /// A place for an answer; those who read pages and reports leave half of them to scrapes.
    fn place(&self, route: Route, config: &WebConfig) -> Result<Place<bool>, Refusal> {
        let is_scrape = route == Route::Metrics;
        let share = if is_scrape { Share::All } else { Share::Half };
        self.answers.take(is_scrape, share, config.rate).map_err(|full| {
            let (status, many) = match full {
                NoPlace::Places => (StatusCode::SERVICE_UNAVAILABLE, "too many requests are already running"),
                NoPlace::Rate => (StatusCode::TOO_MANY_REQUESTS, "too many requests"),
            };
            Refusal::new(status, format!("{many}, try again later")).with(header::RETRY_AFTER, "1")
        })
    }

    fn route(&self, path: &str) -> Result<Route, Refusal> {
        if path == self.links.metrics {
            return Ok(Route::Metrics);
        }
        if let Some(route) = paths::fixed(path) {
            return Ok(route);
        }
        match path {
            // links on the page are relative, and lead nowhere without the slash
            path if format!("{path}/") == RUNBOOKS => {
                let refusal = Refusal::new(StatusCode::MOVED_PERMANENTLY, "runbooks are at runbooks/");
                Err(refusal.with(header::LOCATION, "runbooks/"))
            }
            // a short address for the owners of claims
            path if path.starts_with(NAMESPACE) && names::is_name(path) => {
                let name = path.strip_prefix(NAMESPACE).unwrap_or_default();
                let refusal = Refusal::new(StatusCode::FOUND, "this is the page of a namespace");
                Err(refusal.with(header::LOCATION, format!("../?namespace={name}")))
            }
            path if path.starts_with(EXPLAIN) => Ok(Route::Explain),
            path if path.starts_with(RUNBOOKS) => {
                let name = path.strip_prefix(RUNBOOKS).unwrap_or_default();
                let known: Vec<&str> = self.declared.alerts().map(|alert| alert.name).collect();
                known.iter().find(|known| **known == name).map(|name| Route::Runbook(name)).ok_or_else(|| {
                    let message = format!("no such runbook; {}", did_you_mean::hint(name, &known));
                    Refusal::new(StatusCode::NOT_FOUND, message)
                })
            }
            _ => Err(Refusal::new(StatusCode::NOT_FOUND, "no such path; / lists the existing ones")),
        }
    }

    /// The kinds are named without any detail, because health endpoints are open to everybody.
    fn ready(&self) -> Answer {
        let waiting = self.evaluator.waiting_for();
        if waiting.is_empty() {
            return answer(StatusCode::OK, respond::TEXT, "ok\n");
        }
        let lines: String = waiting.iter().map(|resource| format!("waiting for {resource}\n")).collect();
        let mut answer = answer(StatusCode::SERVICE_UNAVAILABLE, respond::TEXT, lines);
        answer.headers_mut().insert(header::RETRY_AFTER, header::HeaderValue::from_static("1"));
        answer
    }
}
