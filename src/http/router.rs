//! From a request to its answer.
//!
//! **Whom this keeps out:** those who ask for many parts of a report at once. Such a part is a copy for one reader, so one
//! is made at a time, and never for a scrape, which gets what is there; `places` bounds how many wait.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http_body_util::Full;
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, Request, StatusCode, header};

use super::access::Access;
use super::links::Links;
use super::places::{NoPlace, Place, Places, Share};
use super::plan::{Form, PlanQuery};
use super::respond::{self, Answer, Refusal, answer, compressible, text_header};
use super::view::View;
use super::web_config::WebConfig;
use super::{names, negotiate, page};
use crate::cluster::Cluster;
use crate::did_you_mean;
use crate::exporter::Evaluator;
use crate::generate::{Declared, docs};
use crate::plan::{Which, table as plan_table};
use crate::report::text::table::{self, Details};
use crate::report::text::{Style, timeline};
use crate::source::OnDemand;
use crate::sync;

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
}

/// Who sent a request, in its extensions.
#[derive(Debug, Clone, Copy)]
pub struct Client(pub IpAddr);

/// Where the runbooks are: those of this very release, also without access to the internet.
const RUNBOOKS: &str = "/runbooks/";
/// What concerns the claims of a namespace.
const NAMESPACE: &str = "/namespace/";
/// What a person sees, and the runbook about it.
const SYMPTOMS: &str = include_str!("../../docs/symptoms.md");

