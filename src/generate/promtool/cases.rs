//! From a [`Plan`] to the cases of an alert: one variation after the other.
//!
//! Time goes in ticks. Every case starts with some ticks of health, so that what fires fires from
//! the trouble on and not from the beginning of time.

use serde::Serialize;

use super::exporter::Exporter;
use super::plan::{Plan, Series, WrittenCase, seconds};
use super::template::{Labels, render};

/// What a case shows. Every alert has all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// It fires, and one tick before `for` it does not.
    Fires,
    /// On the threshold itself.
    Threshold,
    /// In health it is silent.
    Healthy,
    /// Without any series it is silent, and the exporter's own alert fires.
    Missing,
    /// Two pods of the exporter give one alert.
    TwoPods,
    /// A new pod of the exporter does not restart `for`.
    Replaced,
    /// Labels that may be empty leave no hole in the text.
    LabelMissing,
    /// It ends when the trouble ends, `keep_firing_for` included.
    Recovery,
    /// Trouble in one cluster is not trouble in another.
    TwoClusters,
    /// Series that resemble trouble.
    Neighbour,
    /// Written in full beside the check.
    Written,
    /// What a recording rule records.
    Recorded,
}

impl Kind {
    /// Those that every alert must have.
    pub const REQUIRED: [Kind; 10] = [
        Kind::Fires,
        Kind::Threshold,
        Kind::Healthy,
        Kind::Missing,
        Kind::TwoPods,
        Kind::Replaced,
        Kind::LabelMissing,
        Kind::Recovery,
        Kind::TwoClusters,
        Kind::Neighbour,
    ];
}

/// A test in promtool's form, with what it is for.
#[derive(Debug, Clone, Serialize)]
pub struct Case {
    /// The alert or the recording rule it is about.
    #[serde(skip)]
    pub subject: String,
    /// What it shows.
    #[serde(skip)]
    pub kind: Kind,
    /// The text of the alert, if an empty label leaves a hole in it.
    #[serde(skip)]
    pub hole: Option<String>,
    pub(super) name: String,
    /// Length of a tick.
    pub interval: String,
    pub(super) input_series: Vec<Input>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) alert_rule_test: Vec<Look>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) promql_expr_test: Vec<Question>,
}

/// A series with its values.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Input {
    pub(super) series: String,
    pub(super) values: String,
}

/// A query with its answer.
#[derive(Debug, Clone, Serialize)]
pub struct Question {
    pub(super) expr: String,
    pub(super) eval_time: String,
    pub(super) exp_samples: Vec<Sample>,
}

/// A member of an answer.
#[derive(Debug, Clone, Serialize)]
pub struct Sample {
    pub(super) labels: String,
    pub(super) value: f64,
}

/// Which alerts there are at a moment.
#[derive(Debug, Clone, Serialize)]
pub struct Look {
    eval_time: String,
    alertname: String,
    exp_alerts: Vec<Expected>,
}

#[derive(Debug, Clone, Serialize)]
struct Expected {
    exp_labels: Labels,
    exp_annotations: Labels,
}

/// Ticks of health before the trouble.
const LEAD: u64 = 5;
/// Seconds of `for` from which ticks are longer.
const SLOW: u64 = 3 * 3_600;
/// Ticks after the last look that matters.
const TAIL: u64 = 5;

/// Makes the cases of one alert.
pub struct Maker<'a> {
    plan: &'a Plan,
    /// Rule that fires when the exporter is gone, with its labels.
    down: Option<&'a Plan>,
    cluster_label: &'a str,
    tick: u64,
    hold: u64,
    keep: u64,
    after: u64,
    recovers: u64,
}

/// A stretch of a series: for how many ticks, and what; `None` is no sample.
type Stretch = (u64, Option<f64>, f64);

