//! Since when something holds, as objects say or as this exporter saw, and what an unknown age counts as.
//!
//! A fact ages in three kinds of looks at a cluster. `serve` watches: it remembers when it first saw the fact, and what it has not
//! watched for long enough waits, so that nothing appears at a start and goes again. A recording and a single look of `check`
//! remember nothing; both are taken because something does not move, so an age that no object tells counts there as each
//! caller says ([`Unknown`]), and the report names what time has to tell ([`Outcome::time_tells`]).

use jiff::{SignedDuration, Timestamp};

use crate::check::{Evidence, EvidenceSource, Outcome, Since};
use crate::cluster::Cluster;
use crate::longhorn::{Kind, Store};
use crate::looping::Loop;

/// How far clocks may differ. A time written in an object that lies further ahead says nothing.
const SKEW: SignedDuration = SignedDuration::from_mins(5);

/// What holds when the exporter begins to watch may have held for long.
const FIRST_LOOK: SignedDuration = SignedDuration::from_mins(1);

/// What objects say about the beginning of a fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begun {
    /// It began then; `None` where nothing is written.
    At(Option<Timestamp>),
    /// It began then or later; `None` where nothing is written.
    NotBefore(Option<Timestamp>),
}

/// What an age counts as that neither objects nor a watch tell: only in a recording and in a single look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unknown {
    /// Long enough: the fact does not pass on its own, or someone looks because it does not.
    Counts,
    /// Not long enough: the fact is part of ordinary work, and time has to tell.
    Waits,
}

/// What an age rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AgeSource {
    /// A time in an object.
    Objects,
    /// This exporter saw it hold.
    Watch,
    Nothing,
}

/// How long something has held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Age {
    /// Since when, as far as known; in a watch at least since then.
    pub since: Option<Timestamp>,
    /// It cannot have begun before.
    pub earliest: Option<Timestamp>,
    /// When the youngest of the objects that it is about was created, where nothing dates it.
    born: Option<Timestamp>,
    source: AgeSource,
    now: Timestamp,
    watched: bool,
}

/// Notes that a fact about an object holds, and dates it.
pub fn observe(cluster: &Cluster, out: &mut Outcome, fact: &'static str, object: &str, begun: Begun) -> Age {
    let seen = out.first_seen(fact, object);
    let plausible = |moment: &Timestamp| moment.duration_since(cluster.now) <= SKEW;
    let (at, earliest) = match begun {
        Begun::At(at) => (at.filter(plausible), None),
        Begun::NotBefore(earliest) => (None, earliest.filter(plausible)),
    };
    let (since, source) = match (at, seen) {
        (Some(at), _) => (Some(at), AgeSource::Objects),
        (None, Some(seen)) => (Some(seen), AgeSource::Watch),
        (None, None) => (None, AgeSource::Nothing),
    };
    let born = if since.is_none() { born(cluster, object).filter(plausible) } else { None };
    Age { since, earliest, born, source, now: cluster.now, watched: cluster.is_watched() }
}

/// When the youngest object that is named here was created: nothing about it is older.
fn born(cluster: &Cluster, named: &str) -> Option<Timestamp> {
    fn of<T: Kind>(store: &Store<T>, name: &str) -> Option<Timestamp> {
        store.get(name)?.meta().created()
    }
    let objects = &cluster.objects;
    let created = |name| {
        let young = [of(&objects.volumes, name), of(&objects.replicas, name), of(&objects.engines, name)];
        let kept = [
            of(&objects.backing_images, name),
            of(&objects.backups, name),
            of(&objects.longhorn_nodes, name),
        ];
        young.into_iter().chain(kept).flatten().max()
    };
    named.split([' ', '/']).filter_map(created).max()
}

impl Age {
    /// True when it has held for the limit.
    pub fn at_least(&self, limit: SignedDuration, unknown: Unknown) -> bool {
        let old = |moment: Timestamp| self.now.duration_since(moment) >= limit;
        match self.since {
            _ if self.earliest.max(self.born).is_some_and(|earliest| !old(earliest)) => false,
            Some(since) => old(since),
            None => !self.watched && unknown == Unknown::Counts,
        }
    }

    /// True where neither objects nor a watch tell, and none goes on: what it counts as is a choice.
    pub fn is_unknown(&self) -> bool {
        self.since.is_none() && !self.watched
    }

    /// Since when, or else the moment before which it cannot have begun.
    pub fn since_or_later(&self) -> Since {
        Since { at: self.since.or(self.earliest), not_before: self.earliest }
    }

