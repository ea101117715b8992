use super::CHECK;
use crate::testing::*;

const NOW: &str = "2026-03-01T12:00:00Z";
const LONG_AGO: &str = "2026-03-01T11:00:00Z";
const JUST_NOW: &str = "2026-03-01T11:58:00Z";

fn ready(reason: &str, message: &str, since: &str) -> String {
    let status = if reason.is_empty() { "True" } else { "False" };
    format!(
        "{{type: Ready, status: '{status}', reason: '{reason}', message: \"{message}\", lastTransitionTime: '{since}'}}"
    )
}

fn node(name: &str, conditions: &str, disk: &str, storage: &str) -> String {
    format!(
        "apiVersion: longhorn.io/v1beta2\nkind: Node\nmetadata: {{name: {name}, namespace: longhorn-system}}\n\
         spec: {{allowScheduling: true, disks: {{d1: {{path: /data, allowScheduling: true, storageReserved: 0}}}}}}\n\
         status: {{conditions: [{conditions}], diskStatus: {{d1: {{diskUUID: uuid-{name}, conditions: [{disk}]{storage}}}}}}}\n---\n"
    )
}

fn disk(condition: &str) -> String {
    node("n1", &ready("", "", LONG_AGO), condition, "")
}

fn kube(name: &str, status: &str, since: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Node\nmetadata: {{name: {name}}}\nstatus: {{conditions: [{{type: Ready, status: '{status}', \
         lastTransitionTime: '{since}'}}]}}\n---\n"
    )
}

fn replica(name: &str, volume: &str, node: &str, healthy: bool) -> String {
    let healthy = if healthy { "healthyAt: '2026-02-01T00:00:00Z'" } else { "healthyAt: ''" };
    format!(
        "apiVersion: longhorn.io/v1beta2\nkind: Replica\nmetadata: {{name: {name}, namespace: longhorn-system}}\n\
         spec: {{volumeName: {volume}, nodeID: {node}, diskID: uuid-{node}, {healthy}}}\n---\n"
    )
}

/// Where pressure has evicted the manager, Longhorn says only that this is missing.
#[test]
fn a_node_that_evicted_its_manager_is_under_pressure() {
    let missing = node("n1", &ready("ManagerPodMissing", "no manager pod", LONG_AGO), "", "");
    let kubelet = |pressure: &str| {
        kube("n1", "True", LONG_AGO).replace(
            "conditions: [",
            &format!("conditions: [{{type: DiskPressure, status: '{pressure}', lastTransitionTime: '{LONG_AGO}'}}, "),
        )
    };
    let at = |yaml: &str| found(&CHECK, &cluster_at(NOW, yaml));
    assert_eq!(at(&(missing.clone() + &kubelet("True"))), ["warning node_pressure Node n1"]);
    assert!(at(&(missing + &kubelet("False"))).is_empty());
}

#[test]
fn every_reason_of_a_disk_has_its_cause() {
    for (reason, message, cause) in [
        (
            "DiskFilesystemChanged",
            "Disk d1(/data) on node n1 is not ready: record diskUUID doesn't match the one on the disk ",
            "disk_uuid_mismatch",
        ),
        (
            "DiskFilesystemChanged",
            "Disk d1(/data) on node n1 is not ready: cannot find disk config file, maybe due to a mount error",
            "file_system_changed",
        ),
        (
            "DiskFilesystemChanged",
            "Disk d1(/data) on node n1 is not ready: disk has same file system ID 4d2 as other disks [d1 d2]",
            "file_system_shared",
        ),
        (
            "NoDiskInfo",
            "Disk d1(/data) on node n1 is not ready: failed to generate disk config: mkdir /data/replicas: Read-only file system",
            "file_system_read_only",
        ),
        (
            "NoDiskInfo",
            "Disk d1(/data) on node n1 is not ready: failed to get disk stat /data: no such file or directory",
            "disk_unreadable",
        ),
        (
            "NoDiskInfo",
            "Disk d1(0000:04:00.0) on node n1 is not ready: disk is not in ready state, current state: creating",
            "disk_not_ready",
        ),
        ("NoDiskInfo", "Disk d1(/dev/sdb) on node n1 is not ready: current state: error", "disk_not_ready"),
        ("DiskServiceUnreachable", "data engine is disabled", "disk_service_unreachable"),
        ("DiskNotReady", "", "disk_not_ready"),
        ("ReasonOfALaterRelease", "", "disk_not_ready"),
    ] {
        let cluster = cluster_at(NOW, &disk(&ready(reason, message, LONG_AGO)));
        assert_eq!(found(&CHECK, &cluster), [format!("warning {cause} nodes.longhorn.io n1")], "{message}");
        assert_eq!(sample(&run(&CHECK, &cluster), "longhorn_health_disks", &["not_ready"]), Some(1.0));
    }
}

