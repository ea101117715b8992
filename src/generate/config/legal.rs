//! What may stand in the strings and numbers of the file: one table for the parser, which explains,
//! and the JSON schema, which cannot.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use super::Kind;
use crate::generate::{catalogue, rules};

/// Strings that are legal.
#[derive(Debug, Clone, Copy)]
pub struct Legal {
    /// The whole string, in what ECMAScript and this program understand alike.
    pub pattern: &'static str,
    /// Fewest characters.
    pub shortest: usize,
    /// Most characters.
    pub longest: usize,
    /// What a message says, after "expected".
    pub expected: &'static str,
}

/// Numbers that are legal as a threshold; the least is declared with it.
pub const GREATEST: f64 = 1e9;

macro_rules! label {
    () => {
        "(?:[a-zA-Z]|_[a-zA-Z0-9])[a-zA-Z0-9_]*"
    };
}
macro_rules! matcher {
    () => {
        concat!(
            label!(),
            r#"[ \t\r\n]*(?:=|!=|=~|!~)[ \t\r\n]*"#,
            r#"(?:"(?:[^"'`\\\x00-\x1f\x7f]|\\\\)*"|'(?:[^"'`\\\x00-\x1f\x7f]|\\\\)*')"#,
        )
    };
}

/// The name of a label as every Prometheus takes it; two underscores in front are its own.
pub const LABEL: Legal = Legal {
    pattern: concat!("^", label!(), "$"),
    shortest: 1,
    longest: usize::MAX,
    expected: "the name of a label: letters, digits and underscores, no digit and no __ in front",
};

const LABEL_OR_NONE: Legal = Legal {
    pattern: concat!("^(?:", label!(), ")?$"),
    shortest: 0,
    expected: "the name of a label (letters, digits and underscores, no digit and no __ in front), or '' for none",
    ..LABEL
};

/// The value of a label. Prometheus would expand a template there; its cases could not prove it.
pub const VALUE: Legal = Legal {
    pattern: r"^(?:[^\x00-\x1f\x7f{]|\{[^\x00-\x1f\x7f{])*\{?$",
    shortest: 0,
    longest: usize::MAX,
    expected: "text on one line, without the {{ of a template",
};

const SELECTOR: Legal = Legal {
    pattern: concat!(r"^[ \t\r\n]*", matcher!(), r"(?:[ \t\r\n]*,[ \t\r\n]*", matcher!(), r")*[ \t\r\n]*$"),
    shortest: 1,
    longest: usize::MAX,
    expected: "matchers without braces, such as job=\"longhorn-health-exporter\"",
};

const NAMESPACE: Legal = Legal {
    pattern: "^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$",
    shortest: 1,
    longest: 63,
    expected: "a namespace: at most 63 lower-case letters, digits and hyphens, no hyphen at the ends",
};

/// No query, as a name follows; no `$` and no `{{`, as Grafana and Prometheus would expand them.
const ADDRESS: Legal = Legal {
    pattern: concat!(
        r"^https?://(?:[A-Za-z0-9](?:[-A-Za-z0-9.]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?",
        r"(?:/(?:[-A-Za-z0-9._~!&'()*+,;=:@/]|%[0-9A-Fa-f]{2})*)?$"
    ),
    shortest: 1,
    longest: usize::MAX,
    expected: "an address such as https://example.org/runbooks, without query and fragment",
};

/// The digits bound the whole to some months: promtool steps through all of it.
const DURATION: Legal = Legal {
    pattern: "^(?:[0-9]w)?(?:[0-9]{1,2}d)?(?:[0-9]{1,3}h)?(?:[0-9]{1,4}m)?(?:[0-9]{1,6}s)?$",
    shortest: 2,
    longest: usize::MAX,
    expected: "a duration such as 10m, 1h30m or 0s: at most 9w, 99d, 999h, 9999m and 999999s, in this order",
};

impl Kind {
    /// What is legal, if it is a string.
    pub fn legal(self) -> Option<&'static Legal> {
        match self {
            Kind::Selector => Some(&SELECTOR),
            Kind::Namespace => Some(&NAMESPACE),
            Kind::Label => Some(&LABEL_OR_NONE),
            Kind::Address => Some(&ADDRESS),
            Kind::Duration => Some(&DURATION),
            Kind::Labels | Kind::Switch | Kind::Severity | Kind::Thresholds | Kind::Alerts => None,
        }
    }
}

impl Legal {
    /// Is this string legal?
    pub fn allows(&self, text: &str) -> bool {
        let length = text.chars().count();
        let compiled = |pattern: &str| Regex::new(pattern).is_ok_and(|pattern| pattern.is_match(text));
        (self.shortest..=self.longest).contains(&length) && compiled(self.pattern)
    }
}

/// Labels that tell the series of one exporter apart, or that generated rules set. As the label of a
/// cluster they would mean two things, and as labels of an alert they would make one of several.
pub static TAKEN: LazyLock<BTreeSet<&'static str>> = LazyLock::new(|| {
    let declared = catalogue::areas().flat_map(|area| area.gauges).flat_map(|gauge| &gauge.labels).copied();
    declared.chain(["alertname", "severity", "source", "le"]).collect()
});

/// Labels that no cluster can have: also those of the exporter's target, of which rules drop some.
pub fn taken_for_clusters() -> BTreeSet<&'static str> {
    dropped().chain(["job", "namespace"]).chain(TAKEN.iter().copied()).collect()
}

/// Labels by which the exporter cannot be selected: they differ within it, or rules drop them.
pub fn not_of_the_target(label: &str) -> bool {
    TAKEN.contains(label) || dropped().any(|dropped| dropped == label)
}

fn dropped() -> impl Iterator<Item = &'static str> {
    rules::WITHOUT.split(", ")
}
