mod lease;
mod outdated;

use super::CHECK;
use crate::cluster::Cluster;
use crate::testing::*;

const NOW: &str = "2026-03-01T12:00:00Z";

fn node(name: &str, ready_since: &str, free: i64) -> String {
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: longhorn-manager-{name}, namespace: {NAMESPACE}, labels: {{app: longhorn-manager}}}}\n\
         spec: {{nodeName: {name}}}\nstatus: {{conditions: [{{type: Ready, status: 'True', lastTransitionTime: '{ready_since}'}}]}}\n---\n\
         apiVersion: longhorn.io/v1beta2\nkind: Node\nmetadata: {{name: {name}, namespace: {NAMESPACE}, creationTimestamp: '2026-01-01T00:00:00Z'}}\n\
         spec: {{disks: {{d: {{allowScheduling: true}}}}}}\nstatus: {{diskStatus: {{d: {{diskUUID: u-{name}, storageAvailable: {free}}}}}}}\n---\n\
         apiVersion: longhorn.io/v1beta2\nkind: InstanceManager\nmetadata: {{name: im-{name}, namespace: {NAMESPACE}}}\n\
         spec: {{nodeID: {name}}}\nstatus: {{ownerID: {name}, currentState: running}}\n---\n\
         apiVersion: v1\nkind: Pod\nmetadata: {{name: im-{name}, namespace: {NAMESPACE}, labels: {{longhorn.io/component: instance-manager}}}}\n\
         spec: {{nodeName: {name}}}\nstatus: {{conditions: [{{type: Ready, status: 'True', lastTransitionTime: '2026-03-01T11:00:00Z'}}]}}\n---\n"
    )
}

fn three() -> String {
    ["node-1", "node-2", "node-3"].map(|name| node(name, "2026-03-01T08:00:00Z", 5)).concat()
}

/// A volume of node-2 with a ticket in its spec or in its status.
fn volume(spec: &str, status: &str) -> String {
    format!(
        "apiVersion: longhorn.io/v1beta2\nkind: Volume\nmetadata: {{name: vol, namespace: {NAMESPACE}}}\nspec: {{nodeID: node-1}}\n\
         status: {{ownerID: node-2, state: attached, robustness: healthy}}\n---\n\
         apiVersion: longhorn.io/v1beta2\nkind: VolumeAttachment\nmetadata: {{name: vol, namespace: {NAMESPACE}, creationTimestamp: '2026-03-01T09:00:00Z'}}\n\
         spec: {{attachmentTickets: {{{spec}}}}}\nstatus: {{attachmentTicketStatuses: {{{status}}}}}\n---\n"
    )
}

const TICKET: &str = "csi-a: {type: csi-attacher, nodeID: node-1}";
const STATUS: &str = "csi-a: {satisfied: true}";

fn causes(cluster: &Cluster) -> Vec<String> {
    found(&CHECK, cluster)
}

const FOUND: &str = "warning work_undone Pod longhorn-manager-node-2";

#[test]
fn nodes_that_are_left_out_need_no_instance_manager() {
    let none =
        three().replace("nodeID: node-2}", "nodeID: node-3}").replace("ownerID: node-2", "ownerID: node-3");
    assert_eq!(causes(&cluster_at(NOW, &none)), [FOUND]);
    let selector = object("Setting", "system-managed-components-node-selector", "value: 'storage:yes'");
    assert!(causes(&cluster_at(NOW, &(none.clone() + &selector))).is_empty());
    // the webhook refuses every change of a node that is to be evicted and still takes replicas
    let refused = none.replace(
        "disks: {d: {allowScheduling: true}}",
        "disks: {d: {allowScheduling: true, evictionRequested: true}}",
    );
    assert!(causes(&cluster_at(NOW, &refused)).is_empty());
}

