//! Disks that Longhorn does not use, disks that take no more replicas, and nodes whose own conditions
//! say that they cannot be used.
//!
//! The manager on a node judges its disks every 30 s (longhorn-manager v1.12.1 controller/node_controller.go
//! findNotReadyAndReadyDiskMaps; the texts are the same in v1.3.3). Condition Ready of a disk is False with
//! reason `NoDiskInfo` (the path cannot be read, with the error), `DiskFilesystemChanged` (the UUID in
//! `longhorn-disk.cfg` is missing or another one, or two disks share a file system), `DiskServiceUnreachable`
//! (1.6 and later) or, since 1.11, `NodeNotReady` on every disk of a node that is down (markAllDisksNotReadyWhenNodeNotReady),
//! which repeats what the node says. Condition Schedulable is False with `DiskPressure` by the arithmetic of
//! scheduler/replica_scheduler.go IsSchedulableToDisk, the same from v1.3.3 on. Condition Ready of a node is
//! False for the manager's pod too, which is no matter of the node: other checks look at that
//! (setReadyConditionForManagerPod).

mod causes;
mod conditions;
mod disks;
mod environment;
mod headroom;
mod none_ready;
mod room;
mod rules;

use crate::check::*;
use crate::longhorn::Resource::*;

pub static CHECK: Check = check! {
    id: "disk_unavailable",
    title: "Disks and nodes unavailable",
    summary: "Longhorn cannot use a disk or a node, or a disk cannot take more replicas. Examples: wrong file system, unreadable disk, node not Ready.",
    needs: &[LonghornNodes],
    uses: &[Replicas, Volumes, Settings, KubeNodes, Pods],
    causes: causes::ALL,
    ways: &[causes::WAYS],
    gauges: GAUGES,
    alerts: rules::ALERTS,
    panels: rules::PANELS,
};

gauges! {
    DISKS = Gauge "longhorn_health_disks" ["state"]
        "Longhorn disks by state: ready, full (ready, but cannot take more replicas), not_ready.",
        absent "nodes.longhorn.io cannot be read",
        example "longhorn_health_disks{state!=\"ready\"} > 0";
    FULLEST = Gauge "longhorn_health_fullest_disk_used_ratio" []
        "Used share of the fullest Longhorn disk, from 0 to 1.",
        absent "no disk was measured",
        example "predict_linear(longhorn_health_fullest_disk_used_ratio[6h], 4 * 86400) > 1";
    ROOM = Gauge "longhorn_health_largest_replica_bytes" ["nodes"]
        "Largest new untagged v1 replica, in bytes, that 1, 2 or 3 nodes can take.",
        absent "nodes or settings are unreadable",
        example "longhorn_health_largest_replica_bytes{nodes=\"3\"} < 20 * 1024 ^ 3";
}

fn run(cluster: &Cluster, out: &mut Outcome) {
    let mut ready: Vec<disks::Disk> = Vec::new();
    let others = conditions::DiskCounts::default();
    let mut counts = [("ready", 0), ("full", 0), ("not_ready", 0)];
    let mut away = Vec::new();
    for node in cluster.objects.longhorn_nodes.iter() {
        away.extend(conditions::run(cluster, out, &others, node).map(|ready| (node, ready)));
        for (name, status) in node.status.disk_status.iter() {
            // a disk without spec is about to be forgotten
            let Some(spec) = node.spec.disks.get(name) else { continue };
            let disk = disks::Disk { node, name, spec, status };
            let state = match (disk.is_ready(), room::is_full(&disk)) {
                (false, _) => "not_ready",
                (true, true) => "full",
                (true, false) => "ready",
            };
            counts.iter_mut().filter(|(of, _)| *of == state).for_each(|(_, count)| *count += 1);
            disks::find_failing(cluster, out, &disk);
            if disk.is_ready() {
                room::run(cluster, out, &disk);
                ready.push(disk);
            } else {
                disks::run(cluster, out, &disk);
            }
        }
    }
    none_ready::run(cluster, out, &away);
    headroom::run(cluster, out);
    // stable: the disks of a UUID stay in the order of their nodes
    ready.sort_by_key(|disk| disk.status.disk_uuid.as_str());
    for disks in ready.chunk_by(|one, other| one.status.disk_uuid == other.status.disk_uuid) {
        disks::find_shared(cluster, out, disks);
    }
    for (state, count) in counts {
        out.sample(&DISKS, &[state], f64::from(count));
    }
}
