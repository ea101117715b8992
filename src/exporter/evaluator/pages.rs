//! Pages of a moment: metrics in each format, and the report. Each is written once for all who ask.

use std::sync::Arc;

use jiff::SignedDuration;

use super::{AskedPage, Evaluator, MAX_AGE};
use crate::exporter::moment::{Moment, WrittenPage, of, of_mut};
use crate::exporter::pace::seconds_between;
use crate::exporter::{RenderError, Rendered, SelfMetrics, WebConfigReload, families};
use crate::metrics::{self, Format};
use crate::report::Report;
use crate::sync::lock;

impl Evaluator {
    /// The page of metrics. A caller that comes while another has it written waits for it. Not for async
    /// threads either.
    pub fn page(
        &self,
        format: Format,
        web_config: Option<WebConfigReload>,
    ) -> Result<Arc<Rendered>, RenderError> {
        let asked = AskedPage { last: (self.clock)(), web_config };
        *of_mut(&mut lock(&self.asked_for), format) = Some(asked);
        self.write(&self.moment(), format, web_config, None)
    }

    /// The page of a moment. `ahead` of those who ask for it, what the process uses is written again; it says whether
    /// the page before was asked for compressed.
    pub(super) fn write(
        &self,
        moment: &Moment,
        format: Format,
        web_config: Option<WebConfigReload>,
        ahead: Option<bool>,
    ) -> Result<Arc<Rendered>, RenderError> {
        let mut written = lock(of(&moment.pages, format));
        let begin = (self.clock)();
        // what the process uses grows older even where the moment stands still, as in a recording
        let still_good = |is: &&WrittenPage| {
            let age = begin.duration_since(is.written);
            let same_second = is.written.as_second() == begin.as_second();
            let handed_out = self.beside && ahead.is_none() && (SignedDuration::ZERO..MAX_AGE).contains(&age);
            is.web_config == web_config && (same_second || handed_out)
        };
        if let Some(same) = written.as_ref().filter(still_good) {
            return Ok(same.page.clone());
        }
        let render_seconds = *lock(&self.render_seconds);
        let own =
            self.self_metrics.then_some(SelfMetrics { render_seconds, requests: self.requests.counts() });
        let families = families(moment, &self.source.totals(), web_config, own);
        *written = None; // no longer useful, and in the way of the new one where the budget is short
        let page = Arc::new(Rendered::new(metrics::encode(families, format)?, &self.for_scrapes)?);
        if ahead == Some(true) {
            page.gzip();
        }
        *lock(&self.render_seconds) = Some(seconds_between(begin, (self.clock)()));
        *written = Some(WrittenPage { written: begin, web_config, page: page.clone() });
        Ok(page)
    }

    /// The whole report as JSON, written once for all who ask at the same moment. Not for async threads.
    pub fn json(&self) -> Result<Arc<Rendered>, RenderError> {
        let moment = self.moment();
        let mut written = lock(&moment.json);
        if let Some(same) = written.as_ref() {
            return Ok(same.clone());
        }
        let json = Arc::new(self.json_of(&moment.evaluation.report)?);
        *written = Some(json.clone());
        Ok(json)
    }

    /// A part of the report as JSON.
    pub fn json_of(&self, report: &Report) -> Result<Rendered, RenderError> {
        self.rendered(serde_json::to_string_pretty(report)? + "\n")
    }

    /// An answer to a single request.
    pub fn rendered(&self, text: String) -> Result<Rendered, RenderError> {
        Rendered::new(text, &self.for_readers)
    }
}
