//! What the log says of kinds that cannot be followed. One outage of the API server hits every kind, each at its own
//! time, so kinds that fail alike are gathered: one line when it begins, one when it is over.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::Instant;

use crate::ApiErrorReason;
use crate::longhorn::Resource;
use crate::sync;

/// Kinds that fail within this time are reported in one line. What is over by then is reported at debug only.
const FIRST: Duration = Duration::from_secs(2);
/// The same for kinds that follow into or out of an outage that was reported: a watch that hangs shows within the
/// minute, and a pause after failures is half of one.
const NEXT: Duration = Duration::from_secs(60);

/// The outages of the moment, by what goes wrong.
#[derive(Debug, Default)]
pub(super) struct Outages {
    /// The kinds that are followed, which a line does not name where all of them are meant.
    followed: BTreeSet<Resource>,
    by_class: Mutex<BTreeMap<&'static str, Outage>>,
}

#[derive(Debug)]
struct Outage {
    /// Kinds that the log says cannot be followed.
    announced: BTreeSet<Resource>,
    /// Kinds that fail and are not announced yet.
    joined: BTreeSet<Resource>,
    /// Kinds that work again and are not announced yet.
    left: BTreeSet<Resource>,
    reason: ApiErrorReason,
    message: String,
    /// When what has gathered is reported.
    due: Option<Instant>,
}

/// A line of the log.
#[derive(Debug, PartialEq, Eq)]
enum OutageLine {
    Begins { kinds: BTreeSet<Resource>, reason: ApiErrorReason, message: String },
    Ends { kinds: BTreeSet<Resource>, failing: usize },
}

impl Outages {
    pub(super) fn new(followed: BTreeSet<Resource>) -> Self {
        Outages { followed, by_class: Mutex::default() }
    }

    /// A kind cannot be followed.
    pub(super) fn failed(self: &Arc<Self>, kind: Resource, reason: ApiErrorReason, message: &str) {
        let due = self.note_failed(kind, reason, message, Instant::now());
        self.tell_at(due);
    }

    /// A kind is followed again.
    pub(super) fn recovered(self: &Arc<Self>, kind: Resource) {
        let (lines, due) = self.note_recovered(kind, Instant::now());
        self.log(&lines);
        self.tell_at(due);
    }

    fn tell_at(self: &Arc<Self>, due: Option<Instant>) {
        let Some(due) = due else { return };
        let outages = self.clone();
        tokio::spawn(async move {
            tokio::time::sleep_until(due).await;
            outages.log(&outages.due(Instant::now()));
        });
    }

    /// Returns when to look whether there is something to tell, where no one looks yet.
    fn note_failed(
        &self,
        kind: Resource,
        reason: ApiErrorReason,
        message: &str,
        now: Instant,
    ) -> Option<Instant> {
        let mut outages = sync::lock(&self.by_class);
        let alike = class(reason);
        outages.retain(|class, outage| *class == alike || !outage.forget(kind));
        let outage = outages.entry(alike).or_insert_with(|| Outage {
            announced: BTreeSet::new(),
            joined: BTreeSet::new(),
            left: BTreeSet::new(),
            reason,
            message: message.to_owned(),
            due: None,
        });
        if outage.left.remove(&kind) {
            outage.announced.insert(kind);
        }
        if outage.announced.contains(&kind) || !outage.joined.insert(kind) {
            return None;
        }
        if outage.joined.len() == 1 {
            (outage.reason, outage.message) = (reason, message.to_owned());
        }
        outage.due_in(if outage.announced.is_empty() { FIRST } else { NEXT }, now)
    }

    fn note_recovered(&self, kind: Resource, now: Instant) -> (Vec<OutageLine>, Option<Instant>) {
        let mut outages = sync::lock(&self.by_class);
        let (mut lines, mut due) = (Vec::new(), None);
        outages.retain(|_, outage| {
            outage.joined.remove(&kind);
            if outage.announced.remove(&kind) {
                outage.left.insert(kind);
                due = due.or(outage.due_in(NEXT, now));
            }
            let over = outage.announced.is_empty() && outage.joined.is_empty();
            if over && !outage.left.is_empty() {
                lines.push(outage.ends());
            }
            !over
        });
        (lines, due)
    }

    fn log(&self, lines: &[OutageLine]) {
        lines.iter().for_each(|line| line.log(&self.followed));
    }

    /// What is to be reported by now.
    fn due(&self, now: Instant) -> Vec<OutageLine> {
        let mut lines = Vec::new();
        for outage in
            sync::lock(&self.by_class).values_mut().filter(|outage| outage.due.is_some_and(|due| due <= now))
        {
            outage.due = None;
            if !outage.joined.is_empty() {
                let kinds = std::mem::take(&mut outage.joined);
                outage.announced.extend(&kinds);
                let (reason, message) = (outage.reason, outage.message.clone());
                lines.push(OutageLine::Begins { kinds, reason, message });
            }
            if !outage.left.is_empty() {
                lines.push(outage.ends());
            }
        }
        lines
    }
}

