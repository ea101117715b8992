//! Causes without a log: exit code and run time together with facts of the API.

use super::super::{CHECK, causes};
use super::{NOW, backing_off, cause_of, manager, node, slice};
use crate::testing::*;

#[test]
fn fingerprints_need_a_fact_of_the_api() {
    let registered = node("node-1");
    let setting = "apiVersion: longhorn.io/v1beta2\nkind: Setting\nmetadata: {name: current-longhorn-version, \
                   namespace: longhorn-system}\nvalue: v1.6.4\n---\n";
    let other = manager("v1.8.2", "restartCount: 0, state: {running: {}}")
        .replace("longhorn-manager-a", "longhorn-manager-b")
        .replace("nodeName: node-1", "nodeName: node-2");
    let unhealthy = "apiVersion: v1\nkind: Event\nmetadata: {name: e, namespace: longhorn-system}\nreason: Unhealthy\n\
                     message: 'Readiness probe failed: context deadline exceeded'\nlastTimestamp: '2026-03-01T11:58:00Z'\n\
                     involvedObject: {kind: Pod, name: longhorn-manager-a}\n---\n";
    let stale = |yaml: String| yaml.replace("{name: POD_NAME}, ", "");
    let m = |tag: &str, code, seconds| manager(tag, &backing_off(code, seconds));
    for (name, yaml, cause) in [
        ("incident 002: fresh node", m("v1.9.2", 1, 2), causes::OPEN_ISCSI_MISSING.id),
        ("the node was registered before", m("v1.9.2", 1, 2) + &registered, causes::UNKNOWN.id),
        ("no variable POD_NAME", stale(m("v1.9.2", 1, 2)) + &registered, causes::MANIFEST_STALE.id),
        ("1.6 needs no POD_NAME", stale(m("v1.6.3", 1, 2)) + &registered, causes::UNKNOWN.id),
        ("two minor releases at once", m("v1.8.2", 1, 12) + &registered + setting, causes::UPGRADE_PATH.id),
        ("one minor release", m("v1.7.3", 1, 12) + &registered + setting, causes::UNKNOWN.id),
        ("downgrade", m("v1.5.5", 1, 12) + &registered + setting, causes::UPGRADE_PATH.id),
        // whole seconds: the same start ends after 0 s or after 3 s
        ("skipped, after 0 s", m("v1.8.2", 1, 0) + &registered + setting, causes::UPGRADE_PATH.id),
        ("skipped, on a fresh node", m("v1.8.2", 1, 0) + setting, causes::OPEN_ISCSI_MISSING.id),
        ("60 s, no endpoint", m("v1.9.1", 1, 61) + &registered + &slice(false), causes::WEBHOOK_UNSERVED.id),
        ("60 s is too short for 1.9.2", m("v1.9.2", 1, 61) + &registered + &slice(false), causes::UNKNOWN.id),
        (
            "120 s, no endpoint",
            m("v1.9.2", 1, 121) + &registered + &slice(false),
            causes::WEBHOOK_UNSERVED.id,
        ),
        ("120 s, ready endpoint", m("v1.9.2", 1, 121) + &registered + &slice(true), causes::UNKNOWN.id),
        (
            "120 s, not ready itself",
            m("v1.9.2", 1, 121) + &registered + &slice(true) + unhealthy,
            causes::WEBHOOK_NOT_READY.id,
        ),
        ("1.4 has webhook pods", m("v1.4.4", 1, 61) + &registered + &slice(false), causes::UNKNOWN.id),
        ("600 s, two images", m("v1.9.2", 1, 605) + &registered + &other, causes::OLD_MANAGERS_LINGERING.id),
        ("600 s, one image", m("v1.9.2", 1, 605) + &registered, causes::UNKNOWN.id),
        ("a panic without trigger", m("v1.12.1", 2, 40) + &registered, causes::UNKNOWN.id),
        ("killed", m("v1.12.1", 137, 40) + &registered, causes::UNKNOWN.id),
        ("strange code", m("v1.12.1", -7, 40) + &registered, causes::UNKNOWN.id),
        (
            "out of memory",
            m("v1.12.1", 137, 40).replace("reason: Error", "reason: OOMKilled") + &registered,
            causes::OOM_KILLED.id,
        ),
    ] {
        // the endpoints are read live, where an absent slice is a fact
        assert_eq!(cause_of(&cluster_at(NOW, &yaml)), cause, "{name}");
    }
}

