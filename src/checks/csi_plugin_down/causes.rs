//! Why volumes do not reach pods by CSI.

use crate::check::{Cause, causes, ways};
use crate::facts::ways::NOT_STARTED;

ways! { SIDECAR:
    LIVENESS_SIDECAR "its liveness sidecar does not answer"
        fix "Look at container longhorn-liveness-probe, not at the plugin: nothing listens on its port, so the kubelet restarts the plugin. Read its log, \
             and find out what else takes that port." [
            read "kubectl -n <namespace> logs <object> -c longhorn-liveness-probe --tail=30",
            read "kubectl -n <namespace> describe pod <object>",
            read "ssh <node> 'sudo ss -lntp | grep 9808'",
        ];
}

causes! {
    PLUGIN_CRASHING = warning "plugin_crashing" "a container of the CSI plugin on the node keeps crashing"
        fix "Fix what the log of container <container> names. The plugin asks longhorn-backend for everything, so managers, DNS and the network of \
             the node come first; a registrar that finds no socket is a consequence of the plugin. It continues on its own." [
            read "kubectl -n <namespace> logs <object> -c <container> --previous --tail=50",
            read "kubectl -n <namespace> get pods -l app=longhorn-manager -o wide",
            read "kubectl -n <namespace> describe pod <object>",
        ]
        way OUT_OF_MEMORY "it was OOM-killed"
            fix "Give the container more memory: raise its limit, which setting system-managed-csi-components-resource-limits (from 1.12 on) or a LimitRange of \
                 the namespace sets, or free memory on the node where it has none. It needs more the more volumes are mounted there." [
                read "kubectl -n <namespace> get settings.longhorn.io system-managed-csi-components-resource-limits",
                read "kubectl -n <namespace> get pod <object> -o jsonpath='{.spec.containers[*].resources}'",
                read "kubectl describe node <node>",
            ]
        way SAME_ADDRESS "another node has the address of its node"
            fix "Find out which of nodes <node> and <value> should have that address, give the other its own, and restart the kubelet there (K3s, RKE2: its \
                 service), which keeps the address that it found at its start. The plugin continues on its own."
            [read "kubectl get nodes -o wide", read "kubectl describe node <node>"]
        ways SIDECAR;
    PLUGIN_NOT_RUNNING = warning "plugin_not_running"
        "the pod of the CSI plugin on the node does not start or is not Ready"
        fix "Fix what the Events of the pod name: an image that cannot be pulled, a directory of the kubelet that is missing (where its root is not \
             /var/lib/kubelet, give --kubelet-root-dir to the driver deployer), no room on the node." [
            read "kubectl -n <namespace> describe pod <object>",
            read "kubectl describe node <node>",
            read "kubectl -n <namespace> get pods -l app=longhorn-manager -o wide",
        ]
        ways SIDECAR;
    PLUGIN_MISSING = warning "plugin_missing"
        "no CSI plugin is on a node that Longhorn uses" but "info where no volume is attached there"
        fix "Let the plugin tolerate the taint of the node (setting taint-toleration), or select the node \
             (system-managed-components-node-selector). Where it is kept away deliberately, place no pod with a Longhorn volume there." [
            read "kubectl describe node <node>",
            read "kubectl -n <namespace> describe daemonset longhorn-csi-plugin",
            read "kubectl -n <namespace> get settings.longhorn.io taint-toleration system-managed-components-node-selector",
        ];
    NOT_REGISTERED = warning "not_registered"
        "the CSI plugin runs, but the kubelet of the node does not know the driver: its CSINode lacks driver.longhorn.io"
        fix "Read the log of the registrar, which tells the kubelet over a socket under the kubelet's root directory; compare that directory with \
             the one of the driver deployer (--kubelet-root-dir), then restart the plugin's pod." [
            read "kubectl -n <namespace> logs <pod> -c node-driver-registrar --tail=30",
            read "kubectl get csinode <node> -o yaml",
            change "kubectl -n <namespace> delete pod <pod>",
        ] proven "the plugin runs and its CSINode lacks the driver; a DaemonSet makes the pod again, and mounts stay";
    CONTROLLER_DOWN = critical "controller_down"
        "no pod of csi-attacher or csi-provisioner works: no volume is attached, or none is created, in the whole cluster"
        fix "Find out why its pods do not run. The sidecars ask the CSI plugin of their node over a socket, so a plugin that is down takes them \
             with it; an API server that answers late makes them lose their lease and restart." [
            read "kubectl -n <namespace> get pods -l app=<object> -o wide",
            read "kubectl -n <namespace> logs -l app=<object> --tail=30 --prefix",
            change "kubectl -n <namespace> rollout restart deployment <object>",
        ]
        ways NOT_STARTED;
    DELETED_IN_USE = critical "deleted_in_use" "Longhorn was deleted without its uninstaller while volumes are in use",
        explains_absence: true
        fix "Start no longhorn-manager: it deletes the data, the PersistentVolumes and the claims of these volumes. So do not install Longhorn \
             again, and pause what would (Argo CD, Flux, a Helm controller). Keep what the commands print, then copy the replicas' \
             directories on their nodes." [
            change "kubectl -n <namespace> delete daemonset <workload>",
            read "kubectl -n <namespace> get replicas.longhorn.io -o custom-columns=VOLUME:.spec.volumeName,NODE:.spec.nodeID,DISK:.spec.diskPath,DIRECTORY:.spec.dataDirectoryName,FAILED:.spec.failedAt",
            read "kubectl -n <namespace> get volumes.longhorn.io -o yaml",
            read "kubectl get persistentvolumes -o yaml",
        ] proven "the volumes wait to be deleted, which nothing takes back, and a manager that runs deletes their data; engines do not run in it"
        way MANAGERS_RUN "its managers still run"
            fix "Delete DaemonSet longhorn-manager at once: its managers delete the data, the PersistentVolumes and the claims of these volumes. Do not install \
                 Longhorn again, and pause what would. Keep what the commands print, then copy the replicas' directories on their nodes.";
    MANAGERS_DELETED = critical "managers_deleted" "no longhorn-manager is left, and nothing looks after volumes in use",
        explains_absence: true
        fix "Apply the manifest of <release> again with the tool that installed Longhorn: its DaemonSet and Services are missing. Running I/O continues \
             until then. Delete nothing." [
            read "kubectl -n <namespace> get daemonsets,deployments,services,pods",
            read "kubectl -n <namespace> get settings.longhorn.io current-longhorn-version",
            read "kubectl -n <namespace> get volumes.longhorn.io",
        ];
    SIDECAR_DOWN = warning "sidecar_down"
        "no pod of csi-resizer or csi-snapshotter works: no volume is expanded, or no snapshot taken, by Kubernetes"
        fix "Find out why its pods do not run. The sidecars ask the CSI plugin of their node over a socket, so a plugin that is down takes them \
             with it; an API server that answers late makes them lose their lease and restart." [
            read "kubectl -n <namespace> get pods -l app=<object> -o wide",
            read "kubectl -n <namespace> logs -l app=<object> --tail=30 --prefix",
            change "kubectl -n <namespace> rollout restart deployment <object>",
        ]
        ways NOT_STARTED;
}

/// Of one node.
pub const OF_NODES: &[&Cause] = &[&PLUGIN_CRASHING, &PLUGIN_NOT_RUNNING, &PLUGIN_MISSING, &NOT_REGISTERED];
