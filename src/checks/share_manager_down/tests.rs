use std::sync::Arc;

use super::CHECK;
use crate::testing::*;

const NOW: &str = "2026-03-01T12:00:00Z";
const LONG_AGO: &str = "2026-03-01T11:00:00Z";
const JUST_NOW: &str = "2026-03-01T11:59:00Z";

fn share(state: &str) -> String {
    object("ShareManager", "vol-1", &format!("status: {{state: {state}, ownerID: n1}}"))
}

fn volume(spec: &str, status: &str) -> String {
    format!(
        "apiVersion: longhorn.io/v1beta2\nkind: Volume\nmetadata: {{name: vol-1, namespace: longhorn-system}}\nspec: {{{spec}}}\n\
         status: {{{status}, kubernetesStatus: {{pvcName: files, namespace: web}}}}\n---\n"
    )
}

fn attached() -> String {
    volume("accessMode: rwx", "state: attached, robustness: healthy")
}

fn tickets(kind: &str) -> String {
    format!(
        "apiVersion: longhorn.io/v1beta2\nkind: VolumeAttachment\nmetadata: {{name: vol-1, namespace: longhorn-system}}\n\
         spec: {{attachmentTickets: {{t: {{type: {kind}, nodeID: n2}}}}}}\n---\n"
    )
}

fn pod(phase: &str, ready: &str, since: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: share-manager-vol-1, namespace: longhorn-system}}\nspec: {{nodeName: n1}}\n\
         status: {{phase: {phase}, conditions: [{{type: Ready, status: '{ready}', lastTransitionTime: '{since}'}}]}}\n---\n"
    )
}

fn wanted(state: &str) -> String {
    share(state) + &attached() + &tickets("csi-attacher")
}

fn kube(ready: &str) -> String {
    kube_node("n1", &format!("status: {{conditions: [{{type: Ready, status: '{ready}'}}]}}"))
}

#[test]
fn a_share_that_pods_want_and_nobody_serves_is_found_with_its_cause() {
    let detached =
        share("starting") + &volume("accessMode: rwx", "state: detached") + &tickets("csi-attacher");
    for (yaml, cause) in [
        (wanted("error"), "pod_missing"),
        (wanted("starting") + &pod("Pending", "False", LONG_AGO), "pod_not_started"),
        (wanted("error") + &pod("Failed", "False", LONG_AGO), "pod_failed"),
        (wanted("running") + &pod("Running", "False", LONG_AGO), "not_serving"),
        (wanted("unknown") + &pod("Running", "True", LONG_AGO) + &kube("Unknown"), "node_down"),
        (wanted("stopped") + &kube("Unknown"), "node_down"),
        (detached, "volume_not_attached"),
        // before 1.5 there are no attachments
        (share("error") + &attached(), "pod_missing"),
    ] {
        let cluster = cluster_at(NOW, &yaml);
        assert_eq!(found(&CHECK, &cluster), [format!("critical {cause} ShareManager vol-1")], "{yaml}");
    }
    let report = run(&CHECK, &cluster_at(NOW, &wanted("error"))).report;
    assert_eq!(report.findings[0].volumes[0].pvc.as_deref(), Some("web/files"));
}

#[test]
fn shares_that_run_are_not_wanted_or_fail_over_are_not_found() {
    for yaml in [
        wanted("running") + &pod("Running", "True", LONG_AGO),
        wanted("running"),
        // a failover that has just begun
        wanted("starting") + &pod("Pending", "False", JUST_NOW),
        wanted("running") + &pod("Running", "False", JUST_NOW),
        // no pod uses the volume
        share("stopped") + &attached() + &tickets("longhorn-api"),
        share("stopped") + &attached(),
        // the other checks speak of it
        share("error") + &volume("accessMode: rwx", "robustness: faulted") + &tickets("csi-attacher"),
        share("error")
            + &volume("accessMode: rwx, migratable: true", "state: attached")
            + &tickets("csi-attacher"),
        share("error") + &volume("accessMode: rwx", "restoreRequired: true") + &tickets("csi-attacher"),
        // its volume is gone
        share("stopping"),
    ] {
        assert_eq!(found(&CHECK, &cluster_at(NOW, &yaml)), Vec::<String>::new(), "{yaml}");
    }
}

