//! Why a node is not managed by Longhorn.

use crate::check::causes;
use crate::facts::ways::{KUBELET_SAYS, NOT_STARTED, REFUSED};

causes! {
    NEVER_STARTED = warning "never_started" "the node's manager has never finished its startup, so Longhorn does not know the node"
        fix "Read the log of <node>'s longhorn-manager: on a new node, open-iscsi is usually missing. If the manager crash-loops, the \
             crash-loop finding gives the cause." [
            read "kubectl -n <namespace> logs <pod> -c longhorn-manager --tail=50",
            read "kubectl -n <namespace> logs <pod> -c longhorn-manager --previous --tail=50",
            read "kubectl -n <namespace> describe pod <pod>",
        ]
        ways KUBELET_SAYS ways NOT_STARTED;
    NODE_GONE = warning "node_gone" "the node was removed from Kubernetes but is still registered in Longhorn"
        but "info if nothing is left on it and every volume is healthy"
        fix "Bring node <node> back. If it is lost, wait until every volume is healthy without its replicas. Then disable scheduling on the node and \
             delete it in Longhorn." [
            read "kubectl -n <namespace> get replicas.longhorn.io -l longhornnode=<node>",
            read "kubectl -n <namespace> get volumes.longhorn.io",
            change "kubectl -n <namespace> patch nodes.longhorn.io <node> --type merge -p '{\"spec\":{\"allowScheduling\":false}}'",
            change "kubectl -n <namespace> delete nodes.longhorn.io <node>",
        ] proven "Kubernetes lists no such node, and no volume needs its replicas; Longhorn rejects the deletion while a replica or engine \
                  names the node"
        way RENAMED "its machine now has another node name"
            fix "Give <value> its old node name <node> (hostname, or k3s node-name): Longhorn then finds its replicas. Until then, do not delete \
                 node <node>, replicas or orphans."
            [read "kubectl get nodes -o wide", read "kubectl -n <namespace> get nodes.longhorn.io -o yaml | grep -E '^    name:|diskUUID'"]
        way ONLY_COPIES "a volume has no usable copy on another node"
            fix "Bring node <node> back, or add its disks to another node: only they have the data of <reason>. If the disks are lost, restore the \
                 volumes from a backup."
            [read "kubectl -n <namespace> get replicas.longhorn.io -l longhornnode=<node>", read "kubectl -n <namespace> get backups.longhorn.io"]
        way LEFT_EMPTY "nothing is left on the node"
            fix "Delete node <node> in Longhorn if it will not come back: no replica, engine or orphan is on it." [
                change "kubectl -n <namespace> patch nodes.longhorn.io <node> --type merge -p '{\"spec\":{\"allowScheduling\":false}}'",
                change "kubectl -n <namespace> delete nodes.longhorn.io <node>",
            ] proven "Kubernetes lists no such node, no replica, engine or orphan names it, and every volume is healthy; Longhorn rejects the \
                deletion otherwise";
    MANAGER_MISSING = warning "manager_missing"
        "no longhorn-manager is running on the node: its pod is missing, cannot start or cannot terminate"
        fix "Find out what blocks the pod: nodeSelector, affinity, taint, quota, admission policy, or a pod stuck Terminating. Even a node \
             that you remove needs a manager to evict replicas." [
            read "kubectl -n <namespace> describe pod <pod>",
            read "kubectl -n <namespace> describe daemonset longhorn-manager",
            read "kubectl describe node <node>",
        ]
        way PRESSURE "the kubelet is evicting pods"
            fix "Free CPU, memory or pod slots on <node> (the kubelet's message says which). The DaemonSet then recreates the pod."
                [read "kubectl describe node <node>"]
        ways KUBELET_SAYS ways NOT_STARTED ways REFUSED;
    UNINITIALIZED = warning "uninitialized" "a new node has been waiting ten minutes for its cloud controller, so no Longhorn pod starts there"
        fix "Read the cloud controller manager's log: it shows why <node> is not initialized. Until it is, do not remove other nodes. Do \
             not remove the taint: the controller removes it." [
            read "kubectl -n kube-system get pods -o wide | grep -i cloud",
            read "kubectl describe node <node>",
            read "kubectl get nodes --sort-by=.metadata.creationTimestamp",
        ];
    UNINSTALLING = info "uninstalling" "Longhorn is being uninstalled: its node objects are already deleted, but managers are still running"
        fix "Read the uninstaller's log. If its Job gave up (after 15 min), remove the object that it was waiting for. Then run the uninstaller again." [
            read "kubectl -n <namespace> get jobs,pods -l job-name=longhorn-uninstall",
            read "kubectl -n <namespace> logs job/longhorn-uninstall --tail=20",
        ]
        way BY_HAND "Longhorn's objects are being deleted without its uninstaller"
            fix "If you want to keep Longhorn, delete DaemonSet longhorn-manager now: running managers delete data. \
                 If not, next time run Longhorn's uninstaller first: otherwise objects with finalizers stay behind." [
                read "kubectl get crds -l app.kubernetes.io/name=longhorn",
                read "kubectl -n <namespace> get volumes.longhorn.io,daemonsets,pods",
            ] proven "running managers delete data, and a deleted DaemonSet stops them; the fix asks whether Longhorn is to be kept";
}
