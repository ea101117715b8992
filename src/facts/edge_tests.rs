//! Edges of facts that have no tests of their own: what is just so, and what no longer is.

use super::drain::Budgets;
use super::eviction::{Request, evicting_disks};
use super::known_issues::{ALL, Trigger};
use super::not_started::no_pod;
use super::start::{crash, marks};
use super::{removal, start, volumes};
use crate::cluster::Readability;
use crate::longhorn::Resource;
use crate::testing::{cluster_at, kube_node, longhorn_manager, manager_daemon_set, object, setting};

const NOW: &str = "2026-01-01T12:00:00Z";
const CORDONED: &str = "spec: {unschedulable: true}";

#[test]
fn a_copy_protects_another_only_on_a_node_that_is_not_cordoned() {
    let replica = |name: &str, node: &str| {
        let rest = format!("spec: {{volumeName: v, nodeID: {node}, healthyAt: '2026-01-01T00:00:00Z'}}");
        object("Replica", name, &rest)
    };
    for (node, protects) in [("", true), (CORDONED, false)] {
        let objects = replica("v-r-1", "node-1")
            + &replica("v-r-2", "node-2")
            + &kube_node("node-2", node)
            + &object("InstanceManager", "im-2", "spec: {nodeID: node-2}\nstatus: {currentState: running}")
            + &object("PodDisruptionBudget", "im-2", "");
        let cluster = cluster_at(NOW, &objects);
        let replica = cluster.objects.replicas.get("v-r-1").unwrap();
        assert_eq!(Budgets::new(&cluster).is_protected_elsewhere(replica), protects, "{node}");
    }
}

#[test]
fn a_person_who_asks_for_an_eviction_comes_before_longhorn() {
    for (asks, request) in [(true, Request::Node), (false, Request::AutomaticAll)] {
        let spec = format!("spec: {{evictionRequested: {asks}, disks: {{d: {{allowScheduling: true}}}}}}");
        let objects = kube_node("node-1", CORDONED)
            + &object("Node", "node-1", &spec)
            + &setting("node-drain-policy", "block-for-eviction");
        let cluster = cluster_at(NOW, &objects);
        assert_eq!(evicting_disks(&cluster).first().map(|disk| disk.request), Some(request));
    }
}

#[test]
fn a_v2_bug_needs_a_v2_volume() {
    let of_rebuilds = ALL.iter().find(|issue| issue.number == 11420).unwrap();
    for (engine, possible) in [("v1", false), ("v2", true)] {
        let cluster = cluster_at(NOW, &object("Volume", "v", &format!("spec: {{dataEngine: {engine}}}")));
        assert_eq!(matches!(of_rebuilds.trigger(&cluster), Trigger::Possible(_)), possible, "{engine}");
    }
}

#[test]
fn a_toleration_is_for_the_effect_that_it_names() {
    for (effect, kept_away) in [("NoSchedule", false), ("NoExecute", true)] {
        let template = format!(
            "spec: {{template: {{spec: {{tolerations: [{{key: role, operator: Exists, effect: {effect}}}]}}}}}}"
        );
        let objects = kube_node("node-1", "spec: {taints: [{key: role, effect: NoSchedule}]}")
            + &object("DaemonSet", "longhorn-manager", &template);
        let cluster = cluster_at(NOW, &objects);
        assert_eq!(no_pod(&cluster, "longhorn-manager", "node-1", None).is_some(), kept_away, "{effect}");
    }
}

#[test]
fn a_removal_is_not_missed_unless_volumes_may_be_in_use() {
    let leaves = manager_daemon_set("image: 'longhorn-manager:v1.12.1'")
        .replace("metadata: {", "metadata: {deletionTimestamp: '2026-01-01T12:00:00Z', ");
    for (readability, unmissed) in
        [(Readability::Readable, true), (Readability::NotInstalled, true), (Readability::Forbidden, false)]
    {
        let mut cluster = cluster_at(NOW, &leaves);
        cluster.resources.entry(Resource::Volumes).or_default().readability = readability;
        assert_eq!(removal::unmissed(&cluster).is_some(), unmissed, "{readability:?}");
    }
}