#[test]
fn a_disk_that_comes_late_or_went_with_its_node_is_not_found() {
    let mismatch = |since| ready("DiskFilesystemChanged", "record diskUUID doesn't match", since);
    for yaml in [
        disk(&mismatch(JUST_NOW)),
        disk(&ready("", "", LONG_AGO)),
        // just added
        disk(""),
        // since 1.11 every disk of a node that is down says this
        disk(&ready("NodeNotReady", "Waiting for disk d1", LONG_AGO)),
        // only the manager is away
        node("n1", &ready("ManagerPodDown", "", LONG_AGO), &ready("NodeNotReady", "", LONG_AGO), ""),
        // removed from the spec
        disk(&mismatch(LONG_AGO)).replace("disks: {d1:", "disks: {d2:"),
    ] {
        assert_eq!(found(&CHECK, &cluster_at(NOW, &yaml)), Vec::<String>::new(), "{yaml}");
    }
    // another disk at the path is no matter of time, unless the node is just back
    let of_node = |back| kube("n1", "True", back) + &disk(&mismatch(JUST_NOW));
    assert_eq!(
        found(&CHECK, &cluster_at(NOW, &of_node(LONG_AGO))),
        ["warning disk_uuid_mismatch nodes.longhorn.io n1"]
    );
    assert_eq!(found(&CHECK, &cluster_at(NOW, &of_node(JUST_NOW))), Vec::<String>::new());
    // what is not Ready for lack of a node is told once, of the node
    let down = kube("n1", "Unknown", LONG_AGO) + &disk(&mismatch(LONG_AGO));
    let other = kube("n2", "True", LONG_AGO) + &node("n2", &ready("", "", LONG_AGO), "", "");
    assert_eq!(found(&CHECK, &cluster_at(NOW, &(down + &other))), ["warning node_not_ready Node n1"]);
}