impl<'a> Maker<'a> {
    /// A maker for a plan.
    pub fn new(plan: &'a Plan, down: Option<&'a Plan>, cluster_label: &'a str) -> Result<Self, String> {
        let (hold, keep) = (seconds(&plan.rule.hold)?, seconds(&plan.rule.keep_firing_for)?);
        // a tick that divides every duration, so that "one tick before" is exact; for a wait of hours
        // a longer one, so that promtool does not take minutes
        let base = match hold {
            // half of it is a tick, so that a wait of half the time shows
            1..120 => hold / 2,
            _ if hold < SLOW => 60,
            _ => 600,
        };
        let tick = [hold, keep, plan.after, plan.recovers].into_iter().fold(base, gcd);
        let ticks = |seconds: u64| seconds / tick;
        let (after, recovers) = (ticks(plan.after), ticks(plan.recovers));
        Ok(Maker { plan, down, cluster_label, tick, hold: ticks(hold), keep: ticks(keep), after, recovers })
    }

    /// Every case.
    pub fn cases(&self) -> Result<Vec<Case>, String> {
        let mut cases = vec![self.fires()?, self.threshold()?, self.healthy()];
        cases.push(self.missing()?);
        cases.extend([self.two_pods()?, self.replaced()?, self.label_missing()?, self.recovery()?]);
        cases.extend([self.two_clusters()?, self.neighbour()]);
        cases.extend(self.one_of_two_pods()?);
        cases.extend(self.other_severity()?);
        cases.extend(self.siblings()?);
        let applies = |case: &&WrittenCase| !case.clusters || !self.cluster_label.is_empty();
        for written in self.plan.cases.iter().filter(applies) {
            cases.push(self.written(written)?);
        }
        Ok(cases)
    }

    /// The tick at which the alert fires.
    fn fire(&self) -> u64 {
        LEAD + self.after + self.hold
    }

    fn end(&self) -> u64 {
        self.fire() + self.keep + self.recovers + 2 * TAIL
    }

    fn fires(&self) -> Result<Case, String> {
        let inputs = self.trouble(&Target::pod("a"), self.end());
        let looks = vec![
            self.silent(LEAD - 1),
            self.silent(self.fire() - 1),
            self.firing(self.fire(), &[&self.plan.labels])?,
            self.firing(self.fire() + TAIL, &[&self.plan.labels])?,
        ];
        Ok(self.case(Kind::Fires, "fires, and not one tick before its time", inputs, looks))
    }

    fn threshold(&self) -> Result<Case, String> {
        let plan = self.plan;
        let fires = plan.edge_fires;
        let inputs = self.steady(&plan.edge, &Target::pod("a"), self.end());
        let edge = plan.edge.first().map_or(plan.value, |series| series.start);
        let value = plan.edge_value.unwrap_or(edge);
        let look = if fires && !plan.edge.is_empty() {
            self.firing_with(self.fire(), &[&plan.labels], value)?
        } else {
            self.silent(self.fire() + TAIL)
        };
        let name = if fires { "fires exactly at the threshold" } else { "silent exactly at the threshold" };
        Ok(self.case(Kind::Threshold, name, inputs, vec![look]))
    }

    fn healthy(&self) -> Case {
        let inputs = self.steady(&self.plan.good, &Target::pod("a"), self.end());
        let looks = vec![self.silent(0), self.silent(self.fire()), self.silent(self.fire() + TAIL)];
        self.case(Kind::Healthy, "silent in health", inputs, looks)
    }

    fn missing(&self) -> Result<Case, String> {
        if self.plan.absence {
            let look = self.firing(self.hold + TAIL, &[&self.plan.labels])?;
            return Ok(self.case(Kind::Missing, "fires without any series", Vec::new(), vec![look]));
        }
        let down_hold = self.down.map_or(Ok(0), |down| seconds(&down.rule.hold))?;
        let moment = self.fire().max(down_hold / self.tick) + TAIL;
        let inputs = self.steady(&[Series::parse("up 0")?], &Target::pod("a"), moment);
        let mut looks = vec![self.silent(moment)];
        if let Some(down) = self.down {
            looks.push(Look {
                eval_time: self.time(moment),
                alertname: down.rule.alert.clone(),
                exp_alerts: vec![expected(down, &down.labels, down.value)?],
            });
        }
        Ok(self.case(
            Kind::Missing,
            "silent without its series, and the exporter's own alert fires",
            inputs,
            looks,
        ))
    }

