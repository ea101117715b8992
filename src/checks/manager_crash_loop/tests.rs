use std::collections::BTreeSet;

use proptest::prelude::*;

use super::signatures::{LastWord, SIGNATURES, compiled, last_word, panicking_function};
use super::{CHECK, KUBE_STATE_METRICS_ALERTS, cause, rules};
use crate::check::EvidenceSource;
use crate::cluster::{Cluster, Readability};
use crate::history::CrashLog;
use crate::longhorn::Resource;
use crate::testing::*;

const NOW: &str = "2026-03-01T12:00:00Z";

/// A manager pod on node-1 whose container status is given in YAML flow style. The other container
/// comes first, to punish reading by index.
fn manager(tag: &str, status: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: longhorn-manager-a, namespace: longhorn-system, uid: u1, \
         labels: {{app: longhorn-manager}}}}\n\
         spec: {{nodeName: node-1, containers: [{{name: pre-pull-share-manager-image, image: s}}, \
         {{name: longhorn-manager, image: 'longhornio/longhorn-manager:{tag}', command: [longhorn-manager, -d, \
         daemon, --engine-image, e, --instance-manager-image, i, --share-manager-image, s, \
         --backing-image-manager-image, b, --support-bundle-manager-image, k, --manager-image, m, \
         --service-account, a, --upgrade-version-check], \
         env: [{{name: POD_NAME}}, {{name: POD_NAMESPACE}}, {{name: POD_IP}}, {{name: NODE_NAME}}]}}]}}\n\
         status: {{containerStatuses: [{{name: pre-pull-share-manager-image, restartCount: 0, \
         state: {{running: {{startedAt: '2026-03-01T10:00:00Z'}}}}}}, {{name: longhorn-manager, {status}}}]}}\n---\n"
    )
}

/// In back-off after a run of so many seconds that ended a minute ago.
fn backing_off(exit_code: i64, seconds: i64) -> String {
    let end = time("2026-03-01T11:59:00Z");
    let start = end - jiff::SignedDuration::from_secs(seconds);
    format!(
        "restartCount: 12, state: {{waiting: {{reason: CrashLoopBackOff}}}}, lastState: {{terminated: \
         {{exitCode: {exit_code}, reason: Error, startedAt: '{start}', finishedAt: '{end}'}}}}"
    )
}

fn running(restarts: i64, last_run: i64, for_seconds: i64) -> String {
    let started = time(NOW) - jiff::SignedDuration::from_secs(for_seconds);
    let end = started - jiff::SignedDuration::from_secs(300);
    let start = end - jiff::SignedDuration::from_secs(last_run);
    format!(
        "restartCount: {restarts}, ready: true, state: {{running: {{startedAt: '{started}'}}}}, lastState: \
         {{terminated: {{exitCode: 1, startedAt: '{start}', finishedAt: '{end}'}}}}"
    )
}

fn node(name: &str) -> String {
    format!(
        "apiVersion: longhorn.io/v1beta2\nkind: Node\nmetadata: {{name: {name}, namespace: longhorn-system}}\n---\n"
    )
}

fn slice(ready: bool) -> String {
    format!(
        "apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {{name: w, namespace: longhorn-system, \
         labels: {{kubernetes.io/service-name: longhorn-admission-webhook}}}}\n\
         endpoints: [{{conditions: {{ready: {ready}}}}}]\n---\n"
    )
}

fn cause_of(cluster: &Cluster) -> String {
    let findings = run(&CHECK, cluster).report.findings;
    findings.first().map(|finding| finding.cause.clone()).unwrap_or_default()
}

fn with_log(yaml: &str, log: &str) -> Cluster {
    let mut cluster = live_at(NOW, yaml);
    cluster.history.add_crash_log(CrashLog {
        pod: "longhorn-manager-a".into(),
        container: "longhorn-manager".into(),
        pod_uid: "u1".into(),
        text: log.into(),
    });
    cluster
}

