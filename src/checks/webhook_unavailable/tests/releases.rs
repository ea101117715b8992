//! What the release of the managers decides.

use super::*;

#[test]
fn the_conversion_webhook_is_needed_up_to_1_9() {
    let managers = manager("n1", "True", LONG_AGO, RUNNING);
    for (version, expected) in [("v1.9.2", true), ("v1.10.0", false)] {
        let yaml = release(version) + &daemon_set(1) + &managers + &admission(&["longhorn-manager-n1=true"]);
        let conversion = "critical no_ready_endpoint Service longhorn-conversion-webhook".to_owned();
        assert_eq!(found(&CHECK, &at_first(&yaml)).contains(&conversion), expected, "{version}");
    }
    // both down, same pods: one finding
    let two = ["n1", "n2"].map(|node| manager(node, "False", LONG_AGO, LOOPING)).concat();
    let yaml = release("v1.9.2") + &daemon_set(2) + &two + &admission(&[]);
    assert_eq!(found(&CHECK, &at_now(&yaml)), [DEADLOCK]);
}

/// A DaemonSet whose manager has this image tag.
fn rolled_to(tag: &str) -> String {
    daemon_set(2).replace(
        "status: {",
        &format!(
            "spec: {{template: {{spec: {{containers: [{{name: longhorn-manager, image: \
             'registry.example/longhornio/longhorn-manager:{tag}'}}]}}}}}}\nstatus: {{"
        ),
    )
}

#[test]
fn what_managers_run_counts_and_not_what_was_installed() {
    let ready = manager("n1", "True", LONG_AGO, RUNNING) + &manager("n2", "True", LONG_AGO, RUNNING);
    let served = admission(&["longhorn-manager-n1=true", "longhorn-manager-n2=true"]);
    // 1.9 to 1.10: the Service of the conversion webhook is gone before the setting tells of 1.10
    for tag in ["v1.10.0", "v1.10.0-rc1", "v1.10.2-amd64"] {
        let yaml = release("v1.9.2") + &rolled_to(tag) + &ready + &served;
        assert_eq!(found(&CHECK, &at_now(&yaml)), Vec::<String>::new(), "{tag}");
    }
    // 1.4 to 1.5: managers serve it now, and do not
    let looping = manager("n1", "False", LONG_AGO, LOOPING) + &manager("n2", "False", LONG_AGO, LOOPING);
    let yaml = release("v1.4.4") + &rolled_to("v1.5.5") + &looping + &admission(&[]);
    assert_eq!(found(&CHECK, &at_now(&yaml)), [DEADLOCK]);
    // 1.6 to 1.7: pods of 1.6 have no label and need none
    let old = pod("longhorn-manager", "n1", "", "True", LONG_AGO, RUNNING).replace(
        "spec: {nodeName: n1}",
        "spec: {nodeName: n1, containers: [{name: longhorn-manager, image: 'longhornio/longhorn-manager:v1.6.4'}]}",
    );
    assert!(old.contains("v1.6.4"));
    let yaml = release("v1.7.3")
        + &rolled_to("v1.7.3")
        + &old
        + &manager("n2", "True", LONG_AGO, RUNNING)
        + &served
        + &slice("c", "longhorn-conversion-webhook", &["longhorn-manager-n2=true"]);
    assert_eq!(found(&CHECK, &at_now(&yaml)), Vec::<String>::new());
    // the hotfix of 1.11.0 lets Kubernetes nodes be, and calls itself 1.11.0
    let yaml = release("v1.11.0") + &rolled_to("v1.11.0-hotfix-1") + &looping + &admission(&[]);
    let finding = run(&CHECK, &at_now(&yaml)).report.findings.remove(0);
    assert!(!finding.impact.contains("Kubernetes Node"), "{}", finding.impact);
}
