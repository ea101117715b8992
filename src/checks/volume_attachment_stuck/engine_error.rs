//! Why an engine does not start, in its own words: what iscsiadm and the kernel of its node say.

use super::{EVENTS, VOLUME_OBJECTS};
use crate::check::*;
use crate::facts::text;
use crate::facts::ways::{BLACKLIST, MULTIPATH};
use crate::longhorn::{DataEngine, Engine, InstanceManager, Volume, condition};

const ISCSI_LOG: &str = "ssh <node> 'sudo journalctl -u iscsid -n 30 --no-pager; sudo iscsiadm -m session'";
const MANAGERS_THERE: &str = "kubectl -n <namespace> get pods -l longhorn.io/component=instance-manager -o wide --field-selector spec.nodeName=<node>";

// Of the v1 data engine, whose device is an iSCSI session of the node with its own instance manager; and of v2.
ways! { ENGINE_ERROR:
    STALE_RECORD "iscsiadm rejects an old record"
        fix "Move the broken iSCSI record (path in the error) out of its directory on <node>: it can block every engine start there. It \
             holds no data, and sessions continue."
        [read "ssh <node> 'sudo iscsiadm -m node'", read "ssh <node> 'sudo find /etc/iscsi/nodes /var/lib/iscsi/nodes -type f -size -1'", read EVENTS];
    NO_ISCSIADM "iscsiadm is missing"
        fix "Install open-iscsi on <node> (iscsi-initiator-utils on RPM systems) and start iscsid. The volume then attaches automatically."
        [read "ssh <node> 'command -v iscsiadm; systemctl is-active iscsid'", read EVENTS];
    NO_MODULE "kernel module iscsi_tcp is not loaded"
        fix "Load kernel module iscsi_tcp on <node>, now and at every boot. The volume then attaches automatically."
        [change "ssh <node> 'sudo modprobe iscsi_tcp && echo iscsi_tcp | sudo tee /etc/modules-load.d/iscsi_tcp.conf'", read EVENTS];
    KERNEL_LACKS_MODULE "its node's kernel lacks module iscsi_tcp"
        fix "Cordon <node>, so that its pods start elsewhere. Then boot a kernel with module iscsi_tcp there, or install the package that has it \
             (linux-modules-extra on Ubuntu)."
        [read "kubectl get nodes -o wide", change "kubectl cordon <node>", read EVENTS];
    OTHER_KERNEL "the other nodes run a different kernel"
        fix "Cordon <node> and restart its waiting pods: they start elsewhere. Then boot the other nodes' kernel there, or install this kernel's extra \
             modules (iscsi_tcp)."
        [read "kubectl get nodes -o wide", read "ssh <node> 'uname -r; sudo modprobe iscsi_tcp; sudo dmesg | tail'", change "kubectl cordon <node>"];
    NO_DAEMON "iscsid is down"
        fix "Start iscsid on <node>, now and at every boot. The volume then attaches automatically."
        [change "ssh <node> 'sudo systemctl enable --now iscsid'", read ISCSI_LOG];
    DENIED "SELinux or AppArmor denies iscsiadm"
        fix "Read the denials on <node>, and allow the denied access: the SELinux policy is in Longhorn's article \
             volume-attachment-fails-due-to-selinux-denials."
        [read "ssh <node> 'sudo ausearch -m avc -ts recent | grep -i iscsi'", read EVENTS];
    MULTIPATHD "multipathd holds the device"
        fix BLACKLIST [read MULTIPATH, read EVENTS];
    BUSY "its previous device is still busy"
        fix "Find out what is still using <claim>'s device on <node>: a mount, a process or multipathd. Release the device, so that the engine can log \
             out and start again."
        [read "ssh <node> 'sudo iscsiadm -m session -P 1; grep longhorn /proc/mounts; sudo lsof /dev/longhorn/<volume>'", read EVENTS];
    STALE_TARGET "stale iSCSI target"
        fix "Cordon <node> and delete the pod that uses <claim>, so that it starts elsewhere. Once no volume is attached to <node>, delete its instance \
             manager's pod: that removes the target."
        [change "kubectl cordon <node>", read MANAGERS_THERE, read EVENTS]
        proven "the pod that cannot start is deleted, and the instance manager's pod only once no volume is attached there";
    NO_LOOPBACK "the node cannot reach its instance manager"
        fix "Allow traffic from <node> to TCP port 3260 of its instance manager pod. Check firewall, NetworkPolicy, routes, and the \
             interface in iscsid.conf."
        [read MANAGERS_THERE, read ISCSI_LOG, read "kubectl -n <namespace> get networkpolicies"];
    EXITS "the engine process exits"
        fix "Read the instance manager's log on <node> to find out why the engine exits. After a reboot or upgrade of \
             the node, check iscsid, module iscsi_tcp and multipathd there."
        [read "kubectl -n <namespace> logs -l longhorn.io/component=instance-manager,longhorn.io/node=<node> --tail=500 | grep <volume>-e", read ISCSI_LOG];
    V2_REPLICA_UNREACHED "its engine cannot reach a replica"
        fix "Check that <node> can reach the replica's v2 instance manager at the address in the error. Longhorn uses the network in \
             setting storage-network, otherwise the pod network."
        [read VOLUME_OBJECTS, read MANAGERS_THERE, read "kubectl -n <namespace> get settings.longhorn.io storage-network"];
    V2_INITIATOR "its v2 initiator fails"
        fix "Check on <node> that kernel module nvme_tcp is loaded and huge pages are free. Then read the error and the log of the v2 instance manager there."
        [read VOLUME_OBJECTS, read "ssh <node> 'lsmod | grep -E \"nvme_tcp|vfio_pci|uio_pci_generic\"; grep Huge /proc/meminfo'", read MANAGERS_THERE];
}

