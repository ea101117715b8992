//! promtool tests, made from what the alerts declare: for most from their [`Shape`], for the few with
//! a literal expression from what stands beside them as `<name of the alert>.test.yaml`.
//!
//! The cases ask for `ALERTS`, which has the labels of an alert and not its texts: those are
//! templates, and promtool itself says in the tests of the rules what becomes of them.

mod shaped;
mod written;

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use jiff::{Span, SpanRelativeTo, Unit};
use serde::{Deserialize, Serialize};

use super::alertmanager::EXPORTER_DOWN;
use super::rules::{self, Rule};
use super::settings::AlertSettings;
use super::shape::Shape;
use super::{Artifact, Settings, Target, yaml};
use crate::check::{Alert, Check, When};

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
    /// Without any series it is silent, or fires if that is what it is about.
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
    pub interval: String,
    pub input_series: Vec<Input>,
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
pub fn artifacts(settings: &Settings) -> Result<Vec<Artifact>> {
    let mut artifacts = Vec::new();
    for area in settings.declared.areas_and_beside() {
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
            artifacts.push(test_file(rules::of_area(area), area.id, &header, &interval, &tests));
        }
    }
    let mut of_core: BTreeMap<String, Vec<TestCase>> = BTreeMap::new();
    let mut shared: BTreeMap<String, Vec<TestCase>> = BTreeMap::new();
    for area in settings.declared.areas() {
        for case in cases(area, settings)? {
            let is_core = settings.declared.core().any(|(_, alert)| alert.name == case.subject);
            if is_core {
                of_core.entry(case.interval.clone()).or_default().push(case.clone());
            }
            if rules::is_beside_incidents(area, &case.subject) {
                shared.entry(case.interval.clone()).or_default().push(case);
            }
        }
    }
    for (rule_file, name, by_interval) in
        [(rules::CORE, "core", of_core), (rules::OF_INCIDENTS, "beside-incidents", shared)]
    {
        for (interval, tests) in by_interval {
            artifacts.push(test_file(rule_file, name, &Target::Rules.header(), &interval, &tests));
        }
    }
    let alone = &settings.declared.alone;
    if alone.alerts.iter().all(|alert| settings.alert(alert) == AlertSettings::of(alert)) {
        let cases = written::filled(alone.incident, settings);
        let content = format!("# {}\n{cases}", Target::Rules.header());
        artifacts.push(Artifact::new("rules/tests/incident.test.yaml", content));
    }
    Ok(artifacts)
}

fn test_file(rule_file: &str, name: &str, header: &str, interval: &str, tests: &[TestCase]) -> Artifact {
    let rule_file = rule_file.replace("rules/", "../");
    let suffix = if interval == ticks_of(USUAL) { String::new() } else { format!(".{interval}") };
    let file = TestFile { rule_files: [&rule_file], evaluation_interval: interval, tests };
    Artifact::new(format!("rules/tests/{name}{suffix}.test.yaml"), yaml::document(header, &file))
}

pub fn cases(area: &Check, settings: &Settings) -> Result<Vec<TestCase>> {
    let mut cases = Vec::new();
    for alert in area.alerts.iter().flat_map(|alert| rules::variants(alert, settings)) {
        let writer = CaseWriter::new(area, &alert, settings)?;
        match (Shape::of(area, &alert), &alert.when) {
            (Some(shape), _) => cases.extend(writer.shaped(area, &shape)),
            (None, When::Promql { cases: text, .. }) if !has_no_cases(&alert, settings) => {
                cases.extend(writer.written(&alert, text, settings).context(alert.name)?);
            }
            _ => continue,
        }
        cases.extend((alert.name != EXPORTER_DOWN).then(|| writer.missing()));
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

pub type Labels = BTreeMap<String, String>;

struct CaseWriter {
    rule: Rule,
    exporter: Exporter,
    /// Seconds between two evaluations.
    tick: u64,
    /// `for` and `keep_firing_for` in ticks.
    for_: u64,
    keep: u64,
}

impl CaseWriter {
    fn new(area: &Check, alert: &Alert, settings: &Settings) -> Result<Self> {
        let rule = rules::rule(area, alert, settings)?;
        let (for_, keep) = (seconds(&rule.for_)?, seconds(&rule.keep_firing_for)?);
        // a tick that divides both, so that "one tick before" is exact; half of a short wait
        let tick = match for_ {
            1..120 => for_ / 2,
            _ if for_ < SLOW => USUAL,
            _ => 10 * USUAL,
        };
        let tick = if matches!(alert.when, When::Promql { .. }) { USUAL } else { gcd(gcd(tick, for_), keep) };
        let (for_, keep) = (for_.div_ceil(tick), keep.div_ceil(tick));
        Ok(CaseWriter { rule, exporter: Exporter::of(settings), tick, for_, keep })
    }

    /// The exporter is down; that its own alert fires then is a case of that one.
    fn missing(&self) -> TestCase {
        let moment = self.for_ + 1;
        let up = self.input("up", &self.exporter.pod("a"), &format!("0x{moment}"));
        self.case(CaseKind::Missing, "silent without its series", vec![up], vec![self.silent(moment)])
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

/// The exporter as Prometheus sees it.
#[derive(Debug, Default)]
pub struct Exporter {
    pub labels: Labels,
    /// Labels of a target that the selector does not take, as far as they differ.
    pub other: Labels,
}

impl Exporter {
    /// The target that the configured selector takes.
    pub fn of(settings: &Settings) -> Exporter {
        let usual = [("job", "longhorn-health-exporter"), ("namespace", "longhorn-system")];
        let labels = usual.map(|(label, value)| (label.to_owned(), value.to_owned())).into();
        let mut exporter = Exporter { labels, other: Labels::new() };
        for (label, value) in settings.selected() {
            let usual = exporter.labels.insert(label.to_owned(), value.to_owned());
            let another = if value == "another" { "one-more" } else { "another" };
            let other = usual.filter(|usual| usual != value).unwrap_or(another.to_owned());
            exporter.other.insert(label.to_owned(), other);
        }
        exporter
    }

    /// All labels of a target that is not the exporter.
    pub fn elsewhere(&self) -> Labels {
        self.labels.clone().into_iter().chain(self.other.clone()).collect()
    }

    /// The labels of one of its pods, as a ServiceMonitor sets them.
    pub fn pod(&self, pod: &str) -> Labels {
        let own = [
            ("pod", format!("longhorn-health-exporter-{pod}")),
            ("instance", format!("{pod}:10666")),
            ("container", format!("exporter-{pod}")),
            ("endpoint", format!("http-{pod}")),
            ("service", format!("longhorn-health-exporter-{pod}")),
        ];
        own.into_iter().fold(self.labels.clone(), |labels, (label, value)| with(&labels, label, &value))
    }
}

/// The labels with one more, or another value of it.
pub fn with(labels: &Labels, label: &str, value: &str) -> Labels {
    let mut labels = labels.clone();
    labels.insert(label.to_owned(), value.to_owned());
    labels
}

fn ticks_of(seconds: u64) -> String {
    format!("{seconds}s")
}

fn braced(labels: &Labels) -> String {
    let labels: Vec<String> = labels.iter().map(|(label, value)| format!("{label}={value:?}")).collect();
    format!("{{{}}}", labels.join(","))
}

/// Reads a Prometheus duration; empty is zero.
pub fn seconds(duration: &str) -> Result<u64> {
    let span: Span = if duration.is_empty() { Span::new() } else { duration.parse()? };
    Ok(span.total((Unit::Second, SpanRelativeTo::days_are_24_hours()))? as u64)
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