#[test]
fn a_loop_is_seen_between_two_crashes_and_ends_when_the_last_life_is_outlived() {
    let crash_loop =
        |status: &str| !run(&CHECK, &live_at(NOW, &manager("v1.9.2", status))).report.findings.is_empty();
    for (status, expected) in [
        (backing_off(1, 2), true),
        // running for a minute after dying young for the twelfth time
        (running(12, 130, 60), true),
        // 120 s starts look healthy for 119 s, but not longer than the longest back-off
        (running(12, 130, 299), true),
        (running(12, 130, 300), false),
        // a life of four minutes needs eight to be outlived
        (running(12, 240, 400), true),
        (running(12, 240, 480), false),
        // one restart is no loop, nor is a crash after a long life
        (running(1, 130, 60), false),
        (running(12, 86_400, 60), false),
        // first start of a new pod; being pulled; nothing known
        ("restartCount: 0, state: {running: {startedAt: '2026-03-01T11:59:50Z'}}".into(), false),
        ("restartCount: 9, state: {waiting: {reason: ImagePullBackOff}}".into(), false),
        ("restartCount: 3".into(), false),
        // between a crash and the back-off: not the first time, and the first time
        (
            "restartCount: 1, state: {terminated: {exitCode: 1, startedAt: '2026-03-01T11:59:57Z', \
             finishedAt: '2026-03-01T11:59:59Z'}}"
                .into(),
            true,
        ),
        (
            "restartCount: 0, state: {terminated: {exitCode: 1, startedAt: '2026-03-01T11:59:57Z', \
             finishedAt: '2026-03-01T11:59:59Z'}}"
                .into(),
            false,
        ),
        // started at an unknown time after a short life
        (
            "restartCount: 5, state: {running: {}}, lastState: {terminated: {exitCode: 1, \
             startedAt: '2026-03-01T11:50:57Z', finishedAt: '2026-03-01T11:50:59Z'}}"
                .into(),
            true,
        ),
        // the kubelet says so and nothing more
        ("restartCount: 4, state: {waiting: {reason: CrashLoopBackOff}}".into(), true),
    ] {
        assert_eq!(crash_loop(&status), expected, "{status}");
    }
}

#[test]
fn another_container_in_a_loop_is_not_the_manager() {
    let yaml = manager("v1.9.2", "restartCount: 0, state: {running: {}}").replace(
        "name: pre-pull-share-manager-image, restartCount: 0, state: {running: {startedAt: '2026-03-01T10:00:00Z'}}",
        "name: pre-pull-share-manager-image, restartCount: 40, state: {waiting: {reason: CrashLoopBackOff}}",
    );
    assert!(yaml.contains("restartCount: 40"));
    assert!(found(&CHECK, &cluster(&yaml)).is_empty());
}

