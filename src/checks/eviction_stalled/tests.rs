mod drains;

use super::CHECK;
use crate::check::Finding;
use crate::longhorn::Resource;
use crate::report::Status;
use crate::testing::release as version;
use crate::testing::*;

const NOW: &str = "2026-01-01T12:00:00Z";
const OLD: &str = "2025-12-01T00:00:00Z";
const REPLICAS: &str = "longhorn_health_eviction_remaining_replicas";
const COPIES: &str = "longhorn_health_eviction_remaining_backing_image_copies";
const PROGRESS: &str = "longhorn_health_eviction_progress_timestamp_seconds";
const NOTHING: [&str; 0] = [];

fn object(kind: &str, name: &str, rest: &str) -> String {
    object_with(kind, name, &format!("creationTimestamp: '{OLD}'"), rest)
}

/// Node `n1` with the disks `d1` (uuid-1) and `d2` (uuid-2).
fn node(own: bool, d1: bool) -> String {
    object(
        "Node",
        "n1",
        &format!(
            "spec: {{evictionRequested: {own}, disks: {{d1: {{evictionRequested: {d1}}}, d2: {{}}}}}}\n\
             status: {{diskStatus: {{d1: {{diskUUID: uuid-1, conditions: [{{type: Ready, status: 'True'}}]}}, \
             d2: {{diskUUID: uuid-2, conditions: [{{type: Ready, status: 'True'}}]}}}}}}"
        ),
    )
}

fn replica(name: &str, disk: &str, more: &str) -> String {
    object(
        "Replica",
        name,
        &format!("spec: {{volumeName: vol, nodeID: n1, diskID: {disk}, healthyAt: '{OLD}', {more}}}"),
    )
}

fn image(disks: &str) -> String {
    object("BackingImage", "img", &format!("spec: {{diskFileSpecMap: {{{disks}}}}}"))
}

fn engine(modes: &str) -> String {
    object(
        "Engine",
        "vol-e-0",
        &format!("spec: {{volumeName: vol}}\nstatus: {{currentState: running, replicaModeMap: {{{modes}}}}}"),
    )
}

fn kube(name: &str, unschedulable: bool, taint: &str) -> String {
    kube_node(name, &format!("spec: {{unschedulable: {unschedulable}, taints: [{taint}]}}"))
}

fn recorded(yaml: &str) -> Vec<String> {
    found(&CHECK, &cluster_at(NOW, yaml))
}

fn only(yaml: &str) -> Finding {
    let mut findings = run(&CHECK, &cluster_at(NOW, yaml)).report.findings;
    assert_eq!(findings.len(), 1, "{findings:?}");
    findings.remove(0)
}

#[test]
fn what_remains_is_counted_by_disk_uuid_and_spec() {
    let load = replica("r1", "uuid-1", "")
        + &replica("r2", "uuid-2", "evictionRequested: true")
        + &image("uuid-1: {}, uuid-2: {}, uuid-9: {}");
    let base = version("v1.12.1") + &load;
    let values = |yaml: &str| {
        let evaluation = run(&CHECK, &cluster_at(NOW, yaml));
        let get = |family, disk| sample(&evaluation, family, &["n1", disk]);
        [get(REPLICAS, "d1"), get(COPIES, "d1"), get(REPLICAS, "d2"), get(COPIES, "d2")]
    };
    let (one, zero) = (Some(1.0), Some(0.0));
    assert_eq!(values(&(base.clone() + &node(true, false))), [one, one, one, one]);
    assert_eq!(values(&(base.clone() + &node(false, true))), [one, one, None, None]);
    assert_eq!(values(&(base.clone() + &node(false, false))), [None; 4]);
    // automatic eviction moves replicas only, and under one policy only those that are flagged
    let drained = base + &node(false, false) + &kube("n1", true, "");
    assert_eq!(
        values(&(drained.clone() + &setting("node-drain-policy", "block-for-eviction"))),
        [one, None, one, None]
    );
    let last = setting("node-drain-policy", "block-for-eviction-if-contains-last-replica");
    assert_eq!(values(&(drained.clone() + &last)), [zero, None, one, None]);
    assert_eq!(values(&drained), [None; 4]);
}