/// What stands in the error of an engine of v1, in lower case, the more particular first. The engine calls iscsiadm in the namespaces of its
/// node (longhorn/go-iscsi-helper iscsi/initiator.go; open-iscsi usr/iscsiadm.c and include/iscsi_err.h; Longhorn engine issue 226,
/// longhorn issues 6417, 12548 and 13420).
const SIGNS: [(&[&str], &Way); 10] = [
    (&["unknown parameter name node.", "to delete node: no such file", "/default invalid"], &STALE_RECORD),
    (
        &["iscsiadm: not found", "iscsiadm: no such file", "iscsiadm\": executable file not found"],
        &NO_ISCSIADM,
    ),
    // ENOENT of libkmod
    (&["kmod error -2", "module iscsi_tcp not found"], &KERNEL_LACKS_MODULE),
    (&["iscsi driver not found", "could not load transport"], &NO_MODULE),
    (&["connect to iscsid", "connect to iscsi daemon", "iscsid is not running"], &NO_DAEMON),
    (&["avc: ", "selinux", "iscsiadm: permission denied", "nsenter: permission denied"], &DENIED),
    (&["multipath", "mpath"], &MULTIPATHD),
    // tgtd of the instance manager still has the target of a process that ended (longhorn/go-iscsi-helper iscsi/target.go)
    (&["this target already exists", "this target is still active"], &STALE_TARGET),
    (&["resource busy", "could not logout", "failed to logout", "device is busy"], &BUSY),
    (
        &["cannot make connection to", "iscsi pdu timed out", "login retries (reopen_max)", "--login]"],
        &NO_LOOPBACK,
    ),
];

/// Where an engine runs, or between two starts is to run again.
fn node<'a>(cluster: &'a Cluster, engine: &'a Engine) -> &'a str {
    let wanted = cluster.objects.volumes.get(&engine.spec.volume_name).map(|volume| &volume.spec.node_id);
    wanted.filter(|_| engine.spec.node_id.is_empty()).unwrap_or(&engine.spec.node_id)
}

/// Everything that objects say of why the engine does not start.
pub(super) fn texts<'a>(cluster: &'a Cluster, engine: Option<&'a Engine>) -> Vec<&'a str> {
    let Some(engine) = engine else { return Vec::new() };
    let of_manager = |manager: &'a InstanceManager| {
        let maps = [&manager.status.instance_engines, &manager.status.instances];
        maps.into_iter().filter_map(|map| map.get(engine.metadata.name.as_str()))
    };
    let managers = cluster.instance_managers_on(node(cluster, engine)).flat_map(of_manager);
    let said = managers.map(|instance| instance.status.error_msg.as_str());
    let created = condition(&engine.status.conditions, "InstanceCreation");
    said.chain(created.map(|created| created.message.as_str()))
        .filter(|said| !said.trim().is_empty())
        .collect()
}

/// What a log of its node says of it: the manager repeats there what a process that crashed has written (longhorn-manager v1.3.3 to v1.12.1
/// controller/instance_handler.go printInstanceLogs).
pub(super) fn logged<'a>(cluster: &'a Cluster, engine: Option<&'a Engine>) -> Option<&'a str> {
    let engine = engine?;
    let node = node(cluster, engine);
    let managers = cluster.instance_managers_on(node).map(|manager| &manager.metadata.name);
    let pods = managers.filter_map(|name| cluster.objects.pods.get(name));
    let pods = pods.chain(cluster.manager_pod_on(node));
    let lines = pods.flat_map(|pod| cluster.history.logs_of(pod)).flat_map(|log| log.text.lines());
    let tells = |line: &&str| {
        let line = line.to_ascii_lowercase();
        line.contains(engine.metadata.name.as_str())
            && SIGNS.iter().any(|(parts, _)| parts.iter().any(|part| line.contains(part)))
    };
    lines.filter(tells).last()
}

/// That line as evidence.
pub(super) fn of_log(line: &str) -> Evidence {
    EvidenceSource::Log.says(format!("the engine's log says: {}", text::quoted(line))).quoting(line)
}

/// The way in which it fails. iSCSI has no part in a volume of v2, whose error speaks for itself.
pub(super) fn failure<'a>(volume: &Volume, said: impl IntoIterator<Item = &'a str>) -> Option<&'static Way> {
    let said: Vec<String> = said.into_iter().map(str::to_ascii_lowercase).collect();
    let names = |parts: &[&str]| said.iter().any(|said| parts.iter().any(|part| said.contains(part)));
    // up to 1.5 another field says which engine it is
    if volume.spec.data_engine.or_v1() == DataEngine::V2 || names(&["nvme device", "nvme initiator", "spdk"])
    {
        return Some(if names(&["failed to get replica"]) { &V2_REPLICA_UNREACHED } else { &V2_INITIATOR });
    }
    SIGNS.iter().find(|(parts, _)| names(parts)).map(|(_, way)| *way)
}
