//! Why an instance manager does not run.

use crate::check::{BY_CORDON, causes};
use crate::facts::ways::{KUBELET_SAYS, NODE_SAYS, NOT_STARTED, REFUSED};

causes! {
    PANIC = critical "panic"
        "the instance manager's process exited with code 2, probably a Go panic, and no new pod was created" but "warning for the first 3 minutes"
        fix "Save the instance manager's log. Find out why the node's longhorn-manager has not replaced it. After a panic during many rebuilds (issue 13087, \
             fixed in 1.11.3 and 1.12.0), lower concurrent-replica-rebuild-per-node-limit." [
            read "kubectl -n <namespace> logs <object> --tail=200",
            read "kubectl -n <namespace> get pods -l app=longhorn-manager --field-selector spec.nodeName=<node>",
        ];
    OOM_KILLED = critical "oom_killed"
        "the instance manager was OOM-killed, and no new pod was created" but "warning for the first 3 minutes"
        fix "Free memory on the node, or remove the pod's memory limit (Longhorn sets none). Then find out why the node's longhorn-manager has not \
             created a new pod." [
            read "kubectl describe node <node>",
            read "kubectl -n <namespace> get pods -l app=longhorn-manager --field-selector spec.nodeName=<node>",
        ]
        way LIMITED "its memory limit was reached"
            fix "Raise or remove the pod's memory limit (set by a LimitRange, a policy or v2's CPU pinning). Until then, do not \
                 restart other instance managers: new pods get that limit."
        way LEAKS_MEMORY "v1.11.0 leaks memory"
            fix "Upgrade to v1.11.1, or use longhorn-instance-manager:v1.11.0-hotfix-1: v1.11.0 leaks memory (issue 12573). Until then, free memory on the \
                 node. Read its longhorn-manager's log to find out why no pod was created.";
    POD_FAILED = critical "pod_failed"
        "the instance manager's pod has terminated, and no new one is being created"
            but "less severe in the first 3 min"
        fix "Read the log of the node's longhorn-manager: it has not created a new instance manager pod. Only that manager can create the pod, usually within \
             two minutes." [
            read "kubectl -n <namespace> get pods -l app=longhorn-manager --field-selector spec.nodeName=<node>",
            read "kubectl -n <namespace> describe pod <object>",
        ];
    POD_REJECTED = critical "pod_rejected"
        "the node rejects the instance manager's pods because of a taint, pressure, or too few resources" but "warning for the first 3 minutes"
        fix "Remove what keeps the pod off the node: a taint, pressure or CPU shortage. To tolerate the taint instead, detach all volumes and \
             set taint-toleration. Longhorn then creates the pod." [
            read "kubectl describe node <node>",
            read "kubectl -n <namespace> get events --field-selector involvedObject.name=<object>",
        ]
        way NO_CPU "the node lacks the requested CPU"
            fix "Move other pods off <node>, or lower instanceManagerCPURequest of nodes.longhorn.io <node>: Longhorn then creates the \
                 pod. During upgrades, old and new instance managers need CPU at the same time." [
                read "kubectl describe node <node>",
                read "kubectl -n <namespace> get settings.longhorn.io guaranteed-instance-manager-cpu",
            ]
        way NO_HUGE_PAGES "the node lacks huge pages"
            fix "Provide 2 MiB huge pages (vm.nr_hugepages) on <node> for the v2 data engine, and restart the node's kubelet. Longhorn then creates the pod." [
                read "kubectl get node <node> -o jsonpath='{.status.allocatable}'",
            ]
        way NO_SLOT "its node's pod limit is reached"
            fix "Move other pods off <node>, or raise its kubelet's maxPods. Longhorn then creates the pod within two minutes and uses the node's \
                 replicas again. Do not delete any replica." [
                read "kubectl get pods -A --field-selector spec.nodeName=<node>",
                read "kubectl describe node <node>",
            ]
        way PRESSURE "the node is under pressure"
            fix "Free up what <node> is short of: disk space, memory, or process IDs. Longhorn then creates the pod."
            [read "kubectl describe node <node>"];
    POD_TERMINATING = critical "pod_terminating"
        "the instance manager's pod has been Terminating for more than 3 minutes, so Longhorn cannot create another"
        fix "Read the kubelet's and containerd's logs on the node, then restart both services. Force-delete the instance manager's pod only once its processes \
             have ended: Longhorn then creates a new one."
            [read "kubectl -n <namespace> describe pod <object>", read "kubectl describe node <node>"]
            proven "the fix asks to check first that no process of the pod runs on the node";
    POD_MISSING = critical "pod_missing" "the instance manager has no pod, and none is being created"
            but "less severe in the first 3 min"
        fix "Read the log of the node's longhorn-manager: it has not created the instance manager's pod. Only that manager can create the pod, usually within \
             two minutes." [
            read "kubectl -n <namespace> get pods -l app=longhorn-manager --field-selector spec.nodeName=<node>",
            read "kubectl -n <namespace> get instancemanagers.longhorn.io <object> -o yaml",
        ]
        way NO_PRIORITY_CLASS "its PriorityClass does not exist"
            fix "Create the missing PriorityClass (setting priority-class) again with its old value. Longhorn then creates the pod. Until then, do not \
                 restart Longhorn's pods: they cannot start without it."
            [read "kubectl get priorityclasses", read "kubectl -n <namespace> get settings.longhorn.io priority-class"]
        way WEBHOOK_UNANSWERED "a webhook is unresponsive"
            fix "Start the pods that serve the unanswered webhook. If the webhook blocks these pods too, delete its configuration: its operator recreates it. \
                 Volumes then recover." [
                read "kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations",
                read "kubectl get events -A --field-selector reason=FailedCreate --sort-by=.lastTimestamp",
            ] proven "a webhook configuration holds no data, and its operator recreates it"
        way CREATION_REJECTED "the API server rejects new pods"
            fix "Read the rejection message. Fix its cause: a webhook that is not answering, the namespace's Pod Security level or a quota. Longhorn \
                 then creates the pod." [
                read "kubectl -n <namespace> get events --field-selector reason=FailedCreate --sort-by=.lastTimestamp",
                read "kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations",
            ]
        ways REFUSED;
    NODE_CORDONED = info "node_cordoned"
        "the node is cordoned, so Longhorn creates no instance manager pod there, as expected during a drain"
        but "warning if a volume must attach there", changed_by: BY_CORDON
        fix "Uncordon <node> if its maintenance is over: Longhorn then starts the pod. Until then, do not drain or restart another node."
            [read "kubectl get node <node>", change "kubectl uncordon <node>"];
    NODE_DOWN = warning "node_down" "the instance manager's node is down"
        but "info in the first 5 min if no volume is attached, while its manager starts, or if the removed node holds no replica"
        fix "Bring node <node> back. If it is lost, power it off, then force-delete its pods that use volumes. Delete the node only once every volume is \
             healthy without it." [
            read "kubectl get nodes -o wide",
            read "kubectl -n <namespace> get pods -l app=longhorn-manager --field-selector spec.nodeName=<node>",
        ]
        way NODE_GONE "the node no longer exists in Kubernetes"
            fix "Check that every volume with a replica on node <node> is healthy without it. Then delete the node's \
                 nodes.longhorn.io object: Longhorn removes the instance manager with it." [
                read "kubectl -n <namespace> get replicas.longhorn.io -l longhornnode=<node>",
                read "kubectl -n <namespace> get volumes.longhorn.io",
                read "kubectl -n <namespace> get nodes.longhorn.io <node>",
            ] proven "the node is missing from Kubernetes, and the fix asks for every volume to be healthy without its replicas"
        ways NODE_SAYS;
    LABEL_MISSING = warning "label_missing"
        "the instance manager lacks labels, so Longhorn removes it or cannot update its node"
        fix "Copy the missing labels from the instance manager's pod to the InstanceManager object. Until then, do not restart managers or upgrade: \
             1.6.3, 1.7.2, 1.8.0 and later remove the instance manager." [
            read "kubectl -n <namespace> get instancemanagers.longhorn.io --show-labels",
            read "kubectl -n <namespace> get instancemanagers.longhorn.io <object> -o yaml",
        ];
    STARTING_STUCK = critical "starting_stuck" "the instance manager has been starting for over 5 minutes (1 minute if an image cannot be pulled)"
        fix "Read the pod's Events to find out why it is not starting. Check the image, the node's resources and the network plugin." [
            read "kubectl -n <namespace> describe pod <object>",
            read "kubectl -n <namespace> get pods -l app=longhorn-manager --field-selector spec.nodeName=<node>",
        ]
        way READY_UNSEEN "its pod is Ready, but longhorn-manager has not recorded that"
            fix "Read the log of the node's longhorn-manager, which has not recorded the pod as Ready. Check that the manager can reach \
                 the pod's ports 8500 to 8503 (NetworkPolicy, firewall, CNI)." [
                read "kubectl -n <namespace> logs <manager> -c longhorn-manager --tail=2000 | grep <object>",
                read "kubectl -n <namespace> get networkpolicies",
                read "kubectl -n <namespace> get pod <object> -o wide",
            ]
        ways KUBELET_SAYS ways NOT_STARTED;
}
