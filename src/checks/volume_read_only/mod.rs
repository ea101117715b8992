//! File systems of attached volumes that have become read-only.
//!
//! Facts: since 1.5.4 and 1.6.0 an instance manager reports with each engine process whether the file system on its device is
//! mounted read-only, and the manager writes that as condition FilesystemReadOnly of the engine (longhorn-manager v1.5.4,
//! v1.5.5 and the last of each line from v1.6.4 to v1.12.1 and master, controller/instance_handler.go). While it is True, and the PersistentVolume
//! is not meant to be mounted read-only, the manager remounts the file system (volume_controller.go
//! requestRemountIfFileSystemReadOnly). PersistentVolumes are not read here, so a volume whose mount options say `ro` is found,
//! too. On kernels from 6.12 the condition stays False whatever happens (longhorn/longhorn issue 13482): no finding is no proof
//! there. Before 1.5.4 nothing says it.

#[cfg(test)]
mod tests;

use crate::check::OfData::ReadOnly;
use crate::check::*;
use crate::facts::age::{Begun, Unknown, observe};
use crate::facts::patience::NEXT_LOOK;
use crate::facts::{text, volumes};
use crate::longhorn::Resource::*;
use crate::longhorn::{Engine, Event, Owner, Volume, VolumeState, condition};

causes! {
    FILE_SYSTEM_READ_ONLY = critical "file_system_read_only"
        "an attached volume's file system is mounted read-only, and Longhorn's own remount has not helped",
        of_data: ReadOnly
        fix "Find the I/O error in <node>'s kernel log, unless the read-only mount is intended. Then restart the pods of <claim>: the \
             kubelet checks and remounts the file system." [
            read "kubectl -n <namespace> get events --sort-by=.lastTimestamp | grep <volume>",
            read "kubectl describe node <node>",
            change "kubectl -n <claim_namespace> delete pod <pod>",
        ] proven "the pod cannot write anyway, and a controller recreates it"
        way SALVAGED "all its replicas had failed at once"
            fix "Restart the pods of <claim>: the kubelet checks and remounts the file system. Then find out why all its replicas failed at once \
                 (instance manager, disk or node)." [
                read "kubectl -n <namespace> get events --sort-by=.lastTimestamp | grep -e <volume> -e instance-manager",
                change "kubectl -n <claim_namespace> delete pod <pod>",
            ] proven "the pod cannot write anyway, and a controller recreates it"
        way BARE_POD "its pod has no controller, so Longhorn does not restart it"
            fix "Save pod <pod>'s manifest, then delete and recreate the pod: only a new pod mounts the file system writable. Then look for I/O errors in \
                 <node>'s kernel log." [
                read "kubectl -n <claim_namespace> get pod <pod> -o yaml",
                change "kubectl -n <claim_namespace> delete pod <pod>",
                read "kubectl -n <namespace> get events --sort-by=.lastTimestamp | grep <volume>",
            ] proven "the pod cannot write anyway, and its manifest is saved before";
}

pub static CHECK: Check = check! {
    id: "volume_read_only",
    title: "Read-only volumes",
    summary: "An attached volume's file system is mounted read-only, so its workloads cannot write. Longhorn detects this from 1.5.4 on, and only \
              on kernels before 6.12.",
    needs: &[Volumes, Engines],
    uses: &[Events, KubeNodes],
    causes: ALL,
    ways: &[WAYS],
    gauges: GAUGES,
    alerts: &[alert! { "LonghornVolumeReadOnly",
        when: When::Flag { gauge: &READ_ONLY, labels: &[] },
        runbook_only: &[&FILE_SYSTEM_READ_ONLY],
        for_: "5m",
        severity: Severity::Critical,
        summary: "A Longhorn volume's file system is read-only.",
        description: "The file system on volume {{ $labels.volume }}{{ with $labels.pvc }} of claim {{ $labels.pvc_namespace }}/{{ . }}{{ end }} is \
                      mounted read-only, so its workloads cannot write. Find the I/O error in the node's kernel log, then restart the volume's pods.",
        why: "The check gives Longhorn 3 min to remount the file system. The alert waits 5 min more for the pod to restart.",
    }],
    panels: &[Panel {
        dashboard: Dashboard::Volumes,
        title: "Read-only volumes",
        description: "Attached volumes whose file system is mounted read-only, so pods cannot write. Longhorn does not detect this on kernel 6.12 or later.",
        columns: &["volume", "pvc_namespace", "pvc"],
        no_data: "no volume is known to be read-only, or the exporter is not reporting",
        ..Panel::TABLE.of(&READ_ONLY)
    }],
    stops_workloads: true,
};

