//! Signatures of users: those in docs/examples find what their issues show, and none hides a finding of ours.

use std::collections::BTreeSet;
use std::process::Command;
use std::sync::Arc;

use longhorn_health_exporter::check::{Finding, Severity};
use longhorn_health_exporter::checks::CATALOGUE;
use longhorn_health_exporter::cluster::Cluster;
use longhorn_health_exporter::history::CrashLog;
use longhorn_health_exporter::report::signatures::parse;
use longhorn_health_exporter::report::{Report, ReportOptions, evaluate_with};
use longhorn_health_exporter::source::demo;
use serde_json::json;
use testing::cluster;

const EXAMPLES: &str = include_str!("../../docs/examples/signatures.yaml");

fn with(cluster: Cluster, yaml: &str) -> Report {
    let signatures = Arc::new(parse(&CATALOGUE.kinds(), "a.yaml", yaml).unwrap());
    let options = ReportOptions { bounded: true, signatures, ..ReportOptions::default() };
    evaluate_with(&CATALOGUE, &cluster, |_| true, &options).report
}

fn names(report: &Report) -> BTreeSet<&str> {
    report.findings.iter().filter_map(|finding| finding.signature.as_deref()).collect()
}

/// Objects of a cluster of this release with what the issues show.
fn objects(release: &str) -> String {
    let longhorn = |kind: &str, name: &str, status: serde_json::Value| json!({"apiVersion": "longhorn.io/v1beta2", "kind": kind, "metadata": {"name": name, "namespace": "longhorn-system"}, "status": status});
    let event = |name: &str, reason: &str, message: &str| {
        json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": name, "namespace": "longhorn-system"},
               "involvedObject": {"kind": "Snapshot", "name": name}, "reason": reason, "message": message})
    };
    let objects = [
        json!({"apiVersion": "longhorn.io/v1beta2", "kind": "Setting", "value": release,
               "metadata": {"name": "current-longhorn-version", "namespace": "longhorn-system"}}),
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "longhorn-manager-a", "namespace": "longhorn-system",
               "labels": {"app": "longhorn-manager"}}, "spec": {"nodeName": "node-1"}, "status": {"phase": "Running"}}),
        longhorn(
            "Node",
            "node-1",
            json!({"conditions": [
            {"type": "Multipathd", "status": "False", "reason": "MultipathdIsRunning"}]}),
        ),
        event("a", "SnapshotUpdate", "snapshot becomes not ready to use"),
        event("b", "SnapshotError", "lost track of the corresponding snapshot info inside volume engine"),
    ];
    json!({"apiVersion": "v1", "kind": "List", "items": objects}).to_string()
}

/// The same with the log of a crash.
fn reported(release: &str) -> Cluster {
    let mut cluster = cluster(&objects(release));
    cluster.history.add_crash_log(CrashLog {
        pod: "longhorn-manager-a".to_owned(),
        container: "longhorn-manager".to_owned(),
        pod_uid: String::new(),
        text: "panic: runtime error: invalid memory address or nil pointer dereference\n\ngoroutine 540 [running]:\n\
               github.com/rancher/dynamiclistener/storage/kubernetes.(*storage).saveInK8s(0xc00012e150, 0x0)\n"
            .to_owned(),
        exit_code: Some(2),
    });
    cluster
}

#[test]
fn the_examples_find_what_their_issues_show_on_their_releases_alone() {
    let all = [
        "multipathd-running", "snapshot-cleanup-warns", "snapshot-lost-track", "uninstall-blocked-by-bundle",
        "webhook-secret-panic",
    ];
    let found = |release: &str| -> Vec<String> {
        names(&with(reported(release), EXAMPLES)).into_iter().map(str::to_owned).collect()
    };
    assert_eq!(found("v1.6.2"), [all[0], all[1], all[2], all[3]]);
    assert_eq!(found("v1.10.2"), [all[0], all[1], all[4]]);
    assert_eq!(found("v1.12.0"), [all[0], all[4]]);
    for entry in EXAMPLES.split("\n- name: ").skip(1) {
        assert!(entry.trim_end().lines().count() <= 15, "{entry}");
    }
}

