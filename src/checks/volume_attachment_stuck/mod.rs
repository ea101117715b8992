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

mod engine_error;
mod mounts;
mod rules;
mod said;
mod states;
#[cfg(test)]
mod tests;
mod tickets;
mod unasked;

use crate::check::*;
use crate::facts::ways::{BACKING_IMAGE, REFUSED};
use crate::longhorn::Resource::*;
use engine_error::ENGINE_ERROR;

/// A volume with its engine and replicas.
const VOLUME_OBJECTS: &str = "kubectl -n <namespace> get volumes.longhorn.io,engines.longhorn.io,replicas.longhorn.io -l longhornvolume=<volume> -o wide";
const ATTACHMENT: &str = "kubectl get volumeattachments.storage.k8s.io <attachment> -o yaml";
const NODE: &str = "kubectl describe node <node>";
const KEPT_BY: &str = "kubectl -n <namespace> get settings.longhorn.io taint-toleration system-managed-components-node-selector";
const LONGHORN_NODE: &str = "kubectl -n <namespace> get nodes.longhorn.io <node> -o yaml";
const MANAGERS_THERE: &str =
    "kubectl -n <namespace> get instancemanagers.longhorn.io -l longhorn.io/node=<node>";
const EVENTS: &str = "kubectl -n <namespace> get events --sort-by=.lastTimestamp | grep <volume>";
const TICKETS: &str = "kubectl -n <namespace> get volumeattachments.longhorn.io <volume> -o yaml";
const OWNERS_LOG: &str =
    "kubectl -n <namespace> logs <manager> -c longhorn-manager --tail=2000 | grep <volume>";
const OF_KUBERNETES: &str = "kubectl get volumeattachments.storage.k8s.io";

