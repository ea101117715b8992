//! A large cluster as the API server holds it: whole objects, with everything the exporter skips.

mod kubernetes;
mod longhorn;

use jiff::Timestamp;
use kubernetes::{service, webhook};
use longhorn::{recurring_job, setting};
use serde_json::{Map, Value, json};

pub const NAMESPACE: &str = "longhorn-system";
const REPLICAS_EACH: usize = 3;
const SNAPSHOTS: usize = 24;
const SETTINGS: usize = 90;
const RELEASE: &str = "v1.12.1";
const MANAGER_CONTAINERS: [&str; 2] = ["longhorn-manager", "pre-pull-share-manager-image"];
const MANAGER_IMAGE: &str = "longhornio/longhorn-instance-manager:v1.12.1";
const OLD_MANAGER_IMAGE: &str = "longhornio/longhorn-instance-manager:v1.11.3";
const ENGINE_IMAGE: &str = "longhornio/longhorn-engine:v1.12.1";
/// Everything is older, unless the shape says otherwise.
const LONG_AGO: &str = "2026-01-01T00:00:00Z";

/// How large a cluster is, and how much of it is down.
#[derive(Clone, Copy)]
pub struct Shape {
    pub volumes: usize,
    pub replicas: usize,
    pub instance_managers: usize,
    pub nodes: usize,
    /// This many nodes do not answer.
    pub down: usize,
    /// Backups of each volume.
    pub backups: usize,
    /// When backups were made last: an hour ago, or they would be found.
    pub newest: Timestamp,
    /// Every replica is asked to leave its disk, where nothing asks for that any more: a finding each.
    pub evicting: bool,
    /// No manager carries the label by which the admission Service selects.
    pub unlabelled: bool,
    /// Three of ten instance managers, and what runs in them, are of the release before.
    pub half_upgraded: bool,
}

impl Shape {
    /// A cluster with this many volumes, of which this many nodes are down.
    pub fn new(volumes: usize, down: usize) -> Self {
        let (replicas, instance_managers, nodes) = (volumes * REPLICAS_EACH, volumes / 5, volumes / 10);
        let newest = LONG_AGO.parse().expect("a time");
        Shape {
            volumes,
            replicas,
            instance_managers,
            nodes,
            down,
            backups: 20,
            newest,
            evicting: false,
            unlabelled: false,
            half_upgraded: false,
        }
    }

    /// Every object.
    pub fn objects(&self) -> Vec<Value> {
        let mut objects = vec![self.daemon_set(), service(), self.endpoint_slice()];
        objects.extend(
            (0..self.nodes).flat_map(|n| [self.kube_node(n), self.longhorn_node(n), self.manager_pod(n)]),
        );
        objects.extend(
            (0..self.instance_managers)
                .flat_map(|n| [self.instance_manager(n), self.instance_manager_pod(n), self.budget(n)]),
        );
        objects.extend(
            (0..self.volumes)
                .flat_map(|n| [self.volume(n), self.engine(n), self.attachment(n), self.csi_attachment(n)]),
        );
        objects.extend((0..self.replicas).map(|n| self.replica(n)));
        objects.extend(
            (0..self.nodes).flat_map(|n| [self.csi_node(n), self.csi_pod(n), self.engine_image_pod(n)]),
        );
        objects.extend((0..self.volumes * self.backups).map(|n| self.backup(n)));
        objects.extend([self.engine_image(), self.backup_target(), recurring_job(), self.cron_job()]);
        objects.extend([webhook("Validating", "validator"), webhook("Mutating", "mutator")]);
        objects.extend((0..self.nodes * 2).map(|n| self.event(n)));
        objects.extend((0..SETTINGS).map(setting));
        objects
    }

