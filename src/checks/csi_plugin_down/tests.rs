mod deleted;

use super::CHECK;
use crate::testing::*;

const NOW: &str = "2026-03-01T12:00:00Z";
const LONG_AGO: &str = "2026-03-01T11:00:00Z";
const JUST_NOW: &str = "2026-03-01T11:58:00Z";

const SET: &str = "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: longhorn-csi-plugin, namespace: longhorn-system, \
    creationTimestamp: '2026-02-01T00:00:00Z'}\nstatus: {desiredNumberScheduled: 1}\n---\n";

fn pod(app: &str, node: &str, ready: &str, since: &str, containers: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: {app}-{node}, namespace: longhorn-system, labels: {{app: {app}}}, \
         creationTimestamp: '2026-02-01T00:00:00Z'}}\nspec: {{nodeName: {node}}}\n\
         status: {{conditions: [{{type: Ready, status: '{ready}', lastTransitionTime: '{since}'}}], containerStatuses: [{containers}]}}\n---\n"
    )
}

fn plugin(ready: &str, since: &str, containers: &str) -> String {
    SET.to_owned() + &pod("longhorn-csi-plugin", "n1", ready, since, containers)
}

fn kube(ready: &str, since: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Node\nmetadata: {{name: n1}}\nstatus: {{conditions: [{{type: Ready, status: '{ready}', \
         lastTransitionTime: '{since}'}}]}}\n---\n"
    )
}

fn csi_node(driver: &str) -> String {
    object("CSINode", "n1", &format!("spec: {{drivers: [{{name: {driver}, nodeID: n1}}]}}"))
}

const LONGHORN_NODE: &str = "apiVersion: longhorn.io/v1beta2\nkind: Node\nmetadata: {name: n1, namespace: longhorn-system, \
    creationTimestamp: '2026-02-01T00:00:00Z'}\nstatus: {conditions: [{type: Ready, status: 'True'}]}\n---\n";
const ENGINE: &str = "apiVersion: longhorn.io/v1beta2\nkind: Engine\nmetadata: {name: e, namespace: longhorn-system}\n\
    spec: {volumeName: vol-1, nodeID: n1}\n---\n";
const LOOP: &str = "{name: longhorn-csi-plugin, restartCount: 9, state: {waiting: {reason: CrashLoopBackOff}}, \
    lastState: {terminated: {exitCode: 1, reason: Error}}}";
const RUNS_AGAIN: &str = "{name: csi-attacher, restartCount: RESTARTS, state: {running: {startedAt: 'STARTED'}}, \
    lastState: {terminated: {exitCode: 137, reason: Error, startedAt: 'BEFORE', finishedAt: '2026-03-01T11:58:59Z'}}}";
const WAITS: &str = "{name: longhorn-csi-plugin, state: {waiting: {reason: ContainerCreating}}}";

#[test]
fn a_plugin_that_crashes_or_does_not_start_is_found_with_its_container() {
    let crashing = plugin("False", JUST_NOW, LOOP) + ENGINE;
    let report = run(&CHECK, &cluster_at(NOW, &crashing)).report;
    assert_eq!(report.findings[0].cause.id, "plugin_crashing");
    assert_eq!(report.findings[0].node.as_deref(), Some("n1"));
    assert!(report.findings[0].message.starts_with("container longhorn-csi-plugin "));
    assert_eq!(report.findings[0].volumes[0].name, "vol-1");

    let event = "apiVersion: v1\nkind: Event\nmetadata: {name: x, namespace: longhorn-system}\ntype: Warning\nreason: FailedMount\n\
        message: hostPath type check failed\ninvolvedObject: {kind: Pod, name: longhorn-csi-plugin-n1}\n---\n";
    let cluster = cluster_at(NOW, &(plugin("False", LONG_AGO, WAITS) + event));
    assert_eq!(found(&CHECK, &cluster), ["warning plugin_not_running Pod longhorn-csi-plugin-n1"]);
    let report = run(&CHECK, &cluster).report;
    let evidence = report.findings[0].evidence();
    assert!(
        evidence.iter().any(|fact| fact.text == "FailedMount: hostPath type check failed"),
        "{evidence:?}"
    );
}

