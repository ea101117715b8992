use super::CHECK;
use crate::cluster::Readability;
use crate::longhorn::Resource;
use crate::testing::*;

const NOW: &str = "2026-03-01T12:00:00Z";

fn manager(node: &str, since: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: manager-{node}, namespace: longhorn-system, creationTimestamp: \
         {since}, labels: {{app: longhorn-manager}}}}\nspec: {{nodeName: {node}}}\n---\n"
    )
}

fn kube(node: &str) -> String {
    format!("apiVersion: v1\nkind: Node\nmetadata: {{name: {node}}}\n---\n")
}

fn longhorn(node: &str, ready: &str) -> String {
    format!(
        "apiVersion: longhorn.io/v1beta2\nkind: Node\nmetadata: {{name: {node}, namespace: longhorn-system}}\n\
         status: {{conditions: [{ready}]}}\n---\n"
    )
}

fn gone_since(time: &str) -> String {
    format!("{{type: Ready, status: 'False', reason: KubernetesNodeGone, lastTransitionTime: '{time}'}}")
}

const OLD: &str = "'2026-02-01T00:00:00Z'";

#[test]
fn a_manager_without_longhorn_node_is_found_after_the_longest_first_start() {
    let others = kube("node-1") + &kube("node-2") + &longhorn("node-2", "") + &manager("node-2", OLD);
    for (since, expected) in [
        (OLD, &["warning never_started Node node-1"][..]),
        ("'2026-03-01T11:50:00Z'", &["warning never_started Node node-1"]),
        ("'2026-03-01T11:50:01Z'", &[]),
        // age unknown: the persistent class
        ("null", &["warning never_started Node node-1"]),
    ] {
        let cluster = cluster_at(NOW, &(others.clone() + &manager("node-1", since)));
        assert_eq!(found(&CHECK, &cluster), expected, "{since}");
    }
    // the pod of a node that is no longer there
    assert!(found(&CHECK, &cluster_at(NOW, &(others + &manager("node-9", OLD)))).is_empty());
}

#[test]
fn incident_002_a_fresh_cluster_without_any_longhorn_node() {
    let yaml = kube("node-1") + &kube("node-2") + &manager("node-1", OLD) + &manager("node-2", OLD);
    let cluster = cluster_at(NOW, &yaml);
    assert_eq!(found(&CHECK, &cluster).len(), 2);
    let evaluation = run(&CHECK, &cluster);
    let count = |state| sample(&evaluation, "longhorn_health_nodes", &[state]);
    assert_eq!(
        [count("registered"), count("never_started"), count("node_gone")],
        [Some(0.0), Some(2.0), Some(0.0)]
    );
    // with instance managers it is the recording that is incomplete
    let im = "apiVersion: longhorn.io/v1beta2\nkind: InstanceManager\nmetadata: {name: im, namespace: longhorn-system}\n---\n";
    let report = run(&CHECK, &partial(&(yaml + im))).report;
    assert!(report.findings.is_empty());
    assert_eq!(report.unknown[0].reason, "nodes.longhorn.io is not recorded");
}

#[test]
fn a_node_that_left_kubernetes() {
    let replica = "apiVersion: longhorn.io/v1beta2\nkind: Replica\nmetadata: {name: r, namespace: longhorn-system}\n\
                   spec: {nodeID: node-1}\n---\n";
    let found_with =
        |ready: &str| found(&CHECK, &cluster_at(NOW, &(kube("node-2") + &longhorn("node-1", ready))));
    assert_eq!(
        found_with(&gone_since("2026-03-01T11:55:00Z")),
        ["warning node_gone nodes.longhorn.io node-1"]
    );
    assert!(found_with(&gone_since("2026-03-01T11:55:01Z")).is_empty());
    // Longhorn has not noticed, for its managers are down: the list of nodes decides
    assert_eq!(found_with(""), ["warning node_gone nodes.longhorn.io node-1"]);
    let cluster = cluster_at(NOW, &(kube("node-2") + &longhorn("node-1", "") + replica));
    let finding = &run(&CHECK, &cluster).report.findings[0];
    assert!(finding.impact.starts_with("1 replica on it"), "{}", finding.impact);
    assert!(finding.evidence.iter().any(|fact| fact.text.contains("not known from this recording")));
    // the webhook refuses to delete a node that may be scheduled on
    let changes: Vec<_> =
        finding.remedy.commands.iter().filter(|c| c.changes).map(|c| c.run.as_str()).collect();
    assert_eq!(
        changes,
        [
            "kubectl -n longhorn-system patch nodes.longhorn.io node-1 --type merge -p '{\"spec\":{\"allowScheduling\":false}}'",
            "kubectl -n longhorn-system delete nodes.longhorn.io node-1"
        ]
    );
}

#[test]
fn live_a_gone_node_ages_before_it_is_found() {
    let mut cluster = live_at(NOW, &(kube("node-2") + &longhorn("node-1", "")));
    for _ in 0..2 {
        assert!(found(&CHECK, &cluster).is_empty());
        cluster = later(cluster, 200);
    }
    assert!(!found(&CHECK, &cluster).is_empty());
}

#[test]
fn without_kubernetes_nodes_longhorns_word_counts() {
    let mut cluster = live_at(
        NOW,
        &(longhorn("node-1", &gone_since("2026-03-01T11:00:00Z"))
            + &longhorn("node-2", "")
            + &manager("node-3", OLD)),
    );
    cluster.resources.entry(Resource::KubeNodes).or_default().readability = Readability::Forbidden;
    assert_eq!(
        found(&CHECK, &cluster),
        ["warning never_started Node node-3", "warning node_gone nodes.longhorn.io node-1"]
    );
}

#[test]
fn unreadable_longhorn_nodes_are_unknown() {
    let mut cluster = live_at(NOW, &(kube("node-1") + &manager("node-1", OLD)));
    cluster.resources.entry(Resource::LonghornNodes).or_default().readability = Readability::Forbidden;
    let evaluation = run(&CHECK, &cluster);
    assert!(evaluation.report.findings.is_empty());
    assert_eq!(evaluation.report.unknown[0].reason, "nodes.longhorn.io is forbidden");
    assert_eq!(sample(&evaluation, "longhorn_health_nodes", &["registered"]), None);
}
