//! Why an instance manager is likely to be killed or replaced, or not reached by others.

use crate::check::causes;

causes! {
    PROBE_WINDOW_SHORT = info "probe_window_short"
        "the instance manager's liveness probe gives up in under 30 seconds, sooner than in the stock release"
        fix "Upgrade to 1.9.2 or later: its probe tolerates 66 s (instance-manager-pod-liveness-probe-timeout). 1.6.4, 1.7.3 and 1.8.0 \
             tolerate 30 s. Until then, spread the volumes and keep CPU free." [
            read "kubectl -n <namespace> get pods -l longhorn.io/component=instance-manager -o \
                  custom-columns=NAME:.metadata.name,PERIOD:.spec.containers[0].livenessProbe.periodSeconds,THRESHOLD:.spec.containers[0].livenessProbe.failureThreshold",
        ];
    STORAGE_NETWORK_MISSING = info "storage_network_missing"
        "the instance manager's pod has no storage-network address, so its engines and replicas use the pod network"
        but "warning if a volume with a replica on the node is degraded"
        fix "Check that Multus on <node> provides the storage network. Delete pod <object> once it runs no engine and no last healthy replica. \
             Longhorn recreates it with a storage-network address." [
            read "kubectl -n <namespace> get pod <object> -o yaml | grep -A20 k8s.v1.cni.cncf.io",
            read "kubectl -n <namespace> get settings.longhorn.io storage-network",
            read "kubectl get pods -A -o wide --field-selector spec.nodeName=<node>",
        ]
        proven "the pod lacks its address, holds no engine and no only healthy replica, and Longhorn recreates it";
    CPU_REQUEST_LOW = info "cpu_request_low"
        "the instance manager's pod requests less CPU than the settings specify, or the settings specify none"
        fix "Set guaranteed-instance-manager-cpu above 0 (default 12 % of a node's CPU). Longhorn applies it only to idle instance \
             managers, so detach each node's volumes in a maintenance window."
            [read "kubectl -n <namespace> get settings.longhorn.io guaranteed-instance-manager-cpu"];
    PRIORITY_CLASS_MISMATCH = warning "priority_class_mismatch"
        "the instance manager pods' PriorityClass never matches setting priority-class, so Longhorn keeps replacing idle instance managers"
        fix "Detach all volumes, then set priority-class to the PriorityClass that the pods get (by globalDefault or \
             an admission policy). Until then, Longhorn recreates idle pods every hour." [
            read "kubectl -n <namespace> get settings.longhorn.io priority-class",
            read "kubectl get priorityclasses",
            change "kubectl -n <namespace> patch settings.longhorn.io priority-class --type merge -p '{\"value\":\"<value>\"}'",
        ];
}
