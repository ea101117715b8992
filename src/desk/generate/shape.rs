//! The shape of nearly every alert, `max without (…) (family{…}) == 1`: rendered here, and nowhere
//! read back.

use crate::check::{Alert, Check, Gauge, When};
use crate::own::gauges::FINDING;

/// A family of facts, which are 1 or not there, with what is selected of it.
#[derive(Debug)]
pub struct Shape {
    pub family: &'static Gauge,
    /// Labels with the values of which a series must have one.
    pub matchers: Vec<(&'static str, Vec<&'static str>)>,
    /// Labels to aggregate away beside those of the target.
    pub without: Vec<&'static str>,
}

impl Shape {
    /// The shape of an alert of this area; `None` for a literal expression.
    pub fn of(area: &Check, alert: &Alert) -> Option<Shape> {
        let without = alert.drops().collect();
        let causes = match alert.when {
            When::Promql { .. } => return None,
            When::Flag { gauge, labels } => {
                let only = alert.only.map(|severity| ("severity", severity.as_str()));
                let matchers = labels.iter().copied().chain(only);
                let matchers = matchers.map(|(label, value)| (label, vec![value])).collect();
                return Some(Shape { family: gauge, matchers, without });
            }
            When::Found(causes) => causes,
        };
        let mut matchers = vec![("check", vec![area.id])];
        if causes.len() < area.causes.len() {
            matchers.push(("cause", causes.iter().map(|cause| cause.id).collect()));
        }
        matchers.extend(alert.only.map(|severity| ("severity", vec![severity.as_str()])));
        Some(Shape { family: &FINDING, matchers, without })
    }

    /// The labels of the family that an alert keeps.
    pub fn labels(&self) -> Vec<&'static str> {
        let labels = self.family.labels.iter().copied();
        labels.filter(|label| *label != "severity" && !self.without.contains(label)).collect()
    }

    pub fn expr(&self) -> String {
        let matcher = |(label, values): &(&str, Vec<&str>)| match values.as_slice() {
            [value] => format!(", {label}=\"{value}\""),
            several => format!(", {label}=~\"{}\"", several.join("|")),
        };
        let matchers: String = self.matchers.iter().map(matcher).collect();
        let without = [&["$without"], self.without.as_slice()].concat().join(", ");
        format!("max without ({without}) ({}{{$job{matchers}}}) == 1", self.family.name)
    }
}

/// The expression of an alert of a check, with placeholders.
pub fn expr(check: &Check, alert: &Alert) -> String {
    match (Shape::of(check, alert), &alert.when) {
        (None, When::Promql { expr, .. }) => (*expr).to_owned(),
        (shape, _) => shape.map(|shape| shape.expr()).unwrap_or_default(),
    }
}