#[test]
fn all_nodes_down_is_critical_and_one_that_is_ready_is_enough() {
    let up = |name: &str| node(name, &ready("", "", LONG_AGO), "", "");
    let three = up("n1") + &up("n2") + &up("n3");
    let kube_nodes = |status: [&str; 3], since: &str| -> String {
        ["n1", "n2", "n3"].iter().zip(status).map(|(name, status)| kube(name, status, since)).collect()
    };
    let of = |yaml: String| found(&CHECK, &cluster_at(NOW, &yaml));
    let whole = "critical no_node_ready DaemonSet longhorn-manager".to_owned();
    let away = ["n1", "n2", "n3"].map(|name| format!("warning node_not_ready Node {name}"));
    let all = |yaml| of(yaml).iter().filter(|told| **told == whole).count();

    let down = three.clone() + &kube_nodes(["Unknown", "False", "Unknown"], LONG_AGO);
    assert_eq!(of(down.clone()), [&[whole.clone()][..], &away].concat());
    // a control plane without disks of Longhorn is up
    assert_eq!(all(down.clone() + &kube("cp", "True", LONG_AGO)), 1);
    let controller = up("cp")
        .replace("disks: {d1: {path: /data, allowScheduling: true, storageReserved: 0}}", "disks: {}");
    assert_eq!(all(down.clone() + &controller + &kube("cp", "True", LONG_AGO)), 1);
    // two are down and the third does not exist any more
    assert_eq!(all(three.clone() + &kube("n1", "False", LONG_AGO) + &kube("n2", "Unknown", LONG_AGO)), 1);

    assert_eq!(all(three.clone() + &kube_nodes(["Unknown", "False", "True"], LONG_AGO)), 0);
    assert_eq!(
        of(three.clone() + &kube_nodes(["Unknown"; 3], JUST_NOW)),
        Vec::<String>::new(),
        "a reboot of all"
    );
    // one that went a moment ago is none of those that are away for good
    let one_new =
        kube("n1", "Unknown", JUST_NOW) + &kube("n2", "Unknown", LONG_AGO) + &kube("n3", "Unknown", LONG_AGO);
    assert_eq!(all(three.clone() + &one_new), 0);
    assert_eq!(all(three), 0, "nodes that were not recorded are not gone");
    assert_eq!(all(down + &up("n4") + &kube("n4", "True", JUST_NOW)), 0, "a new one has come");
}

#[test]
fn what_the_nodes_share_is_told() {
    let yaml = node("n1", &ready("", "", LONG_AGO), "", "")
        + &node("n2", &ready("", "", LONG_AGO), "", "")
        + &kube("n1", "Unknown", LONG_AGO)
        + &kube("n2", "Unknown", "2026-03-01T11:00:40Z")
        + &kube("cp", "True", LONG_AGO);
    let report = run(&CHECK, &cluster_at(NOW, &yaml)).report;
    let finding =
        report.findings.iter().find(|finding| finding.cause == &super::causes::NO_NODE_READY).unwrap();
    assert_eq!(finding.message, "none of the 2 nodes that Longhorn stores data on is Ready");
    let told: Vec<_> = finding.evidence().iter().map(|evidence| evidence.text.as_str()).collect();
    assert_eq!(
        told,
        [
            "n1, n2: Ready is Unknown",
            "the first of them since 2026-03-01T11:00:00Z, the last since 2026-03-01T11:00:40Z",
            "nodes without Longhorn disks: 1 of 1 Ready",
        ]
    );
    assert_eq!(finding.since, Some(time("2026-03-01T11:00:40Z")));
}

#[test]
fn the_age_of_a_disk_without_a_time_is_watched() {
    let yaml = disk("{type: Ready, status: 'False', reason: NoDiskInfo}") + MANAGER;
    let watched = live_at(NOW, &yaml);
    assert!(found(&CHECK, &watched).is_empty(), "unknown after the start is not lasting");
    let watched = later(later(watched, 60), 299);
    assert!(found(&CHECK, &watched).len() <= 1);
    assert_eq!(found(&CHECK, &later(watched, 300)), ["warning disk_unreadable nodes.longhorn.io n1"]);
}

#[test]
fn the_volumes_without_another_copy_are_named() {
    let yaml = disk(&ready("NoDiskInfo", "input/output error", LONG_AGO))
        + &replica("a-r-1", "vol-a", "n1", true)
        + &replica("a-r-2", "vol-a", "n2", true)
        + &replica("b-r-1", "vol-b", "n1", true)
        + &replica("b-r-2", "vol-b", "n2", false);
    let report = run(&CHECK, &cluster_at(NOW, &yaml)).report;
    let finding = &report.findings[0];
    assert_eq!(
        finding.volumes.iter().map(|volume| volume.name.as_str()).collect::<Vec<_>>(),
        ["vol-a", "vol-b"]
    );
    assert!(
        finding.impact.contains("no other usable copy: vol-b. Do not remove the disk"),
        "{}",
        finding.impact
    );
    assert!(finding.evidence()[0].text.contains("input/output error"));
}

