mod copies;

use super::CHECK;
use crate::check::Finding;
use crate::longhorn::Resource;
use crate::report::Status;
use crate::testing::release as version;
use crate::testing::*;

const NOW: &str = "2026-01-01T12:00:00Z";
const OLD: &str = "2025-12-01T00:00:00Z";

/// Node `n1` with the ready disk `d1` (uuid-1) and a replica on it. `{node}` and `{disk}` are more fields of the
/// specs.
fn node(spec: &str, disk: &str) -> String {
    node_status(spec, disk, "conditions: [{type: Ready, status: 'True'}]", "True", "r1: 10")
}

fn node_status(spec: &str, disk: &str, status: &str, ready: &str, scheduled: &str) -> String {
    object(
        "Node",
        "n1",
        &format!(
            "spec: {{disks: {{d1: {{{disk}}}}}, {spec}}}\n\
             status:\n  {status}\n  diskStatus:\n    d1: {{diskUUID: uuid-1, scheduledReplica: {{{scheduled}}}, \
             conditions: [{{type: Ready, status: '{ready}', reason: X, lastTransitionTime: '{OLD}'}}]}}"
        ),
    )
}

fn replica(name: &str, spec: &str) -> String {
    object("Replica", name, &format!("spec: {{volumeName: vol, nodeID: n1, diskID: uuid-1, {spec}}}"))
}

fn kube(unschedulable: bool) -> String {
    kube_node("n1", &format!("spec: {{unschedulable: {unschedulable}}}"))
}

fn image(spec: &str, status: &str) -> String {
    object(
        "BackingImage",
        "img",
        &format!("spec: {{diskFileSpecMap: {{{spec}}}}}\nstatus: {{diskFileStatusMap: {{{status}}}}}"),
    )
}

const VOLUME: &str = "status: {state: attached, kubernetesStatus: {pvcName: data, namespace: shop}}";

fn recorded(yaml: &str) -> Vec<String> {
    found(&CHECK, &cluster_at(NOW, yaml))
}

fn only(yaml: &str) -> Finding {
    let mut findings = run(&CHECK, &cluster_at(NOW, yaml)).report.findings;
    assert_eq!(findings.len(), 1, "{findings:?}");
    findings.remove(0)
}

const NOTHING: [&str; 0] = [];

#[test]
fn an_eviction_under_way_contradicts_nothing() {
    for request in ["evictionRequested: true, allowScheduling: false", ""] {
        let disk = if request.is_empty() {
            "evictionRequested: true, allowScheduling: false"
        } else {
            "allowScheduling: true"
        };
        let yaml = version("v1.12.1")
            + &node(request, disk)
            + &kube(false)
            + &replica("r1", "evictionRequested: true, backingImage: img")
            + &object("Replica", "r2", "spec: {volumeName: vol, nodeID: n2, diskID: uuid-2}")
            + &object(
                "Engine",
                "vol-e-0",
                "spec: {volumeName: vol, active: true}\nstatus: {currentState: running, replicaModeMap: {r1: RW, r2: WO}}",
            )
            + &image("uuid-1: {evictionRequested: true}", "uuid-1: {state: ready}");
        assert_eq!(recorded(&yaml), NOTHING, "{request}");
    }
}

#[test]
fn suspended_only_while_something_is_left() {
    let down = format!(
        "conditions: [{{type: Ready, status: 'False', reason: KubernetesNodeNotReady, lastTransitionTime: '{OLD}'}}]"
    );
    let evicting = "evictionRequested: true";
    let node = node_status(evicting, "", &down, "False", "");
    let cause = ["warning suspended_node_down nodes.longhorn.io n1"];
    assert_eq!(recorded(&(node.clone() + &replica("r1", ""))), cause);
    assert_eq!(
        recorded(&(version("v1.12.1") + &node + &image("uuid-1: {}", "uuid-1: {state: ready}"))),
        cause
    );
    // evicted first, switched off afterwards
    assert_eq!(recorded(&node), NOTHING);
    // the manager pod alone being down is not a node that is down
    let manager =
        node_status(evicting, "", &down.replace("KubernetesNodeNotReady", "ManagerPodDown"), "True", "r1: 1");
    assert_eq!(recorded(&(manager + &replica("r1", "evictionRequested: true"))), NOTHING);
    // just gone down
    let young = node_status(evicting, "", &down.replace(OLD, "2026-01-01T11:58:00Z"), "False", "");
    assert_eq!(recorded(&(young + &replica("r1", ""))), NOTHING);
}

