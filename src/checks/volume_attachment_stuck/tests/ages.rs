//! How long a volume has been on its way.

use super::*;

const LONG_AGO: &str = "2026-02-01T00:00:00Z";

#[test]
fn a_volume_that_came_back_from_the_death_of_its_engine_has_just_begun_to_attach() {
    let attaching = |access: &str, status: &str| {
        let volume = volume("vol", "attaching", "nodeID: node-1", "")
            .replace("accessMode: rwo", &format!("accessMode: {access}"))
            .replace("state: attaching", &format!("state: attaching, {status}"));
        let ticket = ("csi-1", "csi-attacher", "node-1", false, LONG_AGO);
        recorded(&(volume + &tickets("vol", &[ticket]) + &csi("csi-1", "node-1", LONG_AGO)))
    };
    let old = ["warning attaching Volume vol"];
    assert_eq!(attaching("rwo", "remountRequestedAt: ''"), old);
    assert!(attaching("rwo", "remountRequestedAt: '2026-03-01T11:59:00Z'").is_empty());
    assert!(attaching("rwo", "lastAutoSalvagedAt: '2026-03-01T11:59:00Z'").is_empty());
    assert_eq!(attaching("rwo", "remountRequestedAt: '2026-03-01T11:00:00Z'"), old);
    // it is written again and again while the NFS server of a shared volume is in error
    assert_eq!(attaching("rwx", "remountRequestedAt: '2026-03-01T11:59:00Z'"), old);
}

#[test]
fn a_volume_is_attached_again_after_the_last_death_of_its_engine() {
    let died = |at: &str| {
        let event = format!(
            "apiVersion: v1\nkind: Event\nmetadata: {{name: died}}\nreason: DetachedUnexpectly\ntype: Warning\ncount: 1\n\
             lastTimestamp: '{at}'\ninvolvedObject: {{kind: Volume, name: vol}}\n---\n"
        );
        recorded(&(volume("vol", "attaching", "nodeID: node-1", "") + &event))
    };
    assert_eq!(died("2026-03-01T11:58:46Z"), Vec::<String>::new());
    assert_eq!(died("2026-03-01T11:40:00Z"), ["warning attaching Volume vol"]);
}

#[test]
fn a_ticket_that_was_satisfied_until_now_waits_since_now() {
    let since = |at| {
        let ticket = ("csi-1", "csi-attacher", "node-1", false, at);
        let volume = volume("vol", "attaching", "nodeID: node-1", "");
        recorded(&(volume + &tickets("vol", &[ticket]) + &csi("csi-1", "node-1", LONG_AGO)))
    };
    assert_eq!(since(OLD), ["warning attaching Volume vol"]);
    assert!(since(YOUNG).is_empty());
}

#[test]
fn a_detaching_volume_without_ticket_and_attachment_tells_no_age() {
    let yaml = volume("vol", "detaching", "nodeID: ''", "node-1") + &engine("vol", "node-1", "stopping", "");
    assert_eq!(recorded(&yaml), ["info detaching Volume vol"]);
    let another =
        csi("csi-1", "node-2", OLD).replace("{persistentVolumeName: pv}", "{persistentVolumeName: other}");
    assert_eq!(
        recorded(&(yaml.clone() + &another)),
        ["info detaching Volume vol"],
        "none of them is of this volume"
    );
    let cluster = live_at(NOW, &yaml);
    assert!(causes(&cluster).is_empty());
    assert_eq!(
        causes(&later(cluster, 600)),
        ["warning detaching Volume vol"],
        "an exporter has seen it begin"
    );
}

#[test]
fn a_volume_whose_engine_died_has_just_begun_to_detach() {
    let died = |at| {
        let event = format!(
            "apiVersion: v1\nkind: Event\nmetadata: {{name: died}}\nreason: DetachedUnexpectedly\ntype: Warning\ncount: 1\n\
             lastTimestamp: '{at}'\ninvolvedObject: {{kind: Volume, name: vol}}\n---\n"
        );
        let ticket = ("csi-1", "csi-attacher", "node-1", true, LONG_AGO);
        let volume = volume("vol", "detaching", "nodeID: node-1", "node-1");
        recorded(&(volume + &tickets("vol", &[ticket]) + &csi("csi-1", "node-1", LONG_AGO) + &event))
    };
    assert!(died(YOUNG).is_empty());
    assert_eq!(died(OLD), ["warning detaching Volume vol"]);
}

#[test]
fn a_ticket_for_a_node_that_is_gone_is_told_as_that() {
    let nodes = "apiVersion: v1\nkind: Node\nmetadata: {name: node-2}\n---\n";
    let both =
        [("csi-a", "csi-attacher", "node-9", false, OLD), ("csi-b", "csi-attacher", "node-2", false, OLD)];
    let yaml = volume("vol", "attaching", "nodeID: node-9", "")
        + &tickets("vol", &both)
        + &csi("csi-b", "node-2", OLD);
    assert_eq!(recorded(&(yaml.clone() + nodes)), ["warning ticket_left_over Volume vol"]);
    let node = nodes.replace("node-2", "node-9");
    assert_eq!(
        recorded(&(yaml + nodes + &node)),
        ["warning attaching Volume vol", "info ticket_left_over Volume vol"]
    );
}

#[test]
fn a_single_look_finds_what_a_recording_of_it_finds() {
    let yaml = volume("vol", "attaching", "nodeID: node-1", "")
        + &tickets("vol", &[("csi-1", "csi-attacher", "node-1", false, LONG_AGO)])
        + &csi("csi-1", "node-1", LONG_AGO);
    let old = ["warning attaching Volume vol"];
    assert_eq!(recorded(&yaml), old);
    assert_eq!(causes(&one_look_at(NOW, &yaml)), old);
    // an exporter that has just started waits until it has seen it for as long
    let mut cluster = live_at(NOW, &yaml);
    for _ in 0..10 {
        assert!(causes(&cluster).is_empty());
        cluster = later(cluster, 60);
    }
    assert_eq!(causes(&cluster), old);
}

#[test]
fn starts_that_failed_before_the_volume_was_asked_for_are_over() {
    let asked = |at: &str| {
        let failed = format!(
            "apiVersion: v1\nkind: Event\nmetadata: {{name: e, namespace: {NAMESPACE}}}\nreason: FailedStarting\ncount: 4\n\
             firstTimestamp: '2026-03-01T11:48:00Z'\nlastTimestamp: '2026-03-01T11:50:00Z'\n\
             involvedObject: {{kind: Engine, name: v-e-0}}\n---\n"
        );
        let named = volume("v", "attaching", "nodeID: n1", "")
            .replace("kubernetesStatus: {", "kubernetesStatus: {pvName: pv, ");
        recorded(&(named + &engine("v", "n1", "starting", "") + &csi("csi-v", "n1", at) + &failed))
    };
    assert_eq!(asked("2026-03-01T11:59:00Z"), Vec::<String>::new());
    assert_eq!(asked("2026-03-01T11:49:00Z"), ["critical engine_cannot_start Volume v"]);
}
