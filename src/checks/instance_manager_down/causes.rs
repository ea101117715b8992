//! Why an instance manager does not run.

use crate::check::causes;
use crate::facts::ways::NOT_STARTED;

causes! {
    PANIC = critical "panic"
        "its process exited with code 2, probably a Go panic, and no new pod was created" but "warning for the first 3 minutes"
        fix "Save the pod's log, then find out why the node's longhorn-manager creates no pod. After a panic during many rebuilds (issue 13087, fixed \
             in 1.11.3 and 1.12.0), limit parallel rebuilds." [
            read "kubectl -n <namespace> logs <object> --tail=200",
            read "kubectl -n <namespace> get pods -l app=longhorn-manager --field-selector spec.nodeName=<node>",
        ];
    OOM_KILLED = critical "oom_killed"
        "it was OOM-killed, and no new pod was created" but "warning for the first 3 minutes"
        fix "Free memory on the node, or remove the pod's memory limit (Longhorn sets none). Then find out why the node's longhorn-manager creates \
             no new pod." [
            read "kubectl describe node <node>",
            read "kubectl -n <namespace> get pods -l app=longhorn-manager --field-selector spec.nodeName=<node>",
        ]
        way LIMITED "something limits its memory"
            fix "Raise or remove the pod's memory limit (LimitRange, policy, or Longhorn for the v2 data engine with pinned CPUs). Then find out why \
                 the node's longhorn-manager creates no pod."
        way LEAKS_MEMORY "v1.11.0 leaks memory"
            fix "Upgrade to 1.11.1 or use image v1.11.0-hotfix-1: instance managers of v1.11.0 leak memory (Longhorn issue 12573). Until then, free \
                 memory on the node and read its longhorn-manager's log.";
    POD_FAILED = critical "pod_failed"
        "its pod has ended and is not recreated" but "warning for the first 3 minutes, info for 2 if nothing ran in it"
        fix "Find out why the node's longhorn-manager does not create a new pod: only that manager does, usually within two minutes." [
            read "kubectl -n <namespace> get pods -l app=longhorn-manager --field-selector spec.nodeName=<node>",
            read "kubectl -n <namespace> describe pod <object>",
        ];
    POD_REJECTED = critical "pod_rejected"
        "its node rejects its pods: a taint, pressure, or too little of a resource" but "warning for the first 3 minutes"
        fix "Remove what keeps the pod away: the taint (or tolerate it by setting taint-toleration, with all volumes detached), pressure, or what uses \
             the CPU. Longhorn then creates the pod." [
            read "kubectl describe node <node>",
            read "kubectl -n <namespace> get events --field-selector involvedObject.name=<object>",
        ];
    POD_TERMINATING = critical "pod_terminating"
        "its pod has been Terminating for more than 3 minutes, so no other can take its place"
        fix "Read the kubelet's and containerd's logs on the node, then restart them. Force-delete the pod only once none of its processes runs there: \
             Longhorn then creates the next." [read "kubectl -n <namespace> describe pod <object>", read "kubectl describe node <node>"] proven "the fix asks to check first that no process of the pod runs on the node";
    POD_MISSING = critical "pod_missing" "it has no pod and none is created" but "warning for the first 3 minutes, info for 2 where nothing ran in it"
        fix "Find out why the node's longhorn-manager does not create a pod: only that manager does, usually within two minutes." [
            read "kubectl -n <namespace> get pods -l app=longhorn-manager --field-selector spec.nodeName=<node>",
            read "kubectl -n <namespace> get instancemanagers.longhorn.io <object> -o yaml",
        ]
        way CREATION_REJECTED "the API server rejects new pods"
            fix "Remove what rejects new pods: the Event names it (a webhook that does not answer, the namespace's Pod Security, a quota). Longhorn \
                 then creates the pod." [
                read "kubectl -n <namespace> get events --field-selector reason=FailedCreate --sort-by=.lastTimestamp",
                read "kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations",
            ];
    NODE_CORDONED = info "node_cordoned"
        "its node is cordoned, so Longhorn creates no pod for it; expected during a drain"
        fix "Wait while the node is being worked on. Uncordon it when the work is done." [
            read "kubectl get node <node>",
            change "kubectl uncordon <node>",
        ];
    NODE_DOWN = warning "node_down" "its node does not answer"
        but "info for the first 5 minutes if no volume is attached there, info if a node without replicas was removed from Kubernetes \
             (node_unregistered warns), and info while the manager of a reachable node starts"
        fix "Bring node <node> back: power, network, kubelet. If it is up, find out why its longhorn-manager does not run. Remove it permanently \
             only once every volume is healthy without it." [
            read "kubectl get nodes -o wide",
            read "kubectl -n <namespace> get pods -l app=longhorn-manager --field-selector spec.nodeName=<node>",
        ]
        way NODE_GONE "the node no longer exists in Kubernetes"
            fix "Check that every volume with a replica on node <node> is healthy without it. Longhorn drops the instance manager once its own node \
                 object is deleted." [
                read "kubectl -n <namespace> get replicas.longhorn.io -l longhornnode=<node>",
                read "kubectl -n <namespace> get volumes.longhorn.io",
                read "kubectl -n <namespace> get nodes.longhorn.io <node>",
            ];
    LABEL_MISSING = warning "label_missing"
        "its object lacks labels, so Longhorn removes it or, before the fix of issue 9464, cannot sync its node"
        fix "Put the missing labels back immediately, as another instance manager has them. Do not restart managers or upgrade before: managers of \
             1.6.3, 1.7.2, 1.8.0 and later remove it." [
            read "kubectl -n <namespace> get instancemanagers.longhorn.io --show-labels",
            read "kubectl -n <namespace> get instancemanagers.longhorn.io <object> -o yaml",
        ];
    STARTING_STUCK = critical "starting_stuck" "it has been starting for more than 5 minutes"
        fix "Find out why the pod does not start: image, node resources, network plugin." [
            read "kubectl -n <namespace> describe pod <object>",
            read "kubectl -n <namespace> get pods -l app=longhorn-manager --field-selector spec.nodeName=<node>",
        ]
        way READY_UNSEEN "its pod is Ready, but its manager has not recorded that"
            fix "Read the log of the node's longhorn-manager: it has not recorded the pod as Ready. Check that it reaches the pod's ports 8500 to 8503 \
                 (NetworkPolicy, firewall, pod network)." [
                read "kubectl -n <namespace> logs <manager> -c longhorn-manager --tail=2000 | grep <object>",
                read "kubectl -n <namespace> get networkpolicies",
                read "kubectl -n <namespace> get pod <object> -o wide",
            ]
        ways NOT_STARTED;
}
