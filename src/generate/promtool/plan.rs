//! What an alert looks like in trouble and in health: the few facts from which all its cases are
//! made. They come from the declaration where that is plain, else from `alerts.test.yaml`.

use serde::Deserialize;

use super::exporter::Exporter;
use super::template::Labels;
use crate::check::{Alert, Gauge};
use crate::generate::catalogue::{self, Area};
use crate::generate::promql::{self, Kind, Selector};
use crate::generate::rules::Rule;

/// The cases of one alert as a person writes them, in `alerts.test.yaml` of the check. Everything
/// is optional: what is left out is derived from the declaration.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Written {
    /// Series in trouble: a selector without the target's labels, a space, and `value`,
    /// `start+step` (a minute), or `now` for the Unix time at which the trouble starts.
    pub bad: Vec<String>,
    /// The same series in health; left out: they are absent then.
    pub good: Vec<String>,
    /// Series with the value at which the alert is on the edge; also in promtool's notation.
    pub edge: Vec<String>,
    /// Does the alert fire on the edge?
    pub edge_fires: bool,
    /// Series that resemble trouble and are none, one case each.
    pub neighbours: Vec<String>,
    /// The alert's own labels, without `severity`, the configured ones, the cluster and those of the
    /// target, which `without` keeps.
    pub labels: Option<Labels>,
    /// Labels that may be empty.
    pub optional: Vec<String>,
    /// `$value` when it starts to fire.
    pub value: Option<f64>,
    /// What each minute adds to `$value`; left out: the step of the first series.
    pub grows: Option<f64>,
    /// `$value` at that moment when the pod of the exporter was replaced halfway.
    pub replaced_value: Option<f64>,
    /// `$value` on the edge, if it fires there.
    pub edge_value: Option<f64>,
    /// From the first bad sample until the expression holds, such as `10m`.
    pub after: String,
    /// From the last bad sample until it holds no more.
    pub recovers: String,
    /// The alert is about absence: `bad` is what is left then, and two clusters cannot be told apart.
    pub absence: bool,
    /// Cases in full, for what the variations do not cover.
    pub cases: Vec<WrittenCase>,
}

/// A case in promtool's own notation.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WrittenCase {
    /// What it shows.
    pub name: String,
    /// Selector with all labels, a space, and promtool's notation of values, one a minute. `$target`
    /// stands for the labels of the exporter's target, `$other` for those of another target,
    /// `$cluster_label` and `$namespace` for what the configuration says.
    pub series: Vec<String>,
    /// Moments at which the alert fires, as `12m`.
    #[serde(default)]
    pub fires_at: Vec<String>,
    /// Moments at which it does not.
    #[serde(default)]
    pub silent_at: Vec<String>,
    /// Labels as in [`Written::labels`]; left out: as there.
    pub labels: Option<Labels>,
    /// Labels of further alerts that fire at the same moments.
    #[serde(default)]
    pub also: Vec<Labels>,
    /// It needs a label that tells clusters apart.
    #[serde(default)]
    pub clusters: bool,
    /// `$value`; left out: as in [`Written::value`].
    pub value: Option<f64>,
}

/// A series without the labels of its target, in one state.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Name of the metric.
    pub metric: String,
    /// Own labels.
    pub labels: Labels,
    /// First value.
    pub start: f64,
    /// What each minute adds.
    pub step: f64,
    /// The value is the moment at which the trouble starts, in seconds.
    pub now: bool,
    /// Values in promtool's notation instead, one a minute, from the very beginning.
    pub values: Option<String>,
}

/// All that is known about an alert, complete.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Its rule.
    pub rule: Rule,
    /// The target whose series it reads.
    pub exporter: Exporter,
    /// Series in trouble.
    pub bad: Vec<Series>,
    /// The same series in health; empty: they are absent.
    pub good: Vec<Series>,
    /// Series on the edge, and whether the alert fires there.
    pub edge: Vec<Series>,
    /// Does it?
    pub edge_fires: bool,
    /// Series of which each must stay silent.
    pub neighbours: Vec<Series>,
    /// Sets of series of which each must fire, with the alert's labels.
    pub siblings: Vec<(Series, Labels)>,
    /// The alert's labels without the cluster.
    pub labels: Labels,
    /// Labels that may be empty.
    pub optional: Vec<String>,
    /// `$value` when it starts to fire.
    pub value: f64,
    /// What each minute adds to it.
    pub grows: f64,
    /// The same when the pod of the exporter was replaced.
    pub replaced_value: Option<f64>,
    /// The same on the edge.
    pub edge_value: Option<f64>,
    /// Seconds from the first bad sample until the expression holds.
    pub after: u64,
    /// Seconds from the last bad sample until it does not.
    pub recovers: u64,
    /// The alert is about absence.
    pub absence: bool,
    /// The severity of a finding is no part of the alert.
    pub any_severity: bool,
    /// Cases in full.
    pub cases: Vec<WrittenCase>,
}