/// What a path stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Route {
    Live,
    Ready,
    Metrics,
    Report,
    Text,
    /// What happened: a page, or text.
    Timeline(bool),
    Plan(Which),
    /// By the name of its alert.
    Runbook(&'static str),
    /// The index of them.
    Runbooks,
    Landing,
}

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
        Router { declared, evaluator, access, links, answers, making: Arc::default(), on_demand: None }
    }

    /// The same for a live cluster, which is asked for more where a plan needs it.
    pub fn asking(mut self, on_demand: Option<OnDemand>) -> Self {
        self.on_demand = on_demand.map(Arc::new);
        self
    }

    /// The answer; never fails. Bodies of requests are not read.
    pub async fn answer<B>(&self, request: Request<B>) -> Answer {
        let (parts, _body) = request.into_parts();
        let config = self.access.config().await;
        let mut answer = self.try_answer(&config, &parts).await.unwrap_or_else(Refusal::answer);
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

    async fn try_answer(&self, config: &WebConfig, request: &Parts) -> Result<Answer, Refusal> {
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
            | Route::Landing => {}
        }
        // credentials first: a client without them takes nothing from those who have them
        let client =
            request.extensions.get().map_or(Ipv4Addr::UNSPECIFIED.into(), |Client(address)| *address);
        self.access.authorize(config, request, client).await?;
        let _place = self.place(route, config)?;
        let (router, headers) = (self.clone(), request.headers.clone());
        let query = request.uri.query().unwrap_or_default().to_owned();
        let beside = match &self.on_demand {
            Some(on_demand) if route == Route::Plan(Which::Upgrade) => Some(on_demand.look().await),
            _ => None,
        };
        // evaluating and writing may take long on large clusters
        let work =
            tokio::task::spawn_blocking(move || router.render(route, &query, &headers, beside.as_deref()));
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
        match path {
            "/livez" | "/healthz" | "/-/healthy" => Ok(Route::Live),
            "/readyz" | "/-/ready" => Ok(Route::Ready),
            path if path == self.links.metrics => Ok(Route::Metrics),
            "/api/v1/report" => Ok(Route::Report),
            "/report.txt" => Ok(Route::Text),
            "/timeline" => Ok(Route::Timeline(true)),
            "/timeline.txt" => Ok(Route::Timeline(false)),
            "/plan/upgrade" => Ok(Route::Plan(Which::Upgrade)),
            "/plan/drain" => Ok(Route::Plan(Which::Drain)),
            "/plan/loss" => Ok(Route::Plan(Which::Loss)),
            "/" => Ok(Route::Landing),
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
            path if path == RUNBOOKS => Ok(Route::Runbooks),
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

    fn render(
        &self,
        route: Route,
        query: &str,
        headers: &HeaderMap,
        beside: Option<&Cluster>,
    ) -> Result<Answer, Refusal> {
        match route {
            Route::Metrics => self.metrics(headers),
            Route::Report => self.report(&self.view(query)?, headers),
            Route::Text => self.text(&self.view(query)?, headers),
            Route::Timeline(is_page) => self.timeline(is_page, headers),
            Route::Plan(which) => self.plan(which, query, headers, beside),
            Route::Landing => self.landing(&self.view(query)?, headers),
            Route::Runbook(name) => self.document(
                name,
                names::filled(&docs::runbook(name, self.declared).unwrap_or_default(), query),
                headers,
            ),
            Route::Runbooks => self.document("Runbooks by symptom", SYMPTOMS.to_owned(), headers),
            Route::Live | Route::Ready => Ok(answer(StatusCode::OK, respond::TEXT, "ok\n")),
        }
    }

    /// What is asked for. A name that does not exist is refused, since nothing is wrong with it.
    fn view(&self, query: &str) -> Result<View, Refusal> {
        let view = View::parse(self.evaluator.catalogue(), query).and_then(|view| {
            match self.evaluator.unknown_name(&view.selection) {
                Some(message) => Err(message),
                None => Ok(view),
            }
        });
        view.map_err(|message| Refusal::new(StatusCode::BAD_REQUEST, message))
    }

    fn metrics(&self, headers: &HeaderMap) -> Result<Answer, Refusal> {
        let accept = text_header(headers, header::ACCEPT);
        let (format, content_type) = negotiate::metrics_format(accept.as_deref());
        let page = self.evaluator.page(format, self.access.reload())?;
        Ok(compressible(headers, &content_type, "Accept, Accept-Encoding", &page))
    }

    fn report(&self, view: &View, headers: &HeaderMap) -> Result<Answer, Refusal> {
        let json = if view.selection.is_everything() {
            self.evaluator.json()?
        } else {
            let _turn = sync::lock(&self.making);
            let (_, shown) = view.of(&self.evaluator.moment().evaluation.report);
            Arc::new(self.evaluator.json_of(&shown)?)
        };
        Ok(compressible(headers, respond::JSON, "Accept-Encoding", &json))
    }

    /// The table of `check`: with `kubectl get --raw …/proxy/report.txt` an operator needs no more.
    fn text(&self, view: &View, headers: &HeaderMap) -> Result<Answer, Refusal> {
        let (moment, mut text) = (self.evaluator.moment(), Vec::new());
        if !moment.seen.waiting_for.is_empty() {
            return Err(not_synced());
        }
        let _turn = sync::lock(&self.making);
        let (_, shown) = view.of(&moment.evaluation.report);
        let written = table::write(&mut text, &shown, Style::DEFAULT, Details::Brief);
        let text = written.ok().and_then(|()| String::from_utf8(text).ok());
        match text {
            Some(text) => {
                let text = self.evaluator.rendered(text)?;
                Ok(refreshing(compressible(headers, respond::TEXT, "Accept-Encoding", &text), view))
            }
            None => Err(Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "the report could not be written")),
        }
    }

    /// What happened: a page for people, lines for `kubectl get --raw`.
    fn timeline(&self, is_page: bool, headers: &HeaderMap) -> Result<Answer, Refusal> {
        let moment = self.evaluator.moment();
        if !moment.seen.waiting_for.is_empty() {
            return Err(not_synced());
        }
        let (report, since) = (&moment.evaluation.report, self.evaluator.since());
        if is_page {
            let html = self.evaluator.rendered(page::timeline(report, since))?;
            return Ok(with_page_headers(compressible(headers, respond::HTML, "Accept-Encoding", &html)));
        }
        let mut text = Vec::new();
        let written = timeline::write(&mut text, report, since, Style::DEFAULT);
        match written.ok().and_then(|()| String::from_utf8(text).ok()) {
            Some(text) => {
                let text = self.evaluator.rendered(text.trim_start().to_owned())?;
                Ok(compressible(headers, respond::TEXT, "Accept-Encoding", &text))
            }
            None => Err(Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "the timeline could not be written")),
        }
    }

    fn plan(
        &self,
        which: Which,
        query: &str,
        headers: &HeaderMap,
        beside: Option<&Cluster>,
    ) -> Result<Answer, Refusal> {
        if !self.evaluator.waiting_for().is_empty() {
            return Err(not_synced());
        }
        let _turn = sync::lock(&self.making);
        let wrong = |message: String| Refusal::new(StatusCode::BAD_REQUEST, message);
        let asked = PlanQuery::parse(query).map_err(wrong)?;
        let plan = self.evaluator.plan(beside, |looked| asked.plan(which, looked)).map_err(wrong)?;
        let accept = text_header(headers, header::ACCEPT);
        if asked.form.is_none() && negotiate::wants_html(accept.as_deref()) {
            let html = self.evaluator.rendered(page::plan(&plan))?;
            return Ok(with_page_headers(compressible(
                headers,
                respond::HTML,
                "Accept, Accept-Encoding",
                &html,
            )));
        }
        let mut text = Vec::new();
        let (kind, written) = match asked.form {
            Some(Form::Json) => (respond::JSON, serde_json::to_writer_pretty(&mut text, &plan).is_ok()),
            _ => (respond::TEXT, plan_table::write(&mut text, &plan, Style::DEFAULT, false).is_ok()),
        };
        let vary = "Accept, Accept-Encoding";
        match String::from_utf8(text).ok().filter(|_| written) {
            Some(text) => Ok(compressible(headers, kind, vary, &self.evaluator.rendered(text)?)),
            None => Err(Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "the plan could not be written")),
        }
    }

    /// A page for browsers, text for everyone else.
    fn document(&self, title: &str, markdown: String, headers: &HeaderMap) -> Result<Answer, Refusal> {
        let accept = text_header(headers, header::ACCEPT);
        if !negotiate::wants_html(accept.as_deref()) {
            let text = self.evaluator.rendered(docs::without_head(markdown))?;
            return Ok(compressible(headers, respond::TEXT, "Accept, Accept-Encoding", &text));
        }
        let html = self.evaluator.rendered(page::document(title, &markdown))?;
        Ok(with_page_headers(compressible(headers, respond::HTML, "Accept, Accept-Encoding", &html)))
    }

    fn landing(&self, view: &View, headers: &HeaderMap) -> Result<Answer, Refusal> {
        let _turn = sync::lock(&self.making);
        let html = page::landing(&self.evaluator.moment(), view, &self.links, self.evaluator.wall());
        let html = self.evaluator.rendered(html)?;
        let answer = compressible(headers, respond::HTML, "Accept-Encoding", &html);
        Ok(with_page_headers(refreshing(answer, view)))
    }
}

