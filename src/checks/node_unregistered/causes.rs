//! Why a node is not managed by Longhorn.

use crate::check::causes;
use crate::facts::ways::{NOT_STARTED, REFUSED};

causes! {
    NEVER_STARTED = warning "never_started" "the node's manager has never finished its startup"
        fix "Read the log of the manager; if it crash-loops, its own finding gives the reason. On a new node usually open-iscsi is not installed." [
            read "kubectl -n <namespace> logs <pod> -c longhorn-manager --tail=50",
            read "kubectl -n <namespace> logs <pod> -c longhorn-manager --previous --tail=50",
            read "kubectl -n <namespace> describe pod <pod>",
        ];
    NODE_GONE = warning "node_gone" "the node has left Kubernetes but not Longhorn"
        fix "If the node does not come back, wait until every volume is healthy without the node's replicas. Then disable its scheduling and delete \
             the node in Longhorn." [
            read "kubectl -n <namespace> get replicas.longhorn.io -l longhornnode=<node>",
            read "kubectl -n <namespace> get volumes.longhorn.io",
            change "kubectl -n <namespace> patch nodes.longhorn.io <node> --type merge -p '{\"spec\":{\"allowScheduling\":false}}'",
            change "kubectl -n <namespace> delete nodes.longhorn.io <node>",
        ] proven "Kubernetes lists no such node, and no volume needs its replicas; Longhorn rejects it while a replica or engine names it";
    MANAGER_MISSING = warning "manager_missing"
        "no longhorn-manager runs on the node: its pod is missing, does not start or does not end"
        fix "Find out what keeps the pod away: nodeSelector, affinity, taint, quota, admission policy, or a kubelet that cannot end one. Even a node \
             that leaves needs it to evict replicas." [
            read "kubectl -n <namespace> describe pod <pod>",
            read "kubectl -n <namespace> describe daemonset longhorn-manager",
            read "kubectl describe node <node>",
        ]
        way PRESSURE "the kubelet evicts pods"
            fix "Free the resource that node <node> lacks: the DaemonSet recreates the pod as soon as the kubelet accepts it." [read "kubectl describe node <node>"]
        ways NOT_STARTED ways REFUSED;
    UNINSTALLING = info "uninstalling" "Longhorn is being uninstalled: nodes are removed before their managers"
        fix "Check how far the uninstaller is. Its Job gives up after 15 minutes: then remove what it waits for, and run it again." [
            read "kubectl -n <namespace> get jobs,pods -l job-name=longhorn-uninstall",
            read "kubectl -n <namespace> logs job/longhorn-uninstall --tail=20",
        ]
        way BY_HAND "its objects are deleted without its uninstaller"
            fix "Delete DaemonSet longhorn-manager immediately if this is not intended: its managers delete data. If it is intended, run Longhorn's \
                 uninstaller first next time, or objects with a finalizer stay behind." [
                read "kubectl get crds -l app.kubernetes.io/name=longhorn",
                read "kubectl -n <namespace> get volumes.longhorn.io,daemonsets,pods",
            ] proven "running managers delete data, which a deleted DaemonSet cannot; the fix asks whether it is intended";
}
