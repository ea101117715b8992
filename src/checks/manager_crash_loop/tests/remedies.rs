//! Commands that work where they are run, and do no harm.

use super::super::CHECK;
use super::{NOW, backing_off, manager, node, with_log};
use crate::check::Remedy;
use crate::testing::*;

fn remedy(yaml: &str) -> Remedy {
    run(&CHECK, &cluster_at(NOW, yaml)).report.findings.remove(0).remedy
}

fn changes(remedy: &Remedy) -> Vec<&str> {
    remedy.commands.iter().filter(|command| command.changes).map(|command| command.run.as_str()).collect()
}

#[test]
fn open_iscsi_by_operating_system() {
    let on = |os: &str| {
        let kube = kube_node("node-1", &format!("status: {{nodeInfo: {{osImage: '{os}'}}}}"));
        remedy(&(manager("v1.9.2", &backing_off(1, 2)) + &kube))
    };
    for (os, command) in [
        ("Ubuntu 24.04.1 LTS", "apt-get install -y open-iscsi"),
        ("Red Hat Enterprise Linux 9.4 (Plow)", "yum install -y iscsi-initiator-utils"),
        ("CentOS Linux 7 (Core)", "yum install"),
        ("openSUSE Leap 15.6", "zypper install"),
        ("SUSE Linux Enterprise Micro 5.5", "transactional-update"),
        ("openSUSE MicroOS", "transactional-update"),
        ("Fedora CoreOS 40.20240709.3.0", "rpm-ostree install"),
        ("Red Hat Enterprise Linux CoreOS 416.94", "rpm-ostree install"),
        ("Flatcar Container Linux by Kinvolk 3975.2.0", "'true && sudo systemctl enable --now iscsid'"),
        ("Arch Linux", "pacman -S"),
    ] {
        let remedy = on(os);
        let changes = changes(&remedy);
        assert!(changes[0].contains(command) || command.starts_with("'true"), "{os} {changes:?}");
        assert!(!changes[0].contains("true &&"), "{os}");
    }
    // neither has a shell or packages
    for os in ["Talos (v1.8.0)", "Bottlerocket OS 1.20.0", "NixOS 24.05"] {
        assert!(changes(&on(os)).is_empty(), "{os}");
    }
    assert_eq!(changes(&on("Something New")).len(), 3, "three ways");
}

fn daemon_set(namespace: &str, labels: &str, image: &str) -> String {
    format!(
        "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {{name: longhorn-manager, namespace: {namespace}, labels: {{{labels}}}}}\n\
         spec: {{template: {{spec: {{containers: [{{name: longhorn-manager, image: '{image}'}}]}}}}}}\n---\n"
    )
}

#[test]
fn the_published_manifest_is_offered_only_where_it_fits() {
    let stale = |tag: &str, set: &str| {
        let yaml = manager(tag, &backing_off(1, 2)).replace("{name: POD_NAME}, ", "") + &node("node-1") + set;
        remedy(&yaml)
    };
    let plain = stale("v1.9.2", &daemon_set("longhorn-system", "", "longhornio/longhorn-manager:v1.9.2"));
    assert_eq!(
        changes(&plain),
        ["kubectl apply --server-side --force-conflicts -f \
          https://raw.githubusercontent.com/longhorn/longhorn/v1.9.2/deploy/longhorn.yaml"]
    );
    assert!(plain.fix.contains("read the difference first"));
    let helm = daemon_set(
        "longhorn-system",
        "app.kubernetes.io/managed-by: Helm, app.kubernetes.io/instance: storage",
        "longhornio/longhorn-manager:v1.9.2",
    );
    let by_helm = stale("v1.9.2", &helm);
    assert_eq!(
        changes(&by_helm),
        [
            "helm upgrade storage longhorn/longhorn -n longhorn-system --version 1.9.2 --reset-then-reuse-values"
        ]
    );
    for (tag, set) in [
        ("v1.9.2", daemon_set("longhorn-system", "", "registry.example/longhornio/longhorn-manager:v1.9.2")),
        ("v1.9.2", daemon_set("longhorn-system", "", "rancher/mirrored-longhornio-longhorn-manager:v1.9.2")),
        (
            "v1.10.0-hotfix-1",
            daemon_set("longhorn-system", "", "longhornio/longhorn-manager:v1.10.0-hotfix-1"),
        ),
        ("v1.13.0-dev", daemon_set("longhorn-system", "", "longhornio/longhorn-manager:v1.13.0-dev")),
        ("v1.9.2", String::new()),
    ] {
        assert!(changes(&stale(tag, &set)).is_empty(), "{tag} {set}");
    }
}