fn not_synced() -> Refusal {
    let message = "not synced yet: every check is unknown until each kind is listed or denied";
    Refusal::new(StatusCode::SERVICE_UNAVAILABLE, message).with(header::RETRY_AFTER, "1")
}

fn with_page_headers(mut answer: Answer) -> Answer {
    for (name, value) in page::HEADERS {
        answer.headers_mut().insert(name, header::HeaderValue::from_static(value));
    }
    answer
}

/// Browsers ask for the same again after these seconds; it takes no script.
fn refreshing(mut answer: Answer, view: &View) -> Answer {
    if let Some(seconds) = view.refresh {
        answer.headers_mut().insert(header::REFRESH, seconds.into());
    }
    answer
}

#[cfg(test)]
pub mod tests {
    use http_body_util::BodyExt;

    use super::*;
    use crate::source::demo::Demo;
    use crate::testing::time;

    /// A router on the demo cluster at a fixed time.
    pub fn demo_router() -> Router {
        let now = || time("2026-01-01T12:00:00Z");
        let source = Demo::new(now()).unwrap();
        let evaluator = Arc::new(Evaluator::new(&crate::checks::CATALOGUE, Arc::new(source), now, true));
        Router::new(&crate::cli::DECLARED, evaluator, Access::open(), Links::own("/metrics"), 2)
    }

