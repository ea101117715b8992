//! Tables: which labels are columns, in which order and under which heading, and where they lead.

use serde_json::{Map, Value, json};

use crate::check::{self, Alert, Dashboard, Unit};
use crate::generate::catalogue::{self, Area};
use crate::generate::{Settings, promql};

/// Columns in the order in which they are shown, with their headings.
const COLUMNS: [(&str, &str); 22] = [
    ("cluster", "Cluster"),
    ("severity", "Severity"),
    ("alertname", "Alert"),
    ("check", "Check"),
    ("cause", "Cause"),
    ("object_kind", "Kind"),
    ("object", "Object"),
    ("instance_manager", "Instance manager"),
    ("manager", "Manager"),
    ("backing_image", "Backing image"),
    ("node", "Node"),
    ("disk", "Disk"),
    ("volume", "Volume"),
    ("pvc_namespace", "PVC namespace"),
    ("pvc", "PVC"),
    ("setting", "Setting"),
    ("evidence", "Evidence"),
    ("expected", "Expected"),
    ("state", "State"),
    ("resource", "Kind"),
    ("configuration", "Configuration"),
    ("Value", "Value"),
];

/// Labels that links need and nobody wants to read.
const DASHBOARD: &str = "dashboard";
const RUNBOOK: &str = "runbook";

/// Adds to findings the dashboard and the runbook that tell more, as labels which links can use.
pub fn with_directions(expr: &str) -> String {
    let mut expr = format!("label_join({expr}, \"{RUNBOOK}\", \"/\", \"check\", \"cause\")");
    for area in catalogue::areas().filter(|area| !area.causes.is_empty()) {
        let mut replace = |alert: &Alert, causes: &str| {
            expr = replaced(&expr, RUNBOOK, alert.name, RUNBOOK, &format!("{}/({causes})", area.id));
        };
        let several =
            area.alerts.iter().filter(|alert| area.alerts.len() > 1 && alert.causes().next().is_some());
        several.for_each(|alert| {
            replace(alert, &alert.causes().map(|cause| cause.id).collect::<Vec<_>>().join("|"))
        });
        // the rest has the runbook of the first alert, as in the report
        area.alerts.first().into_iter().for_each(|alert| replace(alert, ".*"));
    }
    directed(&expr, "check", |area| vec![area.id])
}

/// Adds to alerts the dashboard that tells more.
pub fn with_dashboard(expr: &str) -> String {
    directed(expr, "alertname", |area| area.alerts.iter().map(|alert| alert.name).collect())
}

fn directed(expr: &str, label: &str, names: impl Fn(&Area) -> Vec<&'static str>) -> String {
    let mut expr = expr.to_owned();
    for board in super::DASHBOARDS {
        let of_board = catalogue::areas().filter(|area| area.dashboard() == board);
        let names: Vec<_> = of_board.flat_map(|area| names(&area)).collect();
        if !names.is_empty() {
            expr = replaced(&expr, DASHBOARD, &board.uid(), label, &names.join("|"));
        }
    }
    expr
}

fn replaced(expr: &str, target: &str, value: &str, source: &str, pattern: &str) -> String {
    format!("label_replace({expr}, \"{target}\", \"{value}\", \"{source}\", \"{pattern}\")")
}

/// One table of all queries, with columns in order.
pub fn transformations(declared: &check::Panel, settings: &Settings) -> Vec<Value> {
    let mut hidden: Vec<&str> = vec!["Time", "__name__", "job", "namespace", "prometheus"];
    if is_of_facts(declared) {
        hidden.push("Value");
    }
    let excluded: Map<_, _> = hidden.into_iter().map(|name| (name.to_owned(), json!(true))).collect();
    let columns = || columns(settings).into_iter().enumerate();
    let order: Map<_, _> = columns().map(|(place, (name, _))| (name, json!(place))).collect();
    let headings: Map<_, _> = columns()
        .map(|(_, (name, heading))| {
            let heading = if name == "Value" { value_heading(declared.unit) } else { heading };
            (name, json!(heading))
        })
        .collect();
    vec![
        json!({ "id": "merge", "options": {} }),
        json!({ "id": "organize", "options": {
            "excludeByName": excluded, "indexByName": order, "renameByName": headings,
        } }),
    ]
}

