//! Prometheus rule files.
//!
//! The plain file and the PrometheusRule object hold the same groups; the third file needs
//! kube-state-metrics only. `rules/` is committed, and its tests run on promtool.

mod texts;

use std::collections::BTreeMap;

use anyhow::Result;
use serde::Serialize;

use super::catalogue::{ALONE_ID, EXPORTER_ID, INCIDENTS, LONGHORN_METRICS};
use super::{Artifact, Settings, Target, alertmanager, promql, yaml};
use crate::check::{Alert, Check, Dashboard, Record, Severity, Threshold};
use crate::generate::expr;
use crate::longhorn::Release;
use crate::longhorn_series;
use crate::own::INHIBITOR;

/// Labels that tell two exporter pods, or two lives of one, apart.
pub const WITHOUT: &str = "instance, pod, container, endpoint, service, severity";

pub const DEFAULT: &str = "rules/longhorn-health.rules.yaml";

/// One alert for each incident, with those on the exporter itself.
pub const OF_INCIDENTS: &str = "rules/longhorn-health-incidents.rules.yaml";

/// Ten alerts, for collections of rules.
pub const CORE: &str = "rules/longhorn-health-core.rules.yaml";

/// The rule file for kube-state-metrics without the exporter.
pub const ALONE: &str = "rules/longhorn-health-kube-state-metrics.rules.yaml";

/// The rule file on Longhorn's own metrics.
pub const OF_LONGHORN_METRICS: &str = "rules/longhorn-metrics.rules.yaml";

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RuleFile {
    pub groups: Vec<RuleGroup>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RuleGroup {
    pub name: String,
    /// In the order of the checks, records before the alerts that read them: Prometheus evaluates a
    /// group from top to bottom, so that an alert sees the value of the same moment.
    pub rules: Vec<Entry>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Entry {
    Record(RecordingRule),
    Alert(Rule),
}

/// A recording rule, with every placeholder filled in. It has no labels of its own: the configured
/// ones are for alerts, and a panel could not tell them from those of the series.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RecordingRule {
    pub record: &'static str,
    pub expr: String,
}

/// An alerting rule, with every placeholder filled in; the names are Prometheus' own.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rule {
    pub alert: String,
    pub expr: String,
    #[serde(rename = "for", skip_serializing_if = "is_nothing")]
    pub for_: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub keep_firing_for: String,
    pub labels: BTreeMap<String, String>,
    pub annotations: BTreeMap<&'static str, String>,
}

/// Without `for` an alert fires at once; saying so with a zero is what linters complain about.
fn is_nothing(hold: &str) -> bool {
    !hold.contains(|c| matches!(c, '1'..='9'))
}

/// For people who lint their rules against a running Prometheus.
const PINT: &str = "\
# pint asks a running Prometheus for each series. Series about trouble exist only while there is trouble, so that a
# healthy cluster lacks most of them by design; tests against the exporter hold that each of them exists.
# pint file/disable promql/series
";

pub fn artifacts(settings: &Settings) -> Result<Vec<Artifact>> {
    let header = Target::Rules.header();
    let plain = rule_file(settings)?;
    let plain = yaml::document("", &plain);
    let spec: String = plain.lines().map(|line| format!("  {line}\n")).collect();
    let object = format!(
        "# {header}\n{PINT}apiVersion: monitoring.coreos.com/v1\nkind: PrometheusRule\nmetadata:\n  \
         name: longhorn-health-exporter\n  labels:\n    app.kubernetes.io/name: longhorn-health-exporter\nspec:\n{spec}"
    );
    let mut artifacts = vec![
        Artifact::new(DEFAULT, format!("# {header}\n{PINT}{plain}")),
        Artifact::new("rules/longhorn-health.prometheusrule.yaml", object),
        Artifact::new(
            OF_INCIDENTS,
            format!("# {header}\n{PINT}{}", yaml::document("", &of_incidents(settings)?)),
        ),
        Artifact::new(CORE, format!("# {header}\n{PINT}{}", yaml::document("", &core(settings)?))),
        Artifact::new(ALONE, yaml::document(&header, &alone(&settings.declared.alone, settings)?)),
        Artifact::new(OF_LONGHORN_METRICS, of_longhorn_metrics(&header, settings)?),
    ];
    artifacts.extend(alertmanager::artifacts(settings));
    Ok(artifacts)
}