causes! {
    ATTACH_LOOP = critical "attach_loop"
        "the engine of the volume died unexpectedly three times or more in the last hour: it is attached and detached in turn"
        fix "See why the engine dies: the instance manager on <value> (restarted, out of memory), the network to the replicas, and the disks. \
             Scaling the workload down ends the loop." [read VOLUME_OBJECTS, read EVENTS, read TICKETS]
        ways ENGINE_ERROR;
    ENGINE_CANNOT_START = critical "engine_cannot_start"
        "the volume is attaching, and its engine fails to start on that node"
        fix "See the error of the engine, then check <value> for missing iscsiadm or iscsi_tcp, a multipathd that claims the device, SELinux \
             denials, the engine image and the instance manager. On another node the volume may attach at once." [read VOLUME_OBJECTS, read EVENTS, read TICKETS]
        way SEVERAL "of several volumes on one node"
            fix "Check node <node> for missing iscsiadm or iscsi_tcp, a multipathd that claims the devices, SELinux denials, and the instance manager there."
            [read LONGHORN_NODE, read MANAGERS_THERE]
        way OF_THE_NODE "of all volumes on one node, while engines run on others"
            fix "Check node <node> for missing iscsiadm or iscsi_tcp, a multipathd that claims the devices, SELinux denials, and the instance manager there. \
                 Until then cordon it, so that new pods go elsewhere."
            [read LONGHORN_NODE, read MANAGERS_THERE, change "kubectl cordon <node>"]
        ways ENGINE_ERROR;
    ATTACHING = warning "attaching" "the volume has been attaching for ten minutes"
        fix "See which engine or replica does not start: its engine image and the instance manager on its node; then the log of the \
             longhorn-manager on <owner>, which owns the volume." [read VOLUME_OBJECTS, read EVENTS, read TICKETS]
        way TWINS "its node has two instance managers of one type and image"
            fix "Longhorn starts nothing on node <node> until one of its two instance managers is gone: see in which of <instance_manager> and <value> nothing \
                 runs, and delete that InstanceManager."
            [read "kubectl -n <namespace> get instancemanagers.longhorn.io <instance_manager> <value> -o yaml"]
            proven "nothing runs in the one that goes, as the reader is to see"
        ways BACKING_IMAGE;
    DETACHING = warning "detaching" "the volume has been detaching for ten minutes"
        but "info in a recording that does not tell since when"
        fix "See which engine or replica does not stop, and the instance manager on its node; then the log of the longhorn-manager on <owner>, \
             which owns the volume." [read VOLUME_OBJECTS, read EVENTS, read TICKETS];
    TICKET_WAITS = warning "ticket_waits"
        "a workload has waited ten minutes for a volume that is attached elsewhere or otherwise, or that Longhorn was not asked for"
        fix "See what still uses <claim> on the node where it is attached, and stop it: a pod that ends slowly, a manual attachment from Longhorn's \
             user interface, or a second pod that mounts a claim for one node." [read TICKETS, read OF_KUBERNETES, read VOLUME_OBJECTS]
            proven "a second replica of a strict-local volume, without data; of two active engines the one that no replica names; the \
             pod of a virtual machine on the node that it should leave"
        way MIGRATES "its migration does not get ready"
            fix "See why the engine and the replicas of the migration do not start. Deleting the pod on the node that the virtual machine should go to takes \
                 the migration back." [read VOLUME_OBJECTS, read TICKETS, read OWNERS_LOG]
        way SURPLUS_REPLICA "it is strict-local, and has a replica too many"
            fix "Delete the replica without data: the validator of Longhorn denies every change of a strict-local volume that has two."
            [read VOLUME_OBJECTS, read TICKETS, change "kubectl -n <namespace> delete replicas.longhorn.io <replica>"]
        way PENDING_NODE "it has a pending node"
            fix "Empty the field status.pendingNodeID: Longhorn attaches no volume that has a pending node." [
                read VOLUME_OBJECTS,
                read TICKETS,
                change "kubectl -n <namespace> patch volumes.longhorn.io <volume> --subresource=status --type merge -p '{\"status\":{\"pendingNodeID\":\"\"}}'",
            ]
        way TWO_ENGINES "two of its engines are active"
            fix "Keep the engine that the replicas name in spec.engineName, and delete the other: Longhorn stops all work on a volume with two active engines \
                 (fixed in 1.4.4 and 1.5.2)." [read VOLUME_OBJECTS, read TICKETS]
        way UNHELD "it is detached, and nothing holds it"
            fix "See in the log of the longhorn-manager that owns the volume why it is not attached: nothing else holds it." [read VOLUME_OBJECTS, read TICKETS, read OWNERS_LOG]
        way OWN_WORK "Longhorn's own work holds it"
            fix "See why the work of <kind> does not end: no workload holds the volume, ticket <attachment> does, and it goes with that work."
            [read "kubectl -n <namespace> get snapshots.longhorn.io,backups.longhorn.io | grep -e <volume> -e NAME", read TICKETS]
        way LONGHORN_REFUSES "Longhorn refuses to attach it"
            fix "Fix what Longhorn's answer names, often an engine image that is missing on a node; csi-attacher tries again on its own." [
                read ATTACHMENT,
                read "kubectl -n <namespace> get volumes.longhorn.io <volume> -o jsonpath='{.spec.image}'",
                read "kubectl -n <namespace> get engineimages.longhorn.io",
            ]
        way NEVER_ASKED "Longhorn was never asked to attach it"
            fix "See why csi-attacher does not get through to Service longhorn-backend (port 9500): DNS, a NetworkPolicy (the default ones of 1.12.1 leave the \
                 side-cars of CSI out), a service mesh. Where its log has an answer of Longhorn, that names the reason." [
                read ATTACHMENT,
                read "kubectl -n <namespace> logs -l app=csi-attacher --tail=50",
                read "kubectl -n <namespace> get networkpolicies",
            ]
        way PLUGIN_UNREGISTERED "the CSI plugin on the node is not registered"
            fix "Get the CSI plugin on node <node> to register with its kubelet first: csi-attacher tries again on its own." [
                read "kubectl -n <namespace> get pods -l app=longhorn-csi-plugin -o wide --field-selector spec.nodeName=<node>",
                read "kubectl -n <namespace> logs -l app=longhorn-csi-plugin -c node-driver-registrar --tail=30 --prefix",
                read "kubectl get csinode <node> -o yaml",
            ]
        way NO_PLUGIN "no CSI plugin is on the node"
            fix "Fix what the Events of the pod name; the kubelet then continues on its own."
            [read "kubectl -n <namespace> describe daemonset longhorn-csi-plugin"]
        way KEPT_AWAY_BY_TAINT "a taint keeps the CSI plugin off the node"
            fix "Keep pods with a Longhorn volume off node <node>, or let Longhorn onto it: tolerate its taint in setting taint-toleration, with all volumes \
                 detached. csi-attacher tries again on its own." [read NODE, read KEPT_BY]
        way KEPT_OUT_BY_TAINT "a taint keeps the CSI plugin and the manager off the node"
            fix "Keep pods with a Longhorn volume off node <node>, or let Longhorn onto it: tolerate its taint in setting taint-toleration, with all volumes \
                 detached, and the same in DaemonSet longhorn-manager. csi-attacher tries again on its own." [read NODE, read KEPT_BY]
        way KEPT_AWAY_BY_LABEL "the node lacks a label for the CSI plugin"
            fix "Keep pods with a Longhorn volume off node <node>, or let Longhorn onto it: give it the label, or change setting \
                 system-managed-components-node-selector, with all volumes detached. csi-attacher tries again on its own." [read NODE, read KEPT_BY]
        way KEPT_OUT_BY_LABEL "the node lacks a label for the CSI plugin and the manager"
            fix "Keep pods with a Longhorn volume off node <node>, or let Longhorn onto it: give it the label, or change setting \
                 system-managed-components-node-selector, with all volumes detached, and the same in DaemonSet longhorn-manager. csi-attacher \
                 tries again on its own." [read NODE, read KEPT_BY]
        ways REFUSED;
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
        ] proven "the volume is mounted nowhere, and has a backup, before its file system is repaired"
        way DEVICE_BUSY "something else holds the device"
            fix "Something on node <node> holds the device, as a rule multipathd: exclude Longhorn's devices in /etc/multipath.conf and restart it (Longhorn's \
                 page troubleshooting-volume-with-multipath)."
        way NO_PASSPHRASE "the kubelet gets no passphrase"
            fix "The kubelet gets no passphrase: spec.csi.nodeStageSecretRef of the persistent volume has to name a Secret that exists. It is taken from the \
                 StorageClass (csi.storage.k8s.io/node-stage-secret-name and -namespace) when the claim is made; a persistent volume that was made \
                 without it has to be made again for the same Longhorn volume: set its persistentVolumeReclaimPolicy to Retain first, or its \
                 deletion deletes the data."
        way NOT_DECRYPTED "cryptsetup fails"
            fix "cryptsetup fails on node <node>: see that it is installed and dm_crypt is loaded there, and that the Secret has the passphrase with which the \
                 volume was encrypted."
        way DAMAGED "the file system is damaged"
            fix "The file system is damaged. Take a backup or a snapshot before anything else. Then scale the workload down, attach the volume by hand to a \
                 node from Longhorn's user interface, and repair the file system on /dev/longhorn there (fsck, or xfs_repair)."
        way NFS_CLIENT "the NFS client fails"
            fix "The NFS client of node <node> fails: see that it is installed, that the kernel has NFS 4.1, and that the node reaches port 2049 of the share \
                 endpoint."
        way DEVICE_EXCHANGED "the device was exchanged under the pod"
            fix "The device was exchanged under the pod when its engine died. Scale the workload to nothing until the volume is detached, then up again: the \
                 kubelet mounts it from the beginning.";
}

pub static CHECK: Check = Check {
    id: "volume_attachment_stuck",
    title: "Volumes that do not attach or detach",
    summary: "A volume stays attaching or detaching, loses its engine again and again, or is held where no workload wants it.",
    needs: &[Volumes, Engines, VolumeAttachments],
    uses: &[
        CsiAttachments, CsiNodes, BackingImages, BackingImageManagers, BackingImageDataSources, Events, Pods,
        KubeNodes, LonghornNodes, DaemonSets, Settings, InstanceManagers,
    ],
    causes: ALL,
    ways: &[WAYS],
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
