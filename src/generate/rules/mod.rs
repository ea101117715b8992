//! Prometheus rule files.
//!
//! The plain file and the PrometheusRule object hold the same groups; the third file needs
//! kube-state-metrics only. `rules/` is committed, and its tests run on promtool.

use std::collections::BTreeMap;

use serde::Serialize;

use super::catalogue::{self, KUBE_STATE_METRICS};
use super::{Artifact, GenerateError, Settings, Target, alertmanager, promql, yaml};
use crate::check::{Alert, Check, Dashboard, Record};

/// Labels that tell two exporter pods, or two lives of one, apart.
pub const WITHOUT: &str = "instance, pod, container, endpoint, service, severity";

/// The plain rule file.
pub const PLAIN: &str = "rules/longhorn-health.rules.yaml";

/// The rule file for kube-state-metrics without the exporter.
pub const ALONE: &str = "rules/longhorn-health-kube-state-metrics.rules.yaml";

/// A rule file.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RuleFile {
    /// Groups with a name each.
    pub groups: Vec<Group>,
}

/// Rules that are evaluated together.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Group {
    /// `longhorn-health.<dashboard>`.
    pub name: String,
    /// In the order of the checks, records before the alerts that read them: Prometheus evaluates a
    /// group from top to bottom, so that an alert sees the value of the same moment.
    pub rules: Vec<Entry>,
}

/// A member of a group.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Entry {
    /// A recording rule.
    Record(Recording),
    /// An alerting rule.
    Alert(Rule),
}

/// A recording rule, with every placeholder filled in. It has no labels of its own: the configured
/// ones are for alerts, and a panel could not tell them from those of the series.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Recording {
    /// Its name.
    pub record: &'static str,
    /// PromQL.
    pub expr: String,
}

/// An alerting rule, with every placeholder filled in.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rule {
    /// Its name.
    pub alert: String,
    /// PromQL.
    pub expr: String,
    /// How long the expression must hold.
    #[serde(rename = "for")]
    pub hold: String,
    /// How long the alert goes on.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub keep_firing_for: String,
    /// Labels beside those of the series.
    pub labels: BTreeMap<String, String>,
    /// What people read.
    pub annotations: BTreeMap<&'static str, String>,
}

#[derive(Serialize)]
struct PrometheusRule<'a> {
    #[serde(rename = "apiVersion")]
    api_version: &'static str,
    kind: &'static str,
    metadata: Metadata,
    spec: &'a RuleFile,
}

#[derive(Serialize)]
struct Metadata {
    name: &'static str,
    labels: BTreeMap<&'static str, &'static str>,
}

/// The files of this target.
pub fn artifacts(settings: &Settings) -> Result<Vec<Artifact>, GenerateError> {
    let header = Target::Rules.header();
    let plain = rule_file(settings)?;
    let object = PrometheusRule {
        api_version: "monitoring.coreos.com/v1",
        kind: "PrometheusRule",
        metadata: Metadata {
            name: "longhorn-health-exporter",
            labels: BTreeMap::from([("app.kubernetes.io/name", "longhorn-health-exporter")]),
        },
        spec: &plain,
    };
    let artifact = |path: &str, content: String| Artifact { path: path.to_owned(), content };
    Ok(vec![
        artifact(PLAIN, yaml::document(&header, &plain)),
        artifact("rules/longhorn-health.prometheusrule.yaml", yaml::document(&header, &object)),
        artifact(ALONE, yaml::document(&header, &alone(settings)?)),
        alertmanager::artifact(settings),
    ])
}

/// The groups of the exporter's alerts.
pub fn rule_file(settings: &Settings) -> Result<RuleFile, GenerateError> {
    let mut groups: BTreeMap<Dashboard, Vec<Entry>> = BTreeMap::new();
    for area in catalogue::areas() {
        // also when the alerts that read them are switched off: panels draw them
        for record in area.records {
            let recording = recording(record, settings)?;
            groups.entry(area.dashboard()).or_default().push(Entry::Record(recording));
        }
        for alert in area.alerts.iter().filter(|alert| settings.alert(alert).enabled) {
            let rule = rule(area, alert, settings)?;
            groups.entry(area.dashboard()).or_default().push(Entry::Alert(rule));
        }
    }
    let group =
        |(board, rules): (Dashboard, _)| Group { name: format!("longhorn-health.{}", board.id()), rules };
    Ok(RuleFile { groups: groups.into_iter().map(group).collect() })
}

/// The group that stands on kube-state-metrics alone.
pub fn alone(settings: &Settings) -> Result<RuleFile, GenerateError> {
    let area = &KUBE_STATE_METRICS;
    let enabled = area.alerts.iter().filter(|alert| settings.alert(alert).enabled);
    let rules = enabled.map(|alert| rule(area, alert, settings).map(Entry::Alert));
    let rules: Vec<_> = rules.collect::<Result<_, _>>()?;
    let group = Group { name: format!("longhorn-health.{}", area.id), rules };
    Ok(RuleFile { groups: vec![group].into_iter().filter(|group| !group.rules.is_empty()).collect() })
}

/// The recording rule of a record.
pub fn recording(record: &Record, settings: &Settings) -> Result<Recording, GenerateError> {
    let expr = promql::fill(record.name, record.expr, |name, _| common(name, settings))?;
    Ok(Recording { record: record.name, expr })
}

/// Placeholders that mean the same in every rule.
fn common(name: &str, settings: &Settings) -> Option<String> {
    match name {
        "job" => Some(settings.matchers()),
        "without" => Some(WITHOUT.to_owned()),
        "namespace" => Some(settings.namespace.clone()),
        "cluster" => Some(settings.cluster_list()),
        _ => None,
    }
}

/// The rule of an alert.
pub fn rule(area: &Check, alert: &Alert, settings: &Settings) -> Result<Rule, GenerateError> {
    let set = settings.alert(alert);
    let threshold = |name: &str| set.thresholds.get(name).map(f64::to_string);
    let expr = promql::fill(alert.name, &area.expr(alert), |name, _| {
        common(name, settings).or_else(|| threshold(name))
    })?;
    // $labels, $value and $externalLabels are Prometheus' own and stay as they are
    let description = promql::fill(alert.name, alert.description, |name, _| match name {
        "labels" | "value" | "externalLabels" => Some(format!("${name}")),
        _ => threshold(name),
    })?;
    let mut labels = settings.labels.clone();
    labels.extend(set.labels);
    // an empty label is none: so an alert goes without a global one
    labels.retain(|_, value| !value.is_empty());
    if area.id == KUBE_STATE_METRICS.id {
        // tells them from their namesakes, so that the exporter's absence does not mute them
        labels.insert("source".to_owned(), area.id.to_owned());
    }
    labels.insert("severity".to_owned(), set.severity.to_string());
    let mut annotations = BTreeMap::from([
        ("summary", alert.summary.to_owned()),
        ("description", description),
        (
            "runbook_url",
            format!("{}/{}", settings.runbook_base_url.trim_end_matches('/'), settings.runbook(alert)),
        ),
    ]);
    if let Some(base) = &settings.dashboard_base_url {
        let url = format!("{}/d/{}", base.trim_end_matches('/'), area.dashboard().uid());
        annotations.insert("dashboard_url", url);
    }
    let (hold, keep_firing_for) = (set.hold, set.keep_firing_for);
    Ok(Rule { alert: alert.name.to_owned(), expr, hold, keep_firing_for, labels, annotations })
}
