//! Why a disk or a node cannot be used.

use crate::check::OfData::Unwritten;
use crate::check::{BY_MINIMUM, Cause, causes};
use crate::facts::ways::{BLACKLIST, LIMITS, MULTIPATH, NODE_SAYS, WITHHELD};

/// What Longhorn says of a disk.
const DISK: &str =
    "kubectl -n <namespace> get nodes.longhorn.io <node> -o jsonpath='{.status.diskStatus.<key>}'";
const REPLICAS: &str = "kubectl -n <namespace> get replicas.longhorn.io -l longhornnode=<node> \
    -o custom-columns=NAME:.metadata.name,VOLUME:.spec.volumeName,SIZE:.spec.volumeSize,DISK:.spec.diskPath,FAILED:.spec.failedAt";
const NODE: &str = "kubectl describe node <node>";
const WIDE: &str = "kubectl get node <node> -o wide";
const CONDITIONS: &str =
    "kubectl -n <namespace> get nodes.longhorn.io <node> -o jsonpath='{.status.conditions}'";
const APT: &str = "ssh <node> 'sudo apt-get update && sudo apt-get install -y <key>'";
const YUM: &str = "ssh <node> 'sudo yum install -y <key>'";
const INSTALL: &str = "Install <value> on node <node> (on immutable nodes: in the node's image). Longhorn checks again every half hour.";