#[test]
fn an_address_that_another_node_has_too_is_the_first_thing_to_name() {
    let message = |other: &str, ready: &str| {
        let node = |name: &str, address: &str, ready: &str| {
            let status = format!(
                "status: {{conditions: [{{type: Ready, status: '{ready}', lastTransitionTime: '{LONG_AGO}'}}], \
                 addresses: [{{type: InternalIP, address: {address}}}, {{type: ExternalIP, address: 203.0.113.1}}]}}"
            );
            kube_node(name, &status)
        };
        let yaml =
            plugin("False", LONG_AGO, LOOP) + &node("n1", "10.0.0.1", "True") + &node("n2", other, ready);
        run(&CHECK, &cluster_at(NOW, &yaml)).report.findings[0].message.clone()
    };
    assert!(message("10.0.0.1", "True").ends_with("the node has the address 10.0.0.1 of node n2"));
    // what a machine that is gone has left behind takes nothing away
    assert!(!message("10.0.0.1", "Unknown").contains("10.0.0.1"));
    assert!(!message("10.0.0.2", "True").contains("address"));
}

#[test]
fn an_evicted_pod_that_another_one_replaced_is_not_found() {
    let evicted = pod("longhorn-csi-plugin", "n1", "False", LONG_AGO, "")
        .replace("longhorn-csi-plugin-n1", "longhorn-csi-plugin-old")
        .replace("status: {", "status: {phase: Failed, reason: Evicted, ");
    let alone = cluster_at(NOW, &(SET.to_owned() + &evicted));
    assert_eq!(found(&CHECK, &alone), ["warning plugin_not_running Pod longhorn-csi-plugin-old"]);
    let both = cluster_at(NOW, &(plugin("True", LONG_AGO, "") + &evicted));
    assert!(found(&CHECK, &both).is_empty());
    let waits = cluster_at(NOW, &(plugin("False", LONG_AGO, WAITS) + &evicted));
    assert_eq!(found(&CHECK, &waits), ["warning plugin_not_running Pod longhorn-csi-plugin-n1"]);
}

#[test]
fn roll_outs_reboots_and_nodes_that_are_down_are_not_found() {
    for yaml in [
        plugin("True", LONG_AGO, ""),
        plugin("False", JUST_NOW, WAITS),
        plugin("False", LONG_AGO, WAITS) + &kube("Unknown", LONG_AGO),
        plugin("False", LONG_AGO, LOOP) + &kube("False", JUST_NOW),
        plugin("False", LONG_AGO, WAITS)
            .replace("labels:", "deletionTimestamp: '2026-03-01T11:59:00Z', labels:"),
        // registered by another driver only, but it has just come back
        plugin("True", JUST_NOW, "") + &csi_node("ebs.csi.aws.com"),
        plugin("True", LONG_AGO, "") + &csi_node("ebs.csi.aws.com") + &kube("True", JUST_NOW),
        plugin("True", LONG_AGO, "") + &csi_node("driver.longhorn.io"),
        // nothing of CSI was recorded
        LONGHORN_NODE.to_owned(),
    ] {
        assert_eq!(found(&CHECK, &cluster_at(NOW, &yaml)), Vec::<String>::new(), "{yaml}");
    }
}

#[test]
fn a_kubelet_that_does_not_know_the_driver_is_found_once_it_lasts() {
    let yaml = plugin("True", LONG_AGO, "") + &csi_node("ebs.csi.aws.com") + &kube("True", LONG_AGO);
    assert_eq!(found(&CHECK, &cluster_at(NOW, &yaml)), ["warning not_registered CSINode n1"]);
    let live = live_at(NOW, &(yaml + MANAGER));
    assert!(found(&CHECK, &live).is_empty());
    assert_eq!(found(&CHECK, &later(later(live, 10), 300)), ["warning not_registered CSINode n1"]);
}

