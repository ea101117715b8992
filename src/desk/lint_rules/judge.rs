//! Judges one expression by its syntax tree.

use std::collections::BTreeSet;

use promql_parser::label::Matcher;
use promql_parser::parser::{
    AggregateExpr, BinaryExpr, Call, Expr, LabelModifier, VectorMatchCardinality, VectorSelector, token,
};

use super::forms::{is_existence, is_of_target, name_of, number, ours_instead, ours_too, plain_selector};
use super::{Level, Said};
use crate::facts::text::listed;
use crate::longhorn::Release;
use crate::longhorn_series::{LABELS, Metric};

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
    pub said: Vec<Said>,
    /// How many selectors asked for a metric that is there.
    pub asked: usize,
}

impl Judge<'_> {
    pub(super) fn say(&mut self, level: Level, id: &'static str, message: String, instead: String) {
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

    pub(super) fn known(&self, selector: &VectorSelector) -> Option<(String, &'static Metric)> {
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
                format!("{name} is a gauge, but {} counts every decrease as a counter reset", call.func.name);
            self.say(Level::Warning, "gauge", message, "delta or deriv".to_owned());
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
                    let message = format!(
                        "the expression aggregates by {label}, a label that its series lack in {}",
                        self.release
                    );
                    let there: Vec<&str> =
                        inner.iter().map(String::as_str).filter(|label| !is_of_target(label)).collect();
                    self.say(Level::Warning, "absent_label", message, format!("one of {}", listed(&there)));
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
            let message = format!("{name} is 0 if nothing is requested, so the quotient is +Inf");
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
            let message = format!("{name} ends when its manager goes down, and so does the alert");
            let instead = format!("add `or absent_over_time({name}[10m])`, or use {}", ours_instead(metric));
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

    /// True where a comparison with a number is reported: no sample meets it, or one of each volume does.
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
        // one on a label that is not there is reported by itself
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
            let message =
                format!("{name} is 0 to {greatest} in {}, so the comparison can never match", self.release);
            self.say(Level::Error, id, message, instead);
        }
        true
    }

    /// True for a metric that had numbers for states in old releases, and has a label for them in this one.
    pub(super) fn has_dialect(&self, metric: &Metric) -> bool {
        let labels = metric.labels(self.release);
        !metric.codes.is_empty() && labels.is_some_and(|labels| labels.contains("state"))
    }

    pub(super) fn one_of_each(&self, name: &str) -> String {
        format!(
            "{name} has one series per state in {}, so without a state the result is the same for every volume",
            self.release
        )
    }
}
