//! What Longhorn does while a node is drained, on objects: the rules of longhorn-manager
//! controller/instance_manager_controller.go canDeleteInstanceManagerPDB and controller/node_controller.go
//! shouldEvictReplica (v1.12.1), written down a second time, so that a plan is held against something else than itself.

#![allow(dead_code, reason = "each test uses a part")]

use serde_json::{Value, json};

/// The objects, which change.
#[derive(Clone)]
pub struct Longhorn {
    pub objects: Vec<Value>,
    node: String,
}

/// The text at a pointer, or nothing.
pub fn text<'a>(value: &'a Value, at: &str) -> &'a str {
    value.pointer(at).and_then(Value::as_str).unwrap_or_default()
}

impl Longhorn {
    pub fn new(objects: Vec<Value>, node: &str) -> Self {
        Longhorn { objects, node: node.to_owned() }
    }

    fn of<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Value> {
        let longhorn = |one: &Value| text(one, "/apiVersion").starts_with("longhorn.io");
        let own = matches!(
            kind,
            "Volume"
                | "Replica"
                | "Engine"
                | "InstanceManager"
                | "Setting"
                | "LonghornNode"
                | "VolumeAttachment"
        );
        let plain = if kind == "LonghornNode" { "Node" } else { kind };
        self.objects.iter().filter(move |one| text(one, "/kind") == plain && longhorn(one) == own)
    }

    fn setting(&self, name: &str) -> String {
        let found = self.of("Setting").find(|one| text(one, "/metadata/name") == name);
        found.map(|one| text(one, "/value").to_owned()).unwrap_or_default()
    }

    fn change(&mut self, kind: &str, name: &str, change: impl FnOnce(&mut Value)) {
        let longhorn = kind != "KubeNode";
        let plain = if kind == "KubeNode" { "Node" } else { kind };
        let found = self.objects.iter_mut().find(|one| {
            text(one, "/kind") == plain
                && text(one, "/metadata/name") == name
                && text(one, "/apiVersion").starts_with("longhorn.io") == longhorn
        });
        change(found.unwrap_or_else(|| panic!("no {kind} {name}")));
    }

    fn is_cordoned(&self, node: &str) -> bool {
        let found = self.of("Node").find(|one| text(one, "/metadata/name") == node);
        found.is_none_or(|node| node["spec"]["unschedulable"] == json!(true))
    }

    fn healthy(replica: &Value) -> bool {
        !text(replica, "/spec/healthyAt").is_empty() && text(replica, "/spec/failedAt").is_empty()
    }

    /// A healthy replica of the volume on a node that Kubernetes does not have: ListVolumePDBProtectedHealthyReplicasRO fails.
    fn fails(&self, replica: &Value) -> bool {
        let volume = text(replica, "/spec/volumeName");
        let mut others =
            self.of("Replica").filter(|one| text(one, "/spec/volumeName") == volume && Self::healthy(one));
        others
            .any(|one| !self.of("Node").any(|node| text(node, "/metadata/name") == text(one, "/spec/nodeID")))
    }

    /// A healthy replica of the volume on another node, under a budget.
    fn protected_elsewhere(&self, replica: &Value) -> bool {
        let volume = text(replica, "/spec/volumeName");
        self.of("Replica").filter(|one| text(one, "/spec/volumeName") == volume).any(|one| {
            let node = text(one, "/spec/nodeID");
            let guarded = self.of("InstanceManager").any(|manager| {
                text(manager, "/spec/nodeID") == node
                    && text(manager, "/spec/type") != "engine"
                    && text(manager, "/status/currentState") == "running"
                    && self.budget(text(manager, "/metadata/name"))
            });
            node != text(replica, "/spec/nodeID") && Self::healthy(one) && !self.is_cordoned(node) && guarded
        })
    }

    fn budget(&self, name: &str) -> bool {
        self.of("PodDisruptionBudget").any(|one| text(one, "/metadata/name") == name)
    }

    fn here(&self) -> Vec<Value> {
        self.of("Replica").filter(|one| text(one, "/spec/nodeID") == self.node).cloned().collect()
    }

    fn engines(&self) -> bool {
        let names = ["instanceEngines", "instanceEngineFrontends"];
        self.of("InstanceManager").filter(|one| text(one, "/spec/nodeID") == self.node).any(|manager| {
            let of = |name: &str| manager["status"][name].as_object().is_some_and(|map| !map.is_empty());
            let old = text(manager, "/spec/type") == "engine" && of("instances");
            old || names.into_iter().any(of)
        })
    }

    fn can_delete(&self, manager: &Value) -> bool {
        let kind = text(manager, "/spec/type");
        if self.engines() {
            return false;
        }
        let policy = self.setting("node-drain-policy");
        if kind == "engine" || policy == "always-allow" {
            return true;
        }
        let here = self.here();
        if policy == "block-for-eviction" {
            return here.is_empty();
        }
        here.iter().all(|replica| {
            let stopped = text(replica, "/spec/desireState") == "stopped"
                && text(replica, "/status/currentState") == "stopped";
            let unused =
                text(replica, "/spec/healthyAt").is_empty() && text(replica, "/spec/failedAt").is_empty();
            (policy == "allow-if-replica-is-stopped" && stopped)
                || !self.fails(replica) && (unused || self.protected_elsewhere(replica))
        })
    }

