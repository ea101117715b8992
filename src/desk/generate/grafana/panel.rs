//! One panel: queries, units, colours, links.

use std::borrow::Cow;

use anyhow::Result;
use serde_json::{Value, json};

use super::layout::GridPos;
use super::{datasource, expression, table};
use crate::check::{self, Check, PanelKind, Unit};
use crate::generate::Settings;
use crate::longhorn_series;

/// Colour of what is neither good nor bad.
const NEUTRAL: &str = "#808080";

pub fn panel(
    id: u32,
    declared: &check::Panel,
    grid_pos: GridPos,
    area: &Check,
    settings: &Settings,
) -> Result<Value> {
    let is_table = declared.kind == PanelKind::Table;
    let queries = declared.queries().enumerate();
    let targets = queries.map(|(number, query)| target(number, &query, declared, settings));
    let transformations = is_table.then(|| table::transformations(declared, settings));
    let overrides = if is_table { table::overrides(declared, area, settings) } else { Vec::new() };
    Ok(without_empty(json!({
        "type": declared.kind, "id": id, "title": declared.title, "description": description(declared),
        "gridPos": grid_pos, "datasource": datasource(),
        "targets": targets.collect::<Result<Vec<_>>>()?,
        "fieldConfig": { "defaults": defaults(declared, settings), "overrides": overrides },
        "options": options(declared), "transformations": transformations, "links": runbook_links(area, settings),
    })))
}

/// What it shows, and from which release of Longhorn on.
fn description(declared: &check::Panel) -> String {
    let from = declared.queries().filter_map(|query| longhorn_series::needs(&query.expr)).max();
    let from = from.map(|release| format!(" Needs Longhorn {release} or later.")).unwrap_or_default();
    format!("{}{from}", declared.description)
}

/// Without lists of nothing, which are Grafana's defaults.
fn without_empty(mut object: Value) -> Value {
    if let Some(object) = object.as_object_mut() {
        object.retain(|_, value| !value.is_null() && value.as_array().is_none_or(|list| !list.is_empty()));
    }
    object
}

/// The number of a tile stands for a cluster, and says for which.
fn legend(query: &check::Query<Cow<'_, str>>, declared: &check::Panel, settings: &Settings) -> String {
    match (declared.kind, settings.cluster_label.as_str()) {
        (PanelKind::Stat, label) if !label.is_empty() => format!("{{{{{label}}}}} {}", query.legend),
        _ => query.legend.to_string(),
    }
}

pub fn letter(number: usize) -> String {
    char::from(b'A' + (number % 26) as u8).to_string()
}

fn target(
    number: usize,
    query: &check::Query<Cow<'_, str>>,
    declared: &check::Panel,
    settings: &Settings,
) -> Result<Value> {
    let mut expr = expression(declared.title, &query.expr, settings)?;
    if table::lists_alerts(declared) {
        expr = table::with_dashboard(&expr, settings.declared);
    }
    let instant = matches!(declared.kind, PanelKind::Stat | PanelKind::Table | PanelKind::BarGauge);
    Ok(json!({
        "refId": letter(number), "datasource": datasource(), "expr": expr,
        "format": if declared.kind == PanelKind::Table { "table" } else { "time_series" },
        // at the end of the range only
        "instant": instant, "range": !instant,
        "legendFormat": legend(query, declared, settings),
    }))
}

fn defaults(declared: &check::Panel, settings: &Settings) -> Value {
    let from_zero = matches!(declared.kind, PanelKind::TimeSeries | PanelKind::BarGauge)
        && declared.unit != Unit::FromNow;
    // lines keep a colour each; the threshold is a line of its own
    let mode = if declared.kind == PanelKind::TimeSeries { "palette-classic" } else { "thresholds" };
    without_empty(json!({
        "unit": unit(declared.unit),
        // what "no data" means here
        "noValue": declared.no_data,
        "color": { "mode": mode },
        "thresholds": thresholds(declared.steps, settings),
        "mappings": mappings(declared.unit),
        "custom": custom(declared),
        "min": from_zero.then_some(0.0),
    }))
}

fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Short | Unit::Severity => "short",
        Unit::Seconds => "s",
        Unit::FromNow => "dateTimeFromNow",
        Unit::Ratio => "percentunit",
        Unit::Bool => "bool_yes_no",
        Unit::Cores => "suffix: cores",
        Unit::Bytes => "bytes",
    }
}

/// Grafana draws "no data" in the colour of the first step, so that one is neutral: what is absent is
/// never green.
fn thresholds(steps: &[check::Step], settings: &Settings) -> Value {
    let neutral = if steps.is_empty() { "text" } else { NEUTRAL };
    let first = json!({ "color": neutral, "value": null });
    let mut declared: Vec<_> = steps.iter().map(|step| (settings.bound(&step.from), step.color)).collect();
    // a configured threshold may lie below a fixed step
    declared.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let declared = declared.into_iter().map(|(from, color)| json!({ "color": color, "value": from }));
    let steps: Vec<_> = std::iter::once(first).chain(declared).collect();
    json!({ "mode": "absolute", "steps": steps })
}

fn mappings(unit: Unit) -> Vec<Value> {
    let words: &[&str] = match unit {
        Unit::Bool => &["no", "yes"],
        Unit::Severity => &["nothing found", "info", "no verdict", "warning", "critical"],
        _ => return Vec::new(),
    };
    let options: serde_json::Map<_, _> = words
        .iter()
        .enumerate()
        .map(|(value, word)| (value.to_string(), json!({ "text": word, "index": value })))
        .collect();
    vec![json!({ "type": "value", "options": options })]
}

fn custom(declared: &check::Panel) -> Value {
    match declared.kind {
        PanelKind::TimeSeries => json!({
            "drawStyle": "line", "lineInterpolation": "stepAfter", "lineWidth": 2, "fillOpacity": 10,
            "showPoints": "never", "spanNulls": false,
            "thresholdsStyle": { "mode": if declared.steps.is_empty() { "off" } else { "dashed" } },
        }),
        PanelKind::StateTimeline => json!({ "lineWidth": 0, "fillOpacity": 80 }),
        PanelKind::Table => json!({ "align": "left", "filterable": true, "cellOptions": { "type": "auto" } }),
        PanelKind::Stat | PanelKind::BarGauge => json!({}),
    }
}

fn options(declared: &check::Panel) -> Value {
    let last = json!({ "calcs": ["lastNotNull"], "fields": "", "values": false });
    let legend = json!({ "calcs": [], "displayMode": "list", "placement": "bottom", "showLegend": true });
    match declared.kind {
        PanelKind::Stat => json!({
            "reduceOptions": last, "graphMode": "none", "textMode": "auto", "justifyMode": "center",
            "colorMode": if declared.steps.is_empty() { "value" } else { "background" }, "orientation": "auto",
        }),
        PanelKind::TimeSeries => json!({ "legend": legend, "tooltip": { "mode": "multi", "sort": "desc" } }),
        PanelKind::StateTimeline => json!({
            "mergeValues": true, "showValue": "never", "rowHeight": 0.8, "alignValue": "left",
            "legend": legend, "tooltip": { "mode": "single", "sort": "none" },
        }),
        PanelKind::Table => json!({ "showHeader": true, "cellHeight": "sm" }),
        PanelKind::BarGauge => json!({
            "reduceOptions": last, "displayMode": "basic", "orientation": "horizontal", "showUnfilled": true,
            "valueMode": "color",
        }),
    }
}

fn runbook_links(area: &Check, settings: &Settings) -> Vec<Value> {
    let link = |alert: &check::Alert| {
        let (title, url) = (format!("Runbook {}", alert.name), settings.runbook(alert.name)?);
        Some(json!({ "title": title, "url": url, "targetBlank": true }))
    };
    area.alerts.iter().filter_map(link).collect()
}
