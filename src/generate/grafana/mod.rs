//! Grafana dashboards out of the panels that the checks declare.
//!
//! Classic JSON, which every Grafana from 9 on reads. No `__inputs`: the data source is a variable,
//! so a file can be provisioned as it is.

mod layout;
pub mod model;
mod panel;
mod variables;

use serde_json::json;

use super::catalogue::{self, Area};
use super::{Artifact, GenerateError, Settings, Target, promql};
use crate::check::{self, Dashboard, Gauge};
use layout::Grid;
use model::{DATASOURCE, List, TimeRange};

/// Every dashboard, in the order of the dropdown.
pub const DASHBOARDS: [Dashboard; 5] = [
    Dashboard::Overview,
    Dashboard::InstanceManagers,
    Dashboard::Managers,
    Dashboard::Eviction,
    Dashboard::Exporter,
];

/// Tag by which the dashboards find each other.
const TAG: &str = "longhorn-health";

/// The files of this target.
pub fn artifacts(settings: &Settings) -> Result<Vec<Artifact>, GenerateError> {
    DASHBOARDS.iter().map(|board| artifact(*board, settings)).collect()
}

fn artifact(board: Dashboard, settings: &Settings) -> Result<Artifact, GenerateError> {
    let mut content = serde_json::to_string_pretty(&dashboard(board, settings)?).unwrap_or_default();
    content.push('\n');
    Ok(Artifact { path: format!("dashboards/{}.json", board.uid()), content })
}

/// One dashboard, complete.
pub fn dashboard(board: Dashboard, settings: &Settings) -> Result<model::Dashboard, GenerateError> {
    let mut grid = Grid::default();
    let mut panels = Vec::new();
    for area in catalogue::areas() {
        let own: Vec<&check::Panel> = area.panels.iter().filter(|panel| panel.dashboard == board).collect();
        if own.is_empty() {
            continue;
        }
        if starts_row(board, &area) {
            panels.push(panel::row(grid.next_id(), area.title, grid.row()));
        }
        for declared in own {
            let place = grid.place(declared);
            let context = panel::Context { area: &area, settings };
            panels.push(panel::panel(grid.next_id(), declared, place, &context)?);
        }
    }
    Ok(model::Dashboard {
        description: format!("{} {}", description(board), Target::Dashboards.header()),
        id: None,
        uid: board.uid(),
        title: title(board),
        tags: vec![TAG],
        editable: false,
        schema_version: 39,
        version: 1,
        timezone: "browser",
        refresh: "1m",
        time: TimeRange { from: "now-6h", to: "now" },
        graph_tooltip: 1,
        links: vec![links_to_sisters()],
        annotations: List { list: annotations(settings) },
        templating: List { list: variables::of(board, settings) },
        panels,
    })
}

/// The overview is one page without rows: what is worst comes first, whatever check it is from.
fn starts_row(board: Dashboard, area: &Area) -> bool {
    board != Dashboard::Overview && area.id != "exporter"
}

fn title(board: Dashboard) -> &'static str {
    match board {
        Dashboard::Overview => "Longhorn health / Overview",
        Dashboard::InstanceManagers => "Longhorn health / Instance managers and upgrades",
        Dashboard::Managers => "Longhorn health / Managers and webhook",
        Dashboard::Eviction => "Longhorn health / Eviction and drain",
        Dashboard::Exporter => "Longhorn health / Exporter",
    }
}

fn description(board: Dashboard) -> &'static str {
    match board {
        Dashboard::Overview => "Is Longhorn healthy, and if not, what is wrong and what to do?",
        Dashboard::InstanceManagers => {
            "Which instance managers are down, were replaced, or are still there after an upgrade, and why?"
        }
        Dashboard::Managers => {
            "Which managers crash and why, do they start in time, and does the admission webhook answer?"
        }
        Dashboard::Eviction => "Does eviction progress, do its flags contradict each other, and is it safe?",
        Dashboard::Exporter => "Does the exporter see everything, and how fresh is what it sees?",
    }
}

fn links_to_sisters() -> serde_json::Value {
    json!({
        "type": "dashboards", "title": "Longhorn health", "tags": [TAG], "asDropdown": true,
        "includeVars": true, "keepTime": true, "targetBlank": false, "icon": "external link",
        "tooltip": "", "url": "",
    })
}

/// Grafana's own annotations, and firing alerts as marks in the graphs.
fn annotations(settings: &Settings) -> Vec<serde_json::Value> {
    let cluster = variables::matcher(&settings.cluster_label, "cluster");
    let separator = if cluster.is_empty() { "" } else { ", " };
    vec![
        json!({
            "builtIn": 1, "datasource": { "type": "grafana", "uid": "-- Grafana --" }, "enable": true,
            "hide": true, "iconColor": "rgba(0, 211, 255, 1)", "name": "Annotations & Alerts", "type": "dashboard",
        }),
        json!({
            "datasource": DATASOURCE, "enable": true, "hide": false, "iconColor": "red", "name": "Longhorn alerts",
            "expr": format!("ALERTS{{alertname=~\"Longhorn.+\", alertstate=\"firing\"{separator}{cluster}}}"),
            "step": "60s", "titleFormat": "{{alertname}}", "textFormat": "{{object}} {{node}}", "useValueForTime": false,
        }),
    ]
}

/// The family of this name, wherever it is declared.
fn gauge(name: &str) -> Option<&'static Gauge> {
    catalogue::areas().flat_map(|area| area.gauges.iter().copied()).find(|gauge| gauge.name == name)
}

/// Fills the placeholders of a panel's query. `$filter` becomes the matchers of the dashboard's
/// variables that the labels of the family in front of it have.
fn expression(owner: &str, expr: &str, settings: &Settings) -> Result<String, GenerateError> {
    let filled = promql::fill(owner, expr, |name| match name {
        "job" => Some(settings.selector.clone()),
        "without" => Some(super::rules::WITHOUT.to_owned()),
        "cluster" => Some(settings.cluster_list()),
        "filter" => Some("$filter".to_owned()),
        // Grafana fills in the rest
        "__rate_interval" | "__range" | "__interval" => Some(format!("${name}")),
        _ => variables::NAMES.contains(&name).then(|| format!("${name}")),
    })?;
    // what `$filter` stands for depends on the family in front of it
    let mut filtered = String::new();
    let mut family = None;
    for token in promql::tokens(&filled) {
        if token.kind == promql::Kind::Word
            && let Some(found) = gauge(token.text)
        {
            family = Some(found);
        }
        filtered.push_str(token.text);
        if let Some(before) = filtered.strip_suffix("$filter") {
            filtered = format!("{before}{}", variables::filter(family, settings));
        }
    }
    Ok(tidy(&filtered))
}

/// Removes the commas that an empty filter leaves.
fn tidy(expr: &str) -> String {
    expr.replace(", , ", ", ").replace(", }", "}").replace("{, ", "{")
}
