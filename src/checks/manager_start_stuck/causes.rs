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
            "managers are waiting for their turn, because Longhorn starts its webhook on one node at a time"
            fix "Wait as long as the holder of the start Lease keeps changing. If the holder stays the same, that manager is hanging or crash-looping: \
                 read its log."
                [read "kubectl -n <namespace> get lease <object> -o yaml", read "kubectl -n <namespace> logs <pod> -c longhorn-manager --tail=50"];
        UNKNOWN = warning "unknown"
            "the manager is hanging during startup (cause unknown)"
            fix "Read the manager's last log lines: they show what it lacks (API server, permission, webhook). If it lacks nothing, check CPU \
                 and memory. Save the log before deleting the pod." [
                read "kubectl -n <namespace> logs <object> -c longhorn-manager --tail=50",
                read "kubectl auth can-i update leases.coordination.k8s.io --as=system:serviceaccount:<namespace>:longhorn-service-account -n <namespace>",
                read "kubectl describe node <node>",
            ]
            way LEASE_NOT_TAKEN "the start Lease cannot be taken"
                means "the start Lease has no holder although this manager tries to take it every 2 s. Probably the API server is unreachable or a \
                       permission is missing"
                fix "Check that the service account may update Leases (kubectl auth can-i). If so, fix the manager's connection to the API \
                     server (CNI, kube-proxy, firewall). Deleting pods does not help."
            way LAST_LINE "its log has no known error"
                fix "Check any object or address that the manager's last log line names. If it names none, check the node's CPU and \
                     memory. Save the log before deleting the pod.";
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
