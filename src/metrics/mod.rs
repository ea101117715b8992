//! Samples → families → text. The only user of the `prometheus` crate.
//!
//! A page is a list of [`Family`] in declared order. [`encode`] refuses what a scraper would
//! misread (duplicates, NaN, wrong labels), so that a page is either whole and right or an error.

mod openmetrics;
#[cfg(test)]
mod tests;
mod text;

use std::collections::BTreeSet;

use thiserror::Error;

use crate::check::{Gauge, GaugeKind, Sample, is_hidden};

/// A family with its samples.
#[derive(Debug, Clone)]
pub struct Family {
    pub gauge: &'static Gauge,
    /// The values; a family without any is left out of the page.
    pub samples: Vec<Sample>,
}

/// A text format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Prometheus text 0.0.4, which every scraper reads.
    Text,
    /// OpenMetrics 1.0.
    OpenMetrics,
}

impl Format {
    /// All of them.
    pub const ALL: [Format; 2] = [Format::Text, Format::OpenMetrics];

    /// What `Content-Type` says. Prometheus 3 fails a scrape without it.
    pub fn content_type(self) -> &'static str {
        match self {
            Format::Text => "text/plain; version=0.0.4; charset=utf-8",
            Format::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// A page that would mislead a scraper; always a mistake in a check or in the exporter.
#[derive(Debug, Error, PartialEq)]
pub enum EncodeError {
    /// Two families of one name.
    #[error("family {0} is given twice")]
    DuplicateFamily(&'static str),
    /// Two values for one series.
    #[error("{family}{{{labels}}} has two values")]
    DuplicateSample {
        /// Name of the family.
        family: &'static str,
        labels: String,
    },
    /// Labels that do not fit the declaration.
    #[error("{family} is declared with {declared} labels but has a sample with {given}")]
    LabelCount {
        /// Name of the family.
        family: &'static str,
        /// Number of label names.
        declared: usize,
        /// Number of label values.
        given: usize,
    },
    /// NaN, or a counter below zero.
    #[error("{family}{{{labels}}} is {value}")]
    Value {
        /// Name of the family.
        family: &'static str,
        labels: String,
        value: f64,
    },
    /// The `prometheus` crate refused.
    #[error("cannot encode: {0}")]
    Text(String),
}

/// The page in a format.
pub fn encode(mut families: Vec<Family>, format: Format) -> Result<String, EncodeError> {
    let mut names = BTreeSet::new();
    families.retain(|family| !family.samples.is_empty());
    for family in &mut families {
        if !names.insert(family.gauge.name) {
            return Err(EncodeError::DuplicateFamily(family.gauge.name));
        }
        arrange(family)?;
    }
    match format {
        Format::Text => text::encode(&families),
        Format::OpenMetrics => Ok(openmetrics::encode(&families)),
    }
}

/// Sorts the samples by their labels and refuses what must not be served. The same value given
/// twice for a series is no contradiction and becomes one.
fn arrange(family: &mut Family) -> Result<(), EncodeError> {
    let (gauge, name) = (family.gauge, family.gauge.name);
    for sample in &family.samples {
        let (declared, given) = (gauge.labels.len(), sample.labels.len());
        if declared != given {
            return Err(EncodeError::LabelCount { family: name, declared, given });
        }
        if sample.value.is_nan() || (gauge.kind == GaugeKind::Counter && sample.value < 0.0) {
            return Err(EncodeError::Value { family: name, labels: labels_of(sample), value: sample.value });
        }
    }
    family.samples.sort_by(|a, b| a.labels.cmp(&b.labels));
    family.samples.dedup();
    let twins = family.samples.windows(2).find(|pair| matches!(pair, [a, b] if a.labels == b.labels));
    if let Some(sample) = twins.and_then(|pair| pair.first()) {
        return Err(EncodeError::DuplicateSample { family: name, labels: labels_of(sample) });
    }
    show(&mut family.samples);
    Ok(())
}

/// Replaces what hides in labels, which end up on phones as text of alerts. Of names that nothing else
/// tells apart one is kept: a page with two of them would be refused as a whole.
fn show(samples: &mut Vec<Sample>) {
    let mut changed = false;
    let hides = |c: char| c != '\n' && is_hidden(c);
    for label in samples.iter_mut().flat_map(|sample| &mut sample.labels) {
        // nearly all are plain, and looking at bytes costs an eighth
        if !label.bytes().all(|byte| (b' '..=b'~').contains(&byte)) && label.contains(hides) {
            (*label, changed) = (label.replace(hides, "\u{fffd}").into(), true);
        }
    }
    if changed {
        samples.sort_by(|a, b| a.labels.cmp(&b.labels));
        samples.dedup_by(|b, a| a.labels == b.labels);
    }
}

fn labels_of(sample: &Sample) -> String {
    sample.labels.join(",")
}