/// What a ruler of Mimir takes in a group by default (mimir 2.16 pkg/util/validation/limits.go ruler.max-rules-per-rule-group).
const MAX_RULES: usize = 20;

pub fn rule_file(settings: &Settings) -> Result<RuleFile> {
    let mut boards: BTreeMap<Dashboard, Vec<Vec<Entry>>> = BTreeMap::new();
    // settings, and the mixin's that stand open, do not move a rule to another group
    let (shipped, mut taken) = (Settings::of(settings.declared), BTreeMap::new());
    for area in settings.declared.areas() {
        // records also when the alerts that read them are switched off: panels draw them
        let records = area.records.iter().map(|record| recording(record, settings).map(Entry::Record));
        let mut entries: Vec<Entry> = records.chain(alerts(area, settings)).collect::<Result<_>>()?;
        // what is of one check stays together: alerts read records of their own group
        let (parts, taken) =
            (boards.entry(area.dashboard()).or_default(), taken.entry(area.dashboard()).or_insert(MAX_RULES));
        let most = area.records.len() + alerts(area, &shipped).count();
        *taken += most;
        match parts.last_mut().filter(|_| *taken <= MAX_RULES) {
            Some(last) => last.append(&mut entries),
            None => {
                *taken = most;
                parts.push(entries);
            }
        }
    }
    let groups = boards.into_iter().flat_map(|(board, parts)| {
        parts.into_iter().zip(1..).map(move |(rules, part)| {
            let name = format!("longhorn-health.{}", board.id());
            RuleGroup { name: if part == 1 { name } else { format!("{name}-{part}") }, rules }
        })
    });
    Ok(RuleFile { groups: groups.filter(|group| !group.rules.is_empty()).collect() })
}

/// The rules on Longhorn's own metrics, with a word on their groups.
pub fn of_longhorn_metrics(header: &str, settings: &Settings) -> Result<String> {
    let header = format!("{header}\n{FROM}");
    Ok(yaml::document(&header, &alone(&LONGHORN_METRICS, settings)?))
}

const FROM: &str = "Groups named `.from-vX.Y.Z` need metrics that Longhorn has from that release on. On older releases, they never fire.";

/// The file that has the alerts of a part.
pub fn of_area(area: &Check) -> &'static str {
    match area.id {
        ALONE_ID => ALONE,
        id if id == INCIDENTS.id => OF_INCIDENTS,
        id if id == LONGHORN_METRICS.id => OF_LONGHORN_METRICS,
        _ => DEFAULT,
    }
}

/// Whether an alert is in the file of incidents, too: those on the exporter itself, and volumes on their last copy, which need
/// not be part of an incident.
pub fn is_beside_incidents(area: &Check, alert: &str) -> bool {
    area.id == EXPORTER_ID && alert != INHIBITOR || alert == "LonghornVolumeLastCopy"
}

/// A group of incidents with what stands beside them.
pub fn of_incidents(settings: &Settings) -> Result<RuleFile> {
    let mut rules = alerts(&INCIDENTS, settings).collect::<Result<Vec<_>>>()?;
    for area in settings.declared.areas() {
        let beside = area.alerts.iter().filter(|alert| is_beside_incidents(area, alert.name));
        for alert in beside.flat_map(|alert| variants(alert, settings)) {
            rules.push(Entry::Alert(rule(area, &alert, settings)?));
        }
    }
    Ok(RuleFile { groups: vec![RuleGroup { name: format!("longhorn-health.{}", INCIDENTS.id), rules }] })
}

