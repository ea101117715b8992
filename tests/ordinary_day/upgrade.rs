//! The upgrade: all managers at once, then the engines, and the old instance managers go.

use longhorn_health_exporter::longhorn::{Resource, WEBHOOK_LOCK};
use serde_json::{Value, json};

use super::day::{Day, NODES, condition, text};
use super::{ENGINES, UPGRADE};

impl Day {
    pub fn upgrade(&mut self) {
        let now = self.now().to_string();
        match self.minute - UPGRADE {
            0 => {
                self.managers_restart(&now);
                self.takes_the_lease(NODES[0], &now);
            }
            1 => self.takes_the_lease(NODES[1], &now),
            2 => self.takes_the_lease(NODES[2], &now),
            3 => self.managers_are_back(&now),
            _ if self.minute == ENGINES => self.engines_are_upgraded(),
            _ if self.minute == ENGINES + 1 => {
                for node in NODES.iter().skip(1) {
                    self.drop_instance_manager(&self.instance_manager(node, "v1.9.2").unwrap());
                }
            }
            _ => {}
        }
    }

    /// All at once: the DaemonSet allows it (maxUnavailable 100 %).
    fn managers_restart(&mut self, now: &str) {
        for pod in self.names(Resource::Pods, |pod| text(pod, "/metadata/labels/app") == "longhorn-manager") {
            self.remove(Resource::Pods, &pod);
        }
        for mut object in self.next.clone() {
            let manager =
                text(&object, "/metadata/labels/app") == "longhorn-manager" && object["kind"] == "Pod";
            if manager {
                object["metadata"]["creationTimestamp"] = json!(now);
                object["status"]["startTime"] = json!(now);
                for kind in ["Ready", "ContainersReady"] {
                    condition(&mut object, "/status/conditions", kind, "False", "ContainersNotReady", now);
                }
                for status in object["status"]["containerStatuses"].as_array_mut().into_iter().flatten() {
                    status["ready"] = json!(false);
                    if status["state"].get("running").is_some() {
                        status["state"]["running"]["startedAt"] = json!(now);
                    }
                }
                self.put(object);
            } else if object["kind"] == "DaemonSet" && text(&object, "/metadata/name") == "longhorn-manager" {
                object["status"]["numberReady"] = json!(0);
                self.put(object);
            }
        }
        for node in NODES {
            self.edit(Resource::LonghornNodes, node, |node| {
                condition(node, "/status/conditions", "Ready", "False", "ManagerPodDown", now)
            });
        }
        self.set_endpoints(false);
    }

    /// Managers start their webhooks one after the other.
    fn takes_the_lease(&mut self, node: &str, now: &str) {
        self.edit(Resource::Leases, WEBHOOK_LOCK, |lease| {
            lease["spec"]["holderIdentity"] = json!(node);
            lease["spec"]["leaseDurationSeconds"] = json!(20);
            for time in ["acquireTime", "renewTime"] {
                lease["spec"][time] = json!(now);
            }
        });
    }

    fn set_endpoints(&mut self, ready: bool) {
        for slice in self.names(Resource::EndpointSlices, |_| true) {
            self.edit(Resource::EndpointSlices, &slice, |slice| {
                for endpoint in slice["endpoints"].as_array_mut().into_iter().flatten() {
                    endpoint["conditions"]["ready"] = json!(ready);
                }
            });
        }
    }

