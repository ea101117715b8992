//! docs/configuration.md, its example and its JSON schema, from the table of keys that the parser
//! of the file uses.

use std::collections::BTreeSet;
use std::fmt::Write;

use serde_json::{Map, Value, json};

use super::markdown::{Page, code, or_none};
use super::pretty;
use crate::check::{Alert, Severity};
use crate::generate::config::legal::{self, GREATEST, LABEL, Legal, TAKEN, VALUE};
use crate::generate::config::{ALERT_KEYS, KEYS, Key, Kind};
use crate::generate::{Settings, Target, catalogue};

/// The example file, below docs/.
pub const EXAMPLE: &str = "configuration.example.yaml";
/// The schema, below docs/.
pub const SCHEMA: &str = "configuration.schema.json";

/// The page.
pub fn page() -> String {
    let defaults = Settings::default();
    let mut page = Page::new("Configuration of the generated files");
    page.paragraph(INTRODUCTION);
    page.code("console", "longhorn-health-exporter generate rules --config my.yaml --out my-rules");
    page.code(
        "yaml",
        "cluster_label: \"\"\nlabels: {team: storage}\nalerts:\n  LonghornManagerHighRestarts:\n    for: 10m\n    \
         thresholds: {restarts: 5}\n  LonghornHealthAccessDenied: {enabled: false}",
    );
    page.heading(2, "Keys");
    let row = |key: &Key| [code(key.name), of_kind(key.kind).to_owned(), key.about.to_owned()];
    page.table(
        ["key", "value", "default", "sets"],
        KEYS.iter().map(|key| {
            let [name, kind, about] = row(key);
            [name, kind, default(key.name, &defaults), about]
        }),
    );
    page.heading(2, "Keys of an alert");
    page.paragraph("Under `alerts`, by name of the alert. What is not said stays as shipped.");
    page.table(["key", "value", "sets"], ALERT_KEYS.iter().map(row));
    page.heading(2, "Alerts");
    page.table(
        ["alert", "for", "keep_firing_for", "severity", "thresholds"],
        catalogue::alerts().map(|alert| alert_row(alert, &defaults)),
    );
    page.finish()
}

const INTRODUCTION: &str = "\
`generate --config FILE` reads one YAML file for all that may be set about rules, dashboards and runbooks. A key that does not
exist, or a value that Prometheus, Alertmanager or Grafana would not take, is an error that names its line, the key and what may
stand there; nothing is written then. [configuration.example.yaml](configuration.example.yaml) has
every key with its default, and [configuration.schema.json](configuration.schema.json) tells editors what may stand where.";

fn of_kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Selector => "matchers without braces",
        Kind::Namespace => "name of a namespace",
        Kind::Label => "name of a label, or `\"\"` for none",
        Kind::Address => "http(s) address without query and fragment",
        Kind::Labels => "text by name of the label",
        Kind::Switch => "`true` or `false`",
        Kind::Duration => "duration, such as `10m` or `1h30m`",
        Kind::Severity => "`info`, `warning` or `critical`",
        Kind::Thresholds => "numbers by name, of 0 or more",
        Kind::Alerts => "the keys below, by name of the alert",
    }
}

fn default(key: &str, defaults: &Settings) -> String {
    let text = match key {
        "selector" => defaults.selector.as_str(),
        "namespace" => &defaults.namespace,
        "cluster_label" => &defaults.cluster_label,
        "runbook_base_url" => &defaults.runbook_base_url,
        _ => return "–".to_owned(),
    };
    code(text)
}

fn alert_row(alert: &Alert, defaults: &Settings) -> [String; 5] {
    let set = defaults.alert(alert);
    let thresholds: Vec<String> =
        set.thresholds.iter().map(|(name, value)| code(&format!("{name}: {value}"))).collect();
    let link = format!("[{}](alerts.md#{})", alert.name, alert.name.to_lowercase());
    let severity = set.severity.to_string();
    [link, set.hold, or_none(set.keep_firing_for), severity, or_none(thresholds.join(", "))]
}

/// A file with every key and its default, so that reading it changes nothing.
pub fn example() -> String {
    let defaults = Settings::default();
    let mut text = format!("# {}\n# yaml-language-server: $schema={SCHEMA}\n", Target::Docs.header());
    let quoted = |value: &str| format!("'{}'", value.replace('\'', "''"));
    for key in KEYS {
        let value = match key.name {
            "selector" => quoted(&defaults.selector),
            "namespace" => quoted(&defaults.namespace),
            "cluster_label" => quoted(&defaults.cluster_label),
            "runbook_base_url" => quoted(&defaults.runbook_base_url),
            "labels" => "{}".to_owned(),
            "alerts" => String::new(),
            _ => {
                let _ = write!(text, "\n# {}\n# {}: …\n", key.about, key.name);
                continue;
            }
        };
        let separator = if value.is_empty() { "" } else { " " };
        let _ = write!(text, "\n# {}\n{}:{separator}{value}\n", key.about, key.name);
    }
    catalogue::alerts().for_each(|alert| example_alert(&mut text, alert));
    text
}