    /// One object of each kind that managers and kubelets write again and again, with what changes in it: of a volume and of a
    /// node of Longhorn something that is read, of the others what no check reads.
    pub fn one_of_each(&self, turn: usize) -> Vec<Value> {
        let (v, r, m) = (turn % self.volumes, turn % self.replicas, turn % self.instance_managers);
        let n = turn % self.nodes;
        let mut objects = vec![
            self.volume(v),
            self.engine(v),
            self.replica(r),
            self.instance_manager(m),
            self.longhorn_node(n),
            self.kube_node(n),
            self.manager_pod(n),
        ];
        for object in &mut objects {
            object["metadata"]["generation"] = json!(turn);
            match object["kind"].as_str() {
                Some("Volume") => object["status"]["actualSize"] = json!(1_234_567_890 + turn),
                Some("Node") if object["spec"]["disks"].is_object() => {
                    object["status"]["diskStatus"]["default-disk"]["storageAvailable"] = json!(1 + turn % 2);
                }
                _ => {}
            }
        }
        objects
    }

    fn is_down(&self, n: usize) -> bool {
        n % self.nodes < self.down
    }

    fn node(&self, n: usize) -> String {
        format!("worker-{:04}.eu-central.example.com", n % self.nodes)
    }

    fn manager_name(&self, n: usize) -> String {
        format!("instance-manager-{:032x}", n % self.instance_managers)
    }

    /// A node has two, one of them the default.
    fn is_old(&self, n: usize) -> bool {
        let n = n % self.instance_managers;
        self.half_upgraded && n >= self.nodes && n % 10 < 6
    }

    fn manager_image(&self, n: usize) -> &'static str {
        if self.is_old(n) { OLD_MANAGER_IMAGE } else { MANAGER_IMAGE }
    }

    /// Of a condition that is lost with its node.
    fn true_unless_down(&self, n: usize) -> &'static str {
        if self.is_down(n) { "False" } else { "True" }
    }

    fn running_unless_down(&self, n: usize) -> &'static str {
        if self.is_down(n) { "unknown" } else { "running" }
    }
}

fn longhorn_object(kind: &str, name: &str, labels: Value, spec: Value, status: Value) -> Value {
    object("longhorn.io/v1beta2", kind, name, labels, spec, status)
}

fn object(api_version: &str, kind: &str, name: &str, labels: Value, spec: Value, status: Value) -> Value {
    let mut metadata = json!({
        "name": name,
        "uid": format!("8c9d1f6e-{:04x}-4c3e-9f53-{:012x}", kind.len(), hash(name)),
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "generation": 3,
        "finalizers": ["longhorn.io"],
        "labels": labels,
        "managedFields": [managed("longhorn-manager", 30), managed("longhorn-manager", 20)],
        "ownerReferences": [{"apiVersion": api_version, "kind": "Volume", "name": name, "uid": "8c9d1f6e"}],
    });
    if kind != "Node" || api_version != "v1" {
        metadata["namespace"] = json!(NAMESPACE);
    }
    json!({"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec, "status": status})
}

fn managed(manager: &str, fields: usize) -> Value {
    let fields: Map<_, _> = (0..fields).map(|n| (format!("f:someLongFieldName{n}"), json!({}))).collect();
    json!({"apiVersion": "longhorn.io/v1beta2", "fieldsType": "FieldsV1", "manager": manager, "operation": "Update",
        "time": "2026-01-01T00:00:00Z", "fieldsV1": {"f:metadata": {"f:labels": {}}, "f:spec": fields}})
}

fn hash(text: &str) -> u64 {
    text.bytes().fold(5381, |hash, byte| (hash * 33 + u64::from(byte)) & 0xffff_ffff_ffff)
}

fn volume_name(n: usize) -> String {
    format!("pvc-{:08x}-52c1-4b8a-9d3f-{:012x}", n, hash(&n.to_string()))
}

fn replica_name(n: usize) -> String {
    format!("{}-r-{n:08x}", volume_name(n / REPLICAS_EACH))
}

/// The name of the ticket, and of the attachment in Kubernetes that asks for it.
fn csi_name(n: usize) -> String {
    format!("csi-{:064x}", hash(&volume_name(n)))
}

fn condition(kind: &str, status: &str) -> Value {
    json!({"type": kind, "status": status, "reason": "", "message": "", "lastProbeTime": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z"})
}

fn conditions(kinds: &[&str], status: &str) -> Vec<Value> {
    kinds.iter().map(|kind| condition(kind, status)).collect()
}