fn columns(settings: &Settings) -> Vec<(String, &'static str)> {
    let name = |name: &str| {
        let is_cluster = name == "cluster" && !settings.cluster_label.is_empty();
        if is_cluster { settings.cluster_label.clone() } else { name.to_owned() }
    };
    COLUMNS.iter().map(|(label, heading)| (name(label), *heading)).collect()
}

/// Series that are 1 or not there: their value says nothing.
fn is_of_facts(declared: &check::Panel) -> bool {
    declared.queries.iter().all(|query| query.expr.trim_end().ends_with("== 1"))
}

fn value_heading(unit: Unit) -> &'static str {
    match unit {
        Unit::FromNow => "When",
        Unit::Seconds => "Seconds",
        _ => "Number",
    }
}

/// Colours of severities, hidden helpers, and links from what a cell names to where more is said.
pub fn overrides(declared: &check::Panel, area: &Area, settings: &Settings) -> Vec<Value> {
    let labels = labels(declared);
    let has = |label: &str| labels.iter().any(|known| known == label);
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
    let mut links = Vec::new();
    if has("alertname") {
        links.push(("Alert", vec![runbook("alertname"), (address(&uid, settings), "Dashboard")]));
    }
    if has("check") && leads_on {
        links.push(("Check", vec![(address(&uid, settings), "Dashboard")]));
    }
    if leads_on && has("cause") && has("object_kind") && !has("alertname") {
        links.push(("Cause", vec![runbook(RUNBOOK)]));
    }
    if has("node") {
        links.push(("Node", vec![to("node", "node")]));
    }
    if has("volume") {
        links.push(("Volume", vec![to("volume", "volume")]));
        links.push(("PVC namespace", vec![to("pvc_namespace", "pvc_namespace")]));
    }
    if links.is_empty() {
        // what a row is about leads to what the alerts of the check say about it
        let first = COLUMNS.iter().skip(1).find(|(label, _)| has(label));
        let alert = area.alerts.first();
        if let (Some((_, heading)), Some(alert)) = (first, alert) {
            links.push((heading, vec![(format!("{base}/{}", settings.runbook(alert)), "Runbook")]));
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

/// Does the table get the labels of [`with_directions`]?
pub fn is_list_of_findings(declared: &check::Panel) -> bool {
    let labels = labels(declared);
    declared.dashboard == Dashboard::Overview
        && ["check", "cause", "object"].iter().all(|label| labels.iter().any(|l| l == label))
        && !labels.iter().any(|label| label == "alertname")
}

/// Does the table list alerts?
pub fn is_list_of_alerts(declared: &check::Panel) -> bool {
    declared.dashboard == Dashboard::Overview && labels(declared).iter().any(|label| label == "alertname")
}

fn board(declared: &check::Panel, area: &Area) -> String {
    let board = if declared.dashboard == Dashboard::Overview { area.dashboard() } else { declared.dashboard };
    board.uid()
}

fn address(uid: &str, settings: &Settings) -> String {
    let cluster = if settings.cluster_label.is_empty() { "" } else { "&${cluster:queryparam}" };
    format!("/d/{uid}?${{__url_time_range}}&${{datasource:queryparam}}{cluster}")
}

/// Labels that the queries of a table keep: those they group by, else those of the family.
fn labels(declared: &check::Panel) -> Vec<String> {
    let mut labels = Vec::new();
    for query in declared.queries {
        for label in COLUMNS.iter().map(|(label, _)| *label) {
            let grouped = query.expr.split(" by (").nth(1).and_then(|rest| rest.split(')').next());
            let words = |list: &str| promql::tokens(list).iter().any(|token| token.text == label);
            let kept = match grouped {
                Some(list) => words(list),
                None => promql::selectors(&query.expr.replace('$', "")).iter().any(|selector| {
                    super::gauge(&selector.metric)
                        .is_some_and(|gauge| gauge.labels.contains(&label) && label != "severity")
                }),
            };
            if kept {
                labels.push(label.to_owned());
            }
        }
    }
    labels
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
