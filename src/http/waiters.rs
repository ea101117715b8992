//! The few requests that may wait for a costly check of their credentials.
//!
//! Remembered credentials are never among them, so that clients with wrong ones cannot keep scrapes
//! out, however many they are.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard};

use hyper::{StatusCode, header};

use super::respond::Refusal;
use crate::sync;

/// A waiting room with few places, of which one address takes only some.
pub struct Waiters {
    places: usize,
    per_address: usize,
    waiting: Mutex<HashMap<IpAddr, usize>>,
}

/// A place, given back when dropped.
pub struct Place<'w> {
    waiters: &'w Waiters,
    address: IpAddr,
}

impl Waiters {
    /// An empty waiting room.
    pub fn new(places: usize, per_address: usize) -> Self {
        Waiters { places, per_address, waiting: Mutex::default() }
    }

    /// A place, or 503 at once.
    pub fn enter(&self, address: IpAddr) -> Result<Place<'_>, Refusal> {
        let mut waiting = self.lock();
        let own = waiting.get(&address).copied().unwrap_or_default();
        if own >= self.per_address || waiting.values().sum::<usize>() >= self.places {
            return Err(busy());
        }
        waiting.insert(address, own + 1);
        Ok(Place { waiters: self, address })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        sync::lock(&self.waiting)
    }
}

/// Too many credentials are being checked.
pub fn busy() -> Refusal {
    let message = "too many credentials are being checked, try again later";
    Refusal::new(StatusCode::SERVICE_UNAVAILABLE, message).with(header::RETRY_AFTER, "1")
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut waiting = self.waiters.lock();
        if let Some(own) = waiting.get_mut(&self.address) {
            *own -= 1;
            if *own == 0 {
                waiting.remove(&self.address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_few_and_shared_by_address() {
        let waiters = Waiters::new(3, 2);
        let [a, b, c] = [1, 2, 3].map(|last| IpAddr::from([10, 0, 0, last]));
        let (first, _second) = (waiters.enter(a), waiters.enter(a));
        assert!(waiters.enter(a).is_err(), "two of one address");
        let _third = waiters.enter(b).unwrap();
        assert!(waiters.enter(c).is_err(), "three in all");
        drop(first);
        assert!(waiters.enter(c).is_ok());
        assert_eq!(waiters.lock().len(), 2, "who left is forgotten");
    }
}
