//! The open connections. When there are too many, one that waits for its client is closed for the new
//! one, so that idle or silent clients cannot keep probes and scrapes out.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard};

use super::Limits;
use super::timeouts::Phases;
use crate::sync;

/// The open connections of all listeners; cheap to clone.
#[derive(Clone)]
pub struct Connections {
    open: Arc<Mutex<OpenConnection>>,
    total: usize,
    per_address: usize,
}

#[derive(Default)]
struct OpenConnection {
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

    /// Takes a connection in. Where that is one too many, the one that has waited longest for a client at
    /// the same address, or at the address with most connections, gives way. `None` if all of these
    /// are being answered.
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

    fn lock(&self) -> MutexGuard<'_, OpenConnection> {
        sync::lock(&self.open)
    }
}

impl OpenConnection {
    fn close_one(&mut self, address: IpAddr) -> Option<()> {
        let waiting = self.all.iter().filter(|(_, (of, _))| *of == address);
        let waiting = waiting.filter_map(|(id, (_, phases))| Some((phases.waiting()?, *id)));
        let (_, id) = waiting.min()?;
        let (_, phases) = self.all.remove(&id)?;
        phases.give_way();
        Some(())
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        self.list.lock().all.remove(&self.id);
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
}
