//! Cases from the shape of an alert: one mistake in its expression, `for` or `keep_firing_for` makes
//! at least one of them fail (tests/suite/mutations.rs).

use std::collections::BTreeSet;

use super::{CaseKind, CaseWriter, Input, Labels, TestCase, with};
use crate::check::Check;
use crate::generate::shape::Shape;

/// Ticks of health before the trouble, so that what fires fires from the trouble on and not from the
/// beginning of time.
const LEAD: u64 = 3;
/// Ticks after the last moment that matters.
const TAIL: u64 = 3;

impl CaseWriter {
    pub(super) fn shaped(&self, area: &Check, shape: &Shape) -> Vec<TestCase> {
        let mut cases =
            vec![self.fires(area, shape), self.stays_silent(area, shape), self.two_pods(area, shape)];
        cases.extend(self.another_cause(area, shape));
        cases
    }

    /// The cause changes, as when a log can be read at last: the same alert goes on.
    fn another_cause(&self, area: &Check, shape: &Shape) -> Option<TestCase> {
        if !shape.without.contains(&"cause") {
            return None;
        }
        let matched = shape.matchers.iter().find(|(label, _)| *label == "cause");
        let declared = || area.causes.iter().map(|cause| cause.id).collect();
        let causes: Vec<&str> = matched.map_or_else(declared, |(_, values)| values.clone());
        let (first, second) = (causes.first()?, causes.last().filter(|_| causes.len() > 1)?);
        let trouble = self.trouble(area, shape);
        let change = self.for_.div_ceil(2).max(1);
        let (before, after) = (with(&trouble, "cause", first), with(&trouble, "cause", second));
        let inputs = vec![
            self.fact(shape, &before, "a", &[(LEAD, None), (change, Some(1))]),
            self.fact(shape, &after, "a", &[(LEAD + change, None), (self.fire() + TAIL, Some(1))]),
        ];
        let alert = self.alert(shape, &trouble);
        let questions = vec![self.silent(self.fire() - 1), self.firing(self.fire(), &[alert])];
        let name = "another cause does not restart the wait";
        Some(self.case(CaseKind::Boundary, name, inputs, questions))
    }

    fn fire(&self) -> u64 {
        LEAD + self.for_
    }

    fn fires(&self, area: &Check, shape: &Shape) -> TestCase {
        let all = self.apart(shape, self.troubled(area, shape));
        let end = self.fire() + TAIL;
        let inputs =
            all.iter().map(|labels| self.fact(shape, labels, "a", &[(LEAD, None), (end - LEAD, Some(1))]));
        // several series may give one alert
        let alerts: BTreeSet<Labels> = all.iter().map(|labels| self.alert(shape, labels)).collect();
        let alerts: Vec<Labels> = alerts.into_iter().collect();
        let questions = vec![
            self.silent(self.fire() - 1),
            self.firing(self.fire(), &alerts),
            self.firing(end + self.keep - 1, &alerts),
            self.silent(end + self.keep),
        ];
        self.case(CaseKind::Fires, "fires after its wait, not before, and ends", inputs.collect(), questions)
    }

    /// What belongs to other alerts, to other targets, and a fact that does not hold.
    fn stays_silent(&self, area: &Check, shape: &Shape) -> TestCase {
        let end = self.fire() + TAIL;
        let trouble = self.trouble(area, shape);
        let always = |labels: &Labels, pod, value| self.fact(shape, labels, pod, &[(end, Some(value))]);
        let mut inputs = vec![always(&trouble, "a", 0)];
        for (label, values) in &shape.matchers {
            let other =
                area.causes.iter().map(|cause| cause.id).find(|id| *label == "cause" && !values.contains(id));
            inputs.push(always(&with(&trouble, label, other.unwrap_or("another")), "a", 1));
        }
        for (label, value) in &self.exporter.other {
            // on top of the labels of the target
            inputs.push(always(&with(&trouble, label, value), "b", 1));
        }
        let questions = vec![self.silent(self.fire()), self.silent(self.fire() + TAIL - 1)];
        self.case(CaseKind::Silent, "silent in health and about the trouble of others", inputs, questions)
    }