/// Neither a failover nor an earlier replacement explains an image that cannot be pulled.
#[test]
fn a_server_whose_image_cannot_be_pulled_is_found_after_a_minute() {
    let waits = |reason: &str, since: &str| {
        let state =
            format!("{{name: share-manager, ready: false, state: {{waiting: {{reason: {reason}}}}}}}");
        wanted("starting")
            + &pod("Pending", "False", since)
                .replace("phase: Pending", &format!("phase: Pending, containerStatuses: [{state}]"))
    };
    let at = |reason, since| found(&CHECK, &cluster_at(NOW, &waits(reason, since)));
    assert_eq!(at("ImagePullBackOff", JUST_NOW), ["critical pod_not_started ShareManager vol-1"]);
    assert!(at("ImagePullBackOff", "2026-03-01T11:59:01Z").is_empty());
    assert!(at("ContainerCreating", JUST_NOW).is_empty());
}

#[test]
fn a_live_cluster_watches_for_three_minutes() {
    let live = live_at(NOW, &(wanted("error") + MANAGER));
    assert!(found(&CHECK, &live).is_empty());
    let live = later(later(live, 10), 165);
    assert!(found(&CHECK, &live).is_empty());
    assert_eq!(found(&CHECK, &later(live, 15)), ["critical pod_missing ShareManager vol-1"]);
}

#[test]
fn servers_that_are_replaced_again_and_again_are_found_while_they_run() {
    let yaml = wanted("running") + &pod("Running", "True", JUST_NOW) + MANAGER;
    let with_gone = |times: i64, minutes_ago: i64| {
        let mut cluster = live_at(NOW, &yaml);
        for number in 0..times {
            let mut pod = cluster.objects.pods.get("share-manager-vol-1").unwrap().clone();
            pod.metadata.uid = number.to_string().into();
            cluster.history.pod_gone(
                Arc::new(pod),
                "",
                cluster.now - jiff::SignedDuration::from_mins(minutes_ago),
            );
        }
        cluster
    };
    assert_eq!(found(&CHECK, &with_gone(3, 10)), ["warning restarting ShareManager vol-1"]);
    assert!(found(&CHECK, &with_gone(2, 10)).is_empty());
    assert!(found(&CHECK, &with_gone(3, 31)).is_empty());
}

/// Events of the kubelet outlive a restart of the exporter.
#[test]
fn servers_that_were_started_again_and_again_are_found_by_events() {
    let started = |uid: &str, at: &str| {
        format!(
            "apiVersion: v1\nkind: Event\nmetadata: {{name: e-{uid}, namespace: longhorn-system}}\nreason: Started\n\
             involvedObject: {{kind: Pod, name: share-manager-vol-1, namespace: longhorn-system, uid: {uid}}}\nlastTimestamp: '{at}'\n---\n"
        )
    };
    let server = pod("Running", "True", JUST_NOW).replace("name: share", "uid: now, name: share");
    let served = wanted("running") + &server + &started("now", JUST_NOW);
    let lately = ["2026-03-01T11:35:00Z", "2026-03-01T11:45:00Z", "2026-03-01T11:55:00Z"];
    let before = |times: &[&str]| -> String {
        times.iter().enumerate().map(|(number, at)| started(&format!("u{number}"), at)).collect()
    };
    let restarting = cluster_at(NOW, &(served.clone() + &before(&lately)));
    assert_eq!(found(&CHECK, &restarting), ["warning restarting ShareManager vol-1"]);
    assert!(found(&CHECK, &cluster_at(NOW, &(served.clone() + &before(&lately[1..])))).is_empty());
    assert!(found(&CHECK, &cluster_at(NOW, &(served + &before(&[LONG_AGO; 3])))).is_empty());
}

