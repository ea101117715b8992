//! The labels under which Prometheus scrapes the exporter, for the series of the cases.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

use crate::generate::Settings;

/// Labels with their values.
pub type Labels = BTreeMap<String, String>;

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

/// Label, operator, quoted value.
#[expect(clippy::expect_used, reason = "a constant pattern, which the tests compile")]
static MATCHER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"(\w+)\s*(=~|!~|!=|=)\s*("[^"]*"|'[^']*')"#).expect("the pattern is constant")
});

/// Operator and value of a matcher.
type Test = (String, String);

impl Exporter {
    /// Labels that the configured selector takes.
    pub fn of(settings: &Settings) -> Exporter {
        // the configuration was refused if there are none
        Exporter::selected_by(&settings.selector).unwrap_or_default()
    }

    /// Labels that the selector takes, or why there are none. They are looked for among the usual
    /// ones and what stands in the selector itself.
    pub fn selected_by(selector: &str) -> Result<Exporter, String> {
        let mut tests: BTreeMap<String, Vec<Test>> = BTreeMap::new();
        for matcher in MATCHER.captures_iter(selector) {
            let [_, label, operator, value] =
                [0, 1, 2, 3].map(|group| matcher.get(group).map_or("", |m| m.as_str()));
            // the only escape that selectors may have
            let value = value.trim_matches(['"', '\'']).replace("\\\\", "\\");
            if operator.ends_with('~') && pattern(&value).is_none() {
                return Err(format!("{value:?} is not a regular expression"));
            }
            tests.entry(label.to_owned()).or_default().push((operator.to_owned(), value));
        }
        let usual = [("job", "longhorn-health-exporter"), ("namespace", "longhorn-system")];
        let labels = usual.map(|(label, value)| (label.to_owned(), value.to_owned())).into();
        let mut exporter = Exporter { labels, ..Exporter::default() };
        for (label, tests) in tests {
            let candidates = candidates(exporter.labels.get(&label), &tests);
            let taken = candidates.iter().find(|value| tests.iter().all(|test| passes(test, value)));
            let taken =
                taken.ok_or_else(|| format!("no value of {label} matches that stands here literally"))?;
            let refused = candidates.iter().find(|value| !tests.iter().all(|test| passes(test, value)));
            exporter.other.extend(refused.map(|refused| (label.clone(), refused.clone())));
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

    /// The labels of one of its pods, as a ServiceMonitor sets them.
    pub fn pod(&self, pod: &str) -> Labels {
        let own = [
            ("pod", format!("longhorn-health-exporter-{pod}")),
            ("instance", format!("{pod}:10666")),
            ("container", format!("exporter-{pod}")),
            ("endpoint", format!("http-{pod}")),
            ("service", format!("longhorn-health-exporter-{pod}")),
        ];
        let own = own.map(|(label, value)| (label.to_owned(), value));
        self.labels.clone().into_iter().chain(own).collect()
    }
}

/// Values among which there is one that passes the tests and, if there can be, one that does not.
fn candidates(usual: Option<&String>, tests: &[Test]) -> Vec<String> {
    let written = tests.iter().flat_map(|(_, value)| value.split('|').map(str::to_owned));
    let others = ["another", "one-more"].map(str::to_owned);
    // a label without a value is a label that is not there
    usual.cloned().into_iter().chain(written).chain(others).filter(|value| !value.is_empty()).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selector_takes_one_target_and_leaves_another() {
        let found = |selector: &str| {
            Exporter::selected_by(selector)
                .map(|found| (found.labels["job"].clone(), found.other.get("job").cloned()))
        };
        for (selector, taken, left) in [
            ("job=\"x\"", "x", Some("longhorn-health-exporter")),
            ("job=~\"longhorn-health.*|lhe\"", "longhorn-health-exporter", Some("another")),
            ("job=~'lhe-[0-9]+|x'", "x", Some("longhorn-health-exporter")),
            ("job!=\"x\"", "longhorn-health-exporter", Some("x")),
            ("job!~\"longhorn.*\"", "another", Some("longhorn-health-exporter")),
            ("job=~\".+\", app='lhe'", "longhorn-health-exporter", None),
        ] {
            assert_eq!(found(selector), Ok((taken.to_owned(), left.map(str::to_owned))), "{selector}");
        }
        for (selector, reason) in [
            ("job=~\".*\"", "every target matches, not only the exporter"),
            ("job=\"a\", job=\"b\"", "no value of job matches that stands here literally"),
            ("job=\"\"", "no value of job matches that stands here literally"),
            ("job=~\"lhe-[0-9]\"", "no value of job matches that stands here literally"),
            ("job=~\"(\"", "\"(\" is not a regular expression"),
        ] {
            assert_eq!(found(selector), Err(reason.to_owned()), "{selector}");
        }
    }
}
