//! Grafana dashboards out of the panels that the checks declare.
//!
//! Classic JSON, which every Grafana from 9 on reads. No `__inputs`: the data source is a variable,
//! so a file can be provisioned as it is.

mod layout;
mod panel;
mod table;
mod variables;

use anyhow::Result;
use serde_json::{Value, json};

use super::catalogue::Declared;
use super::{Artifact, Settings, Target, promql};
use crate::check::{self, Check, Dashboard};
use crate::own;
use layout::Grid;

/// Tag by which the dashboards find each other.
const TAG: &str = "longhorn-health";

pub fn artifacts(settings: &Settings) -> Result<Vec<Artifact>> {
    let artifact = |board: Dashboard| {
        let content = super::pretty(&dashboard(board, settings)?);
        Ok(Artifact::new(format!("dashboards/{}.json", board.uid()), content))
    };
    Dashboard::all().map(artifact).collect()
}

pub fn dashboard(board: Dashboard, settings: &Settings) -> Result<Value> {
    let mut grid = Grid::default();
    let mut panels = Vec::new();
    for (title, declared) in sections(board, settings) {
        let heading = title.map(|title| (title, grid.next_id(), grid.row()));
        let below = grid.y;
        let places = grid.places(&declared.iter().map(|(_, panel)| *panel).collect::<Vec<_>>());
        let drawn = declared
            .into_iter()
            .zip(places)
            .map(|((area, declared), place)| panel::panel(grid.next_id(), declared, place, area, settings));
        let mut drawn = drawn.collect::<Result<Vec<Value>>>()?;
        if let Some((title, id, place)) = heading {
            // what is wrong stands above; of what is not nothing is asked until someone opens it
            let collapsed = board == Dashboard::Volumes;
            let inside = if collapsed { std::mem::take(&mut drawn) } else { Vec::new() };
            grid.y = if collapsed { below } else { grid.y };
            panels.push(json!({
                "type": "row", "id": id, "title": title, "gridPos": place, "collapsed": collapsed, "panels": inside,
            }));
        }
        panels.append(&mut drawn);
    }
    let variables = variables::of(settings, |name| panels.iter().any(|panel| uses(panel, name)));
    let (name, question) = heading(board);
    Ok(json!({
        "description": format!("{question} {}", Target::Dashboards.header()),
        // links stay
        "uid": board.uid(), "title": format!("Longhorn health / {name}"), "tags": [TAG],
        // a constant version, so that the file does not change without a reason
        "editable": false, "schemaVersion": 39, "version": 1,
        // a shared crosshair
        "timezone": "browser", "refresh": "1m", "time": { "from": "now-6h", "to": "now" }, "graphTooltip": 1,
        "links": [{
            "type": "dashboards", "title": "Longhorn health", "tags": [TAG], "asDropdown": true,
            "includeVars": true, "keepTime": true, "targetBlank": false, "icon": "external link",
            "tooltip": "", "url": "",
        }],
        "annotations": { "list": annotations(settings) },
        "templating": { "list": variables },
        "panels": panels,
    }))
}

/// Whether a panel, or one below a closed heading, asks for the variable.
fn uses(panel: &Value, variable: &str) -> bool {
    let quoted = format!("\"${variable}\"");
    let [targets, inside] = ["targets", "panels"].map(|key| panel[key].as_array().into_iter().flatten());
    let mut exprs = targets.filter_map(|target| target["expr"].as_str());
    exprs.any(|expr| expr.contains(&quoted)) || inside.into_iter().any(|panel| uses(panel, variable))
}

fn datasource() -> Value {
    json!({ "type": "prometheus", "uid": "${datasource}" })
}

type Row = (Option<&'static str>, Vec<(&'static Check, &'static check::Panel)>);

/// The overview is one page without headings: numbers first, the verdict before the single checks,
/// then tables, then what happened over time. The others have a heading for each check.
fn sections(board: Dashboard, settings: &Settings) -> Vec<Row> {
    let panels_of = |area: &'static Check| area.panels.iter().map(move |panel| (area, panel));
    let on_board = |(_, panel): &(&Check, &check::Panel)| {
        panel.dashboard == board && panel.queries().all(|query| settings.is_there(&query.expr))
    };
    if board == Dashboard::Overview {
        let mut panels: Vec<_> =
            settings.declared.with_pages().flat_map(panels_of).filter(on_board).collect();
        panels.sort_by_key(|(area, panel)| (rank(area, panel), area.id != "exporter"));
        return vec![(None, panels)];
    }
    let section = |area: &'static Check| {
        let title = (!area.causes.is_empty()).then_some(area.title);
        (title, panels_of(area).filter(on_board).collect())
    };
    let sections = settings.declared.with_pages().map(section);
    let mut sections: Vec<Row> = sections.filter(|(_, panels): &Row| !panels.is_empty()).collect();
    sections.sort_by_key(|(title, _)| title.is_some());
    sections
}

