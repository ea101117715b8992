//! Why an RWX volume is not served.

use crate::check::{Cause, causes};

causes! {
    NODE_DOWN = critical "node_down" "the NFS server was on a node that is down and has not been moved";
    VOLUME_NOT_ATTACHED = critical "volume_not_attached"
        "the NFS server waits for its volume, which is not attached";
    POD_NOT_STARTED = critical "pod_not_started" "the pod of the NFS server does not start";
    POD_FAILED = critical "pod_failed" "the pod of the NFS server ended and is not replaced";
    POD_MISSING = critical "pod_missing" "the pod of the NFS server is not there";
    NOT_SERVING = critical "not_serving" "the pod of the NFS server runs, but the server is not ready";
    RESTARTING = warning "restarting"
        "the pod of the NFS server is replaced again and again; every time its clients wait";
}

/// The volume is not served at all.
pub const DOWN: &[&Cause] =
    &[&NODE_DOWN, &VOLUME_NOT_ATTACHED, &POD_NOT_STARTED, &POD_FAILED, &POD_MISSING, &NOT_SERVING];