gauges! {
    READ_ONLY = Gauge "longhorn_health_volume_read_only" ["volume", "pvc_namespace", "pvc"]
        "1 for every volume mounted read-only for 3 min.",
        absent "it is writable, or on kernel 6.12 or later",
        example "max without (instance, pod) (longhorn_health_volume_read_only) == 1";
}

fn run(cluster: &Cluster, out: &mut Outcome) {
    for engine in cluster.objects.engines.iter() {
        let Some(read_only) = condition(&engine.status.conditions, "FilesystemReadOnly") else { continue };
        if !volumes::is_read_only(engine) {
            continue;
        }
        let Some(volume) = cluster.objects.volumes.get(&engine.spec.volume_name) else { continue };
        if volume.status.state != VolumeState::Attached {
            continue;
        }
        let begun = Begun::At(read_only.last_transition_time.get());
        let age = observe(cluster, out, "read_only", &volume.metadata.name, begun);
        if age.at_least(NEXT_LOOK, Unknown::Counts) {
            out.sample(&READ_ONLY, &volumes::labels(volume), 1.0);
            out.report(finding(cluster, volume, engine).since(age.since));
        }
    }
}

fn finding(cluster: &Cluster, volume: &Volume, engine: &Engine) -> Finding {
    let (name, node) = (&volume.metadata.name, &engine.spec.node_id);
    let users = vec![cluster.volume_ref(name)];
    let whose = text::claims_of(&users);
    let status = &volume.status.kubernetes_status;
    let events = cluster.objects.events.of(Owner::Object, name);
    let salvaged = events.filter(|event| event.reason == "AutoSalvaged").filter_map(Event::last_seen).max();
    let finding = Finding::about(
        &FILE_SYSTEM_READ_ONLY,
        volumes::object(cluster, volume),
        format!("the file system of {whose} is mounted read-only on {node}"),
    )
    .node(node)
    .impact(format!(
        "pods can read but cannot write to {whose} (Longhorn reports it as {})",
        volume.status.robustness.as_str()
    ))
    .volumes(users)
    .fact(format!("engine {}: condition FilesystemReadOnly is True", engine.metadata.name))
    .with(Name::ClaimNamespace, status.namespace.as_str());
    // Longhorn asks for a new mount by deleting pods that a controller makes again, and leaves others alone
    // (longhorn-manager v1.9.2 controller/kubernetes_pod_controller.go handlePodDeletionIfVolumeRequestRemount)
    let (controlled, bare): (Vec<_>, Vec<_>) =
        status.workloads_status.iter().partition(|pod| !pod.workload_name.is_empty());
    let (pods, way) = match controlled.is_empty() && !bare.is_empty() {
        true => (bare, Some(&BARE_POD)),
        false => (controlled, salvaged.map(|_| &SALVAGED)),
    };
    let finding = finding
        .facts(salvaged.map(|at| {
            EvidenceSource::Event.says(format!("Longhorn salvaged the volume's replicas at {at}"))
        }));
    pods.into_iter().fold(finding.way(way), |finding, pod| finding.with(Name::Pod, pod.pod_name.as_str()))
}
