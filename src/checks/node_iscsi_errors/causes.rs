//! Why an Event about iSCSI is found.

use crate::check::Cause;

/// Every cause, in the order of the reference.
pub const ALL: &[&Cause] = &[&ISCSI_CONN_ERROR, &SHIM_DISCONNECTED];

pub const ISCSI_CONN_ERROR: Cause = Cause::warning(
    "iscsi_conn_error",
    "the kernel lost iSCSI connections, over which v1 volumes reach their engine",
);
pub const SHIM_DISCONNECTED: Cause = Cause::warning(
    "shim_disconnected",
    "containerd lost the shim of a container when iSCSI connections were lost on that node",
);
