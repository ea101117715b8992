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
    assert_eq!(left_out(&partial(&component)), [InstanceManagers]);
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
    assert_eq!(reason("danger_zone_pending").as_deref(), Some("pods are not recorded"));
    assert_eq!(reason("manager_crash_loop").as_deref(), Some("pods are not recorded"));
    assert!(!report.not_recorded.contains(&Resource::Pods.label()), "they do not count as empty");
    assert!(report.not_recorded.contains(&Resource::Events.label()));

    let report = evaluate(&checks::CATALOGUE, &partial(READY)).report;
    assert_eq!(report.status, Status::Unknown, "pods alone do not make it healthy");
}

#[test]
fn a_check_that_has_what_it_needs_is_judged_alone() {
    let yaml = READY.to_owned() + &object("Setting");
    let only =
        |id: &str| evaluate_only(&checks::CATALOGUE, &partial(&yaml), |check| check.id == id).report.status;
    assert_eq!(only("danger_zone_pending"), Status::Healthy);
    assert_eq!(only("node_unregistered"), Status::Unknown);
}