    fn two_pods(&self) -> Result<Case, String> {
        let mut inputs = self.trouble(&Target::pod("a"), self.end());
        inputs.extend(self.trouble(&Target::pod("b"), self.end()));
        let looks = vec![self.silent(self.fire() - 1), self.firing(self.fire(), &[&self.plan.labels])?];
        Ok(self.case(Kind::TwoPods, "two pods of the exporter give one alert", inputs, looks))
    }

    /// Two pods that disagree; where health has no series, there is nothing to disagree about.
    fn one_of_two_pods(&self) -> Result<Option<Case>, String> {
        if self.plan.good.is_empty() || self.plan.absence {
            return Ok(None);
        }
        let mut inputs = self.trouble(&Target::pod("a"), self.end());
        inputs.extend(self.steady(&self.plan.good, &Target::pod("b"), self.end()));
        let look = self.firing(self.fire(), &[&self.plan.labels])?;
        Ok(Some(self.case(Kind::TwoPods, "one of two pods that sees it is enough", inputs, vec![look])))
    }

    /// The rule's own severity replaces that of the finding, so that two of them would collide.
    fn other_severity(&self) -> Result<Option<Case>, String> {
        let [series] = &self.plan.bad[..] else { return Ok(None) };
        let Some(severity) = series.labels.get("severity").filter(|_| self.plan.any_severity) else {
            return Ok(None);
        };
        let other = if severity == "critical" { "warning" } else { "critical" };
        let stretches = [(LEAD, None, 0.0), (self.end() - LEAD, Some(series.start), 0.0)];
        let inputs = vec![
            self.input(series, &Target::pod("a"), &stretches, false),
            self.input(&series.with("severity", other), &Target::pod("b"), &stretches, false),
        ];
        let looks = vec![self.silent(self.fire() - 1), self.firing(self.fire(), &[&self.plan.labels])?];
        Ok(Some(self.case(
            Kind::TwoPods,
            "two pods that disagree about severity give one alert",
            inputs,
            looks,
        )))
    }

    fn replaced(&self) -> Result<Case, String> {
        let (plan, end) = (self.plan, self.end());
        let change = LEAD + self.after + self.hold.div_ceil(2);
        let mut inputs = Vec::new();
        for (index, series) in plan.bad.iter().enumerate() {
            let healthy = self.health_of(index);
            let old = [(LEAD, healthy, 0.0), (change - LEAD, Some(self.onset(series, LEAD)), series.step)];
            // the new pod goes on counting where the cluster is
            let now = self.value_at(series, change - LEAD);
            let new = [(change, None, 0.0), (end - change, Some(now), series.step)];
            inputs.push(self.input(series, &Target::pod("a"), &old, true));
            inputs.push(self.input(series, &Target::pod("b"), &new, false));
        }
        let value = plan.replaced_value.unwrap_or(plan.value);
        let looks =
            vec![self.silent(self.fire() - 1), self.firing_with(self.fire(), &[&plan.labels], value)?];
        Ok(self.case(Kind::Replaced, "a new pod of the exporter does not restart the wait", inputs, looks))
    }

    fn label_missing(&self) -> Result<Case, String> {
        let optional = &self.plan.optional;
        let mut labels = self.plan.labels.clone();
        labels.retain(|label, _| !optional.contains(label));
        let without = |series: &Series| {
            let mut series = series.clone();
            series.labels.retain(|label, _| !optional.contains(label));
            series
        };
        let mut inputs = Vec::new();
        for (index, series) in self.plan.bad.iter().enumerate() {
            let stretches = self.stretches(index, series, self.end());
            inputs.push(self.input(&without(series), &Target::pod("a"), &stretches, false));
        }
        // a target that no ServiceMonitor labels, beside the labels that the series may lack
        let look = self.firing(self.fire(), &[&labels])?;
        let hole = hole(&look);
        let name = match optional.as_slice() {
            [] => "no label may be missing".to_owned(),
            _ => format!("reads well without {}", optional.join(", ")),
        };
        Ok(Case { hole, ..self.case(Kind::LabelMissing, &name, inputs, vec![look]) })
    }

