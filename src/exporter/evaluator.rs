//! One evaluation shared by all who ask: scrapes, the page, the report.
//!
//! In `serve` it is made beside them, by [`Evaluator::refresh`], and who asks gets what is there: on a large cluster
//! an evaluation takes a hundred times as long as handing out a page.

mod incidents;
mod pages;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex};

use jiff::{SignedDuration, Timestamp};

use super::moment::{EvaluationKey, Moment, Seen, is_zipped, of_mut};
use super::pace::{Pace, TICK, seconds_between};
use super::{Budget, Requests, SignatureFiles, WebConfigReload};
use crate::check::Catalogue;
use crate::cluster::Cluster;
use crate::longhorn::Resource;
use crate::metrics::Format;
use crate::plan::{Looked, Plan};
use crate::report::{Memory, ReportOptions, Selection, evaluate_again, timeline};
use crate::source::{Source, on_demand};
use crate::sync::lock;

/// How long the first lists may take before verdicts are published without the kinds that are missing. The
/// checks that need these are unknown then; the others must not stay silent for one kind.
const SYNC_GRACE: SignedDuration = SignedDuration::from_secs(60);

/// What pages of metrics may hold together, and apart from them reports and pages for people, so that
/// readers of these take nothing from a scrape. The largest report, 2,000 findings, is a few MiB.
const BUDGET: u32 = 32 * 1024 * 1024;

/// What is older is not handed out, but made again by who asks: what should make it beside does not come to it.
const MAX_AGE: SignedDuration = SignedDuration::from_secs(60);
/// A format that no one asks for any more is not written ahead.
const ASKED_FOR: SignedDuration = SignedDuration::from_mins(10);

/// A format that is asked for.
#[derive(Debug, Clone, Copy)]
struct AskedPage {
    last: Timestamp,
    web_config: Option<WebConfigReload>,
}

/// Evaluates the source on demand, never twice for the same generation and second.
pub struct Evaluator {
    catalogue: &'static Catalogue,
    source: Arc<dyn Source>,
    clock: fn() -> Timestamp,
    began: Timestamp,
    self_metrics: bool,
    /// Evaluations are made beside those who ask.
    beside: bool,
    options: ReportOptions,
    signatures: Mutex<SignatureFiles>,
    last: Mutex<Option<Arc<Moment>>>,
    /// What the checks said; held while an evaluation is made.
    evaluating: Mutex<Memory>,
    /// When it was looked last, and until when the evaluations that were made are paid for.
    pace: Mutex<Option<Pace>>,
    /// The formats of pages that are asked for, and when they were last.
    asked_for: Mutex<[Option<AskedPage>; 2]>,
    render_seconds: Mutex<Option<f64>>,
    /// Counted by who answers.
    pub requests: Requests,
    for_scrapes: Budget,
    for_readers: Budget,
}

impl Evaluator {
    /// An evaluator of this source by these checks and this clock. With `self_metrics` the page says what the
    /// process uses.
    pub fn new(
        catalogue: &'static Catalogue,
        source: Arc<dyn Source>,
        clock: fn() -> Timestamp,
        self_metrics: bool,
    ) -> Self {
        let (last, render_seconds) = (Mutex::new(None), Mutex::new(None));
        let (evaluating, pace, asked_for) = (Mutex::default(), Mutex::default(), Mutex::default());
        let (began, options) = (clock(), ReportOptions { bounded: true, ..ReportOptions::default() });
        let (for_scrapes, for_readers) = (Budget::new(BUDGET), Budget::new(BUDGET));
        let beside = false;
        Evaluator {
            catalogue,
            source,
            clock,
            began,
            self_metrics,
            beside,
            options,
            signatures: Mutex::default(),
            last,
            evaluating,
            pace,
            asked_for,
            render_seconds,
            requests: Requests::default(),
            for_scrapes,
            for_readers,
        }
    }

