//! Questions that several ask at once and that are put once.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, Shared, WeakShared};

use super::digest::Digest;
use crate::sync;

/// An answer, or why there is none. Shared by all who wait for it.
type Computed<V> = Result<V, String>;
type Flight<V> = BoxFuture<'static, Computed<V>>;

/// Questions under way, by what is asked. A caller with the same question joins, and gets the same answer.
///
/// A question lives as long as someone waits for it, so there are never more of them than requests.
/// It is given up after a time of its own too: otherwise one without answer would hold all who
/// join it for ever.
pub struct SingleFlight<V> {
    under_way: Mutex<HashMap<Digest, WeakShared<Flight<V>>>>,
    patience: Duration,
}

impl<V: Clone + Send + 'static> SingleFlight<V> {
    /// Nothing is under way. No question takes longer than `patience`.
    pub fn new(patience: Duration) -> Self {
        SingleFlight { under_way: Mutex::default(), patience }
    }

    /// The answer that is `known`, or else that to the question, which is put unless it is under way.
    ///
    /// A question must leave its answer where `known` finds it before it completes. Then it is not put
    /// again by a caller at that very moment.
    pub async fn ask(
        &self,
        key: Digest,
        known: impl FnOnce() -> Option<V>,
        question: impl Future<Output = Computed<V>> + Send + 'static,
    ) -> Computed<V> {
        let flight = {
            let mut under_way = self.lock();
            if let Some(value) = known() {
                return Ok(value);
            }
            let joined = under_way.get(&key).and_then(WeakShared::upgrade).filter(is_open);
            joined.unwrap_or_else(|| {
                let flight = self.bounded(question).shared();
                under_way.retain(|_, other| other.upgrade().as_ref().is_some_and(is_open));
                if let Some(weak) = flight.downgrade() {
                    under_way.insert(key, weak);
                }
                flight
            })
        };
        flight.await
    }

    /// Whether this is being asked now.
    pub fn is_under_way(&self, key: &Digest) -> bool {
        self.lock().get(key).and_then(WeakShared::upgrade).as_ref().is_some_and(is_open)
    }

    fn bounded(&self, question: impl Future<Output = Computed<V>> + Send + 'static) -> Flight<V> {
        let patience = self.patience;
        async move {
            let answer = tokio::time::timeout(patience, question).await;
            answer.unwrap_or_else(|_| Err(format!("no answer within {patience:?}")))
        }
        .boxed()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Digest, WeakShared<Flight<V>>>> {
        sync::lock(&self.under_way)
    }
}

/// Without an answer yet. One that has failed is put again.
fn is_open<V: Clone>(flight: &Shared<Flight<V>>) -> bool {
    flight.peek().is_none()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::time::{Instant, advance, sleep, timeout};

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// Asks a question that takes so long and counts how often it was put.
    struct Bench {
        single_flight: Arc<SingleFlight<usize>>,
        put: Arc<AtomicUsize>,
    }

    impl Bench {
        fn new() -> Self {
            Bench { single_flight: Arc::new(SingleFlight::new(10 * SECOND)), put: Arc::default() }
        }

        fn ask(&self, key: u8, takes: Duration) -> impl Future<Output = Computed<usize>> + use<> {
            let (single_flight, put) = (self.single_flight.clone(), self.put.clone());
            async move {
                let question = async move {
                    let number = put.fetch_add(1, Ordering::Relaxed);
                    sleep(takes).await;
                    Ok(number)
                };
                single_flight.ask([key; 32], || None, question).await
            }
        }

        fn put(&self) -> usize {
            self.put.load(Ordering::Relaxed)
        }
    }

    #[tokio::test(start_paused = true)]
    async fn all_who_ask_at_once_share_one_answer_and_the_next_asks_anew() {
        let bench = Bench::new();
        let asked: Vec<_> = (0..50).map(|_| tokio::spawn(bench.ask(1, SECOND))).collect();
        let other = tokio::spawn(bench.ask(2, SECOND));
        for asked in asked {
            assert_eq!(asked.await.unwrap(), Ok(0));
        }
        assert_eq!(other.await.unwrap(), Ok(1));
        assert_eq!(bench.ask(1, SECOND).await, Ok(2));
        assert_eq!(bench.put(), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_known_is_not_asked() {
        let bench = Bench::new();
        let never = async { panic!("asked") };
        assert_eq!(bench.single_flight.ask([1; 32], || Some(7), never).await, Ok(7));
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_leaves_early_takes_the_answer_from_nobody() {
        let bench = Bench::new();
        let hurried = tokio::spawn(timeout(SECOND, bench.ask(1, 3 * SECOND)));
        let patient = tokio::spawn(bench.ask(1, 3 * SECOND));
        assert!(hurried.await.unwrap().is_err());
        let start = Instant::now();
        assert_eq!(patient.await.unwrap(), Ok(0));
        assert_eq!((start.elapsed(), bench.put()), (2 * SECOND, 1));
    }

    #[tokio::test(start_paused = true)]
    async fn a_question_nobody_waits_for_is_dropped() {
        let bench = Bench::new();
        for key in 0..100 {
            assert!(timeout(SECOND, bench.ask(key, 3 * SECOND)).await.is_err());
        }
        assert_eq!(bench.ask(100, SECOND).await, Ok(100));
        assert_eq!(bench.single_flight.lock().len(), 1, "the others are forgotten");
    }

    #[tokio::test(start_paused = true)]
    async fn one_without_answer_ends_for_all_and_whoever_joins_late_does_not_prolong_it() {
        let bench = Bench::new();
        let first = tokio::spawn(bench.ask(1, 60 * SECOND));
        tokio::task::yield_now().await;
        advance(9 * SECOND).await;
        let start = Instant::now();
        let late = bench.ask(1, 60 * SECOND).await;
        assert_eq!(late, Err("no answer within 10s".to_owned()));
        assert_eq!(first.await.unwrap(), late);
        assert_eq!((start.elapsed(), bench.put()), (SECOND, 1));
        assert_eq!(bench.ask(1, SECOND).await, Ok(1), "and is then asked again");
    }
}