/// Up to 1.5.4 and 1.6.1 a server ends as soon as no manager answers it.
#[test]
fn managers_that_were_restarted_are_named_in_the_releases_whose_servers_end_with_them() {
    let manager = |started: &str| {
        format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: longhorn-manager-a, namespace: longhorn-system, labels: {{app: longhorn-manager}}}}\n\
             status: {{conditions: [{{type: Ready, status: 'True'}}], containerStatuses: [{{name: longhorn-manager, state: {{running: \
             {{startedAt: '{started}'}}}}}}]}}\n---\n"
        )
    };
    let said = |version: &str, started: &str| {
        let servers: String = [35, 45, 55]
            .map(|minute| {
                format!(
                    "apiVersion: v1\nkind: Event\nmetadata: {{name: e-{minute}, namespace: longhorn-system}}\nreason: Started\n\
                     involvedObject: {{kind: Pod, name: share-manager-vol-1, uid: u-{minute}}}\nlastTimestamp: '2026-03-01T11:{minute}:00Z'\n---\n"
                )
            })
            .concat();
        let yaml = wanted("running") + &servers + &release(version) + &manager(started);
        run(&CHECK, &cluster_at(NOW, &yaml)).report.findings.remove(0)
    };
    let backend = |finding: &crate::check::Finding| finding.message.contains("recovery backend");
    for version in ["v1.4.4", "v1.5.4", "v1.6.1"] {
        // the Deployment of 1.4 is another one
        assert_eq!(backend(&said(version, "2026-03-01T11:40:00Z")), version != "v1.4.4", "{version}");
        assert!(!backend(&said(version, LONG_AGO)), "{version}");
    }
    for version in ["v1.3.3", "v1.5.5", "v1.6.2", "v1.7.0"] {
        assert!(!backend(&said(version, "2026-03-01T11:40:00Z")), "{version}");
    }
}

/// A pod that replaced another a moment ago does not say for how long no one has served.
#[test]
fn one_that_has_just_followed_another_is_on_its_way() {
    let before = "apiVersion: v1\nkind: Event\nmetadata: {name: e-old, namespace: longhorn-system}\nreason: Started\n\
                  involvedObject: {kind: Pod, name: share-manager-vol-1, uid: old}\nlastTimestamp: '2026-03-01T11:50:00Z'\n---\n";
    let server = |since| pod("Running", "False", since).replace("name: share", "uid: now, name: share");
    let moved = |since| cluster_at(NOW, &(wanted("starting") + &server(since) + before));
    assert!(found(&CHECK, &moved(JUST_NOW)).is_empty());
    assert_eq!(found(&CHECK, &moved(LONG_AGO)), ["critical not_serving ShareManager vol-1"]);
    // seen to be away for three minutes, however often the pod is replaced
    let live = live_at(NOW, &(wanted("starting") + &server(JUST_NOW) + before + MANAGER));
    assert!(found(&CHECK, &live).is_empty());
    assert_eq!(found(&CHECK, &later(later(live, 1), 181)).len(), 1);
}

#[test]
fn states_are_counted() {
    let evaluation = run(&CHECK, &cluster_at(NOW, &wanted("error")));
    assert_eq!(sample(&evaluation, "longhorn_health_share_managers", &["error"]), Some(1.0));
}

/// In a single look nothing but the attachments, or the end of the server, tells that it is about to be made.
#[test]
fn a_share_that_was_just_asked_for_again_or_just_ended_has_the_time_for_its_next_pod() {
    let named = attached().replace("kubernetesStatus: {", "kubernetesStatus: {pvName: pv-1, ");
    let csi = |node: &str, at: &str| {
        format!(
            "apiVersion: storage.k8s.io/v1\nkind: VolumeAttachment\nmetadata: {{name: a-{node}, creationTimestamp: '{at}'}}\n\
             spec: {{attacher: driver.longhorn.io, nodeName: {node}, source: {{persistentVolumeName: pv-1}}}}\n---\n"
        )
    };
    let wanted = share("stopped") + &named + &tickets("csi-attacher");
    let at = |more: &str| found(&CHECK, &cluster_at(NOW, &(wanted.clone() + more)));
    let down = ["critical pod_missing ShareManager vol-1"];
    assert_eq!(at(&csi("n2", JUST_NOW)), Vec::<String>::new());
    assert_eq!(at(&csi("n2", LONG_AGO)), down);
    assert_eq!(at(&(csi("n2", LONG_AGO) + &csi("n3", JUST_NOW))), down, "the first client waits for long");
    let killed = |at: &str| {
        format!(
            "apiVersion: v1\nkind: Event\nmetadata: {{name: e, namespace: longhorn-system}}\nreason: Killing\nlastTimestamp: '{at}'\n\
             involvedObject: {{kind: Pod, name: share-manager-vol-1, uid: u-1}}\n---\n"
        )
    };
    assert_eq!(at(&(csi("n2", LONG_AGO) + &killed(JUST_NOW))), Vec::<String>::new());
    assert_eq!(at(&(csi("n2", LONG_AGO) + &killed("2026-03-01T11:50:00Z"))), down);
}