fn example_alert(text: &mut String, alert: &Alert) {
    let _ = write!(
        text,
        "  # {}\n  {}:\n    enabled: true\n    for: {}\n",
        alert.summary, alert.name, alert.hold
    );
    if !alert.keep_firing_for.is_empty() {
        let _ = writeln!(text, "    keep_firing_for: {}", alert.keep_firing_for);
    }
    let _ = write!(text, "    severity: {}\n    labels: {{}}\n", alert.severity);
    if !alert.thresholds.is_empty() {
        text.push_str("    thresholds:\n");
    }
    for threshold in alert.thresholds {
        let _ = writeln!(text, "      {}: {} # {}", threshold.name, threshold.default, threshold.unit);
    }
}

/// JSON Schema of the file.
pub fn schema() -> String {
    let alerts: Map<String, Value> =
        catalogue::alerts().map(|alert| (alert.name.to_owned(), alert_schema(alert))).collect();
    let properties: Map<String, Value> = KEYS
        .iter()
        .map(|key| {
            let value = match key.kind {
                Kind::Alerts => {
                    json!({ "type": MAP, "additionalProperties": false, "properties": alerts })
                }
                kind => value_schema(kind),
            };
            (key.name.to_owned(), described(value, key.about))
        })
        .collect();
    pretty(&json!({
        "$comment": Target::Docs.header(),
        "$schema": super::DIALECT,
        "title": "Configuration of longhorn-health-exporter generate",
        "type": MAP,
        "additionalProperties": false,
        "properties": properties,
    }))
}

fn alert_schema(alert: &Alert) -> Value {
    let thresholds: Map<String, Value> = alert
        .thresholds
        .iter()
        .map(|threshold| {
            let about = format!("In {}. {}", threshold.unit, threshold.why);
            let number = json!({
                "type": "number",
                "default": threshold.default,
                "minimum": threshold.least,
                "maximum": GREATEST,
            });
            (threshold.name.to_owned(), described(number, &about))
        })
        .collect();
    let properties: Map<String, Value> = ALERT_KEYS
        .iter()
        .map(|key| {
            let value = match key.kind {
                Kind::Thresholds => {
                    json!({ "type": MAP, "additionalProperties": false, "properties": thresholds })
                }
                kind => value_schema(kind),
            };
            (key.name.to_owned(), described(value, key.about))
        })
        .collect();
    let alert_object = json!({ "type": MAP, "additionalProperties": false, "properties": properties });
    described(alert_object, alert.summary)
}

fn described(schema: Value, about: &str) -> Value {
    with(schema, "description", json!(about))
}

fn with(mut schema: Value, key: &str, value: Value) -> Value {
    if let Some(schema) = schema.as_object_mut() {
        schema.insert(key.to_owned(), value);
    }
    schema
}

/// A key with nothing below it is a map without members.
const MAP: [&str; 2] = ["object", "null"];

fn value_schema(kind: Kind) -> Value {
    match kind {
        Kind::Switch => json!({ "type": "boolean" }),
        Kind::Severity => json!({ "enum": Severity::ALL.map(Severity::as_str) }),
        Kind::Labels => json!({
            "type": MAP,
            "propertyNames": but(text_schema(&LABEL), &TAKEN),
            "additionalProperties": text_schema(&VALUE),
        }),
        Kind::Label => but(kind.legal().map_or(Value::Null, text_schema), &legal::taken_for_clusters()),
        _ => kind.legal().map_or_else(|| json!({ "type": MAP }), text_schema),
    }
}

fn text_schema(legal: &Legal) -> Value {
    let schema = json!({ "type": "string", "pattern": legal.pattern, "minLength": legal.shortest });
    if legal.longest < usize::MAX { with(schema, "maxLength", json!(legal.longest)) } else { schema }
}

/// The schema without some values.
fn but(schema: Value, refused: &BTreeSet<&str>) -> Value {
    with(schema, "not", json!({ "enum": refused }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::config;

    #[test]
    fn the_example_says_every_key_and_changes_nothing() {
        let example = example();
        assert_eq!(config::parse("example", &example).unwrap(), Settings::default(), "{example}");
        for key in KEYS {
            assert!(example.contains(&format!("{}:", key.name)), "{}", key.name);
        }
        assert!(!example.contains("–"));
    }

    #[test]
    fn the_example_of_the_page_is_read() {
        let page = page();
        let yaml = page.split("```yaml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
        let settings = config::parse("page", yaml).unwrap();
        assert_eq!(settings.alerts["LonghornManagerHighRestarts"].thresholds["restarts"], 5.0);
    }
}
