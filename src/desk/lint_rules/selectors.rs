//! What a selector asks for: the metric, its labels and their values.

use std::collections::BTreeSet;

use promql_parser::label::{MatchOp, Matcher};
use promql_parser::parser::VectorSelector;

use super::Level;
use super::forms::{is_negative, is_of_target, name_of, ours_instead, ours_too};
use super::judge::Judge;
use crate::did_you_mean;
use crate::longhorn_series::{LABELS, Metric, NAMES};

impl Judge<'_> {
    /// A regular expression for the name: whether it fits any metric.
    fn names(&mut self, selector: &VectorSelector) {
        let by_name = selector.matchers.find_matchers("__name__");
        let Some(matcher) =
            by_name.iter().find(|one| one.value.contains("longhorn_") && !one.value.contains('$'))
        else {
            return;
        };
        if !matches!(matcher.op, MatchOp::Re(_))
            || NAMES.iter().any(|name| name.starts_with("longhorn_health_") && matcher.is_match(name))
        {
            return;
        }
        let fits: Vec<&String> = NAMES.iter().filter(|name| matcher.is_match(name)).collect();
        let there =
            |name: &&&String| Metric::of(name).is_some_and(|metric| metric.labels(self.release).is_some());
        let message = match (fits.is_empty(), fits.iter().any(|name| there(&name))) {
            (_, true) => return,
            (true, _) => format!("no Longhorn metric in any release matches {}", matcher.value),
            (false, _) => format!("{} has no metric that matches {}", self.release, matcher.value),
        };
        let id = if fits.is_empty() { "unknown_metric" } else { "absent_metric" };
        self.say(Level::Error, id, message, String::new());
    }

    pub(super) fn selector(&mut self, selector: &VectorSelector, states: bool) {
        let Some(name) = name_of(selector) else { return self.names(selector) };
        // kube-state-metrics gives what it makes of Longhorn's objects these labels, and any name
        let of_objects = selector.matchers.matchers.iter().any(|one| one.name.starts_with("customresource_"));
        let foreign = !name.starts_with("longhorn_") || name.contains('$') || of_objects;
        // series of this program come and go with its own releases
        if foreign || name.starts_with("longhorn_health_") || self.records.contains(&name) {
            return;
        }
        let Some(metric) = Metric::of(&name) else {
            let known: Vec<&str> = NAMES.iter().map(String::as_str).collect();
            let message = format!("{name} is not a Longhorn metric in any known release");
            let near = did_you_mean::hint(&name, &known);
            return self.say(
                Level::Error,
                "unknown_metric",
                message,
                if near.contains("mean") { near } else { String::new() },
            );
        };
        let Some(labels) = metric.labels(self.release) else {
            let message = format!("{} lacks {name}, which exists {}", self.release, metric.there());
            return self.say(Level::Error, "absent_metric", message, ours_instead(metric));
        };
        self.asked += 1;
        let before = self.said.len();
        let groups = std::iter::once(&selector.matchers.matchers).chain(&selector.matchers.or_matchers);
        for group in groups {
            for matcher in group.iter().filter(|matcher| matcher.name != "__name__") {
                self.label(&name, metric, &labels, matcher);
            }
            self.values(&name, metric, group);
        }
        let wrong = self.said.get(before..).unwrap_or_default().iter().any(|said| said.level == Level::Error);
        let apart = states || wrong || !selector.matchers.find_matchers("state").is_empty();
        if !apart && self.has_dialect(metric) {
            let message = self.one_of_each(&name);
            self.say(Level::Warning, "dialect", message, "add a matcher on state, or by (state)".to_owned());
        }
    }

    fn label(&mut self, name: &str, metric: &Metric, labels: &BTreeSet<&str>, matcher: &Matcher) {
        let label = matcher.name.as_str();
        if labels.contains(label) || is_of_target(label) {
            return;
        }
        // one that also matches no value holds for a label that is not there
        if matcher.is_match("") {
            let means = |value: &String| *value == matcher.value;
            let of_ours =
                LABELS.contains(label) || metric.values.values().flatten().chain(&metric.codes).any(means);
            if is_negative(matcher) && of_ours {
                let message = format!(
                    "{name} has no label {label} in {}, so the matcher matches every series",
                    self.release
                );
                self.say(Level::Warning, "absent_label", message, String::new());
            }
            return;
        }
        let with = metric.with_label(label);
        if !with.is_empty() {
            let code = metric.codes.iter().position(|state| matcher.is_match(state));
            let instead =
                code.filter(|_| label == "state").map(|code| format!("{name} == {code}{}", ours_too(metric)));
            let message = format!("{name} has no label {label} in {}, but {with}", self.release);
            self.say(Level::Error, "absent_label", message, instead.unwrap_or_default());
            return;
        }
        let meant =
            metric.values.iter().find(|(_, values)| values.iter().any(|value| matcher.is_match(value)));
        if let Some((other, _)) = meant.filter(|(other, _)| labels.contains(other.as_str())) {
            let message = format!("{name} has never had a label {label}");
            let instead = format!("{other}{}\"{}\"", matcher.op, matcher.value);
            return self.say(Level::Error, "unknown_label", message, instead);
        }
        let known: Vec<&str> = labels.iter().copied().collect();
        let near = did_you_mean::hint(label, &known);
        let (level, instead) = match near.contains("mean") || LABELS.contains(label) {
            true => (Level::Warning, if known.is_empty() { String::new() } else { near }),
            false => (Level::Note, String::new()),
        };
        let message = format!("{name} has never had a label {label}, unless your scrape adds it");
        self.say(level, "unknown_label", message, instead);
    }

    /// No value of a label meets all matchers of it.
    fn values(&mut self, name: &str, metric: &Metric, group: &[Matcher]) {
        for (label, values) in &metric.values {
            let of: Vec<&Matcher> = group.iter().filter(|matcher| matcher.name == *label).collect();
            if of.is_empty() || of.iter().any(|matcher| matcher.value.contains(['$', '['])) {
                continue;
            }
            let idle =
                of.iter().find(|one| is_negative(one) && values.iter().all(|value| one.is_match(value)));
            if let Some(matcher) = idle {
                let message = format!(
                    "{name} never has {label} {}, so the matcher matches every series",
                    matcher.value
                );
                self.say(Level::Warning, "unknown_value", message, format!("one of {}", values.join(", ")));
                continue;
            }
            let can = |value: &&String| of.iter().all(|matcher| matcher.is_match(value));
            if !of.iter().all(|matcher| matcher.is_match("")) && !values.iter().any(|value| can(&value)) {
                let said: Vec<&str> = of.iter().map(|matcher| matcher.value.as_str()).collect();
                let message = format!("{name} never has {label} {}", said.join(" and "));
                // `=` compares with the whole text, also where it reads like alternatives
                let either = said
                    .iter()
                    .find(|said| said.split('|').any(|part| values.iter().any(|value| value == part)));
                let instead = match either {
                    Some(either) => format!("{label}=~\"{either}\""),
                    None => format!("one of {}", values.join(", ")),
                };
                self.say(Level::Error, "unknown_value", message, instead);
            }
        }
    }
}
