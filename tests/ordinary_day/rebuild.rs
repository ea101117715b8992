//! A replica fails and is rebuilt.

use longhorn_health_exporter::longhorn::Resource;
use serde_json::{Value, json};

use super::day::{Day, VOLUME, text};

impl Day {
    pub fn rebuild(&mut self, minute: i64) {
        let now = self.now().to_string();
        match minute {
            0 => {
                let replica = self.replica_on("worker-2");
                self.degrade(&replica, &now);
            }
            1 => self.begin_rebuild("worker-2"),
            2..=119 => self.advance(minute * 100 / 120),
            120 => self.end_rebuild(&now),
            _ => {}
        }
    }

    pub fn begin_rebuild(&mut self, node: &str) {
        let (replica, manager) = (self.replica_on(node), self.instance_manager(node, "v1.10.2").unwrap());
        self.edit(Resource::Replicas, &replica, |replica| {
            replica["spec"]["failedAt"] = json!("");
            replica["spec"]["healthyAt"] = json!("");
            replica["spec"]["desireState"] = json!("running");
            replica["status"]["currentState"] = json!("running");
            replica["status"]["instanceManagerName"] = json!(manager);
        });
        self.edit(Resource::InstanceManagers, &manager, |manager| {
            manager["status"]["instanceReplicas"][&replica] = json!({"spec": {"name": replica, "dataEngine": "v1"}, "status": {"state": "running", "type": "replica"}});
        });
        self.edit(Resource::Engines, &format!("{VOLUME}-e-0"), |engine| {
            engine["status"]["replicaModeMap"][&replica] = json!("WO")
        });
        self.advance(0);
    }

    pub fn advance(&mut self, progress: i64) {
        self.edit(Resource::Engines, &format!("{VOLUME}-e-0"), |engine| {
            engine["status"]["rebuildStatus"] = json!({"tcp://10.42.1.7:10000": {"isRebuilding": true, "progress": progress, "state": "in_progress"}});
        });
    }

    pub fn end_rebuild(&mut self, now: &str) {
        for replica in self.replicas() {
            self.edit(Resource::Replicas, &replica, |replica| {
                if text(replica, "/spec/healthyAt").is_empty() {
                    replica["spec"]["healthyAt"] = json!(now);
                }
            });
        }
        self.edit(Resource::Engines, &format!("{VOLUME}-e-0"), |engine| {
            engine["status"]["rebuildStatus"] = json!({});
            for mode in engine["status"]["replicaModeMap"].as_object_mut().unwrap().values_mut() {
                *mode = json!("RW");
            }
        });
        self.edit(Resource::Volumes, VOLUME, |volume| {
            volume["status"]["robustness"] = json!("healthy");
            volume["status"]["lastDegradedAt"] = json!("");
        });
    }

    pub fn replicas(&self) -> Vec<String> {
        self.names(Resource::Replicas, |replica| text(replica, "/spec/volumeName") == VOLUME)
    }

    pub fn replica_on(&self, node: &str) -> String {
        let on = |replica: &Value| {
            text(replica, "/spec/volumeName") == VOLUME && text(replica, "/spec/nodeID") == node
        };
        self.names(Resource::Replicas, on).pop().unwrap()
    }

    pub fn degrade(&mut self, replica: &str, now: &str) {
        self.edit(Resource::Replicas, replica, |replica| {
            replica["spec"]["failedAt"] = json!(now);
            replica["spec"]["desireState"] = json!("stopped");
            replica["status"]["currentState"] = json!("stopped");
            replica["status"]["instanceManagerName"] = json!("");
        });
        self.edit(Resource::Engines, &format!("{VOLUME}-e-0"), |engine| {
            engine["status"]["replicaModeMap"].as_object_mut().unwrap().remove(replica);
        });
        self.edit(Resource::Volumes, VOLUME, |volume| {
            volume["status"]["robustness"] = json!("degraded");
            volume["status"]["lastDegradedAt"] = json!(now);
        });
    }
}
