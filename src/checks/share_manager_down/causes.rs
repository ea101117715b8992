//! Why an RWX volume is not served.

use crate::check::Cause;

pub const NODE_DOWN: Cause =
    Cause::critical("node_down", "the NFS server was on a node that is down and has not been moved");
pub const VOLUME_NOT_ATTACHED: Cause =
    Cause::critical("volume_not_attached", "the NFS server waits for its volume, which is not attached");
pub const POD_NOT_STARTED: Cause =
    Cause::critical("pod_not_started", "the pod of the NFS server does not start");
pub const POD_FAILED: Cause =
    Cause::critical("pod_failed", "the pod of the NFS server ended and is not replaced");
pub const POD_MISSING: Cause = Cause::critical("pod_missing", "the pod of the NFS server is not there");
pub const NOT_SERVING: Cause =
    Cause::critical("not_serving", "the pod of the NFS server runs, but the server is not ready");
pub const RESTARTING: Cause = Cause::warning(
    "restarting",
    "the pod of the NFS server is replaced again and again; every time its clients wait",
);

/// The volume is not served at all.
pub const DOWN: &[&Cause] =
    &[&NODE_DOWN, &VOLUME_NOT_ATTACHED, &POD_NOT_STARTED, &POD_FAILED, &POD_MISSING, &NOT_SERVING];

pub const ALL: &[&Cause] = &[
    &NODE_DOWN,
    &VOLUME_NOT_ATTACHED,
    &POD_NOT_STARTED,
    &POD_FAILED,
    &POD_MISSING,
    &NOT_SERVING,
    &RESTARTING,
];