    /// One pod sees it and another does not; then the other sees it and the first is gone.
    fn two_pods(&self, area: &Check, shape: &Shape) -> TestCase {
        let trouble = self.trouble(area, shape);
        let change = self.for_.div_ceil(2).max(1);
        let is_free = shape.family.labels.contains(&"severity")
            && !shape.matchers.iter().any(|(label, _)| *label == "severity");
        let other = if is_free { with(&trouble, "severity", "another") } else { trouble.clone() };
        let mut inputs = vec![
            self.fact(shape, &trouble, "a", &[(LEAD, None), (change + 1, Some(1))]),
            self.fact(shape, &other, "b", &[(LEAD, None), (change, Some(0)), (self.fire() + TAIL, Some(1))]),
        ];
        inputs.extend(
            (other != trouble).then(|| self.fact(shape, &other, "a", &[(LEAD, None), (change + 1, Some(1))])),
        );
        let alert = self.alert(shape, &trouble);
        let questions = vec![
            self.silent(self.fire() - 1),
            self.firing(self.fire(), std::slice::from_ref(&alert)),
            self.firing(self.fire() + TAIL - 1, &[alert]),
        ];
        let name = "two pods give one alert, and a new pod does not restart the wait";
        self.case(CaseKind::TwoPods, name, inputs, questions)
    }

    /// Labels of a series for each alternative, with every label that the family declares.
    fn troubled(&self, area: &Check, shape: &Shape) -> Vec<Labels> {
        let mut all: Vec<Labels> = vec![Labels::new()];
        for label in &shape.family.labels {
            let matched = shape.matchers.iter().find(|(matched, _)| matched == label);
            let free = match *label {
                "cause" => area.causes.first().map_or("cause-1".to_owned(), |cause| cause.id.to_owned()),
                "severity" => self.rule.labels.get("severity").cloned().unwrap_or_default(),
                _ => format!("{}-1", label.replace('_', "-")),
            };
            let values =
                matched.map_or(vec![free], |(_, values)| values.iter().map(|v| (*v).to_owned()).collect());
            all =
                all.iter().flat_map(|labels| values.iter().map(|value| with(labels, label, value))).collect();
        }
        all
    }

    fn trouble(&self, area: &Check, shape: &Shape) -> Labels {
        self.troubled(area, shape).into_iter().next().unwrap_or_default()
    }

    /// Series that would give one alert, about an object each: otherwise one of them hides that the others
    /// are not looked at.
    fn apart(&self, shape: &Shape, mut all: Vec<Labels>) -> Vec<Labels> {
        let mut alerts = BTreeSet::new();
        let kept = shape.labels();
        let Some(about) = ["object", "volume", "node"].into_iter().find(|label| kept.contains(label)) else {
            return all;
        };
        for (number, labels) in (1..).zip(&mut all) {
            if !alerts.insert(self.alert(shape, labels)) {
                labels.insert(about.to_owned(), format!("{about}-{number}"));
            }
        }
        all
    }

    fn alert(&self, shape: &Shape, series: &Labels) -> Labels {
        let mut labels = self.exporter.labels.clone();
        labels.extend(series.clone());
        labels.retain(|label, _| label != "severity" && !shape.without.contains(&label.as_str()));
        labels
    }

    /// A series of a pod of the exporter in stretches of this many ticks; after the last it is gone.
    fn fact(&self, shape: &Shape, own: &Labels, pod: &str, stretches: &[(u64, Option<u8>)]) -> Input {
        let mut labels = self.exporter.pod(pod);
        labels.extend(own.clone());
        let stretch = |(ticks, value): &(u64, Option<u8>)| match value {
            None => format!("_x{ticks}"),
            Some(value) => format!("{value}x{}", ticks - 1),
        };
        let values: Vec<String> = stretches.iter().map(stretch).collect();
        self.input(shape.family.name, &labels, &(values.join(" ") + " stale"))
    }
}
