//! Why a disk or a node cannot be used.

use crate::check::OfData::Unwritten;
use crate::check::{Cause, causes};

/// What Longhorn says of a disk.
const DISK: &str =
    "kubectl -n <namespace> get nodes.longhorn.io <node> -o jsonpath='{.status.diskStatus.<key>}'";
const REPLICAS: &str = "kubectl -n <namespace> get replicas.longhorn.io -l longhornnode=<node> \
    -o custom-columns=NAME:.metadata.name,VOLUME:.spec.volumeName,SIZE:.spec.volumeSize,DISK:.spec.diskPath,FAILED:.spec.failedAt";
const LIMITS: &str = "kubectl -n <namespace> get settings.longhorn.io storage-minimal-available-percentage storage-over-provisioning-percentage";
const NODE: &str = "kubectl describe node <node>";
const WIDE: &str = "kubectl get node <node> -o wide";
const CONDITIONS: &str =
    "kubectl -n <namespace> get nodes.longhorn.io <node> -o jsonpath='{.status.conditions}'";
const APT: &str = "ssh <node> 'sudo apt-get update && sudo apt-get install -y <value>'";
const YUM: &str = "ssh <node> 'sudo yum install -y <value>'";
const INSTALL: &str = "Install <value> on node <node>, by way of the node's image where nodes are replaced. Longhorn looks again every half hour.";
const INSTALL_NFS: &str = "Install an NFS client on node <node> (nfs-common, on RPM systems nfs-utils), by way of the node's image where nodes are \
    replaced. Longhorn looks again every half hour.";

