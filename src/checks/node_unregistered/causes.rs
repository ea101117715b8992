//! Why a node is not managed by Longhorn.

use crate::check::Cause;

/// Every cause, in the order of the reference.
pub const ALL: &[&Cause] = &[&NEVER_STARTED, &NODE_GONE, &MANAGER_MISSING];

pub const NEVER_STARTED: Cause =
    Cause::warning("never_started", "the manager of the node has never finished a start");
pub const NODE_GONE: Cause = Cause::warning("node_gone", "the node has left Kubernetes but not Longhorn");
pub const MANAGER_MISSING: Cause = Cause::warning(
    "manager_missing",
    "no longhorn-manager runs on the node: its pod is missing, does not start or does not end",
);
