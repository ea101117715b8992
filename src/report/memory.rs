//! What each check said last, so that only those run again for which something has changed.
//!
//! A check declares the kinds that it reads, and tests hold it to that (tests/suite/reads.rs): its verdict depends on these, on how
//! they could be read, and on the time. What a check has seen of ages stays as it is where it did not look again.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::TimeTells;
use crate::check::signatures::Signatures;
use crate::check::{Check, Fact, Finding, OfData, Omitted, Outcome, Sample, cut, truncate_to_worst};
use crate::cluster::{Cluster, Readability, ResourceStatus};
use crate::history::Observation;
use crate::longhorn::Resource;

/// What the checks of an exporter said last. The default remembers nothing.
#[derive(Debug, Default)]
pub struct Memory {
    /// How long a verdict stands where nothing has changed but the time.
    pub patience: SignedDuration,
    verdicts: BTreeMap<&'static str, Remembered>,
}

#[derive(Debug)]
struct Remembered {
    at: Timestamp,
    inputs: Vec<Input>,
    verdict: Verdict,
}

/// How a kind stood: its number of changes, how it could be read, what did not decode, and what the source said.
type Input = (u64, Readability, usize, Option<String>);

/// What is larger is made again rather than copied, and does not take memory twice.
const MAX_FINDINGS: usize = 50;
/// The same for the series of a check.
const MAX_SAMPLES: usize = 500;

/// What one check said.
#[derive(Debug, Clone, Default)]
pub(super) struct Verdict {
    pub(super) findings: Vec<Finding>,
    pub(super) stock: Vec<Fact>,
    pub(super) samples: BTreeMap<&'static str, Vec<Sample>>,
    pub(super) unknown: Vec<String>,
    pub(super) time_tells: Vec<TimeTells>,
    pub(super) of_data: Vec<(OfData, Vec<String>)>,
    pub(super) cut: Omitted,
    pub(super) omitted_series: BTreeMap<&'static str, usize>,
    /// What was seen to hold so far is to stay: the check could not look, or had no reason to.
    pub(super) blind: bool,
    /// It is one of before that still stands.
    pub(super) stood: bool,
}

impl Memory {
    /// An empty memory whose verdicts stand so long.
    pub fn new(patience: SignedDuration) -> Self {
        Memory { patience, ..Memory::default() }
    }

    /// The verdict of a check, which looks only if something that it reads has changed, or if its last look is too old.
    /// What it sees to hold is appended to `observed`.
    pub(super) fn verdict(
        &mut self,
        check: &'static Check,
        cluster: &Cluster,
        signatures: &Arc<Signatures>,
        most: Option<usize>,
        observed: &mut Vec<Observation>,
    ) -> Verdict {
        let inputs = if self.patience.is_zero() { None } else { inputs(check, cluster, signatures) };
        let still_stands = |known: &&Remembered| {
            let age = cluster.now.duration_since(known.at);
            inputs.as_ref() == Some(&known.inputs) && (SignedDuration::ZERO..self.patience).contains(&age)
        };
        if let Some(known) = self.verdicts.get(check.id).filter(still_stands) {
            return Verdict { blind: true, stood: true, ..known.verdict.clone() };
        }
        let verdict = run(check, cluster, signatures, most, observed);
        let remembered = inputs.filter(|_| verdict.is_small());
        match remembered.map(|inputs| Remembered { at: cluster.now, inputs, verdict: verdict.clone() }) {
            Some(remembered) => self.verdicts.insert(check.id, remembered),
            None => self.verdicts.remove(check.id),
        };
        verdict
    }
}

impl Verdict {
    fn is_small(&self) -> bool {
        let samples: usize = self.samples.values().map(Vec::len).sum();
        self.findings.len() <= MAX_FINDINGS && samples <= MAX_SAMPLES
    }
}

/// `None` where no one counts changes, as in a recording.
fn inputs(check: &Check, cluster: &Cluster, signatures: &Signatures) -> Option<Vec<Input>> {
    let input = |kind: &Resource| {
        let ResourceStatus { changes, readability, undecodable, error, .. } = cluster.resources.get(kind)?;
        (*changes > 0).then(|| (*changes, *readability, *undecodable, error.clone()))
    };
    let asked: &[Resource] = if check.of_signatures { signatures.reads() } else { &[] };
    let mut inputs: Vec<Input> =
        check.needs.iter().chain(check.uses).chain(asked).map(input).collect::<Option<_>>()?;
    inputs.extend(check.glances.iter().filter_map(input));
    if check.of_signatures {
        inputs.push((signatures.version, Readability::Readable, 0, signatures.unusable.clone()));
    }
    Some(inputs)
}

