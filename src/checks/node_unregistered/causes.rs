//! Why a node is not managed by Longhorn.

use crate::check::causes;
use crate::facts::ways::{NOT_STARTED, REFUSED};

causes! {
    NEVER_STARTED = warning "never_started" "the manager of the node has never finished a start"
        fix "Read the log of the manager; if it crash-loops, its own finding says why. On a fresh node the usual reason is that open-iscsi is \
             not installed." [
            read "kubectl -n <namespace> logs <pod> -c longhorn-manager --tail=50",
            read "kubectl -n <namespace> logs <pod> -c longhorn-manager --previous --tail=50",
            read "kubectl -n <namespace> describe pod <pod>",
        ];
    NODE_GONE = warning "node_gone" "the node has left Kubernetes but not Longhorn"
        fix "Nothing to do if the node comes back under the same name. Otherwise wait until no volume needs its replicas, then delete it in \
             Longhorn, which refuses while the node may be scheduled on and while a replica or engine names it: delete those that stay \
             behind, of volumes that are healthy without them." [
            read "kubectl -n <namespace> get replicas.longhorn.io -l longhornnode=<node>",
            read "kubectl -n <namespace> get volumes.longhorn.io",
            change "kubectl -n <namespace> patch nodes.longhorn.io <node> --type merge -p '{\"spec\":{\"allowScheduling\":false}}'",
            change "kubectl -n <namespace> delete nodes.longhorn.io <node>",
        ] proven "Kubernetes lists no such node, and no volume needs its replicas; Longhorn refuses while a replica or engine names \
             it";
    MANAGER_MISSING = warning "manager_missing"
        "no longhorn-manager runs on the node: its pod is missing, does not start or does not end"
        fix "See what keeps the pod away: the nodeSelector and affinity of the DaemonSet, a taint, a quota, an admission policy, and for a pod that \
             does not end the kubelet and the container runtime. If the node should no longer run Longhorn, bring the manager back first: only \
             the manager of a node evicts its replicas." [
            read "kubectl -n <namespace> describe pod <pod>",
            read "kubectl -n <namespace> describe daemonset longhorn-manager",
            read "kubectl describe node <node>",
        ]
        way PRESSURE "the kubelet evicts pods"
            fix "Relieve node <node> first: the DaemonSet creates the pod again as soon as the kubelet takes it." [read "kubectl describe node <node>"]
        ways NOT_STARTED ways REFUSED;
    UNINSTALLING = info "uninstalling" "Longhorn is being uninstalled: the nodes go before their managers"
        fix "See how far the uninstaller is. Its Job gives up after 15 minutes: then remove what it waits for, and run it again." [
            read "kubectl -n <namespace> get jobs,pods -l job-name=longhorn-uninstall",
            read "kubectl -n <namespace> logs job/longhorn-uninstall --tail=20",
        ]
        way BY_HAND "its objects are deleted without its uninstaller"
            fix "Nothing to do if this is meant, but Longhorn's uninstaller comes first the next time: without it, objects with a finalizer stay behind. If it is \
                 not meant, delete DaemonSet longhorn-manager at once, so that no manager deletes more data." [
                read "kubectl get crds -l app.kubernetes.io/name=longhorn",
                read "kubectl -n <namespace> get volumes.longhorn.io,daemonsets,pods",
            ] proven "managers that run delete data, which a DaemonSet that is gone cannot; whether it is meant, the reader has to know";
}
