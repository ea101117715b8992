//! The page of metrics as a whole: what promtool checks, and what promtool does not see.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::Arc;

use jiff::Timestamp;
use longhorn_health_exporter::check::GaugeKind;
use longhorn_health_exporter::checks;
use longhorn_health_exporter::exporter::{Evaluator, GAUGES};
use longhorn_health_exporter::metrics::Format;
use longhorn_health_exporter::source::demo::Demo;

fn now() -> Timestamp {
    "2026-01-01T12:00:00Z".parse().unwrap()
}

fn demo_evaluator(self_metrics: bool) -> Evaluator {
    Evaluator::new(
        &longhorn_health_exporter::checks::CATALOGUE,
        Arc::new(Demo::new(now()).unwrap()),
        now,
        self_metrics,
    )
}

/// Families of a text page, in order, each with its lines of samples. Fails on interleaving.
fn families(page: &str) -> Vec<(String, Vec<String>)> {
    let mut families: Vec<(String, Vec<String>)> = Vec::new();
    let mut names = BTreeSet::new();
    for line in page.lines() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let name = help.split(' ').next().unwrap().to_owned();
            assert!(names.insert(name.clone()), "{name} begins twice");
            families.push((name, Vec::new()));
        } else if !line.starts_with('#') {
            let (name, samples) = families.last_mut().expect("a sample before the first family");
            let own = line.split(['{', ' ']).next().unwrap();
            // OpenMetrics names counters without their ending
            assert!(own == name || own.strip_suffix("_total") == Some(name), "{own} stands under {name}");
            samples.push(line.to_owned());
        }
    }
    families
}

#[test]
fn no_series_is_given_twice_none_is_nan_and_no_family_is_empty() {
    let evaluator = demo_evaluator(true);
    for format in [Format::Text, Format::OpenMetrics] {
        let page = evaluator.page(format, None).unwrap();
        let mut series = BTreeSet::new();
        for (name, samples) in families(&page) {
            assert!(!samples.is_empty(), "{name} is empty");
            for sample in samples {
                let (labels, value) = sample.rsplit_once(' ').unwrap();
                assert!(series.insert(labels.to_owned()), "{labels} is given twice");
                assert!(value.parse::<f64>().is_ok_and(f64::is_finite), "{sample}");
            }
        }
    }
}

#[test]
fn the_same_moment_gives_the_same_page_to_the_byte() {
    for format in [Format::Text, Format::OpenMetrics] {
        let evaluator = demo_evaluator(false);
        let page = evaluator.page(format, None).unwrap();
        assert_eq!(page, evaluator.page(format, None).unwrap());
        assert_eq!(page, demo_evaluator(false).page(format, None).unwrap());
    }
}

#[test]
fn both_formats_say_the_same() {
    let evaluator = demo_evaluator(false);
    let values = |format| {
        let page = evaluator.page(format, None).unwrap();
        page.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(values(Format::Text), values(Format::OpenMetrics));
}

#[test]
fn what_must_always_be_there_is_there_and_in_declared_order() {
    let page = demo_evaluator(true).page(Format::Text, None).unwrap();
    let families: Vec<_> = families(&page).into_iter().map(|(name, _)| name).collect();
    let declared: Vec<_> = checks::CATALOGUE
        .checks
        .iter()
        .flat_map(|check| check.gauges.iter().copied())
        .chain(GAUGES.iter().copied())
        .collect();
    let order: BTreeMap<_, _> =
        declared.iter().enumerate().map(|(index, gauge)| (gauge.name, index)).collect();
    let indexes: Vec<_> = families
        .iter()
        .map(|name| *order.get(name.as_str()).unwrap_or_else(|| panic!("{name} is not declared")))
        .collect();
    assert!(indexes.is_sorted(), "{families:?}");
    for name in [
        "longhorn_health_check_findings",
        "longhorn_health_finding",
        "longhorn_health_finding_volume",
        "longhorn_health_checks",
        "longhorn_health_release_info",
        "longhorn_health_volumes",
        "longhorn_health_instance_managers",
        "longhorn_health_exporter_resource_unreadable",
        "longhorn_health_exporter_objects",
        "longhorn_health_exporter_build_info",
        "longhorn_health_exporter_last_evaluation_duration_seconds",
    ] {
        assert!(families.iter().any(|family| family == name), "{name} is missing");
    }
}

/// What users get from a monitoring system's own labels must not be ours.
#[test]
fn declarations_keep_the_conventions() {
    let target = [
        "namespace", "pod", "container", "service", "endpoint", "job", "instance", "cluster", "type", "uid",
        "ip", "message", "image",
    ];
    for gauge in GAUGES {
        assert_eq!(gauge.name.ends_with("_total"), gauge.kind == GaugeKind::Counter, "{}", gauge.name);
        assert!(gauge.help.ends_with('.') && !gauge.help.contains('\n'), "{}", gauge.name);
        assert!(!gauge.labels.iter().any(|label| target.contains(label)), "{}", gauge.name);
        assert!(
            gauge.name.starts_with("longhorn_health_") || gauge.name.starts_with("process_"),
            "{}",
            gauge.name
        );
    }
}

#[test]
fn promtool_finds_nothing_to_complain_about() {
    let page = demo_evaluator(true).page(Format::Text, None).unwrap();
    let spawned = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let mut promtool = match spawned {
        Ok(promtool) => promtool,
        Err(error) => {
            assert!(
                std::env::var("LHE_PROMTOOL").as_deref() != Ok("required"),
                "promtool is required: {error}"
            );
            eprintln!("=== promtool is missing ({error}): the page of metrics was NOT checked with it ===");
            return;
        }
    };
    promtool.stdin.take().unwrap().write_all(page.as_bytes()).unwrap();
    let output = promtool.wait_with_output().unwrap();
    let said =
        String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.trim().is_empty(), "{said}");
}
