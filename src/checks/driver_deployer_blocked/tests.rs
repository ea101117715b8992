use super::CHECK;
use crate::cluster::Readability;
use crate::history::CrashLog;
use crate::longhorn::Resource;
use crate::testing::*;

const NOW: &str = "2026-03-01T12:00:00Z";

fn deployer(status: &str) -> String {
    object_with(
        "Pod",
        "longhorn-driver-deployer-a",
        "labels: {app: longhorn-driver-deployer}",
        &format!("spec: {{nodeName: node-1}}\nstatus: {{{status}}}"),
    )
}

fn waiting_since(since: &str) -> String {
    deployer(&format!(
        "initContainerStatuses: [{{name: wait-longhorn-manager, state: {{running: {{startedAt: '{since}'}}}}}}], \
         containerStatuses: [{{name: longhorn-driver-deployer, state: {{waiting: {{reason: PodInitializing}}}}}}]"
    ))
}

fn crashing() -> String {
    deployer(
        "initContainerStatuses: [{name: wait-longhorn-manager, state: {terminated: {exitCode: 0}}}], \
         containerStatuses: [{name: longhorn-driver-deployer, restartCount: 7, state: {waiting: {reason: \
         CrashLoopBackOff}}, lastState: {terminated: {exitCode: 1, startedAt: '2026-03-01T11:58:00Z', \
         finishedAt: '2026-03-01T11:58:03Z'}}}]",
    )
}

fn backend(ready: bool) -> String {
    endpoint_slice("longhorn-backend", &format!("{{conditions: {{ready: {ready}}}}}"))
}

fn manager(ready: &str) -> String {
    longhorn_manager(
        "longhorn-manager-a",
        "",
        &format!("spec: {{nodeName: node-1}}\nstatus: {{conditions: [{{type: Ready, status: '{ready}'}}]}}"),
    )
}

fn mount_propagation(status: &str) -> String {
    object(
        "Node",
        "node-1",
        &format!("status: {{conditions: [{{type: MountPropagation, status: '{status}'}}]}}"),
    )
}

fn kubelet(version: &str) -> String {
    kube_node("node-1", &format!("status: {{nodeInfo: {{kubeletVersion: {version}}}}}"))
}

const OLD: &str = "2026-03-01T00:00:00Z";

/// The Longhorn node of the manager.
const REGISTERED: &str = "apiVersion: longhorn.io/v1beta2\nkind: Node\nmetadata: {name: node-1, namespace: longhorn-system}\n\
    status: {conditions: [{type: MountPropagation, status: 'True'}]}\n---\n";

#[test]
fn the_wait_is_a_consequence_and_says_of_what() {
    let managers_down = "warning managers_down Pod longhorn-driver-deployer-a";
    let dns = "warning dns_suspected Pod longhorn-driver-deployer-a";
    for (yaml, expected) in [
        (waiting_since(OLD) + &backend(false), &[managers_down][..]),
        (waiting_since(OLD) + &backend(true), &[dns]),
        // Ready, but none has come to the end of its start
        (
            waiting_since(OLD) + &manager("True"),
            &["warning managers_half_started Pod longhorn-driver-deployer-a"],
        ),
        // endpoints not recorded: the managers themselves are asked
        (waiting_since(OLD) + &manager("False"), &[managers_down]),
        (waiting_since(OLD) + &manager("True") + REGISTERED, &[dns]),
        (waiting_since(OLD), &[managers_down]),
        // a Ready manager that is being deleted answers no more
        (
            waiting_since(OLD)
                + &manager("True")
                    .replace("manager-a,", "manager-a, deletionTimestamp: '2026-03-01T11:59:00Z',"),
            &[managers_down],
        ),
        // the endpoints decide over the pods
        (waiting_since(OLD) + &manager("True") + &backend(false), &[managers_down]),
        // an installation takes its time
        (waiting_since("2026-03-01T11:55:01Z") + &backend(false), &[]),
        (waiting_since("2026-03-01T11:55:00Z") + &backend(false), &[managers_down]),
        // done, or not begun
        (deployer("containerStatuses: [{name: longhorn-driver-deployer, state: {running: {}}}]"), &[]),
        (deployer(""), &[]),
    ] {
        assert_eq!(found(&CHECK, &cluster_at(NOW, &yaml)), expected, "{yaml}");
    }
}

