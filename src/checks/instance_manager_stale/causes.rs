//! Why an old instance manager is still there.

use crate::check::causes;

causes! {
    ORPHAN_HELD = warning "orphan_held"
        "a running instance that no Engine or Replica owns holds it; that never clears by itself";
    STUCK = warning "stuck" "nothing holds it, and yet the longhorn-manager of its node does not remove it";
    DELETION_STUCK = warning "deletion_stuck" "it was deleted minutes ago and is still there";
    ENGINE_UPGRADE_PENDING = info "engine_upgrade_pending"
        "a volume that still runs an older engine image holds it; expected until that is upgraded";
    REATTACH_PENDING = info "reattach_pending"
        "the engine of a volume stays in it until the volume is detached; expected after a live upgrade";
    REPLICA_HELD = info "replica_held"
        "a replica runs in it; expected until its volume is upgraded, rebuilt or attached again";
    NODE_DOWN = info "node_down" "its node does not answer; Longhorn keeps it until the node is back";
    CLEANUP_PENDING = info "cleanup_pending"
        "nothing holds it, or what holds it is starting or stopping; Longhorn should remove it soon";
}
