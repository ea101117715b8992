//! Longhorn's word about a node against that of Kubernetes.

use super::super::CHECK;
use crate::testing::*;

/// A node that Kubernetes has had Ready since `kube`, whose manager has been Ready since `pod`; Longhorn says something else since `said`.
fn node(reason: &str, said: &str, kube: &str, pod: &str) -> String {
    let ready = |status: &str, reason: &str, at: &str| {
        format!(
            "{{conditions: [{{type: Ready, status: '{status}', reason: '{reason}', lastTransitionTime: '2026-01-01T{at}Z'}}]}}"
        )
    };
    let status = if reason.is_empty() { "True" } else { "False" };
    object("Node", "n1", &format!("status: {}", ready(status, reason, said)))
        + &kube_node("n1", &format!("status: {}", ready("True", "KubeletReady", kube)))
        + &longhorn_manager(
            "m1",
            "creationTimestamp: '2026-01-01T00:00:00Z'",
            &format!("spec: {{nodeName: n1}}\nstatus: {}", ready("True", "", pod)),
        )
}

fn at_noon(yaml: &str) -> String {
    found(&CHECK, &cluster_at("2026-01-01T12:00:00Z", yaml)).join(" ")
}

#[test]
fn a_node_that_is_called_down_while_it_is_ready_is_found() {
    let wrong = "warning node_status_wrong nodes.longhorn.io n1";
    for reason in ["KubernetesNodeGone", "KubernetesNodeNotReady", "ManagerPodDown", "ManagerPodMissing"] {
        assert_eq!(at_noon(&node(reason, "10:00:00", "09:00:00", "09:00:00")), wrong, "{reason}");
        assert_eq!(at_noon(&node(reason, "10:00:00", "11:55:01", "11:55:01")), "", "{reason}: just back");
        assert_eq!(at_noon(&node(reason, "11:55:01", "09:00:00", "09:00:00")), "", "{reason}: just said");
    }
    assert_eq!(
        at_noon(&node("ManagerPodDown", "10:00:00", "09:00:00", "11:59:00")),
        "",
        "its manager is just back"
    );
    assert_eq!(
        at_noon(&node("KubernetesNodePressure", "10:00:00", "09:00:00", "09:00:00")),
        "",
        "nothing contradicts it"
    );
    assert_eq!(at_noon(&node("", "10:00:00", "09:00:00", "09:00:00")), "");
}

#[test]
fn a_node_that_is_down_or_whose_manager_is_not_ready_is_not_contradicted() {
    let down = node("KubernetesNodeNotReady", "10:00:00", "09:00:00", "09:00:00")
        .replace("KubeletReady", "x")
        .replacen(
            "type: Ready, status: 'True', reason: 'x'",
            "type: Ready, status: 'Unknown', reason: 'x'",
            1,
        );
    assert_eq!(at_noon(&down), "");
    let no_manager = node("ManagerPodMissing", "10:00:00", "09:00:00", "09:00:00")
        .split("---\n")
        .take(2)
        .collect::<Vec<_>>()
        .join("---\n");
    assert_eq!(at_noon(&no_manager), "");
}

/// What others say of a node is not built on a word that is wrong.
#[test]
fn an_outdated_word_is_no_reason() {
    let cluster = |yaml: &str| cluster_at("2026-01-01T12:00:00Z", yaml);
    let down = |yaml: &str| crate::facts::nodes::down(&cluster(yaml), "n1").is_some();
    assert!(!down(&node("KubernetesNodeGone", "10:00:00", "09:00:00", "09:00:00")));
    assert!(down(&node("KubernetesNodeGone", "11:58:00", "09:00:00", "09:00:00")), "it counts at first");
}
