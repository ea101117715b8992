mod remedies;

use super::CHECK;
use crate::longhorn::Resource;
use crate::testing::instance_managers::*;

const NOW: &str = "2026-01-02T00:00:00Z";

fn causes(yaml: &str) -> Vec<String> {
    found(&CHECK, &live_at(NOW, yaml))
}

/// An old v1 instance manager `im-old` in state running with these maps.
fn old(status: &str) -> String {
    im("im-old", OLD, "type: aio, dataEngine: v1", "running", status)
}

fn one(cause: &str) -> Vec<String> {
    let warnings = ["orphan_held", "stuck", "deletion_stuck"];
    let severity = if warnings.contains(&cause) { "warning" } else { "info" };
    vec![format!("{severity} {cause} InstanceManager im-old")]
}

#[test]
fn a_default_instance_manager_is_never_stale() {
    let default = im("im-new", NEW, "type: aio, dataEngine: v1", "running", "");
    // the default v2 instance manager waits stopped beside the old one
    let waiting = im("im-v2", NEW, "type: aio, dataEngine: v2", "stopped", "");
    assert_eq!(causes(&(release("v1.12.1") + &default + &waiting)), Vec::<String>::new());
}

#[test]
fn what_each_kind_of_holder_means() {
    let engine_of = |image: &str| volume("v", image) + &engine("v-e-0", "v", "im-old");
    let held = old(&map("instanceEngines", "v-e-0", "running"));
    let replica_held = old(&map("instanceReplicas", "v-r-1", "running"));
    let cases = [
        (held.clone() + &engine_of("engine:old"), "engine_upgrade_pending"),
        (held + &engine_of("engine:new"), "reattach_pending"),
        (replica_held + &volume("v", "engine:old") + &replica("v-r-1", "v", "im-old"), "replica_held"),
        // states that do not hold
        (old(&map("instanceEngines", "v-e-0", "stopped")), "cleanup_pending"),
        (old(&map("instanceEngines", "v-e-0", "error")), "cleanup_pending"),
        (old(&map("instanceEngines", "v-e-0", "suspended")), "cleanup_pending"),
        (old(&map("instanceEngines", "v-e-0", "unknown")), "cleanup_pending"),
    ];
    for (yaml, cause) in cases {
        assert_eq!(causes(&(release("v1.9.2") + &node() + &yaml)), one(cause), "{cause}\n{yaml}");
    }
}

#[test]
fn incident_001_names_the_volume_that_waits_for_a_reattach() {
    let held = im(
        "instance-manager-e-ec3eb207",
        OLD,
        "type: engine",
        "running",
        &map("instances", "v-e-1", "running"),
    );
    let yaml = release("v1.4.4")
        + &held
        + &volume("v", "engine:new")
        + &engine("v-e-1", "v", "instance-manager-e-ec3eb207");
    let evaluation = run(&CHECK, &cluster(&yaml));
    let finding = &evaluation.report.findings[0];
    assert_eq!(finding.cause, "reattach_pending");
    assert_eq!(finding.volumes[0].pvc.as_deref(), Some("shop/data-v"));
    assert!(finding.impact.contains("claim shop/data-v (StatefulSet shop/db)"), "{}", finding.impact);
    assert!(
        finding
            .remedy
            .commands
            .iter()
            .any(|c| c.run.ends_with("!= Delete && kubectl -n shop scale statefulset db --replicas=0")
                && c.changes)
    );
    assert!(!finding.remedy.commands[0].changes, "what only reads comes first");
    assert_eq!(finding.runbook, Some("LonghornOldInstanceManagerHeld"));
    let labels = ["instance-manager-e-ec3eb207", "node-1", "engine", "reattach_pending"];
    assert_eq!(sample(&evaluation, "longhorn_health_old_instance_manager_holders", &labels), Some(1.0));
    assert_eq!(
        sample(&evaluation, "longhorn_health_old_instance_managers", &["reattach_pending"]),
        Some(1.0)
    );
    assert_eq!(sample(&evaluation, "longhorn_health_old_instance_managers", &["stuck"]), Some(0.0));
}

#[test]
fn a_pending_engine_upgrade_comes_with_the_command_of_the_release() {
    let yaml = |version: &str| {
        let held = old(&map("instanceEngines", "v-e-0", "running"));
        release(version) + &held + &volume("v", "engine:old") + &engine("v-e-0", "v", "im-old")
    };
    for (version, field) in [("v1.5.5", "engineImage"), ("v1.6.0", "image")] {
        let report = run(&CHECK, &live_at(NOW, &yaml(version))).report;
        let patch = format!("'{{\"spec\":{{\"{field}\":\"engine:new\"}}}}'");
        assert!(
            report.findings[0].remedy.commands.iter().any(|command| command.run.ends_with(&patch)),
            "{version}"
        );
    }
}