#[test]
fn memory_by_whose_limit_it_was() {
    let killed = manager("v1.12.1", &backing_off(137, 40)).replace("reason: Error", "reason: OOMKilled")
        + &node("node-1");
    let node_full = remedy(&killed);
    assert!(node_full.fix.contains("the container has no limit"), "{}", node_full.fix);
    assert!(changes(&node_full).is_empty());
    let limited = killed.replace(
        "{name: longhorn-manager, image:",
        "{name: longhorn-manager, resources: {limits: {memory: 256Mi}}, image:",
    );
    let own = remedy(&limited);
    assert!(own.fix.contains("memory limit of 256Mi"), "{}", own.fix);
    assert_eq!(
        changes(&own),
        [
            "kubectl -n longhorn-system patch daemonset longhorn-manager -p '{\"spec\":{\"template\":{\"spec\":{\
             \"containers\":[{\"name\":\"longhorn-manager\",\"resources\":{\"limits\":{\"memory\":null}}}]}}}}'"
        ]
    );
}

#[test]
fn only_pods_of_the_old_release_are_deleted_and_by_force_only_where_the_node_is_away() {
    let other = |name: &str, tag: &str, on: &str| {
        manager(tag, "restartCount: 0, state: {running: {}}")
            .replace("longhorn-manager-a", name)
            .replace("nodeName: node-1", &format!("nodeName: {on}"))
    };
    let away = "apiVersion: v1\nkind: Node\nmetadata: {name: node-3}\nstatus: {conditions: [{type: Ready, status: Unknown}]}\n---\n\
                apiVersion: v1\nkind: Node\nmetadata: {name: node-2}\nstatus: {conditions: [{type: Ready, status: 'True'}]}\n---\n";
    let yaml = manager("v1.9.2", &backing_off(1, 605))
        + &node("node-1")
        + &other("longhorn-manager-b", "v1.8.2", "node-2")
        + &other("longhorn-manager-c", "v1.8.2", "node-3")
        + &other("longhorn-manager-d", "v1.9.2", "node-4")
        + &daemon_set("longhorn-system", "", "longhornio/longhorn-manager:v1.9.2")
        + away;
    assert_eq!(
        changes(&remedy(&yaml)),
        [
            "kubectl -n longhorn-system delete pod longhorn-manager-b",
            "kubectl -n longhorn-system delete pod longhorn-manager-c --force --grace-period=0"
        ]
    );
}

#[test]
fn what_a_tool_installed_is_changed_in_its_source() {
    let limited =
        manager("v1.12.1", &backing_off(137, 40)).replace("reason: Error", "reason: OOMKilled").replace(
            "{name: longhorn-manager, image:",
            "{name: longhorn-manager, resources: {limits: {memory: 256Mi}}, image:",
        ) + &node("node-1");
    let argo = daemon_set(
        "longhorn-system", "argocd.argoproj.io/instance: lh", "longhornio/longhorn-manager:v1.12.1",
    );
    let remedy = remedy(&(limited + &argo));
    assert_eq!(changes(&remedy), ["argocd app sync lh"]);
    assert!(!remedy.commands[0].changes && remedy.fix.contains("reverts manual changes"), "{remedy:?}");
}

#[test]
fn a_known_panic_leads_to_the_release_that_mends_it() {
    let trace = "panic: runtime error\n\ngoroutine 1 [running]:\n\
                 github.com/longhorn/longhorn-manager/controller.(*ReplicaController).CreateInstance(0xc0)\n";
    let on = |tag: &str| {
        let cluster = with_log(&(manager(tag, &backing_off(2, 40)) + &node("node-1")), trace);
        run(&CHECK, &cluster).report.findings.remove(0).remedy.fix
    };
    // not to that which fixes every other panic of 1.9.2, too
    assert!(
        on("v1.9.2").starts_with(
            "Upgrade to v1.9.2-hotfix-1 or later (https://github.com/longhorn/longhorn/issues/12233). Until then, "
        ),
        "{}",
        on("v1.9.2")
    );
    assert!(on("v1.10.0").starts_with("Upgrade to v1.10.1-hotfix-1 or later ("), "{}", on("v1.10.0"));
}

/// As a manager of 1.10.2 was answered in an upgrade from 1.9.2 whose definitions were refused.
#[test]
fn an_object_that_a_webhook_of_another_release_refuses_is_left_alone() {
    let line = r#"time="2026-03-01T11:59:00Z" level=fatal msg="Error starting manager: upgrade resources failed: admission webhook \"validator.longhorn.io\" denied the request: Internal error occurred: no route match found for UPDATE longhorn.io/v1beta2, Kind=Setting longhorn-system/default-replica-count""#;
    let cluster = with_log(&(manager("v1.10.2", &backing_off(2, 40)) + &node("node-1")), line);
    let remedy = run(&CHECK, &cluster).report.findings.remove(0).remedy;
    assert!(remedy.fix.ends_with("Do not change the object that the rejection names."), "{remedy:?}");
    assert_eq!(changes(&remedy), Vec::<&str>::new());
}
