use super::CHECK;
use crate::testing::*;

fn setting(name: &str, applied: &str) -> String {
    object("Setting", name, &format!("value: x\n{applied}"))
}

#[test]
fn only_danger_zone_settings_that_are_not_applied_are_found() {
    let yaml = setting("priority-class", "status: {applied: false}")
        + &setting("taint-toleration", "status: {applied: true}")
        // 1.6 and older have no status: absent is not false
        + &setting("storage-network", "")
        // not of the danger zone
        + &setting("backup-target", "status: {applied: false}");
    let cluster = cluster(&yaml);
    assert_eq!(found(&CHECK, &cluster), ["info priority_class Setting priority-class"]);
    let evaluation = run(&CHECK, &cluster);
    assert_eq!(sample(&evaluation, "longhorn_health_danger_zone_pending", &["priority-class"]), Some(1.0));
    assert_eq!(sample(&evaluation, "longhorn_health_danger_zone_pending", &["taint-toleration"]), None);
}

#[test]
fn a_setting_that_waits_for_nothing_asks_for_no_detaching() {
    let pending = object("Setting", "priority-class", "value: high\nstatus: {applied: false}");
    let manager = object("InstanceManager", "im-1", "spec: {nodeID: node-1}");
    let pod = |class: &str| object("Pod", "im-1", &format!("spec: {{priorityClassName: {class}}}"));
    let volume = |state: &str| object("Volume", "v", &format!("status: {{state: {state}}}"));
    let said = |class: &str, state: &str| {
        let yaml = pending.clone() + &manager + &pod(class) + &volume(state);
        let finding = run(&CHECK, &cluster(&yaml)).report.findings.remove(0);
        (finding.message, finding.impact, finding.remedy.fix)
    };
    let (message, _, remedy) = said("low", "attached");
    assert!(message.ends_with("not applied yet") && remedy.starts_with("Detach"), "{message} {remedy}");
    let (message, impact, remedy) = said("low", "detached");
    assert!(
        message.ends_with("not applied yet") && impact.ends_with("every volume is detached"),
        "{message}"
    );
    assert!(!remedy.contains("Detach the volumes") && remedy.contains("once an hour"), "{remedy}");
    let (message, ..) = said("high", "detached");
    assert_eq!(
        message,
        "setting priority-class is in every instance manager pod, but Longhorn reports it as not applied"
    );
}

#[test]
fn an_instance_manager_that_is_not_synced_is_evidence_and_not_a_second_finding() {
    let manager = "apiVersion: longhorn.io/v1beta2\nkind: InstanceManager\n\
                   metadata: {name: im-1, namespace: longhorn-system}\nspec: {nodeID: node-1}\n\
                   status: {conditions: [{type: SettingSynced, status: 'False', \
                   message: 'settings not synced: priority-class, log-path'}]}\n---\n";
    let cluster = cluster(&(setting("priority-class", "status: {applied: false}") + manager));
    assert_eq!(
        found(&CHECK, &cluster),
        ["info priority_class Setting priority-class", "info log_path Setting log-path"]
    );
    let report = run(&CHECK, &cluster).report;
    assert!(report.findings[0].evidence().iter().any(|fact| fact.text.contains("im-1 on node-1")));
}

#[test]
fn unreadable_settings_are_unknown_and_not_healthy() {
    let pending = setting("priority-class", "status: {applied: false}");
    let mut cluster = live_at("2026-01-01T00:00:00Z", &(pending + MANAGER));
    let settings = crate::longhorn::Resource::Settings;
    cluster.resources.entry(settings).or_default().readability = crate::cluster::Readability::Forbidden;
    let report = run(&CHECK, &cluster).report;
    assert_eq!(report.status, crate::report::Status::Unknown);
    assert_eq!(report.unknown[0].reason, "settings.longhorn.io are forbidden");
    assert!(report.findings.is_empty());
}

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
fn a_setting_that_only_an_instance_manager_lacks_is_not_called_unapplied() {
    let applied = setting("log-path", "status: {applied: true}");
    let report =
        run(&CHECK, &cluster(&(applied + &unsynced("im-1", "Settings [log-path log-path] are not synced"))))
            .report;
    let facts: Vec<_> = report.findings[0].evidence().iter().map(|fact| fact.text.as_str()).collect();
    assert_eq!(facts, ["instance manager im-1 on node-1: condition SettingSynced is False"]);
}

#[test]
fn many_instance_managers_do_not_flood_the_evidence() {
    let many: String = (0..300).map(|number| unsynced(&format!("im-{number}"), "priority-class")).collect();
    let report = run(&CHECK, &cluster(&many)).report;
    assert_eq!(report.findings[0].evidence().len(), 11);
    assert_eq!(report.findings[0].evidence().last().unwrap().text, "and 290 further instance managers");
}

#[test]
fn no_restart_is_announced_where_none_comes() {
    let impact = |name: &str| {
        run(&CHECK, &cluster(&setting(name, "status: {applied: false}"))).report.findings.remove(0).impact
    };
    assert!(impact("priority-class").starts_with("instance managers restart"));
    for name in [
        "system-managed-csi-components-resource-limits",
        "endpoint-network-for-rwx-volume",
        "disable-snapshot-purge",
    ] {
        assert!(impact(name).contains("no instance manager restarts"), "{name}");
    }
}

