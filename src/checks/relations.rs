//! What follows from what: all relations between causes, on one page. From them come the incidents of the report and the
//! inhibitions of Alertmanager.
//!
//! Causes are named by check and id, which the compiler looks up: one that no check declares does not compile. There is no
//! cycle, every relation occurs in a recorded scenario, and two findings are tied only by what they have in common, never
//! because both happen at the same time. Two findings about one object or one volume are one incident, or one waits for the other: the
//! corpus holds that (tests/support/apart.rs).

use super::*;
use crate::check::{Link, Relation, Same};

/// `consequences LINK roots, same WHAT, "phrase" [on nodes];`, where `[*]` is every cause of a check.
macro_rules! relations {
    ($( $check:ident [$($cause:ident),+] $link:ident $( $root:ident $roots:tt )+, same $same:ident
        $(, $phrase:literal $(on $nodes:ident)?)?; )*) => {
        /// Every relation. Of two that tie the same finding, the first counts.
        pub const ALL: &[Relation] = &[$( Relation {
            $( phrase: $phrase, $( on_nodes: stringify!($nodes).len() > 0, )? )?
            ..Relation {
                check: &$check::CHECK,
                causes: const { relations!(@causes $check [$($cause),+]) },
                roots: const { &[$( (&$root::CHECK, relations!(@causes $root $roots)) ),+] },
                same: Same::$same,
                link: Link::$link,
                phrase: "",
                on_nodes: false,
            }
        } ),*];
    };
    (@causes $check:ident [*]) => { $check::CHECK.causes };
    (@causes $check:ident [$($cause:ident),+]) => { &[$( $check::CHECK.declared(stringify!($cause)) ),+] };
    (@causes $check:ident $list:ident) => { $list };
}

/// A disk that is not ready; the node may well be.
const BROKEN: &[&Cause] = relations!(@causes disk_unavailable [
    disk_uuid_mismatch, file_system_changed, file_system_shared, file_system_read_only, disk_unreadable, disk_service_unreachable,
    disk_not_ready
]);

