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
mod events;
mod gone;
mod mounts;
mod rules;
mod said;
mod states;
#[cfg(test)]
mod tests;
mod tickets;
mod unasked;

use crate::check::*;
use crate::facts::ways::{
    BACKING_IMAGE, BETWEEN_INSTANCE_MANAGERS, BLACKLIST, FILE_SYSTEM, NO_SERVICE, REFUSED, UNRESOLVED,
};
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
        "the engine died at least three times in the last hour, so the volume keeps attaching and detaching"
        fix "Check what keeps ending the engine: the instance manager on <value> (restarted, out of memory), the replicas' network or \
             disks. To end the loop, stop the workload." [read VOLUME_OBJECTS, read EVENTS, read TICKETS]
        ways ENGINE_ERROR ways BETWEEN_INSTANCE_MANAGERS;
    ENGINE_CANNOT_START = critical "engine_cannot_start"
        "the volume cannot attach, because its engine fails to start on the requested node"
        fix "Read the engine's error. Then check <value>: iscsiadm, module iscsi_tcp, multipathd, SELinux denials, engine image and instance \
             manager. Or attach the volume to another node." [read VOLUME_OBJECTS, read EVENTS, read TICKETS]
        way SILENT "its engine gives no reason"
            fix "Read the instance manager's log on <node>: the engine itself gives no reason. Then check iscsiadm, module iscsi_tcp, multipathd and \
                 SELinux denials there. Or attach the volume to another node."
            [read "kubectl -n <namespace> logs -l longhorn.io/component=instance-manager,longhorn.io/node=<node> --tail=500 | grep <volume>-e",
             read VOLUME_OBJECTS, read EVENTS]
        way SEVERAL "several volumes on one node cannot attach"
            fix "Check on <node> that iscsiadm and module iscsi_tcp exist and the instance manager is running. Then look for a multipathd that \
                 claims the devices, and for SELinux denials."
            [read LONGHORN_NODE, read MANAGERS_THERE]
        way OF_THE_NODE "no engine starts on this node, but engines are running on others"
            fix "Cordon <node>, so that new pods go elsewhere. Then check its iscsiadm, module iscsi_tcp, SELinux denials and instance manager, \
                 and whether multipathd claims the devices."
            [read LONGHORN_NODE, read MANAGERS_THERE, change "kubectl cordon <node>"]
        ways ENGINE_ERROR;
    ATTACHING = warning "attaching" "the volume has been attaching for ten minutes"
        fix "Find the engine or replica that fails to start, and check its engine image and instance manager. Then read the log of \
             the longhorn-manager on <owner>." [read VOLUME_OBJECTS, read EVENTS, read TICKETS]
        way TWINS "its node has two identical instance managers"
            fix "Find out which of <instance_manager> and <value> runs nothing, and delete that InstanceManager. Longhorn starts no engine or \
                 replica on <node> while both exist."
            [read "kubectl -n <namespace> get instancemanagers.longhorn.io <instance_manager> <value> -o yaml"]
            proven "the fix asks for the one that runs nothing"
        ways BACKING_IMAGE;
    DETACHING = warning "detaching" "the volume has been detaching for ten minutes"
        but "info if a recording does not show the start"
        fix "Find the engine or replica that fails to stop, and check its node's instance manager. Then read the log of the longhorn-manager on \
             <owner>, which owns the volume." [read VOLUME_OBJECTS, read EVENTS, read TICKETS];
    TICKET_WAITS = warning "ticket_waits"
        "a workload has been waiting ten minutes: its volume is attached elsewhere, or its attachment was never requested", changed_by: BY_POLICY
        fix "Find and stop what still uses <claim> on its node. It can be a Terminating pod, a second pod of the RWO claim or an \
             attachment from Longhorn's UI." [read TICKETS, read OF_KUBERNETES, read VOLUME_OBJECTS]
            proven "a second replica of a strict-local volume, without data; of two active engines the one that no replica names; the pod of a \
                    virtual machine on the node that it should leave"
        way MIGRATES "its migration is stuck"
            fix "Find out why the migration's engine and replicas are not starting. To cancel the migration, delete the virtual machine's pod on \
                 the target node." [read VOLUME_OBJECTS, read TICKETS, read OWNERS_LOG]
        way INHERITS_FAILURE "its copied replica inherits an old failure"
            fix "Cancel the migration: delete the virtual machine's pod on the target node. Then upgrade to v1.10.2 or later (issue \
                 12311). Until then, shut the virtual machine down to move it." [read VOLUME_OBJECTS, read OWNERS_LOG, read TICKETS]
        way SURPLUS_REPLICA "the strict-local volume has two replicas"
            fix "Delete replica <replica>, which has no data: Longhorn's webhook rejects every change to a strict-local volume that has two \
                 replicas."
            [read VOLUME_OBJECTS, read TICKETS, change "kubectl -n <namespace> delete replicas.longhorn.io <replica>"]
        way PENDING_NODE "the volume is waiting for another node (pendingNodeID)"
            fix "Clear the volume's field status.pendingNodeID: Longhorn cannot attach a volume that has a pending node." [
                read VOLUME_OBJECTS,
                read TICKETS,
                change "kubectl -n <namespace> patch volumes.longhorn.io <volume> --subresource=status --type merge -p '{\"status\":{\"pendingNodeID\":\"\"}}'",
            ]
        way TWO_ENGINES "two of its engines are active"
            fix "Delete the engine that no replica's spec.engineName names. Keep the other engine. Longhorn stops all work on a volume \
                 with two active engines (fixed in 1.4.4 and 1.5.2)." [read VOLUME_OBJECTS, read TICKETS]
        way UNHELD "the volume stays detached, although no other node holds it"
            fix "Read the log of the longhorn-manager on <owner>, which owns the volume: it shows why the volume cannot attach. Nothing else is \
                 holding the volume." [read OWNERS_LOG, read VOLUME_OBJECTS, read TICKETS]
        way BY_HAND "the volume is attached manually"
            fix "Find out whether <claim>'s attachment, made in Longhorn's UI, is still needed. If not, detach the volume there: the workload can then use \
                 it. Do not delete the VolumeAttachment." [read TICKETS, read VOLUME_OBJECTS]
        way OWN_WORK "a Longhorn operation is holding the volume"
            fix "Read the longhorn-managers' logs for <kind>: its ticket <attachment> holds the volume until its operation ends. No workload holds the \
                 volume."
            [read "kubectl -n <namespace> get snapshots.longhorn.io,backups.longhorn.io | grep -e <volume> -e NAME", read TICKETS]
        way LONGHORN_REFUSES "Longhorn rejects the attach request"
            fix "<known_error>Read the VolumeAttachment's attach error and fix its cause, often an engine image that is missing on a node. \
                 csi-attacher then retries automatically." [
                read ATTACHMENT,
                read "kubectl -n <namespace> get volumes.longhorn.io <volume> -o jsonpath='{.spec.image}'",
                read "kubectl -n <namespace> get engineimages.longhorn.io",
            ]
        way NEVER_ASKED "Longhorn got no attach request"
            fix "Read csi-attacher's log for the error: it cannot reach Service longhorn-backend (port 9500). Then check DNS, service \
                 mesh and NetworkPolicies (those of 1.12.1 omit the CSI sidecars)."
                [read ATTACHMENT, read "kubectl -n <namespace> logs -l app=csi-attacher --tail=50", read "kubectl -n <namespace> get networkpolicies"]
        way ISOLATED "a NetworkPolicy isolates longhorn-manager"
            fix "Change NetworkPolicy <value> at its source (<reason>): it blocks all traffic to the managers. Until then, do \
                 not restart Longhorn's pods: Longhorn's status may be outdated."
            [read "kubectl -n <namespace> get networkpolicies -o yaml", read ATTACHMENT, read "kubectl -n <namespace> get pods"]
        way PV_DELETED "its PersistentVolume is being deleted"
            fix "Back up volume <volume>, and set its PersistentVolume's reclaim policy to Retain. With policy Delete, the data is \
                 deleted with the claim. Then recreate the PersistentVolume and claim." [
                read "kubectl get persistentvolumes | grep -e <volume> -e NAME",
                read "kubectl -n <namespace> get backups.longhorn.io -l backup-volume=<volume>",
                read ATTACHMENT,
            ]
        way ATTACHER_HANGS "csi-attacher is stuck"
            fix "Delete pod <pod>: the new pod takes the Lease and attaches the volume. Then scale csi-attacher back to 3 replicas. Do not \
                 delete the VolumeAttachment." [
                change "kubectl -n <namespace> delete pod <pod>",
                read "kubectl -n <namespace> get leases.coordination.k8s.io external-attacher-leader-driver-longhorn-io -o yaml",
                read "kubectl -n <namespace> logs <pod> --tail=50",
                read ATTACHMENT,
            ]
        way PLUGIN_UNREGISTERED "the CSI plugin on the node is not registered"
            fix "Read the log of node-driver-registrar on <node> and fix the error, so that the CSI plugin registers with the kubelet. \
                 csi-attacher then retries automatically." [
                read "kubectl -n <namespace> get pods -l app=longhorn-csi-plugin -o wide --field-selector spec.nodeName=<node>",
                read "kubectl -n <namespace> logs -l app=longhorn-csi-plugin -c node-driver-registrar --tail=30 --prefix",
                read "kubectl get csinode <node> -o yaml",
            ]
        way NO_PLUGIN "the node has no CSI plugin pod"
            fix "Read the Events of DaemonSet longhorn-csi-plugin and fix their cause. The kubelet then retries automatically."
            [read "kubectl -n <namespace> describe daemonset longhorn-csi-plugin"]
        way KEPT_AWAY_BY_TAINT "a taint keeps the CSI plugin off the node"
            fix "Keep pods with Longhorn volumes off <node>. Or detach all Longhorn volumes and add a toleration for the node's taint to \
                 setting taint-toleration. csi-attacher then retries automatically." [read NODE, read KEPT_BY]
        way KEPT_OUT_BY_TAINT "a taint keeps the CSI plugin and the manager off the node"
            fix "Keep pods with Longhorn volumes off <node>. Or detach all Longhorn volumes and add a toleration for the node's taint to setting \
                 taint-toleration and DaemonSet longhorn-manager. csi-attacher then retries automatically." [read NODE, read KEPT_BY]
        way KEPT_AWAY_BY_LABEL "the node lacks the CSI plugin's node label"
            fix "Keep pods with Longhorn volumes off <node>, or add the missing label to it. Otherwise, detach all volumes and remove the \
                 label from setting system-managed-components-node-selector. csi-attacher then retries automatically." [read NODE, read KEPT_BY]
        way KEPT_OUT_BY_LABEL "the node lacks Longhorn's node labels"
            fix "Keep pods with Longhorn volumes off <node>, or add the missing label to it. Otherwise, detach all volumes and remove the \
                 label from system-managed-components-node-selector and DaemonSet longhorn-manager. csi-attacher then retries."
                [read NODE, read KEPT_BY]
        ways REFUSED
        ways NO_SERVICE
        ways UNRESOLVED;
    TICKET_LEFT_OVER = warning "ticket_left_over"
        "an attachment ticket reserves the volume for a node or attachment that no longer exists" but "info while no other ticket is waiting"
        fix "Make sure that no pod on <node> uses <claim>. Then remove its attachment ticket for <node>: Longhorn detaches the volume and attaches \
             it on the next ticket's node." [
            read "kubectl get pods -A -o wide --field-selector spec.nodeName=<node>",
            read TICKETS,
            read OF_KUBERNETES,
            change "kubectl -n <namespace> patch volumeattachments.longhorn.io <volume> --type merge -p \
                '{\"spec\":{\"attachmentTickets\":{\"<attachment>\":null}}}'",
        ];
    MIGRATION_BROKE = warning "migration_broke"
        "a live migration was aborted, and the volume can now attach to neither node"
        fix "Decide which node should run the virtual machine of <claim>. Then delete the machine's pod on the other node: Longhorn \
             attaches the volume once only one attachment ticket is left."
            [read TICKETS, read OF_KUBERNETES] proven "the fix asks on which node the virtual machine should run"
        way DETACHING_LOOP "an aborted migration left two engines"
            fix "Follow Longhorn's page troubleshooting-migratable-rwx-volume-stuck-in-detaching-loop: the volume keeps both engines of the migration. \
                 Upgrade to 1.10.0 or later, which fixes this. Do not delete the volume." [
                read "kubectl -n <namespace> get volumes.longhorn.io <volume> -o jsonpath='{.spec.nodeID} {.spec.migrationNodeID} \
                    {.status.currentNodeID} {.status.currentMigrationNodeID}'",
                read VOLUME_OBJECTS,
                read TICKETS,
            ];
    MOUNT_FAILING = warning "mount_failing"
        "the volume is attached, but the kubelet has been failing to mount it for ten minutes"
        but "info if only a Pending pod shows this"
        fix "Read the Events of the pod that uses <claim> on <node>. For FailedMount, read the log of longhorn-csi-plugin there. A failed image \
             pull is not a storage failure." [
            read "kubectl get events -A --sort-by=.lastTimestamp | grep -E 'FailedMount|FailedMapVolume'",
            read "kubectl -n <namespace> logs -l app=longhorn-csi-plugin -c longhorn-csi-plugin --tail=300 --prefix | grep <volume>",
            read VOLUME_OBJECTS,
        ] proven "the volume is mounted nowhere, and has a backup, before its file system is repaired"
        way DEVICE_BUSY "another process is using the device"
            fix BLACKLIST
        way NOT_ASKED "the kubelet does not request a mount"
            fix "Restart the kubelet on <node>: it asks the CSI plugin for no mount. Longhorn is not the cause: leave volume, replicas and instance \
                 managers alone." [
                read "kubectl get pods -A -o wide --field-selector spec.nodeName=<node>,status.phase=Pending",
                read "ssh <node> 'sudo journalctl -n 50 --no-pager -u kubelet -u rke2-agent -u k3s'",
            ]
        way NO_PASSPHRASE "the kubelet gets no passphrase"
            fix "Create the Secret that the PV's spec.csi.nodeStageSecretRef names. If that field is empty, set persistentVolumeReclaimPolicy \
                 to Retain, then recreate the PV with the field. Without Retain, data is deleted."
        way NOT_DECRYPTED "cryptsetup fails"
            fix "Check on <node> that cryptsetup is installed and module dm_crypt is loaded. Then check that the Secret has the passphrase with \
                 which the volume was encrypted."
        way NO_STDIN "cryptsetup cannot read the passphrase"
            fix "Upgrade Longhorn to 1.7.4, 1.8.2, 1.9.0 or later. Earlier releases cannot read the passphrase on a newer OS like Talos \
                 1.9. Until then, use a node with an older OS."
        way REJECTED_BY_KERNEL "the kernel rejects it"
            fix "Read the error in <node>'s kernel log. If it reports an unsupported block size or file system, run the pod on another node. Run fsck only if \
                 it reports damage."
            [read "ssh <node> 'sudo dmesg | tail -20; getconf PAGESIZE'", read EVENTS]
        way NO_ARGON2 "cryptsetup lacks argon2i"
            fix "If the volume is new and empty, set CRYPTO_PBKDF to pbkdf2 in its Secret. Otherwise, use a node whose cryptsetup supports argon2i, \
                 Longhorn's default: <node>'s does not."
        way NFS_CLIENT "NFS mount fails"
            fix "Check that <node> has an NFS client and that its kernel supports NFS 4.1. Then check that <node> can reach port 2049 of the share \
                 endpoint."
        way SHUT_OUT "a NetworkPolicy blocks the mount"
            fix "Delete NetworkPolicy <value> at its source (<reason>), or let it admit the nodes to port 2049 of share managers. The mount then \
                 succeeds. Do not restart Longhorn's pods."
            [read "kubectl -n <namespace> get networkpolicy <value> -o yaml", read EVENTS]
        way NO_ADDRESS "its share has no address"
            fix "Delete pod share-manager-<volume> when the volume's workloads can pause. Longhorn then recreates the share's Service with the \
                 right address for the current network setting." [
                read "kubectl -n <namespace> get sharemanagers.longhorn.io <volume> -o jsonpath='{.status.endpoint}'",
                read "kubectl -n <namespace> get services <volume> -o yaml --ignore-not-found",
            ]
        way DEVICE_EXCHANGED "its device was replaced"
            fix "Scale the workload to 0 until the volume is detached, then up again: the kubelet then mounts the new device. The old device \
                 was replaced when the engine died."
        way BACKEND_UNREACHED "longhorn-backend is unreachable"
            fix "Find out why the CSI plugin on <node> cannot reach Service longhorn-backend (port 9500). Check the managers, \
                 NetworkPolicies and <node>'s pod network."
            [read "kubectl -n <namespace> get pods -l app=longhorn-manager -o wide", read "kubectl -n <namespace> get networkpolicies"]
        way NSMOUNTER "nsmounter finds no kubelet"
            fix "Restart the kubelet on <node> (talosctl service kubelet restart), so that it gets another process ID. Upgrade Longhorn to \
                 1.11.1 or later, which finds the right process."
        way NO_HOST_TOOL "a tool is missing on the node"
            fix "Install on <node> the program that nsenter cannot execute (on immutable nodes, in the node's image). The kubelet then \
                 retries automatically."
        ways FILE_SYSTEM
        ways UNRESOLVED;
    VOLUME_GONE = critical "volume_gone" "a workload is waiting for a volume that Longhorn no longer has"
        fix "Restore volume <object> under the same name from its newest backup. If no backup exists, look for directories <object>-* in \
             replicas/ on every node's disks. Keep the claim and PersistentVolume." [
            read "kubectl -n <namespace> get orphans.longhorn.io -o custom-columns=NAME:.metadata.name,NODE:.spec.nodeID,DATA:.spec.parameters.DataName",
            read "kubectl -n <namespace> get backups.longhorn.io | grep <object>",
            read "kubectl get persistentvolumes,persistentvolumeclaims -A | grep <object>",
            read OF_KUBERNETES,
        ] proven "Longhorn has no object of that name, so a restore overwrites nothing; the claim and all directories are kept"
        way ORPHANED "its data is in orphaned directories"
            fix "Keep the Orphans: their directories may be the only copy. Restore volume <object> under the same name from a backup, or \
                 export it from a directory. Do not enable orphan-resource-auto-deletion.";
}