/// The numbers of all checks together, then what is wrong by root causes, then the rest.
fn rank(area: &Check, panel: &check::Panel) -> u8 {
    match panel.kind {
        check::PanelKind::Stat if area.id == "exporter" => 0,
        _ if panel.title == own::INCIDENTS_PANEL => 1,
        check::PanelKind::Stat => 2,
        check::PanelKind::Table | check::PanelKind::BarGauge => 3,
        check::PanelKind::StateTimeline => 4,
        check::PanelKind::TimeSeries => 5,
    }
}

/// Name, and the question that the dashboard answers.
fn heading(board: Dashboard) -> (&'static str, &'static str) {
    match board {
        Dashboard::Fleet => ("Fleet", "Every cluster with its status, linked to its overview."),
        Dashboard::Overview => ("Overview", "Longhorn's status, its incidents, and what to do."),
        Dashboard::Volumes => {
            ("Volumes", "Volumes that lack replicas, cannot attach or cannot be written, and why.")
        }
        Dashboard::InstanceManagers => (
            "Instance managers and upgrades",
            "Instance managers that are down, replaced or left over from an upgrade, and why.",
        ),
        Dashboard::Managers => (
            "Managers and webhook",
            "Managers that crash or start slowly, and the admission webhook's state.",
        ),
        Dashboard::Eviction => (
            "Eviction and drain",
            "Progress of evictions and drains, contradictory eviction flags, and crash risks.",
        ),
        Dashboard::Storage => {
            ("Storage and backups", "State of disks, engine images, CSI, RWX shares and backups.")
        }
        Dashboard::LonghornMetrics => (
            "Longhorn's own metrics",
            "Disk and volume usage, I/O latency, and CPU and memory of instance managers. Needs no exporter.",
        ),
        Dashboard::Exporter => ("Exporter", "What the exporter can read, and how old its data is."),
    }
}

/// Grafana's own annotations, and firing alerts as marks in the graphs.
fn annotations(settings: &Settings) -> Vec<Value> {
    vec![
        json!({
            "builtIn": 1, "datasource": { "type": "grafana", "uid": "-- Grafana --" }, "enable": true,
            "hide": true, "iconColor": "rgba(0, 211, 255, 1)", "name": "Annotations & Alerts", "type": "dashboard",
        }),
        json!({
            "datasource": datasource(), "enable": true, "hide": false, "iconColor": "red", "name": "Longhorn alerts",
            "expr": format!("ALERTS{{{}, alertstate=\"firing\"}}", our_alerts(settings)),
            "step": "60s", "titleFormat": "{{alertname}}", "textFormat": "{{object}} {{node}}", "useValueForTime": false,
        }),
    ]
}

/// Matchers of the alerts of these rules in Prometheus' own series ALERTS.
fn our_alerts(settings: &Settings) -> String {
    variables::joined([variables::filter(&[], settings), "alertname=~\"Longhorn.+\"".to_owned()])
}

/// Labels of a family or of a recorded series.
fn labels_of(name: &str, declared: &Declared) -> &'static [&'static str] {
    let gauge = declared.areas().flat_map(|area| area.gauges).find(|gauge| gauge.name == name);
    let record = || declared.record(name).map(|record| record.labels);
    gauge.map(|gauge| &gauge.labels).or_else(record).unwrap_or_default()
}

/// Puts beside each recorded series the expression that it records. Both give the same number, and a
/// dashboard without its rules says what is there instead of "no data", which reads like health.
fn with_expressions_of_records(expr: &str, declared: &Declared) -> String {
    declared.records().fold(expr.to_owned(), |expr, record| {
        let recorded = format!("{}{{$job}}", record.name);
        expr.replace(&recorded, &format!("{recorded} or {}", record.expr))
    })
}

/// Fills the placeholders of a panel's query. With `$job` come the matchers of the dashboard's
/// variables that the labels of the family before the brace have.
fn expression(owner: &str, expr: &str, settings: &Settings) -> Result<String> {
    let filled = promql::fill(
        owner,
        &with_expressions_of_records(expr, settings.declared),
        |name, before| match name {
            "job" => {
                let family = before
                    .trim_end_matches('{')
                    .rsplit(|c: char| !c.is_ascii_alphanumeric() && !"_:".contains(c))
                    .next()
                    .unwrap_or_default();
                Some(variables::joined([
                    settings.matchers(),
                    variables::filter(labels_of(family, settings.declared), settings),
                ]))
            }
            // of series that are not the exporter's
            "variables" => Some(variables::filter(&[], settings)),
            "namespace" => Some(settings.namespace.0.clone()),
            "without" => Some(super::rules::WITHOUT.to_owned()),
            "cluster" => Some(settings.cluster_list()),
            "alerts" => Some(our_alerts(settings)),
            // the first group of a label_replace
            "1" => Some("$1".to_owned()),
            // Grafana fills in the rest
            "__rate_interval" | "__range" | "__interval" => Some(format!("${name}")),
            _ => None,
        },
    )?;
    // the list of labels brings its own comma and space
    Ok(filled.replace(",  ", ", ").replace(",)", ")"))
}
