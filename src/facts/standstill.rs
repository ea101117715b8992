//! Since when work stands still that should end: one rule for everything that Longhorn does in the background.
//!
//! Work is seen to move by its mark: its state and its progress. A watch remembers when it saw a mark for the first time. A recording and
//! a single look see one mark; there, work stands still that is older than the slowest work with that progress, and of any other the
//! report says that time has to tell.

use jiff::{SignedDuration, Timestamp};

use crate::age::{Begun, observe};
use crate::check::{Cause, Evidence, EvidenceSource, Outcome};
use crate::cluster::Cluster;
use crate::patience::{QUICKEST_PERCENT, SLOW_RATE, SLOWEST_PERCENT, SLOWEST_RATE};

/// Work that is under way.
pub struct Work<'a> {
    pub fact: &'static str,
    /// What is worked on.
    pub object: &'a str,
    /// State and progress: what changes while it moves.
    pub mark: String,
    /// In percent; 0 where nothing tells.
    pub progress: i64,
    /// How much is copied at most, in bytes; 0 where nothing tells.
    pub size: i64,
    /// When it began, where objects say.
    pub begun: Option<Timestamp>,
    /// How long a mark may last.
    pub patience: SignedDuration,
}

/// Work that has stalled.
pub struct Standstill {
    pub since: Timestamp,
    pub evidence: Evidence,
}

/// How long a percent of that many bytes is waited for: as long as usual, of what is very large longer.
pub fn a_percent(size: i64, usual: SignedDuration) -> SignedDuration {
    let slow = SignedDuration::from_secs(size.max(0) / 100 / SLOW_RATE);
    usual.max(slow.min(SLOWEST_PERCENT))
}

impl Work<'_> {
    /// What a percent may take at the slowest: of something small less than of something large.
    fn slowest_percent(&self) -> SignedDuration {
        match self.size {
            ..=0 => SLOWEST_PERCENT,
            size => {
                SignedDuration::from_secs(size / 100 / SLOWEST_RATE).clamp(QUICKEST_PERCENT, SLOWEST_PERCENT)
            }
        }
    }

    /// Whether it has stalled; where only time can tell, the outcome notes it under the cause.
    pub fn stands(&self, cluster: &Cluster, out: &mut Outcome, cause: &'static Cause) -> Option<Standstill> {
        let key = format!("{} {}", self.object, self.mark);
        let age = observe(cluster, out, self.fact, &key, Begun::At(None));
        let slowest =
            self.slowest_percent().checked_mul(i32::try_from(self.progress.max(0)).unwrap_or(i32::MAX))?;
        let begun = self.begun.and_then(|begun| begun.checked_add(slowest).ok());
        let begun = begun.filter(|_| self.progress == 0 || age.is_unknown());
        let since = [age.since, begun].into_iter().flatten().min();
        let patience = a_percent(self.size, self.patience);
        let since = since.filter(|since| cluster.age(*since) >= patience);
        if since.is_none() && age.is_unknown() {
            out.time_tells(cause, self.object);
        }
        let since = since?;
        let evidence = match age.since {
            Some(seen) => EvidenceSource::History.says(format!("no progress since {seen}")),
            None => EvidenceSource::Api.says(match self.begun {
                Some(begun) => format!("began at {begun}: even a slow run would have finished by now"),
                None => "the start time is unknown (no object records it)".to_owned(),
            }),
        };
        Some(Standstill { since, evidence })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks;
    use crate::testing::{cluster_at, live_at, time};

    const NOW: &str = "2026-01-01T12:00:00Z";
    const HOUR: SignedDuration = SignedDuration::from_hours(1);

    fn work(progress: i64, begun: Option<&str>) -> Work<'static> {
        let mark = format!("in_progress {progress}");
        Work { fact: "restore", object: "v", mark, progress, size: 0, begun: begun.map(time), patience: HOUR }
    }

    #[test]
    fn a_percent_of_little_takes_less_than_one_of_much() {
        let cluster = cluster_at(NOW, "");
        let stands = |size: i64, progress: i64, begun: &str| {
            let work = Work { size, ..work(progress, Some(begun)) };
            work.stands(&cluster, &mut outcome(&cluster), cause()).is_some()
        };
        let (day, hours) = ("2025-12-31T12:00:00Z", "2026-01-01T07:00:00Z");
        assert!(stands(200_000_000_000, 4, day), "eight gigabytes in a day");
        assert!(!stands(200_000_000_000, 40, day), "eighty gigabytes in a day, by a slow line");
        assert!(!stands(5_500_000_000_000, 12, hours) && !stands(5_500_000_000_000, 3, day));
        assert!(
            !stands(i64::MAX, 3, day) && stands(i64::MAX, 1, day),
            "never longer than what is of unknown size"
        );
        assert!(
            !stands(i64::MIN, 3, day) && !stands(20, 40, hours) && stands(20, 40, day),
            "small ones have a beginning, too"
        );
    }

    fn outcome(cluster: &Cluster) -> Outcome<'_> {
        Outcome::new(checks::CATALOGUE.checks[0], cluster)
    }

    fn cause() -> &'static Cause {
        checks::CATALOGUE.checks[0].causes[0]
    }

    #[test]
    fn a_recording_says_what_only_time_can_tell() {
        let cluster = cluster_at(NOW, "");
        for (progress, begun, stands) in [
            (0, Some("2026-01-01T11:00:00Z"), true),
            (0, Some("2026-01-01T11:00:01Z"), false),
            (2, Some("2025-12-31T11:00:00Z"), true),
            (2, Some("2025-12-31T12:00:00Z"), false),
            (50, None, false),
            (i64::MAX, Some("2025-12-31T12:00:00Z"), false),
        ] {
            let mut out = outcome(&cluster);
            let found = work(progress, begun).stands(&cluster, &mut out, cause()).is_some();
            assert_eq!(found, stands, "{progress} {begun:?}");
            let noted = out.time_tells.contains_key(cause().id);
            assert_eq!(noted, !stands, "{progress} {begun:?}");
        }
    }

    #[test]
    fn a_watch_counts_from_the_first_sight_of_a_mark() {
        let mut cluster = live_at(NOW, "");
        let stands = |cluster: &Cluster, progress| {
            work(progress, None).stands(cluster, &mut outcome(cluster), cause()).is_some()
        };
        assert!(!stands(&cluster, 40));
        let mut out = outcome(&cluster);
        work(40, None).stands(&cluster, &mut out, cause());
        assert!(out.time_tells.is_empty(), "a watch goes on");
        let facts = std::mem::take(&mut out.observed);
        cluster.history.keep_observed(facts, &Default::default(), cluster.now - HOUR);
        assert!(stands(&cluster, 40));
        assert!(!stands(&cluster, 41), "it has moved");
    }
}
