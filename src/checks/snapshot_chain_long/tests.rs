use super::CHECK;
use crate::testing::*;

/// A volume whose engine has so many snapshots beside the head.
fn volume(count: usize, spec: &str, conditions: &str) -> String {
    let snapshots: Vec<String> = (0..count).map(|at| format!("s-{at}: {{name: s-{at}}}")).collect();
    object(
        "Volume",
        "v",
        &format!(
            "spec: {{numberOfReplicas: 1, nodeID: n, {spec}}}\nstatus: {{state: attached, robustness: healthy, currentNodeID: n, conditions: [{conditions}]}}"
        ),
    ) + &object_with(
        "Engine",
        "v-e-0",
        "labels: {longhornvolume: v}",
        &format!(
            "spec: {{volumeName: v, nodeID: n, active: true}}\nstatus: {{currentState: running, snapshots: {{volume-head: {{name: volume-head}}, {}}}}}",
            snapshots.join(", ")
        ),
    )
}

#[test]
fn the_limit_is_that_of_the_volume_else_of_the_setting_else_250() {
    for (count, spec, setting_value, expected) in [
        (250, "", "", "warning at_limit Volume v"),
        (225, "", "", "warning near_limit Volume v"),
        (224, "", "", ""),
        (150, "snapshotMaxCount: 150", "", "warning at_limit Volume v"),
        (5, "snapshotMaxCount: 5", "", "warning at_limit Volume v"),
        (9, "snapshotMaxCount: 10", "", "info near_limit Volume v"),
        (4, "snapshotMaxCount: 250", "", ""),
        (180, "snapshotMaxCount: 0", "200", "warning near_limit Volume v"),
        (179, "snapshotMaxCount: 0", "200", ""),
        (0, "", "", ""),
    ] {
        let mut yaml = volume(count, spec, "");
        if !setting_value.is_empty() {
            yaml += &setting("snapshot-max-count", setting_value);
        }
        assert_eq!(found(&CHECK, &cluster(&yaml)).join(""), expected, "{count} {spec}");
    }
}

#[test]
fn a_chain_that_no_replica_opens_is_told_before_and_after() {
    let says = |yaml: &str| run(&CHECK, &cluster(yaml)).report.findings.remove(0).remedy.fix;
    let attached = volume(250, "", "");
    assert!(says(&attached).contains("while it is attached"));
    assert!(!says(&volume(249, "snapshotMaxCount: 249", "")).contains("while it is attached"));
    let stopped = attached.replace("currentState: running", "currentState: error");
    assert_eq!(found(&CHECK, &cluster(&stopped)), ["critical cannot_open Volume v"]);
    let at_rest =
        stopped.replace("state: attached, robustness: healthy", "state: detached, robustness: unknown");
    assert_eq!(found(&CHECK, &cluster(&at_rest)), ["warning at_limit Volume v"]);
}

#[test]
fn longhorns_own_word_is_context() {
    let many = "{type: TooManySnapshots, status: 'True', reason: TooManySnapshots, message: 'Snapshots count is 101 over the warning threshold 100'}";
    assert_eq!(found(&CHECK, &cluster(&volume(101, "", many))), ["info many Volume v"]);
    let old = many.replace("TooManySnapshots, status", "toomanysnapshots, status");
    assert_eq!(found(&CHECK, &cluster(&volume(101, "", &old))), ["info many Volume v"]);
    let few = many.replace("'True'", "'False'");
    assert!(found(&CHECK, &cluster(&volume(99, "", &few))).is_empty());
}