#[test]
fn the_maps_that_count_change_with_the_release() {
    let frontend = map("instanceEngineFrontends", "v-ef-0", "running");
    let shard = map("instanceShards", "s-1", "running");
    let legacy = map("instances", "v-r-1", "running");
    let owners = volume("v", "engine:new")
        + &instance("EngineFrontend", "v-ef-0", "v", "im-old", "running", "running", "")
        + &replica("v-r-1", "v", "im-old");
    for (version, status, cause) in [
        ("v1.11.3", &frontend, "cleanup_pending"),
        ("v1.12.0", &frontend, "reattach_pending"),
        ("v1.12.1", &shard, "cleanup_pending"),
        ("v1.10.2", &legacy, "replica_held"),
        ("v1.11.0", &legacy, "cleanup_pending"),
    ] {
        let yaml = release(version) + &node() + &old(status) + &owners;
        assert_eq!(causes(&yaml), one(cause), "{version} {status}");
    }
    let report = run(&CHECK, &live_at(NOW, &(release("v1.12.1") + &node() + &old(&shard)))).report;
    assert!(report.findings[0].impact.contains("together with its shards"), "{}", report.findings[0].impact);
}

#[test]
fn two_images_are_default_from_1_11_on() {
    let idle = old("");
    for (version, argument, count) in
        [("v1.10.2", OLD, 1), ("v1.11.0", OLD, 0), ("v1.11.0", NEW, 1), ("v1.12.1", OLD, 0)]
    {
        let yaml = release(version) + &node() + &manager_pod(true, argument) + &idle;
        assert_eq!(causes(&yaml).len(), count, "{version} {argument}");
    }
}

#[test]
fn in_an_upgrade_the_manager_on_the_node_decides() {
    let pod = |version: &str, node: &str| {
        let image = format!("{{name: longhorn-manager, image: 'longhorn-manager:{version}', ");
        let pod = manager_pod(true, OLD).replace("{name: longhorn-manager, ", &image);
        pod.replace("node-1", node).replace("longhorn-manager-1", &format!("longhorn-manager-{node}"))
    };
    let set = |version: &str| {
        manager_daemon_set(&format!(
            "image: 'longhorn-manager:{version}', command: [longhorn-manager, --instance-manager-image, \
             '{NEW}']"
        ))
    };
    let (old_code, new_code) = ("v1.10.2", "v1.11.0");
    let (default, removed) = (Vec::new(), one("cleanup_pending"));
    for (setting, managers, expected) in [
        (old_code, pod(new_code, "node-1"), &default),
        (new_code, pod(old_code, "node-1"), &removed),
        // what runs elsewhere does not matter
        (old_code, pod(new_code, "node-1") + &pod(old_code, "node-2"), &default),
        (new_code, pod(old_code, "node-1") + &pod(new_code, "node-2"), &removed),
    ] {
        for template in [old_code, new_code] {
            let yaml = release(setting) + &set(template) + &node() + &managers + &old("");
            assert_eq!(&causes(&yaml), expected, "{setting} {template} {managers}");
        }
    }
    let lost = im("im-old", OLD, "type: aio", "unknown", "");
    let kept = release("v1.5.1") + &node() + &pod("v1.5.2", "node-1") + &lost;
    assert_eq!(causes(&kept), one("node_down"));
    let removed = release("v1.5.2") + &node() + &pod("v1.5.1", "node-1") + &lost;
    assert_eq!(causes(&removed), one("cleanup_pending"));
}

#[test]
fn an_unknown_state_is_kept_by_some_releases_only() {
    let lost = im("im-old", OLD, "type: aio", "unknown", "");
    for (version, cause) in [
        ("v1.3.3", "cleanup_pending"),
        ("v1.4.0", "cleanup_pending"),
        ("v1.4.4", "node_down"),
        ("v1.5.1", "cleanup_pending"),
        ("v1.5.2", "node_down"),
        ("v1.6.0", "node_down"),
        ("v1.12.1", "node_down"),
    ] {
        assert_eq!(causes(&(release(version) + &node() + &lost)), one(cause), "{version}");
        // a node that is down cannot tidy up in any release
        assert_eq!(causes(&(release(version) + &node_down() + &lost)), one("node_down"), "{version}");
    }
}