    async fn get(router: &Router, method: &str, path: &str, headers: &[(&'static str, &str)]) -> Answer {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        router.answer(request.body(()).unwrap()).await
    }

    async fn body(answer: Answer) -> Bytes {
        answer.into_body().collect().await.unwrap().to_bytes()
    }

    #[tokio::test]
    async fn every_path_has_its_status_and_type() {
        let router = demo_router();
        for (path, status, content_type) in [
            ("/", 200, respond::HTML),
            ("/metrics", 200, "text/plain; version=0.0.4; charset=utf-8"),
            ("/metrics?query=is-ignored", 200, "text/plain; version=0.0.4; charset=utf-8"),
            ("/api/v1/report", 200, respond::JSON),
            ("/report.txt", 200, respond::TEXT),
            ("/timeline", 200, respond::HTML),
            ("/timeline.txt", 200, respond::TEXT),
            ("/livez", 200, respond::TEXT),
            ("/healthz", 200, respond::TEXT),
            ("/-/healthy", 200, respond::TEXT),
            ("/readyz", 200, respond::TEXT),
            ("/-/ready", 200, respond::TEXT),
            ("/metrics/", 404, respond::TEXT),
            ("/runbooks/LonghornWebhookDeadlock", 200, respond::TEXT),
            ("/runbooks/LonghornNothing", 404, respond::TEXT),
            ("/runbooks/", 200, respond::TEXT),
            ("/runbooks", 301, respond::TEXT),
            ("/plan/upgrade", 200, respond::TEXT),
            ("/plan/drain?node=worker-1&o=json", 200, respond::JSON),
            ("/runbooks//runbooks/LonghornWebhookDeadlock", 404, respond::TEXT),
            ("/nothing", 404, respond::TEXT),
            ("/?node=worker-1&severity=critical&refresh=30", 200, respond::HTML),
            ("/report.txt?node=worker-1", 200, respond::TEXT),
            ("/api/v1/report?check=manager_probes", 200, respond::JSON),
            ("/?node=worker-99", 400, respond::TEXT),
            ("/?refresh=1", 400, respond::TEXT),
            ("/report.txt?severity=bad", 400, respond::TEXT),
            ("/api/v1/report?nod=worker-1", 400, respond::TEXT),
        ] {
            let answer = get(&router, "GET", path, &[]).await;
            assert_eq!(answer.status().as_u16(), status, "{path}");
            assert_eq!(answer.headers()[header::CONTENT_TYPE], content_type, "{path}");
        }
    }

    #[tokio::test]
    async fn head_has_the_headers_of_get_and_no_body() {
        let router = demo_router();
        for path in ["/livez", "/api/v1/report", "/nothing"] {
            let (head, get) = (get(&router, "HEAD", path, &[]).await, get(&router, "GET", path, &[]).await);
            assert_eq!(head.status(), get.status());
            let length = head.headers()[header::CONTENT_LENGTH].to_str().unwrap().to_owned();
            assert_eq!(body(get).await.len().to_string(), length, "{path}");
            assert!(body(head).await.is_empty());
        }
    }

    #[tokio::test]
    async fn other_methods_are_refused_with_those_that_are_not() {
        for method in ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"] {
            for path in ["/", "/metrics", "/livez"] {
                let answer = get(&demo_router(), method, path, &[]).await;
                assert_eq!(answer.status(), StatusCode::METHOD_NOT_ALLOWED);
                assert_eq!(answer.headers()[header::ALLOW], "GET, HEAD");
            }
        }
    }

    #[tokio::test]
    async fn formats_and_compression_follow_the_request() {
        let router = demo_router();
        let open = get(&router, "GET", "/metrics", &[("accept", "application/openmetrics-text")]).await;
        assert_eq!(open.headers()[header::VARY], "Accept, Accept-Encoding");
        assert!(body(open).await.ends_with(b"# EOF\n"));
        let zipped = get(&router, "GET", "/metrics", &[("accept-encoding", "gzip")]).await;
        assert_eq!(zipped.headers()[header::CONTENT_ENCODING], "gzip");
        let mut text = String::new();
        let zipped = body(zipped).await;
        std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(&zipped[..]), &mut text).unwrap();
        assert!(text.contains("\nlonghorn_health_checks{"), "{text}");
        let plain = get(&router, "GET", "/metrics", &[]).await;
        assert!(plain.headers().get(header::CONTENT_ENCODING).is_none());
    }

