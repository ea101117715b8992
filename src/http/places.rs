//! The one limit: how many connections are open, how many requests are answered, and about how many strangers somebody is asked.
//!
//! **Whom this keeps out:** those who can reach the port and take more than a share of it. Connections that are opened by the thousand and
//! then idle, silent or slow: when there are too many, one that waits for its client is closed for the new one. It is one of those
//! that wait for the same as most others, so who floods gives way to itself, and a client that connects and asks is answered, also
//! from the address of the flood. Requests without end for pages and reports, which take half of the places at most, so that a
//! scrape finds one. And strangers of one address, who take half of the places in which credentials are looked at.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::time::Instant;

use super::Limits;
use super::timeouts::{Phase, Phases};
use super::web_config::Rate;
use crate::sync;

/// The open connections of all listeners; cheap to clone.
#[derive(Clone)]
pub struct Connections {
    open: Arc<Mutex<OpenConnections>>,
    most: usize,
}

#[derive(Default)]
struct OpenConnections {
    next: u64,
    all: HashMap<u64, (IpAddr, Phases)>,
}

/// Keeps a connection in the list for as long as it lives.
pub struct Admitted {
    list: Connections,
    id: u64,
}

impl Connections {
    /// No connection yet.
    pub fn new(limits: &Limits) -> Self {
        Connections { open: Arc::default(), most: limits.connections }
    }

    /// Takes a connection in. Where that is one too many, one of the same address if that has half of them, or of the address
    /// with most connections, gives way. `None` if none of these waits for its client.
    pub fn admit(&self, address: IpAddr, phases: &Phases) -> Option<Admitted> {
        let mut open = self.lock();
        let of_address = open.all.values().filter(|(of, _)| *of == address).count();
        if of_address >= half(self.most) {
            open.close_one(address)?;
        } else if open.all.len() >= self.most {
            let mut counts: HashMap<IpAddr, usize> = HashMap::new();
            open.all.values().for_each(|(of, _)| *counts.entry(*of).or_default() += 1);
            let (crowd, _) = counts.into_iter().max_by_key(|(_, count)| *count)?;
            open.close_one(crowd)?;
        }
        let id = open.next;
        open.next = id.wrapping_add(1);
        open.all.insert(id, (address, phases.clone()));
        Some(Admitted { list: self.clone(), id })
    }

    fn lock(&self) -> MutexGuard<'_, OpenConnections> {
        sync::lock(&self.open)
    }
}

impl OpenConnections {
    /// Closes what has waited longest in the largest crowd: the connections that wait for the same.
    fn close_one(&mut self, address: IpAddr) -> Option<()> {
        let mut crowds: BTreeMap<Phase, (usize, (Instant, u64))> = BTreeMap::new();
        for (id, (_, phases)) in self.all.iter().filter(|(_, (of, _))| *of == address) {
            let Some((what, since)) = phases.waiting() else { continue };
            let (size, longest) = crowds.entry(what).or_insert((0, (since, *id)));
            *size += 1;
            *longest = (since, *id).min(*longest);
        }
        let (_, (_, longest)) = crowds.into_values().rev().max_by_key(|(size, _)| *size)?;
        let (_, phases) = self.all.remove(&longest)?;
        phases.give_way();
        Some(())
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        self.list.lock().all.remove(&self.id);
    }
}

/// A number of places, given to those of a kind: so many at once, and so many in a time where a rate is set.
pub struct Places<K: Eq + Hash> {
    most: usize,
    taken: Arc<Mutex<Taken<K>>>,
}

struct Taken<K> {
    by: HashMap<K, usize>,
    bucket: Option<Bucket>,
}

/// A bucket of requests, as in exporter-toolkit.
struct Bucket {
    rate: Rate,
    tokens: f64,
    filled: Instant,
}

/// A place, given back when dropped.
pub struct Place<K: Eq + Hash> {
    who: K,
    taken: Arc<Mutex<Taken<K>>>,
}

/// How much of the places those of a kind may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Share {
    All,
    Half,
}

/// Why there is no place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoPlace {
    /// All that may be taken at once are.
    Places,
    /// Too many came in this time.
    Rate,
}

impl<K: Copy + Eq + Hash> Places<K> {
    /// Zero means no limit.
    pub fn new(most: usize) -> Self {
        let most = if most == 0 { usize::MAX } else { most };
        Places { most, taken: Arc::new(Mutex::new(Taken { by: HashMap::new(), bucket: None })) }
    }

    /// A place for one of this kind, at once or not at all. A rate that has changed begins with a full bucket.
    pub fn take(&self, who: K, share: Share, rate: Option<Rate>) -> Result<Place<K>, NoPlace> {
        let mut taken = sync::lock(&self.taken);
        let own = taken.by.get(&who).copied().unwrap_or_default();
        let share = if share == Share::Half { half(self.most) } else { self.most };
        if own >= share || taken.by.values().sum::<usize>() >= self.most {
            return Err(NoPlace::Places);
        }
        if !rate.is_none_or(|rate| taken.is_within(rate)) {
            return Err(NoPlace::Rate);
        }
        taken.by.insert(who, own + 1);
        Ok(Place { who, taken: self.taken.clone() })
    }

    /// How many are taken.
    #[cfg(test)]
    pub fn taken(&self) -> usize {
        sync::lock(&self.taken).by.values().sum()
    }
}

impl<K> Taken<K> {
    fn is_within(&mut self, rate: Rate) -> bool {
        let (now, full) = (Instant::now(), f64::from(rate.burst));
        let known = self.bucket.take().filter(|bucket| bucket.rate == rate);
        let mut bucket = known.unwrap_or(Bucket { rate, tokens: full, filled: now });
        let gained = (now - bucket.filled).as_secs_f64() / rate.interval.as_secs_f64();
        bucket.tokens = (bucket.tokens + gained).min(full);
        bucket.filled = now;
        let is_enough = bucket.tokens >= 1.0;
        if is_enough {
            bucket.tokens -= 1.0;
        }
        self.bucket = Some(bucket);
        is_enough
    }
}

