//! Why the pod of an instance manager ended.

use crate::check::{causes, ways};

ways! { PROBE:
    UNREACHABLE "its probe did not get through to it"
        fix "Look at the network between the node and its pods: the probe could not connect from the kubelet of the same node, so neither load nor the \
             instance manager is the cause. On several nodes at once it is the CNI plugin, a firewall or the storage network."
        [read ON_NODE, read UNHEALTHY];
    UNREACHABLE_STORAGE "its probe did not get through to it, and there is a storage network"
        fix "Look at the network between the node and its pods: the probe could not connect from the kubelet of the same node, so neither load nor the \
             instance manager is the cause. On several nodes at once it is the CNI plugin, a firewall or the storage network. The setting \
             storage-network is <value>."
        [read ON_NODE, read UNHEALTHY];
}

ways! { MEANT:
    HARMLESS "nothing that is in use ran in it" fix "Nothing to do." [read PODS];
}

const PODS: &str = "kubectl -n <namespace> get pods -l longhorn.io/component=instance-manager";
const ON_NODE: &str = "kubectl -n <namespace> get pods -o wide --field-selector spec.nodeName=<node>";
const UNHEALTHY: &str = "kubectl -n <namespace> get events --field-selector reason=Unhealthy";
const VOLUMES: &str = "kubectl -n <namespace> get volumes.longhorn.io";

causes! {
    LIVENESS_PROBE = warning "liveness_probe" "the kubelet killed it because its liveness probe failed"
        fix "See that the volumes come back, then relieve the node: the instance manager was too busy to answer its own probe. Spread \
             replicas (setting replica-auto-balance), raise guaranteed-instance-manager-cpu, and run a release whose probe bears 66 s \
             (1.9.2, 1.10 and later); before it was 30 s, and 15 s before 1.6.4 and 1.7.3." [
            read "kubectl -n <namespace> get events --field-selector involvedObject.name=<object>",
            read "kubectl describe node <node>",
            read "kubectl -n <namespace> top pod --containers <object>",
        ]
        ways PROBE;
    LIVENESS_LOOP = critical "liveness_loop"
        "the kubelet has killed it at least three times within the hour because its liveness probe failed"
        fix "Take load off the node until the probe is answered: cordon it and move workloads away, and let few replicas rebuild at once \
             (setting concurrent-replica-rebuild-per-node-limit). On several nodes at once look at the network between kubelet and pods \
             instead." [
            read UNHEALTHY,
            read "kubectl describe node <node>",
            read "kubectl -n <namespace> top pod --containers <object>",
        ]
        ways PROBE;
    OOM_KILLED = warning "oom_killed" "it was OOM-killed"
        fix "See that the volumes come back, then find what fills the memory of the node or, where a limit was set on the pod, remove it: \
             Longhorn sets none." [
            read "kubectl describe node <node>",
            read "kubectl -n <namespace> top pod --containers <object>",
        ];
    EVICTED = warning "evicted"
        "it was evicted" but "severity info when a drain evicted it and no volume was affected"
        fix "See that the volumes come back. Then free what the node was short of, or let drains wait for Longhorn's \
             PodDisruptionBudget." [
            read "kubectl describe node <node>",
            read "kubectl -n <namespace> get poddisruptionbudgets <object>",
        ]
        way PREEMPTED "a pod of a higher PriorityClass took its place"
            fix "See that the volumes come back. Then make room on node <node>: a pod with a higher PriorityClass than the instance manager's, as those of \
                 the system have, found no CPU or memory there, and the next one does the same."
            [read "kubectl describe node <node>", read "kubectl get priorityclasses"]
        ways MEANT;
    NODE_LOST = warning "node_lost"
        "its node went down, rebooted or was removed" but "severity info when no engine ended and all volumes have their replicas again"
        fix "See that the volumes come back, then find out why the node was away." [
            read "kubectl get events --field-selector involvedObject.kind=Node",
        ];
    TAINTED = warning "tainted"
        "a NoExecute taint on its node, which is Ready, removed it" but "severity info when no engine ended"
        fix "Remove the taint, or let Longhorn tolerate it (setting taint-toleration, with all volumes detached): the node takes no \
             instance manager before." [
            read "kubectl get node <node> -o jsonpath='{.spec.taints}'",
            read VOLUMES,
        ]
        way TAINT_GONE "the taint is gone"
            fix "See that the volumes come back. The taint is gone: find out who or what put it on node <node>, before it comes again."
            [read "kubectl -n default get events --field-selector involvedObject.kind=Node,involvedObject.name=<node>"]
        ways MEANT;
    SANDBOX_LOST = warning "sandbox_lost"
        "the kubelet stopped it without a deletion and without a failed probe, as for a sandbox that was lost"
        fix "See that the volumes come back, then look in the log of containerd on the node for `shim disconnected` and for what ended \
             the pause process." [
            read "kubectl describe node <node>",
        ];
    PANIC = warning "panic" "its process exited with code 2, as after a Go panic"
        fix "See that the volumes come back, and keep the log of the instance manager for a report. A panic in a storm of rebuilds is \
             Longhorn issue 13087, fixed in 1.11.3 and 1.12.0: until the upgrade let few replicas rebuild at once." [
            read "kubectl -n <namespace> logs <object> --tail=200",
        ];
    SETTINGS_SYNC = info "settings_sync" "Longhorn replaced it while it was idle, to apply settings"
        fix "Nothing to do." [read PODS];
    STALE_CLEANUP = info "stale_cleanup" "Longhorn removed it because it was old or no longer needed"
        fix "Nothing to do." [read PODS];
    DELETED = warning "deleted"
        "its pod was deleted while volumes ran in it" but "severity info when nothing ran in it, by whom is unknown"
        fix "See that the volumes come back, and find out who or what deletes pods in Longhorn's namespace: the audit log of the API \
             server tells." [
            read "kubectl -n <namespace> get events --field-selector involvedObject.name=<object>",
            read "kubectl -n <namespace> get poddisruptionbudgets <object>",
        ]
        ways MEANT;
    UNKNOWN = warning "unknown" "it ended for an unknown reason"
        but "severity info without any trace of harm, and where it was stopped while nothing ran in it"
        fix "See that the volumes come back. Then look in the logs of kubelet, containerd and kernel on the node for failures of the \
             liveness probe, `shim disconnected` and out of memory; an exporter that watches sees which it was." [
            read "kubectl -n <namespace> get events --field-selector involvedObject.name=<object>",
            read "kubectl describe node <node>",
        ]
        ways MEANT;
}