const SETTINGS: &str = "apiVersion: longhorn.io/v1beta2\nkind: Setting\nmetadata: {name: storage-minimal-available-percentage, \
    namespace: longhorn-system}\nvalue: '25'\n---\napiVersion: longhorn.io/v1beta2\nkind: Setting\n\
    metadata: {name: storage-over-provisioning-percentage, namespace: longhorn-system}\nvalue: '100'\n---\n";

fn storage(available: i64, scheduled: i64, schedulable: &str) -> String {
    let conditions = format!("{}, {schedulable}", ready("", "", LONG_AGO));
    let numbers =
        format!(", storageMaximum: 1000, storageAvailable: {available}, storageScheduled: {scheduled}");
    node("n1", &ready("", "", LONG_AGO), &conditions, &numbers)
}

#[test]
fn room_is_judged_as_longhorn_does() {
    let yes = "{type: Schedulable, status: 'True'}";
    let no = format!(
        "{{type: Schedulable, status: 'False', reason: DiskPressure, lastTransitionTime: '{LONG_AGO}'}}"
    );
    for (yaml, expected) in [
        (storage(800, 500, yes), None),
        (storage(800, 899, yes), None),
        (storage(800, 900, yes), Some("info disk_nearly_full")),
        (storage(301, 0, yes), None),
        (storage(299, 0, yes), Some("info disk_nearly_full")),
        (storage(250, 0, &no), Some("warning disk_full")),
        (storage(250, 0, &no.replace(LONG_AGO, JUST_NOW)), None),
        // someone keeps replicas away from it anyway
        (
            storage(250, 0, &no)
                .replace("path: /data, allowScheduling: true", "path: /data, allowScheduling: false"),
            None,
        ),
        (
            storage(250, 0, &no).replace(
                "spec: {allowScheduling: true",
                "spec: {evictionRequested: true, allowScheduling: true",
            ),
            None,
        ),
    ] {
        let expected: Vec<_> =
            expected.map(|line| format!("{line} nodes.longhorn.io n1")).into_iter().collect();
        assert_eq!(found(&CHECK, &cluster_at(NOW, &(SETTINGS.to_owned() + &yaml))), expected, "{yaml}");
    }
    // without the settings the arithmetic is unknown, but the condition is
    assert!(found(&CHECK, &cluster_at(NOW, &storage(299, 950, yes))).is_empty());
    assert_eq!(
        found(&CHECK, &cluster_at(NOW, &storage(250, 0, &no))),
        ["warning disk_full nodes.longhorn.io n1"]
    );
}

#[test]
fn a_node_is_away_when_kubernetes_says_so_for_longer_than_a_reboot() {
    let longhorn =
        |reason: &str, since: &str| node("n1", &ready(reason, "", since), &ready("", "", LONG_AGO), "");
    for (yaml, expected) in [
        (
            kube("n1", "Unknown", LONG_AGO) + &longhorn("KubernetesNodeNotReady", LONG_AGO),
            Some("node_not_ready"),
        ),
        (kube("n1", "False", LONG_AGO) + &longhorn("", LONG_AGO), Some("node_not_ready")),
        // a reboot of two minutes
        (kube("n1", "Unknown", JUST_NOW) + &longhorn("KubernetesNodeNotReady", JUST_NOW), None),
        // Longhorn's condition is late
        (kube("n1", "True", JUST_NOW) + &longhorn("KubernetesNodeNotReady", LONG_AGO), None),
        // nodes cannot be read: Longhorn's word counts
        (longhorn("KubernetesNodeNotReady", LONG_AGO), Some("node_not_ready")),
        // only the manager stopped answering
        (kube("n1", "True", LONG_AGO) + &longhorn("ManagerPodDown", LONG_AGO), None),
        (kube("n1", "True", LONG_AGO) + &longhorn("ManagerPodMissing", LONG_AGO), None),
        (kube("n1", "True", LONG_AGO) + &longhorn("KubernetesNodePressure", LONG_AGO), Some("node_pressure")),
        (kube("n1", "True", LONG_AGO) + &longhorn("KubernetesNodePressure", JUST_NOW), None),
    ] {
        let expected: Vec<_> = expected.map(|cause| format!("warning {cause} Node n1")).into_iter().collect();
        let readable =
            if yaml.starts_with("apiVersion: v1") { kube("n2", "True", LONG_AGO) } else { String::new() };
        let yaml = readable + &yaml + &node("n2", &ready("", "", LONG_AGO), "", "");
        assert_eq!(found(&CHECK, &cluster_at(NOW, &yaml)), expected, "{yaml}");
    }
}

