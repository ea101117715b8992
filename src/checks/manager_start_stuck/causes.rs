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
            "managers wait for their turn: they start their webhooks one node at a time"
            fix "Wait while the holder of the start Lease changes. If it stays the same, check the holder's node: its manager hangs or crash-loops." [
                read "kubectl -n <namespace> get lease <object> -o yaml",
                read "kubectl -n <namespace> logs <pod> -c longhorn-manager --tail=50",
            ];
        UNKNOWN = warning "unknown"
            "the manager's startup neither finishes nor fails (cause unknown)"
            fix "Read the end of its log: it repeats what it waits for (API server, permission, webhook). Otherwise check the node's CPU and memory. \
                 Save the log before deleting the pod." [
                read "kubectl -n <namespace> logs <object> -c longhorn-manager --tail=50",
                read "kubectl auth can-i update leases.coordination.k8s.io --as=system:serviceaccount:<namespace>:longhorn-service-account -n <namespace>",
                read "kubectl describe node <node>",
            ]
            way LEASE_NOT_TAKEN "it cannot take the start Lease"
                means "no one holds the start Lease and it does not take it, although it tries every two seconds: the API server is unreachable, or \
                       a permission is missing"
                fix "Check that its service account may update the Lease (kubectl auth can-i). If so, fix its connection to the API server: CNI, \
                     kube-proxy, firewall. Deleting the pod does not help."
            way LAST_LINE "cause unknown, its log has no known error"
                fix "Read the last line of its log, and check any object or address in it. If it names none, check CPU and memory. Save the log before \
                     deleting the pod.";
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
