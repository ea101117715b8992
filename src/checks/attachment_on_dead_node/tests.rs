use super::CHECK;
use crate::testing::*;

const NOW: &str = "2026-03-01T12:00:00Z";

fn node(name: &str, ready: &str, since: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Node\nmetadata: {{name: {name}}}\n\
         status: {{conditions: [{{type: Ready, status: '{ready}', lastTransitionTime: '{since}'}}]}}\n---\n"
    )
}

fn attachment(name: &str, node: &str, driver: &str) -> String {
    format!(
        "apiVersion: storage.k8s.io/v1\nkind: VolumeAttachment\nmetadata: {{name: {name}}}\n\
         spec: {{attacher: {driver}, nodeName: {node}, source: {{persistentVolumeName: pv-{name}}}}}\nstatus: {{attached: true}}\n---\n\
         apiVersion: longhorn.io/v1beta2\nkind: Volume\nmetadata: {{name: vol-{name}, namespace: {NAMESPACE}}}\n\
         status: {{robustness: unknown, kubernetesStatus: {{pvName: pv-{name}, pvcName: {name}, namespace: db}}}}\n---\n"
    )
}

const OURS: &str = "driver.longhorn.io";

#[test]
fn a_node_that_has_been_down_for_ten_minutes_holds_its_volumes() {
    for (ready, since, expected) in [
        ("Unknown", "2026-03-01T11:50:00Z", 1),
        ("False", "2026-03-01T11:50:00Z", 1),
        ("Unknown", "2026-03-01T11:50:01Z", 0),
        ("True", "2026-03-01T11:00:00Z", 0),
    ] {
        let yaml = node("node-1", ready, since)
            + &attachment("a", "node-1", OURS)
            + &attachment("b", "node-1", OURS);
        let evaluation = run(&CHECK, &cluster_at(NOW, &yaml));
        assert_eq!(evaluation.report.findings.len(), expected, "{ready} {since}");
        if let Some(finding) = evaluation.report.findings.first() {
            assert_eq!(finding.cause.to_string(), "node_down");
            assert!(finding.message.ends_with("holds 2 volumes"), "{}", finding.message);
            assert_eq!(sample(&evaluation, "longhorn_health_dead_node_attachments", &["node-1"]), Some(2.0));
        }
    }
}

#[test]
fn an_attachment_without_a_persistent_volume_names_no_volume() {
    let inline = format!(
        "apiVersion: storage.k8s.io/v1\nkind: VolumeAttachment\nmetadata: {{name: inline}}\n\
         spec: {{attacher: {OURS}, nodeName: node-1, source: {{}}}}\nstatus: {{attached: true}}\n---\n\
         apiVersion: longhorn.io/v1beta2\nkind: Volume\nmetadata: {{name: unrelated, namespace: {NAMESPACE}}}\n---\n"
    );
    let yaml = node("node-1", "False", "2026-03-01T11:00:00Z") + &inline;
    let finding = run(&CHECK, &cluster_at(NOW, &yaml)).report.findings.remove(0);
    assert!(finding.volumes.is_empty(), "{:?}", finding.volumes);
    assert!(finding.message.ends_with("holds 1 volume: inline"), "{}", finding.message);
}

#[test]
fn a_node_that_is_gone_is_told_by_longhorn_or_watched() {
    let here = node("node-1", "True", "2026-01-01T00:00:00Z");
    let gone = format!(
        "apiVersion: longhorn.io/v1beta2\nkind: Node\nmetadata: {{name: node-2, namespace: {NAMESPACE}}}\n\
         status: {{conditions: [{{type: Ready, status: 'False', reason: KubernetesNodeGone, lastTransitionTime: '2026-03-01T11:40:00Z'}}]}}\n---\n"
    );
    let yaml = here.clone() + &attachment("a", "node-2", OURS);
    assert_eq!(found(&CHECK, &cluster_at(NOW, &(yaml.clone() + &gone))), ["warning node_gone Node node-2"]);
    let cluster = live_at(NOW, &yaml);
    assert!(found(&CHECK, &cluster).is_empty(), "since when is unknown");
    let cluster = later(cluster, 599);
    assert!(found(&CHECK, &cluster).is_empty());
    assert_eq!(found(&CHECK, &later(cluster, 1)), ["warning node_gone Node node-2"]);
}

#[test]
fn other_drivers_and_unknown_nodes_are_left_alone() {
    let down = node("node-1", "Unknown", "2026-03-01T11:00:00Z");
    assert!(
        found(&CHECK, &cluster_at(NOW, &(down + &attachment("a", "node-1", "ebs.csi.aws.com")))).is_empty()
    );
    // nodes that were not recorded are not gone
    assert!(found(&CHECK, &cluster_at(NOW, &attachment("a", "node-1", OURS))).is_empty());
}

#[test]
fn nothing_is_to_be_freed_while_no_node_could_take_it() {
    let stores = |name: &str| object("Node", name, "spec: {disks: {d: {path: /data}}}");
    let down = |name: &str| node(name, "Unknown", "2026-03-01T11:00:00Z") + &stores(name);
    let up = |name: &str| node(name, "True", "2026-01-01T00:00:00Z");
    let changes = |yaml: String| -> Vec<bool> {
        let findings = run(&CHECK, &cluster_at(NOW, &yaml)).report.findings;
        findings
            .iter()
            .map(|finding| {
                let waits = finding.remedy.fix.contains("do not taint nodes or delete pods or attachments");
                let changes = finding.remedy.commands.iter().any(|command| command.changes);
                assert_ne!(waits, changes, "{:?}", finding.remedy);
                changes
            })
            .collect()
    };
    let held = attachment("a", "node-1", OURS) + &attachment("b", "node-2", OURS);
    let both = held.clone() + &down("node-1") + &down("node-2");
    assert_eq!(changes(both.clone()), [false; 2]);
    // a control plane without disks of Longhorn attaches nothing
    assert_eq!(changes(both.clone() + &up("cp")), [false; 2]);
    // one of them no longer exists
    assert_eq!(changes(held.clone() + &down("node-1") + &stores("node-2") + &up("cp")).first(), Some(&false));
    assert_eq!(changes(both + &up("node-3") + &stores("node-3")), [true; 2]);
    // where Longhorn's nodes cannot be read, nothing says that none is left
    let unread = held + &node("node-1", "Unknown", "2026-03-01T11:00:00Z") + &up("node-2");
    assert_eq!(changes(unread), [true]);
}
