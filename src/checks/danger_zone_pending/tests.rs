use super::CHECK;
use crate::testing::*;

/// An instance manager whose condition SettingSynced is False with this message.
fn unsynced(name: &str, message: &str) -> String {
    object(
        "InstanceManager",
        name,
        &format!(
            "spec: {{nodeID: node-1}}\n\
             status: {{conditions: [{{type: SettingSynced, status: 'False', message: '{message}'}}]}}"
        ),
    )
}

#[test]
fn many_instance_managers_do_not_flood_the_evidence() {
    let many: String = (0..300).map(|number| unsynced(&format!("im-{number}"), "priority-class")).collect();
    let report = run(&CHECK, &cluster(&many)).report;
    assert_eq!(report.findings[0].evidence().len(), 11);
    assert_eq!(report.findings[0].evidence().last().unwrap().text, "and 290 further instance managers");
}
