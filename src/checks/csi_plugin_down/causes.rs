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
        fix "Read the log of container <container>. Check the managers, DNS and the node's network first: the plugin asks longhorn-backend for \
             everything. A registrar without its socket is only a consequence." [
            read "kubectl -n <namespace> logs <object> -c <container> --previous --tail=50",
            read "kubectl -n <namespace> get pods -l app=longhorn-manager -o wide",
            read "kubectl -n <namespace> describe pod <object>",
        ]
        way OUT_OF_MEMORY "OOM-killed"
            fix "Raise the container's memory limit (setting system-managed-csi-components-resource-limits from 1.12 on, or the namespace's \
                 LimitRange): more mounted volumes need more. If it has no limit, free memory on the node." [
                read "kubectl -n <namespace> get settings.longhorn.io system-managed-csi-components-resource-limits",
                read "kubectl -n <namespace> get pod <object> -o jsonpath='{.spec.containers[*].resources}'",
                read "kubectl describe node <node>",
            ]
        way SAME_ADDRESS "another node has its node's address"
            fix "Give one of nodes <node> and <value> its own address, then restart its kubelet (K3s, RKE2: its service), which keeps the address \
                 found at startup. The plugin then continues automatically."
            [read "kubectl get nodes -o wide", read "kubectl describe node <node>"]
        ways SIDECAR;
    PLUGIN_NOT_RUNNING = warning "plugin_not_running"
        "the pod of the CSI plugin on the node does not start or is not Ready"
        fix "Read the pod's Events: usually the image cannot be pulled, or the node lacks room or the kubelet's directory. For another kubelet root \
             than /var/lib/kubelet, set the driver deployer's --kubelet-root-dir." [
            read "kubectl -n <namespace> describe pod <object>",
            read "kubectl describe node <node>",
            read "kubectl -n <namespace> get pods -l app=longhorn-manager -o wide",
        ]
        ways SIDECAR;
    PLUGIN_MISSING = warning "plugin_missing"
        "a node that Longhorn uses has no CSI plugin" but "info where no volume is attached there"
        fix "Let the plugin tolerate the node's taint (setting taint-toleration), or select the node (system-managed-components-node-selector). If \
             it is kept away deliberately, place no pod with a Longhorn volume there." [
            read "kubectl describe node <node>",
            read "kubectl -n <namespace> describe daemonset longhorn-csi-plugin",
            read "kubectl -n <namespace> get settings.longhorn.io taint-toleration system-managed-components-node-selector",
        ];
    NOT_REGISTERED = warning "not_registered"
        "the CSI plugin runs, but the node's kubelet does not know the driver: its CSINode lacks driver.longhorn.io"
        fix "Read the log of the registrar. Compare the kubelet's root directory, where its socket is, with the driver deployer's --kubelet-root-dir, \
             then restart the plugin's pod." [
            read "kubectl -n <namespace> logs <pod> -c node-driver-registrar --tail=30",
            read "kubectl get csinode <node> -o yaml",
            change "kubectl -n <namespace> delete pod <pod>",
        ] proven "the plugin runs and its CSINode lacks the driver; a DaemonSet recreates the pod, and mounts stay";
    CONTROLLER_DOWN = critical "controller_down"
        "no pod of csi-attacher or csi-provisioner works, so no volume in the cluster can be attached, or none created"
        fix "Read the Events and logs of its pods. A CSI plugin that is down on their node takes them down too. A slow API server makes them lose \
             their lease." [
            read "kubectl -n <namespace> get pods -l app=<object> -o wide",
            read "kubectl -n <namespace> logs -l app=<object> --tail=30 --prefix",
            change "kubectl -n <namespace> rollout restart deployment <object>",
        ]
        ways NOT_STARTED;
    DELETED_IN_USE = critical "deleted_in_use" "Longhorn was deleted without its uninstaller while volumes are in use",
        explains_absence: true
        fix "Pause what would install Longhorn again (Argo CD, Flux, Helm). Keep the commands' output, then copy the nodes' replica directories. Do \
             not start a longhorn-manager: it deletes these volumes' data." [
            change "kubectl -n <namespace> delete daemonset <workload>",
            read "kubectl -n <namespace> get replicas.longhorn.io -o custom-columns=VOLUME:.spec.volumeName,NODE:.spec.nodeID,DISK:.spec.diskPath,DIRECTORY:.spec.dataDirectoryName,FAILED:.spec.failedAt",
            read "kubectl -n <namespace> get volumes.longhorn.io -o yaml",
            read "kubectl get persistentvolumes -o yaml",
        ] proven "the volumes are marked for deletion, which cannot be undone, and a running manager deletes their data; engines do not run in it"
        way MANAGERS_RUN "its managers are still running"
            fix "Delete DaemonSet longhorn-manager immediately: its managers delete these volumes' data, PersistentVolumes and claims. Pause what \
                 would install Longhorn again. Keep the commands' output, then copy the nodes' replica directories.";
    MANAGERS_DELETED = critical "managers_deleted" "no longhorn-manager is left, and nothing looks after volumes in use",
        explains_absence: true
        fix "Apply the manifest of <release> again with the tool that installed Longhorn: its DaemonSet and Services are missing. Running I/O continues \
             until then. Delete nothing." [
            read "kubectl -n <namespace> get daemonsets,deployments,services,pods",
            read "kubectl -n <namespace> get settings.longhorn.io current-longhorn-version",
            read "kubectl -n <namespace> get volumes.longhorn.io",
        ];
    SIDECAR_DOWN = warning "sidecar_down"
        "no pod of csi-resizer or csi-snapshotter works, so Kubernetes cannot expand volumes, or cannot take snapshots"
        fix "Read the Events and logs of its pods. A CSI plugin that is down on their node takes them down too. A slow API server makes them lose \
             their lease." [
            read "kubectl -n <namespace> get pods -l app=<object> -o wide",
            read "kubectl -n <namespace> logs -l app=<object> --tail=30 --prefix",
            change "kubectl -n <namespace> rollout restart deployment <object>",
        ]
        ways NOT_STARTED;
}

/// Of one node.
pub const OF_NODES: &[&Cause] = &[&PLUGIN_CRASHING, &PLUGIN_NOT_RUNNING, &PLUGIN_MISSING, &NOT_REGISTERED];
