//! Why the driver deployer does not finish.

use crate::check::Cause;

/// Every cause, in the order of the reference.
pub const ALL: &[&Cause] =
    &[&MANAGERS_DOWN, &DNS_SUSPECTED, &MOUNT_PROPAGATION, &KUBERNETES_VERSION, &UNKNOWN];

pub const MANAGERS_DOWN: Cause = Cause::warning("managers_down", "no longhorn-manager is ready to answer");
pub const DNS_SUSPECTED: Cause = Cause::warning(
    "dns_suspected",
    "managers are ready, but the deployer does not reach their Service: DNS or network",
);
pub const MOUNT_PROPAGATION: Cause =
    Cause::warning("mount_propagation", "mounts do not propagate on a node, so CSI cannot be deployed");
pub const KUBERNETES_VERSION: Cause =
    Cause::warning("kubernetes_version", "Kubernetes is older than the deployer accepts");
pub const UNKNOWN: Cause =
    Cause::warning("unknown", "the deployer crash-loops for a reason that neither its log nor the API shows");
