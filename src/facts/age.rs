//! Since when a fact holds: as objects say, or as this exporter saw.

use jiff::{SignedDuration, Timestamp};

use crate::check::{Evidence, EvidenceSource, Outcome};
use crate::cluster::Cluster;
use crate::facts::looping::Loop;

/// How far clocks may differ. A time written in an object that lies further ahead says nothing.
const SKEW: SignedDuration = SignedDuration::from_mins(5);

/// What holds when the exporter begins to watch may have held for long.
const FIRST_LOOK: SignedDuration = SignedDuration::from_mins(1);

/// How long something has held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held {
    /// Since when, if known.
    pub since: Option<Timestamp>,
    /// True when it outlived the limit, or when nothing says that it is young.
    pub lasting: bool,
    /// True when the exporter saw it hold, false when objects tell the time.
    pub watched: bool,
}

/// Ages a fact. `not_before` is a moment written in the objects before which the fact cannot have
/// begun, if there is one; it speaks for a young fact. Otherwise the exporter's own memory tells. In
/// a recording, and in the first minute of watching, an unknown age counts as lasting.
pub fn held(
    cluster: &Cluster,
    out: &mut Outcome,
    fact: &'static str,
    object: &str,
    not_before: Option<Timestamp>,
    limit: SignedDuration,
) -> Held {
    let noted = out.first_seen(fact, object);
    let not_before = not_before.filter(|moment| moment.duration_since(cluster.now) <= SKEW);
    let watched = noted.is_some();
    if not_before.is_some_and(|moment| cluster.age(moment) < limit) {
        return Held { since: noted.or(not_before), lasting: false, watched };
    }
    let lasting = match (noted, cluster.history.started) {
        (Some(since), _) => cluster.age(since) >= limit,
        (None, started) => started.is_none_or(|started| cluster.age(started) < SignedDuration::from_mins(1)),
    };
    Held { since: noted, lasting, watched }
}

impl Held {
    /// What the age rests on, in one sentence.
    pub fn evidence(&self) -> Evidence {
        let (source, text) = match self.since {
            Some(since) if self.watched => (EvidenceSource::History, format!("seen to hold since {since}")),
            Some(since) => (EvidenceSource::Api, format!("it cannot have begun before {since}")),
            None if self.lasting => {
                (EvidenceSource::Api, "when this began is not known: no object has the time".to_owned())
            }
            None => (EvidenceSource::History, "seen for the first time".to_owned()),
        };
        source.says(text)
    }
}

/// Since when a container of this pod crash-loops, where that is known: from its only run so far, else as this exporter saw it
/// begin. The kubelet keeps the last run only, which says nothing of the ones before it.
pub fn loop_since(cluster: &Cluster, out: &mut Outcome, pod: &str, crash: &Loop<'_>) -> Option<Timestamp> {
    let seen = out.first_seen("looping", pod).filter(|seen| began_under_watch(cluster, *seen));
    let first = crash.end.and_then(|end| end.started_at.get()).filter(|_| crash.restarts <= 1);
    first.into_iter().chain(seen).min()
}

/// True when a fact was seen to begin, rather than to hold already at the exporter's first look.
pub fn began_under_watch(cluster: &Cluster, seen: Timestamp) -> bool {
    cluster.history.started.is_some_and(|started| seen.duration_since(started) > FIRST_LOOK)
}
