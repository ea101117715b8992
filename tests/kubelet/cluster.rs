//! The cluster that a recording is played in, and what a longhorn-manager does about it: it deletes an instance
//! manager's pod that ended and creates the next one, and writes the harm to volumes, as longhorn-manager v1.12.1
//! controller/instance_manager_controller.go handlePod and controller/volume_controller.go do.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use regex::{Captures, Regex};
use serde_json::{Value, json};

use super::timeline::seconds;
use testing::fixture::changed;
use testing::scenario_files;

pub const NAMESPACE: &str = "longhorn-system";
const VOLUME: &str = "pvc-7c1d2f60-9a3b-4f0e-8f1c-0d5b2a9e4c11";
const ENGINE: &str = "pvc-7c1d2f60-9a3b-4f0e-8f1c-0d5b2a9e4c11-e-0";
const REPLICA: &str = "pvc-7c1d2f60-9a3b-4f0e-8f1c-0d5b2a9e4c11-r-0361b765";
/// The manager on the node of the volume's engine.
pub const MANAGER: &str = "longhorn-manager-52a73";
/// The instance manager there in the scenario.
const INSTANCE_MANAGER: &str = "instance-manager-11f5d8822ec3e69f67d5e1ca773cc88e";
/// That of the other node.
const OTHER: &str = "instance-manager-51f72777c149299552334b76cd1ee5c4";
/// How they are called in the recordings.
const RECORDED: [(&str, &str); 2] = [
    ("node-a", "instance-manager-c512ebeadef730eabe4ea3852e7b2bd3"),
    ("node-b", "instance-manager-75205fc870f191582b067d8cb1695072"),
];

/// The objects by kind and name.
pub type Objects = BTreeMap<(String, String), Value>;

/// What stands around a recording.
pub struct Surroundings {
    pub objects: Objects,
    /// The node that the recording is of, and its instance manager.
    pub node: &'static str,
    pub instance_manager: &'static str,
    instances: [Value; 2],
    /// Every endpoint that there ever was, by slice.
    slices: Vec<Value>,
    kubernetes_node: Value,
    /// The manager's pod as it was at first.
    pub manager: Value,
    busy: bool,
}

impl Surroundings {
    /// A healthy cluster of Longhorn v1.9.2, as it is when the recording begins. `busy`: an engine and a replica run
    /// on the recording's node; otherwise nothing does.
    pub fn new(node: &str, busy: bool, begins: Timestamp) -> Self {
        let (node, instance_manager) = *RECORDED.iter().find(|(known, _)| *known == node).unwrap();
        let other = RECORDED.iter().find(|(known, _)| *known != node).unwrap();
        let mut cluster = scenario_files::of_text(&format!(
            "base: healthy-1.9\n\
             words: {{worker-1: {node}, worker-2: {}, {INSTANCE_MANAGER}: {instance_manager}, {OTHER}: {}}}\n\
             lh/Setting crd-api-version: {{made: null, value: longhorn.io/v1beta2}}\n",
            other.0, other.1
        ));
        if !busy {
            const OF_VOLUMES: [&str; 4] = ["lh/Volume", "lh/Engine ", "lh/Replica ", "VolumeAttachment "];
            cluster.retain(|head| !OF_VOLUMES.iter().any(|kind| head.starts_with(kind)));
        }
        let text = serde_json::to_string(&cluster.objects()).unwrap();
        let text = moved(&text, begins - SignedDuration::from_secs(30));
        let all: Vec<Value> = serde_json::from_str(&text).unwrap();
        let mut objects: Objects = all.into_iter().map(|object| (id(&object), object)).collect();
        if !busy {
            for object in objects.values_mut().filter(|object| object["kind"] == "InstanceManager") {
                object["status"]["instanceEngines"] = json!({});
                object["status"]["instanceReplicas"] = json!({});
            }
            for object in objects.values_mut().filter(|object| object["apiVersion"] == "longhorn.io/v1beta2")
            {
                if let Some(disks) = object["status"]["diskStatus"].as_object_mut() {
                    disks.values_mut().for_each(|disk| disk["scheduledReplica"] = json!({}));
                }
            }
        }
        let of_manager = &objects[&("InstanceManager".to_owned(), instance_manager.to_owned())]["status"];
        let instances = ["instanceEngines", "instanceReplicas"].map(|field| of_manager[field].clone());
        let slices = objects.values().filter(|object| object["kind"] == "EndpointSlice").cloned().collect();
        let kubernetes_node = objects[&("Node.core".to_owned(), node.to_owned())].clone();
        let manager = objects[&("Pod".to_owned(), MANAGER.to_owned())].clone();
        Surroundings { kubernetes_node, manager, objects, node, instance_manager, instances, slices, busy }
    }

