//! Why an old instance manager is still there.

use crate::check::{causes, ways};

/// What runs in it.
const CONTENT: &str = "kubectl -n <namespace> get instancemanagers.longhorn.io <object> -o yaml";
const MANAGER: &str =
    "kubectl -n <namespace> get pods -l app=longhorn-manager --field-selector spec.nodeName=<node> -o wide";
const VOLUMES: &str = "kubectl -n <namespace> get volumes.longhorn.io";
const OBJECTS: &str = "kubectl -n <namespace> get engines.longhorn.io,replicas.longhorn.io -o wide";
const NODE: &str = "kubectl get node <node>";

ways! { SHARDED:
    SHARDS "Longhorn can remove the instance manager despite running shards"
        fix "Detach the volumes of these shards now. Until they are detached, do not restart the node's longhorn-manager: the restart would remove their \
             instance manager." [read VOLUMES, read CONTENT];
}

causes! {
    ORPHAN_HELD = warning "orphan_held"
        "a process in the old instance manager has no Engine or Replica object and never exits by itself"
        fix "Make sure that no volume uses the instances, then delete their Orphan objects. If no Orphan exists, \
             delete the instance manager once nothing else runs in it." [
            read CONTENT,
            read OBJECTS,
            read "kubectl -n <namespace> get orphans.longhorn.io -o wide",
            change "kubectl -n <namespace> delete orphans.longhorn.io <key>",
            change "kubectl -n <namespace> delete instancemanagers.longhorn.io <instance_manager>",
        ] proven "no Engine or Replica owns what runs in it; the fix asks to make sure that no volume uses it"
        way ORPHANS "Longhorn has created Orphans for the instances"
            fix "Make sure that no volume uses the instances, then delete their Orphans. Longhorn then stops the instances and removes the instance \
                 manager. Setting orphan-resource-auto-deletion to `instance` automates this."
        way UNSETTLED "an Engine or Replica keeps changing state"
            fix "Read the volume's Events and the log of the longhorn-manager that owns it. They show whether Longhorn still needs the instance."
        way BESIDE_OTHERS "the instances lack Orphan objects, and other instances are running beside them"
            fix "Upgrade the engines of the volumes in <object>, then detach those volumes. Once only orphaned instances are \
                 left, delete the instance manager: without an Orphan object, nothing else stops them."
        way ALONE "the instances lack Orphan objects, and their instance manager runs nothing else"
            fix "Make sure that no volume uses the instances, then delete the instance manager. Without an Orphan object, nothing else stops the instances.";
    CLEANUP_STUCK = warning "cleanup_stuck" "nothing runs in the old instance manager, but its node's longhorn-manager is not removing it"
        fix "Read the longhorn-manager's log on <node>: only that manager can remove the instance manager. If the manager is running but idle, restart it."
            [read MANAGER, read CONTENT, read NODE,
             change "kubectl -n <namespace> delete pod -l app=longhorn-manager --field-selector spec.nodeName=<node>"]
            proven "nothing holds the instance manager; a DaemonSet recreates the manager's pod, and I/O does not pass through it"
        way NODELESS "the instance manager has no node assigned"
            fix "Find out what created instance manager <object> (read its metadata.managedFields): it has no node assigned, so no longhorn-manager removes it."
        ways SHARDED;
    DELETION_STUCK = warning "deletion_stuck" "the old instance manager was deleted minutes ago but still exists"
        fix "Check that the admission webhook is answering. Then find out who set a finalizer on the instance manager: Longhorn sets none there."
            [read "kubectl -n <namespace> get instancemanagers.longhorn.io <object> -o jsonpath='{.metadata.finalizers}'",
             read CONTENT, read MANAGER, read NODE]
        way POD_STAYS "its pod is stuck in Terminating"
            fix "Read the kubelet's and containerd's logs on <node>, then restart both services: pod <pod> is stuck in Terminating. The instance manager is \
                 deleted once its pod has terminated."
            [read "kubectl -n <namespace> describe pod <pod>", read "kubectl describe node <node>"];
    ENGINE_UPGRADE_PENDING = info "engine_upgrade_pending"
        "a volume with an older engine image still runs in the old instance manager (expected until its engine upgrade)"
        fix "Upgrade the engines of attached, healthy volumes live. Then detach and reattach the volumes still in this instance manager when \
             convenient. To automate upgrades, set concurrent-automatic-engine-upgrade-per-node-limit above 0." [read VOLUMES, read CONTENT];
    REATTACH_PENDING = info "reattach_pending"
        "a volume's engine stays in the old instance manager until the volume detaches (expected after a live upgrade)"
        fix "Scale the workloads down at a convenient time, and up again once the volumes are detached. Never scale down a StatefulSet \
             whose persistentVolumeClaimRetentionPolicy.whenScaled is Delete: that deletes its volumes."
            [read VOLUMES, read CONTENT]
            proven "someone chose the moment; the command does not run if the StatefulSet would delete its claims";
    REPLICA_HELD = info "replica_held"
        "a replica runs in the old instance manager (expected until its volume is upgraded, rebuilt or attached again)"
        fix "Upgrade the engines of volumes with a replica in this instance manager, or reattach these volumes. Their replicas then move to \
            the default instance manager. This is not urgent."
            [read VOLUMES, read CONTENT]
            proven "someone chose the moment; the command does not run if the StatefulSet would delete its claims"
        way NO_LIVE_UPGRADE "the instance manager serves the v2 data engine"
            fix "Detach and attach the volumes at a convenient time: their replicas then move to the default instance manager. The v2 data \
                 engine has no live upgrade.";
    NODE_DOWN = info "node_down" "the node is down, so Longhorn keeps the old instance manager until the node is back"
        fix "Bring node <node> back. If it is lost, remove it from Kubernetes, and from Longhorn once every volume is healthy without it."
            [read NODE, read CONTENT, read MANAGER]
            proven "the node is lost, and every volume is healthy without it";
    CLEANUP_PENDING = info "cleanup_pending"
        "the old instance manager is empty, or its last process is starting or stopping (its removal is due)"
        fix "Wait a minute: Longhorn then removes the instance manager." [read CONTENT] ways SHARDED;
}
