//! What `record` writes is judged as the cluster that it was.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read};
use std::time::Duration;

use fake_apiserver::{Fault, Verb};
use jiff::Timestamp;
use longhorn_health_exporter::check::Severity;
use longhorn_health_exporter::cluster::{Cluster, Readability};
use longhorn_health_exporter::longhorn::{Release, Resource};
use longhorn_health_exporter::source::record::{Recorded, Sink, record};
use longhorn_health_exporter::source::recording::RecordedFile;
use longhorn_health_exporter::source::{Recording, Source};
use serde_json::json;
use testing::evaluate;

use crate::support::*;

#[derive(Default)]
struct Memory(BTreeMap<String, Vec<u8>>);

impl Sink for Memory {
    fn put(&mut self, name: &str, size: u64, content: &mut dyn Read) -> io::Result<()> {
        let mut whole = Vec::new();
        assert_eq!(content.read_to_end(&mut whole)? as u64, size, "{name}");
        assert_eq!(self.0.insert(name.to_owned(), whole), None, "{name} is written twice");
        Ok(())
    }

    fn spool(&self) -> io::Result<File> {
        tempfile::tempfile()
    }

    fn reading(&mut self, _what: &str) {}
}

async fn recorded(server: &fake_apiserver::FakeApiServer) -> (Recorded, Memory, Recording) {
    recorded_at(server, now()).await
}

async fn recorded_at(
    server: &fake_apiserver::FakeApiServer,
    moment: Timestamp,
) -> (Recorded, Memory, Recording) {
    let client = connection(server).await.client();
    let mut memory = Memory::default();
    let patience = Duration::from_secs(120);
    let recorded =
        within("the recording", record(&client, NAMESPACE, patience, moment, &mut memory)).await.unwrap();
    let file =
        |(name, content): (&String, &Vec<u8>)| RecordedFile { name: name.clone(), content: content.clone() };
    let files: Vec<_> = memory.0.iter().map(file).collect();
    (recorded, memory, Recording::from_files(files, NAMESPACE, Timestamp::MAX).unwrap())
}

#[tokio::test]
async fn what_was_there_is_recorded_and_what_was_refused_is_unknown() {
    let server = server().await;
    for number in 0..450 {
        server.put(VOLUMES, volume(&format!("v{number}")));
    }
    server.put("pods", crashed_manager("m", "1", 3, 10));
    server.put("pods", crashed_manager("n", "2", 3, 10));
    server.set_log(NAMESPACE, "m", "longhorn-manager", true, "level=fatal msg=first\n");
    server.fault("nodes", Fault::Forbid);
    server.unserve("enginefrontends.longhorn.io");
    server.unserve("orphans.longhorn.io");
    let (recorded, _, recording) = recorded(&server).await;

    assert_eq!((recorded.objects, recorded.logs), (452, 1));
    let unread: Vec<_> = recorded.unread.iter().map(|what| what.split(": ").next().unwrap()).collect();
    assert_eq!(unread, ["orphans.longhorn.io", "nodes", "n.longhorn-manager.previous.log"]);
    assert!(server.request_counts().keys().all(|(resource, _)| resource != "secrets"));

    let cluster = recording.into_cluster(NAMESPACE, None);
    assert_eq!(cluster.objects.volumes.len(), 450, "all pages");
    for (kind, readability) in [
        (Resource::Volumes, Readability::Readable),
        // asked for, and empty
        (Resource::Replicas, Readability::Readable),
        (Resource::NodeEvents, Readability::Readable),
        (Resource::EngineFrontends, Readability::NotInstalled),
        (Resource::Orphans, Readability::NotInstalled),
        (Resource::KubeNodes, Readability::Incomplete),
    ] {
        assert_eq!(cluster.readability(kind), readability, "{kind}");
    }
    assert!(cluster.history.crash_log("m", "longhorn-manager").is_some());
    assert!(cluster.history.why_crash_log_unread("n", "2").is_some());
}

