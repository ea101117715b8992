//! What the declarations promise, over the whole catalogue.

use crate::promql;
#[path = "catalogue/sources.rs"]
mod sources;

use std::collections::{BTreeMap, BTreeSet};

use longhorn_health_exporter::check::{Bound, Gauge, GaugeKind, Severity};
use longhorn_health_exporter::checks;
use longhorn_health_exporter::cli::DECLARED;
use longhorn_health_exporter::generate::expr;
use promql::{Kind, selectors, tokens};

/// Labels that Prometheus, Kubernetes service discovery or a federation sets.
const FORBIDDEN: [&str; 9] =
    ["namespace", "pod", "container", "service", "endpoint", "job", "instance", "cluster", "type"];

/// Words in names that stand for units beside seconds, bytes, ratios and cores.
const NO_BASE_UNITS: [&str; 26] = [
    "ms", "millis", "milliseconds", "us", "microseconds", "ns", "nanoseconds", "minutes", "mins", "hours",
    "days", "weeks", "bits", "kilobytes", "kb", "kib", "megabytes", "mb", "mib", "gigabytes", "gb", "gib",
    "millicores", "percent", "percentage", "pct",
];

/// The alerts of Longhorn's sample rules (longhorn/website content/docs/1.12.1/monitoring/alert-rules-example.md).
const OF_LONGHORN: [&str; 8] = [
    "LonghornVolumeActualSpaceUsedWarning", "LonghornVolumeStatusCritical", "LonghornVolumeStatusWarning",
    "LonghornNodeStorageWarning", "LonghornDiskStorageWarning", "LonghornNodeDown",
    "LonghornInstanceManagerCPUUsageWarning", "LonghornNodeCPUUsageWarning",
];

fn is_snake_case(word: &str) -> bool {
    let is_part =
        |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    word.starts_with(|c: char| c.is_ascii_lowercase()) && word.split('_').all(is_part)
}

#[test]
fn ids_causes_and_labels_are_snake_case() {
    for area in DECLARED.areas().filter(|area| area.id != "exporter") {
        assert!(is_snake_case(area.id), "{}", area.id);
        let causes = area.causes.iter().map(|cause| cause.id);
        let labels = area.gauges.iter().flat_map(|gauge| gauge.labels.iter().copied());
        let thresholds =
            area.alerts.iter().flat_map(|alert| alert.thresholds).map(|threshold| threshold.name);
        for word in causes.chain(labels).chain(thresholds) {
            assert!(is_snake_case(word), "{}: {word}", area.id);
        }
    }
    for wrong in ["", "a-b", "aB", "a__b", "_a", "a_", "1a", "a b"] {
        assert!(!is_snake_case(wrong), "{wrong}");
    }
}

fn gauges() -> BTreeMap<&'static str, &'static Gauge> {
    DECLARED.areas().flat_map(|area| area.gauges).map(|gauge| (gauge.name, *gauge)).collect()
}

#[test]
fn families_are_named_as_prometheus_asks() {
    let number: usize = DECLARED.areas().map(|area| area.gauges.len()).sum();
    assert_eq!(gauges().len(), number, "a name is declared twice");
    for gauge in gauges().values().filter(|gauge| gauge.name.starts_with("longhorn_health_")) {
        let is_counter = gauge.kind == GaugeKind::Counter;
        assert_eq!(gauge.name.ends_with("_total"), is_counter, "{}", gauge.name);
        for suffix in ["_count", "_sum", "_bucket"] {
            assert!(!gauge.name.ends_with(suffix), "{}", gauge.name);
        }
        // base units, and a moment says that it is one
        let mut words = gauge.name.split('_');
        assert!(words.all(|word| !NO_BASE_UNITS.contains(&word)), "{}", gauge.name);
        let is_moment = ["Unix time", "since the epoch"].iter().any(|words| gauge.help.contains(words));
        let is_named = gauge.name.ends_with("_timestamp_seconds");
        assert!(is_named || !(is_moment || gauge.name.contains("timestamp")), "{}", gauge.name);
        assert!(gauge.help.ends_with('.'), "{}: {}", gauge.name, gauge.help);
        for label in &gauge.labels {
            assert!(!FORBIDDEN.contains(label), "{}: {label}", gauge.name);
        }
    }
}

