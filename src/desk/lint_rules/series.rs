//! The labels of an expression's series, and whether two sides can have the same.

use std::collections::BTreeSet;

use promql_parser::parser::{BinaryExpr, Expr, LabelModifier, VectorSelector};

use super::Level;
use super::forms::{is_of_target, number};
use super::judge::Judge;
use crate::facts::text::listed;
use crate::longhorn_series::LABELS;

/// Functions that give back the labels, and with the last three numbers the values in their range, of what they get.
const SAME_LABELS: &[&str] = &[
    "rate", "irate", "increase", "delta", "idelta", "deriv", "abs", "ceil", "floor", "round", "clamp",
    "clamp_min", "clamp_max", "sum_over_time", "avg_over_time", "count_over_time", "max_over_time",
    "min_over_time", "last_over_time",
];

type Labels = BTreeSet<String>;

impl Judge<'_> {
    /// Two vectors whose series can never have the same labels.
    pub(super) fn matching(&mut self, binary: &BinaryExpr) {
        let (Some(left), Some(right)) = (self.labels(&binary.lhs), self.labels(&binary.rhs)) else { return };
        let matching = binary.modifier.as_ref().and_then(|modifier| modifier.matching.as_ref());
        let one_only: Vec<&str> = match matching {
            Some(LabelModifier::Include(on)) => {
                let of =
                    |label: &&String| left.contains(*label) != right.contains(*label) && !is_of_target(label);
                on.labels.iter().filter(of).map(String::as_str).collect()
            }
            Some(LabelModifier::Exclude(ignored)) => {
                let differ =
                    left.symmetric_difference(&right).filter(|label| !ignored.labels.contains(label));
                differ.map(String::as_str).collect()
            }
            None => left.symmetric_difference(&right).map(String::as_str).collect(),
        };
        if one_only.is_empty() {
            return;
        }
        let shared: Vec<&str> =
            left.intersection(&right).map(String::as_str).filter(|label| !is_of_target(label)).collect();
        let instead = if shared.is_empty() { String::new() } else { format!("on ({})", shared.join(", ")) };
        let message = format!("the two sides can never match: only one of them has {}", listed(&one_only));
        self.say(Level::Error, "never_matches", message, instead);
    }

    /// The labels of an expression's series, where they are certain.
    pub(super) fn labels(&self, expr: &Expr) -> Option<Labels> {
        match expr {
            Expr::Paren(paren) => self.labels(&paren.expr),
            Expr::Unary(unary) => self.labels(&unary.expr),
            Expr::Subquery(query) => self.labels(&query.expr),
            Expr::VectorSelector(selector) => self.of_selector(selector),
            Expr::MatrixSelector(selector) => self.of_selector(&selector.vs),
            Expr::Call(call) if call.func.name == "vector" => Some(Labels::new()),
            Expr::Call(call) if SAME_LABELS.contains(&call.func.name) => self.labels(call.args.args.first()?),
            Expr::Aggregate(aggregate) if aggregate.param.is_some() => None,
            Expr::Aggregate(aggregate) => match &aggregate.modifier {
                None => Some(Labels::new()),
                Some(LabelModifier::Include(by)) => {
                    let inner = self.labels(&aggregate.expr)?;
                    let there = |label: &&String| inner.contains(*label) || !LABELS.contains(label.as_str());
                    Some(by.labels.iter().filter(there).cloned().collect())
                }
                Some(LabelModifier::Exclude(without)) => {
                    let inner = self.labels(&aggregate.expr)?;
                    Some(inner.into_iter().filter(|label| !without.labels.contains(label)).collect())
                }
            },
            Expr::Binary(binary) => match (number(&binary.lhs), number(&binary.rhs)) {
                (None, Some(_)) => self.labels(&binary.lhs),
                (Some(_), None) => self.labels(&binary.rhs),
                _ => None,
            },
            _ => None,
        }
    }

    fn of_selector(&self, selector: &VectorSelector) -> Option<Labels> {
        let (_, metric) = self.known(selector)?;
        let labels = metric.labels(self.release)?;
        Some(labels.iter().chain(["instance", "job"].iter()).map(|label| (*label).to_owned()).collect())
    }
}
