//! What `check` says of the recorded clusters: healthy ones are healthy in every output, each failure of the data is
//! named with its cause and its claims, and every cause is recorded somewhere.

use crate::scenario;

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use longhorn_health_exporter::check::Severity;
use longhorn_health_exporter::checks;
use longhorn_health_exporter::report::{Report, Status};
use testing::evaluate;

const PROGRAM: &str = env!("CARGO_BIN_EXE_longhorn-health-exporter");

/// The checks of volumes and of what holds them, each with the recording that shows it, one of its causes, and a
/// claim that it hurts; none where no volume is hurt yet.
const FAILURES: &[(&str, &str, &str, &str)] = &[
    ("volume_faulted", "volumes-faulted", "engine_died", "mq/queue"),
    ("volume_degraded", "volumes-degraded", "rebuild_looping", "db/again"),
    ("volume_attachment_stuck", "volumes-not-attached", "attach_loop", "mq/loop"),
    ("volume_read_only", "volumes-not-attached", "file_system_read_only", "log/archive"),
    ("replica_unschedulable", "volumes-degraded", "over_provisioned", "web/images"),
    ("disk_unavailable", "storage-unavailable", "disk_uuid_mismatch", "db/postgres"),
    ("engine_image_unavailable", "storage-unavailable", "missing_on_node", "db/postgres"),
    ("share_manager_down", "storage-unavailable", "not_serving", "web/files-4"),
    ("csi_plugin_down", "storage-unavailable", "plugin_crashing", "db/postgres"),
    ("attachment_on_dead_node", "volumes-node-down", "node_down", "web/session"),
    ("backup_failing", "backups-failing", "backup_failed", "db/"),
    ("manager_half_alive", "volumes-not-attached", "work_undone", "app/frozen"),
];

/// Causes of those checks that neither a recording nor a case of tests/corpus shows: time has to pass before they do.
const NOT_RECORDED: &[(&str, &str)] = &[
    (
        "manager_half_alive/node_status_still",
        "an hour of watching shows it: tests/ordinary_day plays that hour",
    ),
    ("manager_half_alive/api_lost", "src/checks/manager_half_alive/tests/lease.rs plays it"),
    ("manager_half_alive/rotation_stopped", "src/checks/manager_half_alive/tests/lease.rs plays it"),
];

fn check(path: &Path, options: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(PROGRAM).args(["check", "--from"]).arg(path).args(options).output().unwrap();
    (output.status.code(), String::from_utf8(output.stdout).unwrap())
}

