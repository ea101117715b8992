//! Why an Event about iSCSI is found.

use crate::check::causes;

const VOLUMES: &str = "kubectl -n <namespace> get volumes.longhorn.io";
const PODS: &str =
    "kubectl -n <namespace> get pods -l longhorn.io/component=instance-manager,longhorn.io/node=<node>";
const EVENTS: &str =
    "kubectl -n default get events --field-selector involvedObject.kind=Node,involvedObject.name=<node>";
const KERNEL: &str =
    "dmesg -T | grep -e 'conn error' -e 'I/O error' -e 'Remounting filesystem'  # on the node";

causes! {
    ISCSI_CONN_ERROR = warning "iscsi_conn_error"
        "the node's kernel lost iSCSI connections, through which v1 volumes reach their engines"
        fix "Check that the volumes on <node> are attached and writable. Restart pods whose file system is read-only. Then find out why the instance \
             manager stopped: that caused the errors." [read VOLUMES, read PODS, read EVENTS, read KERNEL]
        way NONE_REPLACED "no instance manager was replaced during the errors"
            fix "Check that the node's volumes are attached and writable. Then read the node's kernel log for what preceded the errors (memory, network, \
                 iscsid). Other iSCSI storage logs the same errors.";
    SHIM_DISCONNECTED = warning "shim_disconnected"
        "containerd lost a container's shim at about the time when the node lost iSCSI connections"
        fix "Run crictl ps -a on the node and find the container id from the Event. If it is an instance manager's, that manager exited first and \
             caused the iSCSI errors." [read EVENTS, read VOLUMES, read PODS, read "crictl ps -a --name instance-manager  # on the node"];
}
