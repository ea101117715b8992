//! Volumes that do not attach or detach, and tickets that hold them where no one wants them.
//!
//! Facts, compared in v1.3.3, v1.4.4, v1.5.5, v1.6.4, v1.7.3, v1.8.2, v1.9.2, v1.10.2, v1.11.3, v1.12.1 and master of August 2026:
//! - A volume is attaching while `spec.nodeID` is set and its engine does not run yet, detaching while engine or replicas do not
//!   stop (longhorn-manager v1.3.3 to v1.12.1 controller/volume_controller.go, since 1.5.0 reconcileAttachDetachStateMachine).
//! - From 1.5 on `volumeattachments.longhorn.io` holds a ticket for each who wants the volume; `satisfied` of its status says
//!   whether it has it. A volume goes to the ticket of the highest priority, then of the first name; it is not attached while it
//!   is faulted, nor, if migratable and from 1.7.0 on, while two CSI tickets are left after a migration that broke
//!   (volume_attachment_controller.go selectAttachmentTicketToAttach).
//! - Tickets of type csi-attacher have the name of their `volumeattachments.storage.k8s.io` (the same from v1.5.5 on,
//!   csi/controller_server.go generateAttachmentID). For RWX volumes they wait for the share manager, another check.
//! - An engine that cannot start is in state error and has condition InstanceCreation False with the error (1.3.3 and later), and
//!   Longhorn writes Event FailedStarting; an engine that dies gives Event DetachedUnexpectedly on the volume, which was
//!   called DetachedUnexpectly up to 1.4.
//! - Longhorn writes down the pods of a claim with their phase (controller/kubernetes_pv_controller.go setWorkloads). Why a kubelet cannot mount
//!   an attached volume only its Events say (reason FailedMount), which are in the namespace of the pod.
//! - The upgrade from 1.4 made tickets called longhorn-ui (v1.5.5 upgrade/v14xto150/upgrade.go).

mod mounts;
mod rules;
mod said;
mod states;
#[cfg(test)]
mod tests;
mod tickets;
mod unasked;

use crate::check::*;
use crate::longhorn::Resource::*;

/// A volume with its engine and replicas.
const VOLUME_OBJECTS: &str = "kubectl -n <namespace> get volumes.longhorn.io,engines.longhorn.io,replicas.longhorn.io -l longhornvolume=<volume> -o wide";
const EVENTS: &str = "kubectl -n <namespace> get events --sort-by=.lastTimestamp | grep <volume>";
const TICKETS: &str = "kubectl -n <namespace> get volumeattachments.longhorn.io <volume> -o yaml";
const OF_KUBERNETES: &str = "kubectl get volumeattachments.storage.k8s.io";