/// The page that `serve` shows of a recording.
fn page(path: &Path) -> String {
    let mut serve = Command::new(PROGRAM)
        .args(["serve", "--web.listen-address=127.0.0.1:0", "--from"])
        .arg(path)
        .env_clear()
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let log = BufReader::new(serve.stderr.take().unwrap());
    let line = log.lines().map(Result::unwrap).find(|line| line.contains("msg=listening"));
    let line = line.expect("serve ended before it listened");
    let mut stream = TcpStream::connect(line.rsplit_once("address=").unwrap().1.trim()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    write!(stream, "GET / HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    serve.kill().unwrap();
    serve.wait().unwrap();
    text
}

/// CI asks this before every upgrade.
#[test]
fn healthy_clusters_say_healthy_everywhere() {
    let healthy: Vec<_> =
        scenario::all().into_iter().filter(|path| scenario::name(path).starts_with("healthy-")).collect();
    assert!(healthy.len() >= 12, "{healthy:?}");
    for path in healthy {
        let name = scenario::name(&path);
        let report = evaluate(&scenario::cluster(&path)).report;
        assert!(report.findings.is_empty(), "{name}: {:#?}", report.findings);
        assert!(report.unknown.is_empty(), "{name}: {:?}", report.unknown);
        assert_eq!((report.status, report.exit_code), (Status::Healthy, 0));
        let metrics = scenario::exposition(scenario::cluster(&path));
        assert!(metrics.contains("longhorn_health_status{status=\"healthy\"} 1\n"), "{name}: {metrics}");
        let directory = scenario::written(&path);
        let file = directory.path();
        for (format, word) in [
            ("table", "HEALTHY "),
            ("wide", "HEALTHY "),
            ("markdown", "### Longhorn: healthy"),
            ("junit", "name=\"status\" value=\"healthy\""),
            ("json", "\"status\": \"healthy\""),
        ] {
            let (code, text) = check(file, &["-o", format]);
            assert_eq!(code, Some(0), "{name}: {text}");
            assert!(text.contains(word), "{name}: {text}");
        }
        assert!(page(file).contains("<h1>Healthy</h1>"), "{name}");
    }
}

#[test]
fn each_failure_exits_with_1_and_names_cause_and_claim() {
    for (id, recording, cause, claim) in FAILURES {
        let directory = scenario::written(&scenario::root().join(recording));
        let file = directory.path();
        let (code, text) = check(file, &["--only", id, "--details"]);
        assert_eq!(code, Some(1), "{id}: {text}");
        assert!(text.contains(&format!("{id}/{cause}")), "{id}: {text}");
        assert!(text.contains(claim), "{id}: {text}");
        let (code, text) = check(file, &["--only", id, "-o", "wide"]);
        assert_eq!((code, text.contains(&format!("{id}/{cause}"))), (Some(1), true), "{id}: {text}");
    }
}

/// One line of a finding about a volume says whose it is.
#[test]
fn findings_about_one_volume_begin_with_its_claim() {
    for path in scenario::all() {
        for finding in evaluate(&scenario::cluster(&path)).report.findings {
            let is_about = matches!(finding.object.kind, "Volume" | "ShareManager");
            let [volume] = finding.volumes.as_slice() else { continue };
            let Some(claim) = volume.pvc.as_ref().filter(|_| is_about) else { continue };
            assert!(
                finding.message.contains(claim),
                "{}/{}: {}",
                finding.check,
                finding.cause,
                finding.message
            );
        }
    }
}

#[test]
fn the_second_line_names_faulted_claims() {
    let output = Command::new(PROGRAM).args(["check", "--demo"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let line = text.lines().nth(1).unwrap_or_default();
    assert!(line.to_lowercase().starts_with("data"), "{text}");
    assert!(line.contains("1 volume faulted: monitoring/metrics-0"), "{line}");
}

fn reports() -> impl Iterator<Item = Report> {
    let recorded = scenario::all().into_iter().map(|path| scenario::cluster(&path));
    recorded.chain([scenario::demo()]).map(|cluster| evaluate(&cluster).report)
}

/// What the cases of tests/corpus must be told as; that they are is tests/corpus' own test.
fn of_the_corpus() -> impl Iterator<Item = String> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let files = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let cases = files.filter(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    cases.flat_map(|path| {
        let cases: Vec<serde_json::Value> =
            serde_yaml::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        cases.into_iter().filter_map(|case| Some(case.get("expect")?.as_str()?.to_owned()))
    })
}

/// Causes of crashes and of starts are told apart by logs; those are beside the checks.
#[test]
fn every_cause_is_recorded_or_says_why_not() {
    let found: BTreeSet<String> = reports()
        .flat_map(|report| report.findings)
        .map(|finding| format!("{}/{}", finding.check, finding.cause))
        .chain(of_the_corpus())
        .collect();
    let of_data =
        checks::CATALOGUE.checks.iter().filter(|check| FAILURES.iter().any(|(id, ..)| *id == check.id));
    let missing: BTreeSet<String> = of_data
        .flat_map(|check| check.causes.iter().map(|cause| format!("{}/{}", check.id, cause.id)))
        .filter(|cause| !found.contains(cause))
        .collect();
    let excused: BTreeSet<String> = NOT_RECORDED.iter().map(|(cause, _)| (*cause).to_owned()).collect();
    assert_eq!(missing, excused);
}

#[test]
fn every_check_of_data_is_silent_on_its_neighbours() {
    for (name, what) in NEIGHBOURS {
        let report = evaluate(&scenario::cluster(&scenario::root().join(name))).report;
        assert!(report.unknown.is_empty(), "{name}: {:?}", report.unknown);
        for (id, ..) in FAILURES {
            let loud = report
                .findings
                .iter()
                .find(|finding| finding.check == *id && finding.severity > Severity::Info);
            assert!(loud.is_none(), "{id} although {what}: {loud:#?}");
        }
    }
}

/// Clusters at work in which nothing of the data is wrong.
const NEIGHBOURS: &[(&str, &str)] = &[
    (
        "healthy-in-motion",
        "an upgrade rolls, a node joins, one is drained, an NFS server fails over, a backup runs",
    ),
    ("volumes-node-reboot", "a node reboots and has been away for two minutes"),
    ("drain-blocked", "a drain is in progress"),
    ("installing", "a new cluster is just being installed"),
];
