//! Why the pod of an instance manager ended.

use crate::check::{causes, ways};

ways! { PROBE:
    NO_PROCESS "no process can be started"
        fix "Find out which process or thread limit is reached on <node> (podPidsLimit, pid_max, threads-max), and raise it. Until then, no engine or \
             replica can start there."
        [read "ssh <node> 'cat /proc/sys/kernel/pid_max /proc/sys/kernel/threads-max; ps -eLf | wc -l; ps -eo nlwp,pid,args --sort=-nlwp | head'",
         read "kubectl describe node <node>", read UNHEALTHY];
    UNREACHABLE "its probe could not connect"
        fix "Check the network between the node and its own pods: the kubelet's probe could not connect. If several nodes are affected, \
             check the CNI plugin, firewall and storage network."
        [read ON_NODE, read UNHEALTHY];
    UNREACHABLE_STORAGE "its probe could not connect (the pod uses a storage network)"
        fix "Check the network between the node and its own pods: the kubelet's probe could not connect. If several nodes are affected, check the \
             CNI, firewall and setting storage-network (<value>)."
        [read ON_NODE, read UNHEALTHY];
}

ways! { MEANT:
    HARMLESS "nothing in use ran in the instance manager" fix "Do nothing: nothing in use was affected." [read PODS];
}

const PODS: &str = "kubectl -n <namespace> get pods -l longhorn.io/component=instance-manager";
const ON_NODE: &str = "kubectl -n <namespace> get pods -o wide --field-selector spec.nodeName=<node>";
const UNHEALTHY: &str = "kubectl -n <namespace> get events --field-selector reason=Unhealthy";
const VOLUMES: &str = "kubectl -n <namespace> get volumes.longhorn.io";

causes! {
    LIVENESS_PROBE = warning "liveness_probe" "the kubelet killed the instance manager because its liveness probe failed"
        fix "Check that <node>'s volumes are attached again. Then spread replicas (replica-auto-balance) or raise guaranteed-instance-manager-cpu: the \
             instance manager was overloaded and failed its probe. From 1.9.2 on, probes tolerate 66 s." [
            read "kubectl -n <namespace> get events --field-selector involvedObject.name=<object>",
            read "kubectl describe node <node>",
            read "kubectl -n <namespace> top pod --containers <object>",
        ]
        ways PROBE;
    LIVENESS_LOOP = critical "liveness_loop"
        "the kubelet killed the instance manager at least three times within an hour because its liveness probe failed"
        fix "Cordon the node, move workloads away to reduce its load, and lower setting concurrent-replica-rebuild-per-node-limit. If \
             several nodes are affected at once, check the network between kubelet and pods."
            [read UNHEALTHY, read "kubectl describe node <node>", read "kubectl -n <namespace> top pod --containers <object>"]
        ways PROBE;
    OOM_KILLED = warning "oom_killed" "the instance manager was OOM-killed"
        fix "Find out what is using up <node>'s memory, and limit or move it. If the instance manager has a memory limit, remove it. Until then, do not \
             drain other nodes." [read "kubectl describe node <node>", read "kubectl -n <namespace> top pod --containers <object>"];
    EVICTED = warning "evicted"
        "the instance manager's pod was evicted" but "info if a drain evicted it and no volume was affected"
        fix "Check that <node>'s volumes are attached again. If the node lacked a resource, free it. If a drain evicted the pod, make drains respect \
             Longhorn's PodDisruptionBudget." [read "kubectl describe node <node>", read "kubectl -n <namespace> get poddisruptionbudgets <object>"]
        way PREEMPTED "a pod with a higher PriorityClass preempted it"
            fix "Check that <node>'s volumes are attached again. Then free CPU or memory on <node>. A pod with a higher PriorityClass preempted the \
                 instance manager, and can do so again."
            [read "kubectl describe node <node>", read "kubectl get priorityclasses"]
        ways MEANT;
    NODE_LOST = warning "node_lost"
        "the instance manager's node went down, rebooted or was removed" but "info if its volumes have recovered, or are being rebuilt with no engine lost"
        fix "Check that <node>'s volumes are attached again. Then find out why the node went down." [
            read "kubectl get events --field-selector involvedObject.kind=Node",
        ]
        way REBOOTS "its node keeps rebooting"
            fix "Cordon <node>: it has rebooted <value> times within an hour. Then find out why (power supply, watchdog, kernel panic), and \
                 uncordon it once it is stable.";
    TAINTED = warning "tainted"
        "a NoExecute taint evicted the instance manager, although its node is Ready" but "info if no engine ended"
        fix "Remove the taint, or detach all volumes and add a toleration to setting taint-toleration. Until then, no instance manager can \
             run on the node." [read "kubectl get node <node> -o jsonpath='{.spec.taints}'", read VOLUMES]
        way TAINT_GONE "the taint has been removed since"
            fix "Check that <node>'s volumes are attached again. Then find out who or what tainted the node (the taint has been removed since)."
            [read "kubectl -n default get events --field-selector involvedObject.kind=Node,involvedObject.name=<node>"]
        ways MEANT;
    SANDBOX_LOST = warning "sandbox_lost"
        "the kubelet stopped the instance manager without a deletion or failed probe, probably because the pod's sandbox was lost"
        fix "Check that <node>'s volumes are attached again. Then search the node's containerd log for `shim disconnected` and for what killed the \
             pause process." [read "kubectl describe node <node>"];
    PANIC = warning "panic" "the instance manager's process exited with code 2, probably a Go panic"
        fix "Check that <node>'s volumes are attached again, and save the instance manager's log. After a panic during many rebuilds (Longhorn issue 13087, \
             fixed in 1.11.3 and 1.12.0), lower concurrent-replica-rebuild-per-node-limit." [read "kubectl -n <namespace> logs <object> --tail=200"];
    SETTINGS_SYNC = info "settings_sync" "Longhorn replaced the idle instance manager to apply settings"
        fix "Do nothing: Longhorn replaces idle instance managers to apply settings." [read PODS];
    CLEANUP = info "cleanup" "Longhorn removed the instance manager because it was old or no longer needed"
        fix "Do nothing: Longhorn removes instance managers that it no longer needs." [read PODS];
    DELETED = warning "deleted"
        "the instance manager's pod was deleted while it served volumes" but "info if nothing ran in it"
        fix "Check that <node>'s volumes are attached again. Then find out from the API server's audit log who or what deletes pods in Longhorn's namespace." [
            read "kubectl -n <namespace> get events --field-selector involvedObject.name=<object>",
            read "kubectl -n <namespace> get poddisruptionbudgets <object>",
        ]
        ways MEANT;
    UNKNOWN = warning "unknown" "the instance manager ended for an unknown reason"
        but "info if no harm is visible, or if nothing ran in it"
        fix "Check that <node>'s volumes are attached again. Then search the node's kubelet, containerd and kernel logs for failed liveness \
             probes, `shim disconnected` and `out of memory`." [
            read "kubectl -n <namespace> get events --field-selector involvedObject.name=<object>",
            read "kubectl describe node <node>",
        ]
        way LIMITED "its pod has a memory limit, which Longhorn does not set"
            fix "Exempt Longhorn's namespace from the LimitRange or policy that sets the memory limit: the pod probably exceeded it. Then \
                 recreate the pod once no volume is attached to the node." [
                read "kubectl -n <namespace> get limitranges -o yaml",
                read "kubectl -n <namespace> get pod <object> -o jsonpath='{.spec.containers[0].resources}'",
            ]
        ways MEANT;
}
