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
        "a backing image should have a copy on a disk, but the status never shows that copy"
        fix "Read the logs of disk <disk>'s backing image manager and node <node>'s longhorn-manager. They show why the copy is not created."
            [read IMAGE_MANAGERS, read IMAGE, read MANAGERS]
        way ALIKE "another disk's UUID begins with the same four characters"
            fix "Upgrade to 1.9.2 or later. Until then, evict one of the two disks whose UUIDs begin alike, or give an empty one a new UUID.";
    MISSING_DISK = warning "missing_disk" "a backing image copy is on a disk that no node lists"
        fix "Bring disk <disk> back. If it is lost and another disk has a ready copy, set evictionRequested on the lost copy. Longhorn \
             then creates a new copy if needed." [
            read IMAGE,
            read DISK_UUIDS,
            change "kubectl -n <namespace> patch backingimages.longhorn.io <object> --type merge -p \
                '{\"spec\":{\"diskFileSpecMap\":{\"<key>\":{\"evictionRequested\":true}}}}'",
        ];
    STALE_BACKING_IMAGE_FLAG = warning "stale_backing_image_flag"
        "a backing image copy still has evictionRequested, although its eviction was cancelled"
        fix "Set evictionRequested to false on the backing image copy: Longhorn (1.7.0 to 1.12.1) does not reset it." [
            change "kubectl -n <namespace> patch backingimages.longhorn.io <object> --type merge -p \
                '{\"spec\":{\"diskFileSpecMap\":{\"<key>\":{\"evictionRequested\":false}}}}'",
            read IMAGE,
        ];
    STALE_REPLICA_FLAG = warning "stale_replica_flag"
        "a replica still has evictionRequested, although its disk and node are not being evicted or drained"
        fix "Make sure that node <node>'s longhorn-manager is running and the replica's disk is ready: Longhorn then \
             resets evictionRequested. If it does not, set the replica's evictionRequested to false." [
            read MANAGERS,
            read NODE,
            read "kubectl -n <namespace> get replicas.longhorn.io <object> -o yaml",
            change "kubectl -n <namespace> patch replicas.longhorn.io <replica> --type merge -p '{\"spec\":{\"evictionRequested\":false}}'",
        ];
    SUSPENDED_NODE_DOWN = warning "suspended_node_down"
        "eviction is requested on a node that is down, so Longhorn silently suspends the eviction"
        fix "Bring node <node> back and wait until its disk is empty. If the node is lost, delete it in Kubernetes only once every volume has a \
             healthy replica elsewhere."
            [read ON_NODE, read NODE, read "kubectl -n <namespace> get volumes.longhorn.io"]
            proven "the node is lost, and every volume has a healthy replica elsewhere";
    DISK_NOT_READY_HIDES_REPLICAS = warning "disk_not_ready_hides_replicas"
        "a disk being evicted is not ready and looks empty, although it holds replicas"
        fix "Make disk <disk> of node <node> ready (mount, file system, device). If the disk is lost, delete each \
             replica once its volume is healthy without it, then remove the disk."
            [read "kubectl -n <namespace> get replicas.longhorn.io -l longhorndiskuuid=<key> -o wide", read NODE]
            proven "the disk is lost, and each replica is deleted only once its volume is healthy without it";
    NO_CANDIDATE_DISK = warning "no_candidate_disk"
        "Longhorn cannot evict a detached volume's replica, because no disk can take it"
        fix "Allow scheduling on another node or disk, add a disk, or fix the tags and anti-affinity of <claim>. Longhorn attaches the volume once \
             every replica has a disk." [
            read NODES,
            read "kubectl -n <namespace> logs -l app=longhorn-manager -c longhorn-manager --tail=2000 | grep 'No disk candidates'",
            read "kubectl -n <namespace> get volumes.longhorn.io <volume> -o yaml",
        ];
    LAST_RW_REPLICA = warning "last_rw_replica"
        "the replica to evict is the volume's only healthy one, and no other is being rebuilt"
        fix "Back up <claim>. Then find out why no other replica is being rebuilt (concurrent-replica-rebuild-per-node-limit, failing replicas, restore). If \
             the volume is strict-local, detach it and change its data locality." [
            read OF_VOLUME,
            read "kubectl -n <namespace> get settings.longhorn.io concurrent-replica-rebuild-per-node-limit",
            read "kubectl -n <namespace> get events --field-selector involvedObject.name=<volume>",
        ];
    COPY_IN_USE = warning "copy_in_use"
        "eviction of a backing image copy is requested, but a replica staying on that disk needs it"
        fix "Evict the whole node or disk: Longhorn first moves the replicas that need the copy."
            [read ON_NODE, read "kubectl -n <namespace> get backingimages.longhorn.io <backing_image> -o yaml",
             change "kubectl -n <namespace> delete replicas.longhorn.io <replica>"]
            proven "the replica has failed, the disk has lost its backing image, and the volume is healthy without it: otherwise no replica is named"
        way ALREADY_REMOVED "the backing image copy was removed too early, so a replica failed"
            fix "Delete the failed replica once the volume is healthy without it. Then upgrade to 1.8.2, 1.9.1 or later. Do not delete the replica \
                 earlier: a salvage may need it.";
    SCHEDULING_STILL_ALLOWED = warning "scheduling_still_allowed"
        "eviction is requested while scheduling is still allowed, although the webhook rejects that combination"
        fix "Disable scheduling on the node or disk being evicted, or cancel the eviction. Then find out why the validating webhook accepted the change." [
            read NODE,
            read "kubectl get validatingwebhookconfigurations longhorn-webhook-validator -o yaml",
            change "kubectl -n <namespace> patch nodes.longhorn.io <node> --type merge -p '<value>'",
        ];
    DISK_KEYS_DIFFER = warning "disk_keys_differ"
        "a node's spec and status list different disks, so the webhook rejects changes to the node"
        but "info in a recording while the node's manager is running"
        fix "Check that node <node>'s longhorn-manager is running and that each new disk's path exists. The manager then adds the disks to the \
             status." [read MANAGERS, read NODE];
    AUTO_EVICTING_STALE = warning "auto_evicting_stale"
        "a node reports automatic eviction although it is not cordoned"
        fix "Bring node <node>'s longhorn-manager back: it resets status.autoEvicting at its next sync." [read MANAGERS, read NODE];
    DATA_SOURCE_MOVED = warning "data_source_moved"
        "the pod that prepares a backing image is not on the node that its data source names"
        fix "Delete pod <pod>: Longhorn recreates it on the node that the data source names, and the download starts again." [
            change "kubectl -n <namespace> delete pod <pod>",
            read "kubectl -n <namespace> get backingimagedatasources.longhorn.io <object> -o yaml",
            read "kubectl -n <namespace> get pod <pod> -o wide",
        ] proven "the pod runs on a different node from the one in its data source; the download starts again";
    MANAGER_STALE = warning "manager_stale"
        "a backing image manager has an old image or serves a disk that no node lists"
        fix "Find out why Longhorn keeps <object>: read the longhorn-manager's log on its node. Before you delete \
             <object>, check for copies that exist nowhere else." [
            read "kubectl -n <namespace> get backingimagemanagers.longhorn.io <object> -o yaml",
            read MANAGERS,
            read "kubectl -n <namespace> get settings.longhorn.io default-backing-image-manager-image",
        ];
    NO_USABLE_COPY = warning "no_usable_copy"
        "every copy of a backing image has failed or is unknown, so its volumes cannot start"
        fix "Bring back a node with a copy of the backing image. If every copy is lost, recreate the image with the same name and checksum. Other content \
             corrupts its volumes." [read IMAGE, read NODES, read IMAGE_MANAGERS]
        way UNUSED "no volume uses the image"
            fix "<known_error>Find the error in the backing image's message and correct its cause. Then delete the image and create it again. Nothing is lost: \
                 no volume uses it."
            proven "no volume uses the image";
}
