//! Eviction that does not advance, and drains that a PodDisruptionBudget holds up.
//!
//! Facts: a disk is empty when no replica has its UUID in `spec.diskID` and no backing image has it in
//! its spec. `scheduledReplica` is no measure: it is emptied while the disk is not Ready
//! (longhorn-manager v1.12.1 controller/node_controller.go updateDiskStatusSchedulableCondition). Of a
//! cordoned node Longhorn removes the PodDisruptionBudgets of its instance managers itself, as soon as
//! node-drain-policy allows, see [`drain`].

mod causes;
mod drain;
mod progress;

use crate::check::*;
use crate::facts::eviction::{evicting_disks, images_by_disk};
use crate::longhorn::Resource::*;

pub static CHECK: Check = check! {
    id: "eviction_stalled",
    title: "Eviction or drain stalled",
    summary: "Replicas or backing image copies remain on a node or disk under eviction. Or an instance manager's PodDisruptionBudget is blocking a \
    drain (info if the node is only cordoned). Read the finding for the reason.",
    needs: &[LonghornNodes, Replicas, BackingImages, Settings],
    uses: &[
        KubeNodes, InstanceManagers, PodDisruptionBudgets, Engines, EngineFrontends, Volumes, Events, Pods,
    ],
    causes: causes::ALL,
    ways: &[causes::WAYS],
    gauges: GAUGES,
    alerts: &[
        alert! { "LonghornEvictionStalled",
            when: When::Found(&[&causes::NO_PROGRESS, &causes::NO_SCHEDULABLE_DISK]),
            for_: "15m",
            summary: "Eviction of a Longhorn node or disk has stalled.",
            description: "Eviction{{ with $labels.disk }} of disk {{ . }}{{ end }}{{ with $labels.node }} on node {{ . }}{{ end }} has stalled. Find \
            out why no other disk can take its replicas (space, tags, anti-affinity). Do not remove the node or disk: it still holds data.",
            why: "The check waits 30 min without progress, or 5 min without a schedulable disk. The alert waits 15 min more, in case someone is adding a disk.",
        },
        alert! { "LonghornDrainBlocked",
            when: When::Found(&[&causes::DRAIN_BLOCKED]),
            only: Some(Severity::Warning),
            for_: "15m",
            summary: "A Longhorn instance manager is blocking a node drain.",
            description: "PodDisruptionBudget {{ $labels.object }} blocks the drain of{{ with $labels.node }} node {{ . }}{{ else }} its node{{ end }}. \
                          Longhorn deletes the budget once no volume is attached there and node-drain-policy is satisfied. Move the node's volumes and \
                          replicas away, but do not delete the budget.",
            why: "The check waits 15 min for the workloads to leave the node. The alert waits 15 min more for a normal drain to finish.",
        },
    ],
    panels: PANELS,
};

const PANELS: &[Panel] = &[
    Panel {
        dashboard: Dashboard::Eviction,
        title: "Replicas left to evict",
        description: "Replicas still on nodes and disks being evicted, by disk name. At 0, the disk is empty. Flat without a rebuild: it has stalled.",
        no_data: "no eviction is requested, or the exporter is not reporting",
        ..Panel::TIME_SERIES.of(&REMAINING_REPLICAS)
    },
    Panel {
        dashboard: Dashboard::Eviction,
        title: "Backing image copies left to evict",
        description: "Backing image copies still assigned to disks being evicted. They leave after the replicas that need them.",
        no_data: "no eviction is requested, or the exporter is not reporting",
        ..Panel::TIME_SERIES.of(&REMAINING_COPIES)
    },
    Panel {
        dashboard: Dashboard::Eviction,
        title: "Last progress of eviction",
        description: "Last change in the number of replicas and copies on each disk being evicted. After 30 min without change or rebuild, it has stalled.",
        unit: Unit::FromNow,
        no_data: "no eviction is in progress, or the exporter is not reporting",
        ..Panel::TABLE.of(&PROGRESS)
    },
    Panel {
        dashboard: Dashboard::Eviction,
        title: "Blocked drains",
        description: "Instance managers' PodDisruptionBudgets on cordoned nodes. Info: the node is only cordoned. Warning: a drain is waiting.",
        columns: &["severity", "object", "node"],
        expr: "max by ($cluster object, node, severity) \
               (longhorn_health_finding{$job, check=\"eviction_stalled\", cause=\"drain_blocked\"}) == 1",
        legend: "{{object}} on {{node}}",
        no_data: "no drain is blocked, or the exporter is not reporting",
        ..Panel::TABLE
    },
];

gauges! {
    REMAINING_REPLICAS = Gauge "longhorn_health_eviction_remaining_replicas" ["node", "disk"]
        "Replicas still assigned to a disk whose eviction was requested.",
        absent "neither a person nor node-drain-policy requests it",
        example "sum by (node) (longhorn_health_eviction_remaining_replicas)";
    REMAINING_COPIES = Gauge "longhorn_health_eviction_remaining_backing_image_copies" ["node", "disk"]
        "Backing image copies still assigned to a disk whose eviction was requested by hand.",
        absent "no person requests it",
        example "sum by (node) (longhorn_health_eviction_remaining_backing_image_copies)";
    PROGRESS = Gauge "longhorn_health_eviction_progress_timestamp_seconds" ["node", "disk"]
        "Unix time when the number of replicas and copies to evict last changed.",
        absent "nothing is left to evict",
        example "time() - longhorn_health_eviction_progress_timestamp_seconds > 1800";
}

fn run(cluster: &Cluster, out: &mut Outcome) {
    let disks = evicting_disks(cluster);
    let images = images_by_disk(cluster);
    let asked = progress::asked(cluster, &disks);
    for disk in &disks {
        let left = progress::Left::of(cluster, disk, &images);
        let labels = [disk.node.metadata.name.as_str(), disk.name];
        out.sample(&REMAINING_REPLICAS, &labels, left.replicas.len() as f64);
        if disk.request.is_manual() {
            out.sample(&REMAINING_COPIES, &labels, left.images.len() as f64);
        }
        if !left.is_empty() {
            progress::look(cluster, out, disk, &left, &asked);
        }
    }
    drain::look(cluster, out);
}