/// Lines as releases from 1.3 to 1.12 write them; the pairs are cause and line.
const LINES: &[(&str, &str)] = &[
    // the write-up of 2019, then 1.3 to 1.4, 1.5 to 1.6, 1.7.3 and later
    (
        cause::OPEN_ISCSI_MISSING,
        r#"time="2019-01-03T13:19:29Z" level=error msg="Failed environment check, please make sure you have iscsiadm/open-iscsi installed on the host""#,
    ),
    (
        cause::OPEN_ISCSI_MISSING,
        r#"time="2022-10-03T13:19:29Z" level=fatal msg="Error starting manager: environment check failed: failed to execute: nsenter [--mount=/host/proc/1/ns/mnt iscsiadm --version]""#,
    ),
    (
        cause::OPEN_ISCSI_MISSING,
        r#"time="2024-01-03T13:19:29Z" level=fatal msg="Error starting manager: Failed environment check, please make sure you have iscsiadm/open-iscsi installed on the host: exit status 127""#,
    ),
    (
        cause::OPEN_ISCSI_MISSING,
        r#"{"level":"fatal","msg":"Error starting manager: failed to check environment, please make sure you have iscsiadm/open-iscsi installed on the host: failed to execute iscsiadm","time":"2026-01-03T13:19:29Z"}"#,
    ),
    (
        cause::WEBHOOK_SERVICE_UNREACHABLE,
        r#"time="2023-11-01T00:00:00Z" level=fatal msg="Error starting manager: conversion webhook service is not accessible after 1m0s sec""#,
    ),
    (
        cause::WEBHOOK_SERVICE_UNREACHABLE,
        r#"time="2026-01-01T00:00:00Z" level=fatal msg="Error starting webhooks: admission webhook service is not accessible on cluster after 2m0s sec: timed out waiting for endpoint https://longhorn-admission-webhook.longhorn-system.svc:9502/v1/healthz to be available: TLS handshake timeout" func=main.main file="daemon.go:230""#,
    ),
    (
        cause::WEBHOOK_NOT_READY,
        r#"time="2023-08-01T00:00:00Z" level=fatal msg="Error starting manager: admission webhook is not ready on localhost after 1m0s sec""#,
    ),
    (
        cause::WEBHOOK_NOT_READY,
        r#"time="2026-07-01T00:00:00Z" level=fatal msg="Error starting manager: failed to bootstrap webhook secrets: secrets is forbidden""#,
    ),
    (
        cause::UPGRADE_PATH,
        r#"time="2024-06-01T00:00:00Z" level=fatal msg="Error starting manager: failed to upgrade since upgrading from v1.4.2 to v1.6.2 for minor version is not supported""#,
    ),
    (
        cause::UPGRADE_PATH,
        r#"time="2026-06-01T00:00:00Z" level=fatal msg="Error starting manager: failed to upgrade since downgrading from v1.12.0 to v1.11.3 is not supported""#,
    ),
    (
        cause::UPGRADE_PATH,
        r#"time="2024-06-01T00:00:00Z" level=fatal msg="Error starting manager: failed to skip the upgrade check for v1.3.3 to upgrade to v1.6.0, as it only supports the current version larger than v1.4.0""#,
    ),
    (
        cause::UPGRADE_PATH,
        r#"time="2023-06-01T00:00:00Z" level=fatal msg="Error starting manager: upgrade CRD failed: don't support upgrade from longhorn.io/v1beta0""#,
    ),
    (
        cause::ENGINE_INCOMPATIBLE,
        r#"time="2024-06-01T00:00:00Z" level=fatal msg="Error starting manager: failed checking Engine upgrade path: incompatible Engine ei-1234abcd client API version: found version 4 is below required minimal version 5""#,
    ),
    (
        cause::OLD_MANAGERS_LINGERING,
        r#"time="2025-06-01T00:00:00Z" level=fatal msg="Error starting manager: timed out while waiting for old Longhorn manager pods to be fully removed""#,
    ),
    (
        cause::CRD_MISMATCH,
        r#"time="2025-10-01T00:00:00Z" level=fatal msg="Error starting manager: upgrade resources failed: Setting in version \"v1beta2\" cannot be handled: strict decoding error: unknown field \"status.applied\"""#,
    ),
    (
        cause::CACHE_SYNC_FAILED,
        r#"time="2025-10-01T00:00:00Z" level=fatal msg="Error starting manager: datastore cache sync up failed""#,
    ),
    (
        cause::PORT_IN_USE,
        r#"time="2025-10-01T00:00:00Z" level=fatal msg="Error longhorn backend server failed: listen tcp :9500: bind: address already in use""#,
    ),
    (
        cause::PORT_IN_USE,
        r#"time="2025-10-01T00:00:00Z" level=fatal msg="Error admission webhook server failed: listen tcp :9502: bind: address already in use""#,
    ),
    (
        cause::MANIFEST_STALE,
        r#"time="2024-10-01T00:00:00Z" level=fatal msg="Error starting manager: failed to detect the manager pod name""#,
    ),
    (
        cause::MANIFEST_STALE,
        r#"time="2022-10-01T00:00:00Z" level=fatal msg="Error starting manager: BUG: failed to detect the node IP""#,
    ),
    (
        cause::MANIFEST_STALE,
        r#"time="2023-01-01T00:00:00Z" level=fatal msg="Error starting manager: require support-bundle-manager-image""#,
    ),
    (
        cause::API_UNREACHABLE,
        r#"time="2025-10-01T00:00:00Z" level=fatal msg="Error starting manager: unable to get clientset: Get \"https://10.43.0.1:443/api\": dial tcp 10.43.0.1:443: connect: connection refused""#,
    ),
    (
        cause::API_UNREACHABLE,
        r#"time="2025-10-01T00:00:00Z" level=fatal msg="Error starting manager: Get \"https://10.43.0.1:443/apis\": dial tcp 10.43.0.1:443: i/o timeout""#,
    ),
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
    let unknown = r#"time="2026-01-01T00:00:00Z" level=fatal msg="Error starting manager: something new""#;
    assert_eq!(last_word(unknown), Some(LastWord::Fatal(unknown)));
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
            cause::BACKING_IMAGE_EVICTION_PANIC,
        ),
        ("v1.11.2", "(*BackupController).setInprogressDeletionMap", cause::KNOWN_PANIC),
        // fixed in 1.11.3, so it is something else there
        ("v1.11.3", "(*BackupController).setInprogressDeletionMap", cause::UNKNOWN),
        ("v1.10.1", "(*ReplicaController).getDiskNameFromUUID", cause::KNOWN_PANIC),
        ("v1.10.1-hotfix-2", "(*ReplicaController).getDiskNameFromUUID", cause::UNKNOWN),
        ("v1.10.0", "(*ShareManagerController).syncShareManagerPod", cause::KNOWN_PANIC),
        ("v1.12.1", "(*VolumeController).somethingNew", cause::UNKNOWN),
    ] {
        let cluster = with_log(&(manager(tag, &backing_off(2, 40)) + &node("node-1")), &panic_in(function));
        assert_eq!(cause_of(&cluster), cause, "{tag} {function}");
        assert_eq!(
            sample(
                &run(&CHECK, &cluster),
                "longhorn_health_manager_crash_looping",
                &["node-1", cause, "log"]
            ),
            Some(1.0)
        );
    }
}

