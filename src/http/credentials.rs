//! Verdicts on credentials: remembered for a while, found out once however many ask at the same time, and for few
//! strangers at once.
//!
//! **Whom this keeps out:** clients with wrong or made-up passwords and tokens. Each of these costs something dear,
//! a bcrypt or a review by the API server in the exporter's name, so that a few dozen could keep all scrapes waiting.
//! Who is remembered passes without any of that; strangers wait in few [`Places`], of which one address takes half. Passwords
//! (`passwords`) and tokens (`reviewer`) are two uses of the same type.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, Shared, WeakShared};
use hyper::{StatusCode, header};
use ring::hmac;
use ring::rand::SystemRandom;
use tokio::time::{Instant, timeout};

use super::places::{Place, Places, Share};
use super::respond::Refusal;
use super::web_config::Rate;
use crate::sync;

/// Time that a new verdict may take where there is an old one.
const STALE_PATIENCE: Duration = Duration::from_secs(2);

/// What verdicts may cost.
#[derive(Debug, Clone, Copy)]
pub struct VerdictLimits {
    /// Verdicts that are remembered. One more, and the one that is forgotten first gives way.
    pub kept: usize,
    /// Time for a verdict. One that no one gives would hold all who join forever.
    pub patience: Duration,
    /// Strangers whose verdicts are waited for, of one address half of them.
    pub strangers: usize,
    /// How often a stranger may come.
    pub rate: Option<Rate>,
}

/// A verdict, and for how long.
#[derive(Debug)]
pub struct Verdict<V> {
    pub value: V,
    /// Zero for one that is not remembered.
    pub good_for: Duration,
    /// From then on it is forgotten; until then it still holds where no new one comes: an API server that is away
    /// must not take the scrapes of an account that it has just let pass down with it.
    pub kept_for: Duration,
}

/// Why there is no verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoVerdict {
    /// Too many strangers.
    Busy,
    /// What went wrong.
    Failed(String),
}

type Flight<V> = BoxFuture<'static, Result<V, String>>;

/// The verdicts on credentials of one kind, by fingerprints of these.
pub struct Verdicts<V> {
    limits: VerdictLimits,
    state: Arc<Mutex<VerdictState<V>>>,
    strangers: Places<IpAddr>,
}

struct VerdictState<V> {
    known: HashMap<Digest, KnownVerdict<V>>,
    /// Lives as long as somebody waits, so that there are never more questions than requests.
    under_way: HashMap<Digest, WeakShared<Flight<V>>>,
}

struct KnownVerdict<V> {
    value: V,
    good_until: Instant,
    kept_until: Instant,
}

impl<V: Clone + Send + Sync + 'static> Verdicts<V> {
    /// Nothing is known.
    pub fn new(limits: VerdictLimits) -> Self {
        let state = VerdictState { known: HashMap::new(), under_way: HashMap::new() };
        Verdicts { limits, state: Arc::new(Mutex::new(state)), strangers: Places::new(limits.strangers) }
    }

    /// The verdict that is known, or that is being found out, or else the one of this question. A client about whom
    /// nothing is known needs a place; without a client the question is about somebody who is known.
    pub async fn ask(
        &self,
        key: Digest,
        client: Option<IpAddr>,
        question: impl Future<Output = Result<Verdict<V>, String>> + Send + 'static,
    ) -> Result<V, NoVerdict> {
        let (flight, old, _place) = {
            let mut state = self.lock();
            let now = Instant::now();
            let known = state.known.get(&key).filter(|known| known.kept_until > now);
            if let Some(known) = known.filter(|known| known.good_until > now) {
                return Ok(known.value.clone());
            }
            let old = known.map(|known| known.value.clone());
            match state.under_way.get(&key).and_then(WeakShared::upgrade).filter(is_open) {
                Some(flight) => (flight, old, None),
                None => {
                    let stranger = client.filter(|_| old.is_none());
                    let place = stranger.map(|address| self.place(address)).transpose()?;
                    (self.begin(&mut state, key, question), old, place)
                }
            }
        };
        let Some(old) = old else { return flight.await.map_err(NoVerdict::Failed) };
        match timeout(STALE_PATIENCE, flight).await {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(_)) | Err(_) => Ok(old),
        }
    }

    fn place(&self, address: IpAddr) -> Result<Place<IpAddr>, NoVerdict> {
        self.strangers.take(address, Share::Half, self.limits.rate).map_err(|_| NoVerdict::Busy)
    }

    fn begin(
        &self,
        state: &mut VerdictState<V>,
        key: Digest,
        question: impl Future<Output = Result<Verdict<V>, String>> + Send + 'static,
    ) -> Shared<Flight<V>> {
        let (own, VerdictLimits { kept, patience, .. }) = (self.state.clone(), self.limits);
        let flight = async move {
            let verdict = timeout(patience, question).await;
            let verdict = verdict.unwrap_or_else(|_| Err(format!("no answer within {patience:?}")))?;
            let value = verdict.value.clone();
            sync::lock(&own).remember(key, verdict, kept);
            Ok(value)
        };
        let flight = flight.boxed().shared();
        state.under_way.retain(|_, other| other.upgrade().as_ref().is_some_and(is_open));
        state.under_way.extend(flight.downgrade().map(|weak| (key, weak)));
        flight
    }

    fn lock(&self) -> MutexGuard<'_, VerdictState<V>> {
        sync::lock(&self.state)
    }
}