pub static CHECK: Check = check! {
    id: "volume_attachment_stuck",
    title: "Volumes that do not attach or detach",
    summary: "A volume is stuck attaching or detaching, keeps losing its engine, or stays attached where no workload needs it.",
    needs: &[Volumes, Engines, VolumeAttachments],
    uses: &[
        CsiAttachments, CsiNodes, BackingImages, BackingImageManagers, BackingImageDataSources, Events, Pods,
        KubeNodes, LonghornNodes, DaemonSets, Settings, InstanceManagers, Replicas, Orphans, Leases,
        Services,
    ],
    glances: &[NetworkPolicies],
    causes: ALL,
    ways: &[WAYS],
    gauges: GAUGES,
    alerts: rules::ALERTS,
    panels: rules::PANELS,
    stops_workloads: true,
};

gauges! {
    STUCK = Gauge "longhorn_health_volume_attachment_stuck" ["volume", "pvc_namespace", "pvc", "cause", "severity"]
        "1 for every volume that cannot attach or detach (severity info excluded).",
        absent "it can do both",
        example "max without (instance, pod, cause, severity) (longhorn_health_volume_attachment_stuck) == 1";
}

fn run(cluster: &Cluster, out: &mut Outcome) {
    let events = events::Events::of(cluster);
    states::look(cluster, out, &events);
    tickets::look(cluster, out);
    tickets::find_broken_migrations(cluster, out);
    unasked::look(cluster, out);
    gone::look(cluster, out);
    mounts::look(cluster, out);
}
