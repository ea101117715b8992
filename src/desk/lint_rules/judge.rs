//! Judges one expression by its syntax tree.

use std::collections::BTreeSet;

use promql_parser::label::{MatchOp, Matcher};
use promql_parser::parser::{
    AggregateExpr, BinaryExpr, Call, Expr, LabelModifier, VectorMatchCardinality, VectorSelector, token,
};

use super::catalogue::{LABELS, Metric, NAMES};
use super::{Level, Said};
use crate::did_you_mean;
use crate::facts::text::listed;
use crate::longhorn::Release;

/// Labels that a scrape adds, as Prometheus or its operator do; every series has the first two.
const OF_TARGETS: &[&str] = &[
    "instance", "job", "namespace", "pod", "container", "endpoint", "service", "node", "cluster",
    "prometheus", "prometheus_replica",
];

/// Functions that give back the labels, and with the last three numbers the values in their range, of what they get.
const SAME_LABELS: &[&str] = &[
    "rate", "irate", "increase", "delta", "idelta", "deriv", "abs", "ceil", "floor", "round", "clamp",
    "clamp_min", "clamp_max", "sum_over_time", "avg_over_time", "count_over_time", "max_over_time",
    "min_over_time", "last_over_time",
];
/// Functions that do not look at the values, or only at whether they change.
const EXISTENCE: &[&str] =
    &["absent", "absent_over_time", "present_over_time", "changes", "resets", "timestamp"];
/// Functions for counters.
const FOR_COUNTERS: &[&str] = &["rate", "irate", "increase"];
/// What the names of counters and of the parts of histograms end in.
const COUNTERS: &[&str] = &["_total", "_count", "_sum", "_bucket"];
/// Requests that are 0 where none are set: the setting guaranteed-instance-manager-cpu may be 0, and instance managers request no memory
/// (longhorn-manager v1.3.3 to v1.12.1 controller/instance_manager_controller.go createInstanceManagerPodSpec).
const REQUESTS: &[&str] =
    &["longhorn_instance_manager_cpu_requests_millicpu", "longhorn_instance_manager_memory_requests_bytes"];
const SAME_VALUES: &[&str] = &["max_over_time", "min_over_time", "last_over_time"];

/// What one manager alone serves: of its own node, and of the volumes that it owns (longhorn-manager v1.3.3 to v1.12.1
/// metrics_collector/node_collector.go, volume_collector.go).
const VANISHING: &[&str] =
    &["longhorn_node_", "longhorn_disk_", "longhorn_volume_", "longhorn_instance_manager_"];

/// Judges expressions for one release.
pub struct Judge<'a> {
    /// The release of longhorn-manager.
    pub release: Release,
    /// Names of series that recording rules in the same files make.
    pub records: &'a BTreeSet<String>,
    /// What is said.
    pub said: Vec<Said>,
    /// How many selectors asked for a metric that is there.
    pub asked: usize,
}

type Labels = BTreeSet<String>;

