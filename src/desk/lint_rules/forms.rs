//! What an expression is by its form, and words about metrics.

use promql_parser::label::{MatchOp, Matcher};
use promql_parser::parser::{BinaryExpr, Expr, VectorSelector, token};

use crate::longhorn_series::Metric;

/// Labels that a scrape adds, as Prometheus or its operator do; every series has the first two.
const OF_TARGETS: &[&str] = &[
    "instance", "job", "namespace", "pod", "container", "endpoint", "service", "node", "cluster",
    "prometheus", "prometheus_replica",
];

/// Functions that give back values of the series that they get.
const SAME_VALUES: &[&str] = &["max_over_time", "min_over_time", "last_over_time"];

pub fn is_negative(matcher: &Matcher) -> bool {
    !matcher.value.is_empty() && matches!(matcher.op, MatchOp::NotEqual | MatchOp::NotRe(_))
}

/// `count(x) > 0` and the like ask whether there is any.
pub fn is_existence(binary: &BinaryExpr) -> bool {
    let counts = |expr: &Expr| match expr {
        Expr::Aggregate(aggregate) => matches!(aggregate.op.id(), token::T_COUNT | token::T_GROUP),
        _ => false,
    };
    let any = match (binary.op.id(), number(&binary.rhs)) {
        (token::T_GTR | token::T_NEQ | token::T_EQLC, Some(number)) => number == 0.0,
        (token::T_GTE | token::T_LSS, Some(number)) => number == 1.0,
        _ => false,
    };
    any && counts(&binary.lhs)
}

pub fn is_of_target(label: &str) -> bool {
    OF_TARGETS.contains(&label) || label.starts_with("exported_") || label.contains('$')
}

pub fn name_of(selector: &VectorSelector) -> Option<String> {
    let matched = |name: Matcher| (name.op == MatchOp::Equal).then_some(name.value);
    selector
        .name
        .clone()
        .or_else(|| selector.matchers.find_matchers("__name__").into_iter().find_map(matched))
}

/// A number, in brackets or with a sign.
pub fn number(expr: &Expr) -> Option<f64> {
    match expr {
        Expr::NumberLiteral(number) => Some(number.val),
        Expr::Paren(paren) => number(&paren.expr),
        Expr::Unary(unary) => number(&unary.expr).map(|number| -number),
        _ => None,
    }
}

/// The selector below what leaves samples as they are.
pub fn plain_selector(expr: &Expr) -> Option<&VectorSelector> {
    match expr {
        Expr::Paren(paren) => plain_selector(&paren.expr),
        Expr::VectorSelector(selector) => Some(selector),
        Expr::MatrixSelector(selector) => Some(&selector.vs),
        Expr::Call(call) if SAME_VALUES.contains(&call.func.name) => plain_selector(call.args.args.first()?),
        Expr::Aggregate(aggregate) if matches!(aggregate.op.id(), token::T_MAX | token::T_MIN) => {
            plain_selector(&aggregate.expr)
        }
        _ => None,
    }
}

pub fn ours_instead(metric: &Metric) -> String {
    match metric.ours.is_empty() {
        true => String::new(),
        false => format!("alert {} of longhorn-health-exporter", metric.ours.join(", ")),
    }
}

pub fn ours_too(metric: &Metric) -> String {
    if metric.ours.is_empty() { String::new() } else { format!("; or {}", ours_instead(metric)) }
}
