//! Why a disk or a node cannot be used.

use crate::check::{Cause, causes};

causes! {
    DISK_UUID_MISMATCH = warning "disk_uuid_mismatch"
        "the path holds another disk than Longhorn remembers, usually because the file system is not mounted"
        fix "Mount the disk at <value> on node <node>, by its UUID in fstab: one that is not mounted, or has another device name after a reboot, is the usual \
             reason, and Longhorn then uses it again. Where the disk was replaced, close the old entry for scheduling, wait until its volumes are \
             healthy without it, and only then remove the entry and add the disk again." [
            read "kubectl -n <namespace> get nodes.longhorn.io <node> -o jsonpath='{.status.diskStatus.<key>}'",
            read "kubectl -n <namespace> get replicas.longhorn.io -l longhornnode=<node>",
        ];
    DISK_UUID_SHARED = warning "disk_uuid_shared"
        "disks of several nodes have the same UUID, as after a machine was cloned, so Longhorn mistakes one for the other";
    FILE_SYSTEM_CHANGED = warning "file_system_changed"
        "Longhorn's configuration file is gone from the path of the disk: a mount error, or the file system was recreated"
        fix "See what is mounted at <value> on node <node> (findmnt -T <value>) and mount the disk there again: Longhorn then uses it. Where the file \
             system was recreated, its replicas are gone; close the entry for scheduling, wait until its volumes are healthy without it, and only \
             then remove it and add the disk again." [
            read "kubectl -n <namespace> get nodes.longhorn.io <node> -o jsonpath='{.status.diskStatus.<key>}'",
            read "kubectl -n <namespace> get replicas.longhorn.io -l longhornnode=<node>",
        ];
    FILE_SYSTEM_SHARED = warning "file_system_shared"
        "the disk lies on the same file system as another disk of the node"
        fix "Mount the disk at <value> on node <node>: two entries lie on one file system, usually because a mount failed. Where only one disk is \
             meant, remove the entry that is not ready." [
            read "kubectl -n <namespace> get nodes.longhorn.io <node> -o jsonpath='{.status.diskStatus.<key>}'",
            read "kubectl -n <namespace> get replicas.longhorn.io -l longhornnode=<node>",
        ];
    FILE_SYSTEM_READ_ONLY = warning "file_system_read_only" "the file system of the disk is read-only"
        fix "Read the kernel log of node <node>: it makes a file system read-only when the device gives errors. Check the device, repair the file \
             system while nothing uses it, and mount it again at <value>." [
            read "kubectl -n <namespace> get nodes.longhorn.io <node> -o jsonpath='{.status.diskStatus.<key>}'",
            read "kubectl -n <namespace> get replicas.longhorn.io -l longhornnode=<node>",
        ];
    DISK_UNREADABLE = warning "disk_unreadable"
        "the manager of the node cannot read the disk: its path is gone or gives errors"
        fix "On node <node> see whether <value> exists and can be read (ls <value>, dmesg). A missing mount, a device with I/O errors or a stale mount \
             are the usual reasons; Longhorn then uses the disk again." [
            read "kubectl -n <namespace> get nodes.longhorn.io <node> -o jsonpath='{.status.diskStatus.<key>}'",
            read "kubectl -n <namespace> get replicas.longhorn.io -l longhornnode=<node>",
        ];
    DISK_SERVICE_UNREACHABLE = warning "disk_service_unreachable"
        "no instance manager of the node serves the disk, or its data engine is switched off"
        fix "See the instance manager of node <node> that serves the disk, and whether the data engine of the disk (block-type disks: v2) is \
             switched on." [
            read "kubectl -n <namespace> get nodes.longhorn.io <node> -o jsonpath='{.status.diskStatus.<key>}'",
            read "kubectl -n <namespace> get replicas.longhorn.io -l longhornnode=<node>",
            read "kubectl -n <namespace> get instancemanagers.longhorn.io -l longhorn.io/node=<node>",
        ];
    DISK_NOT_READY = warning "disk_not_ready"
        "Longhorn reports the disk as not ready, for a reason that this check does not know"
        fix "On node <node> see what the reason in the evidence means for <value> (ls <value>, dmesg); Longhorn uses the disk again once it is gone." [
            read "kubectl -n <namespace> get nodes.longhorn.io <node> -o jsonpath='{.status.diskStatus.<key>}'",
            read "kubectl -n <namespace> get replicas.longhorn.io -l longhornnode=<node>",
        ];
    DISK_FULL = warning "disk_full"
        "the disk takes no more replicas: too little is free, or too much is already promised to volumes";
    DISK_NEARLY_FULL = info "disk_nearly_full"
        "less than a tenth of what may be promised to volumes is left, or the disk is close to its least free space";
    NODE_NOT_READY = warning "node_not_ready" "the Kubernetes node has not been Ready for five minutes";
    NODE_PRESSURE = warning "node_pressure"
        "the kubelet reports pressure on the node, so Longhorn uses neither the node nor its disks";
    NODE_ENVIRONMENT = info "node_environment"
        "the node lacks something that some volumes need" but "a warning where such volumes are there";
}

/// A disk of a node is not ready.
pub const OF_DISKS: &[&Cause] = &[
    &DISK_UUID_MISMATCH,
    &FILE_SYSTEM_CHANGED,
    &FILE_SYSTEM_SHARED,
    &FILE_SYSTEM_READ_ONLY,
    &DISK_UNREADABLE,
    &DISK_SERVICE_UNREACHABLE,
    &DISK_NOT_READY,
];
