//! Why fields contradict each other about eviction.

use crate::check::causes;

const IMAGE: &str = "kubectl -n <namespace> get backingimages.longhorn.io <object> -o yaml";
const NODE: &str = "kubectl -n <namespace> get nodes.longhorn.io <node> -o yaml";
const NODES: &str = "kubectl -n <namespace> get nodes.longhorn.io";
const DISK_UUIDS: &str =
    "kubectl -n <namespace> get nodes.longhorn.io -o yaml | grep -E '^    name:|diskUUID'";
const MANAGERS: &str = "kubectl -n <namespace> get pods -l app=longhorn-manager -o wide";
const ON_NODE: &str = "kubectl -n <namespace> get replicas.longhorn.io -l longhornnode=<node> -o wide";
const OF_VOLUME: &str = "kubectl -n <namespace> get replicas.longhorn.io -l longhornvolume=<volume> \
    -o custom-columns=NAME:.metadata.name,NODE:.spec.nodeID,STATE:.status.currentState,HEALTHY:.spec.healthyAt,FAILED:.spec.failedAt";
const IMAGE_MANAGERS: &str = "kubectl -n <namespace> get backingimagemanagers.longhorn.io \
    -o custom-columns=NAME:.metadata.name,NODE:.spec.nodeID,DISK:.spec.diskUUID,STATE:.status.currentState";