#[test]
fn no_progress_needs_half_an_hour_without_change() {
    let with = |replicas: &str| version("v1.12.1") + &node(false, true) + replicas;
    let two = replica("r1", "uuid-1", "") + &replica("r2", "uuid-1", "");
    let cluster = live_at(NOW, &with(&two));
    assert_eq!(found(&CHECK, &cluster), NOTHING);
    let cluster = later(cluster, 1799);
    assert_eq!(found(&CHECK, &cluster), NOTHING);
    assert_eq!(sample(&run(&CHECK, &cluster), PROGRESS, &["n1", "d1"]), Some(time(NOW).as_second() as f64));
    let stalled = later(cluster, 1);
    assert_eq!(found(&CHECK, &stalled), ["warning no_progress nodes.longhorn.io n1"]);
    // one has left: the clock begins again
    let mut moved = later(stalled, 60);
    moved.objects.replicas.remove("r2");
    let moved =
        crate::cluster::Cluster::new(NAMESPACE, moved.now, moved.objects, moved.history, moved.resources);
    assert_eq!(found(&CHECK, &moved), NOTHING);
    let moved = later(moved, 1799);
    assert_eq!(found(&CHECK, &moved), NOTHING);
    assert_eq!(found(&CHECK, &later(moved, 1)), ["warning no_progress nodes.longhorn.io n1"]);
}

#[test]
fn a_rebuild_is_progress_for_a_day() {
    let yaml =
        version("v1.12.1") + &node(true, false) + &replica("r1", "uuid-1", "") + &engine("r1: RW, r2: WO");
    assert_eq!(recorded(&yaml), NOTHING);
    let cluster = later(live_at(NOW, &yaml), 86_399);
    assert_eq!(found(&CHECK, &cluster), NOTHING);
    assert_eq!(found(&CHECK, &later(cluster, 1)), ["warning no_progress nodes.longhorn.io n1"]);
    assert_eq!(recorded(&yaml.replace("r2: WO", "r2: ERR")), ["warning no_progress nodes.longhorn.io n1"]);
}

#[test]
fn times_in_objects_speak_for_movement() {
    let base = version("v1.12.1") + &node(false, true) + &replica("r1", "uuid-1", "");
    assert_eq!(only(&base).cause, "no_progress");
    let event = |time: &str| {
        object(
            "Event",
            "e",
            &format!(
                "reason: EvictionUserRequested\n\
                 lastTimestamp: '{time}'\n\
                 involvedObject: {{kind: Replica, name: r1}}"
            ),
        )
    };
    assert_eq!(recorded(&(base.clone() + &event("2026-01-01T11:30:01Z"))), NOTHING);
    let stalled = only(&(base.clone() + &event("2026-01-01T11:30:00Z")));
    assert_eq!(stalled.since, Some(time("2026-01-01T11:30:00Z")));
    // another replica of the volume has just become healthy
    let sibling = object(
        "Replica",
        "r2",
        "spec: {volumeName: vol, nodeID: n2, diskID: uuid-3, healthyAt: '2026-01-01T11:45:00Z'}",
    );
    assert_eq!(recorded(&(base + &sibling)), NOTHING);
}

#[test]
fn copies_alone_stall_too_and_name_the_switch() {
    let base = version("v1.12.1") + &node(false, true) + &image("uuid-1: {evictionRequested: true}");
    let finding = only(&(base + &setting("concurrent-backing-image-replenish-per-node-limit", "0")));
    assert_eq!(finding.cause, "no_progress");
    assert!(finding.message.contains("no replicas and 1 backing image copy"));
    for part in [
        "backing images: img",
        "concurrent-backing-image-replenish-per-node-limit is 0",
        "true on disk d1 of node n1",
    ] {
        assert!(finding.evidence().iter().any(|fact| fact.text.contains(part)), "{part}");
    }
}

