//! Recording rules as data.

/// An expression that an alert compares and a panel draws, so that both show the same number. Alerts
/// and panels name it; the rule files define it. It aggregates away what tells two exporter pods
/// apart, and keeps the rest, as an alert would.
///
/// A panel does not depend on it: the generator puts the expression beside the name, for those who
/// load the dashboards and not the rules.
#[derive(Debug)]
pub struct Record {
    /// `level:metric:operations`, as Prometheus' naming of recording rules wants it: the labels that
    /// are left, the metric without `_total`, the operations with the last one first.
    pub name: &'static str,
    /// PromQL with the placeholders of alerts, thresholds excepted.
    pub expr: &'static str,
    /// Labels that are left beside those of the target.
    pub labels: &'static [&'static str],
    /// What it computes, one sentence for the reference.
    pub help: &'static str,
}
