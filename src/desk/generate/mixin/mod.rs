//! What `mixin/mixin.libsonnet` fills in: the defaults of `_config`, and rules and dashboards with the settings left open.
//!
//! No second renderer: rules and dashboards are rendered with settings that stand for keys of `_config`, once with and once
//! without each thing that may be missing. Where the two differ stands a choice, `{"if": …, "then": …, "else": …}`.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use serde_json::{Map, Value, json};
use similar::{Algorithm, capture_diff_slices};

use super::catalogue::LONGHORN_METRICS;
use super::rules::{self, Entry, Rule, RuleGroup};
use super::settings::{LonghornRelease, parse};
use super::{Artifact, Declared, Settings, Target, expr, grafana, pretty, promql};
use crate::check::{Alert, Dashboard, Threshold};
use crate::longhorn::Release;
use crate::longhorn_series;

pub fn artifacts(settings: &Settings) -> Result<Vec<Artifact>> {
    let open = Open::of(settings.declared)?;
    let file = |name: &str, content: String| {
        let header = Target::Mixin.header();
        Artifact::new(format!("mixin/{name}.libsonnet"), format!("// {header}\n{content}"))
    };
    Ok(vec![
        file("config", config(settings)?),
        file("dashboards", pretty(&open.render(&dashboards)?)),
        file("rules", pretty(&open.render(&groups)?)),
    ])
}

/// What stands for keys of `_config` while rules and dashboards are rendered.
const SELECTOR: &str = "sentinel-selector";
const NAMESPACE: &str = "sentinel-namespace";
const CLUSTER_LABEL: &str = "sentinel_cluster";
/// Runbooks of this form end in `.md`, others do not.
const RUNBOOKS: &str = "https://sentinel-runbooks/blob/main";
const GRAFANA: &str = "https://sentinel-grafana";
const EXPECTED: &str = "sentinel-expected";
/// The first threshold. It and those that follow are whole seconds and no whole minutes.
const THRESHOLD: u64 = 987_000_001;

/// Settings that stand for keys of `_config`.
struct Open {
    settings: Settings,
    /// The number that stands for each threshold of an alert.
    thresholds: BTreeMap<u64, (&'static str, &'static Threshold)>,
    /// What may be missing: keys of `_config`, then releases of Longhorn, newest first.
    conditions: Vec<String>,
}

impl Open {
    fn of(declared: &'static Declared) -> Result<Self> {
        let (mut thresholds, mut alerts) = (BTreeMap::new(), BTreeMap::new());
        for alert in declared.alerts() {
            let mut own = BTreeMap::new();
            for threshold in alert.thresholds {
                let number = THRESHOLD + 60 * thresholds.len() as u64;
                own.insert(threshold.name, number);
                thresholds.insert(number, (alert.name, threshold));
            }
            alerts.insert(alert.name, json!({ "severity": "critical", "thresholds": own }));
        }
        let settings = json!({
            "selector": SELECTOR, "namespace": NAMESPACE, "cluster_label": CLUSTER_LABEL,
            "runbook_base_url": RUNBOOKS, "dashboard_base_url": GRAFANA, "expected_clusters": [EXPECTED],
            "alerts": alerts,
        });
        let settings = parse(declared, "settings of the mixin", &settings.to_string())?;
        let mut conditions = ["clusterLabel", "expectedClusters", "runbookBaseUrl", "dashboardBaseUrl"]
            .map(str::to_owned)
            .to_vec();
        conditions.extend(releases(declared).iter().rev().map(Release::to_string));
        Ok(Open { settings, thresholds, conditions })
    }

    fn render(&self, render: &dyn Fn(&Settings) -> Result<Value>) -> Result<Value> {
        Ok(self.named(with_choices(&self.conditions, &self.settings, render)?))
    }

    /// Names each key of `_config` where its value would be, as jsonnet's formats do.
    fn named(&self, value: Value) -> Value {
        match value {
            Value::String(text) => self.text(&text).into(),
            Value::Array(list) => list.into_iter().map(|value| self.named(value)).collect(),
            Value::Object(object) => {
                object.into_iter().map(|(key, value)| (self.text(&key), self.named(value))).collect()
            }
            Value::Number(number) => {
                match number.as_f64().and_then(|number| self.thresholds.get(&(number as u64))) {
                    Some((alert, threshold)) => json!({ "threshold": [alert, threshold.name] }),
                    None => number.into(),
                }
            }
            other => other,
        }
    }

