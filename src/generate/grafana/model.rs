//! Grafana's classic dashboard model, as far as these dashboards use it: names are Grafana's, field order
//! is the order in the files.

use serde::Serialize;
use serde_json::{Value, json};

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Dashboard {
    pub description: String,
    /// `null`: Grafana assigns it.
    pub id: Option<u64>,
    /// Fixed, so that links stay.
    pub uid: String,
    pub title: &'static str,
    pub tags: Vec<&'static str>,
    pub editable: bool,
    pub schema_version: u32,
    /// Constant, so that the file does not change without a reason.
    pub version: u32,
    pub timezone: &'static str,
    pub refresh: &'static str,
    pub time: Value,
    /// 1: a shared crosshair.
    pub graph_tooltip: u8,
    pub links: Vec<Value>,
    pub annotations: Value,
    pub templating: List<Variable>,
    pub panels: Vec<Panel>,
}

/// Grafana wraps some lists in an object.
#[derive(Debug, Serialize)]
pub struct List<T> {
    pub list: Vec<T>,
}

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Variable {
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub name: &'static str,
    pub label: &'static str,
    pub query: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub datasource: Option<Value>,
    /// The query once more, as the editor shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub definition: Option<String>,
    /// 1: on load; 2: when the time range changes.
    pub refresh: u8,
    pub multi: bool,
    pub include_all: bool,
    /// What "All" stands for; matches series without the label too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub all_value: Option<&'static str>,
    /// 1: ascending.
    pub sort: u8,
    /// What is chosen at first; none leaves it to Grafana.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current: Option<Value>,
    /// 0: label and value are shown.
    pub hide: u8,
    pub regex: &'static str,
}

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Panel {
    pub id: u32,
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub title: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    pub grid_pos: GridPos,
    /// Rows only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collapsed: Option<bool>,
    /// Rows only: empty, as they are not collapsed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub panels: Option<[(); 0]>,
    /// Everything that rows do not have.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub content: Option<Content>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Content {
    pub datasource: Value,
    pub targets: Vec<Target>,
    pub field_config: FieldConfig,
    pub options: Value,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub transformations: Vec<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Value>,
}

#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct GridPos {
    pub h: u32,
    pub w: u32,
    pub x: u32,
    pub y: u32,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Target {
    pub ref_id: String,
    pub datasource: Value,
    pub expr: String,
    pub format: &'static str,
    /// At the end of the range only.
    pub instant: bool,
    pub range: bool,
    pub legend_format: String,
}

#[derive(Debug, Serialize)]
pub struct FieldConfig {
    pub defaults: Defaults,
    pub overrides: Vec<Value>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Defaults {
    pub unit: &'static str,
    /// What "no data" means here.
    pub no_value: &'static str,
    pub color: Value,
    pub thresholds: Value,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mappings: Vec<Value>,
    /// Lines, fills, cells.
    pub custom: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<f64>,
}

/// The data source that the dashboard's variable chooses.
pub fn datasource() -> Value {
    json!({ "type": "prometheus", "uid": "${datasource}" })
}
