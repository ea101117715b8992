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
        "the kernel lost iSCSI connections, which v1 volumes use to reach their engine"
        fix "Check that the volumes of node <node> are attached and writable. Restart pods whose file system is read-only. Then find out why the \
             instance manager ended: that caused the errors." [read VOLUMES, read PODS, read EVENTS, read KERNEL]
        way NONE_REPLACED "no instance manager there was replaced at that time"
            fix "Check that the node's volumes are attached and writable. Then read in its kernel log what precedes the errors (memory, network, \
                 iscsid), and whether other storage there uses iSCSI.";
    SHIM_DISCONNECTED = warning "shim_disconnected"
        "containerd lost a container's shim when the node lost iSCSI connections"
        fix "Find the container that ended, by the id in the Event. If it is an instance manager's, its end came first and caused the iSCSI errors." [
            read EVENTS,
            read VOLUMES,
            read PODS,
            read "crictl ps -a --name instance-manager  # on the node",
        ];
}
