//! The places of requests that are being answered.

use hyper::{StatusCode, header};
use tokio::sync::{Semaphore, SemaphorePermit};

use super::respond::Refusal;

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
    use super::*;

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