/// What a Ready manager says of the API server no object tells: a single look reads it, too.
/// Nothing in a cluster whose managers and nodes have been silent for 40 minutes is as new as the moment of the recording.
#[tokio::test]
async fn a_recording_has_the_verdict_of_the_cluster_at_its_moment() {
    let root = std::path::Path::new(testing::ROOT);
    let server = server().await;
    for object in testing::scenario_files::objects(&root.join("tests/scenarios/healthy-1.12")) {
        let text = |key: &str| object[key].as_str().unwrap().to_owned();
        let kind = Resource::of(&text("apiVersion"), &text("kind"));
        if let Some(kind) = kind {
            server.put(&kind.label(), object.clone());
        }
    }
    let lease = json!({"holderIdentity": "worker-1", "renewTime": "2026-03-01T12:00:00Z"});
    let metadata = json!({"name": "longhorn-webhook-cert-rotation", "namespace": NAMESPACE});
    server.put("leases.coordination.k8s.io", json!({ "metadata": metadata, "spec": lease }));
    let moment = testing::time("2026-03-01T12:40:00Z");
    let live = synced(&server).await;
    let mut cluster = live.snapshot(moment);
    cluster.one_look = true;
    let told = |cluster: &Cluster| {
        let report = evaluate(cluster).report;
        let findings = report.findings.iter();
        let findings = findings.map(|one| (one.check, one.cause.id, one.severity, one.message.clone()));
        (report.exit_code, report.status, findings.collect::<BTreeSet<_>>())
    };
    let (_, _, recording) = recorded_at(&server, moment).await;
    let (exit_code, status, findings) = told(&cluster);
    let lost = |one: &(&str, &str, Severity, String)| one.1 == "api_lost" && one.2 > Severity::Info;
    assert!(exit_code == 1 && findings.iter().any(lost), "{findings:#?}");
    assert_eq!(told(&recording.into_cluster(NAMESPACE, None)), (exit_code, status, findings));
}

#[tokio::test]
async fn a_page_that_is_too_heavy_is_asked_for_in_smaller_ones() {
    let server = server().await;
    for number in 0..40 {
        let mut heavy = volume(&format!("v{number:02}"));
        heavy["metadata"]["annotations"] = json!({ "note": "x".repeat(1 << 20) });
        server.put(VOLUMES, heavy);
    }
    in_pages(&server);
    let (recorded, _, recording) = recorded(&server).await;
    assert_eq!(recorded.unread, Vec::<String>::new());
    assert_eq!(recording.into_cluster(NAMESPACE, None).objects.volumes.len(), 40);
    assert_eq!(parameters(&server, VOLUMES, Verb::List, "limit")[1..], ["200", "25", "25"]);
}

#[tokio::test]
async fn logs_of_ready_managers_are_recorded_as_a_single_look_reads_them() {
    let server = server().await;
    for number in 0..8 {
        let name = format!("m-{number}");
        server.put("pods", running_manager(&name, true));
        server.set_log(NAMESPACE, &name, "longhorn-manager", false, "level=error msg=full\n");
    }
    let (recorded, _, recording) = recorded(&server).await;
    assert_eq!(recorded.logs, 6);
    let cluster = recording.into_cluster(NAMESPACE, None);
    let pod = cluster.objects.pods.get("m-0").unwrap();
    assert_eq!(cluster.history.current_log(pod, "longhorn-manager").unwrap().text, "level=error msg=full\n");
}