#[test]
fn a_node_without_plugin_is_context_until_a_volume_is_attached_there() {
    let yaml = SET.to_owned() + LONGHORN_NODE;
    assert_eq!(found(&CHECK, &cluster_at(NOW, &yaml)), ["info plugin_missing Node n1"]);
    assert_eq!(found(&CHECK, &cluster_at(NOW, &(yaml.clone() + ENGINE))), ["warning plugin_missing Node n1"]);
    // a taint that keeps the manager away, too
    let left = yaml.replace("status: 'True'", "status: 'False', reason: ManagerPodMissing");
    assert!(found(&CHECK, &cluster_at(NOW, &left)).is_empty());
    assert_eq!(found(&CHECK, &cluster_at(NOW, &(left + ENGINE))), ["warning plugin_missing Node n1"]);
    let evaluation = run(&CHECK, &cluster_at(NOW, &yaml));
    assert_eq!(sample(&evaluation, "longhorn_health_csi_plugins", &["missing"]), Some(1.0));
    let new = yaml.replace("2026-02-01T00:00:00Z", JUST_NOW);
    assert!(found(&CHECK, &cluster_at(NOW, &new)).is_empty(), "it is being installed");
    let rebooted = yaml + &kube("True", JUST_NOW);
    assert!(found(&CHECK, &cluster_at(NOW, &rebooted)).is_empty());
}

#[test]
fn a_volume_on_its_way_to_a_node_without_plugin_is_not_said_to_work() {
    let yaml = SET.to_owned() + LONGHORN_NODE;
    let volume = |name: &str, state: &str| object("Volume", name, &format!("status: {{state: {state}}}"));
    let engine =
        |name: &str| ENGINE.replace("{name: e,", &format!("{{name: e-{name},")).replace("vol-1", name);
    let impact = |more: String| {
        run(&CHECK, &cluster_at(NOW, &(yaml.clone() + &more))).report.findings.remove(0).impact
    };
    let (waits, works) = (engine("a") + &volume("a", "attaching"), engine("b") + &volume("b", "attached"));
    assert_eq!(
        impact(waits.clone()),
        "pods with a Longhorn volume cannot start on the node; 1 volume is waiting to attach there"
    );
    let both = impact(waits + &works);
    let expected = "cannot start or end on the node; 1 volume attached there keeps working until a pod mounts or unmounts it; 1 volume is waiting to attach there";
    assert!(both.ends_with(expected), "{both}");
    let two = impact(works + &engine("c") + &volume("c", "attached"));
    assert!(
        two.ends_with("2 volumes attached there keep working until a pod mounts or unmounts them"),
        "{two}"
    );
    assert_eq!(impact(String::new()), "pods with a Longhorn volume cannot start on the node");
    // a taint took it away a minute ago: the kubelet's Event says so, and the other time is of the node
    let stopped = |at: &str, host: &str| {
        format!(
            "apiVersion: v1\nkind: Event\nmetadata: {{name: k, namespace: longhorn-system}}\nreason: Killing\nlastTimestamp: '{at}'\n\
             source: {{component: kubelet, host: {host}}}\ninvolvedObject: {{kind: Pod, name: longhorn-csi-plugin-x}}\n---\n"
        )
    };
    let missing = |at: &str, host: &str| {
        !found(
            &CHECK,
            &cluster_at(NOW, &(yaml.clone() + &kube("True", LONG_AGO) + ENGINE + &stopped(at, host))),
        )
        .is_empty()
    };
    assert!(!missing(JUST_NOW, "n1"));
    assert!(missing(JUST_NOW, "n2") && missing(LONG_AGO, "n1"));
}

#[test]
fn a_plugin_that_ends_until_the_manager_is_back_after_a_reboot_is_left_alone() {
    let crashing = |back: &str| plugin("False", LONG_AGO, LOOP) + &kube("True", back);
    assert!(found(&CHECK, &cluster_at(NOW, &crashing(JUST_NOW))).is_empty());
    assert_eq!(found(&CHECK, &cluster_at(NOW, &crashing(LONG_AGO))).len(), 1);
}

fn deployment(name: &str, replicas: u8) -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {name}, namespace: longhorn-system, creationTimestamp: '2026-02-01T00:00:00Z'}}\n\
         spec: {{replicas: {replicas}}}\nstatus: {{replicas: {replicas}}}\n---\n"
    )
}

