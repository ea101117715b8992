//! Why a disk or a node cannot be used.

use crate::check::{Cause, causes};

causes! {
    DISK_UUID_MISMATCH = warning "disk_uuid_mismatch"
        "the path holds another disk than Longhorn remembers, usually because the file system is not mounted";
    DISK_UUID_SHARED = warning "disk_uuid_shared"
        "disks of several nodes have the same UUID, as after a machine was cloned, so Longhorn mistakes one for the other";
    FILE_SYSTEM_CHANGED = warning "file_system_changed"
        "Longhorn's configuration file is gone from the path of the disk: a mount error, or the file system was recreated";
    FILE_SYSTEM_SHARED = warning "file_system_shared"
        "the disk lies on the same file system as another disk of the node";
    FILE_SYSTEM_READ_ONLY = warning "file_system_read_only" "the file system of the disk is read-only";
    DISK_UNREADABLE = warning "disk_unreadable"
        "the manager of the node cannot read the disk: its path is gone or gives errors";
    DISK_SERVICE_UNREACHABLE = warning "disk_service_unreachable"
        "no instance manager of the node serves the disk, or its data engine is switched off";
    DISK_NOT_READY = warning "disk_not_ready"
        "Longhorn reports the disk as not ready, for a reason that this check does not know";
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
