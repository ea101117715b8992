//! Tables: which labels are columns, in which order and under which heading, and where they lead.

use serde_json::{Map, Value, json};

use crate::check::{self, Check, Dashboard, Unit};
use crate::generate::Settings;
use crate::generate::catalogue;

/// Labels that links need and no column shows.
const DASHBOARD: &str = "dashboard";
const RUNBOOK: &str = "runbook";

/// Adds to alerts the dashboard that tells more.
pub fn with_dashboard(expr: &str) -> String {
    let mut expr = expr.to_owned();
    for board in super::DASHBOARDS {
        let of_board = catalogue::areas().filter(|area| area.dashboard() == board);
        let names: Vec<_> = of_board.flat_map(|area| area.alerts).map(|alert| alert.name).collect();
        if !names.is_empty() {
            let (uid, names) = (board.uid(), names.join("|"));
            expr = format!("label_replace({expr}, \"{DASHBOARD}\", \"{uid}\", \"alertname\", \"{names}\")");
        }
    }
    expr
}

/// One table of all queries, with the declared columns in order.
pub fn transformations(declared: &check::Panel, settings: &Settings) -> Vec<Value> {
    let columns: Vec<&str> = [settings.cluster_label.as_str()]
        .into_iter()
        .filter(|label| !label.is_empty())
        .chain(declared.columns.iter().copied())
        .collect();
    let hidden = ["Time", "__name__", "job", "namespace", "prometheus", "Value"].map(str::to_owned);
    // with several queries each has a column of its own
    let values = (0..declared.queries.len()).map(|number| format!("Value #{}", super::panel::letter(number)));
    let values = values.filter(|_| declared.queries.len() > 1);
    let hidden = hidden.into_iter().chain(values).filter(|name| !columns.contains(&name.as_str()));
    let excluded: Map<_, _> = hidden.map(|name| (name, json!(true))).collect();
    let order: Map<_, _> =
        columns.iter().enumerate().map(|(place, name)| ((*name).to_owned(), json!(place))).collect();
    let headings: Map<_, _> = columns
        .iter()
        .map(|name| {
            let query = declared.queries.iter().enumerate();
            let mut query =
                query.filter(|(number, _)| *name == format!("Value #{}", super::panel::letter(*number)));
            let heading = match query.next() {
                Some((_, query)) => check::capitalised(query.legend),
                None => heading(name, declared.unit, settings),
            };
            ((*name).to_owned(), json!(heading))
        })
        .collect();
    vec![
        json!({ "id": "merge", "options": {} }),
        json!({ "id": "organize", "options": {
            "excludeByName": excluded, "indexByName": order, "renameByName": headings,
        } }),
    ]
}

/// The label with a capital, but for a few.
fn heading(column: &str, unit: Unit, settings: &Settings) -> String {
    match column {
        "Value" => value_heading(unit).to_owned(),
        "alertname" => "Alert".to_owned(),
        "object_kind" | "resource" => "Kind".to_owned(),
        "pvc" => "PVC".to_owned(),
        "pvc_namespace" => "PVC namespace".to_owned(),
        label if label == *settings.cluster_label => "Cluster".to_owned(),
        label => check::capitalised(&label.replace('_', " ")),
    }
}

fn value_heading(unit: Unit) -> &'static str {
    match unit {
        Unit::FromNow => "When",
        Unit::Seconds => "Seconds",
        _ => "Number",
    }
}

/// Colours of severities, hidden helpers, and links from what a cell names to where more is said.
pub fn overrides(declared: &check::Panel, area: &Check, settings: &Settings) -> Vec<Value> {
    let has = |label: &str| declared.columns.contains(&label);
    let mut overrides = Vec::new();
    if has("severity") {
        overrides.push(of("Severity", "mappings", json!([severities()])));
        overrides.push(of("Severity", "custom.cellOptions", json!({ "type": "color-text" })));
    }
    let base = settings.runbook_base_url.trim_end_matches('/');
    let ending = if base.contains("/blob/") { ".md" } else { "" };
    let runbook = |label| (format!("{base}/${{__data.fields.{label}}}{ending}"), "Runbook");
    let leads_on = declared.dashboard == Dashboard::Overview && (has("alertname") || has("check"));
    let uid = if leads_on { format!("${{__data.fields.{DASHBOARD}}}") } else { board(declared, area) };
    let to = |variable: &str, label: &str| {
        (format!("{}&var-{variable}=${{__data.fields.{label}}}", address(&uid, settings)), "Details")
    };
    let first_heading;
    let mut links = Vec::new();
    if has("alertname") {
        links.push(("Alert", vec![runbook("alertname"), (address(&uid, settings), "Dashboard")]));
    }
    if has("check") && leads_on {
        links.push(("Check", vec![(address(&uid, settings), "Dashboard")]));
    }
    if leads_on && has("cause") && (has("object_kind") || has("title")) && !has("alertname") {
        links.push(("Cause", vec![runbook(RUNBOOK)]));
    }
    if has("node") {
        links.push(("Node", vec![to("node", "node")]));
    }
    if has("volume") {
        links.push(("Volume", vec![to("volume", "volume")]));
        links.push(("PVC namespace", vec![to("pvc_namespace", "pvc_namespace")]));
    }
    if declared.dashboard == Dashboard::Fleet && !settings.cluster_label.is_empty() {
        let uid = Dashboard::Overview.uid();
        let label = settings.cluster_label.as_str();
        let url = format!(
            "/d/{uid}?${{__url_time_range}}&${{datasource:queryparam}}&var-cluster=${{__data.fields.{label}}}"
        );
        links.push(("Cluster", vec![(url, "Overview of this cluster")]));
    }
    if links.is_empty() {
        // what a row is about leads to what the alerts of the check say about it
        if let (Some(first), Some(alert)) = (declared.columns.first(), area.alerts.first()) {
            first_heading = heading(first, declared.unit, settings);
            links.push((&first_heading, vec![(format!("{base}/{}", settings.runbook(alert)), "Runbook")]));
        }
    }
    overrides.extend(links.into_iter().map(|(heading, links)| {
        let links: Vec<_> = links.iter().map(|(url, title)| link(url, title)).collect();
        of(heading, "links", json!(links))
    }));
    if leads_on {
        for helper in [DASHBOARD, RUNBOOK] {
            overrides.push(of(helper, "custom.hidden", json!(true)));
        }
    }
    overrides
}

pub fn lists_alerts(declared: &check::Panel) -> bool {
    declared.dashboard == Dashboard::Overview && declared.columns.contains(&"alertname")
}

fn board(declared: &check::Panel, area: &Check) -> String {
    let board = if declared.dashboard == Dashboard::Overview { area.dashboard() } else { declared.dashboard };
    board.uid()
}

fn address(uid: &str, settings: &Settings) -> String {
    let cluster = if settings.cluster_label.is_empty() { "" } else { "&${cluster:queryparam}" };
    format!("/d/{uid}?${{__url_time_range}}&${{datasource:queryparam}}{cluster}")
}

fn severities() -> Value {
    let value = |color: &str, index: u8| json!({ "color": color, "index": index });
    json!({ "type": "value", "options": {
        "critical": value("red", 0), "warning": value("orange", 1), "info": value("blue", 2),
    } })
}

fn of(heading: &str, property: &str, value: Value) -> Value {
    json!({
        "matcher": { "id": "byName", "options": heading },
        "properties": [{ "id": property, "value": value }],
    })
}

fn link(url: &str, title: &str) -> Value {
    json!({ "title": title, "url": url, "targetBlank": !url.starts_with('/') })
}
