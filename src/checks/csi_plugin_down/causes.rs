//! Why volumes do not reach pods by CSI.

use crate::check::{Cause, causes, ways};
use crate::facts::ways::{CUT, KUBELET_SAYS, NOT_STARTED, UNRESOLVED};

ways! { SIDECAR:
    LIVENESS_SIDECAR "its liveness sidecar is not answering"
        fix "Read the log of container longhorn-liveness-probe: it is not answering on port 9808, so the kubelet keeps restarting the plugin. Find out what \
             else is using that port." [
            read "kubectl -n <namespace> logs <object> -c longhorn-liveness-probe --tail=30",
            read "kubectl -n <namespace> describe pod <object>",
            read "ssh <node> 'sudo ss -lntp | grep 9808'",
        ];
}

const OF_DEPLOYMENT: &str = "Read the Events and logs of <object>'s pods. If the CSI plugin on their node is down, fix that first. If the pods lose their \
    Lease, check the API server.";
const PODS_OF: &str = "kubectl -n <namespace> get pods -l app=<object> -o wide";
const LOGS_OF: &str = "kubectl -n <namespace> logs -l app=<object> --tail=30 --prefix";
const RESTART: &str = "kubectl -n <namespace> rollout restart deployment <object>";
const SLOW_API: &str = "Check the response times of the API server and etcd: often, etcd's disk is slow. Do not change Longhorn: a sidecar exits when it \
    cannot renew its lease.";

