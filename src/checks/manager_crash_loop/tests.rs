//! What is read of logs, and what cases.yaml cannot say of them.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use proptest::prelude::*;

use super::signatures::{LastWord, SIGNATURES, compiled, last_word, panicking_function};
use super::{CHECK, causes, rules};
use crate::check::{Cause, Finding, When};
use crate::cluster::Cluster;
use crate::history::CrashLog;
use crate::testing::*;

const NOW: &str = "2026-03-01T12:00:00Z";

/// Lines of each signature with their causes.
static LINES: LazyLock<Vec<(&'static Cause, &'static str)>> = LazyLock::new(|| {
    let lines = include_str!("lines.txt").lines().filter(|line| !line.starts_with('#'));
    let of_cause = |line: &'static str| {
        let (cause, line) = line.split_once(' ')?;
        Some((CHECK.cause(cause)?, line))
    };
    lines.map(|line| of_cause(line).unwrap_or_else(|| panic!("{line}"))).collect()
});

/// A manager on node-1 in back-off after a run of this exit code until this time.
fn backing_off(tag: &str, exit_code: i64, started: &str, ended: &str) -> String {
    let status = format!(
        "spec: {{nodeName: node-1, containers: [{{name: longhorn-manager, image: 'longhornio/longhorn-manager:{tag}'}}]}}\n\
         status: {{containerStatuses: [{{name: longhorn-manager, restartCount: 12, state: {{waiting: {{reason: CrashLoopBackOff}}}}, \
         lastState: {{terminated: {{exitCode: {exit_code}, startedAt: '2026-03-01T{started}Z', finishedAt: '2026-03-01T{ended}Z'}}}}}}]}}"
    );
    longhorn_manager("longhorn-manager-a", "uid: u1", &status)
}

fn with_log(mut cluster: Cluster, pod_uid: &str, exit_code: Option<i64>, text: &str) -> Cluster {
    cluster.history.add_crash_log(CrashLog {
        exit_code,
        pod: "longhorn-manager-a".into(),
        container: "longhorn-manager".into(),
        pod_uid: pod_uid.into(),
        text: text.into(),
    });
    cluster
}

fn first(cluster: &Cluster) -> Finding {
    run(&CHECK, cluster).report.findings.remove(0)
}

fn says(cluster: &Cluster, part: &str) -> bool {
    first(cluster).evidence().iter().any(|fact| fact.text.contains(part))
}

#[test]
fn every_signature_has_a_real_line_and_names_its_cause() {
    assert_eq!(compiled(), SIGNATURES.len());
    let mut hit = BTreeSet::new();
    for (cause, line) in LINES.iter() {
        let log = format!("time=\"2026-01-01T00:00:00Z\" level=info msg=\"Starting\"\n{line}\n");
        assert_eq!(last_word(&log), Some(LastWord::Known(cause, line)), "{line}");
        let matches = |at: &usize| regex::Regex::new(SIGNATURES[*at].pattern).unwrap().is_match(line);
        hit.extend((0..SIGNATURES.len()).filter(matches));
        // the same with the time that `kubectl logs --timestamps` adds
        let timed = format!("2026-01-01T00:00:00.123456789Z {line}");
        assert!(matches!(last_word(&timed), Some(LastWord::Known(known, _)) if known == *cause), "{timed}");
    }
    assert_eq!(hit.len(), SIGNATURES.len(), "signatures without a line: {hit:?}");
}