/// Values of charts may hold secrets, and what installs something else is of no interest.
#[tokio::test]
async fn of_other_tools_only_what_is_read_is_recorded() {
    let server = server().await;
    server.set_git_version("v1.34.1+k3s1");
    let release = |name: &str, chart: &str| {
        json!({
            "metadata": { "name": name, "namespace": "flux" },
            "spec": {
                "suspend": true,
                "chart": { "spec": { "chart": chart } },
                "upgrade": { "remediation": { "retries": 3, "strategy": "uninstall" } },
                "values": { "password": "hunter2" },
            },
        })
    };
    server.put("helmreleases.helm.toolkit.fluxcd.io", release("lh", "longhorn"));
    server.put("helmreleases.helm.toolkit.fluxcd.io", release("shop", "shop"));
    let application = json!({
        "metadata": { "name": "storage", "namespace": "argocd", "annotations": { "token": "hunter2" } },
        "spec": { "source": { "repoURL": "https://hunter2@git.example.org", "helm": { "values": "hunter2" } } },
        "status": { "resources": [
            { "kind": "DaemonSet", "namespace": "longhorn-system", "name": "longhorn-manager" },
            { "kind": "Secret", "namespace": "shop", "name": "hunter2" },
        ] },
    });
    server.put("applications.argoproj.io", application);
    let chart = json!({
        "metadata": { "name": "longhorn", "namespace": "kube-system" },
        "spec": { "chart": "longhorn", "failurePolicy": "abort", "valuesContent": "hunter2" },
    });
    server.put("helmcharts.helm.cattle.io", chart);
    let (recorded, memory, recording) = recorded(&server).await;
    assert_eq!(recorded.unread.len(), 0, "{:?}", recorded.unread);
    for (name, content) in &memory.0 {
        let text = String::from_utf8_lossy(content);
        assert!(!text.contains("hunter2") && !text.contains("shop"), "{name}: {text}");
    }
    let cluster = recording.into_cluster(NAMESPACE, None);
    assert_eq!(cluster.api_server, Release::parse("v1.34.1+k3s1"));
    let flux = cluster.objects.helm_releases.get("lh").unwrap();
    assert!(flux.spec.suspend && flux.is_longhorn());
    assert_eq!(flux.spec.upgrade.remediation.strategy, "uninstall");
    assert!(cluster.objects.applications.get("storage").unwrap().is_longhorn());
    assert_eq!(cluster.objects.helm_charts.get("longhorn").unwrap().spec.failure_policy, "abort");
}

#[tokio::test]
async fn a_list_that_breaks_off_is_recorded_in_pages() {
    let server = server().await;
    for number in 0..450 {
        server.put(VOLUMES, volume(&format!("v{number}")));
    }
    in_pages(&server);
    let (recorded, _, recording) = recorded(&server).await;
    assert_eq!((recorded.objects, recorded.unread.len()), (450, 0), "{:?}", recorded.unread);
    assert_eq!(parameters(&server, VOLUMES, Verb::List, "limit"), ["", "200", "200", "200"]);
    assert_eq!(recording.into_cluster(NAMESPACE, None).objects.volumes.len(), 450);
}

#[tokio::test]
async fn a_recording_that_lacks_a_file_is_unknown_there() {
    let server = server().await;
    server.put(VOLUMES, volume("v"));
    let (_, memory, whole) = recorded(&server).await;
    assert_eq!(whole.warnings, [""; 0]);
    let webhooks = Resource::ValidatingWebhookConfigurations;
    for (kind, written) in Resource::all().map(|kind| (kind, format!("{}.json", kind.label()))) {
        let rest = memory.0.iter().filter(|(name, _)| **name != written);
        let files = rest.map(|(name, content)| RecordedFile { name: name.clone(), content: content.clone() });
        let recording = Recording::from_files(files, NAMESPACE, Timestamp::MAX).unwrap();
        assert!(recording.warnings[0].contains(&format!("{kind}: the recording lacks the file")), "{kind}");
        let cluster = recording.into_cluster(NAMESPACE, None);
        assert_eq!(cluster.readability(kind), Readability::Incomplete, "{kind}");
        assert_eq!(cluster.can_read(webhooks), kind != webhooks, "{kind}");
    }
}