#[test]
fn what_a_node_lacks_is_a_warning_only_where_it_is_needed() {
    let lacks = |kind: &str| {
        let conditions =
            format!("{}, {{type: {kind}, status: 'False', reason: R, message: m}}", ready("", "", LONG_AGO));
        node("n1", &conditions, &ready("", "", LONG_AGO), "")
    };
    let labelled = |value: &str| {
        format!(
            "apiVersion: v1\nkind: Node\nmetadata: {{name: n1, labels: {{node.longhorn.io/disable-v2-data-engine: '{value}'}}}}\n---\n"
        )
    };
    let shared = "apiVersion: longhorn.io/v1beta2\nkind: Volume\nmetadata: {name: v, namespace: longhorn-system}\n\
        spec: {accessMode: rwx}\n---\n";
    for (yaml, severity) in [
        (lacks("NFSClientInstalled"), "info"),
        (lacks("NFSClientInstalled") + shared, "warning"),
        (lacks("NFSClientInstalled") + &shared.replace("rwx", "rwo"), "info"),
        (lacks("Multipathd") + shared, "info"),
        (lacks("MountPropagation"), "warning"),
        (lacks("HugePagesAvailable"), "warning"),
        (lacks("HugePagesAvailable") + &labelled("false"), "warning"),
        (lacks("HugePagesAvailable") + &labelled("true"), "info"),
    ] {
        assert_eq!(
            found(&CHECK, &cluster_at(NOW, &yaml)),
            [format!("{severity} node_environment Node n1")],
            "{yaml}"
        );
    }
    assert!(found(&CHECK, &cluster_at(NOW, &lacks("Schedulable"))).is_empty(), "a cordon is nothing wrong");
}

#[test]
fn disks_of_one_uuid_on_several_nodes_are_told_once() {
    let ready = ready("", "", LONG_AGO);
    let of = |name: &str| node(name, &ready, &ready, "");
    let cloned = |name: &str| of(name).replace(&format!("uuid-{name}"), "uuid-n1");
    let at = |yaml: &str| found(&CHECK, &cluster_at(NOW, yaml));
    assert!(at(&(of("n1") + &of("n2"))).is_empty());
    let both = of("n1") + &cloned("n2") + &cloned("n3") + &of("n4");
    assert_eq!(at(&both), ["warning disk_uuid_shared nodes.longhorn.io n1"]);
    let report = run(&CHECK, &cluster_at(NOW, &both)).report;
    assert_eq!(report.findings[0].message, "nodes n1, n2, n3 each have a disk of UUID uuid-n1");
    // a machine that got another name leaves its old node behind, and a new disk has no UUID yet
    let gone = cloned("n2")
        .replace("reason: ''", "reason: KubernetesNodeGone")
        .replacen("status: 'True'", "status: 'False'", 1);
    assert!(!at(&(of("n1") + &gone)).iter().any(|line| line.contains("disk_uuid_shared")));
    let new = |name: &str| of(name).replace(&format!("uuid-{name}"), "''");
    assert!(at(&(new("n1") + &new("n2"))).is_empty());
}