    /// The same, but somebody calls [`Evaluator::refresh`] whenever it is due, so that no one who asks has to wait.
    /// Not even the first scrape, which will be one of Prometheus.
    pub fn beside(self) -> Self {
        *of_mut(&mut lock(&self.asked_for), Format::OpenMetrics) =
            Some(AskedPage { last: self.began, web_config: None });
        Evaluator { beside: true, ..self }
    }

    /// The same with other bounds, in bytes, on what scrapes and what other answers hold together.
    pub fn with_budgets(self, scrapes: u32, others: u32) -> Self {
        Evaluator { for_scrapes: Budget::new(scrapes), for_readers: Budget::new(others), ..self }
    }

    /// The same with a report as it is wanted.
    pub fn with_options(self, options: ReportOptions) -> Self {
        Evaluator { options: ReportOptions { bounded: true, ..options }, ..self }
    }

    /// The same with signatures of users.
    pub fn with_signatures(self, signatures: SignatureFiles) -> Self {
        Evaluator { signatures: Mutex::new(signatures), ..self }
    }

    /// The present moment. A caller that comes while another evaluates waits for that result, unless there is one
    /// that is good enough. May take long: not for async threads.
    pub fn moment(&self) -> Arc<Moment> {
        if let Some(moment) = self.last().filter(|moment| self.is_handed_out(moment)) {
            return moment;
        }
        self.evaluated()
    }

    /// Whether there is something to evaluate. Cheap, and asked for all the time.
    pub fn is_due(&self) -> bool {
        let (Some(last), Some(pace)) = (self.last(), *lock(&self.pace)) else { return true };
        let now = (self.clock)();
        if pace.is_over(now) {
            return true;
        }
        let waiting_for = self.waiting_for();
        if last.seen.waiting_for.is_empty() != waiting_for.is_empty() {
            return true;
        }
        let changed = last.key.generation != self.source.generation() || last.seen.waiting_for != waiting_for;
        changed && pace.allows_another(now)
    }

    /// Evaluates, and writes the pages that are asked for. Not for async threads.
    pub fn refresh(&self) {
        let before = self.last();
        let zipped = |format| before.as_ref().is_none_or(|moment| is_zipped(moment, format));
        let zipped = Format::ALL.map(zipped);
        let begin = (self.clock)();
        let moment = self.evaluated();
        let now = (self.clock)();
        let asked_for = *lock(&self.asked_for);
        for ((format, asked), zipped) in Format::ALL.into_iter().zip(asked_for).zip(zipped) {
            let asked = asked.filter(|asked| now.duration_since(asked.last) < ASKED_FOR);
            let Some(AskedPage { web_config, .. }) = asked else { continue };
            // those who ask get the error of what cannot be written
            let _ = self.write(&moment, format, web_config, Some(zipped));
        }
        let spent = seconds_between(begin, (self.clock)());
        self.pay(spent, moment.evaluation.whole, now);
        let old = lock(&self.last).replace(moment);
        drop(old); // thousands of findings and samples, freed while no scrape waits for the lock
    }

    /// Notes what an evaluation cost with its pages, and whether all checks ran in it.
    fn pay(&self, seconds: f64, all_ran: bool, now: Timestamp) {
        let mut pace = lock(&self.pace);
        *pace = Some(Pace::after(*pace, seconds, all_ran, now));
    }

    fn last(&self) -> Option<Arc<Moment>> {
        lock(&self.last).clone()
    }

    /// Whether a moment is handed out as it is: one that is made beside, as long as that works.
    fn is_handed_out(&self, moment: &Moment) -> bool {
        // a clock that was set back proves nothing
        let age = (self.clock)().duration_since(moment.evaluated);
        // while kinds are read there is no verdict that could be late
        let same_stage = moment.seen.waiting_for.is_empty() == self.waiting_for().is_empty();
        self.beside && (SignedDuration::ZERO..MAX_AGE).contains(&age) && same_stage
    }