#[test]
fn fingerprints_need_a_fact_of_the_api() {
    let registered = node("node-1");
    let setting = "apiVersion: longhorn.io/v1beta2\nkind: Setting\nmetadata: {name: current-longhorn-version, \
                   namespace: longhorn-system}\nvalue: v1.6.4\n---\n";
    let other = manager("v1.8.2", "restartCount: 0, state: {running: {}}")
        .replace("longhorn-manager-a", "longhorn-manager-b")
        .replace("nodeName: node-1", "nodeName: node-2");
    let unhealthy = "apiVersion: v1\nkind: Event\nmetadata: {name: e, namespace: longhorn-system}\nreason: Unhealthy\n\
                     message: 'Readiness probe failed: context deadline exceeded'\nlastTimestamp: '2026-03-01T11:58:00Z'\n\
                     involvedObject: {kind: Pod, name: longhorn-manager-a}\n---\n";
    let stale = |yaml: String| yaml.replace("{name: POD_NAME}, ", "");
    let m = |tag: &str, code, seconds| manager(tag, &backing_off(code, seconds));
    for (name, yaml, cause) in [
        ("incident 002: fresh node", m("v1.9.2", 1, 2), cause::OPEN_ISCSI_MISSING),
        ("the node was registered before", m("v1.9.2", 1, 2) + &registered, cause::UNKNOWN),
        ("no variable POD_NAME", stale(m("v1.9.2", 1, 2)) + &registered, cause::MANIFEST_STALE),
        ("1.6 needs no POD_NAME", stale(m("v1.6.3", 1, 2)) + &registered, cause::UNKNOWN),
        ("two minor releases at once", m("v1.8.2", 1, 12) + &registered + setting, cause::UPGRADE_PATH),
        ("one minor release", m("v1.7.3", 1, 12) + &registered + setting, cause::UNKNOWN),
        ("downgrade", m("v1.5.5", 1, 12) + &registered + setting, cause::UPGRADE_PATH),
        (
            "60 s, no endpoint",
            m("v1.9.1", 1, 61) + &registered + &slice(false),
            cause::WEBHOOK_SERVICE_UNREACHABLE,
        ),
        ("60 s is too short for 1.9.2", m("v1.9.2", 1, 61) + &registered + &slice(false), cause::UNKNOWN),
        (
            "120 s, no endpoint",
            m("v1.9.2", 1, 121) + &registered + &slice(false),
            cause::WEBHOOK_SERVICE_UNREACHABLE,
        ),
        ("120 s, ready endpoint", m("v1.9.2", 1, 121) + &registered + &slice(true), cause::UNKNOWN),
        (
            "120 s, not ready itself",
            m("v1.9.2", 1, 121) + &registered + &slice(true) + unhealthy,
            cause::WEBHOOK_NOT_READY,
        ),
        ("1.4 has webhook pods", m("v1.4.4", 1, 61) + &registered + &slice(false), cause::UNKNOWN),
        ("600 s, two images", m("v1.9.2", 1, 605) + &registered + &other, cause::OLD_MANAGERS_LINGERING),
        ("600 s, one image", m("v1.9.2", 1, 605) + &registered, cause::UNKNOWN),
        ("a panic without trigger", m("v1.12.1", 2, 40) + &registered, cause::UNKNOWN),
        ("killed", m("v1.12.1", 137, 40) + &registered, cause::UNKNOWN),
        ("strange code", m("v1.12.1", -7, 40) + &registered, cause::UNKNOWN),
        (
            "out of memory",
            m("v1.12.1", 137, 40).replace("reason: Error", "reason: OOMKilled") + &registered,
            cause::OOM_KILLED,
        ),
    ] {
        // the endpoints are read live, where an absent slice is a fact
        assert_eq!(cause_of(&cluster_at(NOW, &yaml)), cause, "{name}");
    }
}