#[test]
fn near_misses_are_not_known() {
    for line in [
        // the same words below fatal: the manager went on
        r#"time="2026-01-01T00:00:00Z" level=warning msg="admission webhook service is not accessible after 1m0s sec""#,
        r#"time="2026-01-01T00:00:00Z" level=error msg="failed to upgrade since upgrading from v1.4.2 to v1.6.2""#,
        r#"{"level":"info","msg":"strict decoding error: unknown field \"x\""}"#,
        r#"time="2026-01-01T00:00:00Z" level=info msg="Waiting for old Longhorn manager pods to be fully removed""#,
        r#"time="2026-01-01T00:00:00Z" level=warning msg="Failed to check endpoint https://localhost:9502/v1/healthz""#,
        r#"time="2026-01-01T00:00:00Z" level=info msg="Evicting missing disk d from backing image b""#,
        r#"time="2026-01-01T00:00:00Z" level=info msg="Webhook leader lost: node-1""#,
        // Kubernetes' client goes on after this
        "E0601 02:14:33.415803       1 reflector.go:178] dial tcp 10.43.0.1:443: i/o timeout",
        "W0601 02:14:33.415803       1 reflector.go:178] etcdserver: leader changed",
        // almost
        "admission webhook service is not accessible",
        "failed to detect the node",
        "Error starting manager: required",
        "environment checks passed",
        "I do not panic: really",
        "",
    ] {
        assert_eq!(last_word(line), None, "{line}");
    }
    for unknown in [
        r#"time="2026-01-01T00:00:00Z" level=fatal msg="Error starting manager: something new""#,
        // a backup store and an instance manager are not the API server
        r#"time="2026-03-01T00:00:00Z" level=fatal msg="Error starting manager: failed to list objects: Get \"https://minio.example:9000/b?list-type=2\": dial tcp 10.0.0.9:9000: connect: connection refused""#,
        r#"time="2026-03-01T00:00:00Z" level=fatal msg="Error starting manager: proxyServer=10.42.1.7:8501: rpc error: code = Unavailable desc = dial tcp 10.42.1.7:8501: i/o timeout""#,
    ] {
        assert_eq!(last_word(unknown), Some(LastWord::Fatal(unknown)));
    }
}

/// Shape of the trace of issue 10464.
const EVICTION_PANIC: &str = "\
time=\"2025-03-01T00:00:00Z\" level=info msg=\"Evicting\"
E0301 00:00:00.000000       1 panic.go:262] \"Observed a panic\" panic=\"runtime error\"
panic: runtime error: invalid memory address or nil pointer dereference [recovered]
\tpanic: runtime error: invalid memory address or nil pointer dereference
[signal SIGSEGV: segmentation violation code=0x1 addr=0x0 pc=0x1]

goroutine 900 [running]:
k8s.io/apimachinery/pkg/util/runtime.HandleCrash({0x0, 0x0, 0x0})
\t/go/src/github.com/longhorn/longhorn-manager/vendor/k8s.io/apimachinery/pkg/util/runtime/runtime.go:55 +0x105
panic({0x1, 0x2})
\t/usr/local/go/src/runtime/panic.go:785 +0x132
github.com/longhorn/longhorn-manager/controller.(*NodeController).syncBackingImageEvictionRequested(0xc0, 0xc1)
\t/go/src/github.com/longhorn/longhorn-manager/controller/node_controller.go:1800 +0x4a5
";

#[test]
fn a_log_that_was_cut_below_its_panic_has_the_stack_above_it() {
    let (head, stack) = EVICTION_PANIC.split_once("panic: ").unwrap();
    let (words, stack) = stack.split_once("\n\n").unwrap();
    let cut = format!("{head}{stack}panic: {words}\n");
    let Some(LastWord::Panic(_, stack)) = last_word(&cut) else { panic!("no panic") };
    assert!(stack.contains("syncBackingImageEvictionRequested"), "{stack}");
    assert_eq!(
        panicking_function(stack),
        Some("controller.(*NodeController).syncBackingImageEvictionRequested")
    );
    let alone = "panic: runtime error: integer divide by zero";
    assert_eq!(last_word(alone), Some(LastWord::Panic(alone, alone)));
}

#[test]
fn a_log_that_no_one_can_read_is_said() {
    let mut cluster = live_at(NOW, &backing_off("v1.9.2", 1, "11:58:58", "11:59:00"));
    let unread = "no route to host";
    assert!(says(&cluster, "has not been read yet"));
    assert!(cluster.history.crash_log_unread("longhorn-manager-a", "u1", unread));
    assert!(!cluster.history.crash_log_unread("longhorn-manager-a", "u1", unread));
    assert!(says(&cluster, "could not be read (no route to host)"));
    assert!(cluster.history.crash_log_unread("longhorn-manager-a", "another", unread));
    assert!(says(&cluster, "has not been read yet"), "of an earlier pod");
    let mut earlier = with_log(cluster, "u1", None, LINES[4].1);
    assert!(earlier.history.crash_log_unread("longhorn-manager-a", "u1", unread));
    assert!(says(&earlier, "(no route to host), so an earlier run's log is shown"));
    assert!(says(&earlier, "an earlier run's log ends with: "));
}