#[test]
fn known_panics_need_their_trigger() {
    let rwx = "apiVersion: longhorn.io/v1beta2\nkind: Volume\nmetadata: {name: v, namespace: longhorn-system}\n\
               spec: {accessMode: rwx}\n---\n";
    let panics = |tag: &str, more: &str| {
        cause_of(&cluster_at(NOW, &(manager(tag, &backing_off(2, 40)) + &node("node-1") + more)))
    };
    assert_eq!(panics("v1.10.0", rwx), causes::KNOWN_PANIC.id);
    assert_eq!(panics("v1.10.0", ""), causes::UNKNOWN.id);
    assert_eq!(panics("v1.10.0-hotfix-1", rwx), causes::UNKNOWN.id);
    assert_eq!(panics("v1.10.1", rwx), causes::UNKNOWN.id);
}

#[test]
fn a_common_trigger_tells_a_panic_only_where_its_work_waits_on_the_node() {
    let replica = |node: &str, state: &str| {
        object(
            "Replica",
            "r",
            &format!("spec: {{nodeID: {node}, desireState: running}}\nstatus: {{currentState: {state}}}"),
        )
    };
    let backup = object_with(
        "Backup",
        "b",
        "labels: {backup-volume: v}",
        "spec: {snapshotName: s}\nstatus: {state: InProgress}",
    );
    let bundle = "apiVersion: v1\nkind: Pod\nmetadata: {name: longhorn-support-bundle-manager-a, namespace: longhorn-system}\n---\n";
    for (name, tag, yaml, expected) in [
        ("a replica waits", "v1.10.1", replica("node-1", "stopped"), causes::KNOWN_PANIC.id),
        ("it runs", "v1.10.1", replica("node-1", "running"), causes::UNKNOWN.id),
        ("of another node", "v1.10.1", replica("node-2", "stopped"), causes::UNKNOWN.id),
        ("fixed", "v1.10.2", replica("node-1", "stopped"), causes::UNKNOWN.id),
        ("a backup", "v1.5.0", backup.clone(), causes::KNOWN_PANIC.id),
        ("a backup on a later release", "v1.5.1", backup.clone(), causes::UNKNOWN.id),
        ("a support bundle", "v1.8.1", bundle.to_owned(), causes::KNOWN_PANIC.id),
        ("two that wait", "v1.5.0", backup + bundle, causes::UNKNOWN.id),
    ] {
        let yaml = manager(tag, &backing_off(2, 40)) + &node("node-1") + &yaml;
        assert_eq!(cause_of(&cluster_at(NOW, &yaml)), expected, "{name}");
    }
}

#[test]
fn a_start_that_ends_between_two_labels_ended_at_its_listener() {
    const CONVERSION: &str = "longhorn.io/conversion-webhook: longhorn-conversion-webhook";
    const ADMISSION: &str = "longhorn.io/admission-webhook: longhorn-admission-webhook";
    let m = |tag: &str, seconds, labels: &str| {
        let pod = manager(tag, &backing_off(1, seconds));
        pod.replace("app: longhorn-manager", &format!("app: longhorn-manager{labels}")) + &node("node-1")
    };
    let held = |by: &str| {
        format!(
            "apiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata: {{name: longhorn-manager-webhook-lock, namespace: \
             longhorn-system}}\nspec: {{holderIdentity: '{by}', leaseDurationSeconds: 20, renewTime: '2026-03-01T11:59:00Z'}}\n---\n"
        )
    };
    let (conversion, both) = (format!(", {CONVERSION}"), format!(", {CONVERSION}, {ADMISSION}"));
    for (name, yaml, expected) in [
        ("only the first", m("v1.9.2", 3, &conversion), causes::PORT_IN_USE.id),
        ("both", m("v1.9.2", 3, &both), causes::UNKNOWN.id),
        ("none", m("v1.9.2", 3, ""), causes::UNKNOWN.id),
        ("1.6 has no labels", m("v1.6.4", 3, ""), causes::UNKNOWN.id),
        ("the Lease", m("v1.11.2", 3, "") + &held("node-1"), causes::PORT_IN_USE.id),
        ("of another node", m("v1.11.2", 3, "") + &held("node-2"), causes::UNKNOWN.id),
        ("certificates end it, too", m("v1.12.1", 3, "") + &held("node-1"), causes::UNKNOWN.id),
    ] {
        assert_eq!(cause_of(&cluster_at(NOW, &yaml)), expected, "{name}");
    }
}

