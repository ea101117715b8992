//! promtool tests, made from what the alerts declare: for most from their [`Shape`], for the few with
//! a literal expression from what stands beside them as `<name of the alert>.test.yaml`.
//!
//! The cases ask for `ALERTS`, which has the labels of an alert and not its texts: those are
//! templates, and promtool itself says in the tests of the rules what becomes of them.

pub mod exporter;
mod shaped;
mod written;

use std::collections::BTreeMap;

use jiff::{Span, SpanRelativeTo, Unit};
use serde::{Deserialize, Serialize};

use self::exporter::{Exporter, Labels};
use super::alertmanager::EXPORTER_DOWN;
use super::catalogue::{self, KUBE_STATE_METRICS};
use super::rules::{self, Rule};
use super::settings::AlertSettings;
use super::shape::Shape;
use super::{Artifact, GenerateError, Settings, Target, yaml};
use crate::check::{Alert, Check, When};
use crate::checks::manager_crash_loop;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CaseKind {
    /// It fires after `for`, not before, and ends.
    Fires,
    /// In health, and in trouble that belongs to other alerts.
    Silent,
    /// On the threshold itself.
    Boundary,
    /// Two pods of the exporter give one alert, and a new pod does not restart `for`.
    TwoPods,
    /// Without any series it is silent, and the exporter's own alert fires.
    Missing,
}

/// A test in promtool's form, with what it is for.
#[derive(Debug, Clone, Serialize)]
pub struct TestCase {
    #[serde(skip)]
    pub subject: String,
    #[serde(skip)]
    pub kind: CaseKind,
    name: String,
    /// Length of a tick.
    pub interval: String,
    pub input_series: Vec<Input>,
    /// Which alerts fire, and when.
    pub promql_expr_test: Vec<Question>,
}

/// A series with its values in promtool's notation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Input {
    series: String,
    values: String,
}

#[derive(Debug, Clone, Serialize)]
pub struct Question {
    expr: String,
    /// When it is asked, such as `300s`.
    pub eval_time: String,
    /// The answer; none is an alert that does not fire.
    pub exp_samples: Vec<ExpectedSample>,
}

#[derive(Debug, Clone, Serialize)]
pub struct ExpectedSample {
    labels: String,
    value: f64,
}

#[derive(Serialize)]
struct TestFile<'a> {
    rule_files: [&'a str; 1],
    evaluation_interval: &'a str,
    tests: &'a [TestCase],
}

/// Length of a tick in most cases.
const USUAL: u64 = 60;
/// Seconds of `for` from which ticks are longer, so that promtool does not take minutes.
const SLOW: u64 = 3 * 3_600;

/// The test files: one for every area that has alerts, and one more for those of its alerts that look
/// at other intervals.
pub fn artifacts(settings: &Settings) -> Result<Vec<Artifact>, GenerateError> {
    let mut artifacts = Vec::new();
    for area in catalogue::areas().chain([&KUBE_STATE_METRICS]) {
        let mut by_interval: BTreeMap<String, Vec<TestCase>> = BTreeMap::new();
        for case in cases(area, settings)? {
            by_interval.entry(case.interval.clone()).or_default().push(case);
        }
        let without = area.alerts.iter().filter(|alert| has_no_cases(alert, settings));
        let without: Vec<_> = without.map(|alert| alert.name).collect();
        let mut header = Target::Rules.header();
        if !without.is_empty() {
            // a file that says why it is empty is better than none
            by_interval.entry(ticks_of(USUAL)).or_default();
            header += "\nNo cases, because they count with the numbers that the configuration changes: ";
            header += &(without.join(", ") + ".");
        }
        for (interval, tests) in by_interval {
            let rule_file = if area.id == KUBE_STATE_METRICS.id { rules::ALONE } else { rules::PLAIN };
            let rule_file = rule_file.replace("rules/", "../");
            let suffix = if interval == ticks_of(USUAL) { String::new() } else { format!(".{interval}") };
            let file = TestFile { rule_files: [&rule_file], evaluation_interval: &interval, tests: &tests };
            let path = format!("rules/tests/{}{suffix}.test.yaml", area.id);
            artifacts.push(Artifact::new(path, yaml::document(&header, &file)));
        }
    }
    if KUBE_STATE_METRICS.alerts.iter().all(|alert| settings.alert(alert) == AlertSettings::of(alert)) {
        let cases = written::filled(manager_crash_loop::INCIDENT_CASES, settings);
        let content = format!("# {}\n{cases}", Target::Rules.header());
        artifacts.push(Artifact::new("rules/tests/incident.test.yaml", content));
    }
    Ok(artifacts)
}

/// The cases of the enabled alerts of one area.
pub fn cases(area: &Check, settings: &Settings) -> Result<Vec<TestCase>, GenerateError> {
    let mut cases = Vec::new();
    for alert in area.alerts.iter().filter(|alert| settings.alert(alert).enabled) {
        let failed = |reason| GenerateError { owner: alert.name.to_owned(), reason };
        let maker = Maker::new(area, alert, settings)?;
        match (Shape::of(area, alert), &alert.when) {
            (Some(shape), _) => cases.extend(maker.shaped(area, &shape)),
            (None, When::Promql { cases: text, .. }) if !has_no_cases(alert, settings) => {
                cases.extend(maker.written(alert, text, settings).map_err(failed)?);
            }
            _ => continue,
        }
        cases.extend(maker.missing(settings)?);
    }
    Ok(cases)
}

