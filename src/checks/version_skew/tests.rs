use super::CHECK;
use crate::testing::*;

const NOW: &str = "2026-01-01T12:00:00Z";

fn pod(app: &str, node: &str, image: &str, created: &str) -> String {
    let metadata = format!("labels: {{app: {app}}}, creationTimestamp: '{created}'");
    let spec = format!(
        "spec: {{nodeName: {node}, containers: [{{name: {app}, image: 'longhornio/longhorn-manager:{image}'}}]}}\nstatus: {{phase: Running, conditions: [{{type: Ready, status: 'True'}}]}}"
    );
    object_with("Pod", &format!("{app}-{node}"), &metadata, &spec)
}

fn manager(node: &str, image: &str, created: &str) -> String {
    pod("longhorn-manager", node, image, created)
}

const OLD: &str = "2026-01-01T00:00:00Z";

#[test]
fn managers_of_two_releases_are_found_once_no_rollout_takes_that_long() {
    let differ =
        |created| manager("n1", "v1.12.1", created) + &manager("n2", "v1.10.2", OLD) + &release("v1.12.1");
    assert_eq!(
        found(&CHECK, &cluster_at(NOW, &differ("2026-01-01T11:30:00Z"))),
        ["warning managers_differ DaemonSet longhorn-manager"]
    );
    assert!(found(&CHECK, &cluster_at(NOW, &differ("2026-01-01T11:31:00Z"))).is_empty(), "a rollout");
    let same = manager("n1", "v1.12.1", OLD) + &manager("n2", "v1.12.1", OLD) + &release("v1.12.1");
    assert!(found(&CHECK, &cluster_at(NOW, &same)).is_empty());
    let untagged = manager("n1", "latest", OLD) + &manager("n2", "v1.12.1", OLD) + &release("v1.12.1");
    assert!(found(&CHECK, &cluster_at(NOW, &untagged)).is_empty(), "a tag that says nothing");
}

#[test]
fn another_release_in_the_setting_is_an_upgrade_that_did_not_end() {
    let half = |image, installed, created| manager("n1", image, created) + &release(installed);
    let at = |yaml: String| found(&CHECK, &cluster_at(NOW, &yaml)).join(" ");
    assert_eq!(at(half("v1.6.4", "v1.5.5", OLD)), "warning half_upgraded DaemonSet longhorn-manager");
    assert_eq!(at(half("v1.6.4", "v1.5.5", "2026-01-01T11:45:00Z")), "");
    assert_eq!(at(half("v1.6.4", "v1.6.4", OLD)), "");
    assert_eq!(at(half("v1.10.0-hotfix-1", "v1.10.0", OLD)), "", "reports what it fixes");
    assert_eq!(at(manager("n1", "v1.6.4", OLD)), "", "the setting is not there");
}

#[test]
fn the_csi_plugin_has_the_release_of_the_managers() {
    let parts = |plugin, created| {
        manager("n1", "v1.9.2", created)
            + &pod("longhorn-csi-plugin", "n1", plugin, OLD)
            + &pod("longhorn-driver-deployer", "n1", "v1.9.2", OLD)
            + &release("v1.9.2")
    };
    let at = |yaml: String| found(&CHECK, &cluster_at(NOW, &yaml)).join(" ");
    assert_eq!(at(parts("v1.8.2", OLD)), "warning component_old DaemonSet longhorn-csi-plugin");
    assert_eq!(at(parts("v1.8.2", "2026-01-01T11:30:00Z")), "", "just upgraded");
    assert_eq!(at(parts("v1.9.2", OLD)), "");
}

#[test]
fn volumes_on_an_old_engine_are_counted() {
    let volume = |name: &str, image: &str| {
        object("Volume", name, &format!("status: {{state: attached, currentImage: 'engine:{image}'}}"))
    };
    let yaml = manager("n1", "v1.9.2", OLD)
        + &release("v1.9.2")
        + &setting("default-engine-image", "engine:v1.9.2")
        + &volume("a", "v1.9.2")
        + &volume("b", "v1.8.2")
        + &object("Volume", "c", "status: {state: detached}");
    let cluster = cluster_at(NOW, &yaml);
    assert!(found(&CHECK, &cluster).is_empty());
    assert_eq!(sample(&run(&CHECK, &cluster), "longhorn_health_old_engine_volumes", &[]), Some(1.0));
}
