//! One evaluation shared by all who ask: scrapes, the page, the report.
//!
//! In `serve` it is made beside them, by [`Evaluator::refresh`], and who asks gets what is there: on a large cluster
//! an evaluation takes a hundred times as long as handing out a page.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use jiff::{SignedDuration, Timestamp};

use super::moment::{EvaluationKey, Moment, Seen, WrittenPage, is_zipped, of, of_mut};
use super::pace::{Pace, TICK, seconds_between};
use super::{
    Budget, RenderError, Rendered, Requests, SelfMetrics, SignatureFiles, WebConfigReload, families,
};
use crate::check::Catalogue;
use crate::cluster::Cluster;
use crate::history::changes::Past;
use crate::longhorn::Resource;
use crate::metrics::{self, Format};
use crate::plan::{Looked, Plan};
use crate::report::{
    EVERY_CHECK, Evaluation, Memory, Report, ReportOptions, Selection, evaluate_again, timeline,
};
use crate::source::{ApiTotals, Source, on_demand};
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
    fn write(
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
        let families = families(moment, &self.totals(), web_config, own);
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

    fn totals(&self) -> BTreeMap<Resource, ApiTotals> {
        self.source.totals()
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

impl Evaluator {
    /// Notes which incidents there are: one is over when nothing of its cause is found, and that could be seen.
    fn keep_incidents(&self, evaluation: &Evaluation, now: Timestamp) {
        let report = &evaluation.report;
        let found = report.incidents.iter().map(|incident| Past {
            check: incident.check.to_owned(),
            cause: incident.cause.to_owned(),
            severity: incident.severity.as_str().to_owned(),
            title: incident.title.clone(),
            began: incident.since.unwrap_or(now).min(now),
            ended: None,
        });
        let findings = report.findings.iter().map(|finding| (finding.check, finding.cause.id));
        let beside = report.not_listed.iter().map(|other| (other.check, other.cause));
        let beside = beside.chain(report.accepted.iter().map(|one| (one.check, one.cause.as_str())));
        let held: BTreeSet<(&str, &str)> = findings.chain(beside).collect();
        let unseen: BTreeSet<&str> = report.unknown.iter().map(|unknown| unknown.check).collect();
        let holds = |past: &Past| {
            let check = past.check.as_str();
            held.contains(&(check, past.cause.as_str()))
                || unseen.contains(check)
                || unseen.contains(EVERY_CHECK)
        };
        self.source.keep_incidents(found.collect(), &holds, now);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::collections::BTreeSet;
    use std::sync::atomic::{AtomicI64, Ordering};

    use super::super::pace::{AT_ONCE, good_for};
    use super::*;
    use crate::history::Observation;
    use crate::testing::time;

    thread_local! {
        /// A clock for each test: looks of another one would add to what an evaluation costs.
        static MILLISECONDS: Cell<i64> = const { Cell::new(0) };
    }

    fn pass(milliseconds: i64) {
        MILLISECONDS.set(MILLISECONDS.get() + milliseconds);
    }

    /// Two milliseconds pass whenever somebody looks.
    fn clock() -> Timestamp {
        pass(2);
        time("2026-01-01T12:00:00Z") + SignedDuration::from_millis(MILLISECONDS.get())
    }

    /// Something changes all the time.
    struct Busy(AtomicI64);

    impl Source for Busy {
        fn snapshot(&self, now: Timestamp) -> Cluster {
            self.0.fetch_add(1, Ordering::Relaxed);
            Cluster::new("longhorn-system", now, Default::default(), Default::default(), BTreeMap::new())
        }

        fn generation(&self) -> u64 {
            clock().as_millisecond() as u64
        }

        fn keep_observed(&self, _: Vec<Observation>, _: &BTreeSet<&'static str>, _: Timestamp) {}

        fn waiting_for(&self) -> Vec<Resource> {
            Vec::new()
        }
    }

    /// Waits for so many kinds.
    struct Starting(AtomicI64);

    impl Source for Starting {
        fn snapshot(&self, now: Timestamp) -> Cluster {
            Cluster::new("longhorn-system", now, Default::default(), Default::default(), BTreeMap::new())
        }

        fn generation(&self) -> u64 {
            self.0.load(Ordering::Relaxed) as u64
        }

        fn keep_observed(&self, _: Vec<Observation>, _: &BTreeSet<&'static str>, _: Timestamp) {}

        fn waiting_for(&self) -> Vec<Resource> {
            Resource::all().take(self.0.load(Ordering::Relaxed) as usize).collect()
        }
    }

    #[test]
    fn a_start_costs_few_evaluations_and_its_end_shows_at_once() {
        let source = Arc::new(Starting(AtomicI64::new(3)));
        let evaluator =
            Evaluator::new(&crate::checks::CATALOGUE, source.clone(), || time("2026-01-01T12:00:00Z"), false)
                .beside();
        let first = evaluator.moment();
        evaluator.refresh();
        for waiting in [2, 1] {
            source.0.store(waiting, Ordering::Relaxed);
            assert!(Arc::ptr_eq(&first, &evaluator.moment()), "waiting for {waiting}");
        }
        source.0.store(0, Ordering::Relaxed);
        assert!(evaluator.is_due());
        let ready = evaluator.moment();
        assert!(ready.seen.waiting_for.is_empty());
        evaluator.refresh();
        assert!(!evaluator.is_due());
        let zipped =
            |format| lock(of(&evaluator.moment().pages, format)).as_ref().map(|it| it.page.is_zipped());
        assert_eq!(
            Format::ALL.map(zipped),
            [None, Some(true)],
            "written before the first scrape, as Prometheus asks for it"
        );
        // nor does a kind that is waited for again leave a verdict standing
        source.0.store(1, Ordering::Relaxed);
        assert!(evaluator.is_due() && !evaluator.moment().seen.waiting_for.is_empty());
    }

    #[test]
    fn one_evaluation_that_had_to_wait_for_its_turn_makes_no_long_pause() {
        let evaluator =
            Evaluator::new(&crate::checks::CATALOGUE, Arc::new(Busy(AtomicI64::new(0))), clock, false)
                .beside();
        let pays = |seconds: f64| {
            evaluator.pay(seconds, true, clock());
            lock(&evaluator.pace).unwrap().whole
        };
        let usual = pays(0.001);
        assert_eq!(pays(0.045), usual);
        assert_eq!(pays(0.001), usual);
        assert_eq!(pays(0.02), usual);
        assert_eq!(pays(0.03), good_for(0.02), "the cluster has grown");
    }

    #[test]
    fn no_scrape_pays_for_an_evaluation_and_none_is_older_than_it_should_be() {
        let source = Arc::new(Busy(AtomicI64::new(0)));
        let evaluations = || source.0.load(Ordering::Relaxed);
        let eager = Evaluator::new(&crate::checks::CATALOGUE, source.clone(), clock, false);
        (0..10).for_each(|_| drop(eager.moment()));
        assert_eq!(evaluations(), 10, "without anybody beside each who asks gets the present");

        let evaluator = Evaluator::new(&crate::checks::CATALOGUE, source.clone(), clock, false).beside();
        let scrape = || drop(evaluator.page(Format::Text, None).unwrap());
        assert!(evaluator.is_due(), "there is none yet");
        scrape();
        assert_eq!(evaluations(), 11, "the first one is waited for");

        // after a quiet time what changes shows at once, and what goes on changing is evaluated for 0.2 % of a core
        let mut refreshed = 0;
        while evaluator.is_due() {
            evaluator.refresh();
            refreshed += 1;
        }
        assert_eq!(refreshed, AT_ONCE);
        (0..50).for_each(|_| scrape());
        assert_eq!(evaluations(), 11 + i64::from(AT_ONCE));
        let first = evaluator.page(Format::Text, None).unwrap();
        let pace = lock(&evaluator.pace).unwrap();
        pass(pace.whole.as_millis() as i64);
        let mut again = 0;
        while evaluator.is_due() {
            evaluator.refresh();
            again += 1;
        }
        assert!((1..AT_ONCE).contains(&again), "{again}");
        let second = evaluator.page(Format::Text, None).unwrap();
        assert!(!Arc::ptr_eq(&first, &second), "it was written ahead");
        assert!(Arc::ptr_eq(&second, &evaluator.page(Format::Text, None).unwrap()));

        // somebody who should refresh and does not
        let before = evaluations();
        pass(MAX_AGE.as_millis() as i64);
        scrape();
        assert_eq!(evaluations(), before + 1);
        pass(-60_000);
        scrape();
        assert_eq!(evaluations(), before + 2, "a clock that was set back makes nothing recent");
    }
}
