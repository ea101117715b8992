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
const INSTALL: &str = "Install <value> on node <node> (on immutable nodes: in the node's image). Longhorn checks again every half hour.";
const INSTALL_NFS: &str = "Install an NFS client on node <node> (nfs-common, on RPM systems nfs-utils; on immutable nodes: in the node's image). \
                           Longhorn checks again every half hour.";

causes! {
    DISK_UUID_MISMATCH = warning "disk_uuid_mismatch"
        "the path holds another disk than the one registered, usually because the file system is not mounted"
        fix "Mount the disk at <value> on node <node>, by its UUID in fstab: usually it is not mounted, or its device name changed. If the disk was \
             replaced, disable scheduling on the old entry. Once its volumes are healthy without it, remove the entry and add the disk again." [read DISK, read REPLICAS] proven "the fix asks for a \
                                                                                                                            replaced disk, and \
                                                                                                                            that every volume is \
                                                                                                                            healthy without it";
    DISK_UUID_SHARED = warning "disk_uuid_shared"
        "disks of several nodes have the same UUID (such as after cloning a machine), so Longhorn confuses them"
        fix "Keep the UUID on one node and renew it on the others, one node at a time, while every volume has a healthy replica elsewhere. 1. \
             Disable scheduling on the disk and delete longhorn-disk.cfg at its path. 2. When the disk is not ready, remove it from the node in \
             Longhorn and add it again." [
            read "kubectl -n <namespace> get replicas.longhorn.io -l longhorndiskuuid=<value> -o wide",
            read "kubectl -n <namespace> get nodes.longhorn.io -o yaml | grep -E '^    name:|diskUUID'",
            read "kubectl -n <namespace> get volumes.longhorn.io",
        ] proven "several disks have one UUID; every volume has a healthy replica elsewhere, and nodes are treated one at a time";
    FILE_SYSTEM_CHANGED = warning "file_system_changed"
        "Longhorn's configuration file is missing from the disk's path: a mount error, or a recreated file system"
        fix "Mount the disk again at <value> on node <node> (check with findmnt -T <value>): Longhorn then uses it. If the file system was \
             recreated, its replicas are lost: disable scheduling on the disk. Once its volumes are healthy without it, remove it and add it \
             again." [read DISK, read REPLICAS] proven "the fix asks for a recreated file system, and that every \
                                                                                        volume is healthy without it";
    FILE_SYSTEM_SHARED = warning "file_system_shared"
        "the disk is on the same file system as another disk of the node"
        fix "Mount the disk at <value> on node <node>: two entries are on one file system, usually because a mount failed. If only one disk is \
             meant, remove the entry that is not ready." [read DISK, read REPLICAS] proven "two entries are on one file system; the entry removed \
                                                                                            is not ready, and Longhorn rejects this while replicas \
                                                                                            are on it";
    FILE_SYSTEM_READ_ONLY = warning "file_system_read_only" "the file system of the disk is read-only"
        fix "Read the kernel log of node <node>: a failing device makes the kernel switch a file system to read-only. Check the device, repair the \
             file system while it is unmounted, and mount it again at <value>." [read DISK, read REPLICAS];
    DISK_UNREADABLE = warning "disk_unreadable"
        "the node's manager cannot read the disk: its path is missing or returns errors"
        fix "Check on node <node> whether <value> exists and can be read (ls <value>, dmesg). Usually a mount is missing or stale, or the device \
             has I/O errors. Longhorn uses the disk again once that is fixed." [read DISK, read REPLICAS];
    DISK_SERVICE_UNREACHABLE = warning "disk_service_unreachable"
        "no instance manager of the node serves the disk, or its data engine is switched off"
        fix "Check the instance manager of node <node> that serves the disk, and that the disk's data engine is enabled (block-type disks: v2)." [
            read DISK,
            read REPLICAS,
            read "kubectl -n <namespace> get instancemanagers.longhorn.io -l longhorn.io/node=<node>",
        ];
    DISK_NOT_READY = warning "disk_not_ready"
        "Longhorn reports the disk as not ready, cause unknown"
        fix "Look up the reason given in the evidence for <value> on node <node> (ls <value>, dmesg). Longhorn uses the disk again once that is \
             fixed." [read DISK, read REPLICAS]
        way V2_CREATING "the v2 data engine is still creating its disks"
            fix "Wait while the log of the node's v2 instance manager advances: it brings up its disks one by one, up to ten minutes each (Longhorn \
                 issue 12837). Do not restart it: it would begin with the first disk again.";
    DISK_FAILING = warning "disk_failing"
        "a device under the disk reports that it is failing (SMART, or SPDK's health page of an NVMe)"
        fix "Move the replicas away while the device can still be read: make sure that other disks have room, disable scheduling on this disk, then \
             request its eviction. Replace the device once every volume is healthy without it." [
            read "kubectl -n <namespace> get nodes.longhorn.io <node> -o jsonpath='{.status.diskStatus.<key>.healthData}'",
            read REPLICAS,
            change "kubectl -n <namespace> patch nodes.longhorn.io <node> --type merge -p '{\"spec\":{\"disks\":{\"<disk>\":{\"allowScheduling\":false,\"evictionRequested\":true}}}}'",
        ];
    DISK_FULL = warning "disk_full"
        "the disk cannot take more replicas: too little space is free, or too much is allocated to volumes"
        fix "Free space on disk <disk> of node <node> (unneeded snapshots, volumes and other files), or add a disk or a node. Raising \
             storage-over-provisioning-percentage only postpones the problem. Never delete replicas of degraded or faulted volumes." [read REPLICAS, read DISK, read LIMITS] proven "the fix asks for what is not needed; replicas of degraded and faulted volumes are ruled out"
        way PROMISES_NOTHING "storage-over-provisioning-percentage is 0"
            fix "Raise setting storage-over-provisioning-percentage (default 100): at 0 Longhorn places no replica anywhere." [
                read LIMITS,
                change "kubectl -n <namespace> patch settings.longhorn.io storage-over-provisioning-percentage --type merge -p '{\"value\":\"100\"}'",
            ];
    DISK_EXHAUSTED = critical "disk_exhausted" "the disk has no free space, so replicas on it fail at their next write"
        but "warning if every volume has a healthy replica on another disk"
        fix "Free space on disk <disk> of node <node> now: first other files on its file system, then unneeded snapshots and volumes. \
             Longhorn then salvages the replicas. Do not delete replicas." [
            read "ssh <node> 'df -h <value>; sudo du -xsh <value>/* | sort -h | tail'",
            read REPLICAS,
            read DISK,
        ] proven "the fix asks for what is not needed; no replica is deleted";
    DISK_NEARLY_FULL = info "disk_nearly_full"
        "less than a tenth of the space that may be allocated is left, or the disk is close to its minimum free space"
        fix "Add a disk or a node, or delete unneeded snapshots and volumes, before the next new volume or rebuild. A disk that is small by design \
             can have scheduling disabled: it is then not reported." [read REPLICAS, read DISK, read LIMITS] proven "the fix asks for \
                                                                                                                               what is not needed";
    NO_NODE_READY = critical "no_node_ready"
        "none of the nodes that Longhorn stores data on has been Ready for five minutes", of_data: Unwritten
        fix "Check what the nodes share: if Ready is Unknown, power and the kubelets' connection to the API server (load balancer, certificates, \
             DNS); if it is False, the kubelets' messages. Do not restart, drain or delete any node until you know: machines that only stopped \
             reporting may still serve their volumes." [
            read "kubectl get nodes -o wide",
            read NODE,
            read "kubectl -n <namespace> get pods -o wide",
        ];
    NODE_NOT_READY = warning "node_not_ready" "the Kubernetes node has not been Ready for five minutes"
        fix "Bring node <node> back: power, network, kubelet. If it is lost, switch it off, and delete it only once every volume is healthy without \
             it. Pods with an RWO volume stay bound to it until they are force-deleted, or until setting node-down-pod-deletion-policy does it." [
            read NODE,
            read REPLICAS,
            read "kubectl get pods -A -o wide --field-selector spec.nodeName=<node>",
        ] proven "the node is lost and off, and every volume is healthy without it"
        way REPLICAS_WAIT "replicas there never started"
            fix "Bring node <node> back: power, network, kubelet. If that takes long, delete its replicas that never started, such as <replica>: \
                 they are empty and keep Longhorn from creating others (issue 13571). Do not delete a replica that has been healthy, nor the node, \
                 until every volume is healthy without it." [
                read NODE,
                read "kubectl -n <namespace> get replicas.longhorn.io -l longhornnode=<node> -o custom-columns=NAME:.metadata.name,VOLUME:.spec.volumeName,\
                      HEALTHY:.spec.healthyAt,FAILED:.spec.failedAt",
                change "kubectl -n <namespace> delete replicas.longhorn.io <replica>",
            ] proven "the replica never started, and holds no data";
    NODE_PRESSURE = warning "node_pressure"
        "the kubelet reports pressure on the node, so Longhorn uses neither the node nor its disks"
        fix "Free the resource that node <node> lacks: disk space of the kubelet and the container runtime, memory or process ids. Pods that the \
             kubelet evicts may be Longhorn's own." [read NODE, read "kubectl get events -A --field-selector reason=Evicted"];
    NODE_ENVIRONMENT = info "node_environment"
        "the node lacks something that some volumes need" but "warning if such volumes exist there"
        fix "Install or load what the evidence names on node <node> (on immutable nodes: in the node's image): an NFS client, shared mounts (mount \
             --make-rshared /), or 2 MiB huge pages and a kubelet restart. Longhorn checks again every half hour." [
            read CONDITIONS,
        ]
        way MODULES "kernel modules are not loaded"
            fix "Load <value> on node <node>, now and at every boot. Longhorn checks again every half hour." [
                change "ssh <node> 'sudo modprobe -a <value> && printf \"%s\\n\" <value> | sudo tee /etc/modules-load.d/longhorn.conf'",
                read CONDITIONS,
            ]
        way NOT_SHARED "its mounts are not shared"
            fix "Make the mounts of node <node> shared, now and at every boot: systemd does so, OpenRC, LXC and nodes that are containers do not. \
                 Longhorn checks again every half hour." [change "ssh <node> 'sudo mount --make-rshared /'", read CONDITIONS]
        way PACKAGES_APT "packages are missing (apt)" fix INSTALL [change APT, read CONDITIONS]
        way PACKAGES_YUM "packages are missing (yum)" fix INSTALL [change YUM, read CONDITIONS]
        way PACKAGES "packages are missing" fix INSTALL [read WIDE, read CONDITIONS]
        way NFS_APT "the NFS client is missing (apt)" fix INSTALL_NFS [change APT, read CONDITIONS]
        way NFS_YUM "the NFS client is missing (yum)" fix INSTALL_NFS [change YUM, read CONDITIONS]
        way NFS "the NFS client is missing" fix INSTALL_NFS [read WIDE, read CONDITIONS];
}

/// A disk of a node is not ready.
pub const OF_DISKS: &[&Cause] = &[
    &DISK_UUID_MISMATCH, &FILE_SYSTEM_CHANGED, &FILE_SYSTEM_SHARED, &FILE_SYSTEM_READ_ONLY, &DISK_UNREADABLE,
    &DISK_SERVICE_UNREACHABLE, &DISK_NOT_READY,
];
