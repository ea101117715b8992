use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicI64, Ordering};

use super::*;
use crate::exporter::moment::of;
use crate::exporter::pace::{AT_ONCE, good_for};
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
    let zipped = |format| lock(of(&evaluator.moment().pages, format)).as_ref().map(|it| it.page.is_zipped());
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
        Evaluator::new(&crate::checks::CATALOGUE, Arc::new(Busy(AtomicI64::new(0))), clock, false).beside();
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