    /// What the age rests on, in one sentence.
    pub fn evidence(&self) -> Evidence {
        let (source, text) = match (self.source, self.since_or_later().at) {
            (AgeSource::Watch, Some(since)) => (EvidenceSource::History, format!("observed since {since}")),
            (AgeSource::Objects, Some(since)) => {
                (EvidenceSource::Api, format!("began at {since} (from object timestamps)"))
            }
            (_, Some(earliest)) => (EvidenceSource::Api, format!("began at {earliest} or later")),
            (_, None) if self.watched => (EvidenceSource::History, "observed for the first time".to_owned()),
            (_, None) => (EvidenceSource::Api, "the start time is unknown (no object records it)".to_owned()),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks;
    use crate::testing::{cluster_at, live_at, one_look_at, time};

    const NOW: &str = "2026-01-01T12:00:00Z";
    const TEN: SignedDuration = SignedDuration::from_mins(10);

    /// The fact after it was watched for these seconds; 0 is the first look.
    fn watched(begun: Begun, seconds: i64) -> Age {
        let mut cluster = live_at(NOW, "");
        let check = checks::CATALOGUE.checks[0];
        if seconds > 0 {
            let mut out = Outcome::new(check, &cluster);
            observe(&cluster, &mut out, "fact", "object", begun);
            let seen = cluster.now - SignedDuration::from_secs(seconds);
            let facts = std::mem::take(&mut out.observed);
            cluster.history.keep_observed(facts, &Default::default(), seen);
        }
        observe(&cluster, &mut Outcome::new(check, &cluster), "fact", "object", begun)
    }

    fn once(cluster: &Cluster, begun: Begun) -> Age {
        observe(cluster, &mut Outcome::new(checks::CATALOGUE.checks[0], cluster), "fact", "object", begun)
    }

    #[test]
    fn one_rule_for_every_look() {
        let at = |text| Some(time(text));
        let (old, young) = (at("2026-01-01T11:50:00Z"), at("2026-01-01T11:50:01Z"));
        let (ahead, skewed) = (at("2026-01-01T12:05:01Z"), at("2026-01-01T12:05:00Z"));
        // whether it has held for ten minutes: seen for the first time, watched for ten minutes, in a recording or a single look
        // where the unknown counts, and where it waits
        for (begun, first, later, counts, waits) in [
            (Begun::At(old), true, true, true, true),
            (Begun::At(young), false, false, false, false),
            (Begun::At(None), false, true, true, false),
            (Begun::At(ahead), false, true, true, false),
            (Begun::At(skewed), false, false, false, false),
            (Begun::NotBefore(old), false, true, true, false),
            (Begun::NotBefore(young), false, false, false, false),
            (Begun::NotBefore(None), false, true, true, false),
            (Begun::NotBefore(ahead), false, true, true, false),
        ] {
            for unknown in [Unknown::Counts, Unknown::Waits] {
                assert_eq!(watched(begun, 0).at_least(TEN, unknown), first, "first look, {begun:?}");
                assert_eq!(watched(begun, 599).at_least(TEN, unknown), first, "not yet, {begun:?}");
                assert_eq!(watched(begun, 600).at_least(TEN, unknown), later, "watched, {begun:?}");
            }
            for cluster in [cluster_at(NOW, ""), one_look_at(NOW, "")] {
                let age = once(&cluster, begun);
                assert_eq!(age.at_least(TEN, Unknown::Counts), counts, "{begun:?}");
                assert_eq!(age.at_least(TEN, Unknown::Waits), waits, "{begun:?}");
            }
        }
    }

    #[test]
    fn nothing_about_an_object_is_older_than_the_object() {
        let volume = |made: &str| {
            let kind = "apiVersion: longhorn.io/v1beta2\nkind: Volume";
            let made = format!("{{name: v, namespace: longhorn-system, creationTimestamp: '{made}'}}");
            cluster_at(NOW, &format!("{kind}\nmetadata: {made}"))
        };
        let holds = |made, begun| {
            let cluster = volume(made);
            let out = &mut Outcome::new(checks::CATALOGUE.checks[0], &cluster);
            observe(&cluster, out, "fact", "Volume longhorn-system/v/d", begun).at_least(TEN, Unknown::Counts)
        };
        assert!(
            holds("2026-01-01T11:50:00Z", Begun::At(None)) && !holds("2026-01-01T11:50:01Z", Begun::At(None))
        );
        let earlier = Begun::NotBefore(Some(time("2026-01-01T11:00:00Z")));
        assert!(!holds("2026-01-01T11:50:01Z", earlier), "created again since");
    }

    #[test]
    fn what_holds_at_the_first_look_began_before_it() {
        let mut cluster = cluster_at(NOW, "");
        assert!(!began_under_watch(&cluster, cluster.now), "watched by no one");
        cluster.history.started = Some(cluster.now - FIRST_LOOK);
        assert!(!began_under_watch(&cluster, cluster.now));
        assert!(began_under_watch(&cluster, cluster.now + SignedDuration::from_secs(1)));
    }

    #[test]
    fn an_age_says_what_it_rests_on() {
        let old = Some(time("2026-01-01T11:50:00Z"));
        let recorded = cluster_at(NOW, "");
        let says = |age: Age| age.evidence().text;
        assert_eq!(
            says(once(&recorded, Begun::At(old))),
            "began at 2026-01-01T11:50:00Z (from object timestamps)"
        );
        assert_eq!(says(once(&recorded, Begun::NotBefore(old))), "began at 2026-01-01T11:50:00Z or later");
        assert_eq!(
            says(once(&recorded, Begun::At(None))),
            "the start time is unknown (no object records it)"
        );
        assert_eq!(says(watched(Begun::At(None), 0)), "observed for the first time");
        assert_eq!(says(watched(Begun::NotBefore(old), 60)), "observed since 2026-01-01T11:59:00Z");
        assert_eq!(once(&recorded, Begun::NotBefore(old)).since, None);
        assert_eq!(once(&recorded, Begun::NotBefore(old)).since_or_later().at, old);
    }
}