impl Written {
    /// Its series say other things the longer one waits.
    pub fn grows_with_time(&self) -> bool {
        let series = self.bad.iter().chain(&self.good).chain(&self.edge);
        let values = series.map(|line| line.rsplit_once(' ').map_or(line.as_str(), |(_, value)| value));
        values.into_iter().any(|value| value.parse::<f64>().is_err())
    }
}

impl Plan {
    /// The plan with what is derived alone: cases in full count with the numbers as declared.
    pub fn without_written_cases(self) -> Plan {
        Plan { cases: Vec::new(), ..self }
    }

    /// The plan of an alert; none if its expression is not plain and nothing is written about it.
    pub fn new(
        area: &Area,
        alert: &Alert,
        rule: Rule,
        written: &Written,
        exporter: Exporter,
    ) -> Result<Option<Plan>, String> {
        let mut plan = match Plain::of(&rule.expr, &exporter) {
            Some(plain) => plain.plan(area, alert, rule)?,
            None if written.bad.is_empty() => return Ok(None),
            None => Plan::empty(rule, exporter),
        };
        plan.overlay(written)?;
        Ok(Some(plan))
    }

    fn empty(rule: Rule, exporter: Exporter) -> Plan {
        Plan {
            rule,
            exporter,
            bad: Vec::new(),
            good: Vec::new(),
            edge: Vec::new(),
            edge_fires: false,
            neighbours: Vec::new(),
            siblings: Vec::new(),
            labels: Labels::new(),
            optional: Vec::new(),
            value: 1.0,
            grows: 0.0,
            replaced_value: None,
            edge_value: None,
            after: 0,
            recovers: 0,
            absence: false,
            any_severity: false,
            cases: Vec::new(),
        }
    }

    fn overlay(&mut self, written: &Written) -> Result<(), String> {
        let read =
            |lines: &[String]| lines.iter().map(|line| Series::parse(line)).collect::<Result<Vec<_>, _>>();
        if !written.bad.is_empty() {
            self.bad = read(&written.bad)?;
            self.good.clear();
            self.siblings.clear();
            self.neighbours.clear();
        }
        for (lines, series) in [(&written.good, &mut self.good), (&written.edge, &mut self.edge)] {
            if !lines.is_empty() {
                *series = read(lines)?;
            }
        }
        if !written.edge.is_empty() {
            self.edge_fires = written.edge_fires;
        }
        self.neighbours.extend(read(&written.neighbours)?);
        if let Some(labels) = &written.labels {
            self.labels = self.with_target(labels);
        }
        self.optional.extend(written.optional.iter().cloned());
        self.value = written.value.unwrap_or(self.value);
        self.grows = written.grows.unwrap_or_else(|| self.bad.first().map_or(0.0, |series| series.step));
        self.replaced_value = written.replaced_value;
        self.edge_value = written.edge_value;
        self.after = seconds(&written.after)?;
        self.recovers = seconds(&written.recovers)?;
        self.absence = written.absence;
        self.cases = written.cases.clone();
        Ok(())
    }

    /// The alert's labels from its own.
    pub fn with_target(&self, own: &Labels) -> Labels {
        let expr = &self.rule.expr;
        let keeps_target = expr.contains("without (") || !catalogue::records_in(expr).is_empty();
        let target = self.exporter.labels.iter().filter(|_| keeps_target);
        target.chain(own).map(|(label, value)| (label.clone(), value.clone())).collect()
    }
}

