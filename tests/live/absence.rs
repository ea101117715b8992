//! Longhorn that is not there (a wrong namespace, no managers) is unknown wherever it is asked for.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use fake_apiserver::FakeApiServer;
use longhorn_health_exporter::exporter::Evaluator;
use longhorn_health_exporter::metrics::Format;
use longhorn_health_exporter::report::Status;
use longhorn_health_exporter::source::LiveOptions;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::*;

const SETTINGS: &str = "settings.longhorn.io";
const DAEMON_SETS: &str = "daemonsets.apps";

fn setting() -> Value {
    json!({"metadata": {"name": "current-longhorn-version", "namespace": NAMESPACE}, "value": "v1.12.1"})
}

fn manager() -> Value {
    json!({
        "metadata": {
            "name": "longhorn-manager-a", "namespace": NAMESPACE, "uid": "1", "labels": {"app": "longhorn-manager"},
        },
        "status": {"phase": "Running"},
    })
}

fn daemon_set(wanted: u32) -> Value {
    json!({
        "metadata": {"name": "longhorn-manager", "namespace": NAMESPACE},
        "status": {"desiredNumberScheduled": wanted},
    })
}

/// `check` as a process, with its kubeconfig in a directory.
fn command(server: &FakeApiServer, directory: &TempDir, arguments: &[&str]) -> Command {
    let kubeconfig = directory.path().join("kubeconfig");
    std::fs::write(&kubeconfig, server.kubeconfig_yaml()).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_longhorn-health-exporter"));
    command.arg("check").arg(format!("--kubeconfig={}", kubeconfig.display())).args(arguments);
    command.env_clear().stdin(Stdio::null());
    command
}