#[test]
fn known_panics_need_their_trigger() {
    let rwx = "apiVersion: longhorn.io/v1beta2\nkind: Volume\nmetadata: {name: v, namespace: longhorn-system}\n\
               spec: {accessMode: rwx}\n---\n";
    let panics = |tag: &str, more: &str| {
        cause_of(&cluster_at(NOW, &(manager(tag, &backing_off(2, 40)) + &node("node-1") + more)))
    };
    assert_eq!(panics("v1.10.0", rwx), cause::KNOWN_PANIC);
    assert_eq!(panics("v1.10.0", ""), cause::UNKNOWN);
    assert_eq!(panics("v1.10.0-hotfix-1", rwx), cause::UNKNOWN);
    assert_eq!(panics("v1.10.1", rwx), cause::UNKNOWN);
}

fn evicting_node(node_wide: bool, disk: bool) -> String {
    format!(
        "apiVersion: longhorn.io/v1beta2\nkind: Node\nmetadata: {{name: node-1, namespace: longhorn-system}}\n\
         spec: {{evictionRequested: {node_wide}, disks: {{d1: {{evictionRequested: false}}, d2: {{evictionRequested: {disk}}}}}}}\n\
         status: {{diskStatus: {{d1: {{diskUUID: uuid-1}}, d2: {{diskUUID: uuid-2}}}}}}\n---\n\
         apiVersion: longhorn.io/v1beta2\nkind: BackingImage\nmetadata: {{name: bi, namespace: longhorn-system}}\n\
         spec: {{diskFileSpecMap: {{}}}}\nstatus: {{diskFileStatusMap: {{uuid-1: {{state: ready}}}}}}\n---\n"
    )
}

