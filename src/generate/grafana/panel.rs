//! One panel: queries, units, colours, links.

use serde_json::{Value, json};

use super::layout::GridPos;
use super::{datasource, expression, table};
use crate::check::{self, Check, PanelKind, Unit};
use crate::generate::{GenerateError, Settings};

/// Colour of what is neither good nor bad.
const NEUTRAL: &str = "#808080";

/// What a panel needs to know beside its declaration.
pub struct Context<'a> {
    pub area: &'a Check,
    pub settings: &'a Settings,
}

pub fn panel(
    id: u32,
    declared: &check::Panel,
    grid_pos: GridPos,
    context: &Context,
) -> Result<Value, GenerateError> {
    let queries = declared.queries.iter().enumerate();
    let targets = queries.map(|(number, query)| target(number, query, declared, context.settings));
    let (transformations, overrides) = match declared.kind {
        PanelKind::Table => (
            table::transformations(declared, context.settings),
            table::overrides(declared, context.area, context.settings),
        ),
        _ => (Vec::new(), Vec::new()),
    };
    Ok(without_empty(json!({
        "type": kind(declared.kind),
        "id": id,
        "title": declared.title,
        "description": declared.description,
        "gridPos": grid_pos,
        "datasource": datasource(),
        "targets": targets.collect::<Result<Vec<_>, _>>()?,
        "fieldConfig": { "defaults": defaults(declared, context.settings), "overrides": overrides },
        "options": options(declared),
        "transformations": transformations,
        "links": runbook_links(context),
    })))
}

/// Without lists of nothing, which are Grafana's defaults.
fn without_empty(mut object: Value) -> Value {
    if let Some(object) = object.as_object_mut() {
        object.retain(|_, value| !value.is_null() && value.as_array().is_none_or(|list| !list.is_empty()));
    }
    object
}

fn kind(kind: PanelKind) -> &'static str {
    match kind {
        PanelKind::Stat => "stat",
        PanelKind::TimeSeries => "timeseries",
        PanelKind::StateTimeline => "state-timeline",
        PanelKind::Table => "table",
        PanelKind::BarGauge => "bargauge",
    }
}

/// The number of a tile stands for a cluster, and says for which.
fn legend(query: &check::Query, declared: &check::Panel, settings: &Settings) -> String {
    match (declared.kind, settings.cluster_label.as_str()) {
        (PanelKind::Stat, label) if !label.is_empty() => format!("{{{{{label}}}}} {}", query.legend),
        _ => query.legend.to_owned(),
    }
}

/// Grafana's name of a query.
pub fn letter(number: usize) -> String {
    char::from(b'A' + (number % 26) as u8).to_string()
}

fn target(
    number: usize,
    query: &check::Query,
    declared: &check::Panel,
    settings: &Settings,
) -> Result<Value, GenerateError> {
    let mut expr = expression(declared.title, query.expr, settings)?;
    if table::lists_alerts(declared) {
        expr = table::with_dashboard(&expr);
    }
    let instant = matches!(declared.kind, PanelKind::Stat | PanelKind::Table | PanelKind::BarGauge);
    Ok(json!({
        "refId": letter(number),
        "datasource": datasource(),
        "expr": expr,
        "format": if declared.kind == PanelKind::Table { "table" } else { "time_series" },
        // at the end of the range only
        "instant": instant,
        "range": !instant,
        "legendFormat": legend(query, declared, settings),
    }))
}

fn defaults(declared: &check::Panel, settings: &Settings) -> Value {
    let from_zero = matches!(declared.kind, PanelKind::TimeSeries | PanelKind::BarGauge)
        && declared.unit != Unit::FromNow;
    without_empty(json!({
        "unit": unit(declared.unit),
        // what "no data" means here
        "noValue": declared.no_data,
        "color": color(declared),
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

fn color(declared: &check::Panel) -> Value {
    let mode = match declared.kind {
        // lines keep a colour each; the threshold is a line of its own
        PanelKind::TimeSeries => "palette-classic",
        _ => "thresholds",
    };
    json!({ "mode": mode })
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
            "showPoints": "never", "spanNulls": false, "thresholdsStyle": { "mode": if declared.steps.is_empty() { "off" } else { "dashed" } },
        }),
        PanelKind::StateTimeline => json!({ "lineWidth": 0, "fillOpacity": 80 }),
        PanelKind::Table => json!({ "align": "left", "filterable": true, "cellOptions": { "type": "auto" } }),
        PanelKind::Stat | PanelKind::BarGauge => json!({}),
    }
}

fn options(declared: &check::Panel) -> Value {
    let last = json!({ "calcs": ["lastNotNull"], "fields": "", "values": false });
    match declared.kind {
        PanelKind::Stat => json!({
            "reduceOptions": last, "colorMode": if declared.steps.is_empty() { "value" } else { "background" }, "graphMode": "none", "textMode": "auto",
            "justifyMode": "center", "orientation": "auto",
        }),
        PanelKind::TimeSeries => json!({
            "legend": { "calcs": [], "displayMode": "list", "placement": "bottom", "showLegend": true },
            "tooltip": { "mode": "multi", "sort": "desc" },
        }),
        PanelKind::StateTimeline => json!({
            "mergeValues": true, "showValue": "never", "rowHeight": 0.8, "alignValue": "left",
            "legend": { "calcs": [], "displayMode": "list", "placement": "bottom", "showLegend": true },
            "tooltip": { "mode": "single", "sort": "none" },
        }),
        PanelKind::Table => json!({
            "showHeader": true, "cellHeight": "sm",
        }),
        PanelKind::BarGauge => json!({
            "reduceOptions": last, "displayMode": "basic", "orientation": "horizontal", "showUnfilled": true,
            "valueMode": "color",
        }),
    }
}

/// The runbooks of the alerts of the same check.
fn runbook_links(context: &Context) -> Vec<Value> {
    let base = context.settings.runbook_base_url.trim_end_matches('/');
    let link = |alert: &check::Alert| {
        json!({ "title": format!("Runbook {}", alert.name), "url": format!("{base}/{}", context.settings.runbook(alert)),
                "targetBlank": true })
    };
    context.area.alerts.iter().map(link).collect()
}
