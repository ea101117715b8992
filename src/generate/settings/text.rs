//! The strings that a configuration may contain: one rule each for the parser and the JSON schema.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::marker::PhantomData;
use std::ops::RangeInclusive;
use std::sync::LazyLock;

use regex::Regex;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::{Value, json};

use crate::did_you_mean;
use crate::generate::{catalogue, rules};

/// The greatest threshold; the least is declared with it.
pub const GREATEST: f64 = 1e9;

pub trait Text {
    const NAME: &'static str;
    /// The whole string, in the syntax that ECMAScript and the regex crate share.
    const PATTERN: &'static str;
    const LENGTH: RangeInclusive<usize> = 0..=usize::MAX;
    const EXPECTED: &'static str;

    /// Strings of this form that mean something else here, and why.
    fn refused() -> (BTreeSet<&'static str>, &'static str) {
        (BTreeSet::new(), "")
    }
}

macro_rules! texts {
    ($($(#[$about:meta])* $name:ident $expected:literal $pattern:expr $(, length $length:expr)? $(, refused $refused:expr)?;)*) => { $(
        $(#[$about])*
        #[derive(PartialEq, Eq, PartialOrd, Ord)]
        pub enum $name {}

        impl Text for $name {
            const NAME: &'static str = stringify!($name);
            const PATTERN: &'static str = $pattern;
            $(const LENGTH: RangeInclusive<usize> = $length;)?
            const EXPECTED: &'static str = $expected;
            $(fn refused() -> (BTreeSet<&'static str>, &'static str) { $refused })?
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                Self::NAME.into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                schema::<Self>()
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
        "^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$", length 1..=63;
    /// Two leading underscores are reserved by Prometheus.
    LabelName "the name of a label: letters, digits and underscores, no digit and no __ in front"
        concat!("^", label!(), "$"),
        refused (TAKEN.clone(), "is a label that alerts already have; choose another name");
    TargetLabel "the name of a label: letters, digits and underscores, no digit and no __ in front"
        concat!("^", label!(), "$"),
        refused (dropped().chain(TAKEN.iter().copied()).collect(),
            "differs between series, or rules drop it; select by job or the like");
    ClusterLabel "the name of a label (letters, digits and underscores, no digit and no __ in front), or '' for none"
        concat!("^(?:", label!(), ")?$"),
        refused (dropped().chain(["job", "namespace"]).chain(TAKEN.iter().copied()).collect(),
            "cannot distinguish clusters, because it has another meaning in these series");
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
        "^(?:[0-9]w)?(?:[0-9]{1,2}d)?(?:[0-9]{1,3}h)?(?:[0-9]{1,4}m)?(?:[0-9]{1,6}s)?$", length 2..=30;
}

fn schema<T: Text>() -> Schema {
    let mut schema = json_schema!({ "type": "string", "description": T::EXPECTED, "pattern": T::PATTERN });
    if *T::LENGTH.end() < usize::MAX {
        schema.insert("minLength".to_owned(), (*T::LENGTH.start()).into());
        schema.insert("maxLength".to_owned(), (*T::LENGTH.end()).into());
    }
    let (refused, _) = T::refused();
    if !refused.is_empty() {
        schema.insert("not".to_owned(), json!({ "enum": refused }));
    }
    schema
}

fn checked<T: Text>(text: String) -> Result<String, String> {
    let matches = Regex::new(T::PATTERN).is_ok_and(|pattern| pattern.is_match(&text));
    if !matches || !T::LENGTH.contains(&text.chars().count()) {
        return Err(format!("expected {}, found {}", T::EXPECTED, quoted(&text)));
    }
    let (refused, reason) = T::refused();
    if refused.contains(text.as_str()) {
        return Err(format!("{text} {reason}"));
    }
    Ok(text)
}

/// A string on one line, cut where it is long.
fn quoted(text: &str) -> String {
    const LONGEST: usize = 60;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Checked<T>(String, PhantomData<T>);

impl<'de, T: Text> Deserialize<'de> for Checked<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // any value, so that a number or a boolean is seen as one and the error says what is expected
        let text = match Value::deserialize(deserializer)? {
            Value::String(text) => checked::<T>(text),
            Value::Null => Err(format!("expected {}, found nothing", T::EXPECTED)),
            other => {
                let quotes = checked::<T>(other.to_string()).is_ok();
                let hint = if quotes { "; put it in quotes" } else { "" };
                Err(format!("expected {}, found {other}{hint}", T::EXPECTED))
            }
        };
        text.map(|text| Checked(text, PhantomData)).map_err(de::Error::custom)
    }
}

pub fn text<'de, D: Deserializer<'de>, T: Text>(deserializer: D) -> Result<String, D::Error> {
    Checked::<T>::deserialize(deserializer).map(|checked| checked.0)
}

/// The same for a key without a default.
pub fn some<'de, D: Deserializer<'de>, T: Text>(deserializer: D) -> Result<Option<String>, D::Error> {
    text::<D, T>(deserializer).map(Some)
}

/// Several; nothing below the key is none.
pub fn list<'de, D: Deserializer<'de>, T: Text>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let list = Option::<Vec<Checked<T>>>::deserialize(deserializer)?.unwrap_or_default();
    Ok(list.into_iter().map(|checked| checked.0).collect())
}

/// Labels by name; nothing below the key is no labels.
pub fn labels<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, String>, D::Error> {
    type Read = BTreeMap<Checked<LabelName>, Checked<LabelValue>>;
    let labels = Option::<Read>::deserialize(deserializer)?.unwrap_or_default();
    Ok(labels.into_iter().map(|(name, value)| (name.0, value.0)).collect())
}

pub enum LabelMap {}

impl JsonSchema for LabelMap {
    fn schema_name() -> Cow<'static, str> {
        "Labels".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": ["object", "null"],
            "description": "text by name of the label",
            "propertyNames": generator.subschema_for::<LabelName>(),
            "additionalProperties": generator.subschema_for::<LabelValue>(),
        })
    }
}