    /// The moment of now, evaluated unless another has done so meanwhile.
    fn evaluated(&self) -> Arc<Moment> {
        let arrived = (self.clock)();
        let mut memory = lock(&self.evaluating);
        let now = self.source.moment((self.clock)());
        // Read before the snapshot: what changes in between is then evaluated again next time.
        let waiting_for = self.waiting_for();
        let key =
            EvaluationKey { waiting_for, generation: self.source.generation(), second: now.as_second() };
        let still_good = |moment: &Arc<Moment>| {
            let same_kinds = moment.key.waiting_for == key.waiting_for;
            // done while this caller waited; a clock that was set back meanwhile proves nothing
            let waited_for = arrived < moment.evaluated && moment.evaluated <= (self.clock)();
            moment.key == key || (same_kinds && waited_for)
        };
        if let Some(moment) = self.last().filter(still_good) {
            return moment;
        }
        if !self.beside {
            // no one can ask for it until the next one is there, and with thousands of findings it is large
            *lock(&self.last) = None;
        }
        let moment = Arc::new(self.evaluate(key, now, &mut memory));
        if !self.beside || self.last().is_none_or(|last| !self.is_handed_out(&last)) {
            *lock(&self.last) = Some(moment.clone());
        }
        moment
    }

    /// What is looked for.
    pub fn catalogue(&self) -> &'static Catalogue {
        self.catalogue
    }

    /// Kinds about which nothing is known yet and that are still waited for; empty when ready.
    pub fn waiting_for(&self) -> Vec<Resource> {
        if (self.clock)().duration_since(self.began) >= SYNC_GRACE {
            return Vec::new();
        }
        self.source.waiting_for()
    }

    /// Says which name of a selection exists nowhere in the cluster.
    pub fn unknown_name(&self, selection: &Selection) -> Option<String> {
        if selection.is_everything() {
            return None;
        }
        let moment = self.moment();
        let cluster = self.source.snapshot(self.source.moment((self.clock)()));
        selection.unknown_name(&cluster, &moment.evaluation.report)
    }

    /// A plan about the present cluster and what was seen `beside` it; the error is for people.
    pub fn plan(
        &self,
        beside: Option<&Cluster>,
        make: impl FnOnce(Looked<'_>) -> Result<Plan, String>,
    ) -> Result<Plan, String> {
        let moment = self.moment();
        let mut cluster = self.source.snapshot(self.source.moment((self.clock)()));
        if let Some(beside) = beside {
            cluster.adopt(beside, on_demand::beside(&self.catalogue.kinds()));
        }
        make(Looked::new(&cluster, &moment.evaluation.report, &[]))
    }

    /// How far back the timeline goes.
    pub fn since(&self) -> SignedDuration {
        self.options.since.unwrap_or(timeline::DAY)
    }

    /// The time by the clock of this machine; a recording has another one.
    pub fn wall(&self) -> Timestamp {
        (self.clock)()
    }

    fn evaluate(&self, key: EvaluationKey, now: Timestamp, memory: &mut Memory) -> Moment {
        let begin = (self.clock)();
        let cluster = self.source.snapshot(now);
        let signatures = lock(&self.signatures).current();
        let options = ReportOptions { signatures, ..self.options.clone() };
        if self.beside {
            memory.patience = lock(&self.pace).map_or(TICK, |pace| pace.patience());
        }
        let mut evaluation = evaluate_again(self.catalogue, &cluster, |_| true, &options, memory);
        let seen = Seen::of(&cluster, &self.catalogue.kinds(), key.waiting_for.clone());
        // a history that no one else holds is changed in place
        drop(cluster);
        self.source.keep_observed(std::mem::take(&mut evaluation.observed), &evaluation.blind, now);
        self.keep_incidents(&evaluation, now);
        let evaluated = (self.clock)();
        Moment {
            evaluation,
            seen,
            seconds: seconds_between(begin, evaluated),
            evaluated,
            key,
            pages: Default::default(),
            json: Mutex::default(),
        }
    }
}
