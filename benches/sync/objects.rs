//! A large cluster as the API server holds it: whole objects, with everything the exporter skips.

use serde_json::{Map, Value, json};

pub const NAMESPACE: &str = "longhorn-system";
const REPLICAS_EACH: usize = 3;
const BACKUPS_EACH: usize = 20;
const SNAPSHOTS: usize = 24;
const SETTINGS: usize = 90;
const RELEASE: &str = "v1.12.1";
const MANAGER_CONTAINERS: [&str; 2] = ["longhorn-manager", "pre-pull-share-manager-image"];
const MANAGER_IMAGE: &str = "longhornio/longhorn-instance-manager:v1.12.1";
const ENGINE_IMAGE: &str = "longhornio/longhorn-engine:v1.12.1";
const NEWEST: &str = "2026-01-01T00:00:00Z";

/// How large a cluster is, and how much of it is down.
#[derive(Clone, Copy)]
pub struct Shape {
    pub volumes: usize,
    pub replicas: usize,
    pub instance_managers: usize,
    pub nodes: usize,
    /// The first so many nodes do not answer.
    pub down: usize,
}

impl Shape {
    /// A cluster with so many volumes, of which so many nodes are down.
    pub fn new(volumes: usize, down: usize) -> Self {
        let (replicas, instance_managers, nodes) = (volumes * REPLICAS_EACH, volumes / 5, volumes / 10);
        Shape { volumes, replicas, instance_managers, nodes, down }
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
        objects.extend((0..self.volumes).flat_map(|n| [self.volume(n), self.engine(n), self.attachment(n)]));
        objects.extend((0..self.replicas).map(|n| self.replica(n)));
        objects.extend(
            (0..self.nodes).flat_map(|n| [self.csi_node(n), self.csi_pod(n), self.engine_image_pod(n)]),
        );
        objects.extend((0..self.volumes * BACKUPS_EACH).map(|n| self.backup(n)));
        objects.extend([self.engine_image(), backup_target(), recurring_job(), cron_job()]);
        objects.extend((0..self.nodes * 2).map(|n| self.event(n)));
        objects.extend((0..SETTINGS).map(setting));
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

    /// Of a condition that is lost with its node.
    fn true_unless_down(&self, n: usize) -> &'static str {
        if self.is_down(n) { "False" } else { "True" }
    }

    fn running_unless_down(&self, n: usize) -> &'static str {
        if self.is_down(n) { "unknown" } else { "running" }
    }
}

fn longhorn(kind: &str, name: &str, labels: Value, spec: Value, status: Value) -> Value {
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

fn without_namespace(object: &mut Value) {
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.remove("namespace");
    }
}

fn backup_target() -> Value {
    let spec = json!({"backupTargetURL": "s3://backups@eu-central-1/", "credentialSecret": "s3", "pollInterval": "5m0s"});
    let status =
        json!({"available": true, "lastSyncedAt": NEWEST, "conditions": [condition("Unavailable", "False")]});
    longhorn("BackupTarget", "default", json!({}), spec, status)
}

fn recurring_job() -> Value {
    let spec = json!({"name": "nightly", "task": "backup", "cron": "0 2 * * *", "groups": ["default"], "retain": 20, "concurrency": 2});
    longhorn("RecurringJob", "nightly", json!({}), spec, json!({"ownerID": "worker-0000"}))
}