causes! {
    COPY_NOT_STARTING = warning "copy_not_starting"
        "a copy of a backing image is wanted on a disk, but its status never appears"
        fix "Find out why the copy is not created: read the logs of the backing image manager of disk <disk> and of the longhorn-manager of node \
             <node>." [read IMAGE_MANAGERS, read IMAGE, read MANAGERS]
        way ALIKE "another disk's UUID begins with the same four characters"
            fix "Upgrade to 1.9.2 or later. Until then, keep copies off one of the two disks: request its eviction, or give it a new UUID while it \
                 is empty.";
    MISSING_DISK = warning "missing_disk" "a copy of a backing image is on a disk that no node lists"
        fix "Bring disk <disk> back. If it is lost and another disk has a ready copy, set evictionRequested on the lost copy: Longhorn then creates \
             another where one is missing." [
            read IMAGE,
            read DISK_UUIDS,
            change "kubectl -n <namespace> patch backingimages.longhorn.io <object> --type merge -p '{\"spec\":{\"diskFileSpecMap\":{\"<key>\":{\"evictionRequested\":true}}}}'",
        ];
    STICKY_BACKING_IMAGE_FLAG = warning "sticky_backing_image_flag"
        "a copy still has evictionRequested, although its eviction was cancelled"
        fix "Reset evictionRequested on the backing image by hand: Longhorn (1.7.0 to 1.12.1) does not." [
            change "kubectl -n <namespace> patch backingimages.longhorn.io <object> --type merge -p '{\"spec\":{\"diskFileSpecMap\":{\"<key>\":{\"evictionRequested\":false}}}}'",
            read IMAGE,
        ];
    STALE_REPLICA_FLAG = warning "stale_replica_flag"
        "a replica has evictionRequested, although neither its disk, its node nor a drain requests it"
        fix "Make sure that the longhorn-manager of node <node> runs and the replica's disk is ready: it then resets the flag. Otherwise reset it by \
             hand." [
            read MANAGERS,
            read NODE,
            read "kubectl -n <namespace> get replicas.longhorn.io <object> -o yaml",
            change "kubectl -n <namespace> patch replicas.longhorn.io <replica> --type merge -p '{\"spec\":{\"evictionRequested\":false}}'",
        ];
    SUSPENDED_NODE_DOWN = warning "suspended_node_down"
        "eviction is requested on a node that is down: Longhorn suspends it silently"
        fix "Bring node <node> back until the disk is empty. If it is lost, check that every volume has a healthy replica elsewhere. Only then delete \
             the node in Kubernetes." [read ON_NODE, read NODE, read "kubectl -n <namespace> get volumes.longhorn.io"] proven "the node is lost, and every volume has a healthy replica elsewhere";
    DISK_NOT_READY_HIDES_REPLICAS = warning "disk_not_ready_hides_replicas"
        "a disk being evicted is not ready and looks empty, although it holds replicas"
        fix "Make disk <disk> of node <node> ready again: mount, file system, device. Only if it is lost, delete each replica once its volume is \
             healthy without it, then the disk." [read "kubectl -n <namespace> get replicas.longhorn.io -l longhorndiskuuid=<key> -o wide", read NODE] proven "the disk is lost, and each replica is deleted only once its volume is healthy without it";
    NO_CANDIDATE_DISK = warning "no_candidate_disk"
        "a detached volume has a replica to evict but does not attach, because no disk can take the replica"
        fix "Make room: enable scheduling on another node or disk, add a disk, or fix the tags and anti-affinity of <claim>. Longhorn attaches the \
             volume once every replica has a disk." [
            read NODES,
            read "kubectl -n <namespace> logs -l app=longhorn-manager -c longhorn-manager --tail=2000 | grep 'No disk candidates'",
            read "kubectl -n <namespace> get volumes.longhorn.io <volume> -o yaml",
        ];
    LAST_RW_REPLICA = warning "last_rw_replica"
        "the replica to evict is the only good one, and no other is being rebuilt"
        fix "Back the volume up. Then find out why no other replica of <claim> is rebuilt (rebuild limit, failing replicas, restore). Change a \
             strict-local volume's data locality while it is detached." [
            read OF_VOLUME,
            read "kubectl -n <namespace> get settings.longhorn.io concurrent-replica-rebuild-per-node-limit",
            read "kubectl -n <namespace> get events --field-selector involvedObject.name=<volume>",
        ];
    COPY_IN_USE = warning "copy_in_use"
        "eviction of a copy is requested, but a replica that stays on its disk needs it"
        fix "Evict the whole node or disk, so that the replicas that need the copy leave first." [
            read ON_NODE,
            read "kubectl -n <namespace> get backingimages.longhorn.io <backing_image> -o yaml",
            change "kubectl -n <namespace> delete replicas.longhorn.io <replica>",
        ] proven "the replica has failed, the disk has lost its backing image, and the volume is healthy without it: otherwise no replica is named"
        way ALREADY_REMOVED "it was removed under a replica, which failed"
            fix "Delete the failed replica once the volume is healthy elsewhere. Upgrade to 1.8.2, 1.9.1 or later. Do not delete the replica \
                 before: it may be needed for a salvage.";
    SCHEDULING_STILL_ALLOWED = warning "scheduling_still_allowed"
        "eviction is requested while scheduling is allowed, which the webhook rejects"
        fix "Disable scheduling on what is being evicted, or withdraw the request. Then find out why the validating webhook let the change through." [
            read NODE,
            read "kubectl get validatingwebhookconfigurations longhorn-webhook-validator -o yaml",
            change "kubectl -n <namespace> patch nodes.longhorn.io <node> --type merge -p '<value>'",
        ];
    DISK_KEYS_DIFFER = warning "disk_keys_differ"
        "spec and status of a node list different disks, so changes of the node are rejected"
        but "info in a recording while the node's manager works, as a disk may just have been added or removed"
        fix "Find out why the longhorn-manager of node <node> does not add the disks: it may be down, or the path of a new disk may be missing." [
            read MANAGERS, read NODE,
        ];
    AUTO_EVICTING_STALE = warning "auto_evicting_stale"
        "a node reports automatic eviction although it is not cordoned"
        fix "Bring the longhorn-manager of node <node> back: it resets the field at its next sync." [read MANAGERS, read NODE];
    DATA_SOURCE_MOVED = warning "data_source_moved"
        "the pod that prepares a backing image runs on another node than its data source names"
        fix "Delete the pod: Longhorn recreates it on the node that the data source names, and the download starts again." [
            change "kubectl -n <namespace> delete pod <pod>",
            read "kubectl -n <namespace> get backingimagedatasources.longhorn.io <object> -o yaml",
            read "kubectl -n <namespace> get pod <pod> -o wide",
        ] proven "the pod runs on another node than its data source names; the download starts again";
    MANAGER_STALE = warning "manager_stale"
        "a backing image manager has an old image or serves a disk that no node lists"
        fix "Find out why Longhorn does not remove it: read the log of its node's longhorn-manager, and check for copies that have no other place \
             yet." [
            read "kubectl -n <namespace> get backingimagemanagers.longhorn.io <object> -o yaml",
            read MANAGERS,
            read "kubectl -n <namespace> get settings.longhorn.io default-backing-image-manager-image",
        ];
    NO_USABLE_COPY = warning "no_usable_copy"
        "every copy of a backing image is failed or unknown, so volumes on it cannot start"
        fix "Bring a node with a copy back. If every copy is lost, prepare the image again under its name, with identical content (compare checksums): \
             any other content corrupts its volumes." [read IMAGE, read NODES, read IMAGE_MANAGERS]
        way UNUSED "no volume uses the image"
            fix "Fix what the image's message names, then delete the image and prepare it again. Nothing is lost: no volume uses it."
            proven "no volume uses the image";
}