/// Events of nodes of which some are lost, as with the logs of some nodes in a bundle that is cut off: each tells something by being
/// there, and none by its absence.
fn tells_in_part(cluster: &Cluster, kind: Resource) -> bool {
    kind == Resource::NodeEvents && cluster.readability(kind) == Readability::Incomplete
}

fn run(
    check: &'static Check,
    cluster: &Cluster,
    signatures: &Arc<Signatures>,
    most: Option<usize>,
    observed: &mut Vec<Observation>,
) -> Verdict {
    let mut outcome = Outcome::new(check, cluster);
    outcome.most = most;
    if check.of_signatures {
        outcome.signatures = signatures.clone();
    }
    // there may be a hundred thousand of them: one list for all checks
    outcome.observed = std::mem::take(observed);
    let blind_spots = cluster.blind_spots(check.needs);
    let blind = !blind_spots.is_empty();
    if !blind {
        (check.run)(cluster, &mut outcome);
        cluster.gaps(check.needs, check.uses).into_iter().for_each(|gap| outcome.unknown(gap));
    } else {
        if check.needs.iter().all(|kind| cluster.can_read(*kind) || tells_in_part(cluster, *kind)) {
            (check.run)(cluster, &mut outcome);
        }
        outcome.unknown(blind_spots.join(", "));
    }
    outcome.findings.iter_mut().for_each(Finding::shorten);
    outcome.unknown.iter_mut().for_each(cut);
    if let Some(most) = most {
        truncate_to_worst(&mut outcome.findings, most, &mut outcome.cut);
    }
    *observed = std::mem::take(&mut outcome.observed);
    let time_tells = outcome.time_tells.into_iter();
    let time_tells =
        time_tells.map(|(cause, (count, objects))| TimeTells { check: check.id, cause, count, objects });
    Verdict {
        findings: outcome.findings,
        stock: outcome.stock,
        samples: outcome.samples,
        unknown: outcome.unknown,
        time_tells: time_tells.collect(),
        of_data: outcome.of_data,
        cut: outcome.cut,
        omitted_series: outcome.omitted_series,
        blind,
        stood: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{live_at, time};

    const NOW: &str = "2026-01-01T12:00:00Z";

    /// A cluster of which something was listed of each kind.
    fn followed(seconds: i64) -> Cluster {
        let mut cluster = live_at(NOW, "");
        cluster.now = time(NOW) + SignedDuration::from_secs(seconds);
        cluster.resources.values_mut().for_each(|status| status.changes = 1);
        cluster
    }

    /// The checks that ran, of the first alone.
    fn looks(memory: &mut Memory, cluster: &Cluster) -> bool {
        let check = checks::CATALOGUE.checks[0];
        assert!(cluster.blind_spots(check.needs).is_empty());
        !memory.verdict(check, cluster, &Arc::default(), None, &mut Vec::new()).blind
    }

    #[test]
    fn a_check_runs_again_for_what_it_reads_and_for_the_time() {
        let patience = SignedDuration::from_secs(15);
        let fresh = || Memory::new(patience);
        let kind = checks::CATALOGUE.checks[0].needs[0];
        let other = Resource::all().find(|kind| {
            !checks::CATALOGUE.checks[0]
                .needs
                .iter()
                .chain(checks::CATALOGUE.checks[0].uses)
                .any(|one| one == kind)
        });
        let changed = |kind: Resource| {
            let mut cluster = followed(1);
            cluster.resources.entry(kind).or_default().changes += 1;
            cluster
        };
        let mut odd = followed(1);
        odd.resources.entry(kind).or_default().undecodable = 1;
        let mut unfollowed = followed(1);
        unfollowed.resources.entry(kind).or_default().changes = 0;
        for (what, next, runs) in [
            ("nothing", followed(1), false),
            ("a kind that it reads", changed(kind), true),
            ("another kind", changed(other.unwrap()), false),
            ("how a kind could be read", odd, true),
            ("changes that no one counts", unfollowed, true),
            ("a verdict of just now", followed(14), false),
            ("an old verdict", followed(15), true),
            ("a clock that was set back", followed(-1), true),
        ] {
            let mut memory = fresh();
            assert!(looks(&mut memory, &followed(0)), "the first look");
            assert_eq!(looks(&mut memory, &next), runs, "{what}");
            let mut forgetful = Memory::default();
            assert!(looks(&mut forgetful, &followed(0)) && looks(&mut forgetful, &next), "{what}");
        }
    }
}
