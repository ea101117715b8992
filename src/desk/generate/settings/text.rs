//! The strings that a configuration may contain: one type each, from which parser and JSON schema come.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Deref;

use regex::Regex;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::Value;

use crate::did_you_mean;
use crate::generate::{catalogue, rules};

struct Form {
    expected: &'static str,
    /// The whole string, in the syntax that ECMAScript and the regex crate share.
    pattern: &'static str,
    /// Why a string means something else here.
    refused: fn(&str) -> Option<String>,
}

macro_rules! texts {
    ($($(#[$about:meta])* $name:ident $expected:literal $pattern:expr $(, refused $refused:expr)?;)*) => { $(
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
        #[serde(try_from = "Value")]
        pub struct $name(pub String);

        impl $name {
            #[allow(clippy::needless_update)] // most have no strings to refuse
            const FORM: Form =
                Form { expected: $expected, pattern: $pattern, $(refused: $refused,)? ..Form::ANY };
        }

        impl TryFrom<Value> for $name {
            type Error = String;

            fn try_from(value: Value) -> Result<Self, String> {
                Self::FORM.read(value).map($name)
            }
        }

        impl Deref for $name {
            type Target = String;

            fn deref(&self) -> &String {
                &self.0
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({
                    "type": "string", "description": Self::FORM.expected, "pattern": Self::FORM.pattern,
                })
            }
        }
    )* };
}

macro_rules! label {
    () => {
        "(?:[a-zA-Z]|_[a-zA-Z0-9])[a-zA-Z0-9_]*"
    };
}

texts! {
    /// A job name; nothing in it needs escaping in PromQL.
    Job "the exporter's job name, or labels of its target such as {job: x, namespace: y}"
        r#"^[^"'`\\\x00-\x1f\x7f]+$"#;
    Namespace "a namespace: at most 63 lower-case letters, digits and hyphens, no hyphen at the ends"
        "^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$";
    /// Two leading underscores are reserved by Prometheus.
    LabelName "the name of a label: letters, digits and underscores, no digit and no __ in front"
        concat!("^", label!(), "$"),
        refused |name| is_taken(name).then(|| format!("{name} is a label that alerts already have; choose another name"));
    TargetLabel "the name of a label: letters, digits and underscores, no digit and no __ in front"
        concat!("^", label!(), "$"),
        refused |name| (is_taken(name) || is_dropped(name)).then(String::new);
    ClusterLabel "the name of a label (letters, digits and underscores, no digit and no __ in front), or '' for none"
        concat!("^(?:", label!(), ")?$"),
        refused |name| (is_taken(name) || is_dropped(name) || ["job", "namespace"].contains(&name))
            .then(|| format!("{name} cannot distinguish clusters, because it has another meaning in these series"));
    /// Nothing in it needs escaping in PromQL, and `$` would be a group of label_replace.
    ClusterName "the name of a cluster, without quotes, backslashes and $"
        r#"^[^"'`\\$\x00-\x1f\x7f]+$"#;
    /// Prometheus would expand a template in it, which the test cases could not prove.
    LabelValue "text on one line, without the {{ of a template"
        r"^(?:[^\x00-\x1f\x7f{]|\{[^\x00-\x1f\x7f{])*\{?$";
    /// Without a query, as a name is appended; without `$` and `{{`, which Grafana and Prometheus expand.
    Address "an address such as https://example.org/runbooks, without query and fragment"
        concat!(
            r"^https?://(?:[A-Za-z0-9](?:[-A-Za-z0-9.]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?",
            r"(?:/(?:[-A-Za-z0-9._~!&'()*+,;=:@/]|%[0-9A-Fa-f]{2})*)?$"
        );
    /// The number of digits bounds it to some months: promtool steps through all of it.
    Duration "a duration such as 10m, 1h30m or 0s: at most 9w, 99d, 999h, 9999m and 999999s, in this order"
        r"^\b(?:[0-9]w)?(?:[0-9]{1,2}d)?(?:[0-9]{1,3}h)?(?:[0-9]{1,4}m)?(?:[0-9]{1,6}s)?$";
    AlertName "the name of an alert" "^Longhorn[A-Za-z]+$", refused unknown_alert;
}

impl Form {
    const ANY: Form = Form { expected: "", pattern: "", refused: |_| None };

    /// Takes any value, so that the error can say what is expected for a number or a boolean too.
    fn read(&self, value: Value) -> Result<String, String> {
        let matches = |text: &str| Regex::new(self.pattern).is_ok_and(|pattern| pattern.is_match(text));
        match value {
            Value::String(text) => match (self.refused)(&text) {
                Some(reason) => Err(reason),
                None if matches(&text) => Ok(text),
                None => Err(format!("expected {}, found {}", self.expected, quoted(&text))),
            },
            Value::Null => Err(format!("expected {}, found nothing", self.expected)),
            other => {
                let quotes = if matches(&other.to_string()) { "; put it in quotes" } else { "" };
                Err(format!("expected {}, found {other}{quotes}", self.expected))
            }
        }
    }
}

/// A string on one line, cut where it is long.
fn quoted(text: &str) -> String {
    let cut: String = text.chars().take(60).collect();
    format!("{cut:?}{}", if cut.len() < text.len() { "…" } else { "" })
}

/// the exporter's job name, or labels of its target such as {job: x, namespace: y}
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "expected the exporter's job name, or labels of its target such as {job: x, namespace: y}, \
                 none that differs between series or that rules drop"
)]
pub enum Selector {
    Job(Job),
    Labels(#[schemars(extend("minProperties" = 1))] BTreeMap<TargetLabel, Job>),
}

// A number or a boolean that is written as one, not as text in quotes; no doc comment, as that would be
// the description in the schema.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(try_from = "Value", bound(deserialize = "Self: TryFrom<Value, Error = String>"))]
#[schemars(!try_from, inline)]
pub struct Plain<T>(pub T);

impl TryFrom<Value> for Plain<bool> {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        value.as_bool().map(Plain).ok_or_else(|| format!("expected true or false, found {value}"))
    }
}

impl TryFrom<Value> for Plain<f64> {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        value.as_f64().map(Plain).ok_or_else(|| format!("expected a number, found {value}"))
    }
}

fn unknown_alert(name: &str) -> Option<String> {
    let known: Vec<&str> =
        catalogue::alerts().chain(catalogue::INCIDENTS.alerts).map(|alert| alert.name).collect();
    (!known.contains(&name)).then(|| format!("unknown alert; {}", did_you_mean::hint(name, &known)))
}

/// Is it a label of the exporter's series, or one that generated rules set? As a label of an alert it would
/// split one alert into several.
fn is_taken(label: &str) -> bool {
    let mut gauges = catalogue::areas().flat_map(|area| area.gauges);
    ["alertname", "severity", "source", "le"].contains(&label)
        || gauges.any(|gauge| gauge.labels.contains(&label))
}

/// Is it a label of a target that rules drop?
fn is_dropped(label: &str) -> bool {
    rules::WITHOUT.split(", ").any(|dropped| dropped == label)
}
