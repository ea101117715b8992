//! What the last log says, and what is said when it cannot be read.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::super::signatures::{LastWord, SIGNATURES, compiled, last_word, panicking_function};
use super::super::{CHECK, causes};
use super::{NOW, backing_off, cause_of, manager, node, with_log};
use crate::check::{Cause, EvidenceSource};
use crate::cluster::Cluster;
use crate::history::CrashLog;
use crate::testing::*;

/// Lines as releases from 1.3 to 1.12 write them; the pairs are cause and line.
const LINES: &[(&Cause, &str)] = &[
    // the write-up of 2019, then 1.3 to 1.4, 1.5 to 1.6, 1.7.3 and later
    (
        &causes::OPEN_ISCSI_MISSING,
        r#"time="2019-01-03T13:19:29Z" level=error msg="Failed environment check, please make sure you have iscsiadm/open-iscsi installed on the host""#,
    ),
    (
        &causes::OPEN_ISCSI_MISSING,
        r#"time="2022-10-03T13:19:29Z" level=fatal msg="Error starting manager: environment check failed: failed to execute: nsenter [--mount=/host/proc/1/ns/mnt iscsiadm --version]""#,
    ),
    (
        &causes::OPEN_ISCSI_MISSING,
        r#"time="2024-01-03T13:19:29Z" level=fatal msg="Error starting manager: Failed environment check, please make sure you have iscsiadm/open-iscsi installed on the host: exit status 127""#,
    ),
    (
        &causes::OPEN_ISCSI_MISSING,
        r#"{"level":"fatal","msg":"Error starting manager: failed to check environment, please make sure you have iscsiadm/open-iscsi installed on the host: failed to execute iscsiadm","time":"2026-01-03T13:19:29Z"}"#,
    ),
    (
        &causes::WEBHOOK_UNSERVED,
        r#"time="2023-11-01T00:00:00Z" level=fatal msg="Error starting manager: conversion webhook service is not accessible after 1m0s sec""#,
    ),
    (
        &causes::WEBHOOK_UNSERVED,
        r#"time="2026-01-01T00:00:00Z" level=fatal msg="Error starting webhooks: admission webhook service is not accessible on cluster after 2m0s sec: timed out waiting for endpoint https://longhorn-admission-webhook.longhorn-system.svc:9502/v1/healthz to be available: TLS handshake timeout" func=main.main file="daemon.go:230""#,
    ),
    (
        &causes::WEBHOOK_NOT_READY,
        r#"time="2023-08-01T00:00:00Z" level=fatal msg="Error starting manager: admission webhook is not ready on localhost after 1m0s sec""#,
    ),
    (
        &causes::WEBHOOK_NOT_READY,
        r#"time="2026-07-01T00:00:00Z" level=fatal msg="Error starting manager: failed to bootstrap webhook secrets: secrets is forbidden""#,
    ),
    (
        &causes::UPGRADE_PATH,
        r#"time="2024-06-01T00:00:00Z" level=fatal msg="Error starting manager: failed to upgrade since upgrading from v1.4.2 to v1.6.2 for minor version is not supported""#,
    ),
    (
        &causes::UPGRADE_PATH,
        r#"time="2026-06-01T00:00:00Z" level=fatal msg="Error starting manager: failed to upgrade since downgrading from v1.12.0 to v1.11.3 is not supported""#,
    ),
    (
        &causes::UPGRADE_PATH,
        r#"time="2024-06-01T00:00:00Z" level=fatal msg="Error starting manager: failed to skip the upgrade check for v1.3.3 to upgrade to v1.6.0, as it only supports the current version larger than v1.4.0""#,
    ),
    (
        &causes::UPGRADE_PATH,
        r#"time="2023-06-01T00:00:00Z" level=fatal msg="Error starting manager: upgrade CRD failed: don't support upgrade from longhorn.io/v1beta0""#,
    ),
    (
        &causes::ENGINE_INCOMPATIBLE,
        r#"time="2024-06-01T00:00:00Z" level=fatal msg="Error starting manager: failed checking Engine upgrade path: incompatible Engine ei-1234abcd client API version: found version 4 is below required minimal version 5""#,
    ),
    (
        &causes::OLD_MANAGERS_LINGERING,
        r#"time="2025-06-01T00:00:00Z" level=fatal msg="Error starting manager: timed out while waiting for old Longhorn manager pods to be fully removed""#,
    ),
    (
        &causes::CRD_MISMATCH,
        r#"time="2025-10-01T00:00:00Z" level=fatal msg="Error starting manager: upgrade resources failed: Setting in version \"v1beta2\" cannot be handled: strict decoding error: unknown field \"status.applied\"""#,
    ),
    (
        &causes::CACHE_SYNC_FAILED,
        r#"time="2025-10-01T00:00:00Z" level=fatal msg="Error starting manager: datastore cache sync up failed""#,
    ),
    (
        &causes::POD_UPDATE_REFUSED,
        r#"time="2025-04-18T16:00:41Z" level=fatal msg="Error starting webhooks: Pod \"longhorn-manager-5sj9t\" is invalid: spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`""#,
    ),
    (
        &causes::PORT_IN_USE,
        r#"time="2025-10-01T00:00:00Z" level=fatal msg="Error longhorn backend server failed: listen tcp :9500: bind: address already in use""#,
    ),
    (
        &causes::PORT_IN_USE,
        r#"time="2025-10-01T00:00:00Z" level=fatal msg="Error admission webhook server failed: listen tcp :9502: bind: address already in use""#,
    ),
    (
        &causes::WRITE_CONFLICT,
        r#"time="2026-11-22T19:46:09Z" level=fatal msg="Error starting manager: settings.longhorn.io \"v2-data-engine-fast-replica-rebuilding\" not found""#,
    ),
    (
        &causes::WRITE_CONFLICT,
        r#"time="2026-11-24T01:25:41Z" level=fatal msg="Error starting manager: failed checking Engine upgrade path: incompatible Engine ei-493e04e7 controller API version: found version 0 is below required minimal version 4""#,
    ),
    (
        &causes::MANIFEST_STALE,
        r#"time="2024-10-01T00:00:00Z" level=fatal msg="Error starting manager: failed to detect the manager pod name""#,
    ),
    (
        &causes::MANIFEST_STALE,
        r#"time="2022-10-01T00:00:00Z" level=fatal msg="Error starting manager: BUG: failed to detect the node IP""#,
    ),
    (
        &causes::MANIFEST_STALE,
        r#"time="2023-01-01T00:00:00Z" level=fatal msg="Error starting manager: require support-bundle-manager-image""#,
    ),
    (
        &causes::API_UNREACHABLE,
        r#"time="2025-10-01T00:00:00Z" level=fatal msg="Error starting manager: unable to get clientset: Get \"https://10.43.0.1:443/api\": dial tcp 10.43.0.1:443: connect: connection refused""#,
    ),
    (
        &causes::WEBHOOK_CALL_FAILED,
        r#"time="2025-12-19T08:52:20Z" level=fatal msg="Error starting manager: Internal error occurred: failed calling webhook \"validator.longhorn.io\": failed to call webhook: Post \"https://longhorn-admission-webhook.longhorn-system.svc:9502/v1/webhook/validation?timeout=10s\": dial tcp 10.244.2.9:9502: connect: no route to host""#,
    ),
    (
        &causes::WEBHOOK_CALL_FAILED,
        r#"time="2025-05-19T08:52:20Z" level=fatal msg="Error starting manager: conversion webhook for longhorn.io/v1beta1, Kind=EngineImage failed: Post \"https://longhorn-conversion-webhook.longhorn-system.svc:9501/v1/webhook/conversion?timeout=30s\": EOF""#,
    ),
    (
        &causes::WEBHOOK_DENIED,
        r#"time="2022-08-02T13:44:52Z" level=fatal msg="Error starting manager: fail to set the setting priority-class with invalid value system-cluster-critical: cannot modify priority class setting before all volumes are detached""#,
    ),
    (
        &causes::WEBHOOK_DENIED,
        r#"time="2023-08-10T15:35:53Z" level=fatal msg="Error starting manager: upgrade resources failed: admission webhook \"validator.longhorn.io\" denied the request: spec and status of disks on node n are being syncing and please retry later.""#,
    ),
    (
        &causes::WRITE_CONFLICT,
        r#"time="2026-06-24T02:54:57Z" level=fatal msg="Error starting manager: Operation cannot be fulfilled on settings.longhorn.io \"snapshot-data-integrity\": the object has been modified; please apply your changes to the latest version and try again""#,
    ),
    (
        &causes::MANIFEST_STALE,
        r#"time="2024-02-05T00:00:00Z" level=fatal msg="Critical error: flag provided but not defined: -upgrade-version-check""#,
    ),
    (
        &causes::ACCESS_DENIED,
        r#"time="2025-10-01T00:00:00Z" level=fatal msg="Error starting manager: upgrade resources failed: leases.coordination.k8s.io \"longhorn-manager-upgrade-lock\" is forbidden: User \"system:serviceaccount:longhorn-system:longhorn-service-account\" cannot get resource \"leases\" in API group \"coordination.k8s.io\" in the namespace \"longhorn-system\"""#,
    ),
    (
        &causes::API_UNREACHABLE,
        r#"time="2025-10-01T00:00:00Z" level=fatal msg="Error starting manager: Get \"https://10.43.0.1:443/apis\": dial tcp 10.43.0.1:443: i/o timeout""#,
    ),
    (
        &causes::API_CERTIFICATE,
        r#"time="2025-10-01T00:00:00Z" level=fatal msg="Error starting manager: Get \"https://10.43.0.1:443/api/v1/nodes/n\": tls: failed to verify certificate: x509: certificate has expired or is not yet valid""#,
    ),
    (
        &causes::UPGRADE_OBJECT,
        r#"time="2026-03-01T00:00:00Z" level=fatal msg="Error starting manager: upgrade resources failed: upgrade from v1.8.x to v1.9.0: upgrade backup failed: failed to get volume of backup backup-0a: resource name may not be empty""#,
    ),
    (&causes::CONTAINER_CANNOT_START, "exec /usr/local/sbin/longhorn-manager: exec format error"),
];