impl Judge<'_> {
    fn say(&mut self, level: Level, id: &'static str, message: String, instead: String) {
        let said = Said { level, id, message, instead };
        if !self.said.contains(&said) {
            self.said.push(said);
        }
    }

    /// Goes through an expression. `states` is true where what is around it keeps the label `state` apart.
    pub fn expression(&mut self, expr: &Expr, states: bool) {
        match expr {
            Expr::Aggregate(aggregate) => self.aggregate(aggregate, states),
            Expr::Binary(binary) => self.binary(binary, states),
            Expr::Unary(unary) => self.expression(&unary.expr, states),
            Expr::Paren(paren) => self.expression(&paren.expr, states),
            Expr::Subquery(query) => self.expression(&query.expr, states),
            Expr::Call(call) => {
                self.of_gauge(call);
                // these ask whether a series is there, or how often it changed, which is the same for each state
                let asks = EXISTENCE.contains(&call.func.name);
                call.args.args.iter().for_each(|arg| self.expression(arg, states || asks));
            }
            Expr::VectorSelector(selector) => self.selector(selector, states),
            Expr::MatrixSelector(selector) => self.selector(&selector.vs, states),
            Expr::NumberLiteral(_) | Expr::StringLiteral(_) | Expr::Extension(_) => {}
        }
    }

    fn known(&self, selector: &VectorSelector) -> Option<(String, &'static Metric)> {
        let name = name_of(selector)?;
        let metric = Metric::of(&name).filter(|_| !self.records.contains(&name))?;
        Some((name, metric))
    }

    /// What counts falls as restarts of a counter.
    fn of_gauge(&mut self, call: &Call) {
        let selector = call.args.args.first().and_then(|arg| plain_selector(arg));
        let Some((name, _)) = selector.and_then(|selector| self.known(selector)) else { return };
        if FOR_COUNTERS.contains(&call.func.name) && !COUNTERS.iter().any(|end| name.ends_with(end)) {
            let message =
                format!("{name} is a gauge: {} takes each fall for a restart from 0", call.func.name);
            self.say(Level::Warning, "gauge", message, "delta or deriv".to_owned());
        }
    }

    /// A regular expression for the name: whether it fits any metric.
    fn names(&mut self, selector: &VectorSelector) {
        let by_name = selector.matchers.find_matchers("__name__");
        let Some(matcher) =
            by_name.iter().find(|one| one.value.contains("longhorn_") && !one.value.contains('$'))
        else {
            return;
        };
        if !matches!(matcher.op, MatchOp::Re(_))
            || NAMES.iter().any(|name| name.starts_with("longhorn_health_") && matcher.is_match(name))
        {
            return;
        }
        let fits: Vec<&String> = NAMES.iter().filter(|name| matcher.is_match(name)).collect();
        let there =
            |name: &&&String| Metric::of(name).is_some_and(|metric| metric.labels(self.release).is_some());
        let message = match (fits.is_empty(), fits.iter().any(|name| there(&name))) {
            (_, true) => return,
            (true, _) => format!("no metric of Longhorn in any release fits {}", matcher.value),
            (false, _) => format!("{} has no metric that fits {}", self.release, matcher.value),
        };
        let id = if fits.is_empty() { "unknown_metric" } else { "absent_metric" };
        self.say(Level::Error, id, message, String::new());
    }

    fn selector(&mut self, selector: &VectorSelector, states: bool) {
        let Some(name) = name_of(selector) else { return self.names(selector) };
        // kube-state-metrics gives what it makes of Longhorn's objects these labels, and any name
        let of_objects = selector.matchers.matchers.iter().any(|one| one.name.starts_with("customresource_"));
        let foreign = !name.starts_with("longhorn_") || name.contains('$') || of_objects;
        // series of this program come and go with its own releases
        if foreign || name.starts_with("longhorn_health_") || self.records.contains(&name) {
            return;
        }
        let Some(metric) = Metric::of(&name) else {
            let known: Vec<&str> = NAMES.iter().map(String::as_str).collect();
            let message = format!("{name} is no metric of Longhorn in any release up to the newest known");
            let near = did_you_mean::hint(&name, &known);
            return self.say(
                Level::Error,
                "unknown_metric",
                message,
                if near.contains("mean") { near } else { String::new() },
            );
        };
        let Some(labels) = metric.labels(self.release) else {
            let message = format!("{} does not have {name}, which is there {}", self.release, metric.there());
            return self.say(Level::Error, "absent_metric", message, ours_instead(metric));
        };
        self.asked += 1;
        let before = self.said.len();
        let groups = std::iter::once(&selector.matchers.matchers).chain(&selector.matchers.or_matchers);
        for group in groups {
            for matcher in group.iter().filter(|matcher| matcher.name != "__name__") {
                self.label(&name, metric, &labels, matcher);
            }
            self.values(&name, metric, group);
        }
        let wrong = self.said.get(before..).unwrap_or_default().iter().any(|said| said.level == Level::Error);
        let apart = states || wrong || !selector.matchers.find_matchers("state").is_empty();
        if !apart && self.has_dialect(metric) {
            let message = self.one_of_each(&name);
            self.say(Level::Warning, "dialect", message, "a matcher on state, or by (state)".to_owned());
        }
    }

    fn label(&mut self, name: &str, metric: &Metric, labels: &BTreeSet<&str>, matcher: &Matcher) {
        let label = matcher.name.as_str();
        if labels.contains(label) || is_of_target(label) {
            return;
        }
        // one that also matches no value holds for a label that is not there
        if matcher.is_match("") {
            let means = |value: &String| *value == matcher.value;
            let of_ours =
                LABELS.contains(label) || metric.values.values().flatten().chain(&metric.codes).any(means);
            if is_negative(matcher) && of_ours {
                let message =
                    format!("{name} has no label {label} in {}: this matches every series", self.release);
                self.say(Level::Warning, "absent_label", message, String::new());
            }
            return;
        }
        let with = metric.with_label(label);
        if !with.is_empty() {
            let code = metric.codes.iter().position(|state| matcher.is_match(state));
            let instead =
                code.filter(|_| label == "state").map(|code| format!("{name} == {code}{}", ours_too(metric)));
            let message = format!("{name} has no label {label} in {}, but {with}", self.release);
            self.say(Level::Error, "absent_label", message, instead.unwrap_or_default());
            return;
        }
        let meant =
            metric.values.iter().find(|(_, values)| values.iter().any(|value| matcher.is_match(value)));
        if let Some((other, _)) = meant.filter(|(other, _)| labels.contains(other.as_str())) {
            let message = format!("{name} never had a label {label}");
            let instead = format!("{other}{}\"{}\"", matcher.op, matcher.value);
            return self.say(Level::Error, "unknown_label", message, instead);
        }
        let known: Vec<&str> = labels.iter().copied().collect();
        let near = did_you_mean::hint(label, &known);
        let (level, instead) = match near.contains("mean") || LABELS.contains(label) {
            true => (Level::Warning, if known.is_empty() { String::new() } else { near }),
            false => (Level::Note, String::new()),
        };
        let message = format!("{name} never had a label {label}; it is there only where your scrape adds it");
        self.say(level, "unknown_label", message, instead);
    }

    /// No value of a label meets all matchers of it.
    fn values(&mut self, name: &str, metric: &Metric, group: &[Matcher]) {
        for (label, values) in &metric.values {
            let of: Vec<&Matcher> = group.iter().filter(|matcher| matcher.name == *label).collect();
            if of.is_empty() || of.iter().any(|matcher| matcher.value.contains(['$', '['])) {
                continue;
            }
            let idle =
                of.iter().find(|one| is_negative(one) && values.iter().all(|value| one.is_match(value)));
            if let Some(matcher) = idle {
                let message =
                    format!("{name} never has {label} {}: this matches every series", matcher.value);
                self.say(Level::Warning, "unknown_value", message, format!("one of {}", values.join(", ")));
                continue;
            }
            let can = |value: &&String| of.iter().all(|matcher| matcher.is_match(value));
            if !of.iter().all(|matcher| matcher.is_match("")) && !values.iter().any(|value| can(&value)) {
                let said: Vec<&str> = of.iter().map(|matcher| matcher.value.as_str()).collect();
                let message = format!("{name} never has {label} {}", said.join(" and "));
                self.say(Level::Error, "unknown_value", message, format!("one of {}", values.join(", ")));
            }
        }
    }

    fn aggregate(&mut self, aggregate: &AggregateExpr, states: bool) {
        let keeps = match &aggregate.modifier {
            Some(LabelModifier::Include(labels)) => labels.labels.iter().any(|label| label == "state"),
            Some(LabelModifier::Exclude(labels)) => !labels.labels.iter().any(|label| label == "state"),
            None => false,
        };
        if let (Some(LabelModifier::Include(by)), Some(inner)) =
            (&aggregate.modifier, self.labels(&aggregate.expr))
        {
            for label in by.labels.iter().filter(|label| !inner.contains(*label) && !is_of_target(label)) {
                if LABELS.contains(label.as_str()) {
                    let message =
                        format!("what is aggregated by {label} has no such label in {}", self.release);
                    let there: Vec<&str> =
                        inner.iter().map(String::as_str).filter(|label| !is_of_target(label)).collect();
                    self.say(
                        Level::Warning,
                        "absent_label",
                        message,
                        format!("its labels are {}", listed(&there)),
                    );
                }
            }
        }
        aggregate.param.iter().for_each(|param| self.expression(param, states));
        self.expression(&aggregate.expr, states || keeps);
    }

    fn binary(&mut self, binary: &BinaryExpr, states: bool) {
        let carried = |card: &VectorMatchCardinality| {
            card.labels().is_some_and(|labels| labels.labels.iter().any(|label| label == "state"))
        };
        let states = states || binary.modifier.as_ref().is_some_and(|modifier| carried(&modifier.card));
        let told = match (number(&binary.lhs), number(&binary.rhs)) {
            (None, Some(number)) => self.compared(binary, &binary.lhs, number, false, states),
            (Some(number), None) => self.compared(binary, &binary.rhs, number, true, states),
            _ => false,
        };
        let existence = is_existence(binary);
        let begin = (self.said.len(), self.asked);
        self.expression(&binary.lhs, states || told || existence);
        let middle = (self.said.len(), self.asked);
        let filter = matches!(binary.op.id(), token::T_LAND | token::T_LUNLESS)
            && plain_selector(&binary.rhs).is_some();
        self.expression(&binary.rhs, states || told || existence || filter);
        self.by_request(binary);
        match binary.op.id() {
            token::T_LOR => self.either(begin, middle),
            token::T_LUNLESS => {}
            _ => self.matching(binary),
        }
    }

    /// A quotient of what may be 0.
    fn by_request(&mut self, binary: &BinaryExpr) {
        let divisor = plain_selector(&binary.rhs).and_then(|selector| self.known(selector));
        let Some((name, _)) = divisor.filter(|(name, _)| REQUESTS.contains(&name.as_str())) else { return };
        if binary.op.id() == token::T_DIV {
            let message = format!("{name} is 0 where nothing is requested, and the quotient is then +Inf");
            self.say(Level::Warning, "division_by_zero", message, format!("({name} > 0)"));
        }
    }

    /// An alert on a series of one manager alone: it ends with that manager, and with it the alert.
    pub fn vanishing(&mut self, expr: &Expr, text: &str) {
        let Expr::Binary(binary) = expr else { return };
        let compares = matches!(
            binary.op.id(),
            token::T_EQLC | token::T_NEQ | token::T_GTR | token::T_GTE | token::T_LSS | token::T_LTE
        );
        let kept = ["absent", "unless", " or "].iter().any(|word| text.contains(word));
        let side = plain_selector(&binary.lhs).or_else(|| plain_selector(&binary.rhs));
        let Some((name, metric)) =
            side.and_then(|selector| self.known(selector)).filter(|_| compares && !kept)
        else {
            return;
        };
        let wrong = self.said.iter().any(|said| said.level == Level::Error);
        if VANISHING.iter().any(|start| name.starts_with(start)) && !metric.ours.is_empty() && !wrong {
            let message = format!("{name} ends with the manager that serves it, and the alert with it");
            let instead = format!("or absent_over_time({name}[10m]) beside it; or {}", ours_instead(metric));
            self.say(Level::Note, "vanishes", message, instead);
        }
    }

    /// One of two sides may be dead where the other one asks Longhorn as well: expressions are written so for several releases.
    fn either(&mut self, begin: (usize, usize), middle: (usize, usize)) {
        let asks = [begin.1 < middle.1, middle.1 < self.asked];
        let (left, right) = self.said.split_at_mut(middle.0);
        let left = left.get_mut(begin.0..).unwrap_or_default();
        let dead = |side: &[Said]| side.iter().any(|said| said.level == Level::Error);
        let side = match (asks, dead(left), dead(right)) {
            ([true, true], true, false) => left,
            ([true, true], false, true) => right,
            _ => return,
        };
        side.iter_mut().filter(|said| said.level == Level::Error).for_each(|said| said.level = Level::Note);
    }

    /// True where a comparison with a number is told to be none: no sample meets it, or one of each volume does.
    fn compared(
        &mut self,
        binary: &BinaryExpr,
        vector: &Expr,
        number: f64,
        turned: bool,
        states: bool,
    ) -> bool {
        let Some(selector) = plain_selector(vector) else { return false };
        let Some((name, metric)) = self.known(selector) else { return false };
        let Some(greatest) = metric.greatest(self.release) else { return false };
        let meets = |sample: f64| {
            let (left, right) = if turned { (number, sample) } else { (sample, number) };
            match binary.op.id() {
                token::T_EQLC => left == right,
                token::T_NEQ => left != right,
                token::T_GTR => left > right,
                token::T_GTE => left >= right,
                token::T_LSS => left < right,
                token::T_LTE => left <= right,
                _ => true,
            }
        };
        let can = (0..=greatest).any(|sample| meets(f64::from(sample)));
        let dialect = self.has_dialect(metric);
        let labels = metric.labels(self.release).unwrap_or_default();
        // one on a label that is not there is told on its own
        let foreign =
            |matcher: &Matcher| !labels.contains(matcher.name.as_str()) && !is_of_target(&matcher.name);
        let apart =
            states || selector.matchers.matchers.iter().any(|one| one.name == "state" || foreign(one));
        if can && (!dialect || apart) {
            return false;
        }
        let there = metric.values.get("state").map(Vec::as_slice).unwrap_or_default();
        let meant = metric.codes.iter().enumerate().filter(|(code, _)| meets(*code as f64));
        let meant: Vec<&str> =
            meant.filter(|(_, state)| there.contains(state)).map(|(_, state)| state.as_str()).collect();
        let (id, instead) = match meant.as_slice() {
            [one] if dialect => ("dialect", format!("{name}{{state=\"{one}\"}} == 1{}", ours_too(metric))),
            [_, ..] if dialect => {
                ("dialect", format!("{name}{{state=~\"{}\"}} == 1{}", meant.join("|"), ours_too(metric)))
            }
            _ => ("never_matches", ours_instead(metric)),
        };
        if can {
            let message = self.one_of_each(&name);
            self.say(Level::Warning, "dialect", message, instead);
        } else {
            let message = format!("{name} is 0 to {greatest} in {}: this can never hold", self.release);
            self.say(Level::Error, id, message, instead);
        }
        true
    }

    /// True for a metric that had numbers for states in old releases, and has a label for them in this one.
    fn has_dialect(&self, metric: &Metric) -> bool {
        let labels = metric.labels(self.release);
        !metric.codes.is_empty() && labels.is_some_and(|labels| labels.contains("state"))
    }

    fn one_of_each(&self, name: &str) -> String {
        format!(
            "in {} {name} has a series for each state, one of them 1 and the others 0: without a state this is the same for every volume",
            self.release
        )
    }

    /// Two vectors whose series can never have the same labels.
    fn matching(&mut self, binary: &BinaryExpr) {
        let (Some(left), Some(right)) = (self.labels(&binary.lhs), self.labels(&binary.rhs)) else { return };
        let matching = binary.modifier.as_ref().and_then(|modifier| modifier.matching.as_ref());
        let one_only: Vec<&str> = match matching {
            Some(LabelModifier::Include(on)) => {
                let of =
                    |label: &&String| left.contains(*label) != right.contains(*label) && !is_of_target(label);
                on.labels.iter().filter(of).map(String::as_str).collect()
            }
            Some(LabelModifier::Exclude(ignored)) => {
                let differ =
                    left.symmetric_difference(&right).filter(|label| !ignored.labels.contains(label));
                differ.map(String::as_str).collect()
            }
            None => left.symmetric_difference(&right).map(String::as_str).collect(),
        };
        if one_only.is_empty() {
            return;
        }
        let shared: Vec<&str> =
            left.intersection(&right).map(String::as_str).filter(|label| !is_of_target(label)).collect();
        let instead = if shared.is_empty() { String::new() } else { format!("on ({})", shared.join(", ")) };
        let message = format!("the two sides can never match: only one of them has {}", listed(&one_only));
        self.say(Level::Error, "never_matches", message, instead);
    }

    /// The labels of an expression's series, where they are certain.
    fn labels(&self, expr: &Expr) -> Option<Labels> {
        match expr {
            Expr::Paren(paren) => self.labels(&paren.expr),
            Expr::Unary(unary) => self.labels(&unary.expr),
            Expr::Subquery(query) => self.labels(&query.expr),
            Expr::VectorSelector(selector) => self.of_selector(selector),
            Expr::MatrixSelector(selector) => self.of_selector(&selector.vs),
            Expr::Call(call) if call.func.name == "vector" => Some(Labels::new()),
            Expr::Call(call) if SAME_LABELS.contains(&call.func.name) => self.labels(call.args.args.first()?),
            Expr::Aggregate(aggregate) if aggregate.param.is_some() => None,
            Expr::Aggregate(aggregate) => match &aggregate.modifier {
                None => Some(Labels::new()),
                Some(LabelModifier::Include(by)) => {
                    let inner = self.labels(&aggregate.expr)?;
                    let there = |label: &&String| inner.contains(*label) || !LABELS.contains(label.as_str());
                    Some(by.labels.iter().filter(there).cloned().collect())
                }
                Some(LabelModifier::Exclude(without)) => {
                    let inner = self.labels(&aggregate.expr)?;
                    Some(inner.into_iter().filter(|label| !without.labels.contains(label)).collect())
                }
            },
            Expr::Binary(binary) => match (number(&binary.lhs), number(&binary.rhs)) {
                (None, Some(_)) => self.labels(&binary.lhs),
                (Some(_), None) => self.labels(&binary.rhs),
                _ => None,
            },
            _ => None,
        }
    }

    fn of_selector(&self, selector: &VectorSelector) -> Option<Labels> {
        let (_, metric) = self.known(selector)?;
        let labels = metric.labels(self.release)?;
        Some(labels.iter().chain(["instance", "job"].iter()).map(|label| (*label).to_owned()).collect())
    }
}

