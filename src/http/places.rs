//! The one limit of connections and of answers.
//!
//! **Whom this keeps out:** those who can reach the port and take more than a share of it. Connections that are opened by the thousand and
//! then idle, silent or slow: when there are too many, one that waits for its client is closed for the new one. It is one of those
//! that wait for the same as most others, so who floods gives way to itself, and a client that connects and asks is answered, also
//! from the address of the flood. And requests without end for pages and reports, which take half of the places at most, so that a
//! scrape finds one.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard};

use hyper::{StatusCode, header};
use tokio::sync::{Semaphore, SemaphorePermit};

use super::Limits;
use super::respond::Refusal;
use super::timeouts::{Phases, WaitingClient};
use crate::sync;

/// The open connections of all listeners; cheap to clone.
#[derive(Clone)]
pub struct Connections {
    open: Arc<Mutex<OpenConnections>>,
    total: usize,
    per_address: usize,
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
        let (total, per_address) = (limits.connections, limits.connections_per_address);
        Connections { open: Arc::default(), total, per_address }
    }

    /// Takes a connection in. Where that is one too many, one of the same address, or of the address with
    /// most connections, gives way. `None` if none of these waits for its client.
    pub fn admit(&self, address: IpAddr, phases: &Phases) -> Option<Admitted> {
        let mut open = self.lock();
        let of_address = open.all.values().filter(|(of, _)| *of == address).count();
        if of_address >= self.per_address {
            open.close_one(address)?;
        } else if open.all.len() >= self.total {
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
        let mut crowds = [(0_usize, None); WaitingClient::KINDS];
        for (id, (_, phases)) in self.all.iter().filter(|(_, (of, _))| *of == address) {
            let Some((what, since)) = phases.waiting() else { continue };
            let Some((size, longest)) = crowds.get_mut(what as usize) else { continue };
            *size += 1;
            *longest = longest.take().into_iter().chain([(since, *id)]).min();
        }
        let (_, longest) = crowds.into_iter().rev().max_by_key(|(size, _)| *size)?;
        let (_, phases) = self.all.remove(&longest?.1)?;
        phases.give_way();
        Some(())
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        self.list.lock().all.remove(&self.id);
    }
}

/// A number of places, of which pages and reports take half at most: readers take nothing from a scrape.
pub struct Slots {
    all: Semaphore,
    readers: Semaphore,
    most: usize,
}

/// A place, given back when dropped.
pub struct Slot<'s> {
    _one: SemaphorePermit<'s>,
    _reader: Option<SemaphorePermit<'s>>,
}

impl Slots {
    /// Zero means no limit.
    pub fn new(most: usize) -> Self {
        let places = if most == 0 { Semaphore::MAX_PERMITS } else { most };
        Slots { all: Semaphore::new(places), readers: Semaphore::new(places.div_ceil(2)), most }
    }

    /// A place for a scrape or a reader, or 503 at once.
    pub fn take(&self, scrape: bool) -> Result<Slot<'_>, Refusal> {
        let reader = if scrape { Ok(None) } else { self.readers.try_acquire().map(Some) };
        match (reader, self.all.try_acquire()) {
            (Ok(reader), Ok(one)) => Ok(Slot { _one: one, _reader: reader }),
            _ => {
                let message = format!("{} requests are running already, try again later", self.most);
                Err(Refusal::new(StatusCode::SERVICE_UNAVAILABLE, message).with(header::RETRY_AFTER, "1"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn limits() -> Limits {
        Limits { connections: 4, connections_per_address: 3, ..Limits::default() }
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
        let probe = client(&list, 3).await.unwrap();
        assert!(is_closed(&crowd[0].1), "four are open, and three of them are of one address");
        assert!([&crowd[1].1, &scraper.1, &third.1, &probe.1].iter().all(|phases| !is_closed(phases)));
        drop((scraper, probe));
        let _fourth = client(&list, 1).await.unwrap();
        let _fifth = client(&list, 1).await.unwrap();
        assert!(is_closed(&crowd[1].1), "an address has a limit of its own");
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
        for last in 1..=4 {
            let one = client(&list, last).await.unwrap();
            one.1.begin_answer();
            busy.push(one);
        }
        assert!(client(&list, 5).await.is_none());
        busy[2].1.end_answer();
        let newcomer = client(&list, 3).await;
        assert!(newcomer.is_none() || is_closed(&busy[2].1));
        busy.clear();
        assert!(client(&list, 5).await.is_some(), "what ended makes room");
    }

    #[test]
    fn readers_take_half_of_the_places_and_scrapes_any() {
        let slots = Slots::new(4);
        let readers = [slots.take(false), slots.take(false)];
        assert!(readers.iter().all(Result::is_ok) && slots.take(false).is_err());
        let _scrapes = [slots.take(true).unwrap(), slots.take(true).unwrap()];
        assert!(slots.take(true).is_err(), "four in all");
        drop(readers);
        assert!(slots.take(false).is_ok() && slots.take(true).is_ok());
    }
}