/// What selects the exporter, for the schema.
pub enum Selector {}

impl JsonSchema for Selector {
    fn schema_name() -> Cow<'static, str> {
        "Selector".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": Job::EXPECTED,
            "anyOf": [
                generator.subschema_for::<Job>(),
                {
                    "type": "object",
                    "minProperties": 1,
                    "propertyNames": generator.subschema_for::<TargetLabel>(),
                    "additionalProperties": generator.subschema_for::<Job>(),
                },
            ],
        })
    }
}

/// A job name or labels, as labels with their values.
pub fn selector<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<(String, String)>, D::Error> {
    deserializer.deserialize_any(SelectorVisitor)
}

struct SelectorVisitor;

impl<'de> Visitor<'de> for SelectorVisitor {
    type Value = Vec<(String, String)>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(Job::EXPECTED)
    }

    fn visit_str<E: de::Error>(self, job: &str) -> Result<Self::Value, E> {
        let job = checked::<Job>(job.to_owned()).map_err(E::custom)?;
        Ok(vec![("job".to_owned(), job)])
    }

    fn visit_map<A: MapAccess<'de>>(self, mut labels: A) -> Result<Self::Value, A::Error> {
        let mut selected = Vec::new();
        while let Some((label, value)) = labels.next_entry::<Checked<TargetLabel>, Checked<Job>>()? {
            selected.push((label.0, value.0));
        }
        match selected.is_empty() {
            true => Err(de::Error::custom(format!("expected {}, found no labels", Job::EXPECTED))),
            false => Ok(selected),
        }
    }
}

// A number or a boolean that is written as one, not as text in quotes; no doc comment, as that would be
// the description in the schema.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema)]
#[schemars(transparent, inline)]
pub struct Plain<T>(pub T);

impl<'de> Deserialize<'de> for Plain<bool> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let flag = value.as_bool().map(Plain);
        flag.ok_or_else(|| de::Error::custom(format!("expected true or false, found {value}")))
    }
}

impl<'de> Deserialize<'de> for Plain<f64> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let number = value.as_f64().map(Plain);
        number.ok_or_else(|| de::Error::custom(format!("expected a number, found {value}")))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct AlertName(pub &'static str);

impl<'de> Deserialize<'de> for AlertName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        if let Some(alert) = super::declared(&name) {
            return Ok(AlertName(alert.name));
        }
        let known: Vec<&str> = catalogue::alerts().map(|alert| alert.name).collect();
        Err(de::Error::custom(format!("unknown alert; {}", did_you_mean::hint(&name, &known))))
    }
}

/// Labels of the exporter's series, and those that generated rules set. As labels of an alert they would
/// split one alert into several.
static TAKEN: LazyLock<BTreeSet<&'static str>> = LazyLock::new(|| {
    let declared = catalogue::areas().flat_map(|area| area.gauges).flat_map(|gauge| &gauge.labels).copied();
    declared.chain(["alertname", "severity", "source", "le"]).collect()
});

/// Labels of a target that rules drop.
fn dropped() -> impl Iterator<Item = &'static str> {
    rules::WITHOUT.split(", ")
}
