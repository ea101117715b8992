//! docs/configuration.md, its example and its JSON schema, all from the types of [`Settings`].

use std::fmt::Write;

use schemars::Schema;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use serde_json::{Map, Value, json};

use super::json_schema;
use super::markdown::{Document, code};
use crate::check::Alert;
use crate::generate::settings::GREATEST;
use crate::generate::{Settings, Target, catalogue, pretty};

pub const EXAMPLE: &str = "configuration.example.yaml";
pub const SCHEMA: &str = "configuration.schema.json";

pub fn page() -> String {
    let schema = described();
    let mut page = Document::new("Configuration of the generated files");
    page.paragraph(INTRODUCTION);
    page.code("console", "longhorn-health-exporter generate rules --config my.yaml --out my-rules");
    page.code(
        "yaml",
        "selector: longhorn-health-exporter\ncluster_label: \"\"\nlabels: {team: storage}\nalerts:\n  \
         LonghornManagerHighRestarts:\n    for: 10m\n    thresholds: {restarts: 5}\n  \
         LonghornHealthAccessDenied: {enabled: false}",
    );
    page.heading(2, "Keys");
    page.table(
        ["key", "sets", "default", "value"],
        properties(&schema).map(|(key, property)| {
            let default = match &property["default"] {
                Value::String(text) => code(&format!("{text:?}")),
                _ => "–".to_owned(),
            };
            [code(key), text(property), default, value(&schema, property)]
        }),
    );
    page.heading(2, "Keys of an alert");
    page.paragraph("Under `alerts`, by name of the alert. What is left out stays as shipped.");
    let alert = at(&schema, "/$defs/AlertConfig");
    let row = |(key, property)| [code(key), text(property), value(&schema, property)];
    page.table(["key", "sets", "value"], properties(alert).map(row));
    page.paragraph("What each alert has as shipped stands in its [runbook](checks.md).");
    page.finish()
}

const INTRODUCTION: &str = "\
`generate --config FILE` reads one YAML file with everything that can be set about rules, dashboards and runbooks. An unknown key, or a
value that Prometheus, Alertmanager or Grafana would reject, is an error that names the line, the key and what is legal; nothing is
written then. [configuration.example.yaml](configuration.example.yaml) has every key with its default, and
[configuration.schema.json](configuration.schema.json) is for editors.";

fn properties(schema: &Value) -> impl Iterator<Item = (&str, &Value)> {
    schema["properties"].as_object().into_iter().flatten().map(|(key, property)| (key.as_str(), property))
}

/// What a JSON pointer points at; null for nothing.
fn at<'v>(schema: &'v Value, pointer: &str) -> &'v Value {
    schema.pointer(pointer).unwrap_or(&Value::Null)
}

fn text(schema: &Value) -> String {
    schema["description"].as_str().unwrap_or_default().to_owned()
}

/// What may stand there, from the definition that a property refers to.
fn value(schema: &Value, property: &Value) -> String {
    let reference = at(property, "/$ref").as_str().or_else(|| at(property, "/anyOf/0/$ref").as_str());
    let definition = reference.and_then(|reference| schema.pointer(reference.trim_start_matches('#')));
    match definition {
        Some(definition) if definition["oneOf"].is_array() => listed(&definition["oneOf"]),
        Some(definition) => text(definition),
        None if property["properties"].is_object() => "the keys below, by name of the alert".to_owned(),
        None if at(property, "/type/0") == "boolean" => "`true` or `false`".to_owned(),
        None => "numbers by name".to_owned(),
    }
}

fn listed(values: &Value) -> String {
    let values = values.as_array().into_iter().flatten().filter_map(|value| value["const"].as_str());
    values.map(code).collect::<Vec<_>>().join(", ")
}

/// A file with every key and its default, so that reading it changes nothing. Of the alerts it has those
/// with thresholds, which have every key.
pub fn example() -> String {
    let schema = described();
    let mut text = format!("# {}\n# yaml-language-server: $schema={SCHEMA}\n", Target::Docs.header());
    for (key, property) in properties(&schema).filter(|(key, _)| *key != "alerts") {
        let about = self::text(property);
        let _ = match &property["default"] {
            Value::String(default) => write!(text, "\n# {about}\n{key}: '{default}'\n"),
            Value::Object(_) => write!(text, "\n# {about}\n{key}: {{}}\n"),
            _ => write!(text, "\n# {about}\n# {key}: …\n"),
        };
    }
    let _ = write!(text, "\n# {}\nalerts:\n", self::text(at(&schema, "/properties/alerts")));
    let with_thresholds = catalogue::alerts().filter(|alert| !alert.thresholds.is_empty());
    with_thresholds.for_each(|alert| example_alert(&mut text, alert));
    text
}