#[test]
fn a_disk_that_is_not_ready_hides_its_replicas() {
    let ready = "conditions: [{type: Ready, status: 'True'}]";
    let hidden = node_status("", "evictionRequested: true", ready, "False", "");
    let finding = only(&(hidden.clone() + &replica("r1", "") + &object("Volume", "vol", VOLUME)));
    assert_eq!(finding.cause, "disk_not_ready_hides_replicas");
    assert_eq!((finding.node.as_deref(), finding.disk.as_deref()), (Some("n1"), Some("d1")));
    assert_eq!(finding.volumes[0].pvc.as_deref(), Some("shop/data"));
    assert!(finding.evidence()[0].text.contains("Ready is False (X), scheduledReplica is empty"));
    // empty indeed, or not asked to be emptied
    assert_eq!(recorded(&hidden), NOTHING);
    assert_eq!(recorded(&(node_status("", "", ready, "False", "") + &replica("r1", ""))), NOTHING);
}

#[test]
fn the_webhook_was_bypassed() {
    let both = "evictionRequested: true, allowScheduling: true";
    let one = ["warning scheduling_still_allowed nodes.longhorn.io n1"];
    assert_eq!(recorded(&node(both, "")), one);
    assert_eq!(recorded(&node("", both)), one);
    assert_eq!(recorded(&node("evictionRequested: true", "allowScheduling: true")), NOTHING);
    let cluster = live_at(NOW, &node("", both));
    assert_eq!(found(&CHECK, &cluster), NOTHING);
    assert_eq!(found(&CHECK, &later(cluster, 60)), one);
    let change = only(&node("", both)).remedy.commands.into_iter().find(|command| command.changes).unwrap();
    assert!(change.run.ends_with(
        r#"nodes.longhorn.io n1 --type merge -p '{"spec":{"disks":{"d1":{"allowScheduling":false}}}}'"#
    ));
}

#[test]
fn disk_keys_differ_and_no_release_panics_on_that() {
    let extra = object(
        "Node",
        "n1",
        "spec: {disks: {d1: {}, d2: {}}}\nstatus: {diskStatus: {d1: {diskUUID: uuid-1}}}",
    );
    // issue 10749 came into no tag without its guard
    for release in ["v1.7.3", "v1.7.4", "v1.8.1", "v1.8.2", "v1.9.0", "v1.12.1"] {
        let finding = only(&(version(release) + &extra));
        assert_eq!(finding.cause, "disk_keys_differ");
        let facts: Vec<_> = finding.evidence().iter().map(|fact| fact.text.as_str()).collect();
        assert!(facts[0].starts_with("only in spec.disks: d2; only in status.diskStatus: none"), "{facts:?}");
        assert!(!facts.iter().any(|fact| fact.contains("panic")), "{release} {facts:?}");
    }
    // in a recording of a node that works, a disk may just have been added
    let works = extra.replace("status: {", "status: {conditions: [{type: Ready, status: 'True'}], ");
    assert_eq!(recorded(&works), ["info disk_keys_differ nodes.longhorn.io n1"]);
    let cluster = live_at(NOW, &extra);
    assert_eq!(found(&CHECK, &cluster), NOTHING);
    let cluster = later(cluster, 299);
    assert_eq!(found(&CHECK, &cluster), NOTHING);
    assert_eq!(found(&CHECK, &later(cluster, 1)), ["warning disk_keys_differ nodes.longhorn.io n1"]);
}

#[test]
fn auto_evicting_needs_a_cordon() {
    let auto = node_status("", "", "autoEvicting: true", "True", "");
    assert_eq!(
        recorded(&(auto.clone() + &kube(false))),
        ["warning auto_evicting_stale nodes.longhorn.io n1"]
    );
    assert_eq!(recorded(&(auto.clone() + &kube(true))), NOTHING);
    assert_eq!(recorded(&auto), NOTHING); // the Kubernetes nodes are not recorded
}

#[test]
fn stale_replica_flags_by_release() {
    let spec = replica("r1", "evictionRequested: true");
    let status = replica("r1", "").replace("\n---", "\nstatus: {evictionRequested: true}\n---");
    let stale = vec!["warning stale_replica_flag Replica r1".to_owned()];
    for (release, in_spec, in_status) in [
        ("v1.5.3", false, true),
        ("v1.5.4", true, false),
        ("v1.6.0", true, false),
        ("v1.9.2", true, false),
        ("v1.12.1", true, false),
    ] {
        let base = version(release) + &node("", "") + &kube(false);
        assert_eq!(recorded(&(base.clone() + &spec)) == stale, in_spec, "{release}");
        assert_eq!(recorded(&(base + &status)) == stale, in_status, "{release}");
    }
}