#[test]
fn every_signature_has_a_real_line_and_names_its_cause() {
    assert_eq!(compiled(), SIGNATURES.len());
    let mut hit = BTreeSet::new();
    for (cause, line) in LINES {
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

fn panic_in(function: &str) -> String {
    EVICTION_PANIC.replace("(*NodeController).syncBackingImageEvictionRequested", function)
}

#[test]
fn a_log_that_was_cut_below_its_panic_has_the_stack_above_it() {
    let (head, stack) = EVICTION_PANIC.split_once("panic: ").unwrap();
    let (words, stack) = stack.split_once("\n\n").unwrap();
    let cut = format!("{head}{stack}panic: {words}\n");
    let Some(LastWord::Panic(_, stack)) = last_word(&cut) else { panic!("no panic") };
    assert!(stack.contains("syncBackingImageEvictionRequested"), "{stack}");
    let alone = "panic: runtime error: integer divide by zero";
    assert_eq!(last_word(alone), Some(LastWord::Panic(alone, alone)));
}

#[test]
fn panics_are_told_by_their_stack() {
    let Some(LastWord::Panic(line, stack)) = last_word(EVICTION_PANIC) else { panic!("no panic") };
    assert!(line.starts_with("panic: runtime error"));
    assert_eq!(
        panicking_function(stack),
        Some("controller.(*NodeController).syncBackingImageEvictionRequested")
    );
    for (tag, function, cause) in [
        (
            "v1.8.0",
            "(*NodeController).syncBackingImageEvictionRequested",
            causes::BACKING_IMAGE_EVICTION_PANIC.id,
        ),
        ("v1.11.2", "(*BackupController).setInprogressDeletionMap", causes::KNOWN_PANIC.id),
        // fixed in 1.11.3, so it is something else there
        ("v1.11.3", "(*BackupController).setInprogressDeletionMap", causes::UNKNOWN.id),
        ("v1.10.1", "(*ReplicaController).CreateInstance", causes::KNOWN_PANIC.id),
        ("v1.10.1-hotfix-1", "(*ReplicaController).CreateInstance", causes::UNKNOWN.id),
        ("v1.10.0", "(*ShareManagerController).syncShareManagerPod", causes::KNOWN_PANIC.id),
        ("v1.12.1", "(*VolumeController).somethingNew", causes::UNKNOWN.id),
    ] {
        let cluster = with_log(&(manager(tag, &backing_off(2, 40)) + &node("node-1")), &panic_in(function));
        assert_eq!(cause_of(&cluster), cause, "{tag} {function}");
        assert_eq!(
            sample(
                &run(&CHECK, &cluster),
                "longhorn_health_manager_crash_looping",
                &["node-1", cause, "log", "critical"]
            ),
            Some(1.0)
        );
    }
}

#[test]
fn refused_logs_are_said_and_name_the_right() {
    let mut cluster = live_at(NOW, &manager("v1.9.2", &backing_off(1, 2)));
    cluster.history.set_crash_logs_denied(Some("forbidden"));
    let finding = &run(&CHECK, &cluster).report.findings[0];
    let said = |fact: &crate::check::Evidence| {
        fact.source == EvidenceSource::History
            && fact.text.contains("(forbidden)")
            && fact.text.contains("'pods/log'")
    };
    assert!(finding.evidence().iter().any(said), "{:?}", finding.evidence());
    assert_eq!(finding.cause, causes::OPEN_ISCSI_MISSING.id);
}

#[test]
fn a_log_that_nobody_can_read_is_said() {
    let mut cluster = live_at(NOW, &manager("v1.9.2", &backing_off(1, 2)));
    let evidence = |cluster: &Cluster| run(&CHECK, cluster).report.findings[0].evidence().to_vec();
    let said = |cluster: &Cluster, part| evidence(cluster).iter().any(|fact| fact.text.contains(part));
    assert!(said(&cluster, "has not been read yet"));
    let uid = cluster.objects.pods.get("longhorn-manager-a").unwrap().metadata.uid.clone();
    assert!(cluster.history.crash_log_unread("longhorn-manager-a", &uid, "no route to host"));
    assert!(!cluster.history.crash_log_unread("longhorn-manager-a", &uid, "no route to host"));
    assert!(said(&cluster, "could not be read (no route to host)"));
    assert!(cluster.history.crash_log_unread("longhorn-manager-a", "another", "no route to host"));
    assert!(said(&cluster, "has not been read yet"), "of an earlier pod");
}

/// Seen: SIGKILL, then a fatal start whose log was one read away; candidates that it was none of, and "report it to Longhorn".
#[test]
fn a_log_that_is_being_read_is_awaited_and_nothing_guessed() {
    let ended = backing_off(1, 2).replace("11:59:00", "11:59:31").replace("11:58:58", "11:59:29");
    let yaml = manager("v1.12.1", &ended) + &object("Node", "node-1", "");
    let told = |cluster: &Cluster| {
        let finding = run(&CHECK, cluster).report.findings.remove(0);
        (finding.cause.id, finding.message, finding.remedy.fix)
    };
    let killed = || {
        let mut cluster = live_at(NOW, &yaml);
        cluster.history.add_crash_log(CrashLog {
            exit_code: Some(137),
            pod: "longhorn-manager-a".into(),
            container: "longhorn-manager".into(),
            pod_uid: "u1".into(),
            text: "level=info msg=killed\n".into(),
        });
        cluster
    };
    let (cause, message, fix) = told(&killed());
    assert_eq!(cause, "unknown");
    assert!(
        message.ends_with("(12 restarts, last crash 29 s ago): cause not known yet, its log is being read"),
        "{message}"
    );
    assert!(fix.starts_with("Check again in half a minute"), "{fix}");
    let guesses = |cluster: &Cluster| told(cluster).1.contains("cause unknown, perhaps ");
    let mut denied = killed();
    denied.history.set_crash_logs_denied(Some("forbidden"));
    assert!(guesses(&denied));
    let mut unread = killed();
    unread.history.crash_log_unread("longhorn-manager-a", "u1", "no route to host");
    assert!(guesses(&unread));
    assert!(guesses(&one_look_at(NOW, &yaml)), "there is no next look");
    assert!(
        guesses(&live_at(NOW, &yaml.replace("11:59:31", "11:59:30"))),
        "not for longer than half a minute"
    );
}

#[test]
fn the_log_of_an_earlier_pod_says_nothing() {
    let mut cluster = live_at(NOW, &(manager("v1.9.2", &backing_off(1, 2)) + &node("node-1")));
    cluster.history.add_crash_log(CrashLog {
        exit_code: None,
        pod: "longhorn-manager-a".into(),
        container: "longhorn-manager".into(),
        pod_uid: "another".into(),
        text: LINES[0].1.into(),
    });
    assert_eq!(cause_of(&cluster), causes::UNKNOWN.id);
}

#[test]
fn the_log_of_an_earlier_run_is_called_that() {
    let mut cluster = with_log(&(manager("v1.9.2", &backing_off(1, 2)) + &node("node-1")), LINES[4].1);
    assert!(cluster.history.crash_log_unread("longhorn-manager-a", "u1", "no route to host"));
    let finding = &run(&CHECK, &cluster).report.findings[0];
    let texts: Vec<_> = finding.evidence().iter().map(|fact| fact.text.as_str()).collect();
    assert!(
        texts.iter().any(|text| text.contains("(no route to host); an earlier run's log is shown")),
        "{texts:?}"
    );
    assert!(texts.iter().any(|text| text.starts_with("the log of an earlier run ends with: ")), "{texts:?}");
}

/// After a fatal error of the run time every goroutine is in the trace.
#[test]
fn other_goroutines_say_nothing() {
    let all = "fatal error: concurrent map writes\n\ngoroutine 7 [running]:\n\
        github.com/longhorn/longhorn-manager/controller.(*VolumeController).somethingNew(0xc0)\n\t/go/x.go:1 +0x1\n\n\
        goroutine 8 [select]:\n\
        github.com/longhorn/longhorn-manager/controller.(*ShareManagerController).worker(0xc0)\n\t/go/y.go:1 +0x1\n\n\
        goroutine 9 [select]:\n\
        github.com/longhorn/longhorn-manager/controller.(*NodeController).syncBackingImageEvictionRequested(0xc0)\n";
    let base = manager("v1.10.0", &backing_off(2, 40)) + &node("node-1");
    assert_eq!(cause_of(&with_log(&base, all)), causes::UNKNOWN.id);
    let own = all.replace("(*VolumeController).somethingNew", "(*ShareManagerController).sync");
    assert_eq!(cause_of(&with_log(&base, &own)), causes::KNOWN_PANIC.id);
}

#[test]
fn without_a_release_no_issue_is_named() {
    let yaml = manager("master-head", &backing_off(2, 40)) + &node("node-1");
    let finding = run(&CHECK, &with_log(&yaml, &panic_in("(*BackupController).checkMonitor")))
        .report
        .findings
        .remove(0);
    assert_eq!(finding.cause, causes::UNKNOWN.id);
    assert!(
        !finding.evidence().iter().any(|fact| fact.text.contains("Longhorn issue")),
        "{:?}",
        finding.evidence()
    );
    assert!(finding.evidence().iter().any(|fact| fact.text.contains("the release is unknown")));
}

#[test]
fn a_fatal_line_of_a_known_issue() {
    let line = r#"time="2024-06-01T00:00:00Z" level=fatal msg="Error starting manager: creating default block-type disk /dev/sdb is not supported: stat /dev/sdb: no such file or directory""#;
    let on = |tag: &str| {
        run(&CHECK, &with_log(&(manager(tag, &backing_off(1, 20)) + &node("node-2")), line))
            .report
            .findings
            .remove(0)
    };
    let finding = on("v1.6.2");
    assert_eq!(finding.cause, causes::KNOWN_PANIC.id);
    assert!(finding.evidence().iter().any(|fact| fact.text.contains("Longhorn issue 9073")));
    assert!(finding.remedy.fix.starts_with("Upgrade to v1.6.3 or later (https://github.com/longhorn/longhorn/issues/9073). Until then, set default-data-path"));
    assert_eq!(on("v1.6.3").cause, causes::UNKNOWN.id);
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
fn a_manager_that_hangs_this_time_is_no_crash_loop() {
    let running = "restartCount: 9, ready: false, state: {running: {startedAt: '2026-03-01T11:58:00Z'}}, lastState: {terminated: \
        {exitCode: 137, startedAt: '2026-03-01T11:57:00Z', finishedAt: '2026-03-01T11:57:50Z'}}";
    let yaml = format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: longhorn-manager-a, namespace: longhorn-system, uid: u, labels: {{app: longhorn-manager}}}}\n\
         spec: {{nodeName: a, containers: [{{name: longhorn-manager}}]}}\n\
         status: {{conditions: [{{type: Ready, status: 'False', lastTransitionTime: '2026-03-01T11:57:50Z'}}], \
         containerStatuses: [{{name: longhorn-manager, {running}}}]}}\n---\n"
    );
    let mut cluster = live_at("2026-03-01T12:00:00Z", &yaml);
    assert_eq!(found(&CHECK, &cluster).len(), 1);
    cluster.history.add_current_log(CrashLog {
        exit_code: None,
        pod: "longhorn-manager-a".into(),
        container: "longhorn-manager".into(),
        pod_uid: "u".into(),
        text: "E0301 11:59:58.1 12 leaderelection.go:436] error retrieving resource lock longhorn-system/longhorn-manager-webhook-lock: \
               Get \"https://10.43.0.1:443/apis/coordination.k8s.io/v1/leases/x\": dial tcp 10.43.0.1:443: connect: no route to host\n"
            .into(),
    });
    assert_eq!(found(&CHECK, &cluster), Vec::<String>::new());
}