    fn text(&self, text: &str) -> String {
        let mut text = text.replace('%', "%%");
        if let Some(page) = text.strip_prefix(RUNBOOKS).and_then(|page| page.strip_suffix(".md")) {
            text = format!("%(runbookBaseUrl)s{page}%(runbookEnding)s");
        }
        for (number, (_, threshold)) in &self.thresholds {
            text = text.replace(&rules::text(threshold, *number as f64), &format!("%({})s", threshold.name));
        }
        // inside an expression; alone, it is the pattern for each cluster
        let expected = format!(" {}", rules::clusters_without_exporter(&self.settings));
        text.replace(&expected, " %(expectedClusters)s")
            .replace(EXPECTED, "%(expectedCluster)s")
            .replace(&format!("job=\"{SELECTOR}\""), "%(selector)s")
            .replace(NAMESPACE, "%(longhornNamespace)s")
            .replace(CLUSTER_LABEL, "%(clusterLabel)s")
            .replace(GRAFANA, "%(dashboardBaseUrl)s")
    }
}

/// The releases from which on rules or panels on Longhorn's own metrics work.
fn releases(declared: &'static Declared) -> BTreeSet<Release> {
    let of_alerts = declared.with_pages().flat_map(|area| area.alerts.iter().map(|alert| expr(area, alert)));
    let panels = declared.with_pages().flat_map(|area| area.panels);
    let of_panels = panels.flat_map(|panel| panel.queries().map(|query| query.expr.to_string()));
    of_alerts.chain(of_panels).filter_map(|expr| longhorn_series::needs(&expr)).collect()
}

/// Renders with and without what each condition names.
fn with_choices(
    conditions: &[String],
    settings: &Settings,
    render: &dyn Fn(&Settings) -> Result<Value>,
) -> Result<Value> {
    let Some((condition, rest)) = conditions.split_first() else { return render(settings) };
    let mut without = settings.clone();
    match condition.as_str() {
        "clusterLabel" => without.cluster_label.0.clear(),
        "expectedClusters" => without.expected_clusters.clear(),
        "runbookBaseUrl" => without.runbook_base_url = None,
        "dashboardBaseUrl" => without.dashboard_base_url = None,
        // older than this release: what the one below brought is still there
        _ => {
            without.longhorn_release =
                Some(LonghornRelease(rest.first().map_or("v0.0.0", |below| below).to_owned()))
        }
    }
    let [with, without] = [settings, &without].map(|settings| with_choices(rest, settings, render));
    Ok(either(condition, Some(&with?), Some(&without?)))
}

/// What holds under a condition and what holds otherwise, as one: what both share stands once.
fn either(condition: &str, then: Option<&Value>, otherwise: Option<&Value>) -> Value {
    match (then, otherwise) {
        (Some(then), Some(otherwise)) if then == otherwise => then.clone(),
        // objects, and two choices by the same
        (Some(Value::Object(then)), Some(Value::Object(otherwise)))
            if then.get("if") == otherwise.get("if") =>
        {
            let keys: BTreeSet<_> = then.keys().chain(otherwise.keys()).collect();
            let value = |key: &String| either(condition, then.get(key), otherwise.get(key));
            keys.into_iter().map(|key| (key.clone(), value(key))).collect()
        }
        (Some(Value::Array(then)), Some(Value::Array(otherwise))) => side_by_side(then, otherwise)
            .map(|(then, otherwise)| either(condition, then, otherwise))
            .collect(),
        _ => {
            let sides = [("then", then), ("else", otherwise)].into_iter();
            let sides = sides.filter_map(|(side, value)| Some((side.to_owned(), value?.clone())));
            sides.chain([("if".to_owned(), condition.into())]).collect::<Map<_, _>>().into()
        }
    }
}

