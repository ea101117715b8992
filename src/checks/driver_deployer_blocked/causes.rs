//! Why the driver deployer does not finish.

use crate::check::causes;

causes! {
    MANAGERS_DOWN = warning "managers_down" "no longhorn-manager is ready to answer";
    MANAGERS_HALF_STARTED = warning "managers_half_started"
        "managers are Ready, but none has finished its start: port 9500 is not open yet";
    DNS_SUSPECTED = warning "dns_suspected"
        "managers are ready, but the deployer does not reach their Service: DNS or network";
    MOUNT_PROPAGATION = warning "mount_propagation"
        "mounts do not propagate on a node, so CSI cannot be deployed";
    NODE_NOT_SYNCED = warning "node_not_synced"
        "a registered node has no condition MountPropagation: its manager does not sync it, mounts are not the trouble";
    API_TIMEOUT = warning "api_timeout"
        "a request of the deployer to longhorn-backend or to the API server failed or timed out";
    KUBELET_ROOT_DIR = warning "kubelet_root_dir" "the root directory of the kubelet cannot be detected";
    KUBERNETES_VERSION = warning "kubernetes_version" "Kubernetes is older than the deployer accepts";
    UNKNOWN = warning "unknown"
        "the deployer crash-loops for a reason that neither its log nor the API shows";
}
