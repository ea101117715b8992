//! What each path shows.

use std::sync::Arc;

use hyper::{HeaderMap, StatusCode, header};

use super::{EXPLAIN, Route, Router};
use crate::cluster::Cluster;
use crate::generate::docs;
use crate::http::plan::{Form, PlanQuery};
use crate::http::respond::{self, Answer, Refusal, answer, compressible, text_header};
use crate::http::view::View;
use crate::http::{names, negotiate, page};
use crate::plan::{Which, table as plan_table};
use crate::report::text::table::{self, Details};
use crate::report::text::{Style, explain, timeline};
use crate::sync;

/// What a person sees, and the runbook about it.
const SYMPTOMS: &str = include_str!("../../../docs/symptoms.md");

impl Router {
    pub(super) fn render(
        &self,
        route: Route,
        (path, query): (&str, &str),
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
            Route::Explain => self.explain(path, headers),
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
        let written = table::write(&mut text, &shown, Style::DEFAULT, view.details.unwrap_or(Details::Brief));
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

    /// A check or a cause, as `explain` prints it.
    fn explain(&self, path: &str, headers: &HeaderMap) -> Result<Answer, Refusal> {
        let name = path.strip_prefix(EXPLAIN).unwrap_or_default();
        let subject = self.evaluator.catalogue().subject(name);
        let (check, cause) = subject.map_err(|message| Refusal::new(StatusCode::NOT_FOUND, message))?;
        let text = self.evaluator.rendered(explain::text(check, cause))?;
        Ok(compressible(headers, respond::TEXT, "Accept-Encoding", &text))
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
