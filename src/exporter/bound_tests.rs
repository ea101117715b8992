//! Where memory is bounded the worst findings are listed and all are counted.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::check::Severity;
use crate::cluster::Cluster;
use crate::exporter::Evaluator;
use crate::metrics::Format;
use crate::report::{Acceptance, MAX_IN_ALL, MAX_OF_CHECK, Report, ReportOptions, evaluate_with};
use crate::source::Fixed;
use crate::testing::evaluate;
use crate::testing::{MANAGER, cluster, cluster_at, time};

const NOW: &str = "2026-03-01T12:00:00Z";

/// A cluster in which these numbers of volumes are faulted and degraded.
fn hurt(faulted: usize, degraded: usize) -> Cluster {
    let volume = |number: usize, robustness: &str| {
        format!(
            "---\n{{apiVersion: longhorn.io/v1beta2, kind: Volume, metadata: {{name: {robustness}-{number}, \
             namespace: longhorn-system}}, status: {{state: attached, robustness: {robustness}}}}}\n"
        )
    };
    let volumes = (0..faulted).map(|number| volume(number, "faulted"));
    let volumes = volumes.chain((0..degraded).map(|number| volume(number, "degraded")));
    cluster(&(MANAGER.to_owned() + &volumes.collect::<String>()))
}

fn bounded(cluster: &Cluster, accepted: Vec<Acceptance>) -> Report {
    evaluate_with(
        &crate::checks::CATALOGUE,
        cluster,
        |_| true,
        &ReportOptions { bounded: true, accepted, ..ReportOptions::default() },
    )
    .report
}

fn counts(report: &Report) -> BTreeMap<Severity, usize> {
    Severity::ALL.into_iter().map(|severity| (severity, report.count(severity))).collect()
}

#[test]
fn too_many_findings_are_counted_and_the_worst_are_listed() {
    let cluster = hurt(MAX_OF_CHECK + 700, 900);
    let (all, some) = (evaluate(&cluster).report, bounded(&cluster, Vec::new()));
    assert_eq!(all.not_listed, []);
    assert!(all.findings.len() > MAX_OF_CHECK, "{:?}", counts(&all));
    assert_eq!(counts(&some), counts(&all));
    assert!(some.findings.len() <= MAX_IN_ALL);
    assert_eq!((some.status, some.exit_code), (all.status, all.exit_code));
    let faulted = some.findings.iter().filter(|finding| finding.check == "volume_faulted").count();
    assert_eq!(faulted, MAX_OF_CHECK);
    assert!(some.findings.is_sorted_by_key(|finding| std::cmp::Reverse(finding.severity)));
    let line = some.not_listed_line().unwrap();
    assert!(
        line.contains("more findings are counted but not listed (") && line.contains("volume_faulted/"),
        "{line}"
    );
}

#[test]
fn whose_data_is_hurt_is_counted_over_all_findings() {
    // Longhorn calls these volumes healthy: only findings say that they cannot be written
    let many = MAX_OF_CHECK + 200;
    let read_only = |number: usize| {
        format!(
            "---\n{{apiVersion: longhorn.io/v1beta2, kind: Volume, metadata: {{name: v-{number}, namespace: longhorn-system}}, \
             status: {{state: attached, robustness: healthy}}}}\n\
             ---\n{{apiVersion: longhorn.io/v1beta2, kind: Engine, metadata: {{name: v-{number}-e, namespace: longhorn-system}}, \
             spec: {{volumeName: v-{number}, active: true}}, status: {{currentState: running, conditions: [{{type: FilesystemReadOnly, \
             status: 'True', lastTransitionTime: '2026-03-01T11:00:00Z'}}]}}}}\n"
        )
    };
    let yaml = MANAGER.to_owned() + &(0..many).map(read_only).collect::<String>();
    let cluster = cluster_at(NOW, &yaml);
    let (all, some) = (evaluate(&cluster).report, bounded(&cluster, Vec::new()));
    assert!(some.findings.len() <= MAX_IN_ALL && all.findings.len() >= many);
    assert_eq!(some.data.line, all.data.line);
    assert!(some.data.line.starts_with(&format!("{many} volumes read-only: ")), "{}", some.data.line);
    assert_eq!(some.data.hurt.iter().map(|alike| alike.count).sum::<usize>(), many);
}

#[test]
fn what_is_accepted_is_accepted_listed_or_not() {
    let cluster = hurt(MAX_OF_CHECK + 50, 0);
    let accepted = vec![Acceptance::skip(&crate::checks::CATALOGUE, "volume_faulted").unwrap()];
    let report = bounded(&cluster, accepted);
    let faulted = |check: &str| check == "volume_faulted";
    assert!(!report.findings.iter().any(|finding| faulted(finding.check)));
    assert!(!report.counted_only().any(|some| faulted(some.check)));
    assert!(
        report
            .not_listed
            .iter()
            .any(|some| some.accepted && some.check == "volume_faulted" && some.count == 50)
    );
    assert_eq!(report.not_listed_line(), None);
}

#[test]
fn the_series_count_all_and_say_what_is_left_out() {
    let source = Arc::new(Fixed::new(hurt(MAX_OF_CHECK + 50, 0)));
    let page = Evaluator::new(&crate::checks::CATALOGUE, source, || time(NOW), false)
        .page(Format::Text, None)
        .unwrap();
    let value = |series: &str| page.lines().find_map(|line| line.strip_prefix(series)?.trim().parse().ok());
    let all = MAX_OF_CHECK as f64 + 50.0;
    assert_eq!(
        value("longhorn_health_check_findings{check=\"volume_faulted\",severity=\"critical\"}"),
        Some(all)
    );
    // 50 have no series, and of the others as many as there are beyond 500 none for their volume
    let cut = all - 500.0;
    assert_eq!(value("longhorn_health_exporter_truncated_findings{check=\"volume_faulted\"}"), Some(cut));
}
