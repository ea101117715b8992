//! Grafana's classic dashboard model, as far as these dashboards use it. Field order is the order in
//! the files.

use serde::Serialize;
use serde_json::Value;

/// A dashboard.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Dashboard {
    /// Says what made the file; Grafana keeps unknown text here.
    pub description: String,
    /// `null`: Grafana assigns it.
    pub id: Option<u64>,
    /// Fixed, so that links stay.
    pub uid: String,
    /// Heading.
    pub title: &'static str,
    /// For the dropdown of links.
    pub tags: Vec<&'static str>,
    /// Provisioned dashboards are not edited in place.
    pub editable: bool,
    /// Of the model.
    pub schema_version: u32,
    /// Constant, so that the file does not change without a reason.
    pub version: u32,
    /// `browser`.
    pub timezone: &'static str,
    /// How often.
    pub refresh: &'static str,
    /// From when to when.
    pub time: TimeRange,
    /// 1: a shared crosshair.
    pub graph_tooltip: u8,
    /// Links to the sister dashboards.
    pub links: Vec<Value>,
    /// Alerts as marks in the graphs.
    pub annotations: List<Value>,
    /// Variables.
    pub templating: List<Variable>,
    /// The panels, in reading order.
    pub panels: Vec<Panel>,
}

/// From when to when.
#[derive(Debug, Serialize)]
pub struct TimeRange {
    /// Such as `now-6h`.
    pub from: &'static str,
    /// Such as `now`.
    pub to: &'static str,
}

/// Grafana wraps some lists in an object.
#[derive(Debug, Serialize)]
pub struct List<T> {
    /// The members.
    pub list: Vec<T>,
}

/// A variable of a dashboard.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Variable {
    /// `datasource` or `query`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// `$name`.
    pub name: &'static str,
    /// As people read it.
    pub label: &'static str,
    /// `prometheus`, or a query for values.
    pub query: Value,
    /// Where the query goes; absent for the variable `datasource` itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub datasource: Option<DataSource>,
    /// The query once more, as the editor shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub definition: Option<String>,
    /// 1: on load; 2: when the time range changes.
    pub refresh: u8,
    /// Several at once.
    pub multi: bool,
    /// With "All".
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
    /// No filter on names.
    pub regex: &'static str,
}

/// A panel or a row.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Panel {
    /// Unique in the dashboard.
    pub id: u32,
    /// `stat`, `table`, …, or `row`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Heading.
    pub title: String,
    /// How to read it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Where it is drawn.
    pub grid_pos: GridPos,
    /// Rows only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collapsed: Option<bool>,
    /// Rows only: empty, as they are not collapsed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub panels: Option<Vec<Panel>>,
    /// Everything that rows do not have.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub content: Option<Content>,
}

impl Panel {
    /// Does a query use this variable?
    pub fn uses(&self, variable: &str) -> bool {
        let targets = self.content.iter().flat_map(|content| &content.targets);
        let quoted = format!("\"${variable}\"");
        targets.into_iter().any(|target| target.expr.contains(&quoted))
    }
}

/// What a panel shows.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Content {
    /// Always the variable.
    pub datasource: DataSource,
    /// Queries.
    pub targets: Vec<Target>,
    /// Units, colours, links.
    pub field_config: FieldConfig,
    /// Depends on the kind of panel.
    pub options: Value,
    /// Columns of tables.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub transformations: Vec<Value>,
    /// In the corner of the panel.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Value>,
}

/// Grid of 24 columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct GridPos {
    /// Height.
    pub h: u32,
    /// Width.
    pub w: u32,
    /// From the left.
    pub x: u32,
    /// From the top.
    pub y: u32,
}

/// Reference to a data source.
#[derive(Debug, Clone, Serialize)]
pub struct DataSource {
    /// `prometheus`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// `${datasource}`.
    pub uid: &'static str,
}

/// A query.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Target {
    /// `A`, `B`, …
    pub ref_id: String,
    /// Always the variable.
    pub datasource: DataSource,
    /// PromQL.
    pub expr: String,
    /// `table` or `time_series`.
    pub format: &'static str,
    /// At the end of the range only.
    pub instant: bool,
    /// Over the range.
    pub range: bool,
    /// Template of the legend.
    pub legend_format: String,
}

/// Units, colours, links.
#[derive(Debug, Serialize)]
pub struct FieldConfig {
    /// For every field.
    pub defaults: Defaults,
    /// For some.
    pub overrides: Vec<Value>,
}

/// For every field.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Defaults {
    /// Grafana's id of a unit.
    pub unit: &'static str,
    /// What "no data" means here.
    pub no_value: &'static str,
    /// How colours are chosen.
    pub color: Value,
    /// Colours by value.
    pub thresholds: Thresholds,
    /// Words for values.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mappings: Vec<Value>,
    /// Lines, fills, cells.
    pub custom: Value,
    /// The axis begins there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<f64>,
}

/// Colours by value.
#[derive(Debug, Serialize)]
pub struct Thresholds {
    /// `absolute`.
    pub mode: &'static str,
    /// Ascending; the first has no value.
    pub steps: Vec<ThresholdStep>,
}

/// A colour from a value on.
#[derive(Debug, Serialize)]
pub struct ThresholdStep {
    /// Name of the colour.
    pub color: &'static str,
    /// `null` for the first.
    pub value: Option<f64>,
}

/// The data source that the dashboard's variable chooses.
pub const DATASOURCE: DataSource = DataSource { kind: "prometheus", uid: "${datasource}" };