    fn recovery(&self) -> Result<Case, String> {
        let plan = self.plan;
        let better = self.fire() + TAIL;
        let gone = better + self.recovers + self.keep;
        let mut inputs = Vec::new();
        for (index, series) in plan.bad.iter().enumerate() {
            let healthy = self.health_of(index);
            // a counter that no longer counts keeps its value
            let rest =
                if series.step == 0.0 { healthy } else { Some(self.value_at(series, better - LEAD - 1)) };
            let onset = Some(self.onset(series, LEAD));
            let mut stretches = vec![(LEAD, healthy, 0.0), (better - LEAD, onset, series.step)];
            stretches.extend(rest.map(|value| (gone + TAIL - better, Some(value), 0.0)));
            inputs.push(self.input(series, &Target::pod("a"), &stretches, rest.is_none()));
        }
        let mut looks = vec![self.firing(better - 1, &[&plan.labels])?];
        match gone > better {
            false => looks.push(self.silent(better)),
            // what a window still counts depends on the release of Prometheus
            true if self.recovers > 0 && plan.bad.iter().any(|series| series.step != 0.0) => {}
            // and so does whether its oldest moment belongs to it
            true if self.recovers > 0 => looks.push(self.firing(gone - 2, &[&plan.labels])?),
            true => looks.push(self.firing(gone - 1, &[&plan.labels])?),
        }
        looks.push(self.silent(gone));
        let name =
            if self.keep > 0 { "ends keep_firing_for after the trouble" } else { "ends with the trouble" };
        Ok(self.case(Kind::Recovery, name, inputs, looks))
    }

    fn two_clusters(&self) -> Result<Case, String> {
        let plan = self.plan;
        if self.cluster_label.is_empty() || plan.absence {
            let look = self.firing(self.fire(), &[&plan.labels])?;
            let inputs = self.trouble(&Target::pod("a"), self.end());
            return Ok(self.case(Kind::TwoClusters, "clusters cannot be told apart", inputs, vec![look]));
        }
        let later = self.fire() + TAIL;
        let (one, two) = (Target::cluster("a", self.cluster_label), Target::cluster("b", self.cluster_label));
        let mut inputs = self.trouble(&one, later + self.end());
        for (index, series) in plan.bad.iter().enumerate() {
            let healthy = self.health_of(index);
            let onset = Some(self.onset(series, later));
            let stretches = [(later, healthy, 0.0), (self.end(), onset, series.step)];
            inputs.push(self.input(series, &two, &stretches, false));
        }
        let labels = |target: &Target| {
            let mut labels = plan.labels.clone();
            labels.extend(target.cluster.iter().cloned());
            labels
        };
        let second = later + self.after + self.hold;
        let looks = vec![
            self.firing(self.fire(), &[&labels(&one)])?,
            self.firing(second - 1, &[&labels(&one)])?,
            self.together(second, &labels(&one), &labels(&two))?,
        ];
        Ok(self.case(Kind::TwoClusters, "two clusters do not mix", inputs, looks))
    }

    fn neighbour(&self) -> Case {
        let inputs = self.steady(&self.plan.neighbours, &Target::pod("a"), self.end());
        let looks = vec![self.silent(self.fire() + TAIL)];
        self.case(Kind::Neighbour, "silent about what another alert covers", inputs, looks)
    }

    /// One case for all alternatives of a pattern: each fires.
    fn siblings(&self) -> Result<Option<Case>, String> {
        let siblings = &self.plan.siblings;
        if siblings.is_empty() {
            return Ok(None);
        }
        let series: Vec<Series> = siblings.iter().map(|(series, _)| series.clone()).collect();
        let labels: Vec<&Labels> = siblings.iter().map(|(_, labels)| labels).collect();
        let inputs = self.steady(&series, &Target::pod("a"), self.end());
        let look = self.firing(self.fire(), &labels)?;
        Ok(Some(self.case(Kind::Fires, "fires for each of its causes", inputs, vec![look])))
    }

