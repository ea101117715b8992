//! Volumes of a case, attached and healthy but for what the case says, and changes to the objects of a healthy cluster.

use std::collections::BTreeMap;

use serde_json::{Value, json};

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

/// Puts the change into the object: maps are merged, anything else is replaced, `null` removes.
pub fn merge(object: &mut Value, change: &Value) {
    match (object, change) {
        (Value::Object(object), Value::Object(change)) => {
            for (key, value) in change {
                match value {
                    Value::Null => _ = object.remove(key),
                    value => merge(object.entry(key).or_insert(json!({})), value),
                }
            }
        }
        (_, Value::Null) => {}
        (object, change) => *object = change.clone(),
    }
}

pub fn volumes(case: &Case) -> String {
    let facts: &BTreeMap<String, VolumeFacts> = &case.cluster.volumes;
    let objects = facts.iter().flat_map(|(name, facts)| objects(case, name, facts));
    objects.map(|object| format!("{object}\n---\n")).collect()
}

fn objects(case: &Case, name: &str, facts: &VolumeFacts) -> Vec<Value> {
    let minor = minor(&case.release);
    let image = if minor >= 6 { "image" } else { "engineImage" };
    let engine_image = "longhornio/longhorn-engine:e";
    let count = facts.replicas.unwrap_or(nodes_of(case).len().min(2));
    let state = if facts.detached { ["detached", "unknown", ""] } else { ["attached", "healthy", "node-1"] };
    let longhorn = |kind: &str, name: &str, spec: Value, status: Value| {
        json!({
            "apiVersion": "longhorn.io/v1beta2", "kind": kind,
            "metadata": {"name": name, "namespace": "longhorn-system", "creationTimestamp": "2026-02-01T00:00:00Z", "labels": {"longhornvolume": case_name(name)}},
            "spec": spec, "status": status,
        })
    };
    let mut volume = longhorn(
        "Volume",
        name,
        json!({"numberOfReplicas": count.min(3), "nodeID": state[2], "accessMode": "rwo", "size": "10737418240", "frontend": "blockdev", image: engine_image}),
        json!({
            "state": state[0], "robustness": state[1], "ownerID": "node-1", "currentNodeID": state[2], "currentImage": engine_image,
            "conditions": [{"type": "Scheduled", "status": "True", "lastTransitionTime": "2026-02-01T00:00:00Z"}],
            "kubernetesStatus": {"pvName": name, "pvcName": format!("{name}-claim"), "namespace": "default", "pvStatus": "Bound"},
        }),
    );
    let mut engine = longhorn(
        "Engine",
        &format!("{name}-e-0"),
        json!({"volumeName": name, "volumeSize": "10737418240", "nodeID": state[2], "active": true, image: engine_image, "desireState": if facts.detached { "stopped" } else { "running" }}),
        match facts.detached {
            true => json!({"ownerID": "node-1", "currentState": "stopped"}),
            false => json!({
                "ownerID": "node-1", "currentState": "running", "currentImage": engine_image, "currentSize": "10737418240",
                "instanceManagerName": "instance-manager-aio-node-1",
                "replicaModeMap": (1..=count.min(2)).map(|at| (format!("{name}-r-{at}"), json!("RW"))).collect::<serde_json::Map<_, _>>(),
            }),
        },
    );
    if facts.snapshots > 0 {
        let one = |name: String| {
            (name.clone(), json!({"name": name, "parent": "", "removed": false, "usercreated": true}))
        };
        let names = (0..facts.snapshots).map(|at| format!("snap-{at}")).chain(["volume-head".to_owned()]);
        engine["status"]["snapshots"] = names.map(one).collect::<serde_json::Map<_, _>>().into();
    }
    let mut objects = vec![];
    for at in 1..=count {
        let on = NODES[(at - 1) % nodes_of(case).len()];
        let runs = !facts.detached && at <= 2;
        let mut replica = longhorn(
            "Replica",
            &format!("{name}-r-{at}"),
            json!({
                "volumeName": name, "volumeSize": "10737418240", "engineName": format!("{name}-e-0"), "nodeID": on, "diskID": format!("uuid-{on}"), "active": true,
                image: engine_image, "desireState": if runs { "running" } else { "stopped" },
                "healthyAt": "2026-02-01T00:00:00Z", "failedAt": "",
            }),
            match runs {
                true => {
                    json!({"ownerID": on, "currentState": "running", "currentImage": engine_image, "instanceManagerName": format!("instance-manager-aio-{on}")})
                }
                false => json!({"ownerID": on, "currentState": "stopped"}),
            },
        );
        merge(&mut replica, &facts.replica);
        objects.push(replica);
    }
    merge(&mut volume, &facts.volume);
    merge(&mut engine, &facts.engine);
    objects.extend([volume, engine]);
    let ticket = format!("csi-{name}");
    if minor >= 5 {
        let (spec, status) = match facts.detached {
            true => {
                (json!({"volume": name, "attachmentTickets": {}}), json!({"attachmentTicketStatuses": {}}))
            }
            false => (
                json!({"volume": name, "attachmentTickets": {&ticket: {"generation": 0, "id": &ticket, "nodeID": "node-1", "type": "csi-attacher", "parameters": {"disableFrontend": "false"}}}}),
                json!({"attachmentTicketStatuses": {&ticket: {"generation": 0, "id": &ticket, "satisfied": true, "conditions": [{"type": "Satisfied", "status": "True", "lastTransitionTime": "2026-02-01T00:00:00Z"}]}}}),
            ),
        };
        objects.push(longhorn("VolumeAttachment", name, spec, status));
    }
    if !facts.detached {
        objects.push(json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment",
            "metadata": {"name": &ticket, "creationTimestamp": "2026-02-01T00:00:00Z"},
            "spec": {"attacher": "driver.longhorn.io", "nodeName": "node-1", "source": {"persistentVolumeName": name}},
            "status": {"attached": true},
        }));
    }
    objects
}

/// The volume that an engine or replica is of.
fn case_name(name: &str) -> &str {
    name.split_once("-e-").or(name.split_once("-r-")).map_or(name, |(volume, _)| volume)
}

/// Orphans by node.
pub fn orphans(case: &Case) -> String {
    let one = |node: &str, at: usize| {
        let object = json!({
            "apiVersion": "longhorn.io/v1beta2", "kind": "Orphan",
            "metadata": {"name": format!("orphan-{node}-{at}"), "namespace": "longhorn-system", "creationTimestamp": "2026-02-10T00:00:00Z"},
            "spec": {"nodeID": node, "orphanType": "replica", "parameters": {"DataName": format!("pvc-{at}-a"), "DiskName": "d", "DiskUUID": format!("uuid-{node}")}},
            "status": {"ownerID": node, "conditions": [{"type": "DataCleanable", "status": "True"}]},
        });
        format!("{object}\n---\n")
    };
    case.cluster.orphans.iter().flat_map(|(node, count)| (0..*count).map(|at| one(node, at))).collect()
}