    /// Evicts what the policy evicts, to any other node that takes replicas and has none of the volume.
    fn evict(&mut self, all: bool) {
        let policy = self.setting("node-drain-policy");
        let soft = self.setting("replica-soft-anti-affinity") == "true";
        for replica in self.here() {
            let asked = all
                || policy == "block-for-eviction"
                || policy == "block-for-eviction-if-contains-last-replica"
                    && !self.protected_elsewhere(&replica);
            if !asked {
                continue;
            }
            let volume = text(&replica, "/spec/volumeName").to_owned();
            let holds = |node: &str| {
                self.of("Replica").any(|one| {
                    let fails = !text(one, "/spec/failedAt").is_empty();
                    text(one, "/spec/volumeName") == volume && text(one, "/spec/nodeID") == node && !fails
                })
            };
            let to = self.of("LonghornNode").find(|node| {
                let name = text(node, "/metadata/name");
                let takes = node["spec"]["allowScheduling"] != json!(false) && !self.is_cordoned(name);
                name != self.node && takes && (soft || !holds(name))
            });
            if let Some(to) = to.map(|node| text(node, "/metadata/name").to_owned()) {
                let name = text(&replica, "/metadata/name").to_owned();
                self.change("Replica", &name, |one| {
                    one["spec"]["nodeID"] = json!(to);
                    one["metadata"]["labels"]["longhornnode"] = json!(to);
                });
            }
        }
    }

    /// Pods leave, unless a DaemonSet made them; volumes that no one uses any more are detached, unless they were
    /// attached by hand.
    fn detach(&mut self) {
        let stays = |one: &Value| {
            let name = text(one, "/metadata/name");
            let daemons =
                one["status"]["kubernetesStatus"]["workloadsStatus"].as_array().into_iter().flatten();
            let mut daemons = daemons.filter(|workload| text(workload, "/workloadType") == "DaemonSet");
            let attachment = self.of("VolumeAttachment").find(|one| text(one, "/metadata/name") == name);
            let tickets = attachment.and_then(|one| one["spec"]["attachmentTickets"].as_object());
            let mut tickets = tickets.into_iter().flat_map(|tickets| tickets.values());
            let by_hand = tickets.any(|ticket| text(ticket, "/type") == "longhorn-api");
            let let_go = self.setting("detach-manually-attached-volumes-when-cordoned") == "true";
            daemons.next().is_some() || by_hand && !let_go
        };
        let kept = self.of("Volume").filter(|one| text(one, "/status/currentNodeID") == self.node).any(stays);
        if kept {
            return;
        }
        let engines = self.of("Engine").filter(|one| text(one, "/spec/nodeID") == self.node);
        let engines: Vec<String> = engines.map(|one| text(one, "/metadata/name").to_owned()).collect();
        let managers = self.of("InstanceManager").filter(|one| text(one, "/spec/nodeID") == self.node);
        let managers: Vec<String> = managers.map(|one| text(one, "/metadata/name").to_owned()).collect();
        // a process without an Engine is one that no one ends
        let stop = |processes: &mut Value| {
            if let Some(map) = processes.as_object_mut() {
                map.retain(|name, _| !engines.contains(name));
            }
        };
        for manager in managers {
            self.change("InstanceManager", &manager, |one| {
                stop(&mut one["status"]["instanceEngines"]);
                one["status"]["instanceEngineFrontends"] = json!({});
                if text(one, "/spec/type") == "engine" {
                    stop(&mut one["status"]["instances"]);
                }
            });
        }
    }

    fn volumes_with_copy(&self, on: impl Fn(&str) -> bool) -> Vec<String> {
        let copies = self.of("Replica").filter(|one| Self::healthy(one) && on(text(one, "/spec/nodeID")));
        let mut names: Vec<String> = copies.map(|one| text(one, "/spec/volumeName").to_owned()).collect();
        names.sort();
        names.dedup();
        names
    }

    /// One look of the controllers: replicas leave that were asked to; on a cordoned node volumes are detached, replicas
    /// leave as the policy has it, and budgets go that may.
    pub fn look(&mut self) {
        let node = self.node.clone();
        let own = self.of("LonghornNode").find(|one| text(one, "/metadata/name") == node);
        if own.is_some_and(|one| one["spec"]["evictionRequested"] == json!(true)) {
            self.evict(true);
        }
        if !self.is_cordoned(&node) {
            return;
        }
        self.detach();
        self.evict(false);
        let here = self.of("InstanceManager").filter(|one| text(one, "/spec/nodeID") == node);
        let free: Vec<String> = here
            .filter(|manager| self.can_delete(manager))
            .map(|one| text(one, "/metadata/name").to_owned())
            .collect();
        let goes = |one: &Value| text(one, "/kind") == "PodDisruptionBudget";
        self.objects
            .retain(|one| !(goes(one) && free.iter().any(|name| name == text(one, "/metadata/name"))));
    }

    /// The budgets that hold instance managers of the node.
    pub fn budgets_here(&self) -> Vec<String> {
        let here = self.of("InstanceManager").filter(|one| text(one, "/spec/nodeID") == self.node);
        here.map(|one| text(one, "/metadata/name").to_owned()).filter(|name| self.budget(name)).collect()
    }

    /// Volumes that have a healthy copy here and none on another node in `after`.
    pub fn lost(&self, after: &Longhorn) -> Vec<String> {
        let safe = after.volumes_with_copy(|on| on != self.node);
        self.volumes_with_copy(|_| true).into_iter().filter(|volume| !safe.contains(volume)).collect()
    }

    /// `kubectl cordon`, or the patch that asks Longhorn to empty the node.
    pub fn ask(&mut self, kind: &str, field: &str) {
        let node = self.node.clone();
        self.change(kind, &node, |one| one["spec"][field] = json!(true));
    }
}
