//! Every recorded cluster under tests/scenarios, judged whole: the JSON report and the exposition are
//! compared with golden files. `make golden` writes them; read the difference before committing it.

#[path = "support/scenario.rs"]
mod scenario;

use longhorn_health_exporter::report::{Status, Verdict};

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

/// In JSON, table and metrics alike; CI asks this before every upgrade.
#[test]
fn healthy_stock_clusters_say_healthy() {
    let healthy: Vec<_> =
        scenario::all().into_iter().filter(|path| scenario::name(path).starts_with("healthy-")).collect();
    assert!(healthy.len() >= 11, "{healthy:?}");
    for path in healthy {
        let name = scenario::name(&path);
        let report = scenario::judge(&path).report;
        assert!(report.findings.is_empty(), "{name}: {:#?}", report.findings);
        assert!(report.unknown.is_empty(), "{name}: {:?}", report.unknown);
        assert_eq!((report.status, report.verdict, report.exit_code), (Status::Healthy, Verdict::Healthy, 0));
        let metrics = scenario::exposition(&path);
        assert!(metrics.contains("longhorn_health_status{status=\"healthy\"} 1\n"), "{name}: {metrics}");
        for (format, word) in [("table", "status: healthy"), ("junit", "name=\"status\" value=\"healthy\"")] {
            let output = std::process::Command::new(env!("CARGO_BIN_EXE_longhorn-health-exporter"))
                .args(["check", "-o", format, "--from"])
                .arg(path.join("cluster.yaml"))
                .output()
                .unwrap();
            let text = String::from_utf8(output.stdout).unwrap();
            assert_eq!(output.status.code(), Some(0), "{name}: {text}");
            assert!(text.contains(word), "{name}: {text}");
        }
    }
}
