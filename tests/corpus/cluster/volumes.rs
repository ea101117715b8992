//! Volumes of a case, attached and healthy but for what the case says.

use super::*;

/// A volume: what its objects have beside, or instead of, what a healthy one has.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct VolumeFacts {
    volume: Value,
    engine: Value,
    /// Of every replica.
    replica: Value,
    /// True without engine, tickets and running replicas.
    detached: bool,
    /// How many replicas there are; two without it.
    replicas: Option<usize>,
    /// How many snapshots the engine lists beside the head.
    snapshots: usize,
}

impl VolumeFacts {
    pub(super) fn write(&self, name: &str, nodes: &[&str], cluster: &mut Fixture) {
        let count = self.replicas.unwrap_or(nodes.len().min(2));
        for at in 1..=count {
            let head = format!("lh/Replica {name}-r-{at}");
            cluster.with(&head, json!({ "node": nodes[(at - 1) % nodes.len()] }));
            if self.detached || at > 2 {
                let status =
                    json!({"currentState": "stopped", "currentImage": null, "instanceManagerName": null});
                cluster.with(&head, json!({"spec.desireState": "stopped", "status": status}));
            }
            self.differs(&head, &self.replica, cluster);
        }
        let [volume, engine] = [format!("lh/Volume {name}"), format!("lh/Engine {name}-e-0")];
        let claim = json!({
            "pvName": name, "pvcName": format!("{name}-claim"), "namespace": "default", "pvStatus": "Bound",
        });
        cluster.with(&volume, json!({"replicas": count.min(3), "status.kubernetesStatus": claim}));
        let modes = (1..=count.min(2)).map(|at| (format!("{name}-r-{at}"), json!("RW")));
        let modes: serde_json::Map<_, _> = modes.collect();
        cluster.with(&engine, json!({"status.replicaModeMap": null}));
        cluster.with(&engine, json!({"status.replicaModeMap": modes}));
        if self.detached {
            let status = json!({"state": "detached", "robustness": "unknown", "ownerID": "node-1"});
            cluster.with(&volume, json!({"node": "", "status": status}));
            let status = json!({
                "ownerID": "node-1", "currentState": "stopped", "currentImage": null, "currentSize": null,
                "instanceManagerName": null, "replicaModeMap": null,
            });
            cluster.with(&engine, json!({"node": "", "spec.desireState": "stopped", "status": status}));
        }
        if self.snapshots > 0 {
            let one = |name: String| {
                (name.clone(), json!({"name": name, "parent": "", "removed": false, "usercreated": true}))
            };
            let names = (0..self.snapshots).map(|at| format!("snap-{at}")).chain(["volume-head".to_owned()]);
            let snapshots: serde_json::Map<_, _> = names.map(one).collect();
            cluster.with(&engine, json!({"status.snapshots": snapshots}));
        }
        self.differs(&volume, &self.volume, cluster);
        self.differs(&engine, &self.engine, cluster);
        self.attachments(name, cluster);
    }

    fn differs(&self, head: &str, difference: &Value, cluster: &mut Fixture) {
        if !difference.is_null() {
            cluster.with(head, difference.clone());
        }
    }

    fn attachments(&self, name: &str, cluster: &mut Fixture) {
        let ticket = format!("csi-{name}");
        if minor(&cluster.release) >= 5 {
            let tickets = if self.detached { json!({}) } else { json!({ &ticket: "node-1" }) };
            cluster.with(&format!("lh/VolumeAttachment {name}"), json!({ "tickets": tickets }));
        }
        if !self.detached {
            cluster.with(&format!("VolumeAttachment {ticket}"), json!({"node": "node-1"}));
        }
    }
}
