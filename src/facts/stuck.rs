//! States that are normal for a while: how long they have lasted, judged only by what is known.

use jiff::{SignedDuration, Timestamp};

use super::age::Held;
use super::api;
use crate::check::{Evidence, Outcome};
use crate::cluster::Cluster;

/// What objects say about the beginning of a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begun {
    /// It began then; `None` where nothing is written.
    At(Option<Timestamp>),
    /// It began then or later; `None` where nothing is written.
    NotBefore(Option<Timestamp>),
}

/// A state that has lasted longer than is normal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lasting {
    /// Since when at least; unknown only in a recording.
    pub since: Option<Timestamp>,
    watched: bool,
}

/// The state if it has lasted for the limit: by the time that an object carries, or because this exporter has watched it
/// for so long. What is not known does not count, so that after a start of the exporter a state may take its time
/// once more. A recording is taken because something does not move, so an unknown age counts there.
pub fn lasting(
    cluster: &Cluster,
    out: &mut Outcome,
    fact: &'static str,
    object: &str,
    begun: Begun,
    limit: SignedDuration,
) -> Option<Lasting> {
    let seen = out.first_seen(fact, object);
    let old = |moment: Timestamp| cluster.age(moment) >= limit;
    match begun {
        Begun::At(Some(at)) => old(at).then_some(Lasting { since: Some(at), watched: false }),
        // it cannot have lasted that long
        Begun::NotBefore(Some(earliest)) if !old(earliest) => None,
        Begun::NotBefore(earliest) if cluster.is_recorded() => {
            Some(Lasting { since: earliest, watched: false })
        }
        Begun::At(None) if cluster.is_recorded() => Some(Lasting { since: None, watched: false }),
        Begun::At(None) | Begun::NotBefore(_) => {
            seen.filter(|seen| old(*seen)).map(|seen| Lasting { since: Some(seen), watched: true })
        }
    }
}

impl Lasting {
    /// What the age rests on, in one sentence.
    pub fn evidence(&self) -> Evidence {
        match self.since {
            Some(since) if !self.watched => api(format!("by the objects it began at {since} or later")),
            since => Held { since, lasting: true, watched: self.watched }.evidence(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks;
    use crate::testing::{cluster_at, live_at, time};

    const NOW: &str = "2026-01-01T12:00:00Z";
    const TEN: SignedDuration = SignedDuration::from_mins(10);

    fn judged(cluster: &Cluster, begun: Begun) -> Option<Option<Timestamp>> {
        let mut out = Outcome::new(checks::ALL[0], cluster);
        lasting(cluster, &mut out, "fact", "object", begun, TEN).map(|lasting| lasting.since)
    }

    #[test]
    fn only_what_is_known_counts() {
        let (old, young) = (Some(time("2026-01-01T11:50:00Z")), Some(time("2026-01-01T11:50:01Z")));
        let (live, recorded) = (live_at(NOW, ""), cluster_at(NOW, ""));
        for (begun, in_live, in_recording) in [
            (Begun::At(old), Some(old), Some(old)),
            (Begun::At(young), None, None),
            (Begun::At(None), None, Some(None)),
            (Begun::NotBefore(old), None, Some(old)),
            (Begun::NotBefore(young), None, None),
            (Begun::NotBefore(None), None, Some(None)),
        ] {
            assert_eq!(judged(&live, begun), in_live, "{begun:?}");
            assert_eq!(judged(&recorded, begun), in_recording, "{begun:?}");
        }
    }
}
