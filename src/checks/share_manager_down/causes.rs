//! Why an RWX volume is not served, and what to do.

use crate::check::OfData::NotServed;
use crate::check::{Cause, causes};
use crate::facts::ways::NOT_STARTED;

const SLICES: &str =
    "kubectl -n <namespace> get endpointslices -l kubernetes.io/service-name=longhorn-recovery-backend";
const LOG: &str = "kubectl -n <namespace> logs share-manager-<object> --tail=50";

causes! {
    NODE_DOWN = critical "node_down" "the NFS server was on a node that is down, and has not been moved", of_data: NotServed
        fix "Bring node <node> back. If it does not come back, find out why the longhorn-manager on <owner> does not move the server to another \
             node." [
            read "kubectl get nodes -o wide",
            read "kubectl -n <namespace> get pods -o wide -l app=longhorn-manager",
            read "kubectl -n <namespace> get sharemanagers.longhorn.io,volumes.longhorn.io <object>",
        ];
    VOLUME_NOT_ATTACHED = critical "volume_not_attached"
        "the NFS server waits for its volume, which is not attached", of_data: NotServed
        fix "Fix the attach first: the NFS server starts once the volume is attached." [
            read "kubectl -n <namespace> get volumeattachments.longhorn.io <object> -o yaml",
            read "kubectl -n <namespace> get sharemanagers.longhorn.io,volumes.longhorn.io <object>",
        ];
    POD_NOT_STARTED = critical "pod_not_started" "the pod of the NFS server does not start", of_data: NotServed
        fix "Read the pod's Events to find out why it does not start: an image that cannot be pulled, no node that accepts it, or a mount that \
             fails." [
            read "kubectl -n <namespace> describe pod <pod>",
            read "kubectl -n <namespace> get sharemanagers.longhorn.io,volumes.longhorn.io <object>",
        ]
        ways NOT_STARTED;
    POD_FAILED = critical "pod_failed" "the pod of the NFS server ended and is not replaced", of_data: NotServed
        fix "Read why the pod ended. Then find out why the longhorn-manager on <owner> does not replace it. Deleting the ended pod makes that \
             manager check again." [
            read "kubectl -n <namespace> logs <pod> --tail=50",
            read "kubectl -n <namespace> describe pod <pod>",
            change "kubectl -n <namespace> delete pod <pod>",
        ] proven "the pod has ended, and holds no data";
    POD_MISSING = critical "pod_missing" "the pod of the NFS server is missing", of_data: NotServed
        fix "Find out why the longhorn-manager on <owner> does not create the pod: only that manager does." [
            read "kubectl -n <namespace> get events --field-selector involvedObject.name=share-manager-<object>",
            read "kubectl -n <namespace> get pods -o wide -l app=longhorn-manager",
            read "kubectl -n <namespace> get sharemanagers.longhorn.io,volumes.longhorn.io <object>",
        ];
    NOT_SERVING = critical "not_serving" "the pod of the NFS server runs, but the server is not ready", of_data: NotServed
        fix "Read the log of the server. If nothing in it advances, delete its pod: Longhorn creates another. Pods that use the claim may need a \
             restart." [
            read "kubectl -n <namespace> logs <pod> --tail=50",
            read "kubectl -n <namespace> describe pod <pod>",
            change "kubectl -n <namespace> delete pod <pod>",
        ] proven "the server does not serve and its log does not advance; the data is in the volume, not in the pod";
    RESTARTING = critical "restarting"
        "the pod of the NFS server is replaced repeatedly, and each time its clients wait" but "warning for fewer than six times in half an hour"
        fix "Find out what ends the server: memory, its node, a recovery backend that does not answer (Service longhorn-recovery-backend), or from \
             1.7 on the lease of fast failover, which a busy node renews too late." [
            read "kubectl -n <namespace> get events --field-selector involvedObject.name=share-manager-<object>",
            read "kubectl -n <namespace> logs <pod> --tail=50",
            read "kubectl -n <namespace> describe pod <pod>",
        ]
        way MANAGERS_RESTART "managers, which serve its recovery backend, restart"
            fix "Find out why the managers, which serve its recovery backend, restart. The NFS server of <release> ends whenever Service \
                 longhorn-recovery-backend does not answer; releases from 1.5.5 and 1.6.2 on wait for it. Do not restart managers until all are \
                 Ready."
            [read "kubectl -n <namespace> get pods -o wide -l app=longhorn-manager", read SLICES, read LOG]
        way BACKEND_RESTARTS "its recovery backend restarts"
            fix "Find out why the pods of its recovery backend restart. The NFS server of <release> ends whenever Service longhorn-recovery-backend \
                 does not answer; releases from 1.5.5 and 1.6.2 on wait for it. Do not restart these pods until all are Ready."
            [read "kubectl -n <namespace> get pods -o wide -l app=longhorn-recovery-backend", read SLICES, read LOG];
}

/// The volume is not served at all.
pub(super) const DOWN: &[&Cause] =
    &[&NODE_DOWN, &VOLUME_NOT_ATTACHED, &POD_NOT_STARTED, &POD_FAILED, &POD_MISSING, &NOT_SERVING];