async fn check(server: &FakeApiServer, arguments: &[&str]) -> Output {
    let directory = tempfile::tempdir().unwrap();
    let mut command = command(server, &directory, arguments);
    tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[tokio::test]
async fn a_wrong_namespace_ends_a_check_with_2_and_one_line() {
    let server = server().await;
    server.put(SETTINGS, setting());
    server.put("pods", manager());
    for more in [&[][..], &["--only=danger_zone_pending"], &["-o=json"]] {
        let output = check(&server, &[&["--namespace=storage"], more].concat()).await;
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert_eq!(
            text(&output.stderr),
            "error: no Longhorn object in namespace storage; set Longhorn's namespace with --namespace\n"
        );
    }
    let output = check(&server, &["--only=danger_zone_pending"]).await;
    assert_eq!(output.status.code(), Some(0), "the right one: {output:?}");
}

#[tokio::test]
async fn waiting_for_a_wrong_namespace_ends_with_2_and_says_why() {
    let server = server().await;
    server.put(SETTINGS, setting());
    let output = check(&server, &["--namespace=storage", "--wait-healthy=1s"]).await;
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let said = text(&output.stderr);
    assert!(said.starts_with("waiting 0 s of 1 s: cluster unknown: no Longhorn object"), "{said}");
    assert!(said.contains("\nnot healthy within 1 s: cluster unknown: "), "{said}");
    assert!(said.ends_with(
        "\nerror: no Longhorn object in namespace storage; set Longhorn's namespace with --namespace\n"
    ));
}

#[tokio::test]
async fn waiting_ends_when_managers_come() {
    let server = server().await;
    server.put(SETTINGS, setting());
    let waiting = check(&server, &["--wait-healthy=5m", "--only=danger_zone_pending"]);
    let comes = async {
        server.wait_for_watch("pods").await;
        server.put("pods", manager());
    };
    let (output, ()) = within("the end", async { tokio::join!(waiting, comes) }).await;
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(text(&output.stderr).lines().last().unwrap().starts_with("healthy after "), "{output:?}");
}

#[tokio::test]
async fn a_rebuild_is_waited_for_although_it_is_nothing_to_be_warned_of() {
    let server = server().await;
    server.put(SETTINGS, setting());
    server.put("pods", manager());
    let volume = |robustness: &str| {
        json!({
            "metadata": {"name": "vol", "namespace": NAMESPACE},
            "spec": {"numberOfReplicas": 3, "nodeID": "worker-1"},
            "status": {"state": "attached", "robustness": robustness, "lastDegradedAt": now().to_string()},
        })
    };
    server.put("volumes.longhorn.io", volume("degraded"));
    let only = "--only=volume_degraded";
    let looked = check(&server, &[only]).await;
    assert_eq!(looked.status.code(), Some(0), "{looked:?}");
    let waited = check(&server, &[only, "--wait-healthy=1s"]).await;
    let said = text(&waited.stderr);
    assert_eq!(waited.status.code(), Some(1), "{waited:?}");
    assert!(said.contains("\nnot healthy within 1 s: ") && said.contains("degraded"), "{said}");
    let accepted =
        check(&server, &["--only=volume_degraded", "--fail-on=critical", "--wait-healthy=1s"]).await;
    assert_eq!(accepted.status.code(), Some(0), "{accepted:?}");
    let arguments = [only, "--wait-healthy=5m"];
    let waiting = check(&server, &arguments);
    let heals = async {
        server.wait_for_watch("volumes.longhorn.io").await;
        server.put("volumes.longhorn.io", volume("healthy"));
    };
    let (output, ()) = within("the end", async { tokio::join!(waiting, heals) }).await;
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

#[tokio::test]
async fn watching_prints_each_change_once_until_a_signal() {
    let server = server().await;
    server.put(SETTINGS, setting());
    server.put("pods", manager());
    let directory = tempfile::tempdir().unwrap();
    let mut command = command(&server, &directory, &["--watch", "--only=volume_faulted"]);
    let process = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (says, mut heard) = tokio::sync::mpsc::unbounded_channel();
    let ended = tokio::task::spawn_blocking(move || {
        let mut process = process;
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let mut reports = 0;
        for line in lines.map(Result::unwrap) {
            reports += usize::from(line.starts_with("--- "));
            let is_second = line.starts_with("CRITICAL ");
            says.send(line).unwrap();
            if is_second {
                let kill = Command::new("kill").args(["-INT", &process.id().to_string()]).status();
                assert!(kill.unwrap().success());
            }
        }
        (process.wait_with_output().unwrap(), reports)
    });
    let mut next = async |start: &str| loop {
        let line = heard.recv().await.unwrap();
        if line.starts_with(start) {
            break line;
        }
    };
    within("the first report", next("HEALTHY ")).await;
    server.put(
        "volumes.longhorn.io",
        json!({
            "metadata": {"name": "vol", "namespace": NAMESPACE},
            "spec": {"numberOfReplicas": 3, "nodeID": "worker-1"},
            "status": {"state": "detached", "robustness": "faulted"},
        }),
    );
    within("the change", next("CRITICAL ")).await;
    let (output, reports) = within("the end", ended).await.unwrap();
    assert_eq!((output.status.code(), reports), (Some(130), 2), "{output:?}");
}

#[tokio::test]
async fn a_signal_ends_the_wait_with_its_own_code_and_a_last_line() {
    let server = server().await;
    server.put(SETTINGS, setting());
    for (signal, code, word) in [("INT", 130, "interrupted"), ("TERM", 143, "terminated")] {
        let directory = tempfile::tempdir().unwrap();
        let mut command = command(&server, &directory, &["--wait-healthy=5m"]);
        let process = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let ended = tokio::task::spawn_blocking(move || {
            let mut process = process;
            let mut said = BufReader::new(process.stderr.take().unwrap());
            let mut first = String::new();
            said.read_line(&mut first).unwrap();
            let kill = Command::new("kill").args([&format!("-{signal}"), &process.id().to_string()]).status();
            assert!(kill.unwrap().success());
            let mut rest = String::new();
            said.read_to_string(&mut rest).unwrap();
            (process.wait_with_output().unwrap(), first, rest)
        });
        let (output, first, rest) = within("the end", ended).await.unwrap();
        assert_eq!(output.status.code(), Some(code), "{output:?} {rest}");
        assert!(first.starts_with("waiting ") && first.contains(" of 5 min: "), "{first}");
        assert!(rest.lines().last().unwrap().starts_with(&format!("{word} while waiting: ")), "{rest}");
        assert!(output.stdout.is_empty(), "{output:?}");
    }
}

#[tokio::test]
async fn objects_without_managers_end_a_check_with_2() {
    let server = server().await;
    server.put(SETTINGS, setting());
    for reason in ["longhorn-manager in namespace longhorn-system, neither", "its DaemonSet selects no node"]
    {
        for more in [&[][..], &["--wait-healthy=1s"]] {
            let output = check(&server, &[&["--only=danger_zone_pending"], more].concat()).await;
            assert_eq!(output.status.code(), Some(2), "{output:?}");
            let report = text(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(report.contains(reason) && report.starts_with("UNKNOWN "), "{report}");
        }
        server.put(DAEMON_SETS, daemon_set(0));
    }
}

#[tokio::test]
async fn an_exporter_shows_unknown_until_longhorn_is_there() {
    let server = server().await;
    let live = Arc::new(synced(&server).await);
    let evaluator = Evaluator::new(&longhorn_health_exporter::checks::CATALOGUE, live.clone(), now, false);
    let unknown = "\nlonghorn_health_check_unknown{check=\"danger_zone_pending\"} 1\n";

    assert_eq!(evaluator.moment().evaluation.report.status, Status::Unknown);
    assert!(evaluator.page(Format::Text, None).unwrap().contains(unknown));
    server.put(SETTINGS, setting());
    server.put("pods", manager());
    until(&live, "the manager", |cluster| cluster.absence().is_none()).await;
    assert!(!evaluator.page(Format::Text, None).unwrap().contains(unknown));

    server.delete("pods", NAMESPACE, "longhorn-manager-a");
    until(&live, "the manager to go", |cluster| cluster.absence().is_some()).await;
    assert!(evaluator.page(Format::Text, None).unwrap().contains(unknown));
    live.stop().await;
}

#[tokio::test]
async fn an_exporter_of_a_wrong_namespace_shows_unknown() {
    let server = server().await;
    server.put(SETTINGS, setting());
    server.put("pods", manager());
    let options = LiveOptions { namespace: "storage".to_owned(), ..options() };
    let live = start(&server, options).await;
    within("the first sync", live.synced()).await;
    let evaluator = Evaluator::new(&longhorn_health_exporter::checks::CATALOGUE, Arc::new(live), now, false);
    let report = &evaluator.moment().evaluation.report;
    assert_eq!(report.status, Status::Unknown);
    assert!(report.unknown[0].reason.contains("namespace storage"), "{:?}", report.unknown);
}

#[tokio::test]
async fn printed_commands_say_which_cluster_they_are_for() {
    let server = server().await;
    let pending =
        json!({"metadata": {"name": "priority-class", "namespace": NAMESPACE}, "status": {"applied": false}});
    server.put(SETTINGS, setting());
    server.put(SETTINGS, pending);
    server.put("pods", manager());
    for (more, cluster) in [(&[][..], "cluster fake ·"), (&["--cluster-name=prod"], "cluster prod ·")] {
        let output = check(&server, &[&["-v", "--only=danger_zone_pending"], more].concat()).await;
        let said = text(&output.stdout);
        assert!(said.lines().next().unwrap_or_default().contains(cluster), "{said}");
        let commands: Vec<_> =
            said.lines().filter(|line| line.trim_start().starts_with("kubectl ")).collect();
        assert!(!commands.is_empty(), "{output:?}");
        for command in commands {
            assert!(
                command.contains("kubectl --kubeconfig /") && command.contains(" --context fake "),
                "{command}"
            );
        }
    }
}