    fn written(&self, written: &WrittenCase) -> Result<Case, String> {
        let input = |line: &String| {
            let end = line.rfind('}').map_or_else(|| line.find(' '), |brace| Some(brace + 1));
            let (series, values) =
                line.split_at(end.ok_or_else(|| format!("not a series with values: {line}"))?);
            Ok(Input { series: series.to_owned(), values: values.trim().to_owned() })
        };
        let inputs = written.series.iter().map(input).collect::<Result<Vec<_>, String>>()?;
        let own = written.labels.iter().chain(&written.also).map(|labels| self.plan.with_target(labels));
        let mut all: Vec<Labels> = own.collect();
        if written.labels.is_none() {
            all.insert(0, self.plan.labels.clone());
        }
        let labels: Vec<&Labels> = all.iter().collect();
        let value = written.value.unwrap_or(self.plan.value);
        let mut looks = Vec::new();
        let at = |moment: &String, look: Look| {
            Ok::<_, String>((seconds(moment)?, Look { eval_time: moment.clone(), ..look }))
        };
        for moment in &written.silent_at {
            looks.push(at(moment, self.silent(0))?);
        }
        for moment in &written.fires_at {
            looks.push(at(moment, self.firing_with(0, &labels, value)?)?);
        }
        looks.sort_by_key(|(seconds, _)| *seconds);
        let looks = looks.into_iter().map(|(_, look)| look).collect();
        let mut case = self.case(Kind::Written, &written.name, inputs, looks);
        case.interval = "60s".to_owned();
        Ok(case)
    }

    fn case(&self, kind: Kind, name: &str, input_series: Vec<Input>, alert_rule_test: Vec<Look>) -> Case {
        let subject = self.plan.rule.alert.clone();
        let name = format!("{subject}: {name}");
        Case {
            subject,
            kind,
            hole: None,
            name,
            interval: format!("{}s", self.tick),
            input_series,
            alert_rule_test,
            promql_expr_test: Vec::new(),
        }
    }

    /// Health, then trouble to the end.
    fn trouble(&self, target: &Target, end: u64) -> Vec<Input> {
        let bad = self.plan.bad.iter().enumerate();
        bad.map(|(i, series)| self.input(series, target, &self.stretches(i, series, end), false)).collect()
    }

    fn stretches(&self, index: usize, series: &Series, end: u64) -> [Stretch; 2] {
        let onset = Some(self.onset(series, LEAD));
        [(LEAD, self.health_of(index), 0.0), (end - LEAD, onset, series.step)]
    }

    /// The same from beginning to end.
    fn steady(&self, series: &[Series], target: &Target, end: u64) -> Vec<Input> {
        let stretch = |series: &Series| [(end, Some(series.start), series.step)];
        series.iter().map(|one| self.input(one, target, &stretch(one), false)).collect()
    }

    /// The value in health of the n-th series; a counter rests at its start.
    fn health_of(&self, index: usize) -> Option<f64> {
        let (good, bad) = (self.plan.good.get(index), self.plan.bad.get(index));
        let resting = bad.filter(|series| series.step != 0.0).map(|series| series.start);
        good.map(|series| series.start).or(resting)
    }

    fn value_at(&self, series: &Series, ticks: u64) -> f64 {
        self.onset(series, LEAD) + self.per_tick(series.step) * ticks as f64
    }

    /// The value of a series whose trouble starts at a tick.
    fn onset(&self, series: &Series, tick: u64) -> f64 {
        if series.now { (tick * self.tick) as f64 } else { series.start }
    }

    fn per_tick(&self, step: f64) -> f64 {
        step * self.tick as f64 / 60.0
    }

    fn input(&self, series: &Series, target: &Target, stretches: &[Stretch], ends: bool) -> Input {
        let mut labels = target.labels(&self.plan.exporter);
        labels.extend(series.labels.clone());
        let mut values: Vec<String> = stretches
            .iter()
            .filter(|(ticks, ..)| *ticks > 0)
            .map(|(ticks, value, step)| match value {
                None => format!("_x{ticks}"),
                Some(value) if *step != 0.0 => format!("{value}+{}x{}", self.per_tick(*step), ticks - 1),
                Some(value) => format!("{value}x{}", ticks - 1),
            })
            .collect();
        if ends {
            values.push("stale".to_owned());
        }
        let values = series.values.clone().unwrap_or_else(|| values.join(" "));
        Input { series: format!("{}{}", series.metric, braced(&labels)), values }
    }

