//! Longhorn deleted without its uninstaller while volumes are in use: its CSI driver goes, and the engines with it.
//!
//! Facts: with its definition each object of Longhorn is deleted. Instance managers go, and with them the engines that workloads write to;
//! volumes and replicas have a finalizer that only a manager takes away, so they wait, with their last state, and what replicas hold stays
//! on the disks (seen with 1.12.1). A deletion is never taken back. A manager that runs, or comes back with the next installation, carries
//! it out: it deletes the replicas, each with its directory, the PersistentVolume, and the claim (longhorn-manager v1.3.3 to v1.12.1
//! controller/volume_controller.go syncVolume, controller/replica_controller.go syncReplica). Without a manager a finalizer that is removed
//! takes an object away and no data.

use std::collections::BTreeSet;

use super::causes::{
    DELETED_IN_USE, HELM_CHART_REINSTALLS, MANAGERS_DELETED, MANAGERS_RUN, UNINSTALL_BEGUN, UNINSTALL_REFUSED,
};
use crate::check::*;
use crate::facts::age::{Begun, Unknown, observe};
use crate::facts::patience::NEXT_POD;
use crate::facts::{removal, text, volumes};
use crate::longhorn::{DaemonSet, Replica, Resource, Volume};

const SET: &str = "longhorn-manager";

/// True where it is so.
pub(super) fn run(cluster: &Cluster, out: &mut Outcome) -> bool {
    let Some((evidence, lost)) = removal::missed(cluster) else {
        return managers(cluster, out) || uninstaller(cluster, out);
    };
    let runs = cluster.manager_daemon_set().is_some_and(|set| !set.metadata.is_deleting());
    let users = cluster.volume_refs(lost.iter().map(|volume| volume.metadata.name.as_str()));
    let since = lost.iter().filter_map(|volume| volume.metadata.deletion_timestamp.get()).min();
    let count = users.len();
    let are = if count == 1 { "is" } else { "are" };
    let (left, data) = left(cluster, &lost);
    let finding = Finding::about(
        &DELETED_IN_USE,
        cluster.object::<DaemonSet>(SET),
        format!("Longhorn was deleted, but {} {are} in use", counted(count, "volume")),
    )
    .since(since)
    .impact(format!("I/O of {} fails once the instance managers stop. {data}", text::users_of(&users)))
    .volumes(users)
    .fact(evidence)
    .fact(format!("{} {are} being deleted and waiting for a longhorn-manager", counted(count, "volume")))
    .facts(left);
    out.report(if runs { finding.with(Name::Workload, SET).way(&MANAGERS_RUN) } else { finding });
    true
}

/// The same without a deletion of volumes: half of Longhorn is gone, as when a GitOps tool pruned it, and the data path goes on.
fn managers(cluster: &Cluster, out: &mut Outcome) -> bool {
    let Some(used) = removal::unmanaged(cluster) else { return false };
    let age = observe(cluster, out, MANAGERS_DELETED.id, SET, Begun::At(None));
    if !age.at_least(NEXT_POD, Unknown::Counts) {
        return false;
    }
    let users = cluster.volume_refs(used.iter().map(|volume| volume.metadata.name.as_str()));
    let (count, are) = (counted(users.len(), "volume"), if users.len() == 1 { "is" } else { "are" });
    let services = ["longhorn-backend", "longhorn-admission-webhook"];
    let gone = services.into_iter().filter(|name| cluster.objects.services.get(name).is_none());
    let gone: Vec<&str> = gone.filter(|_| cluster.can_read(Resource::Services)).collect();
    let installed = cluster.setting("current-longhorn-version").map_or("", |setting| setting.value.as_str());
    let finding = Finding::about(
        &MANAGERS_DELETED,
        cluster.object::<DaemonSet>(SET),
        format!("all longhorn-managers were deleted, but {count} {are} still in use"),
    )
    .since(age.since)
    .impact(format!(
        "no volume can attach, detach, rebuild or fail over. Running I/O of {} continues.",
        text::users_of(&users)
    ))
    .volumes(users)
    .fact("DaemonSet longhorn-manager and its pods no longer exist, but no volume is being deleted")
    .facts((!gone.is_empty()).then(|| format!("these Services are missing: {}", text::listed(&gone))))
    .with(Name::Release, if installed.is_empty() { "the release that ran" } else { installed })
    .fact(age.evidence());
    out.report(finding);
    true
}

