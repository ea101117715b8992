//! Longhorn's own metrics, release by release (catalogue.yaml, which says where each is from).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use serde::Deserialize;

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
    LazyLock::new(|| serde_yaml::from_str(include_str!("catalogue.yaml")).unwrap_or_default());

/// The names of all series.
pub static NAMES: LazyLock<Vec<String>> =
    LazyLock::new(|| METRICS.iter().flat_map(Metric::all_names).collect());

/// Every label that any metric ever had.
pub static LABELS: LazyLock<BTreeSet<&str>> = LazyLock::new(|| {
    METRICS.iter().flat_map(|metric| metric.labels.values().flatten().flatten()).map(String::as_str).collect()
});

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

    fn since(&self, holds: impl Fn(&Option<Vec<String>>) -> bool) -> String {
        let mut changes: Vec<(Release, bool)> = self
            .labels
            .iter()
            .filter_map(|(from, labels)| Some((Release::parse(from)?, holds(labels))))
            .collect();
        changes.sort_unstable();
        changes.dedup_by_key(|(_, holds)| *holds);
        let mut said = Vec::new();
        for (release, holds) in changes {
            match (holds, said.is_empty()) {
                (true, _) => said.push(format!("from {release} on")),
                (false, true) => {}
                (false, false) => said.push(format!("not in {release}")),
            }
        }
        said.join(", ")
    }
}