#[test]
fn one_working_pod_of_a_controller_is_enough() {
    let attacher = |node: &str, ready: &str, since: &str, containers: &str| {
        pod("csi-attacher", node, ready, since, containers)
    };
    let deployed = |pods: String| deployment("csi-attacher", 3) + &pods;
    for (yaml, expected) in [
        (deployed(attacher("n1", "False", LONG_AGO, LOOP) + &attacher("n2", "True", LONG_AGO, "")), None),
        (
            deployed(attacher("n1", "False", LONG_AGO, "") + &attacher("n2", "False", LONG_AGO, "")),
            Some("critical controller_down"),
        ),
        (deployed(attacher("n1", "False", JUST_NOW, LOOP)), Some("critical controller_down")),
        (deployed(attacher("n1", "False", JUST_NOW, "")), None),
        (deployed(String::new()), Some("critical controller_down")),
        // the only pod is on a node that does not answer, so the kubelet has not taken Ready from it yet
        (
            deployed(attacher("n1", "True", LONG_AGO, "")) + &kube("Unknown", LONG_AGO),
            Some("critical controller_down"),
        ),
        (deployment("csi-attacher", 0), None),
    ] {
        let expected: Vec<_> =
            expected.map(|line| format!("{line} Deployment csi-attacher")).into_iter().collect();
        assert_eq!(found(&CHECK, &cluster_at(NOW, &yaml)), expected, "{yaml}");
    }
    let snapshotter =
        deployment("csi-snapshotter", 3) + &pod("csi-snapshotter", "n1", "False", LONG_AGO, LOOP);
    assert_eq!(
        found(&CHECK, &cluster_at(NOW, &snapshotter)),
        ["warning sidecar_down Deployment csi-snapshotter"]
    );
    // what stops with a controller is told with it
    let both = deployed(attacher("n1", "False", LONG_AGO, LOOP)) + &snapshotter;
    assert_eq!(found(&CHECK, &cluster_at(NOW, &both)), ["critical controller_down Deployment csi-attacher"]);
    // played with the uninstaller of 1.12.1
    let going = both.replace(
        "kind: Deployment\nmetadata: {",
        "kind: Deployment\nmetadata: {deletionTimestamp: '2026-03-01T11:59:50Z', ",
    );
    assert!(found(&CHECK, &cluster_at(NOW, &going)).is_empty(), "{going}");
    // seen while a namespace was being deleted: the DaemonSet of the managers is gone, and they end
    let volume = |state: &str| object("Volume", "v", &format!("status: {{state: {state}}}"));
    let manager = |metadata: &str| longhorn_manager("longhorn-manager-a", metadata, "spec: {nodeName: n1}");
    let ends = manager("deletionTimestamp: '2026-03-01T11:59:50Z'");
    for (pods, state, expected) in
        [(&ends, "detached", 0), (&ends, "attached", 1), (&manager("uid: u"), "detached", 1)]
    {
        let yaml = both.clone() + pods + &volume(state);
        assert_eq!(found(&CHECK, &cluster_at(NOW, &yaml)).len(), expected, "{yaml}");
    }
    let kept = both.clone() + &ends + &manager_daemon_set("image: i");
    assert_eq!(found(&CHECK, &cluster_at(NOW, &kept)).len(), 1, "its managers are made again");
    let finding = run(&CHECK, &cluster_at(NOW, &both)).report.findings.remove(0);
    assert!(finding.evidence().iter().any(|fact| fact.text.contains("no pod of csi-snapshotter works")));
    let loops = deployed(attacher("n1", "False", JUST_NOW, LOOP));
    let finding = run(&CHECK, &cluster_at(NOW, &loops)).report.findings.remove(0);
    assert_eq!(
        finding.message,
        "no pod of csi-attacher works: container longhorn-csi-plugin waits with CrashLoopBackOff"
    );
    // seen: three pods that were killed three times; once they run for a minute, and twice as long as the last time, it is over
    let runs = |restarts: &str, before: &str, started: &str| {
        let again = RUNS_AGAIN.replace("RESTARTS", restarts).replace("BEFORE", before);
        let again = again.replace("STARTED", &format!("2026-03-01T{started}Z"));
        deployed(attacher("n1", "True", JUST_NOW, &again))
    };
    let again = runs("3", "2026-03-01T11:58:45Z", "11:59:01");
    let finding = run(&CHECK, &cluster_at(NOW, &again)).report.findings.remove(0);
    assert_eq!(
        finding.message,
        "no pod of csi-attacher keeps running: container csi-attacher ended 3 times, last with exit code 137"
    );
    let over = |before: &str| found(&CHECK, &cluster_at(NOW, &runs("3", before, "11:59:00"))).is_empty();
    assert!(over("2026-03-01T11:58:29Z") && !over("2026-03-01T11:58:28Z"));
    let twice = runs("2", "2026-03-01T11:58:45Z", "11:59:01");
    assert!(run(&CHECK, &cluster_at(NOW, &twice)).report.findings.is_empty(), "nor are two, while it runs");
    let once = runs("1", "2026-03-01T11:58:45Z", "11:59:01");
    assert!(run(&CHECK, &cluster_at(NOW, &once)).report.findings.is_empty(), "one end is no loop");
}

