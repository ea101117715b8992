//! One panel: queries, units, colours, links.

use serde_json::{Value, json};

use super::expression;
use super::model::{
    Content, DATASOURCE, Defaults, FieldConfig, GridPos, Panel, Target, ThresholdStep, Thresholds,
};
use crate::check::{self, Dashboard, PanelKind, Unit};
use crate::generate::catalogue::Area;
use crate::generate::{GenerateError, Settings};

/// What a panel needs to know beside its declaration.
pub struct Context<'a> {
    /// Who declares it.
    pub area: &'a Area,
    /// What users set.
    pub settings: &'a Settings,
}

/// A heading.
pub fn row(id: u32, title: &str, grid_pos: GridPos) -> Panel {
    let (collapsed, panels) = (Some(false), Some(Vec::new()));
    Panel {
        id,
        kind: "row",
        title: title.to_owned(),
        description: String::new(),
        grid_pos,
        collapsed,
        panels,
        content: None,
    }
}

/// A panel as declared.
pub fn panel(
    id: u32,
    declared: &check::Panel,
    grid_pos: GridPos,
    context: &Context,
) -> Result<Panel, GenerateError> {
    let queries = declared.queries.iter().enumerate();
    let targets = queries.map(|(number, query)| target(number, query, declared, context.settings));
    let content = Content {
        datasource: DATASOURCE,
        targets: targets.collect::<Result<_, _>>()?,
        field_config: field_config(declared, context),
        options: options(declared.kind),
        transformations: transformations(declared.kind),
        links: runbook_links(context),
    };
    Ok(Panel {
        id,
        kind: kind(declared.kind),
        title: declared.title.to_owned(),
        description: declared.description.to_owned(),
        grid_pos,
        collapsed: None,
        panels: None,
        content: Some(content),
    })
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

fn target(
    number: usize,
    query: &check::Query,
    declared: &check::Panel,
    settings: &Settings,
) -> Result<Target, GenerateError> {
    let instant = matches!(declared.kind, PanelKind::Stat | PanelKind::Table | PanelKind::BarGauge);
    Ok(Target {
        ref_id: char::from(b'A' + (number % 26) as u8).to_string(),
        datasource: DATASOURCE,
        expr: expression(declared.title, query.expr, settings)?,
        format: if declared.kind == PanelKind::Table { "table" } else { "time_series" },
        instant,
        range: !instant,
        legend_format: query.legend,
    })
}

fn field_config(declared: &check::Panel, context: &Context) -> FieldConfig {
    let overrides =
        if declared.kind == PanelKind::Table { column_links(declared, context) } else { Vec::new() };
    FieldConfig {
        defaults: Defaults {
            unit: unit(declared.unit),
            no_value: declared.no_data,
            color: color(declared),
            thresholds: thresholds(declared.steps),
            mappings: mappings(declared.unit),
            custom: custom(declared.kind),
            min: matches!(declared.kind, PanelKind::TimeSeries | PanelKind::BarGauge)
                .then_some(0.0)
                .filter(|_| declared.unit != Unit::FromNow),
        },
        overrides,
    }
}

fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Short => "short",
        Unit::Seconds => "s",
        Unit::FromNow => "dateTimeFromNow",
        Unit::Ratio => "percentunit",
        Unit::Bool => "bool_yes_no",
        Unit::Cores => "suffix: cores",
    }
}

/// Colours come from thresholds where a panel has them, else every series has its own.
fn color(declared: &check::Panel) -> Value {
    let mode = match declared.kind {
        _ if !declared.steps.is_empty() => "thresholds",
        PanelKind::TimeSeries => "palette-classic",
        _ => "thresholds",
    };
    json!({ "mode": mode })
}

fn thresholds(steps: &[check::Step]) -> Thresholds {
    let mut steps: Vec<_> = steps
        .iter()
        .enumerate()
        // Grafana counts the first step from minus infinity, which it writes as null
        .map(|(number, step)| ThresholdStep { color: step.color, value: (number > 0).then_some(step.from) })
        .collect();
    if steps.is_empty() {
        steps.push(ThresholdStep { color: "text", value: None });
    }
    Thresholds { mode: "absolute", steps }
}

