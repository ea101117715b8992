//! Why a node is not managed by Longhorn.

use crate::check::causes;

causes! {
    NEVER_STARTED = warning "never_started" "the manager of the node has never finished a start";
    NODE_GONE = warning "node_gone" "the node has left Kubernetes but not Longhorn";
    MANAGER_MISSING = warning "manager_missing"
        "no longhorn-manager runs on the node: its pod is missing, does not start or does not end";
}
