//! Every recorded cluster under tests/scenarios and the demo, judged and compared with golden files.
//!
//! `make golden` writes them; read the difference before committing it. Every scenario has one compact
//! `expected.txt`: its findings, and how the series of the checks differ from those of a healthy cluster.
//! The demo and two scenarios also pin the whole report and every series that is not 0.

#[path = "support/scenario.rs"]
mod scenario;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use longhorn_health_exporter::exporter::GAUGES;
use longhorn_health_exporter::report::{Report, evaluate};

/// What the series of the others are compared with.
const HEALTHY: &str = "healthy-1.12";
/// Scenarios with the whole report and every series that is not 0.
const WHOLE: &[&str] = &[HEALTHY, "incident-003-backing-image-eviction-crash"];

#[test]
fn scenarios_are_judged_as_written_down() {
    let healthy = scenario::exposition(scenario::cluster(&scenario::root().join(HEALTHY)));
    let healthy = check_series(&healthy);
    let mut wrong = Vec::new();
    for path in scenario::all() {
        let name = scenario::name(&path);
        let report = evaluate(&scenario::cluster(&path)).report;
        let exposition = scenario::exposition(scenario::cluster(&path));
        let compact = findings(&report) + &difference(&healthy, &check_series(&exposition));
        let mut same = scenario::golden(&path.join("expected.txt"), &compact);
        let whole = WHOLE.contains(&name);
        if whole {
            same &= is_wholly_as_expected(&path, &report, &exposition);
        }
        same &= has_only(&path, if whole { &["json", "prom", "txt"] } else { &["txt"] });
        if !same {
            wrong.push(name.to_owned());
        }
    }
    assert!(wrong.is_empty(), "`make golden` rewrites them: {wrong:?}");
}

#[test]
fn the_demo_is_judged_as_written_down() {
    let cluster = scenario::demo();
    let report = evaluate(&cluster).report;
    let directory = scenario::root().join("demo");
    let same = is_wholly_as_expected(&directory, &report, &scenario::exposition(cluster));
    assert!(same & has_only(&directory, &["json", "prom"]), "`make golden` rewrites it");
}

fn is_wholly_as_expected(directory: &Path, report: &Report, exposition: &str) -> bool {
    let json = serde_json::to_string_pretty(report).unwrap() + "\n";
    // zeros and what is declared are the same in every cluster; tests/exposition.rs looks at the page's form
    let same = |line: &&str| {
        line.starts_with('#') || line.ends_with(" 0") || line.starts_with("longhorn_health_cause_info{")
    };
    let own = exposition.lines().filter(|line| !same(line)).map(|line| format!("{line}\n"));
    scenario::golden(&directory.join("expected.json"), &json)
        & scenario::golden(&directory.join("expected.prom"), &own.collect::<String>())
}

/// A golden file that no test reads would mislead.
fn has_only(directory: &Path, endings: &[&str]) -> bool {
    let mut clean = true;
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let Some(ending) = name.strip_prefix("expected.") else { continue };
        if !endings.contains(&ending) {
            if scenario::is_update() {
                std::fs::remove_file(&path).unwrap();
            } else {
                eprintln!("{} is read by no test", path.display());
                clean = false;
            }
        }
    }
    clean
}

/// The status, the data line and the findings; their evidence and remedies are in the whole reports.
fn findings(report: &Report) -> String {
    let mut text = format!("status: {}\ndata: {}\n", report.status.as_str(), report.data.line);
    for incident in &report.incidents {
        let _ = writeln!(text, "\n{} incident {}: {}", incident.severity, incident.cause, incident.title);
        for consequence in &incident.consequences {
            let places = consequence.nodes.join(", ");
            let on = if places.is_empty() { "" } else { " on " };
            let _ = writeln!(text, "  {}{on}{places}", consequence.text);
        }
    }
    for finding in &report.findings {
        let node = finding.node.as_ref().map(|node| format!(" on {node}")).unwrap_or_default();
        let (severity, object) = (finding.severity, &finding.object);
        let _ = writeln!(text, "\n{severity} {} {} {object}{node}", finding.check, finding.cause);
        let _ = writeln!(text, "  {}", finding.message);
        let volumes: Vec<_> = finding.volumes.iter().map(|volume| volume.name.as_str()).collect();
        if !volumes.is_empty() {
            let _ = writeln!(text, "  volumes: {}", volumes.join(", "));
        }
    }
    for fact in &report.facts {
        let _ = writeln!(text, "\nfact {} {}\n  {}", fact.check, fact.fact, fact.text);
    }
    for unknown in &report.unknown {
        let _ = writeln!(text, "\nunknown {}\n  {}", unknown.check, unknown.reason);
    }
    text
}

/// The samples of the checks' own series, by series; what the exporter adds for every finding and
/// every kind follows from the findings and the objects.
fn check_series(exposition: &str) -> BTreeMap<&str, &str> {
    let samples = exposition.lines().filter(|line| !line.starts_with('#'));
    let own = |series: &str| {
        let family = series.split('{').next().unwrap_or_default();
        !GAUGES.iter().any(|gauge| gauge.name == family)
    };
    samples.filter_map(|line| line.rsplit_once(' ')).filter(|(series, _)| own(series)).collect()
}

fn difference(healthy: &BTreeMap<&str, &str>, actual: &BTreeMap<&str, &str>) -> String {
    let mut text = format!("\nseries that differ from {HEALTHY}:\n");
    for (series, value) in actual.iter().filter(|(series, value)| healthy.get(*series) != Some(value)) {
        let _ = writeln!(text, "  {series} {value}");
    }
    for series in healthy.keys().filter(|series| !actual.contains_key(*series)) {
        let _ = writeln!(text, "  absent: {series}");
    }
    text
}
