//! What Longhorn says wrongly of a node is no reason of another check.

use crate::testing::*;

#[test]
fn an_outdated_word_is_no_reason() {
    let down = |said: &str| {
        let ready = |status: &str, reason: &str, at: &str| {
            format!(
                "status: {{conditions: [{{type: Ready, status: '{status}', reason: '{reason}', lastTransitionTime: '2026-01-01T{at}Z'}}]}}"
            )
        };
        let yaml = object("Node", "n1", &ready("False", "KubernetesNodeGone", said))
            + &kube_node("n1", &ready("True", "KubeletReady", "09:00:00"))
            + &longhorn_manager(
                "m1",
                "",
                &format!("spec: {{nodeName: n1}}\n{}", ready("True", "", "09:00:00")),
            );
        crate::facts::nodes::down(&cluster_at("2026-01-01T12:00:00Z", &yaml), "n1").is_some()
    };
    assert!(!down("10:00:00"));
    assert!(down("11:58:00"), "it counts at first");
}
