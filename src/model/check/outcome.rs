//! Where a check puts what it sees.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;

use super::signatures::Signatures;
use super::{Cause, Check, Fact, Finding, Gauge, ObjectRef, OfData, Sample, Severity};
use crate::cluster::Cluster;
use crate::history::Observation;
use crate::longhorn::Compact;

/// What one check saw in one evaluation.
#[derive(Debug)]
pub struct Outcome<'a> {
    check: &'static Check,
    cluster: &'a Cluster,
    pub findings: Vec<Finding>,
    /// What the release has wherever it is installed.
    pub stock: Vec<Fact>,
    /// Samples by family, in the order of the check's declarations.
    pub samples: BTreeMap<&'static str, Vec<Sample>>,
    /// Why the verdict is unknown, if it is.
    pub unknown: Vec<String>,
    /// What this check and those before it saw hold, whose age is kept from one evaluation to the next.
    pub observed: Vec<Observation>,
    /// What this look cannot tell, by cause: how many objects, and the first of them.
    pub time_tells: BTreeMap<&'static str, (usize, Vec<String>)>,
    /// What findings say about the data of volumes, whether these are kept or only counted.
    pub of_data: Vec<(OfData, Vec<String>)>,
    /// Findings that are only counted: the mildest of too many.
    pub cut: Omitted,
    /// Samples that are only counted, by family.
    pub omitted_series: BTreeMap<&'static str, usize>,
    /// Failures that users know.
    pub signatures: Arc<Signatures>,
    /// How many findings are kept; all where a person runs the checks.
    pub most: Option<usize>,
    /// The mildest of the findings that are kept, once there are so many: what is no worse is only counted.
    mildest: Option<Severity>,
}

/// Numbers of findings by check, cause and severity.
pub type Omitted = BTreeMap<(&'static str, &'static str, Severity), usize>;

/// How many series a family has at most: objects in trouble have series of their own, and all may be.
const MAX_SERIES: usize = 5_000;

/// How many objects are named of which time has to tell.
const UNDATED_SHOWN: usize = 5;

/// Keeps the worst findings and counts the others.
pub fn truncate_to_worst(findings: &mut Vec<Finding>, most: usize, cut: &mut Omitted) {
    if findings.len() <= most {
        return;
    }
    // stable: within a severity those that came first
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    findings.drain(most..).for_each(|finding| count(finding, cut));
}

fn count(finding: Finding, cut: &mut Omitted) {
    *cut.entry((finding.check, finding.cause.id, finding.severity)).or_default() += 1;
}

impl<'a> Outcome<'a> {
    /// An empty outcome for one check.
    pub fn new(check: &'static Check, cluster: &'a Cluster) -> Self {
        let (findings, stock, unknown, observed) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let (samples, cut, omitted_series) = (BTreeMap::new(), Omitted::new(), BTreeMap::new());
        let (time_tells, of_data) = (BTreeMap::new(), Vec::new());
        let (most, mildest) = (None, None);
        Outcome {
            check,
            cluster,
            findings,
            stock,
            samples,
            unknown,
            observed,
            time_tells,
            of_data,
            cut,
            omitted_series,
            signatures: Arc::default(),
            most,
            mildest,
        }
    }

    /// Adds a finding.
    pub fn report(&mut self, mut finding: Finding) {
        debug_assert!(
            self.check.causes.contains(&finding.cause),
            "{} does not list cause {}",
            self.check.id,
            finding.cause
        );
        debug_assert!(
            finding.way.is_none_or(|way| self.check.ways(finding.cause).any(|known| known == way)),
            "{} lists no such way of cause {}: {:?}",
            self.check.id,
            finding.cause,
            finding.way
        );
        finding.check = self.check.id;
        finding.runbook = self.check.runbook(finding.cause);
        // a server that is replaced now and then serves in between
        let serves = finding.cause.of_data == OfData::NotServed && finding.severity < finding.cause.severity;
        if finding.cause.of_data != OfData::AsWritten && !serves {
            let volumes = finding.volumes.iter().map(|volume| volume.name.clone()).collect();
            self.of_data.push((finding.cause.of_data, volumes));
        }
        if self.mildest.is_some_and(|mildest| finding.severity <= mildest) {
            count(finding, &mut self.cut);
            return;
        }
        finding.advise(self.cluster);
        self.findings.push(finding);
        // sorting now and then costs less than looking for the mildest each time
        if let Some(most) = self.most.filter(|most| self.findings.len() > most + most / 8) {
            truncate_to_worst(&mut self.findings, most, &mut self.cut);
            self.mildest = self.findings.last().map(|finding| finding.severity);
        }
    }

