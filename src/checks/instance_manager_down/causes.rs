//! Why an instance manager does not run.

use crate::check::causes;

causes! {
    PANIC = critical "panic"
        "its process exited with code 2, as after a Go panic, and no new pod was created" but "warning for the first 3 minutes"
        fix "Keep the log of the pod before Longhorn deletes it, and see why the longhorn-manager of the node makes no new one. A panic in \
             a storm of rebuilds is Longhorn issue 13087, fixed in 1.11.3 and 1.12.0: until the upgrade let few replicas rebuild at \
             once." [
            read "kubectl -n <namespace> logs <object> --tail=200",
            read "kubectl -n <namespace> get pods -l app=longhorn-manager --field-selector spec.nodeName=<node>",
        ];
    OOM_KILLED = critical "oom_killed"
        "it was OOM-killed, and no pod followed" but "warning for the first 3 minutes"
        fix "Free memory on the node or remove a limit on the pod (Longhorn sets none), and see why the longhorn-manager of the node makes \
             no new pod." [
            read "kubectl describe node <node>",
            read "kubectl -n <namespace> get pods -l app=longhorn-manager --field-selector spec.nodeName=<node>",
        ]
        way LIMITED "something limits its memory"
            fix "Raise or remove the memory limit of the pod: a LimitRange or a policy sets it, or Longhorn for the v2 data engine with pinned CPUs. Then \
                 see why the longhorn-manager of the node makes no new pod."
        way LEAKS_MEMORY "v1.11.0 leaks memory"
            fix "Upgrade to 1.11.1 or use the image v1.11.0-hotfix-1: instance managers of v1.11.0 leak memory (Longhorn issue 12573). Until then free \
                 memory on the node, and see why the longhorn-manager of the node makes no new pod.";
    POD_FAILED = critical "pod_failed"
        "its pod has ended and is not recreated" but "warning for the first 3 minutes, info for 2 where nothing ran in it"
        fix "See why the longhorn-manager of the node does not make a new pod: it alone does, and within two minutes." [
            read "kubectl -n <namespace> get pods -l app=longhorn-manager --field-selector spec.nodeName=<node>",
            read "kubectl -n <namespace> describe pod <object>",
        ];
    POD_REJECTED = critical "pod_rejected"
        "its node takes no pod of it: a taint, pressure, or too little of something" but "warning for the first 3 minutes"
        fix "Remove what keeps the pod away: the taint (or tolerate it, setting taint-toleration, with all volumes detached), the pressure \
             on the node, or what takes its CPU. Longhorn makes the next pod on its own." [
            read "kubectl describe node <node>",
            read "kubectl -n <namespace> get events --field-selector involvedObject.name=<object>",
        ];
    POD_TERMINATING = critical "pod_terminating"
        "its pod has been Terminating for more than 3 minutes, and no other can take its place"
        fix "See why kubelet or containerd on the node do not end the pod, and restart them. Only when nothing of it runs on the node any \
             more, delete the pod by force: Longhorn then makes the next one." [
            read "kubectl -n <namespace> describe pod <object>",
            read "kubectl describe node <node>",
        ] proven "nothing of the pod runs on the node any more, as the reader is to see";
    POD_MISSING = critical "pod_missing" "it has no pod and none is created" but "warning for the first 3 minutes, info for 2 where nothing ran in it"
        fix "See why the longhorn-manager of the node does not make a pod: it alone does, and within two minutes." [
            read "kubectl -n <namespace> get pods -l app=longhorn-manager --field-selector spec.nodeName=<node>",
            read "kubectl -n <namespace> get instancemanagers.longhorn.io <object> -o yaml",
        ];
    NODE_CORDONED = info "node_cordoned"
        "its node is cordoned, so Longhorn creates no pod for it; expected in a drain"
        fix "Nothing, while the node is worked on. Uncordon it when the work is done." [
            read "kubectl get node <node>",
            change "kubectl uncordon <node>",
        ];
    NODE_DOWN = warning "node_down" "its node does not answer"
        but "info for the first 5 minutes where no volume is attached there, where a node without replicas was taken out of Kubernetes, of \
             which node_unregistered warns, and for as long as the manager of a node that answers starts"
        fix "Bring node <node> back: power, network, kubelet; or remove it for good once every volume is healthy without it. If it answers, see why \
             the longhorn-manager on it does not run." [
            read "kubectl get nodes -o wide",
            read "kubectl -n <namespace> get pods -l app=longhorn-manager --field-selector spec.nodeName=<node>",
        ];
    LABEL_MISSING = warning "label_missing"
        "its object lacks labels, so Longhorn removes it or, before the fix of issue 9464, cannot sync its node"
        fix "Put the missing labels back at once, as another instance manager has them. Do not restart managers and do not upgrade before: \
             releases from 1.6.3, 1.7.2 and 1.8.0 on remove an instance manager without them." [
            read "kubectl -n <namespace> get instancemanagers.longhorn.io --show-labels",
            read "kubectl -n <namespace> get instancemanagers.longhorn.io <object> -o yaml",
        ];
    STARTING_STUCK = critical "starting_stuck" "it has been starting for more than 5 minutes"
        fix "See why the pod does not start: image, node resources, network plugin." [
            read "kubectl -n <namespace> describe pod <object>",
            read "kubectl -n <namespace> get pods -l app=longhorn-manager --field-selector spec.nodeName=<node>",
        ]
        way READY_UNSEEN "its pod is Ready, and its manager has not written that"
            fix "Its pod is Ready, and its manager has not written that: see in the log of the longhorn-manager on its node whether that reaches the pod's \
                 ports 8500 to 8503 (a NetworkPolicy, a firewall, the pod network), or does nothing at all." [
                read "kubectl -n <namespace> logs <manager> -c longhorn-manager --tail=2000 | grep <object>",
                read "kubectl -n <namespace> get networkpolicies",
                read "kubectl -n <namespace> get pod <object> -o wide",
            ];
}
