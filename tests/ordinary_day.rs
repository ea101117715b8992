//! A day of ordinary life, minute by minute, in which nothing at warning may be found but what a person would
//! want to know: a rolling upgrade from 1.9 to 1.10, drain, reboot and uncordon of each node in turn, three volumes an
//! hour that come and go, and a rebuild of two hours. Objects change as Longhorn and Kubernetes change them; the history
//! is that of an exporter which has watched since the day before.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use jiff::{SignedDuration, Timestamp};
use longhorn_health_exporter::check::Severity;
use longhorn_health_exporter::cluster::{Cluster, Readability, ResourceStatus};
use longhorn_health_exporter::history::History;
use longhorn_health_exporter::longhorn::{Objects, Resource};
use longhorn_health_exporter::report::evaluate;
use serde_json::{Value, json};

/// Every warning of the day, and why it is right.
const RIGHT: &[(&str, &str)] = &[(
    "instance_manager_down/node_down",
    "for the two minutes of each reboot the node does not answer, and `check` must not say healthy; no alert fires",
)];

const NAMESPACE: &str = "longhorn-system";
const UPGRADE: i64 = 361;
const ENGINES: i64 = 430;
const DRAINS: [i64; 3] = [600, 720, 840];
const REBUILD: i64 = 1080;
const NODES: [&str; 3] = ["worker-1", "worker-2", "worker-3"];
/// The volume of the recording that is attached all day.
const VOLUME: &str = "pvc-7c1d2f60-9a3b-4f0e-8f1c-0d5b2a9e4c11";

#[test]
fn an_ordinary_day_warns_of_nothing_that_a_person_would_call_wrong() {
    let mut day = Day::begin();
    for minute in 0..24 * 60 {
        day.minute = minute;
        day.disks_fill();
        day.volumes_come_and_go();
        day.upgrade();
        for (node, from) in NODES.iter().zip(DRAINS) {
            day.drain(node, minute - from);
        }
        day.rebuild(minute - REBUILD);
        day.look();
    }
    assert!(day.unknown.is_empty(), "{:#?}", day.unknown);
    let right: BTreeSet<&str> = RIGHT.iter().map(|(warning, _)| *warning).collect();
    let found: BTreeSet<&str> = day.warnings.keys().map(String::as_str).collect();
    assert_eq!(found, right, "{:#?}", day.warnings);
    assert!(day.minutes_degraded > 240, "the day has its rebuilds: {}", day.minutes_degraded);
}

struct Day {
    minute: i64,
    json: BTreeMap<(Resource, String), Value>,
    objects: Objects,
    history: History,
    /// Check and cause of each warning, with the minutes and an example.
    warnings: BTreeMap<String, (Vec<i64>, String)>,
    unknown: BTreeSet<String>,
    minutes_degraded: i64,
    /// What the upgrade brings.
    next: Vec<Value>,
}

fn recorded(release: &str) -> Vec<Value> {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/scenarios/healthy-{release}/cluster.yaml"));
    let text = std::fs::read_to_string(path).unwrap();
    text.split("\n---\n").map(|document| serde_yaml::from_str(document).unwrap()).collect()
}

fn text<'a>(value: &'a Value, path: &str) -> &'a str {
    value.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

fn resource(value: &Value) -> Resource {
    Resource::of(text(value, "/apiVersion"), text(value, "/kind")).unwrap()
}

/// Sets one condition of a list of conditions.
fn condition(value: &mut Value, at: &str, kind: &str, status: &str, reason: &str, now: &str) {
    let list = value.pointer_mut(at).and_then(Value::as_array_mut).unwrap();
    list.retain(|condition| condition["type"] != kind);
    list.push(json!({"type": kind, "status": status, "reason": reason, "lastTransitionTime": now}));
}

