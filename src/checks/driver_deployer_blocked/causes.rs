//! Why the driver deployer does not finish.

use crate::check::Cause;

/// Every cause, in the order of the reference.
pub const ALL: &[&Cause] = &[
    &MANAGERS_DOWN,
    &MANAGERS_HALF_STARTED,
    &DNS_SUSPECTED,
    &MOUNT_PROPAGATION,
    &NODE_NOT_SYNCED,
    &API_TIMEOUT,
    &KUBELET_ROOT_DIR,
    &KUBERNETES_VERSION,
    &UNKNOWN,
];

pub const MANAGERS_DOWN: Cause = Cause::warning("managers_down", "no longhorn-manager is ready to answer");
pub const MANAGERS_HALF_STARTED: Cause = Cause::warning(
    "managers_half_started",
    "managers are Ready, but none has finished its start: port 9500 is not open yet",
);
pub const DNS_SUSPECTED: Cause = Cause::warning(
    "dns_suspected",
    "managers are ready, but the deployer does not reach their Service: DNS or network",
);
pub const MOUNT_PROPAGATION: Cause =
    Cause::warning("mount_propagation", "mounts do not propagate on a node, so CSI cannot be deployed");
pub const NODE_NOT_SYNCED: Cause = Cause::warning(
    "node_not_synced",
    "a registered node has no condition MountPropagation: its manager does not sync it, mounts are not the trouble",
);
pub const API_TIMEOUT: Cause = Cause::warning(
    "api_timeout",
    "a request of the deployer to longhorn-backend or to the API server failed or timed out",
);
pub const KUBELET_ROOT_DIR: Cause =
    Cause::warning("kubelet_root_dir", "the root directory of the kubelet cannot be detected");
pub const KUBERNETES_VERSION: Cause =
    Cause::warning("kubernetes_version", "Kubernetes is older than the deployer accepts");
pub const UNKNOWN: Cause =
    Cause::warning("unknown", "the deployer crash-loops for a reason that neither its log nor the API shows");