impl Series {
    /// Reads `metric{label="value"} 1`, `metric{…} 0+1`, `metric{…} now`, or values in promtool's notation.
    pub fn parse(line: &str) -> Result<Series, String> {
        let wrong = || format!("not a series with a value: {line}");
        let end =
            line.rfind('}').map_or_else(|| line.find(' '), |brace| Some(brace + 1)).ok_or_else(wrong)?;
        let (selector, value) = (&line[..end], line[end..].trim());
        let Selector { metric, matchers } =
            promql::selectors(selector).into_iter().next().ok_or_else(wrong)?;
        let (start, step) = value.split_once('+').unwrap_or((value, "0"));
        let labels = matchers.into_iter().map(|(label, _, value)| (label, value)).collect();
        if value.contains(['x', '_']) {
            return Ok(Series {
                metric,
                labels,
                start: 0.0,
                step: 0.0,
                now: false,
                values: Some(value.to_owned()),
            });
        }
        if value == "now" {
            return Ok(Series { metric, labels, start: 0.0, step: 0.0, now: true, values: None });
        }
        let number = |text: &str| text.parse::<f64>().map_err(|_| wrong());
        Ok(Series { metric, labels, start: number(start)?, step: number(step)?, now: false, values: None })
    }

    /// The series with another value of a label.
    pub fn with(&self, label: &str, value: &str) -> Series {
        let mut other = self.clone();
        other.labels.insert(label.to_owned(), value.to_owned());
        other
    }

    fn at(&self, value: f64) -> Series {
        Series { start: value, ..self.clone() }
    }
}

/// Reads a Prometheus duration; empty is zero.
pub fn seconds(duration: &str) -> Result<u64, String> {
    let wrong = || format!("not a duration: {duration}");
    let mut total = 0;
    let mut rest = duration;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
        let (number, after) = rest.split_at(digits);
        let unit = after.find(|c: char| c.is_ascii_digit()).unwrap_or(after.len());
        let (unit, after) = after.split_at(unit);
        let factor = match unit {
            "s" => 1,
            "m" => 60,
            "h" => 3_600,
            "d" => 86_400,
            "w" => 604_800,
            _ => return Err(wrong()),
        };
        total += number.parse::<u64>().map_err(|_| wrong())? * factor;
        rest = after;
    }
    Ok(total)
}

/// An expression of the form `max without (…) (selector) == 1`, from which cases can be derived.
struct Plain {
    exporter: Exporter,
    selector: Selector,
    /// Labels that the expression aggregates away.
    without: Vec<String>,
    operator: String,
    threshold: f64,
}

impl Plain {
    fn of(expr: &str, exporter: &Exporter) -> Option<Plain> {
        let mut selectors = promql::selectors(expr);
        let (selector, None) = (selectors.pop()?, selectors.pop()) else { return None };
        let tokens: Vec<_> =
            promql::tokens(expr).into_iter().filter(|token| token.kind != Kind::Space).collect();
        let frame = [("max", 0), ("without", 1), ("(", 2)];
        let framed = frame.iter().all(|(text, at)| tokens.get(*at).is_some_and(|token| token.text == *text));
        let grouping_ends = tokens.iter().position(|token| token.text == ")")?;
        let [open, metric] = tokens.get(grouping_ends + 1..grouping_ends + 3)? else { return None };
        let [close, operator, number] = tokens.get(tokens.len().checked_sub(3)?..)? else { return None };
        let plain = framed && open.text == "(" && metric.text == selector.metric && close.text == ")";
        let threshold = number.text.parse().ok().filter(|_| plain)?;
        let without = tokens.get(3..grouping_ends)?.iter().filter(|token| token.kind == Kind::Word);
        let without = without.map(|token| token.text.to_owned()).collect();
        let exporter = exporter.clone();
        Some(Plain { exporter, selector, without, operator: operator.text.to_owned(), threshold })
    }

