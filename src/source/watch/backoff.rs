//! How long a kind waits before it asks again: exponential, with jitter, capped, and back to the
//! beginning once the kind has worked for a while.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use tokio::time::Instant;

/// The bounds of a pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pauses {
    /// The first pause.
    pub first: Duration,
    /// No pause is longer, jitter included.
    pub longest: Duration,
}

impl Pauses {
    /// The pause after `failures` failures in a row, without jitter.
    fn after(self, failures: u32) -> Duration {
        let doubled = 2u32.saturating_pow(failures.saturating_sub(1));
        self.first.saturating_mul(doubled).min(self.longest)
    }

    /// As [`Pauses::after`], shortened by up to a quarter so that kinds do not ask in step.
    pub(super) fn jittered(self, failures: u32) -> Duration {
        // a fresh RandomState is seeded again, which is random enough to spread requests
        let share = RandomState::new().hash_one(failures) % 1000;
        self.after(failures).mul_f64(1.0 - 0.25 * share as f64 / 1000.0)
    }
}

/// Failures in a row of one kind.
#[derive(Debug)]
pub(super) struct Backoff {
    pauses: Pauses,
    failures: u32,
    last_failure: Option<Instant>,
}

impl Backoff {
    pub(super) fn new(pauses: Pauses) -> Self {
        Backoff { pauses, failures: 0, last_failure: None }
    }

    /// Notes a failure and says how long to wait.
    ///
    /// A kind that failed long ago begins again: a quiet kind gets no event that could say it works.
    pub(super) fn failed(&mut self, now: Instant) -> Duration {
        let quiet = self.last_failure.map(|last| now.duration_since(last));
        if quiet.is_some_and(|quiet| quiet > 2 * self.pauses.longest) {
            self.failures = 0;
        }
        self.failures = self.failures.saturating_add(1);
        self.last_failure = Some(now);
        self.pauses.jittered(self.failures)
    }

    /// Notes that a watch delivered a change. A list alone is no proof: a server may list and refuse
    /// every watch, and would then be asked for everything without pause.
    pub(super) fn worked(&mut self) {
        self.failures = 0;
        self.last_failure = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAUSES: Pauses = Pauses { first: Duration::from_millis(800), longest: Duration::from_secs(30) };

    #[test]
    fn pauses_double_up_to_the_cap() {
        let pauses: Vec<_> = (1..=8).map(|failures| PAUSES.after(failures).as_millis()).collect();
        assert_eq!(pauses, [800, 1600, 3200, 6400, 12800, 25600, 30000, 30000]);
        assert_eq!(PAUSES.after(u32::MAX), PAUSES.longest);
    }

    #[test]
    fn jitter_only_shortens_and_never_by_more_than_a_quarter() {
        for failures in 1..200 {
            let (pause, jittered) = (PAUSES.after(failures), PAUSES.jittered(failures));
            assert!(jittered <= pause && jittered >= pause.mul_f64(0.75), "{jittered:?} of {pause:?}");
        }
    }

    #[test]
    fn a_change_and_a_long_quiet_time_reset() {
        let (mut backoff, start) = (Backoff::new(PAUSES), Instant::now());
        for _ in 0..10 {
            backoff.failed(start);
        }
        assert!(backoff.failed(start) > Duration::from_secs(20));
        backoff.worked();
        assert!(backoff.failed(start) <= PAUSES.first);
        for _ in 0..10 {
            backoff.failed(start);
        }
        assert!(backoff.failed(start + Duration::from_secs(59)) > Duration::from_secs(20));
        assert!(backoff.failed(start + Duration::from_secs(120)) <= PAUSES.first);
    }
}