impl<V> VerdictState<V> {
    fn remember(&mut self, key: Digest, verdict: Verdict<V>, most: usize) {
        let now = Instant::now();
        self.known.remove(&key);
        if verdict.good_for.is_zero() {
            return;
        }
        if self.known.len() >= most {
            self.known.retain(|_, known| known.kept_until > now);
        }
        if self.known.len() >= most {
            let first = self.known.iter().min_by_key(|(_, known)| known.kept_until).map(|(key, _)| *key);
            first.and_then(|first| self.known.remove(&first));
        }
        let (good_until, kept_until) = (now + verdict.good_for, now + verdict.kept_for.max(verdict.good_for));
        self.known.insert(key, KnownVerdict { value: verdict.value, good_until, kept_until });
    }
}

/// Without an answer yet. One that has failed is put again.
fn is_open<V: Clone>(flight: &Shared<Flight<V>>) -> bool {
    flight.peek().is_none()
}

/// A fingerprint of a secret, so that no password and no token is held. Of no use outside this process.
pub type Digest = [u8; 32];

/// Makes fingerprints with a key of its own.
pub struct Digester(hmac::Key);

impl Digester {
    /// Takes a new key. `None` when the system provides no random numbers.
    pub fn new() -> Option<Self> {
        hmac::Key::generate(hmac::HMAC_SHA256, &SystemRandom::new()).ok().map(Digester)
    }

    /// The fingerprint of some parts, in their order and with their borders.
    pub fn digest(&self, parts: &[&[u8]]) -> Digest {
        let mut context = hmac::Context::with_key(&self.0);
        for part in parts {
            context.update(&(part.len() as u64).to_be_bytes());
            context.update(part);
        }
        let mut digest = Digest::default();
        digest.copy_from_slice(context.sign().as_ref()); // both are the 32 bytes of SHA-256
        digest
    }
}

