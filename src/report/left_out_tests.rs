//! What a recording must have left out.

use std::collections::BTreeSet;

use crate::cluster::Cluster;
use crate::longhorn::Resource;
use crate::testing::{self, MANAGER, live_at, partial};
use crate::{Status, evaluate, evaluate_only};

const READY: &str = "apiVersion: v1\nkind: Pod\nmetadata: {name: longhorn-manager-a, \
    namespace: longhorn-system, labels: {app: longhorn-manager}}\nspec: {nodeName: node-1}\n\
    status: {conditions: [{type: Ready, status: 'True'}]}\n---\n";

fn object(kind: &str) -> String {
    testing::object(kind, "a", "")
}

fn left_out(cluster: &Cluster) -> Vec<Resource> {
    // where there is anything of Longhorn there are its definitions, which only a plan asks for
    let of_checks = |kind: &Resource| *kind != Resource::CustomResourceDefinitions;
    Resource::all().filter(|kind| !cluster.can_read(*kind)).filter(of_checks).collect()
}

#[test]
fn what_must_have_been_there_was_left_out() {
    use Resource::*;
    let of_ready_managers = [
        Services, EndpointSlices, Deployments, KubeNodes, PriorityClasses, ValidatingWebhookConfigurations,
        MutatingWebhookConfigurations,
    ];
    let with = |kinds: &[Resource]| {
        let all: BTreeSet<_> = kinds.iter().chain(&of_ready_managers).copied().collect();
        all.into_iter().collect::<Vec<_>>()
    };
    for (yaml, expected) in [
        (object("Volume"), vec![LonghornNodes, Engines, Replicas, Settings, Pods, DaemonSets]),
        (object("Setting"), vec![Pods, DaemonSets]),
        (READY.to_owned(), with(&[LonghornNodes, Settings, DaemonSets])),
        // managers that never came up leave nothing behind
        (MANAGER.to_owned(), vec![DaemonSets]),
        (READY.to_owned() + &object("Setting") + &object("Node"), with(&[DaemonSets])),
    ] {
        assert_eq!(left_out(&partial(&yaml)), expected, "{yaml}");
    }
    let component = READY.replace("app: longhorn-manager", "longhorn.io/component: instance-manager");
    assert_eq!(left_out(&partial(&component)), [InstanceManagers, KubeNodes]);
    let ready = "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: longhorn-manager, \
        namespace: longhorn-system}\nstatus: {numberReady: 3}\n---\n";
    assert_eq!(left_out(&partial(ready)), with(&[LonghornNodes, Settings, Pods]));
    let webhook = "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\n\
        metadata: {name: longhorn-webhook-validator}\n---\n";
    let found = left_out(&partial(&(READY.to_owned() + webhook)));
    assert!(!found.contains(&MutatingWebhookConfigurations), "where the other is, both were asked for");
    assert_eq!(left_out(&live_at("2026-01-01T00:00:00Z", READY)), []);
}

#[test]
fn a_partial_recording_is_of_use_and_says_what_is_not_known() {
    let yaml = object("Setting")
        + "apiVersion: longhorn.io/v1beta2\nkind: Setting\n\
        metadata: {name: priority-class, namespace: longhorn-system}\nstatus: {applied: false}\n---\n";
    let report = evaluate(&checks::CATALOGUE, &partial(&yaml)).report;
    assert_eq!((report.status, report.findings.len()), (Status::Unknown, 1));
    let reason = |check: &str| {
        report.unknown.iter().find(|unknown| unknown.check == check).map(|unknown| unknown.reason.clone())
    };
    // settings that Longhorn calls applied are compared with pods
    let without_pods = "pods are not recorded, although settings.longhorn.io exist";
    assert_eq!(reason("danger_zone_pending").as_deref(), Some(without_pods));
    assert_eq!(reason("manager_crash_loop").as_deref(), Some(without_pods));
    assert!(!report.not_recorded.contains(&Resource::Pods.label()), "they do not count as empty");
    assert!(report.not_recorded.contains(&Resource::Events.label()));

    let report = evaluate(&checks::CATALOGUE, &partial(READY)).report;
    assert_eq!(report.status, Status::Unknown, "pods alone do not make it healthy");
}

const NOW: &str = "2026-01-01T12:00:00Z";

/// A cluster that is watched, and in which what is missing counts.
fn watched(yaml: &str) -> Cluster {
    let Cluster { namespace, now, objects, history, resources, .. } = live_at(NOW, yaml);
    Cluster::new(namespace, now, objects, history, resources)
}

fn reasons(cluster: &Cluster) -> BTreeSet<String> {
    evaluate(&checks::CATALOGUE, cluster).report.unknown.into_iter().map(|unknown| unknown.reason).collect()
}

