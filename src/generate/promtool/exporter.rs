//! Which labels the configured selector wants of the exporter, for the series of the cases.

use std::collections::BTreeMap;

use regex::Regex;
use regex_syntax::hir::{Class, Hir, HirKind};

use super::template::Labels;
use crate::generate::{Settings, promql};

/// The exporter as Prometheus sees it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Exporter {
    /// Labels that the selector takes, and what is usual beside them.
    pub labels: Labels,
    /// Labels of a target that the selector does not take, as far as they differ.
    pub other: Labels,
    /// Labels that the selector speaks of.
    pub selected: Vec<String>,
}

/// Operator and value of a matcher.
type Test = (String, String);

impl Exporter {
    /// Labels that the configured selector takes.
    pub fn of(settings: &Settings) -> Exporter {
        // the configuration was refused if there are none
        Exporter::selected_by(&settings.selector).unwrap_or_default()
    }

    /// Labels that the selector takes, or why there are none.
    pub fn selected_by(selector: &str) -> Result<Exporter, String> {
        let mut tests: BTreeMap<String, Vec<Test>> = BTreeMap::new();
        for selector in promql::selectors(&format!("up{{{selector}}}")) {
            for (label, operator, value) in selector.matchers {
                // the only escape that selectors may have
                let value = value.replace("\\\\", "\\");
                if operator.ends_with('~') && pattern(&value).is_none() {
                    return Err(format!("{value:?} is not a regular expression"));
                }
                tests.entry(label).or_default().push((operator, value));
            }
        }
        let usual = [("job", "longhorn-health-exporter"), ("namespace", "longhorn-system")];
        let mut exporter = Exporter {
            labels: usual.map(|(label, value)| (label.to_owned(), value.to_owned())).into(),
            ..Exporter::default()
        };
        for (label, tests) in tests {
            let candidates = candidates(exporter.labels.get(&label), &tests);
            let taken = candidates.iter().find(|value| tests.iter().all(|test| passes(test, value)));
            let taken = taken.ok_or_else(|| format!("no value of {label} matches"))?;
            let refused = candidates.iter().find(|value| !tests.iter().all(|test| passes(test, value)));
            if let Some(refused) = refused {
                exporter.other.insert(label.clone(), refused.clone());
            }
            exporter.labels.insert(label.clone(), taken.clone());
            exporter.selected.push(label);
        }
        match exporter.other.is_empty() {
            true => Err("every target matches, not only the exporter".to_owned()),
            false => Ok(exporter),
        }
    }

    /// All labels of a target that is not the exporter.
    pub fn elsewhere(&self) -> Labels {
        self.labels.clone().into_iter().chain(self.other.clone()).collect()
    }
}

/// Values among which there is one that passes the tests and, if there can be, one that does not.
fn candidates(usual: Option<&String>, tests: &[Test]) -> Vec<String> {
    let of_tests = tests.iter().filter_map(|(operator, value)| match operator.as_str() {
        "=" | "!=" => Some(value.clone()),
        _ => Some(example(&regex_syntax::parse(value).ok()?)),
    });
    let others = ["another", "one-more"].map(str::to_owned);
    // a label without a value is a label that is not there
    usual.cloned().into_iter().chain(of_tests).chain(others).filter(|value| !value.is_empty()).collect()
}

fn passes((operator, value): &Test, candidate: &str) -> bool {
    let matches = || pattern(value).is_some_and(|pattern| pattern.is_match(candidate));
    match operator.as_str() {
        "=" => candidate == value,
        "!=" => candidate != value,
        "=~" => matches(),
        _ => !matches(),
    }
}

/// As Prometheus understands a pattern: for the whole value.
fn pattern(text: &str) -> Option<Regex> {
    Regex::new(&format!("^(?s:{text})$")).ok()
}

/// A short string that the pattern matches.
fn example(pattern: &Hir) -> String {
    match pattern.kind() {
        HirKind::Literal(literal) => String::from_utf8_lossy(&literal.0).into_owned(),
        HirKind::Class(Class::Unicode(class)) => {
            let first = class.iter().find(|range| range.end().is_ascii_graphic()).or(class.iter().next());
            let first =
                first.map(|range| if range.start().is_ascii_graphic() { range.start() } else { range.end() });
            first.map_or_else(String::new, String::from)
        }
        HirKind::Capture(capture) => example(&capture.sub),
        HirKind::Repetition(repeated) => example(&repeated.sub).repeat(repeated.min.min(100) as usize),
        HirKind::Concat(parts) => parts.iter().map(example).collect(),
        HirKind::Alternation(parts) => parts.first().map_or_else(String::new, example),
        HirKind::Empty | HirKind::Look(_) | HirKind::Class(Class::Bytes(_)) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(selector: &str) -> Result<(String, Option<String>), String> {
        let exporter = Exporter::selected_by(selector)?;
        Ok((exporter.labels["job"].clone(), exporter.other.get("job").cloned()))
    }

    #[test]
    fn a_selector_takes_one_and_leaves_another() {
        for (selector, taken, left) in [
            ("job=\"x\"", "x", Some("longhorn-health-exporter")),
            ("job=~\"longhorn-health.*|lhe\"", "longhorn-health-exporter", Some("another")),
            ("job=~\"lhe-[0-9]+\"", "lhe-0", Some("longhorn-health-exporter")),
            ("job=~'(?:a|b)\\\\.c{2}'", "a.cc", Some("longhorn-health-exporter")),
            ("job!=\"x\"", "longhorn-health-exporter", Some("x")),
            ("job!~\"longhorn.*\"", "another", Some("longhorn-health-exporter")),
            ("job=~\".+\", app='lhe'", "longhorn-health-exporter", None),
        ] {
            let (taken, left) = (taken.to_owned(), left.map(str::to_owned));
            assert_eq!(job(selector), Ok((taken, left)), "{selector}");
        }
    }

    #[test]
    fn a_selector_of_all_or_none_is_refused() {
        for (selector, reason) in [
            ("job=~\".*\"", "every target matches, not only the exporter"),
            ("job=\"a\", job=\"b\"", "no value of job matches"),
            ("job=\"\"", "no value of job matches"),
            ("job=~\"(\"", "\"(\" is not a regular expression"),
        ] {
            assert_eq!(job(selector), Err(reason.to_owned()), "{selector}");
        }
    }
}