#[test]
fn nothing_left_is_not_stalled() {
    assert_eq!(recorded(&(version("v1.12.1") + &node(true, true))), NOTHING);
}

#[test]
fn what_eviction_inconsistent_names_is_not_named_twice() {
    let base = version("v1.12.1") + &node(true, false) + &replica("r1", "uuid-1", "");
    let hidden = base.replacen("type: Ready, status: 'True'", "type: Ready, status: 'False'", 1);
    assert_eq!(recorded(&hidden), NOTHING);
    let down = base.replace(
        "status: {diskStatus",
        "status: {conditions: [{type: Ready, status: 'False', reason: KubernetesNodeNotReady}], diskStatus",
    );
    assert_eq!(recorded(&down), NOTHING);
}

#[test]
fn volumes_without_a_place() {
    let base = version("v1.12.1") + &node(false, true) + &replica("r1", "uuid-1", "");
    let line = ["warning no_schedulable_disk nodes.longhorn.io n1"];
    let unplaced = object("Replica", "r2", "spec: {volumeName: vol}");
    assert_eq!(recorded(&(base.clone() + &unplaced)), line);
    assert_eq!(recorded(&(base.clone() + &unplaced.replace(OLD, "2026-01-01T11:58:00Z"))), NOTHING);
    let volume = |status: &str, since: &str| {
        object(
            "Volume",
            "vol",
            &format!(
                "status: {{conditions: [{{type: scheduled, status: '{status}', reason: ReplicaSchedulingFailure, lastTransitionTime: '{since}'}}]}}"
            ),
        )
    };
    let finding = only(&(base.clone() + &volume("False", OLD)));
    assert_eq!(finding.cause, "no_schedulable_disk");
    assert_eq!(finding.since, Some(time(OLD)));
    assert!(finding.evidence().iter().any(|fact| fact.text.contains("ReplicaSchedulingFailure")));
    assert_eq!(recorded(&(base.clone() + &volume("False", "2026-01-01T11:56:00Z"))), NOTHING);
    assert_eq!(recorded(&(base + &volume("True", OLD))), ["warning no_progress nodes.longhorn.io n1"]);
}

/// A running instance manager on a node, with its budget.
fn manager(name: &str, node: &str, status: &str) -> String {
    object(
        "InstanceManager",
        name,
        &format!(
            "spec: {{nodeID: {node}, type: aio, dataEngine: v1}}\nstatus: {{currentState: running, {status}}}"
        ),
    ) + &object("PodDisruptionBudget", name, "")
}

fn why(yaml: &str) -> (String, String) {
    let finding = only(yaml);
    assert_eq!((finding.cause.id, finding.object.name.as_str()), ("pdb_blocks", "im-1"));
    (finding.severity.to_string(), finding.evidence()[0].text.clone())
}

const TAINT: &str = "{key: ToBeDeletedByClusterAutoscaler, value: '1', effect: NoSchedule}";

#[test]
fn a_cordon_alone_is_info_and_a_drain_is_a_warning() {
    let budget =
        version("v1.12.1") + &manager("im-1", "n1", "instanceEngines: {vol-e-0: {}}") + &engine("r1: RW");
    let info = ["info pdb_blocks PodDisruptionBudget im-1"];
    let warning = ["warning pdb_blocks PodDisruptionBudget im-1"];
    assert_eq!(recorded(&(budget.clone() + &kube("n1", true, ""))), info);
    assert_eq!(recorded(&(budget.clone() + &kube("n1", false, TAINT))), NOTHING);
    assert_eq!(recorded(&(budget.clone() + &kube("n1", true, TAINT))), warning);
    assert_eq!(recorded(&(budget.clone() + &kube("n1", true, "") + &node(true, false))), warning);
    assert_eq!(
        recorded(
            &(budget.clone() + &kube("n1", true, "") + &setting("node-drain-policy", "block-for-eviction"))
        ),
        warning
    );
    // a usual drain is given its time
    let cluster = later(live_at(NOW, &(budget + &kube("n1", true, TAINT))), 899);
    assert_eq!(found(&CHECK, &cluster), info);
    assert_eq!(found(&CHECK, &later(cluster, 1)), warning);
}

