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
    SHARDS "shards run in it that do not hold it"
        fix "Detach the volumes of these shards before Longhorn removes the instance manager under them. Leave the longhorn-manager of the node alone until \
             they are detached: it is what removes it." [read VOLUMES, read CONTENT];
}

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
        ] proven "no Engine or Replica owns what runs in it; the reader is to make sure that no volume uses it"
        way ORPHANS "Longhorn has made Orphans of them"
            fix "Make sure that no volume uses the instances, then delete their Orphans: Longhorn stops the instances and removes the instance manager. \
                 Setting orphan-resource-auto-deletion with `instance` does it automatically."
        way UNSETTLED "the object of an instance is on its way to another state"
            fix "See what keeps the volume of the instance from settling: its events, and the longhorn-manager of its owner. The object of the instance \
                 has been on its way to another state for long, and Longhorn may still come back to it."
        way BESIDE_OTHERS "there is no Orphan of them, and more runs in it"
            fix "Move what else runs in it first: upgrade the engines and detach the volumes named here. When only the orphans are left, delete the \
                 instance manager: there is no Orphan object for these instances, so nothing else ends them."
        way ALONE "there is no Orphan of them, and nothing else runs in it"
            fix "Make sure that no volume uses the instances, then delete the instance manager: there is no Orphan object for them, so nothing else ends \
                 them.";
    STUCK = warning "stuck" "nothing holds it, and yet the longhorn-manager of its node does not remove it"
        fix "Look at the longhorn-manager on <node> and its log: only it removes the instance manager. Restart it where it runs and does nothing." [
            read MANAGER,
            read CONTENT,
            read NODE,
            change "kubectl -n <namespace> delete pod -l app=longhorn-manager --field-selector spec.nodeName=<node>",
        ] proven "nothing holds the instance manager; a DaemonSet makes the manager's pod again, and I/O does not pass through it"
        way NODELESS "it names no node" fix "Find out where it came from: it names no node, so no longhorn-manager looks after it."
        ways SHARDED;
    DELETION_STUCK = warning "deletion_stuck" "it was deleted minutes ago and is still there"
        fix "See which finalizer is there and who sets it, and whether the admission webhook answers: Longhorn sets no finalizer on instance managers." [
            read "kubectl -n <namespace> get instancemanagers.longhorn.io <object> -o jsonpath='{.metadata.finalizers}'",
            read CONTENT,
            read MANAGER,
            read NODE,
        ]
        way POD_STAYS "its pod does not end"
            fix "See why kubelet or containerd on <node> do not end pod <pod>, and restart them: the instance manager goes with its pod."
            [read "kubectl -n <namespace> describe pod <pod>", read "kubectl describe node <node>"];
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
             and attached again." [read VOLUMES, read CONTENT] proven "someone chose the moment; the command does not run where the StatefulSet would delete its claims"
        way NO_LIVE_UPGRADE "it is of the v2 data engine"
            fix "Nothing is broken. The replicas leave when their volumes are detached and attached again; the v2 data engine has no live upgrade.";
    NODE_DOWN = info "node_down" "its node does not answer; Longhorn keeps it until the node is back"
        fix "Bring node <node> back. If it is gone for good, remove it from Kubernetes, and from Longhorn once every volume is healthy without it." [
            read NODE, read CONTENT, read MANAGER,
        ] proven "the node is gone for good, and every volume is healthy without it";
    CLEANUP_PENDING = info "cleanup_pending"
        "nothing holds it, or what holds it is starting or stopping; Longhorn should remove it soon"
        fix "Nothing to do; look again in a minute." [read CONTENT] ways SHARDED;
}
