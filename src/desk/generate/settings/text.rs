//! The strings that a configuration may contain: one type each, from which parser and JSON schema come.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Deref;

use regex::Regex;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

struct Form {
    expected: &'static str,
    /// The whole string, in the syntax that ECMAScript and the regex crate share.
    pattern: &'static str,
    /// Whether the pattern is for editors alone, since what is declared is known only once all is read.
    is_declared: bool,
}

macro_rules! texts {
    ($($(#[$about:meta])* $name:ident $expected:literal $pattern:expr $(, $is_declared:ident)?;)*) => { $(
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
        #[serde(try_from = "Value")]
        pub struct $name(pub String);

        impl $name {
            const FORM: Form =
                Form { expected: $expected, pattern: $pattern, is_declared: !concat!($(stringify!($is_declared))?).is_empty() };
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
        concat!("^", label!(), "$");
    ClusterLabel "the name of a label (letters, digits and underscores, no digit and no __ in front), or '' for none"
        concat!("^(?:", label!(), ")?$");
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
    /// Of one release: in a line, releases differ.
    LonghornRelease "a release of Longhorn with all three numbers, such as v1.8.2"
        r"^v?[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}$";
    AlertName "the name of an alert" "^Longhorn[A-Za-z]+$", declared;
}

impl Form {
    /// Takes any value, so that the error can say what is expected for a number or a boolean too.
    fn read(&self, value: Value) -> Result<String, String> {
        let matches = |text: &str| Regex::new(self.pattern).is_ok_and(|pattern| pattern.is_match(text));
        match value {
            Value::String(text) if self.is_declared || matches(&text) => Ok(text),
            Value::String(text) => Err(format!("expected {}, found {}", self.expected, quoted(&text))),
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
    Labels(#[schemars(extend("minProperties" = 1))] BTreeMap<LabelName, Job>),
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