    fn plan(&self, area: &Area, alert: &Alert, rule: Rule) -> Result<Plan, String> {
        let at = self.threshold;
        let (bad, good, edge_fires) = match self.operator.as_str() {
            "==" => (at, 0.0, true),
            ">" => (at + 1.0, 0.0, false),
            ">=" => (at + 1.0, at - 1.0, true),
            "<" => (at - 1.0, at + 1.0, false),
            "<=" => (at - 1.0, at + 1.0, true),
            operator => return Err(format!("cannot derive cases from {operator}")),
        };
        let series = self.series(area, alert, bad);
        let alert_labels = |series: &Series| -> Labels {
            let labels = self.exporter.labels.iter().chain(&series.labels);
            let kept = labels.filter(|(label, _)| !self.without.contains(label));
            kept.map(|(label, value)| (label.clone(), value.clone())).collect()
        };
        let mut plan = Plan::empty(rule, self.exporter.clone());
        plan.labels = alert_labels(&series);
        plan.any_severity = self.without.iter().any(|label| label == "severity") && self.is_free("severity");
        plan.optional = ["node", "disk"].iter().map(|label| (*label).to_owned()).collect();
        plan.optional.retain(|label| plan.labels.contains_key(label) && self.is_free(label));
        plan.neighbours = self.neighbours(area, &series);
        plan.siblings = self.siblings(&series).into_iter().map(|s| (s.clone(), alert_labels(&s))).collect();
        plan.good = vec![series.at(good)];
        plan.edge = vec![series.at(at)];
        plan.edge_fires = edge_fires;
        plan.bad = vec![series];
        plan.value = bad;
        Ok(plan)
    }

    fn is_free(&self, label: &str) -> bool {
        !self.selector.matchers.iter().any(|(matched, ..)| matched == label)
    }

    /// A series that the selector takes, with every label that the family declares.
    fn series(&self, area: &Area, alert: &Alert, value: f64) -> Series {
        let declared = gauge(&self.selector.metric).map_or(&[][..], |gauge| &gauge.labels);
        let mut labels: Labels =
            declared.iter().map(|label| ((*label).to_owned(), example(area, alert, label))).collect();
        for (label, operator, value) in self.own_matchers() {
            let first = value.split('|').next().unwrap_or_default();
            match operator {
                "=" => labels.insert(label.to_owned(), value.to_owned()),
                "=~" => labels.insert(label.to_owned(), first.to_owned()),
                _ => None,
            };
        }
        Series {
            metric: self.selector.metric.clone(),
            labels,
            start: value,
            step: 0.0,
            now: false,
            values: None,
        }
    }

    /// One series for every alternative of a pattern: each cause must fire.
    fn siblings(&self, series: &Series) -> Vec<Series> {
        let patterns =
            self.own_matchers().filter(|(_, operator, value)| *operator == "=~" && value.contains('|'));
        patterns
            .flat_map(|(label, _, value)| value.split('|').map(move |one| series.with(label, one)))
            .collect()
    }

    /// The same trouble with one label that the selector does not take: of another check, of a
    /// cause that another alert covers, of a state that is none.
    fn neighbours(&self, area: &Area, series: &Series) -> Vec<Series> {
        let outside = |label: &str, operator: &str, value: &str| match operator {
            "=" | "=~" if label == "cause" => {
                let taken: Vec<&str> = value.split('|').collect();
                let other = area.causes.iter().find(|cause| !taken.contains(&cause.id));
                other.map_or("another", |cause| cause.id).to_owned()
            }
            "=" | "=~" => "another".to_owned(),
            _ => value.split('|').next().unwrap_or_default().to_owned(),
        };
        self.own_matchers()
            .map(|(label, operator, value)| series.with(label, &outside(label, operator, value)))
            .chain(self.exporter.other.iter().map(|(label, value)| series.with(label, value)))
            .collect()
    }

    /// Matchers but those on the target.
    fn own_matchers(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        let matchers = self.selector.matchers.iter().map(|(l, o, v)| (l.as_str(), o.as_str(), v.as_str()));
        matchers.filter(|(label, ..)| !self.exporter.selected.iter().any(|selected| selected == label))
    }
}

fn gauge(metric: &str) -> Option<&'static Gauge> {
    catalogue::areas().flat_map(|area| area.gauges).copied().find(|gauge| gauge.name == metric)
}

/// A value that reads like a real one.
fn example(area: &Area, alert: &Alert, label: &str) -> String {
    let text = match label {
        "check" => area.id,
        "cause" => alert.causes().next().map_or("unknown", |cause| cause.id),
        "severity" => alert.severity.as_str(),
        "object_kind" => "Pod",
        "object" => "object-1",
        "node" => "node-1",
        "disk" => "disk-1",
        "volume" => "pvc-1",
        "instance_manager" => "instance-manager-1",
        _ => return format!("{}-1", label.replace('_', "-")),
    };
    text.to_owned()
}