impl Day {
    fn begin() -> Self {
        let mut day = Day {
            minute: 0,
            json: BTreeMap::new(),
            objects: Objects::default(),
            history: History::default(),
            warnings: BTreeMap::new(),
            unknown: BTreeSet::new(),
            minutes_degraded: 0,
            next: recorded("1.10"),
        };
        day.history = History::starting(day.now() - SignedDuration::from_hours(12));
        recorded("1.9").into_iter().for_each(|object| day.put(object));
        let csi = csi("csi-1ddd4c28", VOLUME, "worker-1", "2026-03-01T08:00:00Z");
        day.put(csi);
        day
    }

    fn now(&self) -> Timestamp {
        let midnight: Timestamp = "2026-03-02T00:00:00Z".parse().unwrap();
        midnight + SignedDuration::from_mins(self.minute)
    }

    fn put(&mut self, object: Value) {
        let (resource, name) = (resource(&object), text(&object, "/metadata/name").to_owned());
        self.objects.insert(resource, &object).unwrap();
        if resource == Resource::Pods {
            self.history.pod_came(&name, text(&object, "/metadata/uid"));
        }
        self.json.insert((resource, name), object);
    }

    fn edit(&mut self, resource: Resource, name: &str, change: impl FnOnce(&mut Value)) {
        let object =
            self.json.get_mut(&(resource, name.to_owned())).unwrap_or_else(|| panic!("no {resource} {name}"));
        change(object);
        self.objects.insert(resource, &*object).unwrap();
    }

    fn remove(&mut self, resource: Resource, name: &str) {
        self.json.remove(&(resource, name.to_owned())).unwrap_or_else(|| panic!("no {resource} {name}"));
        let objects = &mut self.objects;
        match resource {
            Resource::Pods => {
                let last = objects.pods.remove(name).unwrap();
                self.history.pod_gone(
                    last,
                    "",
                    "2026-03-02T00:00:00Z".parse::<Timestamp>().unwrap()
                        + SignedDuration::from_mins(self.minute),
                );
            }
            Resource::Volumes => drop(objects.volumes.remove(name)),
            Resource::Engines => drop(objects.engines.remove(name)),
            Resource::Replicas => drop(objects.replicas.remove(name)),
            Resource::VolumeAttachments => drop(objects.volume_attachments.remove(name)),
            Resource::CsiAttachments => drop(objects.csi_attachments.remove(name)),
            Resource::InstanceManagers => drop(objects.instance_managers.remove(name)),
            Resource::PodDisruptionBudgets => drop(objects.pod_disruption_budgets.remove(name)),
            Resource::BackingImageManagers => drop(objects.backing_image_managers.remove(name)),
            Resource::EngineImages => drop(objects.engine_images.remove(name)),
            Resource::Services => drop(objects.services.remove(name)),
            Resource::EndpointSlices => drop(objects.endpoint_slices.remove(name)),
            other => panic!("{other} stay"),
        }
    }

    fn names(&self, resource: Resource, wanted: impl Fn(&Value) -> bool) -> Vec<String> {
        let all = self.json.iter().filter(|((of, _), object)| *of == resource && wanted(object));
        all.map(|((_, name), _)| name.clone()).collect()
    }

    fn on_node(&self, resource: Resource, node: &str, label: &str) -> Vec<String> {
        self.names(resource, |pod| {
            text(pod, "/spec/nodeName") == node && pod["metadata"]["labels"].to_string().contains(label)
        })
    }

    fn look(&mut self) {
        let readable = || ResourceStatus { readability: Readability::Readable, ..ResourceStatus::default() };
        let resources = Resource::all().map(|resource| (resource, readable())).collect();
        let now = self.now();
        let cluster = Cluster::new(NAMESPACE, now, self.objects.clone(), self.history.clone(), resources);
        let evaluation = evaluate(&cluster);
        for finding in
            evaluation.report.findings.iter().filter(|finding| finding.severity >= Severity::Warning)
        {
            let key = format!("{}/{}", finding.check, finding.cause);
            let entry = self.warnings.entry(key).or_insert_with(|| (Vec::new(), finding.message.clone()));
            entry.0.push(self.minute);
        }
        for unknown in &evaluation.report.unknown {
            self.unknown.insert(format!("minute {}: {}: {}", self.minute, unknown.check, unknown.reason));
        }
        self.minutes_degraded += i64::from(evaluation.report.cluster.volumes_by_robustness["degraded"] > 0);
        self.history.keep_facts(evaluation.facts, &evaluation.blind, now);
    }

