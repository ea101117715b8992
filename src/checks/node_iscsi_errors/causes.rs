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
        "the kernel lost iSCSI connections, over which v1 volumes reach their engine"
        fix "Make sure that the volumes of node <node> are attached and writable, then find out why the instance manager ended: the errors are its \
             consequence. Pods whose file system has become read-only have to be restarted." [read VOLUMES, read PODS, read EVENTS, read KERNEL]
        way NONE_REPLACED "no instance manager there was replaced then"
            fix "Make sure that the volumes of the node are attached and writable. No instance manager of the node was seen to be replaced about then: look in \
                 the node's kernel log for what came before the errors (memory, network, iscsid), and whether other storage there uses iSCSI.";
    SHIM_DISCONNECTED = warning "shim_disconnected"
        "containerd lost the shim of a container when iSCSI connections were lost on that node"
        fix "Find the container that ended by the id in the Event; if it is that of an instance manager, its end came first and the iSCSI errors follow \
             from it." [
            read EVENTS,
            read VOLUMES,
            read PODS,
            read "crictl ps -a --name instance-manager  # on the node",
        ];
}