/// Played with `kubectl delete -f` of the manifest of 1.12.1: the pods were gone before their Deployment, which had worked until then.
#[test]
fn a_controller_is_down_since_it_stopped_and_not_since_it_was_made() {
    let condition = |kind: &str, status: &str, since: &str| {
        format!("{{type: {kind}, status: '{status}', lastTransitionTime: '{since}'}}")
    };
    let with = |available: &str, pods: &str| {
        let made = condition("Progressing", "True", LONG_AGO);
        let conditions =
            format!("conditions: [{made}, {}]", condition("Available", available, "2026-03-01T11:49:00Z"));
        deployment("csi-attacher", 3)
            .replace("status: {replicas: 3", &format!("status: {{replicas: 3, {conditions}"))
            + pods
    };
    let since = |yaml: String| {
        let report = run(&CHECK, &cluster_at(NOW, &yaml)).report;
        report.findings[0].since.unwrap().to_string()
    };
    assert_eq!(since(with("False", "")), "2026-03-01T11:49:00Z");
    let attacher = |since: &str| pod("csi-attacher", "n1", "False", since, "");
    let last = attacher("2026-03-01T11:53:00Z");
    assert_eq!(since(with("False", &last)), "2026-03-01T11:53:00Z", "the last of several");
    let ends = pod("csi-attacher", "n1", "True", LONG_AGO, "");
    let ends = ends.replace("metadata: {", "metadata: {deletionTimestamp: '2026-03-01T11:49:30Z', ");
    assert_eq!(since(with("False", &ends)), "2026-03-01T11:49:30Z", "it worked until it was asked to end");
    assert_eq!(since(with("True", "")), "2026-02-01T00:00:00Z", "its status is behind");
}

/// The same: what ended it is told, and not that it did.
#[test]
fn controllers_that_went_with_longhorn_are_not_told_beside_it() {
    let volume =
        |metadata: &str| object_with("Volume", "v", metadata, "status: {state: attached, currentNodeID: n1}");
    let ends = longhorn_manager("longhorn-manager-a", "deletionTimestamp: '2026-03-01T11:49:50Z'", "");
    let of = |metadata: &str| {
        found(&CHECK, &cluster_at(NOW, &(deployment("csi-attacher", 3) + &ends + &volume(metadata))))
    };
    let deleted = of("deletionTimestamp: '2026-03-01T11:49:30Z'");
    assert_eq!(deleted, ["critical deleted_in_use DaemonSet longhorn-manager"]);
    assert_eq!(of(""), ["critical controller_down Deployment csi-attacher"]);
}

#[test]
fn sidecars_that_end_while_an_upgrade_exchanges_them_or_their_plugin_are_left_alone() {
    let made = |yaml: String, at: &str| yaml.replace("2026-02-01T00:00:00Z", at);
    let attacher = || pod("csi-attacher", "n1", "False", JUST_NOW, LOOP);
    let plugin = |node: &str| pod("longhorn-csi-plugin", node, "True", JUST_NOW, "");
    let down = |pods: String| found(&CHECK, &cluster_at(NOW, &(deployment("csi-attacher", 1) + &pods)));
    const FOUND: [&str; 1] = ["critical controller_down Deployment csi-attacher"];
    assert!(down(made(attacher(), JUST_NOW)).is_empty(), "its pod is new");
    assert!(down(attacher() + &made(plugin("n1"), JUST_NOW)).is_empty(), "its plugin is new");
    assert_eq!(down(attacher() + &made(plugin("n2"), JUST_NOW)), FOUND, "a plugin elsewhere");
    assert_eq!(down(made(attacher(), "2026-03-01T11:55:00Z")), FOUND, "for five minutes");
    assert_eq!(down(attacher() + &made(plugin("n1"), "2026-03-01T11:55:00Z")), FOUND, "its plugin is not");
}