#[test]
fn what_only_its_manager_does_is_missed() {
    let starting =
        three().replace("ownerID: node-2, currentState: running", "ownerID: node-2, currentState: starting");
    let no_pod = three().replace(
        "name: im-node-2, namespace: longhorn-system, labels",
        "name: other, namespace: longhorn-system, labels",
    );
    let no_disk = three().replace("d: {diskUUID: u-node-2, storageAvailable: 5}", "");
    let none =
        three().replace("nodeID: node-2}", "nodeID: node-3}").replace("ownerID: node-2", "ownerID: node-3");
    let detach = volume(TICKET, STATUS).replace("spec: {nodeID: node-1}", "spec: {nodeID: ''}");
    for yaml in [
        three() + &volume(TICKET, ""),
        three() + &volume("", STATUS),
        three() + &detach,
        starting.clone(),
        no_pod,
        no_disk,
        none,
    ] {
        assert_eq!(causes(&cluster_at(NOW, &yaml)), [FOUND], "{yaml}");
    }
    // a manager that does not reach its instance manager is not deleted for that, nor for what waits for the instance manager
    let waits = run(&CHECK, &cluster_at(NOW, &(starting + &volume(TICKET, "")))).report.findings.remove(0);
    assert!(waits.remedy.commands.iter().all(|command| !command.changes), "{:?}", waits.remedy);
    assert!(causes(&cluster_at(NOW, &(three() + &volume(TICKET, STATUS)))).is_empty());
    // a disk that was just added beside another one: nothing in a recording says when
    let added = three().replace(
        "disks: {d: {allowScheduling: true}}}\nstatus: {diskStatus: {d: {diskUUID: u-node-2",
        "disks: {d: {}, e: {}}}\nstatus: {diskStatus: {d: {diskUUID: u-node-2",
    );
    assert!(added.contains("e: {}") && causes(&cluster_at(NOW, &added)).is_empty());
    assert_eq!(causes(&later(live_at(NOW, &added), 300)), [FOUND]);
}

#[test]
fn a_manager_may_be_busy_or_new_or_down() {
    let undone = three() + &volume(TICKET, "");
    let cluster = live_at(NOW, &undone);
    assert!(causes(&cluster).is_empty());
    let cluster = later(cluster, 299);
    assert!(causes(&cluster).is_empty());
    assert_eq!(causes(&later(cluster, 1)), [FOUND]);
    // just started, as all are in an upgrade
    let young = undone.replace("2026-03-01T08:00:00Z", "2026-03-01T11:55:01Z");
    assert!(causes(&cluster_at(NOW, &young)).is_empty());
    // not Ready: other checks
    let not_ready =
        undone.replace("status: 'True', lastTransitionTime: '2026-03-01T08:00:00Z'", "status: 'False'");
    assert!(causes(&cluster_at(NOW, &not_ready)).is_empty());
    let down = undone.replace("status: {diskStatus: {d: {diskUUID: u-node-2",
        "status: {conditions: [{type: Ready, status: 'False', reason: KubernetesNodeNotReady}], diskStatus: {d: {diskUUID: u-node-2");
    assert!(causes(&cluster_at(NOW, &down)).is_empty());
    // an instance manager of a foreign owner is not the fault of the node's manager
    let foreign =
        three().replace("ownerID: node-2, currentState: running", "ownerID: node-3, currentState: starting");
    assert!(causes(&cluster_at(NOW, &foreign)).is_empty());
}

#[test]
fn where_all_stand_still_no_manager_is_to_blame() {
    let all = three().replace("currentState: running", "currentState: starting");
    assert!(causes(&cluster_at(NOW, &all)).is_empty());
}

#[test]
fn a_node_status_that_stands_still_while_others_move_is_a_note() {
    let at = |free: i64| {
        node("node-1", "2026-03-01T08:00:00Z", free)
            + &node("node-2", "2026-03-01T08:00:00Z", 7)
            + &node("node-3", "2026-03-01T08:00:00Z", free)
    };
    let mut cluster = live_at(NOW, &at(0));
    for round in 1..15 {
        cluster = next(cluster, 240, &at(round));
        assert!(causes(&cluster).is_empty(), "{round}");
    }
    cluster = next(cluster, 240, &at(99));
    assert_eq!(causes(&cluster), ["info node_status_still Pod longhorn-manager-node-2"]);
    // nothing moves anywhere: an idle cluster
    assert!(causes(&later(later(cluster, 3600), 1)).is_empty());
}