/// Seen: SIGKILL, then a fatal start whose log was one read away; candidates that it was none of, and "report it to Longhorn".
#[test]
fn a_log_that_is_being_read_is_awaited_and_nothing_guessed() {
    let yaml = backing_off("v1.12.1", 1, "11:59:29", "11:59:31") + &object("Node", "node-1", "");
    let killed = || with_log(live_at(NOW, &yaml), "u1", Some(137), "level=info msg=killed\n");
    let finding = first(&killed());
    assert_eq!(finding.cause, causes::UNKNOWN.id);
    let awaited = "(12 restarts): its log is still being read";
    assert!(finding.message.ends_with(awaited), "{}", finding.message);
    assert!(finding.remedy.fix.starts_with("Check again in 30 s"), "{}", finding.remedy.fix);
    let guesses = |cluster: &Cluster| first(cluster).message.ends_with("cause unknown");
    let mut denied = killed();
    denied.history.set_crash_logs_denied(Some("forbidden"));
    assert!(guesses(&denied));
    let mut unread = killed();
    unread.history.crash_log_unread("longhorn-manager-a", "u1", "no route to host");
    assert!(guesses(&unread));
    assert!(guesses(&one_look_at(NOW, &yaml)), "there is no next look");
    let late = live_at(NOW, &yaml.replace("11:59:31", "11:59:30"));
    assert!(guesses(&late), "not for longer than half a minute");
}

#[test]
fn the_log_of_another_pod_or_run_says_nothing() {
    let registered = backing_off("v1.9.2", 1, "11:58:58", "11:59:00") + &object("Node", "node-1", "");
    let cluster = with_log(live_at(NOW, &registered), "another", None, LINES[0].1);
    assert_eq!(first(&cluster).cause, causes::UNKNOWN.id);
    // played on 1.12.1 with a real kubelet: one that had lost a conflict in its first minute was killed two minutes later
    let conflict = "level=fatal msg=\"Error starting manager: Operation cannot be fulfilled on settings.longhorn.io \\\"a\\\": the \
                    object has been modified\"\n";
    let cause = |exit_code| {
        let cluster = live_at(NOW, &backing_off("v1.12.1", exit_code, "11:57:05", "11:59:00"));
        first(&with_log(cluster, "u1", Some(1), conflict)).cause.id
    };
    assert_eq!([cause(1), cause(137)], ["write_conflict", "unknown"]);
}

proptest! {
    #[test]
    fn any_log_is_read_without_panic(log in "\\PC{0,300}", at in 0usize..300) {
        let _ = last_word(&log);
        let _ = panicking_function(&log);
        // also with a real line somewhere in it, which is then found if nothing later speaks
        let at = (0..=at.min(log.len())).rev().find(|at| log.is_char_boundary(*at)).unwrap_or(0);
        let mixed = format!("{}\n{}\npanic: x{}", &log[..at], LINES[4].1, &log[at..]);
        prop_assert!(matches!(last_word(&mixed), Some(LastWord::Panic(..))));
        let quiet = log.replace(['=', ':', '"', ' ', '.'], "_");
        let ending = format!("{quiet}\n{}\n{quiet}", LINES[4].1);
        prop_assert_eq!(last_word(&ending), Some(LastWord::Known(LINES[4].0, LINES[4].1)));
    }
}

#[test]
fn alerts_cover_every_cause_and_have_twins_without_the_exporter() {
    let covered: Vec<_> =
        rules::ALERTS.iter().flat_map(|alert| alert.causes().map(|cause| &cause.id)).collect();
    let causes: Vec<_> = super::causes::ALL.iter().map(|cause| &cause.id).collect();
    assert_eq!(covered, causes);
    for (own, twin) in rules::ALERTS.iter().zip(CHECK.without_exporter) {
        assert_eq!(own.name, twin.name);
        let When::Promql { expr, .. } = twin.when else { panic!("{}", twin.name) };
        assert!(expr.contains("container=\"longhorn-manager\"") && expr.contains("$namespace"));
        assert!(own.runbook.contains("## Meaning") && own.runbook.contains("## Mitigation"));
    }
}
