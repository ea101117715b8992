//! Series as data.

use std::sync::Arc;

/// Declaration of a metric family. The number of its labels is part of its type, so that a sample with
/// another number of values does not compile; lists hold it as `Gauge`, whatever the number:
///
/// ```compile_fail,E0308
/// # use longhorn_health_model::check::{Gauge, Outcome};
/// fn run(out: &mut Outcome, of_a_node: &'static Gauge<[&'static str; 1]>) {
///     out.sample(of_a_node, &["node-1", "reason"], 1.0);
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
    /// When there is no series: a clause that follows "while", or `never`, with what there is instead in brackets.
    pub absent: &'static str,
    /// A query a user would write.
    pub example: &'static str,
    /// Label names in the order in which values are given.
    pub labels: Labels,
}

impl<Labels: ?Sized> Gauge<Labels> {
    /// What the absence of a series means, as a sentence.
    pub fn absence(&self) -> String {
        match self.absent.strip_prefix("never") {
            Some(instead) => format!("Never absent{instead}."),
            None => format!("Absent while {}.", self.absent),
        }
    }

    /// HELP on the page. Series of the process keep the words of the client libraries.
    pub fn help_of_page(&self) -> String {
        match self.name.starts_with("process_") {
            true => self.help.to_owned(),
            false => format!("{} {}", self.help, self.absence()),
        }
    }
}

/// Declares families in the order of the page, and `GAUGES`, the list of them:
///
/// ```text
/// gauges! {
///     WAITING = Gauge "longhorn_health_waiting_nodes" ["state", "reason"]
///         "Nodes that wait, by state and reason.",
///         absent "no node waits",
///         example "sum without (reason) (longhorn_health_waiting_nodes)";
/// }
/// ```
#[macro_export]
macro_rules! gauges {
    ($( $name:ident = $kind:ident $text:literal [$($label:literal),*] $help:literal, absent $absent:expr, example $example:literal; )*) => {
        $(
            #[doc = $help]
            pub static $name: $crate::check::Gauge<[&str; <[&str]>::len(&[$($label),*])]> = $crate::check::Gauge {
                name: $text,
                help: $help,
                kind: $crate::check::GaugeKind::$kind,
                labels: [$($label),*],
                absent: $absent,
                example: $example,
            };
        )*
        /// Every family declared here, in the order of the page.
        pub const GAUGES: &[&$crate::check::Gauge] = &[$( &$name ),*];
    };
}
pub use gauges;

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