#[test]
fn incident_003_by_release_and_by_what_is_evicted() {
    let panic = |tag: &str, node_wide, disk| {
        cause_of(&cluster_at(NOW, &(manager(tag, &backing_off(2, 40)) + &evicting_node(node_wide, disk))))
            == cause::BACKING_IMAGE_EVICTION_PANIC
    };
    for (tag, node_evicted, other_disk_evicted) in [
        ("v1.6.4", false, false),
        ("v1.7.0", true, true),
        ("v1.7.3", true, true),
        ("v1.7.4", false, false),
        ("v1.8.0", true, true),
        ("v1.8.1", true, false),
        ("v1.8.2", false, false),
        ("v1.9.0", true, false),
        ("v1.9.1", false, false),
        ("v1.10.0", false, false),
    ] {
        assert_eq!(panic(tag, true, false), node_evicted, "{tag} node");
        assert_eq!(panic(tag, false, true), other_disk_evicted, "{tag} other disk");
        assert!(!panic(tag, false, false), "{tag} without eviction");
    }
    let cluster = cluster_at(NOW, &(manager("v1.8.0", &backing_off(2, 40)) + &evicting_node(true, true)));
    let finding = &run(&CHECK, &cluster).report.findings[0];
    assert!(finding.remedy.text.contains("v1.8.2"));
    let changes: Vec<_> = finding.remedy.commands.iter().filter(|command| command.changes).collect();
    assert_eq!(changes.len(), 2);
    assert_eq!(
        changes[1].run,
        "kubectl -n longhorn-system patch nodes.longhorn.io node-1 --type merge -p \
         '{\"spec\":{\"disks\":{\"d2\":{\"evictionRequested\":false}}}}'"
    );
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
    assert!(finding.evidence.iter().any(said), "{:?}", finding.evidence);
    assert_eq!(finding.cause, cause::OPEN_ISCSI_MISSING);
}

#[test]
fn a_log_that_nobody_can_read_is_said() {
    let mut cluster = live_at(NOW, &manager("v1.9.2", &backing_off(1, 2)));
    let evidence = |cluster: &Cluster| run(&CHECK, cluster).report.findings[0].evidence.clone();
    let said = |cluster: &Cluster, part| evidence(cluster).iter().any(|fact| fact.text.contains(part));
    assert!(said(&cluster, "has not been read yet"));
    let uid = cluster.objects.pods.get("longhorn-manager-a").unwrap().metadata.uid.clone();
    assert!(cluster.history.crash_log_unread("longhorn-manager-a", &uid, "no route to host"));
    assert!(!cluster.history.crash_log_unread("longhorn-manager-a", &uid, "no route to host"));
    assert!(said(&cluster, "could not be read (no route to host)"));
    assert!(cluster.history.crash_log_unread("longhorn-manager-a", "another", "no route to host"));
    assert!(said(&cluster, "has not been read yet"), "of an earlier pod");
}

#[test]
fn the_log_of_an_earlier_pod_says_nothing() {
    let mut cluster = live_at(NOW, &(manager("v1.9.2", &backing_off(1, 2)) + &node("node-1")));
    cluster.history.add_crash_log(CrashLog {
        pod: "longhorn-manager-a".into(),
        container: "longhorn-manager".into(),
        pod_uid: "another".into(),
        text: LINES[0].1.into(),
    });
    assert_eq!(cause_of(&cluster), cause::UNKNOWN);
}