#[test]
fn the_reason_follows_the_drain_policy() {
    let base = |policy: &str| {
        version("v1.12.1")
            + &setting("node-drain-policy", policy)
            + &manager("im-1", "n1", "")
            + &kube("n1", true, TAINT)
            + &replica("r1", "uuid-1", "desireState: stopped")
                .replace("\n---", "\nstatus: {currentState: stopped}\n---")
    };
    let elsewhere =
        object("Replica", "r2", &format!("spec: {{volumeName: vol, nodeID: n2, healthyAt: '{OLD}'}}"));
    let protected = elsewhere.clone() + &kube("n2", false, "") + &manager("im-2", "n2", "");
    let nothing = "nothing that Longhorn waits for is left";
    let alone = "1 replica without a healthy, protected copy on another node: r1";
    for (policy, without, with) in [
        ("", alone, nothing),
        ("block-if-contains-last-replica", alone, nothing),
        ("allow-if-replica-is-stopped", nothing, nothing),
        ("always-allow", nothing, nothing),
        ("block-for-eviction", "until the last replica has left", "until the last replica has left"),
        ("block-for-eviction-if-contains-last-replica", alone, nothing),
    ] {
        let text = |yaml: String| why(&yaml).1;
        assert!(text(base(policy)).contains(without), "{policy}");
        assert!(text(base(policy) + &protected).contains(with), "{policy}");
    }
    // healthy elsewhere, but without a budget, on a cordoned node, or failed
    let unprotected = [
        elsewhere.clone() + &kube("n2", false, ""),
        elsewhere.clone() + &kube("n2", true, ""),
        protected.replace("nodeID: n2, healthyAt", "nodeID: n2, failedAt: '2026-01-01T00:00:00Z', healthyAt"),
    ];
    for more in unprotected {
        assert!(why(&(base("block-if-contains-last-replica") + &more)).1.contains(alone), "{more}");
    }
    // never used: nothing to protect
    let unused = base("").replace(&format!("healthyAt: '{OLD}', "), "");
    assert!(why(&unused).1.contains(nothing));
}

#[test]
fn attached_volumes_come_first_and_are_named() {
    let yaml = version("v1.12.1")
        + &manager("im-1", "n1", "instanceEngineFrontends: {vol-ef-0: {}}")
        + &object("EngineFrontend", "vol-ef-0", "spec: {volumeName: vol}")
        + &object("Volume", "vol", "status: {kubernetesStatus: {pvcName: data, namespace: shop}}")
        + &setting("node-drain-policy", "always-allow")
        + &kube("n1", true, TAINT);
    assert!(why(&yaml).1.contains("still attached on the node: vol-ef-0"));
    assert_eq!(only(&yaml).volumes[0].pvc.as_deref(), Some("shop/data"));
}

#[test]
fn managers_of_1_4_wait_for_their_own_instances() {
    let engine = manager("im-1", "n1", "instances: {vol-e-0: {}}").replace("type: aio", "type: engine");
    let base = version("v1.4.4") + &kube("n1", true, TAINT);
    assert!(why(&(base.clone() + &engine)).1.contains("still attached"));
    assert!(
        why(&(base + &engine.replace("instances: {vol-e-0: {}}", "")))
            .1
            .contains("nothing that Longhorn waits for")
    );
}

#[test]
fn no_budget_or_no_running_manager_blocks_nothing() {
    let base = version("v1.12.1") + &kube("n1", true, TAINT);
    let stopped = manager("im-1", "n1", "").replace("currentState: running", "currentState: error");
    assert_eq!(recorded(&(base.clone() + &stopped)), NOTHING);
    let no_budget: String = manager("im-1", "n1", "").split_inclusive("---\n").take(1).collect();
    assert_eq!(recorded(&(base + &no_budget)), NOTHING);
}