    /// The free space of disks in use changes all the time.
    fn disks_fill(&mut self) {
        let minute = self.minute;
        for (number, node) in (1..).zip(NODES) {
            self.edit(Resource::LonghornNodes, node, |node| {
                for disk in node["status"]["diskStatus"].as_object_mut().unwrap().values_mut() {
                    disk["storageAvailable"] = json!(180_000_000_000_i64 - minute * 4096 * number);
                }
            });
        }
    }

    fn is_cordoned(&self, node: &str) -> bool {
        self.json[&(Resource::KubeNodes, node.to_owned())]["spec"]["unschedulable"] == true
    }

    // === three volumes an hour ===

    fn volumes_come_and_go(&mut self) {
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

    // === the upgrade ===

    fn upgrade(&mut self) {
        let now = self.now().to_string();
        match self.minute - UPGRADE {
            0 => self.managers_restart(&now),
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
                "Volume",
                "Engine",
                "Replica",
                "VolumeAttachment",
                "BackingImage",
                "BackingImageDataSource",
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

    fn instance_manager(&self, node: &str, tag: &str) -> Option<String> {
        let wanted = |manager: &Value| {
            text(manager, "/spec/nodeID") == node && text(manager, "/spec/image").ends_with(tag)
        };
        self.names(Resource::InstanceManagers, wanted).pop()
    }

    fn drop_instance_manager(&mut self, name: &str) {
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

    // === drain, reboot, uncordon ===

    fn drain(&mut self, node: &str, minute: i64) {
        let now = self.now().to_string();
        match minute {
            0 => {
                self.edit(Resource::KubeNodes, node, |kube| {
                    kube["spec"] = json!({"unschedulable": true,
                        "taints": [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule", "timeAdded": now}]});
                });
                self.edit(Resource::LonghornNodes, node, |node| {
                    condition(
                        node,
                        "/status/conditions",
                        "Schedulable",
                        "False",
                        "KubernetesNodeCordoned",
                        &now,
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

    fn replicas(&self) -> Vec<String> {
        self.names(Resource::Replicas, |replica| text(replica, "/spec/volumeName") == VOLUME)
    }

    fn replica_on(&self, node: &str) -> String {
        let on = |replica: &Value| {
            text(replica, "/spec/volumeName") == VOLUME && text(replica, "/spec/nodeID") == node
        };
        self.names(Resource::Replicas, on).pop().unwrap()
    }

    fn degrade(&mut self, replica: &str, now: &str) {
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

    // === rebuilds ===

    fn rebuild(&mut self, minute: i64) {
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

    fn begin_rebuild(&mut self, node: &str) {
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

    fn advance(&mut self, progress: i64) {
        self.edit(Resource::Engines, &format!("{VOLUME}-e-0"), |engine| {
            engine["status"]["rebuildStatus"] = json!({"tcp://10.42.1.7:10000": {"isRebuilding": true, "progress": progress, "state": "in_progress"}});
        });
    }

    fn end_rebuild(&mut self, now: &str) {
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
}

/// An attachment of Kubernetes.
fn csi(name: &str, volume: &str, node: &str, now: &str) -> Value {
    json!({"apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment", "metadata": {"name": name, "creationTimestamp": now},
        "spec": {"attacher": "driver.longhorn.io", "nodeName": node, "source": {"persistentVolumeName": volume}}, "status": {"attached": false}})
}
