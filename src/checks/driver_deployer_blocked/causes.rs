//! Why the driver deployer does not finish, and why the UI is down.

use crate::check::causes;
use crate::facts::ways::{KUBELET_SAYS, NO_SERVICE, NOT_STARTED, REFUSED};

causes! {
    MANAGERS_DOWN = warning "managers_down" "the driver deployer is waiting for longhorn-backend because no longhorn-manager is Ready"
        fix "Read the longhorn-managers' Events and logs, and correct what keeps them from being Ready. The driver deployer continues once one manager is \
             Ready."
            [read "kubectl -n <namespace> get pods -l app=longhorn-manager -o wide",
             read "kubectl -n <namespace> get endpointslices -l kubernetes.io/service-name=longhorn-backend"]
        ways NO_SERVICE ways REFUSED;
    MANAGERS_HALF_STARTED = warning "managers_half_started"
        "managers are Ready, but none has finished its startup (port 9500 is not open yet)"
        fix "Read in the log of any Ready manager what its startup is waiting for, and fix that. DNS and network are not the cause."
            [read "kubectl -n <namespace> logs -l app=longhorn-manager -c longhorn-manager --tail=50",
             read "kubectl -n <namespace> get nodes.longhorn.io"];
    DNS_SUSPECTED = warning "dns_suspected"
        "managers are Ready, but the driver deployer cannot reach their Service (probably a DNS or network fault)"
        fix "Test http://longhorn-backend:9500 from the driver deployer's pod. If the name does not resolve, fix cluster DNS. Otherwise fix the pod network \
             (firewalld, nm-cloud-setup, VXLAN checksum offload)." [
            read "kubectl -n <namespace> exec <object> -c wait-longhorn-manager -- curl -m 2 -sv http://longhorn-backend:9500/v1 -o /dev/null",
            read "kubectl -n kube-system get pods -l k8s-app=kube-dns -o wide",
            read "kubectl -n <namespace> logs <object> -c wait-longhorn-manager --tail=20",
        ];
    MOUNT_PROPAGATION = warning "mount_propagation"
        "a node lacks mount propagation, so the CSI driver cannot be deployed"
        fix "Make the node's mounts propagate (systemd: MountFlags=shared for the container runtime, or mount --make-rshared /), then restart the \
             node's manager." [
            read "kubectl -n <namespace> get nodes.longhorn.io -o yaml | grep -B6 MountPropagation",
            read "kubectl -n <namespace> logs <object> -c longhorn-driver-deployer --tail=20 --previous",
        ];
    NODE_NOT_SYNCED = warning "node_not_synced"
        "a node lacks condition MountPropagation only because its manager is not syncing the node"
        fix "Read the log of the longhorn-manager on <owner> for `fail to sync node`, and fix that error. Only a sync sets condition \
             MountPropagation. Mounts are not the cause." [
            read "kubectl -n <namespace> logs <manager> -c longhorn-manager --tail=2000 | grep -i 'fail to sync node'",
            read "kubectl -n <namespace> get nodes.longhorn.io -o \
                custom-columns='NAME:.metadata.name,PROPAGATION:.status.conditions[?(@.type==\"MountPropagation\")].status'",
            read "kubectl -n <namespace> get instancemanagers.longhorn.io -o wide",
        ];
    API_TIMEOUT = warning "api_timeout"
        "a request from the driver deployer to longhorn-backend or the API server failed or timed out"
        fix "Find out from the deployer's log which connection fails: to the managers (port 9500) or the API server. Check this node's kube-proxy, \
             firewall and CNI. Mounts are not the cause." [
            read "kubectl -n <namespace> get endpointslices -l kubernetes.io/service-name=longhorn-backend -o wide",
            read "kubectl -n <namespace> logs <object> -c longhorn-driver-deployer --tail=20 --previous",
        ];
    KUBELET_ROOT_DIR = warning "kubelet_root_dir" "the driver deployer cannot detect the kubelet's root directory"
        fix "Set --kubelet-root-dir in Deployment longhorn-driver-deployer (or csi.kubeletRootDir in the chart) to /var/snap/microk8s/common/var/lib/kubelet \
             on microk8s, /var/lib/k0s/kubelet on k0s, otherwise /var/lib/kubelet. Then delete any leftover discover-proc-kubelet-cmdline pod." [
            read "kubectl -n <namespace> get pods -o wide | grep discover-proc",
            change "kubectl -n <namespace> delete pod discover-proc-kubelet-cmdline discover-proc-k3s-cmdline --ignore-not-found",
        ] proven "a detection pod holds nothing, and the deployer recreates it";
    KUBERNETES_VERSION = warning "kubernetes_version" "Kubernetes is older than the driver deployer accepts"
        fix "Upgrade Kubernetes, or install a Longhorn release that supports this Kubernetes release."
            [read "kubectl version", read "kubectl -n <namespace> logs <object> -c longhorn-driver-deployer --tail=20 --previous"];
    POD_NOT_STARTED = warning "pod_not_started" "the driver deployer's pod cannot start"
        fix "<known_error>Read the pod's Events and fix the error that they report. Until then, the running CSI driver works, but is not updated."
            [read "kubectl -n <namespace> describe pod <object>"]
        ways KUBELET_SAYS ways NOT_STARTED;
    UI_DOWN = info "ui_down" "Longhorn's UI keeps crashing or cannot start (volumes are not affected)"
        fix "<known_error>Read the end of the UI pod's previous log, and fix the error there. Until then, use kubectl." [
            read "kubectl -n <namespace> logs <pod> --previous --tail=20", read "kubectl -n <namespace> describe pod <pod>",
        ]
        way UI_WITHOUT_BACKEND "the UI cannot resolve longhorn-backend"
            fix "Check that Service longhorn-backend exists and that cluster DNS answers on node <node>. The UI then starts within five minutes." [
                read "kubectl -n <namespace> get services",
                read "kubectl -n kube-system get pods -l k8s-app=kube-dns -o wide",
                read "kubectl -n <namespace> logs <pod> --previous --tail=20",
            ]
        way UI_WITHOUT_IPV6 "its node has no IPv6"
            fix "Upgrade to v1.10.1 or later: the UI of v1.10.0 cannot start on a node without IPv6. Until then, use kubectl, or enable IPv6 in \
                 the node's kernel."
        ways KUBELET_SAYS ways NOT_STARTED;
    UNKNOWN = warning "unknown"
        "the driver deployer crash-loops, and its log and the API do not show why"
        fix "Read the end of the driver deployer's previous log, and fix the error there."
            [read "kubectl -n <namespace> logs <object> -c longhorn-driver-deployer --tail=20 --previous"]
        way UNKNOWN_ERROR "its log ends with an unknown error"
            fix "<known_error>Correct the setting, object or address that the error names. If it names none, search Longhorn's GitHub \
                 issues for the error text.";
}