#[tokio::test]
async fn a_recording_that_lacks_a_log_says_so() {
    let server = server().await;
    for (pod, uid) in [("m", "1"), ("n", "2")] {
        server.put("pods", crashed_manager(pod, uid, 3, 10));
    }
    server.set_log(NAMESPACE, "m", "longhorn-manager", true, "level=fatal msg=first\n");
    let (_, memory, whole) = recorded(&server).await;
    assert_eq!(whole.warnings, [""; 0], "the log of n was refused, which its file says");
    let without = |lost: &str| {
        assert!(memory.0.contains_key(lost), "{lost}");
        let rest = memory.0.iter().filter(|(name, _)| *name != lost);
        let files = rest.map(|(name, content)| RecordedFile { name: name.clone(), content: content.clone() });
        Recording::from_files(files, NAMESPACE, Timestamp::MAX).unwrap()
    };
    for (lost, pod, uid) in
        [("m.longhorn-manager.previous.log", "m", "1"), ("n.longhorn-manager.previous.log.json", "n", "2")]
    {
        let recording = without(lost);
        let log = lost.trim_end_matches(".json");
        assert_eq!(
            recording.warnings,
            [format!("{log}: the recording lacks this file; what it held is unknown")]
        );
        let cluster = recording.into_cluster(NAMESPACE, None);
        let why = cluster.history.why_crash_log_unread(pod, uid).unwrap();
        assert_eq!(why, format!("the recording lacks its file {log}"));
        assert!(cluster.history.crash_log(pod, "longhorn-manager").is_none());
    }
    let said = without("recording-logs.json").warnings;
    assert_eq!(said, ["recording-logs: the recording lacks this file; what it held is unknown"]);
}

#[tokio::test]
async fn a_name_that_no_pod_can_have_is_no_file() {
    let server = server().await;
    for name in ["../../x", "/tmp/x", "a\nb", ".hidden", "m"] {
        server.put("pods", crashed_manager(name, name, 3, 10));
        server.set_log(NAMESPACE, name, "longhorn-manager", true, "level=fatal msg=first\n");
    }
    let (recorded, memory, _) = recorded(&server).await;
    assert_eq!((recorded.logs, recorded.unread.len()), (1, 4), "{:?}", recorded.unread);
    let logs: Vec<_> = memory.0.keys().filter(|name| name.contains(".log")).collect();
    assert_eq!(logs, ["m.longhorn-manager.previous.log"]);
}

#[test]
fn archives_are_read_as_the_directories_they_were() {
    const PODS: &str =
        "apiVersion: v1\nkind: PodList\nitems:\n- metadata: {name: p, namespace: longhorn-system}\n";
    let directory = tempfile::tempdir().unwrap();
    let (gz, zip) = (directory.path().join("a.tar.gz"), directory.path().join("a.zip"));
    let mut tar = tar::Builder::new(flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast()));
    let mut header = tar::Header::new_gnu();
    header.set_size(PODS.len() as u64);
    tar.append_data(&mut header, "recording/pods.yaml", PODS.as_bytes()).unwrap();
    let packed = tar.into_inner().unwrap().finish().unwrap();
    std::fs::write(&gz, &packed).unwrap();
    let mut writer = zip::ZipWriter::new(std::fs::File::create(&zip).unwrap());
    writer.start_file("bundle/yamls/pods.yaml", zip::write::SimpleFileOptions::default()).unwrap();
    std::io::Write::write_all(&mut writer, PODS.as_bytes()).unwrap();
    writer.finish().unwrap();
    for path in [&gz, &zip] {
        let cluster = Recording::read(path, NAMESPACE, Timestamp::MAX).unwrap().into_cluster(NAMESPACE, None);
        assert_eq!(cluster.objects.pods.len(), 1);
    }
    // one that was cut is no recording
    std::fs::write(&gz, &packed[..packed.len() / 2]).unwrap();
    assert!(Recording::read(&gz, NAMESPACE, Timestamp::MAX).is_err());
}