causes! {
    DISK_UUID_MISMATCH = warning "disk_uuid_mismatch"
        "a different disk is mounted"
        fix "Mount disk <disk> by UUID (fstab) at <value> on node <node>. If the disk was replaced, disable its scheduling. Once every volume is \
             healthy without it, remove and re-add it." [read DISK, read REPLICAS]
            proven "the fix asks for a replaced disk, and that every volume is healthy without it"
        way NODE_RECREATED "the node was recreated without this disk"
            fix "Pause the node-pool upgrade or autoscaler. If <node>'s old disk exists, mount it again at <value>. \
                 Otherwise remove that disk's entry and add the new disk."
            [read "kubectl get nodes --sort-by=.metadata.creationTimestamp", read REPLICAS, read DISK]
            proven "the machine is another one; the old disk comes first, and Longhorn rejects to remove an entry that has replicas"
        way WIPED "perhaps wiped by the node's upgrade"
            fix "Do not upgrade any other node: a Talos upgrade without --preserve can wipe /var. If it did, restore from backup each volume that \
                 lacks another copy. Then re-add disk <disk>."
            [read "kubectl get nodes -o wide", read REPLICAS, read DISK]
            proven "the fix asks whether the disk was wiped; Longhorn rejects to remove an entry that has replicas"
        way HELD "perhaps multipathd holds its device"
            fix "Mount the disk at <value> on <node> by its multipath device, or blacklist it in /etc/multipath.conf. Until then, do not reboot other \
                 nodes or re-add the disk." [read MULTIPATH, read DISK, read REPLICAS]
        way MOUNTS_SWAPPED "probably swapped with another disk"
            fix "Mount each of <node>'s disks at its own path by UUID (fstab). Each longhorn-disk.cfg must have the diskUUID that Longhorn \
                 expects. Do not wipe or re-add disks: they hold replicas."
            [read "ssh <node> 'grep . /var/lib/*/longhorn-disk.cfg <value>/longhorn-disk.cfg; findmnt; lsblk -f'", read DISK, read REPLICAS]
        way DEVICES_SWAPPED "its device name now points to another disk"
            fix "Compare the disks' serial numbers on <node> (lsblk, /dev/disk/by-id) with those before the restart. Restore the old device names. Do \
                 not wipe or re-add the disks: they hold replicas."
            [read "ssh <node> 'lsblk -o NAME,SERIAL,SIZE; ls -l /dev/disk/by-id'", read DISK, read REPLICAS];
    DISK_UUID_SHARED = warning "disk_uuid_shared"
        "disks on different nodes have the same UUID (as in cloned machines), so Longhorn confuses them"
        fix "Keep the UUID on the original machine (probably <node>, the oldest). Renew it on the others, one node at a time, while every volume has \
             a healthy replica elsewhere. 1. Disable scheduling on that node's disk and delete longhorn-disk.cfg at its path. 2. Once the disk is \
             not ready, remove it from the node in Longhorn and add it again." [
            read "kubectl -n <namespace> get replicas.longhorn.io -l longhorndiskuuid=<value> -o wide",
            read "kubectl -n <namespace> get nodes.longhorn.io -o yaml | grep -E '^    name:|diskUUID'",
            read "kubectl -n <namespace> get volumes.longhorn.io",
        ] proven "several disks have one UUID; every volume has a healthy replica elsewhere, and nodes are treated one at a time";
    FILE_SYSTEM_CHANGED = warning "file_system_changed"
        "the disk's path lacks longhorn-disk.cfg"
        fix "Mount the disk again at <value> on node <node>. If its file system was recreated, disable the disk's scheduling. Once every volume is \
             healthy without it, remove and re-add it." [read DISK, read REPLICAS]
            proven "the fix asks for a recreated file system, and that every volume is healthy without it";
    FILE_SYSTEM_SHARED = warning "file_system_shared"
        "another Longhorn disk shares the disk's file system"
        fix "Mount disk <disk> at <value> on node <node>: after a failed mount, two disks share one file system. If \
             only one disk exists, remove the entry that is not ready." [read DISK, read REPLICAS]
            proven "two entries are on one file system; the entry removed is not ready, and Longhorn rejects this while replicas are on it";
    FILE_SYSTEM_READ_ONLY = warning "file_system_read_only" "the disk's file system is read-only"
        fix "Read node <node>'s kernel log for the device's errors: a failing device makes its file system read-only. Then unmount the file system, repair \
             it, and mount it at <value>." [read DISK, read REPLICAS];
    DISK_UNREADABLE = warning "disk_unreadable"
        "the disk's path cannot be read"
        fix "Check <value> on <node> (ls <value>, dmesg): a mount is missing, or the device has I/O errors. Do not format the device \
             before its data is safe." [read DISK, read REPLICAS]
        way DEVICE_FAILED "its device has failed"
            fix "Add a disk until every volume is healthy without the failed disk. Then disable its scheduling, remove it and replace the device. An eviction \
                 cannot copy from it." [read REPLICAS, read DISK, read "ssh <node> 'sudo dmesg | tail -30'"]
            proven "the fix asks that every volume is healthy without the disk; Longhorn rejects to remove an entry that has replicas"
        way IO_ERRORS "its device has I/O errors"
            fix "Find the device's error in <node>'s kernel log. Once every volume is healthy elsewhere, unmount <value>, then repair or replace \
                 the device. Until then, do not reboot other nodes."
            [read REPLICAS, read DISK, read "ssh <node> 'sudo dmesg | tail -30'"]
        way NO_DEVICE "its PCI device is missing"
            fix "Check on node <node> that PCI device <value> exists and no other driver or virtual machine uses it. If its address changed, add the \
                 disk again with the new address."
            [read "ssh <node> 'lspci -nnk -s <value>; sudo dmesg | grep <value>'", read DISK]
        way NO_HUGE_PAGES "its node has too few huge pages"
            fix "Set aside 1,024 huge pages of 2 MiB on node <node>, also at boot, and restart the kubelet. Or add the disk again by its /dev path \
                 with diskDriver aio."
            [read "ssh <node> 'grep -i huge /proc/meminfo'", read "kubectl -n <namespace> get settings.longhorn.io | grep huge", read DISK];
    DISK_SERVICE_UNREACHABLE = warning "disk_service_unreachable"
        "the disk has no running instance manager"
        fix "Check that node <node>'s instance manager for disk <disk> is running. Then check that the disk's data engine is enabled (block-type disks: v2)."
            [read DISK, read REPLICAS, read "kubectl -n <namespace> get instancemanagers.longhorn.io -l longhorn.io/node=<node>"];
    DISK_NOT_READY = warning "disk_not_ready"
        "the disk is not ready (cause unknown)"
        fix "Check <value> on node <node> (ls <value>, dmesg) for the problem that Longhorn reports. Longhorn uses the disk again once that problem is \
             fixed." [read DISK, read REPLICAS]
        way V2_CREATING "the v2 engine is still creating disks"
            fix "Wait while <node>'s v2 instance manager keeps writing to its log. Each disk needs up to ten minutes (issue 12837). Do \
                 not restart the instance manager: it would start over.";
    DISK_FAILING = warning "disk_failing"
        "a device under the disk reports that it is failing (SMART, or NVMe health read by SPDK)"
        fix "Check that other disks have space for disk <disk>'s replicas. Then disable scheduling on disk <disk> and request its \
             eviction. Replace the device once every volume is healthy without it." [
            read "kubectl -n <namespace> get nodes.longhorn.io <node> -o jsonpath='{.status.diskStatus.<key>.healthData}'",
            read REPLICAS,
            change "kubectl -n <namespace> patch nodes.longhorn.io <node> --type merge -p \
                '{\"spec\":{\"disks\":{\"<disk>\":{\"allowScheduling\":false,\"evictionRequested\":true}}}}'",
        ];
    DISK_FULL = warning "disk_full"
        "the disk cannot take more replicas: too little space is free, or too much is allocated to volumes",
        changed_by: BY_MINIMUM
        fix "Free space on disk <disk> of node <node> (unneeded snapshots, volumes, files), or add a disk. Raising \
             storage-over-provisioning-percentage only delays the shortage. Never delete replicas of degraded or faulted volumes."
            [read REPLICAS, read DISK, read LIMITS]
            proven "the fix asks for what is not needed; replicas of degraded and faulted volumes are ruled out"
        way SNAPSHOTS "one volume's snapshots are filling the disk"
            fix "Delete old snapshots of <claim>: they use most of its disk space. Lower retain in its recurring snapshot job (or set \
                 snapshotMaxCount). Do not lower storage-minimal-available-percentage."
            [read "kubectl -n <namespace> get snapshots.longhorn.io -l longhornvolume=<volume> --sort-by=.status.creationTime", read REPLICAS,
             read "kubectl -n <namespace> get recurringjobs.longhorn.io"]
            proven "the snapshots deleted are old ones, and the volume keeps its data"
        way SPARE_DISK "another disk on the node is disabled"
            fix "Find out why disk <reason> of node <node> is disabled, and enable its scheduling: it has space. Or free space on disk \
                 <disk>. Never delete replicas of degraded volumes." [read "kubectl -n <namespace> get nodes.longhorn.io <node> -o yaml", read REPLICAS]
        ways WITHHELD;
    DISK_EXHAUSTED = critical "disk_exhausted" "the disk has no free space, so replicas on it fail at their next write"
        but "warning if every volume has a healthy replica on another disk"
        fix "Free space on disk <disk> of node <node> now: first files outside its replicas directory, then unneeded snapshots and volumes. Longhorn \
             then salvages the replicas. Do not delete replicas."
            [read "ssh <node> 'df -h <value>; sudo du -xsh <value>/* | sort -h | tail'", read REPLICAS, read DISK]
            proven "the fix asks for what is not needed; no replica is deleted";
    DISK_NEARLY_FULL = info "disk_nearly_full"
        "under 10 % of the disk's allocatable space is left, or its free space is near Longhorn's minimum"
        fix "Add a disk or a node, or delete unneeded snapshots and volumes. If the disk is small by design, disable its scheduling: that clears \
             this finding." [read REPLICAS, read DISK, read LIMITS] proven "the fix asks for what is not needed";
    NO_NODE_READY = critical "no_node_ready"
        "every node with Longhorn data has been NotReady for five minutes", of_data: Unwritten
        fix "Check what the nodes share (power, load balancer, certificates). If Ready is False, read the kubelets' messages. Do not \
             restart, drain or delete any node: it may still serve volumes."
            [read "kubectl get nodes -o wide", read NODE, read "kubectl -n <namespace> get pods -o wide"];
    NODE_NOT_READY = warning "node_not_ready" "the Kubernetes node has been NotReady for five minutes"
        fix "Bring node <node> back. If it is lost, power it off, then force-delete its pods that use volumes. Delete the node only once every volume is \
             healthy without it."
            [read NODE, read REPLICAS, read "kubectl get pods -A -o wide --field-selector spec.nodeName=<node>"]
            proven "the node is lost and off, and every volume is healthy without it"
        way REPLICAS_WAIT "some of its replicas never started"
            fix "Bring node <node> back. Until then, delete only replicas that never started, such as <replica>: they block new ones (Longhorn issue \
                 13571). Do not delete other replicas or the node." [
                read NODE,
                read "kubectl -n <namespace> get replicas.longhorn.io -l longhornnode=<node> -o custom-columns=NAME:.metadata.name,VOLUME:.spec.volumeName,\
                      HEALTHY:.spec.healthyAt,FAILED:.spec.failedAt",
                change "kubectl -n <namespace> delete replicas.longhorn.io <replica>",
            ] proven "the replica never started, and holds no data"
        way NO_OTHER_NODE "the other nodes already have replicas of its volumes"
            fix "Bring <node> back (check power, network, kubelet): no other node can take its replica of volume <volume>. Before you delete a lost <node>, add a \
                 node or lower numberOfReplicas."
        way NODE_RENAMED "its machine now has another node name"
            fix "Restore the machine's old node name (hostname or the kubelet's node-name): Longhorn looks for its replicas under <node>. Do not power \
                 off <value> or delete <node>." [read "kubectl get nodes -o wide", read NODE, read REPLICAS]
        way NODE_MOVED "its machine and disks now belong to another node"
            fix "Do not change the machine: Longhorn uses its disks under its new name, <value>. Once every volume is healthy, delete the old node \
                 <node> in Kubernetes and Longhorn." [read "kubectl get nodes -o wide", read "kubectl -n <namespace> get nodes.longhorn.io", read REPLICAS]
            proven "the machine is Ready under another name with its replicas, and the fix asks for healthy volumes first"
        way KUBELET_SILENT "its kubelet is silent, but the machine is running"
            fix "Restart <node>'s kubelet (or its k3s or rke2 service): the machine is still running. If that fails, check the kubelet's \
                 certificate. Do not power the machine off or force-delete pods."
            [read "ssh <node> 'sudo journalctl -n 50 --no-pager -u kubelet -u k3s-agent -u k3s -u rke2-agent'", read NODE,
             read "kubectl -n <namespace> get leases.coordination.k8s.io"]
        ways NODE_SAYS;
    NODE_NETWORK_DOWN = warning "node_network_down"
        "the node's CNI reports that its pod network is down, so engines lose the replicas on other nodes"
        fix "Fix the CNI plugin on node <node>: read the log of its pod there. Rebuilds and salvages then start automatically. Do not delete replicas or \
             restart instance managers." [
            read "kubectl get pods -A -o wide --field-selector spec.nodeName=<node>",
            read "kubectl describe node <node>",
        ];
    NODE_PRESSURE = warning "node_pressure"
        "the kubelet reports pressure on the node, so Longhorn uses neither the node nor its disks"
        fix "Free up what node <node> is short of: disk space (kubelet or container runtime), memory, or process IDs. Until then, the kubelet may evict \
             Longhorn's own pods." [read NODE, read "kubectl get events -A --field-selector reason=Evicted"]
        way ROOT_FULL "its root file system is nearly full"
            fix "Free space on <node>'s root or container runtime file system: unused images, logs. Until then, the kubelet may evict Longhorn's own pods." [
                read "ssh <node> 'df -h; sudo du -xsh /var/* | sort -h | tail'", read NODE, read "kubectl get events -A --field-selector reason=Evicted",
            ]
        way DISK_PRESSURE "its disk is nearly full"
            fix "Free disk space on <node>: unused images, logs, or old snapshots of <claim>, whose replica there takes up <value>. Until then, the \
                 kubelet may evict Longhorn's own pods."
            [read "ssh <node> 'df -h / /var/lib'", read NODE,
             read "kubectl -n <namespace> get snapshots.longhorn.io -l longhornvolume=<volume> --sort-by=.status.creationTime"];
    NODE_ENVIRONMENT = info "node_environment"
        "the node lacks a package, kernel module or mount option that Longhorn checks for" but "warning if a volume depends on it"
        fix "Provide what node <node> lacks: an NFS client, shared mounts or 2 MiB huge pages. On immutable nodes, change the node image. \
             After adding huge pages, restart the kubelet." [read CONDITIONS]
        way MODULES "required kernel modules are not loaded"
            fix "Load <value> on node <node>, now and at every boot. Longhorn checks again every half hour." [
                change "ssh <node> 'sudo modprobe -a <key> && printf \"%s\\n\" <key> | sudo tee /etc/modules-load.d/longhorn.conf'",
                read CONDITIONS,
            ]
        way NOT_SHARED "mount propagation is off"
            fix "Make node <node>'s mounts shared, now and at every boot. OpenRC, LXC and container nodes (kind, k3d) do not do this themselves. \
                 Longhorn checks again every half hour." [change "ssh <node> 'sudo mount --make-rshared /'", read CONDITIONS]
        way PACKAGES_APT "required apt packages are missing" fix INSTALL [change APT, read CONDITIONS]
        way PACKAGES_YUM "required yum packages are missing" fix INSTALL [change YUM, read CONDITIONS]
        way PACKAGES "required packages are missing" fix INSTALL [read WIDE, read CONDITIONS]
        way NFS_MODULE "kernel module nfs is not loaded"
            fix "Load module nfs on node <node>, now and at every boot. If the kernel lacks that module, install the kernel's extra \
                 modules (linux-modules-extra), or boot another kernel."
            [change "ssh <node> 'sudo modprobe nfs && echo nfs | sudo tee /etc/modules-load.d/longhorn-nfs.conf'", read CONDITIONS]
        way NFS_VERSION "its default NFS version is unsupported"
            fix "Set Defaultvers in /etc/nfsmount.conf on node <node> to 4.0, 4.1 or 4.2, or remove that line. Longhorn checks again every half hour."
            [read "ssh <node> 'grep -r Defaultvers /etc/nfsmount.conf*'", read CONDITIONS]
        way MULTIPATHD "multipathd is running"
            fix BLACKLIST [read MULTIPATH, read CONDITIONS];
}

/// A disk of a node is not ready.
pub const OF_DISKS: &[&Cause] = &[
    &DISK_UUID_MISMATCH, &FILE_SYSTEM_CHANGED, &FILE_SYSTEM_SHARED, &FILE_SYSTEM_READ_ONLY, &DISK_UNREADABLE,
    &DISK_SERVICE_UNREACHABLE, &DISK_NOT_READY,
];