/// The core alerts in words that never change but for their labels, without links.
pub fn core(settings: &Settings) -> Result<RuleFile> {
    let enabled = settings.declared.core().filter(|(_, alert)| settings.alert(alert).enabled);
    let rules = enabled.map(|(area, alert)| {
        let mut rule = rule(area, alert, settings)?;
        let details = texts::details(area, alert);
        let description = rule.annotations.remove("description").unwrap_or_default();
        // the line with the command is left out here
        let description = description
            .trim_end_matches(&details)
            .replace("the command below", "longhorn-health-exporter check");
        let summary = alert.summary.to_owned();
        rule.annotations = BTreeMap::from([("summary", summary), ("description", description)]);
        Ok(Entry::Alert(rule))
    });
    let rules = rules.collect::<Result<Vec<_>>>()?;
    let group = RuleGroup { name: "longhorn-health.core".to_owned(), rules };
    Ok(RuleFile { groups: if group.rules.is_empty() { vec![] } else { vec![group] } })
}

/// The groups of a part that needs no exporter: alerts on series that Longhorn has from a release on are in a group that names it, so
/// that chart and mixin can leave it out.
pub fn alone(area: &Check, settings: &Settings) -> Result<RuleFile> {
    let mut groups: BTreeMap<_, Vec<Entry>> = BTreeMap::new();
    for alert in area.alerts.iter().flat_map(|alert| variants(alert, settings)) {
        let rule = rule(area, &alert, settings)?;
        groups.entry(longhorn_series::needs(&rule.expr)).or_default().push(Entry::Alert(rule));
    }
    let group = |(from, rules): (Option<Release>, _)| {
        let from = from.map(|release| format!(".from-{release}")).unwrap_or_default();
        RuleGroup { name: format!("longhorn-health.{}{from}", area.id), rules }
    };
    Ok(RuleFile { groups: groups.into_iter().map(group).collect() })
}

fn alerts(check: &Check, settings: &Settings) -> impl Iterator<Item = Result<Entry>> {
    let alerts = check.alerts.iter().flat_map(|alert| variants(alert, settings));
    alerts.map(|alert| rule(check, &alert, settings).map(Entry::Alert))
}

/// The rules of an alert: none if it is switched off, and one for each severity where that is its series' own. Each has a
/// severity that Alertmanager's routes and Grafana can see before it fires.
pub fn variants(alert: &Alert, settings: &Settings) -> Vec<Alert> {
    let set = settings.alert(alert);
    match (set.enabled, set.is_as_found) {
        (false, _) => vec![],
        (true, false) => vec![alert.clone()],
        (true, true) => by_severity(alert).into(),
    }
}

/// The rules of an alert for each severity of its series.
pub fn by_severity(alert: &Alert) -> [Alert; 2] {
    [Severity::Critical, Severity::Warning].map(|severity| alert.only(severity))
}

pub fn recording(record: &Record, settings: &Settings) -> Result<RecordingRule> {
    let expr = filled(record.name, record.expr, |name| common(name, settings))?;
    Ok(RecordingRule { record: record.name, expr })
}

/// The expression. A list that has the cluster label alone loses its comma.
fn filled(owner: &str, template: &str, value: impl Fn(&str) -> Option<String>) -> Result<String> {
    Ok(promql::fill(owner, template, |name, _| value(name))?.replace(",)", ")"))
}

fn common(name: &str, settings: &Settings) -> Option<String> {
    match name {
        "job" => Some(settings.matchers()),
        "without" => Some(WITHOUT.to_owned()),
        "namespace" => Some(settings.namespace.0.clone()),
        "cluster" => Some(settings.cluster_list()),
        "unless_exporter" => {
            Some(format!("unless on ({}) (up{{{}}} == 1)", *settings.cluster_label, settings.matchers()))
        }
        "clusters_without" => Some(clusters_without_exporter(settings)),
        // the first group of a label_replace
        "1" => Some("$1".to_owned()),
        _ => None,
    }
}