causes! {
    ATTACH_LOOP = critical "attach_loop"
        "the engine of the volume died unexpectedly three times or more in the last hour: it is attached and detached in turn"
        fix "See why the engine dies: the instance manager on <value> (restarted, out of memory), the network to the replicas, and the disks. \
             Scaling the workload down ends the loop." [read VOLUME_OBJECTS, read EVENTS, read TICKETS];
    ENGINE_CANNOT_START = critical "engine_cannot_start"
        "the volume is attaching, and its engine fails to start on that node"
        fix "See the error of the engine, then check <value> for missing iscsiadm or iscsi_tcp, a multipathd that claims the device, SELinux \
             denials, the engine image and the instance manager. On another node the volume may attach at once." [read VOLUME_OBJECTS, read EVENTS, read TICKETS];
    ATTACHING = warning "attaching" "the volume has been attaching for ten minutes"
        fix "See which engine or replica does not start: its engine image and the instance manager on its node; then the log of the \
             longhorn-manager on <owner>, which owns the volume." [read VOLUME_OBJECTS, read EVENTS, read TICKETS];
    DETACHING = warning "detaching" "the volume has been detaching for ten minutes"
        but "info in a recording that does not tell since when"
        fix "See which engine or replica does not stop, and the instance manager on its node; then the log of the longhorn-manager on <owner>, \
             which owns the volume." [read VOLUME_OBJECTS, read EVENTS, read TICKETS];
    TICKET_WAITS = warning "ticket_waits"
        "a workload has waited ten minutes for a volume that is attached elsewhere or otherwise, or that Longhorn was not asked for"
        fix "See what still uses <claim> on the node where it is attached, and stop it: a pod that ends slowly, a manual attachment from Longhorn's \
             user interface, or a second pod that mounts a claim for one node." [read TICKETS, read OF_KUBERNETES, read VOLUME_OBJECTS]
            proven "a second replica of a strict-local volume, without data; of two active engines the one that no replica names; the \
             pod of a virtual machine on the node that it should leave";
    TICKET_LEFT_OVER = warning "ticket_left_over"
        "a ticket holds the volume for a node or an attachment that no longer exists" but "info while no other ticket waits"
        fix "Make sure that no pod on node <node> uses <claim>, then take the ticket away: Longhorn detaches the volume, and attaches it where another \
             ticket wants it." [
            read "kubectl get pods -A -o wide --field-selector spec.nodeName=<node>",
            read TICKETS,
            read OF_KUBERNETES,
            change "kubectl -n <namespace> patch volumeattachments.longhorn.io <volume> --type merge -p '{\"spec\":{\"attachmentTickets\":{\"<attachment>\":null}}}'",
        ];
    MIGRATION_BROKE = warning "migration_broke"
        "a migratable volume is detached with a ticket for each of two nodes, and attaches to neither"
        fix "Find out on which node the virtual machine of <claim> should run, and delete the pod on the other: Longhorn attaches the volume as soon \
             as one ticket is left." [read TICKETS, read OF_KUBERNETES] proven "on which node the virtual machine should run, as the reader has to know";
    MOUNT_FAILING = warning "mount_failing"
        "the volume is attached, and the kubelet has failed for ten minutes to mount it"
        but "info where nothing but a pod that stays Pending tells of it: a live exporter does not read the Events of other namespaces"
        fix "See in the Events of the pod of <claim> what fails on node <node>. Where they say FailedMount, the log of longhorn-csi-plugin there has the \
             rest; an image that cannot be pulled is no matter of storage." [
            read "kubectl get events -A --field-selector reason=FailedMount --sort-by=.lastTimestamp",
            read "kubectl -n <namespace> logs -l app=longhorn-csi-plugin -c longhorn-csi-plugin --tail=300 --prefix | grep <volume>",
            read VOLUME_OBJECTS,
        ] proven "the volume is mounted nowhere, and has a backup, before its file system is repaired";
}

pub static CHECK: Check = Check {
    id: "volume_attachment_stuck",
    title: "Volumes that do not attach or detach",
    summary: "A volume stays attaching or detaching, loses its engine again and again, or is held where no workload wants it.",
    needs: &[Volumes, Engines, VolumeAttachments],
    uses: &[
        CsiAttachments, CsiNodes, BackingImages, BackingImageManagers, Events, Pods, KubeNodes,
        LonghornNodes, DaemonSets, Settings,
    ],
    causes: ALL,
    gauges: GAUGES,
    alerts: rules::ALERTS,
    panels: rules::PANELS,
    run,
    ..Check::DEFAULT
};

gauges! {
    STUCK = Gauge "longhorn_health_volume_attachment_stuck" ["volume", "pvc_namespace", "pvc", "cause", "severity"]
        "1 for every volume that does not attach or detach, by cause; not for what is info only.",
        absent "the volume attaches and detaches, or volumes or engines cannot be read",
        example "max without (instance, pod) (longhorn_health_volume_attachment_stuck) == 1";
}

fn run(cluster: &Cluster, out: &mut Outcome) {
    let events = states::Events::of(cluster);
    states::look(cluster, out, &events);
    tickets::look(cluster, out);
    unasked::look(cluster, out);
    mounts::look(cluster, out);
}
