//! Why an instance manager does not run.

use crate::check::causes;

causes! {
    PANIC = critical "panic"
        "its process exited with code 2, as after a Go panic, and no new pod was created" but "warning for the first 3 minutes";
    OOM_KILLED = critical "oom_killed"
        "it was OOM-killed, and no pod followed" but "warning for the first 3 minutes";
    POD_FAILED = critical "pod_failed"
        "its pod has ended and is not recreated" but "warning for the first 3 minutes";
    POD_REJECTED = critical "pod_rejected"
        "its node takes no pod of it: a taint, pressure, or too little of something" but "warning for the first 3 minutes";
    POD_TERMINATING = critical "pod_terminating"
        "its pod has been Terminating for more than 3 minutes, and no other can take its place";
    POD_MISSING = critical "pod_missing" "it has no pod and none is created" but "warning for the first 3 minutes";
    NODE_CORDONED = info "node_cordoned"
        "its node is cordoned, so Longhorn creates no pod for it; expected in a drain";
    NODE_DOWN = warning "node_down" "its node does not answer"
        but "info for the first 5 minutes after a node without replicas was taken out of Kubernetes";
    LABELS_MISSING = warning "labels_missing"
        "its object lacks labels, so Longhorn removes it or, before the fix of issue 9464, cannot sync its node";
    STARTING_STUCK = critical "starting_stuck" "it has been starting for more than 5 minutes";
}