#[test]
fn expressions_read_what_is_declared() {
    let gauges = gauges();
    let mut wrong = Vec::new();
    for area in DECLARED.areas() {
        let alerts = area.alerts.iter().map(|alert| (alert.name, expr(area, alert)));
        let panels =
            area.panels.iter().flat_map(|panel| panel.queries().map(|q| (panel.title, q.expr.into_owned())));
        let records = area.records.iter().map(|record| (record.name, record.expr.to_owned()));
        for (owner, expr) in alerts.chain(panels).chain(records) {
            let selectors = selectors(&expr);
            let records = selectors.iter().filter(|selector| selector.metric.contains(':'));
            wrong.extend(
                records
                    .filter(|selector| DECLARED.record(&selector.metric).is_none())
                    .map(|selector| format!("{owner}: {} is not declared", selector.metric)),
            );
            for selector in selectors.iter().filter(|selector| selector.metric.starts_with("longhorn_")) {
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
fn unknown_value(selector: &promql::Selector, label: &str, value: &str) -> Option<String> {
    let is_finding = selector.metric.starts_with("longhorn_health_finding");
    let check = selector.matchers.iter().find(|(label, ..)| label == "check").map(|(.., check)| check);
    let known = |word: &str| match (label, check) {
        ("check", _) => checks::CATALOGUE.by_id(word).is_some(),
        ("severity", _) => Severity::ALL.iter().any(|severity| severity.as_str() == word),
        ("cause", Some(check)) if is_finding => {
            checks::CATALOGUE.by_id(check).is_some_and(|c| c.cause(word).is_some())
        }
        _ => true,
    };
    let plain = value.split('|').filter(|word| !word.contains(['.', '$']));
    plain.into_iter().find(|word| !known(word)).map(|word| format!("no {label} is {word}"))
}

#[test]
fn alerts_are_named_and_worded_alike() {
    let mut names = BTreeSet::new();
    for (area, alert) in DECLARED.areas().flat_map(|area| area.alerts.iter().map(move |alert| (area, alert)))
    {
        assert!(names.insert(alert.name), "{} twice", alert.name);
        assert!(alert.name.starts_with("Longhorn") && alert.name.len() <= 40, "{}", alert.name);
        assert!(alert.summary.starts_with(char::is_uppercase), "{}: {}", alert.name, alert.summary);
        assert!(alert.summary.ends_with('.') && !alert.summary.contains("{{"), "{}", alert.summary);
        let text = expr(area, alert);
        let expr = tokens(&text);
        let last: Vec<_> = expr.iter().rev().filter(|token| token.kind != Kind::Space).collect();
        // a number, or a threshold with its dollar
        let operator = last.iter().find(|token| token.kind == Kind::Sign && token.text != "$").unwrap();
        assert!(["==", "!=", ">", "<", ">=", "<="].contains(&operator.text), "{}: {}", alert.name, text);
    }
    for taken in OF_LONGHORN {
        assert!(!names.contains(taken), "{taken} is one of Longhorn's sample rules");
    }
}

/// The rule of the other severity begins its wait when the severity changes.
#[test]
fn a_change_of_severity_does_not_look_like_an_end() {
    let minutes = |text: &str| text.trim_end_matches(['m', 'h']).parse::<u32>().unwrap_or(0);
    let as_found: Vec<_> = DECLARED.alerts().filter(|alert| alert.as_found).collect();
    assert!(as_found.len() >= 5, "{}", as_found.len());
    for alert in as_found {
        assert!(alert.for_.ends_with('m'), "{}", alert.name);
        assert!(minutes(alert.keep_firing_for) >= minutes(alert.for_), "{}", alert.name);
    }
}

#[test]
fn causes_and_panels_are_told_apart() {
    let mut titles = BTreeSet::new();
    for area in DECLARED.areas() {
        let causes: BTreeSet<_> = area.causes.iter().map(|cause| cause.id).collect();
        assert_eq!(causes.len(), area.causes.len(), "{}: a cause twice", area.id);
        for panel in area.panels {
            assert!(titles.insert((panel.dashboard, panel.title)), "{} twice", panel.title);
        }
    }
}

/// `level:metric:operations`: the labels that are left, a declared family without `_total`, the
/// operations with the last one first.
#[test]
fn records_are_named_after_what_they_compute() {
    let gauges = gauges();
    for area in DECLARED.areas() {
        for record in area.records {
            let [level, metric, operations] = record.name.split(':').collect::<Vec<_>>()[..] else {
                panic!("{}", record.name)
            };
            assert_eq!(level, record.labels.join("_"), "{}", record.name);
            let [selector] = &selectors(record.expr)[..] else { panic!("{}", record.expr) };
            assert_eq!(metric, selector.metric.trim_end_matches("_total"), "{}", record.name);
            let Some(gauge) = gauges.get(selector.metric.as_str()) else { panic!("{}", selector.metric) };
            assert_eq!(record.labels, &gauge.labels, "{} drops labels", record.name);
            let expr = tokens(record.expr);
            let window = expr.iter().find(|token| token.kind == Kind::Number).map_or("", |token| token.text);
            let mut computed: Vec<_> = ["max", "min", "sum", "increase", "rate"]
                .into_iter()
                .filter(|operation| expr.iter().any(|token| token.text == *operation))
                .map(str::to_owned)
                .collect();
            if let Some(inner) = computed.last_mut() {
                inner.push_str(window);
            }
            assert_eq!(operations, computed.join("_"), "{}", record.name);
            assert!(record.help.ends_with('.'), "{}", record.help);
        }
    }
}

/// A number that an alert compares and a panel draws has one name, and a record is there for both. Facts
/// (`== 1`) are the series themselves.
#[test]
fn what_alert_and_panel_share_is_recorded() {
    for area in DECLARED.areas() {
        let drawn = |text: &str| {
            area.panels.iter().any(|panel| panel.queries().any(|query| query.expr.contains(text)))
        };
        let asked = |text: &str| area.alerts.iter().any(|alert| expr(area, alert).contains(text));
        for record in area.records {
            let selected = format!("({}{{$job}})", record.name);
            let queries = area.panels.iter().flat_map(|panel| panel.queries()).map(|query| query.expr);
            for expr in queries.filter(|expr| expr.contains(record.name)) {
                // the generator puts `or` and the expression behind the selector
                assert!(expr.contains(&selected), "{expr} should aggregate {selected}");
            }
            assert!(asked(record.name) && drawn(record.name), "{} is not shared", record.name);
            assert!(!asked(record.expr) && !drawn(record.expr), "{} is written twice", record.name);
        }
        for alert in area.alerts.iter().filter(|alert| !expr(area, alert).ends_with("== 1")) {
            let expr = expr(area, alert);
            let compared = expr.rsplit_once(['<', '>', '=']).map_or("", |(left, _)| left);
            let compared = compared.trim_end_matches(['<', '>', '=', '!', ' ']);
            let is_shared = DECLARED.records_in(compared).is_empty() && drawn(compared);
            assert!(!is_shared, "{}: a panel draws the same expression; record it", alert.name);
        }
    }
}

#[test]
fn colours_begin_at_thresholds_that_exist() {
    for panel in DECLARED.areas().flat_map(|area| area.panels) {
        for step in panel.steps {
            if let Bound::Threshold { alert, threshold } = step.from {
                let alert = DECLARED.alerts().find(|known| known.name == alert);
                let known = alert
                    .is_some_and(|alert| alert.thresholds.iter().any(|known| known.name == threshold.name));
                assert!(known, "{}: {}", panel.title, threshold.name);
            }
        }
    }
}

/// Advice in words that takes something away names what is proven before, as commands do.
#[test]
fn words_that_take_something_away_say_what_is_proven_before() {
    const NOT_ADVISED: &[(&str, &str)] = &[
        ("csi_plugin_down/controller_down", "up again, to the replicas it had"),
        ("csi_plugin_down/managers_deleted", "not to"),
        ("disk_unavailable/no_node_ready", "not to"),
        ("disk_unavailable/node_network_down", "not to"),
        ("engine_image_unavailable/missing_on_node", "not to"),
        ("eviction_inconsistent/manager_stale", "what to check before"),
        ("instance_manager_down/node_down", "not to"),
        ("instance_manager_down/pod_rejected", "not to"),
        ("known_bad_release/issue_11169", "leftover objects of support bundles hold nothing of volumes"),
        ("known_bad_release/issue_13245", "how fast, where someone deletes backups anyway"),
        ("known_bad_release/issue_6998", "not to"),
        ("known_bad_release/issue_9464", "what newer releases do on their own"),
        ("left_behind/detach_stuck", "not to"),
        ("left_behind/replicas_piled_up", "not before the reason is known; then Longhorn does it"),
        ("left_behind/without_volume", "not to"),
        ("manager_crash_loop/api_unreachable", "that it does not help"),
        ("manager_crash_loop/webhook_service_unreachable", "that it does not help"),
        ("manager_start_stuck/api_unreachable", "that it does not help"),
        ("manager_start_stuck/unknown", "that it does not help"),
        ("manager_start_stuck/webhook_service_unreachable", "that it does not help"),
        ("operation_stalled/backing_image_failed", "not to"),
        ("operation_stalled/expansion_failed", "not to"),
        ("version_skew/upgrade_refused", "not to"),
        ("volume_degraded/not_rebuilding", "not to"),
        ("volume_degraded/rebuild_looping", "not to"),
        ("volume_degraded/rebuild_stalled", "not to"),
        ("volume_faulted/never_up", "not to"),
        ("webhook_unavailable/calls_fail", "not to"),
        ("webhook_unavailable/no_ready_endpoint", "not to"),
        ("webhook_unavailable/not_listed", "that it does not help"),
        ("webhook_unavailable/rollout", "that it does not help"),
    ];
    let words =
        regex::Regex::new(r"\b([Dd]elete|[Dd]eleting|[Ss]alvage|[Ss]cale|by force)\b|[Rr]estore .*backup")
            .unwrap();
    let mut missing = BTreeSet::new();
    for check in checks::CATALOGUE.checks {
        for cause in check.causes.iter().filter(|cause| cause.proven.is_empty()) {
            let ways = check.ways(cause).filter(|way| way.proven.is_empty()).map(|way| way.fix);
            if ways.chain([cause.fix]).any(|fix| words.is_match(fix)) {
                missing.insert(format!("{}/{}", check.id, cause.id));
            }
        }
    }
    let told: BTreeSet<String> = NOT_ADVISED.iter().map(|(cause, _)| (*cause).to_owned()).collect();
    assert_eq!(missing, told);
}
