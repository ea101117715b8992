use std::io::{Cursor, Write};

use super::super::Recording;
use super::*;
use crate::cluster::Readability;
use crate::testing::evaluate;

const NOW: &str = "2026-03-01T12:00:00Z";

fn zip(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in files {
        zip.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(content).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// A bundle with a manager, a node and these files beside them.
fn bundle(files: &[(&str, &[u8])]) -> Vec<u8> {
    let manager = format!(
        "apiVersion: v1\nkind: PodList\nitems:\n- apiVersion: v1\n  kind: Pod\n  metadata: {{name: longhorn-manager-a, namespace: longhorn-system, labels: {{app: longhorn-manager}}, creationTimestamp: '{NOW}'}}\n  spec: {{nodeName: node-1, containers: [{{name: longhorn-manager}}]}}\n"
    );
    let node = "apiVersion: longhorn.io/v1beta2\nkind: NodeList\nitems:\n- apiVersion: longhorn.io/v1beta2\n  kind: Node\n  metadata: {name: node-1, namespace: longhorn-system}\n";
    let mut all: Vec<(&str, &[u8])> = vec![
        ("b/yamls/namespaced/longhorn-system/v1/pods.yaml", manager.as_bytes()),
        ("b/yamls/namespaced/longhorn-system/longhorn.io/v1beta2/nodes.yaml", node.as_bytes()),
    ];
    all.extend(files);
    zip(&all)
}

fn read(archive: Vec<u8>) -> Recording {
    Recording::from_archive(Path::new("b.zip"), Cursor::new(archive), "longhorn-system", Timestamp::MAX)
        .unwrap()
}

fn readability(recording: Recording, kind: Resource) -> Readability {
    recording.into_cluster("longhorn-system", None).readability(kind)
}

#[test]
fn what_the_bundle_could_not_get_is_unknown() {
    let errors = b"Failed to get /apis/longhorn.io/v1beta1/namespaces/longhorn-system/volumes: conversion webhook failed\n\
        Failed to get /apis/longhorn.io/v1beta2/namespaces/longhorn-system/backingimages: etcdserver: request timed out\n\
        Failed to get /apis/longhorn.io/v1beta2/namespaces/other/engines: etcdserver: request timed out\n\
        Failed to get /api/v1/nodes: forbidden\n\
        Support Bundle: failed to generate /tmp/b/yamls/namespaced/longhorn-system/longhorn.io/v1beta2/settings.yaml: no space left on device\n\
        Support Bundle: failed to generate /tmp/b/logs/longhorn-system/p/c.log: EOF\n";
    let read = || read(bundle(&[("b/bundleGenerationError.log", errors)]));
    use Resource::*;
    for (kind, unknown) in [
        (BackingImages, true),
        (KubeNodes, true),
        (Settings, true),
        (Volumes, false),
        (Engines, false),
        (LonghornNodes, false),
        (Pods, false),
    ] {
        assert_eq!(readability(read(), kind) == Readability::Incomplete, unknown, "{kind}");
    }
    assert!(
        read().warnings.iter().any(|said| said.contains("backingimages: etcdserver")),
        "{:?}",
        read().warnings
    );
    let report = evaluate(&read().into_cluster("longhorn-system", None)).report;
    assert!(
        report.unknown.iter().any(|unknown| unknown.check == "backing_image_eviction_crash"),
        "{:?}",
        report.unknown
    );
    let all = self::read(bundle(&[(
        "b/bundleGenerationError.log",
        b"Unable to fetch namespaced resources: timeout\n",
    )]));
    assert_eq!(readability(all, Volumes), Readability::Incomplete);
}

/// Files that were unpacked before say the same.
#[test]
fn what_files_say_of_a_bundle_is_what_its_archive_says() {
    let file = |name: &str, content: &[u8]| RecordedFile { name: name.to_owned(), content: content.to_vec() };
    let node = zip(&[("node-1/logs/dmesg.log", b"kern  :info  : [Sun Mar  1 11:40:00 2026] boot\n")]);
    let object =
        "apiVersion: longhorn.io/v1beta2\nkind: Node\nmetadata: {name: node-1, namespace: longhorn-system}\n";
    let files = [
        file("b/nodes/node-1.zip", &node),
        file("b/bundleGenerationError.log", b"Failed to get /api/v1/nodes: forbidden\n"),
        file("b/nodes.yaml", object.as_bytes()),
    ];
    let read = || Recording::from_files(files.clone(), "longhorn-system", Timestamp::MAX).unwrap();
    assert_eq!(readability(read(), Resource::KubeNodes), Readability::Incomplete);
    assert_eq!(readability(read(), Resource::NodeEvents), Readability::Readable);
}

#[test]
fn lines_are_cut_and_know_the_time_before_them() {
    let long = "x".repeat(3 * LINE);
    let text = format!(
        "kern  :err   : [Sun Mar  1 11:55:02 2026] a\nkern  :err   : [  +0.000300] b\n{long}\n  c\nMar  1 11:55:02 n kernel: [    1.0] d\ne"
    );
    let (mut left, mut seen) = (MOST, Vec::new());
    lines(&mut text.as_bytes(), &mut left, &mut |line, before| {
        seen.push((line.len(), String::from_utf8_lossy(before).chars().last()));
    })
    .unwrap();
    let last = "Mar  1 11:55:02 n kernel: [    1.0] d";
    assert_eq!(
        seen,
        [
            (43, None),
            (30, Some('a')),
            (LINE, Some('a')),
            (3, Some('x')),
            (last.len(), Some('x')),
            (1, Some('d'))
        ]
    );
    assert_eq!(MOST - left, text.len() as u64);
    let mut little = 10;
    assert!(lines(&mut text.as_bytes(), &mut little, &mut |_, _| {}).is_err());
}

#[test]
fn the_kernel_log_of_a_node_is_read() {
    let dmesg = b"kern  :info  : [Sun Mar  1 11:40:00 2026] scsi host3: iSCSI Initiator over TCP/IP\n\
        kern  :err   : [Sun Mar  1 11:55:02 2026]  connection1:0: detected conn error (1020)\n\
        kern  :err   : [  +0.000300]  connection2:0: detected conn error (1020)\n";
    let node = zip(&[("node-1/logs/dmesg.log", dmesg), ("node-1/hostinfos/hostinfo", b"x")]);
    let cluster = read(bundle(&[("b/nodes/node-1.zip", &node)])).into_cluster("longhorn-system", None);
    assert_eq!(cluster.readability(Resource::NodeEvents), Readability::Readable);
    let finding =
        evaluate(&cluster).report.findings.into_iter().find(|finding| finding.cause.id == "iscsi_conn_error");
    let finding = finding.unwrap();
    assert_eq!(finding.since.unwrap().to_string(), "2026-03-01T11:55:02Z");
    let says = format!("{:?}", finding.evidence());
    assert!(says.contains("2 times") && says.contains("kernel log in the bundle"), "{says}");
    // hours before the bundle was made, it is history
    let old = String::from_utf8_lossy(dmesg).replace("11:55:02", "09:55:02").replace("11:40", "09:40");
    let node = zip(&[("node-1/logs/dmesg.log", old.as_bytes())]);
    let cluster = read(bundle(&[("b/nodes/node-1.zip", &node)])).into_cluster("longhorn-system", None);
    assert!(evaluate(&cluster).report.findings.iter().all(|finding| finding.check != "node_iscsi_errors"));
}

#[test]
fn without_the_kernel_log_of_a_node_what_it_said_is_unknown() {
    let other = zip(&[("node-2/logs/dmesg.log", b"kern  :info  : [Sun Mar  1 11:40:00 2026] boot\n")]);
    let recording = read(bundle(&[("b/nodes/node-2.zip", &other)]));
    assert!(
        recording.warnings.iter().any(|said| said.contains("lacks the whole kernel log of node-1")),
        "{:?}",
        recording.warnings
    );
    assert_eq!(readability(recording, Resource::NodeEvents), Readability::Incomplete);
    let empty = zip(&[("node-1/hostinfos/hostinfo", b"x")]);
    let recording = read(bundle(&[("b/nodes/node-1.zip", &empty)]));
    assert!(
        recording.warnings.iter().any(|said| said.contains("has no kernel log")),
        "{:?}",
        recording.warnings
    );
    let broken = read(bundle(&[("b/nodes/node-1.zip", b"PK nothing")]));
    assert!(broken.warnings.iter().any(|said| said.contains("is not read")), "{:?}", broken.warnings);
    assert_eq!(readability(broken, Resource::NodeEvents), Readability::Incomplete);
    // of one that is cut off, what it does not say is unknown
    let log = "kern  :info  : [Sun Mar  1 11:40:00 2026] boot\n".repeat(9);
    let cut = zip(&[("node-1/logs/dmesg.log", log.as_bytes()), ("node-1/logs/syslog", &b"x".repeat(99))]);
    let cut = read(bundle(&[("b/nodes/node-1.zip", &cut[..cut.len() * 2 / 3])]));
    assert!(cut.warnings.iter().any(|said| said.contains("is not whole")), "{:?}", cut.warnings);
    assert_eq!(readability(cut, Resource::NodeEvents), Readability::Incomplete);
    // without any archive of a node there may be none, as before
    assert_eq!(readability(read(bundle(&[])), Resource::NodeEvents), Readability::NotRecorded);
}

#[test]
fn the_kubelet_of_a_node_tells_who_ended_an_instance_manager() {
    let line =
        |time: &str, rest: &str| format!("Mar 01 {time} node-1 kubelet[812]: I0301 {time}    812 {rest}\n");
    let pod = "pod=\"longhorn-system/instance-manager-a\" podUID=\"u-1\" containerName=\"instance-manager\"";
    let probe = format!(
        "prober.go:120] \"Probe failed\" probeType=\"Liveness\" {pod} probeResult=\"failure\" output=\"dial tcp 10.42.0.9:8500: i/o timeout\""
    );
    let kill = format!(
        "kuberuntime_container.go:808] \"Killing container with a grace period\" {pod} containerID=\"containerd://x\" gracePeriod=30"
    );
    // newest first, as journalctl -r writes them; one of another pod
    let log = line("11:50:15.000100", &kill)
        + &line("11:50:14.000100", &probe)
        + &line("11:50:09.000100", &probe)
        + &line("11:40:00.000100", &probe.replace("instance-manager-a", "web-0"));
    let node = zip(&[("node-1/logs/kubelet.log", log.as_bytes()), ("node-1/logs/syslog", b"")]);
    let cluster = read(bundle(&[("b/nodes/node-1.zip", &node)])).into_cluster("longhorn-system", None);
    let mut events: Vec<_> = cluster.objects.events.iter().collect();
    events.sort_by_key(|event| event.last_seen());
    let says: Vec<_> = events
        .iter()
        .map(|event| {
            format!("{} {} {} {}", event.involved_object.name, event.reason, event.count.0, event.message)
        })
        .collect();
    assert_eq!(
        says,
        [
            "instance-manager-a Unhealthy 2 Liveness probe failed: dial tcp 10.42.0.9:8500: i/o timeout",
            "instance-manager-a Killing 1 Stopping container instance-manager"
        ]
    );
    assert_eq!(events[0].first_seen().unwrap().to_string(), "2026-03-01T11:50:09Z");
}

/// Events of the end are gone after an hour, or with the etcd of events; the journal of the kubelet is kept for days. It has these lines from
/// -v=2 on (kubernetes v1.36 pkg/kubelet/prober/prober.go V(1), kuberuntime/kuberuntime_container.go V(2)).
#[test]
fn the_log_of_a_kubelet_leads_to_the_verdict_on_an_instance_manager() {
    let line = |time: &str, rest: &str| {
        format!("Mar 01 {time} node-1 kubelet[812]: I0301 {time}.100200     812 {rest}\n")
    };
    let pod = "pod=\"longhorn-system/instance-manager-a\" podUID=\"u-1\" containerName=\"instance-manager\"";
    // output of several lines follows on lines of their own
    let probe = |time: &str, output: &str| {
        let said =
            format!("\"Probe failed\" probeType=\"Liveness\" {pod} probeResult=\"failure\" output={output}");
        line(time, &format!("prober.go:120] {said}"))
    };
    let killing = "\"Killing container with a grace period\"";
    let kill = line(
        "11:50:15",
        &format!(
            "kuberuntime_container.go:869] {killing} {pod} containerID=\"containerd://x\" gracePeriod=30"
        ),
    );
    let failed = probe("11:50:15", "\"\"") + &probe("11:50:12", "\"\"") + &probe("11:50:09", "\"\"");
    let object = |kind: &str, name: &str, metadata: &str, rest: &str| {
        let (version, file) = match kind {
            "Pod" => ("v1", "v1/pods-of-im.yaml"),
            _ => ("longhorn.io/v1beta2", "longhorn.io/v1beta2/instancemanagers.yaml"),
        };
        let text = format!(
            "apiVersion: {version}\nkind: {kind}List\nitems:\n- apiVersion: {version}\n  kind: {kind}\n  metadata: {{name: {name}, \
             namespace: longhorn-system, {metadata}}}\n  {rest}\n"
        );
        (format!("b/yamls/namespaced/longhorn-system/{file}"), text)
    };
    let im = object(
        "InstanceManager",
        "instance-manager-a",
        "uid: i, creationTimestamp: '2026-02-01T00:00:00Z'",
        "spec: {nodeID: node-1, type: aio, dataEngine: v1, image: i}\n  status: {currentState: running, ownerID: node-1}",
    );
    let next = object(
        "Pod",
        "instance-manager-a",
        "uid: u-2, creationTimestamp: '2026-03-01T11:50:48Z', labels: {longhorn.io/component: instance-manager, longhorn.io/node: node-1}",
        "spec: {nodeName: node-1, containers: [{name: instance-manager, image: i, livenessProbe: {periodSeconds: 3, failureThreshold: 3}}]}\n  \
         status: {phase: Running}",
    );
    let judged = |log: &str| {
        let node = zip(&[("node-1/logs/kubelet.log", log.as_bytes()), ("node-1/logs/syslog", b"")]);
        let files =
            [(im.0.as_str(), im.1.as_bytes()), (&next.0, next.1.as_bytes()), ("b/nodes/node-1.zip", &node)];
        let report = evaluate(&read(bundle(&files)).into_cluster("longhorn-system", None)).report;
        let all = report.findings.into_iter();
        let ends: Vec<_> = all.filter(|finding| finding.check == "instance_manager_replaced").collect();
        ends.iter().map(|finding| (finding.cause.id, format!("{:?}", finding.evidence()))).collect::<Vec<_>>()
    };
    let told = judged(&(kill.clone() + &failed));
    assert_eq!(told.iter().map(|(cause, _)| *cause).collect::<Vec<_>>(), ["liveness_probe"]);
    assert!(told[0].1.contains("3 times"), "{}", told[0].1);
    let lines = [probe("11:50:15", "<"), probe("11:50:12", "<"), probe("11:50:09", "<")].concat();
    let told = judged(&(kill.clone() + &lines));
    assert!(told[0].0 == "liveness_probe" && !told[0].1.contains("failed: <"), "{told:?}");
    // stopped for something else, not at all, and by a kubelet that logs nothing of it
    for log in [kill.clone() + &probe("11:48:00", "\"\""), kill, String::new()] {
        assert_eq!(judged(&log)[0].0, "unknown", "{log}");
    }
}

#[test]
fn a_bundle_that_is_cut_off_is_judged_as_far_as_it_goes() {
    let whole = bundle(&[(
        "b/yamls/namespaced/longhorn-system/longhorn.io/v1beta2/volumes.yaml",
        &b"x".repeat(9_000),
    )]);
    let pods = |archive: Vec<u8>| {
        let read = Recording::from_archive(
            Path::new("b.zip"),
            Cursor::new(archive),
            "longhorn-system",
            Timestamp::MAX,
        );
        read.map(|recording| (recording.objects.count(Resource::Pods), recording.warnings.join("; ")))
    };
    let (mut cut_off, mut refused) = (0, 0);
    for length in (4..whole.len() - 20).step_by(7) {
        match pods(whole[..length].to_vec()) {
            Ok((1, said)) if said.contains("is cut off") => cut_off += 1,
            Ok((0, _)) | Err(_) => refused += 1,
            other => panic!("{length}: {other:?}"),
        }
    }
    assert!(cut_off > 20 && refused > 20, "{cut_off} {refused}");
    let volumes = |archive: Vec<u8>| readability(read(archive), Resource::Volumes);
    let after_nodes = whole.windows(12).position(|bytes| bytes == b"volumes.yaml").unwrap() + 30;
    assert_eq!(volumes(whole[..after_nodes].to_vec()), Readability::Incomplete, "what came after is unknown");
    assert_eq!(readability(read(whole[..after_nodes].to_vec()), Resource::Pods), Readability::Readable);
}

/// An Event tells by being there: what the logs of the nodes say that are left is reported, and the rest is unknown.
#[test]
fn what_one_node_says_counts_though_the_next_is_cut_off() {
    let log = b"kern  :info  : [Sun Mar  1 11:40:00 2026] boot\n\
        kern  :err   : [Sun Mar  1 11:55:02 2026]  connection1:0: detected conn error (1020)\n";
    let node = zip(&[("node-1/logs/dmesg.log", log)]);
    let whole = bundle(&[("b/nodes/node-1.zip", &node), ("b/nodes/node-2.zip", &b"x".repeat(9_000))]);
    let second = whole.windows(10).position(|bytes| bytes == b"node-2.zip").unwrap() + 15;
    let report = evaluate(&read(whole[..second].to_vec()).into_cluster("longhorn-system", None)).report;
    let checks: Vec<_> = report.unknown.iter().map(|unknown| unknown.check).collect();
    assert!(checks.contains(&"node_iscsi_errors"), "{checks:?}");
    assert!(report.findings.iter().any(|finding| finding.cause.id == "iscsi_conn_error"));
}

#[test]
fn times_of_logs() {
    let newest = "2026-01-02T00:00:00Z".parse().unwrap();
    for (line, time) in [
        ("kern  :err   : [Sun Mar  1 11:55:02 2026]  x", "2026-03-01T11:55:02Z"),
        ("Dec 31 23:59:58.123456 node-1 kubelet[1]: x", "2025-12-31T23:59:58Z"),
        ("Jan  2 00:00:01 node-1 containerd[1]: x", "2026-01-02T00:00:01Z"),
        ("2026-01-01T10:00:00.5Z node-1 kernel: x", "2026-01-01T10:00:00.5Z"),
    ] {
        assert_eq!(time_of(line, newest).unwrap().to_string(), time, "{line}");
    }
    for line in [
        "kern  :err   : [  +0.000300]  x", "", "no time at all here", "[Sun Feb 31 11:55:02 2026]",
        "Jan 99 00:00:01 x",
    ] {
        assert_eq!(time_of(line, newest), None, "{line}");
    }
}
