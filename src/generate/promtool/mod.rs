//! promtool tests: every alert gets every kind of case, from its declaration and from what its
//! check writes in `alerts.test.yaml`.

pub mod cases;
pub mod plan;
pub mod template;

use std::collections::BTreeMap;

use serde::Serialize;

use self::cases::{Case, Maker};
use self::plan::{Plan, Written};
use super::alertmanager::EXPORTER_DOWN;
use super::catalogue::{self, Area, KUBE_STATE_METRICS};
use super::{Artifact, GenerateError, Settings, Target, rules, yaml};
use crate::check::Alert;
use crate::checks::manager_crash_loop;

/// Time between two evaluations in most cases.
const USUAL: &str = "60s";

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
        for (interval, tests) in by_interval {
            let rule_files = [if area.id == KUBE_STATE_METRICS.id {
                "../longhorn-health-kube-state-metrics.rules.yaml"
            } else {
                "../longhorn-health.rules.yaml"
            }];
            let suffix = if interval == USUAL { String::new() } else { format!(".{interval}") };
            let file = TestFile { rule_files, evaluation_interval: &interval, tests: &tests };
            let path = format!("rules/tests/{}{suffix}.test.yaml", area.id);
            artifacts.push(Artifact { path, content: yaml::document(&Target::Rules.header(), &file) });
        }
    }
    artifacts.push(Artifact {
        path: "rules/tests/incident.test.yaml".to_owned(),
        content: format!("# {}\n{}", Target::Rules.header(), manager_crash_loop::INCIDENT_CASES),
    });
    Ok(artifacts)
}

/// The cases of the enabled alerts of one part.
pub fn cases(area: &Area, settings: &Settings) -> Result<Vec<Case>, GenerateError> {
    let written = written(area)?;
    let down = down(settings)?;
    let mut cases = Vec::new();
    for alert in area.alerts.iter().filter(|alert| settings.alert(alert).enabled) {
        let failed = |reason| GenerateError::Case { owner: alert.name.to_owned(), reason };
        // the tests of the rules say which alert has no cases
        let Some(plan) = plan(area, alert, &written, settings)? else { continue };
        let is_other = |down: &&Plan| area.id != KUBE_STATE_METRICS.id && down.rule.alert != alert.name;
        let down = down.as_ref().filter(is_other);
        let maker = Maker::new(&plan, down, &settings.cluster_label).map_err(failed)?;
        cases.extend(maker.cases().map_err(failed)?);
    }
    Ok(cases)
}

fn plan(
    area: &Area,
    alert: &Alert,
    written: &BTreeMap<String, Written>,
    settings: &Settings,
) -> Result<Option<Plan>, GenerateError> {
    let rule = rules::rule(area, alert, settings)?;
    let default = Written::default();
    let written = written.get(alert.name).unwrap_or(&default);
    let failed = |reason| GenerateError::Case { owner: alert.name.to_owned(), reason };
    Plan::new(area, alert, rule, written).map_err(failed)
}

fn written(area: &Area) -> Result<BTreeMap<String, Written>, GenerateError> {
    let failed = |reason| GenerateError::Case { owner: format!("{}/alerts.test.yaml", area.id), reason };
    let written: BTreeMap<String, Written> = match area.cases {
        "" => BTreeMap::new(),
        cases => serde_yaml::from_str(cases).map_err(|error| failed(error.to_string()))?,
    };
    match written.keys().find(|name| !area.alerts.iter().any(|alert| alert.name == **name)) {
        Some(name) => Err(failed(format!("{name} is no alert of this check"))),
        None => Ok(written),
    }
}

/// What fires when the exporter is gone.
fn down(settings: &Settings) -> Result<Option<Plan>, GenerateError> {
    let of =
        |area: Area| area.alerts.iter().find(|alert| alert.name == EXPORTER_DOWN).map(|alert| (area, alert));
    match catalogue::areas().find_map(of) {
        Some((area, alert)) => plan(&area, alert, &written(&area)?, settings),
        None => Ok(None),
    }
}
