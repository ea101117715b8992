//! Three volumes an hour: created, attached, used for some minutes, detached and deleted.

use longhorn_health_exporter::longhorn::Resource;
use serde_json::json;

use super::UPGRADE;
use super::day::{Day, NAMESPACE, NODES, csi, text};

impl Day {
    pub fn volumes_come_and_go(&mut self) {
        let (number, phase) = (self.minute / 20, self.minute % 20);
        // while managers restart, nothing can be created
        if (UPGRADE - 2..UPGRADE + 20).contains(&(self.minute - phase)) || phase > 17 {
            return;
        }
        let name = format!("pvc-day-{number}");
        let now = self.now().to_string();
        let open: Vec<&str> = NODES.into_iter().filter(|node| !self.is_cordoned(node)).collect();
        if phase == 0 {
            return self.create(&name, &open, &now);
        }
        if !self.json.contains_key(&(Resource::Volumes, name.clone())) {
            return;
        }
        let node = text(&self.json[&(Resource::Engines, format!("{name}-e-0"))], "/spec/nodeID").to_owned();
        let csi = format!("csi-day-{number}");
        match phase {
            1 => self.edit(Resource::Volumes, &name, |volume| volume["status"]["state"] = json!("attaching")),
            2 => self.attached(&name, &node, &csi, &now),
            14 => {
                self.edit(Resource::CsiAttachments, &csi, |csi| {
                    csi["metadata"]["deletionTimestamp"] = json!(now)
                });
                self.edit(Resource::VolumeAttachments, &name, |attachment| {
                    attachment["spec"]["attachmentTickets"] = json!({});
                    attachment["status"]["attachmentTicketStatuses"] = json!({});
                });
                self.edit(Resource::Volumes, &name, |volume| {
                    volume["spec"]["nodeID"] = json!("");
                    volume["status"]["state"] = json!("detaching");
                });
            }
            15 => {
                self.remove(Resource::CsiAttachments, &csi);
                self.edit(Resource::Engines, &format!("{name}-e-0"), |engine| {
                    engine["spec"]["desireState"] = json!("stopped");
                    engine["status"]["currentState"] = json!("stopped");
                });
                self.edit(Resource::Volumes, &name, |volume| {
                    volume["status"]["state"] = json!("detached");
                    volume["status"]["robustness"] = json!("unknown");
                    volume["status"]["lastDegradedAt"] = json!("");
                    volume["status"]["currentNodeID"] = json!("");
                });
            }
            16 => self.edit(Resource::Volumes, &name, |volume| {
                volume["metadata"]["deletionTimestamp"] = json!(now);
                volume["status"]["state"] = json!("deleting");
            }),
            17 => {
                for replica in
                    self.names(Resource::Replicas, |replica| text(replica, "/spec/volumeName") == name)
                {
                    self.remove(Resource::Replicas, &replica);
                }
                self.remove(Resource::Engines, &format!("{name}-e-0"));
                self.remove(Resource::VolumeAttachments, &name);
                self.remove(Resource::Volumes, &name);
            }
            _ => {}
        }
    }

    fn create(&mut self, name: &str, open: &[&str], now: &str) {
        let image =
            text(&self.json[&(Resource::Settings, "default-engine-image".to_owned())], "/value").to_owned();
        let node = open[name.len() % open.len()];
        let scheduled = if open.len() == 3 { "True" } else { "False" };
        let meta = |name: &str| json!({"name": name, "namespace": NAMESPACE, "creationTimestamp": now, "labels": {"longhornvolume": name}});
        self.put(json!({"apiVersion": "longhorn.io/v1beta2", "kind": "Volume", "metadata": meta(name),
            "spec": {"nodeID": node, "numberOfReplicas": 3, "accessMode": "rwo", "size": "1073741824", "image": image, "dataEngine": "v1"},
            "status": {"ownerID": node, "state": "creating", "robustness": "unknown", "currentImage": image,
                "conditions": [{"type": "Scheduled", "status": scheduled, "reason": if scheduled == "True" { "" } else { "ReplicaSchedulingFailure" },
                    "lastTransitionTime": now}],
                "kubernetesStatus": {"pvName": name, "pvcName": name, "namespace": "ci"}}}));
        self.put(json!({"apiVersion": "longhorn.io/v1beta2", "kind": "Engine", "metadata": meta(&format!("{name}-e-0")),
            "spec": {"volumeName": name, "nodeID": node, "desireState": "running", "active": true, "image": image},
            "status": {"ownerID": node, "currentState": "starting"}}));
        for number in 0..3 {
            let place = open.get(number).copied().unwrap_or_default();
            let disk = if place.is_empty() { String::new() } else { self.disk_of(place) };
            let replica = format!("{name}-r-{number}");
            self.put(json!({"apiVersion": "longhorn.io/v1beta2", "kind": "Replica", "metadata": meta(&replica),
                "spec": {"volumeName": name, "nodeID": place, "diskID": disk, "desireState": "running", "active": true, "image": image},
                "status": {"ownerID": place, "currentState": if place.is_empty() { "stopped" } else { "running" }}}));
        }
        let ticket = format!("csi-day-{}", name.trim_start_matches("pvc-day-"));
        self.put(csi(&ticket, name, node, now));
        let mut tickets = serde_json::Map::new();
        tickets.insert(ticket.clone(), json!({"id": ticket, "type": "csi-attacher", "nodeID": node}));
        self.put(
            json!({"apiVersion": "longhorn.io/v1beta2", "kind": "VolumeAttachment", "metadata": meta(name),
            "spec": {"volume": name, "attachmentTickets": tickets}, "status": {}}),
        );
    }

    fn attached(&mut self, name: &str, node: &str, ticket: &str, now: &str) {
        let mut modes = serde_json::Map::new();
        for replica in self.names(Resource::Replicas, |replica| {
            text(replica, "/spec/volumeName") == name && !text(replica, "/spec/nodeID").is_empty()
        }) {
            modes.insert(replica.clone(), json!("RW"));
            self.edit(Resource::Replicas, &replica, |replica| replica["spec"]["healthyAt"] = json!(now));
        }
        let healthy = modes.len() == 3;
        self.edit(Resource::Engines, &format!("{name}-e-0"), |engine| {
            engine["status"]["currentState"] = json!("running");
            engine["status"]["replicaModeMap"] = modes.into();
        });
        self.edit(Resource::Volumes, name, |volume| {
            volume["status"]["state"] = json!("attached");
            volume["status"]["currentNodeID"] = json!(node);
            volume["status"]["robustness"] = json!(if healthy { "healthy" } else { "degraded" });
            volume["status"]["lastDegradedAt"] = json!(if healthy { "" } else { now });
        });
        self.edit(Resource::VolumeAttachments, name, |attachment| {
            attachment["status"]["attachmentTicketStatuses"][ticket] =
                json!({"id": ticket, "satisfied": true});
        });
        self.edit(Resource::CsiAttachments, ticket, |csi| csi["status"]["attached"] = json!(true));
    }

    fn disk_of(&self, node: &str) -> String {
        let disks = &self.json[&(Resource::LonghornNodes, node.to_owned())]["status"]["diskStatus"];
        let disk = disks.as_object().unwrap().values().next().unwrap();
        text(disk, "/diskUUID").to_owned()
    }
}
