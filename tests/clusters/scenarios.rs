//! Every recorded cluster under tests/scenarios and the demo, judged and compared with golden files.
//!
//! `make golden` writes them; read the difference before committing it. Every scenario has one compact
//! `expected.txt`: its findings, and how the series of the checks differ from those of a healthy cluster.
//! The demo, a healthy cluster and an incident also pin every series that is not 0, and the incident its whole report.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::{contradictions, headlines, scenario, unsaid};
use jiff::{SignedDuration, Timestamp};
use longhorn_health_exporter::check::{Finding, Severity, takes_away};
use longhorn_health_exporter::checks;
use longhorn_health_exporter::cluster::Cluster;
use longhorn_health_exporter::exporter::GAUGES;
use longhorn_health_exporter::report::Report;
use testing::evaluate;

/// What the series of the others are compared with.
const HEALTHY: &str = "healthy-1.12";
/// The scenario with the whole report.
const WHOLE: &str = "incident-003-backing-image-eviction-crash";

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
        let mut endings = vec!["txt"];
        if [HEALTHY, WHOLE].contains(&name) {
            same &= has_series(&path, &exposition);
            endings.push("prom");
        }
        if name == WHOLE {
            let json = serde_json::to_string_pretty(&report).unwrap() + "\n";
            same &= scenario::golden(&path.join("expected.json"), &json);
            endings.push("json");
        }
        same &= has_only(&path, &endings);
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
    let same = scenario::golden(&directory.join("expected.txt"), &findings(&report));
    let same = same & has_series(&directory, &scenario::exposition(cluster));
    assert!(same & has_only(&directory, &["txt", "prom"]), "`make golden` rewrites it");
}