#[test]
fn a_drain_explains_the_replica_flag() {
    let base = version("v1.12.1") + &replica("r1", "evictionRequested: true");
    let auto = node_status("", "", "autoEvicting: true", "True", "r1: 1");
    assert_eq!(recorded(&(base.clone() + &auto + &kube(true))), NOTHING);
    let policy = setting("node-drain-policy", "block-for-eviction");
    assert_eq!(recorded(&(base.clone() + &policy + &node("", "") + &kube(true))), NOTHING);
    // cordoned, but the policy does not evict
    assert_eq!(recorded(&(base + &node("", "") + &kube(true))), ["warning stale_replica_flag Replica r1"]);
}

#[test]
fn a_detached_volume_without_candidate() {
    let base = |release: &str, state: &str, tickets: &str| {
        version(release)
            + &node("evictionRequested: true", "")
            + &replica("r1", "evictionRequested: true")
            + &object("Volume", "vol", &format!("status: {{state: {state}}}"))
            + &object("VolumeAttachment", "vol", &format!("spec: {{attachmentTickets: {{{tickets}}}}}"))
    };
    let ticket = "volume-eviction-controller-vol: {type: volume-eviction-controller}";
    let none = ["warning no_candidate_disk Replica r1"];
    assert_eq!(recorded(&base("v1.12.1", "detached", "")), none);
    assert_eq!(recorded(&base("v1.12.1", "detached", ticket)), NOTHING);
    assert_eq!(recorded(&base("v1.12.1", "attached", "")), NOTHING);
    assert_eq!(recorded(&base("v1.5.5", "detached", "csi-x: {type: csi-attacher}")), none);
}

#[test]
fn the_last_good_replica() {
    let base = |modes: &str| {
        version("v1.12.1")
            + &node("evictionRequested: true", "")
            + &replica("r1", "evictionRequested: true")
            + &object(
                "Engine",
                "vol-e-0",
                &format!(
                    "spec: {{volumeName: vol, active: true}}\nstatus: {{currentState: running, replicaModeMap: {{{modes}}}}}"
                ),
            )
    };
    let last = ["warning last_rw_replica Replica r1"];
    assert_eq!(recorded(&base("r1: RW")), last);
    assert_eq!(recorded(&base("r1: RW, r2: ERR")), last);
    assert_eq!(recorded(&base("r1: RW, r2: WO")), NOTHING);
    assert_eq!(recorded(&base("r1: RW, r2: RW")), NOTHING);
    assert_eq!(recorded(&base("r1: ERR, r2: RW")), NOTHING);
    assert_eq!(recorded(&base("r1: odd")), NOTHING);
    // the new replica finds no disk: eviction_stalled names that
    let unplaced = object("Replica", "r3", "spec: {volumeName: vol}");
    assert_eq!(recorded(&(base("r1: RW") + &unplaced)), NOTHING);
    let finding = only(&(base("r1: RW") + &setting("concurrent-replica-rebuild-per-node-limit", "0")));
    assert!(finding.evidence().iter().any(|fact| fact.text.contains("rebuilding is off")));
}

#[test]
fn a_flag_that_outlives_its_request_sticks() {
    let flagged = image("uuid-1: {evictionRequested: true}", "uuid-1: {state: ready}");
    let base = version("v1.12.1") + &flagged;
    let finding = only(&(base.clone() + &node("", "")));
    assert_eq!((finding.cause.id, finding.disk.as_deref()), ("sticky_backing_image_flag", Some("d1")));
    assert_eq!(
        finding.remedy.commands.iter().find(|command| command.changes).unwrap().run,
        "kubectl -n longhorn-system patch backingimages.longhorn.io img --type merge \
         -p '{\"spec\":{\"diskFileSpecMap\":{\"uuid-1\":{\"evictionRequested\":false}}}}'"
    );
    // while anything on the node requests eviction, Longhorn looks
    assert_eq!(recorded(&(base.clone() + &node("evictionRequested: true", ""))), NOTHING);
    assert_eq!(recorded(&(base + &node("", "evictionRequested: true"))), NOTHING);
}

#[test]
fn every_contradiction_names_what_to_do() {
    let yaml = version("v1.8.2")
        + &node("evictionRequested: true, allowScheduling: true", "")
        + &replica("r1", "backingImage: img")
        + &image("uuid-1: {evictionRequested: true}, uuid-x: {}", "uuid-1: {state: unknown}")
        + &object("BackingImageManager", "bim-1", "spec: {diskUUID: uuid-x}");
    let report = run(&CHECK, &cluster_at(NOW, &yaml)).report;
    assert_eq!(report.findings.len(), 5, "{:?}", recorded(&yaml));
    for finding in &report.findings {
        assert!(CHECK.cause(finding.cause.id).is_some(), "{}", finding.cause);
        assert!(
            !finding.impact.is_empty() && !finding.remedy.fix.is_empty() && !finding.evidence().is_empty()
        );
        assert!(finding.remedy.commands.first().is_some_and(|command| !command.changes), "{}", finding.cause);
        assert_eq!(finding.runbook, Some("LonghornEvictionInconsistent"));
    }
}