/// Too many credentials are being checked.
pub fn busy() -> Refusal {
    let message = "too many credentials are being checked, try again later";
    Refusal::new(StatusCode::SERVICE_UNAVAILABLE, message).with(header::RETRY_AFTER, "1")
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures::poll;
    use tokio::time::{advance, sleep};

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// Questions that take so long, are numbered, and whose verdicts hold so long.
    struct Bench {
        verdicts: Arc<Verdicts<usize>>,
        put: Arc<AtomicUsize>,
    }

    impl Bench {
        fn new() -> Self {
            let limits = VerdictLimits { kept: 2, patience: 10 * SECOND, strangers: 3, rate: None };
            Bench { verdicts: Arc::new(Verdicts::new(limits)), put: Arc::default() }
        }

        fn ask_for(
            &self,
            [key, client]: [u8; 2],
            takes: Duration,
            [good_for, kept_for]: [Duration; 2],
        ) -> impl Future<Output = Result<usize, NoVerdict>> + use<> {
            let (verdicts, put) = (self.verdicts.clone(), self.put.clone());
            async move {
                let question = async move {
                    let value = put.fetch_add(1, Ordering::Relaxed);
                    sleep(takes).await;
                    if takes == 7 * SECOND {
                        Err("no".to_owned())
                    } else {
                        Ok(Verdict { value, good_for, kept_for })
                    }
                };
                verdicts.ask([key; 32], Some([10, 0, 0, client].into()), question).await
            }
        }

        fn ask(&self, key: u8, takes: Duration) -> impl Future<Output = Result<usize, NoVerdict>> + use<> {
            self.ask_for([key, key], takes, [Duration::ZERO; 2])
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
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_leaves_early_takes_the_answer_from_nobody_and_leaves_nothing_behind() {
        let bench = Bench::new();
        let hurried = tokio::spawn(timeout(SECOND, bench.ask(1, 3 * SECOND)));
        let patient = tokio::spawn(bench.ask(1, 3 * SECOND));
        assert!(hurried.await.unwrap().is_err());
        let start = Instant::now();
        assert_eq!(patient.await.unwrap(), Ok(0));
        assert_eq!(start.elapsed(), 2 * SECOND);
        for key in 0..100 {
            assert!(timeout(SECOND, bench.ask(key, 3 * SECOND)).await.is_err());
        }
        assert_eq!(bench.ask(100, SECOND).await, Ok(101));
        let state = bench.verdicts.lock();
        assert_eq!((state.under_way.len(), bench.verdicts.strangers.taken(), state.known.len()), (1, 0, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn one_without_answer_ends_for_all_and_whoever_joins_late_does_not_prolong_it() {
        let bench = Bench::new();
        let first = tokio::spawn(bench.ask(1, 60 * SECOND));
        tokio::task::yield_now().await;
        advance(9 * SECOND).await;
        let start = Instant::now();
        let late = bench.ask(1, 60 * SECOND).await;
        assert_eq!(late, Err(NoVerdict::Failed("no answer within 10s".to_owned())));
        assert_eq!(first.await.unwrap(), late);
        assert_eq!(start.elapsed(), SECOND);
        assert_eq!(bench.ask(1, SECOND).await, Ok(1), "and is then asked again");
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_good_is_not_asked_and_what_is_kept_stands_in_for_what_does_not_come() {
        let bench = Bench::new();
        let ask = |takes| bench.ask_for([1, 1], takes, [60 * SECOND, 360 * SECOND]);
        assert_eq!(ask(SECOND).await, Ok(0));
        assert_eq!(ask(SECOND).await, Ok(0), "good");
        advance(61 * SECOND).await;
        let start = Instant::now();
        assert_eq!((ask(7 * SECOND).await, start.elapsed()), (Ok(0), STALE_PATIENCE));
        assert_eq!(ask(SECOND).await, Ok(2), "a new one that comes in time");
        advance(400 * SECOND).await;
        assert_eq!(ask(7 * SECOND).await, Err(NoVerdict::Failed("no".to_owned())), "forgotten");
    }

    #[tokio::test(start_paused = true)]
    async fn places_are_few_and_shared_by_address_and_who_is_known_needs_none() {
        let bench = Bench::new();
        let stranger = |key, client| bench.ask_for([key, client], 5 * SECOND, [Duration::ZERO; 2]);
        let known = |takes| bench.ask_for([9, 1], takes, [SECOND, 100 * SECOND]);
        known(SECOND).await.unwrap();
        advance(5 * SECOND).await;
        let mut waiting = [stranger(1, 1), stranger(2, 1)].map(Box::pin);
        for one in &mut waiting {
            assert!(poll!(one).is_pending());
        }
        assert_eq!(stranger(3, 1).await, Err(NoVerdict::Busy), "two of one address");
        let mut third = Box::pin(stranger(4, 2));
        assert!(poll!(&mut third).is_pending());
        assert_eq!(stranger(5, 3).await, Err(NoVerdict::Busy), "three in all");
        assert!(poll!(&mut Box::pin(stranger(4, 3))).is_pending(), "one that is being asked");
        assert!(known(SECOND).await.is_ok());
        drop(waiting);
        assert!(stranger(5, 3).await.is_ok(), "who left made room");
    }

    #[tokio::test(start_paused = true)]
    async fn when_there_are_too_many_the_first_to_be_forgotten_gives_way() {
        let bench = Bench::new();
        let ask = |key, good: u32| bench.ask_for([key, key], Duration::ZERO, [good * SECOND; 2]);
        assert_eq!((ask(1, 2).await, ask(2, 50).await, ask(3, 10).await), (Ok(0), Ok(1), Ok(2)));
        assert_eq!((ask(2, 50).await, ask(3, 10).await), (Ok(1), Ok(2)));
        assert_eq!(ask(1, 2).await, Ok(3), "it gave way to the third");
        assert_eq!(bench.verdicts.lock().known.len(), 2);
    }
}
