//! What was changed while this exporter watched, and which incidents there were: for days, and bounded.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::History;
use crate::edits::Edit;

/// How many edits are kept.
const MAX_EDITS: usize = 512;
/// How many incidents that are over are kept, and how many of those that last.
const MAX_INCIDENTS: usize = 256;
/// How long either is kept.
const LONGEST: SignedDuration = SignedDuration::from_hours(7 * 24);

/// An edit that was seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(expecting = "an object")]
pub struct Edited {
    /// When.
    pub at: Timestamp,
    /// What.
    pub edit: Edit,
    /// By which manager of fields, where that is known.
    #[serde(default)]
    pub by: String,
    /// It was made while no one watched: then or before.
    #[serde(default)]
    pub or_earlier: bool,
}

/// An incident that lasts or lasted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(expecting = "an object")]
pub struct Past {
    /// Id of its check.
    pub check: String,
    /// Its cause.
    pub cause: String,
    /// `info`, `warning` or `critical`.
    pub severity: String,
    /// What was wrong, in one sentence.
    pub title: String,
    /// Since when, or when it was first seen.
    pub began: Timestamp,
    /// When it was over; nothing while it lasts.
    #[serde(default)]
    pub ended: Option<Timestamp>,
}

/// What is kept of both.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, expecting = "an object")]
pub(super) struct Changes {
    edits: VecDeque<Edited>,
    lasting: Vec<Past>,
    over: VecDeque<Past>,
}

impl Changes {
    /// The same without what is still to come, and within bounds.
    pub(super) fn until(mut self, now: Timestamp) -> Self {
        self.edits.retain(|edited| edited.at <= now);
        self.lasting.retain(|past| past.began <= now);
        self.lasting.truncate(MAX_INCIDENTS);
        self.over.retain(|past| past.ended.is_some_and(|ended| ended <= now));
        bound(&mut self.edits, MAX_EDITS, |_| true);
        bound(&mut self.over, MAX_INCIDENTS, |_| true);
        self
    }
}

impl History {
    /// Notes edits.
    pub fn add_edits(&mut self, edits: impl IntoIterator<Item = Edited>) {
        let mut edits = edits.into_iter().peekable();
        if edits.peek().is_none() {
            return;
        }
        let kept = &mut Arc::make_mut(&mut self.changes).edits;
        kept.extend(edits);
        let newest = kept.back().map(|edited| edited.at);
        bound(kept, MAX_EDITS, |edited| Some(edited.at) >= newest.map(|newest| newest - LONGEST));
    }

    /// Edits that were seen, oldest first.
    pub fn edits(&self) -> impl Iterator<Item = &Edited> {
        self.changes.edits.iter()
    }

    /// Takes over the incidents of an evaluation. One is over when nothing of its check and cause is found any more; `holds` says
    /// that of each, and is true where that could not be seen.
    pub fn keep_incidents(&mut self, found: Vec<Past>, holds: impl Fn(&Past) -> bool, now: Timestamp) {
        if self.is_recorded() {
            return;
        }
        let known: BTreeSet<(&str, &str)> =
            self.changes.lasting.iter().map(|past| (past.check.as_str(), past.cause.as_str())).collect();
        let new = |past: &Past| !known.contains(&(past.check.as_str(), past.cause.as_str()));
        let new: Vec<Past> = found.into_iter().filter(new).collect();
        if new.is_empty() && self.changes.lasting.iter().all(&holds) {
            return;
        }
        let changes = Arc::make_mut(&mut self.changes);
        let (lasting, over): (Vec<Past>, Vec<Past>) =
            std::mem::take(&mut changes.lasting).into_iter().partition(holds);
        changes.lasting = lasting;
        let room = MAX_INCIDENTS.saturating_sub(changes.lasting.len());
        changes.lasting.extend(new.into_iter().take(room));
        changes.over.extend(over.into_iter().map(|past| Past { ended: Some(now), ..past }));
        bound(&mut changes.over, MAX_INCIDENTS, |past| past.ended >= Some(now - LONGEST));
    }

    /// Incidents that last and that are over.
    pub fn incidents(&self) -> impl Iterator<Item = &Past> {
        self.changes.over.iter().chain(&self.changes.lasting)
    }
}

fn bound<T>(kept: &mut VecDeque<T>, most: usize, is_recent: impl Fn(&T) -> bool) {
    while kept.len() > most || kept.front().is_some_and(|oldest| !is_recent(oldest)) {
        kept.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(hour: i64) -> Timestamp {
        Timestamp::from_second(hour * 3600).unwrap()
    }

    fn past(cause: &str, hour: i64) -> Past {
        let [check, severity, title] = ["c", "warning", "t"].map(str::to_owned);
        Past { check, cause: cause.into(), severity, title, began: at(hour), ended: None }
    }

    fn edited(number: i64, hour: i64) -> Edited {
        let (before, after) = (None, Some(number.to_string()));
        let edit = Edit { subject: "s".into(), field: "".into(), before, after };
        Edited { at: at(hour), edit, by: String::new(), or_earlier: false }
    }

    #[test]
    fn an_incident_is_over_when_nothing_of_it_is_found_and_begins_once() {
        let mut history = History::starting(at(0));
        history.keep_incidents(vec![past("a", 1), past("b", 1)], |_| true, at(1));
        history.keep_incidents(vec![past("a", 2)], |_| true, at(2));
        assert!(history.incidents().all(|past| past.began == at(1) && past.ended.is_none()));
        history.keep_incidents(Vec::new(), |past| past.cause == "b", at(3));
        let told: Vec<_> = history.incidents().map(|past| (past.cause.as_str(), past.ended)).collect();
        assert_eq!(told, [("a", Some(at(3))), ("b", None)]);
        let mut recorded = History::default();
        recorded.keep_incidents(vec![past("a", 1)], |_| true, at(1));
        assert_eq!(recorded.incidents().count(), 0);
    }

    #[test]
    fn there_is_room_for_so_many_and_for_so_long() {
        let mut history = History::starting(at(0));
        history.add_edits((0..1000).map(|number| edited(number, 1)));
        assert_eq!(history.edits().count(), MAX_EDITS);
        assert_eq!(history.edits().last(), Some(&edited(999, 1)), "the newest stay");
        history.add_edits([edited(0, 1 + 8 * 24)]);
        assert_eq!(history.edits().count(), 1);
        for hour in 0..1000 {
            history.keep_incidents(vec![past(&hour.to_string(), hour)], |_| false, at(hour));
        }
        assert!(history.incidents().count() <= 7 * 24 + 2, "{}", history.incidents().count());
    }
}