fn mappings(unit: Unit) -> Vec<Value> {
    if unit != Unit::Bool {
        return Vec::new();
    }
    vec![
        json!({ "type": "value", "options": { "0": { "text": "no", "index": 0 }, "1": { "text": "yes", "index": 1 } } }),
    ]
}

fn custom(kind: PanelKind) -> Value {
    match kind {
        PanelKind::TimeSeries => json!({
            "drawStyle": "line", "lineInterpolation": "stepAfter", "lineWidth": 2, "fillOpacity": 10,
            "showPoints": "never", "spanNulls": false, "thresholdsStyle": { "mode": "line" },
        }),
        PanelKind::StateTimeline => json!({ "lineWidth": 0, "fillOpacity": 80, "spanNulls": false }),
        PanelKind::Table => json!({ "align": "left", "filterable": true, "cellOptions": { "type": "auto" } }),
        PanelKind::Stat | PanelKind::BarGauge => json!({}),
    }
}

fn options(kind: PanelKind) -> Value {
    let last = json!({ "calcs": ["lastNotNull"], "fields": "", "values": false });
    match kind {
        PanelKind::Stat => json!({
            "reduceOptions": last, "colorMode": "background", "graphMode": "none", "textMode": "auto",
            "justifyMode": "center", "orientation": "auto",
        }),
        PanelKind::TimeSeries => json!({
            "legend": { "displayMode": "list", "placement": "bottom", "showLegend": true },
            "tooltip": { "mode": "multi", "sort": "desc" },
        }),
        PanelKind::StateTimeline => json!({
            "mergeValues": true, "showValue": "auto", "rowHeight": 0.8, "alignValue": "left",
            "legend": { "displayMode": "list", "placement": "bottom", "showLegend": true },
            "tooltip": { "mode": "single", "sort": "none" },
        }),
        PanelKind::Table => json!({
            "showHeader": true, "cellHeight": "sm", "footer": { "show": false, "reducer": ["sum"], "countRows": false },
        }),
        PanelKind::BarGauge => json!({
            "reduceOptions": last, "displayMode": "basic", "orientation": "horizontal", "showUnfilled": true,
            "valueMode": "color",
        }),
    }
}

/// Tables show labels; the time of an instant query and labels of the scrape say nothing.
fn transformations(kind: PanelKind) -> Vec<Value> {
    if kind != PanelKind::Table {
        return Vec::new();
    }
    let hidden = ["Time", "__name__", "job", "namespace", "prometheus"];
    let excluded: serde_json::Map<_, _> =
        hidden.iter().map(|name| ((*name).to_owned(), json!(true))).collect();
    vec![
        json!({ "id": "merge", "options": {} }),
        json!({ "id": "organize", "options": { "excludeByName": excluded, "indexByName": {}, "renameByName": {} } }),
    ]
}

/// Cells that name something lead to where more is said about it.
fn column_links(declared: &check::Panel, context: &Context) -> Vec<Value> {
    let base = context.settings.runbook_base_url.trim_end_matches('/');
    let ending = if base.contains("/blob/") { ".md" } else { "" };
    let mut links = vec![
        ("alertname", "Runbook", format!("{base}/${{__data.fields.alertname}}{ending}")),
        ("check", "What this check sees", format!("{base}/../checks{ending}#${{__data.fields.check}}")),
    ];
    let drill_down = match declared.dashboard {
        Dashboard::Overview => context.area.dashboard(),
        board => board,
    };
    let board = format!("/d/{}?${{__url_time_range}}&${{datasource:queryparam}}", drill_down.uid());
    links.push(("node", "This node", format!("{board}&var-node=${{__data.fields.node}}")));
    links.push(("volume", "This volume", format!("{board}&var-volume=${{__data.fields.volume}}")));
    links.into_iter().map(|(column, title, url)| link(column, title, &url)).collect()
}

fn link(column: &str, title: &str, url: &str) -> Value {
    json!({
        "matcher": { "id": "byName", "options": column },
        "properties": [{ "id": "links", "value": [{ "title": title, "url": url, "targetBlank": !url.starts_with('/') }] }],
    })
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