/// A setting that Longhorn calls applied, and an instance manager whose pod has this in its spec.
fn in_pod(setting: &str, value: &str, spec: &str) -> Vec<String> {
    let setting = object("Setting", setting, &format!("value: '{value}'\nstatus: {{applied: true}}"));
    let pod = format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: im-1, namespace: longhorn-system}}\nspec: {{{spec}}}\n---\n"
    );
    found(&CHECK, &cluster(&(setting + &object("InstanceManager", "im-1", "spec: {nodeID: node-1}") + &pod)))
}

#[test]
fn what_a_pod_does_not_tolerate_is_pending() {
    let own =
        "{key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute, tolerationSeconds: 300}";
    for (value, has, pending) in [
        ("", "", false),
        ("", "{key: a, operator: Exists}", false),
        (
            "storage=only:NoSchedule",
            "{key: storage, operator: Equal, value: only, effect: NoSchedule}",
            false,
        ),
        (
            "storage:NoSchedule; gpu:",
            "{key: gpu, operator: Exists}, {key: storage, operator: Exists, effect: NoSchedule}",
            false,
        ),
        (
            "storage=only:NoSchedule",
            "{key: storage, operator: Equal, value: other, effect: NoSchedule}",
            true,
        ),
        ("storage=only:NoSchedule", "{key: storage, operator: Equal, value: only, effect: NoExecute}", true),
        ("storage:NoSchedule;gpu:NoExecute", "{key: storage, operator: Exists, effect: NoSchedule}", true),
        ("storage:NoSchedule", "", true),
    ] {
        let all = [own, has].iter().filter(|one| !one.is_empty()).copied().collect::<Vec<_>>().join(", ");
        let findings = in_pod("taint-toleration", value, &format!("tolerations: [{all}]"));
        let expected = ["info taint_toleration Setting taint-toleration"];
        assert_eq!(findings, expected[..usize::from(pending)], "{value} {has}");
    }
}

#[test]
fn a_toleration_that_was_taken_out_of_the_setting_is_pending() {
    const NOTED: &str = r#"[{"key":"storage","operator":"Equal","value":"only","effect":"NoSchedule"}]"#;
    let own = "{key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute}";
    let said = |value: &str, noted: &str| {
        let setting =
            object("Setting", "taint-toleration", &format!("value: '{value}'\nstatus: {{applied: true}}"));
        let pod = format!(
            "apiVersion: v1\nkind: Pod\nmetadata:\n  name: im-1\n  namespace: longhorn-system\n  annotations: {{{noted}}}\n\
             spec: {{tolerations: [{own}, {{key: storage, operator: Equal, value: only, effect: NoSchedule}}]}}\n---\n"
        );
        let yaml = setting + &object("InstanceManager", "im-1", "spec: {nodeID: node-1}") + &pod;
        let mut findings = run(&CHECK, &cluster(&yaml)).report.findings;
        findings.pop().map(|finding| finding.evidence()[0].text.clone())
    };
    let noted = |text: &str| format!("longhorn.io/last-applied-tolerations: '{text}'");
    let still = "instance manager pods: im-1 still tolerates storage=only:NoSchedule";
    assert_eq!(said("", &noted(NOTED)).as_deref(), Some(still));
    let both = "instance manager pods: im-1 does not tolerate gpu:NoExecute and still tolerates storage=only:NoSchedule";
    assert_eq!(said("gpu:NoExecute", &noted(NOTED)).as_deref(), Some(both));
    assert_eq!(said("storage=only:NoSchedule", &noted(NOTED)), None);
    // what the pod bears besides is somebody else's, and nothing tells whose it is where Longhorn's note is gone
    assert_eq!(said("", &noted("[]")), None);
    assert_eq!(said("", &noted("null")), None);
    assert_eq!(said("", ""), None);
    assert_eq!(said("", &noted("not JSON")), None);
}

#[test]
fn another_node_selector_is_pending() {
    for (value, has, pending) in [
        ("", "", false),
        ("zone:a; disk: fast", "zone: a, disk: fast", false),
        ("zone:a", "", true),
        ("zone:a", "zone: b", true),
        ("", "zone: a", true),
        ("zone:a", "zone: a, disk: fast", true),
    ] {
        let findings =
            in_pod("system-managed-components-node-selector", value, &format!("nodeSelector: {{{has}}}"));
        assert_eq!(findings.len(), usize::from(pending), "{value} {has}: {findings:?}");
    }
}

#[test]
fn a_setting_that_an_upgrade_brought_was_changed_by_no_one() {
    const NAME: &str = "instance-manager-pod-liveness-probe-timeout";
    let manager = object("InstanceManager", "im-1", "spec: {nodeID: node-1}");
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: im-1, namespace: longhorn-system, creationTimestamp: '2026-01-01T00:00:00Z'}\n\
               spec: {containers: [{name: instance-manager, livenessProbe: {timeoutSeconds: 4}}]}\n---\n";
    let said = |made: &str| {
        let setting = object_with("Setting", NAME, &format!("creationTimestamp: '{made}'"), "value: '10'");
        run(&CHECK, &cluster(&(setting + &manager + pod))).report.findings.remove(0).message
    };
    assert!(said("2026-01-02T00:00:00Z").contains("is new in this release"));
    assert_eq!(said("2025-01-02T00:00:00Z"), format!("setting {NAME} is not applied yet"));
}
