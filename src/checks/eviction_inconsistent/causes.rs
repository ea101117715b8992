//! Why fields contradict each other about eviction.

use crate::check::causes;

causes! {
    COPY_NOT_STARTING = warning "copy_not_starting"
        "a copy of a backing image is wanted on a disk but its status never appears";
    MISSING_DISK = warning "missing_disk" "a copy of a backing image is on a disk that no node lists";
    STICKY_BACKING_IMAGE_FLAG = warning "sticky_backing_image_flag"
        "a copy still has evictionRequested although no one requests eviction any longer";
    STALE_REPLICA_FLAG = warning "stale_replica_flag"
        "a replica is asked to leave although neither its disk, its node nor a drain asks for it";
    SUSPENDED_NODE_DOWN = warning "suspended_node_down"
        "eviction is requested on a node that is down: Longhorn suspends it silently";
    DISK_NOT_READY_HIDES_REPLICAS = warning "disk_not_ready_hides_replicas"
        "an evicted disk is not ready and looks empty although replicas are on it";
    NO_CANDIDATE_DISK = warning "no_candidate_disk"
        "a detached volume has a replica to evict but is not attached for it: no disk can take the replica";
    LAST_RW_REPLICA = warning "last_rw_replica"
        "the replica that is asked to leave is the only good one and no other is being rebuilt";
    COPY_IN_USE = warning "copy_in_use"
        "a copy is asked to leave while a replica on the same disk, which does not leave, needs it";
    SCHEDULING_STILL_ALLOWED = warning "scheduling_still_allowed"
        "eviction is requested where scheduling is allowed, which the webhook refuses";
    DISK_KEYS_DIFFER = warning "disk_keys_differ"
        "spec and status of a node list different disks: changes of the node are refused"
        but "info in a recording while the node's manager works: a disk may just have been added or removed";
    AUTO_EVICTING_STALE = warning "auto_evicting_stale"
        "a node says that it is evicting automatically although it is not cordoned";
    DATA_SOURCE_MOVED = warning "data_source_moved"
        "the pod that prepares a backing image runs on another node than its data source names";
    MANAGER_STALE = warning "manager_stale"
        "a backing image manager has an old image or serves a disk that no node lists";
    NO_USABLE_COPY = warning "no_usable_copy"
        "every copy of a backing image is failed or unknown: volumes on it cannot start";
}