    fn time(&self, tick: u64) -> String {
        format!("{}s", tick * self.tick)
    }

    fn silent(&self, tick: u64) -> Look {
        let alertname = self.plan.rule.alert.clone();
        Look { eval_time: self.time(tick), alertname, exp_alerts: Vec::new() }
    }

    fn firing(&self, tick: u64, labels: &[&Labels]) -> Result<Look, String> {
        self.firing_with(tick, labels, self.grown(tick))
    }

    /// One that has fired for long, and one that just starts.
    fn together(&self, tick: u64, old: &Labels, new: &Labels) -> Result<Look, String> {
        let exp_alerts =
            vec![expected(self.plan, old, self.grown(tick))?, expected(self.plan, new, self.plan.value)?];
        Ok(Look { exp_alerts, ..self.silent(tick) })
    }

    /// `$value` at a tick; of a counter it grows from the moment of firing.
    fn grown(&self, tick: u64) -> f64 {
        self.plan.value + self.per_tick(self.plan.grows) * (tick as f64 - self.fire() as f64)
    }

    fn firing_with(&self, tick: u64, labels: &[&Labels], value: f64) -> Result<Look, String> {
        let exp_alerts =
            labels.iter().map(|labels| expected(self.plan, labels, value)).collect::<Result<_, _>>()?;
        Ok(Look { exp_alerts, ..self.silent(tick) })
    }
}

/// What the alert says, with the labels and the annotations that its rule adds.
fn expected(plan: &Plan, labels: &Labels, value: f64) -> Result<Expected, String> {
    let mut exp_labels = labels.clone();
    exp_labels.extend(plan.rule.labels.clone());
    // templates see the labels of the series, before the rule adds its own
    let annotation =
        |(name, template): (&&str, &String)| Ok(((*name).to_owned(), render(template, labels, value)?));
    let exp_annotations = plan.rule.annotations.iter().map(annotation).collect::<Result<_, String>>()?;
    Ok(Expected { exp_labels, exp_annotations })
}

/// Traces that an empty label leaves in a text.
fn hole(look: &Look) -> Option<String> {
    const HOLES: [&str; 10] = ["  ", " ,", " .", "()", "\"\"", "( ", " )", "/ ", " /", "<no value>"];
    let texts = look.exp_alerts.iter().flat_map(|alert| alert.exp_annotations.values());
    let holed = |text: &&String| HOLES.iter().any(|hole| text.contains(hole));
    texts.into_iter().find(holed).cloned()
}

/// Labels as promtool reads them.
pub fn braced(labels: &Labels) -> String {
    let labels: Vec<String> = labels.iter().map(|(label, value)| format!("{label}={value:?}")).collect();
    format!("{{{}}}", labels.join(","))
}

/// The scrape target of a series.
pub struct Target {
    pod: String,
    cluster: Option<(String, String)>,
}

impl Target {
    /// One of the exporter's pods.
    pub fn pod(pod: &str) -> Self {
        Target { pod: pod.to_owned(), cluster: None }
    }

    /// The exporter of one of several clusters.
    pub fn cluster(name: &str, label: &str) -> Self {
        Target { pod: name.to_owned(), cluster: Some((label.to_owned(), name.to_owned())) }
    }

    /// As a ServiceMonitor sets them.
    pub fn labels(&self, exporter: &Exporter) -> Labels {
        let pod = &self.pod;
        let own = [
            ("pod", format!("longhorn-health-exporter-{pod}")),
            ("instance", format!("{pod}:10666")),
            ("container", "exporter".to_owned()),
            ("endpoint", "http".to_owned()),
            ("service", "longhorn-health-exporter".to_owned()),
        ];
        let own = own.map(|(label, value)| (label.to_owned(), value));
        exporter.labels.clone().into_iter().chain(own).chain(self.cluster.iter().cloned()).collect()
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
