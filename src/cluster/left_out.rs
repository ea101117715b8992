//! What a recording left out. In the output of `kubectl get` a kind without objects leaves no trace,
//! so a kind that is not there may have been empty or not asked for. Where other objects show that
//! there were some, it was not asked for, and what needs it is unknown.

use std::collections::BTreeSet;

use super::{Cluster, Readability};
use crate::longhorn::Resource;

/// The kinds that are not in a recording although its other objects show that the cluster had some.
pub(super) fn left_out(cluster: &Cluster) -> BTreeSet<Resource> {
    use Resource::*;
    if !cluster.is_recorded() {
        return BTreeSet::new();
    }
    let objects = &cluster.objects;
    let managers = cluster.manager_pods().next().is_some();
    let longhorn = cluster.any_longhorn();
    // a manager that never started leaves neither settings nor nodes behind; one that is ready made both
    // (longhorn-manager v1.12.1 app/daemon.go startManager)
    let ready = cluster.manager_daemon_set().is_some_and(|set| set.status.number_ready.0 > 0);
    let started = ready || cluster.manager_pods().any(|pod| pod.is_ready());
    let volumes = !objects.volumes.is_empty() || !objects.engines.is_empty() || !objects.replicas.is_empty();
    let instance_managers = objects.pods.iter().any(|pod| pod.is_instance_manager());
    let recorded = |kind| cluster.readability(kind) == Readability::Readable;
    let there = [
        (Pods, longhorn || ready),
        (DaemonSets, longhorn || managers),
        (Settings, longhorn || started),
        (LonghornNodes, started || volumes || !objects.instance_managers.is_empty()),
        (InstanceManagers, instance_managers),
        (Volumes, volumes),
        (Engines, volumes),
        (Replicas, volumes),
        // a Ready manager runs on a node, behind Services whose endpoints list it; it made both webhook
        // configurations, and its release brings Deployments
        (KubeNodes, started),
        (Services, started),
        (EndpointSlices, started),
        (Deployments, started),
        // the objects of its kinds need them
        (CustomResourceDefinitions, longhorn),
        // every cluster has two of its own
        (PriorityClasses, started),
        (ValidatingWebhookConfigurations, started && !recorded(MutatingWebhookConfigurations)),
        (MutatingWebhookConfigurations, started && !recorded(ValidatingWebhookConfigurations)),
    ];
    let is_left_out = |kind: &Resource| cluster.readability(*kind) == Readability::NotRecorded;
    there.into_iter().filter(|(_, there)| *there).map(|(kind, _)| kind).filter(is_left_out).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::cluster::Cluster;
    use crate::longhorn::Resource;
    use crate::report::{Status, evaluate, evaluate_only};
    use crate::testing::{self, MANAGER, live_at, partial};

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
            Services, EndpointSlices, Deployments, KubeNodes, PriorityClasses,
            ValidatingWebhookConfigurations, MutatingWebhookConfigurations,
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
        let report = evaluate(&partial(&yaml)).report;
        assert_eq!((report.status, report.findings.len()), (Status::Unknown, 1));
        let reason = |check: &str| {
            report.unknown.iter().find(|unknown| unknown.check == check).map(|unknown| unknown.reason.clone())
        };
        // settings that Longhorn calls applied are compared with pods
        assert_eq!(reason("danger_zone_pending").as_deref(), Some("pods are not recorded"));
        assert_eq!(reason("manager_crash_loop").as_deref(), Some("pods are not recorded"));
        assert!(!report.not_recorded.contains(&Resource::Pods.label()), "they do not count as empty");
        assert!(report.not_recorded.contains(&Resource::Events.label()));

        let report = evaluate(&partial(READY)).report;
        assert_eq!(report.status, Status::Unknown, "pods alone do not make it healthy");
    }

    #[test]
    fn a_check_that_has_what_it_needs_is_judged_alone() {
        let yaml = READY.to_owned() + &object("Setting");
        let only = |id: &str| evaluate_only(&partial(&yaml), |check| check.id == id).report.status;
        assert_eq!(only("danger_zone_pending"), Status::Healthy);
        assert_eq!(only("node_unregistered"), Status::Unknown);
    }
}
