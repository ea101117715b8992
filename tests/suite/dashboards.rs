//! The committed dashboards: their structure here, their queries on a real Prometheus in `queries`.
//!
//! The rules are those of Grafana's dashboard-linter that apply. Four do not: `template-job`,
//! `template-instance`, `target-job` and `target-instance` want every series split by target, while
//! these queries aggregate targets away, so that two exporter pods are drawn as one. `target-logql`
//! and `target-logql-auto` are about Loki.

mod queries;

use std::collections::BTreeSet;
use std::path::Path;

use longhorn_health_exporter::check::{Bound, Dashboard, Panel};
use longhorn_health_exporter::cli::DECLARED;
use longhorn_health_exporter::generate::{Settings, expr};
use serde_json::{Value, json};

use crate::promql;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

fn dashboard(board: Dashboard) -> Value {
    let file = Path::new(ROOT).join(format!("dashboards/{}.json", board.uid()));
    serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

/// Every panel but the headings, those below a closed heading among them.
fn panels(dashboard: &Value) -> Vec<&Value> {
    let all = list(dashboard, "panels").iter().flat_map(|panel| list(panel, "panels").iter().chain([panel]));
    all.filter(|panel| panel["type"] != "row").collect()
}

/// Collects what is wrong, so that one run shows all of it.
#[derive(Default)]
struct Complaints(Vec<String>);

impl Complaints {
    fn unless(&mut self, right: bool, place: &str, complaint: &str) {
        if !right {
            self.0.push(format!("{place}: {complaint}"));
        }
    }
}

impl Drop for Complaints {
    fn drop(&mut self) {
        assert!(std::thread::panicking() || self.0.is_empty(), "{:#?}", self.0);
    }
}

fn each_panel(look: impl Fn(&mut Complaints, &str, &Value)) {
    let mut complaints = Complaints::default();
    for board in Dashboard::all() {
        for panel in panels(&dashboard(board)) {
            look(&mut complaints, &format!("{} / {}", board.id(), text(panel, "title")), panel);
        }
    }
}

/// dashboard-linter: uneditable-dashboard, template-datasource.
#[test]
fn dashboards_are_stable_and_leave_the_data_source_open() {
    let mut complaints = Complaints::default();
    let mut uids = BTreeSet::new();
    for board in Dashboard::all() {
        let (id, dashboard) = (&*board.id(), dashboard(board));
        let uid = text(&dashboard, "uid").to_owned();
        complaints.unless((8..=40).contains(&uid.len()) && uid == board.uid(), id, "uid");
        complaints.unless(uids.insert(uid), id, "uid is not unique");
        complaints.unless(dashboard["id"].is_null(), id, "id is set");
        complaints.unless(dashboard["editable"] == false, id, "editable");
        complaints.unless(dashboard.get("__inputs").is_none(), id, "__inputs cannot be provisioned");
        complaints.unless(dashboard["schemaVersion"].as_u64() >= Some(39), id, "schemaVersion");
        complaints.unless(!text(&dashboard, "description").is_empty(), id, "description");
        complaints.unless(dashboard["tags"] == json!(["longhorn-health"]), id, "tags");
        complaints.unless(list(&dashboard, "links")[0]["includeVars"] == true, id, "links to its sisters");
        let [source, ..] = list(&dashboard["templating"], "list") else { panic!("{id}: no variable") };
        let is_source = source["type"] == "datasource" && source["name"] == "datasource";
        complaints.unless(is_source && source["query"] == "prometheus", id, "variable datasource");
        let alerts =
            list(&dashboard["annotations"], "list").iter().any(|list| text(list, "expr").contains("ALERTS"));
        complaints.unless(alerts, id, "alerts are not annotated");
    }
    // links lead there: a contract
    let expected = [
        "fleet", "overview", "volumes", "storage", "instance-managers", "managers", "eviction",
        "longhorn-metrics", "exporter",
    ];
    let expected: BTreeSet<_> = expected.iter().map(|id| format!("longhorn-health-{id}")).collect();
    assert_eq!(uids, expected);
}

/// dashboard-linter: template-label-promql, template-on-time-change-reload; and every variable is used.
#[test]
fn variables_are_followed_and_all_means_all() {
    let mut complaints = Complaints::default();
    for board in Dashboard::all() {
        let dashboard = dashboard(board);
        let panels = json!(panels(&dashboard)).to_string();
        for variable in &list(&dashboard["templating"], "list")[1..] {
            let name = text(variable, "name");
            let place = format!("{} / ${name}", board.id());
            complaints.unless(variable["refresh"] == 2, &place, "is not read again when the time changes");
            complaints.unless(variable["datasource"]["uid"] == "${datasource}", &place, "data source");
            complaints.unless(variable["allValue"] == ".*" && variable["includeAll"] == true, &place, "All");
            complaints.unless(!text(variable, "label").is_empty(), &place, "label");
            complaints.unless(panels.contains(&format!("=~\\\"${name}\\\"")), &place, "no panel uses it");
        }
        // one family of several that has the label and ignores the variable would show too much
        let all = longhorn_families();
        for target in self::panels(&dashboard).into_iter().flat_map(|panel| list(panel, "targets")) {
            for selector in promql::selectors(text(target, "expr")) {
                let Some((_, labels)) = all.iter().find(|(name, _)| *name == selector.metric) else {
                    continue;
                };
                let follows = |variable: &str| {
                    selector
                        .matchers
                        .iter()
                        .any(|(_, operator, value)| operator == "=~" && *value == format!("${variable}"))
                };
                complaints.unless(
                    follows("cluster"),
                    &board.id(),
                    &format!("{} ignores $cluster", selector.metric),
                );
                for label in
                    ["node", "volume", "pvc_namespace"].into_iter().filter(|label| labels.contains(label))
                {
                    complaints.unless(
                        follows(label),
                        &board.id(),
                        &format!("{} ignores ${label}", selector.metric),
                    );
                }
            }
        }
    }
}

fn longhorn_families() -> Vec<(&'static str, &'static [&'static str])> {
    let gauges = DECLARED.areas().flat_map(|area| area.gauges).map(|gauge| (gauge.name, &gauge.labels));
    let records = DECLARED.areas().flat_map(|area| area.records).map(|record| (record.name, record.labels));
    gauges.chain(records).collect()
}

/// dashboard-linter: panel-datasource, panel-title-description, panel-units, panel-no-targets.
#[test]
fn panels_say_what_they_show() {
    each_panel(|complaints, place, panel| {
        complaints.unless(!text(panel, "title").is_empty(), place, "title");
        complaints.unless(text(panel, "description").ends_with('.'), place, "description");
        complaints.unless(panel["datasource"]["uid"] == "${datasource}", place, "data source");
        complaints.unless(!list(panel, "targets").is_empty(), place, "no query");
        let defaults = &panel["fieldConfig"]["defaults"];
        complaints.unless(!text(defaults, "unit").is_empty(), place, "unit");
        complaints.unless(text(defaults, "noValue").len() > 4, place, "what no data means");
        let refs: BTreeSet<_> = list(panel, "targets").iter().map(|target| text(target, "refId")).collect();
        complaints.unless(refs.len() == list(panel, "targets").len(), place, "refId is not unique");
    });
}

/// dashboard-linter: target-rate-interval, target-counter-agg. A window that the title names is its own.
#[test]
fn rates_follow_the_scrape_interval_and_counters_are_never_drawn_raw() {
    each_panel(|complaints, place, panel| {
        for target in list(panel, "targets") {
            let expr = text(target, "expr");
            for function in ["rate(", "increase(", "irate("] {
                let windows = expr.split(function).skip(1).filter_map(|rest| rest.split(['[', ']']).nth(1));
                for window in windows {
                    let named = text(panel, "title").contains(" hour")
                        || text(panel, "title").contains("24 h")
                        || text(panel, "description").contains("hour");
                    let right = window == "$__rate_interval" || (named && ["1h", "24h"].contains(&window));
                    complaints.unless(right, place, &format!("window {window}"));
                }
            }
            for selector in
                promql::selectors(expr).iter().filter(|selector| selector.metric.ends_with("_total"))
            {
                let counted =
                    ["rate(", "increase("].iter().any(|f| expr.contains(&format!("{f}{}", selector.metric)));
                complaints.unless(counted, place, &format!("{} is drawn raw", selector.metric));
            }
        }
    });
}

#[test]
fn panels_fill_the_grid_without_overlap_and_have_ids_of_their_own() {
    let mut complaints = Complaints::default();
    for board in Dashboard::all() {
        let dashboard = dashboard(board);
        let (mut ids, mut taken) = (BTreeSet::new(), BTreeSet::new());
        for panel in list(&dashboard, "panels") {
            let place = format!("{} / {}", board.id(), text(panel, "title"));
            for panel in list(panel, "panels").iter().chain([panel]) {
                complaints.unless(ids.insert(panel["id"].as_u64().unwrap()), &place, "id is not unique");
            }
            let at = |key: &str| panel["gridPos"][key].as_u64().unwrap();
            complaints.unless(at("x") + at("w") <= 24, &place, "beyond the right edge");
            for (y, x) in
                (at("y")..at("y") + at("h")).flat_map(|y| (at("x")..at("x") + at("w")).map(move |x| (y, x)))
            {
                complaints.unless(taken.insert((y, x)), &place, "overlaps");
            }
        }
        let lines = taken.iter().map(|(y, _)| *y).max().unwrap() + 1;
        complaints.unless(taken.len() as u64 == 24 * lines, &board.id(), "has holes");
    }
}

#[test]
fn what_is_absent_is_never_green() {
    each_panel(|complaints, place, panel| {
        let steps = list(&panel["fieldConfig"]["defaults"]["thresholds"], "steps");
        complaints.unless(steps[0]["value"].is_null(), place, "the first colour has a value");
        complaints.unless(
            ["text", "#808080"].contains(&text(&steps[0], "color")),
            place,
            "no data has a colour",
        );
        let values: Vec<_> = steps[1..].iter().map(|step| step["value"].as_f64().unwrap()).collect();
        complaints.unless(values.is_sorted(), place, "steps do not ascend");
        let coloured = panel["options"]["colorMode"] == "background";
        complaints.unless(!coloured || steps.len() > 1, place, "a coloured panel without colours");
    });
}

/// Where a panel draws what an alert compares with a threshold, it draws the threshold too.
/// A panel that no one feeds is empty as well.
#[test]
fn what_is_empty_is_never_health_alone() {
    let blind = [
        "exporter", "cannot be read", "make sure", "rules are loaded", "no such target", "is not scraped",
        "does not scrape", "if every check has a verdict",
    ];
    each_panel(|complaints, place, panel| {
        let said = text(&panel["fieldConfig"]["defaults"], "noValue");
        complaints.unless(blind.iter().any(|word| said.contains(word)), place, "who is blind without data");
    });
}

#[test]
fn thresholds_of_shared_numbers_are_drawn() {
    let mut complaints = Complaints::default();
    let mut compared = 0;
    for area in DECLARED.areas() {
        for alert in area.alerts {
            for (record, threshold) in comparisons(&expr(area, alert)) {
                compared += 1;
                let draws = |panel: &Panel| {
                    let steps = panel.steps.iter().map(|step| &step.from);
                    let is_drawn = steps.into_iter().any(|from| {
                        matches!(from, Bound::Threshold { alert: of, threshold: drawn }
                            if *of == alert.name && drawn.name == threshold)
                    });
                    is_drawn && panel.queries().any(|query| query.expr.contains(&record))
                };
                let drawn = area.panels.iter().any(draws);
                complaints.unless(drawn, alert.name, &format!("no panel draws {threshold} of {record}"));
            }
        }
    }
    assert!(compared >= 3, "only {compared} thresholds are drawn");
}

/// Records with the name of the threshold that they are compared with.
fn comparisons(expr: &str) -> Vec<(String, String)> {
    let records = DECLARED.records_in(expr).into_iter();
    let compared = records.filter_map(|record| {
        let after = expr.split_once(record.name)?.1.trim_start();
        let name = after.trim_start_matches(['<', '>', '=', ' ']).strip_prefix('$')?;
        let name = name.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next()?;
        Some((record.name.to_owned(), name.to_owned()))
    });
    compared.collect()
}

/// Values of the steps of a panel as Grafana gets them.
fn steps(config: &str, board: Dashboard, title: &str) -> Vec<f64> {
    let settings = longhorn_health_exporter::generate::settings::parse(&DECLARED, "c.yaml", config).unwrap();
    let dashboard = longhorn_health_exporter::generate::grafana::dashboard(board, &settings).unwrap();
    let dashboard = serde_json::to_value(dashboard).unwrap();
    let panel = list(&dashboard, "panels").iter().find(|panel| panel["title"] == title).unwrap();
    let steps = list(&panel["fieldConfig"]["defaults"]["thresholds"], "steps");
    steps.iter().filter_map(|step| step["value"].as_f64()).collect()
}

#[test]
fn configured_thresholds_are_drawn() {
    use Dashboard::{InstanceManagers, Managers};
    let drawn = |config: &str| {
        [
            steps(config, Managers, "Manager restarts in an hour"),
            steps(config, InstanceManagers, "Busiest instance manager"),
            steps(config, InstanceManagers, "Shortest liveness window"),
        ]
    };
    assert_eq!(drawn(""), [vec![3.0], vec![100.0], vec![0.0, 30.0]]);
    let config = "alerts:\n  LonghornManagerHighRestarts: {enabled: false, thresholds: {restarts: 7}}\n  \
                  LonghornInstanceManagerUnderPressure: {thresholds: {instances: 250, window: 66}}\n";
    assert_eq!(drawn(config), [vec![7.0], vec![250.0], vec![0.0, 66.0]]);
}

#[test]
fn tables_lead_on_and_every_link_leads_somewhere() {
    let uids: BTreeSet<_> = Dashboard::all().map(|board| board.uid()).collect();
    each_panel(|complaints, place, panel| {
        let overrides = list(&panel["fieldConfig"], "overrides");
        let links = overrides
            .iter()
            .flat_map(|over| list(over, "properties"))
            .filter(|property| property["id"] == "links");
        let links: Vec<_> =
            links.flat_map(|property| list(property, "value")).chain(list(panel, "links")).collect();
        // a table may lead to a runbook alone, and nothing is published yet
        let is_published = Settings::of(&DECLARED).runbook_base_url.is_some();
        complaints.unless(
            !is_published || panel["type"] != "table" || !links.is_empty(),
            place,
            "a table without links",
        );
        for link in links {
            let url = text(link, "url");
            if let Some(rest) = url.strip_prefix("/d/") {
                let uid = rest.split('?').next().unwrap();
                let known = uids.contains(uid) || uid == "${__data.fields.dashboard}";
                complaints.unless(known, place, &format!("leads to {url}"));
            } else {
                let file = url.rsplit('/').next().unwrap();
                let by_field = file.starts_with("${__data.fields.");
                let exists = by_field || Path::new(ROOT).join("docs/runbooks").join(file).exists();
                complaints.unless(exists, place, &format!("leads to {url}"));
            }
        }
    });
}

#[test]
fn every_check_has_a_panel_and_every_dashboard_a_purpose() {
    let bare: Vec<_> = DECLARED.areas().filter(|area| area.panels.is_empty()).map(|area| area.id).collect();
    assert_eq!(bare, Vec::<&str>::new());
    for board in Dashboard::all() {
        // the fleet is one table
        let least = if board == Dashboard::Fleet { 1 } else { 5 };
        assert!(panels(&dashboard(board)).len() >= least, "{}", board.id());
    }
}
