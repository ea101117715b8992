//! docs/report.schema.json and docs/plan.schema.json, from the types of report and plan; here are only the lists that the types do not close.
//! Checks and causes stay open, so that the schema also holds for the report of a newer exporter.

use schemars::Schema;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use serde_json::{Map, Value, json};

use super::json_schema;
use crate::generate::catalogue::Declared;
use crate::longhorn::{Resource, VolumeHealth, VolumeState};
use crate::plan::Plan;
use crate::report::Report;

/// docs/plan.schema.json.
pub fn plan() -> Value {
    let mut schema = json_schema::<Plan>(settings(), "Plan of longhorn-health-exporter");
    for (pointer, keywords) in [
        ("/properties/schema", json!({ "const": "v1" })),
        ("/properties/plan", json!({ "enum": ["upgrade", "drain", "loss", "capacity"] })),
        ("/properties/exit_code", json!({ "enum": [0, 1, 2] })),
    ] {
        if let (Some(Value::Object(found)), Value::Object(keywords)) = (schema.pointer_mut(pointer), keywords)
        {
            found.extend(keywords);
        }
    }
    schema
}

fn settings() -> SchemaSettings {
    SchemaSettings::draft2020_12().for_serialize().with_transform(RecursiveTransform(strict))
}

pub fn schema(declared: &Declared) -> Value {
    let mut schema = json_schema::<Report>(settings(), "Report of longhorn-health-exporter");
    let kinds: Vec<String> = declared.catalogue.kinds().iter().copied().map(Resource::label).collect();
    let states: Vec<&str> = VolumeState::KNOWN.iter().map(|state| state.as_str()).collect();
    let health = VolumeHealth::ALL.map(VolumeHealth::as_str);
    let number = json!({ "type": "integer", "minimum": 0 });
    let by_health: Map<_, _> = health.iter().map(|name| ((*name).to_owned(), number.clone())).collect();
    for (pointer, keywords) in [
        ("", json!({ "oneOf": by_status() })),
        ("/$defs", json!({ "Kind": { "enum": kinds } })),
        ("/properties/schema", json!({ "const": "v1" })),
        ("/properties/exit_code", json!({ "enum": [0, 1, 2] })),
        ("/properties/not_recorded/items", json!({ "$ref": "#/$defs/Kind" })),
        ("/$defs/ResourceReport/properties/resource", json!({ "$ref": "#/$defs/Kind" })),
        ("/$defs/VolumeRef/properties/state", json!({ "enum": states })),
        (
            "/$defs/ClusterSummary/properties/volumes_by_robustness",
            json!({ "additionalProperties": false, "properties": by_health, "required": health }),
        ),
    ] {
        if let (Some(Value::Object(found)), Value::Object(keywords)) = (schema.pointer_mut(pointer), keywords)
        {
            found.extend(keywords);
        }
    }
    schema
}

/// No other keys, and none that is null: what is unknown is left out.
fn strict(schema: &mut Schema) {
    if schema.get("properties").is_some() {
        schema.insert("additionalProperties".to_owned(), json!(false));
    }
    if let Some(Value::String(description)) = schema.get_mut("description") {
        *description = description.replace('\n', " ");
    }
    if schema.get("format").and_then(Value::as_str).is_some_and(|format| !format.starts_with("date")) {
        schema.remove("format");
    }
    if let Some(Value::Array(types)) = schema.get("type") {
        let kept = types.iter().find(|name| **name != "null").cloned();
        schema.insert("type".to_owned(), kept.unwrap_or_default());
    }
    if let Some(Value::Array(options)) = schema.get("anyOf").cloned() {
        schema.remove("anyOf");
        let kept = options.into_iter().find(|option| option["type"] != "null");
        let kept = kept.as_ref().and_then(Value::as_object).cloned().unwrap_or_default();
        schema.ensure_object().extend(kept);
    }
}

/// What must be there for each status.
fn by_status() -> Value {
    let (none, some) = (json!({ "maxItems": 0 }), json!({ "minItems": 1 }));
    let found = |status: &[&str]| json!({ "properties": { "status": { "enum": status }, "findings": some } });
    json!([
        { "properties": { "status": { "const": "healthy" }, "findings": none, "unknown": none } },
        found(&["info", "warning", "critical"]),
        { "properties": { "status": { "const": "unknown" }, "unknown": some } },
    ])
}
