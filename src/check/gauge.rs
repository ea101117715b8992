//! Series as data.

use std::sync::Arc;

/// Declaration of a metric family.
#[derive(Debug)]
pub struct Gauge {
    /// Full name, literally.
    pub name: &'static str,
    /// Help text: what it computes and in which unit, one sentence.
    pub help: &'static str,
    /// Gauge or counter.
    pub kind: GaugeKind,
    /// Label names in the order in which values are given.
    pub labels: &'static [&'static str],
    /// When there is no series.
    pub absent: &'static str,
    /// A query a user would write.
    pub example: &'static str,
    /// May it change?
    pub stability: Stability,
}

/// Type of a family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GaugeKind {
    /// Goes up and down.
    Gauge,
    /// Only grows, until the exporter restarts; the name ends in `_total`.
    Counter,
}

/// What users may rely on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stability {
    /// Frozen except for added labels.
    Stable,
    /// May change in any release.
    Experimental,
}

/// One value of a family.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// Label values in the order of the family's label names.
    pub labels: Vec<Arc<str>>,
    /// The value; never NaN.
    pub value: f64,
}