    /// States what every cluster with this release has, which is nothing to act on.
    pub fn state(
        &mut self,
        fact: &'static str,
        object: ObjectRef,
        text: impl Into<String>,
        advice: impl Into<String>,
    ) {
        let (text, advice) = (text.into(), advice.into());
        self.stock.push(Fact { check: self.check.id, fact, object, text, advice });
    }

    /// Adds a sample of a family that the check declares.
    pub fn sample<const N: usize>(
        &mut self,
        gauge: &'static Gauge<[&'static str; N]>,
        labels: &[&str; N],
        value: f64,
    ) {
        debug_assert!(
            self.check.gauges.iter().any(|declared| declared.name == gauge.name),
            "{} does not list {}",
            self.check.id,
            gauge.name
        );
        if value.is_nan() {
            return; // an unknown value is no sample
        }
        let samples = self.samples.entry(gauge.name).or_default();
        if samples.len() >= MAX_SERIES {
            *self.omitted_series.entry(gauge.name).or_default() += 1;
            return;
        }
        let labels = labels.iter().map(|label| Arc::from(*label)).collect();
        samples.push(Sample { labels, value });
    }

    /// Says that part of the verdict is unknown, and why.
    pub fn unknown(&mut self, reason: impl Into<String>) {
        self.unknown.push(reason.into());
    }

    /// Says that this may be the cause about an object, if it lasts: a recording and a single look cannot tell.
    pub fn time_tells(&mut self, cause: &'static Cause, object: &str) {
        let (count, first) = self.time_tells.entry(cause.id).or_default();
        *count += 1;
        if first.len() < UNDATED_SHOWN {
            first.push(object.to_owned());
        }
    }

    /// Notes that a fact about an object holds now, and returns when this exporter first saw it
    /// hold without a gap. `None` in a recording and before the second look: the age is unknown
    /// then, and must not be taken for zero.
    ///
    /// `fact` is a short constant such as `idle`; `object` names what it is about.
    pub fn first_seen(&mut self, fact: &'static str, object: &str) -> Option<Timestamp> {
        let key = Observation { check: self.check.id, fact, object: object.into() };
        match self.cluster.history.known(&key) {
            Some((known, since)) => {
                self.observed.push(known.clone());
                Some(since)
            }
            None => {
                let mut new = key;
                new.object.compact();
                self.observed.push(new);
                None
            }
        }
    }

    /// True from the first time at which a fact held, for as long as it is asked for.
    pub fn ever(&mut self, fact: &'static str, object: &str, holds: bool) -> bool {
        let key = Observation { check: self.check.id, fact, object: object.into() };
        let ever = holds || self.cluster.history.first_seen(&key).is_some();
        if ever {
            self.observed.push(key);
        }
        ever
    }

    /// How many facts of this name have begun since the exporter started, those of this evaluation
    /// included. Never goes down while the exporter runs, so it may be exposed as a counter.
    pub fn begun(&self, fact: &'static str) -> u64 {
        let history = &self.cluster.history;
        let of_check = self.observed.iter().filter(|key| key.check == self.check.id && key.fact == fact);
        let new: std::collections::BTreeSet<&Observation> =
            of_check.filter(|key| history.first_seen(key).is_none()).collect();
        history.begun(self.check.id, fact).saturating_add(new.len() as u64)
    }
}
