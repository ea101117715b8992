//! Why an Event about iSCSI is found.

use crate::check::causes;

causes! {
    ISCSI_CONN_ERROR = warning "iscsi_conn_error"
        "the kernel lost iSCSI connections, over which v1 volumes reach their engine";
    SHIM_DISCONNECTED = warning "shim_disconnected"
        "containerd lost the shim of a container when iSCSI connections were lost on that node";
}