relations! {
    // Who does not attach or detach: tickets get their status, and volumes their state, from the manager that owns the volume
    // alone (longhorn-manager v1.5.5 to v1.12.1 controller/volume_attachment_controller.go isResponsibleFor).
    volume_attachment_stuck [attaching, detaching, ticket_waits] CausedBy manager_half_alive [work_undone],
        same Volume, "volume not attached";
    // A ticket is a change of a Longhorn object.
    volume_attachment_stuck [ticket_waits] ShownWith
        webhook_unavailable [
            no_ready_endpoint, deadlock, not_listed, selector_wrong, configuration_foreign, configuration_untrusted, ca_expired,
            certificate_refused, calls_fail
        ],
        same Cluster, "volume not attached" on nodes;
    // A volume is attached only where its engine image is (longhorn-manager v1.5.1 to v1.12.1 manager/volume.go Attach).
    volume_attachment_stuck [ticket_waits, attaching] CausedBy engine_image_unavailable [deployed_nowhere, image_unknown],
        same Volume, "volume not attached";
    // A replica starts only on a disk where the copy of its backing image is ready (longhorn-manager v1.3.3 to v1.12.1
    // controller/replica_controller.go GetBackingImagePathForReplicaStarting).
    volume_attachment_stuck [attaching, ticket_waits] ShownWith
        operation_stalled [backing_image_stalled, backing_image_failed, clone_stalled, clone_failed]
        eviction_inconsistent [no_usable_copy],
        same Volume, "volume not attached";
    eviction_inconsistent [no_usable_copy] ShownWith eviction_inconsistent [missing_disk], same Object, "no usable copy";
    eviction_inconsistent [no_usable_copy] ShownWith disk_unavailable BROKEN, same Volume, "backing image without a usable copy";
    eviction_inconsistent [copy_not_starting] ShownWith operation_stalled [backing_image_stalled], same Object, "copies missing" on nodes;
    // A copy is on a disk, and is back with it.
    operation_stalled [backing_image_failed] ShownWith disk_unavailable BROKEN, same Disk, "backing image failed";
    // An engine starts in the instance manager of the node, with its engine image, and with replicas that have a place. Up to 1.7 an
    // engine waits for every replica of its volume.
    volume_attachment_stuck [attaching, ticket_waits, migration_broke] ShownWith
        engine_image_unavailable [missing_on_node] replica_unschedulable [*] attachment_on_dead_node [*],
        same Volume, "volume not attached";
    volume_attachment_stuck [attaching, detaching, ticket_waits] ShownWith
        instance_manager_down [*] disk_unavailable [node_not_ready], same Node, "volume not attached" on nodes;
    // What a kubelet mounts it asks the CSI plugin of its node for, and the tools of the host.
    volume_attachment_stuck [mount_failing] ShownWith
        csi_plugin_down [not_registered, plugin_crashing, plugin_not_running, plugin_missing] disk_unavailable [node_environment],
        same Node, "volume cannot be mounted" on nodes;
    // A name that no server of the cluster's DNS resolves, from wherever it is asked.
    volume_attachment_stuck [mount_failing, ticket_waits] ShownWith csi_plugin_down [plugin_crashing],
        same Way, "volume cannot be used";
    volume_attachment_stuck [mount_failing] ShownWith volume_attachment_stuck [ticket_waits], same Way, "volume cannot be mounted";
    volume_attachment_stuck [ticket_waits] ShownWith node_unregistered [manager_missing], same Way, "volume not attached" on nodes;
    backup_failing [target_unavailable] ShownWith
        csi_plugin_down [plugin_crashing] volume_attachment_stuck [ticket_waits, mount_failing], same Way, "backup target unreachable";
    driver_deployer_blocked [managers_down] ShownWith volume_attachment_stuck [ticket_waits], same Way, "driver deployer waits";
    // A policy that selects all pods of the namespace, no matter which of them says so first.
    csi_plugin_down [controller_down, sidecar_down] ShownWith manager_half_alive [isolated], same Way, "CSI down";
    // What rejects the pods of one kind rejects those of others.
    backup_failing [recurring_job_overdue] ShownWith share_manager_down [pod_rejected], same Way, "backups not made";
    // An engine on a node that its own packets leave in vain finds no replica of others, nor they it.
    volume_attachment_stuck [attach_loop] ShownWith csi_plugin_down [plugin_crashing], same Node, "engines keep dying" on nodes;
    volume_degraded [rebuild_looping] ShownWith csi_plugin_down [plugin_crashing], same Node, "rebuild keeps failing" on nodes;
    // No replica opens a chain that is too long, so that its engine ends.
    volume_attachment_stuck [attach_loop, attaching, engine_cannot_start, ticket_waits] ShownWith snapshot_chain_long [cannot_open],
        same Volume, "volume not attached";
    volume_faulted [engine_died, salvage_pending, replicas_unreachable] ShownWith snapshot_chain_long [cannot_open], same Volume, "volume faulted";
    // Where a node is cordoned, what ended stays away.
    volume_attachment_stuck [attaching] ShownWith instance_manager_down [node_cordoned], same Node, "volume not attached" on nodes;
    // An engine that dies takes the device along, and dies with its instance manager.
    volume_degraded [rebuild_looping] ShownWith volume_attachment_stuck [attach_loop], same Way, "volume degraded";
    volume_attachment_stuck [mount_failing] ShownWith volume_attachment_stuck [attach_loop], same Volume, "volume cannot be mounted";
    volume_attachment_stuck [attach_loop] ShownWith
        instance_manager_replaced [liveness_probe, liveness_loop, oom_killed, evicted, tainted, sandbox_lost, panic, deleted, unknown], same Node, "engines keep dying" on nodes;
    driver_deployer_blocked [mount_propagation] ShownWith disk_unavailable [node_environment], same Cluster, "driver deployer exits";
    // Where no node is Ready, each single one follows from what all share, and so does a Service whose pods are all called not Ready.
    disk_unavailable [node_not_ready] CausedBy disk_unavailable [no_node_ready], same Cluster, "node not Ready" on nodes;
    webhook_unavailable [no_ready_endpoint] CausedBy disk_unavailable [no_node_ready], same Cluster, "no webhook";

    // What the kubelet of a node under pressure evicts are Longhorn's pods, too; and a disk that shares its file system is full with it.
    node_unregistered [manager_missing] ShownWith disk_unavailable [node_pressure], same Node, "no longhorn-manager" on nodes;
    disk_unavailable [disk_full] ShownWith disk_unavailable [node_pressure], same Node, "disk full" on nodes;
    eviction_inconsistent [suspended_node_down] ShownWith disk_unavailable [node_not_ready], same Node, "eviction suspended" on nodes;

    attachment_on_dead_node [node_down] CausedBy disk_unavailable [node_not_ready], same Node, "volumes held" on nodes;

    // Engine and replicas run in instance managers, and end with them; a replica on a disk that is not Schedulable is not
    // salvaged (longhorn-manager v1.3.3 to v1.12.1 controller/volume_controller.go ReconcileVolumeState).
    volume_faulted [never_up] CausedBy
        operation_stalled [backing_image_failed] volume_attachment_stuck [engine_cannot_start],
        same Volume, "volume faulted";
    // a disk that is nearly full keeps no replica from its volume
    volume_faulted [replicas_unreachable] CausedBy
        disk_unavailable BROKEN
        disk_unavailable [disk_uuid_shared, disk_failing, disk_full, disk_exhausted, node_not_ready, node_pressure, node_network_down, no_node_ready],
        same Disk, "volume faulted";
    volume_faulted [replicas_unreachable] ShownWith node_unregistered [node_gone], same Node, "volume faulted";
    volume_faulted [engine_died, salvage_pending] CausedBy volume_attachment_stuck [attach_loop], same Volume, "volume faulted";
    volume_faulted [replicas_unreachable, engine_died, salvage_pending] CausedBy
        instance_manager_down [*] engine_image_unavailable [missing_on_node, deployed_nowhere, image_unknown],
        same Volume, "volume faulted";

    // A replica that no disk takes is a replica too few; the others are gone with their instance manager (ReconcileEngineReplicaState
    // in the same file).
    volume_degraded [unschedulable] CausedBy replica_unschedulable [*], same Volume, "volume degraded";
    volume_degraded [waits_for_node] CausedBy disk_unavailable [node_not_ready] node_unregistered [node_gone], same Node, "volume degraded";
    // No replica is rebuilt while the volume expands, and none fits to an engine that is larger than the volume wants to be.
    volume_degraded [rebuild_blocked] CausedBy operation_stalled [expansion_failed, expansion_stalled], same Volume, "volume degraded";
    volume_degraded [not_rebuilding, waits_for_node] CausedBy instance_manager_down [*], same Volume, "volume degraded";
    volume_degraded [not_rebuilding] CausedBy instance_manager_down [*], same Node, "volume degraded";
    // What stays of a replica is not taken up again while its disk is not ready.
    volume_degraded [not_rebuilding] ShownWith disk_unavailable BROKEN, same Volume, "volume degraded";
    disk_unavailable [disk_failing] ShownWith disk_unavailable [disk_unreadable], same Disk, "device reports that it is failing";
    // The disk that the replica is rebuilt on, where neither the network nor the source is to blame.
    volume_degraded [rebuild_looping] ShownWith
        disk_unavailable [disk_failing] disk_unavailable BROKEN disk_unavailable [disk_exhausted, disk_full],
        same Disk, "rebuild keeps failing";
    // Replicas are reached at the storage address of their pod, or else at its own (longhorn-manager v1.4.4 to v1.12.1
    // datastore/kubernetes.go, controller/instance_handler.go).
    volume_degraded [rebuild_looping, rebuild_stalled] ShownWith instance_manager_pressure [storage_network_missing],
        same Node, "replicas not rebuilt" on nodes;
    // A rebuild begins with a snapshot.
    volume_degraded [rebuild_looping] ShownWith snapshot_chain_long [at_limit], same Volume, "rebuild keeps failing";
    // A live upgrade, a restore that does not end and a read-only file system keep a rebuild away (longhorn-manager v1.12.1
    // controller/volume_controller.go replenishReplicas, engine_controller.go).
    volume_degraded [not_rebuilding] ShownWith
        engine_image_unavailable [upgrade_stuck] operation_stalled [restore_failed, restore_stalled] volume_read_only [*],
        same Volume, "volume degraded";
    left_behind [orphans] ShownWith left_behind [rolled_back], same Cluster, "orphans" on nodes;
    left_behind [replicas_piled_up] ShownWith volume_degraded [rebuild_looping] replica_unschedulable [*],
        same Volume, "replicas pile up";

    // The scheduler leaves out disks that are not Ready or full, and every disk of a node that is not Ready (longhorn-manager v1.3.3 to
    // v1.12.1 scheduler/replica_scheduler.go getNodeCandidates, filterNodeDisksForReplica). The finding names a node and a disk
    // only where it is the one that comes into question. A disk that is nearly full takes replicas: that is no reason.
    replica_unschedulable [space_short, over_provisioned, nodes_unavailable] CausedBy
        disk_unavailable BROKEN disk_unavailable [disk_full, disk_exhausted], same Disk, "replica without a disk";
    replica_unschedulable [nodes_unavailable] CausedBy disk_unavailable [node_not_ready, node_pressure],
        same Node, "replica without a disk";

    replica_unschedulable [unexplained] ShownWith engine_image_unavailable [image_unknown, deployed_nowhere],
        same Volume, "replica without a disk";
    // A new node that does not come takes no replica of one that left.
    node_unregistered [node_gone] ShownWith node_unregistered [uninitialized], same Cluster, "node removed";
    replica_unschedulable [nodes_unavailable, anti_affinity] ShownWith node_unregistered [uninitialized, never_started],
        same Cluster, "replica without a disk";
    // Of a disk on a node where nothing can start, the scheduler says only that it is unavailable, and what failed there still counts.
    replica_unschedulable [nodes_unavailable, unexplained, over_provisioned] CausedBy
        manager_crash_loop [*] manager_start_stuck [*] node_unregistered [manager_missing]
        engine_image_unavailable [missing_on_node] instance_manager_down [*],
        same Node, "replica without a disk" on nodes;
    // Each of them counts the replicas of all.
    replica_unschedulable [space_short, over_provisioned] ShownWith disk_unavailable [disk_full, disk_exhausted],
        same Cluster, "replica without a disk";
    // A disk that cannot be used leaves the node's others to take all.
    replica_unschedulable [space_short, over_provisioned] ShownWith disk_unavailable BROKEN, same Node, "replica without a disk" on nodes;
    volume_faulted [no_data] ShownWith disk_unavailable [disk_uuid_mismatch], same Volume, "volume faulted";
    volume_faulted [no_data, salvage_pending, replicas_unreachable] ShownWith disk_unavailable [node_network_down], same Volume, "volume faulted";
    volume_degraded [not_rebuilding, rebuild_looping] ShownWith disk_unavailable [node_network_down], same Volume, "volume degraded";
    volume_degraded [not_rebuilding] ShownWith disk_unavailable [node_pressure], same Volume, "volume degraded";
    replica_unschedulable [over_provisioned] ShownWith disk_unavailable [disk_uuid_shared], same Cluster, "replica without a disk";
    disk_unavailable [disk_full, disk_exhausted] ShownWith disk_unavailable [disk_uuid_shared], same Cluster, "disk full" on nodes;

    // The node of the NFS server, the volume that it exports, and the manager that makes its pod (longhorn-manager v1.3.3 to v1.12.1
    // controller/share_manager_controller.go syncShareManagerVolume, syncShareManagerPod).
    share_manager_down [node_down] CausedBy disk_unavailable [node_not_ready], same Node, "RWX volume not served" on nodes;
    share_manager_down [volume_not_attached] CausedBy volume_attachment_stuck [*], same Volume, "RWX volume not served";
    share_manager_down [pod_missing] CausedBy manager_crash_loop [*], same Node, "RWX volume not served" on nodes;
    // Its engine ends with the instance manager, and its pod with the node.
    share_manager_down [restarting] ShownWith instance_manager_replaced [*], same Volume, "NFS server replaced";

    // Only the manager of its node makes a new instance manager.
    instance_manager_down [node_down] CausedBy disk_unavailable [node_not_ready], same Node, "instance manager unreachable" on nodes;
    instance_manager_down [node_down] ShownWith node_unregistered [node_gone], same Node, "instance manager unreachable" on nodes;
    // What stops one pod of a node stops them all.
    instance_manager_down [starting_stuck] ShownWith node_unregistered [manager_missing], same Way, "instance manager down" on nodes;
    instance_manager_down [pod_rejected] ShownWith disk_unavailable [node_pressure], same Node, "instance manager down" on nodes;
    instance_manager_replaced [evicted] ShownWith disk_unavailable [node_pressure], same Node, "replaced before" on nodes;
    instance_manager_down [pod_failed, pod_missing, oom_killed, starting_stuck] BlockedBy
        manager_crash_loop [*] manager_start_stuck [*] node_unregistered [manager_missing], same Node;
    // A node comes back from a restart with another disk, or another network.
    instance_manager_replaced [node_lost] ShownWith disk_unavailable BROKEN volume_degraded [rebuild_looping],
        same Node, "replaced before" on nodes;
    // What keeps the next pod away is reported for the one that is down; that one before it ended is a part of that story.
    instance_manager_replaced [unknown, node_lost] ShownWith instance_manager_down [*], same Node, "replaced before" on nodes;
    // What keeps a pod of a node from starting or from the API server is one thing for all pods there.
    csi_plugin_down [plugin_crashing] ShownWith manager_crash_loop [container_cannot_start, api_unreachable],
        same Node, "CSI plugin crash-looping" on nodes;
    // A node without what v2 needs has neither its instance manager nor its disk.
    disk_unavailable [node_environment, disk_service_unreachable] ShownWith instance_manager_down [pod_rejected, pod_terminating],
        same Node, "disk not usable" on nodes;
    node_unregistered [manager_missing] ShownWith instance_manager_down [pod_rejected], same Node, "no longhorn-manager" on nodes;
    // Leaks of a release end where the memory does.
    instance_manager_down [oom_killed] ShownWith known_bad_release [issue_12573], same Cluster, "instance manager OOM-killed" on nodes;
    instance_manager_replaced [oom_killed] ShownWith known_bad_release [issue_12573], same Cluster, "instance manager OOM-killed" on nodes;

    // The manager of the node writes what it saw of an instance manager only after it has reached it, so that it leaves that undone
    // without being to blame (longhorn-manager v1.6.1 controller/instance_manager_controller.go syncInstanceManager; longhorn issue 8455).
    manager_half_alive [work_undone] CausedBy instance_manager_down [starting_stuck], same Node, "the node's longhorn-manager cannot finish its work";

    // iSCSI targets live in the instance manager, and end with it.
    node_iscsi_errors [iscsi_conn_error, shim_disconnected] CausedBy
        instance_manager_replaced [*]
        instance_manager_down [panic, oom_killed, pod_failed, pod_missing, pod_terminating, node_down],
        same Node, "iSCSI errors" on nodes;

    // Managers that hang or end for reasons of their own leave no webhook. A deadlock is its own root: there the managers wait for
    // nothing but each other.
    webhook_unavailable [no_ready_endpoint, rollout] CausedBy
        manager_start_stuck [
            api_unreachable, api_certificate, access_denied, crd_mismatch, manifest_stale, webhook_service_unreachable, unknown
        ]
        manager_crash_loop [
            webhook_service_unreachable, open_iscsi_missing, upgrade_path, upgrade_object, engine_incompatible, old_managers_lingering,
            crd_mismatch, cache_sync_failed, pod_update_refused, port_in_use, manifest_stale, known_panic, oom_killed, probe_killed,
            api_unreachable, api_certificate, webhook_call_failed, webhook_denied, write_conflict, container_cannot_start, unknown
        ]
        node_unregistered [manager_missing],
        same Cluster, "no webhook";

    // A manager of 1.5 and later ends when no manager answers behind the Service of the webhooks (longhorn-manager v1.5.4 to v1.12.1
    // webhook/webhook.go).
    manager_crash_loop [webhook_unserved, webhook_not_ready] CausedBy
        webhook_unavailable [deadlock, no_ready_endpoint, not_listed, selector_wrong],
        same Cluster, "crash loop" on nodes;
    // Where the kubelet ends them again and again, they do not wait for each other.
    webhook_unavailable [deadlock] ShownWith manager_crash_loop [probe_killed], same Cluster, "no webhook";
    manager_crash_loop [webhook_call_failed] ShownWith webhook_unavailable [configuration_foreign, certificate_refused],
        same Cluster, "crash loop" on nodes;
    manager_crash_loop [webhook_denied] ShownWith eviction_inconsistent [disk_keys_differ], same Cluster, "crash loop" on nodes;
    // All managers have one service account and one set of definitions.
    manager_start_stuck [unknown] ShownWith manager_start_stuck [access_denied, crd_mismatch], same Cluster, "also hanging" on nodes;
    manager_crash_loop [backing_image_eviction_panic] CausedBy backing_image_eviction_crash [at_risk],
        same Node, "crash loop" on nodes;
    // A node's manager registers it, after it has started.
    node_unregistered [never_started] CausedBy manager_crash_loop [*] manager_start_stuck [*], same Node, "node not registered";
    node_unregistered [manager_missing] ShownWith manager_crash_loop [container_cannot_start], same Node, "no longhorn-manager" on nodes;
    driver_deployer_blocked [managers_half_started] ShownWith node_unregistered [never_started],
        same Cluster, "driver deployer waits";
    csi_plugin_down [plugin_missing, plugin_not_running] ShownWith node_unregistered [manager_missing, never_started], same Node, "no CSI plugin" on nodes;
    instance_manager_down [node_down] ShownWith node_unregistered [manager_missing], same Node, "instance manager unreachable" on nodes;
    volume_attachment_stuck [ticket_waits] ShownWith csi_plugin_down [controller_down], same Cluster, "volume not attached" on nodes;
    // No attacher finds the driver on a node whose kubelet does not have it.
    volume_attachment_stuck [ticket_waits] ShownWith csi_plugin_down [not_registered, plugin_crashing], same Node, "volume not attached" on nodes;
    // Both ask the API of any manager at their start, and exit without an answer (longhorn-manager v1.3.3 to v1.12.1 csi/manager.go Run,
    // NewRancherClient).
    driver_deployer_blocked [managers_down] CausedBy
        webhook_unavailable [deadlock, no_ready_endpoint, not_listed, selector_wrong] manager_crash_loop [*], same Cluster, "driver deployer waits";
    csi_plugin_down [plugin_crashing] CausedBy webhook_unavailable [deadlock, no_ready_endpoint, not_listed, selector_wrong],
        same Cluster, "CSI plugin crash-looping" on nodes;

    // A disk that is not ready lists none of its replicas (longhorn-manager v1.3.3 to v1.12.1 controller/node_controller.go
    // updateDiskStatusSchedulableCondition).
    eviction_inconsistent [disk_not_ready_hides_replicas] CausedBy disk_unavailable BROKEN,
        same Disk, "eviction looks done" on nodes;
    // The manager of the node does the work, and a contradiction in what it is asked for stops it.
    eviction_stalled [no_progress] CausedBy backing_image_eviction_crash [at_risk] manager_crash_loop [*],
        same Node, "eviction stalled" on nodes;
    eviction_stalled [no_progress] CausedBy
        eviction_inconsistent [
            no_candidate_disk, disk_not_ready_hides_replicas, last_rw_replica, copy_in_use, no_usable_copy
        ],
        same Node, "eviction stalled" on nodes;
    eviction_stalled [drain_blocked] CausedBy
        backing_image_eviction_crash [at_risk] manager_crash_loop [*] node_unregistered [manager_missing],
        same Node, "drain blocked" on nodes;
    eviction_stalled [drain_blocked] ShownWith
        eviction_stalled [no_schedulable_disk] eviction_inconsistent [last_rw_replica, no_candidate_disk],
        same Node, "drain blocked" on nodes;

    // A bug of a release whose effect another check already sees.
    known_bad_release [issue_10464, issue_11034] CausedBy backing_image_eviction_crash [at_risk],
        same Cluster, "known bug of this release";
    known_bad_release [issue_11864, issue_11939] ShownWith manager_crash_loop [known_panic], same Cluster, "known bug of this release";
    known_bad_release [issue_9464] ShownWith instance_manager_down [label_missing], same Cluster, "known bug of this release";
    known_bad_release [issue_11994] ShownWith engine_image_unavailable [missing_on_node], same Cluster, "known bug of this release";
    known_bad_release [issue_12578] ShownWith webhook_unavailable [deadlock, no_ready_endpoint],
        same Cluster, "Kubernetes nodes cannot be updated";
    known_bad_release [issue_12311] ShownWith volume_attachment_stuck [ticket_waits], same Cluster, "known bug of this release";
    backup_failing [volume_backup_old] ShownWith known_bad_release [issue_11016], same Cluster, "no good backup";
    engine_image_unavailable [incompatible] ShownWith manager_crash_loop [engine_incompatible], same Cluster, "engine image incompatible";
    backup_failing [backup_failed] ShownWith backup_failing [target_unavailable], same Cluster, "backup failed";

    // The pod of the present run waits for its backups, and its CronJob forbids a second beside it (longhorn-manager v1.6.2
    // app/recurring_job.go doRecurringBackup).
    backup_failing [recurring_job_overdue] CausedBy backup_failing [backup_stalled], same Volume, "recurring job overdue";
}