fn evicting_node(node_wide: bool, disk: bool) -> String {
    object(
        "Node",
        "node-1",
        &format!(
            "spec: {{evictionRequested: {node_wide}, disks: {{d1: {{evictionRequested: false}}, \
             d2: {{evictionRequested: {disk}}}}}}}\n\
             status: {{diskStatus: {{d1: {{diskUUID: uuid-1}}, d2: {{diskUUID: uuid-2}}}}}}"
        ),
    ) + &object(
        "BackingImage",
        "bi",
        "spec: {diskFileSpecMap: {}}\n\
         status: {diskFileStatusMap: {uuid-1: {state: ready}}}",
    )
}

#[test]
fn incident_003_by_release_and_by_what_is_evicted() {
    let panic = |tag: &str, node_wide, disk| {
        cause_of(&cluster_at(NOW, &(manager(tag, &backing_off(2, 40)) + &evicting_node(node_wide, disk))))
            == causes::BACKING_IMAGE_EVICTION_PANIC.id
    };
    for (tag, node_evicted, other_disk_evicted) in [
        ("v1.6.4", false, false),
        ("v1.7.0", true, true),
        ("v1.7.3", true, true),
        ("v1.7.4", false, false),
        ("v1.8.0", true, true),
        ("v1.8.1", true, false),
        ("v1.8.2", false, false),
        ("v1.9.0", true, false),
        ("v1.9.1", false, false),
        ("v1.10.0", false, false),
    ] {
        assert_eq!(panic(tag, true, false), node_evicted, "{tag} node");
        assert_eq!(panic(tag, false, true), other_disk_evicted, "{tag} other disk");
        assert!(!panic(tag, false, false), "{tag} without eviction");
    }
    let cluster = cluster_at(NOW, &(manager("v1.8.0", &backing_off(2, 40)) + &evicting_node(true, true)));
    let finding = &run(&CHECK, &cluster).report.findings[0];
    assert!(finding.remedy.fix.contains("v1.8.2"));
    let changes: Vec<_> = finding.remedy.commands.iter().filter(|command| command.changes).collect();
    // the node and its disk in one patch, as the manager may be there for a moment only
    assert_eq!(changes.len(), 1);
    assert_eq!(
        changes[0].run,
        "kubectl -n longhorn-system patch nodes.longhorn.io node-1 --type merge -p \
         '{\"spec\":{\"disks\":{\"d2\":{\"evictionRequested\":false}},\"evictionRequested\":false}}'"
    );
}

