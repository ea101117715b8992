//! A node is drained, reboots, and is uncordoned.

use longhorn_health_exporter::longhorn::Resource;
use serde_json::{Value, json};

use super::day::{Day, NAMESPACE, NODES, VOLUME, condition, csi, text};

impl Day {
    pub fn drain(&mut self, node: &str, minute: i64) {
        let now = self.now().to_string();
        match minute {
            0 => {
                self.edit(Resource::KubeNodes, node, |kube| {
                    kube["spec"] = json!({"unschedulable": true,
                        "taints": [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule", "timeAdded": now}]});
                });
                self.edit(Resource::LonghornNodes, node, |node| {
                    condition(
                        node, "/status/conditions", "Schedulable", "False", "KubernetesNodeCordoned", &now,
                    )
                });
            }
            2 if self.is_served_by(node) => self.detach(&now),
            4 if self.json[&(Resource::Volumes, VOLUME.to_owned())]["status"]["state"] == "detached" => {
                self.attach_elsewhere(node, &now)
            }
            5 => self.instances_leave(node, &now),
            8 => self.reboot(node, "False", &now),
            10 => self.reboot(node, "True", &now),
            16 => self.find_no_disk(&now),
            40 => self.uncordon(node, &now),
            41 => self.begin_rebuild(node),
            42..=60 => self.advance((minute - 41) * 5),
            61 => self.end_rebuild(&now),
            _ => {}
        }
    }

    fn is_served_by(&self, node: &str) -> bool {
        text(&self.json[&(Resource::Volumes, VOLUME.to_owned())], "/status/currentNodeID") == node
    }

    /// The workload leaves the node.
    fn detach(&mut self, _now: &str) {
        for csi in self
            .names(Resource::CsiAttachments, |csi| text(csi, "/spec/source/persistentVolumeName") == VOLUME)
        {
            self.remove(Resource::CsiAttachments, &csi);
        }
        self.edit(Resource::VolumeAttachments, VOLUME, |attachment| {
            attachment["spec"]["attachmentTickets"] = json!({});
            attachment["status"]["attachmentTicketStatuses"] = json!({});
        });
        self.edit(Resource::Volumes, VOLUME, |volume| {
            volume["spec"]["nodeID"] = json!("");
            volume["status"]["currentNodeID"] = json!("");
            volume["status"]["state"] = json!("detached");
            volume["status"]["robustness"] = json!("unknown");
        });
        let engine = format!("{VOLUME}-e-0");
        for manager in self.names(Resource::InstanceManagers, |_| true) {
            self.edit(Resource::InstanceManagers, &manager, |manager| {
                manager["status"]["instanceEngines"].as_object_mut().unwrap().remove(&engine);
            });
        }
        self.edit(Resource::Engines, &engine, |engine| {
            engine["spec"]["desireState"] = json!("stopped");
            engine["status"]["currentState"] = json!("stopped");
            engine["status"]["instanceManagerName"] = json!("");
            engine["status"]["replicaModeMap"] = json!({});
        });
        // the old instance manager that held it goes
        if let Some(old) = self.instance_manager("worker-1", "v1.9.2") {
            self.drop_instance_manager(&old);
        }
    }

    fn attach_elsewhere(&mut self, from: &str, now: &str) {
        let node = NODES.into_iter().find(|node| *node != from).unwrap();
        let ticket = format!("csi-{}", self.minute);
        let mut object = csi(&ticket, VOLUME, node, now);
        object["status"]["attached"] = json!(true);
        self.put(object);
        self.edit(Resource::VolumeAttachments, VOLUME, |attachment| {
            attachment["spec"]["attachmentTickets"][&ticket] =
                json!({"id": ticket, "type": "csi-attacher", "nodeID": node});
            attachment["status"]["attachmentTicketStatuses"][&ticket] =
                json!({"id": ticket, "satisfied": true});
        });
        self.edit(Resource::Volumes, VOLUME, |volume| {
            volume["spec"]["nodeID"] = json!(node);
            volume["status"]["currentNodeID"] = json!(node);
            volume["status"]["ownerID"] = json!(node);
            volume["status"]["state"] = json!("attached");
            volume["status"]["robustness"] = json!("healthy");
        });
        let manager = self.instance_manager(node, "v1.10.2").unwrap();
        let modes: serde_json::Map<String, Value> =
            self.replicas().into_iter().map(|replica| (replica, json!("RW"))).collect();
        self.edit(Resource::Engines, &format!("{VOLUME}-e-0"), |engine| {
            engine["spec"]["nodeID"] = json!(node);
            engine["spec"]["desireState"] = json!("running");
            engine["status"] = json!({"ownerID": node, "instanceManagerName": manager, "currentState": "running",
                "currentImage": engine["spec"]["image"], "replicaModeMap": modes});
        });
        let name = format!("{VOLUME}-e-0");
        self.edit(Resource::InstanceManagers, &manager, |manager| {
            manager["status"]["instanceEngines"][&name] = json!({"spec": {"name": name, "dataEngine": "v1"}, "status": {"state": "running", "type": "engine"}});
        });
    }

    /// The budget goes, the pod of the instance manager is evicted, and with it the replica.
    fn instances_leave(&mut self, node: &str, now: &str) {
        let manager = self.instance_manager(node, "v1.10.2").unwrap();
        self.remove(Resource::PodDisruptionBudgets, &manager);
        self.edit(Resource::Pods, &manager, |pod| {
            pod["metadata"]["deletionTimestamp"] = json!(now);
            condition(pod, "/status/conditions", "DisruptionTarget", "True", "EvictionByEvictionAPI", now);
        });
        self.remove(Resource::Pods, &manager);
        self.edit(Resource::InstanceManagers, &manager, |manager| {
            manager["status"]["currentState"] = json!("error");
            manager["status"]["instanceReplicas"] = json!({});
            manager["status"]["instanceEngines"] = json!({});
        });
        let replica = self.replica_on(node);
        self.degrade(&replica, now);
    }

    fn reboot(&mut self, node: &str, ready: &str, now: &str) {
        let up = ready == "True";
        let kube = if up { "True" } else { "Unknown" };
        self.edit(Resource::KubeNodes, node, |node| {
            condition(node, "/status/conditions", "Ready", kube, "", now)
        });
        let reason = if up { "" } else { "KubernetesNodeNotReady" };
        self.edit(Resource::LonghornNodes, node, |node| {
            condition(node, "/status/conditions", "Ready", ready, reason, now)
        });
        for pod in self.on_node(Resource::Pods, node, "longhorn-manager") {
            self.edit(Resource::Pods, &pod, |pod| {
                for kind in ["Ready", "ContainersReady"] {
                    condition(pod, "/status/conditions", kind, ready, "", now);
                }
                for status in pod["status"]["containerStatuses"].as_array_mut().into_iter().flatten() {
                    status["ready"] = json!(up);
                    if up && status["name"] == "longhorn-manager" {
                        status["restartCount"] = json!(1);
                        status["state"] = json!({"running": {"startedAt": now}});
                        status["lastState"] =
                            json!({"terminated": {"exitCode": 255, "reason": "Unknown", "finishedAt": now}});
                    }
                }
            });
        }
    }

    /// After replica-replenishment-wait-interval Longhorn wants another replica, and two nodes have one each.
    fn find_no_disk(&mut self, now: &str) {
        let image =
            text(&self.json[&(Resource::Settings, "default-engine-image".to_owned())], "/value").to_owned();
        self.put(json!({"apiVersion": "longhorn.io/v1beta2", "kind": "Replica",
            "metadata": {"name": format!("{VOLUME}-r-new"), "namespace": NAMESPACE, "creationTimestamp": now},
            "spec": {"volumeName": VOLUME, "nodeID": "", "desireState": "stopped", "active": true, "image": image},
            "status": {"currentState": "stopped"}}));
        self.edit(Resource::Volumes, VOLUME, |volume| {
            condition(volume, "/status/conditions", "Scheduled", "False", "ReplicaSchedulingFailure", now);
        });
    }

    fn uncordon(&mut self, node: &str, now: &str) {
        self.edit(Resource::KubeNodes, node, |kube| kube["spec"] = json!({}));
        self.edit(Resource::LonghornNodes, node, |node| {
            condition(node, "/status/conditions", "Schedulable", "True", "", now)
        });
        let manager = self.instance_manager(node, "v1.10.2").unwrap();
        for mut object in self.next.clone() {
            if text(&object, "/metadata/name") == manager && object["kind"] != "InstanceManager" {
                object["metadata"]["creationTimestamp"] = json!(now);
                object["metadata"]["uid"] = json!(format!("{manager}-{}", self.minute));
                if object["kind"] == "Pod" {
                    condition(&mut object, "/status/conditions", "Ready", "True", "", now);
                }
                self.put(object);
            }
        }
        self.edit(Resource::InstanceManagers, &manager, |manager| {
            manager["status"]["currentState"] = json!("running")
        });
        self.remove(Resource::Replicas, &format!("{VOLUME}-r-new"));
        // what waited for the node is placed within half a minute
        for volume in self.names(Resource::Volumes, |_| true) {
            self.edit(Resource::Volumes, &volume, |volume| {
                condition(volume, "/status/conditions", "Scheduled", "True", "", now)
            });
        }
    }
}