    #[tokio::test]
    async fn over_the_limit_is_503_at_once_while_health_still_answers() {
        let router = demo_router();
        let answers = router.answers.clone();
        let taken = [(); 2].map(|()| answers.take(true, Share::All, None));
        let answer = get(&router, "GET", "/metrics", &[]).await;
        assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(&body(answer).await[..], b"too many requests are already running, try again later\n");
        assert_eq!(get(&router, "GET", "/livez", &[]).await.status(), StatusCode::OK);
        drop(taken);
        assert_eq!(get(&router, "GET", "/metrics", &[]).await.status(), StatusCode::OK);
    }

    #[tokio::test]
    async fn the_text_is_the_table_of_check() {
        let answer = get(&demo_router(), "GET", "/report.txt", &[]).await;
        let text = String::from_utf8(body(answer).await.to_vec()).unwrap();
        assert!(text.starts_with("CRITICAL  "), "{text}");
        assert!(text.lines().nth(1).unwrap().starts_with("Data      1 volume faulted: monitoring/metrics-0"));
    }

    #[tokio::test]
    async fn the_timeline_is_a_page_and_lines_newest_first() {
        let router = demo_router();
        let read = async |path: &str| {
            String::from_utf8(body(get(&router, "GET", path, &[]).await).await.to_vec()).unwrap()
        };
        let (page, text) = (read("/timeline").await, read("/timeline.txt").await);
        assert!(text.starts_with("What changed in the last 24 h\n2026-01-01 1"), "{text}");
        let times: Vec<&str> =
            text.lines().filter(|line| line.starts_with("202")).map(|line| &line[..20]).collect();
        assert!(times.len() > 5 && times.is_sorted_by(|newer, older| newer >= older), "{times:?}");
        for said in ["node worker-2, cordoned: now yes", "ended with exit code 137 (OOMKilled)"] {
            assert!(page.contains(said), "{said}: {page}");
        }
    }

    #[tokio::test]
    async fn a_part_is_answered_and_looked_at_again_only_where_asked_for() {
        let router = demo_router();
        let whole = get(&router, "GET", "/", &[]).await;
        assert!(whole.headers().get(header::REFRESH).is_none());
        for path in ["/?node=worker-5&refresh=30", "/report.txt?node=worker-5&refresh=30"] {
            let answer = get(&router, "GET", path, &[]).await;
            assert_eq!(answer.headers()[header::REFRESH], "30", "{path}");
            let text = String::from_utf8(body(answer).await.to_vec()).unwrap();
            assert!(text.contains("open-iscsi") && !text.contains("worker-4"), "{text}");
            assert!(text.contains("node worker-5"), "{text}");
        }
        let answer = get(&router, "GET", "/api/v1/report?node=worker-5", &[]).await;
        let report: serde_json::Value = serde_json::from_slice(&body(answer).await).unwrap();
        assert_eq!(report["selected"]["by"], "node worker-5");
        let refused = body(get(&router, "GET", "/?node=worker-55", &[]).await).await;
        assert_eq!(&refused[..], b"no node 'worker-55'; did you mean worker-5?\n");
        let owner = get(&router, "GET", "/namespace/monitoring", &[]).await;
        assert_eq!(
            (owner.status(), &owner.headers()[header::LOCATION]),
            (StatusCode::FOUND, &"../?namespace=monitoring".parse().unwrap())
        );
        let text = body(get(&router, "GET", "/report.txt?namespace=monitoring", &[]).await).await;
        let text = String::from_utf8(text.to_vec()).unwrap();
        assert!(text.contains("monitoring/metrics-0") && !text.contains("worker-5"), "{text}");
        let refused = body(get(&router, "GET", "/runbooks/LonghornWebhookDeadlok", &[]).await).await;
        assert_eq!(&refused[..], b"no such runbook; did you mean LonghornWebhookDeadlock?\n");
    }

    #[tokio::test]
    async fn the_report_is_that_of_check() {
        let answer = get(&demo_router(), "GET", "/api/v1/report", &[]).await;
        let report: serde_json::Value = serde_json::from_slice(&body(answer).await).unwrap();
        assert_eq!(report["schema"], "v1");
        assert_eq!(report["cluster"]["now"], "2026-01-01T12:00:00Z");
    }
}