#[test]
fn a_budget_of_another_node_that_selects_the_cordoned_one_blocks() {
    let of_n2 = |selected: &str| {
        version("v1.4.1") + &manager("im-2", "n2", "").replace(
            "kind: PodDisruptionBudget\n",
            &format!("kind: PodDisruptionBudget\nspec: {{selector: {{matchLabels: {{longhorn.io/node: {selected}}}}}}}\n"),
        )
    };
    let cordoned = kube("n1", true, "");
    let blocks = only(&(of_n2("n1") + &cordoned));
    assert_eq!(
        (blocks.cause.id, blocks.object.name.as_str(), blocks.node.as_deref()),
        ("pdb_blocks", "im-2", Some("n1"))
    );
    assert!(
        blocks.remedy.commands.iter().any(|command| command.run.contains("delete poddisruptionbudget im-2"))
    );
    assert_eq!(recorded(&(of_n2("n2") + &cordoned)), NOTHING, "its own node");
    assert_eq!(recorded(&(of_n2("n1") + &kube("n1", false, ""))), NOTHING, "no one drains");
}

#[test]
fn empty_and_unreadable_objects() {
    let kinds = ["Node", "Replica", "BackingImage", "Engine", "Volume", "InstanceManager"];
    let odd: String = kinds
        .into_iter()
        .map(|kind| object(kind, "odd", "") + &object(kind, "nulls", "spec: null\nstatus: null"))
        .collect();
    assert_eq!(recorded(&odd), NOTHING);
    for kind in [Resource::LonghornNodes, Resource::Replicas, Resource::BackingImages] {
        let mut cluster = live_at(NOW, &node(true, true));
        cluster.resources.entry(kind).or_default().readability = crate::cluster::Readability::Pending;
        let evaluation = run(&CHECK, &cluster);
        assert_eq!(evaluation.report.status, Status::Unknown);
        assert_eq!(sample(&evaluation, REPLICAS, &["n1", "d1"]), None);
    }
    // without budgets the rest is still judged
    let yaml = version("v1.12.1")
        + &node(false, true)
        + &replica("r1", "uuid-1", "")
        + &kube("n1", true, TAINT)
        + &manager("im-1", "n1", "");
    let mut cluster = later(live_at(NOW, &yaml), 3600);
    cluster.resources.entry(Resource::PodDisruptionBudgets).or_default().readability =
        crate::cluster::Readability::Forbidden;
    assert_eq!(found(&CHECK, &cluster), ["warning no_progress nodes.longhorn.io n1"]);
}

#[test]
fn an_old_scheduling_failure_does_not_outlast_its_reason() {
    let base = version("v1.12.1") + &node(false, true) + &replica("r1", "uuid-1", "");
    let volume = |reason: &str| {
        object(
            "Volume",
            "vol",
            &format!(
                "spec: {{dataLocality: strict-local}}\nstatus: {{conditions: [{{type: Scheduled, status: 'False', reason: {reason}, \
                 lastTransitionTime: '2026-01-01T11:00:00Z'}}]}}"
            ),
        )
    };
    let unplaced = only(&(base.clone() + &volume("ReplicaSchedulingFailure")));
    assert_eq!(unplaced.cause, "no_schedulable_disk");
    assert!(unplaced.evidence().iter().any(|fact| fact.text.starts_with("strict-local")));
    // a replica was placed since: with one more than wanted, the condition stays as it is
    let placed = object("Replica", "r2", "spec: {volumeName: vol, nodeID: n2, diskID: uuid-9}")
        .replace(OLD, "2026-01-01T11:01:00Z");
    let moving = base.clone() + &volume("ReplicaSchedulingFailure") + &placed + &engine("r1: RW, r2: WO");
    assert_eq!(recorded(&moving), NOTHING);
    // data locality that cannot be had is no want of room
    let local = base + &volume("LocalReplicaSchedulingFailure") + &engine("r1: RW, r2: WO");
    assert_eq!(recorded(&local), NOTHING);
}
