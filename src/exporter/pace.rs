//! How evaluations are spread over time, by what they cost.

use jiff::{SignedDuration, Timestamp};

/// How often what changes all the time is evaluated: so rarely that it takes 0.2 % of a core with its pages, however
/// many ask. One of 20 ms answers for 10 s, one of a small cluster for less than a second.
const COST_FACTOR: f64 = 500.0;
/// Nor longer than this, however dear it was: alerts wait for minutes, and what is older than a minute is not handed out.
const LONGEST_PAUSE: SignedDuration = SignedDuration::from_secs(45);
/// Evaluations that may come at once after a quiet time, so that its end shows at once.
pub(super) const AT_ONCE: i32 = 3;
/// Facts age where nothing changes: so long a verdict stands of which nothing else has changed. What costs more than this pays
/// for is looked at less often.
pub(super) const TICK: SignedDuration = SignedDuration::from_secs(15);

/// How evaluations are spread.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    looked: Timestamp,
    paid_until: Timestamp,
    /// How long an evaluation is good for in which every check ran.
    pub(super) whole: SignedDuration,
    /// The same by the cost of the last one alone.
    last: SignedDuration,
}

impl Pace {
    /// The pace after an evaluation that cost so much with its pages, and in which all checks ran or some.
    pub(super) fn after(before: Option<Pace>, seconds: f64, all_ran: bool, now: Timestamp) -> Pace {
        let last = good_for(seconds);
        // of two the cheaper counts: a thread that waited for its turn on a busy machine cost nothing meanwhile
        let cost = before.map_or(last, |before| before.last.min(last));
        let (whole, last) = match before {
            Some(before) if !all_ran => (before.whole.max(cost), before.last),
            _ => (cost, last),
        };
        // what a clock that was set back would leave is no debt
        let owed =
            before.map(|pace| pace.paid_until).filter(|paid| (now..=now + whole * AT_ONCE).contains(paid));
        Pace { looked: now, paid_until: owed.unwrap_or(now) + cost, whole, last }
    }

    /// How long a verdict stands of which nothing has changed.
    pub(super) fn patience(&self) -> SignedDuration {
        TICK.max(self.whole)
    }

    /// Whether that time is over since the last look.
    pub(super) fn is_over(&self, now: Timestamp) -> bool {
        !(SignedDuration::ZERO..self.patience()).contains(&now.duration_since(self.looked))
    }

    /// Whether what has changed may be evaluated already.
    pub(super) fn allows_another(&self, now: Timestamp) -> bool {
        self.paid_until.duration_since(now) <= self.whole * (AT_ONCE - 1)
    }
}

/// How long what cost so many seconds is good for where something changes all the time.
pub(super) fn good_for(seconds: f64) -> SignedDuration {
    SignedDuration::try_from_secs_f64(COST_FACTOR * seconds)
        .map_or(LONGEST_PAUSE, |good| good.min(LONGEST_PAUSE))
}

/// Never negative, although a wall clock may be set back.
pub(super) fn seconds_between(begin: Timestamp, end: Timestamp) -> f64 {
    end.duration_since(begin).as_secs_f64().max(0.0)
}