/// Suspended: the clock of a bench is far from the times of its objects.
fn cron_job() -> Value {
    let status = json!({"lastScheduleTime": NEWEST, "lastSuccessfulTime": NEWEST});
    object(
        "batch/v1",
        "CronJob",
        "nightly",
        json!({}),
        json!({"schedule": "0 2 * * *", "suspend": true}),
        status,
    )
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

fn condition(kind: &str, status: &str) -> Value {
    json!({"type": kind, "status": status, "reason": "", "message": "", "lastProbeTime": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z"})
}

fn conditions(kinds: &[&str], status: &str) -> Vec<Value> {
    kinds.iter().map(|kind| condition(kind, status)).collect()
}

impl Shape {
    fn volume(&self, n: usize) -> Value {
        let name = volume_name(n);
        longhorn(
            "Volume",
            &name,
            json!({"longhornvolume": name, "recurring-job-group.longhorn.io/default": "enabled", "setting.longhorn.io/remove-snapshots-during-filesystem-trim": "ignored"}),
            json!({"size": "21474836480", "numberOfReplicas": 3, "frontend": "blockdev", "dataEngine": "v1",
            "image": ENGINE_IMAGE, "nodeID": self.node(n), "dataLocality": "disabled",
            "accessMode": "rwo", "staleReplicaTimeout": 30, "replicaAutoBalance": "ignored", "backingImage": "",
            "nodeSelector": [], "diskSelector": [], "unmapMarkSnapChainRemoved": "ignored", "encrypted": false}),
            json!({"state": "attached", "robustness": if self.is_down(n) { "degraded" } else { "healthy" }, "ownerID": self.node(n), "currentNodeID": self.node(n),
            "currentImage": ENGINE_IMAGE, "actualSize": 1234567890, "lastBackup": "backup-0", "lastBackupAt": NEWEST, "frontendDisabled": false,
            "conditions": conditions(&["Restore", "Scheduled", "TooManySnapshots", "WaitForBackingImage", "OfflineRebuilding"], "True"),
            "kubernetesStatus": {"pvName": name, "pvStatus": "Bound", "pvcName": format!("data-database-{n}"),
                "namespace": format!("team-{}", n % 40), "lastPVCRefAt": "", "lastPodRefAt": "",
                "workloadsStatus": [{"podName": format!("database-{n}-0"), "podStatus": "Running",
                    "workloadName": format!("database-{n}"), "workloadType": "StatefulSet"}]}}),
        )
    }

    fn engine(&self, n: usize) -> Value {
        let name = format!("{}-e-0", volume_name(n));
        let snapshots: Map<_, _> = (0..SNAPSHOTS)
        .map(|s| {
            let snapshot = format!("8f0c9a52-{s:04x}-4d1e-a2b7-{n:012x}");
            let labels = json!({"RecurringJob": "hourly-snapshot", "longhorn.io/volume": "x"});
            let value = json!({"name": snapshot, "parent": format!("8f0c9a52-{:04x}-4d1e-a2b7-{n:012x}", s + 1),
                "children": {format!("8f0c9a52-{s:04x}-4d1e-a2b7-{n:012x}"): true}, "created": "2026-01-01T00:00:00Z",
                "labels": labels, "removed": false, "size": "73400320", "usercreated": true});
            (snapshot, value)
        })
        .collect();
        let of_replicas = |value: Value| -> Map<String, Value> {
            (0..REPLICAS_EACH).map(|r| (replica_name(n * REPLICAS_EACH + r), value.clone())).collect()
        };
        longhorn(
            "Engine",
            &name,
            json!({"longhornvolume": volume_name(n), "longhornnode": self.node(n)}),
            json!({"volumeName": volume_name(n), "nodeID": self.node(n), "desireState": "running", "dataEngine": "v1",
            "image": ENGINE_IMAGE, "active": true, "volumeSize": "21474836480",
            "replicaAddressMap": of_replicas(json!("10.42.0.15:10000")), "upgradedReplicaAddressMap": {}}),
            json!({"ownerID": self.node(n), "instanceManagerName": self.manager_name(n), "currentState": self.running_unless_down(n),
            "currentImage": ENGINE_IMAGE, "currentSize": "21474836480", "port": 10010,
            "replicaModeMap": of_replicas(json!("RW")), "snapshots": snapshots, "purgeStatus": of_replicas(json!({"state": ""})),
            "restoreStatus": of_replicas(json!({})), "rebuildStatus": {}, "conditions": [condition("FilesystemReadOnly", "False")]}),
        )
    }

    fn replica(&self, n: usize) -> Value {
        let volume = volume_name(n / REPLICAS_EACH);
        longhorn(
            "Replica",
            &replica_name(n),
            json!({"longhornvolume": volume, "longhornnode": self.node(n), "longhorndiskuuid": format!("disk-{n}")}),
            json!({"volumeName": volume, "nodeID": self.node(n), "engineName": format!("{volume}-e-0"), "desireState": "running",
            "diskID": format!("0bd3f8a6-{:04x}-4a51-8b0d-cf3b4cfe9a11", n % self.nodes), "dataEngine": "v1", "active": true,
            "image": ENGINE_IMAGE, "healthyAt": if self.is_down(n) { "" } else { NEWEST }, "failedAt": if self.is_down(n) { NEWEST } else { "" },
            "diskPath": "/var/lib/longhorn/", "dataDirectoryName": replica_name(n), "volumeSize": "21474836480",
            "lastHealthyAt": "2026-01-01T00:00:00Z", "backingImage": "", "evictionRequested": false}),
            json!({"ownerID": self.node(n), "instanceManagerName": self.manager_name(n), "currentState": self.running_unless_down(n),
            "currentImage": ENGINE_IMAGE, "port": 10000, "ip": "10.42.0.15",
            "storageIP": "10.42.0.15", "started": true, "conditions": [condition("InstanceCreation", "True")]}),
        )
    }

    fn attachment(&self, n: usize) -> Value {
        let ticket = json!({"id": "csi-abc", "type": "csi-attacher", "nodeID": self.node(n), "generation": 0, "parameters": {"disableFrontend": "false"}});
        longhorn(
            "VolumeAttachment",
            &volume_name(n),
            json!({"longhornvolume": volume_name(n)}),
            json!({"volume": volume_name(n), "attachmentTickets": {"csi-abc": ticket}}),
            json!({"attachmentTicketStatuses": {"csi-abc": {"id": "csi-abc", "satisfied": true, "generation": 0}}}),
        )
    }

    fn instance_manager(&self, n: usize) -> Value {
        let instance = |name: String, kind: &str| {
            let status = json!({"endpoint": "", "errorMsg": "", "listen": "", "portStart": 10000, "portEnd": 10009,
            "resourceVersion": 1, "state": "running", "type": kind, "conditions": {}});
            (name.clone(), json!({"spec": {"name": name, "dataEngine": "v1"}, "status": status}))
        };
        let engines: Map<_, _> = (n..self.volumes)
            .step_by(self.instance_managers)
            .map(|n| instance(format!("{}-e-0", volume_name(n)), "engine"))
            .collect();
        let replicas: Map<_, _> = (n..self.replicas)
            .step_by(self.instance_managers)
            .map(|n| instance(replica_name(n), "replica"))
            .collect();
        longhorn(
            "InstanceManager",
            &self.manager_name(n),
            json!({"longhorn.io/component": "instance-manager", "longhorn.io/managed-by": "longhorn-manager",
            "longhorn.io/node": self.node(n), "longhorn.io/data-engine": "v1", "longhorn.io/instance-manager-type": "aio"}),
            json!({"image": MANAGER_IMAGE, "nodeID": self.node(n), "type": "aio", "dataEngine": "v1"}),
            json!({"ownerID": self.node(n), "currentState": self.running_unless_down(n), "ip": "10.42.0.15", "apiVersion": 6, "proxyApiVersion": 6,
            "instanceEngines": engines, "instanceReplicas": replicas,
            "conditions": conditions(&["PodReady", "NodeReady", "SettingSynced"], self.true_unless_down(n))}),
        )
    }

    fn longhorn_node(&self, n: usize) -> Value {
        let scheduled: Map<_, _> = (n..self.replicas)
            .step_by(self.nodes)
            .map(|n| (replica_name(n), json!(21474836480u64)))
            .collect();
        let kinds = [
            "Ready",
            "Schedulable",
            "MountPropagation",
            "RequiredPackages",
            "Multipathd",
            "KernelModulesLoaded",
        ];
        longhorn(
            "Node",
            &self.node(n),
            json!({}),
            json!({"name": self.node(n), "allowScheduling": true, "evictionRequested": false, "tags": [],
            "disks": {"default-disk": {"path": "/var/lib/longhorn/", "diskType": "filesystem", "allowScheduling": true,
                "evictionRequested": false, "storageReserved": 0, "tags": []}}}),
            json!({"autoEvicting": false, "region": "", "zone": "", "conditions": conditions(&kinds, self.true_unless_down(n)),
            "diskStatus": {"default-disk": {"diskUUID": format!("0bd3f8a6-{n:04x}-4a51-8b0d-cf3b4cfe9a11"),
                "conditions": conditions(&["Ready", "Schedulable"], self.true_unless_down(n)), "scheduledReplica": scheduled,
                "storageAvailable": 1, "storageMaximum": 2, "storageScheduled": 3, "diskType": "filesystem"}}}),
        )
    }

    fn kube_node(&self, n: usize) -> Value {
        let images: Vec<_> = (0..20)
        .map(
            |i| json!({"names": [format!("registry.example.com/app-{i}@sha256:{:064x}", i)], "sizeBytes": 1}),
        )
        .collect();
        let kinds = ["MemoryPressure", "DiskPressure", "PIDPressure", "Ready"];
        object(
            "v1",
            "Node",
            &self.node(n),
            json!({"kubernetes.io/hostname": self.node(n), "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}),
            json!({"podCIDR": "10.42.0.0/24"}),
            json!({"conditions": kinds.map(|kind| condition(kind, if kind == "Ready" { self.true_unless_down(n) } else { "False" })),
            "allocatable": {"cpu": "16", "memory": "64Gi", "pods": "110"}, "images": images,
            "nodeInfo": {"kernelVersion": "6.8.0", "osImage": "Ubuntu 24.04", "kubeletVersion": "v1.34.1"}}),
        )
    }

    /// A complete backup of a volume, as the store describes it.
    fn backup(&self, n: usize) -> Value {
        let volume = volume_name(n / BACKUPS_EACH);
        let name = format!("backup-{:016x}", n as u64 * 0x9e37_79b9);
        let snapshot = format!("nightly-8f0c9a52-{n:012x}");
        let labels = json!({"KubernetesStatus": "x".repeat(300), "RecurringJob": "nightly", "longhorn.io/volume-access-mode": "rwo"});
        longhorn(
            "Backup",
            &name,
            json!({"backup-volume": volume, "backup-target": "default"}),
            json!({"snapshotName": snapshot, "backupMode": "incremental", "labels": {"RecurringJob": "nightly"}}),
            json!({"state": "Completed", "progress": 100, "ownerID": self.node(n), "backupTargetName": "default", "backupCreatedAt": NEWEST,
            "snapshotCreatedAt": NEWEST, "snapshotName": snapshot, "lastSyncedAt": NEWEST, "compressionMethod": "lz4", "labels": labels,
            "messages": null, "size": "73400320", "newlyUploadDataSize": "73400320", "reUploadedDataSize": "0", "volumeName": volume,
            "volumeSize": "21474836480", "volumeCreated": NEWEST, "volumeBackingImageName": "", "replicaAddress": "tcp://10.42.0.15:10000",
            "url": format!("s3://backups@eu-central-1/?backup={name}&volume={volume}")}),
        )
    }

    fn engine_image(&self) -> Value {
        let map: Map<_, _> = (0..self.nodes).map(|n| (self.node(n), json!(!self.is_down(n)))).collect();
        let status = json!({"state": "deployed", "refCount": self.replicas, "nodeDeploymentMap": map, "incompatible": false,
            "conditions": [condition("ready", "True")]});
        longhorn("EngineImage", "ei-71f011ef", json!({}), json!({"image": ENGINE_IMAGE}), status)
    }

    fn engine_image_pod(&self, n: usize) -> Value {
        let labels =
            json!({"longhorn.io/component": "engine-image", "longhorn.io/engine-image": "ei-71f011ef"});
        self.pod(&format!("engine-image-ei-71f011ef-{n:05}"), n, labels, &["engine-image-ei-71f011ef"])
    }

    fn csi_pod(&self, n: usize) -> Value {
        let containers = ["node-driver-registrar", "longhorn-liveness-probe", "longhorn-csi-plugin"];
        self.pod(
            &format!("longhorn-csi-plugin-{n:05}"),
            n,
            json!({"app": "longhorn-csi-plugin"}),
            &containers,
        )
    }

    fn csi_node(&self, n: usize) -> Value {
        let drivers = ["driver.longhorn.io", "ebs.csi.aws.com"]
            .map(|name| json!({"name": name, "nodeID": self.node(n), "topologyKeys": []}));
        let mut node = object(
            "storage.k8s.io/v1",
            "CSINode",
            &self.node(n),
            json!({}),
            json!({"drivers": drivers}),
            json!({}),
        );
        without_namespace(&mut node);
        node
    }

    fn manager_pod(&self, n: usize) -> Value {
        let name = format!("longhorn-manager-{n:05}");
        let labels =
            json!({"app": "longhorn-manager", "longhorn.io/admission-webhook": "longhorn-admission-webhook"});
        self.pod(&name, n, labels, &MANAGER_CONTAINERS)
    }

    fn instance_manager_pod(&self, n: usize) -> Value {
        let labels = json!({"longhorn.io/component": "instance-manager", "longhorn.io/node": self.node(n)});
        self.pod(&self.manager_name(n), n, labels, &["instance-manager"])
    }

    fn pod(&self, name: &str, n: usize, labels: Value, containers: &[&str]) -> Value {
        let probe = json!({"httpGet": {"path": "/v1/healthz", "port": 9502, "scheme": "HTTPS"}, "periodSeconds": 10,
        "timeoutSeconds": 1, "failureThreshold": 3, "successThreshold": 1});
        let env = ["POD_NAMESPACE", "POD_IP", "NODE_NAME"].map(|name| json!({"name": name, "value": "x"}));
        let specs: Vec<_> = containers
        .iter()
        .map(|name| {
            json!({"name": name, "image": format!("longhornio/{name}:{RELEASE}"), "args": ["daemon", "--debug"], "env": env,
                "resources": {"requests": {"cpu": "960m"}}, "readinessProbe": probe, "livenessProbe": probe,
                "ports": [{"containerPort": 9500, "name": "manager", "protocol": "TCP"}],
                "volumeMounts": (0..8).map(|n| json!({"name": format!("volume-{n}"), "mountPath": format!("/host/{n}")})).collect::<Vec<_>>()})
        })
        .collect();
        let statuses: Vec<_> = containers
        .iter()
        .map(|name| {
            json!({"name": name, "image": format!("longhornio/{name}:{RELEASE}"), "imageID": "sha256:x", "ready": !self.is_down(n),
                "restartCount": 0, "started": true, "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}, "lastState": {}})
        })
        .collect();
        let kinds = ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"];
        object(
            "v1",
            "Pod",
            name,
            labels,
            json!({"nodeName": self.node(n), "priorityClassName": "longhorn-critical", "containers": specs}),
            json!({"phase": "Running", "startTime": "2026-01-01T00:00:00Z", "containerStatuses": statuses,
            "conditions": conditions(&kinds, self.true_unless_down(n))}),
        )
    }

    fn daemon_set(&self) -> Value {
        let mut template = self.pod("x", 0, json!({"app": "longhorn-manager"}), &MANAGER_CONTAINERS);
        let status = json!({"desiredNumberScheduled": self.nodes, "numberReady": self.nodes - self.down,
            "updatedNumberScheduled": self.nodes, "observedGeneration": 3});
        let spec =
            json!({"template": {"metadata": template["metadata"].take(), "spec": template["spec"].take()}});
        object("apps/v1", "DaemonSet", "longhorn-manager", json!({"app": "longhorn-manager"}), spec, status)
    }

    /// The endpoints of the webhook, which are all managers.
    fn endpoint_slice(&self) -> Value {
        let endpoint = |n| {
            json!({"addresses": ["10.42.0.15"], "conditions": {"ready": !self.is_down(n), "serving": true, "terminating": false},
                "nodeName": self.node(n), "targetRef": {"kind": "Pod", "name": format!("longhorn-manager-{n:05}"), "namespace": NAMESPACE}})
        };
        let labels = json!({"kubernetes.io/service-name": "longhorn-admission-webhook"});
        let mut slice = object(
            "discovery.k8s.io/v1",
            "EndpointSlice",
            "longhorn-admission-webhook-x7k2p",
            labels,
            Value::Null,
            Value::Null,
        );
        slice["endpoints"] = (0..self.nodes).map(endpoint).collect();
        slice
    }

    /// Instance managers with engines are protected from eviction.
    fn budget(&self, n: usize) -> Value {
        object(
            "policy/v1",
            "PodDisruptionBudget",
            &self.manager_name(n),
            json!({}),
            json!({"minAvailable": 1}),
            json!({}),
        )
    }

    /// Ordinary news about volumes.
    fn event(&self, n: usize) -> Value {
        let volume = volume_name(n % self.volumes);
        let mut event =
            object("v1", "Event", &format!("{volume}.{n:x}"), json!({}), Value::Null, Value::Null);
        event["involvedObject"] = json!({"apiVersion": "longhorn.io/v1beta2", "kind": "Volume", "name": volume, "namespace": NAMESPACE});
        event["reason"] = json!("Healthy");
        event["message"] = json!(format!("volume {volume} became healthy"));
        event["type"] = json!("Normal");
        event["count"] = json!(1);
        event["lastTimestamp"] = json!(NEWEST);
        event
    }
}

fn service() -> Value {
    let selector = json!({"longhorn.io/admission-webhook": "longhorn-admission-webhook"});
    object("v1", "Service", "longhorn-admission-webhook", json!({}), json!({"selector": selector}), json!({}))
}

fn setting(n: usize) -> Value {
    let (name, value) = match n {
        0 => ("current-longhorn-version".to_owned(), RELEASE),
        1 => ("default-instance-manager-image".to_owned(), MANAGER_IMAGE),
        2 => ("default-engine-image".to_owned(), ENGINE_IMAGE),
        _ => (format!("some-setting-{n}"), "true"),
    };
    let mut setting = longhorn("Setting", &name, json!({}), json!({}), json!({"applied": true}));
    setting["value"] = json!(value);
    setting
}