/// Two lists in order, each element beside the one that it corresponds to.
fn side_by_side<'v>(
    a: &'v [Value],
    b: &'v [Value],
) -> impl Iterator<Item = (Option<&'v Value>, Option<&'v Value>)> {
    capture_diff_slices(Algorithm::Myers, a, b).into_iter().flat_map(move |change| {
        let a = a.get(change.old_range()).unwrap_or_default();
        let b = b.get(change.new_range()).unwrap_or_default();
        (0..a.len().max(b.len())).map(move |at| (a.get(at), b.get(at)))
    })
}

/// The groups of rules without what the alert's own entry in `_config` says. `found` has the expression for each severity
/// of an alert [as found](Alert::as_found).
fn groups(settings: &Settings) -> Result<Value> {
    let mut found = BTreeMap::<_, BTreeMap<_, _>>::new();
    for area in settings.declared.with_pages() {
        for alert in area.alerts.iter().filter(|alert| alert.as_found) {
            for variant in rules::by_severity(alert) {
                let expr = rules::rule(area, &variant, settings)?.expr;
                found.entry(alert.name).or_default().insert(variant.severity().as_str(), expr);
            }
        }
    }
    let open = |entry: Entry| match entry {
        Entry::Record(record) => json!(record),
        Entry::Alert(Rule { alert, expr, annotations, .. }) => match found.get(alert.as_str()) {
            Some(found) => {
                json!({ "alert": alert, "annotations": annotations, "expr": expr, "found": found })
            }
            None => json!({ "alert": alert, "annotations": annotations, "expr": expr }),
        },
    };
    let open = |group: RuleGroup| {
        let rules: Vec<_> = group.rules.into_iter().map(open).collect();
        json!({ "name": group.name, "rules": rules })
    };
    let of_longhorn = rules::alone(&LONGHORN_METRICS, settings)?.groups.into_iter();
    let of_longhorn = of_longhorn.map(|group| json!({ "if": "longhornMetrics", "then": open(group) }));
    let groups: Vec<_> =
        rules::rule_file(settings)?.groups.into_iter().map(open).chain(of_longhorn).collect();
    Ok(json!({ "groups": groups, "expectedCluster": rules::clusters_without_exporter(settings) }))
}

/// The dashboards by the names of their files.
fn dashboards(settings: &Settings) -> Result<Value> {
    let named =
        |board: Dashboard| Ok((format!("{}.json", board.uid()), grafana::dashboard(board, settings)?));
    Ok(Dashboard::all().map(named).collect::<Result<Map<_, _>>>()?.into())
}

/// The defaults of `_config`.
fn config(settings: &Settings) -> Result<String> {
    // a release leaves alerts out by itself
    let every = Settings { longhorn_release: None, ..settings.clone() };
    let alert = |alert: &Alert| {
        let set = every.alert(alert);
        let threshold = |threshold: &Threshold| {
            let text = rules::text(threshold, *set.thresholds.get(threshold.name)?);
            // a range is text, as it has a unit
            Some((threshold.name, serde_json::from_str(&text).unwrap_or(Value::String(text))))
        };
        let thresholds: BTreeMap<_, Value> = alert.thresholds.iter().filter_map(threshold).collect();
        let set = json!({
            "enabled": set.enabled, "for": set.for_, "keep_firing_for": set.keep_firing_for,
            "severity": if set.is_as_found { "as found" } else { set.severity_label() },
            "labels": set.labels, "thresholds": thresholds,
        });
        format!("      {}: {set},\n", alert.name)
    };
    let alerts: String = settings.declared.alerts().map(alert).collect();
    let values = json!({
        "selector": settings.matchers(), "cluster_label": settings.cluster_label,
        "expected_clusters": settings.expected_clusters, "namespace": settings.namespace,
        "runbook_base_url": settings.runbook_base_url, "dashboard_base_url": settings.dashboard_base_url,
        "labels": settings.labels, "longhorn_release": settings.longhorn_release,
    });
    promql::fill("config.libsonnet", include_str!("config.libsonnet"), |name, _| match values.get(name) {
        None => (name == "alerts").then(|| alerts.clone()),
        Some(Value::Null) => Some("''".to_owned()),
        Some(Value::String(text)) if !text.contains(['\'', '\\']) => Some(format!("'{text}'")),
        Some(other) => Some(other.to_string()),
    })
}
