//! Verdicts that are remembered for a while.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use tokio::time::Instant;

use super::digest::Digest;
use crate::sync;

/// A bounded map whose entries expire. When it is full, the one that expires first gives way.
pub struct Cache<V> {
    entries: Mutex<HashMap<Digest, (V, Instant)>>,
    limit: usize,
    /// Time for which an expired entry can still be asked for by [`Cache::expired`].
    keep: Duration,
}

impl<V: Clone> Cache<V> {
    /// An empty cache of at most this many entries.
    pub fn new(limit: usize) -> Self {
        Cache::keeping(limit, Duration::ZERO)
    }

    /// The same, with entries that are kept for some time after they expired.
    pub fn keeping(limit: usize, keep: Duration) -> Self {
        Cache { entries: Mutex::default(), limit, keep }
    }

    /// What is or was remembered, also if it expired not long ago.
    pub fn expired(&self, key: &Digest) -> Option<V> {
        self.lock()
            .get(key)
            .filter(|(_, end)| *end + self.keep > Instant::now())
            .map(|(value, _)| value.clone())
    }

    /// Forgets an entry.
    pub fn remove(&self, key: &Digest) {
        self.lock().remove(key);
    }

    /// What is remembered, if it has not expired.
    pub fn get(&self, key: &Digest) -> Option<V> {
        self.lock().get(key).filter(|(_, end)| *end > Instant::now()).map(|(value, _)| value.clone())
    }

    /// Remembers a value for some time.
    pub fn put(&self, key: Digest, value: V, time: Duration) {
        let now = Instant::now();
        let mut entries = self.lock();
        if entries.len() >= self.limit && !entries.contains_key(&key) {
            entries.retain(|_, (_, end)| *end + self.keep > now);
        }
        if entries.len() >= self.limit && !entries.contains_key(&key) {
            let first = entries.iter().min_by_key(|(_, (_, end))| *end).map(|(key, _)| *key);
            first.and_then(|first| entries.remove(&first));
        }
        entries.insert(key, (value, now + time));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Digest, (V, Instant)>> {
        sync::lock(&self.entries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn entries_end_and_the_first_to_end_gives_way() {
        let cache = Cache::new(2);
        cache.put([1; 32], "a", 2 * SECOND);
        cache.put([2; 32], "b", 5 * SECOND);
        assert_eq!((cache.get(&[1; 32]), cache.get(&[2; 32])), (Some("a"), Some("b")));
        cache.put([3; 32], "c", SECOND);
        assert_eq!(
            (cache.get(&[1; 32]), cache.get(&[2; 32]), cache.get(&[3; 32])),
            (None, Some("b"), Some("c"))
        );
        tokio::time::advance(SECOND).await;
        assert_eq!((cache.get(&[2; 32]), cache.get(&[3; 32])), (Some("b"), None));
        cache.put([4; 32], "d", SECOND);
        assert_eq!(
            (cache.get(&[2; 32]), cache.get(&[4; 32])),
            (Some("b"), Some("d")),
            "what has ended goes first"
        );
        assert_eq!(cache.lock().len(), 2);
    }
}
