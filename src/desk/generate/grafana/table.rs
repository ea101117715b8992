//! Tables: which labels are columns, in which order and under which heading, and where they lead.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::check::{self, Check, Dashboard, Query, Unit};
use crate::generate::Settings;
use crate::generate::catalogue::Declared;

const DASHBOARD: &str = "dashboard";
const RUNBOOK: &str = "runbook";

/// Adds to alerts the dashboard that tells more.
pub fn with_dashboard(expr: &str, declared: &Declared) -> String {
    let mut expr = expr.to_owned();
    for board in Dashboard::all() {
        let of_board = declared.areas().filter(|area| area.dashboard() == board);
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
    let cluster = Some(settings.cluster_label.as_str()).filter(|label| !label.is_empty());
    let columns: Vec<&str> = cluster.into_iter().chain(declared.columns()).collect();
    // with several queries each has a column of its own
    let of_query = |(number, query): (usize, Query<Cow<'_, str>>)| {
        (format!("Value #{}", super::panel::letter(number)), check::capitalised(&query.legend))
    };
    let several = declared.queries().enumerate().filter(|_| !declared.more.is_empty());
    let values: BTreeMap<String, String> = several.map(of_query).collect();
    let usual = ["Time", "__name__", "job", "namespace", "prometheus", "Value"];
    let hidden = usual.into_iter().chain(values.keys().map(String::as_str));
    let excluded: Map<_, _> =
        hidden.filter(|name| !columns.contains(name)).map(|name| (name.to_owned(), json!(true))).collect();
    let order: Map<_, _> =
        columns.iter().enumerate().map(|(place, name)| ((*name).to_owned(), json!(place))).collect();
    let named =
        |name: &str| values.get(name).cloned().unwrap_or_else(|| heading(name, declared.unit, settings));
    let headings: Map<_, _> = columns.iter().map(|name| ((*name).to_owned(), json!(named(name)))).collect();
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
        "Value" => match unit {
            Unit::FromNow => "When".to_owned(),
            Unit::Seconds => "Seconds".to_owned(),
            _ => "Number".to_owned(),
        },
        "alertname" => "Alert".to_owned(),
        "object_kind" | "resource" => "Kind".to_owned(),
        "pvc" => "PVC".to_owned(),
        "pvc_namespace" => "PVC namespace".to_owned(),
        label if label == *settings.cluster_label => "Cluster".to_owned(),
        label => check::capitalised(&label.replace('_', " ")),
    }
}

/// Colours of severities, hidden helpers, and links from what a cell names to where more is said.
pub fn overrides(declared: &check::Panel, area: &Check, settings: &Settings) -> Vec<Value> {
    let columns = declared.columns();
    let has = |label: &str| columns.contains(&label);
    let mut overrides = Vec::new();
    if has("severity") {
        let value = |color: &str, index: u8| json!({ "color": color, "index": index });
        let colors =
            json!({ "critical": value("red", 0), "warning": value("orange", 1), "info": value("blue", 2) });
        overrides.push(of("Severity", "mappings", json!([{ "type": "value", "options": colors }])));
        overrides.push(of("Severity", "custom.cellOptions", json!({ "type": "color-text" })));
    }
    let field = |label: &str| format!("${{__data.fields.{label}}}");
    let runbook = |name: &str| settings.runbook(name).map(|url| (url, "Runbook"));
    let leads_on = declared.dashboard == Dashboard::Overview && (has("alertname") || has("check"));
    let uid = match declared.dashboard {
        _ if leads_on => field(DASHBOARD),
        Dashboard::Overview => area.dashboard().uid(),
        board => board.uid(),
    };
    let dashboard = || (address(&uid, settings), "Dashboard");
    let to = |label: &str| (format!("{}&var-{label}={}", address(&uid, settings), field(label)), "Details");
    let mut links = Vec::new();
    if has("alertname") {
        links.push((
            "Alert".to_owned(),
            runbook(&field("alertname")).into_iter().chain([dashboard()]).collect::<Vec<_>>(),
        ));
    }
    if has("check") && leads_on {
        links.push(("Check".to_owned(), vec![dashboard()]));
    }
    if leads_on && has("cause") && (has("object_kind") || has("title")) && !has("alertname") {
        links.extend(runbook(&field(RUNBOOK)).map(|link| ("Cause".to_owned(), vec![link])));
    }
    let own = [("node", "node"), ("volume", "volume"), ("volume", "pvc_namespace")];
    let own = own.into_iter().filter(|(column, _)| has(column));
    links.extend(own.map(|(_, label)| (heading(label, declared.unit, settings), vec![to(label)])));
    if declared.dashboard == Dashboard::Fleet && !settings.cluster_label.is_empty() {
        let (uid, cluster) = (Dashboard::Overview.uid(), field(&settings.cluster_label));
        let url = format!("/d/{uid}?${{__url_time_range}}&${{datasource:queryparam}}&var-cluster={cluster}");
        links.push(("Cluster".to_owned(), vec![(url, "Overview of this cluster")]));
    }
    if links.is_empty() {
        // what a row is about leads to what the alerts of the check say about it
        let of_check = declared.columns.first().zip(area.alerts.first());
        links.extend(of_check.and_then(|(column, alert)| {
            Some((heading(column, declared.unit, settings), vec![runbook(alert.name)?]))
        }));
    }
    let link = |(url, title): &(String, &str)| json!({ "title": title, "url": url, "targetBlank": !url.starts_with('/') });
    overrides.extend(
        links.into_iter().map(|(heading, links)| of(&heading, "links", links.iter().map(link).collect())),
    );
    if leads_on {
        overrides.extend([DASHBOARD, RUNBOOK].map(|helper| of(helper, "custom.hidden", json!(true))));
    }
    overrides
}

pub fn lists_alerts(declared: &check::Panel) -> bool {
    declared.dashboard == Dashboard::Overview && declared.columns.contains(&"alertname")
}

fn address(uid: &str, settings: &Settings) -> String {
    let cluster = if settings.cluster_label.is_empty() { "" } else { "&${cluster:queryparam}" };
    format!("/d/{uid}?${{__url_time_range}}&${{datasource:queryparam}}{cluster}")
}

fn of(heading: &str, property: &str, value: Value) -> Value {
    let properties = json!([{ "id": property, "value": value }]);
    json!({ "matcher": { "id": "byName", "options": heading }, "properties": properties })
}
