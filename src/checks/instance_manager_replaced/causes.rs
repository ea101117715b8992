//! Why the pod of an instance manager ended.

use crate::check::causes;

causes! {
    LIVENESS_PROBE = warning "liveness_probe" "the kubelet killed it because its liveness probe failed";
    LIVENESS_LOOP = critical "liveness_loop"
        "the kubelet has killed it at least three times within the hour because its liveness probe failed";
    OOM_KILLED = warning "oom_killed" "it was OOM-killed";
    EVICTED = warning "evicted"
        "it was evicted" but "severity info when a drain evicted it and no volume was affected";
    NODE_LOST = warning "node_lost"
        "its node went down, rebooted or was removed" but "severity info when no engine ended and all volumes have their replicas again";
    TAINTED = warning "tainted"
        "a NoExecute taint on its node, which is Ready, removed it" but "severity info when no engine ended";
    SANDBOX_LOST = warning "sandbox_lost"
        "the kubelet stopped it without a deletion and without a failed probe, as for a sandbox that was lost";
    PANIC = warning "panic" "its process exited with code 2, as after a Go panic";
    SETTINGS_SYNC = info "settings_sync" "Longhorn replaced it while it was idle, to apply settings";
    STALE_CLEANUP = info "stale_cleanup" "Longhorn removed it because it was old or no longer needed";
    DELETED = warning "deleted"
        "its pod was deleted while volumes ran in it" but "severity info when nothing ran in it, by whom is not known";
    UNKNOWN = warning "unknown" "it ended for an unknown reason" but "severity info without any trace of harm, and where it was stopped while nothing ran in it";
}
