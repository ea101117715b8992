//! Cases of recording rules: what is recorded of two pods of the exporter, of none, of another
//! target, and of two clusters.

use super::USUAL;
use super::cases::{Case, Input, Kind, Question, Sample, Target, braced};
use super::exporter::Exporter;
use super::plan::seconds;
use super::template::Labels;
use crate::check::Record;
use crate::generate::catalogue::Area;
use crate::generate::promql::{self, Kind as TokenKind};
use crate::generate::{GenerateError, Settings, rules};

/// Minutes until the moment of the question: longer than the window of any record.
const MINUTES: u64 = 120;

/// The cases of the recording rules of one part.
pub fn cases(area: &Area, settings: &Settings) -> Result<Vec<Case>, GenerateError> {
    let mut cases = Vec::new();
    for record in area.records {
        let expr = rules::recording(record, settings)?.expr;
        let failed = || GenerateError::Case {
            owner: record.name.to_owned(),
            reason: format!("cannot derive cases from {expr}"),
        };
        let shape = Shape::of(&expr).ok_or_else(failed)?;
        cases.extend(Maker { record, shape, exporter: Exporter::of(settings), settings }.cases());
    }
    Ok(cases)
}

/// `max without (…) (family{…})` or `max without (…) (increase(family{…}[1h]))`.
struct Shape {
    family: String,
    /// The smaller of two pods is the one that counts.
    is_min: bool,
    /// Minutes of the window of `increase`.
    window: Option<u64>,
}

impl Shape {
    fn of(expr: &str) -> Option<Shape> {
        let mut selectors = promql::selectors(expr);
        let (family, None) = (selectors.pop()?.metric, selectors.pop()) else { return None };
        let tokens = promql::tokens(expr);
        let words: Vec<&str> = tokens.iter().map(|token| token.text).filter(|text| *text != " ").collect();
        let [operation @ ("max" | "min"), "without", ..] = words[..] else { return None };
        let after = words.iter().position(|word| *word == "[").and_then(|at| words.get(at + 1));
        let window = match words.contains(&"increase") {
            true => Some(seconds(after?).ok()? / 60),
            false if after.is_some() => return None,
            false => None,
        };
        let signs = tokens.iter().filter(|token| token.kind == TokenKind::Sign);
        // nothing is computed with the result
        let is_plain = signs.clone().all(|sign| !"*/+-%^<>".contains(sign.text)) && expr.ends_with(')');
        is_plain.then_some(Shape { family, is_min: operation == "min", window })
    }

    /// Values of a series with this rate or level, and what a rule makes of it.
    fn values(&self, number: u64) -> (String, f64) {
        match self.window {
            Some(window) => (format!("0+{number}x{MINUTES}"), (number * window) as f64),
            None => (format!("{number}x{MINUTES}"), number as f64),
        }
    }
}

struct Maker<'a> {
    record: &'static Record,
    shape: Shape,
    exporter: Exporter,
    settings: &'a Settings,
}

impl Maker<'_> {
    fn cases(&self) -> Vec<Case> {
        let (one, two) = (Target::pod("a"), Target::pod("b"));
        let (low, high) = (self.shape.values(5).1, self.shape.values(7).1);
        let told = if self.shape.is_min { low } else { high };
        let alone = self.exporter.labels.clone();
        let mut cases = vec![
            self.case(
                "one series for two pods",
                vec![self.input(&one, 5), self.input(&two, 7)],
                &[(&alone, told)],
            ),
            self.case("nothing without its series", Vec::new(), &[]),
        ];
        let elsewhere: Labels = self.exporter.elsewhere();
        if !self.exporter.other.is_empty() {
            cases.push(self.case("nothing of another target", vec![self.input_with(elsewhere, 7)], &[]));
        }
        let label = &self.settings.cluster_label;
        if !label.is_empty() {
            let (a, b) = (Target::cluster("a", label), Target::cluster("b", label));
            let of = |name: &str| {
                let cluster = (label.clone(), name.to_owned());
                alone.clone().into_iter().chain([cluster]).collect::<Labels>()
            };
            let inputs = vec![self.input(&a, 5), self.input(&b, 7)];
            cases.push(self.case("two clusters do not mix", inputs, &[(&of("a"), low), (&of("b"), high)]));
        }
        cases
    }

    fn input(&self, target: &Target, number: u64) -> Input {
        self.input_with(target.labels(&self.exporter), number)
    }

    fn input_with(&self, mut labels: Labels, number: u64) -> Input {
        labels.extend(self.own());
        let series = format!("{}{}", self.shape.family, braced(&labels));
        Input { series, values: self.shape.values(number).0 }
    }

    /// The labels that are left beside those of the target.
    fn own(&self) -> impl Iterator<Item = (String, String)> + use<> {
        self.record.labels.iter().map(|label| ((*label).to_owned(), format!("{label}-1")))
    }

    fn case(&self, name: &str, input_series: Vec<Input>, samples: &[(&Labels, f64)]) -> Case {
        let sample = |(labels, value): &(&Labels, f64)| {
            let labels: Labels = (*labels).clone().into_iter().chain(self.own()).collect();
            Sample { labels: braced(&labels), value: *value }
        };
        let question = Question {
            // what increase() extrapolates is no whole number in every release
            expr: format!("round({})", self.record.name),
            eval_time: format!("{MINUTES}m"),
            exp_samples: samples.iter().map(sample).collect(),
        };
        Case {
            subject: self.record.name.to_owned(),
            kind: Kind::Recorded,
            hole: None,
            name: format!("{}: {name}", self.record.name),
            interval: USUAL.to_owned(),
            input_series,
            alert_rule_test: Vec::new(),
            promql_expr_test: vec![question],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_are_derived_from_what_is_understood_only() {
        let shape = |expr: &str| Shape::of(expr).map(|shape| (shape.is_min, shape.window));
        assert_eq!(shape("max without (pod) (a{job=\"x\"})"), Some((false, None)));
        assert_eq!(shape("min without (pod) (a)"), Some((true, None)));
        assert_eq!(shape("max without (pod) (increase(a_total{job=~\"x\"}[2h]))"), Some((false, Some(120))));
        for other in [
            "sum without (pod) (a)",
            "max without (pod) (a) * 2",
            "max without (pod) (a / b)",
            "max by (pod) (a)",
            "max without (pod) (max_over_time(a[1h]))",
            "max without (pod) (-a)",
            "",
        ] {
            assert_eq!(shape(other), None, "{other}");
        }
    }
}