    /// The recorded pod is the first of its instance manager.
    pub fn is_first_pod(&mut self, pod: Option<&Value>) {
        let key = ("InstanceManager".to_owned(), self.instance_manager.to_owned());
        if let (Some(pod), Some(object)) = (pod, self.objects.get_mut(&key)) {
            object["metadata"]["creationTimestamp"] = pod["metadata"]["creationTimestamp"].clone();
        }
    }

    /// An object with what differs (fixture.rs).
    fn with(&self, kind: &str, name: &str, difference: Value) -> Value {
        // a node that is deleted may come back
        let object = self.objects.get(&(kind.to_owned(), name.to_owned())).unwrap_or(&self.kubernetes_node);
        changed(object, &difference)
    }

    /// What follows from the status of the instance manager's pod: its object says so.
    pub fn instance_manager_is(&self, state: &str) -> Value {
        let runs = state == "running";
        let mut object =
            self.with("InstanceManager", self.instance_manager, json!({"status": {"currentState": state}}));
        for (field, instances) in ["instanceEngines", "instanceReplicas"].iter().zip(&self.instances) {
            object["status"][*field] = if runs { instances.clone() } else { json!({}) };
        }
        object
    }

    /// What an end does to the volume that ran there.
    pub fn harm(&self, at: Timestamp) -> Vec<Value> {
        if !self.busy {
            return Vec::new();
        }
        let failed = seconds(at);
        vec![
            self.with("Engine", ENGINE, json!({"status": {"currentState": "error"}})),
            self.with(
                "Replica",
                REPLICA,
                json!({
                    "spec": {"failedAt": failed, "lastFailedAt": failed}, "status": {"currentState": "error"},
                }),
            ),
            self.with("Volume", VOLUME, json!({"status": {"state": "detaching", "robustness": "unknown"}})),
            json!({
                "apiVersion": "v1", "kind": "Event",
                "metadata": {"name": format!("{VOLUME}.{}", at.as_millisecond()), "namespace": NAMESPACE},
                "involvedObject": {"kind": "Volume", "namespace": NAMESPACE, "name": VOLUME},
                "reason": "DetachedUnexpectedly", "type": "Warning",
                "message": format!("Engine of volume {VOLUME} dead unexpectedly, reattach the volume"),
                "count": 1, "firstTimestamp": failed, "lastTimestamp": failed,
                "source": {"component": "longhorn-volume-controller"},
            }),
        ]
    }

    /// The volume is attached again, in the next pod; its replica there is rebuilt.
    pub fn healed(&self, at: Timestamp) -> Vec<Value> {
        if !self.busy {
            return Vec::new();
        }
        vec![
            self.with("Engine", ENGINE, json!({"status": {"currentState": "running"}})),
            self.with("Replica", REPLICA, json!({
                "spec": {"failedAt": "", "healthyAt": ""}, "status": {"currentState": "running"},
            })),
            self.with("Volume", VOLUME, json!({
                "status": {"state": "attached", "robustness": "degraded", "remountRequestedAt": seconds(at)},
            })),
        ]
    }

    /// A healthy pod of this kind, created now: the next one of an instance manager or of the DaemonSet.
    pub fn fresh_pod(&self, of: &Value, name: &str, uid: &str, at: Timestamp) -> Value {
        let mut pod = of.clone();
        let metadata = pod["metadata"].as_object_mut().unwrap();
        ["deletionTimestamp", "deletionGracePeriodSeconds", "resourceVersion"].iter().for_each(|field| {
            metadata.remove(*field);
        });
        pod["metadata"]["name"] = name.into();
        pod["metadata"]["uid"] = uid.into();
        pod["metadata"]["creationTimestamp"] = seconds(at).into();
        let containers = pod["spec"]["containers"].as_array().unwrap();
        let running = |container: &Value| {
            json!({"name": container["name"], "ready": true, "restartCount": 0, "lastState": {},
                   "state": {"running": {"startedAt": seconds(at)}}})
        };
        pod["status"] = json!({
            "phase": "Running", "startTime": seconds(at),
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": seconds(at)}],
            "containerStatuses": containers.iter().map(running).collect::<Vec<_>>(),
        });
        pod
    }

