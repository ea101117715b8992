//! Drains that move replicas away.

use super::*;

#[test]
fn a_drain_that_evicts_blocks_only_when_nothing_moves_any_longer() {
    let base = version("v1.12.1")
        + &setting("node-drain-policy", "block-for-eviction")
        + &manager("im-1", "n1", "")
        + &kube("n1", true, "")
        + &node(false, false)
        + &replica("r1", "uuid-1", "evictionRequested: true");
    let blocks = |yaml: String| {
        recorded(&yaml).into_iter().filter(|line| line.contains("pdb_blocks")).collect::<Vec<_>>()
    };
    let (info, warning) =
        (["info pdb_blocks PodDisruptionBudget im-1"], ["warning pdb_blocks PodDisruptionBudget im-1"]);
    assert_eq!(blocks(base.clone()), warning);
    // a copy is being written elsewhere
    assert_eq!(blocks(base.clone() + &engine("r1: RW, r2: WO")), info);
    // another was made ten minutes, and an hour ago
    let made = |at: &str| {
        object_with(
            "Replica",
            "r2",
            &format!("creationTimestamp: '{at}'"),
            "spec: {volumeName: vol, nodeID: n2, diskID: uuid-9}",
        )
    };
    assert_eq!(blocks(base.clone() + &made("2026-01-01T11:50:00Z")), info);
    assert_eq!(blocks(base.clone() + &made("2026-01-01T11:00:00Z")), warning);
    // attached volumes do not leave by an eviction
    let attached =
        base.replace(&manager("im-1", "n1", ""), &manager("im-1", "n1", "instanceEngines: {vol-e-0: {}}"));
    assert_eq!(blocks(attached + &engine("r1: RW, r2: WO")), warning);
}