fn example_alert(text: &mut String, alert: &Alert) {
    let (name, hold, severity) = (alert.name, alert.hold, alert.severity);
    let keep = if alert.keep_firing_for.is_empty() { "0s" } else { alert.keep_firing_for };
    let _ = write!(
        text,
        "  # {}\n  {name}:\n    enabled: true\n    for: {hold}\n    # keep_firing_for: {keep}\n    \
         severity: {severity}\n    labels: {{}}\n    thresholds:\n",
        alert.summary
    );
    for threshold in alert.thresholds {
        let _ = writeln!(text, "      {}: {} # {}", threshold.name, threshold.default, threshold.unit);
    }
}

pub fn schema() -> String {
    pretty(&described())
}

/// The schema of the types, with the names of the alerts and of their thresholds.
fn described() -> Value {
    // a default of null says nothing that "not required" does not say
    let without_null = RecursiveTransform(|schema: &mut Schema| {
        if schema.get("default").is_some_and(Value::is_null) {
            schema.remove("default");
        }
    });
    let settings = SchemaSettings::draft2020_12().with_transform(without_null);
    let mut schema = json_schema::<Settings>(settings, "Configuration of longhorn-health-exporter generate");
    let names: Vec<&str> = catalogue::alerts().map(|alert| alert.name).collect();
    let with_thresholds = catalogue::alerts().filter(|alert| !alert.thresholds.is_empty());
    let special: Map<_, _> =
        with_thresholds.map(|alert| (alert.name.to_owned(), alert_schema(alert))).collect();
    if let Some(alerts) = schema.pointer_mut("/properties/alerts").and_then(Value::as_object_mut) {
        alerts.insert("propertyNames".to_owned(), json!({ "enum": names }));
        alerts.insert("properties".to_owned(), special.into());
        alerts.insert("additionalProperties".to_owned(), json!({ "$ref": ALERT }));
    }
    schema
}

const ALERT: &str = "#/$defs/AlertConfig";

/// An alert with thresholds, of which each has its own name and bounds.
fn alert_schema(alert: &Alert) -> Value {
    let thresholds = alert.thresholds.iter().map(|threshold| {
        let number = json!({
            "description": format!("In {}. {}", threshold.unit, threshold.why),
            "type": "number",
            "default": threshold.default,
            "minimum": threshold.least,
            "maximum": GREATEST,
        });
        (threshold.name.to_owned(), number)
    });
    let thresholds: Map<_, _> = thresholds.collect();
    let thresholds = json!({ "additionalProperties": false, "properties": thresholds });
    json!({ "$ref": ALERT, "properties": { "thresholds": thresholds } })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::settings::parse;

    #[test]
    fn the_example_says_every_key_and_changes_nothing() {
        let example = example();
        let settings = parse("example", &example).unwrap();
        let defaults = Settings::default();
        for alert in catalogue::alerts() {
            assert_eq!(settings.alert(alert), defaults.alert(alert), "{example}");
        }
        assert_eq!(Settings { alerts: defaults.alerts.clone(), ..settings }, defaults, "{example}");
        for (key, _) in properties(&described()) {
            assert!(example.contains(&format!("{key}:")), "{key}");
        }
        for (key, _) in properties(at(&described(), "/$defs/AlertConfig")) {
            assert!(example.contains(&format!(" {key}:")), "{key}");
        }
    }

    #[test]
    fn the_example_of_the_page_is_read() {
        let page = page();
        let yaml = page.split("```yaml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
        let settings = parse("page", yaml).unwrap();
        let restarts = catalogue::alerts().find(|alert| alert.name == "LonghornManagerHighRestarts").unwrap();
        assert_eq!(settings.alert(restarts).thresholds["restarts"], 5.0);
    }
}