#[test]
fn samples_for_managers() {
    let healthy = manager(
        "v1.9.2",
        "restartCount: 2, ready: true, state: {running: {startedAt: '2026-02-01T00:00:00Z'}}",
    )
    .replace("longhorn-manager-a", "longhorn-manager-b")
    .replace("nodeName: node-1", "nodeName: node-2");
    let set = "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: longhorn-manager, namespace: longhorn-system}\n\
               status: {desiredNumberScheduled: 3}\n---\n";
    let volume = "apiVersion: longhorn.io/v1beta2\nkind: Volume\nmetadata: {name: v, namespace: longhorn-system}\n\
                  status: {ownerID: node-1, robustness: degraded, kubernetesStatus: {pvcName: data, namespace: shop}}\n---\n";
    let cluster = live_at(NOW, &(manager("v1.9.2", &backing_off(1, 2)) + &healthy + set + volume));
    let evaluation = run(&CHECK, &cluster);
    let count = |state| sample(&evaluation, "longhorn_health_managers", &[state]);
    assert_eq!(
        [count("desired"), count("running"), count("ready"), count("crash_looping")],
        [Some(3.0), Some(1.0), Some(1.0), Some(1.0)]
    );
    assert_eq!(sample(&evaluation, "longhorn_health_manager_restarts_total", &["node-2"]), Some(2.0));
    assert_eq!(sample(&evaluation, "longhorn_health_manager_last_run_seconds", &["node-1"]), Some(2.0));
    assert_eq!(sample(&evaluation, "longhorn_health_manager_last_run_seconds", &["node-2"]), None);
    assert_eq!(sample(&evaluation, "longhorn_health_manager_last_exit_code", &["node-1"]), Some(1.0));
    let finding = &evaluation.report.findings[0];
    assert!(finding.impact.contains("shop/data"), "{}", finding.impact);
    assert_eq!(finding.volumes.len(), 1);
}

#[test]
fn a_pod_that_is_being_deleted_gives_way_to_its_successor() {
    let old = manager("v1.9.2", &backing_off(1, 2))
        .replace("longhorn-manager-a,", "longhorn-manager-z, deletionTimestamp: '2026-03-01T11:59:00Z', ");
    let new = manager("v1.9.2", "restartCount: 0, ready: true, state: {running: {}}");
    let cluster = live_at(NOW, &(old + &new));
    assert!(found(&CHECK, &cluster).is_empty());
    assert_eq!(sample(&run(&CHECK, &cluster), "longhorn_health_manager_restarts_total", &["node-1"]), None);
}

#[test]
fn odd_objects_and_unreadable_pods() {
    let odd = "apiVersion: v1\nkind: Pod\nmetadata: {name: pod-x, namespace: longhorn-system, labels: {app: longhorn-manager}}\n---\n\
               apiVersion: v1\nkind: Pod\nmetadata: {name: pod-y, namespace: longhorn-system, labels: {app: longhorn-manager}}\n\
               spec: {nodeName: node-n}\nstatus: {containerStatuses: [{name: longhorn-manager, state: {waiting: {reason: CrashLoopBackOff}}}]}\n---\n";
    assert_eq!(found(&CHECK, &cluster(odd)), ["critical unknown Pod pod-y"]);
    let mut blind = live_at(NOW, &manager("v1.9.2", &backing_off(1, 2)));
    blind.resources.entry(Resource::Pods).or_default().readability = Readability::Forbidden;
    let report = run(&CHECK, &blind).report;
    assert!(report.findings.is_empty());
    assert_eq!(report.unknown[0].reason, "pods is forbidden");
}

#[test]
fn alerts_cover_every_cause_and_have_twins_without_the_exporter() {
    let covered: Vec<_> = rules::ALERTS.iter().flat_map(|alert| alert.causes).collect();
    let causes: Vec<_> = cause::CAUSES.iter().map(|cause| &cause.id).collect();
    assert_eq!(covered, causes);
    for (own, twin) in rules::ALERTS.iter().zip(KUBE_STATE_METRICS_ALERTS) {
        assert_eq!(own.name, twin.name);
        assert!(twin.expr.contains("container=\"longhorn-manager\"") && twin.expr.contains("$namespace"));
        assert!(own.runbook.contains("## Meaning") && own.runbook.contains("## Mitigation"));
    }
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
