//! Every recorded cluster under tests/scenarios, judged whole: the JSON report and the exposition are
//! compared with golden files. `UPDATE_GOLDEN=1 cargo test --test scenarios` writes them; read the
//! difference before committing it.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use longhorn_health_exporter::check::Severity;
use longhorn_health_exporter::report::{Evaluation, evaluate};
use longhorn_health_exporter::source::Recording;

const NAMESPACE: &str = "longhorn-system";

fn scenarios() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios");
    let mut found: Vec<_> = std::fs::read_dir(root)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.join("cluster.yaml").exists())
        .collect();
    found.sort();
    assert!(found.len() >= 20, "only {} scenarios found", found.len());
    found
}

fn name(scenario: &Path) -> &str {
    scenario.file_name().unwrap().to_str().unwrap()
}

fn judge(scenario: &Path) -> Evaluation {
    let recording = Recording::read(scenario, NAMESPACE, Timestamp::MAX).unwrap();
    assert_eq!(recording.warnings, Vec::<String>::new(), "{}", name(scenario));
    evaluate(&recording.into_cluster(NAMESPACE, None))
}

/// Compares with a golden file, or writes it. Returns whether it was as expected.
fn golden(path: &Path, actual: &str) -> bool {
    let expected = std::fs::read_to_string(path).unwrap_or_default();
    if expected == actual {
        return true;
    }
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(path, actual).unwrap();
        return true;
    }
    let diff = similar::TextDiff::from_lines(&expected, actual);
    eprintln!("{}\n{}", path.display(), diff.unified_diff().header("expected", "actual"));
    false
}

#[test]
fn reports_are_as_written_down() {
    let mut wrong = Vec::new();
    for scenario in scenarios() {
        let report = judge(&scenario).report;
        let json = serde_json::to_string_pretty(&report).unwrap() + "\n";
        if !golden(&scenario.join("expected.json"), &json) {
            wrong.push(name(&scenario).to_owned());
        }
    }
    assert!(wrong.is_empty(), "UPDATE_GOLDEN=1 cargo test --test scenarios writes them anew: {wrong:?}");
}

#[test]
fn healthy_stock_clusters_show_nothing_at_warning() {
    for scenario in scenarios().iter().filter(|path| name(path).starts_with("healthy-")) {
        let report = judge(scenario).report;
        let bad: Vec<_> =
            report.findings.iter().filter(|finding| finding.severity >= Severity::Warning).collect();
        assert!(bad.is_empty(), "{}: {bad:#?}", name(scenario));
        assert!(report.unknown.is_empty(), "{}: {:?}", name(scenario), report.unknown);
    }
}