#[test]
fn the_upgrade_path_is_looked_at_by_some_releases_and_flags_only() {
    let installed = |version: &str| release(version);
    let base = |tag: &str, from: &str| manager(tag, &backing_off(1, 12)) + &node("node-1") + &installed(from);
    let without_flag = |yaml: String| yaml.replace(", --upgrade-version-check", "");
    let distribution =
        |yaml: String| yaml.replace("{name: POD_IP}", "{name: POD_IP}, {name: LONGHORN_DISTRO, value: rke2}");
    // what the published manifests of 1.11.3 and 1.12.1 say
    let upstream = |yaml: String| distribution(yaml).replace("rke2", "longhorn");
    for (name, yaml, expected) in [
        ("1.4 does not look", base("v1.4.4", "v1.2.6"), causes::UNKNOWN.id),
        ("1.5 always looks", without_flag(base("v1.5.5", "v1.3.3")), causes::UPGRADE_PATH.id),
        ("1.6 by flag", base("v1.6.4", "v1.4.4"), causes::UPGRADE_PATH.id),
        ("1.6 without flag", without_flag(base("v1.6.4", "v1.4.4")), causes::UNKNOWN.id),
        ("two minor releases", base("v1.12.1", "v1.10.2"), causes::UPGRADE_PATH.id),
        ("two, of a distribution", distribution(base("v1.12.1", "v1.10.2")), causes::UNKNOWN.id),
        ("two, of the published manifest", upstream(base("v1.12.1", "v1.10.2")), causes::UPGRADE_PATH.id),
        ("three, of a distribution", distribution(base("v1.12.1", "v1.9.2")), causes::UPGRADE_PATH.id),
        ("two, before 1.12", distribution(base("v1.11.3", "v1.9.2")), causes::UPGRADE_PATH.id),
        ("a build of the next minor release", base("v1.11.3-amd64", "v1.10.2"), causes::UNKNOWN.id),
        ("the hotfix of what is installed", base("v1.10.1-hotfix-1", "v1.10.1"), causes::UNKNOWN.id),
    ] {
        assert_eq!(cause_of(&cluster_at(NOW, &yaml)), expected, "{name}");
    }
}

#[test]
fn run_times_and_exit_codes_beside_the_usual() {
    let m = |tag: &str, code, seconds| manager(tag, &backing_off(code, seconds)) + &node("node-1");
    let refused = |why: &str| {
        format!(
            "apiVersion: v1\nkind: Event\nmetadata: {{name: e, namespace: longhorn-system}}\nreason: Unhealthy\n\
             message: 'Readiness probe failed: dial tcp 10.42.0.9:9501: {why}'\nlastTimestamp: '2026-03-01T11:58:00Z'\n\
             involvedObject: {{kind: Pod, name: longhorn-manager-a}}\n---\n"
        )
    };
    let fresh = |seconds| manager("v1.9.2", &backing_off(1, seconds));
    for (name, yaml, expected) in [
        (
            "1.5.3 does not wait for the Service",
            m("v1.5.3", 1, 61) + &slice(false),
            causes::WEBHOOK_NOT_READY.id,
        ),
        // its own listener, or the Service: without labels and without a pod that was Ready nothing tells
        ("1.5.4 waits for both", m("v1.5.4", 1, 61) + &slice(false), causes::UNKNOWN.id),
        (
            "no one listened to the kubelet",
            m("v1.5.4", 1, 61) + &refused("connect: connection refused"),
            causes::WEBHOOK_NOT_READY.id,
        ),
        ("a timeout may be the network", m("v1.5.4", 1, 61) + &refused("i/o timeout"), causes::UNKNOWN.id),
        ("the first step", fresh(2), causes::OPEN_ISCSI_MISSING.id),
        ("too late for the first step", fresh(3), causes::UNKNOWN.id),
        ("told to end", m("v1.12.1", 0, 40), causes::UNKNOWN.id),
        ("not started by the runtime", m("v1.12.1", 128, 0), causes::CONTAINER_CANNOT_START.id),
    ] {
        assert_eq!(cause_of(&cluster_at(NOW, &yaml)), expected, "{name}");
    }
    let evidence = |yaml: &str, part: &str| {
        let facts = run(&CHECK, &cluster_at(NOW, yaml)).report.findings[0].evidence().to_vec();
        assert!(facts.iter().any(|fact| fact.text.contains(part)), "{facts:?}");
    };
    evidence(&m("v1.12.1", 0, 40), "killed from outside");
    // the container runtime says why it cannot start a container
    let shared = "path /var/lib/longhorn/ is mounted on / but it is not a shared mount";
    let message = format!("exitCode: 128, message: '{shared}'");
    evidence(&m("v1.12.1", 128, 0).replace("exitCode: 128", &message), shared);
}