    /// The Kubernetes node and Longhorn's, as a line of the watch says.
    pub fn node_is(&self, line: &str, at: Timestamp) -> Vec<Value> {
        let ready = Regex::new(r"Ready (\w+) (\w+) \((.*?)\)(?: \||;)").unwrap();
        let found = ready.captures(line).unwrap_or_else(|| panic!("no Ready condition: {line}"));
        let [status, reason, message] = [1, 2, 3].map(|group| found[group].to_owned());
        let part = |name: &str| {
            let words = line.split(" | ").find_map(|part| part.strip_prefix(name));
            words.unwrap_or_default().to_owned()
        };
        let taints = part("taints ");
        let taints = taints.split(' ').filter_map(|taint| taint.rsplit_once(':')).map(|(key, effect)| {
            let (key, value) = key.split_once('=').unwrap_or((key, ""));
            json!({"key": key, "value": value, "effect": effect, "timeAdded": seconds(at)})
        });
        let taints: Vec<Value> = taints.collect();
        let mut conditions = Vec::new();
        for pressure in ["MemoryPressure", "DiskPressure"] {
            let under = if line.contains(&format!("{pressure} True")) { "True" } else { "False" };
            conditions.push(json!({"type": pressure, "status": under, "lastTransitionTime": seconds(at)}));
        }
        let before = self.with("Node.core", self.node, json!({}));
        let mut before = before["status"]["conditions"].as_array().into_iter().flatten();
        let before = before.find(|of| of["type"] == "Ready" && of["status"] == status.as_str());
        let since = before.map_or(seconds(at).into(), |before| before["lastTransitionTime"].clone());
        conditions.push(json!({
            "type": "Ready", "status": status, "reason": reason, "message": message, "lastTransitionTime": since,
        }));
        let node = self.with(
            "Node.core",
            self.node,
            json!({
                "status": {"conditions": conditions, "nodeInfo": {"bootID": part("bootID ")}},
                "spec": {"taints": taints, "unschedulable": line.contains("| unschedulable")},
            }),
        );
        // the managers of the other nodes write it (longhorn-manager v1.9.2 controller/node_controller.go syncNode)
        let (of_longhorn, why) =
            if status == "True" { ("True", "") } else { ("False", "KubernetesNodeNotReady") };
        let mut longhorn = self.with("Node", self.node, json!({}));
        for condition in longhorn["status"]["conditions"].as_array_mut().unwrap() {
            if condition["type"] == "Ready" && condition["status"] != of_longhorn {
                *condition = json!({
                    "type": "Ready", "status": of_longhorn, "reason": why, "lastTransitionTime": seconds(at),
                });
            }
        }
        vec![node, longhorn]
    }

    /// The endpoints of every webhook, as the recorded ones.
    pub fn endpoints_are(&self, recorded: &Value) -> Vec<Value> {
        let changed = self.slices.iter().map(|slice| {
            let mut slice = slice.clone();
            slice["endpoints"].as_array_mut().unwrap().retain_mut(|endpoint| {
                let node = endpoint["nodeName"].as_str().unwrap();
                if !RECORDED.iter().any(|(recorded, _)| *recorded == node) {
                    return true;
                }
                let found = recorded.as_array().unwrap().iter().find(|pair| pair[0] == node);
                let Some(found) = found else { return false };
                endpoint["conditions"] = found[1].clone();
                true
            });
            slice
        });
        changed.collect()
    }

    /// The same after a change of the manager's pod.
    pub fn endpoint_is(&self, ready: Option<bool>) -> Vec<Value> {
        let up = json!({"ready": true, "serving": true, "terminating": false});
        let other = RECORDED.iter().find(|(node, _)| *node != self.node).unwrap().0;
        let mut all = vec![json!([other, up])];
        if let Some(ready) = ready {
            all.push(json!([self.node, {"ready": ready, "serving": ready, "terminating": false}]));
        }
        self.endpoints_are(&all.into())
    }
}

/// Kind and name; the two kinds of Node are told apart.
pub fn id(object: &Value) -> (String, String) {
    let kind = object["kind"].as_str().unwrap();
    let core = kind == "Node" && object["apiVersion"] == "v1";
    (
        if core { "Node.core".to_owned() } else { kind.to_owned() },
        object["metadata"]["name"].as_str().unwrap().to_owned(),
    )
}

/// Every time moved, so that the newest is this one.
fn moved(text: &str, newest: Timestamp) -> String {
    let times = Regex::new(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z").unwrap();
    let read = |text: &str| text.parse::<Timestamp>().unwrap();
    let last = times.find_iter(text).map(|found| read(found.as_str())).max().unwrap();
    let by = newest.duration_since(last);
    let changed = |found: &Captures<'_>| {
        let moved = read(&found[0]) + by;
        if found[0].contains('.') { format!("{moved:.6}") } else { seconds(moved) }
    };
    times.replace_all(text, changed).into_owned()
}
