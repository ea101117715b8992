//! Why an RWX volume is not served, and what to do.

use crate::check::OfData::NotServed;
use crate::check::{Cause, causes, ways};
use crate::facts::ways::{BLACKLIST, FILE_SYSTEM, KUBELET_SAYS, MULTIPATH, NOT_STARTED, REFUSED};

const SLICES: &str =
    "kubectl -n <namespace> get endpointslices -l kubernetes.io/service-name=longhorn-recovery-backend";
const NOT_CREATED: &str = "kubectl -n <namespace> logs <manager> -c longhorn-manager --tail=2000 | grep 'create pod for share manager' | grep <object>";
const LOG: &str = "kubectl -n <namespace> logs share-manager-<object> --tail=50";
const MANAGERS: &str = "kubectl -n <namespace> get pods -o wide -l app=longhorn-manager";
const SHARE: &str = "kubectl -n <namespace> get sharemanagers.longhorn.io,volumes.longhorn.io <object>";
const DESCRIBE: &str = "kubectl -n <namespace> describe pod <pod>";
const POD_LOG: &str = "kubectl -n <namespace> logs <pod> --tail=50";
const DELETE: &str = "kubectl -n <namespace> delete pod <pod>";

ways! { DEVICE:
    DEVICE_BUSY "another process uses its device"
        fix BLACKLIST [read MULTIPATH, read LOG];
}

const NO_LIMIT: &str = "Remove the LimitRange or policy that limits the share-manager pod's memory (<value>): Longhorn sets no limit. The next pod \
    then has none. The volume's replicas are not affected.";
const POD_LIMIT: &str = "kubectl -n <namespace> get pod share-manager-<object> -o jsonpath='{.metadata.annotations}{.spec.containers[*].resources}'";

ways! { MEMORY:
    LIMITED "OOM-killed at a memory limit"
        fix NO_LIMIT [read "kubectl -n <namespace> get limitranges -o yaml", read POD_LIMIT, read SHARE];
}

causes! {
    NODE_DOWN = critical "node_down" "the NFS server's node is down", of_data: NotServed
        fix "Bring <node> back. If that takes long, read the longhorn-managers' logs on the other nodes: one of them should move the NFS server."
        [read "kubectl get nodes -o wide", read MANAGERS, read SHARE];
    VOLUME_NOT_ATTACHED = critical "volume_not_attached"
        "the share's volume is not attached", of_data: NotServed
        fix "Fix the volume attachment first: the NFS server starts once the volume is attached."
            [read "kubectl -n <namespace> get volumeattachments.longhorn.io <object> -o yaml", read SHARE];
    POD_NOT_STARTED = critical "pod_not_started" "the NFS server's pod cannot start", of_data: NotServed
        fix "Read the Events of pod <pod> to find out why it cannot start. Typical causes are a failed image pull, no suitable node or a \
             failed mount."
            [read DESCRIBE, read SHARE]
        ways KUBELET_SAYS ways NOT_STARTED;
    POD_FAILED = critical "pod_failed" "the NFS server's pod ended and was not replaced", of_data: NotServed
        fix "Read the logs of ended pod <pod> and of the longhorn-manager on <owner>, which has not replaced it. Deleting the pod makes that \
             manager check again." [read POD_LOG, read DESCRIBE, change DELETE] proven "the pod has ended, and holds no data"
        ways FILE_SYSTEM ways DEVICE ways MEMORY;
    POD_MISSING = critical "pod_missing" "the NFS server's pod is missing", of_data: NotServed
        fix "Read the log of the longhorn-manager on <owner>: only that manager creates the share-manager pod."
            [read NOT_CREATED, read MANAGERS, read SHARE]
        way SECRET_MISSING "its encryption Secret is missing"
            fix "Restore Secret <key> with the same passphrase (from GitOps, secret store, etcd snapshot). Another passphrase cannot open \
                 the data. Until then, do not stop workloads that use other encrypted volumes."
            [read "kubectl get secrets -A --field-selector metadata.name=<key>", read NOT_CREATED, read SHARE];
    POD_REJECTED = critical "pod_rejected" "the API server rejects the NFS server's pod", of_data: NotServed
        fix "<known_error>Read the error in the log of the longhorn-manager on <owner>, and fix its cause. Longhorn then creates the pod."
            [read NOT_CREATED, read SHARE]
        ways REFUSED;
    NOT_SERVING = critical "not_serving" "the NFS server is not Ready", of_data: NotServed
        fix "Read the log of pod <pod>. If no new lines appear, delete the pod: Longhorn creates another. Pods that use the claim may need a restart."
            [read POD_LOG, read DESCRIBE, change DELETE]
            proven "the server is not serving and logs nothing new; the data is in the volume, not in the pod"
        way MULTIPATHD "perhaps multipathd holds its device"
            fix "Read pod <pod>'s log. If the log says `mount point busy`, blacklist Longhorn's devices in /etc/multipath.conf on <node> and \
                 restart multipathd. If no new lines appear, delete the pod."
            [read POD_LOG, read MULTIPATH, change DELETE]
        ways DEVICE;
    SERVICE_MISSING = critical "service_missing" "the NFS server's Service is missing", of_data: NotServed
        fix "Scale down the workloads that use the claim, then delete pod <pod>: Longhorn creates the Service only with that pod. Then scale the \
             workloads up again."
            [read "kubectl -n <namespace> get services", read SHARE, change DELETE]
            proven "no client reaches the server without its Service; the data is in the volume, not in the pod";
    RESTARTING = critical "restarting"
        "the NFS server keeps being replaced, and its clients hang each time" but "warning if fewer than six times in half an hour",
        of_data: NotServed
        fix "Read the Events and log of the NFS server's pod. Typical causes: too little memory, a node that is down or overloaded, a damaged \
             file system, or Service longhorn-recovery-backend."
            [read "kubectl -n <namespace> get events --field-selector involvedObject.name=share-manager-<object>", read POD_LOG, read DESCRIBE]
        way DEVICE_TAKEN "perhaps multipathd holds its device" fix BLACKLIST [read MULTIPATH, read POD_LOG]
        way MANAGERS_RESTART "its recovery backend's managers keep restarting"
            fix "Read the previous logs of the restarting managers. Without Service longhorn-recovery-backend, the NFS server of \
                 <release> exits (fixed in 1.5.5 and 1.6.2). Do not restart managers until all are Ready."
            [read MANAGERS, read SLICES, read LOG]
        way BACKEND_RESTARTS "its recovery backend keeps restarting"
            fix "Read the previous logs of the restarting longhorn-recovery-backend pods. Without them, the NFS server of <release> \
                 exits (fixed in 1.5.5 and 1.6.2). Do not restart them until all are Ready."
            [read "kubectl -n <namespace> get pods -o wide -l app=longhorn-recovery-backend", read SLICES, read LOG];
    OOM_KILLED = critical "oom_killed"
        "the NFS server keeps being OOM-killed at a memory limit that Longhorn did not set" but "warning if fewer than six times in half an hour",
        of_data: NotServed
        fix NO_LIMIT [read "kubectl -n <namespace> get limitranges -o yaml", read POD_LIMIT, read SHARE];
}

/// The volume is not served at all.
pub(super) const DOWN: &[&Cause] = &[
    &NODE_DOWN, &VOLUME_NOT_ATTACHED, &POD_NOT_STARTED, &POD_FAILED, &POD_MISSING, &POD_REJECTED,
    &NOT_SERVING, &SERVICE_MISSING,
];
