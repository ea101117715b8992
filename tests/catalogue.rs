//! What the declarations promise, over the whole catalogue.

use std::collections::{BTreeMap, BTreeSet};

use longhorn_health_exporter::check::{Gauge, GaugeKind, Severity};
use longhorn_health_exporter::checks;
use longhorn_health_exporter::generate::catalogue;
use longhorn_health_exporter::generate::promql::{Kind, selectors, tokens};

/// Labels that Prometheus, Kubernetes service discovery or a federation sets.
const FORBIDDEN: [&str; 9] =
    ["namespace", "pod", "container", "service", "endpoint", "job", "instance", "cluster", "type"];

fn gauges() -> BTreeMap<&'static str, &'static Gauge> {
    catalogue::areas().flat_map(|area| area.gauges).map(|gauge| (gauge.name, *gauge)).collect()
}

#[test]
fn families_are_named_as_prometheus_asks() {
    let number: usize = catalogue::areas().map(|area| area.gauges.len()).sum();
    assert_eq!(gauges().len(), number, "a name is declared twice");
    for gauge in gauges().values().filter(|gauge| gauge.name.starts_with("longhorn_health_")) {
        let is_counter = gauge.kind == GaugeKind::Counter;
        assert_eq!(gauge.name.ends_with("_total"), is_counter, "{}", gauge.name);
        for suffix in ["_count", "_sum", "_bucket", "_milliseconds", "_minutes", "_ms"] {
            assert!(!gauge.name.ends_with(suffix), "{}", gauge.name);
        }
        assert!(gauge.help.ends_with('.'), "{}: {}", gauge.name, gauge.help);
        for label in gauge.labels {
            assert!(!FORBIDDEN.contains(label), "{}: {label}", gauge.name);
        }
    }
}

#[test]
fn expressions_read_what_is_declared() {
    let gauges = gauges();
    let mut wrong = Vec::new();
    for area in catalogue::areas() {
        let alerts = area.alerts.iter().map(|alert| (alert.name, alert.expr));
        let panels = area.panels.iter().flat_map(|panel| panel.queries.iter().map(|q| (panel.title, q.expr)));
        for (owner, expr) in alerts.chain(panels) {
            for selector in selectors(expr).iter().filter(|selector| selector.metric.starts_with("longhorn_"))
            {
                let Some(gauge) = gauges.get(selector.metric.as_str()) else {
                    wrong.push(format!("{owner}: {} is not declared", selector.metric));
                    continue;
                };
                for (label, _, value) in &selector.matchers {
                    if !gauge.labels.contains(&label.as_str()) {
                        wrong.push(format!("{owner}: {} has no label {label}", gauge.name));
                    }
                    wrong.extend(unknown_value(selector, label, value).map(|why| format!("{owner}: {why}")));
                }
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

/// Values of labels whose values are a closed list.
fn unknown_value(
    selector: &longhorn_health_exporter::generate::promql::Selector,
    label: &str,
    value: &str,
) -> Option<String> {
    let is_finding = selector.metric.starts_with("longhorn_health_finding");
    let check = selector.matchers.iter().find(|(label, ..)| label == "check").map(|(.., check)| check);
    let known = |word: &str| match (label, check) {
        ("check", _) => checks::by_id(word).is_some(),
        ("severity", _) => Severity::ALL.iter().any(|severity| severity.as_str() == word),
        ("cause", Some(check)) if is_finding => checks::by_id(check).is_some_and(|c| c.cause(word).is_some()),
        _ => true,
    };
    let plain = value.split('|').filter(|word| !word.contains(['.', '$']));
    plain.into_iter().find(|word| !known(word)).map(|word| format!("no {label} is {word}"))
}

#[test]
fn alerts_are_named_and_worded_alike() {
    let mut names = BTreeSet::new();
    for alert in catalogue::alerts() {
        assert!(names.insert(alert.name), "{} twice", alert.name);
        assert!(alert.name.starts_with("Longhorn") && alert.name.len() <= 40, "{}", alert.name);
        assert!(alert.summary.starts_with(char::is_uppercase), "{}: {}", alert.name, alert.summary);
        assert!(alert.summary.ends_with('.') && !alert.summary.contains("{{"), "{}", alert.summary);
        let expr = tokens(alert.expr);
        let last: Vec<_> = expr.iter().rev().filter(|token| token.kind != Kind::Space).collect();
        // a number, or a threshold with its dollar
        let operator = last.iter().find(|token| token.kind == Kind::Sign && token.text != "$").unwrap();
        assert!(
            ["==", "!=", ">", "<", ">=", "<="].contains(&operator.text),
            "{}: {}",
            alert.name,
            alert.expr
        );
    }
    for taken in ["LonghornVolumeStatusCritical", "LonghornVolumeStatusWarning", "LonghornNodeDown"] {
        assert!(!names.contains(taken), "{taken} is one of Longhorn's sample rules");
    }
}

#[test]
fn causes_of_alerts_exist_and_panels_are_told_apart() {
    let mut titles = BTreeSet::new();
    for area in catalogue::areas() {
        let causes: BTreeSet<_> = area.causes.iter().map(|cause| cause.id).collect();
        assert_eq!(causes.len(), area.causes.len(), "{}: a cause twice", area.id);
        for alert in area.alerts {
            let unknown: Vec<_> = alert.causes.iter().filter(|cause| !causes.contains(*cause)).collect();
            assert!(unknown.is_empty(), "{}: {unknown:?}", alert.name);
        }
        for panel in area.panels {
            assert!(titles.insert((panel.dashboard, panel.title)), "{} twice", panel.title);
        }
    }
}
