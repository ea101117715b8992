//! What an exporter that starts afterwards still sees.

use super::*;

/// A node that came back at 11:52, and a replacement that no one saw.
fn unseen(volume: &str) -> Vec<String> {
    let back = node().replace("2025-12-01T00:00:00Z", "2026-01-02T11:52:00Z");
    let mut cluster = live_at(NOW, &(after().replace(&node(), &back) + volume));
    cluster.history.started = Some(time("2026-01-02T11:59:00Z"));
    found(&CHECK, &cluster)
}

#[test]
fn a_volume_that_had_to_remount_tells_of_an_engine_that_died() {
    let at = |moment: &str| {
        let status = format!("currentNodeID: node-1, remountRequestedAt: '{moment}'");
        volume("v", "engine:new").replace("currentNodeID: node-1", &status)
    };
    let (hurt, harmless) =
        (["warning node_lost InstanceManager im-1"], ["info node_lost InstanceManager im-1"]);
    assert_eq!(unseen(&at("2026-01-02T11:51:10Z")), hurt);
    assert_eq!(unseen(&at("")), harmless);
    assert_eq!(unseen(&at("2026-01-01T11:51:10Z")), harmless, "another day");
    // a shared volume asks for it at each look while its NFS server is in error
    let shared = at("2026-01-02T11:51:10Z").replace("spec: {", "spec: {accessMode: rwx, ");
    assert_eq!(unseen(&shared), harmless);
    let migratable = shared.replace("accessMode: rwx", "accessMode: rwx, migratable: true");
    assert_eq!(unseen(&migratable), hurt);
}

#[test]
fn a_node_that_has_just_joined_took_no_pod_along() {
    let joined = node().replace("2025-12-01T00:00:00Z", "2026-01-02T11:48:00Z");
    let yaml = after().replace(&node(), &joined);
    let born = |at: &str| deleting(last("Running", "")).replace("2026-01-01T00:00:00Z", at);
    let found = |at: &str| found(&CHECK, &saw(&born(at), &yaml));
    assert_eq!(found("2026-01-02T11:49:00Z"), ["info deleted InstanceManager im-1"]);
    assert_eq!(found("2026-01-02T11:46:00Z"), ["info node_lost InstanceManager im-1"]);
}