#[test]
fn a_pod_that_leaves_crash_loops_as_long_as_the_kubelet_says_so() {
    let states = [
        ("waiting: {reason: CrashLoopBackOff}", true),
        ("running: {startedAt: '2026-01-01T11:59:50Z'}", false),
    ];
    for (state, loops) in states {
        let cluster = cluster_at(NOW, &crashed("deletionTimestamp: '2026-01-01T12:00:30Z'", state, ""));
        let pod = cluster.objects.pods.get("longhorn-manager-1").unwrap();
        assert_eq!(crash::looping(&cluster, pod).is_some(), loops, "{state}");
    }
}

#[test]
fn a_run_was_ready_if_readiness_ended_after_its_start() {
    for (changed, was_ready) in [("11:50:00", false), ("11:50:01", true)] {
        let ready = format!(
            "conditions: [{{type: Ready, status: 'False', lastTransitionTime: '2026-01-01T{changed}Z'}}], "
        );
        let cluster = cluster_at(NOW, &crashed("", "waiting: {reason: CrashLoopBackOff}", &ready));
        let pod = cluster.objects.pods.get("longhorn-manager-1").unwrap();
        let crash = crash::looping(&cluster, pod).unwrap();
        let marks = (marks::was_ready(pod, &crash), marks::was_never_ready(pod, &crash));
        assert_eq!(marks, (was_ready, !was_ready), "{changed}");
    }
}

#[test]
fn a_start_is_free_to_take_the_lease_only_while_no_one_has_it() {
    for (holder, free) in [("node-1", false), ("''", true)] {
        let waits = "spec: {nodeName: node-2}\nstatus: {containerStatuses: [{name: longhorn-manager, state: {running: {startedAt: \
                     '2026-01-01T11:58:00Z'}}}]}";
        let lease = format!(
            "spec: {{holderIdentity: {holder}, acquireTime: '2026-01-01T11:59:00Z', renewTime: '2026-01-01T11:59:58Z'}}"
        );
        let objects = longhorn_manager("longhorn-manager-2", "", waits)
            + &object("Lease", "longhorn-manager-webhook-lock", &lease);
        let cluster = cluster_at(NOW, &objects);
        let found: Vec<bool> = start::observe(&cluster).under_way.iter().map(|start| start.free).collect();
        assert_eq!(found, [free], "{holder}");
    }
}

#[test]
fn an_engine_is_oversized_from_the_first_byte_beyond_its_volume() {
    for (size, oversized) in [("1024", false), ("1025", true)] {
        let status = format!(
            "status: {{currentState: running, currentSize: '{size}', lastExpansionError: 'requested size 512 should not be smaller than the \
             current size'}}"
        );
        let objects = object("Volume", "v", "spec: {size: '1024'}") + &object("Engine", "v-e-0", &status);
        let objects = cluster_at(NOW, &objects).objects;
        let (volume, engine) = (objects.volumes.get("v").unwrap(), objects.engines.get("v-e-0").unwrap());
        assert_eq!(volumes::is_oversized(volume, engine), oversized, "{size}");
    }
}

/// A manager that exited with code 1 after ten seconds, for the fourth time.
fn crashed(metadata: &str, state: &str, status: &str) -> String {
    let rest = format!(
        "status: {{{status}containerStatuses: [{{name: longhorn-manager, restartCount: 4, state: {{{state}}}, lastState: {{terminated: \
         {{exitCode: 1, startedAt: '2026-01-01T11:50:00Z', finishedAt: '2026-01-01T11:50:10Z'}}}}}}]}}"
    );
    longhorn_manager("longhorn-manager-1", metadata, &rest)
}
