//! Faults of a manager's start that are the same whether it hangs in the start or ends in it and tries again: one id, one meaning. The
//! checks `manager_start_stuck` and `manager_crash_loop` both have them.

use crate::check::causes;

causes! {
    API_UNREACHABLE = critical "api_unreachable" "the manager gets no answer of the Kubernetes API server";
    CRD_MISMATCH = critical "crd_mismatch"
        "the custom resource definitions do not match this release, or one is missing";
    MANIFEST_STALE = critical "manifest_stale"
        "manifest and image of the manager are of different releases: a flag, a variable or the port of the readiness probe";
    WEBHOOK_SERVICE_UNREACHABLE = critical "webhook_service_unreachable"
        "DNS, a firewall or the pod network keeps the manager from the Service of a webhook that it waits for";
}
