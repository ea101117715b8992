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
