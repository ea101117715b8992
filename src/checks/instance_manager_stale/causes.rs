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
    SHARDS "shards run in it, which do not keep Longhorn from removing it"
        fix "Detach the volumes of these shards before Longhorn removes the instance manager under them. Do not restart the node's longhorn-manager \
             until they are detached: it would remove the instance manager." [read VOLUMES, read CONTENT];
}

causes! {
    ORPHAN_HELD = warning "orphan_held"
        "a running instance without an Engine or Replica holds it, and that never clears by itself"
        fix "Make sure that no volume uses the instances, then delete their Orphan objects. If there are none, delete the instance manager once \
             nothing else runs in it." [
            read CONTENT,
            read OBJECTS,
            read "kubectl -n <namespace> get orphans.longhorn.io -o wide",
            change "kubectl -n <namespace> delete orphans.longhorn.io <key>",
            change "kubectl -n <namespace> delete instancemanagers.longhorn.io <instance_manager>",
        ] proven "no Engine or Replica owns what runs in it; the fix asks to make sure that no volume uses it"
        way ORPHANS "Longhorn has created Orphans for them"
            fix "Make sure that no volume uses the instances, then delete their Orphans: Longhorn stops the instances and removes the instance manager. \
                 Setting orphan-resource-auto-deletion with `instance` does it automatically."
        way UNSETTLED "the object of an instance is changing state"
            fix "Read the events of the instance's volume and the log of its owner's longhorn-manager: its object keeps changing state, and Longhorn \
                 may still need it."
        way BESIDE_OTHERS "they have no Orphan object, and other instances run in it"
            fix "Upgrade the engines and detach the volumes named here first. Once only orphans are left, delete the instance manager: without an \
                 Orphan object, nothing else ends them."
        way ALONE "they have no Orphan object, and nothing else runs in it"
            fix "Make sure that no volume uses the instances, then delete the instance manager: without an Orphan object, nothing else ends them.";
    STUCK = warning "stuck" "nothing holds it, but its node's longhorn-manager does not remove it"
        fix "Read the log of the longhorn-manager on <node>: only that manager removes the instance manager. Restart it if it runs but does \
             nothing." [
            read MANAGER,
            read CONTENT,
            read NODE,
            change "kubectl -n <namespace> delete pod -l app=longhorn-manager --field-selector spec.nodeName=<node>",
        ] proven "nothing holds the instance manager; a DaemonSet recreates the manager's pod, and I/O does not pass through it"
        way NODELESS "it names no node" fix "Find out where it came from: it names no node, so no longhorn-manager is responsible for it."
        ways SHARDED;
    DELETION_STUCK = warning "deletion_stuck" "it was deleted minutes ago and still exists"
        fix "Find out which finalizer it has and who sets it (Longhorn sets none on instance managers), and whether the admission webhook answers." [
            read "kubectl -n <namespace> get instancemanagers.longhorn.io <object> -o jsonpath='{.metadata.finalizers}'",
            read CONTENT,
            read MANAGER,
            read NODE,
        ]
        way POD_STAYS "its pod does not end"
            fix "Find out why kubelet or containerd on <node> do not end pod <pod>, and restart them: the instance manager is deleted with its pod."
            [read "kubectl -n <namespace> describe pod <pod>", read "kubectl describe node <node>"];
    ENGINE_UPGRADE_PENDING = info "engine_upgrade_pending"
        "a volume with an older engine image holds it; expected until that engine is upgraded"
        fix "Upgrade the engines of the attached, healthy volumes live. Then detach and attach the volumes once, at a convenient moment. Setting \
             concurrent-automatic-engine-upgrade-per-node-limit upgrades all volumes." [read VOLUMES, read CONTENT];
    REATTACH_PENDING = info "reattach_pending"
        "the engine of a volume stays in it until the volume is detached; expected after a live upgrade"
        fix "Scale the workloads down until the volumes are detached, and up again, at a convenient moment: engines then start in the default \
             instance manager. Nothing is broken." [read VOLUMES, read CONTENT] proven "someone chose the moment; the command does not run if the StatefulSet \
                                                                             would delete its claims";
    REPLICA_HELD = info "replica_held"
        "a replica runs in it; expected until its volume is upgraded, rebuilt or attached again"
        fix "Upgrade the engines of their volumes, wherever they run, or detach and attach the volumes: the replicas then leave. Nothing is broken." [read VOLUMES, read CONTENT] proven "someone chose the moment; the command does not run if the StatefulSet would \
                                                                       delete its claims"
        way NO_LIVE_UPGRADE "it is of the v2 data engine"
            fix "Detach and attach the volumes at a convenient moment: the replicas then leave. Nothing is broken; the v2 data engine has no live \
                 upgrade.";
    NODE_DOWN = info "node_down" "its node is down, so Longhorn keeps it until the node is back"
        fix "Bring node <node> back. If it is lost, remove it from Kubernetes, and from Longhorn once every volume is healthy without it." [
            read NODE, read CONTENT, read MANAGER,
        ] proven "the node is lost, and every volume is healthy without it";
    CLEANUP_PENDING = info "cleanup_pending"
        "nothing holds it, or its last instance is starting or stopping; Longhorn should remove it soon"
        fix "Wait a minute: Longhorn removes it." [read CONTENT] ways SHARDED;
}