#[test]
fn stuck_needs_a_known_time_or_a_visible_reason() {
    let yaml = release("v1.9.2") + &node() + &manager_pod(true, NEW) + &old("");
    assert_eq!(found(&CHECK, &cluster(&yaml)), one("cleanup_pending"), "ages are unknown in a recording");
    let cluster = live_at(NOW, &yaml);
    assert_eq!(found(&CHECK, &cluster), one("cleanup_pending"), "first look");
    let cluster = later(cluster, 59);
    assert_eq!(found(&CHECK, &cluster), one("cleanup_pending"), "one second too early");
    let cluster = later(cluster, 1);
    assert_eq!(found(&CHECK, &cluster), one("stuck"), "two resyncs");

    let broken = release("v1.9.2") + &node() + &manager_pod(false, NEW) + &old("");
    assert_eq!(found(&CHECK, &crate::testing::cluster(&broken)), one("stuck"), "the manager is not ready");
}

#[test]
fn stopped_and_failed_ones_get_minutes_before_they_are_stuck() {
    for state in ["stopped", "error", "starting", ""] {
        let gone = im("im-old", OLD, "type: aio", state, "");
        let cluster = live_at(NOW, &(release("v1.9.2") + &node() + &gone));
        let cluster = later(later(cluster, 0), 179);
        assert_eq!(found(&CHECK, &cluster), one("cleanup_pending"), "{state}");
        assert_eq!(found(&CHECK, &later(cluster, 1)), one("stuck"), "{state}");
    }
}

#[test]
fn orphans_are_told_from_instances_in_transition() {
    let held = old(&map("instanceReplicas", "v-r-1", "running"));
    let starting = old(&map("instanceReplicas", "v-r-1", "starting"));
    let replica = |manager: &str, current: &str, desired: &str| {
        instance("Replica", "v-r-1", "v", manager, current, desired, "")
    };
    let deleting = replica("im-new", "running", "running")
        .replace("name: v-r-1,", "name: v-r-1, deletionTimestamp: '2026-01-01T23:59:00Z',");
    let unowned = replica("im-new", "running", "running").replace("ownerID: node-1", "ownerID: ''");
    let moved = replica("im-new", "running", "running").replace("ownerID: node-1", "ownerID: node-2");
    let cases = [
        (held.clone(), "orphan_held"),
        (held.clone() + &replica("im-new", "running", "running"), "orphan_held"),
        (held.clone() + &replica("", "stopped", "stopped"), "orphan_held"),
        (held.clone() + &replica("", "stopped", "running"), "cleanup_pending"),
        (held.clone() + &replica("", "", "running"), "cleanup_pending"),
        (held.clone() + &replica("im-new", "error", "error"), "cleanup_pending"),
        (held.clone() + &deleting, "cleanup_pending"),
        (held.clone() + &unowned, "cleanup_pending"),
        (held + &moved, "cleanup_pending"),
        (starting.clone(), "cleanup_pending"),
        (starting + &replica("im-new", "running", "running"), "cleanup_pending"),
    ];
    for (yaml, cause) in cases {
        assert_eq!(causes(&(release("v1.9.2") + &node() + &yaml)), one(cause), "{yaml}");
    }
}

#[test]
fn a_detached_engine_without_node_is_no_transition() {
    let held = old(&map("instanceEngines", "v-e-0", "running"));
    let detached = instance("Engine", "v-e-0", "v", "", "stopped", "stopped", "")
        .replace("nodeID: node-1", "nodeID: ''");
    assert_eq!(causes(&(release("v1.9.2") + &node() + &held + &detached)), one("orphan_held"));
}

#[test]
fn a_transition_that_never_ends_is_an_orphan() {
    let held = old(&map("instanceReplicas", "v-r-1", "running"));
    let yaml = release("v1.9.2")
        + &node()
        + &held
        + &instance("Replica", "v-r-1", "v", "", "stopped", "running", "");
    let cluster = later(live_at(NOW, &yaml), 599);
    assert_eq!(found(&CHECK, &cluster), one("cleanup_pending"));
    assert_eq!(found(&CHECK, &later(cluster, 1)), one("orphan_held"));
}

