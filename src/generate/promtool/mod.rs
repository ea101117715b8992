//! promtool tests: every alert gets every kind of case, from its declaration and from what its
//! check writes in `alerts.test.yaml`.

pub mod cases;
pub mod exporter;
pub mod plan;
pub mod records;
pub mod template;

use std::collections::BTreeMap;

use serde::Serialize;

use self::cases::{Case, Maker};
use self::exporter::Exporter;
use self::plan::{Plan, Written};
use self::template::Labels;
use super::alertmanager::EXPORTER_DOWN;
use super::catalogue::{self, Area, KUBE_STATE_METRICS};
use super::settings::AlertSettings;
use super::{Artifact, GenerateError, Settings, Target, rules, yaml};
use crate::check::{Alert, When};
use crate::checks::manager_crash_loop;

/// Time between two evaluations in most cases.
const USUAL: &str = "60s";

/// Opens the line that names alerts without cases.
const NO_CASES: &str = "No cases";

#[derive(Serialize)]
struct TestFile<'a> {
    rule_files: [&'a str; 1],
    evaluation_interval: &'a str,
    tests: &'a [Case],
}

/// The test files: one for every part of the catalogue that has alerts, and one more for those of
/// its alerts that look at longer intervals.
pub fn artifacts(settings: &Settings) -> Result<Vec<Artifact>, GenerateError> {
    let mut artifacts = Vec::new();
    for area in catalogue::areas().chain([KUBE_STATE_METRICS]) {
        let mut by_interval: BTreeMap<String, Vec<Case>> = BTreeMap::new();
        for case in cases(&area, settings)? {
            by_interval.entry(case.interval.clone()).or_default().push(case);
        }
        let header = header(&area, settings)?;
        if by_interval.is_empty() && header.contains(NO_CASES) {
            // a file that says why it is empty is better than none
            by_interval.insert(USUAL.to_owned(), Vec::new());
        }
        for (interval, tests) in by_interval {
            let rule_files = [if area.id == KUBE_STATE_METRICS.id {
                "../longhorn-health-kube-state-metrics.rules.yaml"
            } else {
                "../longhorn-health.rules.yaml"
            }];
            let suffix = if interval == USUAL { String::new() } else { format!(".{interval}") };
            let file = TestFile { rule_files, evaluation_interval: &interval, tests: &tests };
            let path = format!("rules/tests/{}{suffix}.test.yaml", area.id);
            artifacts.push(Artifact { path, content: yaml::document(&header, &file) });
        }
    }
    if KUBE_STATE_METRICS
        .alerts
        .iter()
        .all(|alert| settings.alert(alert).enabled && !is_changed(alert, settings))
    {
        let cases = filled(manager_crash_loop::INCIDENT_CASES, settings);
        let content = format!("# {}\n{cases}", Target::Rules.header());
        artifacts.push(Artifact { path: "rules/tests/incident.test.yaml".to_owned(), content });
    }
    Ok(artifacts)
}

/// The cases of the recording rules and of the enabled alerts of one part.
pub fn cases(area: &Area, settings: &Settings) -> Result<Vec<Case>, GenerateError> {
    let down = down(settings)?;
    let mut cases = records::cases(area, settings)?;
    for alert in area.alerts.iter().filter(|alert| settings.alert(alert).enabled) {
        let failed = |reason| GenerateError::Case { owner: alert.name.to_owned(), reason };
        let written = written(alert, settings)?;
        if has_no_cases(alert, &written, settings) {
            continue;
        }
        // the tests of the rules say which alert has no cases
        let Some(plan) = plan(area, alert, &written, settings)? else { continue };
        let is_other = |down: &&Plan| area.id != KUBE_STATE_METRICS.id && down.rule.alert != alert.name;
        let down = down.as_ref().filter(is_other);
        let plan = if is_changed(alert, settings) { plan.without_written_cases() } else { plan };
        let maker = Maker::new(&plan, down, &settings.cluster_label).map_err(failed)?;
        cases.extend(maker.cases().map_err(failed)?);
    }
    Ok(cases)
}

fn plan(
    area: &Area,
    alert: &Alert,
    written: &Written,
    settings: &Settings,
) -> Result<Option<Plan>, GenerateError> {
    let rule = rules::rule(area, alert, settings)?;
    let failed = |reason| GenerateError::Case { owner: alert.name.to_owned(), reason };
    Plan::new(area, alert, rule, written, Exporter::of(settings)).map_err(failed)
}

/// Nothing can be derived for an alert whose configuration changes the numbers that a person wrote
/// series for: a threshold, or a wait during which they grow.
fn has_no_cases(alert: &Alert, written: &Written, settings: &Settings) -> bool {
    let thresholds = settings.alert(alert).thresholds != AlertSettings::of(alert).thresholds;
    !written.bad.is_empty() && (thresholds || (is_changed(alert, settings) && written.grows_with_time()))
}

/// Does the configuration change what written cases count with?
fn is_changed(alert: &Alert, settings: &Settings) -> bool {
    let (set, declared) = (settings.alert(alert), AlertSettings::of(alert));
    (set.hold, set.keep_firing_for, set.thresholds)
        != (declared.hold, declared.keep_firing_for, declared.thresholds)
}

/// Says which alerts of an area have no cases because of the configuration.
fn header(area: &Area, settings: &Settings) -> Result<String, GenerateError> {
    let mut names = Vec::new();
    for alert in area.alerts.iter().filter(|alert| settings.alert(alert).enabled) {
        if has_no_cases(alert, &written(alert, settings)?, settings) {
            names.push(alert.name);
        }
    }
    let header = Target::Rules.header();
    Ok(match names.as_slice() {
        [] => header,
        names => format!(
            "{header}\n{NO_CASES}, because they count with the numbers that the configuration changes: {}.",
            names.join(", ")
        ),
    })
}

/// What a person wrote about the cases of an alert.
fn written(alert: &Alert, settings: &Settings) -> Result<Written, GenerateError> {
    let failed = |reason| GenerateError::Case { owner: format!("{}.test.yaml", alert.name), reason };
    match alert.when {
        When::Promql { cases, .. } if !cases.is_empty() => {
            serde_yaml::from_str(&filled(cases, settings)).map_err(|error| failed(error.to_string()))
        }
        _ => Ok(Written::default()),
    }
}

/// A written text with the labels of this configuration.
fn filled(text: &str, settings: &Settings) -> String {
    let exporter = Exporter::of(settings);
    let other = exporter.elsewhere();
    let list = |labels: &Labels| {
        labels.iter().map(|(label, value)| format!("{label}={value:?}")).collect::<Vec<_>>().join(",")
    };
    text.replace("$target", &list(&exporter.labels))
        .replace("$other", &list(&other))
        .replace("$cluster_label", &settings.cluster_label)
        .replace("$namespace", &settings.namespace)
}

/// What fires when the exporter is gone; nothing where that is switched off.
fn down(settings: &Settings) -> Result<Option<Plan>, GenerateError> {
    let of =
        |area: Area| area.alerts.iter().find(|alert| alert.name == EXPORTER_DOWN).map(|alert| (area, alert));
    match catalogue::areas().find_map(of).filter(|(_, alert)| settings.alert(alert).enabled) {
        Some((area, alert)) => plan(&area, alert, &written(alert, settings)?, settings),
        None => Ok(None),
    }
}