/// Series that a person wrote count with the declared thresholds.
fn has_no_cases(alert: &Alert, settings: &Settings) -> bool {
    let set = settings.alert(alert);
    if alert.name == EXPORTER_DOWN && !settings.expected_clusters.is_empty() {
        return set.enabled;
    }
    set.enabled && set.thresholds != AlertSettings::of(alert).thresholds
}

struct Maker {
    rule: Rule,
    exporter: Exporter,
    /// Stands on kube-state-metrics, not on the exporter.
    is_alone: bool,
    /// Seconds between two evaluations.
    tick: u64,
    /// `for` and `keep_firing_for` in ticks.
    hold: u64,
    keep: u64,
}

impl Maker {
    fn new(area: &Check, alert: &Alert, settings: &Settings) -> Result<Self, GenerateError> {
        let rule = rules::rule(area, alert, settings)?;
        let failed = |reason| GenerateError { owner: alert.name.to_owned(), reason };
        let (hold, keep) = (seconds(&rule.hold), seconds(&rule.keep_firing_for));
        let (hold, keep) = (hold.map_err(failed)?, keep.map_err(failed)?);
        // a tick that divides both, so that "one tick before" is exact; half of a short wait
        let tick = match hold {
            1..120 => hold / 2,
            _ if hold < SLOW => USUAL,
            _ => 10 * USUAL,
        };
        let tick = if matches!(alert.when, When::Promql { .. }) { USUAL } else { gcd(gcd(tick, hold), keep) };
        let (hold, keep) = (hold.div_ceil(tick), keep.div_ceil(tick));
        let (exporter, is_alone) = (Exporter::of(settings), area.id == KUBE_STATE_METRICS.id);
        Ok(Maker { rule, exporter, is_alone, tick, hold, keep })
    }

    /// The exporter is down, and what stands on it says nothing.
    fn missing(&self, settings: &Settings) -> Result<Option<TestCase>, GenerateError> {
        if self.rule.alert == EXPORTER_DOWN {
            return Ok(None);
        }
        let mut moment = self.hold + 1;
        let mut questions = Vec::new();
        let is_down =
            |alert: &&Alert| !self.is_alone && alert.name == EXPORTER_DOWN && settings.alert(alert).enabled;
        let mut areas = catalogue::areas();
        if let Some((area, alert)) = areas.find_map(|area| Some((area, area.alerts.iter().find(is_down)?))) {
            let down = Maker { tick: self.tick, ..Maker::new(area, alert, settings)? };
            let hold = seconds(&down.rule.hold).unwrap_or_default();
            moment = moment.max(hold.div_ceil(self.tick));
            questions.push(down.firing(moment, &[Labels::new()]));
        }
        questions.insert(0, self.silent(moment));
        let up = self.input("up", &self.exporter.pod("a"), &format!("0x{moment}"));
        let name = "silent without its series, and the exporter's own alert fires";
        Ok(Some(self.case(CaseKind::Missing, name, vec![up], questions)))
    }

    fn case(&self, kind: CaseKind, name: &str, inputs: Vec<Input>, questions: Vec<Question>) -> TestCase {
        let subject = self.rule.alert.clone();
        let (name, interval) = (format!("{subject}: {name}"), ticks_of(self.tick));
        TestCase { subject, kind, name, interval, input_series: inputs, promql_expr_test: questions }
    }

    fn input(&self, family: &str, labels: &Labels, values: &str) -> Input {
        Input { series: format!("{family}{}", braced(labels)), values: values.to_owned() }
    }

    fn silent(&self, tick: u64) -> Question {
        self.firing(tick, &[])
    }

    /// At this tick exactly these alerts fire; the labels are those beside the rule's own.
    fn firing(&self, tick: u64, alerts: &[Labels]) -> Question {
        let asked = [("alertname", self.rule.alert.as_str()), ("alertstate", "firing")];
        let asked: Labels = asked.map(|(label, value)| (label.to_owned(), value.to_owned())).into();
        let sample = |own: &Labels| {
            let labels = own.iter().chain(&self.rule.labels).chain(&asked);
            let labels = labels.map(|(label, value)| (label.clone(), value.clone())).collect();
            ExpectedSample { labels: format!("ALERTS{}", braced(&labels)), value: 1.0 }
        };
        Question {
            expr: format!("ALERTS{}", braced(&asked)),
            eval_time: ticks_of(tick * self.tick),
            exp_samples: alerts.iter().map(sample).collect(),
        }
    }
}

fn ticks_of(seconds: u64) -> String {
    format!("{seconds}s")
}

/// Labels as promtool reads them.
fn braced(labels: &Labels) -> String {
    let labels: Vec<String> = labels.iter().map(|(label, value)| format!("{label}={value:?}")).collect();
    format!("{{{}}}", labels.join(","))
}

/// Reads a Prometheus duration; empty is zero.
pub fn seconds(duration: &str) -> Result<u64, String> {
    let span: Span = if duration.is_empty() { Ok(Span::new()) } else { duration.parse() }
        .map_err(|error: jiff::Error| error.to_string())?;
    let total = span.total((Unit::Second, SpanRelativeTo::days_are_24_hours()));
    total.map(|seconds| seconds as u64).map_err(|error| error.to_string())
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
