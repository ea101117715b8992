//! docs/configuration.md and its JSON schema, both from the types of [`Settings`].

use schemars::Schema;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use serde_json::Value;

use super::json_schema;
use super::markdown::{Document, code, or_none};
use crate::generate::Settings;

pub fn page() -> String {
    let schema = schema();
    let mut page = Document::new("Configuration of the generated files");
    page.paragraph(INTRODUCTION);
    page.code("console", "longhorn-health-exporter generate rules --config my.yaml --out my-rules");
    page.code("yaml", EXAMPLE);
    page.heading(2, "Keys");
    table(&mut page, &schema, &schema);
    page.heading(2, "Keys of an alert");
    page.paragraph("Set these under `alerts`, by alert name. Keys that you omit keep their shipped values.");
    table(&mut page, &schema, at(&schema, "/$defs/AlertConfig"));
    page.paragraph("Each alert's [runbook](checks.md) lists its shipped values and thresholds.");
    page.finish()
}

const INTRODUCTION: &str = "\
`generate --config FILE` reads one YAML file with all settings for rules, dashboards, runbooks and the mixin's defaults. An unknown key, or a value
that Prometheus, Alertmanager or Grafana would reject, is an error. The error names the line, the key and the accepted values, and nothing is written.
[configuration.schema.json](configuration.schema.json) is for editors.";

const EXAMPLE: &str = "\
# yaml-language-server: $schema=configuration.schema.json
selector: {job: longhorn-health-exporter, namespace: monitoring}
namespace: longhorn-system
cluster_label: cluster
expected_clusters: [prod-eu1, prod-us1]
longhorn_release: v1.10.2
runbook_base_url: https://example.org/runbooks
dashboard_base_url: https://grafana.example.org
labels: {team: storage}
alerts:
  LonghornManagerHighRestarts:
    for: 10m
    keep_firing_for: 5m
    severity: critical
    labels: {team: platform}
    thresholds: {restarts: 5}
  LonghornHealthAccessDenied: {enabled: false}";

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

fn table(page: &mut Document, schema: &Value, object: &Value) {
    let rows = properties(object).map(|(key, property)| {
        let default = property["default"].as_str().map(|text| code(&format!("{text:?}")));
        let definition = reference(property).map(|pointer| at(schema, pointer.trim_start_matches('#')));
        let value = definition.map(text).unwrap_or_default();
        [code(key), text(property), default.unwrap_or("–".to_owned()), or_none(value)]
    });
    page.table(["key", "sets", "default", "value"], rows);
}

/// The definition that a property, or what it lists, refers to.
fn reference(property: &Value) -> Option<&str> {
    match property {
        Value::Object(keys) => {
            keys.get("$ref").and_then(Value::as_str).or_else(|| keys.values().find_map(reference))
        }
        Value::Array(items) => items.iter().find_map(reference),
        _ => None,
    }
}

/// The schema of the types. The names of alerts and of their thresholds are not in it, so that a new one does not
/// change it: the parser knows them.
pub fn schema() -> Value {
    // a default of null says nothing that "not required" does not say
    let without_null = RecursiveTransform(|schema: &mut Schema| {
        if schema.get("default").is_some_and(Value::is_null) {
            schema.remove("default");
        }
    });
    let settings = SchemaSettings::draft2020_12().with_transform(without_null);
    json_schema::<Settings>(settings, "Configuration of longhorn-health-exporter generate")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::catalogue::tests::DECLARED;
    use crate::generate::settings::parse;

    #[test]
    fn the_example_of_the_page_is_read_and_says_every_key() {
        let page = page();
        let yaml = page.split("```yaml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
        let settings = parse(&DECLARED, "page", yaml).unwrap();
        let restarts = DECLARED.alerts().find(|alert| alert.name == "LonghornManagerHighRestarts").unwrap();
        assert_eq!(settings.alert(restarts).thresholds["restarts"], 5.0);
        let schema = schema();
        for (key, _) in properties(&schema).chain(properties(at(&schema, "/$defs/AlertConfig"))) {
            assert!(yaml.contains(&format!("{key}:")), "{key}");
        }
    }
}