#[test]
fn empty_and_unreadable_objects() {
    let odd: String = [
        "Node", "Replica", "BackingImage", "Engine", "Volume", "VolumeAttachment", "BackingImageManager",
        "BackingImageDataSource",
    ]
    .into_iter()
    .map(|kind| object(kind, "odd", "") + &object(kind, "nulls", "spec: null\nstatus: null"))
    .collect();
    assert_eq!(recorded(&odd), NOTHING);
    for kind in [Resource::LonghornNodes, Resource::Replicas, Resource::BackingImages] {
        let mut cluster = live_at(NOW, &node("", ""));
        cluster.resources.entry(kind).or_default().readability = crate::cluster::Readability::Stale;
        assert_eq!(run(&CHECK, &cluster).report.status, Status::Unknown);
    }
}

#[test]
fn a_failed_replica_is_deleted_only_beside_a_healthy_one() {
    let base = |robustness: &str, other: &str| {
        version("v1.8.1")
            + &node("evictionRequested: true", "")
            + &image("uuid-2: {}", "uuid-2: {state: ready}")
            + &object("Node", "n2", "spec: {disks: {d2: {}}}\nstatus: {diskStatus: {d2: {diskUUID: uuid-2}}}")
            + &replica("r1", &format!("backingImage: img, evictionRequested: true, failedAt: '{OLD}'"))
            + &object(
                "Replica",
                "r2",
                &format!("spec: {{volumeName: vol, nodeID: n2, diskID: uuid-2, {other}}}"),
            )
            + &object("Volume", "vol", &format!("status: {{state: detached, robustness: {robustness}}}"))
    };
    let deletes = |yaml: &str| only(yaml).remedy.commands.iter().any(|command| command.changes);
    let healthy = format!("healthyAt: '{OLD}'");
    assert!(deletes(&base("healthy", &healthy)));
    assert!(!deletes(&base("faulted", &healthy)));
    assert!(!deletes(&base("degraded", &healthy)));
    assert!(!deletes(&base("healthy", &format!("{healthy}, failedAt: '{OLD}'"))));
    assert!(!deletes(&base("healthy", "")));
}

#[test]
fn a_time_in_the_future_hides_nothing() {
    let hidden = |since: &str| {
        node_status("", "evictionRequested: true", "conditions: [{type: Ready, status: 'True'}]", "False", "")
            .replace(OLD, since)
            + &replica("r1", "")
    };
    assert_eq!(recorded(&hidden("2026-01-01T12:05:00Z")), NOTHING, "clocks differ by moments");
    assert_eq!(
        recorded(&hidden("2027-01-01T00:00:00Z")),
        ["warning disk_not_ready_hides_replicas nodes.longhorn.io n1"]
    );
}

#[test]
fn a_disk_that_moved_belongs_to_the_node_where_it_is_ready() {
    let left = |name: &str, ready: &str, evicting: bool| {
        object(
            "Node",
            name,
            &format!(
                "spec: {{disks: {{d1: {{evictionRequested: {evicting}}}}}}}\nstatus: {{diskStatus: {{d1: {{diskUUID: uuid-1, \
                 conditions: [{{type: Ready, status: '{ready}'}}]}}}}}}"
            ),
        )
    };
    for (moved, remains) in [("a", "z"), ("z", "a")] {
        let cluster = cluster_at(NOW, &(left(moved, "True", false) + &left(remains, "False", false)));
        assert_eq!(cluster.disk("uuid-1").unwrap().node.metadata.name, moved);
    }
}

#[test]
fn strict_local_and_restoring_volumes_are_told_of() {
    let yaml = version("v1.12.1")
        + &node("evictionRequested: true", "")
        + &replica("r1", "evictionRequested: true")
        + &object(
            "Volume",
            "vol",
            "spec: {dataLocality: strict-local}\nstatus: {conditions: [{type: Restore, status: 'True'}]}",
        )
        + &object(
            "Engine",
            "vol-e-0",
            "spec: {volumeName: vol, active: true}\nstatus: {currentState: running, replicaModeMap: {r1: RW}}",
        );
    let finding = only(&yaml);
    assert_eq!(finding.cause, "last_rw_replica");
    for part in ["strict-local", "is being restored"] {
        assert!(finding.evidence().iter().any(|fact| fact.text.contains(part)), "{part}");
    }
}