causes! {
    DISK_UUID_MISMATCH = warning "disk_uuid_mismatch"
        "the path holds another disk than Longhorn remembers, usually because the file system is not mounted"
        fix "Mount the disk at <value> on node <node>, by its UUID in fstab: one that is not mounted, or has another device name after a reboot, is the usual \
             reason, and Longhorn then uses it again. Where the disk was replaced, close the old entry for scheduling, wait until its volumes are \
             healthy without it, and only then remove the entry and add the disk again." [read DISK, read REPLICAS] proven "the disk was replaced, as the reader is to see, and every volume is healthy without it";
    DISK_UUID_SHARED = warning "disk_uuid_shared"
        "disks of several nodes have the same UUID, as after a machine was cloned, so Longhorn mistakes one for the other"
        fix "Keep the UUID on one node. On each of the others, one after the other and while every volume has a healthy replica elsewhere: close its \
             disk for scheduling, delete longhorn-disk.cfg at its path (Longhorn writes a new UUID and calls the disk not ready), then remove the disk \
             from the node in Longhorn, which is refused before, and add it again." [
            read "kubectl -n <namespace> get replicas.longhorn.io -l longhorndiskuuid=<value> -o wide",
            read "kubectl -n <namespace> get nodes.longhorn.io -o yaml | grep -E '^    name:|diskUUID'",
            read "kubectl -n <namespace> get volumes.longhorn.io",
        ] proven "several disks have one UUID; every volume has a healthy replica elsewhere, and one node follows the other";
    FILE_SYSTEM_CHANGED = warning "file_system_changed"
        "Longhorn's configuration file is gone from the path of the disk: a mount error, or the file system was recreated"
        fix "See what is mounted at <value> on node <node> (findmnt -T <value>) and mount the disk there again: Longhorn then uses it. Where the file \
             system was recreated, its replicas are gone; close the entry for scheduling, wait until its volumes are healthy without it, and only \
             then remove it and add the disk again." [read DISK, read REPLICAS] proven "the file system was made again, as the reader is to see, and every volume is healthy without it";
    FILE_SYSTEM_SHARED = warning "file_system_shared"
        "the disk lies on the same file system as another disk of the node"
        fix "Mount the disk at <value> on node <node>: two entries lie on one file system, usually because a mount failed. Where only one disk is \
             meant, remove the entry that is not ready." [read DISK, read REPLICAS] proven "two entries lie on one file system; the one that goes is not ready, and Longhorn refuses while replicas are on it";
    FILE_SYSTEM_READ_ONLY = warning "file_system_read_only" "the file system of the disk is read-only"
        fix "Read the kernel log of node <node>: it makes a file system read-only when the device gives errors. Check the device, repair the file \
             system while nothing uses it, and mount it again at <value>." [read DISK, read REPLICAS];
    DISK_UNREADABLE = warning "disk_unreadable"
        "the manager of the node cannot read the disk: its path is gone or gives errors"
        fix "On node <node> see whether <value> exists and can be read (ls <value>, dmesg). A missing mount, a device with I/O errors or a stale mount \
             are the usual reasons; Longhorn then uses the disk again." [read DISK, read REPLICAS];
    DISK_SERVICE_UNREACHABLE = warning "disk_service_unreachable"
        "no instance manager of the node serves the disk, or its data engine is switched off"
        fix "See the instance manager of node <node> that serves the disk, and whether the data engine of the disk (block-type disks: v2) is \
             switched on." [
            read DISK,
            read REPLICAS,
            read "kubectl -n <namespace> get instancemanagers.longhorn.io -l longhorn.io/node=<node>",
        ];
    DISK_NOT_READY = warning "disk_not_ready"
        "Longhorn reports the disk as not ready, cause unknown"
        fix "On node <node> see what the reason in the evidence means for <value> (ls <value>, dmesg); Longhorn uses the disk again once it is gone." [read DISK, read REPLICAS]
        way V2_CREATING "the v2 data engine is still making its disks"
            fix "The v2 data engine brings up its disks one after the other once its instance manager runs, which may take ten minutes each (Longhorn issue \
                 12837). Wait while the log of that instance manager goes on; a restart begins with the first disk again.";
    DISK_FAILING = warning "disk_failing"
        "a device under the disk says of itself that it fails (SMART, or SPDK's health page of an NVMe)"
        fix "Move the replicas away while the device still reads: make sure that other disks have room, then close the disk for scheduling and ask for \
             its eviction. Replace the device once every volume is healthy without it." [
            read "kubectl -n <namespace> get nodes.longhorn.io <node> -o jsonpath='{.status.diskStatus.<key>.healthData}'",
            read REPLICAS,
            change "kubectl -n <namespace> patch nodes.longhorn.io <node> --type merge -p '{\"spec\":{\"disks\":{\"<disk>\":{\"allowScheduling\":false,\"evictionRequested\":true}}}}'",
        ];
    DISK_FULL = warning "disk_full"
        "the disk takes no more replicas: too little is free, or too much is already promised to volumes"
        fix "Free space on disk <disk> of node <node>, or add a disk or a node: delete snapshots and volumes that no one needs, and other files on the \
             same file system. Never delete replicas of degraded or faulted volumes. Raising storage-over-provisioning-percentage promises more than \
             there is and only postpones the moment." [read REPLICAS, read DISK, read LIMITS] proven "no one needs what goes, as the reader has to know; replicas of degraded and faulted volumes are ruled out"
        way PROMISES_NOTHING "storage-over-provisioning-percentage is 0"
            fix "Raise setting storage-over-provisioning-percentage, which is 0: Longhorn then places no replica anywhere. Its default is 100." [
                read LIMITS,
                change "kubectl -n <namespace> patch settings.longhorn.io storage-over-provisioning-percentage --type merge -p '{\"value\":\"100\"}'",
            ];
    DISK_EXHAUSTED = critical "disk_exhausted" "nothing is free on the disk: replicas on it fail at their next write"
        but "a warning where every volume has a healthy replica on another disk"
        fix "Free space on disk <disk> of node <node> now: other files on the same file system first, then snapshots and volumes that no one needs. \
             Longhorn salvages the replicas once there is room. Do not delete replicas." [
            read "ssh <node> 'df -h <value>; sudo du -xsh <value>/* | sort -h | tail'",
            read REPLICAS,
            read DISK,
        ] proven "no one needs what goes, as the reader has to know; no replica is deleted";
    DISK_NEARLY_FULL = info "disk_nearly_full"
        "less than a tenth of what may be promised to volumes is left, or the disk is close to its least free space"
        fix "Plan room before the next volume or rebuild: add a disk or a node, or delete snapshots and volumes that no one needs. A disk that is small \
             by design can be closed for scheduling; it is not reported then." [read REPLICAS, read DISK, read LIMITS] proven "no one needs what goes, as the reader has to know";
    NO_NODE_READY = critical "no_node_ready"
        "none of the nodes that Longhorn stores data on has been Ready for five minutes", of_data: Unwritten
        fix "Look at what the nodes share before any single one: where Ready is Unknown, the way of their kubelets to the API server (its address and load \
             balancer, the certificates, DNS, the network) and power; where it is False, what the kubelets say. Restart, drain and delete no node before \
             that is known: machines that only stopped reporting may still serve their volumes, and Kubernetes evicts nothing meanwhile." [
            read "kubectl get nodes -o wide",
            read NODE,
            read "kubectl -n <namespace> get pods -o wide",
        ];
    NODE_NOT_READY = warning "node_not_ready" "the Kubernetes node has not been Ready for five minutes"
        fix "Bring node <node> back: power, network, kubelet. Longhorn then uses its replicas again as far as they are in step. If it is lost for good, \
             switch it off and wait until every volume is healthy without it before you delete it. Pods with an RWO volume stay bound to it until \
             they are force-deleted or the setting node-down-pod-deletion-policy does it." [
            read NODE,
            read REPLICAS,
            read "kubectl get pods -A -o wide --field-selector spec.nodeName=<node>",
        ] proven "the node is lost for good and off, and every volume is healthy without it"
        way REPLICAS_WAIT "replicas there never started"
            fix "Bring node <node> back: power, network, kubelet. Where that takes long, delete the replicas there that never started, as <replica>: they hold \
                 nothing, and their volumes get no other replica while they wait (Longhorn issue 13571). Delete no replica there that has been \
                 healthy, and not the node, before every volume is healthy without it." [
                read NODE,
                read "kubectl -n <namespace> get replicas.longhorn.io -l longhornnode=<node> -o custom-columns=NAME:.metadata.name,VOLUME:.spec.volumeName,\
                      HEALTHY:.spec.healthyAt,FAILED:.spec.failedAt",
                change "kubectl -n <namespace> delete replicas.longhorn.io <replica>",
            ] proven "the replica never started, and holds nothing";
    NODE_PRESSURE = warning "node_pressure"
        "the kubelet reports pressure on the node, so Longhorn uses neither the node nor its disks"
        fix "Relieve node <node>: free disk space of the kubelet and the container runtime, memory or process ids. Pods that the kubelet evicts may be \
             Longhorn's own." [read NODE, read "kubectl get events -A --field-selector reason=Evicted"];
    NODE_ENVIRONMENT = info "node_environment"
        "the node lacks something that some volumes need" but "a warning where such volumes are there"
        fix "Install or load on node <node> what the evidence names, by way of the node's image where nodes are replaced: the NFS client (nfs-common, \
             nfs-utils), shared mounts (mount --make-rshared /), 2 MiB huge pages and a restart of the kubelet. Longhorn looks again every half hour." [
            read CONDITIONS,
        ]
        way MODULES "kernel modules are not loaded"
            fix "Load <value> on node <node>, now and at every start. Longhorn looks again every half hour." [
                change "ssh <node> 'sudo modprobe -a <value> && printf \"%s\\n\" <value> | sudo tee /etc/modules-load.d/longhorn.conf'",
                read CONDITIONS,
            ]
        way NOT_SHARED "its mounts are not shared"
            fix "Make the mounts of node <node> shared, and let its start-up do so: systemd does, OpenRC, LXC and container images as nodes do not. Longhorn \
                 looks again every half hour." [change "ssh <node> 'sudo mount --make-rshared /'", read CONDITIONS]
        way PACKAGES_APT "packages are missing; it has apt-get" fix INSTALL [change APT, read CONDITIONS]
        way PACKAGES_YUM "packages are missing; it has yum" fix INSTALL [change YUM, read CONDITIONS]
        way PACKAGES "packages are missing" fix INSTALL [read WIDE, read CONDITIONS]
        way NFS_APT "it has no NFS client; it has apt-get" fix INSTALL_NFS [change APT, read CONDITIONS]
        way NFS_YUM "it has no NFS client; it has yum" fix INSTALL_NFS [change YUM, read CONDITIONS]
        way NFS "it has no NFS client" fix INSTALL_NFS [read WIDE, read CONDITIONS];
}

/// A disk of a node is not ready.
pub const OF_DISKS: &[&Cause] = &[
    &DISK_UUID_MISMATCH, &FILE_SYSTEM_CHANGED, &FILE_SYSTEM_SHARED, &FILE_SYSTEM_READ_ONLY, &DISK_UNREADABLE,
    &DISK_SERVICE_UNREACHABLE, &DISK_NOT_READY,
];