causes! {
    PLUGIN_CRASHING = warning "plugin_crashing" "a container of the CSI plugin on the node keeps crashing"
        fix "Check the managers, DNS and the node's network: the CSI plugin depends on Service longhorn-backend. Then read the log of container <container>. A \
             missing registrar socket is only a consequence." [
            read "kubectl -n <namespace> logs <object> -c <container> --previous --tail=50",
            read "kubectl -n <namespace> get pods -l app=longhorn-manager -o wide",
            read "kubectl -n <namespace> describe pod <object>",
        ]
        way IMAGES_SWAPPED "its containers have each other's images"
            fix "Restore the images of DaemonSet longhorn-csi-plugin (rollout undo), and keep updaters such as Keel away from Longhorn. Do not \
                 delete the other nodes' plugin pods." [
                read "kubectl -n <namespace> get daemonset longhorn-csi-plugin -o wide",
                read "kubectl -n <namespace> rollout history daemonset longhorn-csi-plugin",
            ] proven "the containers' images do not belong to them; pods that run keep theirs until they are recreated"
        way OUT_OF_MEMORY "OOM-killed"
            fix "Raise the container's memory limit (setting system-managed-csi-components-resource-limits from 1.12 on, or the namespace's \
                 LimitRange): more mounted volumes need more memory. If no limit is set, free memory on the node." [
                read "kubectl -n <namespace> get settings.longhorn.io system-managed-csi-components-resource-limits",
                read "kubectl -n <namespace> get pod <object> -o jsonpath='{.spec.containers[*].resources}'",
                read "kubectl describe node <node>",
            ]
        way SAME_ADDRESS "another node has the same address"
            fix "Give node <node> or node <value> its own IP address. Then restart that node's kubelet (the k3s or \
                 RKE2 service): the kubelet keeps the address found at startup."
            [read "kubectl get nodes -o wide", read "kubectl describe node <node>"]
        ways SIDECAR
        ways UNRESOLVED;
    PLUGIN_NOT_RUNNING = warning "plugin_not_running"
        "the CSI plugin's pod on the node is stuck starting or not Ready"
        fix "<known_error>Read the plugin pod's Events for a failed image pull, a full node or a missing kubelet directory. If the kubelet's root is not \
             /var/lib/kubelet, set the driver deployer's --kubelet-root-dir."
            [read "kubectl -n <namespace> describe pod <object>", read "kubectl describe node <node>",
             read "kubectl -n <namespace> get pods -l app=longhorn-manager -o wide"]
        ways SIDECAR ways KUBELET_SAYS;
    PLUGIN_MISSING = warning "plugin_missing"
        "a node that Longhorn uses has no CSI plugin" but "info if no volume is attached there"
        fix "Let the CSI plugin tolerate the node's taint (setting taint-toleration), or include the node in system-managed-components-node-selector. \
             Otherwise keep pods with Longhorn volumes off the node." [
            read "kubectl describe node <node>",
            read "kubectl -n <namespace> describe daemonset longhorn-csi-plugin",
            read "kubectl -n <namespace> get settings.longhorn.io taint-toleration system-managed-components-node-selector",
        ];
    NOT_REGISTERED = warning "not_registered"
        "the CSI plugin is running, but the node's kubelet has not registered the driver: its CSINode lacks driver.longhorn.io"
        fix "Delete pod <pod>: the new pod registers the driver again. If that fails, read the registrar's log and compare the kubelet's \
             root directory with the driver deployer's --kubelet-root-dir."
            [read "kubectl -n <namespace> logs <pod> -c node-driver-registrar --tail=30",
             read "kubectl get csinode <node> -o yaml", change "kubectl -n <namespace> delete pod <pod>"]
            proven "the plugin runs and its CSINode lacks the driver; a DaemonSet recreates the pod, and mounts stay"
        way OTHER_ROOT "the kubelet probably uses a different root directory from the plugin"
            fix "Cordon node <node>: pods with Longhorn volumes cannot start there. Compare its kubelet's --root-dir with <value>, which the plugin uses, and \
                 correct the kubelet. Then uncordon the node."
            [read "ssh <node> 'ps -o args= -C kubelet,k3s,rke2,k0s | tr \" \" \"\\n\" | grep -A1 root-dir'",
             read "kubectl -n <namespace> logs <pod> -c node-driver-registrar --tail=30", read "kubectl get csinode <node> -o yaml"];
    CONTROLLER_DOWN = critical "controller_down"
        "csi-attacher or csi-provisioner is down, so volumes cannot be attached or cannot be created"
        fix OF_DEPLOYMENT [read PODS_OF, read LOGS_OF, change RESTART]
        way LEASE_LOST "its pods keep losing their Lease"
            fix SLOW_API
            [read "kubectl get --raw '/readyz?verbose'", read "kubectl -n <namespace> logs -l app=<object> --previous --tail=30 --prefix",
             read "kubectl -n kube-system get pods -o wide"]
        way SCALED_TO_ZERO "its Deployment is scaled to 0 replicas"
            fix "Scale Deployment <object> back up (Longhorn's default is 3), and also csi-provisioner, csi-resizer and csi-snapshotter. \
                 Exclude Longhorn's namespace from the tool that scaled them down, such as kube-downscaler." [
                change "kubectl -n <namespace> scale deployment <object> --replicas=3",
                read "kubectl -n <namespace> get deployments -o wide",
                read "kubectl get volumeattachments.storage.k8s.io",
            ]
        ways KUBELET_SAYS ways NOT_STARTED ways CUT;
    DELETED_IN_USE = critical "deleted_in_use" "Longhorn was deleted without its uninstaller, but volumes are still in use",
        explains_absence: true
        fix "Pause all tools that reinstall Longhorn (Argo CD, Flux, Helm). Save the output of the commands below, then copy the replica directories. Do not \
             start longhorn-manager: it deletes volume data." [
            change "kubectl -n <namespace> delete daemonset <workload>",
            read "kubectl -n <namespace> get replicas.longhorn.io -o \
                custom-columns=VOLUME:.spec.volumeName,NODE:.spec.nodeID,DISK:.spec.diskPath,DIRECTORY:.spec.dataDirectoryName,FAILED:.spec.failedAt",
            read "kubectl -n <namespace> get volumes.longhorn.io -o yaml",
            read "kubectl get persistentvolumes -o yaml",
        ] proven "the volumes are marked for deletion, which cannot be undone, and a running manager deletes their data; engines do not run in it"
        way MANAGERS_RUN "the managers are still running"
            fix "Delete DaemonSet longhorn-manager immediately: it is deleting these volumes' data, PersistentVolumes and claims. Pause tools that reinstall \
                 Longhorn. Save the output of the commands below, then copy the replica directories.";
    MANAGERS_DELETED = critical "managers_deleted" "all longhorn-managers were deleted, so no volume can attach, detach, rebuild or fail over",
        explains_absence: true
        fix "Apply the manifest of <release> again with the tool that installed Longhorn: Longhorn's DaemonSet is missing, perhaps its \
             Services too. Meanwhile, running I/O continues. Do not delete anything." [
            read "kubectl -n <namespace> get daemonsets,deployments,services,pods",
            read "kubectl -n <namespace> get settings.longhorn.io current-longhorn-version",
            read "kubectl -n <namespace> get volumes.longhorn.io",
        ];
    UNINSTALL_BEGUN = critical "uninstall_begun" "Job longhorn-uninstall, which deletes every volume, was started"
        but "warning if deleting-confirmation-flag refused it"
        fix "Delete Job longhorn-uninstall now, unless you want to lose all volumes. Then set deleting-confirmation-flag to false and bring the release \
             back (helm rollback)." [
            change "kubectl -n <namespace> delete job longhorn-uninstall",
            change "kubectl -n <namespace> patch settings.longhorn.io deleting-confirmation-flag --type merge -p '{\"value\":\"false\"}'",
            read "kubectl -n <namespace> get volumes.longhorn.io",
            read "helm -n <namespace> list --all",
        ] proven "the uninstaller's pod holds no data, and what it has not deleted yet then stays"
        way UNINSTALL_REFUSED "deleting-confirmation-flag is false"
            fix "Keep deleting-confirmation-flag false. Pause the tool that uninstalls Longhorn, delete Job longhorn-uninstall, and bring the release back \
                 (helm rollback)." [
                read "kubectl -n <namespace> logs job/longhorn-uninstall --tail=5",
                read "helm -n <namespace> list --all",
                change "kubectl -n <namespace> delete job longhorn-uninstall",
            ] proven "the uninstaller was refused before it deleted anything, and its Job holds no data"
        way HELM_CHART_REINSTALLS "HelmChart <value> reinstalls Longhorn after a failed upgrade"
            fix "Set failurePolicy of HelmChart <value> to abort: its default, reinstall, uninstalls Longhorn after a failed upgrade. Keep \
                 deleting-confirmation-flag false. Do not delete the HelmChart." [
                change "kubectl -n <chart_namespace> patch helmchart <value> --type merge -p '{\"spec\":{\"failurePolicy\":\"abort\"}}'",
                read "kubectl -n <namespace> logs job/longhorn-uninstall --tail=5",
                read "helm -n <namespace> list --all",
            ] proven "nothing is deleted: the uninstaller was refused, and the patch only stops the next";
    SIDECAR_DOWN = warning "sidecar_down"
        "csi-resizer or csi-snapshotter is down, so volumes cannot be expanded or VolumeSnapshots cannot be taken"
        fix OF_DEPLOYMENT [read PODS_OF, read LOGS_OF, change RESTART]
        ways KUBELET_SAYS ways NOT_STARTED ways CUT;
    SIDECARS_RESTARTING = warning "sidecars_restarting" "several CSI sidecars keep restarting, at least four times a day each"
        fix "Read the last lines of <pod>'s previous log. If the pod lost its lease (stopped leading), the API server or etcd is slow: fix that. Do not \
             change Longhorn." [
            read "kubectl -n <namespace> logs <pod> --previous --tail=30",
            read "kubectl get --raw '/readyz?verbose'",
            read "kubectl -n kube-system get pods -o wide",
        ]
        way LOST_LEASES "their Lease renewals keep failing"
            fix SLOW_API
        way SERVER_RESTARTS "the control plane restarts repeatedly"
            fix "Find out why <node>'s control plane restarts: often etcd's disk is too slow. Do not change Longhorn: the sidecars exit when they cannot \
                 renew their Leases."
            [read "ssh <node> 'sudo journalctl -u k3s -u rke2-server -u kubelet --since -1h | grep -iE \"too slow|took too long|leaderelection|fatal\"'"];
}

pub const OF_NODES: &[&Cause] = &[&PLUGIN_CRASHING, &PLUGIN_NOT_RUNNING, &PLUGIN_MISSING, &NOT_REGISTERED];