#[test]
fn no_report_contradicts_itself_is_long_winded_or_leaves_a_decisive_word_unsaid() {
    let recorded =
        scenario::all().into_iter().map(|path| (scenario::name(&path).to_owned(), scenario::cluster(&path)));
    let mut wrong = Vec::new();
    for (name, cluster) in recorded.chain([("demo".to_owned(), scenario::demo())]) {
        let report = serde_json::to_value(evaluate(&cluster).report).unwrap();
        wrong.extend(contradictions::of(&report).into_iter().map(|pair| format!("{name}: {pair}")));
        wrong.extend(headlines::of(&report).into_iter().map(|headline| format!("{name}: {headline}")));
        wrong.extend(unsaid::of(&report).into_iter().map(|word| format!("{name}: {word}")));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_word_that_the_screen_leaves_out_is_seen() {
    let report = |evidence: &str, said: serde_json::Value| {
        serde_json::json!({
            "incidents": [{ "severity": "warning", "title": "no pod of it works", "fix": "Look.", "findings": [0] }],
            "findings": [{ "check": "c", "cause": "d", "evidence": [{ "source": "api", "text": evidence }], "said": said }],
        })
    };
    let pull = "container waits with ErrImagePull: rpc error: code = Unknown desc = no such host";
    assert_eq!(unsaid::of(&report(pull, serde_json::Value::Null)).len(), 1, "not marked");
    assert_eq!(
        unsaid::of(&report(pull, serde_json::json!({ "text": "no such host" }))).len(),
        1,
        "not shown"
    );
    assert!(unsaid::of(&report("0 of 3 pods ready", serde_json::Value::Null)).is_empty());
}

#[test]
fn a_long_headline_is_seen() {
    let words = |count: usize| "word ".repeat(count);
    assert!(!headlines::is_long(&words(14)) && headlines::is_long(&words(15)));
    assert!(!headlines::is_long(&"x".repeat(90)) && headlines::is_long(&"x".repeat(91)));
    assert!(!headlines::is_long("a: b") && headlines::is_long("a: b: c"));
}

#[test]
fn a_contradiction_is_seen() {
    let finding = |check: &str, cause: &str, volume: &str, impact: &str| {
        serde_json::json!({
            "check": check, "cause": cause, "message": "m", "impact": impact, "volumes": [{ "name": volume }],
        })
    };
    let pairs = |degraded: &str, impact: &str| {
        let read_only = finding("volume_read_only", "file_system_read_only", "a", "a can read, not write");
        let other = finding("volume_degraded", "not_rebuilding", degraded, impact);
        contradictions::of(&serde_json::json!({ "findings": [read_only, other] })).len()
    };
    assert_eq!(pairs("a", "a works, but the next failure leaves it without data"), 1);
    assert_eq!(pairs("a", "I/O continues, but nothing attaches"), 1);
    assert_eq!(pairs("a", "running I/O continues, but nothing attaches"), 0);
    assert_eq!(pairs("b", "b works, but the next failure leaves it without data"), 0);
}

fn has_series(directory: &Path, exposition: &str) -> bool {
    // zeros and what is declared are the same in every cluster; tests/suite/exposition.rs looks at the page's form
    let same = |line: &&str| {
        line.starts_with('#') || line.ends_with(" 0") || line.starts_with("longhorn_health_cause_info{")
    };
    let own = exposition.lines().filter(|line| !same(line)).map(|line| format!("{line}\n"));
    scenario::golden(&directory.join("expected.prom"), &own.collect::<String>())
}

/// The rule of docs/stability.md for 0 and absence, over the page of every recorded cluster.
#[test]
fn a_series_is_zero_or_absent_by_one_rule() {
    let clusters =
        || scenario::all().into_iter().map(|path| scenario::cluster(&path)).chain([scenario::demo()]);
    let (mut states, mut wrong) = (BTreeMap::<String, BTreeSet<String>>::new(), BTreeSet::new());
    for page in clusters().map(scenario::exposition) {
        let counters: BTreeSet<&str> =
            page.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.strip_suffix(" counter")).collect();
        let mut by_state = BTreeMap::<&str, BTreeSet<&str>>::new();
        for line in page.lines().filter(|line| !line.starts_with('#')) {
            let (series, value) = line.rsplit_once(' ').unwrap();
            let (family, labels) = series.split_once('{').unwrap_or((series, ""));
            // what always has the same few values
            let of_states =
                labels.split(',').all(|label| STATES_OF_ALL.contains(&label.split('=').next().unwrap()));
            if of_states {
                by_state.entry(family).or_default().insert(labels);
            } else if value == "0"
                && !labels.is_empty()
                && !counters.contains(family)
                && !MEASURES.contains(&family)
            {
                wrong.insert(format!("{series} is 0: it should be absent"));
            }
        }
        for (family, found) in by_state {
            let found: BTreeSet<String> = found.into_iter().map(str::to_owned).collect();
            let before = states.entry(family.to_owned()).or_insert_with(|| found.clone());
            if *before != found {
                wrong.insert(format!("{family}: {before:?} in one cluster, {found:?} in another"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(states.len() >= 8, "{:?}", states.keys());
}

/// docs/stability.md promises it.
#[test]
fn the_least_to_keep_is_fewer_than_twenty_series() {
    let document = std::fs::read_to_string("docs/stability.md").unwrap();
    let kept = document.split_once("regex: ").and_then(|(_, rest)| rest.lines().next()).unwrap();
    let kept = regex::Regex::new(&format!("^(?:{kept})[{{ ]")).unwrap();
    let page = scenario::exposition(scenario::cluster(&scenario::root().join(HEALTHY)));
    let number = page.lines().filter(|line| kept.is_match(line)).count();
    assert!((10..20).contains(&number), "{number}");
    for answer in ["status", "incident_info", "volume_faulted", "volume_last_copy"] {
        let page = scenario::exposition(scenario::demo());
        let series = format!("longhorn_health_{answer}{{");
        assert!(page.lines().any(|line| line.starts_with(&series) && kept.is_match(line)), "{answer}");
    }
}

/// Labels by which all objects of a kind are counted.
const STATES_OF_ALL: [&str; 4] = ["state", "status", "robustness", "nodes"];
/// What is measured of something that exists, and counts that are complete by another label.
const MEASURES: [&str; 7] = [
    "longhorn_health_incidents",
    "longhorn_health_eviction_remaining_replicas",
    "longhorn_health_eviction_remaining_backing_image_copies",
    "longhorn_health_instance_manager_max_instances",
    "longhorn_health_volumes_at_risk_bytes",
    "longhorn_health_webhook_ready_endpoints",
    "longhorn_health_webhook_configuration_present",
];

/// Label values reach people through alerts and tables.
#[test]
fn no_label_value_has_a_name_that_no_one_filled_in() {
    let recorded =
        scenario::all().into_iter().map(|path| (scenario::name(&path).to_owned(), scenario::cluster(&path)));
    for (name, cluster) in recorded.chain([("demo".to_owned(), scenario::demo())]) {
        let page = scenario::exposition(cluster);
        let holed: Vec<&str> = page
            .lines()
            .filter(|line| !line.starts_with('#') && !scenario::names_in_capitals(line).is_empty())
            .collect();
        assert!(holed.is_empty(), "{name}: {holed:#?}");
    }
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

/// The same objects as a live cluster that was not watched before.
fn live(recorded: &Cluster, started: Timestamp, now: Timestamp) -> Cluster {
    let mut history = recorded.history.clone();
    history.started = Some(started);
    let (objects, resources) = (recorded.objects.clone(), recorded.resources.clone());
    Cluster::new(recorded.namespace.clone(), now, objects, history, resources)
}

/// What an exporter says at each of these moments, in seconds from that of the recording, that watches unchanged objects.
fn watched(recorded: &Cluster, looks: &[i64]) -> Vec<Report> {
    let at = |seconds: i64| recorded.now + SignedDuration::from_secs(seconds);
    let mut history = live(recorded, at(looks[0]), at(looks[0])).history;
    let look = |seconds: &i64| {
        let mut cluster = live(recorded, at(looks[0]), at(*seconds));
        cluster.history = history.clone();
        let evaluation = evaluate(&cluster);
        history.keep_observed(evaluation.observed, &evaluation.blind, at(*seconds));
        evaluation.report
    };
    looks.iter().map(look).collect()
}

/// Findings by what they are about, with their severity and evidence.
type Told = BTreeMap<(&'static str, &'static str, String), (Severity, String)>;

fn told(report: &Report) -> Told {
    let one = |finding: &Finding| {
        let place = [finding.node.as_deref(), finding.disk.as_deref()].map(Option::unwrap_or_default);
        let evidence: Vec<_> = finding.evidence().iter().map(|evidence| evidence.text.as_str()).collect();
        let key = (finding.check, finding.cause.id, format!("{} {}", finding.object, place.join(" ")));
        (key, (finding.severity, evidence.join("; ")))
    };
    report.findings.iter().map(one).collect()
}

fn clusters() -> Vec<(String, Cluster)> {
    let one = |path: PathBuf| (scenario::name(&path).to_owned(), scenario::cluster(&path));
    scenario::all().into_iter().map(one).chain([("demo".to_owned(), scenario::demo())]).collect()
}

/// What a single look says of what time has to tell.
const NOT_DATED: [&str; 2] =
    ["the start time is unknown (no object records it)", "the previous pod's end was not observed"];

#[test]
fn one_look_a_recording_and_a_long_watch_differ_only_in_what_time_has_to_tell() {
    const LOOKS: [i64; 12] =
        [-108_000, -72_000, -36_000, -18_000, -7_200, -3_600, -1_800, -600, -300, -60, -10, 0];
    let (mut wrong, mut time_told) = (Vec::new(), 0);
    for (name, recorded) in clusters() {
        let mut once = live(&recorded, recorded.now, recorded.now);
        once.one_look = true;
        let once = evaluate(&once).report;
        let (single, recording) = (told(&once), told(&evaluate(&recorded).report));
        for key in single.keys().chain(recording.keys()).collect::<BTreeSet<_>>() {
            let (one, other) = (single.get(key), recording.get(key));
            if one.map(|one| one.0) != other.map(|other| other.0) {
                wrong.push(format!("{name}: {key:?}\n  single look: {one:?}\n  recording: {other:?}"));
            }
        }
        let watch = told(watched(&recorded, &LOOKS).last().unwrap());
        for key in single.keys().chain(watch.keys()).collect::<BTreeSet<_>>() {
            let (one, long) = (single.get(key), watch.get(key));
            let (check, _, object) = key;
            let waits = || {
                let mut of = once.time_tells.iter().filter(|waits| waits.check == *check);
                of.any(|waits| waits.objects.iter().any(|named| object.contains(named)))
            };
            let undated = one.is_some_and(|(_, said)| NOT_DATED.iter().any(|text| said.contains(text)));
            if one.map(|one| one.0) == long.map(|long| long.0) {
                continue;
            }
            time_told += 1;
            if !undated && !waits() {
                wrong.push(format!("{name}: {key:?}\n  single look: {one:?}\n  long watch: {long:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(time_told >= 4, "only {time_told} differences: does any scenario hold what time has to tell?");
}

#[test]
fn nothing_is_shown_at_a_start_and_then_dropped() {
    for (name, recorded) in clusters() {
        let reports = watched(&recorded, &[0, 3, 10, 30, 59, 61, 120]);
        for two in reports.windows(2) {
            let (before, after) = (told(&two[0]), told(&two[1]));
            let dropped = before.iter().filter(|(key, (severity, _))| {
                *severity > Severity::Info && after.get(*key).is_none_or(|(now, _)| now < severity)
            });
            let dropped: Vec<_> = dropped.collect();
            assert!(dropped.is_empty(), "{name} at {:?}: {dropped:#?}", two[1].cluster.now);
        }
    }
}

#[test]
fn what_takes_something_away_says_what_is_proven_before() {
    let (mut wrong, mut seen) = (BTreeSet::new(), 0);
    for (name, cluster) in clusters() {
        for finding in evaluate(&cluster).report.findings {
            let commands = finding.remedy.commands.iter().filter(|command| command.changes);
            for command in commands.filter(|command| takes_away(&command.run)) {
                seen += 1;
                if finding.proven().is_empty() {
                    wrong.insert(format!("{name}: {}/{}: {}", finding.check, finding.cause.id, command.run));
                }
            }
        }
    }
    assert!(seen > 10, "only {seen} such commands");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// An alert that pages at night about what the screen calls a warning makes people distrust both.
#[test]
fn an_alert_is_as_severe_as_the_finding_that_it_tells_of() {
    let mut wrong = BTreeSet::new();
    for (name, cluster) in clusters() {
        for finding in evaluate(&cluster).report.findings {
            let check = checks::CATALOGUE.by_id(finding.check).unwrap();
            let Some(alert) = check.alert_of(finding.cause) else { continue };
            // below its level an alert does not fire at all
            let fires = alert.only.is_none_or(|only| only == finding.severity);
            let told = finding.severity > Severity::Info && fires && !alert.as_found;
            if told && finding.severity != alert.severity() {
                let (is, of) = (finding.severity, &finding.cause.id);
                wrong.insert(format!(
                    "{name}: {}/{of} is {is}, {} is {}",
                    check.id, alert.name, alert.severity
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
