//! Longhorn's own metrics, release by release (longhorn_series.yaml, which says where each is from).
//! `lint-rules` judges users' rules by them, and `generate` says from which release on its own work.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use serde::Deserialize;

use crate::facts::releases::LINES;
use crate::longhorn::Release;

/// A value from each release on until the next one.
type ByRelease<T> = BTreeMap<String, T>;

/// Metrics that have all of this in common.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Metric {
    pub names: Vec<String>,
    labels: ByRelease<Option<Vec<String>>>,
    #[serde(default)]
    greatest: ByRelease<u32>,
    /// What the numbers of old releases stood for, from 0 on; newer ones have a label `state` for it.
    #[serde(default)]
    pub codes: Vec<String>,
    /// All values that a label can have.
    #[serde(default)]
    pub values: BTreeMap<String, Vec<String>>,
    /// Alerts of this program on the same.
    #[serde(default)]
    pub ours: Vec<String>,
    #[serde(default)]
    histogram: bool,
}

/// Every metric. The file is read by a test; one that could not be read would leave nothing known.
pub static METRICS: LazyLock<Vec<Metric>> =
    LazyLock::new(|| serde_yaml::from_str(include_str!("longhorn_series.yaml")).unwrap_or_default());

/// The names of all series.
pub static NAMES: LazyLock<Vec<String>> =
    LazyLock::new(|| METRICS.iter().flat_map(Metric::all_names).collect());

/// Every label that any metric ever had.
pub static LABELS: LazyLock<BTreeSet<&str>> = LazyLock::new(|| {
    METRICS.iter().flat_map(|metric| metric.labels.values().flatten().flatten()).map(String::as_str).collect()
});

/// The release from which on Longhorn has all series of an expression; none if the oldest known release has them.
pub fn needs(expr: &str) -> Option<Release> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let metrics =
        expr.split(|c| !is_name(c)).filter(|name| name.starts_with("longhorn_")).filter_map(Metric::of);
    let oldest = Release::new(1, LINES.first()?.minor, 0);
    metrics.filter_map(Metric::from).max().filter(|from| *from > oldest)
}

fn at<T>(by_release: &ByRelease<T>, release: Release) -> Option<&T> {
    let known = by_release.iter().filter_map(|(from, value)| Some((Release::parse(from)?, value)));
    known.filter(|(from, _)| *from <= release).max_by_key(|(from, _)| *from).map(|(_, value)| value)
}

impl Metric {
    /// The metric of a name; histograms have three.
    pub fn of(name: &str) -> Option<&'static Metric> {
        METRICS.iter().find(|metric| metric.all_names().any(|known| known == name))
    }

    /// The names of its series.
    pub fn all_names(&self) -> impl Iterator<Item = String> {
        let endings: &[&str] = if self.histogram { &["_bucket", "_sum", "_count"] } else { &[""] };
        self.names.iter().flat_map(move |name| endings.iter().map(move |ending| format!("{name}{ending}")))
    }

    /// Its labels in a release; none where it is not there.
    pub fn labels(&self, release: Release) -> Option<BTreeSet<&str>> {
        let labels = at(&self.labels, release)?.as_ref()?;
        let bucket = self.histogram.then_some("le");
        Some(labels.iter().map(String::as_str).chain(bucket).collect())
    }

    /// The greatest sample, where all are whole numbers from 0 up to it.
    pub fn greatest(&self, release: Release) -> Option<u32> {
        at(&self.greatest, release).copied()
    }

    /// The releases that have it, in words.
    pub fn there(&self) -> String {
        self.since(|labels| labels.is_some())
    }

    /// The releases in which it has a label, in words; empty where it never had it.
    pub fn with_label(&self, label: &str) -> String {
        self.since(|labels| labels.as_ref().is_some_and(|labels| labels.iter().any(|one| one == label)))
    }

    /// The releases in which its labels change.
    pub fn releases(&self) -> impl Iterator<Item = Release> {
        self.labels.keys().filter_map(|from| Release::parse(from))
    }

    /// The release from which on it is there without a gap.
    fn from(&self) -> Option<Release> {
        let changes = self.changes(Option::is_some);
        changes.last().filter(|(_, is_there)| *is_there).map(|(release, _)| *release)
    }

    /// The releases in which something begins or ceases to hold, oldest first.
    fn changes(&self, holds: impl Fn(&Option<Vec<String>>) -> bool) -> Vec<(Release, bool)> {
        let parsed = |(from, labels): (&String, _)| Some((Release::parse(from)?, holds(labels)));
        let mut changes: Vec<_> = self.labels.iter().filter_map(parsed).collect();
        changes.sort_unstable();
        changes.dedup_by_key(|(_, holds)| *holds);
        changes
    }

    fn since(&self, holds: impl Fn(&Option<Vec<String>>) -> bool) -> String {
        let mut said = Vec::new();
        for (release, holds) in self.changes(holds) {
            match (holds, said.is_empty()) {
                (true, _) => said.push(format!("from {release} on")),
                (false, true) => {}
                (false, false) => said.push(format!("not in {release}")),
            }
        }
        said.join(", ")
    }
}