#[test]
fn what_encrypted_volumes_need_is_a_warning_where_there_are_some() {
    let lack = |kind: &str, message: &str| {
        let lack = format!("{{type: {kind}, status: 'False', reason: x, message: \"{message}\"}}");
        node("n1", &format!("{}, {lack}", ready("", "", LONG_AGO)), "", "")
    };
    let volume =
        |spec: &str| object("Volume", "v", &format!("spec: {{{spec}}}\nstatus: {{state: detached}}"));
    let module = lack("KernelModulesLoaded", "Kernel modules [dm_crypt] are not loaded");
    let package = lack("RequiredPackages", "Missing packages: [cryptsetup]");
    let client = lack("RequiredPackages", "Missing packages: [nfs-common]");
    let blind = lack("KernelModulesLoaded", "Failed to check kernel modules: exit status 1");
    let (encrypted, shared, plain) = ("encrypted: true", "accessMode: rwx", "encrypted: false");
    for (what, lacking, spec, severity) in [
        ("dm_crypt", &module, encrypted, "warning"),
        ("dm_crypt", &module, plain, "info"),
        ("dm_crypt", &module, shared, "info"),
        ("cryptsetup", &package, encrypted, "warning"),
        ("cryptsetup", &package, shared, "info"),
        ("nfs", &client, shared, "warning"),
        ("nfs", &client, encrypted, "info"),
        ("unknown", &blind, encrypted, "info"),
    ] {
        let cluster = cluster_at(NOW, &(lacking.clone() + &volume(spec)));
        assert_eq!(
            found(&CHECK, &cluster),
            [format!("{severity} node_environment Node n1")],
            "{what} {spec}"
        );
        let named = !run(&CHECK, &cluster).report.findings[0].volumes.is_empty();
        assert_eq!(named, severity == "warning" && spec == encrypted, "{what} {spec}");
    }
}

#[test]
fn what_is_missing_stands_in_the_headline_with_the_command_that_brings_it() {
    let with = |kind: &str, message: &str, os: &str| {
        let lack = format!("{{type: {kind}, status: 'False', message: \"{message}\"}}");
        let yaml = node("n1", &format!("{}, {lack}", ready("", "", LONG_AGO)), "", "")
            + &kube_node("n1", &format!("status: {{nodeInfo: {{osImage: '{os}'}}}}"));
        let finding = run(&CHECK, &cluster_at(NOW, &yaml)).report.findings.remove(0);
        (finding.message, finding.remedy.commands.first().unwrap().clone())
    };
    let modules = "Kernel modules [dm_crypt] are not loaded";
    let client = "NFS clients [nfs_v4] not found. At least one should be enabled";
    for (kind, message, os, headline, command) in [
        ("KernelModulesLoaded", modules, "Talos", modules, "sudo modprobe -a dm_crypt && printf"),
        (
            "RequiredPackages", "Missing packages: [cryptsetup]", "Ubuntu 24.04", "[cryptsetup]",
            "install -y cryptsetup'",
        ),
        ("NFSClientInstalled", client, "Rocky Linux 9", "[nfs_v4] not found", "yum install -y nfs-utils'"),
        ("MountPropagation", "", "Alpine", "check: MountPropagation", "sudo mount --make-rshared /"),
    ] {
        let (message, first) = with(kind, message, os);
        assert!(message.ends_with(headline), "{message}");
        assert!(first.changes && first.run.contains(command), "{first:?}");
    }
    // a system whose packages are unknown, and names that are none
    for (kind, message) in [
        ("RequiredPackages", "Missing packages: [cryptsetup]"),
        ("KernelModulesLoaded", "Kernel modules [x; rm -rf /] are not loaded"),
        ("HugePagesAvailable", "Insufficient HugePages (2Mi): Required 2Gi, Capacity 0"),
    ] {
        assert!(!with(kind, message, "Bottlerocket OS").1.changes, "{message}");
    }
}