    fn managers_are_back(&mut self, now: &str) {
        for manager in self.names(Resource::BackingImageManagers, |_| true) {
            self.remove(Resource::BackingImageManagers, &manager);
        }
        self.remove(Resource::Services, "longhorn-conversion-webhook");
        self.remove(Resource::EndpointSlices, "longhorn-conversion-webhook-x7k2p");
        for pod in self
            .names(Resource::Pods, |pod| text(pod, "/metadata/name").starts_with("longhorn-driver-deployer"))
        {
            self.remove(Resource::Pods, &pod);
        }
        for mut object in self.next.clone() {
            let kind = text(&object, "/kind").to_owned();
            let of_volumes = [
                "Volume", "Engine", "Replica", "VolumeAttachment", "BackingImage", "BackingImageDataSource",
                "PriorityClass",
            ];
            let node = kind == "Node";
            if node || of_volumes.contains(&kind.as_str()) {
                continue;
            }
            if kind == "InstanceManager" {
                object["metadata"]["creationTimestamp"] = json!(now);
                object["status"]["instanceEngines"] = json!({});
                object["status"]["instanceReplicas"] = json!({});
            }
            if kind == "Pod" {
                object["metadata"]["creationTimestamp"] = json!(now);
                for kind in ["Ready", "ContainersReady"] {
                    condition(&mut object, "/status/conditions", kind, "True", "", now);
                }
                for status in object["status"]["containerStatuses"].as_array_mut().into_iter().flatten() {
                    if status["state"].get("running").is_some() {
                        status["state"]["running"]["startedAt"] = json!(now);
                    }
                }
            }
            self.put(object);
        }
        for node in NODES {
            self.edit(Resource::LonghornNodes, node, |node| {
                condition(node, "/status/conditions", "Ready", "True", "", now)
            });
        }
        self.set_endpoints(true);
    }

    pub fn instance_manager(&self, node: &str, tag: &str) -> Option<String> {
        let wanted = |manager: &Value| {
            text(manager, "/spec/nodeID") == node && text(manager, "/spec/image").ends_with(tag)
        };
        self.names(Resource::InstanceManagers, wanted).pop()
    }

    pub fn drop_instance_manager(&mut self, name: &str) {
        let now = self.now().to_string();
        self.edit(Resource::Pods, name, |pod| pod["metadata"]["deletionTimestamp"] = json!(now));
        self.remove(Resource::InstanceManagers, name);
        self.remove(Resource::Pods, name);
        self.remove(Resource::PodDisruptionBudgets, name);
    }

    /// A person upgrades the engines: replicas move to the new instance managers, a live engine stays in the old one.
    fn engines_are_upgraded(&mut self) {
        let image =
            text(&self.json[&(Resource::Settings, "default-engine-image".to_owned())], "/value").to_owned();
        for volume in self.names(Resource::Volumes, |_| true) {
            self.edit(Resource::Volumes, &volume, |volume| {
                volume["spec"]["image"] = json!(image);
                volume["status"]["currentImage"] = json!(image);
            });
        }
        for (resource, field) in [(Resource::Engines, "Engines"), (Resource::Replicas, "Replicas")] {
            for name in self.names(resource, |_| true) {
                self.edit(resource, &name, |instance| {
                    instance["spec"]["image"] = json!(image);
                    if instance["status"]["currentState"] == "running" {
                        instance["status"]["currentImage"] = json!(image);
                    }
                });
                let node = text(&self.json[&(resource, name.clone())], "/spec/nodeID").to_owned();
                let runs = self.json[&(resource, name.clone())]["status"]["currentState"] == "running";
                let (Some(old), Some(new)) =
                    (self.instance_manager(&node, "v1.9.2"), self.instance_manager(&node, "v1.10.2"))
                else {
                    continue;
                };
                if field == "Replicas" && runs {
                    self.move_instance(&name, &old, &new);
                }
            }
        }
    }

    fn move_instance(&mut self, replica: &str, old: &str, new: &str) {
        self.edit(Resource::InstanceManagers, old, |manager| {
            manager["status"]["instanceReplicas"].as_object_mut().unwrap().remove(replica);
        });
        self.edit(Resource::InstanceManagers, new, |manager| {
            manager["status"]["instanceReplicas"][replica] = json!({"spec": {"name": replica, "dataEngine": "v1"}, "status": {"state": "running", "type": "replica"}});
        });
        self.edit(Resource::Replicas, replica, |object| object["status"]["instanceManagerName"] = json!(new));
    }
}
