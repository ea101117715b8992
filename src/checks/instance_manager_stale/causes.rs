//! Why an old instance manager is still there.

use crate::check::causes;

/// What runs in it.
const CONTENT: &str = "kubectl -n <namespace> get instancemanagers.longhorn.io <object> -o yaml";
const MANAGER: &str =
    "kubectl -n <namespace> get pods -l app=longhorn-manager --field-selector spec.nodeName=<node> -o wide";
const VOLUMES: &str = "kubectl -n <namespace> get volumes.longhorn.io";
const OBJECTS: &str = "kubectl -n <namespace> get engines.longhorn.io,replicas.longhorn.io -o wide";
const NODE: &str = "kubectl get node <node>";

causes! {
    ORPHAN_HELD = warning "orphan_held"
        "a running instance that no Engine or Replica owns holds it; that never clears on its own"
        fix "Make sure that no volume uses the instances, then end them: by their Orphan objects where Longhorn has made some, else by deleting the \
             instance manager once nothing else runs in it." [
            read CONTENT,
            read OBJECTS,
            read "kubectl -n <namespace> get orphans.longhorn.io -o wide",
            change "kubectl -n <namespace> delete orphans.longhorn.io <key>",
            change "kubectl -n <namespace> delete instancemanagers.longhorn.io <instance_manager>",
        ] proven "no Engine or Replica owns what runs in it; the reader is to make sure that no volume uses it";
    STUCK = warning "stuck" "nothing holds it, and yet the longhorn-manager of its node does not remove it"
        fix "Look at the longhorn-manager on <node> and its log: only it removes the instance manager. Restart it where it runs and does nothing." [
            read MANAGER,
            read CONTENT,
            read NODE,
            change "kubectl -n <namespace> delete pod -l app=longhorn-manager --field-selector spec.nodeName=<node>",
        ] proven "nothing holds the instance manager; a DaemonSet makes the manager's pod again, and I/O does not pass through it";
    DELETION_STUCK = warning "deletion_stuck" "it was deleted minutes ago and is still there"
        fix "See which finalizer is there and who sets it, and whether the admission webhook answers: Longhorn sets no finalizer on instance managers." [
            read "kubectl -n <namespace> get instancemanagers.longhorn.io <object> -o jsonpath='{.metadata.finalizers}'",
            read CONTENT,
            read MANAGER,
            read NODE,
        ];
    ENGINE_UPGRADE_PENDING = info "engine_upgrade_pending"
        "a volume that still runs an older engine image holds it; expected until that is upgraded"
        fix "Upgrade the engine of the attached, healthy volumes first (live, without interruption). The engine still stays in this instance manager \
             after that: detach and attach the volumes once, at a convenient moment. Setting concurrent-automatic-engine-upgrade-per-node-limit \
             upgrades all volumes." [read VOLUMES, read CONTENT];
    REATTACH_PENDING = info "reattach_pending"
        "the engine of a volume stays in it until the volume is detached; expected after a live upgrade"
        fix "Nothing is broken. At a convenient moment scale the workloads down until the volumes are detached, and up again: engines start in the \
             default instance manager." [read VOLUMES, read CONTENT] proven "someone chose the moment; the command does not run where the StatefulSet would delete its claims";
    REPLICA_HELD = info "replica_held"
        "a replica runs in it; expected until its volume is upgraded, rebuilt or attached again"
        fix "Nothing is broken. Replicas leave when the engine of their volume is upgraded, wherever that engine runs, or when the volume is detached \
             and attached again." [read VOLUMES, read CONTENT] proven "someone chose the moment; the command does not run where the StatefulSet would delete its claims";
    NODE_DOWN = info "node_down" "its node does not answer; Longhorn keeps it until the node is back"
        fix "Bring node <node> back. If it is gone for good, remove it from Kubernetes, and from Longhorn once every volume is healthy without it." [
            read NODE, read CONTENT, read MANAGER,
        ] proven "the node is gone for good, and every volume is healthy without it";
    CLEANUP_PENDING = info "cleanup_pending"
        "nothing holds it, or what holds it is starting or stopping; Longhorn should remove it soon"
        fix "Nothing to do; look again in a minute." [read CONTENT];
}