impl<K: Eq + Hash> Drop for Place<K> {
    fn drop(&mut self) {
        let mut taken = sync::lock(&self.taken);
        if let Some(own) = taken.by.get_mut(&self.who) {
            *own -= 1;
            if *own == 0 {
                taken.by.remove(&self.who);
            }
        }
    }
}

/// What one address takes of connections and of credentials, and all readers together of answers.
fn half(of: usize) -> usize {
    of.div_ceil(2)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn limits() -> Limits {
        Limits { connections: 5, ..Limits::default() }
    }

    fn address(last: u8) -> IpAddr {
        [127, 0, 0, last].into()
    }

    async fn client(list: &Connections, last: u8) -> Option<(Admitted, Phases)> {
        let phases = Phases::new(&limits());
        let admitted = list.admit(address(last), &phases);
        phases.note_silence();
        tokio::time::advance(Duration::from_millis(1)).await;
        admitted.map(|admitted| (admitted, phases))
    }

    fn is_closed(phases: &Phases) -> bool {
        use futures::FutureExt;
        phases.overdue().now_or_never().is_some()
    }

    #[tokio::test(start_paused = true)]
    async fn a_crowd_gives_way_to_others_and_to_itself_the_longest_waiting_first() {
        let list = Connections::new(&limits());
        let crowd = [client(&list, 1).await.unwrap(), client(&list, 1).await.unwrap()];
        let scraper = client(&list, 2).await.unwrap();
        let third = client(&list, 1).await.unwrap();
        let (probe, another) = (client(&list, 3).await.unwrap(), client(&list, 4).await.unwrap());
        assert!(is_closed(&crowd[0].1), "five are open, and three of them are of one address");
        let others = [&crowd[1].1, &scraper.1, &third.1, &probe.1, &another.1];
        assert!(others.iter().all(|phases| !is_closed(phases)));
        drop((scraper, probe, another));
        let _fourth = client(&list, 1).await.unwrap();
        let _fifth = client(&list, 1).await.unwrap();
        assert!(is_closed(&crowd[1].1), "an address has half of the places");
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_nobody_has_looked_at_is_never_cut_off() {
        let list = Connections::new(&limits());
        let new = Phases::new(&limits());
        let _new = list.admit(address(1), &new).unwrap();
        let silent = [client(&list, 1).await.unwrap(), client(&list, 1).await.unwrap()];
        let _next = client(&list, 1).await.unwrap();
        assert!(!is_closed(&new) && is_closed(&silent[0].1) && !is_closed(&silent[1].1));
    }

    #[tokio::test(start_paused = true)]
    async fn who_came_back_outlives_those_who_asked_once() {
        let list = Connections::new(&limits());
        let (scraper, first) = (client(&list, 1).await.unwrap(), client(&list, 1).await.unwrap());
        let answer = |one: &(Admitted, Phases)| {
            one.1.begin_answer();
            one.1.end_answer();
        };
        [&scraper, &scraper, &first].into_iter().for_each(answer);
        let second = client(&list, 1).await.unwrap();
        answer(&second);
        let _next = client(&list, 1).await.unwrap();
        assert_eq!([&scraper, &first, &second].map(|one| is_closed(&one.1)), [false, true, false]);
    }

    #[tokio::test(start_paused = true)]
    async fn requests_that_are_being_answered_are_never_cut_off() {
        let list = Connections::new(&limits());
        let mut busy = Vec::new();
        for last in 1..=5 {
            let one = client(&list, last).await.unwrap();
            one.1.begin_answer();
            busy.push(one);
        }
        assert!(client(&list, 6).await.is_none());
        busy[2].1.end_answer();
        let newcomer = client(&list, 3).await;
        assert!(newcomer.is_none() || is_closed(&busy[2].1));
        busy.clear();
        assert!(client(&list, 6).await.is_some(), "what ended makes room");
    }

    #[test]
    fn readers_take_half_of_the_places_and_scrapes_any() {
        let places = Places::new(4);
        let take = |who| places.take(who, if who == "reader" { Share::Half } else { Share::All }, None);
        let readers = [take("reader"), take("reader")];
        assert!(readers.iter().all(Result::is_ok) && take("reader").is_err());
        let _scrapes = [take("scrape").unwrap(), take("scrape").unwrap()];
        assert!(take("scrape").is_err(), "four in all");
        drop(readers);
        assert!(take("reader").is_ok() && take("scrape").is_ok());
        let without = Places::new(0);
        let many: Vec<_> = (0..10_000).map(|_| without.take("reader", Share::Half, None)).collect();
        assert!(many.iter().all(Result::is_ok));
    }

    #[tokio::test(start_paused = true)]
    async fn a_burst_passes_and_then_one_an_interval() {
        let places = Places::new(0);
        let rate = |burst| Some(Rate { interval: Duration::from_secs(1), burst });
        let passes = |rate| places.take((), Share::All, rate).map(drop) == Ok(());
        let two = rate(2);
        assert!(passes(two) && passes(two));
        assert_eq!(places.take((), Share::All, two).map(drop), Err(NoPlace::Rate));
        tokio::time::advance(Duration::from_millis(1001)).await;
        assert!(passes(two) && !passes(two));
        tokio::time::advance(Duration::from_secs(3600)).await;
        assert!(passes(two) && passes(two) && !passes(two));
        assert!(passes(rate(1)) && !passes(rate(1)), "another rate");
        assert!(passes(None));
    }
}