#[test]
fn what_other_objects_prove_is_unknown_and_the_reason_names_the_proof() {
    let object = |kind: &str, name: &str, rest: &str| testing::object(kind, name, rest);
    let pod =
        |name: &str| READY.replace("longhorn-manager-a", name).replace("app: longhorn-manager", "app: x");
    let ticket = "spec: {attachmentTickets: {csi-a: {type: csi-attacher, nodeID: node-1}}}\n";
    let of_release = object("Setting", "current-longhorn-version", "value: v1.8.0\n");
    for (missing, proof, yaml) in [
        ("nodes", "Pod p exists", pod("p")),
        (
            "backingimages.longhorn.io",
            "BackingImageManager m exists",
            object("BackingImageManager", "m", "spec: {backingImages: {image: uuid}}\n"),
        ),
        ("engineimages.longhorn.io", "Volume v exists", object("Volume", "v", "spec: {image: i}\n")),
        (
            "backuptargets.longhorn.io",
            "Volume v exists",
            object("Volume", "v", "spec: {backupTargetName: default}\n"),
        ),
        ("sharemanagers.longhorn.io", "Pod share-manager-v exists", pod("share-manager-v")),
        ("volumeattachments.longhorn.io", "Volume v exists", of_release + &object("Volume", "v", "")),
        // a ticket without an attachment of CSI is what a check looks for
        (
            "volumeattachments.storage.k8s.io",
            "VolumeAttachment v exists",
            object("VolumeAttachment", "v", ticket),
        ),
    ] {
        let reason = format!("{missing} are not recorded, although {proof}");
        let found = reasons(&partial(&yaml));
        assert!(found.iter().any(|one| one.contains(&reason)), "{missing}: {found:#?}");
    }
}

/// A list that is empty tells that there is none, unless a pod runs on one.
#[test]
fn pods_without_any_node_there_are_none() {
    let told = |time: &str| {
        let pod = READY.replace("metadata: {", &format!("metadata: {{{time}"));
        reasons(&watched(&pod)).contains("nodes are missing, although Pod longhorn-manager-a exists")
    };
    assert!(told("") && told("creationTimestamp: '2026-01-01T11:55:00Z', "));
    assert!(!told("creationTimestamp: '2026-01-01T11:55:01Z', "), "it may come");
    let volumes = reasons(&watched(&(READY.to_owned() + &object("Replica"))));
    assert!(!volumes.iter().any(|reason| reason.contains("volumes.longhorn.io are missing")), "{volumes:?}");
}

#[test]
fn an_object_without_status_is_unknown_unless_it_was_just_created() {
    let kinds = [
        "Volume", "Engine", "Replica", "InstanceManager", "ShareManager", "EngineImage", "Node",
        "BackingImage",
    ];
    for kind in kinds {
        let created = |time: &str| {
            object(kind).replace("metadata: {", &format!("metadata: {{creationTimestamp: '{time}', "))
        };
        let told = |yaml: &str| {
            let found = reasons(&watched(&(READY.to_owned() + yaml)));
            found
                .iter()
                .any(|reason| reason.contains("longhorn.io have no status, so they are not judged: a"))
        };
        assert!(told(&object(kind)), "{kind}, of unknown age");
        assert!(told(&created("2026-01-01T11:55:00Z")), "{kind}");
        assert!(!told(&created("2026-01-01T11:55:01Z")), "a new {kind}");
    }
    let node = "apiVersion: v1\nkind: Node\nmetadata: {name: node-1}\n---\n";
    let found = reasons(&watched(&(READY.to_owned() + node)));
    assert!(found.iter().any(|reason| reason.contains("nodes have no status")), "{found:?}");
    let status = "apiVersion: longhorn.io/v1beta2\nkind: Volume\nmetadata: {name: b, namespace: longhorn-system}\n\
        status: {state: detached, robustness: unknown}\n---\n";
    let found = reasons(&watched(&(READY.to_owned() + status)));
    assert!(!found.iter().any(|reason| reason.contains("no status, so they are not judged: b")), "{found:?}");
}

/// As a restore of objects from a backup leaves them until managers run.
#[test]
fn a_healthy_cluster_whose_objects_lost_their_status_is_unknown() {
    let path = std::path::Path::new(testing::ROOT).join("tests/scenarios/healthy-1.12");
    let objects = testing::scenario_files::objects(&path);
    let without_status = |kind: &str| -> String {
        let bare = objects.iter().cloned().map(|mut object| {
            if object["kind"] == kind {
                object.as_object_mut().unwrap().remove("status");
            }
            format!("---\n{object}\n")
        });
        bare.collect()
    };
    assert_eq!(
        evaluate(&checks::CATALOGUE, &partial(&without_status("none"))).report.exit_code,
        crate::exit::OK
    );
    for kind in ["Volume", "Engine", "Pod", "Node", "InstanceManager"] {
        let report = evaluate(&checks::CATALOGUE, &partial(&without_status(kind))).report;
        let told = |one: &crate::Unknown| one.reason.contains(" have no status, so they are not judged: ");
        assert!(report.exit_code != crate::exit::OK && report.unknown.iter().any(told), "{kind}");
    }
}

#[test]
fn a_check_that_has_what_it_needs_is_judged_alone() {
    let yaml = READY.to_owned() + &object("Setting");
    let only =
        |id: &str| evaluate_only(&checks::CATALOGUE, &partial(&yaml), |check| check.id == id).report.status;
    assert_eq!(only("danger_zone_pending"), Status::Healthy);
    assert_eq!(only("node_unregistered"), Status::Unknown);
}