#[test]
fn fatal_exits_of_the_deployer() {
    let by_api = |more: &str| {
        found(&CHECK, &cluster_at(NOW, &(crashing() + more)))[0].split(' ').nth(1).unwrap().to_owned()
    };
    assert_eq!(by_api(&mount_propagation("False")), "mount_propagation");
    assert_eq!(by_api(&mount_propagation("True")), "unknown");
    assert_eq!(by_api(&mount_propagation("Mauve")), "unknown");
    let made = |at: &str| {
        object_with("Node", "node-1", &format!("creationTimestamp: '{at}'"), "status: {conditions: []}")
    };
    assert_eq!(by_api(&made(OLD)), "node_not_synced");
    assert_eq!(by_api(&made("2026-03-01T11:58:30Z")), "unknown", "its manager has only begun");
    assert_eq!(by_api(&kubelet("v1.17.17+k3s1")), "kubernetes_version");
    assert_eq!(by_api(&kubelet("v1.18.0-rc.1+k3s1")), "unknown");
    assert_eq!(by_api(&kubelet("strange")), "unknown");

    let by_log = |line: &str| {
        let mut cluster = live_at(NOW, &(crashing() + &mount_propagation("True")));
        cluster.history.add_crash_log(CrashLog {
            exit_code: None,
            pod: "longhorn-driver-deployer-a".into(),
            container: "longhorn-driver-deployer".into(),
            pod_uid: String::new(),
            text: line.into(),
        });
        run(&CHECK, &cluster).report.findings[0].cause
    };
    let fatal = |text: &str| format!("time=\"t\" level=fatal msg=\"Error deploying driver: {text}\"");
    assert_eq!(
        by_log(&fatal("CSI cannot be deployed because MountPropagation is not set: x")),
        "mount_propagation"
    );
    assert_eq!(
        by_log(&fatal("failed to start driver due to failed Kubernetes version check: x")),
        "kubernetes_version"
    );
    assert_eq!(by_log(&fatal("failed to get client config")), "unknown");
    // a word is no level
    let chatty = fatal("failed Kubernetes version check: x") + "\nlevel=info msg=\"that was fatal\"";
    assert_eq!(by_log(&chatty), "kubernetes_version");
    // the warning before the fatal line is not the fatal line
    assert_eq!(by_log("level=warning msg=\"MountPropagation is not set\""), "unknown");
}

#[test]
fn a_crash_loop_is_as_old_as_it_was_seen_to_be_and_not_as_its_last_run() {
    let since = |cluster: &_| run(&CHECK, cluster).report.findings.remove(0).since;
    let seen = live_at(NOW, &crashing());
    assert_eq!(since(&later(seen, 90)), Some(time(NOW)));
    assert_eq!(since(&cluster_at(NOW, &crashing())), None, "a recording has the last run only");
}

#[test]
fn a_pod_that_goes_away_and_unreadable_pods() {
    let going =
        waiting_since(OLD).replace("deployer-a,", "deployer-a, deletionTimestamp: '2026-03-01T11:00:00Z',");
    assert!(found(&CHECK, &cluster_at(NOW, &going)).is_empty());
    let mut blind = live_at(NOW, &waiting_since(OLD));
    blind.resources.entry(Resource::Pods).or_default().readability = Readability::Stale;
    let report = run(&CHECK, &blind).report;
    assert!(report.findings.is_empty() && !report.unknown.is_empty());
    // endpoints that may not be read do not silence the check
    let mut partly = live_at(NOW, &(waiting_since(OLD) + &manager("True") + REGISTERED));
    partly.resources.entry(Resource::EndpointSlices).or_default().readability = Readability::Forbidden;
    assert_eq!(found(&CHECK, &partly), ["warning dns_suspected Pod longhorn-driver-deployer-a"]);
}

#[test]
fn a_microk8s_without_the_directory_is_told_without_a_log() {
    let micro =
        "apiVersion: v1\nkind: Node\nmetadata: {name: node-1, labels: {microk8s.io/cluster: 'true'}}\n---\n";
    let with = |container: &str, more: &str| {
        let pod = crashing().replace(
            "spec: {nodeName: node-1}",
            &format!(
                "spec: {{nodeName: node-1, containers: [{{name: longhorn-driver-deployer, {container}}}]}}"
            ),
        );
        let report = run(&CHECK, &cluster_at(NOW, &(pod + more))).report;
        report.findings.first().map(|finding| finding.cause.id).unwrap_or_default()
    };
    const BARE: &str = "command: [longhorn-manager, -d, deploy-driver]";
    assert_eq!(with(BARE, micro), "kubelet_root_dir");
    assert_eq!(with(BARE, ""), "unknown", "another distribution");
    assert_eq!(with("image: a", micro), "unknown", "its command is unknown");
    let named = "command: [longhorn-manager, deploy-driver, --kubelet-root-dir, /var/snap/a]";
    assert_eq!(with(named, micro), "unknown");
    assert_eq!(with(&format!("{BARE}, env: [{{name: KUBELET_ROOT_DIR}}]"), micro), "unknown");
}
