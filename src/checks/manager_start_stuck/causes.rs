//! What keeps a manager in its start.

use crate::check::Cause;

pub use crate::facts::start_causes::{
    ACCESS_DENIED, API_CERTIFICATE, API_UNREACHABLE, CRD_MISMATCH, MANIFEST_STALE,
    WEBHOOK_SERVICE_UNREACHABLE,
};
pub use own::{LAST_LINE, LEASE_NOT_TAKEN, QUEUEING, UNKNOWN, WAYS};

mod own {
    use crate::check::causes;

    causes! {
        QUEUEING = info "queueing"
            "managers wait for their turn: managers start their webhooks one node at a time"
            fix "Wait while the holder of the start Lease changes. If it does not, the trouble is on the holder's node: its manager hangs, or \
                 crash-loops." [
                read "kubectl -n <namespace> get lease <object> -o yaml",
                read "kubectl -n <namespace> logs <pod> -c longhorn-manager --tail=50",
            ];
        UNKNOWN = warning "unknown"
            "the manager neither finishes its start nor gives up, and its log does not say why or cannot be read"
            fix "Cause unknown: read its log from the end, where it repeats what it waits for (the API server, a right, a kind, its own webhook). \
                 If it repeats nothing, see whether the node is short of CPU or memory. Keep the log before anyone deletes the pod." [
                read "kubectl -n <namespace> logs <object> -c longhorn-manager --tail=50",
                read "kubectl auth can-i update leases.coordination.k8s.io --as=system:serviceaccount:<namespace>:longhorn-service-account -n <namespace>",
                read "kubectl describe node <node>",
            ]
            way LEASE_NOT_TAKEN "it never takes the start Lease: the API server does not answer it, or a right is missing"
                means "no one holds the start Lease and it does not take it, although it should try every two seconds: it does not reach the \
                       API server, or may not"
                fix "Read its log from the end, and ask for the right to take the Lease. If the service account has it, the way from the pod to \
                     the API server is the trouble: CNI and kube-proxy on the node, firewall rules. Deleting the pod does not help: the next \
                     one hangs in the same place."
            way LAST_LINE "cause unknown, its log has no known complaint"
                fix "The last line of its log is what it did before it hung. If that names an object or an address, check it; otherwise see whether \
                     the node is short of CPU or memory. Keep the log before anyone deletes the pod.";
    }
}

/// Those for which a manager does nothing.
pub const STUCK: &[&Cause] = &[
    &API_UNREACHABLE, &API_CERTIFICATE, &ACCESS_DENIED, &CRD_MISMATCH, &MANIFEST_STALE,
    &WEBHOOK_SERVICE_UNREACHABLE, &UNKNOWN,
];

/// Every cause, in the order of the reference.
pub const ALL: &[&Cause] = &[
    &API_UNREACHABLE, &API_CERTIFICATE, &ACCESS_DENIED, &CRD_MISMATCH, &MANIFEST_STALE,
    &WEBHOOK_SERVICE_UNREACHABLE, &QUEUEING, &UNKNOWN,
];