#[test]
fn objects_that_were_not_read_make_no_orphans() {
    let held = old(&map("instanceReplicas", "v-r-1", "running"));
    let yaml = release("v1.9.2") + &node() + &held;
    let report = run(&CHECK, &cluster(&yaml)).report;
    assert_eq!(report.findings[0].cause, "replica_held");
    assert!(report.unknown.iter().any(|unknown| unknown.reason.contains("v-r-1")));
    let mut live = live_at(NOW, &yaml);
    live.resources.entry(Resource::Replicas).or_default().undecodable = 1;
    assert_eq!(found(&CHECK, &live), one("replica_held"));
    live.resources.entry(Resource::Replicas).or_default().readability =
        crate::cluster::Readability::Forbidden;
    assert!(found(&CHECK, &live).is_empty());
    assert_eq!(run(&CHECK, &live).report.status, crate::report::Status::Unknown);
}

#[test]
fn several_holders_are_one_finding_with_the_worst_cause_and_all_volumes() {
    let mut status = String::from(
        "instanceReplicas: {a-r-1: {status: {state: running}}, x-r-9: {status: {state: running}}}, ",
    );
    status += &map("instanceEngines", "b-e-0", "running");
    let yaml = release("v1.9.2")
        + &node()
        + &old(&status)
        + &volume("a", "engine:old")
        + &replica("a-r-1", "a", "im-old")
        + &volume("b", "engine:new")
        + &engine("b-e-0", "b", "im-old")
        + "apiVersion: longhorn.io/v1beta2\nkind: Orphan\nmetadata: {name: orphan-1, namespace: longhorn-system}\n\
           spec: {nodeID: node-1, orphanType: replica-instance, \
           parameters: {InstanceName: x-r-9, InstanceManager: im-old}}\n---\n";
    let report = run(&CHECK, &live_at(NOW, &yaml)).report;
    assert_eq!(report.findings.len(), 1);
    let finding = &report.findings[0];
    assert_eq!(finding.cause, "orphan_held");
    let volumes: Vec<&str> = finding.volumes.iter().map(|volume| volume.name.as_str()).collect();
    assert_eq!(volumes, ["a", "b"]);
    for name in ["a-r-1", "b-e-0", "x-r-9", "orphan-1"] {
        assert!(finding.evidence().iter().any(|fact| fact.text.contains(name)), "{name}");
    }
    let delete = "kubectl -n longhorn-system delete orphans.longhorn.io orphan-1";
    assert!(finding.remedy.commands.iter().any(|command| command.run == delete && command.changes));
}

#[test]
fn v2_compares_no_engine_images() {
    let held = im(
        "im-old",
        OLD,
        "type: aio, dataEngine: v2",
        "running",
        &map("instanceEngines", "v-e-0", "running"),
    );
    let yaml = release("v1.12.1") + &held + &volume("v", "engine:old") + &engine("v-e-0", "v", "im-old");
    assert_eq!(causes(&yaml), one("reattach_pending"));
}

#[test]
fn leftovers_of_1_4_get_the_same_clean_up() {
    for kind in ["engine", "replica"] {
        let left = im("im-old", OLD, &format!("type: {kind}"), "running", "");
        assert_eq!(causes(&(release("v1.5.5") + &node() + &left)), one("cleanup_pending"));
    }
    let roles = im("im-old", OLD, "type: engine", "running", &map("instances", "v-e-0", "running"));
    let yaml = release("v1.3.3") + &roles + &volume("v", "engine:old") + &engine("v-e-0", "v", "im-old");
    assert_eq!(causes(&yaml), one("engine_upgrade_pending"));
}

#[test]
fn a_deletion_is_stuck_after_minutes() {
    let deleted = |at: &str| {
        old("").replace("creationTimestamp:", &format!("deletionTimestamp: '{at}', creationTimestamp:"))
    };
    assert!(causes(&(release("v1.9.2") + &deleted("2026-01-01T23:55:01Z"))).is_empty());
    assert_eq!(causes(&(release("v1.9.2") + &deleted("2026-01-01T23:55:00Z"))), one("deletion_stuck"));
}

#[test]
fn odd_objects_and_missing_settings_are_unknown_and_no_panic() {
    let bare = "apiVersion: longhorn.io/v1beta2\nkind: InstanceManager\n\
                metadata: {name: im-old, namespace: longhorn-system}\n---\n";
    let report = run(&CHECK, &live_at(NOW, &(MANAGER.to_owned() + bare))).report;
    assert!(report.findings.is_empty());
    assert!(report.unknown[0].reason.contains("default-instance-manager-image"));
    let odd = im("im-old", OLD, "type: aio", "melting", "");
    let report = run(&CHECK, &live_at(NOW, &(release("v1.9.2") + MANAGER + &odd))).report;
    assert_eq!(report.unknown.len(), 1);
    assert_eq!(
        causes(&(release("v1.9.2") + bare)),
        one("cleanup_pending"),
        "an empty object is old and idle"
    );
}