#[test]
fn a_device_that_says_that_it_fails_is_told_and_no_other_word_is() {
    let with = |status: &str, condition: &str| {
        let health = format!(
            ", healthData: {{sda: {{source: SMART, modelName: M1, serialNumber: S1, healthStatus: {status}, attributes: [{{name: x, rawValue: 1}}]}}}}"
        );
        found(&CHECK, &cluster_at(NOW, &node("n1", &ready("", "", LONG_AGO), condition, &health)))
    };
    let up = ready("", "", LONG_AGO);
    assert_eq!(with("FAILED", &up), ["warning disk_failing nodes.longhorn.io n1"]);
    for other in ["PASSED", "WARNING", "UNKNOWN", "''"] {
        assert!(with(other, &up).is_empty(), "{other}");
    }
    // it is the reason of what Longhorn says, and told beside it
    let gone = ready("NoDiskInfo", "failed to get disk stat /data: input/output error", LONG_AGO);
    assert_eq!(with("FAILED", &gone).len(), 2);
    let cluster = cluster_at(
        NOW,
        &node(
            "n1",
            &ready("", "", LONG_AGO),
            &up,
            ", healthData: {sda: {source: SPDK, healthStatus: FAILED}}",
        ),
    );
    let finding = run(&CHECK, &cluster).report.findings.remove(0);
    assert!(
        format!("{:?}", finding.evidence()).contains("healthData of sda: healthStatus is FAILED by SPDK"),
        "{finding:?}"
    );
}

#[test]
fn a_node_that_is_away_says_what_keeps_volumes_from_other_replicas() {
    let volume = |robustness: &str| {
        format!(
            "apiVersion: longhorn.io/v1beta2\nkind: Volume\nmetadata: {{name: v, namespace: longhorn-system}}\n\
             status: {{state: attached, robustness: {robustness}}}\n---\n"
        )
    };
    let never_started =
        replica("v-r-2", "v", "n1", false).replace("---", "status: {currentState: stopped}\n---");
    let told = |objects: &str| {
        let yaml = kube("n1", "False", LONG_AGO)
            + &disk(&ready("", "", LONG_AGO))
            + &kube("n2", "True", LONG_AGO)
            + objects;
        let report = run(&CHECK, &cluster_at(NOW, &yaml)).report;
        let finding = report.findings.into_iter().find(|one| one.cause.id == "node_not_ready").unwrap();
        let change = finding.remedy.commands.iter().find(|command| command.changes);
        (finding.remedy.fix.clone(), change.map(|command| command.run.clone()))
    };
    let (fix, change) = told(&(volume("degraded") + &never_started));
    assert!(fix.contains("such as v-r-2: they are empty"), "{fix}");
    assert_eq!(change.unwrap(), "kubectl -n longhorn-system delete replicas.longhorn.io v-r-2");
    // one that was healthy or failed holds data; one that runs is being built; a volume that lacks nothing waits for nothing
    for (what, objects) in [
        ("healthy", volume("degraded") + &replica("v-r-2", "v", "n1", true)),
        (
            "failed",
            volume("degraded")
                + &never_started.replace("healthyAt: ''", "healthyAt: '', failedAt: '2026-02-01T00:00:00Z'"),
        ),
        ("runs", volume("degraded") + &never_started.replace("stopped", "running")),
        ("not degraded", volume("healthy") + &never_started),
        ("elsewhere", volume("degraded") + &never_started.replace("nodeID: n1", "nodeID: n2")),
    ] {
        assert_eq!(told(&objects).1, None, "{what}");
    }
}

/// Longhorn writes another reason to the condition when the node is back, and not another time.
#[test]
fn what_a_disk_says_of_a_node_that_has_just_come_back_is_young() {
    let said = |back: &str| {
        let disk = disk(&ready("NoDiskInfo", "current state: creating", "2026-03-01T09:00:00Z"));
        found(&CHECK, &cluster_at(NOW, &(disk + &kube("n1", "True", back))))
    };
    assert_eq!(said(JUST_NOW), Vec::<String>::new());
    assert_eq!(said("2026-03-01T11:55:00Z"), ["warning disk_not_ready nodes.longhorn.io n1"]);
}
