//! What is advised, and what is never advised.

use super::*;

/// The changing commands of the only finding.
fn changes(yaml: &str) -> (String, Vec<String>) {
    let mut findings = run(&CHECK, &later(live_at(NOW, yaml), 3600)).report.findings;
    assert_eq!(findings.len(), 1, "{findings:?}");
    let remedy = findings.remove(0).remedy;
    let changes = remedy.commands.into_iter().filter(|command| command.changes);
    (remedy.fix, changes.map(|command| command.run).collect())
}

#[test]
fn only_what_longhorn_itself_would_upgrade_live_is_patched() {
    let held = old(&map("instanceEngines", "v-e-0", "running"));
    let base =
        |volume: String| release("v1.9.2") + &node() + &held + &volume + &engine("v-e-0", "v", "im-old");
    let healthy = volume("v", "engine:old");
    assert_eq!(changes(&base(healthy.clone())).1.len(), 1);
    for (from, to) in [
        ("robustness: healthy", "robustness: degraded"),
        ("state: attached", "state: attaching"),
        ("spec: {image", "spec: {dataLocality: strict-local, image"),
    ] {
        let (text, commands) = changes(&base(healthy.replace(from, to)));
        assert_eq!(commands, Vec::<String>::new(), "{to}");
        assert!(text.contains("only while detached): v."), "{text}");
    }
}

#[test]
fn nothing_is_deleted_while_something_else_runs_there() {
    let orphan = map("instanceEngines", "x-e-9", "running");
    let base = |status: &str| release("v1.12.1") + &node() + &old(status);
    assert_eq!(
        changes(&base(&orphan)).1,
        ["kubectl -n longhorn-system delete instancemanagers.longhorn.io im-old"]
    );
    // shards do not hold it in 1.12.1, and would end with it all the same
    let shard = map("instanceShards", "s-1", "running");
    assert_eq!(changes(&base(&(orphan.clone() + &shard))).1, Vec::<String>::new());
    // what is idle but for shards must not be hastened, either
    let (text, commands) = changes(&base(&shard));
    assert_eq!(commands, Vec::<String>::new());
    assert!(text.starts_with("Detach the volumes of these shards"), "{text}");
    // an object that has not settled may still come back to its instance
    let moving = instance("Engine", "x-e-9", "x", "im-new", "error", "running", "");
    let (text, commands) = changes(&(base(&orphan) + &moving));
    assert_eq!(commands, Vec::<String>::new());
    assert!(text.contains("still needs the instance"), "{text}");
}

#[test]
fn replicas_of_v2_wait_for_a_reattachment_and_for_no_upgrade() {
    let held = im(
        "im-old",
        OLD,
        "type: aio, dataEngine: v2",
        "running",
        &map("instanceReplicas", "v-r-1", "running"),
    );
    let yaml = release("v1.12.1") + &node() + &held + &volume("v", "") + &replica("v-r-1", "v", "im-old");
    let (text, commands) = changes(&yaml);
    assert!(text.contains("no live upgrade") && commands.is_empty(), "{text} {commands:?}");
}

#[test]
fn a_workload_of_unknown_kind_leaves_no_hole() {
    let held = old(&map("instanceEngines", "v-e-0", "running"));
    let nameless = volume("v", "engine:new").replace("workloadType: StatefulSet", "workloadType: ''");
    let yaml = release("v1.9.2") + &node() + &held + &nameless + &engine("v-e-0", "v", "im-old");
    let report = run(&CHECK, &live_at(NOW, &yaml)).report;
    let commands = &report.findings[0].remedy.commands;
    assert!(commands.iter().all(|command| !command.run.contains("get  ")), "{commands:?}");
}

#[test]
fn a_manager_that_restarts_or_is_under_pressure_does_not_make_it_stuck() {
    let ready = |reason: &str, since: &str| {
        format!("type: Ready, status: 'False', reason: {reason}, lastTransitionTime: '{since}'")
    };
    let with = |condition: &str| {
        let node = node().replacen("type: Ready, status: 'True'", condition, 1);
        release("v1.9.2") + &node + &old("")
    };
    for (reason, since, cause) in [
        ("ManagerPodDown", "2026-01-01T23:57:01Z", "cleanup_pending"),
        ("ManagerPodDown", "2026-01-01T23:57:00Z", "cleanup_stuck"),
        ("KubernetesNodePressure", "2026-01-01T00:00:00Z", "cleanup_pending"),
    ] {
        assert_eq!(causes(&with(&ready(reason, since))), one(cause), "{reason} {since}");
    }
    let young = manager_pod(false, NEW)
        .replace("namespace:", "creationTimestamp: '2026-01-01T23:59:00Z', namespace:");
    assert_eq!(causes(&(release("v1.9.2") + &node() + &young + &old(""))), one("cleanup_pending"));
}

#[test]
fn a_deletion_that_waits_for_its_pod_leads_to_the_node() {
    let deleted = old("").replace(
        "creationTimestamp:",
        "deletionTimestamp: '2026-01-01T22:00:00Z', finalizers: [foregroundDeletion], creationTimestamp:",
    );
    let pod = im_pod("im-old", "p", "2026-01-01T00:00:00Z", "Running", "", "");
    let ends = pod.replace("{name: im-old,", "{name: im-old, deletionTimestamp: '2026-01-01T22:00:30Z',");
    let base = release("v1.12.1") + &deleted;
    let (fix, commands) = changes(&(base.clone() + &ends));
    assert!(
        fix.starts_with(
            "Read the kubelet's and containerd's logs on node-1, then restart both services: pod im-old"
        ),
        "{fix}"
    );
    assert!(commands.is_empty(), "nothing is forced on our word: {commands:?}");
    for other in [base.clone(), base + &pod] {
        assert!(changes(&other).0.starts_with("Check that the admission webhook is answering"));
    }
}
