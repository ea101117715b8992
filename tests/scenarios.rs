//! Every recorded cluster under tests/scenarios, judged whole: the JSON report and the exposition are
//! compared with golden files. `make golden` writes them; read the difference before committing it.

#[path = "support/scenario.rs"]
mod scenario;

use longhorn_health_exporter::check::Severity;

#[test]
fn reports_and_expositions_are_as_written_down() {
    let mut wrong = Vec::new();
    for path in scenario::all() {
        let json = serde_json::to_string_pretty(&scenario::judge(&path).report).unwrap() + "\n";
        let report = scenario::golden(&path.join("expected.json"), &json);
        let exposition = scenario::golden(&path.join("expected.prom"), &scenario::exposition(&path));
        if !(report && exposition) {
            wrong.push(scenario::name(&path).to_owned());
        }
    }
    assert!(wrong.is_empty(), "`make golden` writes them anew: {wrong:?}");
}

#[test]
fn healthy_stock_clusters_show_nothing_at_warning() {
    for path in scenario::all().iter().filter(|path| scenario::name(path).starts_with("healthy-")) {
        let report = scenario::judge(path).report;
        let bad: Vec<_> =
            report.findings.iter().filter(|finding| finding.severity >= Severity::Warning).collect();
        assert!(bad.is_empty(), "{}: {bad:#?}", scenario::name(path));
        assert!(report.unknown.is_empty(), "{}: {:?}", scenario::name(path), report.unknown);
    }
}