/// Clusters without an exporter that answers: those that are listed, else all of them together if there is none at all.
pub fn clusters_without_exporter(settings: &Settings) -> String {
    let (selector, label) = (settings.matchers(), settings.cluster_label.as_str());
    if settings.expected_clusters.is_empty() || label.is_empty() {
        return format!("or on () absent(up{{{selector}}} == 1)");
    }
    let absent = |cluster: &super::settings::ClusterName| {
        let cluster = cluster.as_str();
        // {:?} escapes as PromQL does
        format!(
            "or label_replace(absent(up{{{selector}, {label}={cluster:?}}} == 1), \"{label}\", {cluster:?}, \"\", \"\")"
        )
    };
    settings.expected_clusters.iter().map(absent).collect::<Vec<_>>().join(" ")
}

pub fn rule(area: &Check, alert: &Alert, settings: &Settings) -> Result<Rule> {
    let set = settings.alert(alert).thresholds;
    rule_with(area, alert, settings, &|threshold| Some(text(threshold, *set.get(threshold.name)?)))
}

/// A threshold's value as it stands in the expression.
pub fn text(threshold: &Threshold, value: f64) -> String {
    if threshold.is_range { range(value) } else { value.to_string() }
}

/// Seconds as a person writes them in a range: `7d`.
fn range(seconds: f64) -> String {
    let seconds = seconds as u64;
    let units = [(86_400, 'd'), (3_600, 'h'), (60, 'm')];
    let whole = units.into_iter().find(|(unit, _)| seconds > 0 && seconds.is_multiple_of(*unit));
    whole.map_or_else(|| format!("{seconds}s"), |(unit, letter)| format!("{}{letter}", seconds / unit))
}

/// The rule with something else in the place of each threshold.
pub fn rule_with(
    area: &Check,
    alert: &Alert,
    settings: &Settings,
    number: &dyn Fn(&Threshold) -> Option<String>,
) -> Result<Rule> {
    let set = settings.alert(alert);
    let threshold = |name: &str| number(alert.thresholds.iter().find(|threshold| threshold.name == name)?);
    let expr =
        filled(alert.name, &expr(area, alert), |name| common(name, settings).or_else(|| threshold(name)))?;
    // $labels, $value and $externalLabels are Prometheus' own and stay as they are
    let description = promql::fill(alert.name, alert.description, |name, _| match name {
        "labels" | "value" | "externalLabels" => Some(format!("${name}")),
        _ => threshold(name),
    })? + &texts::details(area, alert);
    let labels = settings.labels.iter().chain(&set.labels);
    let mut labels: BTreeMap<_, _> =
        labels.map(|(label, value)| (label.0.clone(), value.0.clone())).collect();
    // an empty label is none: so an alert goes without a global one
    labels.retain(|_, value| !value.is_empty());
    if area.id == ALONE_ID {
        // tells them from their namesakes, so that the exporter's absence does not mute them
        labels.insert("source".to_owned(), area.id.to_owned());
    }
    labels.insert("severity".to_owned(), set.severity_label().to_owned());
    let mut annotations =
        BTreeMap::from([("summary", texts::summary(area, alert, settings)), ("description", description)]);
    // that of an incident is its root's
    let page = if area.id == INCIDENTS.id { "{{ $labels.runbook }}" } else { alert.name };
    annotations.extend(settings.runbook(page).map(|url| ("runbook_url", url)));
    if let Some(base) = &settings.dashboard_base_url {
        let url = format!("{}/d/{}", base.trim_end_matches('/'), area.dashboard().uid());
        annotations.insert("dashboard_url", url);
    }
    let (for_, keep_firing_for) = (set.for_, set.keep_firing_for);
    Ok(Rule { alert: alert.name.to_owned(), expr, for_, keep_firing_for, labels, annotations })
}