#[test]
fn what_is_found_is_marked_and_its_commands_are_quoted() {
    let yaml = "signatures:\n- {name: odd, title: A node is odd, severity: warning, fix: Look at <object>., \
                where: {object: {kind: nodes.longhorn.io, fields: [{path: metadata.name, exists: true}]}}, \
                steps: [{change: 'kubectl cordon <node>'}, {read: 'kubectl get volume <volume>'}]}\n";
    let report = with(reported("v1.8.1"), yaml);
    let finding = report.findings.iter().find(|finding| finding.signature.is_some()).unwrap();
    assert_eq!(finding.message, "A node is odd (your signature odd)");
    assert_eq!((finding.check, finding.cause.id), ("signature_matched", "warning_signature"));
    let json = serde_json::to_value(&finding.remedy).unwrap();
    // a command of which a name has no value is left out
    assert_eq!(
        json,
        json!({"fix": "Look at node-1.", "commands": [{"run": "kubectl cordon node-1", "changes": true}]})
    );
}

/// Each finding, incident and unknown verdict of ours is there as without them, and each signature is an incident of its own.
#[test]
fn signatures_hide_nothing_of_ours() {
    let yaml: String = ["critical", "warning", "info"]
        .into_iter()
        .flat_map(|severity| ["a", "b"].map(|name| (severity, name)))
        .map(|(severity, name)| {
            format!(
                "- {{name: {severity}-{name}, title: T, severity: {severity}, fix: F, \
                 where: {{object: {{kind: Volume, fields: [{{path: metadata.name, exists: true}}]}}}}}}\n"
            )
        })
        .collect();
    let demo = || demo::cluster("2026-01-01T12:00:00Z".parse().unwrap()).unwrap();
    let before = with(demo(), "");
    let after = with(demo(), &format!("signatures:\n{yaml}"));
    let ours = |report: &Report| -> Vec<Finding> {
        report.findings.iter().filter(|finding| finding.signature.is_none()).cloned().collect()
    };
    assert_eq!(ours(&before), ours(&after));
    assert_eq!(before.unknown, after.unknown);
    let incidents = |report: &Report| -> Vec<(String, Vec<String>)> {
        let ours = report.incidents.iter().filter(|incident| incident.check != "signature_matched");
        ours.map(|incident| {
            (incident.title.clone(), incident.consequences.iter().map(|one| one.text.to_owned()).collect())
        })
        .collect()
    };
    assert_eq!(incidents(&before), incidents(&after));
    let theirs = after.incidents.iter().filter(|incident| incident.check == "signature_matched");
    assert_eq!(theirs.count(), 6);
    // of 21 volumes 20 are listed, and all are counted
    let volumes: String = (0..21)
        .map(|n| format!("---\napiVersion: longhorn.io/v1beta2\nkind: Volume\nmetadata: {{name: v{n}, namespace: longhorn-system}}\n"))
        .collect();
    let one = yaml.lines().next().unwrap();
    let report = with(cluster(&volumes), &format!("signatures:\n{one}\n"));
    assert_eq!(report.findings.iter().filter(|finding| finding.signature.is_some()).count(), 20);
    let rest = report.not_listed.iter().find(|some| some.check == "signature_matched").unwrap();
    assert_eq!((rest.count, rest.severity), (1, Severity::Critical));
}

#[test]
fn files_are_linted_and_refused_on_the_command_line() {
    let directory = tempfile::tempdir().unwrap();
    let wrong = directory.path().join("wrong.yaml");
    std::fs::write(&wrong, "signatures:\n- {name: a, title: T, severity: info, fix: F, where: {log: {matches: '(a{1000}){1000}'}}}\n").unwrap();
    let recording = directory.path().join("recording.json");
    std::fs::write(&recording, objects("v1.8.1")).unwrap();
    let (wrong, recording) = (wrong.to_str().unwrap(), recording.to_str().unwrap());
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_longhorn-health-exporter"));
        let output = command.args(arguments).env_clear().output().unwrap();
        let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        (output.status.code(), text)
    };
    let examples = "docs/examples/signatures.yaml";
    for (arguments, code, part) in [
        (&["lint-signatures", examples][..], 0, "5 signatures in 1 file"),
        (&["lint-signatures", examples, "--from", recording], 0, "matches nodes.longhorn.io node-1"),
        (
            &["lint-signatures", wrong],
            1,
            "signatures[0] a: where.log.matches: too large a regular expression",
        ),
        (&["lint-signatures", "missing.yaml"], 64, "cannot read missing.yaml"),
        (
            &["check", "--demo", "--signatures", wrong],
            64,
            "where.log.matches: too large a regular expression",
        ),
    ] {
        let (is, text) = run(arguments);
        assert_eq!(is, Some(code), "{arguments:?}: {text}");
        assert!(text.contains(part), "{arguments:?}: {text}");
    }
}