fn is_negative(matcher: &Matcher) -> bool {
    !matcher.value.is_empty() && matches!(matcher.op, MatchOp::NotEqual | MatchOp::NotRe(_))
}

/// `count(x) > 0` and the like ask whether there is any.
fn is_existence(binary: &BinaryExpr) -> bool {
    let counts = |expr: &Expr| match expr {
        Expr::Aggregate(aggregate) => matches!(aggregate.op.id(), token::T_COUNT | token::T_GROUP),
        _ => false,
    };
    let any = match (binary.op.id(), number(&binary.rhs)) {
        (token::T_GTR | token::T_NEQ | token::T_EQLC, Some(number)) => number == 0.0,
        (token::T_GTE | token::T_LSS, Some(number)) => number == 1.0,
        _ => false,
    };
    any && counts(&binary.lhs)
}

fn is_of_target(label: &str) -> bool {
    OF_TARGETS.contains(&label) || label.starts_with("exported_") || label.contains('$')
}

fn name_of(selector: &VectorSelector) -> Option<String> {
    let matched = |name: Matcher| (name.op == MatchOp::Equal).then_some(name.value);
    selector
        .name
        .clone()
        .or_else(|| selector.matchers.find_matchers("__name__").into_iter().find_map(matched))
}

/// A number, in brackets or with a sign.
fn number(expr: &Expr) -> Option<f64> {
    match expr {
        Expr::NumberLiteral(number) => Some(number.val),
        Expr::Paren(paren) => number(&paren.expr),
        Expr::Unary(unary) => number(&unary.expr).map(|number| -number),
        _ => None,
    }
}

/// The selector below what leaves samples as they are.
fn plain_selector(expr: &Expr) -> Option<&VectorSelector> {
    match expr {
        Expr::Paren(paren) => plain_selector(&paren.expr),
        Expr::VectorSelector(selector) => Some(selector),
        Expr::MatrixSelector(selector) => Some(&selector.vs),
        Expr::Call(call) if SAME_VALUES.contains(&call.func.name) => plain_selector(call.args.args.first()?),
        Expr::Aggregate(aggregate) if matches!(aggregate.op.id(), token::T_MAX | token::T_MIN) => {
            plain_selector(&aggregate.expr)
        }
        _ => None,
    }
}

fn ours_instead(metric: &Metric) -> String {
    match metric.ours.is_empty() {
        true => String::new(),
        false => format!("alert {} of this program", metric.ours.join(", ")),
    }
}

fn ours_too(metric: &Metric) -> String {
    if metric.ours.is_empty() { String::new() } else { format!("; or {}", ours_instead(metric)) }
}