impl Outage {
    fn due_in(&mut self, wait: Duration, now: Instant) -> Option<Instant> {
        if self.due.is_some() {
            return None;
        }
        self.due = Some(now + wait);
        self.due
    }

    /// A kind fails otherwise now; true when nothing is left.
    fn forget(&mut self, kind: Resource) -> bool {
        for kinds in [&mut self.announced, &mut self.joined, &mut self.left] {
            kinds.remove(&kind);
        }
        self.announced.is_empty() && self.joined.is_empty() && self.left.is_empty()
    }

    fn ends(&mut self) -> OutageLine {
        OutageLine::Ends {
            kinds: std::mem::take(&mut self.left),
            failing: self.announced.len() + self.joined.len(),
        }
    }
}

impl OutageLine {
    fn log(&self, followed: &BTreeSet<Resource>) {
        let names = |kinds| names(kinds, followed);
        match self {
            OutageLine::Begins { kinds, reason, message } => {
                let (resources, reason) = (names(kinds), reason.as_str());
                tracing::warn!(resources, reason, message, "cannot follow; retrying");
            }
            OutageLine::Ends { kinds, failing: 0 } => {
                tracing::info!(resources = names(kinds), "the API server answers again");
            }
            OutageLine::Ends { kinds, failing } => {
                tracing::info!(resources = names(kinds), failing, "the API server answers again for some");
            }
        }
    }
}

fn names(kinds: &BTreeSet<Resource>, followed: &BTreeSet<Resource>) -> String {
    if followed.is_subset(kinds) {
        return format!("all {}", kinds.len());
    }
    kinds.iter().map(|kind| kind.label()).collect::<Vec<_>>().join(",")
}

/// An API server that goes away refuses connections, is silent and answers 503 by turns.
fn class(reason: ApiErrorReason) -> &'static str {
    use ApiErrorReason::*;
    match reason {
        Connection | Timeout | ServerError | Throttled => "server",
        other => other.as_str(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ApiErrorReason::*;

    fn kinds(lines: &[OutageLine]) -> Vec<(bool, usize)> {
        let count = |line: &OutageLine| match line {
            OutageLine::Begins { kinds, .. } => (true, kinds.len()),
            OutageLine::Ends { kinds, .. } => (false, kinds.len()),
        };
        lines.iter().map(count).collect()
    }

    #[test]
    fn one_outage_of_all_kinds_is_two_lines() {
        let (outages, start) = (Outages::default(), Instant::now());
        let (mut told, mut due) = (Vec::new(), Vec::new());
        for (at, kind) in Resource::all().enumerate() {
            let reason = [Connection, Timeout, ServerError][at % 3];
            due.extend(outages.note_failed(kind, reason, "away", start + Duration::from_millis(at as u64)));
            assert_eq!(outages.note_failed(kind, Throttled, "still", start), None);
        }
        assert_eq!(due, [start + FIRST]);
        assert!(outages.due(start + FIRST / 2).is_empty(), "it gathers");
        told.extend(outages.due(start + FIRST));
        for (at, kind) in Resource::all().enumerate() {
            told.extend(outages.note_recovered(kind, start + Duration::from_secs(90 + at as u64)).0);
        }
        let all = Resource::all().count();
        assert_eq!(kinds(&told), [(true, all), (false, all)]);
        assert!(outages.due(start + 10 * NEXT).is_empty() && sync::lock(&outages.by_class).is_empty());
    }

    #[test]
    fn what_is_over_at_once_is_not_told_and_what_goes_on_is() {
        let (outages, start) = (Outages::default(), Instant::now());
        outages.note_failed(Resource::Volumes, Connection, "reset", start);
        assert!(outages.note_recovered(Resource::Volumes, start).0.is_empty());
        assert!(outages.due(start + FIRST).is_empty());

        outages.note_failed(Resource::Volumes, Decode, "odd", start);
        outages.note_failed(Resource::KubeNodes, Connection, "reset", start);
        assert_eq!(kinds(&outages.due(start + FIRST)), [(true, 1), (true, 1)], "they do not fail alike");
        outages.note_failed(Resource::Pods, Connection, "reset", start + FIRST);
        assert!(outages.due(start + NEXT).is_empty());
        assert_eq!(kinds(&outages.due(start + FIRST + NEXT)), [(true, 1)], "later ones are told, too");
        let (lines, due) = outages.note_recovered(Resource::KubeNodes, start);
        assert!(lines.is_empty() && due.is_some(), "another still fails");
        assert_eq!(kinds(&outages.due(start + NEXT)), [(false, 1)]);
        outages.note_failed(Resource::Pods, Forbidden, "403", start);
        assert_eq!(
            sync::lock(&outages.by_class).keys().copied().collect::<Vec<_>>(),
            ["decode", "forbidden"]
        );
    }
}
