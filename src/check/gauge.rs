//! Series as data.

use std::sync::Arc;

/// Declaration of a metric family. The number of its labels is part of its type, so that a sample with
/// another number of values does not compile; lists hold it as `Gauge`, whatever the number. Say
/// only what is special:
///
/// ```
/// use longhorn_health_exporter::check::Gauge;
/// static WAITING: Gauge<[&str; 2]> = Gauge {
///     name: "longhorn_health_waiting_nodes",
///     help: "Nodes that wait, by state and reason.",
///     labels: ["state", "reason"],
///     absent: "no node waits",
///     example: "sum without (reason) (longhorn_health_waiting_nodes)",
///     ..Gauge::PLAIN
/// };
/// let declared: &[&Gauge] = &[&WAITING];
/// assert_eq!(declared[0].labels.len(), 2);
/// ```
///
/// ```compile_fail,E0308
/// # use longhorn_health_exporter::check::{Gauge, Outcome};
/// static WAITING: Gauge<[&str; 1]> = Gauge { labels: ["node"], ..Gauge::PLAIN };
/// fn run(out: &mut Outcome) {
///     out.sample(&WAITING, &["node-1", "reason"], 1.0);
/// }
/// ```
#[derive(Debug)]
pub struct Gauge<Labels: ?Sized = [&'static str]> {
    /// Full name, literally.
    pub name: &'static str,
    /// Help text: what it computes and in which unit, one sentence.
    pub help: &'static str,
    /// Gauge or counter.
    pub kind: GaugeKind,
    /// When there is no series.
    pub absent: &'static str,
    /// A query a user would write.
    pub example: &'static str,
    /// Label names in the order in which values are given.
    pub labels: Labels,
}

impl<const N: usize> Gauge<[&'static str; N]> {
    /// The defaults of a gauge.
    pub const PLAIN: Self =
        Gauge { name: "", help: "", kind: GaugeKind::Gauge, absent: "", example: "", labels: [""; N] };

    /// The defaults of a counter, whose name ends in `_total`.
    pub const COUNTER: Self = Gauge { kind: GaugeKind::Counter, ..Self::PLAIN };
}

/// Type of a family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GaugeKind {
    /// Goes up and down.
    Gauge,
    /// Only grows, until the exporter restarts; the name ends in `_total`.
    Counter,
}

/// One value of a family.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// Label values in the order of the family's label names.
    pub labels: Vec<Arc<str>>,
    /// The value; never NaN.
    pub value: f64,
}