/// The Job of the chart, or of the published manifest, which deletes every volume: refused, or at work on volumes in use.
fn uninstaller(cluster: &Cluster, out: &mut Outcome) -> bool {
    let Some((pod, refused, used)) = removal::begun(cluster) else { return false };
    let users = cluster.volume_refs(used.iter().map(|volume| volume.metadata.name.as_str()));
    let going = cluster.objects.volumes.iter().filter(|volume| volume.metadata.is_deleting()).count();
    let (count, are) = (counted(users.len(), "volume"), if users.len() == 1 { "is" } else { "are" });
    let (name, phase) = (&pod.metadata.name, pod.status.phase.as_str());
    let message = match refused {
        true => "an uninstall of Longhorn was refused: deleting-confirmation-flag is false".to_owned(),
        false => format!("Longhorn's uninstaller was started, but {count} {are} in use"),
    };
    let finding = Finding::about(&UNINSTALL_BEGUN, cluster.object::<DaemonSet>(SET), message)
        .since(pod.metadata.created())
        .fact(format!("pod {name} of Job longhorn-uninstall is in phase {phase}"))
        .fact(format!("the number of volumes being deleted is {going}"));
    let deletes =
        || format!("the uninstaller deletes every volume, with the data of {}", text::users_of(&users));
    let waits =
        "none yet: nothing is deleted, but the release stays in state uninstalling and cannot be upgraded";
    out.report(match refused {
        true => by_whom(cluster, finding.severity(Severity::Warning).impact(waits)),
        false => finding.impact(deletes()).volumes(users),
    });
    !refused
}

/// What asked for a refused uninstall: the Helm controller of K3s and RKE2 uninstalls after an upgrade that failed, unless the HelmChart
/// says abort (k3s-io/helm-controller pkg/apis/helm.cattle.io/v1/types.go FailurePolicy).
fn by_whom(cluster: &Cluster, finding: Finding) -> Finding {
    let reinstalls = cluster.objects.helm_charts.iter().find(|chart| chart.spec.failure_policy != "abort");
    let Some(chart) = reinstalls else { return finding.way(&UNINSTALL_REFUSED) };
    let (namespace, name) = (chart.metadata.namespace.as_str(), chart.metadata.name.as_str());
    finding
        .way(&HELM_CHART_REINSTALLS)
        .with(Name::Value, name)
        .with(Name::ChartNamespace, namespace)
        .fact(format!("HelmChart {namespace}/{name} does not have failurePolicy abort"))
}

/// What is left of the data, as a fact and for the impact.
fn left(cluster: &Cluster, lost: &[&Volume]) -> (Vec<String>, String) {
    if !cluster.knows_all(Resource::Replicas) {
        return (Vec::new(), "Their data stays on the disks until a manager deletes it".to_owned());
    }
    let (mut facts, mut nodes, mut healthy, mut gone) = (Vec::new(), BTreeSet::new(), 0, Vec::new());
    for volume in lost {
        let all: Vec<&Replica> = cluster.replicas_of(&volume.metadata.name).collect();
        if all.is_empty() {
            gone.push(volume.metadata.name.as_str());
        }
        for replica in all.iter().filter(|replica| volumes::is_healthy(replica)) {
            nodes.insert(replica.spec.node_id.as_str());
            healthy += 1;
        }
    }
    let nodes: Vec<&str> = nodes.into_iter().collect();
    let data = match healthy {
        0 => "No healthy replica is left".to_owned(),
        _ => format!(
            "The data stays in {} on {} until a manager deletes it",
            counted(healthy, "healthy replica"),
            text::listed(&nodes)
        ),
    };
    if !gone.is_empty() {
        facts.push(format!("volume {} has no replica left", text::listed(&gone)));
    }
    (facts, data)
}
